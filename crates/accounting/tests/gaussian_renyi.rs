//! Rényi divergences of shuffled Gaussian noise on [0, 1] against brute force: the densities of two and three
//! shuffled reports, integrated over the plane and over space, for users anywhere on a grid.

#![allow(clippy::unwrap_used)]

mod common;

use common::exhaustive;
use shuffledp_accounting::{Divergence, Domain, Mechanism, Participation, Plan, Round};

fn round(sigma: f64, users: u64) -> Round {
    Round::new(Mechanism::gaussian(sigma, Domain::Interval).unwrap(), users).unwrap()
}

/// A user's value, and the probability of taking part.
type User = (f64, f64);

/// Density, at these reports, of the shuffled reports of those who take part, in uniformly random order; all
/// ways of choosing them, each with its probability.
fn density(users: &[User], reports: &[f64], sigma: f64) -> f64 {
    fn sum(users: &[User], used: &mut Vec<bool>, reports: &[f64], sigma: f64) -> f64 {
        let Some((&first, rest)) = reports.split_first() else {
            let away = users.iter().zip(&*used).filter(|(_, used)| !**used);
            return away.map(|((_, rate), _)| 1.0 - rate).product();
        };
        let mut total = 0.0;
        for (i, &(value, rate)) in users.iter().enumerate() {
            if used[i] {
                continue;
            }
            used[i] = true;
            let z = (first - value) / sigma;
            total += rate * (-0.5 * z * z).exp() * sum(users, used, rest, sigma);
            used[i] = false;
        }
        total
    }
    let normal = (2.0 * std::f64::consts::PI).sqrt() * sigma;
    let orders: f64 = (1..=reports.len()).map(|k| k as f64).product();
    let used = &mut vec![false; users.len()];
    sum(users, used, reports, sigma) / orders / normal.powi(reports.len() as i32)
}

/// ∫ p^λ q^{1−λ} at these orders over all numbers of reports: the trapezoidal rule with half a standard
/// deviation, whose error is far below 1e-9 for densities that are sums of Gaussians.
fn moments(first: &[User], second: &[User], sigma: f64, orders: &[f64]) -> Vec<f64> {
    let step = 0.5 * sigma;
    let most = orders.iter().copied().fold(0.0, f64::max);
    let reach = ((most + 8.0 * sigma) / step).ceil() as i64;
    let mut totals = vec![0.0; orders.len()];
    for count in 0..=first.len() {
        let cell = step.powi(count as i32);
        let mut place = vec![-reach; count];
        loop {
            let reports: Vec<f64> = place.iter().map(|&i| 0.5 + i as f64 * step).collect();
            let (p, q) = (
                density(first, &reports, sigma),
                density(second, &reports, sigma),
            );
            if p > 0.0 && q > 0.0 {
                for (total, order) in totals.iter_mut().zip(orders) {
                    *total += cell * (order * p.ln() + (1.0 - order) * q.ln()).exp();
                }
            }
            // The next place in non-decreasing order would do, too; all are taken.
            let Some(turn) = place.iter().position(|&i| i < reach) else {
                break;
            };
            place[turn] += 1;
            place[..turn].fill(-reach);
        }
    }
    totals
}

fn divergences(first: &[User], second: &[User], sigma: f64, orders: &[f64]) -> Vec<f64> {
    let moments = moments(first, second, sigma, orders).into_iter();
    moments
        .zip(orders)
        .map(|(moment, order)| moment.ln() / (order - 1.0))
        .collect()
}

/// All ways to give each of so many users one of these.
fn choices<T: Copy>(of: &[T], users: usize) -> Vec<Vec<T>> {
    (0..users).fold(vec![Vec::new()], |all, _| {
        let longer = |some: &Vec<T>, one: &T| some.iter().copied().chain([*one]).collect();
        all.iter()
            .flat_map(|some| of.iter().map(move |one| longer(some, one)))
            .collect()
    })
}

/// The largest brute-force divergence of a round over all datasets on a grid, in both directions.
fn largest(round: &Round, sigma: f64, grid: &[f64], rates: &[f64], orders: &[f64]) -> Vec<f64> {
    let mut most = vec![0.0f64; orders.len()];
    let others = round.users() as usize - 1;
    let values: Vec<User> = grid
        .iter()
        .flat_map(|&value| rates.iter().map(move |&rate| (value, rate)))
        .collect();
    for others in choices(&values, others) {
        // The others may be put in any order.
        if others.windows(2).any(|pair| pair[0] > pair[1]) {
            continue;
        }
        for &own in rates {
            for &x0 in grid {
                for &x1 in grid {
                    if x0 == x1 {
                        continue;
                    }
                    let with = |value: f64| [&[(value, own)], &others[..]].concat();
                    let found = divergences(&with(x0), &with(x1), sigma, orders);
                    for (most, found) in most.iter_mut().zip(found) {
                        *most = most.max(found);
                    }
                }
            }
        }
    }
    most
}

/// The bounds at these orders.
fn bounds(round: &Round, orders: &[f64]) -> Vec<(f64, f64)> {
    let divergence = Divergence::new(round).unwrap();
    let at = |order: &f64| divergence.at(*order).unwrap();
    orders
        .iter()
        .map(|order| (at(order).lower().get(), at(order).upper().get()))
        .collect()
}

/// How much smaller than the truth an upper bound in ordinary floating point may come out.
const ROUNDING: f64 = 1e-8;

