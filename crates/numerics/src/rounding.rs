//! Directed rounding. The direction is in the name of every function, so that a reader can check that errors
//! fall on the safe side.
//!
//! +, −, ×, ÷ and √ are correctly rounded by IEEE 754, so one step outward encloses them. The functions of
//! [`crate::special`] are assumed within [`special::ULPS`] units, so two steps enclose them.

use crate::special;

/// Bound on the relative rounding error of a short expression: up to sixteen correctly rounded operations
/// (ε/2 each), or four calls of [`crate::special`] ([`special::ULPS`]·ε each), or a mixture. ε = 2⁻⁵².
/// Certified code adds it, times the size of the result, on the safe side; where the number of operations
/// grows with the data, the code multiplies it by that number.
pub const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Bound on the relative error of a short expression whose operands already have an error of [`ROUNDING`]
/// each, such as the slope between two computed values.
pub const ROUNDING_TWICE: f64 = 2.0 * ROUNDING;

/// The next double above x, twice.
#[inline]
pub fn widen_up(x: f64) -> f64 {
    x.next_up().next_up()
}

/// The next double below x, twice.
#[inline]
pub fn widen_down(x: f64) -> f64 {
    x.next_down().next_down()
}

/// A double that is certainly ≥ e^x.
///
/// ```
/// use shuffledp_numerics::rounding::{exp_down, exp_up};
/// assert!(exp_down(1.0) < std::f64::consts::E && std::f64::consts::E < exp_up(1.0));
/// assert_eq!(exp_down(-1e9), 0.0);
/// ```
#[inline]
pub fn exp_up(x: f64) -> f64 {
    widen_up(special::exp(x))
}

/// A double that is certainly ≤ e^x, and not negative.
#[inline]
pub fn exp_down(x: f64) -> f64 {
    widen_down(special::exp(x)).max(0.0)
}

/// A double that is certainly ≤ ln x, for x > 0.
#[inline]
pub fn ln_down(x: f64) -> f64 {
    widen_down(special::ln(x))
}

/// A double that is certainly ≥ ln x, for x ≥ 0.
#[inline]
pub fn ln_up(x: f64) -> f64 {
    widen_up(special::ln(x))
}
