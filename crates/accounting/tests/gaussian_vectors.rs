//! Gaussian noise on vectors: Theorem G, sampling alone, and both against brute force.
//!
//! Reports rounded to cells are computed from reports, so that a round of them, enumerated over every dataset
//! of a grid of values, may not have a larger δ than the bound. A simulation in fifty dimensions closes what
//! enumeration cannot reach.
#![allow(clippy::unwrap_used)]

mod common;

use common::normal::cells;
use common::{Dice, Matrix, Part, exhaustive, hockey_stick, multisets, view, worst};
use shuffledp_accounting::{Delta, Domain, Epsilon, Mechanism, Plan, Round, account};

fn ball(sigma: f64, users: u64) -> Round {
    Round::new(Mechanism::gaussian(sigma, Domain::Ball).unwrap(), users).unwrap()
}

fn epsilon(round: Round, rounds: u64, delta: f64) -> (f64, f64) {
    let answer = account(Plan::new(round, rounds).unwrap())
        .unwrap()
        .epsilon(Delta::new(delta).unwrap())
        .unwrap();
    (answer.lower().value(), answer.upper().value())
}

/// Theorem G with the mass that is moved priced by (1 + a), in plain floating point, by an independent
/// program; the lower bounds by the pair at distance 2. The price by the local profile is below that.
#[test]
fn known_values() {
    for (users, sigma, delta, lower, upper) in [
        (100_000, 5.0, 1e-6, 0.003690, 0.00733),
        (100_000, 10.0, 1e-6, 0.001648, 0.00238),
        (100_000, 25.0, 1e-6, 0.000576, 0.00068),
        (60_000, 9.48, 1.0 / 60_000.0, 0.001465, 0.00218),
        (1_000_000, 5.0, 1e-8, 0.001549, 0.00330),
        (1_000_000, 20.0, 1e-8, 0.000337, 0.000414),
        (1_000, 10.0, 1e-6, 0.020752, 0.0284),
    ] {
        let (low, high) = epsilon(ball(sigma, users), 1, delta);
        assert!(
            (low / lower - 1.0).abs() < 1e-3,
            "sigma {sigma}, n {users}: {low} for {lower}"
        );
        assert!(
            high <= upper && high >= low,
            "sigma {sigma}, n {users}: {high} for {upper}"
        );
        assert!(
            high > 0.9 * upper,
            "sigma {sigma}, n {users}: {high} is below what was proved before"
        );
    }
}

/// The setting of shuffled-check-in's experiments. What sampling alone gives was computed by an independent
/// program (composition by connecting the dots); Theorem G is below that.
#[test]
fn the_papers_own_setting_has_an_answer() {
    let round = || ball(0.86, 60_000).check_in(0.001).unwrap();
    let mut last = 0.0;
    // One round takes a second, more take ten: the fast tests take one.
    let asked = if exhaustive() { 4 } else { 1 };
    for (rounds, sampling) in [(1, 0.724), (10, 2.14), (1_000, 5.35), (20_000, 13.6)]
        .into_iter()
        .take(asked)
    {
        let (low, high) = epsilon(round(), rounds, 1.0 / 60_000.0);
        assert!(high <= sampling, "{rounds} rounds: {high}");
        assert!(
            low >= last && low <= high,
            "{rounds} rounds: {low} after {last}"
        );
        last = low;
    }
}

/// Many rounds compose, and cost more than one and less than as many times.
#[test]
fn many_rounds() {
    let one = epsilon(ball(5.0, 100_000), 1, 1e-6);
    let many = epsilon(ball(5.0, 100_000), 10_000, 1e-6);
    assert!(
        many.1 > 50.0 * one.1 && many.1 < 200.0 * one.1,
        "{one:?} {many:?}"
    );
    // The normal limit: 100 standard deviations of one round.
    assert!(
        many.0 > 50.0 * one.0 && many.1 < 2.2 * many.0,
        "{one:?} {many:?}"
    );
}

