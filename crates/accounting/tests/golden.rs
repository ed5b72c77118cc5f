//! Profiles and ε against high-precision values (golden/one_round.csv, golden/one_round_epsilon.csv), and the
//! product's own table.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::golden;
use shuffledp_accounting::atoms::Atoms;
use shuffledp_accounting::profile::{Direction, Profile};
use shuffledp_accounting::{
    Answer, Delta, Epsilon, Mechanism, Rate, Round, account, compare_where,
};

/// The profile that a row of a golden table is about: kind, n, m, epsilon0, k, rate.
fn profile(row: &[String]) -> Profile {
    let number = |i: usize| row[i].parse::<f64>().unwrap();
    let (n, m) = (number(1) as u64, number(2) as u64);
    let epsilon0 = shuffledp_accounting::LocalEpsilon::new(number(3)).unwrap();
    let categories = |k: u64| shuffledp_accounting::Categories::new(k).unwrap();
    let k = number(4) as u64;
    let atoms = match row[0].as_str() {
        "ldp" => Atoms::ldp(epsilon0),
        "ldp-adaptive" => Atoms::ldp_adaptive(epsilon0),
        "krr-upper" => Atoms::kary_blanket(categories(k), epsilon0),
        "krr-lower" => Atoms::kary_third(categories(k), epsilon0),
        "rr-lower" | "rr-lower-reverse" | "rr-lower-max" => {
            Atoms::kary_first(categories(2), epsilon0)
        }
        other => panic!("unknown kind {other}"),
    }
    .unwrap();
    let rate = number(5);
    let atoms = atoms.check_in(Rate::exactly(rate).unwrap(), rate).unwrap();
    Profile::sampled(atoms, n, m)
}

#[test]
fn delta_encloses_every_high_precision_value() {
    let rows = golden("one_round.csv");
    assert!(rows.len() >= 250);
    for row in &rows {
        let truth: f64 = row[7].parse().unwrap();
        let direction = if row[0] == "rr-lower-reverse" {
            Direction::Reverse
        } else {
            Direction::Forward
        };
        let got = profile(row).delta_in(direction, row[6].parse().unwrap());
        assert!(
            got.lower <= truth * (1.0 + 1e-15) && truth * (1.0 - 1e-15) <= got.upper,
            "{row:?}: {truth:e} is not in {got:?}"
        );
        // A relative error in ε costs about −ln δ times as much in δ.
        let allowed = 4e-5 * (1.0 - truth.ln());
        assert!(
            truth < 1e-299 || got.upper - got.lower <= allowed * truth,
            "{row:?}: {got:?} is wider than {allowed:e}"
        );
    }
}

#[test]
fn epsilon_encloses_every_high_precision_value() {
    for row in golden("one_round_epsilon.csv") {
        // The profile answers the larger direction, which is tabled as rr-lower-max.
        if row[0] == "rr-lower" || row[0] == "rr-lower-reverse" {
            continue;
        }
        let truth: f64 = row[7].parse().unwrap();
        let got = profile(&row).epsilon(row[6].parse().unwrap());
        assert!(
            got.lower <= truth && truth <= got.upper,
            "{row:?}: not in {got:?}"
        );
        assert!(got.upper - got.lower < 4e-6 * truth, "{row:?}: {got:?}");
    }
}

fn epsilon(round: &Round, delta: f64) -> Answer<Epsilon> {
    account(round)
        .unwrap()
        .epsilon(Delta::new(delta).unwrap())
        .unwrap()
}

/// `got` is not below `printed` by more than half a unit of its last digit, and within 1e-4 above.
fn assert_just_above(got: f64, printed: f64) {
    assert!(
        got >= printed * (1.0 - 2e-9) && got <= printed * (1.0 + 1e-4),
        "{got} vs {printed}"
    );
}

fn assert_just_below(got: f64, printed: f64) {
    assert!(
        got <= printed * (1.0 + 2e-9) && got >= printed * (1.0 - 1e-4),
        "{got} vs {printed}"
    );
}

#[test]
fn the_table_of_one_round_answers() {
    for (users, epsilon0, delta, upper, adaptive, lower) in [
        (10_000, 4.0, 1e-6, 0.410812293, 0.600908764, 0.406629827),
        (100_000, 2.0, 1e-6, 0.0331872490, 0.0450255803, 0.0312302499),
        (
            1_000_000,
            4.0,
            1e-8,
            0.0450729620,
            0.0641968433,
            0.0446536164,
        ),
        (
            1_000_000,
            1.0,
            1e-8,
            0.00501162085,
            0.00612547646,
            0.00441857387,
        ),
        (
            10_000_000,
            4.0,
            1e-9,
            0.0149903420,
            0.0213107829,
            0.0148516383,
        ),
    ] {
        let round = Round::new(Mechanism::ldp(epsilon0).unwrap(), users).unwrap();
        let answer = epsilon(&round, delta);
        assert_just_above(answer.upper().value(), upper);
        assert_just_below(answer.lower().value(), lower);
        // The clones of 2021, once the price of rounds that are adaptive within themselves.
        let wanted = |name: &str| name == "feldman-2021 clones, numerical";
        let table = compare_where(&round, 1, Delta::new(delta).unwrap(), &wanted).unwrap();
        let clones = table.iter().find(|row| wanted(&row.name)).unwrap();
        assert_just_above(*clones.epsilon.as_ref().unwrap(), adaptive);
        let again = epsilon(&round.adaptive_within_round().unwrap(), delta);
        assert_eq!(again.upper().value(), answer.upper().value());
    }
    let round = Round::new(Mechanism::ldp(4.0).unwrap(), 1_000_000_000).unwrap();
    assert_just_above(epsilon(&round, 1e-9).upper().value(), 0.00134509154);
}

#[test]
fn check_in_sampling_and_randomized_response_answers() {
    for (rate, upper) in [(0.01, 0.0045622878), (0.1, 0.0191029740)] {
        let round = Round::new(Mechanism::ldp(2.0).unwrap(), 10_000).unwrap();
        let answer = epsilon(&round.check_in(rate).unwrap(), 1e-4);
        assert_just_above(answer.upper().value(), upper);
    }
    let round = Round::new(Mechanism::ldp(3.0).unwrap(), 10_000).unwrap();
    let answer = epsilon(&round.sample(100).unwrap(), 1e-6);
    assert_eq!(format!("{:.4}", answer.upper().value()), "0.0194");
    // 0.5569568648 is sometimes quoted; 25 digits of it are 0.55695686466… (golden/one_round_epsilon.csv).
    let round = Round::new(Mechanism::kary_response(4, 13f64.ln()).unwrap(), 1000).unwrap();
    assert_just_above(epsilon(&round, 1e-6).upper().value(), 0.5569568647);
    for (users, lower, upper) in [(100, 2.0090624, 2.0343704), (1000, 0.66312451, 0.66336030)] {
        let round = Round::new(Mechanism::kary_response(10, 3.0).unwrap(), users).unwrap();
        let answer = epsilon(&round, 1e-6);
        assert!((answer.lower().value() / lower - 1.0).abs() < 1e-5);
        assert!((answer.upper().value() / upper - 1.0).abs() < 1e-5);
    }
}
