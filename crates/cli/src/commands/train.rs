//! `shuffledp train`: trains a model from clipped and randomized gradients, and prints the privacy budget as
//! it is spent.
//!
//! Flags become a [`RunSpec`]; the library runs it; this module prints its events and its outcome.

mod search;

use crate::choice::choice;
use crate::commands::epsilon::from_below;
use crate::failure::Failure;
use crate::interrupt;
use crate::number::{Count, OneOrRange, Range, Real};
use crate::output::Format;
use crate::plot::{Axis, Kind, Picture};
use crate::tables::refused_examples;
use crate::values::listed;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Command, Parser};
use serde_json::json;
use shuffledp::learning::run::{
    AUTO, AlgorithmKind, CategoryColumn, ColumnRange, Data, Event, FeatureKind, Folder, Looks,
    MODEL_FILES, ModelKind, OptimizerKind, Outcome, Planned, Point, Price, Reason, RunSpec,
    ScheduleKind, Setup, Source, StandIn, TableSpec, Trained, Unit, randomizers, run, to_csv,
};
use shuffledp::learning::{Activation, RateStep};
use shuffledp::{Round, Side, grouped, plain, rounded};
use shuffledp_plot::{BUILT, Look, Series, Sheet};
use shuffledp_tables::Table;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The flags that describe a run.
#[derive(Args, Debug)]
struct TrainFlags {
    /// Folder with the files of MNIST, Fashion-MNIST or CIFAR-10, or a CSV or Parquet table: one example for
    /// each user
    #[arg(long, value_name = "PATH", help_heading = "Data")]
    data: Option<PathBuf>,
    /// Learn from a synthetic data set
    #[arg(long, conflicts_with = "data", help_heading = "Data")]
    demo: bool,
    /// The column of a table that is predicted
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    label: Option<String>,
    /// The column of a table that says whose row it is: a user may have several rows, sends one report, and
    /// is protected with all of them [default: every row is another user's]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    user: Option<String>,
    /// The column of a table with each user's own probability of taking part, for --check-in LO..HI
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    rates: Option<String>,
    /// A column of a table that holds one of a public list of values, as in color=red,green,blue: a number
    /// for each value
    #[arg(long, value_name = "NAME=LIST", help_heading = "Data")]
    category: Vec<String>,
    /// The value that stands in for empty cells of a column, as in age=50 [default: empty cells are refused]
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Data")]
    missing: Vec<String>,
    /// The columns of a table that are features: numbers, but for those of --category [default: every column
    /// without another use]
    #[arg(long, value_name = "LIST", help_heading = "Data")]
    columns: Option<String>,
    /// Public range of the numbers of a table: lo..hi, or name=lo..hi for one column [default: 0..1]
    #[arg(long, value_name = "RANGE", help_heading = "Data")]
    range: Vec<String>,
    /// Public list of the classes of a table, separated by commas
    #[arg(long, value_name = "LIST", help_heading = "Data")]
    classes: Option<String>,
    /// Fraction of a table's rows that are test examples [default: 0.2]
    #[arg(long, value_name = "F", help_heading = "Data")]
    test_share: Option<Real>,
    /// Hold out this fraction of the training examples, and measure accuracy on them instead of the test
    /// examples
    #[arg(long, value_name = "F", help_heading = "Data")]
    validation: Option<Real>,
    /// Features of an example [default: oriented-gradients for logistic regression on pictures, else plain]
    #[arg(long, value_parser = choice::<FeatureKind>(), help_heading = "Model")]
    features: Option<FeatureKind>,
    /// Model
    #[arg(
        long,
        value_parser = choice::<ModelKind>(),
        default_value = "logistic",
        help_heading = "Model"
    )]
    model: ModelKind,
    /// Numbers in the hidden layer of mlp [default: 32]
    #[arg(long, value_name = "N", help_heading = "Model")]
    hidden: Option<Count>,
    /// Activation after a hidden layer
    #[arg(
        long,
        value_parser = choice::<Activation>(),
        default_value = "tanh",
        help_heading = "Model"
    )]
    activation: Activation,
    /// Learning algorithm, with its trust model
    #[arg(
        long,
        value_parser = choice::<AlgorithmKind>(),
        default_value = "cldp-sgd",
        help_heading = "Mechanism"
    )]
    algorithm: AlgorithmKind,
    /// Local randomizer of a gradient, or auto for the best one within --target-epsilon and --reports
    /// [default: r-2; laplace for blocks]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = randomizer_names(),
        help_heading = "Mechanism"
    )]
    randomizer: Option<String>,
    /// How many reports may be computed in all, for --randomizer auto: more of them let each say less, which
    /// is worth more
    #[arg(long, value_name = "R", help_heading = "Mechanism")]
    reports: Option<Count>,
    /// Largest local epsilon of a report, for --randomizer auto [default: none]
    #[arg(long, value_name = "E0", help_heading = "Mechanism")]
    max_epsilon0: Option<Real>,
    /// Local epsilon of one report
    #[arg(long, value_name = "E0", help_heading = "Mechanism")]
    epsilon0: Option<Real>,
    /// Standard deviation of the Gaussian noise in units of --clip, for gaussian, mixed-gaussian and central,
    /// and of each participant's share for secure-sum
    #[arg(long, value_name = "S", help_heading = "Mechanism")]
    sigma: Option<Real>,
    /// Probability of a report that does not depend on the gradient, for mixed-gaussian
    #[arg(long, value_name = "B", help_heading = "Mechanism")]
    blanket: Option<Real>,
    /// Bound that gradients are clipped to, in the norm of the randomizer [default: 1; no clipping for none]
    #[arg(long, value_name = "C", help_heading = "Mechanism")]
    clip: Option<Real>,
    /// Users sampled each round, for cldp-sgd, secure-sum, local and none [default: all]
    #[arg(long, value_name = "M", help_heading = "Mechanism")]
    sample: Option<Count>,
    /// Probability that a user takes part in a round, for check-in and secure-sum; LO..HI where users have
    /// probabilities of their own in this range
    #[arg(long, value_name = "G", help_heading = "Mechanism")]
    check_in: Option<OneOrRange>,
    /// Training examples of each user, in a row in the data: one report a user, and privacy for all of a
    /// user's examples together [default: 1]
    #[arg(long, value_name = "K", help_heading = "Data")]
    per_user: Option<Count>,
    /// Fraction of the users who may show the analyzer their reports, for cldp-sgd and check-in: they hide
    /// nobody [default: 0]
    #[arg(long, value_name = "F", help_heading = "Mechanism")]
    colluding: Option<Real>,
    /// Number of blocks, for blocks
    #[arg(long, value_name = "B", help_heading = "Mechanism")]
    blocks: Option<Count>,
    /// Batches of an epoch, for central [default: 100]
    #[arg(long, value_name = "K", help_heading = "Mechanism")]
    batches: Option<Count>,
    /// Steps of the grid from 0 to --clip, for secure-sum [default: as many as fit, at most 16384]
    #[arg(long, value_name = "K", help_heading = "Mechanism")]
    levels: Option<Count>,
    /// Probability that the report of a participant is lost, for cldp-sgd, check-in and secure-sum (where the
    /// masks are agreed by then) [default: 0]
    #[arg(long, value_name = "F", help_heading = "Mechanism")]
    dropout: Option<Real>,
    /// Fraction of the participants whose shares must arrive, for secure-sum: fewer are not unmasked, and the
    /// noise of as many is what is priced [default: 1 - 2 F with --dropout F]
    #[arg(long, value_name = "Q", help_heading = "Mechanism")]
    quorum: Option<Real>,
    /// Add up reports without shuffling or masking them: faster, and the sum has the same distribution
    #[arg(long, help_heading = "Mechanism")]
    fast: bool,
    /// Rounds; epochs for blocks and central [default: 100, or as many as --target-epsilon allows, at most
    /// 10,000]
    #[arg(long, value_name = "T", help_heading = "Learning")]
    rounds: Option<Count>,
    /// Learning rate of the first round [default: 0.1]
    #[arg(long, value_name = "R", help_heading = "Learning")]
    rate: Option<Real>,
    /// Schedule of the learning rate
    #[arg(
        long,
        value_parser = choice::<ScheduleKind>(),
        default_value = "cosine",
        help_heading = "Learning"
    )]
    schedule: ScheduleKind,
    /// Rates from some rounds on, for --schedule steps: 421=0.18, or several separated by commas
    #[arg(long, value_name = "ROUND=RATE", help_heading = "Learning")]
    steps: Option<String>,
    /// Optimizer of the server
    #[arg(
        long,
        value_parser = choice::<OptimizerKind>(),
        default_value = "sgd",
        help_heading = "Learning"
    )]
    optimizer: OptimizerKind,
    /// Momentum of sgd [default: 0.9]
    #[arg(long, value_name = "B", help_heading = "Learning")]
    momentum: Option<Real>,
    /// Keep the parameters within this distance of the start
    #[arg(long, value_name = "R", help_heading = "Learning")]
    radius: Option<Real>,
    /// Stop before the round whose certified epsilon would exceed this
    #[arg(long, value_name = "E", help_heading = "Question")]
    target_epsilon: Option<Real>,
    /// Central delta, in [1e-300, 1)
    #[arg(
        long,
        value_name = "D",
        default_value = "1e-5",
        help_heading = "Question"
    )]
    delta: Real,
    /// Rounds between two lines of accuracy and epsilon [default: a twentieth of all]
    #[arg(long, value_name = "K", help_heading = "Output")]
    every: Option<Count>,
    /// Seed of a simulation, of a network's initial parameters too: the same seed gives the same run, and its
    /// randomness protects nobody [default: the operating system's randomness]
    #[arg(long, value_name = "S", help_heading = "Output")]
    seed: Option<Count>,
}

