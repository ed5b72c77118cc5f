//! Many rounds: golden values, brute force for two rounds, and the laws that composition obeys.
//!
//! Chain of trust: two rounds of enumerated channels lie below the upper bound; one round composed equals the
//! profile; golden values from an independent program (golden/composed.csv) are met from above and from
//! below.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Dice, Part, extremal_channel, golden, hockey_stick, kary, multisets, view};
use proptest::prelude::*;
use shuffledp_accounting::atoms::Atoms;
use shuffledp_accounting::compose::Composition;
use shuffledp_accounting::pld::{ComposedRounds, Pld, Resolution};
use shuffledp_accounting::profile::{Direction, Profile};
use shuffledp_accounting::{
    Accountant, Answer, Delta, Epsilon, Mechanism, Plan, Round, Side, account,
};
use std::collections::BTreeMap;

/// So many rounds of one kind.
fn alone(profile: &Profile, rounds: f64) -> ComposedRounds {
    ComposedRounds {
        rounds,
        deviation: profile.loss_deviation(),
    }
}

fn ldp(epsilon0: f64, users: u64) -> Round {
    Round::new(Mechanism::ldp(epsilon0).unwrap(), users).unwrap()
}

fn epsilon(plan: &Plan, delta: f64) -> Answer<Epsilon> {
    account(plan)
        .unwrap()
        .epsilon(Delta::new(delta).unwrap())
        .unwrap()
}

/// The round that a golden row is about, as the mechanism whose upper or lower bound is tabled.
fn round(row: &[String]) -> Round {
    let number = |i: usize| row[i].parse::<f64>().unwrap();
    let mechanism = match row[0].as_str() {
        "ldp" => Mechanism::ldp(number(3)),
        "krr" => Mechanism::kary_response(number(4) as u64, number(3)),
        "3rr-lower" => Mechanism::kary_response(3, number(3)),
        "rr-lower" => Mechanism::binary_response(number(3)),
        other => panic!("unknown kind {other}"),
    };
    let round = Round::new(mechanism.unwrap(), number(1) as u64).unwrap();
    if number(5) < 1.0 {
        round.check_in(number(5)).unwrap()
    } else if number(2) < number(1) {
        round.sample(number(2) as u64).unwrap()
    } else {
        round
    }
}

#[test]
fn golden_values_are_met_from_their_side() {
    for row in golden("composed.csv") {
        let (times, delta): (f64, f64) = (row[6].parse().unwrap(), row[7].parse().unwrap());
        let truth: f64 = row[8].parse().unwrap();
        let plan = Plan::new(round(&row), times as u64).unwrap();
        let answer = epsilon(&plan, delta);
        let within = if times == 1.0 { 1e-4 } else { 2e-3 };
        // The table itself is good to one part in a million, a little less under check-in; or to half a unit
        // in its last digit.
        let digits = row[8]
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let rounded = 0.5 * 10f64.powi(-(digits as i32)) / truth;
        let tabled = rounded.max(if row[5] == "1" { 2e-6 } else { 1.3e-4 });
        if row[0].ends_with("lower") {
            let got = answer.lower().value();
            assert!(
                got <= truth * (1.0 + tabled) && got >= truth * (1.0 - within),
                "{row:?}: {got}"
            );
        } else {
            let got = answer.upper().value();
            assert!(
                got >= truth * (1.0 - tabled) && got <= truth * (1.0 + within),
                "{row:?}: {got}"
            );
        }
    }
}

#[test]
fn sampled_rounds_print_as_published() {
    let printed = |round: Round, times: u64, delta: f64| {
        let answer = epsilon(&Plan::new(round, times).unwrap(), delta);
        (format!("{:.4}", answer.upper().value()), answer)
    };
    for (times, want) in [
        (1, "0.0194"),
        (10, "0.0658"),
        (100, "0.2249"),
        (1000, "0.7706"),
    ] {
        assert_eq!(
            printed(ldp(3.0, 10_000).sample(100).unwrap(), times, 1e-6).0,
            want
        );
    }
    for (times, want) in [(1000, "0.0130"), (10_000, "0.0437"), (100_000, "0.1457")] {
        let (text, answer) = printed(ldp(2.0, 1_000_000).sample(1000).unwrap(), times, 1e-8);
        assert_eq!(text, want);
        assert!(answer.lower().value() >= 0.92 * answer.upper().value());
        // Checking in at the same rate costs the same to three digits.
        let check_in = printed(ldp(2.0, 1_000_000).check_in(1e-3).unwrap(), times, 1e-8).1;
        let ratio = check_in.upper().value() / answer.upper().value();
        assert!((ratio - 1.0).abs() < 2e-3, "{ratio}");
    }
}

