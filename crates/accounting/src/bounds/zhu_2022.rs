//! Zhu, Dong, Wang, *Optimal accounting of differential privacy via characteristic function* (AISTATS 2022),
//! Proposition 30, on the clone pair: numerical-accounting's Lemma 7.
//!
//! ```text
//! m of n sampled, γ = m/n:   H_a ≤ H_a(γP + (1−γ)Q ‖ Q) = γ H_{a′}(P‖Q),   a′ = 1 + (a − 1)/γ        (a ≥ 1; the other side by symmetry)
//! ```
//!
//! (P, Q) dominates the shuffle of the m who are sampled. Side: upper. Standing: certified. For comparison:
//! it treats the sample as if the rest of the population did not help to hide it; section 2's exact atoms do.

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
