//! `shuffledp train`: private learning on examples that stay with their owners, with the budget as it is spent.

mod folder;
mod run;
mod setup;
mod table;

use crate::commands::epsilon::from_below;
use crate::failure::Failure;
use crate::number::{Count, Real};
use crate::output::Format;
use crate::plot::{Axis, Kind, Picture};
use clap::{Args, Parser, ValueEnum};
use folder::Folder;
pub(crate) use run::Course;
use run::{Event, Outcome, Point, Price};
use serde::{Deserialize, Serialize};
use serde_json::json;
use shuffledp::Side;
use shuffledp::{grouped, plain, rounded};
use shuffledp_plot::{Look, Series, Sheet};
use std::io::Write;
use std::path::PathBuf;

/// How people are asked, and whom they trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AlgorithmName {
    /// A sample of the users each round, through the shuffler
    CldpSgd,
    /// Each user by its own coin, through the shuffler
    CheckIn,
    /// Blocks of examples in a random order, each a step: the unit of privacy is a block
    Blocks,
    /// The reports of cldp-sgd with nobody to shuffle them
    Local,
    /// A trusted server holds the data and adds the noise
    Central,
    /// No protection
    None,
}

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModelName {
    /// Logistic regression
    Logistic,
    /// One hidden layer
    Mlp,
    /// The papers' network with disjoint pooling: 13,722 parameters on 28x28 pixels
    Cnn,
    /// The papers' network with overlapping pooling: 26,010 parameters
    CnnOverlapping,
}

/// What a model sees of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Features {
    /// The numbers of the example
    Plain,
    /// 128 oriented gradients of the picture
    OrientedGradients,
}

/// What follows a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ActivationName {
    Tanh,
    Relu,
}

/// What the server does with a mean gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OptimizerName {
    /// Gradient descent with momentum
    Sgd,
    /// Adam
    Adam,
}

/// How the rate changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScheduleName {
    /// Not at all
    Constant,
    /// To 0 along a cosine, over the planned rounds
    Cosine,
    /// As one over the root of the round
    Root,
}

impl AlgorithmName {
    fn name(self) -> &'static str {
        match self {
            Self::CldpSgd => "cldp-sgd",
            Self::CheckIn => "check-in",
            Self::Blocks => "blocks",
            Self::Local => "local",
            Self::Central => "central",
            Self::None => "none",
        }
    }
}

impl ModelName {
    fn title(self) -> &'static str {
        match self {
            Self::Logistic => "Logistic regression",
            Self::Mlp => "A network of one hidden layer",
            Self::Cnn => "The convolutional network with disjoint pooling",
            Self::CnnOverlapping => "The convolutional network with overlapping pooling",
        }
    }
}

