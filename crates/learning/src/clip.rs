//! Clipping: what bounds one example's influence before its gradient is randomized.
//!
//! ```text
//! l₁, l₂   g ← g · min(1, C/‖g‖)          l∞   every coordinate to [−C, C]
//! ```
//!
//! Norms are summed in f64, in eight lanes, so the order of additions is fixed.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use shuffledp_accounting::VectorNorm;

const LANES: usize = 8;

/// The norm that bounds a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// The sum of the absolute values.
    L1,
    /// The Euclidean norm.
    L2,
    /// The largest absolute value.
    LInf,
}

impl From<VectorNorm> for Norm {
    fn from(norm: VectorNorm) -> Self {
        match norm {
            VectorNorm::L1 => Self::L1,
            VectorNorm::L2 => Self::L2,
            VectorNorm::LInf => Self::LInf,
        }
    }
}

impl Norm {
    /// Brings a vector to norm `bound` if it is longer, and gives the norm it had. What comes out is within
    /// the bound but for the rounding of its numbers.
    ///
    /// A vector with a NaN or infinite coordinate has no norm and is refused: nobody should randomize it.
    ///
    /// ```
    /// use shuffledp_learning::Norm;
    /// let mut gradient = [3.0, 4.0];
    /// assert_eq!(Norm::L2.clip(&mut gradient, 1.0)?, 5.0);
    /// assert_eq!(gradient, [0.6, 0.8]);
    /// let mut gradient = [3.0, -0.5];
    /// assert_eq!(Norm::LInf.clip(&mut gradient, 1.0)?, 3.0);
    /// assert_eq!(gradient, [1.0, -0.5]);
    /// assert!(Norm::L2.clip(&mut [f32::NAN], 1.0).is_err());
    /// # Ok::<(), shuffledp_learning::Error>(())
    /// ```
    pub fn clip(self, gradient: &mut [f32], bound: f64) -> Result<f64, Error> {
        if !(1e-30..=1e30).contains(&bound) {
            return Err(Error::parameter("bound", bound, "[1e-30, 1e30]"));
        }
        let norm = self.of(gradient);
        if !norm.is_finite() {
            return Err(Error::NotFinite);
        }
        if norm > bound {
            match self {
                Self::L1 | Self::L2 => {
                    let scale = bound / norm;
                    for slope in gradient {
                        *slope = (f64::from(*slope) * scale) as f32;
                    }
                }
                Self::LInf => {
                    let bound = bound as f32;
                    for slope in gradient {
                        *slope = slope.clamp(-bound, bound);
                    }
                }
            }
        }
        Ok(norm)
    }

    /// ‖g‖; NaN or infinite where a coordinate is.
    fn of(self, vector: &[f32]) -> f64 {
        match self {
            Self::L1 => summed(vector, |x| x.abs()),
            Self::L2 => summed(vector, |x| x * x).sqrt(),
            // A maximum forgets NaN, a sum does not.
            Self::LInf => f64::from(largest(vector)) + 0.0 * summed(vector, |x| x),
        }
    }
}

/// The largest absolute value, in lanes: one chain of comparisons takes longer than the rest of a report.
fn largest(vector: &[f32]) -> f32 {
    let mut most = [0.0f32; LANES];
    let larger = |most: &mut f32, x: &f32| *most = if x.abs() > *most { x.abs() } else { *most };
    let chunks = vector.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        most.iter_mut()
            .zip(chunk)
            .for_each(|(most, x)| larger(most, x));
    }
    most.iter_mut()
        .zip(rest)
        .for_each(|(most, x)| larger(most, x));
    most.into_iter().fold(0.0, f32::max)
}

fn summed(vector: &[f32], of: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; LANES];
    let chunks = vector.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += of(f64::from(*x));
        }
    }
    let rest: f64 = rest.iter().map(|x| of(f64::from(*x))).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::Norm;
    use crate::error::Error;

    const NORMS: [Norm; 3] = [Norm::L1, Norm::L2, Norm::LInf];

    #[test]
    fn short_vectors_stay_and_long_ones_reach_the_bound() {
        let before: Vec<f32> = (0..21)
            .map(|i| 0.004 * i as f32 * [1.0, -1.0][i % 2])
            .collect();
        for norm in NORMS {
            let mut short = before.clone();
            norm.clip(&mut short, 1.0).unwrap();
            assert_eq!(short, before);
            let mut long: Vec<f32> = before.iter().map(|x| 100.0 * x).collect();
            let was = norm.clip(&mut long, 1.0).unwrap();
            let absolute = before.iter().map(|x| f64::from(100.0 * x).abs());
            let direct = match norm {
                Norm::L1 => absolute.sum::<f64>(),
                Norm::L2 => absolute.map(|x| x * x).sum::<f64>().sqrt(),
                Norm::LInf => absolute.fold(0.0, f64::max),
            };
            assert!((was - direct).abs() < 1e-12 * was);
            assert!((norm.clip(&mut long, 1.0).unwrap() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn huge_numbers_come_down_to_the_bound() {
        for norm in NORMS {
            let mut huge = [f32::MAX; 3];
            norm.clip(&mut huge, 1e-3).unwrap();
            let now = norm.clip(&mut huge, 1.0).unwrap();
            assert!((now - 1e-3).abs() < 1e-9);
        }
    }

    #[test]
    fn what_has_no_norm_is_refused() {
        for norm in NORMS {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let refused = norm.clip(&mut [1.0, bad], 1.0);
                assert!(matches!(refused, Err(Error::NotFinite)), "{norm:?} {bad}");
            }
            for bound in [0.0, -1.0, f64::NAN, f64::INFINITY] {
                assert!(norm.clip(&mut [1.0], bound).is_err());
            }
        }
    }
}
