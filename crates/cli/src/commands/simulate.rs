//! `shuffledp simulate`: a round on the records of a file, with devices, shuffler and analyzer in one
//! process.

mod heavy_hitters;
mod histogram;
mod mean;
mod quantiles;

use crate::commands::epsilon::from_below;
use crate::failure::Failure;
use crate::number::{Count, Range, Real};
use crate::output::{Block, Format, Grid, Report, fields};
use crate::plot::{Axis, Kind, Picture};
use crate::progress::Progress;
use crate::question::{RoundFlags, described};
use crate::tables::refused_records;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use shuffledp::protocol::{Analyzer, Attendance, Collection, CollectionError, Confidence};
use shuffledp::randomizers::{Random, Randomizer, Secure, Simulated, below};
use shuffledp::{
    Answer, Delta, Epsilon, RandomizerSpec, Round, RoundSpec, Side, Unknown, grouped, plain,
    with_dropout,
};
use shuffledp_plot::{Look, Series, Sheet};
use shuffledp_tables::Column;
use std::borrow::Borrow;
use std::path::PathBuf;

/// Bytes of reports that are shuffled in memory.
const MEMORY: usize = 1 << 28;
/// The stream of a seed that draws who holds which record: no device has it.
const RECORDS: u64 = u64::MAX;
/// Users that can be made of the records of a file.
const MOST_USERS: u64 = 100_000_000;
/// The randomizer of the flags where nobody chose one: a collection then chooses for itself.
const NOT_CHOSEN: &str = "ldp";
/// Lines of a table for people.
pub(crate) const LINES: usize = 20;
/// Values whose names fit under a picture.
const NAMED: usize = 40;

/// What is collected.
#[derive(Args)]
pub(crate) struct SimulateArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Shares of the values of a column, with intervals
    #[command(
        after_help = "Example:\n  shuffledp simulate histogram --input people.csv --column city --epsilon0 3 --truth"
    )]
    Histogram(histogram::HistogramArguments),
    /// The mean of a column, with an interval
    #[command(
        after_help = "Example:\n  shuffledp simulate mean --input people.csv --column age --range 0..120 --epsilon0 2 --truth"
    )]
    Mean(mean::MeanArguments),
    /// Quantiles of a column, with intervals, from a hierarchical histogram
    #[command(
        after_help = "Example:\n  shuffledp simulate quantiles --input people.csv --column age --range 0..120 --epsilon0 4 --truth"
    )]
    Quantiles(quantiles::QuantilesArguments),
    /// The values of a column that many hold, without a list of values
    #[command(
        after_help = "Example:\n  shuffledp simulate heavy-hitters --input words.csv --column word --epsilon0 4 --truth"
    )]
    HeavyHitters(heavy_hitters::HeavyHittersArguments),
}

impl SimulateArguments {
    pub(crate) fn format(&self) -> Format {
        self.round().flags.format
    }

    fn round(&self) -> &RoundArguments {
        match &self.what {
            What::Histogram(arguments) => &arguments.round,
            What::Mean(arguments) => &arguments.round,
            What::Quantiles(arguments) => &arguments.round,
            What::HeavyHitters(arguments) => &arguments.round,
        }
    }

    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let round = self.round();
        round.check()?;
        let outcome = match &self.what {
            What::Histogram(arguments) => arguments.outcome()?,
            What::Mean(arguments) => arguments.outcome()?,
            What::Quantiles(arguments) => arguments.outcome()?,
            What::HeavyHitters(arguments) => arguments.outcome()?,
        };
        round.report(&outcome)
    }
}

/// The records, and the round.
#[derive(Args)]
struct RoundArguments {
    #[command(flatten)]
    flags: RoundFlags,
    /// A CSV file with a header, or a Parquet file: one record a user
    #[arg(long, value_name = "FILE", help_heading = "Records")]
    input: PathBuf,
    /// The column that is collected
    #[arg(long, value_name = "NAME", help_heading = "Records")]
    column: String,
    /// Fraction of participants whose report is lost, independently of their value
    #[arg(
        long,
        value_name = "F",
        default_value = "0",
        help_heading = "Mechanism"
    )]
    dropout: Real,
    /// Central delta, in [1e-300, 1)
    #[arg(
        long,
        value_name = "D",
        default_value = "1e-6",
        help_heading = "Question"
    )]
    delta: Real,
    /// Confidence of the intervals, in [0.5, 1)
    #[arg(
        long,
        value_name = "C",
        default_value = "0.95",
        help_heading = "Question"
    )]
    confidence: Real,
    /// Show the true values too, which a real collection never knows
    #[arg(long, help_heading = "Output")]
    truth: bool,
    /// A picture of the estimates and the truth, .svg or .png
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,
    /// Simulate: the same seed gives the same run, and protects nobody [default: the operating system's
    /// randomness]
    #[arg(long, value_name = "S", help_heading = "Output")]
    seed: Option<Count>,
}

