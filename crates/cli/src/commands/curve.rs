//! `shuffledp curve`: bounds over one parameter, as a series and as a picture.

use crate::failure::Failure;
use crate::number::{Count, Real};
use crate::output::{Block, Grid, Report, fields};
use crate::plot::{Axis, EVERYWHERE, Kind, Picture};
use crate::progress::Progress;
use crate::question::{Question, RoundFlags, described, flag};
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use shuffledp::{
    Answer, Delta, Divergence, Epsilon, Error, Parameter, RoundSpec, Side, Standing, Unknown,
    compare_where, curves, plain, rounded,
};
use shuffledp_plot::{Look, Series, Sheet};
use std::path::PathBuf;

/// The parameter that varies.
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
    pub(crate) round: RoundFlags,
    /// The parameter that varies
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Question")]
    over: Over,
    /// Its first value
    #[arg(long, value_name = "A", help_heading = "Question")]
    from: Real,
    /// Its last value
    #[arg(long, value_name = "B", help_heading = "Question")]
    to: Real,
    /// How many values, from 2 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value = "25",
        help_heading = "Question"
    )]
    points: Count,
    /// Values equally spaced in their logarithm
    #[arg(long, help_heading = "Question")]
    log: bool,
    /// Central delta: the answer is epsilon
    #[arg(long, value_name = "D", help_heading = "Question")]
    delta: Option<Real>,
    /// Central epsilon: the answer is delta
    #[arg(long, value_name = "E", help_heading = "Question")]
    epsilon: Option<Real>,
    /// 'tightest' (the upper and lower bound of this tool), 'all', or parts of names of published bounds (see
    /// compare), separated by commas
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "tightest",
        help_heading = "Question"
    )]
    bounds: String,
    /// Write a picture to this file, .svg or .png; values above 100 times the upper bound of this tool are
    /// not drawn
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,
}

/// The rounds, without a value of the parameter that varies.
struct Asking {
    question: Question,
    /// The description of the round, if the parameter that varies is one of the round.
    spec: Option<RoundSpec>,
    sentence: String,
    query: Map<String, Value>,
}

/// The most values of a series: limits the time of a command.
const MOST: u64 = 1000;
/// The most bounds that the printed table has; with more of them, only the two of this tool are printed.
const WIDEST: usize = 6;

/// A value above this many times the largest upper bound of this tool is not drawn, because it would flatten
/// the picture. JSON and CSV have it.
const DWARFED: f64 = 100.0;

/// The quantity that is computed at each value.
#[derive(Clone, Copy)]
enum Asked {
    EpsilonAt(Delta),
    DeltaAt(Epsilon),
    Divergence,
    /// ε at a δ that varies, and the other way round.
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

/// The name of the two bounds of this tool in a legend.
const OURS: &str = "shuffledp";

impl Over {
    fn unknown(self) -> Option<Unknown> {
        match self {
            Self::Epsilon | Self::Delta | Self::Order => None,
            Self::Rounds => Some(Unknown::Rounds),
            Self::Users => Some(Unknown::Users),
            Self::Epsilon0 => Some(Unknown::Epsilon0),
            Self::CheckIn => Some(Unknown::CheckIn),
            Self::Sigma => Some(Unknown::Sigma),
        }
    }

    /// The smallest and the largest value, and a description. Parameters of the rounds are checked by the
    /// library.
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
    /// The series; the picture, if one was asked for, written.
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let kind = self.plot.as_deref().map(Kind::of).transpose()?;
        let at = self.values()?;
        let asked = self.asked()?;
        let bounds = Bounds::parse(&self.bounds)?;
        if matches!(asked, Asked::DeltaAt(_) | Asked::DeltaOver)
            && !matches!(bounds, Bounds::Tightest)
        {
            let message = "--bounds: published bounds give epsilon at a delta: ask with --delta, or \
                           --over delta";
            return Err(Failure::flag("--bounds", message));
        }
        let asking = self.asking(&at)?;
        let sheet = self.sheet(&asking, at, asked, &bounds)?;
        let (name, quantity) = self.quantity(asked);
        let after = match (&self.plot, kind) {
            (Some(path), Some(kind)) => {
                let picture = self.picture(&asking.sentence, asked, &sheet);
                crate::plot::written(path, picture.draw(&sheet, kind))
            }
            _ => None,
        };
        Ok(Report {
            blocks: blocks(&asking, &quantity, &sheet),
            json: self.json(asking.query, asked, &sheet),
            csv: csv(name, &sheet),
            relation: Some(asking.question.relation()),
            after,
        })
    }

