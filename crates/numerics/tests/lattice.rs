//! Sums of lattice variables against plain convolution, with and without the fast Fourier transform.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use shuffledp_numerics::lattice::{Measure, Sum};
use std::sync::Arc;

/// Σ p (1 − e^{t−x})₊ of the convolution of all these measures, each taken as often as it says.
fn convolved(parts: &[(Vec<f64>, i64, i32, u32)], t: f64) -> f64 {
    let finest = parts.iter().map(|part| part.2).min().unwrap();
    let mut law = vec![1.0];
    let mut first = 0i64;
    for (masses, start, exponent, count) in parts {
        let stride = 1i64 << (exponent - finest);
        for _ in 0..*count {
            let mut next = vec![0.0; law.len() + (masses.len() - 1) * stride as usize];
            for (i, p) in law.iter().enumerate() {
                for (j, q) in masses.iter().enumerate() {
                    next[i + j * stride as usize] += p * q;
                }
            }
            law = next;
            first += start * stride;
        }
    }
    let step = 2f64.powi(finest);
    law.iter()
        .enumerate()
        .map(|(i, p)| ((first + i as i64) as f64 * step, p))
        .filter(|(x, _)| *x > t)
        .map(|(x, p)| p * -(t - x).exp_m1())
        .sum()
}

fn check(parts: &[(Vec<f64>, i64, i32, u32)], t: f64) {
    let truth = convolved(parts, t);
    let mut sum = Sum::default();
    for (masses, start, exponent, count) in parts {
        let measure = Measure::new(*exponent, *start, masses.clone()).unwrap();
        sum.add(Arc::new(measure), u64::from(*count));
    }
    let got = sum.saturating_ramp().ln_value(t, 1e-8);
    // Below 1e-14 the plain convolution has no digits to compare with... but it has only positive terms, so
    // it does.
    let slack = 1e-11;
    assert!(
        got.lower <= truth.ln() + slack && truth.ln() - slack <= got.upper,
        "{truth:e} is not in [{:e}, {:e}] at {t}",
        got.lower.exp(),
        got.upper.exp()
    );
    assert!(truth < 1e-290 || got.upper - got.lower < 1e-6, "{got:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_agree_with_convolution(
        first in prop::collection::vec(0.0f64..1.0, 2..8),
        second in prop::collection::vec(0.0f64..1.0, 2..8),
        counts in (1u32..12, 0u32..6),
        exponents in (-6i32..-1, -6i32..-1),
        position in 0.0f64..0.95,
    ) {
        let normalized = |masses: &[f64]| -> Vec<f64> {
            let total: f64 = masses.iter().sum::<f64>() + 1e-9;
            masses.iter().map(|p| (p + 1e-9) / total).collect()
        };
        let parts = vec![
            (normalized(&first), -(first.len() as i64) / 2, exponents.0, counts.0),
            (normalized(&second), -1, exponents.1, counts.1.max(1)),
        ];
        let largest: f64 = parts.iter().map(|(masses, start, exponent, count)| {
            f64::from(*count) * (start + masses.len() as i64 - 1) as f64 * 2f64.powi(*exponent)
        }).sum();
        check(&parts, position * largest.max(0.01));
    }
}

/// Where t is far below nearly all of the sum, the value is nearly the mass: how nearly, convolution says.
#[test]
fn a_sum_that_is_nearly_all_above_is_not_counted_whole() {
    let mut rare = vec![0.0; 60];
    (rare[0], rare[59]) = (1e-7, 0.99);
    let laws = [
        (vec![0.01, 0.5, 0.48], 30, -2, 2),
        (vec![0.3, 0.7], 40, -2, 3),
        (rare, -20, 0, 2),
    ];
    for law in laws {
        let mut sum = Sum::default();
        let measure = Measure::new(law.2, law.1, law.0.clone()).unwrap();
        sum.add(Arc::new(measure), u64::from(law.3));
        for t in 0..24 {
            let t = f64::from(t);
            let truth = convolved(std::slice::from_ref(&law), t).ln();
            for target in [1e-8, 1e-2, 0.1] {
                let got = sum.saturating_ramp().ln_value(t, target);
                assert!(
                    got.lower <= truth + 1e-11 && truth - 1e-11 <= got.upper,
                    "{truth} is not in {got:?} at {t} to {target}"
                );
            }
        }
    }
}

#[test]
fn rare_jumps_on_a_fine_lattice_use_the_transform_and_stay_exact() {
    // Nearly always nothing, now and then a jump of 1000 steps either way: the integrand never dies out.
    let mut masses = vec![0.0; 2001];
    (masses[0], masses[1000], masses[2000]) = (1e-3, 0.9975, 1.5e-3);
    for position in [0.0, 0.3, 1.7, 2.4] {
        check(&[(masses.clone(), -1000, -10, 12)], position);
    }
    // Noise on top, so that every lattice point has mass.
    let noisy: Vec<f64> = masses
        .iter()
        .enumerate()
        .map(|(i, p)| p * 0.999 + 0.001 / 2001.0 * (1.0 + (i as f64).sin()))
        .collect();
    check(&[(noisy, -1000, -10, 4)], 0.7);
}

#[test]
fn measures_are_checked() {
    for bad in [
        vec![],
        vec![0.0],
        vec![-0.1, 1.0],
        vec![f64::NAN],
        vec![f64::INFINITY],
    ] {
        assert!(Measure::new(-3, 0, bad).is_none());
    }
    assert!(Measure::new(2000, 0, vec![1.0]).is_none());
}
