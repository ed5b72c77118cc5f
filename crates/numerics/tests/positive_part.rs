//! E(X₁ + … + Xₘ + s)₊: the two ways against plain enumeration, and against each other.
//!
//! Chain of trust: every sequence of m draws is enumerated for small m; the direct sum over counts encloses
//! that; the contour encloses it too, although it is meant for large m; and for m up to 1e6 contour and
//! direct sum enclose the same numbers.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use shuffledp_numerics::enclosure::LnEnclosure;
use shuffledp_numerics::positive_part::testing::{by_contour, by_direct};
use shuffledp_numerics::positive_part::{Atom, Sum};

/// φ(z) − z(1 − Φ(z)) for large z, by its asymptotic series: E(Z − z)₊ of a normal Z.
fn normal_excess(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let square = z * z;
    density / square * (1.0 - 3.0 / square + 15.0 / square.powi(2) - 105.0 / square.powi(3))
}

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
        let overlap = contour.lower <= direct.upper && direct.lower <= contour.upper;
        prop_assert!(overlap, "{contour:?} {direct:?}");
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

/// A lognormal law of thousands of atoms, up to e¹⁶, and so many terms that the sum is normal to ten digits.
/// The range of the law is so wide that a bound on the transform by the range says nothing.
#[test]
fn many_atoms_at_the_largest_counts_meet_the_central_limit() {
    let (spread, count) = (0.44, 9e15);
    let (mut weights, mut values) = (Vec::new(), Vec::new());
    for i in -9_000..=9_000 {
        let z = f64::from(i) / 250.0;
        weights.push((-0.5 * z * z).exp().max(1e-250));
        values.push((spread * z).exp());
    }
    let centered = law(&weights, &values, 0.0);
    let variance: f64 = centered.iter().map(|a| a.weight * a.value * a.value).sum();
    let deviation = (count * variance).sqrt();
    for z in [8.0, 21.0] {
        let mean = -z * deviation / count;
        let atoms = law(&weights, &values, mean);
        let found = Sum {
            atoms: &atoms,
            mean,
            count,
            shift: 0.0,
        }
        .ln_positive_part(1e-6);
        let truth = deviation.ln() + normal_excess(z).ln();
        // The series leaves out a part of 945/z⁸ of itself.
        let slack = 1e3 / f64::powi(z, 8) + 2e-3;
        assert!(
            (found.lower - truth).abs() < slack && (found.upper - truth).abs() < slack,
            "{found:?} {truth}"
        );
    }
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

/// A law of many atoms with tails of some weight, centered.
fn many_atoms(seed: u64, heavy: bool) -> Vec<Atom> {
    let mut state = seed;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let (mut weights, mut values) = (Vec::new(), Vec::new());
    for _ in 0..150 {
        let x = 6.0 * random() - 3.0;
        weights.push((-0.5 * x * x).exp() * (0.5 + random()));
        values.push(if heavy { (1.5 * x).exp() } else { x });
    }
    law(&weights, &values, 0.0)
}

/// One term is a sum over the atoms, few or many; a contour through the same law agrees.
#[test]
fn one_term_is_a_sum_over_the_atoms() {
    for (seed, heavy) in [(1, false), (2, true)] {
        let many = many_atoms(seed, heavy);
        let few = law(&[0.25, 0.5, 0.25], &[1.0, 0.125, -2.0], -0.1);
        for (atoms, shift) in [(&many, 0.0), (&many, -0.75), (&few, 0.0), (&few, -0.75)] {
            let sum = Sum {
                atoms,
                mean: atoms
                    .iter()
                    .map(|a| a.weight * a.value)
                    .sum::<f64>()
                    .min(0.0),
                count: 1.0,
                shift,
            };
            let truth: f64 = atoms
                .iter()
                .map(|a| a.weight * (a.value + shift).max(0.0))
                .sum();
            let got = sum.ln_positive_part(1e-6);
            assert_encloses("one term", got, truth, 0.0);
            assert!(got.upper - got.lower < 1e-11, "{got:?}");
            let contour = by_contour(&sum, 1e-6).unwrap();
            assert!(
                contour.lower <= truth.ln() && truth.ln() <= contour.upper,
                "{contour:?}"
            );
        }
    }
}

/// Laws of many atoms, laid out on lattices above and below or thinned, against the same laws as they are.
fn many_atoms_are_enclosed(seeds: [u64; 2], heavy: bool) {
    for seed in seeds {
        for count in [2.0, 5.0, 40.0, 250.0, 1000.0, 30_000.0] {
            for deviations in [0.0, 1.0, 3.0, 5.0] {
                let centered = many_atoms(seed, heavy);
                let variance: f64 = centered.iter().map(|a| a.weight * a.value * a.value).sum();
                let mean = -deviations * (variance / count).sqrt();
                let atoms: Vec<Atom> = centered
                    .iter()
                    .map(|a| Atom {
                        value: a.value + mean,
                        magnitude: a.magnitude - mean,
                        ..*a
                    })
                    .collect();
                let sum = Sum {
                    atoms: &atoms,
                    mean,
                    count,
                    shift: 0.0,
                };
                let Some(exact) = by_contour(&sum, 1e-8) else {
                    continue;
                };
                let got = sum.ln_positive_part(1e-6);
                let setting = format!("seed {seed} m {count} z {deviations}: {got:?} {exact:?}");
                assert!(
                    got.lower <= exact.upper && exact.lower <= got.upper,
                    "{setting}"
                );
                // In units of the point where the value is reached: the logarithm falls by about z² there.
                let leverage = (deviations * deviations).max(1.0);
                assert!(
                    got.upper - exact.upper < 2e-6 * leverage + 1e-6,
                    "{setting}"
                );
                // Below, isolated atoms are moved to a lattice, which costs more where there are few terms.
                assert!(
                    exact.lower - got.lower < 2e-5 * leverage + 1e-4,
                    "{setting}"
                );
            }
        }
    }
}

#[test]
fn many_atoms_are_enclosed_like_few() {
    many_atoms_are_enclosed([1, 3], false);
}

#[test]
fn many_atoms_with_heavy_tails_are_enclosed_like_few() {
    many_atoms_are_enclosed([2, 4], true);
}

/// Values far beyond all others enter by their mean alone: for a given mean their size does not matter.
#[test]
fn a_far_tail_is_clipped() {
    let base = many_atoms(5, false);
    let with_tail = |place: f64, worth: f64| -> Vec<Atom> {
        let weight = worth / place;
        let mut atoms: Vec<Atom> = base
            .iter()
            .map(|a| Atom {
                weight: a.weight * (1.0 - weight),
                value: a.value - 0.5 - worth,
                magnitude: a.magnitude + 0.5 + worth,
            })
            .collect();
        atoms.push(Atom {
            weight,
            value: place,
            magnitude: place,
        });
        atoms
    };
    let value = |place: f64| {
        let atoms = with_tail(place, 1e-12);
        let mean = -0.5 - 1e-12 + (0.5 + 2e-12) * 1e-12 / place;
        let sum = Sum {
            atoms: &atoms,
            mean: mean + 1e-12,
            count: 1000.0,
            shift: 0.0,
        };
        sum.ln_positive_part(1e-6)
    };
    // One such term makes the sum its size minus the deficit, which is negligible beside 1e9: 1000 · 1e-12.
    let expected = 1e-9f64.ln();
    for place in [1e9, 1e30, 1e90] {
        let got = value(place);
        assert!(
            (got.upper - expected).abs() < 1e-5 && (got.lower - expected).abs() < 1e-5,
            "{place}: {got:?}"
        );
    }
}

/// Nearly all terms are zero, some are below it, and one in 1e290 is above it: the sum is positive where a
/// single such term stands alone. A value far below all others sets the scale, so that products of the values
/// that matter and their weights are below the smallest double. At most that much is known to be there.
#[test]
fn products_below_the_smallest_double_leave_a_bound() {
    let atom = |weight: f64, value: f64| Atom {
        weight,
        value,
        magnitude: value.abs(),
    };
    let (top, count) = ((1e-290, 1e-54), 1000.0);
    let mut atoms: Vec<Atom> = (0..70)
        .map(|i| atom(0.005 / 70.0, -1e-53 * (1.0 + f64::from(i) / 70.0)))
        .collect();
    atoms.extend([atom(0.995, 0.0), atom(1e-70, -1.0), atom(top.0, top.1)]);
    let sum = Sum {
        atoms: &atoms,
        mean: atoms.iter().map(|atom| atom.weight * atom.value).sum(),
        count,
        shift: 0.0,
    };
    let truth = (count * top.0).ln() + top.1.ln() + (count - 1.0) * 0.995f64.ln();
    let found = sum.ln_positive_part(1e-3);
    let smallest = (count * atoms.len() as f64 * f64::MIN_POSITIVE).ln();
    assert!(
        found.lower <= truth && truth <= found.upper && found.upper < smallest + 1e-9,
        "{found:?} {truth} {smallest}"
    );
}
