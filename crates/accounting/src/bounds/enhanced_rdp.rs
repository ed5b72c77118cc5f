//! *Rényi differential privacy in the shuffle model: enhanced amplification bounds*.
//!
//! ```text
//! Theorem 1     the exact Rényi divergence of the clones' pair (Atoms::ldp_adaptive)   upper, proved
//! Theorem 2     "approximately" μ-GDP, μ = 2√(E/(n−1))                                 upper, asymptotic
//! Corollary 2   "approximately" ε(λ) = 2Eλ/(n−1)                                       upper, asymptotic
//! ```
//!
//! Theorem 1 is printed with a wrong pair (Δ ~ Bern(e^{−ε₀})); here it has the pair of the paper's own
//! Proposition 1, Δ ~ Bern(E/(E+1)). Theorem 2 and Corollary 2 are central limit heuristics without an error
//! term, and false as bounds: at n = 1e4, ε₀ = 4, λ = 64 the corollary gives 0.699, while shuffled randomized
//! response has 1.119.

use crate::atoms::Atoms;
use crate::error::Error;
use crate::local::LocalEpsilon;
use crate::profile::{Direction, Profile};
use crate::rdp::{Orders, RdpCurve};

/// Theorem 1, corrected.
pub fn theorem_1(users: u64, epsilon0: LocalEpsilon) -> Result<RdpCurve, Error> {
    Ok(Profile::new(Atoms::ldp_adaptive(epsilon0)?, users).rdp(Direction::Forward))
}

/// μ of Theorem 2.
pub fn theorem_2(users: u64, epsilon0: f64) -> f64 {
    2.0 * (epsilon0.exp() / (users as f64 - 1.0)).sqrt()
}

/// Corollary 2.
///
/// ```
/// use shuffledp_accounting::bounds::enhanced_rdp::corollary_2;
/// assert!((corollary_2(10_000, 4.0).at(64.0) - 0.699).abs() < 1e-3);
/// ```
pub fn corollary_2(users: u64, epsilon0: f64) -> RdpCurve {
    let slope = 0.5 * theorem_2(users, epsilon0).powi(2);
    RdpCurve::new(Orders::Reals(1e6), move |order| slope * order)
}