/// What is learnt from what, by whom and how: all that a run depends on.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrainWords {
    /// A folder with MNIST's, Fashion-MNIST's or CIFAR-10's files, or a CSV or Parquet table: one example a user
    #[arg(long, value_name = "PATH", help_heading = "Data")]
    pub(crate) data: Option<PathBuf>,
    /// Learn from a synthetic set, made here
    #[arg(long, conflicts_with = "data", help_heading = "Data")]
    pub(crate) demo: bool,
    /// The column of a table to be learnt; every other column is a number
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub(crate) label: Option<String>,
    /// Where the numbers of a table lie, known beforehand: lo..hi, or name=lo..hi for one column [default: 0..1]
    #[arg(long, value_name = "RANGE", help_heading = "Data")]
    pub(crate) range: Vec<String>,
    /// The classes of a table, known beforehand, between commas
    #[arg(long, value_name = "LIST", help_heading = "Data")]
    pub(crate) classes: Option<String>,
    /// The share of a table's rows to be judged by [default: 0.2]
    #[arg(long, value_name = "F", help_heading = "Data")]
    pub(crate) test_share: Option<Real>,
    /// Hold this share of the training examples out, and judge by them instead of the test examples
    #[arg(long, value_name = "F", help_heading = "Data")]
    pub(crate) validation: Option<Real>,
    /// What the model sees [default: oriented-gradients for logistic regression on pictures, else plain]
    #[arg(long, value_enum, help_heading = "Model")]
    pub(crate) features: Option<Features>,
    /// What is trained
    #[arg(long, value_enum, default_value = "logistic", help_heading = "Model")]
    pub(crate) model: ModelName,
    /// Numbers in the hidden layer of mlp [default: 32]
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub(crate) hidden: Option<Count>,
    /// What follows a hidden layer
    #[arg(long, value_enum, default_value = "tanh", help_heading = "Model")]
    pub(crate) activation: ActivationName,
    /// How people are asked, and whom they trust
    #[arg(
        long,
        value_enum,
        default_value = "cldp-sgd",
        help_heading = "Mechanism"
    )]
    pub(crate) algorithm: AlgorithmName,
    /// What protects a gradient [default: r-2; laplace for blocks]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = setup::randomizers_of_vectors(),
        help_heading = "Mechanism"
    )]
    pub(crate) randomizer: Option<String>,
    /// Local guarantee of one report
    #[arg(long, value_name = "E0", help_heading = "Mechanism")]
    pub(crate) epsilon0: Option<Real>,
    /// Gaussian noise in units of --clip, for gaussian and central
    #[arg(long, value_name = "S", help_heading = "Mechanism")]
    pub(crate) sigma: Option<Real>,
    /// The norm that gradients are clipped to, the randomizer's norm [default: 1; none for none]
    #[arg(long, value_name = "C", help_heading = "Mechanism")]
    pub(crate) clip: Option<Real>,
    /// Users sampled each round, for cldp-sgd, local and none [default: all]
    #[arg(long, value_name = "M", help_heading = "Mechanism")]
    pub(crate) sample: Option<Count>,
    /// Probability that a user takes part in a round, for check-in
    #[arg(long, value_name = "G", help_heading = "Mechanism")]
    pub(crate) check_in: Option<Real>,
    /// Number of blocks, for blocks
    #[arg(long, value_name = "B", help_heading = "Mechanism")]
    pub(crate) blocks: Option<Count>,
    /// Batches of an epoch, for central [default: 100]
    #[arg(long, value_name = "K", help_heading = "Mechanism")]
    pub(crate) batches: Option<Count>,
    /// Add reports where they are drawn instead of shuffling them: the sum has the same law
    #[arg(long, help_heading = "Mechanism")]
    pub(crate) fast: bool,
    /// Rounds; epochs for blocks and central [default: 100, or as many as --target-epsilon allows, at most 10,000]
    #[arg(long, value_name = "T", help_heading = "Learning")]
    pub(crate) rounds: Option<Count>,
    /// Learning rate of the first round [default: 0.1]
    #[arg(long, value_name = "R", help_heading = "Learning")]
    pub(crate) rate: Option<Real>,
    /// How the rate changes
    #[arg(long, value_enum, default_value = "cosine", help_heading = "Learning")]
    pub(crate) schedule: ScheduleName,
    /// What the server does with a mean gradient
    #[arg(long, value_enum, default_value = "sgd", help_heading = "Learning")]
    pub(crate) optimizer: OptimizerName,
    /// Momentum of sgd [default: 0.9]
    #[arg(long, value_name = "B", help_heading = "Learning")]
    pub(crate) momentum: Option<Real>,
    /// Keep the parameters within this distance of the start
    #[arg(long, value_name = "R", help_heading = "Learning")]
    pub(crate) radius: Option<Real>,
    /// Stop before the round that would take the certified epsilon above this
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub(crate) target_epsilon: Option<Real>,
    /// Central delta, in [1e-300, 1)
    #[arg(
        long,
        value_name = "D",
        default_value = "1e-5",
        help_heading = "Question"
    )]
    pub(crate) delta: Real,
    /// Rounds between two looks at accuracy and epsilon [default: a twentieth of all]
    #[arg(long, value_name = "K", help_heading = "Output")]
    pub(crate) every: Option<Count>,
    /// Simulate: the same seed gives the same run, and protects nobody [default: the operating system's randomness]
    #[arg(long, value_name = "S", help_heading = "Output")]
    pub(crate) seed: Option<Count>,
}

