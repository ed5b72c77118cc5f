//! The blanket-mixed Gaussian against brute force: reports rounded to cells, every dataset of a grid, in one
//! and two dimensions; its Rényi divergences by integrals of densities; and a few known values.
#![allow(clippy::unwrap_used)]

mod common;

use common::normal::cells;
use common::{Matrix, Part, worst};
use shuffledp_accounting::{Divergence, Domain, Mechanism, Plan, Round, account, unshuffled};

fn round(sigma: f64, blanket: f64, users: u64) -> Round {
    Round::new(Mechanism::mixed_gaussian(sigma, blanket).unwrap(), users).unwrap()
}

fn of_part(round: Round, part: Part) -> Round {
    match part {
        Part::Everyone => round,
        Part::CheckIn(rate) => round.check_in(rate).unwrap(),
        Part::Sample(size) => round.sample(size as u64).unwrap(),
    }
}

/// Lower and upper δ(ε).
fn delta(round: &Round, epsilon: f64) -> (f64, f64) {
    let answer = account(round).unwrap().delta(epsilon).unwrap();
    (answer.lower().value(), answer.upper().value())
}

fn epsilon(round: Round, rounds: u64, delta: f64) -> (f64, f64) {
    let answer = account(Plan::new(round, rounds).unwrap()).unwrap();
    let answer = answer.epsilon(delta).unwrap();
    (answer.lower().value(), answer.upper().value())
}

/// Rows for the values of a grid: a row of cells for each, mixed with that of zero.
fn mixed(rows: Vec<Vec<f64>>, zero: &[f64], blanket: f64) -> Matrix {
    let mix = |row: Vec<f64>| {
        let both = row.iter().zip(zero);
        both.map(|(p, z)| (1.0 - blanket) * p + blanket * z)
            .collect()
    };
    rows.into_iter().map(mix).collect()
}

/// 0.00436 is an estimate in plain floating point for these numbers, in the mathematics that the mechanism
/// was proposed with.
#[test]
fn a_known_value_and_the_plain_mechanism_at_the_same_noise() {
    let (low, high) = epsilon(round(1.0, 0.8, 100_000), 1, 1e-6);
    assert!((high - 0.00436).abs() < 1e-5, "{high}");
    // The datasets that are known are not far away.
    assert!(low < high && low > 0.82 * high, "{low} {high}");
    // σ/(1 − b) = 5: the same accuracy, and the best bound that is known for plain Gaussian noise.
    let plain = Round::new(Mechanism::gaussian(5.0, Domain::Ball).unwrap(), 100_000).unwrap();
    assert!(epsilon(plain, 1, 1e-6).1 > 1.5 * high);
}

/// Without a blanket it would be Gaussian noise on a ball, and with hardly anything else it says nothing.
#[test]
fn the_two_limits() {
    for (sigma, users) in [(10.0, 10_000), (2.0, 10)] {
        let plain = Round::new(Mechanism::gaussian(sigma, Domain::Ball).unwrap(), users).unwrap();
        let (low, high) = epsilon(plain, 1, 1e-6);
        let [once, twice] =
            [1e-3, 2e-3].map(|blanket| epsilon(round(sigma, blanket, users), 1, 1e-6));
        // A straight line through two small blankets meets plain noise at none.
        let limit = 2.0 * once.0 - twice.0;
        assert!((limit / low - 1.0).abs() < 2e-4, "{once:?} {twice:?} {low}");
        assert!(once.0 < low && once.1 < high, "{once:?} {low} {high}");
        assert_eq!(epsilon(round(sigma, 0.999_999, users), 1, 1e-5).1, 0.0);
    }
}