#[test]
fn two_rounds_of_enumerated_channels_stay_below_the_bound() {
    let mut dice = Dice::new(23);
    let mut triples = 0;
    for trial in 0..12 {
        let epsilon0 = [0.5, 1.0, 3.0][trial % 3];
        let n = 2 + trial % 2;
        let part = [Part::Everyone, Part::CheckIn(0.4)][trial % 2];
        // The second round's channel may depend on what the first one showed: two channels, chosen by the
        // parity of the first report.
        let first = if trial % 4 == 0 {
            kary(3, epsilon0)
        } else {
            extremal_channel(&mut dice, 3, epsilon0)
        };
        let second = [(); 2].map(|()| extremal_channel(&mut dice, 3, epsilon0));
        let base = ldp(epsilon0, n as u64);
        let round = match part {
            Part::CheckIn(rate) => base.check_in(rate).unwrap(),
            _ => base,
        };
        let account = account(Plan::new(round, 2).unwrap()).unwrap();
        for others in multisets(3, n - 1) {
            let law = |x: usize| {
                let users: Vec<usize> = [vec![x], others.clone()].concat();
                let mut both = BTreeMap::new();
                for (seen, p) in view(&first, &users, part) {
                    let parity = usize::from(seen[0]) % 2;
                    for (then, q) in view(&second[parity], &users, part) {
                        *both.entry((seen.clone(), then)).or_insert(0.0) += p * q;
                    }
                }
                both
            };
            let laws = [law(0), law(1), law(2)];
            for fraction in [0.0, 0.1, 0.4, 0.8, 1.2, 1.7] {
                let e = fraction * epsilon0;
                let bound = account.delta(Epsilon::new(e).unwrap()).unwrap();
                for (x0, x1) in [(0, 1), (1, 0), (1, 2), (2, 0)] {
                    let truth = hockey_stick(&laws[x0], &laws[x1], e.exp());
                    let upper = bound.upper().value();
                    assert!(
                        truth <= upper * (1.0 + 1e-12) + 1e-13,
                        "{truth} > {upper} at {e}, {part:?}"
                    );
                    triples += 1;
                }
            }
        }
    }
    assert!(triples > 1000);
}

#[test]
fn lower_bounds_compose_below_the_enumerated_pair() {
    // 3-ary response, all others at a third value, two rounds: the optimistic distribution is below, and
    // close.
    for (n, epsilon0, part) in [
        (2usize, 1.0, Part::Everyone),
        (3, 3.0, Part::Everyone),
        (3, 2.0, Part::CheckIn(0.5)),
    ] {
        let users = |x: usize| {
            (0..n)
                .map(|i| if i == 0 { x } else { 2 })
                .collect::<Vec<_>>()
        };
        let law = |x: usize| {
            let one = view(&kary(3, epsilon0), &users(x), part);
            let mut both = BTreeMap::new();
            for (a, p) in &one {
                for (b, q) in &one {
                    *both.entry((a.clone(), b.clone())).or_insert(0.0) += p * q;
                }
            }
            both
        };
        let base = Round::new(Mechanism::kary_response(3, epsilon0).unwrap(), n as u64).unwrap();
        let round = match part {
            Part::CheckIn(rate) => base.check_in(rate).unwrap(),
            _ => base,
        };
        let plan = Plan::new(round, 2).unwrap();
        let account = account(&plan).unwrap();
        for fraction in [0.0, 0.2, 0.7, 1.1, 1.5] {
            let e = fraction * epsilon0;
            let truth = hockey_stick(&law(0), &law(1), e.exp());
            let answer = account.delta(Epsilon::new(e).unwrap()).unwrap();
            let lower = answer.lower().value();
            // Another dataset may be worse than this one, so only the upper bound must hold for it.
            assert!(truth <= answer.upper().value() * (1.0 + 1e-12));
            assert!(lower <= answer.upper().value());
            assert!(lower >= 0.97 * truth, "{lower} is far below {truth} at {e}");
        }
    }
}