/// Who holds which record.
struct People {
    users: u64,
    /// None where user i holds record i.
    drawn: Option<Vec<u32>>,
}

impl People {
    fn record(&self, user: u64) -> usize {
        match &self.drawn {
            Some(records) => records[user as usize] as usize,
            None => user as usize,
        }
    }

    /// The records that are held.
    fn records(&self) -> impl Iterator<Item = usize> {
        (0..self.users).map(|user| self.record(user))
    }
}

/// One estimate.
struct Line {
    /// What it is of.
    name: String,
    value: f64,
    interval: (f64, f64),
    truth: Option<f64>,
}

/// What came out, before it is printed.
struct Outcome {
    priced: Priced,
    reports: u64,
    malformed: u64,
    /// What the names are, and what the values.
    columns: [&'static str; 2],
    lines: Vec<Line>,
    /// What a reader must know beyond that.
    notes: Vec<String>,
}

/// A round that was run, and what it cost.
struct Priced {
    spec: RoundSpec,
    answer: Answer<Epsilon>,
    /// What was collected, and how.
    collected: Map<String, Value>,
}

impl RoundArguments {
    /// Flags that describe something else than one round.
    fn check(&self) -> Result<(), Failure> {
        self.flags.refuse_accuracy()?;
        let spec = self
            .flags
            .open(Unknown::Rounds, "more than the one round that is run")?;
        if spec.adaptive_within_round {
            let message = "--adaptive-within-round: the randomizers that are run do not look at earlier reports";
            return Err(Failure::flag("--adaptive-within-round", message));
        }
        if let Some(path) = &self.plot {
            Kind::of(path)?;
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            if folder.is_some_and(|folder| !folder.is_dir()) || path.is_dir() {
                let message = format!(
                    "--plot {} cannot be written: no such folder",
                    path.display()
                );
                return Err(Failure::flag("--plot", message));
            }
        }
        self.delta()?;
        self.confidence()?;
        self.dropout()?;
        Ok(())
    }

    fn delta(&self) -> Result<Delta, Failure> {
        Ok(Delta::new(self.delta.0)?)
    }

    fn confidence(&self) -> Result<Confidence, Failure> {
        Confidence::new(self.confidence.0)
            .ok_or_else(|| Failure::value("--confidence", self.confidence, "in [0.5, 1 - 1e-12]"))
    }

    fn dropout(&self) -> Result<f64, Failure> {
        if (0.0..1.0).contains(&self.dropout.0) {
            return Ok(self.dropout.0);
        }
        Err(Failure::value("--dropout", self.dropout, "in [0, 1)"))
    }

    fn seed(&self) -> Option<u64> {
        self.seed.map(|seed| seed.0)
    }

    /// The round of so many users. `choose` names the randomizer where nobody did.
    fn spec(
        &self,
        people: &People,
        choose: impl FnOnce(f64) -> Result<&'static str, Failure>,
    ) -> Result<RoundSpec, Failure> {
        let mut spec = self.flags.spec()?.with(Unknown::Users, people.users as f64);
        if spec.randomizer.name() == NOT_CHOSEN {
            let Some(epsilon0) = spec.randomizer.epsilon0 else {
                let message = "--epsilon0, the local guarantee, is needed";
                return Err(Failure::flag("--epsilon0", message));
            };
            spec.randomizer = RandomizerSpec::new(choose(epsilon0)?)?;
            spec.randomizer.epsilon0 = Some(epsilon0);
        }
        Ok(spec)
    }