#[derive(Args)]
pub(crate) struct TrainArguments {
    #[command(flatten)]
    flags: TrainFlags,
    /// Try several values, such as rate=0.03,0.1,0.3 or clip=0.5,1, every combination in a run of its own;
    /// makes no model, and says what the search costs
    #[arg(
        long,
        value_name = "LIST",
        conflicts_with = "out",
        help_heading = "Learning"
    )]
    search: Vec<String>,
    /// The data of --search are public: nothing is charged for it
    #[arg(long, requires = "search", help_heading = "Learning")]
    public: bool,
    /// New folder for the run: record.json, rounds.csv, accuracy.svg, and a checkpoint for --resume
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Continue the run of this folder; its record has all other options
    #[arg(long, value_name = "DIR", exclusive = true, help_heading = "Output")]
    resume: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub(crate) format: Format,
}

/// The names of the randomizers of gradients, with their titles.
fn randomizer_names() -> impl TypedValueParser<Value = String> {
    let values = randomizers().map(|entry| PossibleValue::new(entry.name()).help(entry.title()));
    let auto = PossibleValue::new(AUTO).help("The best of those with an epsilon0");
    PossibleValuesParser::new(values.chain([auto]))
}

impl TrainArguments {
    /// Runs, printing lines during the run in the table format, and returns the rest of the text.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let (spec, mut folder) = match (&self.resume, &self.out) {
            (Some(path), _) => {
                let folder = Folder::open(path);
                if let Some(summary) = folder.summary()? {
                    let (path, summary) = (path.display(), summary.join("\n"));
                    return Ok(format!("This run is over: {path}.\n\n{summary}\n"));
                }
                (folder.spec()?, Some(folder))
            }
            (None, Some(path)) => {
                let folder = Folder::create(path)?;
                (with_full_path(self.flags.spec()?), Some(folder))
            }
            (None, None) => (self.flags.spec()?, None),
        };
        if !self.search.is_empty() {
            let report = search::report(&self.search, self.public, spec)?;
            return Ok(report.rendered(self.format).0);
        }
        let setup = set_up(spec)?;
        let place = folder.as_ref().map(|folder| folder.path().to_owned());
        let people = self.format == Format::Table;
        let mut watch = |event: Event<'_>| match event {
            Event::Begins(planned) => {
                interrupt::says(last_words(place.as_deref(), &setup));
                if !people {
                    return Ok(());
                }
                let mut text = setup.about().join("\n") + "\n\n" + &sentence(planned, &setup);
                if let Some(path) = &place {
                    let path = path.display();
                    text += &format!(
                        "\nIf it is interrupted, go on with: shuffledp train --resume {path}"
                    );
                    if setup.spec().seed.is_none() {
                        text += "\nUntil it is over, the file key in that folder is as secret as the data.";
                    }
                }
                say(&format!("{text}\n\n{HEADER}"))
            }
            Event::Looked(point) if people => say(&line(point)),
            _ => Ok(()),
        };
        let outcome = run(&setup, folder.as_mut(), Looks::Priced, &mut watch)?;
        let mut summary = summary(&outcome, &setup);
        if let Some(folder) = &folder {
            if BUILT {
                folder.attach("accuracy.svg", &picture(&outcome, &setup.about()[0])?)?;
            }
            for (name, bytes) in MODEL_FILES
                .into_iter()
                .zip(Trained::new(&setup, &outcome)?.files()?)
            {
                folder.attach(name, &bytes)?;
            }
            folder.finish(&outcome, summary.clone())?;
            let path = folder.path().display();
            summary.push(format!(
                "The run is in {path}, the model in {path}/{}.",
                MODEL_FILES[0]
            ));
            summary.push(format!(
                "To use it: shuffledp predict --model {path} --data FILE"
            ));
        } else {
            summary.push("The model was not kept: --out DIR keeps the run and its model.".into());
        }
        Ok(match self.format {
            Format::Table => format!("\n{}\n", summary.join("\n")),
            Format::Json => {
                let relation = outcome.spent.as_ref().map(|spent| spent.relation().name());
                let record = json!({
                    "version": env!("CARGO_PKG_VERSION"),
                    "relation": relation,
                    "query": setup.spec(),
                    "about": setup.about(),
                    "notes": setup.notes(),
                    "delta": setup.delta(),
                    "result": outcome.to_json(),
                });
                format!("{record}\n")
            }
            Format::Csv => {
                let relation = outcome
                    .spent
                    .as_ref()
                    .map_or("none", |spent| spent.relation().name());
                let log = to_csv(&outcome.points);
                let mut lines = log.lines();
                let header = lines.next().unwrap_or_default();
                let rows: String = lines.map(|line| format!("{line},{relation}\n")).collect();
                format!("{header},relation\n{rows}")
            }
        })
    }
}

