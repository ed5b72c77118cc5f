//! ln n! without cancellation: the Stirling remainder and the deviance.
//!
//! ```text
//! ln x!  = x ln x − x + ½ ln(2πx) + S(x)
//! D(x,m) = x ln(x/m) + m − x  ≥ 0
//! ```
//!
//! The logarithm of a binomial probability is a difference of three numbers ln x! that at n = 1e12 agree to
//! 13 digits. Written with S and D the common part cancels analytically (Loader, *Fast and accurate
//! computation of binomial probabilities*, 2000). S falls like 1/(12x), and D is zero at x = m.

use crate::special::{ln, ln_1p_minus_x, ln_gamma};
use std::f64::consts::PI;

/// Σ B₂ₖ / (2k(2k−1) x²ᵏ⁻¹): the coefficients of 1/x, 1/x³, ...
const STIRLING: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
];

/// S(x) = ln x! − (x ln x − x + ½ ln 2πx), for x > 0.
///
/// The series alternates, so the error of truncating it is below the first omitted term: 1e-17 for x ≥ 16.
pub fn stirling_remainder(x: f64) -> f64 {
    if x >= 16.0 {
        let inverse = 1.0 / x;
        let square = inverse * inverse;
        let mut sum = 0.0;
        for coefficient in STIRLING.iter().rev() {
            sum = sum * square + coefficient;
        }
        sum * inverse
    } else {
        ln_gamma(x + 1.0) - (x * ln(x) - x + 0.5 * ln(2.0 * PI * x))
    }
}

/// D(x, m) = x ln(x/m) + m − x for x, m > 0, given the difference m − x as `gap`.
///
/// The difference is passed in because it may be known more accurately than m: at n = 1e12 half a unit in the
/// last place of m = n·p is 1e-4.
pub fn deviance(x: f64, m: f64, gap: f64) -> f64 {
    if gap.abs() < 0.9 * x {
        -x * ln_1p_minus_x(gap / x)
    } else {
        // x and m are far apart, so nothing cancels.
        x * ln(x / m) + gap
    }
}

/// ln(m^x e^{−m} / x!), the logarithm of a Poisson probability (at real x), given m − x as `gap`.
///
/// The logarithm of a multinomial probability is a sum of these, one for each category with x observed and m
/// expected.
pub fn ln_poisson(x: f64, m: f64, gap: f64) -> f64 {
    if x == 0.0 {
        -gap
    } else if m == 0.0 {
        f64::NEG_INFINITY
    } else {
        -deviance(x, m, gap) - stirling_remainder(x) - 0.5 * ln(2.0 * PI * x)
    }
}

/// ln(n^n e^{−n} / n!): a multinomial probability is the product of its Poisson factors divided by this one.
pub fn ln_poisson_at_mean(n: f64) -> f64 {
    if n == 0.0 {
        0.0
    } else {
        -stirling_remainder(n) - 0.5 * ln(2.0 * PI * n)
    }
}