#[test]
fn no_dataset_on_a_line_is_worse() {
    let mut closest: f64 = 0.0;
    for (sigma, blanket) in [(0.5, 0.3), (1.0, 0.1), (1.0, 0.8), (3.0, 0.5)] {
        let edges: Vec<f64> = (-4..=4)
            .map(|i| 0.45 * f64::from(i) * (0.6 + sigma))
            .collect();
        let values = [-1.0, -0.3, 0.0, 0.5, 1.0];
        let rows = values.map(|x| cells(x, sigma, &edges));
        let zero = rows[2].clone();
        let channel = mixed(rows.into(), &zero, blanket);
        for (users, part) in [
            (2, Part::Everyone),
            (3, Part::Everyone),
            (3, Part::CheckIn(0.3)),
            (3, Part::Sample(1)),
            (3, Part::Sample(2)),
        ] {
            let round = of_part(round(sigma, blanket, users as u64), part);
            for epsilon in [0.0, 0.2, 1.0, 2.5] {
                let truth = worst(&channel, users, part, f64::exp(epsilon));
                let (_, upper) = delta(&round, epsilon);
                assert!(
                    truth <= upper,
                    "sigma {sigma} {blanket} {users} {part:?} {epsilon}: {truth} {upper}"
                );
                closest = closest.max(truth / upper);
            }
        }
    }
    // Cells of this size show most of what there is to see.
    assert!(closest > 0.95, "{closest}");
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
    for (sigma, blanket) in [(0.7, 0.5), (2.0, 0.2)] {
        let edges: Vec<f64> = (-2..=2)
            .map(|i| 0.7 * f64::from(i) * (0.5 + sigma))
            .collect();
        let row = |&(x, y): &(f64, f64)| -> Vec<f64> {
            let (across, along) = (cells(x, sigma, &edges), cells(y, sigma, &edges));
            let all = across.iter().flat_map(|p| along.iter().map(move |q| p * q));
            all.collect()
        };
        let rows: Vec<Vec<f64>> = values.iter().map(row).collect();
        let channel = mixed(rows, &row(&(0.0, 0.0)), blanket);
        for part in [Part::Everyone, Part::CheckIn(0.4), Part::Sample(1)] {
            let round = of_part(round(sigma, blanket, 2), part);
            for epsilon in [0.0, 0.5, 2.0] {
                let truth = worst(&channel, 2, part, f64::exp(epsilon));
                let (_, upper) = delta(&round, epsilon);
                assert!(
                    truth <= upper,
                    "sigma {sigma} {blanket} {part:?} {epsilon}: {truth} {upper}"
                );
            }
        }
    }
}

/// The density of a report at y, of a value on a line.
fn density(x: f64, y: f64, sigma: f64, blanket: f64) -> f64 {
    let at = |center: f64| (-0.5 * ((y - center) / sigma).powi(2)).exp();
    ((1.0 - blanket) * at(x) + blanket * at(0.0)) / (sigma * std::f64::consts::TAU.sqrt())
}