/// A warning where the randomness came from a seed.
fn simulated(setup: &Setup) -> Option<String> {
    let seed = setup.spec().seed?;
    Some(format!(
        "A simulation from seed {seed}: its randomness protects nobody."
    ))
}

/// What is said when a run is interrupted: how to go on, what stays secret, and what it has cost.
fn last_words(folder: Option<&Path>, setup: &Setup) -> String {
    let mut words = match folder {
        Some(path) => {
            let path = path.display();
            let secret = match setup.spec().seed {
                Some(_) => String::new(),
                None => format!(
                    "\nThe file key in {path} stays as secret as the data: it takes the noise off \
                     every round so far. It is removed when the run is over; to give the run up, remove it \
                     yourself."
                ),
            };
            format!("Interrupted. To go on: shuffledp train --resume {path}{secret}")
        }
        None => {
            "Interrupted. Nothing was kept: --out DIR keeps a run that one can go on with.".into()
        }
    };
    if setup.unit() != Unit::Nothing {
        words += "\nThe rounds so far have their price, whether or not the run goes on.";
    }
    words
}

/// The examples that accuracy is about.
fn judged(setup: &Setup) -> &'static str {
    match setup.spec().validation {
        Some(_) => "held-out",
        None => "test",
    }
}

/// A command line without `shuffledp train`.
#[derive(Parser)]
#[command(name = "train", no_binary_name = true)]
struct Line {
    #[command(flatten)]
    flags: TrainFlags,
}