    /// The values of the parameter that varies.
    fn values(&self) -> Result<Vec<f64>, Failure> {
        let (Real(from), Real(to)) = (self.from, self.to);
        if !from.is_finite() {
            return Err(Failure::value("--from", self.from, "a finite number"));
        }
        if !(to.is_finite() && to > from) {
            let allowed = "a finite number above --from";
            return Err(Failure::value("--to", self.to, allowed));
        }
        let (lowest, highest, allowed) = self.over.domain();
        for (flag, value) in [("--from", self.from), ("--to", self.to)] {
            if !(lowest..=highest).contains(&value.0) {
                return Err(Failure::value(flag, value, allowed));
            }
        }
        if self.log && from <= 0.0 {
            let allowed = "above 0, as --log needs";
            return Err(Failure::value("--from", self.from, allowed));
        }
        let Count(points) = self.points;
        if !(2..=MOST).contains(&points) {
            let allowed = "a whole number from 2 to 1000";
            return Err(Failure::value("--points", points, allowed));
        }
        let is_whole = self.over.unknown().is_some_and(Unknown::is_whole);
        let steps = (points - 1) as f64;
        // Values are rounded to six digits where neighboring values differ by more.
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
        let delta = self.delta.map(|delta| Delta::new(delta.0)).transpose()?;
        let epsilon = self
            .epsilon
            .map(|epsilon| Epsilon::new(epsilon.0))
            .transpose()?;
        let given = match (&self.delta, &self.epsilon) {
            (Some(_), _) => Some("--delta"),
            (None, Some(_)) => Some("--epsilon"),
            (None, None) => None,
        };
        match (self.over, given) {
            (Over::Epsilon | Over::Delta | Over::Order, Some(flag)) => {
                let (over, _) = self.over.names();
                let message = format!("{flag} is not for --over {over}: leave it out");
                Err(Failure::flag(flag, message))
            }
            (Over::Epsilon, None) => Ok(Asked::DeltaOver),
            (Over::Delta, None) => Ok(Asked::EpsilonOver),
            (Over::Order, None) => Ok(Asked::Divergence),
            _ => match (delta, epsilon) {
                (Some(delta), None) => Ok(Asked::EpsilonAt(delta)),
                (None, Some(epsilon)) => Ok(Asked::DeltaAt(epsilon)),
                _ => Err(Failure::flag(
                    "--delta",
                    "give --delta, for a curve of epsilon, or --epsilon, for one of delta: one of them",
                )),
            },
        }
    }

    /// The rounds at the first value, and a sentence in which the parameter that varies is a letter.
    fn asking(&self, at: &[f64]) -> Result<Asking, Failure> {
        let Some(unknown) = self.over.unknown() else {
            let question = self.round.question()?;
            return Ok(Asking {
                sentence: question.sentence(),
                query: question.query(),
                question,
                spec: None,
            });
        };
        let spec = self.round.open(unknown, "what varies")?;
        let parameter = unknown.parameter();
        if !belongs(&spec, parameter) {
            let over = parameter.field().replace('_', "-");
            let name = spec.randomizer.name();
            let message = format!("--over {over} is not for --randomizer {name}");
            return Err(Failure::flag("--over", message));
        }
        // Both ends are checked before anything is computed; errors name the flags --from and --to.
        let end = |value: f64, typed: &str, text: Real| {
            let question = Question::of(spec.with(unknown, value));
            question.map_err(|failure| failure.about(&flag(parameter), typed, &text.to_string()))
        };
        let last = at.last().copied().unwrap_or_default();
        end(last, "--to", self.to)?;
        let question = end(at[0], "--from", self.from)?;
        let mut query = described(&spec);
        query.remove(parameter.field());
        Ok(Asking {
            sentence: spec.with(unknown, at[0]).sentence(Some(parameter)),
            query,
            question,
            spec: Some(spec),
        })
    }

