//! `shuffledp curve`: bounds over one parameter, as a series and as a picture.

use crate::answer::{Format, STYLE};
use crate::failure::Failure;
use crate::number::{plain, real, rounded, whole};
use crate::plot::{Axis, EVERYWHERE, Kind, Picture};
use crate::progress::Progress;
use crate::series::{Look, Series, Sheet};
use crate::words::{Question, Words, names};
use clap::{Args, ValueEnum};
use comfy_table::{ContentArrangement, Table};
use rayon::prelude::*;
use serde_json::{Value, json};
use shuffledp::{
    Answer, Delta, Divergence, Epsilon, Error, Side, Standing, Unknown, compare_where, curves,
};
use std::path::PathBuf;

/// What runs along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Over {
    /// Central epsilon: the answer is delta
    Epsilon,
    /// Central delta: the answer is epsilon
    Delta,
    /// The number of rounds
    Rounds,
    /// The number of users
    Users,
    /// The local guarantee
    Epsilon0,
    /// The probability of taking part
    CheckIn,
    /// The standard deviation of Gaussian noise
    Sigma,
    /// The order of a Renyi divergence
    Order,
}

#[derive(Args)]
pub(crate) struct CurveArguments {
    #[command(flatten)]
    pub(crate) words: Words,
    /// What runs along
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Question")]
    over: Over,
    /// Its first value
    #[arg(
        long,
        value_name = "A",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    from: String,
    /// Its last value
    #[arg(
        long,
        value_name = "B",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    to: String,
    /// How many values, from 2 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value = "25",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    points: String,
    /// Values equally spaced in their logarithm
    #[arg(long, help_heading = "Question")]
    log: bool,
    /// Central delta: the answer is epsilon
    #[arg(
        long,
        value_name = "D",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    delta: Option<String>,
    /// Central epsilon: the answer is delta
    #[arg(
        long,
        value_name = "E",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    epsilon: Option<String>,
    /// 'tightest' (the bracket), 'all', or parts of names of published bounds (see compare), with commas
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "tightest",
        help_heading = "Question"
    )]
    bounds: String,
    /// Draws a picture into this file, .svg or .png; bounds above 100 times the bracket are left out of it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,
}

/// The most values of a series.
const MOST: u64 = 1000;
/// The most columns that a table for people has; beyond, only the bracket is printed.
const WIDEST: usize = 6;

/// A bound this many times the largest value of the bracket is not drawn: it would flatten the picture. It is in the numbers.
const DWARFED: f64 = 100.0;

/// What is computed at each value.
#[derive(Clone, Copy)]
enum Asked {
    EpsilonAt(Delta),
    DeltaAt(Epsilon),
    Divergence,
    /// ε at the δ that runs along, and the other way round.
    EpsilonOver,
    DeltaOver,
}

/// Which published bounds are wanted.
enum Bounds {
    Tightest,
    All,
    Named(Vec<String>),
}

impl Bounds {
    fn parse(text: &str) -> Result<Self, Failure> {
        match text.trim() {
            "tightest" => Ok(Self::Tightest),
            "all" => Ok(Self::All),
            names => {
                let names: Vec<String> = names
                    .split(',')
                    .map(|name| name.trim().to_lowercase())
                    .collect();
                if names.iter().any(String::is_empty) {
                    return Err(Failure::value(
                        "--bounds",
                        text,
                        "tightest, all, or parts of names with commas between",
                    ));
                }
                Ok(Self::Named(names))
            }
        }
    }

    fn wants(&self, bound: &str) -> bool {
        match self {
            Self::Tightest => false,
            Self::All => true,
            Self::Named(names) => {
                let bound = bound.to_lowercase();
                names.iter().any(|name| bound.contains(name.as_str()))
            }
        }
    }
}

/// One bound at one value.
struct Point {
    name: String,
    side: Side,
    standing: Standing,
    value: Option<f64>,
}

/// The name of our own bracket in a legend.
const OURS: &str = "shuffledp";

impl Over {
    fn turned(self) -> Option<Unknown> {
        match self {
            Self::Epsilon | Self::Delta | Self::Order => None,
            Self::Rounds => Some(Unknown::Rounds),
            Self::Users => Some(Unknown::Users),
            Self::Epsilon0 => Some(Unknown::Epsilon0),
            Self::CheckIn => Some(Unknown::CheckIn),
            Self::Sigma => Some(Unknown::Sigma),
        }
    }