/// The run that the flags behind `shuffledp train` describe, separated by spaces; its data may still be
/// missing.
pub(crate) fn parsed(line: &str) -> Result<RunSpec, Failure> {
    Line::try_parse_from(line.split_whitespace())?.flags.spec()
}

/// The round that a run is accounted as, and pairs of a round and the accuracy after it.
pub(crate) struct Course {
    pub(crate) round: Option<Round>,
    pub(crate) looks: Vec<(u64, f64)>,
}

/// Runs in memory without accounting; `step` is called after every round with its number and the total.
pub(crate) fn course(spec: RunSpec, step: &mut dyn FnMut(u64, u64)) -> Result<Course, Failure> {
    let setup = set_up(spec)?;
    let outcome = run::<Failure>(&setup, None, Looks::Unpriced, &mut |event| {
        if let Event::Stepped(round, rounds) = event {
            step(round, rounds);
        }
        Ok(())
    })?;
    let looks = outcome.looks();
    Ok(Course {
        looks: looks
            .filter_map(|point| Some((point.round, point.accuracy?)))
            .collect(),
        round: outcome.round.clone(),
    })
}

/// Whether a parameter of the library is a flag of this command.
pub(crate) fn is_flag(name: &str) -> bool {
    TrainArguments::augment_args(Command::new("train"))
        .get_arguments()
        .any(|argument| argument.get_long() == Some(name))
}

