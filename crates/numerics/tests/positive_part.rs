//! E(X₁ + … + Xₘ + s)₊: the two ways against plain enumeration, and against each other.
//!
//! Chain of trust: every sequence of m draws is enumerated for small m; the direct sum over counts encloses that; the contour encloses it too, although it is meant for
//! large m; and for m up to 1e6 contour and direct sum enclose the same numbers.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use shuffledp_numerics::positive_part::testing::{by_contour, by_direct};
use shuffledp_numerics::positive_part::{Atom, LnEnclosure, Sum};

/// E over all sequences of `count` draws.
fn enumerated(atoms: &[Atom], count: u32, shift: f64) -> f64 {
    fn descend(atoms: &[Atom], left: u32, probability: f64, total: f64) -> f64 {
        if left == 0 {
            return probability * total.max(0.0);
        }
        atoms
            .iter()
            .map(|a| descend(atoms, left - 1, probability * a.weight, total + a.value))
            .sum()
    }
    descend(atoms, count, 1.0, shift)
}

/// A law with the given raw weights and values, moved so that its mean is `mean`.
fn law(weights: &[f64], values: &[f64], mean: f64) -> Vec<Atom> {
    let total: f64 = weights.iter().sum();
    let average: f64 = weights.iter().zip(values).map(|(w, x)| w / total * x).sum();
    weights
        .iter()
        .zip(values)
        .map(|(w, x)| Atom {
            weight: w / total,
            value: x - average + mean,
            magnitude: x.abs() + average.abs() + mean.abs(),
        })
        .collect()
}

fn assert_encloses(what: &str, enclosure: LnEnclosure, truth: f64, slack: f64) {
    assert!(
        enclosure.lower <= truth.ln() + slack && truth.ln() - slack <= enclosure.upper,
        "{what}: ln {truth:e} = {} is not in {enclosure:?}",
        truth.ln()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_enclose_the_enumeration(
        weights in prop::collection::vec(0.001f64..1.0, 2..5),
        raw in prop::collection::vec(-3.0f64..3.0, 5),
        mean in -1.0f64..0.0,
        count in 1u32..7,
        shift in -1.0f64..0.0,
    ) {
        let atoms = law(&weights, &raw[..weights.len()], mean);
        let sum = Sum { atoms: &atoms, mean, count: f64::from(count), shift };
        let truth = enumerated(&atoms, count, shift);
        // Outcomes within rounding of zero are nobody's business.
        prop_assume!(truth > 1e-9);
        assert_encloses("direct", by_direct(&sum).unwrap(), truth, 1e-9);
        assert_encloses("contour", by_contour(&sum, 1e-4).unwrap(), truth, 1e-9);
        assert_encloses("chosen", sum.ln_positive_part(1e-6), truth, 1e-9);
    }

    #[test]
    fn contour_and_direct_sum_agree_at_large_counts(
        balance in 0.02f64..0.98,
        rare in 1e-4f64..0.3,
        exponent in 2.0f64..6.0,
        deviations in 0.0f64..12.0,
    ) {
        let count = 10f64.powf(exponent).round();
        let weights = [rare * balance, rare * (1.0 - balance), 1.0 - rare];
        let spread = (rare / count).sqrt();
        let mean = -deviations * spread;
        let atoms = law(&weights, &[1.7, -1.0, 0.05], mean);
        let sum = Sum { atoms: &atoms, mean, count, shift: 0.0 };
        let (contour, direct) = (by_contour(&sum, 1e-6).unwrap(), by_direct(&sum).unwrap());
        prop_assert!(contour.lower <= direct.upper && direct.lower <= contour.upper, "{contour:?} {direct:?}");
        prop_assert!(direct.upper - direct.lower < 1e-4, "{direct:?}");
        prop_assert!(contour.upper - contour.lower < 0.05, "{contour:?}");
    }
}

#[test]
fn a_fair_walk_has_a_closed_form() {
    // E(S)₊ for m fair steps ±1, m even: (m/2) C(m, m/2) / 2^m.
    let atoms = [1.0, -1.0].map(|value| Atom {
        weight: 0.5,
        value,
        magnitude: 1.0,
    });
    let mut probability = 1.0;
    for half in 1..=500u32 {
        let m = f64::from(2 * half);
        probability *= (m - 1.0) / m;
        let truth = 0.5 * m * probability;
        let walk = Sum {
            atoms: &atoms,
            mean: 0.0,
            count: m,
            shift: 0.0,
        };
        assert_encloses("chosen", walk.ln_positive_part(1e-6), truth, 1e-12);
        if half % 100 == 0 {
            let contour = by_contour(&walk, 1e-6).unwrap();
            assert_encloses("contour", contour, truth, 1e-12);
            assert!(contour.upper - contour.lower < 1e-4, "{contour:?}");
        }
    }
}

#[test]
fn at_a_trillion_terms_the_central_limit_is_met() {
    // A symmetric law has no skewness correction: E(S)₊ = √(m v / 2π) (1 + O(1/m)).
    let weights = [0.01, 0.01, 0.98];
    let atoms = law(&weights, &[1.0, -1.0, 0.0], 0.0);
    let sum = Sum {
        atoms: &atoms,
        mean: 0.0,
        count: 1e12,
        shift: 0.0,
    };
    let truth = (1e12 * 0.02 / (2.0 * std::f64::consts::PI)).sqrt();
    let got = sum.ln_positive_part(1e-9);
    assert_encloses("chosen", got, truth, 1e-10);
    assert!(got.upper - got.lower < 1e-7, "{got:?}");
}

#[test]
fn nothing_positive_is_exactly_zero() {
    let atoms = [Atom {
        weight: 1.0,
        value: -1.0,
        magnitude: 1.0,
    }];
    let sum = Sum {
        atoms: &atoms,
        mean: -1.0,
        count: 5.0,
        shift: 0.0,
    };
    assert_eq!(sum.ln_positive_part(1e-6), LnEnclosure::ZERO);
}

#[test]
fn a_value_no_double_can_hold_is_bounded_and_not_invented() {
    // Ten thousand draws that all have to be the rare one.
    let atoms = [(0.01, 0.5), (0.99, -100.0)].map(|(weight, value)| Atom {
        weight,
        value,
        magnitude: 100.0,
    });
    let sum = Sum {
        atoms: &atoms,
        mean: 0.01 * 0.5 - 99.0,
        count: 1e4,
        shift: 0.0,
    };
    let got = sum.ln_positive_part(1e-6);
    assert!(got.lower <= got.upper && got.upper < -700.0, "{got:?}");
}