#[derive(Args)]
pub(crate) struct TrainArguments {
    #[command(flatten)]
    words: TrainWords,
    /// A new folder for the run: record.json, rounds.csv, accuracy.svg, and a checkpoint to go on from
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Go on with the run of this folder; its record has all other words
    #[arg(long, value_name = "DIR", exclusive = true, help_heading = "Output")]
    resume: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub(crate) format: Format,
}

impl TrainArguments {
    /// Runs, printing as it goes where people read, and gives what is left to print.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let (words, mut folder) = match (&self.resume, &self.out) {
            (Some(path), _) => {
                let folder = Folder::open(path);
                if let Some(result) = folder.result()? {
                    return Ok(format!("This run is over: {result}\n"));
                }
                (folder.words()?, Some(folder))
            }
            (None, Some(path)) => {
                let mut words = self.words.clone().with_demonstration();
                // Whoever goes on may be elsewhere.
                if let Some(data) = &mut words.data
                    && let Ok(full) = data.canonicalize()
                {
                    *data = full;
                }
                (words, Some(Folder::new(path)?))
            }
            (None, None) => (self.words.clone().with_demonstration(), None),
        };
        let setup = words.setup()?;
        let people = self.format == Format::Table;
        let mut watch = |event: Event<'_>| match event {
            _ if !people => Ok(()),
            Event::Begins(planned) => say(&format!(
                "{}\n\n{planned}\n\n{}",
                setup.about.join("\n"),
                Point::HEADER
            )),
            Event::Looked(point) => say(&point.line()),
        };
        let outcome = run::run(&words, &setup, folder.as_mut(), &mut watch)?;
        if let Some(folder) = &folder {
            folder.finish(&outcome, &picture(&outcome, &setup.about[0])?)?;
        }
        Ok(match self.format {
            Format::Table => {
                let mut lines = vec![String::new()];
                lines.extend(outcome.summary(&words, &setup)?);
                if let Some(folder) = &folder {
                    lines.push(format!("The run is in {}.", folder.display()));
                }
                lines.join("\n") + "\n"
            }
            Format::Json => {
                let relation = outcome.spent.as_ref().map(|spent| spent.relation().name());
                let record = json!({
                    "version": env!("CARGO_PKG_VERSION"),
                    "relation": relation,
                    "query": words,
                    "about": setup.about,
                    "notes": setup.notes,
                    "delta": setup.delta,
                    "result": outcome.json(),
                });
                format!("{record}\n")
            }
            Format::Csv => run::csv(&outcome.points),
        })
    }
}

/// A command line without its first two words.
#[derive(Parser)]
#[command(name = "train", no_binary_name = true)]
struct Line {
    #[command(flatten)]
    words: TrainWords,
}

impl TrainWords {
    /// What stands behind `shuffledp train`, separated by spaces.
    pub(crate) fn parsed(line: &str) -> Result<Self, Failure> {
        Ok(Line::try_parse_from(line.split_whitespace())?.words)
    }

    /// How well it goes, in memory and without prices; `step` hears of every round, and of how many there are.
    pub(crate) fn course(&self, step: &mut dyn FnMut(u64, u64)) -> Result<Course, Failure> {
        run::course(self, &self.setup()?, step)
    }

    /// A demonstration has its own answers where nothing is said.
    fn with_demonstration(mut self) -> Self {
        if self.demo {
            let real = |word: &mut Option<Real>, number: f64| {
                word.get_or_insert(Real(number));
            };
            let count = |word: &mut Option<Count>, number: u64| {
                word.get_or_insert(Count(number));
            };
            let plain = matches!(self.algorithm, AlgorithmName::None | AlgorithmName::Central);
            if !plain && self.needs_epsilon0() {
                real(&mut self.epsilon0, 3.0);
            }
            match self.algorithm {
                AlgorithmName::CldpSgd | AlgorithmName::Local | AlgorithmName::None => {
                    count(&mut self.sample, 4000);
                }
                AlgorithmName::CheckIn => real(&mut self.check_in, 0.2),
                AlgorithmName::Blocks => count(&mut self.blocks, 100),
                AlgorithmName::Central => real(&mut self.sigma, 10.0),
            }
            if self.target_epsilon.is_none() {
                count(&mut self.rounds, 60);
            }
            real(&mut self.rate, 0.3);
            self.features.get_or_insert(Features::Plain);
        }
        self
    }
}

