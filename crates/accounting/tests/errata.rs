//! The evidence of docs/errata.md: every number on that page is computed here, and the page must contain it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Part, hockey_stick, kary, multisets, view};
use shuffledp_accounting::atoms::Atoms;
use shuffledp_accounting::bounds::shuffle_gaussian::{self, Crowd};
use shuffledp_accounting::bounds::{
    chen_2024, enhanced_rdp, feldman_2021, girgis_2021, numerical_accounting, shuffled_check_in,
    zhu_2022,
};
use shuffledp_accounting::profile::Profile;
use shuffledp_accounting::{Delta, Divergence, LocalEpsilon, Mechanism, Plan, Round, account};

const PAGE: &str = include_str!("../../../docs/errata.md");

/// The page says this.
#[track_caller]
fn says(evidence: impl AsRef<str>) {
    let evidence = evidence.as_ref();
    assert!(PAGE.contains(evidence), "docs/errata.md lacks: {evidence}");
}

/// Four significant digits.
fn digits(value: f64) -> String {
    let exponent = value.abs().log10().floor() as i32;
    if (-4..4).contains(&exponent) {
        format!("{value:.*}", (3 - exponent).max(0) as usize)
    } else {
        format!("{value:.3e}")
    }
}

fn local(epsilon0: f64) -> LocalEpsilon {
    shuffledp_accounting::LocalEpsilon::new(epsilon0).unwrap()
}

fn choose(n: u32, k: u32) -> f64 {
    (0..k)
        .map(|i| f64::from(n - i) / f64::from(i + 1))
        .product()
}

