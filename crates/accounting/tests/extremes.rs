//! The corners where floating-point numbers run out of range or of digits: each case once was a wrong answer
//! or an endless loop.
//!
//! Truths: exact enumeration in 50 digits (n ≤ 5), or a Poisson sum where n·rate is small.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::bounds::{delta, epsilon};
use shuffledp_accounting::{
    Channel, Delta, Domain, Epsilon, Mechanism, Plan, RatioSummary, Round, Side, account,
};

fn ldp(epsilon0: f64, users: u64) -> Round {
    Round::new(Mechanism::ldp(epsilon0).unwrap(), users).unwrap()
}

#[track_caller]
fn assert_upper(got: (f64, f64), truth: f64) {
    assert!(
        got.1 >= truth * (1.0 - 1e-4) && got.1 <= truth * 1.001,
        "{got:?} against {truth:e}"
    );
    assert!(got.0 <= got.1, "{got:?}");
}

#[test]
fn nearly_nobody_takes_part() {
    let rare = ldp(1.0, 2).check_in(1e-17).unwrap();
    assert_upper(delta(&rare, 0.9), 5.0859e-36);
    let (lower, upper) = epsilon(&rare, 1e-40);
    assert!(
        0.9 < lower && lower <= upper && upper > 0.99999,
        "{lower} {upper}"
    );
    // A million billion users of whom about half a one takes part.
    let crowd = ldp(1.0, 1 << 53).check_in(5e-17).unwrap();
    assert_upper(delta(&crowd, 3e-16), 5.386e-19);
    assert!(ldp(1.0, 2).check_in(1e-31).is_err());
}

#[test]
fn nearly_every_category_is_shared() {
    let mechanism = Mechanism::kary_response(1 << 53, 1.0).unwrap();
    let round = Round::new(mechanism, 2).unwrap().check_in(0.1).unwrap();
    assert_upper(delta(&round, 0.9), 8.667e-35);
}

#[test]
fn a_huge_local_epsilon_and_a_tiny_rate() {
    let round = ldp(100.0, 2).check_in(1e-28).unwrap();
    let (lower, upper) = delta(&round, 31.5);
    assert!(
        lower <= upper && (upper / 1e-28 - 1.0).abs() < 1e-6,
        "{lower:e} {upper:e}"
    );
    let mechanism = Mechanism::kary_response(1 << 53, 100.0).unwrap();
    let round = Round::new(mechanism, 5).unwrap().sample(2).unwrap();
    assert_upper(delta(&round, 99.0837), 1.379_118_902_014e-49);
}

#[test]
fn likelihoods_of_any_size() {
    for cover in [1e20, 1e43] {
        let summary = RatioSummary::new(3.0, 0.3, cover).unwrap();
        let round = Round::new(Mechanism::ratio(summary), 1_000_000_000_000_000).unwrap();
        let (lower, upper) = delta(&round.check_in(0.5).unwrap(), 1e-6);
        // g β p/(p−1) (1 − a/p): nobody covers the target.
        assert!(
            lower <= upper && (0.1499..=0.151).contains(&upper),
            "{lower} {upper}"
        );
    }
}

#[test]
fn a_blanket_with_next_to_nothing_left_over() {
    for (thrice, once, truth, n) in [
        (3e-8, 1e-8, 9.735_584_945_97e-26, 3),
        (3e-15, 1e-15, 3.245_195e-32, 2),
    ] {
        let rest = 1.0 - thrice - once;
        let channel =
            Channel::new(vec![vec![thrice, once, rest], vec![once, thrice, rest]]).unwrap();
        let round = Round::new(Mechanism::matrix(channel), n).unwrap();
        let (lower, upper) = delta(&round, 1.095);
        assert!(
            lower <= upper && upper >= truth * (1.0 - 1e-6),
            "{lower:e} {upper:e}"
        );
    }
}

#[test]
fn the_very_end_of_the_support() {
    let round = ldp(5.470624043253889e-08, 1_000_000).sample(3).unwrap();
    assert!(delta(&round, 1.6411872578676237e-13).1 >= 2.95e-30);
    let channel = Channel::new(vec![
        vec![0.2802317005948202, 0.5571379923060552, 0.16263030709912468],
        vec![0.2822203924234717, 0.552013498875796, 0.16576610870073222],
    ]);
    let round = Round::new(Mechanism::matrix(channel.unwrap()), 2).unwrap();
    assert!(epsilon(&round, 1e-300).1 >= 0.019098240806386977);
}