    /// For collections that have a randomizer of their own: its name, and the round of it.
    fn own_randomizer(
        &self,
        what: &str,
        name: &'static str,
        people: &People,
    ) -> Result<(RoundSpec, f64), Failure> {
        let spec = self.spec(people, |_| Ok(name))?;
        if spec.randomizer.name() != name {
            let message =
                format!("--randomizer: {what} have a randomizer of their own; leave it out");
            return Err(Failure::flag("--randomizer", message));
        }
        let epsilon0 = spec.randomizer.epsilon0()?;
        Ok((spec, epsilon0))
    }

    /// The column that is collected.
    fn column(&self) -> Column<'_> {
        Column::new(&self.input, &self.column)
    }

    /// Numbers of the column, each checked to lie in the range and put into [0, 1].
    fn numbers(&self, Range(low, high): Range) -> Result<Vec<f64>, Failure> {
        self.column().within(low, high).map_err(refused_records)
    }

    /// One user a record, or as many as are asked for, each with a record drawn at random.
    fn people(&self, records: u64) -> Result<People, Failure> {
        let Some(users) = self.flags.spec()?.users else {
            return Ok(People {
                users: records,
                drawn: None,
            });
        };
        if users > MOST_USERS || records > u64::from(u32::MAX) {
            let allowed = "at most 1e8 for a simulation";
            return Err(Failure::value("--users", users, allowed));
        }
        let drawn = match self.seed() {
            Some(seed) => draw(users, records, &mut Simulated::new(seed, RECORDS)),
            None => draw(users, records, &mut Secure::new()?),
        };
        Ok(People {
            users,
            drawn: Some(drawn),
        })
    }

