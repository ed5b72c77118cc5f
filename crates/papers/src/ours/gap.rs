//! How close the two bounds are: for every randomizer of the catalog, and over ε₀ for the class of all.

use crate::curves::{any_ldp, digits, epsilon, line, linear};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::note::{markdown, note};
use rayon::prelude::*;
use shuffledp::bounds::{Unmet, feldman_2021, feldman_2023};
use shuffledp::{Domain, Entry, Input, Parameter, PerUser, RandomizerSpec, Round, Side, Standing};
use shuffledp::{catalog, grouped, plain, rounded_to};
use shuffledp_plot::{Axis, EVERYWHERE, Look, Picture, Series, Sheet};
use std::ops::Range;

const DELTA: f64 = 1e-6;

/// Numbers of users of the catalog's table, each with δ = 1/(100 n): a δ of 1/n would allow for publishing
/// somebody's value.
const CROWDS: [u64; 2] = [10_000, 1_000_000];
/// The probability of taking part.
const RATE: f64 = 0.1;
/// From little to much that a report says on its own: ε₀, and σ where a randomizer has that instead.
const LEVELS: [(f64, f64); 3] = [(1.0, 10.0), (2.0, 5.0), (4.0, 2.0)];
/// The other parameters: half the reports about zero, categories, coordinates, and a local δ₀ that costs a
/// million users nothing.
const BLANKET: f64 = 0.5;
const CATEGORIES: u64 = 16;
const DIMENSION: u64 = 1290;
const DELTA0: f64 = 1e-16;
/// The picture ends here, in percent; more is in the table.
const TALLEST: f64 = 110.0;

/// Whose gaps are spoken of together.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Everything else.
    Named,
    /// Gaussian noise on vectors.
    NoiseOnVectors,
    /// Only a sum of reports is seen.
    Sum,
}

impl Kind {
    fn of(spec: &RandomizerSpec) -> Self {
        let entry = spec.entry();
        let noise = entry.needs().contains(&Parameter::Sigma);
        match spec.input() {
            _ if entry.only_sum_is_seen() => Self::Sum,
            Input::Vector(_) if noise => Self::NoiseOnVectors,
            _ => Self::Named,
        }
    }
}

/// One line of the table: a randomizer, with its domain where it has several.
struct Row {
    name: String,
    kind: Kind,
    /// Upper over lower bound, by level, number of users and participation; none where there is no lower
    /// bound, or no answer.
    ratios: Vec<Option<f64>>,
}

/// The settings in the order of [`Row::ratios`].
fn settings() -> impl Iterator<Item = (usize, u64, bool)> {
    (0..LEVELS.len()).flat_map(|level| {
        CROWDS
            .into_iter()
            .flat_map(move |users| [false, true].map(|check_in| (level, users, check_in)))
    })
}

/// The randomizer at a level, every other parameter that it has at a default; none where one has none.
fn at_level(entry: &Entry, domain: Option<Domain>, level: usize) -> Option<RandomizerSpec> {
    let (epsilon0, sigma) = LEVELS[level];
    let growth = epsilon0.exp();
    let mut spec = RandomizerSpec::new(entry.name()).ok()?;
    spec.domain = domain;
    for parameter in entry.needs() {
        match parameter {
            Parameter::Epsilon0 => spec.epsilon0 = Some(PerUser::One(epsilon0)),
            Parameter::Sigma => spec.sigma = Some(sigma),
            Parameter::Blanket => spec.blanket = Some(BLANKET),
            Parameter::Delta0 => spec.delta0 = Some(DELTA0),
            Parameter::Categories => spec.k = Some(CATEGORIES),
            Parameter::Dimension => spec.dimension = Some(DIMENSION),
            Parameter::Ratio => spec.p = Some(growth),
            // Half of what the ratio allows.
            Parameter::Variation => spec.beta = Some(0.5 * (growth - 1.0) / (growth + 1.0)),
            Parameter::Cover => spec.q = Some(growth),
            Parameter::Rows => spec.rows = Some(graded(growth)),
            _ => return None,
        }
    }
    // Laws of directions depend on the dimension; without it they are priced as any randomizer.
    if entry.takes().contains(&Parameter::Dimension) && matches!(spec.input(), Input::Vector(_)) {
        spec.dimension = Some(DIMENSION);
    }
    Some(spec)
}

/// Three values, of which the far one is the least likely report.
fn graded(growth: f64) -> Vec<Vec<f64>> {
    let row = |at: i32| {
        let weights = [0, 1, 2].map(|to: i32| growth.powf(-0.5 * f64::from((to - at).abs())));
        let total: f64 = weights.iter().sum();
        weights.map(|weight| weight / total).to_vec()
    };
    [0, 1, 2].map(row).to_vec()
}