#[test]
fn colluding_users_are_counted_exactly() {
    assert_eq!(ldp(1.0, 1 << 53).colluding(0.5).unwrap().honest(), 1 << 52);
    assert_eq!(ldp(1.0, 30).colluding(0.1).unwrap().honest(), 27);
    assert_eq!(
        ldp(1.0, 1_000_000).colluding(0.3).unwrap().honest(),
        700_000
    );
}

#[test]
fn the_largest_populations_are_answered() {
    // Each of these once ran for seconds, or for ever.
    let kary = |k: u64, epsilon0: f64, n: u64| {
        Round::new(Mechanism::kary_response(k, epsilon0).unwrap(), n).unwrap()
    };
    for (round, delta) in [
        (kary(1_000_000_000, 3.0, 1_000_000_000), 1e-6),
        (ldp(3.0, 100_000_000).check_in(1e-8).unwrap(), 1e-6),
        (
            ldp(4.052934643271904, 1 << 53)
                .check_in(1.891189511367096e-15)
                .unwrap(),
            2.5e-9,
        ),
        (ldp(2.0, 1_000_000).sample(1000).unwrap(), 1e-8),
    ] {
        let (lower, upper) = epsilon(&round, delta);
        assert!(lower <= upper && upper <= 5.0, "{lower} {upper}");
    }
    // Checking in is rarer than δ: there is nothing to protect.
    let mechanism = Mechanism::binary_response(56.16).unwrap();
    let round = Round::new(mechanism, 1 << 53)
        .unwrap()
        .check_in(9.6e-9)
        .unwrap();
    assert_eq!(epsilon(&round, 0.147), (0.0, 0.0));
}

/// ε of a Gaussian loss, to which many rounds of nearly nothing converge: δ(ε) ≈ μ (φ(z) − z Φ(−z)) at ε = μ
/// z for small μ.
fn composed(round: Round, times: u64, delta: f64) -> (f64, f64) {
    let plan = Plan::new(round, times).unwrap();
    let answer = account(&plan)
        .unwrap()
        .epsilon(Delta::new(delta).unwrap())
        .unwrap();
    (answer.lower().value(), answer.upper().value())
}

#[test]
fn tiny_losses_compose() {
    // The Gaussian limit of binary response, which Theorem S attains as ε₀ goes to 0: in units of the
    // composed standard deviation.
    for (epsilon0, users, times, delta, limit) in [
        (1e-12, 1_000_000, 10_000, 1e-15, 1.93836e-13),
        (1e-12, 1_000_000_000_000, 100, 1e-18, 9.02e-18),
        (1e-4, 1_000_000_000_000, 100, 1e-10, 9.023825e-10),
    ] {
        let (lower, upper) = composed(ldp(epsilon0, users), times, delta);
        assert!(lower <= upper, "{lower:e} {upper:e}");
        assert!(
            upper >= limit * (1.0 - 1e-6) && upper <= limit * 1.001,
            "{upper:e} against {limit:e}"
        );
        assert!(lower >= limit * 0.99, "{lower:e} against {limit:e}");
    }
    let round = Round::new(Mechanism::binary_response(1e-9).unwrap(), 2).unwrap();
    let account = account(Plan::new(round, 2).unwrap()).unwrap();
    let upper = account
        .delta(Epsilon::new(8.799994238e-10).unwrap())
        .unwrap()
        .upper()
        .value();
    assert!(upper >= 1.0000018e-10 * (1.0 - 1e-7), "{upper:?}");
}

#[test]
fn rounds_whose_loss_is_hardly_ever_anything() {
    assert!(Channel::new(vec![vec![1.0, 1e-200], vec![1.0, 1e-235]]).is_err());
    let channel = Channel::new(vec![vec![1.0, 1e-60], vec![1.0, 1e-80]]).unwrap();
    let round = Round::new(Mechanism::matrix(channel), 2).unwrap();
    // At least what one round gives away.
    let alone = delta(&round, 10.0).0;
    let twice = account(Plan::new(round, 2).unwrap()).unwrap();
    let answer = twice.delta(Epsilon::new(10.0).unwrap()).unwrap();
    assert!(
        alone > 0.0 && answer.upper().value() >= alone,
        "{answer:?} {alone:e}"
    );
    assert!(answer.lower().get() <= answer.upper().get());
}

#[test]
fn inputs_that_are_all_but_the_same() {
    let channel = Channel::new(vec![
        vec![0.959317028659499, 0.04068297134050103],
        vec![0.9593170286594991, 0.04068297134050102],
    ]);
    let round = Round::new(Mechanism::matrix(channel.unwrap()), 10).unwrap();
    let (lower, upper) = composed(round, 2, 1e-6);
    assert!(lower <= upper && upper < 1e-12, "{lower:e} {upper:e}");
}