#[test]
fn one_round_composed_is_the_profile() {
    let local = shuffledp_accounting::LocalEpsilon::new(4.0).unwrap();
    for users in [50, 10_000, 1_000_000] {
        let profile = Profile::new(Atoms::ldp(local).unwrap(), users);
        let profiles = std::slice::from_ref(&profile);
        let fine = |side| {
            Resolution::for_accuracy(profiles, side, 2e-7, (1e-12f64).ln(), alone(&profile, 1.0))
        };
        let above = Pld::pessimistic(profiles, fine(Side::Upper)).unwrap();
        let below = Pld::optimistic(&profile, Direction::Forward, fine(Side::Lower)).unwrap();
        let mut upper = Composition::new(Side::Upper);
        let mut lower = Composition::new(Side::Lower);
        assert!(upper.add(&above, 1) && lower.add(&below, 1) && !lower.add(&above, 1));
        for delta in [1e-3, 1e-6] {
            let direct = profile.epsilon(delta);
            let (most, least) = (upper.epsilon(delta), lower.epsilon(delta));
            assert!(most >= direct.lower && least <= direct.upper);
            assert!(
                most <= direct.upper * (1.0 + 1e-6),
                "{users}: {most} {direct:?}"
            );
            // Fifty users have a loss of a few jumps, which tangents follow less closely than chords.
            let behind = if users > 50 { 4e-6 } else { 1e-3 };
            assert!(
                least >= direct.lower * (1.0 - behind),
                "{users}: {least} {direct:?}"
            );
        }
    }
}

#[test]
fn order_and_grouping_do_not_matter() {
    let (a, b) = (ldp(2.0, 5000), ldp(1.0, 3000).check_in(0.2).unwrap());
    let one_way = Plan::new(a.clone(), 30)
        .unwrap()
        .then(b.clone(), 50)
        .unwrap();
    let other_way = Plan::new(b.clone(), 50)
        .unwrap()
        .then(a.clone(), 30)
        .unwrap();
    let (x, y) = (epsilon(&one_way, 1e-6), epsilon(&other_way, 1e-6));
    assert!((x.upper().value() / y.upper().value() - 1.0).abs() < 1e-9);
    assert!((x.lower().value() / y.lower().value() - 1.0).abs() < 1e-9);
    // One by one, all at once, and from a plan of identical rounds.
    let mut accountant = Accountant::new("people", 5000).unwrap();
    let mut plan = Plan::new(a.clone(), 1).unwrap();
    accountant.compose(&a, 1).unwrap();
    for _ in 1..20 {
        accountant.compose(&a, 1).unwrap();
        plan = plan.then(a.clone(), 1).unwrap();
    }
    let together = epsilon(&Plan::new(a, 20).unwrap(), 1e-6);
    assert_eq!(epsilon(&plan, 1e-6), together);
    assert_eq!(
        accountant.epsilon(Delta::new(1e-6).unwrap()).unwrap(),
        together
    );
    // More rounds cost more; different rounds cost something between.
    assert!(x.upper().get() > together.upper().get());
}