fn upper_delta(round: Round, epsilon: f64) -> f64 {
    let answer = account(&round)
        .unwrap()
        .delta(Epsilon::new(epsilon).unwrap());
    answer.unwrap().upper().value()
}

fn round_of(sigma: f64, users: usize, part: Part) -> Round {
    let round = ball(sigma, users as u64);
    match part {
        Part::Everyone => round,
        Part::CheckIn(rate) => round.check_in(rate).unwrap(),
        Part::Sample(size) => round.sample(size as u64).unwrap(),
    }
}

#[test]
fn no_dataset_on_a_line_is_worse() {
    let mut checks = 0;
    for sigma in [0.5, 1.0, 3.0] {
        let edges: Vec<f64> = (-4..=4)
            .map(|i| 0.45 * f64::from(i) * (0.6 + sigma))
            .collect();
        let channel: Matrix = [-1.0, -0.3, 0.5, 1.0]
            .map(|x| cells(x, sigma, &edges))
            .into();
        for (users, part) in [
            (2, Part::Everyone),
            (3, Part::Everyone),
            (3, Part::CheckIn(0.3)),
            (3, Part::Sample(1)),
            (3, Part::Sample(2)),
        ] {
            for epsilon in [0.0, 0.2, 1.0, 2.5] {
                let truth = worst(&channel, users, part, f64::exp(epsilon));
                let upper = upper_delta(round_of(sigma, users, part), epsilon);
                assert!(
                    truth <= upper,
                    "sigma {sigma} {users} {part:?} {epsilon}: {truth} {upper}"
                );
                checks += 1;
            }
        }
    }
    assert_eq!(checks, 60);
}

#[test]
fn no_dataset_in_the_plane_is_worse() {
    let values = [
        (1.0, 0.0),
        (-1.0, 0.0),
        (0.0, 1.0),
        (0.0, 0.0),
        (-0.6, 0.8),
        (0.4, -0.3),
    ];
    for sigma in [0.7, 2.0] {
        let edges: Vec<f64> = (-2..=2)
            .map(|i| 0.7 * f64::from(i) * (0.5 + sigma))
            .collect();
        let channel: Matrix = values
            .iter()
            .map(|&(x, y)| {
                let (across, along) = (cells(x, sigma, &edges), cells(y, sigma, &edges));
                let all = across.iter().flat_map(|p| along.iter().map(move |q| p * q));
                all.collect()
            })
            .collect();
        for part in [Part::Everyone, Part::CheckIn(0.4), Part::Sample(1)] {
            for epsilon in [0.0, 0.5, 2.0] {
                let truth = worst(&channel, 2, part, f64::exp(epsilon));
                let upper = upper_delta(round_of(sigma, 2, part), epsilon);
                assert!(
                    truth <= upper,
                    "sigma {sigma} {part:?} {epsilon}: {truth} {upper}"
                );
            }
        }
    }
}