/// A line for whoever watches.
fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        // Nobody watches any more: the run goes on.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::unwritten(&error)),
    }
}

impl Point {
    const HEADER: &str = "   round   reports   accuracy   epsilon, upper       lower\n ──────────────────────────────────────────────────────────";

    /// One line of the table that grows.
    fn line(&self) -> String {
        let accuracy = self
            .accuracy
            .map_or(String::new(), |share| format!("{share:.4}"));
        let (upper, lower) = match self.price {
            Price::Spent(upper, lower) => {
                (rounded(upper, Side::Upper), rounded(lower, Side::Lower))
            }
            Price::Unprovable => ("none".to_owned(), "?".to_owned()),
            Price::Unasked | Price::Unprotected => ("-".to_owned(), "-".to_owned()),
        };
        format!(
            "{:>8}{:>10}{accuracy:>11}{upper:>17}{lower:>12}",
            grouped(self.round),
            grouped(self.reports),
        )
    }
}

impl Outcome {
    /// What came out, in sentences.
    fn summary(&self, words: &TrainWords, setup: &setup::Setup) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        let judged = match &words.validation {
            Some(_) => "held-out",
            None => "test",
        };
        if let Some(last) = self.points.last() {
            let accuracy = last.accuracy.unwrap_or(f64::NAN);
            lines.push(format!(
                "After {}: accuracy {accuracy:.4} on {} {judged} examples.",
                run::many(last.round),
                grouped(setup.data.test().len() as u64),
            ));
            lines.push(match (&self.spent, last.price) {
                (Some(spent), _) => format!(
                    "Privacy: all rounds together are ({}, {})-differentially private when {}\n({}, {}).\nLower: {}.",
                    spent.upper(),
                    plain(setup.delta.value()),
                    setup.change(spent.relation()),
                    spent.upper().standing(),
                    spent.upper().method(),
                    from_below(spent.lower()),
                ),
                (None, Price::Unprovable) => format!(
                    "Privacy: no finite epsilon can be proved for these rounds at delta = {}.",
                    plain(setup.delta.value())
                ),
                (None, _) => "Privacy: none.".to_owned(),
            });
        }
        match self.refused() {
            0 => {}
            some => lines.push(format!(
                "{} gradients were not finite and refused; zero vectors were sent in their place. How many there were is not protected.",
                grouped(some)
            )),
        }
        lines.extend(setup.notes.iter().cloned());
        if let Some(Count(seed)) = words.seed {
            lines.push(format!(
                "A simulation from seed {seed}: its randomness protects nobody."
            ));
        }
        Ok(lines)
    }
}

/// Accuracy over the certified epsilon; over rounds where there is none.
fn picture(outcome: &Outcome, subtitle: &str) -> Result<Vec<u8>, Failure> {
    let looked: Vec<&Point> = outcome.looks().collect();
    let spent = |point: &&Point| match point.price {
        Price::Spent(upper, _) => Some(upper),
        _ => None,
    };
    let priced = looked.iter().all(|point| spent(point).is_some());
    let at = looked.iter().map(|point| match spent(point) {
        Some(upper) if priced => upper,
        _ => point.round as f64,
    });
    let sheet = Sheet {
        over: if priced { "epsilon" } else { "round" }.to_owned(),
        at: at.collect(),
        series: vec![Series {
            name: "accuracy".to_owned(),
            side: Side::Upper,
            standing: None,
            look: Look::Line,
            values: looked.iter().map(|point| point.accuracy).collect(),
        }],
    };
    let picture = Picture {
        title: if priced {
            "Accuracy as the budget is spent"
        } else {
            "Accuracy by round"
        }
        .to_owned(),
        subtitle: subtitle.lines().next().unwrap_or_default().to_owned(),
        x: Axis::linear(if priced { "certified ε" } else { "round" }),
        y: Axis::linear("accuracy"),
        within: (f64::NEG_INFINITY, f64::INFINITY),
    };
    Ok(picture.draw(&sheet, Kind::Svg)?)
}