#[test]
fn an_accountant_survives_storage_and_keeps_populations_apart() {
    let mut accountant = Accountant::new("north", 20_000).unwrap();
    let rounds = [
        ldp(1.234567890123, 20_000).check_in(0.1).unwrap(),
        ldp(2.0, 10_000)
            .sample(77)
            .unwrap()
            .colluding(0.01)
            .unwrap(),
        Round::new(Mechanism::kary_response(7, 1.1).unwrap(), 19_999).unwrap(),
        ldp(0.3, 20_000)
            .check_in_between(0.1, 0.15)
            .unwrap()
            .adaptive_within_round()
            .unwrap(),
    ];
    for (i, round) in rounds.iter().enumerate() {
        accountant.compose(round, 10 + i as u64).unwrap();
    }
    let stored = accountant.to_json();
    let again = Accountant::from_json(&stored).unwrap();
    assert_eq!(again.to_json(), stored);
    let delta = Delta::new(1e-7).unwrap();
    assert_eq!(
        again.epsilon(delta).unwrap(),
        accountant.epsilon(delta).unwrap()
    );
    assert_eq!(again.rounds(), 10 + 11 + 12 + 13);

    assert_eq!(
        accountant
            .compose(&ldp(1.0, 20_001), 1)
            .unwrap_err()
            .to_string(),
        "a round of 20001 users is not one of population `north`, which has 20000"
    );
    let south = Accountant::new("south", 20_000).unwrap();
    assert_eq!(
        accountant.merge(&south).unwrap_err().to_string(),
        "the rounds of population `south` cannot be added to those of `north`"
    );
    assert!(accountant.merge(&again).is_ok());
    assert_eq!(accountant.rounds(), 92);
    for bad in [
        "",
        "{}",
        "[1]",
        &stored.replace("\"version\":1", "\"version\":2"),
        &stored.replace("0.1", "-0.1"),
    ] {
        assert!(Accountant::from_json(bad).is_err(), "{bad}");
    }
    let empty = Accountant::new("nobody yet", 2).unwrap();
    assert_eq!(empty.epsilon(delta).unwrap().upper().value(), 0.0);
}

#[test]
fn plans_have_limits() {
    let message = |text: &str| Plan::from_toml(text).unwrap_err().to_string();
    let huge = "# nothing but a comment\n".repeat(100_000);
    assert_eq!(
        message(&huge),
        "the plan is 2400000 bytes long: at most 1048576 are read; repeat a round with `repeat`"
    );
    let kinds: String = (2..1100)
        .map(|n| format!("[[round]]\nepsilon0 = 1.0\nusers = {n}\n"))
        .collect();
    assert!(message(&kinds).ends_with("a plan may have at most 1000 different kinds of rounds"));
    let many = "[[round]]\nepsilon0 = 1.0\nusers = 100\nrepeat = 600000000\n".repeat(2);
    assert_eq!(
        message(&many),
        "line 8, field `repeat`: rounds 600000000 is outside [1, 1e9] in all"
    );
}

#[test]
fn a_budget_is_kept_to_the_round() {
    let round = ldp(1.0, 10_000);
    let (budget, delta) = (Epsilon::new(0.5).unwrap(), Delta::new(1e-6).unwrap());
    let mut accountant = Accountant::new("people", 10_000).unwrap();
    while !accountant.would_exceed(&round, 25, budget, delta).unwrap() {
        accountant.compose(&round, 25).unwrap();
    }
    let spent = accountant.epsilon(delta).unwrap().upper().get();
    assert!(
        spent <= budget && accountant.rounds() > 50,
        "{spent:?} {}",
        accountant.rounds()
    );
    accountant.compose(&round, 25).unwrap();
    assert!(accountant.epsilon(delta).unwrap().upper().get() > budget);
}

#[test]
fn tiny_deltas_keep_their_digits() {
    // Two users of 3-ary response, the other one at a third value: five different losses a round, and exact
    // arithmetic for a hundred rounds (golden/generate_deep_tail.py).
    let (k, local) = (
        shuffledp_accounting::Categories::new(3).unwrap(),
        shuffledp_accounting::LocalEpsilon::new(3f64.ln()).unwrap(),
    );
    let profile = Profile::new(Atoms::kary_third(k, local).unwrap(), 2);
    let profiles = std::slice::from_ref(&profile);
    let fine =
        |side| Resolution::for_accuracy(profiles, side, 1e-7, -735.0, alone(&profile, 100.0));
    let above = Pld::pessimistic(profiles, fine(Side::Upper)).unwrap();
    // Tangents follow a law of five losses to first order only.
    let finer = Resolution {
        exponent: fine(Side::Lower).exponent - 5,
        ..fine(Side::Lower)
    };
    let below = Pld::optimistic(&profile, Direction::Forward, finer).unwrap();
    let mut upper = Composition::new(Side::Upper);
    let mut lower = Composition::new(Side::Lower);
    assert!(upper.add(&above, 100) && lower.add(&below, 100));
    let table = include_str!("../../../golden/deep_tail.csv");
    for line in table.lines().skip(2) {
        let (delta, epsilon) = line.split_once(',').unwrap();
        let (delta, epsilon): (f64, f64) = (delta.parse().unwrap(), epsilon.parse().unwrap());
        let (most, least) = (upper.epsilon(delta), lower.epsilon(delta));
        assert!(
            least <= epsilon && epsilon <= most,
            "{least} {epsilon} {most}"
        );
        assert!(most - least <= 1e-3 * epsilon, "{least} {epsilon} {most}");
        let (most, least) = (upper.delta(epsilon), lower.delta(epsilon));
        assert!(
            least <= delta && delta <= most,
            "{least:e} {delta:e} {most:e}"
        );
        assert!(most <= delta * (1.0 + 1e-6), "{delta:e} {most:e}");
        assert!(least >= delta * (1.0 - 4e-3), "{least:e} {delta:e}");
    }
}

