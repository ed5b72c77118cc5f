//! Dwork, Rothblum, Vadhan, *Boosting and differential privacy* (FOCS 2010): advanced composition, beside
//! basic composition, as in textbooks.
//!
//! ```text
//! basic      ε_g = Tε,                                         δ_g = Tδ
//! advanced   ε_g = ε √(2T ln(1/δ′)) + Tε (e^ε − 1)/(e^ε + 1),  δ_g = Tδ + δ′
//! ```
//!
//! The second term of the advanced ε_g, the expected loss, is in the sharper form of Dwork and Rothblum.
//! Side: upper. Standing: proved.

use super::{Unmet, require};

/// Basic composition of `rounds` rounds of ε.
pub fn basic(rounds: u64, epsilon: f64) -> f64 {
    rounds as f64 * epsilon
}

/// Advanced composition of `rounds` rounds of (`epsilon`, `delta_each`) at a total of `delta`.
///
/// ```
/// use shuffledp_accounting::bounds::{dwork_2010, kairouz_2015};
/// let advanced = dwork_2010::advanced(100, 0.1, 0.0, 1e-6)?;
/// assert!(advanced > kairouz_2015::epsilon(100, 0.1, 0.0, 1e-6)? && advanced < 10.0);
/// # Ok::<(), shuffledp_accounting::bounds::Unmet>(())
/// ```
pub fn advanced(rounds: u64, epsilon: f64, delta_each: f64, delta: f64) -> Result<f64, Unmet> {
    let rounds = rounds as f64;
    let left = delta - rounds * delta_each;
    require(left > 0.0, || "T delta_round < delta".into())?;
    let drift = epsilon * (0.5 * epsilon).tanh();
    Ok(epsilon * (-2.0 * rounds * left.ln()).sqrt() + rounds * drift)
}
