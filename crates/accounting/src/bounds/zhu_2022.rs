//! Zhu, Dong, Wang, *Optimal accounting of differential privacy via characteristic function* (AISTATS 2022),
//! Proposition 30, applied to the clones' pair: Lemma 7 of numerical-accounting.
//!
//! ```text
//! m of n sampled, γ = m/n:   H_a ≤ H_a(γP + (1−γ)Q ‖ Q) = γ H_{a′}(P‖Q),   a′ = 1 + (a − 1)/γ,  a ≥ 1
//! ```
//!
//! and the other direction by symmetry. (P, Q) dominates the shuffle of the m sampled users. Side: upper.
//! Standing: certified. For comparison: `Profile::sampled` has the exact distribution of a sampled shuffle.
//! Its bound is smaller: this one bounds the shuffle first, as if only the sample existed, and applies the
//! sampling to that bound.

use super::balle_2018::before;
use crate::bound::Side;
use crate::compose::{Composition, ln_tail};
use crate::pld::Pld;
use crate::profile::Profile;
use shuffledp_numerics::enclosure::Wanted;

/// ε of `rounds` rounds: `base` is the shuffle of the sampled users only, the same in both directions.
pub fn epsilon(base: &Profile, rate: f64, rounds: u64, delta: f64) -> Option<f64> {
    let tail = ln_tail(delta.ln(), rounds as f64);
    let deviation = base.loss_deviation() * rate;
    let upper = |epsilon: f64| {
        let ln = base
            .ln_delta(before(epsilon, rate), 1e-5, Wanted::Upper)
            .upper;
        ln + rate.ln()
    };
    let limit = super::balle_2018::amplified(base.atoms().loss_limit(), rate);
    let pld = Pld::pessimistic_from(upper, limit, deviation, tail)?;
    let mut composition = Composition::new(Side::Upper);
    composition
        .add(&pld, rounds)
        .then(|| composition.epsilon(delta))
}