fn ratio(spec: &RandomizerSpec, users: u64, check_in: bool, delta: f64) -> Option<f64> {
    let round = Round::new(spec.mechanism().ok()?, users).ok()?;
    let round = match check_in {
        true => round.check_in(RATE).ok()?,
        false => round,
    };
    let answer = epsilon(&round, 1.0, delta).ok()?;
    let (upper, lower) = (answer.upper().value(), answer.lower().value());
    (lower > 0.0).then(|| upper / lower)
}

/// The rows of an entry: one for each domain that it can have.
fn rows(entry: &'static Entry) -> Vec<Row> {
    let domains = match entry.takes().contains(&Parameter::Domain) {
        true => vec![Some(Domain::Interval), Some(Domain::Ball)],
        false => vec![None],
    };
    let row = |domain: Option<Domain>| {
        let specs: Option<Vec<RandomizerSpec>> = (0..LEVELS.len())
            .map(|level| at_level(entry, domain, level))
            .collect();
        let specs = specs?;
        let settings: Vec<_> = settings().collect();
        Some(Row {
            name: match domain {
                Some(Domain::Ball) => format!("{}, ball", entry.name()),
                _ => entry.name().to_owned(),
            },
            kind: Kind::of(&specs[0]),
            ratios: settings
                .par_iter()
                .map(|&(level, users, check_in)| {
                    let delta = 0.01 / users as f64;
                    ratio(&specs[level], users, check_in, delta)
                })
                .collect(),
        })
    };
    domains.into_iter().filter_map(row).collect()
}

impl Row {
    /// The largest ratio over the settings that satisfy a condition.
    fn largest(&self, wanted: impl Fn(usize, bool) -> bool) -> Option<f64> {
        settings()
            .zip(&self.ratios)
            .filter(|((level, _, check_in), _)| wanted(*level, *check_in))
            .filter_map(|(_, ratio)| *ratio)
            .reduce(f64::max)
    }
}

pub(super) fn gap_closed() -> Result<Shown, Error> {
    let shuffled = |entry: &&'static Entry| entry.input() != Input::Records;
    let entries: Vec<&'static Entry> = catalog().filter(shuffled).collect();
    let (mut known, mut unknown, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        let rows = rows(entry);
        if rows.is_empty() {
            missing.push(entry.name().to_owned());
        }
        for row in rows {
            match row.ratios.iter().any(Option::is_some) {
                true => known.push(row),
                false => unknown.push(row.name),
            }
        }
    }
    let header: Vec<String> = settings()
        .map(|(level, users, check_in)| {
            let (epsilon0, sigma) = LEVELS[level];
            let who = if check_in { "check-in" } else { "everybody" };
            format!(
                "ε₀ = {epsilon0} (σ = {sigma}), n = {:e}, {who}",
                users as f64
            )
        })
        .collect();
    let cell = |value: &Option<f64>| {
        value.map_or("–".to_owned(), |ratio| rounded_to(4, ratio, Side::Upper))
    };
    let lines: Vec<Vec<String>> = known
        .iter()
        .map(|row| {
            let mut line = vec![format!("`{}`", row.name)];
            line.extend(row.ratios.iter().map(cell));
            line
        })
        .collect();
    let short: Vec<String> = settings()
        .map(|(level, users, check_in)| {
            let (epsilon0, _) = LEVELS[level];
            let who = if check_in { ", check-in" } else { "" };
            format!("{epsilon0}, {:e}{who}", users as f64)
        })
        .collect();
    let columns: Vec<&str> = ["randomizer"]
        .into_iter()
        .chain(short.iter().map(String::as_str))
        .collect();
    let table = markdown(&columns, &lines);
    // Two digits after the point: no bound is known better.
    let percent = |ratio: Option<f64>| ratio.map(|ratio| (1e4 * (ratio - 1.0)).round() / 100.0);
    let marks = |name: &str, wanted: &dyn Fn(usize, bool) -> bool| Series {
        name: name.to_owned(),
        side: Side::Upper,
        standing: None,
        look: Look::Marks,
        values: known
            .iter()
            .map(|row| percent(row.largest(wanted)))
            .collect(),
    };
    let mut series = vec![
        marks(
            "percent: ε₀ = 1 and 2 (σ = 10 and 5), everybody",
            &|level, away| level < 2 && !away,
        ),
        marks(
            "percent: ε₀ = 1 and 2 (σ = 10 and 5), check-in",
            &|level, away| level < 2 && away,
        ),
        marks(
            "percent: ε₀ = 4 (σ = 2), the larger of both",
            &|level, _| level == 2,
        ),
    ];
    series.extend(header.into_iter().enumerate().map(|(index, name)| Series {
        name,
        side: Side::Upper,
        standing: Some(Standing::Certified),
        look: Look::Hidden,
        values: known.iter().map(|row| row.ratios[index]).collect(),
    }));
    let most = |kind: Kind, levels: Range<usize>| {
        let largest = |row: &Row| row.largest(|level, _| levels.contains(&level));
        let chosen = known.iter().filter(|row| row.kind == kind);
        let most = chosen.filter_map(largest).fold(0.0, f64::max);
        rounded_to(4, most, Side::Upper)
    };
    let names: Vec<&str> = known.iter().map(|row| row.name.as_str()).collect();
    let listed = |names: &[String]| match names {
        [] => "none".to_owned(),
        _ => format!("`{}`", names.join("`, `")),
    };
    let mut careless = RandomizerSpec::new("r-2")?;
    careless.epsilon0 = Some(PerUser::One(2.0));
    let careless = ratio(&careless, CROWDS[1], true, 1.0 / CROWDS[1] as f64);
    Ok(Shown {
        picture: Picture {
            title: "The gap closed: by how much the upper bound exceeds what is attained"
                .to_owned(),
            subtitle: format!(
                "one round of every randomizer of the catalog, n = 1e4 and 1e6, δ = 1/(100 n), the larger \
                 gap of \
                 both; 0 is a bound that cannot be improved; above {TALLEST} % not drawn"
            ),
            x: Axis::words("randomizer", &names),
            y: Axis::linear("upper above attained ε, percent"),
            within: (0.0, TALLEST),
        },
        note: note!(
            "gap_closed.md",
            table = table,
            most = most(Kind::Named, 0..2),
            four = most(Kind::Named, 2..3),
            ball = most(Kind::NoiseOnVectors, 0..2),
            little = most(Kind::NoiseOnVectors, 2..3),
            sums = most(Kind::Sum, 0..2),
            large = most(Kind::Sum, 2..3),
            limit = digits((2.0 * 4f64.exp() / (4f64.exp() + 1.0)).sqrt()),
            careless = careless.map_or("-".to_owned(), digits),
            categories = CATEGORIES,
            dimension = grouped(DIMENSION),
            rate = plain(RATE),
            blanket = plain(BLANKET),
            delta0 = plain(DELTA0),
            unknown = listed(&unknown),
            missing = listed(&missing),
        ),
        sheet: Sheet {
            over: "randomizer".to_owned(),
            at: (1..=known.len()).map(|place| place as f64).collect(),
            series,
        },
    })
}

