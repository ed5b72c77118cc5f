//! Feldman, McMillan, Talwar, *Stronger privacy amplification by shuffling* (SODA 2023): closed form.
//!
//! ```text
//! ε = ln(1 + (E−1) (4 √(2 ln(4/δ)/((E+1)n)) + 4/n))        for ε₀ ≤ ln(n/(8 ln(2/δ)) − 1)
//! ```
//!
//! The published proof has an acknowledged error for general randomizers. The dominating pair it uses
//! (p = 1/(E+1)) is correct for all of them by Theorem S (`atoms.proof.md`), and the closed form follows from
//! the pair.
//!
//! Side: upper. Standing: proved. Users must not adapt to each other's reports within the round.

use super::{Unmet, require};

/// ε of one round.
///
/// ```
/// use shuffledp_accounting::bounds::feldman_2023::epsilon;
/// assert!((epsilon(1_000_000, 4.0, 1e-8).unwrap() - 0.1665).abs() < 1e-3);
/// ```
pub fn epsilon(users: u64, epsilon0: f64, delta: f64) -> Result<f64, Unmet> {
    let (e, n) = (epsilon0.exp(), users as f64);
    require(e + 1.0 <= n / (8.0 * (2.0 / delta).ln()), || {
        "epsilon0 <= ln(n/(8 ln(2/delta)) - 1)".into()
    })?;
    let amplified = 4.0 * (2.0 * (4.0 / delta).ln() / ((e + 1.0) * n)).sqrt() + 4.0 / n;
    Ok((epsilon0.exp_m1() * amplified).ln_1p())
}
