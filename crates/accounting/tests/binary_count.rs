//! Binary randomized response against every dataset: the number of ones, enumerated.
//!
//! The enumeration adds one user after the other and shares no code with the library.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::{
    Account, Delta, Epsilon, Mechanism, Plan, Round, ScalarKind, VectorNorm, account,
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
                assert!(upper <= 1.01 * truth + 1e-250);
                assert!(
                    upper >= truth * (1.0 - SLACK),
                    "n = {n}, epsilon0 = {epsilon0}, epsilon = {epsilon}: {upper} < {truth}"
                );
                assert!(lower <= truth * (1.0 + SLACK));
            }
        }
    }
}

/// The others at one value are not the worst, not even far out: 40 digits by an independent enumeration.
#[test]
fn the_worst_dataset_is_not_always_at_an_end() {
    for (n, epsilon, end, inside) in [
        (20, 0.722, 4.7239e-4, 5.7278e-4),
        (80, 0.923_445_38, 9.6300e-13, 1.1474e-12),
        (1000, 0.1941, 9.9674e-11, 1.005_09e-10),
    ] {
        let account = asked(Mechanism::binary_response(1.0).unwrap(), n);
        let (upper, lower) = delta(&account, epsilon);
        assert!((lower / end - 1.0).abs() < 1e-4, "{n}: {lower}");
        assert!(
            upper > inside * (1.0 - 1e-4) && upper < 1.005 * inside,
            "{n}: {upper}"
        );
    }
}

/// ε by enumeration of all k in 40 digits, n = 1000, δ = 1e-6; the blanket has 0.14867, 0.25816, 0.39709.
#[test]
fn a_thousand_users() {
    for (epsilon0, truth) in [(1.0, 0.12661), (1.5, 0.21253), (2.0, 0.32328)] {
        let account = asked(Mechanism::binary_response(epsilon0).unwrap(), 1000);
        let answer = account.epsilon(Delta::new(1e-6).unwrap()).unwrap();
        let upper = answer.upper().value();
        // The truth is rounded to five digits.
        assert!(upper > truth - 5e-6 && upper < 1.002 * truth, "{upper}");
        assert_eq!(answer.upper().method(), "count/rr");
    }
}

#[test]
fn composed_rounds_are_nearly_attained() {
    let round = Round::new(Mechanism::binary_response(1.0).unwrap(), 10_000).unwrap();
    let account = account(Plan::new(round, 1000).unwrap()).unwrap();
    let answer = account.epsilon(Delta::new(1e-6).unwrap()).unwrap();
    let ratio = answer.upper().value() / answer.lower().value();
    assert!((1.0..1.01).contains(&ratio), "{answer:?}");
}

/// Any number of users, any ε₀: an answer, never below the one that is attained.
#[test]
fn extremes() {
    for n in [2, 3, 1000, 1 << 30, 1 << 53] {
        for epsilon0 in [1e-12, 1e-6, 0.1, 5.0, 20.0, 36.0, 100.0] {
            let account = asked(Mechanism::binary_response(epsilon0).unwrap(), n);
            for share in [0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.999, 1.0 - 1e-12] {
                let (upper, lower) = delta(&account, share * epsilon0);
                assert!(
                    lower <= upper && upper <= 1.0,
                    "{n} {epsilon0} {share}: {lower} {upper}"
                );
            }
        }
    }
}

/// Duchi's bit on values anywhere in [0, 1]: a grid of everybody's values, n = 2, 3, 4.
#[test]
fn duchi_between_the_ends() {
    for epsilon0 in [0.5f64, 2.0] {
        let p = 1.0 / (epsilon0.exp() + 1.0);
        let at = |level: usize| p + (1.0 - 2.0 * p) * level as f64 / 4.0;
        for n in [2usize, 3, 4] {
            let mechanism = Mechanism::scalar(ScalarKind::Duchi, epsilon0).unwrap();
            let account = asked(mechanism, n as u64);
            for share in [0.0, 0.2, 0.5, 0.8] {
                let epsilon = share * epsilon0;
                let (upper, _) = delta(&account, epsilon);
                let mut largest: f64 = 0.0;
                for values in 0..5usize.pow(n as u32 + 1) {
                    let level = |user: usize| at(values / 5usize.pow(user as u32) % 5);
                    let others = count_of((2..=n).map(level));
                    let value = divergence(&others, level(0), level(1), epsilon.exp());
                    largest = largest.max(value);
                }
                assert!(
                    upper >= largest * (1.0 - SLACK),
                    "{n} {epsilon}: {upper} {largest}"
                );
                assert!(upper <= largest * 1.001, "{n} {epsilon}: {upper} {largest}");
            }
        }
    }
}

/// Where a round is more than a count, the blanket stays.
#[test]
fn not_everything_is_a_count() {
    let bit = || Round::new(Mechanism::binary_response(1.0).unwrap(), 6).unwrap();
    let upper = |round: &Round| {
        let answer = account(round).unwrap().delta(Epsilon::new(0.2).unwrap());
        answer.unwrap().upper().clone()
    };
    assert_eq!(upper(&bit()).method(), "count/rr");
    // The largest over datasets fixed in advance; an adaptive adversary reaches 0.116023 (dynamic program).
    assert!((upper(&bit()).value() / 0.112562 - 1.0).abs() < 1e-3);
    let adaptive = upper(&bit().adaptive_within_round().unwrap());
    assert_eq!(adaptive.method(), "profile/rr");
    assert!(adaptive.value() > 0.116023);
    assert_eq!(upper(&bit().check_in(0.5).unwrap()).method(), "profile/rr");
    assert_eq!(upper(&bit().sample(3).unwrap()).method(), "profile/rr");
    for norm in [VectorNorm::L1, VectorNorm::L2, VectorNorm::LInf] {
        let vector = Mechanism::one_bit_vector(norm, 1.0).unwrap();
        let round = Round::new(vector.clone(), 6).unwrap();
        assert_eq!(upper(&round).method(), "profile/rr");
        // What is written down is read back as the same mechanism.
        assert_eq!(round.randomizer().mechanism().unwrap(), vector);
    }
}

/// Colluding users hand over their reports.
#[test]
fn colluders_leave_a_smaller_round() {
    let round = Round::new(Mechanism::binary_response(1.0).unwrap(), 1000).unwrap();
    let delta = Delta::new(1e-6).unwrap();
    let tenth = account(&round.colluding(0.1).unwrap()).unwrap();
    let smaller = asked(Mechanism::binary_response(1.0).unwrap(), 900);
    assert_eq!(
        tenth.epsilon(delta).unwrap().upper().value(),
        smaller.epsilon(delta).unwrap().upper().value()
    );
}