/// Two users on a line, integrated: the lower bounds are below the largest over datasets, the upper bounds
/// above all, for δ and for Rényi divergences.
#[test]
fn two_users_are_bracketed() {
    for (sigma, blanket) in [(0.8, 0.3), (1.5, 0.6)] {
        let step = sigma / 8.0;
        let reach = (14.0 / step) as i64;
        let places: Vec<f64> = (-reach..=reach).map(|i| i as f64 * step).collect();
        let (orders, epsilons) = ([1.5, 2.0, 3.0, 6.0], [0.0, 0.3, 1.0]);
        let (mut moments, mut deltas) = ([0f64; 4], [0f64; 3]);
        for (x0, x1, other) in [
            (1.0, -1.0, -1.0),
            (1.0, -1.0, 1.0),
            (1.0, -1.0, 0.0),
            (1.0, 0.0, 0.0),
        ] {
            let row = |x: f64| -> Vec<f64> {
                places
                    .iter()
                    .map(|&y| density(x, y, sigma, blanket))
                    .collect()
            };
            let (p, q, w) = (row(x0), row(x1), row(other));
            let (mut moment, mut hockey) = ([0.0; 4], [0.0; 3]);
            for i in 0..places.len() {
                for j in 0..places.len() {
                    let first = 0.5 * (p[i] * w[j] + p[j] * w[i]) * step * step;
                    let second = 0.5 * (q[i] * w[j] + q[j] * w[i]) * step * step;
                    for (sum, epsilon) in hockey.iter_mut().zip(epsilons) {
                        *sum += (first - f64::exp(epsilon) * second).max(0.0);
                    }
                    if first > 0.0 && second > 0.0 {
                        for (sum, order) in moment.iter_mut().zip(orders) {
                            *sum += (order * first.ln() + (1.0 - order) * second.ln()).exp();
                        }
                    }
                }
            }
            let larger = |most: &mut f64, value: f64| *most = most.max(value);
            moments
                .iter_mut()
                .zip(moment)
                .for_each(|(most, value)| larger(most, value));
            deltas
                .iter_mut()
                .zip(hockey)
                .for_each(|(most, value)| larger(most, value));
        }
        let round = round(sigma, blanket, 2);
        for (truth, epsilon) in deltas.into_iter().zip(epsilons) {
            let (low, high) = delta(&round, epsilon);
            // The sums are good to three digits, at the edge of the region where the loss exceeds ε.
            assert!(
                low < 1.003 * truth && truth < 1.003 * high,
                "{epsilon}: {low} {truth} {high}"
            );
            // One of the datasets above is that of the lower bound.
            assert!(truth < 1.1 * low, "{epsilon}: {low} {truth}");
        }
        let divergence = Divergence::new(Plan::new(round, 1).unwrap()).unwrap();
        for (truth, order) in moments.into_iter().zip(orders) {
            let truth = truth.ln() / (order - 1.0);
            let answer = divergence.at(order).unwrap();
            let (low, high) = (answer.lower().get(), answer.upper().get());
            assert!(
                low <= truth + 1e-9 && truth <= high + 1e-9,
                "{order}: {low} {truth} {high}"
            );
            // Below order 2 there is no better one for few users.
            assert!(order < 2.0 || low > 0.5 * truth, "{order}: {low} {truth}");
        }
    }
}

/// More of a blanket, more noise, more users and fewer rounds are never worse.
#[test]
fn monotone() {
    let upper =
        |sigma, blanket, users, rounds| epsilon(round(sigma, blanket, users), rounds, 1e-6).1;
    let base = upper(2.0, 0.5, 1000, 1);
    assert!(upper(2.0, 0.6, 1000, 1) < base);
    assert!(upper(2.2, 0.5, 1000, 1) < base);
    assert!(upper(2.0, 0.5, 1100, 1) < base);
    let two = upper(2.0, 0.5, 1000, 2);
    assert!(two > base && two < 2.0 * base, "{base} {two}");
}

/// One report without a shuffler is at most as revealing as Gaussian noise alone, whose values are 2 apart.
#[test]
fn without_a_shuffler() {
    let at = shuffledp_accounting::Delta::new(1e-6).unwrap();
    let mixed = unshuffled(&Mechanism::mixed_gaussian(2.0, 0.5).unwrap(), 3, at).unwrap();
    let plain = unshuffled(&Mechanism::gaussian(2.0, Domain::Ball).unwrap(), 3, at).unwrap();
    assert_eq!(mixed.upper().value(), plain.upper().value());
    assert_eq!(mixed.lower().value(), 0.0);
}

#[test]
fn what_is_refused() {
    for (sigma, blanket, said) in [
        (0.2, 0.5, "sigma 0.2 is outside [0.3, 2e6]"),
        (1.0, 0.0, "blanket 0 is outside [0.001, 0.999999]"),
        (1.0, 1.0, "blanket 1 is outside [0.001, 0.999999]"),
        (1.0, f64::NAN, "blanket NaN is outside [0.001, 0.999999]"),
    ] {
        let refused = Mechanism::mixed_gaussian(sigma, blanket).unwrap_err();
        assert_eq!(refused.to_string(), said);
    }
}
