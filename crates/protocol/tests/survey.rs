//! Surveys from records to estimates: the truth is counted here once more, prices are asked for again, and
//! what cannot be run is refused by name.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::{RandomizerSpec, Round, RoundSpec, account};
use shuffledp_protocol::audit::{AuditError, AuditSpec, Held};
use shuffledp_protocol::survey::{Outcome, Reading, Survey, SurveyError};
use std::io::{self, Cursor};

/// A survey of everybody, at this local guarantee.
fn survey(epsilon0: f64) -> Survey {
    let mut randomizer = RandomizerSpec::new("ldp").unwrap();
    randomizer.epsilon0 = Some(epsilon0.into());
    Survey {
        round: RoundSpec::new(randomizer),
        dropout: 0.0,
        delta: 1e-6,
        confidence: 0.999,
        seed: Some(7),
    }
}

fn memory() -> io::Result<Cursor<Vec<u8>>> {
    Ok(Cursor::new(Vec::new()))
}

fn histogram(survey: &Survey, places: &[u32], k: u64) -> Result<Outcome, SurveyError> {
    survey.histogram(places, k, false, memory, |_| ())
}

#[track_caller]
fn covered(reading: &Reading) {
    let (low, high) = reading.interval;
    assert!(low <= reading.truth && reading.truth <= high, "{reading:?}");
    assert!(low <= reading.value && reading.value <= high, "{reading:?}");
}

/// One in two holds 0, one in four 1, the rest 2 and 3.
fn places() -> Vec<u32> {
    (0..20_000)
        .map(|i| [0, 1, 0, 2, 0, 1, 0, 3][i % 8])
        .collect()
}

#[test]
fn shares_of_a_histogram() {
    let outcome = histogram(&survey(2.0), &places(), 4).unwrap();
    let truth: Vec<f64> = outcome
        .readings
        .iter()
        .map(|reading| reading.truth)
        .collect();
    assert_eq!(truth, [0.5, 0.25, 0.125, 0.125]);
    outcome.readings.iter().for_each(covered);
    assert_eq!((outcome.reports, outcome.malformed), (20_000, 0));
    assert_eq!(outcome.round.users, Some(20_000));
    // Four values at this guarantee: k-ary response; and it costs what the accountant says.
    assert_eq!(outcome.round.randomizer.name(), "krr");
    let priced = account(&Round::try_from(&outcome.round).unwrap()).unwrap();
    let answer = priced.epsilon(1e-6).unwrap();
    assert_eq!(outcome.answer.upper().value(), answer.upper().value());
    // Half an interval at 99.9 % is 3.29 deviations: a report is the value with probability p or q.
    let (p, q) = (2f64.exp() / (2f64.exp() + 3.0), 1.0 / (2f64.exp() + 3.0));
    for reading in &outcome.readings {
        let of_one = reading.truth * p * (1.0 - p) + (1.0 - reading.truth) * q * (1.0 - q);
        let half = 3.2905 * (of_one / 20_000.0).sqrt() / (p - q);
        let (low, high) = reading.interval;
        assert!(
            (0.5 * (high - low) / half - 1.0).abs() < 0.03,
            "{reading:?}"
        );
    }
    // The same seed is the same run, another is another.
    let again = histogram(&survey(2.0), &places(), 4).unwrap();
    assert_eq!(outcome.readings, again.readings);
    let mut other = survey(2.0);
    other.seed = Some(8);
    assert_ne!(
        outcome.readings,
        histogram(&other, &places(), 4).unwrap().readings
    );
}

#[test]
fn consistent_shares_keep_their_intervals() {
    let few = &places()[..800];
    let raw = histogram(&survey(0.5), few, 10).unwrap();
    let made = survey(0.5)
        .histogram(few, 10, true, memory, |_| ())
        .unwrap();
    assert!(raw.readings.iter().any(|reading| reading.value < 0.0));
    assert!(made.readings.iter().all(|reading| reading.value >= 0.0));
    let sum: f64 = made.readings.iter().map(|reading| reading.value).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    for (raw, made) in raw.readings.iter().zip(&made.readings) {
        assert_eq!(raw.interval, made.interval);
    }
}

#[test]
fn users_who_hold_a_record_drawn_at_random_and_reports_that_are_lost() {
    let mut survey = survey(3.0);
    survey.round.users = Some(50_000);
    survey.dropout = 0.2;
    let sent = std::cell::Cell::new(0);
    let outcome = survey
        .histogram(&[0, 1, 1, 1], 2, false, memory, |users| {
            sent.set(sent.get() + users);
        })
        .unwrap();
    assert_eq!(sent.get(), survey.users(4));
    // Five deviations of 50,000 draws: 0.2 of them are lost, and three of four hold the second value.
    assert!((outcome.reports as f64 - 40_000.0).abs() < 5.0 * 8000f64.sqrt());
    let [_, second] = outcome.readings[..] else {
        panic!()
    };
    assert!((second.truth - 0.75).abs() < 5.0 * (0.1875f64 / 50_000.0).sqrt());
    covered(&second);
    // Lost reports are not credited: the price is that of everybody.
    survey.dropout = 0.0;
    let whole = histogram(&survey, &[0, 1, 1, 1], 2).unwrap();
    assert_eq!(outcome.answer.upper().value(), whole.answer.upper().value());
}