    /// What it may be; words about the rounds have their own limits.
    fn domain(self) -> (f64, f64, &'static str) {
        let most = f64::MAX;
        match self {
            Self::Epsilon => (0.0, most, "a central epsilon, in [0, inf)"),
            Self::Delta => (
                Delta::SMALLEST,
                1.0 - 1e-16,
                "a central delta, in [1e-300, 1)",
            ),
            Self::Order => (1.0 + 1e-6, 1e6, "an order, in [1.000001, 1e6]"),
            _ => (-most, most, "a number"),
        }
    }

    /// Its name in files, and on an axis.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Epsilon => ("epsilon", "central ε"),
            Self::Delta => ("delta", "central δ"),
            Self::Rounds => ("rounds", "rounds T"),
            Self::Users => ("users", "users n"),
            Self::Epsilon0 => ("epsilon0", "local ε₀"),
            Self::CheckIn => ("check_in", "probability of taking part"),
            Self::Sigma => ("sigma", "standard deviation σ of the noise"),
            Self::Order => ("order", "order λ"),
        }
    }
}

impl CurveArguments {
    /// The series, printed; the picture, if one was asked for, written.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let kind = self.plot.as_deref().map(Kind::of).transpose()?;
        let at = self.values()?;
        let asked = self.asked()?;
        let bounds = Bounds::parse(&self.bounds)?;
        if matches!(asked, Asked::DeltaAt(_) | Asked::DeltaOver)
            && !matches!(bounds, Bounds::Tightest)
        {
            let message = "--bounds: published bounds say what epsilon is at a delta: ask with --delta, or --over delta";
            return Err(Failure::words("--bounds", message));
        }
        let (question, sentence) = self.question(&at)?;
        let sheet = self.sheet(&question, at, asked, &bounds)?;
        if let (Some(path), Some(kind)) = (&self.plot, kind) {
            let picture = self.picture(&sentence, asked, &sheet);
            let bytes = picture.draw(&sheet, kind)?;
            std::fs::write(path, bytes).map_err(|error| {
                let name = path.display();
                Failure::words(
                    "--plot",
                    format!("--plot {name} cannot be written: {error}"),
                )
            })?;
        }
        Ok(match self.words.format {
            Format::Table => table(
                &sentence,
                &self.quantity(asked).1,
                &sheet,
                question.adjacency,
            ),
            Format::Json => self.json_object(question, asked, &sheet),
            Format::Csv => csv_lines(self.quantity(asked).0, &sheet),
        })
    }

    /// The values that run along.
    fn values(&self) -> Result<Vec<f64>, Failure> {
        let (from, to) = (real("--from", &self.from)?, real("--to", &self.to)?);
        if !from.is_finite() {
            return Err(Failure::value("--from", &self.from, "a finite number"));
        }
        if !(to.is_finite() && to > from) {
            let allowed = "a finite number above --from";
            return Err(Failure::value("--to", &self.to, allowed));
        }
        let (lowest, highest, allowed) = self.over.domain();
        for (flag, text, value) in [("--from", &self.from, from), ("--to", &self.to, to)] {
            if !(lowest..=highest).contains(&value) {
                return Err(Failure::value(flag, text, allowed));
            }
        }
        if self.log && from <= 0.0 {
            let allowed = "above 0, as --log needs";
            return Err(Failure::value("--from", &self.from, allowed));
        }
        let points = whole("--points", &self.points)?;
        if !(2..=MOST).contains(&points) {
            let allowed = "a whole number from 2 to 1000";
            return Err(Failure::value("--points", &self.points, allowed));
        }
        let is_whole = self.over.turned().is_some_and(Unknown::is_whole);
        let steps = (points - 1) as f64;
        // Six digits are enough for values that are far enough apart.
        let apart = if self.log {
            (to.ln() - from.ln()) / steps
        } else {
            (to - from) / steps / to.abs().max(from.abs())
        };
        let tidy = |value: f64| if apart > 1e-4 { short(value) } else { value };
        let mut all: Vec<f64> = (0..points)
            .map(|i| {
                let part = i as f64 / steps;
                // The ends are what was typed.
                let value = match i {
                    0 => from,
                    _ if i == points - 1 => to,
                    _ if self.log => tidy((from.ln() + (to.ln() - from.ln()) * part).exp()),
                    _ => tidy(from * (1.0 - part) + to * part),
                };
                if is_whole { value.round() } else { value }
            })
            .collect();
        all.dedup();
        Ok(all)
    }

    fn asked(&self) -> Result<Asked, Failure> {
        let delta = match &self.delta {
            Some(text) => Some(Delta::new(real("--delta", text)?)?),
            None => None,
        };
        let epsilon = match &self.epsilon {
            Some(text) => Some(Epsilon::new(real("--epsilon", text)?)?),
            None => None,
        };
        let given = match (&self.delta, &self.epsilon) {
            (Some(_), _) => Some("--delta"),
            (None, Some(_)) => Some("--epsilon"),
            (None, None) => None,
        };
        match (self.over, given) {
            (Over::Epsilon | Over::Delta | Over::Order, Some(flag)) => {
                let (over, _) = self.over.names();
                let message = format!("{flag} is not for --over {over}: leave it out");
                Err(Failure::words(flag, message))
            }
            (Over::Epsilon, None) => Ok(Asked::DeltaOver),
            (Over::Delta, None) => Ok(Asked::EpsilonOver),
            (Over::Order, None) => Ok(Asked::Divergence),
            _ => match (delta, epsilon) {
                (Some(delta), None) => Ok(Asked::EpsilonAt(delta)),
                (None, Some(epsilon)) => Ok(Asked::DeltaAt(epsilon)),
                _ => Err(Failure::words(
                    "--delta",
                    "give --delta, for a curve of epsilon, or --epsilon, for one of delta: one of them",
                )),
            },
        }
    }

    /// What is asked about at the first value, and in a sentence that leaves open what runs along.
    fn question(&self, at: &[f64]) -> Result<(Question, String), Failure> {
        let Some(turned) = self.over.turned() else {
            let question = self.words.question()?;
            let sentence = question.sentence.clone();
            return Ok((question, sentence));
        };
        self.words.refuse_given(turned, "what runs along")?;
        // Both ends are looked at before anything is computed; what is wrong with them is wrong with what was typed.
        let (flag, name) = names(turned);
        let end = |value: f64, typed: &'static str, text: &str| {
            let words = self.words.with(turned, value);
            let over = name.replace('_', "-");
            let question = words.question().map_err(|failure| {
                failure
                    .saying(
                        &format!("{flag} {value} is not for"),
                        &format!("--over {over} is not for"),
                    )
                    .about(flag, typed, text)
            });
            question.map(|question| (words, question))
        };
        let last = at.last().copied().unwrap_or_default();
        end(last, "--to", &self.to)?;
        let (words, mut question) = end(at[0], "--from", &self.from)?;
        let sentence = words.sentence_over(&question.query, turned);
        question.query.remove(name);
        Ok((question, sentence))
    }

    fn sheet(
        &self,
        question: &Question,
        at: Vec<f64>,
        asked: Asked,
        bounds: &Bounds,
    ) -> Result<Sheet, Failure> {
        let progress = Progress::of(at.len() as u64, "values");
        let one = self.shared(question, asked, bounds)?;
        let points: Result<Vec<Vec<Point>>, Failure> = at
            .par_iter()
            .map(|&value| {
                let points = match &one {
                    Some(shared) => shared(value),
                    None => self.at(value, asked, bounds),
                };
                progress.step();
                points
            })
            .collect();
        let series = collect(points?);
        if !series.iter().any(|series| series.name == OURS) {
            let message = "no finite epsilon can be shown at any of these values: `shuffledp epsilon` says why";
            return Err(Failure::words("--delta", message));
        }
        if let Bounds::Named(names) = bounds {
            for name in names {
                let known = series
                    .iter()
                    .any(|series| series.name != OURS && series.name.to_lowercase().contains(name));
                if !known {
                    let message = format!(
                        "--bounds {name} names no bound that is about these rounds: see `shuffledp compare`"
                    );
                    return Err(Failure::words("--bounds", message));
                }
            }
        }
        Ok(Sheet {
            over: self.over.names().0.to_owned(),
            at,
            series,
        })
    }

    /// Where the rounds stay the same they are priced once.
    #[expect(clippy::type_complexity, reason = "a closure, named where it is used")]
    fn shared(
        &self,
        question: &Question,
        asked: Asked,
        bounds: &Bounds,
    ) -> Result<Option<Box<dyn Fn(f64) -> Result<Vec<Point>, Failure> + Sync>>, Failure> {
        Ok(match (asked, bounds) {
            (Asked::DeltaOver, _) => {
                let account = self.words.account(question)?;
                Some(Box::new(move |epsilon| {
                    bracket(account.delta(Epsilon::new(epsilon)?), Delta::value)
                }))
            }
            (Asked::EpsilonOver, Bounds::Tightest) => {
                let account = self.words.account(question)?;
                Some(Box::new(move |delta| {
                    bracket(account.epsilon(Delta::new(delta)?), Epsilon::value)
                }))
            }
            (Asked::Divergence, _) => {
                self.words.refuse_accuracy()?;
                if question.plan.rounds().len() > 1 && !matches!(bounds, Bounds::Tightest) {
                    return Err(one_kind());
                }
                let divergence = Divergence::new(&question.plan)?;
                let mut published = Vec::new();
                if let [(round, rounds)] = question.plan.rounds() {
                    for curve in curves(round)? {
                        if bounds.wants(curve.name) {
                            let values = curve.curve.clone().map(|curve| curve.times(*rounds));
                            published.push((curve, values));
                        }
                    }
                }
                Some(Box::new(move |order| {
                    let mut points = bracket(divergence.at(order), |value| value)?;
                    points.extend(published.iter().map(|(curve, values)| Point {
                        name: curve.name.to_owned(),
                        side: curve.side,
                        standing: curve.standing,
                        value: match (values, curve.side) {
                            (Err(_), _) => None,
                            (Ok(values), Side::Upper) => {
                                Some(values.at(order)).filter(|value| value.is_finite())
                            }
                            (Ok(values), Side::Lower) => values.from_below(order),
                        },
                    }));
                    Ok(points)
                }))
            }
            _ => None,
        })
    }

    /// All bounds at one value of a word, or of δ.
    fn at(&self, value: f64, asked: Asked, bounds: &Bounds) -> Result<Vec<Point>, Failure> {
        let words = match self.over.turned() {
            Some(turned) => self.words.with(turned, value),
            None => self.words.clone(),
        };
        let question = words.question()?;
        let delta = match asked {
            Asked::DeltaAt(epsilon) => {
                return bracket(words.account(&question)?.delta(epsilon), Delta::value);
            }
            Asked::EpsilonAt(delta) => delta,
            _ => Delta::new(value)?,
        };
        if matches!(bounds, Bounds::Tightest) {
            return bracket(words.account(&question)?.epsilon(delta), Epsilon::value);
        }
        words.refuse_accuracy()?;
        let [(round, rounds)] = question.plan.rounds() else {
            return Err(one_kind());
        };
        let mut points = Vec::new();
        for entry in compare_where(round, *rounds, delta, &|name| bounds.wants(name))? {
            let ours =
                entry.standing == Standing::Certified && entry.name.starts_with("shuffledp ");
            points.push(Point {
                name: if ours { OURS.to_owned() } else { entry.name },
                side: entry.side,
                standing: entry.standing,
                value: entry.epsilon.ok(),
            });
        }
        Ok(points)
    }

    /// The name of the answer in files, and on an axis.
    fn quantity(&self, asked: Asked) -> (&'static str, String) {
        match asked {
            Asked::EpsilonAt(delta) => ("epsilon", format!("ε at δ = {}", plain(delta.value()))),
            Asked::DeltaAt(epsilon) => ("delta", format!("δ at ε = {}", plain(epsilon.value()))),
            Asked::Divergence => ("divergence", "Rényi divergence".to_owned()),
            Asked::EpsilonOver => ("epsilon", "central ε".to_owned()),
            Asked::DeltaOver => ("delta", "central δ".to_owned()),
        }
    }

    fn picture(&self, sentence: &str, asked: Asked, sheet: &Sheet) -> Picture {
        let (_, along) = self.over.names();
        let (_, quantity) = self.quantity(asked);
        let capital: String = {
            let mut letters = quantity.chars();
            let first = letters
                .next()
                .map(|letter| letter.to_uppercase().to_string());
            first.unwrap_or_default() + letters.as_str()
        };
        let title = match asked {
            Asked::EpsilonAt(_) | Asked::DeltaAt(_) => format!("{quantity}, over {along}"),
            _ => format!("{capital} over {along}"),
        };
        let bracket = sheet.series.iter().filter(|series| series.name == OURS);
        let most = bracket
            .flat_map(|series| series.values.iter().flatten())
            .fold(0.0f64, |most, value| most.max(*value));
        let others = sheet.series.iter().flat_map(|series| &series.values);
        let left_out = if others.flatten().any(|value| *value > DWARFED * most) && most > 0.0 {
            " (bounds above 100 times the bracket are not drawn)"
        } else {
            ""
        };
        Picture {
            title,
            subtitle: sentence.trim_end_matches('.').to_owned() + left_out,
            x: if self.log {
                Axis::log(along)
            } else {
                Axis::linear(along)
            },
            y: Picture::vertical(quantity, sheet),
            within: if most > 0.0 {
                (0.0, DWARFED * most)
            } else {
                EVERYWHERE
            },
        }
    }

    fn json_object(&self, question: Question, asked: Asked, sheet: &Sheet) -> String {
        let mut query = question.query;
        match asked {
            Asked::EpsilonAt(delta) => query.insert("delta".into(), json!(delta.value())),
            Asked::DeltaAt(epsilon) => query.insert("epsilon".into(), json!(epsilon.value())),
            _ => None,
        };
        let series: Vec<Value> = sheet
            .series
            .iter()
            .map(|series| {
                json!({
                    "bound": series.name,
                    "side": series.side,
                    "standing": series.standing,
                    self.quantity(asked).0: series.values,
                })
            })
            .collect();
        let object = json!({ "query": query, "over": sheet.over, sheet.over.as_str(): sheet.at, "series": series });
        format!("{object}\n")
    }
}

