//! Clipping: what bounds one example's influence before its gradient is randomised.
//!
//! ```text
//! g ← g · min(1, C/‖g‖₂)
//! ```
//!
//! The norm is summed in f64, in eight lanes, so the order of additions is fixed.

use crate::error::Error;

const LANES: usize = 8;

/// Scales a vector down to norm `bound` if it is longer, and gives the norm it had. What comes out is within the bound but for the rounding of its numbers.
///
/// A vector with a NaN or infinite coordinate has no norm and is refused: nobody should randomise it.
///
/// ```
/// use shuffledp_learning::clip_l2;
/// let mut gradient = [3.0, 4.0];
/// assert_eq!(clip_l2(&mut gradient, 1.0)?, 5.0);
/// assert_eq!(gradient, [0.6, 0.8]);
/// assert!(clip_l2(&mut [f32::NAN], 1.0).is_err());
/// # Ok::<(), shuffledp_learning::Error>(())
/// ```
pub fn clip_l2(gradient: &mut [f32], bound: f64) -> Result<f64, Error> {
    if !(1e-30..=1e30).contains(&bound) {
        return Err(Error::parameter("bound", bound, "[1e-30, 1e30]"));
    }
    let norm = norm_l2(gradient);
    if !norm.is_finite() {
        return Err(Error::NotFinite);
    }
    if norm > bound {
        let scale = bound / norm;
        for slope in gradient {
            *slope = (f64::from(*slope) * scale) as f32;
        }
    }
    Ok(norm)
}

/// ‖g‖₂.
fn norm_l2(vector: &[f32]) -> f64 {
    let mut sums = [0.0; LANES];
    let chunks = vector.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(*x) * f64::from(*x);
        }
    }
    let rest: f64 = rest.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    (sums.iter().sum::<f64>() + rest).sqrt()
}

#[cfg(test)]
mod tests {
    use super::clip_l2;
    use crate::error::Error;

    #[test]
    fn short_vectors_stay_and_long_ones_reach_the_bound() {
        let mut short: Vec<f32> = (0..21).map(|i| 0.01 * i as f32).collect();
        let before = short.clone();
        clip_l2(&mut short, 1.0).unwrap();
        assert_eq!(short, before);
        let mut long: Vec<f32> = before.iter().map(|x| 100.0 * x).collect();
        let norm = clip_l2(&mut long, 1.0).unwrap();
        let direct = before
            .iter()
            .map(|x| f64::from(100.0 * x).powi(2))
            .sum::<f64>();
        assert!((norm - direct.sqrt()).abs() < 1e-12 * norm);
        assert!((clip_l2(&mut long, 1.0).unwrap() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn huge_numbers_come_down_to_the_bound() {
        let mut huge = [f32::MAX; 3];
        clip_l2(&mut huge, 1e-3).unwrap();
        let norm = clip_l2(&mut huge, 1.0).unwrap();
        assert!((norm - 1e-3).abs() < 1e-9);
    }

    #[test]
    fn what_has_no_norm_is_refused() {
        for bad in [f32::NAN, f32::INFINITY] {
            assert!(matches!(
                clip_l2(&mut [1.0, bad], 1.0),
                Err(Error::NotFinite)
            ));
        }
        for bound in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(clip_l2(&mut [1.0], bound).is_err());
        }
    }
}