/// Checks a description and reads its data.
fn set_up(spec: RunSpec) -> Result<Setup, Failure> {
    let spec = spec.resolved();
    let data = source(&spec)?;
    Ok(Setup::new(spec, data)?)
}

/// The data of a description, which is checked first: data take longer to read.
fn source(spec: &RunSpec) -> Result<Data, Failure> {
    let Some(source) = &spec.data else {
        return Err(shuffledp::learning::Error::NoData.into());
    };
    spec.check()?;
    match source {
        Source::Table(table) => read(table),
        other => Ok(other.read()?),
    }
}

/// Reads a table, with notes on the parts that are not protected.
fn read(spec: &TableSpec) -> Result<Data, Failure> {
    let table = Table::read(spec).map_err(|error| refused_examples(error, spec))?;
    let mut data = Data::new(table.data, &spec.path.display().to_string());
    let numbers = table.names.numbers() as u64;
    data.about += &format!(", {} numbers each", grouped(numbers));
    let (train, test) = (data.dataset.train(), data.dataset.test());
    if spec.user.is_some() {
        data.about += &format!(
            ", of {} users and of {} others",
            grouped(train.users() as u64),
            grouped(test.users() as u64)
        );
    }
    if table.classes_occur {
        data.notes.push(format!(
            "The classes were taken from the file ({}): a real collection must know them beforehand \
             (--classes).",
            table.names.classes.join(", ")
        ));
    }
    data.names = table.names;
    let note = "The rows to be judged by are not protected: accuracy is theirs.";
    data.notes.push(note.into());
    Ok(data)
}

/// Parses ranges: `LO..HI` for all columns, `name=LO..HI` for one.
fn ranges(texts: &[String]) -> Result<Vec<ColumnRange>, Failure> {
    let parsed = texts.iter().map(|text| {
        // A name may hold an equals sign, a range does not.
        let (column, ends) = match text.rsplit_once('=') {
            None => (None, text.as_str()),
            Some((name, ends)) => (Some(name.trim().to_owned()), ends),
        };
        let range: Result<Range, _> = ends.parse();
        let Range(low, high) =
            range.map_err(|error| Failure::value("--range", ends, &error.to_string()))?;
        Ok(ColumnRange { column, low, high })
    });
    parsed.collect()
}

/// Parses columns of categories: `name=a,b,c`.
fn categories(texts: &[String]) -> Result<Vec<CategoryColumn>, Failure> {
    let parsed = texts.iter().map(|text| {
        let refused = || {
            let allowed = "a column and its values, such as color=red,green,blue";
            Failure::value("--category", text, allowed)
        };
        let (column, values) = text.split_once('=').ok_or_else(refused)?;
        Ok(CategoryColumn {
            column: column.trim().to_owned(),
            values: listed(values),
        })
    });
    parsed.collect()
}

