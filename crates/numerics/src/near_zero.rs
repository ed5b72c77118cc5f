//! How fast a characteristic function falls from 1 near zero, by four moments.
//!
//! With X′ an independent copy of X, v = Var X and k = E(X − X′)⁴/v² = 2 E(X − EX)⁴/v² + 6,
//!
//! ```text
//! |φ(θ)|² = E cos θ(X − X′) ≤ 1 − E(X − X′)² θ²/2 + E(X − X′)⁴ θ⁴/24 = 1 − y + k y²/24,     y = θ² v
//! ```
//!
//! which falls until y = 12/k, so that its value at the start of an interval bounds the whole of it. Only y
//! and k are kept, which do not depend on the unit of X: fourth powers of values overflow and underflow.
//!
//! Standing: certified, for a variance that is rounded down and a fourth moment that is rounded up.

use crate::special::ln_1p;

/// For the rounding of a variance and of the few operations of the bound, with a wide margin.
const SLACK: f64 = 1e-6;
/// A smaller variance may have been rounded by more than that, and counts as zero.
const LEAST_VARIANCE: f64 = 1e-290;

/// The bound for one law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearZero {
    /// The square root of v, rounded down.
    deviation: f64,
    /// k, rounded up.
    fourth: f64,
}

impl NearZero {
    /// For a law with at least this variance, and at most this fourth central moment in units of the
    /// variance's square.
    pub(crate) fn new(variance: f64, fourth: f64) -> Self {
        Self {
            deviation: match variance < LEAST_VARIANCE {
                true => 0.0,
                false => variance.sqrt(),
            },
            fourth: 2.0 * fourth + 6.0,
        }
    }

    /// An upper bound on ln |φ| for all θ in [start, end]; none where that is too far from zero, or a number
    /// is not known.
    pub(crate) fn ln_modulus(&self, start: f64, end: f64) -> Option<f64> {
        let (near, far) = (start * self.deviation, end * self.deviation);
        // False also where one of them is not a number.
        let falls = far * far * self.fourth <= 12.0;
        falls.then(|| {
            let y = near * near;
            0.5 * ln_1p(-y * (1.0 - y * self.fourth / 24.0) * (1.0 - SLACK))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::NearZero;

    /// Two points, three points, and one that is rare and far out, in units from the least to the largest
    /// doubles: the transform itself is below the bound, and the bound is the same in every unit.
    #[test]
    fn no_transform_is_above_the_bound_in_any_unit() {
        let laws: [&[(f64, f64)]; 3] = [
            &[(0.5, -1.0), (0.5, 1.0)],
            &[(0.3, -2.0), (0.5, 0.0), (0.2, 3.0)],
            &[(0.96, 0.0), (0.04, 250.0)],
        ];
        for law in laws {
            let mean: f64 = law.iter().map(|(w, x)| w * x).sum();
            let central = |power| {
                law.iter()
                    .map(|(w, x)| w * (x - mean).powi(power))
                    .sum::<f64>()
            };
            let (variance, fourth) = (central(2), central(4) / central(2).powi(2));
            let least = NearZero::new(variance, fourth);
            let end = (12.0 / (2.0 * fourth + 6.0) / variance).sqrt();
            for unit in [2f64.powi(-270), 1.0, 2f64.powi(400)] {
                let scaled = NearZero::new(variance * unit * unit, fourth);
                for step in 0..100 {
                    let theta = f64::from(step) / 100.0 * end;
                    let part =
                        |f: fn(f64) -> f64| law.iter().map(|(w, x)| w * f(theta * x)).sum::<f64>();
                    let truth = part(f64::cos).hypot(part(f64::sin)).ln();
                    let bound = scaled.ln_modulus(theta / unit, theta / unit).unwrap();
                    assert!(
                        truth <= bound + 1e-12,
                        "{law:?} {unit} {theta}: {truth} {bound}"
                    );
                    let here = least.ln_modulus(theta, theta).unwrap();
                    assert!((bound - here).abs() <= 1e-9 * here.abs(), "{unit} {theta}");
                }
                assert!(scaled.ln_modulus(0.0, 1.001 * end / unit).is_none());
            }
        }
        assert!(NearZero::new(f64::NAN, 3.0).ln_modulus(0.0, 1.0).is_none());
        // A law of one point, and a unit in which the variance underflows.
        assert_eq!(NearZero::new(0.0, 1.0).ln_modulus(1.0, 2.0), Some(0.0));
    }
}