fn no_dataset_is_above(round: &Round, sigma: f64, grid: &[f64], orders: &[f64]) -> Vec<f64> {
    let rates = match round.participation() {
        Participation::Everyone => vec![1.0],
        Participation::CheckIn(rate) if rate.lowest() == rate.highest() => vec![rate.lowest()],
        Participation::CheckIn(rate) => vec![rate.lowest(), rate.highest()],
        Participation::Sample(_) => unreachable!(),
    };
    let truths = largest(round, sigma, grid, &rates, orders);
    for ((order, truth), (lower, upper)) in orders.iter().zip(&truths).zip(bounds(round, orders)) {
        assert!(
            *truth <= upper * (1.0 + ROUNDING) && lower <= truth * (1.0 + ROUNDING),
            "sigma {sigma}, {round:?}, order {order}: {truth} outside [{lower}, {upper}]"
        );
    }
    truths
}

const ORDERS: [f64; 8] = [1.2, 1.5, 2.0, 2.5, 3.0, 4.7, 6.0, 8.0];

/// Two users: three values for each (`SHUFFLEDP_TESTS=all`: nine), everybody or by a coin, coins of their
/// own.
#[test]
fn two_users_anywhere() {
    let steps = if exhaustive() { 8 } else { 2 };
    let fine: Vec<f64> = (0..=steps)
        .map(|i| f64::from(i) / f64::from(steps))
        .collect();
    let ends = [0.0, 1.0];
    for sigma in [0.7, 1.0, 3.0] {
        let truths = no_dataset_is_above(&round(sigma, 2), sigma, &fine, &ORDERS);
        // The enumeration would notice a bound that is too small: that of three users is exceeded.
        let three = bounds(&round(sigma, 3), &ORDERS);
        let below = |(truth, (_, upper)): (&f64, &(f64, f64))| truth > upper;
        let caught = truths.iter().zip(&three).filter(|pair| below(*pair));
        let enough = if sigma < 3.0 { 0 } else { ORDERS.len() - 1 };
        assert!(
            caught.count() >= enough,
            "sigma {sigma}: {truths:?} {three:?}"
        );
        for round in [
            round(sigma, 2).check_in(0.5).unwrap(),
            round(sigma, 2).check_in(0.1).unwrap(),
            round(sigma, 2).check_in_between(0.2, 0.6).unwrap(),
        ] {
            no_dataset_is_above(&round, sigma, &ends, &ORDERS);
        }
    }
}

/// Three users, everybody, at the ends (`SHUFFLEDP_TESTS=all`: and in the middle).
#[test]
fn three_users_anywhere() {
    let orders = [1.5, 2.0, 3.5, 6.0];
    let grid: &[f64] = if exhaustive() {
        &[0.0, 0.5, 1.0]
    } else {
        &[0.0, 1.0]
    };
    let sigmas: &[f64] = if exhaustive() {
        &[0.8, 1.0, 2.0]
    } else {
        &[1.0]
    };
    for &sigma in sigmas {
        no_dataset_is_above(&round(sigma, 3), sigma, grid, &orders);
    }
}

/// One of two users is drawn: each of the two reports, alone, with probability 1/2.
#[test]
fn one_of_two_sampled() {
    for sigma in [0.7, 1.0, 2.0] {
        let bounds = bounds(&round(sigma, 2).sample(1).unwrap(), &ORDERS);
        for (x1, other) in [(1.0, 0.0), (1.0, 1.0), (1.0, 0.5), (0.5, 1.0), (0.5, 0.0)] {
            for (a, b) in [(0.0, x1), (x1, 0.0)] {
                for (order, (_, upper)) in ORDERS.iter().zip(&bounds) {
                    let step = 0.25 * sigma;
                    let reach = ((10.0 + 9.0 * sigma) / step).ceil() as i64;
                    let one = |x: f64, y: f64| density(&[(x, 1.0)], &[y], sigma);
                    let moment: f64 = (-reach..=reach)
                        .map(|i| i as f64 * step)
                        .map(|y| {
                            let common = 0.5 * one(other, y);
                            let (p, q) = (0.5 * one(a, y) + common, 0.5 * one(b, y) + common);
                            if p * q == 0.0 {
                                return 0.0;
                            }
                            step * (order * p.ln() + (1.0 - order) * q.ln()).exp()
                        })
                        .sum();
                    let truth = moment.ln() / (order - 1.0);
                    assert!(
                        truth <= upper * (1.0 + ROUNDING),
                        "sigma {sigma} order {order} {a} {b} {other}: {truth} above {upper}"
                    );
                }
            }
        }
    }
}

/// Where noise is large the two bounds are close at every order that shuffling helps at, and the bound
/// without
/// a shuffler is far above.
#[test]
fn the_bounds_are_close_where_noise_is_large() {
    let orders = [1.5, 2.0, 2.5, 8.0, 64.0, 256.0, 1000.0];
    for (round, most) in [
        (round(9.48, 60_000), 1.12),
        (round(9.48, 60_000).check_in(0.1).unwrap(), 1.12),
        (round(9.48, 60_000).sample(600).unwrap(), 1.12),
        (round(5.0, 1_000_000), 1.25),
        (round(20.0, 1_000_000_000_000), 1.06),
    ] {
        for (order, (lower, upper)) in orders.iter().zip(bounds(&round, &orders)) {
            assert!(
                upper < most * lower && lower > 0.0,
                "{round:?} order {order}: {lower} and {upper}"
            );
        }
    }
    // Rounds add up.
    let one = bounds(&round(9.48, 60_000), &[16.0])[0].1;
    let plan = Plan::new(round(9.48, 60_000), 1000).unwrap();
    let many = Divergence::new(&plan).unwrap().at(16.0).unwrap();
    assert!((many.upper().get() / one / 1000.0 - 1.0).abs() < 1e-12);
}