/// Parses values for empty cells: `name=value`.
fn stand_ins(texts: &[String]) -> Result<Vec<StandIn>, Failure> {
    let parsed = texts.iter().map(|text| {
        let refused = || {
            let allowed = "a column and a value, such as age=50";
            Failure::value("--missing", text, allowed)
        };
        let (column, value) = text.rsplit_once('=').ok_or_else(refused)?;
        Ok(StandIn {
            column: column.trim().to_owned(),
            value: value.trim().to_owned(),
        })
    });
    parsed.collect()
}

/// Parses rates from some rounds on: `421=0.18`, or several separated by commas.
fn steps(text: &str) -> Result<Vec<RateStep>, Failure> {
    let steps = text.split(',').map(|step| {
        let ends = step.split_once('=');
        let ends = ends.and_then(|(from, rate)| Some((from.parse().ok()?, rate.parse().ok()?)));
        let (Count(from), Real(rate)) =
            ends.ok_or_else(|| Failure::value("--steps", step, "ROUND=RATE, such as 421=0.18"))?;
        Ok(RateStep { from, rate })
    });
    steps.collect()
}

/// Makes the path of the data absolute, for the record.
fn with_full_path(mut spec: RunSpec) -> RunSpec {
    let path = match &mut spec.data {
        Some(Source::Folder(path)) => path,
        Some(Source::Table(table)) => &mut table.path,
        _ => return spec,
    };
    if let Ok(full) = path.canonicalize() {
        *path = full;
    }
    spec
}

impl TrainFlags {
    /// The run that is described.
    fn spec(&self) -> Result<RunSpec, Failure> {
        let real = |number: Option<Real>| number.map(|Real(number)| number);
        let count = |number: Option<Count>| number.map(|Count(number)| number);
        Ok(RunSpec {
            data: self.source()?,
            validation: real(self.validation),
            features: self.features,
            model: self.model,
            hidden: count(self.hidden),
            activation: self.activation,
            algorithm: self.algorithm,
            randomizer: self.randomizer.clone(),
            reports: count(self.reports),
            max_epsilon0: real(self.max_epsilon0),
            epsilon0: real(self.epsilon0),
            sigma: real(self.sigma),
            blanket: real(self.blanket),
            clip: real(self.clip),
            sample: count(self.sample),
            check_in: self.check_in.map(|OneOrRange(rate)| rate),
            per_user: count(self.per_user),
            colluding: real(self.colluding),
            blocks: count(self.blocks),
            batches: count(self.batches),
            levels: count(self.levels),
            dropout: real(self.dropout),
            quorum: real(self.quorum),
            fast: self.fast,
            rounds: count(self.rounds),
            rate: real(self.rate),
            schedule: self.schedule,
            steps: self.steps.as_deref().map(steps).transpose()?,
            optimizer: self.optimizer,
            momentum: real(self.momentum),
            radius: real(self.radius),
            target_epsilon: real(self.target_epsilon),
            delta: self.delta.0,
            every: count(self.every),
            seed: count(self.seed),
            start: None,
        })
    }

    /// Where the examples come from.
    fn source(&self) -> Result<Option<Source>, Failure> {
        let table_flags = [
            ("--columns", self.columns.is_some()),
            ("--user", self.user.is_some()),
            ("--rates", self.rates.is_some()),
            ("--category", !self.category.is_empty()),
            ("--missing", !self.missing.is_empty()),
            ("--range", !self.range.is_empty()),
            ("--classes", self.classes.is_some()),
            ("--test-share", self.test_share.is_some()),
        ];
        let surplus = table_flags.into_iter().find(|(_, given)| *given);
        match (&self.data, &self.label, surplus) {
            (None, Some(_), _) => {
                let message = "--label is for a table, with --data";
                Err(Failure::flag("--label", message))
            }
            (_, None, Some((flag, _))) => {
                let message = format!("{flag} is for a table, with --label");
                Err(Failure::flag(flag, message))
            }
            (None, None, None) => Ok(self.demo.then_some(Source::Demo)),
            (Some(path), Some(label), _) => Ok(Some(Source::Table(TableSpec {
                path: path.clone(),
                label: label.clone(),
                user: self.user.clone(),
                rates: self.rates.clone(),
                columns: self.columns.as_deref().map(listed),
                categories: categories(&self.category)?,
                missing: stand_ins(&self.missing)?,
                ranges: ranges(&self.range)?,
                classes: self.classes.as_deref().map(listed),
                test_share: self.test_share.map_or(0.2, |Real(share)| share),
            }))),
            (Some(path), None, None) if path.is_file() => {
                let name = path.display();
                let message =
                    format!("--label, the column to be learnt, is needed for the table {name}");
                Err(Failure::flag("--label", message))
            }
            (Some(path), None, None) => Ok(Some(Source::Folder(path.clone()))),
        }
    }
}

