//! What must hold on every input a user can type: an answer or a clear error, never above ε₀, and monotone in
//! everything.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use shuffledp_accounting::{
    Answer, Channel, Delta, Epsilon, Error, Mechanism, RatioSummary, Round, account, plain,
};

/// Answers are good to about a millionth; comparisons allow for it.
const SLACK: f64 = 1e-5;

fn epsilon(round: &Round, delta: f64) -> Answer<Epsilon> {
    account(round)
        .unwrap()
        .epsilon(Delta::new(delta).unwrap())
        .unwrap()
}

fn ldp(epsilon0: f64, users: u64) -> Round {
    Round::new(Mechanism::ldp(epsilon0).unwrap(), users).unwrap()
}

#[test]
fn every_corner_of_the_domain_has_an_answer() {
    let epsilons = [0.0, 1e-6, 1e-3, 0.1, 1.0, 4.0, 10.0, 20.0, 35.0, 50.0];
    let users = [
        2,
        3,
        10,
        100,
        10_000,
        1_000_000,
        1_000_000_000,
        1_000_000_000_000,
    ];
    for epsilon0 in epsilons {
        for n in users {
            let mut previous: Option<Answer<Epsilon>> = None;
            for delta in [0.5, 1e-2, 1e-6, 1e-15, 1e-16, 1e-40, 1e-120, 1e-300] {
                let answer = epsilon(&ldp(epsilon0, n), delta);
                let (lower, upper) = (answer.lower().value(), answer.upper().value());
                assert!(
                    lower <= upper && upper <= epsilon0,
                    "e0 {epsilon0} n {n} delta {delta}: [{lower}, {upper}]"
                );
                if let Some(previous) = previous {
                    assert!(previous.upper().value() <= upper * (1.0 + SLACK));
                    assert!(previous.lower().value() <= lower * (1.0 + SLACK));
                }
                previous = Some(answer);
            }
        }
    }
}