pub(super) fn gap_of_any_ldp() -> Result<Shown, Error> {
    let at = linear(0.1, 8.0, 41);
    let bracket = |epsilon0: f64, users: u64| -> Result<(f64, f64), Unmet> {
        let answer = any_ldp(epsilon0, users).and_then(|round| epsilon(&round, 1.0, DELTA));
        let answer = answer.map_err(|error| Unmet(error.to_string()))?;
        Ok((answer.upper().value(), answer.lower().value()))
    };
    let mut series: Vec<Series> = [1_000, 10_000, 1_000_000, 1_000_000_000]
        .into_iter()
        .map(|users| {
            line(
                &format!("shuffledp, n = {:e}", users as f64),
                Standing::Certified,
                &at,
                |epsilon0| bracket(epsilon0, users).map(|(upper, lower)| upper / lower),
            )
        })
        .collect();
    for (name, form) in [
        (
            "closed form of 2023, n = 1e6",
            feldman_2023::epsilon as fn(u64, f64, f64) -> Result<f64, Unmet>,
        ),
        ("closed form of 2021, n = 1e6", feldman_2021::epsilon),
    ] {
        series.push(line(name, Standing::Proved, &at, |epsilon0| {
            let (_, lower) = bracket(epsilon0, 1_000_000)?;
            Ok(form(1_000_000, epsilon0, DELTA)? / lower)
        }));
    }
    let largest = |series: &[Series], from: f64| {
        let all = series
            .iter()
            .flat_map(|series| at.iter().zip(&series.values));
        all.filter(|(epsilon0, _)| **epsilon0 >= from)
            .filter_map(|(_, ratio)| *ratio)
            .fold(0.0f64, f64::max)
    };
    let (worst, late) = (largest(&series[..4], 0.0), largest(&series[..4], 5.0));
    let closed = largest(&series[4..], 0.0);
    let most = |ratio: f64| rounded_to(4, ratio, Side::Upper);
    let (worst, late, closed) = (most(worst), most(late), most(closed));
    Ok(Shown {
        picture: Picture {
            title: "Any randomizer: upper bound over lower bound".to_owned(),
            subtitle:
                "one round, any ε₀-LDP randomizer, δ = 1e-6; 1 is a bound that cannot be improved"
                    .to_owned(),
            x: Axis::linear("local ε₀"),
            y: Axis::log("upper ε over attained ε"),
            within: EVERYWHERE,
        },
        sheet: Sheet {
            over: "epsilon0".to_owned(),
            at,
            series,
        },
        note: note!(
            "gap_of_any_ldp.md",
            worst = worst,
            late = late,
            closed = closed,
        ),
    })
}