    fn sheet(
        &self,
        asking: &Asking,
        at: Vec<f64>,
        asked: Asked,
        bounds: &Bounds,
    ) -> Result<Sheet, Failure> {
        let progress = Progress::of(at.len() as u64, "values");
        let one = self.shared(&asking.question, asked, bounds)?;
        let points: Result<Vec<Vec<Point>>, Failure> = at
            .par_iter()
            .map(|&value| {
                let points = match &one {
                    Some(shared) => shared(value),
                    None => self.at(asking, value, asked, bounds),
                };
                progress.step();
                points
            })
            .collect();
        let series = collect(points?);
        if !series.iter().any(|series| series.name == OURS) {
            let message = "no finite epsilon can be shown at any of these values: `shuffledp epsilon` says \
                why";
            return Err(Failure::flag("--delta", message));
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
                    return Err(Failure::flag("--bounds", message));
                }
            }
        }
        Ok(Sheet {
            over: self.over.names().0.to_owned(),
            at,
            series,
        })
    }

    /// A function of the value, where the rounds do not depend on it: the account is then prepared once.
    #[expect(clippy::type_complexity, reason = "a closure, named where it is used")]
    fn shared(
        &self,
        question: &Question,
        asked: Asked,
        bounds: &Bounds,
    ) -> Result<Option<Box<dyn Fn(f64) -> Result<Vec<Point>, Failure> + Sync>>, Failure> {
        Ok(match (asked, bounds) {
            (Asked::DeltaOver, _) => {
                let account = self.round.account(&question.plan)?;
                Some(Box::new(move |epsilon| bracket(account.delta(epsilon))))
            }
            (Asked::EpsilonOver, Bounds::Tightest) => {
                let account = self.round.account(&question.plan)?;
                Some(Box::new(move |delta| bracket(account.epsilon(delta))))
            }
            (Asked::Divergence, _) => {
                self.round.refuse_accuracy()?;
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
                    let mut points = bracket(divergence.at(order))?;
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

    /// All bounds at one value of a number of the rounds, or of δ.
    fn at(
        &self,
        asking: &Asking,
        value: f64,
        asked: Asked,
        bounds: &Bounds,
    ) -> Result<Vec<Point>, Failure> {
        let plan = match (&asking.spec, self.over.unknown()) {
            (Some(spec), Some(unknown)) => spec.with(unknown, value).plan()?,
            _ => asking.question.plan.clone(),
        };
        let account = || match self.over {
            Over::Rounds => self.round.account_of_some(&plan),
            _ => self.round.account(&plan),
        };
        let delta = match asked {
            Asked::DeltaAt(epsilon) => return bracket(account()?.delta(epsilon)),
            Asked::EpsilonAt(delta) => delta,
            _ => Delta::new(value)?,
        };
        if matches!(bounds, Bounds::Tightest) {
            return bracket(account()?.epsilon(delta));
        }
        self.round.refuse_accuracy()?;
        let [(round, rounds)] = plan.rounds() else {
            return Err(one_kind());
        };
        let mut points = Vec::new();
        for entry in compare_where(round, *rounds, delta, &|name| bounds.wants(name))? {
            points.push(Point {
                name: if entry.is_ours {
                    OURS.to_owned()
                } else {
                    entry.name
                },
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
            " (bounds above 100 times the upper bound of shuffledp are not drawn)"
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

    fn json(&self, query: Map<String, Value>, asked: Asked, sheet: &Sheet) -> Map<String, Value> {
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
        let over = sheet.over.as_str();
        let mut object = fields(json!({ "query": query, "over": over, over: sheet.at }));
        match asked {
            Asked::EpsilonAt(delta) => object.insert("delta".into(), json!(delta.value())),
            Asked::DeltaAt(epsilon) => object.insert("epsilon".into(), json!(epsilon.value())),
            _ => None,
        };
        object.insert("series".into(), json!(series));
        object
    }
}

fn one_kind() -> Failure {
    let message = "--bounds is about one kind of round: published bounds have no plans";
    Failure::flag("--bounds", message)
}

/// Rounds to six digits, so that a person can type the value.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The two bounds of an answer; none where no finite epsilon can be proved.
fn bracket<T: Copy + Into<f64>>(answer: Result<Answer<T>, Error>) -> Result<Vec<Point>, Failure> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(Error::NoFiniteEpsilon { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let points = answer.bounds().map(|bound| Point {
        name: OURS.to_owned(),
        side: bound.side(),
        standing: bound.standing(),
        value: Some(bound.value()),
    });
    Ok(points.into())
}

/// Points as series: those of this tool first, then the others, sorted by their last value.
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

/// Whether the rounds have this parameter: ε₀ and σ are parameters of some randomizers only.
fn belongs(spec: &RoundSpec, parameter: Parameter) -> bool {
    match parameter {
        Parameter::Epsilon0 | Parameter::Sigma => {
            spec.randomizer.entry().needs().contains(&parameter)
        }
        _ => true,
    }
}

fn blocks(asking: &Asking, quantity: &str, sheet: &Sheet) -> Vec<Block> {
    let shown = if sheet.series.len() > WIDEST {
        2
    } else {
        sheet.series.len()
    };
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
    let mut table = Grid::new(header);
    for (row, at) in sheet.at.iter().enumerate() {
        let mut cells = vec![plain(*at)];
        cells.extend(sheet.series[..shown].iter().map(|series| {
            let value = series.values[row];
            value.map_or("-".to_owned(), |value| rounded(value, series.side))
        }));
        table.row(cells);
    }
    let mut standings: Vec<String> = Vec::new();
    for series in &sheet.series[..shown] {
        let standing = series.standing.map_or(String::new(), |s| s.to_string());
        let words = format!("{}: {standing}", series.name);
        if !standings.contains(&words) {
            standings.push(words);
        }
    }
    let mut blocks = vec![
        Block::Paragraph(format!(
            "{} {quantity}, over {}, when {}:",
            asking.sentence,
            sheet.over,
            asking.question.relation()
        )),
        Block::Table(table),
        Block::Line(format!("{}.", standings.join("; "))),
    ];
    let more = sheet.series.len() - shown;
    if more > 0 {
        blocks.push(Block::Line(format!(
            "{more} more bounds are in --format csv and json, and in the picture (--plot) where they are \
             below {DWARFED} times the upper bound."
        )));
    }
    blocks
}

fn csv(name: &str, sheet: &Sheet) -> Grid {
    let mut csv = Grid::new([sheet.over.as_str(), name, "side", "standing", "bound"]);
    for series in &sheet.series {
        for (at, value) in sheet.at.iter().zip(&series.values) {
            csv.row([
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
    csv
}