fn binomial(n: u32, k: u32, p: f64) -> f64 {
    choose(n, k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
}

#[test]
fn approximate_privacy_bounds_no_renyi_divergence() {
    // The data with probability δ, else nothing: P = (δ, 0, 1−δ), Q = (0, δ, 1−δ) is (0, δ)-DP, and its
    // divergence of order 10 grows without bound as the zero is approached.
    let delta = 1e-5f64;
    let divergence = |q: f64| ((delta.powi(10) * q.powi(-9)) + (1.0 - delta)).ln() / 9.0;
    assert!(divergence(1e-100) > 50.0 && divergence(1e-300) > 150.0);
    let claimed = shuffled_check_in::lemma_1(10.0, 0.1, delta);
    says(format!(
        "gives {} at λ = 10, ε = 0.1, δ = 1e-5",
        digits(claimed)
    ));
}

#[test]
fn table_2_of_shuffled_check_in() {
    for (epsilon0, rate, printed) in [
        (2.0, 1e-2, "0.049"),
        (2.0, 1e-3, "0.012"),
        (8.0, 1e-2, "8.18"),
        (8.0, 1e-3, "1.58"),
    ] {
        let round = Round::new(Mechanism::ldp(epsilon0).unwrap(), 10_000).unwrap();
        let plan = Plan::new(round.check_in(rate).unwrap(), 100).unwrap();
        let answer = account(&plan)
            .unwrap()
            .epsilon(Delta::new(1e-4).unwrap())
            .unwrap();
        let (lower, upper) = (answer.lower().value(), answer.upper().value());
        // Outwards: half a unit of the fourth digit down, and up.
        let unit = |value: f64| 0.5 * 10f64.powf(value.log10().floor() - 3.0);
        says(format!(
            "| {epsilon0}, {rate} | {printed} | [{}, {}] |",
            digits(lower - unit(lower)),
            digits(upper + unit(upper))
        ));
    }
}

#[test]
fn theorem_1_of_shuffled_check_in_forgets_rounds_with_few_check_ins() {
    // ε₀ = 4, γ = 0.02, n = 1e6, δ = 1e-6: l is about 21,000 and the closed form holds there, but not for the
    // k ≤ 16 E ln(2/δ) that are as likely to occur.
    let (n, epsilon0, delta) = (1e6, 4f64, 1e-6f64);
    let e = epsilon0.exp();
    let l: f64 = 20_700.0;
    let printed =
        ((e - 1.0) / e * (8.0 * (l * e * (4.0 / delta).ln()).sqrt() + 8.0 * e) / n).ln_1p();
    let few = (16.0 * e * (2.0 / delta).ln()).min(l);
    let small = ((e - 1.0) * few / n).ln_1p();
    assert!(small > printed);
    says(format!(
        "{} printed; covering the rounds with few check-ins costs {}",
        digits(printed),
        digits(small)
    ));
    // And (E−1)/E is looser than (E−1)/(E+1).
    says(format!(
        "a factor {} at ε₀ = 1",
        digits((1f64.exp() + 1.0) / 1f64.exp())
    ));
}

#[test]
fn two_counts_are_not_enough() {
    // Numerical-accounting eq. 3.1 with p = 1/(E+k−1): C ~ Bin(n−1, 2p), A ~ Bin(C, 1/2), Δ₁ ~ Bern(Ep), Δ₂ ~
    // Bern(p/(1−Ep)) if Δ₁ = 0.
    let pair = |n: u32, e: f64, p: f64, a: f64| {
        let mut laws = [
            std::collections::BTreeMap::new(),
            std::collections::BTreeMap::new(),
        ];
        for c in 0..n {
            for x in 0..=c {
                let base = binomial(n - 1, c, 2.0 * p) * binomial(c, x, 0.5);
                for (d1, d2, weight) in [(1, 0, e * p), (0, 1, p), (0, 0, 1.0 - e * p - p)] {
                    *laws[0].entry((x + d1, c - x + d2)).or_insert(0.0) += base * weight;
                    *laws[1].entry((x + d2, c - x + d1)).or_insert(0.0) += base * weight;
                }
            }
        }
        hockey_stick(&laws[0], &laws[1], a)
    };
    let truth = |channel: &Vec<Vec<f64>>, n: usize, a: f64, part: Part| {
        let mut largest: f64 = 0.0;
        for others in multisets(3, n - 1) {
            let with = |x: usize| {
                let mut inputs = others.clone();
                inputs.push(x);
                view(channel, &inputs, part)
            };
            largest = largest.max(hockey_stick(&with(0), &with(1), a));
        }
        largest
    };
    let e = 1f64.exp();
    let (true_value, claimed) = (
        truth(&kary(3, 1.0), 3, 2.0, Part::Everyone),
        pair(3, e, 1.0 / (e + 2.0), 2.0),
    );
    assert!(claimed < true_value);
    says(format!(
        "n = 3, ε₀ = 1, a = 2: {} true, {} claimed",
        digits(true_value),
        digits(claimed)
    ));
    let e = 5f64.exp();
    let (true_value, claimed) = (
        truth(&kary(3, 5.0), 3, 100.0, Part::CheckIn(0.5)),
        pair(3, e, 0.5 / (e + 1.0), 100.0),
    );
    assert!(claimed < true_value);
    says(format!(
        "n = 3, ε₀ = 5, γ = 0.5, a = 100: {} true, {} claimed",
        digits(true_value),
        digits(claimed)
    ));
}

#[test]
fn the_strong_adversary_is_not_tight() {
    let epsilon0 = 13f64.ln();
    for (epsilon, factor) in [(0.05, "11.1"), (0.5, "18.5")] {
        let printed = numerical_accounting::strong_printed(1000, 4, epsilon0, epsilon).unwrap();
        let tight = numerical_accounting::strong_tight(1000, 4, epsilon0, epsilon);
        assert_eq!(format!("{:.1}", printed / tight), factor);
        says(format!(
            "{} printed, {} true, a factor {factor} at ε = {epsilon}",
            digits(printed),
            digits(tight)
        ));
    }
    // Jointly multinomial counts, for which the printed formula would be an upper bound by its form.
    let (n, w, a) = (999u32, 0.0625f64, 0.5f64.exp());
    let mut joint = 0.0;
    for n2 in 0..200u32 {
        let p2 = binomial_ln(n, n2, w);
        let rest = w / (1.0 - w);
        for n1 in 0..250u32.min(n - n2) {
            if f64::from(n1 + 1) >= a * f64::from(n2) {
                joint += (p2 + binomial_ln(n - n2, n1, rest)).exp();
            }
        }
    }
    says(format!(
        "{} with the counts jointly multinomial",
        digits(joint)
    ));
}

fn binomial_ln(n: u32, k: u32, p: f64) -> f64 {
    let ln_choose: f64 = (0..k)
        .map(|i| (f64::from(n - i) / f64::from(i + 1)).ln())
        .sum();
    ln_choose + f64::from(k) * p.ln() + f64::from(n - k) * (1.0 - p).ln()
}

#[test]
fn figure_3_of_numerical_accounting_grows_like_a_square_root() {
    let base = Profile::new(Atoms::ldp(local(3.0)).unwrap(), 1000);
    let mut values = Vec::new();
    for rounds in [10, 100, 1000, 10_000] {
        values.push(zhu_2022::epsilon(&base, 0.01, rounds, 1e-5).unwrap());
    }
    assert!(values[3] / values[0] < 60.0);
    let text: Vec<String> = values.iter().map(|value| digits(*value)).collect();
    says(format!("{} at T = 10, 100, 1000, 10000", text.join(", ")));
    let round = Round::new(Mechanism::ldp(3.0).unwrap(), 100_000)
        .unwrap()
        .sample(1000)
        .unwrap();
    let exact: Vec<String> = [10, 100, 1000, 10_000]
        .into_iter()
        .map(|rounds| {
            let plan = Plan::new(round.clone(), rounds).unwrap();
            let answer = account(&plan)
                .unwrap()
                .epsilon(Delta::new(1e-5).unwrap())
                .unwrap();
            digits(answer.upper().value())
        })
        .collect();
    says(format!("{} by the exact atoms", exact.join(", ")));
}

#[test]
fn lemmas_of_numerical_accounting_mix_p_and_2p() {
    let (n, p, a, b) = (9u32, 0.17, 3u32, 2u32);
    let law = |a: u32, b: u32| binomial(n - 1, a + b, 2.0 * p) * binomial(a + b, a, 0.5);
    let ratio = law(a - 1, b) / law(a, b);
    let right = (1.0 - 2.0 * p) * f64::from(a) / (f64::from(n - a - b) * p);
    assert!((ratio / right - 1.0).abs() < 1e-12);
    says(format!(
        "{} printed, {} true",
        digits(2.0 * right),
        digits(ratio)
    ));
    let i = a + b - 1;
    let printed =
        choose(n - 1, i) * choose(i, a - 1) * p.powi(i as i32) * (1.0 - p).powi((n - 1 - i) as i32)
            / 2f64.powi(i as i32);
    says(format!(
        "{} printed, {} true",
        digits(printed),
        digits(law(a - 1, b))
    ));
}

#[test]
fn theorem_1_of_enhanced_rdp_has_the_wrong_pair() {
    // P = (A, C − A + Δ), Q = (A + Δ, C − A), Δ ~ Bern(e^{−ε₀}), against a lower bound the paper itself
    // quotes.
    let (n, epsilon0, order) = (40u32, 2f64, 4.0);
    let p = (-epsilon0).exp();
    let mut laws = [
        std::collections::BTreeMap::new(),
        std::collections::BTreeMap::new(),
    ];
    for c in 0..n {
        for a in 0..=c {
            let base = binomial(n - 1, c, p) * binomial(c, a, 0.5);
            for (d, weight) in [(1, p), (0, 1.0 - p)] {
                *laws[0].entry((a, c - a + d)).or_insert(0.0) += base * weight;
                *laws[1].entry((a + d, c - a)).or_insert(0.0) += base * weight;
            }
        }
    }
    let moment: f64 = laws[0]
        .iter()
        .filter_map(|(key, x)| {
            laws[1]
                .get(key)
                .map(|y: &f64| x.powf(order) * y.powf(1.0 - order))
        })
        .sum();
    // What only P can give is left out, where the divergence is infinite.
    let printed = moment.ln() / (order - 1.0);
    let lower = girgis_2021::shuffle_lower(u64::from(n), epsilon0).at(order);
    assert!(printed < lower, "{printed} {lower}");
    let right = enhanced_rdp::theorem_1(u64::from(n), local(epsilon0))
        .unwrap()
        .at(order);
    assert!(right > lower);
    says(format!(
        "at most {} where it is finite, {} by its own equation 9, {} corrected",
        digits(printed),
        digits(lower),
        digits(right)
    ));
}

#[test]
fn corollary_2_of_enhanced_rdp_is_exceeded() {
    let claimed = enhanced_rdp::corollary_2(10_000, 4.0).at(64.0);
    let round = Round::new(Mechanism::binary_response(4.0).unwrap(), 10_000).unwrap();
    let truth = Divergence::new(&round)
        .unwrap()
        .at(64.0)
        .unwrap()
        .lower()
        .get();
    assert!(claimed < truth);
    says(format!(
        "{} claimed, {} for shuffled binary randomized response",
        digits(claimed),
        digits(truth)
    ));
}

#[test]
fn the_gaussian_limit_of_2024_is_exceeded() {
    let claimed = chen_2024::epsilon(1_000, 4.0, 0.0, 1e-6).unwrap();
    let round = Round::new(Mechanism::ldp(4.0).unwrap(), 1_000).unwrap();
    let answer = account(&round).unwrap().epsilon(1e-6).unwrap();
    let attained = answer.lower();
    assert!(claimed < attained.value());
    assert!(
        attained
            .attained_by()
            .unwrap()
            .starts_with("3-ary randomized response")
    );
    says(format!(
        "n = 1000, ε₀ = 4, δ = 1e-6: {} claimed, {} for shuffled 3-ary randomized response",
        digits(claimed),
        digits(attained.value())
    ));
}

#[test]
fn algorithm_1_of_enhanced_rdp_has_the_wrong_sensitivity() {
    // (1/m) Σ over a block of n/m clipped gradients moves by up to (n/m)·2C/m when the block is replaced; the
    // noise is for 2C/m.
    let (n, m) = (60_000.0, 300.0);
    says(format!("a factor n/m = {} too little noise", n / m));
}

#[test]
fn algorithm_1_of_shuffle_gaussian() {
    // n = 2, λ = 2, σ = 2: partitions (2), (1, 1) of the order.
    let s = 4.0;
    let exact = (f64::exp(-2.0 / (2.0 * s)) / 4.0)
        * (2.0 * f64::exp(4.0 / (2.0 * s)) + 2.0 * f64::exp(2.0 / (2.0 * s)));
    let right = shuffle_gaussian::pair(2.0, Crowd::Everyone(2)).at(2.0);
    assert!((exact.ln() / right - 1.0).abs() < 1e-12);
    let printed = (f64::exp(-2.0 / (2.0 * s)) / 4.0) * (2.0 * f64::exp(4.0) + 2.0 * f64::exp(2.0));
    says(format!(
        "returns {} at n = 2, λ = 2, σ = 2, where the divergence is {}",
        digits(printed),
        digits(right)
    ));
}

#[test]
fn theorems_of_shuffle_gaussian() {
    // Norm at most 1 lets a replacement move by 2, and then the pair has more than Theorem 1 says.
    let near = shuffle_gaussian::pair(1.0, Crowd::Everyone(100)).at(4.0);
    let far = shuffle_gaussian::pair(0.5, Crowd::Everyone(100)).at(4.0);
    says(format!(
        "{} at distance 1, {} at distance 2",
        digits(near),
        digits(far)
    ));
    let truth = shuffle_gaussian::pair(1.0, Crowd::CheckIn(4, 0.1)).at(12.0);
    let claimed = shuffle_gaussian::theorem_3(1.0, 4, 0.1).at(12.0);
    assert!(claimed < truth);
    says(format!(
        "{} claimed, {} for one pair of datasets",
        digits(claimed),
        digits(truth)
    ));
    // Table 1 is its cap on orders.
    let delta = 1.0f64 / 60_000.0;
    let cap = ((1.0 / delta).ln() + 29.0 * (29.0f64 / 30.0).ln() - 30f64.ln()) / 29.0;
    says(format!("{cap:.5}"));
    let free = shuffle_gaussian::pair(9.48, Crowd::Everyone(60_000))
        .epsilon(delta)
        .unwrap();
    says(format!("{:.5} at order {}", free.value, free.order));
    // σ = 9.48 is the classical calibration at sensitivity 2.
    let classical = 2.0 * (2.0 * (1.25f64 / delta).ln()).sqrt();
    says(format!("{classical:.3}"));
}

#[test]
fn shuffled_check_in_names_an_impossible_delta() {
    let delta = 1e-4f64;
    assert!(delta.powi(-2) > 1.0);
    // δ² makes what the randomizers add of the order of δ.
    let extra = feldman_2021::extra_delta(10_000, 2.0, delta * delta, 0.1);
    assert!(extra < 10.0 * delta);
    says(format!("adds {} to δ", digits(extra)));
}

#[test]
fn lemma_7_needs_both_directions() {
    let base = Profile::new(Atoms::ldp(local(3.0)).unwrap(), 100);
    let both = zhu_2022::epsilon(&base, 0.01, 1000, 1e-6).unwrap();
    let round = Round::new(Mechanism::ldp(3.0).unwrap(), 10_000)
        .unwrap()
        .sample(100)
        .unwrap();
    let exact = account(Plan::new(round, 1000).unwrap())
        .unwrap()
        .epsilon(Delta::new(1e-6).unwrap())
        .unwrap();
    says(format!(
        "{} with both, {} by the exact atoms",
        digits(both),
        digits(exact.upper().value())
    ));
}
