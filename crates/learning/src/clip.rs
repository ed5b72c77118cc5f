//! Clipping: what bounds one example's influence before its gradient is randomised.
//!
//! ```text
//! g ← g · min(1, C/‖g‖₂)
//! ```
//!
//! The norm is summed in f64, in eight lanes, so the order of additions is fixed.

const LANES: usize = 8;

/// Scales a vector down to norm `bound` if it is longer, and gives the norm it had.
///
/// A vector with a NaN or infinite coordinate is left as it is, and the norm that comes back is not finite: refuse it. So is any vector under a bound that is not positive.
///
/// ```
/// let mut gradient = [3.0, 4.0];
/// assert_eq!(shuffledp_learning::clip_l2(&mut gradient, 1.0), 5.0);
/// assert!((gradient[0] - 0.6).abs() < 1e-7 && (gradient[1] - 0.8).abs() < 1e-7);
/// ```
pub fn clip_l2(gradient: &mut [f32], bound: f64) -> f64 {
    let norm = norm_l2(gradient);
    if norm > bound && norm.is_finite() && bound > 0.0 {
        let scale = (bound / norm) as f32;
        gradient.iter_mut().for_each(|slope| *slope *= scale);
    }
    norm
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

    #[test]
    fn short_vectors_stay_and_long_ones_reach_the_bound() {
        let mut short: Vec<f32> = (0..21).map(|i| 0.01 * i as f32).collect();
        let before = short.clone();
        clip_l2(&mut short, 1.0);
        assert_eq!(short, before);
        let mut long: Vec<f32> = before.iter().map(|x| 100.0 * x).collect();
        let norm = clip_l2(&mut long, 1.0);
        let direct = before
            .iter()
            .map(|x| f64::from(100.0 * x).powi(2))
            .sum::<f64>();
        assert!((norm - direct.sqrt()).abs() < 1e-12 * norm);
        assert!((clip_l2(&mut long, 1.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_is_not_finite_is_said() {
        assert!(clip_l2(&mut [1.0, f32::NAN], 1.0).is_nan());
        assert_eq!(clip_l2(&mut [1.0, f32::INFINITY], 1.0), f64::INFINITY);
    }
}