#[test]
fn means_and_quantiles_in_their_range() {
    let numbers: Vec<f64> = (0..20_000).map(|i| f64::from(i % 100) / 100.0).collect();
    for (epsilon0, name) in [(1.0, "duchi"), (2.0, "piecewise")] {
        let survey = survey(epsilon0);
        let outcome = survey.mean(&numbers, (10.0, 30.0), memory, |_| ()).unwrap();
        assert_eq!(outcome.round.randomizer.name(), name);
        let [mean] = outcome.readings[..] else {
            panic!()
        };
        // The mean of 0, 0.01, … 0.99 is 0.495.
        assert!((mean.truth - (10.0 + 20.0 * 0.495)).abs() < 1e-9);
        covered(&mean);
    }
    let outcome = survey(4.0)
        .quantiles(&numbers, (10.0, 30.0), &[0.25, 0.5], 4, memory, |_| ())
        .unwrap();
    assert_eq!(outcome.round.randomizer.name(), "hierarchy");
    let truth: Vec<f64> = outcome
        .readings
        .iter()
        .map(|reading| reading.truth)
        .collect();
    assert!((truth[0] - 14.8).abs() < 1e-9 && (truth[1] - 19.8).abs() < 1e-9);
    outcome.readings.iter().for_each(covered);
}

#[test]
fn values_that_many_hold() {
    let names: Vec<String> = ["oslo", "rome", "x"].map(str::to_owned).to_vec();
    let places: Vec<u32> = (0..60_000).map(|i| [0, 0, 0, 1, 1, 2][i % 6]).collect();
    let found = survey(6.0)
        .heavy_hitters(&names, &places, 4, memory, |_| ())
        .unwrap();
    assert_eq!(found.values[..2], [b"oslo".to_vec(), b"rome".to_vec()]);
    assert!(found.asked >= 2 && found.most_frequent == (0, 0.5));
    assert_eq!(found.outcome.readings[1].truth, 1.0 / 3.0);
    found.outcome.readings.iter().for_each(covered);
}

#[test]
fn what_cannot_be_run_is_refused_by_name() {
    let said = |change: &dyn Fn(&mut Survey)| {
        let mut survey = survey(1.0);
        change(&mut survey);
        histogram(&survey, &[0, 1, 2], 3).unwrap_err().to_string()
    };
    assert_eq!(
        said(&|survey| survey.round.rounds = 3),
        "rounds 3 is more than the one round that is run: leave it out"
    );
    assert_eq!(
        said(&|survey| survey.round.rounds = 0),
        "rounds 0 is not the one round that is run"
    );
    assert_eq!(
        said(&|survey| survey.round.adaptive_within_round = true),
        "the randomizers that are run do not look at earlier reports"
    );
    assert_eq!(
        said(&|survey| survey.round.randomizer.epsilon0 = None),
        "epsilon0, the local guarantee, is needed"
    );
    assert_eq!(
        said(&|survey| survey.round.randomizer.k = Some(3)),
        "k 3 is the number of values: leave it out"
    );
    assert_eq!(
        said(&|survey| survey.round.users = Some(1_000_000_000)),
        "users 1000000000 is not at most 1e8 for a simulation"
    );
    for (dropout, shown) in [(1.0, "1"), (-0.1, "-0.1"), (f64::NAN, "NaN")] {
        let refused = format!("dropout {shown} is not in [0, 1)");
        assert_eq!(said(&|survey| survey.dropout = dropout), refused);
    }
    let refused = "confidence 1 is not in [0.5, 1 - 1e-12]";
    assert_eq!(said(&|survey| survey.confidence = 1.0), refused);
    assert!(said(&|survey| survey.delta = 0.0).starts_with("delta 0 is outside"));
    let named = |name: &str| {
        let mut spec = RandomizerSpec::new(name).unwrap();
        spec.epsilon0 = Some(1.0.into());
        said(&|survey| survey.round.randomizer = spec.clone())
    };
    assert_eq!(
        named("rr"),
        "rr is for two values, and there are 3: krr is for more"
    );
    assert!(named("duchi").starts_with("this randomizer is not for values of a list: "));
    assert!(named("some-ldp").contains("can be priced but not run"));
}

