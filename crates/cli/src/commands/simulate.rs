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
use shuffledp::protocol::survey::{Outcome, Reading, Survey};
use shuffledp::{Side, grouped, plain};
use shuffledp_plot::{Look, Series, Sheet};
use shuffledp_tables::Column;
use std::path::PathBuf;

/// Most lines of the printed table.
pub(crate) const LINES: usize = 20;
/// Most values whose names fit under a picture.
const NAMED: usize = 40;

/// The statistic that is collected.
#[derive(Args)]
pub(crate) struct SimulateArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Shares of the values of a column, with intervals
    #[command(
        after_help = "Example:\n  shuffledp simulate histogram --input people.csv --column city \
            --epsilon0 3 --truth"
    )]
    Histogram(histogram::HistogramArguments),
    /// The mean of a column, with an interval
    #[command(
        after_help = "Example:\n  shuffledp simulate mean --input people.csv --column age --range 0..120 \
            --epsilon0 2 --truth"
    )]
    Mean(mean::MeanArguments),
    /// Quantiles of a column, with intervals, from a hierarchical histogram
    #[command(
        after_help = "Example:\n  shuffledp simulate quantiles --input people.csv --column age \
            --range 0..120 --epsilon0 4 --truth"
    )]
    Quantiles(quantiles::QuantilesArguments),
    /// The most frequent values of a column, without a list of possible values
    #[command(
        after_help = "Example:\n  shuffledp simulate heavy-hitters --input words.csv --column word \
            --epsilon0 4 --truth"
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
        let survey = round.survey()?;
        let collected = match &self.what {
            What::Histogram(arguments) => arguments.collected(&survey)?,
            What::Mean(arguments) => arguments.collected(&survey)?,
            What::Quantiles(arguments) => arguments.collected(&survey)?,
            What::HeavyHitters(arguments) => arguments.collected(&survey)?,
        };
        round.report(&collected)
    }
}

/// The records, and the round.
#[derive(Args)]
struct RoundArguments {
    #[command(flatten)]
    flags: RoundFlags,
    /// CSV file with a header, or Parquet file: one record for each user
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
    /// Also print the true values, which a real collection does not know
    #[arg(long, help_heading = "Output")]
    truth: bool,
    /// A picture of the estimates and the truth, .svg or .png
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,
    /// Seed of a simulation: the same seed gives the same run, and its randomness protects nobody [default:
    /// the operating system's randomness]
    #[arg(long, value_name = "S", help_heading = "Output")]
    seed: Option<Count>,
}

/// The outcome of a collection, with names for its estimates.
struct Collected {
    outcome: Outcome,
    /// Headings of the names and of the values.
    columns: [&'static str; 2],
    /// The name of each estimate.
    names: Vec<String>,
    /// Parameters of the statistic, for JSON.
    asked: Map<String, Value>,
    /// Remarks for readers.
    notes: Vec<String>,
}

impl Collected {
    /// Names and readings.
    fn lines(&self) -> Vec<(&str, Reading)> {
        let readings = self.outcome.readings.iter().copied();
        self.names
            .iter()
            .map(String::as_str)
            .zip(readings)
            .collect()
    }
}

impl RoundArguments {
    /// The survey that the flags describe.
    fn survey(&self) -> Result<Survey, Failure> {
        self.flags.refuse_accuracy()?;
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
        let survey = Survey {
            round: self.flags.spec()?,
            dropout: self.dropout.0,
            delta: self.delta.0,
            confidence: self.confidence.0,
            seed: self.seed(),
        };
        survey.check()?;
        Ok(survey)
    }

    fn seed(&self) -> Option<u64> {
        self.seed.map(|seed| seed.0)
    }

    /// The column that is collected.
    fn column(&self) -> Column<'_> {
        Column::new(&self.input, &self.column)
    }

    /// Numbers of the column, each as its place in the range.
    fn numbers(&self, Range(low, high): Range) -> Result<Vec<f64>, Failure> {
        self.column().within(low, high).map_err(refused_records)
    }

