//! Binary randomized response against every dataset: the number of ones, enumerated.
//!
//! The enumeration adds one user after the other and shares no code with the library.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::{
    Account, Delta, Epsilon, Mechanism, Round, ScalarKind, VectorNorm, account,
};

/// The law of the number of ones among users who say 1 with these probabilities.
fn count_of(probabilities: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut law = vec![1.0];
    for theta in probabilities {
        law.push(0.0);
        for j in (1..law.len()).rev() {
            law[j] = (1.0 - theta) * law[j] + theta * law[j - 1];
        }
        law[0] *= 1.0 - theta;
    }
    law
}

/// The divergence of a count with one more user, who says 1 with probability `mine` or `changed`.
fn divergence(others: &[f64], mine: f64, changed: f64, a: f64) -> f64 {
    let at = |j: usize| others.get(j).copied().unwrap_or(0.0);
    let with =
        |theta: f64, j: usize| (1.0 - theta) * at(j) + theta * if j > 0 { at(j - 1) } else { 0.0 };
    (0..=others.len())
        .map(|j| (with(mine, j) - a * with(changed, j)).max(0.0))
        .sum()
}

/// Datasets by how many of the others hold the first value, with their counts.
fn every_dataset(n: usize, epsilon0: f64) -> Vec<Vec<f64>> {
    let p = 1.0 / (epsilon0.exp() + 1.0);
    (0..n)
        .map(|k| count_of((0..n - 1).map(|user| if user < k { 1.0 - p } else { p })))
        .collect()
}

/// The largest divergence over all datasets.
fn largest(datasets: &[Vec<f64>], epsilon0: f64, epsilon: f64) -> f64 {
    let p = 1.0 / (epsilon0.exp() + 1.0);
    let of = |others: &Vec<f64>| divergence(others, 1.0 - p, p, epsilon.exp());
    datasets.iter().map(of).fold(0.0, f64::max)
}

fn asked(mechanism: Mechanism, n: u64) -> Account {
    account(&Round::new(mechanism, n).unwrap()).unwrap()
}

fn delta(account: &Account, epsilon: f64) -> (f64, f64) {
    let answer = account.delta(Epsilon::new(epsilon).unwrap()).unwrap();
    (answer.upper().value(), answer.lower().value())
}

/// Below rounding of the enumeration: 200 users, each off by a few units in the last place.
const SLACK: f64 = 1e-12;

#[test]
fn never_below_any_dataset_and_close_to_the_worst() {
    for n in [2, 3, 5, 8, 20, 50, 120, 200] {
        for epsilon0 in [0.01, 0.5, 1.0, 2.0, 4.0, 8.0] {
            let datasets = every_dataset(n, epsilon0);
            let account = asked(Mechanism::binary_response(epsilon0).unwrap(), n as u64);
            for share in [
                0.0, 0.003, 0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.722, 0.8, 0.9, 0.97,
            ] {
                let epsilon = share * epsilon0;
                let truth = largest(&datasets, epsilon0, epsilon);
                let (upper, lower) = delta(&account, epsilon);
                if truth > 1e-250 {
                    println!("{n} {epsilon0} {share} {truth:e} {}", upper / truth);
                }
                assert!(
                    upper >= truth * (1.0 - SLACK),
                    "n = {n}, epsilon0 = {epsilon0}, epsilon = {epsilon}: {upper} < {truth}"
                );
                assert!(lower <= truth * (1.0 + SLACK));
            }
        }
    }
}

#[test]
fn timing() {
    for (n, e0) in [
        (200u64, 1.0),
        (1000, 1.0),
        (1000, 2.0),
        (1000, 4.0),
        (10_000, 1.0),
        (10_000, 4.0),
        (10_000, 8.0),
        (1_000_000, 1.0),
        (1_000_000, 10.0),
        (1 << 53, 30.0),
    ] {
        let account = asked(Mechanism::binary_response(e0).unwrap(), n);
        let ldp = asked(Mechanism::one_bit_vector(VectorNorm::L2, e0).unwrap(), n);
        for d in [1e-3, 1e-6, 1e-12] {
            let t = std::time::Instant::now();
            let e = account.epsilon(Delta::new(d).unwrap()).unwrap();
            let t1 = t.elapsed();
            let t = std::time::Instant::now();
            let l = ldp.epsilon(Delta::new(d).unwrap()).unwrap();
            let t2 = t.elapsed();
            let t = std::time::Instant::now();
            delta(&account, e.upper().value());
            let t3 = t.elapsed();
            let t = std::time::Instant::now();
            delta(&ldp, e.upper().value());
            let t4 = t.elapsed();
            println!(
                "{n} {e0} {d:e}: {} {} ratio {:.5} blanket {} {} | {t1:?} {t2:?} {t3:?} {t4:?}",
                e.upper().value(),
                e.upper().method(),
                e.upper().value() / e.lower().value(),
                l.upper().value(),
                l.upper().value() / l.lower().value()
            );
        }
    }
}