/// Fifty dimensions, four users, by simulation: δ = E_P(1 − a Q/P)₊ over orders of the reports.
#[test]
fn simulation_in_fifty_dimensions_stays_below() {
    const DIMENSION: usize = 50;
    let mut dice = Dice::new(9);
    let mut normal = move || {
        let radius = (-2.0 * (1.0 - dice.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * dice.unit()).cos()
    };
    let axis = |i: usize, length: f64| {
        let mut vector = vec![0.0; DIMENSION];
        vector[i] = length;
        vector
    };
    let same = [axis(0, -1.0), axis(0, -1.0), axis(0, -1.0)];
    let mixed = [axis(0, 1.0), axis(1, 1.0), axis(2, -0.5)];
    let trials = if exhaustive() { 40_000 } else { 8_000 };
    for (others, sigma) in [(&same, 1.0), (&mixed, 1.0), (&same, 2.0), (&mixed, 2.0)] {
        let distance = |report: &[f64], center: &[f64]| -> f64 {
            report
                .iter()
                .zip(center)
                .map(|(y, c)| (y - c).powi(2))
                .sum()
        };
        // The density of four reports in random order, up to a common factor.
        let density = |reports: &[Vec<f64>], centers: &[&Vec<f64>]| -> f64 {
            let ln =
                |r: usize, c: usize| -0.5 * distance(&reports[r], centers[c]) / (sigma * sigma);
            let table: Vec<f64> = (0..16).map(|i| ln(i / 4, i % 4)).collect();
            let top = table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut total = 0.0;
            for a in 0..4 {
                for b in (0..4).filter(|b| *b != a) {
                    for c in (0..4).filter(|c| *c != a && *c != b) {
                        let d = 6 - a - b - c;
                        let sum = table[a] + table[4 + b] + table[8 + c] + table[12 + d];
                        total += (sum - 4.0 * top).exp();
                    }
                }
            }
            total.ln() + 4.0 * top
        };
        let (first, second) = (axis(0, 1.0), axis(0, -1.0));
        let of = |own: &'static str| own == "first";
        let centers = |own: &'static str| -> Vec<&Vec<f64>> {
            let mine = if of(own) { &first } else { &second };
            std::iter::once(mine).chain(others.iter()).collect()
        };
        let (p, q) = (centers("first"), centers("second"));
        for epsilon in [0.0, 0.5] {
            let a = f64::exp(epsilon);
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..trials {
                let reports: Vec<Vec<f64>> = p
                    .iter()
                    .map(|center| center.iter().map(|c| c + sigma * normal()).collect())
                    .collect();
                let ratio = (density(&reports, &q) - density(&reports, &p)).exp();
                let value = (1.0 - a * ratio).max(0.0);
                sum += value;
                squares += value * value;
            }
            let mean = sum / f64::from(trials);
            let error = ((squares / f64::from(trials) - mean * mean) / f64::from(trials)).sqrt();
            let upper = upper_delta(ball(sigma, 4), epsilon);
            assert!(
                mean - 4.0 * error <= upper,
                "sigma {sigma} {epsilon}: {mean} ± {error}, {upper}"
            );
            assert!(
                mean > 10.0 * error,
                "sigma {sigma} {epsilon}: nothing was seen"
            );
        }
    }
}

/// Rates of their own: every user at either end of the range, enumerated as values that say the rate, too.
#[test]
fn no_dataset_with_rates_of_their_own_is_worse() {
    let (rates, sigma) = ([0.2, 0.6], 1.0);
    let edges: Vec<f64> = (-3..=3).map(|i| 0.7 * f64::from(i)).collect();
    let values = [-1.0, 0.3, 1.0];
    let mut channel: Matrix = Vec::new();
    for rate in rates {
        for value in values {
            let mut row: Vec<f64> = cells(value, sigma, &edges)
                .iter()
                .map(|p| p * rate)
                .collect();
            row.push(1.0 - rate);
            channel.push(row);
        }
    }
    let mut exceeded = false;
    for users in [2, 3] {
        for epsilon in [0.0, 0.2, 0.8] {
            let mut truth: f64 = 0.0;
            for others in multisets(channel.len(), users - 1) {
                let law =
                    |own: usize| view(&channel, &[&others[..], &[own]].concat(), Part::Everyone);
                let laws: Vec<_> = (0..channel.len()).map(law).collect();
                // User 1's rate is not what changes.
                for group in laws.chunks(values.len()) {
                    for p in group {
                        for q in group {
                            truth = truth.max(hockey_stick(p, q, f64::exp(epsilon)));
                        }
                    }
                }
            }
            let round = ball(sigma, users as u64)
                .check_in_between(rates[0], rates[1])
                .unwrap();
            let upper = upper_delta(round, epsilon);
            assert!(
                truth <= upper,
                "{users} users at {epsilon}: {truth} {upper}"
            );
            let lowest = ball(sigma, users as u64).check_in(rates[0]).unwrap();
            exceeded |= truth > upper_delta(lowest, epsilon);
        }
    }
    // Everybody at the lowest rate would have been a wrong price, and is seen to be.
    assert!(exceeded);
}
