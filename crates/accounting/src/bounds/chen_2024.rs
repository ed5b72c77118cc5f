//! Chen, Cao, Ge, *A generalized shuffle framework for privacy amplification* (AAAI 2024): the shuffled
//! reports of users with their own (εᵢ, δᵢ) are "approximately" μ-GDP.
//!
//! ```text
//! μ = √(2/(Σᵢ wᵢ − maxᵢ wᵢ)),   wᵢ = (1 − δᵢ)/(1 + e^{εᵢ})
//! ```
//!
//! With one (ε₀, δ₀) for all n users the sum less its largest term is (n − 1)(1 − δ₀)/(1 + E). ε at δ follows
//! by the Gaussian profile δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).
//!
//! Side: upper. Standing: refuted. "Approximately" has no error term, and randomized response exceeds the
//! number: at n = 1000, ε₀ = 4, δ = 1e-6 it is 1.449, while 3-ary randomized response attains 1.797
//! (`docs/errata.md`). The central limit of the clones needs many of them, and their expected number is
//! 2(n − 1)/(1 + E) only, 36 there.

use super::{Unmet, require};
use crate::gaussian::gdp_epsilon;

/// Why no number of this source is a bound.
pub(crate) const WHY_REFUTED: &str =
    "a central limit theorem without its error: randomized response exceeds it";

/// μ of n users who all have the same (ε₀, δ₀).
///
/// ```
/// use shuffledp_accounting::bounds::chen_2024::mu;
/// // Two users with coins: one other report, that hides half of the time.
/// assert!((mu(2, 0.0, 0.0).unwrap() - 2.0).abs() < 1e-15);
/// assert_eq!(mu(1, 1.0, 0.0).unwrap_err().to_string(), "n >= 2");
/// ```
pub fn mu(users: u64, epsilon0: f64, delta0: f64) -> Result<f64, Unmet> {
    require(users >= 2, || "n >= 2".into())?;
    require(epsilon0 >= 0.0, || "epsilon0 >= 0".into())?;
    require((0.0..1.0).contains(&delta0), || {
        "delta0 in [0, 1)".to_string()
    })?;
    let weight = (1.0 - delta0) / (1.0 + epsilon0.exp());
    Ok((2.0 / ((users as f64 - 1.0) * weight)).sqrt())
}

/// ε of one round at δ.
///
/// ```
/// use shuffledp_accounting::bounds::chen_2024::epsilon;
/// assert!((epsilon(1000, 4.0, 0.0, 1e-6).unwrap() - 1.449).abs() < 5e-4);
/// ```
pub fn epsilon(users: u64, epsilon0: f64, delta0: f64, delta: f64) -> Result<f64, Unmet> {
    require(delta > 0.0 && delta < 1.0, || "delta in (0, 1)".into())?;
    Ok(gdp_epsilon(mu(users, epsilon0, delta0)?, delta))
}