#[test]
fn other_answers_agree_with_known_ones() {
    // Rényi divergences of one round of Theorem S, from a direct sum over counts.
    for (users, epsilon0, orders) in [
        (
            10_000,
            4.0,
            vec![
                (2.0, 0.0103613707),
                (4.0, 0.0207269594),
                (16.0, 0.0832984864),
            ],
        ),
        (
            100_000,
            2.0,
            vec![
                (2.0, 9.73197239e-5),
                (16.0, 7.78558102e-4),
                (64.0, 3.11425220e-3),
            ],
        ),
    ] {
        let account = account(&ldp(epsilon0, users)).unwrap();
        for (order, truth) in orders {
            let answer = account.renyi(order).unwrap();
            let upper = answer.upper().get();
            assert!(
                upper >= truth * (1.0 - 1e-8) && upper <= truth * (1.0 + 2e-4),
                "{order}: {upper} {truth}"
            );
            assert!(answer.lower().get() <= upper);
        }
    }
    // The trade-off function of many rounds is close to that of a Gaussian: f(x) = Φ(Φ⁻¹(1−x) − μ).
    let plan = Plan::new(ldp(1.0, 100_000), 5000).unwrap();
    let account = account(&plan).unwrap();
    let moments = account.loss_moments().unwrap();
    let (mean, variance) = moments.upper().get();
    assert!((variance / (2.0 * mean) - 1.0).abs() < 1e-3);
    let e = 1f64.exp();
    let mu = (5000.0 * 2.0 * (e - 1.0).powi(2) / (e + 1.0) / 100_000.0).sqrt();
    assert!((variance.sqrt() / mu - 1.0).abs() < 1e-3);
    // Φ⁻¹(0.95) = 1.6448536 and μ = 0.2817885: f(0.05) = Φ(1.3630651) = 0.913569.
    let answer = account.type_two_error(0.05).unwrap();
    assert!(
        (answer.upper().get() - 0.913_569).abs() < 1e-4,
        "{answer:?} {mu}"
    );
    assert!(answer.upper().get() <= answer.lower().get(), "{answer:?}");
    assert!(account.type_two_error(0.0).is_err() && account.renyi(1.0).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn composed_answers_are_ordered_and_monotone(
        epsilon0 in 0.1f64..4.0,
        users_exponent in 2.0f64..8.0,
        rounds_exponent in 0.31f64..5.0,
        delta_exponent in -20.0f64..-2.0,
    ) {
        let (n, delta) = (10f64.powf(users_exponent) as u64, 10f64.powf(delta_exponent));
        let times = 10f64.powf(rounds_exponent) as u64;
        let plan = Plan::new(ldp(epsilon0, n), times).unwrap();
        let answer = epsilon(&plan, delta);
        let (lower, upper) = (answer.lower().value(), answer.upper().value());
        prop_assert!(0.0 <= lower && lower <= upper && upper <= epsilon0 * times as f64 * (1.0 + 1e-12));
        let more = epsilon(&Plan::new(ldp(epsilon0, n), times + times / 2 + 1).unwrap(), delta);
        prop_assert!(upper <= more.upper().value() * (1.0 + 1e-4));
        // Solving for δ gives back at most δ.
        let back = account(&plan).unwrap().delta(answer.upper().get()).unwrap();
        prop_assert!(back.upper().value() <= delta * (1.0 + 0.02), "{back:?} {delta:e}");
    }
}
