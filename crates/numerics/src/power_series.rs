//! Powers of a power series of positive coefficients, all of them known by their logarithms.
//!
//! ```text
//! Σ b_m x^m = (1 + Σ_{k≥1} a_k x^k)^N:     b_m = (1/m) Σ_k (k(N+1) − m) a_k b_{m−k}
//! ```
//!
//! (J. C. P. Miller). Up to the order (N+1) times the lowest power k with a_k > 0 no term is negative; beyond
//! it the power is taken by repeated squaring. Either way all terms are positive, and every coefficient has
//! full relative accuracy.
//!
//! Standing: ordinary floating point.

use crate::special::{exp, ln};
use std::ops::RangeInclusive;

/// Terms below e^{−`DEPTH`} ≈ 3e-20 of the largest are left out: far below the rounding of the sum.
const DEPTH: f64 = 45.0;

/// ln Σ e^{left_j + right_{k−j}} over j in `range`.
///
/// ```
/// use shuffledp_numerics::power_series::ln_convolution;
/// // (1 + 2x)(3 + 5x): the coefficient of x is 11.
/// let (left, right) = ([1f64, 2.0].map(f64::ln), [3f64, 5.0].map(f64::ln));
/// assert!((ln_convolution(&left, &right, 1, 0..=1).exp() - 11.0).abs() < 1e-12);
/// ```
pub fn ln_convolution(left: &[f64], right: &[f64], k: usize, range: RangeInclusive<usize>) -> f64 {
    let (start, end) = (*range.start(), *range.end());
    if start > end {
        return f64::NEG_INFINITY;
    }
    let right = &right[k - end..=k - start];
    let left = &left[start..=end];
    let mut top = f64::NEG_INFINITY;
    for (a, b) in left.iter().zip(right.iter().rev()) {
        top = top.max(a + b);
    }
    if !top.is_finite() {
        return top;
    }
    let mut sum = 0.0;
    for (a, b) in left.iter().zip(right.iter().rev()) {
        let term = a + b - top;
        if term > -DEPTH {
            sum += exp(term);
        }
    }
    top + ln(sum)
}

/// ln of the coefficients of (Σ e^{series_k} xᵏ)^exponent, as many as the series has; series₀ = 0.
///
/// ```
/// use shuffledp_numerics::power_series::ln_power;
/// // (1 + 2x + x²)³ = 1 + 6x + 15x² + 20x³ + …
/// let series = [0.0, 2f64.ln(), 0.0, f64::NEG_INFINITY];
/// let power = ln_power(&series, 3);
/// assert!((power[2].exp() - 15.0).abs() < 1e-12 && (power[3].exp() - 20.0).abs() < 1e-12);
/// ```
pub fn ln_power(series: &[f64], exponent: u64) -> Vec<f64> {
    let count = exponent as f64;
    let is_there = |a: &f64| *a > f64::NEG_INFINITY;
    let Some(lowest) = series.iter().skip(1).position(is_there) else {
        return series.to_vec();
    };
    let lowest = lowest + 1;
    if series.len() as f64 > lowest as f64 * (count + 1.0) + 1.0 {
        return squaring(series, exponent);
    }
    let mut out = vec![0.0];
    let scaled: Vec<f64> = series
        .iter()
        .enumerate()
        .map(|(k, a)| a + ln(k.max(1) as f64))
        .collect();
    for m in 1..series.len() {
        let mut top = f64::NEG_INFINITY;
        for k in lowest..=m {
            top = top.max(scaled[k] + out[m - k]);
        }
        if !top.is_finite() {
            out.push(f64::NEG_INFINITY);
            continue;
        }
        let mut sum = 0.0;
        for k in lowest..=m {
            let term = scaled[k] + out[m - k] - top;
            if term > -DEPTH {
                // k(N+1) − m over k, the factor k being part of the term.
                let part = (k as f64 * (count + 1.0) - m as f64) / (k as f64);
                sum += part.max(0.0) * exp(term);
            }
        }
        out.push(top + ln(sum / m as f64));
    }
    out
}

/// The same by repeated squaring.
fn squaring(series: &[f64], exponent: u64) -> Vec<f64> {
    let product = |a: &[f64], b: &[f64]| -> Vec<f64> {
        (0..a.len())
            .map(|k| ln_convolution(a, b, k, 0..=k))
            .collect()
    };
    let mut result = vec![f64::NEG_INFINITY; series.len()];
    result[0] = 0.0;
    let (mut base, mut left) = (series.to_vec(), exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = product(&result, &base);
        }
        left >>= 1;
        if left > 0 {
            base = product(&base, &base);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{ln_power, squaring};

    /// Both ways agree on either side of the order where the recurrence would have negative terms.
    #[test]
    fn the_recurrence_and_repeated_squaring_agree() {
        for first in [f64::NEG_INFINITY, -1.5] {
            let mut series = vec![0.0, first];
            series.extend((2..24).map(|k| -0.3 * f64::from(k)));
            for exponent in [1, 3, 11, 12, 23, 24, 100, 1 << 40] {
                let (one, other) = (ln_power(&series, exponent), squaring(&series, exponent));
                for (k, (a, b)) in one.iter().zip(&other).enumerate() {
                    let close = (a - b).abs() < 1e-9 * (1.0 + b.abs()) || a == b;
                    assert!(close, "exponent {exponent}, power {k}: {a} and {b}");
                }
            }
        }
    }
}