    /// The confidence of an interval in percent.
    fn percent(&self) -> String {
        plain(100.0 * self.confidence.0)
    }

    /// The round in sentences.
    fn sentence(&self, outcome: &Outcome) -> Result<String, Failure> {
        let mut sentence = outcome.round.sentence(None);
        let Real(dropout) = self.dropout;
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

    fn report(&self, collected: &Collected) -> Result<Report, Failure> {
        let after = match &self.plot {
            Some(path) => crate::plot::written(path, self.picture(collected)),
            None => None,
        };
        Ok(Report {
            blocks: self.blocks(collected)?,
            json: self.json(collected),
            csv: self.csv(collected),
            relation: Some(collected.outcome.answer.relation()),
            after,
        })
    }

    fn blocks(&self, collected: &Collected) -> Result<Vec<Block>, Failure> {
        let [names, values] = collected.columns;
        let outcome = &collected.outcome;
        let interval = format!("{} % interval", self.percent());
        let mut header = vec![names.to_owned(), values.to_owned(), interval];
        if self.truth {
            header.push("truth".into());
        }
        let columns = header.len();
        let mut table = Grid::new(header).right_aligned(1..columns);
        let mut shown = collected.lines();
        let all = shown.len();
        if all > LINES {
            shown.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
            shown.truncate(LINES);
        }
        let digits = decimals(&shown);
        for (name, reading) in &shown {
            let number = |value: f64| match digits {
                Some(digits) => format!("{value:.digits$}"),
                None => format!("{value:.4e}"),
            };
            let (low, high) = reading.interval;
            let mut cells = vec![
                printable(name),
                number(reading.value),
                format!("{} .. {}", number(low), number(high)),
            ];
            if self.truth {
                cells.push(number(reading.truth));
            }
            table.row(cells);
        }
        let mut notes = Vec::new();
        if all > shown.len() {
            notes.push(format!(
                "The {} largest of {}; --format csv has all.",
                shown.len(),
                grouped(all as u64)
            ));
        }
        notes.extend(collected.notes.iter().cloned());
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
        let answer = &outcome.answer;
        let mut blocks = vec![Block::Paragraph(self.sentence(outcome)?)];
        if !shown.is_empty() {
            blocks.push(Block::Table(table));
        }
        blocks.extend(notes.into_iter().map(Block::Line));
        blocks.push(Block::Line(format!(
            "Privacy: what the analyzer sees is ({}, {})-differentially private when {} ({}, {}); {}.",
            answer.upper(),
            plain(self.delta.0),
            answer.relation(),
            answer.upper().standing(),
            answer.upper().method(),
            from_below(answer.lower()),
        )));
        Ok(blocks)
    }

    fn json(&self, collected: &Collected) -> Map<String, Value> {
        let [names, values] = collected.columns.map(|name| name.replace(' ', "_"));
        let outcome = &collected.outcome;
        let line = |(name, reading): (&str, Reading)| {
            let mut object = Map::new();
            object.insert(names.clone(), json!(name));
            object.insert(values.clone(), json!(reading.value));
            object.insert("low".into(), json!(reading.interval.0));
            object.insert("high".into(), json!(reading.interval.1));
            if self.truth {
                object.insert("truth".into(), json!(reading.truth));
            }
            Value::Object(object)
        };
        let lines: Vec<Value> = collected.lines().into_iter().map(line).collect();
        let mut asked = fields(json!({
            "input": self.input.display().to_string(),
            "column": self.column,
            "dropout": self.dropout,
        }));
        asked.extend(collected.asked.clone());
        let answer = &outcome.answer;
        fields(json!({
            "query": described(&outcome.round),
            "collected": asked,
            "seed": self.seed(),
            "reports": outcome.reports,
            "malformed": outcome.malformed,
            "confidence": self.confidence,
            "estimates": lines,
            "notes": collected.notes,
            "delta": self.delta,
            "epsilon": {"upper": answer.upper().value(), "lower": answer.lower().value()},
            "upper": answer.upper(),
            "lower": answer.lower(),
        }))
    }

    fn csv(&self, collected: &Collected) -> Grid {
        let [names, values] = collected.columns;
        let mut header = vec![names, values, "low", "high"];
        if self.truth {
            header.push("truth");
        }
        header.extend(["epsilon", "standing", "delta", "seed"]);
        let mut csv = Grid::new(header);
        let upper = collected.outcome.answer.upper();
        let price = [
            upper.value().to_string(),
            upper.standing().to_string(),
            self.delta.to_string(),
            self.seed.map_or(String::new(), |seed| seed.to_string()),
        ];
        for (name, reading) in collected.lines() {
            let (low, high) = reading.interval;
            let mut numbers = vec![reading.value, low, high];
            if self.truth {
                numbers.push(reading.truth);
            }
            let numbers = numbers.iter().map(f64::to_string);
            let fields = std::iter::once(name.to_owned()).chain(numbers);
            csv.row(fields.chain(price.iter().cloned()));
        }
        csv
    }

    /// Estimates with their intervals next to the truth; more than [`NAMED`] of them are drawn over the
    /// truth.
    fn picture(&self, collected: &Collected) -> Result<Vec<u8>, Failure> {
        let path = self.plot.clone().unwrap_or_default();
        let [names, values] = collected.columns;
        let mut lines = collected.lines();
        let many = lines.len() > NAMED;
        if many {
            lines.sort_by(|(_, a), (_, b)| a.truth.total_cmp(&b.truth));
        }
        let series = |name: &str, side: Side, look: Look, of: &dyn Fn(&Reading) -> f64| Series {
            name: name.to_owned(),
            side,
            standing: None,
            look,
            values: lines.iter().map(|(_, reading)| Some(of(reading))).collect(),
        };
        let interval = format!("{} % interval", self.percent());
        let estimate = format!("estimate, with its {interval}");
        let mut all = vec![
            series(&estimate, Side::Upper, Look::Marks, &|reading| {
                reading.value
            }),
            series(&interval, Side::Upper, Look::Whisker, &|reading| {
                reading.interval.1
            }),
            series(&interval, Side::Lower, Look::Whisker, &|reading| {
                reading.interval.0
            }),
        ];
        if !lines.is_empty() {
            let look = if many { Look::Line } else { Look::Marks };
            all.push(series("truth", Side::Upper, look, &|reading| reading.truth));
        }
        let (x, at) = if many {
            let at = lines.iter().map(|(_, reading)| reading.truth);
            (Axis::linear(format!("true {values}")), at.collect())
        } else {
            let words: Vec<String> = lines.iter().map(|(name, _)| printable(name)).collect();
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
            subtitle: self.sentence(&collected.outcome)?,
            x,
            y: Axis::linear(values),
            within: (f64::NEG_INFINITY, f64::INFINITY),
        };
        Ok(picture.draw(&sheet, Kind::of(&path)?)?)
    }
}

/// The bar of a survey of so many records.
fn progress(survey: &Survey, records: usize) -> Progress {
    Progress::of(survey.users(records), "users")
}

/// Digits after the point that show two or three of the narrowest interval; none where numbers are too large
/// or too small to be written out.
fn decimals(lines: &[(&str, Reading)]) -> Option<usize> {
    let width = lines
        .iter()
        .map(|(_, reading)| reading.interval.1 - reading.interval.0)
        .filter(|width| *width > 0.0)
        .fold(f64::INFINITY, f64::min);
    let largest = lines
        .iter()
        .map(|(_, reading)| reading.value.abs())
        .fold(0.0, f64::max);
    if width.is_infinite() {
        return Some(4);
    }
    let digits = 2.0 - width.log10().floor();
    (digits <= 12.0 && largest < 1e12).then(|| digits.max(0.0) as usize)
}

/// A name on one line, without control characters, and cut to a limit.
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
