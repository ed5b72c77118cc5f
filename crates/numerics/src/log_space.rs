//! Sums of numbers known by their logarithms.

use crate::special::{exp, ln, ln_1p};

/// ln(e^a + e^b), where −∞ stands for zero.
///
/// ```
/// use shuffledp_numerics::log_space::ln_add_exp;
/// assert_eq!(ln_add_exp(-1000.0, -1000.0), -1000.0 + 2f64.ln());
/// assert_eq!(ln_add_exp(f64::NEG_INFINITY, 3.0), 3.0);
/// ```
pub fn ln_add_exp(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if small == f64::NEG_INFINITY {
        large
    } else {
        large + ln_1p(exp(small - large))
    }
}

/// ln(1 + e^x).
///
/// ```
/// use shuffledp_numerics::log_space::ln_1p_exp;
/// assert_eq!(ln_1p_exp(0.0), 2f64.ln());
/// assert_eq!((ln_1p_exp(1e3), ln_1p_exp(f64::NEG_INFINITY)), (1e3, 0.0));
/// ```
pub fn ln_1p_exp(x: f64) -> f64 {
    if x > 0.0 {
        x + ln_1p(exp(-x))
    } else {
        ln_1p(exp(x))
    }
}

/// ln Σ e^{x}; −∞ for no terms.
///
/// ```
/// use shuffledp_numerics::log_space::ln_sum_exp;
/// assert!((ln_sum_exp(&[1000.0, 1000.0, 0.0]) - (1000.0 + 2f64.ln())).abs() < 1e-12);
/// ```
pub fn ln_sum_exp(terms: &[f64]) -> f64 {
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !top.is_finite() {
        return top;
    }
    // Terms far below the largest add nothing, and an exponential costs more than a comparison.
    let sum: f64 = terms
        .iter()
        .filter(|&&term| term > top - 45.0)
        .map(|term| exp(term - top))
        .sum();
    top + ln(sum)
}
