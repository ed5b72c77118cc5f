//! Amplification by sampling alone: the participants are hidden among all users, and their reports are taken
//! as not shuffled.
//!
//! ```text
//! δ(ε) ≤ Σ_k P[K = k] · q δ₁(ln(1 + (a − 1)/q)),      q = k/n,  a = e^ε
//! ```
//!
//! K is the number of honest users who take part ([`crate::headcount`]). It does not depend on anybody's
//! value, and given it every set of k users is equally likely, so each term is the subsampling theorem of
//! Balle, Barthe and Gaboardi 2018 (Theorem 9, replacement, without replacement) on a mechanism whose own
//! profile δ₁ is at most that of one report seen with its sender ([`super::alone`]): the shuffled reports are
//! computed from the reports. K may be seen: the profile of a mixture whose index is seen is the mixture of
//! the profiles. Where users have rates of their own, all coins count as seen, and the bound is h δ₁(ε), h
//! the highest rate.
//!
//! δ rises with q (it is the perspective of a falling convex function), so counts are put into buckets with
//! the largest q of each. Standing: certified.

use super::alone::Alone;
use super::{CLOSED_FORM, UpperProfile, ln_of};
use crate::headcount::{Bucket, at_most};
use crate::participation::Participation;
use crate::round::Round;
use shuffledp_numerics::special::{expm1, ln_1p};

/// The profile of a sampled round by sampling alone.
#[derive(Debug)]
pub(crate) struct Sampling {
    buckets: Vec<Bucket>,
    alone: Alone,
}

impl Sampling {
    /// `None` where everybody takes part, and where no local guarantee is known.
    pub(crate) fn new(round: &Round) -> Option<Self> {
        let sampled = round.participation() != Participation::Everyone;
        let alone = Alone::new(round.mechanism().local()).filter(|_| sampled)?;
        Some(Self {
            buckets: at_most(round),
            alone,
        })
    }

    /// The loss after sampling, at the largest rate, for a given loss of one report.
    fn after(&self, loss: f64) -> f64 {
        let rates = self.buckets.iter().map(|bucket| bucket.hidden.1);
        ln_1p(rates.fold(0.0, f64::max) * expm1(loss)) * (1.0 + CLOSED_FORM)
    }
}

impl UpperProfile for Sampling {
    fn name(&self) -> &'static str {
        "sampling"
    }

    fn ln_delta(&self, epsilon: f64, _: f64) -> f64 {
        let growth = expm1(epsilon);
        let term = |bucket: &Bucket| {
            // Rounded down: δ₁ falls.
            let before = ln_1p(growth / bucket.hidden.1) * (1.0 - CLOSED_FORM);
            bucket.probability.1 * bucket.rate.1 * self.alone.delta(before)
        };
        let total: f64 = self.buckets.iter().map(term).sum();
        ln_of(total * (1.0 + CLOSED_FORM))
    }

    fn loss_limit(&self) -> f64 {
        self.after(self.alone.loss_limit())
    }

    fn flat_from(&self) -> f64 {
        self.after(self.alone.flat_from())
    }

    fn loss_deviation(&self) -> f64 {
        // That of one report at the average rate; large losses are rare, and limited where q is small.
        let part = |bucket: &Bucket| bucket.probability.1 * bucket.rate.1;
        let rate: f64 = self.buckets.iter().map(part).sum();
        rate * self.alone.loss_deviation().exp_m1().min(1.0 / rate)
    }
}
