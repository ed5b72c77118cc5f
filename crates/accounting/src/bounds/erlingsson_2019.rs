//! Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta, *Amplification by shuffling* (SODA 2019): the
//! first bound.
//!
//! ```text
//! ε = 12 ε₀ √(ln(1/δ)/n)        for ε₀ ≤ 1/2, n ≥ 1000, δ ≤ 1/100
//! ```
//!
//! Side: upper. Standing: proved. For any ε₀-LDP randomizers, which may adapt to earlier reports of the
//! round. Of historical interest: later bounds are smaller.

use super::{Unmet, require};

/// ε of one round.
///
/// ```
/// use shuffledp_accounting::bounds::erlingsson_2019::epsilon;
/// assert!((epsilon(10_000, 0.5, 1e-6).unwrap() - 0.223).abs() < 1e-3);
/// assert_eq!(epsilon(10_000, 1.0, 1e-6).unwrap_err().to_string(), "epsilon0 <= 1/2");
/// ```
pub fn epsilon(users: u64, epsilon0: f64, delta: f64) -> Result<f64, Unmet> {
    require(epsilon0 <= 0.5, || "epsilon0 <= 1/2".into())?;
    require(users >= 1000, || "n >= 1000".into())?;
    require(delta <= 0.01, || "delta <= 1/100".into())?;
    Ok(12.0 * epsilon0 * (-delta.ln() / users as f64).sqrt())
}
