//! Distributed check-in, exactly: each of n users takes part with probability γ, adds Gaussian noise of
//! standard deviation σ to a vector of norm at most 1, and only the sum of the noisy vectors is seen, with
//! the number k of those who took part: [`Mechanism::secure_sum`] in plain numbers.
//!
//! ```text
//! H_a = Σ_k Pr[Bin(n, γ) = k] · q H_{a′}(N(0, 1) ‖ N(μ, 1)),     q = k/n,  a′ = 1 + (a − 1)/q,  μ = 2/(σ√k)
//! ```
//!
//! shuffled-check-in's Theorem 4 bounds the Rényi divergence of the same system. Side: upper. Standing:
//! certified.

use super::Unmet;
use crate::account::{account, answerable};
use crate::bound::Delta;
use crate::error::Error;
use crate::local::Domain;
use crate::mechanism::Mechanism;
use crate::one_round::finite;
use crate::plan::Plan;
use crate::round::Round;

/// ε of `rounds` rounds at δ.
///
/// ```
/// use shuffledp_accounting::bounds::secure_aggregation;
/// // Everybody takes part: a Gaussian mechanism of sensitivity 2 with noise √1000.
/// let all = secure_aggregation::epsilon(1000, 1.0, 1.0, 1, 1e-6)?;
/// assert!((all - 0.24322).abs() < 1e-4);
/// // A tenth of ten times as many users: a smaller epsilon.
/// assert!(secure_aggregation::epsilon(10_000, 0.1, 1.0, 1, 1e-6)? < 0.5 * all);
/// # Ok::<(), shuffledp_accounting::bounds::Unmet>(())
/// ```
pub fn epsilon(users: u64, rate: f64, sigma: f64, rounds: u64, delta: f64) -> Result<f64, Unmet> {
    let certified = || -> Result<f64, Error> {
        let mechanism = Mechanism::secure_sum(sigma, Domain::Ball)?;
        let round = Round::new(mechanism, users)?.check_in(rate)?;
        let delta = answerable(Delta::new(delta)?)?;
        let epsilon = account(&Plan::new(round, rounds)?)?.upper_epsilon(delta)?;
        finite(epsilon, "secure-sum", delta)?;
        Ok(epsilon)
    };
    certified().map_err(|error| Unmet(error.to_string()))
}