#[test]
fn an_optimistic_distribution_ends_where_the_loss_does() {
    use shuffledp_accounting::atoms::Atoms;
    use shuffledp_accounting::compose::Composition;
    use shuffledp_accounting::pld::{ComposedRounds, Pld, Resolution};
    use shuffledp_accounting::profile::{Direction, Profile};
    // One of four users sampled; forwards the loss of a round is at most ln(4/3), and ln(1/0.775).
    for (atoms, largest) in [
        (
            vec![
                (0.009999999999999063, 1.0, 9.357622968840174e-14),
                (9.357622968839298e-16, 1.0, 10686474581524.463),
                (0.99, 1.0, 1.0),
            ],
            (4.0f64 / 3.0).ln(),
        ),
        (
            vec![(0.999999, 1.0, 0.1), (1e-6, 1.0, 900000.1)],
            (1.0f64 / 0.775).ln(),
        ),
    ] {
        let profile = Profile::sampled(Atoms::new(&atoms).unwrap(), 4, 1);
        let profiles = std::slice::from_ref(&profile);
        let composed = ComposedRounds {
            rounds: 20.0,
            deviation: profile.loss_deviation(),
        };
        let resolution = Resolution::for_accuracy(profiles, Side::Lower, 2e-5, -735.0, composed);
        for times in [1u64, 2, 20] {
            let mut lower = Composition::new(Side::Lower);
            if let Some(below) = Pld::optimistic(&profile, Direction::Forward, resolution) {
                assert!(lower.add(&below, times));
            }
            assert_eq!(lower.delta(largest * times as f64 * 1.01 + 1e-9), 0.0);
        }
    }
}

#[test]
fn the_trade_off_function_of_an_asymmetric_pair() {
    // Binary response, the best test with equal errors of both kinds, by exact Neyman-Pearson.
    for (epsilon0, users, times, best) in [
        (2.0, 2, 2, 0.1416248),
        (3.0, 3, 2, 0.0648410),
        (4.0, 2, 2, 0.0235555),
        (1.0, 2, 3, 0.2630964),
    ] {
        let round = Round::new(Mechanism::binary_response(epsilon0).unwrap(), users).unwrap();
        let answer = account(Plan::new(round, times).unwrap())
            .unwrap()
            .type_two_error(best)
            .unwrap();
        assert!(answer.upper().get() <= best * (1.0 + 1e-6), "{answer:?}");
        assert!(
            answer.lower().get() >= best * (1.0 - 1e-6),
            "{answer:?} below {best}"
        );
    }
    let round = Round::new(Mechanism::binary_response(10.0).unwrap(), 2).unwrap();
    let plan = Plan::new(round.check_in(1e-4).unwrap(), 2).unwrap();
    let answer = account(plan).unwrap().type_two_error(1e-10).unwrap();
    assert!(answer.lower().get() >= 0.99999888, "{answer:?}");
}

#[test]
fn tiny_losses_keep_their_mass_over_many_rounds() {
    // The exact law of three users of Theorem S in 50 digits, composed by the central limit theorem (skewness
    // 2e-8).
    let round = ldp(0.00011992454528808594, 3);
    for (times, at, truth) in [
        (1_000_000, 0.15, 4.0098202e-4),
        (10_000_000, 0.5, 1.0748947e-3),
        (100_000_000, 1.5, 7.5092596e-3),
        (1_000_000_000, 5.0, 0.063151679),
    ] {
        let plan = Plan::new(round.clone(), times).unwrap();
        let answer = account(&plan)
            .unwrap()
            .delta(Epsilon::new(at).unwrap())
            .unwrap();
        let (lower, upper) = (answer.lower().value(), answer.upper().value());
        assert!(
            lower <= truth && truth <= upper && upper <= 1.01 * truth,
            "{times}: {lower} {truth} {upper}"
        );
    }
    // Rényi divergences of two rounds, by direct enumeration.
    let kary = |k, epsilon0, users| {
        Round::new(Mechanism::kary_response(k, epsilon0).unwrap(), users).unwrap()
    };
    for (round, order, truth) in [
        (ldp(0.001198197012780908, 2), 1.000002, 7.180e-7),
        (kary(2, 0.001, 4).sample(1).unwrap(), 2.0, 1.25046870e-7),
        (kary(3, 0.0009753142157367901, 6), 1.5, 1.5863846e-7),
        (
            kary(1000, 0.27970024112905023, 6).sample(1).unwrap(),
            1.5,
            8.45305338e-6,
        ),
    ] {
        let answer = account(Plan::new(round, 2).unwrap())
            .unwrap()
            .renyi(order)
            .unwrap();
        let (lower, upper) = (answer.lower().get(), answer.upper().get());
        assert!(
            upper >= truth * (1.0 - 1e-3) && lower <= truth * 1.001 && upper >= lower,
            "{order}: {lower} {truth} {upper}"
        );
    }
}