#[test]
fn records_that_are_none_are_refused() {
    let survey = survey(1.0);
    assert_eq!(
        histogram(&survey, &[0, 3], 3).unwrap_err().to_string(),
        "place 3 is not a place in the list of values"
    );
    assert_eq!(
        histogram(&survey, &[], 3).unwrap_err().to_string(),
        "records 0 is not 1 or more"
    );
    assert_eq!(
        histogram(&survey, &[0], 1).unwrap_err().to_string(),
        "values 1 is not in [2, 2^32]"
    );
    assert!(matches!(
        histogram(&survey, &[0], 3).unwrap_err(),
        SurveyError::Accounting(_)
    ));
    for number in [-0.1, 1.1, f64::NAN] {
        let mean = survey.mean(&[0.5, number], (0.0, 1.0), memory, |_| ());
        assert!(mean.unwrap_err().to_string().ends_with("is not in [0, 1]"));
        let at = [0.5];
        let quantiles = survey.quantiles(&[number], (0.0, 1.0), &at, 2, memory, |_| ());
        assert!(
            quantiles
                .unwrap_err()
                .to_string()
                .ends_with("is not in [0, 1]")
        );
    }
    for range in [
        (1.0, 1.0),
        (2.0, 1.0),
        (f64::NAN, 1.0),
        (0.0, f64::INFINITY),
    ] {
        let mean = survey.mean(&[0.5, 0.5], range, memory, |_| ());
        assert!(mean.unwrap_err().to_string().starts_with("range "));
    }
    let names = ["abc".to_owned()];
    let long = survey.heavy_hitters(&names, &[0, 0], 2, memory, |_| ());
    assert!(matches!(long.unwrap_err(), SurveyError::Randomizer(_)));
}

/// 10-ary response of twenty users.
fn audited() -> AuditSpec {
    let mut randomizer = RandomizerSpec::new("krr").unwrap();
    (randomizer.k, randomizer.epsilon0) = (Some(10), Some(2.0.into()));
    let mut round = RoundSpec::new(randomizer);
    round.users = Some(20);
    let mut spec = AuditSpec::new(round, 0.01);
    (spec.trials, spec.seed) = (Some(1000), Some(1));
    spec
}

#[test]
fn values_of_an_audit() {
    let mut spec = audited();
    spec.pair = Some((Held::Category(3), Held::Category(4)));
    spec.others = Some(Held::Category(4));
    let audit = spec.prepare().unwrap();
    let runs = std::sync::atomic::AtomicU64::new(0);
    let all = audit.runs();
    let found = audit
        .run(|ran| {
            runs.fetch_add(ran, std::sync::atomic::Ordering::Relaxed);
        })
        .unwrap();
    assert_eq!(runs.into_inner(), all);
    assert_eq!(found.pair.first, Held::Category(3));
    assert_eq!(found.pair.others, Held::Category(4));
    assert!(!found.violated);
}

#[test]
fn audits_that_cannot_be_run_are_refused_by_name() {
    let said = |change: &dyn Fn(&mut AuditSpec)| {
        let mut spec = audited();
        change(&mut spec);
        spec.prepare().unwrap_err().to_string()
    };
    // It divided by the number of rounds.
    let none = said(&|spec| (spec.round.rounds, spec.trials) = (0, None));
    assert_eq!(none, "rounds 0 is outside [1, 1e9] in all");
    assert_eq!(
        said(&|spec| spec.trials = Some(10)),
        "trials 10 is not in [1000, 1e9]"
    );
    assert_eq!(
        said(&|spec| spec.dropout = 1.0),
        "dropout 1 is not in [0, 1)"
    );
    assert_eq!(
        said(&|spec| spec.round.colluding = 0.1),
        "colluding 0.1: an audit runs honest users; give their number as users"
    );
    assert_eq!(
        said(&|spec| spec.pair = Some((Held::Category(3), Held::Category(3)))),
        "the two values are the same: there is nothing to tell apart"
    );
    assert_eq!(
        said(&|spec| spec.others = Some(Held::Number(0.5))),
        "others: the randomizer is for another kind of value"
    );
    let mut spec = audited();
    spec.pair = Some((Held::Category(3), Held::Category(10)));
    let error = spec.prepare().unwrap_err();
    assert!(matches!(error, AuditError::Value { role: "pair", .. }));
}

#[test]
fn vectors_of_an_audit() {
    let mut spec = audited();
    spec.round.randomizer = RandomizerSpec::new("r-2").unwrap();
    spec.round.randomizer.epsilon0 = Some(2.0.into());
    spec.round.randomizer.dimension = Some(2);
    let (up, down) = (vec![0.0, 1.0], vec![0.0, -1.0]);
    spec.pair = Some((Held::Vector(up.clone()), Held::Vector(down)));
    let found = spec.prepare().unwrap().run(|_| ()).unwrap();
    assert_eq!(found.pair.first, Held::Vector(up));
    spec.pair = None;
    spec.others = Some(Held::Vector(vec![0.6, 0.8]));
    let found = spec.prepare().unwrap().run(|_| ()).unwrap();
    assert_eq!(found.pair.others, Held::Vector(vec![0.6, 0.8]));
    spec.others = Some(Held::Vector(vec![3.0, 4.0]));
    assert!(
        spec.prepare()
            .unwrap_err()
            .to_string()
            .starts_with("others: ")
    );
}
