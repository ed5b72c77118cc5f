//! Kairouz, Oh, Viswanath, *The composition theorem for differential privacy* (ICML 2015): the optimal
//! composition of T guarantees (ε, δ).
//!
//! ```text
//! T rounds of (ε, δ):   δ_g = 1 − (1−δ)^T (1−δ̃(ε_g))
//! δ̃(ε_g) = P[Bin(T,q) ≥ t] − e^{ε_g} P[Bin(T,1−q) ≥ t]
//! q = e^ε/(e^ε+1),   t the first l with (2l − T)ε > ε_g
//! ```
//!
//! δ̃ is the exact hockey-stick divergence of T binary randomized responses. Optimal among all theorems that
//! use only (ε, δ) of each round.
//!
//! Side: upper. Standing: proved.

use super::{Unmet, solve};
use shuffledp_numerics::binomial::Binomial;

/// δ̃ at ε_g of `rounds` pure ε guarantees.
pub fn delta_pure(rounds: u64, epsilon: f64, total: f64) -> f64 {
    let t = ((total / epsilon + rounds as f64) / 2.0).floor() + 1.0;
    if t > rounds as f64 {
        return 0.0;
    }
    let q = 1.0 / (1.0 + (-epsilon).exp());
    let tail = |p: f64| {
        Binomial::new(rounds, p).map_or(f64::NEG_INFINITY, |law| {
            law.ln_upper_tail(t.max(0.0) as u64)
        })
    };
    // 1 − q without cancellation.
    let (first, second) = (tail(q), tail(1.0 / (1.0 + epsilon.exp())) + total);
    if second >= first {
        return 0.0;
    }
    first.exp() * -(second - first).exp_m1()
}

/// The smallest ε_g of `rounds` rounds of (`epsilon`, `delta_each`) at a total of `delta`.
///
/// ```
/// use shuffledp_accounting::bounds::kairouz_2015::epsilon;
/// // A hundred rounds of 0.1: far below 10.
/// let total = epsilon(100, 0.1, 0.0, 1e-6)?;
/// assert!((total - 4.7746).abs() < 1e-4, "{total}");
/// # Ok::<(), shuffledp_accounting::bounds::Unmet>(())
/// ```
pub fn epsilon(rounds: u64, epsilon: f64, delta_each: f64, delta: f64) -> Result<f64, Unmet> {
    let spent = -((rounds as f64) * (-delta_each).ln_1p()).exp_m1();
    if spent >= delta {
        return Err(Unmet("1 - (1 - delta_round)^T < delta".into()));
    }
    let left = (delta - spent) / (1.0 - spent);
    if epsilon == 0.0 {
        return Ok(0.0);
    }
    let limit = rounds as f64 * epsilon;
    solve(limit, left, |total| delta_pure(rounds, epsilon, total))
        .ok_or_else(|| Unmet("a finite epsilon".into()))
}
