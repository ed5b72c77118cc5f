//! Feldman, McMillan, Talwar, *Hiding among the clones* (FOCS 2021).
//!
//! ```text
//! Theorem 3.1   ε = ln(1 + (E−1)/(E+1) (8 √(E ln(4/δ)/n) + 8E/n))        for ε₀ ≤ ln(n/(16 ln(2/δ)))
//! Theorem 3.8   (ε₀, δ₀)-LDP: the same ε, δ + (e^ε + 1)(1 + e^{−ε₀}/2) n δ₀
//! ```
//!
//! The pair behind it, evaluated exactly, is [`crate::atoms::Atoms::ldp_adaptive`].
//!
//! Side: upper. Standing: proved. For any randomizers, which may adapt to earlier reports of the round.

use super::{Unmet, require};

/// ε of one round of ε₀-LDP randomizers, by the closed form.
///
/// ```
/// use shuffledp_accounting::bounds::feldman_2021::epsilon;
/// assert!((epsilon(1_000_000, 4.0, 1e-8).unwrap() - 0.226368).abs() < 1e-6);
/// assert!(epsilon(10_000, 4.0, 1e-6).is_err());
/// ```
pub fn epsilon(users: u64, epsilon0: f64, delta: f64) -> Result<f64, Unmet> {
    let (e, n) = (epsilon0.exp(), users as f64);
    require(e * 16.0 * (2.0 / delta).ln() <= n, || {
        "epsilon0 <= ln(n/(16 ln(2/delta)))".into()
    })?;
    let amplified = 8.0 * (e * (4.0 / delta).ln() / n).sqrt() + 8.0 * e / n;
    Ok((epsilon0.exp_m1() / (e + 1.0) * amplified).ln_1p())
}

/// The amount that a δ₀ > 0 of each of n users adds to δ, at a central ε.
pub fn extra_delta(users: u64, epsilon0: f64, delta0: f64, epsilon: f64) -> f64 {
    (epsilon.exp() + 1.0) * (1.0 + 0.5 * (-epsilon0).exp()) * users as f64 * delta0
}

/// ε of one round of (ε₀, δ₀)-LDP randomizers with a total of δ.
pub fn epsilon_approximate(
    users: u64,
    epsilon0: f64,
    delta0: f64,
    delta: f64,
) -> Result<f64, Unmet> {
    // `share` is the δ of the closed form; the δ₀ of the users take the rest. A smaller share means a larger
    // ε and a larger rest. It is reduced until the total fits, and halving it always ends.
    let mut share = delta;
    for _ in 0..200 {
        let epsilon = epsilon(users, epsilon0, share)?;
        if share + extra_delta(users, epsilon0, delta0, epsilon) <= delta {
            return Ok(epsilon);
        }
        let next = delta - extra_delta(users, epsilon0, delta0, epsilon);
        share = if next > 0.0 && next < share {
            next * (1.0 - 1e-9)
        } else {
            0.5 * share
        };
    }
    Err(Unmet(
        "(e^epsilon + 1)(1 + e^-epsilon0/2) n delta0 < delta".into(),
    ))
}
