//! Calibration there and back: the solved value meets the budget, and one a little further does not.

#![allow(clippy::unwrap_used)]

mod common;

use common::exhaustive;
use shuffledp_accounting::{
    Delta, Epsilon, Error, Mechanism, Plan, Round, Unknown, account, calibrate,
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