fn one_kind() -> Failure {
    let message = "--bounds is about one kind of round: published bounds have no plans";
    Failure::words("--bounds", message)
}

/// Six digits: values that a person can type again.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Both ends of an answer; a plan that no epsilon is proved for has no point.
fn bracket<T: Copy>(
    answer: Result<Answer<T>, Error>,
    value: fn(T) -> f64,
) -> Result<Vec<Point>, Failure> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(Error::NoFiniteEpsilon { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let points = [&answer.upper, &answer.lower].map(|bound| Point {
        name: OURS.to_owned(),
        side: bound.side,
        standing: bound.standing,
        value: Some(value(bound.value)),
    });
    Ok(points.into())
}

/// Points as series: ours first, then the others, the lowest at the end first.
fn collect(points: Vec<Vec<Point>>) -> Vec<Series> {
    let count = points.len();
    let mut all: Vec<Series> = Vec::new();
    for (row, points) in points.into_iter().enumerate() {
        for point in points {
            let known = all
                .iter_mut()
                .find(|series| series.name == point.name && series.side == point.side);
            match known {
                Some(series) => series.values[row] = point.value,
                None => {
                    let mut values = vec![None; count];
                    values[row] = point.value;
                    let look = if point.name == OURS {
                        Look::Band(0)
                    } else {
                        Look::Line
                    };
                    all.push(Series {
                        name: point.name,
                        side: point.side,
                        standing: Some(point.standing),
                        look,
                        values,
                    });
                }
            }
        }
    }
    let last = |series: &Series| {
        let value = series.values.iter().rev().flatten().next();
        value.copied().unwrap_or(f64::INFINITY)
    };
    all.sort_by(|a, b| {
        (a.look == Look::Line)
            .cmp(&(b.look == Look::Line))
            .then(if a.look == Look::Line {
                last(a).total_cmp(&last(b))
            } else {
                // Upper before lower.
                (a.side == Side::Lower).cmp(&(b.side == Side::Lower))
            })
    });
    all
}

fn table(sentence: &str, quantity: &str, sheet: &Sheet, adjacency: &str) -> String {
    let shown = if sheet.series.len() > WIDEST {
        2
    } else {
        sheet.series.len()
    };
    let mut table = Table::new();
    let mut header = vec![sheet.over.clone()];
    header.extend(
        sheet.series[..shown]
            .iter()
            .map(|series| match series.side {
                side if series.name == OURS => side.to_string(),
                Side::Upper => series.name.clone(),
                Side::Lower => format!("{}, lower", series.name),
            }),
    );
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    for (row, at) in sheet.at.iter().enumerate() {
        let mut cells = vec![plain(*at)];
        cells.extend(sheet.series[..shown].iter().map(|series| {
            let value = series.values[row];
            value.map_or("-".to_owned(), |value| rounded(value, series.side))
        }));
        table.add_row(cells);
    }
    let mut standings: Vec<String> = Vec::new();
    for series in &sheet.series[..shown] {
        let standing = series.standing.map_or(String::new(), |s| s.to_string());
        let words = format!("{}: {standing}", series.name);
        if !standings.contains(&words) {
            standings.push(words);
        }
    }
    let more = match sheet.series.len() - shown {
        0 => String::new(),
        more => format!(
            "{more} more bounds are in --format csv and json, and in the picture (--plot) where they are below {DWARFED} times the bracket.\n"
        ),
    };
    format!(
        "{sentence} {quantity}, over {}, when {adjacency}:\n\n{}\n\n{}.\n{more}",
        sheet.over,
        table.trim_fmt(),
        standings.join("; ")
    )
}

fn csv_lines(name: &str, sheet: &Sheet) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = writer.write_record([&sheet.over, name, "side", "standing", "bound"]);
    for series in &sheet.series {
        for (at, value) in sheet.at.iter().zip(&series.values) {
            let _ = writer.write_record([
                plain(*at),
                value.map_or(String::new(), |value| json!(value).to_string()),
                series.side.to_string(),
                series
                    .standing
                    .map_or(String::new(), |standing| standing.to_string()),
                series.name.clone(),
            ]);
        }
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