    /// The round, run.
    fn collect<'a, R, V>(
        &self,
        spec: &RoundSpec,
        randomizer: &'a R,
        people: &People,
        value: impl Fn(usize) -> V + Sync,
    ) -> Result<Analyzer<'a, R>, Failure>
    where
        R: Randomizer + Sync,
        V: Borrow<R::Value>,
    {
        let participation = Round::try_from(spec)?.participation();
        let attendance = Attendance::new(participation, people.users, self.dropout()?)
            .map_err(|error| Failure::flag("--check-in", error.to_string()))?;
        let collection = Collection {
            users: people.users,
            attendance,
            memory: MEMORY,
        };
        let progress = Progress::of(people.users, "users");
        let value = |user: u64| value(people.record(user));
        let sent = |users: u64| progress.advance(users);
        let analyzer = match self.seed() {
            Some(seed) => {
                let random = |stream| Ok(Simulated::new(seed, stream));
                collection.run(randomizer, value, random, tempfile::tempfile, sent)
            }
            None => collection.run(
                randomizer,
                value,
                |_| Secure::new(),
                tempfile::tempfile,
                sent,
            ),
        };
        let analyzer = analyzer.map_err(|error| match error {
            CollectionError::Randomizer(error) => error.into(),
            error => Failure::incomplete(error.to_string()),
        })?;
        match analyzer.taken() {
            few @ 0..=1 => Err(Failure::incomplete(format!(
                "{few} report(s) arrived: two or more are needed to say how far off they may be"
            ))),
            _ => Ok(analyzer),
        }
    }

    /// What the round costs. It is priced as the device that runs: its grid may have a law of its own.
    fn priced<R: Randomizer>(&self, spec: &RoundSpec, randomizer: &R) -> Result<Priced, Failure> {
        let round = Round::try_from(spec)?.run_by(randomizer.mechanism().clone())?;
        let answer = with_dropout(&round, 1, self.dropout()?, self.delta()?)?;
        Ok(Priced {
            spec: spec.clone(),
            answer,
            collected: fields(json!({
                "input": self.input.display().to_string(),
                "column": self.column,
                "dropout": self.dropout()?,
            })),
        })
    }

    /// What was run, in sentences.
    fn sentence(&self, outcome: &Outcome) -> Result<String, Failure> {
        let mut sentence = outcome.priced.spec.sentence(None);
        let dropout = self.dropout()?;
        if dropout > 0.0 {
            sentence += &format!(
                " A fraction {} of them drops out, which the upper bound does not credit.",
                plain(dropout)
            );
        }
        if self.flags.spec()?.users.is_some() {
            sentence += &format!(
                " Each user holds a record drawn at random from those of {}.",
                self.input.display()
            );
        }
        Ok(sentence)
    }

    fn report(&self, outcome: &Outcome) -> Result<Report, Failure> {
        let after = match &self.plot {
            Some(path) => crate::plot::written(path, self.picture(outcome)),
            None => None,
        };
        Ok(Report {
            blocks: self.blocks(outcome)?,
            json: self.json(outcome)?,
            csv: self.csv(outcome),
            relation: Some(outcome.priced.answer.relation()),
            after,
        })
    }

    fn blocks(&self, outcome: &Outcome) -> Result<Vec<Block>, Failure> {
        let [names, values] = outcome.columns;
        let interval = format!("{} % interval", plain(100.0 * self.confidence()?.value()));
        let mut header = vec![names.to_owned(), values.to_owned(), interval];
        if self.truth {
            header.push("truth".into());
        }
        let columns = header.len();
        let mut table = Grid::new(header).right_aligned(1..columns);
        let mut shown: Vec<&Line> = outcome.lines.iter().collect();
        if shown.len() > LINES {
            shown.sort_by(|a, b| b.value.total_cmp(&a.value));
            shown.truncate(LINES);
        }
        let digits = decimals(&shown);
        for line in &shown {
            let number = |value: f64| match digits {
                Some(digits) => format!("{value:.digits$}"),
                None => format!("{value:.4e}"),
            };
            let (low, high) = line.interval;
            let mut cells = vec![
                printable(&line.name),
                number(line.value),
                format!("{} .. {}", number(low), number(high)),
            ];
            if self.truth {
                cells.push(line.truth.map_or(String::new(), number));
            }
            table.row(cells);
        }
        let mut notes = Vec::new();
        if outcome.lines.len() > shown.len() {
            notes.push(format!(
                "The {} largest of {}; --format csv has all.",
                shown.len(),
                grouped(outcome.lines.len() as u64)
            ));
        }
        notes.extend(outcome.notes.iter().cloned());
        let malformed = match outcome.malformed {
            0 => "none malformed".to_owned(),
            some => format!("{} malformed and refused", grouped(some)),
        };
        notes.push(format!(
            "{} reports, {malformed}.",
            grouped(outcome.reports)
        ));
        if let Some(seed) = self.seed() {
            notes.push(format!(
                "A simulation from seed {seed}: its randomness protects nobody."
            ));
        }
        let answer = &outcome.priced.answer;
        let mut blocks = vec![Block::Paragraph(self.sentence(outcome)?)];
        if !shown.is_empty() {
            blocks.push(Block::Table(table));
        }
        blocks.extend(notes.into_iter().map(Block::Line));
        blocks.push(Block::Line(format!(
            "Privacy: what the analyzer sees is ({}, {})-differentially private when {} ({}, {}); {}.",
            answer.upper(),
            plain(self.delta()?.value()),
            answer.relation(),
            answer.upper().standing(),
            answer.upper().method(),
            from_below(answer.lower()),
        )));
        Ok(blocks)
    }

    fn json(&self, outcome: &Outcome) -> Result<Map<String, Value>, Failure> {
        let [names, values] = outcome.columns.map(|name| name.replace(' ', "_"));
        let lines: Vec<Value> = outcome
            .lines
            .iter()
            .map(|line| {
                let mut object = Map::new();
                object.insert(names.clone(), json!(line.name));
                object.insert(values.clone(), json!(line.value));
                object.insert("low".into(), json!(line.interval.0));
                object.insert("high".into(), json!(line.interval.1));
                if self.truth {
                    object.insert("truth".into(), json!(line.truth));
                }
                Value::Object(object)
            })
            .collect();
        let answer = &outcome.priced.answer;
        Ok(fields(json!({
            "query": described(&outcome.priced.spec),
            "collected": outcome.priced.collected,
            "seed": self.seed(),
            "reports": outcome.reports,
            "malformed": outcome.malformed,
            "confidence": self.confidence()?.value(),
            "estimates": lines,
            "notes": outcome.notes,
            "delta": self.delta()?.value(),
            "epsilon": {"upper": answer.upper().value(), "lower": answer.lower().value()},
            "upper": answer.upper(),
            "lower": answer.lower(),
        })))
    }

    fn csv(&self, outcome: &Outcome) -> Grid {
        let [names, values] = outcome.columns;
        let mut header = vec![names, values, "low", "high"];
        if self.truth {
            header.push("truth");
        }
        header.extend(["epsilon", "standing", "delta", "seed"]);
        let mut csv = Grid::new(header);
        let upper = outcome.priced.answer.upper();
        let price = [
            upper.value().to_string(),
            upper.standing().to_string(),
            self.delta.to_string(),
            self.seed.map_or(String::new(), |seed| seed.to_string()),
        ];
        for line in &outcome.lines {
            let mut fields = vec![
                line.name.clone(),
                line.value.to_string(),
                line.interval.0.to_string(),
                line.interval.1.to_string(),
            ];
            if self.truth {
                fields.push(line.truth.map_or(String::new(), |truth| truth.to_string()));
            }
            fields.extend(price.iter().cloned());
            csv.row(fields);
        }
        csv
    }

    /// Estimates with their intervals and the truth beside each other; many of them over the truth.
    fn picture(&self, outcome: &Outcome) -> Result<Vec<u8>, Failure> {
        let path = self.plot.clone().unwrap_or_default();
        let [names, values] = outcome.columns;
        let percent = plain(100.0 * self.confidence()?.value());
        let mut lines: Vec<&Line> = outcome.lines.iter().collect();
        let many = lines.len() > NAMED;
        if many {
            let truth = |line: &&Line| line.truth.unwrap_or(line.value);
            lines.sort_by(|a, b| truth(a).total_cmp(&truth(b)));
        }
        let series =
            |name: String, side: Side, look: Look, of: &dyn Fn(&Line) -> Option<f64>| Series {
                name,
                side,
                standing: None,
                look,
                values: lines.iter().map(|line| of(line)).collect(),
            };
        let mut all = vec![
            series(
                format!("estimate, with its {percent} % interval"),
                Side::Upper,
                Look::Marks,
                &|line| Some(line.value),
            ),
            series(
                format!("{percent} % interval"),
                Side::Upper,
                Look::Whisker,
                &|line| Some(line.interval.1),
            ),
            series(
                format!("{percent} % interval"),
                Side::Lower,
                Look::Whisker,
                &|line| Some(line.interval.0),
            ),
        ];
        let truth: &dyn Fn(&Line) -> Option<f64> = &|line| line.truth;
        if lines.iter().any(|line| line.truth.is_some()) {
            let look = if many { Look::Line } else { Look::Marks };
            all.push(series("truth".into(), Side::Upper, look, truth));
        }
        let (x, at) = if many {
            let at = lines.iter().map(|line| line.truth.unwrap_or(line.value));
            (Axis::linear(format!("true {values}")), at.collect())
        } else {
            let words: Vec<String> = lines.iter().map(|line| printable(&line.name)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let at = (1..=lines.len()).map(|place| place as f64);
            (Axis::words(names, &words), at.collect())
        };
        let sheet = Sheet {
            over: names.to_owned(),
            at,
            series: all,
        };
        let picture = Picture {
            title: format!("{} of {}", capitalised(values), self.column),
            subtitle: self.sentence(outcome)?,
            x,
            y: Axis::linear(values),
            within: (f64::NEG_INFINITY, f64::INFINITY),
        };
        Ok(picture.draw(&sheet, Kind::of(&path)?)?)
    }
}