#[test]
fn more_users_never_cost_more() {
    for epsilon0 in [1e-6, 0.3, 1.0, 4.0, 8.0, 20.0] {
        for delta in [1e-3, 1e-8, 1e-60] {
            let mut last = f64::INFINITY;
            for n in [
                2,
                3,
                4,
                7,
                10,
                30,
                100,
                150,
                1000,
                3000,
                10_000,
                100_000,
                10_000_000,
                1_000_000_000_000,
            ] {
                let upper = epsilon(&ldp(epsilon0, n), delta).upper().value();
                assert!(
                    upper <= last * (1.0 + SLACK),
                    "e0 {epsilon0} delta {delta} n {n}: {upper} after {last}"
                );
                last = upper;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_monotone(
        epsilon0 in 0.01f64..12.0,
        step in 0.001f64..0.5,
        users_exponent in 0.5f64..11.0,
        delta_exponent in -30.0f64..-1.0,
        rate in 0.001f64..0.9,
    ) {
        let (n, delta) = (10f64.powf(users_exponent).max(2.0) as u64, 10f64.powf(delta_exponent));
        let at = |round: Round| {
            let answer = epsilon(&round, delta);
            (answer.lower().value(), answer.upper().value())
        };
        let base = at(ldp(epsilon0, n));
        prop_assert!(base.0 <= base.1 && base.1 <= epsilon0);
        // In ε₀, in the rate and in n; a colluding fraction only hurts.
        let more_local = at(ldp(epsilon0 + step, n));
        prop_assert!(base.1 <= more_local.1 * (1.0 + SLACK), "{base:?} {more_local:?}");
        let checked_in = at(ldp(epsilon0, n).check_in(rate).unwrap());
        let checked_in_more = at(ldp(epsilon0, n).check_in(rate + 0.1 * step).unwrap());
        prop_assert!(checked_in.1 <= checked_in_more.1 * (1.0 + SLACK), "{checked_in:?} {checked_in_more:?}");
        prop_assert!(checked_in_more.1 <= base.1 * (1.0 + SLACK));
        let colluding = at(ldp(epsilon0, n.max(10)).colluding(0.3).unwrap());
        prop_assert!(at(ldp(epsilon0, n.max(10))).1 <= colluding.1 * (1.0 + SLACK));
        let adaptive = at(ldp(epsilon0, n).adaptive_within_round().unwrap());
        prop_assert!(base.1 <= adaptive.1 * (1.0 + SLACK));
        // A named randomizer is never worse than the worst one.
        let kary = at(Round::new(Mechanism::kary_response(7, epsilon0).unwrap(), n).unwrap());
        prop_assert!(kary.0 <= kary.1 && kary.1 <= base.1 * (1.0 + SLACK));
    }

    #[test]
    fn epsilon_and_delta_undo_each_other(
        epsilon0 in 0.1f64..8.0,
        users_exponent in 1.0f64..10.0,
        delta_exponent in -20.0f64..-2.0,
    ) {
        let (n, delta) = (10f64.powf(users_exponent) as u64, 10f64.powf(delta_exponent));
        let account = account(&ldp(epsilon0, n)).unwrap();
        let answer = account.epsilon(Delta::new(delta).unwrap()).unwrap();
        let back = account.delta(answer.upper().get()).unwrap();
        prop_assert!(back.upper().value() <= delta * (1.0 + 1e-12));
        let back = account.delta(answer.lower().get()).unwrap();
        prop_assert!(answer.lower().value() == 0.0 || back.upper().value() >= delta);
    }
}

#[test]
fn special_cases_agree_with_each_other() {
    let same = |a: Round, b: Round| {
        let (a, b) = (
            epsilon(&a, 1e-6).upper().value(),
            epsilon(&b, 1e-6).upper().value(),
        );
        assert!((a / b - 1.0).abs() < SLACK, "{a} {b}");
    };
    let (n, epsilon0) = (5000, 2.0);
    // Sampling everybody, checking in surely, nobody colluding.
    same(ldp(epsilon0, n).sample(n).unwrap(), ldp(epsilon0, n));
    same(ldp(epsilon0, n).check_in(1.0).unwrap(), ldp(epsilon0, n));
    same(ldp(epsilon0, n).colluding(0.0).unwrap(), ldp(epsilon0, n));
    same(
        ldp(epsilon0, n).colluding(0.1).unwrap(),
        ldp(epsilon0, 4500),
    );
    same(
        ldp(epsilon0, n).check_in_between(0.2, 0.2).unwrap(),
        ldp(epsilon0, n).check_in(0.2).unwrap(),
    );
    // Binary response is 2-ary response; k-ary response is its matrix.
    let round = |mechanism: Mechanism| Round::new(mechanism, n).unwrap();
    let kary = || Mechanism::kary_response(4, epsilon0).unwrap();
    same(
        round(Mechanism::binary_response(epsilon0).unwrap()),
        round(Mechanism::kary_response(2, epsilon0).unwrap()),
    );
    let e = epsilon0.exp();
    let row = |x: usize| {
        (0..4)
            .map(|y| if x == y { e } else { 1.0 } / (e + 3.0))
            .collect()
    };
    same(
        round(Mechanism::matrix(
            Channel::new((0..4).map(row).collect()).unwrap(),
        )),
        round(kary()),
    );
    // A summary with the largest variation is Theorem S; the one of 4-ary response forgets what its blanket
    // knows.
    let summary = |variation: f64| {
        round(Mechanism::ratio(
            RatioSummary::new(e, variation, e).unwrap(),
        ))
    };
    same(summary((e - 1.0) / (e + 1.0)), ldp(epsilon0, n));
    let (forgetful, own) = (
        epsilon(&summary((e - 1.0) / (e + 3.0)), 1e-6),
        epsilon(&round(kary()), 1e-6),
    );
    assert!(own.upper().get() < forgetful.upper().get());
    // It is attained, so nothing is left between its bounds.
    let (lower, upper) = (forgetful.lower().value(), forgetful.upper().value());
    assert!(upper - lower <= SLACK * upper);
}

#[test]
fn a_range_of_rates_holds_every_rate_in_it() {
    let range = epsilon(
        &ldp(2.0, 10_000).check_in_between(0.01, 0.02).unwrap(),
        1e-6,
    );
    for rate in [0.01, 0.015, 0.02] {
        let single = epsilon(&ldp(2.0, 10_000).check_in(rate).unwrap(), 1e-6);
        assert!(single.upper().value() <= range.upper().value() * (1.0 + SLACK));
    }
}

#[test]
fn mistakes_are_named() {
    let message = |error: Error| error.to_string();
    for bad in [f64::NAN, f64::INFINITY, -1.0, 1e-13, 101.0] {
        let error = message(Mechanism::ldp(bad).unwrap_err());
        assert_eq!(
            error,
            format!(
                "epsilon0 {} is outside [1e-12, 100] (or exactly 0)",
                plain(bad)
            )
        );
    }
    for bad in [f64::NAN, -1e-9, 1.1, f64::INFINITY] {
        assert_eq!(
            message(Delta::new(bad).unwrap_err()),
            format!("delta {} is outside [0, 1]", plain(bad))
        );
    }
    let account = account(&ldp(1.0, 100)).unwrap();
    for bad in [0.0, 1.0, 1e-301] {
        let error = account.epsilon(Delta::new(bad).unwrap()).unwrap_err();
        assert_eq!(
            message(error),
            format!("delta {} is outside [1e-300, 1)", plain(bad))
        );
    }
    for bad in [0.0, -0.5, 1.5, f64::NAN] {
        let error = ldp(1.0, 100).check_in(bad).unwrap_err();
        assert_eq!(
            message(error),
            format!("check-in rate {bad} is outside (0, 1]")
        );
    }
    for bad in [-0.1, 1.0, f64::NAN] {
        let error = ldp(1.0, 100).colluding(bad).unwrap_err();
        assert_eq!(
            message(error),
            format!("colluding fraction {bad} is outside [0, 1)")
        );
    }
    assert_eq!(
        message(ldp(1.0, 100).sample(101).unwrap_err()),
        "sample 101 is outside [1, 100], the number of users"
    );
    assert_eq!(
        message(ldp(1.0, 100).sample(10).unwrap().check_in(0.5).unwrap_err()),
        "a round has a sample or a check-in rate, not both"
    );
    let channel = Channel::new(vec![vec![0.5, 0.5], vec![0.5, 0.4]]);
    assert_eq!(
        message(channel.unwrap_err()),
        "channel row 1 sums to 0.9, which is not 1 (to 1e-9)"
    );
    let channel = Channel::new(vec![vec![0.5, 0.5], vec![1.0]]);
    assert!(message(channel.unwrap_err()).contains("row 1 has 1 entries"));
    let channel = Channel::new(vec![vec![0.5, 0.5], vec![1.5, -0.5]]);
    assert!(
        message(channel.unwrap_err()).contains("row 1, column 0 is not 0 and outside [1e-100, 1]")
    );
}
