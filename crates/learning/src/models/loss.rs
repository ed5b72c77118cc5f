//! Cross-entropy of the softmax.
//!
//! ```text
//! L = ln Σ_j e^{z_j} − z_label          ∂L/∂z_j = e^{z_j}/Σ e^z − [j = label]
//! ```
//!
//! The largest z is taken out of the sum, so nothing overflows.

use super::real::Real;

/// The loss, and its derivative into `slopes`.
pub(crate) fn cross_entropy<T: Real>(scores: &[T], label: usize, slopes: &mut [T]) -> T {
    let top = scores
        .iter()
        .fold(scores[0], |top, &z| if z > top { z } else { top });
    let mut sum = T::ZERO;
    for (slope, &z) in slopes.iter_mut().zip(scores) {
        *slope = (z - top).exp();
        sum += *slope;
    }
    for slope in slopes.iter_mut() {
        *slope = *slope / sum;
    }
    slopes[label] = slopes[label] - T::ONE;
    sum.ln() + (top - scores[label])
}

#[cfg(test)]
mod tests {
    use super::cross_entropy;

    #[test]
    fn huge_scores_do_not_overflow() {
        let mut slopes = [0.0f32; 3];
        let loss = cross_entropy(&[1e30, 1e30, -1e30], 0, &mut slopes);
        assert!((loss - 2f32.ln()).abs() < 1e-6);
        assert_eq!(slopes, [-0.5, 0.5, 0.0]);
    }
}
