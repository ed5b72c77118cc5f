//! The parts of an exhibit: values along an axis, series of bounds over them, and numbers as text.

use crate::error::Error;
use rayon::prelude::*;
use shuffledp::atoms::Atoms;
use shuffledp::bounds::Unmet;
use shuffledp::profile::Profile;
use shuffledp::rdp::{AtOrder, RdpCurve};
use shuffledp::rounded_to;
use shuffledp::{
    Account, Answer, Delta, Domain, Epsilon, LocalEpsilon, Mechanism, Plan, Round, Side, Standing,
    account,
};
use shuffledp_plot::{Look, Series};

/// Four significant digits.
pub(crate) fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor() as i32;
    if (-4..5).contains(&exponent) {
        format!("{value:.*}", (3 - exponent).max(0) as usize)
    } else {
        format!("{value:.3e}")
    }
}

/// The value of a series in a row; not a number where there is none.
pub(crate) fn value(series: &[Series], index: usize, row: usize) -> f64 {
    let series = series.get(index);
    let value = series.and_then(|series| series.values.get(row).copied().flatten());
    value.unwrap_or(f64::NAN)
}

/// By how much a ratio is above 1, in percent without decimals.
pub(crate) fn excess(ratio: f64) -> String {
    format!("{:.0} %", 100.0 * (ratio - 1.0))
}

/// Least and largest of the numbers that there are.
pub(crate) fn extremes(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values.into_iter().filter(|value| !value.is_nan()).fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, most), value| (least.min(value), most.max(value)),
    )
}

/// A bracket to four digits, rounded outwards.
pub(crate) fn between(lower: f64, upper: f64) -> String {
    let (low, high) = (
        rounded_to(4, lower, Side::Lower),
        rounded_to(4, upper, Side::Upper),
    );
    format!("[{low}, {high}]")
}

/// Values equally spaced, or in their logarithm.
pub(crate) fn linear(from: f64, to: f64, points: usize) -> Vec<f64> {
    let step = (to - from) / (points - 1) as f64;
    (0..points).map(|i| clean(from + step * i as f64)).collect()
}

pub(crate) fn logarithmic(from: f64, to: f64, points: usize) -> Vec<f64> {
    let ratio = (to / from).ln() / (points - 1) as f64;
    (0..points)
        .map(|i| clean(from * (ratio * i as f64).exp()))
        .collect()
}

/// Whole numbers, equally spaced in their logarithm.
pub(crate) fn whole(from: u64, to: u64, points: usize) -> Vec<f64> {
    let mut all: Vec<f64> = logarithmic(from as f64, to as f64, points)
        .into_iter()
        .map(f64::round)
        .collect();
    all.dedup();
    all
}

fn clean(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Both ends of a bracket at every value, on all cores.
pub(crate) fn band<T: Copy + Send>(
    name: &str,
    band: usize,
    at: &[f64],
    answer: impl Fn(f64) -> Result<Answer<T>, shuffledp::Error> + Sync,
    value: fn(T) -> f64,
) -> Result<[Series; 2], Error> {
    let answers: Result<Vec<Answer<T>>, shuffledp::Error> =
        at.par_iter().map(|&x| answer(x)).collect();
    let answers = answers?;
    let end = |side: Side| Series {
        name: name.to_owned(),
        side,
        standing: answers.first().map(|answer| answer.upper().standing()),
        look: Look::Band(band),
        values: answers
            .iter()
            .map(|answer| {
                Some(value(match side {
                    Side::Upper => answer.upper().get(),
                    Side::Lower => answer.lower().get(),
                }))
            })
            .collect(),
    };
    Ok([end(Side::Upper), end(Side::Lower)])
}

/// A line; nothing where a condition is not met.
pub(crate) fn line(
    name: &str,
    standing: Standing,
    at: &[f64],
    value: impl Fn(f64) -> Result<f64, Unmet> + Sync,
) -> Series {
    Series {
        name: name.to_owned(),
        side: Side::Upper,
        standing: Some(standing),
        look: Look::Line,
        values: at
            .par_iter()
            .map(|&x| value(x).ok().filter(|value| value.is_finite()))
            .collect(),
    }
}

/// The same, from below.
pub(crate) fn lower(mut series: Series) -> Series {
    series.side = Side::Lower;
    series
}

/// What a paper prints.
pub(crate) fn printed(name: &str, values: &[f64]) -> Series {
    Series {
        name: name.to_owned(),
        side: Side::Upper,
        standing: None,
        look: Look::Marks,
        values: values.iter().copied().map(Some).collect(),
    }
}

/// ε of a Rényi curve over so many rounds, and the order that gives it.
pub(crate) fn at_order(curve: &RdpCurve, rounds: f64, delta: f64) -> Result<AtOrder, Unmet> {
    let best = curve.clone().times(rounds as u64).epsilon(delta);
    best.map_err(|error| Unmet(error.to_string()))
}

/// ε of a Rényi curve over so many rounds.
pub(crate) fn converted(curve: &RdpCurve, rounds: f64, delta: f64) -> Result<f64, Unmet> {
    Ok(at_order(curve, rounds, delta)?.value)
}

/// The certified account of rounds of one kind.
pub(crate) fn priced(round: &Round, rounds: f64) -> Result<Account, shuffledp::Error> {
    account(&Plan::new(round.clone(), rounds as u64)?)
}

/// ε of rounds of one kind.
pub(crate) fn epsilon(
    round: &Round,
    rounds: f64,
    delta: f64,
) -> Result<Answer<Epsilon>, shuffledp::Error> {
    priced(round, rounds)?.epsilon(Delta::new(delta)?)
}

/// The band of ε over rounds of one kind.
pub(crate) fn over_rounds(round: &Round, at: &[f64], delta: f64) -> Result<Vec<Series>, Error> {
    let one = |rounds: f64| epsilon(round, rounds, delta);
    Ok(band("shuffledp", 0, at, one, Epsilon::value)?.to_vec())
}

/// The upper end of δ over ε, as a line.
pub(crate) fn upper_delta(name: &str, account: &Account, at: &[f64]) -> Series {
    line(name, Standing::Certified, at, |epsilon| {
        let answer = Epsilon::new(epsilon).and_then(|epsilon| account.delta(epsilon));
        answer
            .map(|answer| answer.upper().value())
            .map_err(|error| Unmet(error.to_string()))
    })
}

pub(crate) fn gaussian_on_the_interval(sigma: f64, users: u64) -> Result<Round, shuffledp::Error> {
    Round::new(Mechanism::gaussian(sigma, Domain::Interval)?, users)
}

pub(crate) fn any_ldp(epsilon0: f64, users: u64) -> Result<Round, shuffledp::Error> {
    Round::new(Mechanism::ldp(epsilon0)?, users)
}

/// ε₀ as the theorems take it.
pub(crate) fn local(epsilon0: f64) -> Result<LocalEpsilon, shuffledp::Error> {
    LocalEpsilon::new(epsilon0)
}

/// One round of the clones of Feldman, McMillan and Talwar 2021, exactly.
pub(crate) fn clones_2021(epsilon0: f64, users: u64) -> Result<Profile, shuffledp::Error> {
    Ok(Profile::new(Atoms::ldp_adaptive(local(epsilon0)?)?, users))
}