/// Prints a line at once.
fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        // The reader has closed the pipe: the run goes on.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::unwritten(&error)),
    }
}

/// A number of rounds in words.
fn many(rounds: u64) -> String {
    match rounds {
        1 => "1 round".to_owned(),
        more => format!("{} rounds", grouped(more)),
    }
}

/// How many rounds there will be, and why.
fn sentence(planned: Planned, setup: &Setup) -> String {
    let rounds = many(planned.rounds);
    let delta = plain(setup.delta().value());
    let budget = plain(setup.spec().target_epsilon.unwrap_or_default());
    match planned.reason {
        Reason::Asked => format!("{rounds}."),
        Reason::Budget => {
            format!("{rounds}: the next would take epsilon at delta = {delta} above {budget}.")
        }
        Reason::AllWithinBudget => format!(
            "{rounds}: all that were asked for are within epsilon = {budget} at delta = {delta}."
        ),
        Reason::Limit => format!(
            "{rounds}: more would be within epsilon = {budget} at delta = {delta}: ask with --rounds."
        ),
    }
}

/// The header of the table that grows as the run goes on.
const HEADER: &str = "   round   reports   accuracy   epsilon, upper       lower\n \
    ──────────────────────────────────────────────────────────";

/// One line of that table.
fn line(point: &Point) -> String {
    let accuracy = point
        .accuracy
        .map_or(String::new(), |share| format!("{share:.4}"));
    let (upper, lower) = match point.price {
        Price::Spent(upper, lower) => (rounded(upper, Side::Upper), rounded(lower, Side::Lower)),
        Price::Unprovable => ("none".to_owned(), "?".to_owned()),
        Price::Unasked | Price::Unprotected => ("-".to_owned(), "-".to_owned()),
    };
    format!(
        "{:>8}{:>10}{accuracy:>11}{upper:>17}{lower:>12}",
        grouped(point.round),
        grouped(point.reports),
    )
}

/// The outcome in sentences.
fn summary(outcome: &Outcome, setup: &Setup) -> Vec<String> {
    let mut lines = Vec::new();
    let judged = judged(setup);
    if let Some(last) = outcome.points.last() {
        let accuracy = last
            .accuracy
            .map_or("unknown".to_owned(), |share| format!("{share:.4}"));
        lines.push(format!(
            "After {}: accuracy {accuracy} on {} {judged} examples.",
            many(last.round),
            grouped(setup.data().test().len() as u64),
        ));
        let delta = plain(setup.delta().value());
        lines.push(match (&outcome.spent, last.price) {
            (Some(spent), _) => format!(
                "Privacy: all rounds together are ({}, {delta})-differentially private when {}\n\
                 ({}, {}).\nLower{}: {}.",
                spent.upper(),
                outcome.unit.change(spent.relation()),
                spent.upper().standing(),
                spent.upper().method(),
                match spent.lower().attained_by() {
                    Some(_) => ", where gradients have the largest norm allowed",
                    None => "",
                },
                from_below(spent.lower()),
            ),
            (None, Price::Unprovable) => format!(
                "Privacy: no finite epsilon can be proved for these rounds at delta = {delta}."
            ),
            (None, _) => "Privacy: none.".to_owned(),
        });
    }
    match outcome.refused() {
        0 => {}
        some => lines.push(format!(
            "{} gradients were not finite and refused; zero vectors were sent in their place. \
             How many there were is not protected.",
            grouped(some)
        )),
    }
    lines.extend(setup.notes().iter().cloned());
    lines.extend(simulated(setup));
    lines
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
