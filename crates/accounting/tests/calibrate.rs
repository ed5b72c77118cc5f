//! Calibration there and back: the solved value meets the budget, and one a little further does not.

#![allow(clippy::unwrap_used)]

mod common;

use common::exhaustive;
use shuffledp_accounting::{
    Delta, DiscreteGaussian, Domain, Epsilon, Error, Mechanism, Plan, Round, Unknown, account,
    calibrate,
};

/// What is fixed; the unknown one of these is ignored.
#[derive(Clone, Copy, Debug)]
struct Setting {
    epsilon0: f64,
    users: u64,
    rounds: u64,
    check_in: f64,
}

fn plan(unknown: Unknown, setting: Setting, value: f64) -> Result<Plan, Error> {
    let mut setting = setting;
    match unknown {
        Unknown::Epsilon0 => setting.epsilon0 = value,
        Unknown::Users => setting.users = value as u64,
        Unknown::Rounds => setting.rounds = value as u64,
        Unknown::CheckIn | Unknown::Sigma => setting.check_in = value,
    }
    let round = Round::new(Mechanism::ldp(setting.epsilon0)?, setting.users)?;
    Plan::new(round.check_in(setting.check_in)?, setting.rounds)
}

/// The fast tests take the first twelve: each unknown (4) with and without check-in (every third).
#[test]
fn fifty_calibrations_there_and_back() {
    let mut state = 11u64;
    let mut between = |low: f64, high: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let (mut solved, mut refused) = (0, 0);
    let settings = if exhaustive() { 50 } else { 12 };
    for i in 0..settings {
        let unknown = [
            Unknown::Epsilon0,
            Unknown::Users,
            Unknown::Rounds,
            Unknown::CheckIn,
        ][i % 4];
        let setting = Setting {
            epsilon0: between(0.2, 4.0),
            users: 10f64.powf(between(2.0, 6.0)) as u64,
            rounds: 10f64.powf(between(0.0, 2.0)) as u64,
            check_in: if i % 3 == 0 { between(0.01, 1.0) } else { 1.0 },
        };
        let target = 10f64.powf(between(-2.0, 0.5));
        let delta = Delta::new(1e-6).unwrap();
        let found = calibrate(unknown, Epsilon::new(target).unwrap(), delta, |value| {
            plan(unknown, setting, value)
        });
        let upper = |value: f64| {
            let account = account(plan(unknown, setting, value).unwrap()).unwrap();
            account.epsilon(delta).unwrap().upper().value()
        };
        match found {
            Ok(found) => {
                solved += 1;
                let words = format!("{unknown:?} {setting:?} {target}: {found:?}");
                assert!(upper(found.value) <= target, "{words}");
                let further = match unknown {
                    Unknown::Users => found.value - 1.0,
                    Unknown::Rounds => found.value + 1.0,
                    _ => found.value * 1.001,
                };
                assert!(found.is_extreme || upper(further) > target, "{words}");
                let gain = match unknown {
                    Unknown::Users => found.value / found.at_best.unwrap(),
                    _ => found.at_best.unwrap() / found.value,
                };
                assert!((0.999..1.6).contains(&gain), "{words}");
            }
            Err(Error::BudgetNotMet { epsilon, .. }) => {
                refused += 1;
                assert!(epsilon > target);
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(
        5 * solved > 3 * settings,
        "{solved} solved, {refused} refused"
    );
}

/// The upper bound on ε of one round at δ = 1e-6.
fn upper(mechanism: Mechanism, users: f64) -> f64 {
    let round = Round::new(mechanism, users as u64).unwrap();
    let answer = account(&round).unwrap().epsilon(1e-6);
    answer.map_or(f64::INFINITY, |answer| answer.upper().value())
}

/// Integer noise has a narrower range of σ than Gaussian noise: the search stays within it.
#[test]
fn the_least_sigma_of_integer_noise() {
    let noise = |sigma: f64| DiscreteGaussian::new(sigma)?.mechanism(1e-12);
    let plan = |sigma: f64| Plan::new(Round::new(noise(sigma)?, 100_000)?, 1);
    let solve = |target: f64| {
        let (target, delta) = (Epsilon::new(target).unwrap(), Delta::new(1e-6).unwrap());
        calibrate(Unknown::Sigma, target, delta, plan)
    };
    for target in [0.1, 0.5, 2.0] {
        let found = solve(target).unwrap();
        assert!(upper(noise(found.value).unwrap(), 1e5) <= target);
        assert!(upper(noise(found.value / 1.002).unwrap(), 1e5) > target);
        assert!(!found.is_extreme && found.at_best.is_none());
    }
    // Less noise than 0.15 is not allowed, whatever the budget; at this δ₀, less than 0.3 has no ε₀.
    let found = solve(1e3).unwrap();
    assert!((0.15..0.4).contains(&found.value), "{}", found.value);
    match solve(1e-9).unwrap_err() {
        Error::BudgetNotMet { value, .. } => assert_eq!(value, 100.0),
        error => panic!("{error}"),
    }
}

/// δ₀ is charged for every user, so ε rises again where there are very many: the least number that meets a
/// budget is found on the side where it falls.
#[test]
fn the_fewest_users_of_an_approximate_randomizer() {
    for (delta0, targets) in [(1e-12, vec![0.05, 0.2, 0.5]), (1e-9, vec![0.5])] {
        let randomizer = Mechanism::approximate_ldp(1.0, delta0).unwrap();
        let plan = |users: f64| Plan::new(Round::new(randomizer.clone(), users as u64)?, 1);
        let solve = |target: f64| {
            let (target, delta) = (Epsilon::new(target).unwrap(), Delta::new(1e-6).unwrap());
            calibrate(Unknown::Users, target, delta, plan)
        };
        let at = |users: f64| upper(randomizer.clone(), users);
        assert!(at(1e15) > at(200.0));
        for target in targets {
            let found = solve(target).unwrap();
            assert!(at(found.value) <= target && at(found.value - 1.0) > target);
            for part in [0.9, 0.5, 0.1] {
                assert!(at((part * found.value).max(2.0).floor()) > target);
            }
            assert!(found.at_best.unwrap() <= found.value);
        }
        assert!(matches!(solve(1e-9), Err(Error::BudgetNotMet { .. })));
    }
}

/// The least noise that is allowed at all is said to be that.
#[test]
fn the_least_noise_that_there_is() {
    for (domain, least) in [(Domain::Interval, 0.15), (Domain::Ball, 0.3)] {
        let (target, delta) = (Epsilon::new(1e4).unwrap(), Delta::new(1e-6).unwrap());
        let found = calibrate(Unknown::Sigma, target, delta, |sigma| {
            Plan::new(Round::new(Mechanism::gaussian(sigma, domain)?, 2)?, 1)
        });
        let found = found.unwrap();
        assert_eq!((found.value, found.is_extreme), (least, true));
        assert!(Mechanism::gaussian(0.999 * least, domain).is_err());
    }
}

/// For binary response the two bounds nearly meet, so that values next to the one that was found meet the
/// budget as well: nothing that meets it may be called out of reach of any analysis.
#[test]
fn what_no_analysis_can_allow_exceeds_the_budget() {
    let plan = |epsilon0: f64| {
        Plan::new(
            Round::new(Mechanism::binary_response(epsilon0)?, 10_000)?,
            1,
        )
    };
    for target in [0.1, 0.05, 0.013] {
        let (target, delta) = (Epsilon::new(target).unwrap(), Delta::new(1e-6).unwrap());
        let found = calibrate(Unknown::Epsilon0, target, delta, plan).unwrap();
        let at_best = found.at_best.unwrap();
        let answer = account(plan(at_best).unwrap())
            .unwrap()
            .epsilon(delta)
            .unwrap();
        assert!(answer.lower().value() > target.value(), "{found:?}");
        assert!(
            at_best > found.value && at_best < 1.002 * found.value,
            "{found:?}"
        );
    }
    // With whole numbers it is the value itself where the next one exceeds the budget.
    let rounds = |rounds: f64| {
        Plan::new(
            Round::new(Mechanism::binary_response(1.0)?, 10_000)?,
            rounds as u64,
        )
    };
    let (target, delta) = (Epsilon::new(0.2).unwrap(), Delta::new(1e-6).unwrap());
    let found = calibrate(Unknown::Rounds, target, delta, rounds).unwrap();
    let beyond = account(rounds(found.at_best.unwrap() + 1.0).unwrap()).unwrap();
    assert!(
        beyond.epsilon(delta).unwrap().lower().value() > 0.2,
        "{found:?}"
    );
}

/// An epsilon of zero meets a budget of zero.
#[test]
fn a_budget_of_zero_may_be_met() {
    let plan = |epsilon0: f64| Plan::new(Round::new(Mechanism::ldp(epsilon0)?, 10_000)?, 1);
    let (target, delta) = (Epsilon::new(0.0).unwrap(), Delta::new(0.5).unwrap());
    let found = calibrate(Unknown::Epsilon0, target, delta, plan).unwrap();
    assert_eq!(found.answer.upper().value(), 0.0);
    assert!(found.value > 1.0);
}