#[test]
fn the_largest_loss_is_not_an_infinite_one() {
    let composed = |round: &Round, times: u64, delta: f64| {
        let plan = Plan::new(round.clone(), times).unwrap();
        let answer = account(&plan)
            .unwrap()
            .epsilon(Delta::new(delta).unwrap())
            .unwrap();
        (answer.lower().value(), answer.upper().value())
    };
    // ε₀ on the lattice and just off it; a tail of 1e-60 with a fine lattice.
    for (epsilon0, users, times, delta, most) in [
        (1.0, 3, 1000, 1e-12, 410.0),
        (1.0, 10, 100_000, 1e-12, 9200.0),
        (0.5, 5, 100_000, 1e-10, 3740.0),
        (1.6, 10_000, 40, 1e-60, 2.36),
        (1.7, 10_000, 40, 1e-36, 2.3),
    ] {
        let (lower, upper) = composed(&ldp(epsilon0, users), times, delta);
        assert!(
            lower <= upper && upper <= most,
            "{epsilon0} {users} {times}: {lower} {upper}"
        );
    }
    let ranged = ldp(0.50001, 5).check_in_between(0.5, 0.6).unwrap();
    let (lower, upper) = composed(&ranged, 100_000, 1e-11);
    assert!(lower > 1900.0 && upper < 2700.0, "{lower} {upper}");
    let matrix = Mechanism::matrix(Channel::new(vec![vec![0.5, 0.5], vec![0.6, 0.4]]).unwrap());
    let (lower, upper) = composed(&Round::new(matrix, 100).unwrap(), 50, 1e-60);
    assert!(lower > 2.3 && upper < 2.6, "{lower} {upper}");
}

#[test]
fn rounds_of_very_different_size_compose() {
    let plan = Plan::new(ldp(1.0, 1000), 1)
        .unwrap()
        .then(ldp(1e-6, 1_000_000), 1)
        .unwrap();
    let alone = account(&ldp(1.0, 1000))
        .unwrap()
        .epsilon(Delta::new(1e-6).unwrap())
        .unwrap();
    let both = account(&plan)
        .unwrap()
        .epsilon(Delta::new(1e-6).unwrap())
        .unwrap();
    let (alone, both) = (alone.upper().value(), both.upper().value());
    assert!(
        both >= alone * (1.0 - 1e-5) && both <= alone * 1.01,
        "{alone} {both}"
    );
}

#[test]
fn an_approximate_guarantee_without_its_shuffler_answers_both_ways() {
    let mechanism = Mechanism::approximate_ldp(1.0, 1e-3).unwrap();
    let round = Round::new(mechanism, 1000).unwrap();
    // The total variation of the local randomizer, (E−1)/(E+1), and its δ₀.
    let (_, at_zero) = delta(&round, 0.0);
    let truth = 1e-3 + 0.999 * 1f64.exp_m1() / (1f64.exp() + 1.0);
    assert!((at_zero / truth - 1.0).abs() < 1e-6, "{at_zero} {truth}");
    let (_, none) = epsilon(&round, 0.5);
    assert!(none < 1e-9, "{none}");
}

#[test]
fn a_share_of_the_smallest_delta_is_a_condition_not_an_error() {
    let table = shuffledp_accounting::compare(&ldp(2.0, 1000), 2, Delta::new(1e-300).unwrap());
    let unmet = table
        .unwrap()
        .into_iter()
        .find(|entry| entry.name.contains("dwork"));
    let words = unmet.unwrap().epsilon.unwrap_err().to_string();
    assert_eq!(words, "delta/(2T) of at least 1e-300");
}

/// The lightest cells of Gaussian noise have weights near 1e-290: a rate far below 1e-10 leaves the doubles.
#[test]
fn a_rate_too_small_for_a_law_is_refused_by_name() {
    let mechanism = Mechanism::gaussian(1.0, Domain::Ball).unwrap();
    let round = Round::new(mechanism, 1000).unwrap();
    let round = round.check_in(3.7e-17).unwrap();
    let message = account(&round).unwrap_err().to_string();
    assert!(
        message.starts_with("check-in rate 3.7e-17 is outside [")
            && message.ends_with(", 1] for this randomizer"),
        "{message}"
    );
}
