//! `--randomizer auto`: what is chosen is within the budget and the limit, is worth what the theory of many
//! reports says, and is worth more the more reports there are.

#![allow(clippy::unwrap_used)]

use shuffledp_accounting::{DirectionLaw, Mechanism, Plan, Round, account};
use shuffledp_learning::Error;
use shuffledp_learning::run::{AUTO, RunSpec, Selection, Setup, Source};

fn asked() -> RunSpec {
    RunSpec {
        data: Some(Source::Demo),
        randomizer: Some(AUTO.to_owned()),
        target_epsilon: Some(0.5),
        reports: Some(1_000_000),
        seed: Some(1),
        ..RunSpec::default()
    }
}

fn chosen(spec: RunSpec) -> Selection {
    Setup::read(spec).unwrap().selection().unwrap().clone()
}

#[test]
fn the_choice_is_within_the_budget_and_priced_by_the_accountant() {
    let setup = Setup::read(asked()).unwrap();
    let selection = setup.selection().unwrap();
    let names: Vec<&str> = selection
        .candidates
        .iter()
        .map(|one| one.randomizer)
        .collect();
    assert_eq!(names, ["ramp", "priv-unit", "r-2"]);
    assert_eq!((selection.rounds, selection.sample), (100, 10_000));
    let best = &selection.candidates[0];
    assert!(
        best.epsilon <= 0.5 && best.epsilon > 0.49,
        "{}",
        best.epsilon
    );
    let law = DirectionLaw::ramp(Some(1970), best.epsilon0, None).unwrap();
    let mechanism = Mechanism::from(law);
    let round = Round::new(mechanism, 20_000)
        .unwrap()
        .sample(10_000)
        .unwrap();
    let answer = account(Plan::new(round, 100).unwrap()).unwrap();
    assert_eq!(
        answer.epsilon(1e-5f64).unwrap().upper().value(),
        best.epsilon
    );
    // The run is that of the choice, so that its record can be gone on from.
    let spec = setup.spec();
    assert_eq!(spec.randomizer.as_deref(), Some("ramp"));
    assert_eq!(
        (spec.epsilon0, spec.sample),
        (Some(best.epsilon0), Some(10_000))
    );
    assert_eq!((spec.rounds, spec.reports), (Some(100), None));
}

/// 4η is the limit of many reports; at ε₀ the certified price of a finite number is a little higher.
#[test]
fn efficiency_is_that_of_the_theory() {
    let many = RunSpec {
        reports: Some(50_000_000),
        rounds: Some(2500),
        ..asked()
    };
    for candidate in chosen(many).candidates {
        let (dimension, epsilon0) = (Some(1970), candidate.epsilon0);
        let limit = match candidate.randomizer {
            "ramp" => DirectionLaw::ramp(dimension, epsilon0, None)
                .unwrap()
                .efficiency(),
            "priv-unit" => DirectionLaw::priv_unit(dimension, epsilon0)
                .unwrap()
                .efficiency(),
            _ => continue,
        };
        let ratio = candidate.efficiency / limit.unwrap();
        assert!((0.93..1.01).contains(&ratio), "{candidate:?}: {ratio}");
    }
}

#[test]
fn more_reports_are_worth_more_and_a_limit_is_kept() {
    // Of one randomizer: the best one may be another where reports are few.
    let worth = |reports| {
        let all = chosen(RunSpec {
            reports: Some(reports),
            ..asked()
        });
        let ramp = all
            .candidates
            .into_iter()
            .find(|one| one.randomizer == "ramp");
        ramp.unwrap()
    };
    let (few, many) = (worth(100_000), worth(1_000_000));
    assert!(few.epsilon0 > many.epsilon0 && few.efficiency < many.efficiency);
    let limited = chosen(RunSpec {
        max_epsilon0: Some(1.0),
        ..asked()
    });
    for candidate in limited.candidates {
        assert_eq!(candidate.epsilon0, 1.0);
        assert!(candidate.epsilon < 0.5);
    }
}

#[test]
fn what_cannot_be_chosen_is_refused_before_data_is_read() {
    let refused = |spec: RunSpec| match spec.check() {
        Err(error @ (Error::Needed { .. } | Error::Surplus { .. } | Error::Parameter { .. })) => {
            error.to_string()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(RunSpec {
            reports: None,
            ..asked()
        }),
        "reports, how many reports may be computed in all, is needed for randomizer auto"
    );
    assert_eq!(
        refused(RunSpec {
            target_epsilon: None,
            ..asked()
        }),
        "target_epsilon, the budget, is needed for randomizer auto"
    );
    assert_eq!(
        refused(RunSpec {
            epsilon0: Some(1.0),
            ..asked()
        }),
        "epsilon0 is not for randomizer auto"
    );
    assert_eq!(
        refused(RunSpec {
            max_epsilon0: Some(-1.0),
            ..asked()
        }),
        "max_epsilon0 -1 is outside (0, inf)"
    );
    assert_eq!(
        refused(RunSpec {
            randomizer: None,
            epsilon0: Some(1.0),
            ..asked()
        }),
        "reports is not for randomizer r-2"
    );
    assert_eq!(
        Setup::read(RunSpec {
            max_epsilon0: Some(1e-9),
            ..asked()
        })
        .unwrap_err()
        .to_string(),
        "max_epsilon0 1e-9 is outside [0.001, inf)"
    );
    assert_eq!(
        Setup::read(RunSpec {
            target_epsilon: Some(0.0),
            ..asked()
        })
        .unwrap_err()
        .to_string(),
        "target_epsilon 0: one round takes more at delta 1e-5"
    );
    let few = RunSpec {
        reports: Some(10),
        ..asked()
    };
    assert_eq!(
        Setup::read(few).unwrap_err().to_string(),
        "reports 10 is outside [100, inf): one for each round at least"
    );
}