/// Which of the records each user holds.
fn draw<R: Random>(users: u64, records: u64, random: &mut R) -> Vec<u32> {
    (0..users).map(|_| below(records, random) as u32).collect()
}

/// Digits after the point that show two or three of the narrowest interval; none where numbers are too large
/// or too small to be written out.
fn decimals(lines: &[&Line]) -> Option<usize> {
    let width = lines
        .iter()
        .map(|line| line.interval.1 - line.interval.0)
        .filter(|width| *width > 0.0)
        .fold(f64::INFINITY, f64::min);
    let largest = lines
        .iter()
        .map(|line| line.value.abs())
        .fold(0.0, f64::max);
    if width.is_infinite() {
        return Some(4);
    }
    let digits = 2.0 - width.log10().floor();
    (digits <= 12.0 && largest < 1e12).then(|| digits.max(0.0) as usize)
}

/// A name on one line, without what would move a cursor, and not too long.
fn printable(name: &str) -> String {
    const SHOWN: usize = 40;
    let mut text: String = name
        .chars()
        .take(SHOWN)
        .map(|letter| {
            if letter.is_control() {
                '\u{fffd}'
            } else {
                letter
            }
        })
        .collect();
    if name.chars().nth(SHOWN).is_some() {
        text.push_str("...");
    }
    text
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
