//! Sums of numbers known by their logarithms.

use crate::special::{exp, ln_1p};

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
