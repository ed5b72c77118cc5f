//! Rounds of which only the sum of noisy values is seen: the exact profile of one round.
//!
//! Each of K participants adds a share of noise to a value, and the sum is seen with K
//! ([`crate::headcount`]). With h_k the profile of a sum of k shares whose mean moves by the largest
//! difference of two values, and given K = k user 1 taking part with probability q:
//!
//! ```text
//! forward   δ(ε) = Σ_k P[K = k] q h_k(ln(1 + (a − 1)/q))                                 a = e^ε
//! reverse   δ(ε) = a Σ_k P[K = k] q α h_k(−ln α),   α = 1 − (1 − 1/a)/q, where positive
//! ```
//!
//! **Upper.** Given K = k, P = qP₁ + (1 − q)R and Q = qQ₁ + (1 − q)R with the same R: the forward line bounds
//! Hₐ(P‖Q) for every pair of datasets (Balle, Barthe, Gaboardi 2018, Theorem 2, as R is an average of sums
//! in which user 1's value is replaced by another one). The values matter through their differences only.
//!
//! **Attained.** All other users hold user 1's second value. Then R = Q₁, so Q = Q₁ and
//! P − aQ = qP₁ − (a − 1 + q)Q₁: the forward line is an equation. The reverse line is the same pair with its
//! datasets exchanged, by H_{1/a}(P‖Q) = 1 − 1/a + Hₐ(Q‖P)/a.
//!
//! So the profile of one round is known exactly. Several rounds are composed from one profile for both
//! directions for the upper bound, and from this pair for the lower bound.
//!
//! Both lines rise with q (Hₐ is convex in q and vanishes at 0) and fall with the noise, so that one bound
//! holds for a bucket of counts. Standing: certified.
//!
//! * `noise`: Gaussian, discrete Gaussian and Skellam shares; `skellam` the last one on a pair of datasets.
//! * `bits`: one-hot vectors whose bits are flipped.
//! * `outcomes`: pairs of laws with few outcomes.
//! * `renyi`: divergences of Gaussian shares.

pub(crate) mod bits;
pub(crate) mod noise;
mod outcomes;
pub(crate) mod renyi;
mod skellam;

use crate::bound::Side;
use crate::headcount::Bucket;
use crate::lower::PairProfile;
use crate::profile::Direction;
use crate::upper::{CLOSED_FORM, UpperProfile, ln_of};
use bits::{Bits, Flip, Which};
use noise::Noise;
use shuffledp_numerics::enclosure::LnEnclosure;
use shuffledp_numerics::rounding::ln_down;
use shuffledp_numerics::special::{exp, expm1, ln_1p};
use skellam::SkellamPair;
use std::fmt::Debug;
use std::sync::Arc;

/// The profile h of the sum of a batch of reports of which user 1's is one, or a bound on it.
pub(crate) trait Batch: Debug + Send + Sync {
    /// At or above h(ε), for ε ≥ 0.
    fn above(&self, direction: Direction, epsilon: f64) -> f64;

    /// At or below h(ε).
    fn below(&self, direction: Direction, epsilon: f64) -> f64;

    /// An estimate of the standard deviation of the loss.
    fn deviation(&self) -> f64;
}

/// A bucket of counts, with the batches that bound h for all of them.
#[derive(Clone, Debug)]
struct Term {
    bucket: Bucket,
    /// h is at most that of this batch, …
    above: Arc<dyn Batch>,
    /// … and at least that of this one.
    below: Arc<dyn Batch>,
}

/// The profile of a round: an upper bound over all pairs of datasets, or the profile of one pair from both
/// sides.
#[derive(Clone, Debug)]
pub(crate) struct SecureSum {
    terms: Vec<Term>,
    is_symmetric: bool,
    loss_limit: f64,
}

impl SecureSum {
    /// Shares of noise, over every pair of datasets.
    pub(crate) fn of_noise(noise: Noise, buckets: &[Bucket]) -> Self {
        let term = |&bucket: &Bucket| Term {
            bucket,
            above: noise.above(bucket.counts.0),
            below: noise.pair(bucket.counts.1),
        };
        Self::of_terms(buckets.iter().map(term).collect(), f64::INFINITY)
    }

    /// Shares of noise on the pair of datasets that attains the formula.
    pub(crate) fn pair_of_noise(noise: Noise, buckets: &[Bucket]) -> Self {
        if let Noise::Skellam(shares) = noise {
            let batches = Batches::new(buckets, |users| Arc::new(SkellamPair::new(shares, users)));
            return Self::of_terms(batches.terms(buckets, Side::Lower), f64::INFINITY);
        }
        let term = |&bucket: &Bucket| Term {
            bucket,
            above: noise.pair(bucket.counts.0),
            below: noise.pair(bucket.counts.1),
        };
        Self {
            is_symmetric: buckets.iter().all(|bucket| bucket.hidden.0 == 1.0),
            ..Self::of_terms(buckets.iter().map(term).collect(), f64::INFINITY)
        }
    }

    /// Sums of bits.
    pub(crate) fn of_bits(flip: Flip, which: Which, buckets: &[Bucket]) -> Self {
        let side = match which {
            Which::Dominating => Side::Upper,
            Which::Of(_) => Side::Lower,
        };
        let batches = Batches::new(buckets, |users| Arc::new(Bits::new(flip, which, users)));
        Self::of_terms(batches.terms(buckets, side), flip.epsilon0())
    }

    fn of_terms(terms: Vec<Term>, loss_limit: f64) -> Self {
        Self {
            terms,
            is_symmetric: false,
            loss_limit,
        }
    }

    /// At or above δ(ε), in one direction.
    fn above(&self, direction: Direction, epsilon: f64) -> f64 {
        let sum: f64 = match direction {
            Direction::Forward => {
                let growth = expm1(epsilon);
                let term = |Term { bucket, above, .. }: &Term| {
                    let before = ln_1p(growth / bucket.hidden.1) * (1.0 - CLOSED_FORM);
                    let value = above.above(direction, before);
                    bucket.probability.1 * bucket.rate.1 * value
                };
                self.terms.iter().map(term).sum()
            }
            Direction::Reverse => {
                let shrink = -expm1(-epsilon);
                let term = |Term { bucket, above, .. }: &Term| {
                    let lost = shrink / bucket.hidden.1 * (1.0 - CLOSED_FORM);
                    match lost < 1.0 {
                        true => {
                            let before = -ln_1p(-lost) * (1.0 - CLOSED_FORM);
                            let value = above.above(direction, before);
                            bucket.probability.1 * bucket.rate.1 * (1.0 - lost) * value
                        }
                        false => 0.0,
                    }
                };
                exp(epsilon) * self.terms.iter().map(term).sum::<f64>()
            }
        };
        sum * (1.0 + CLOSED_FORM)
    }

    /// At or below δ(ε), in one direction.
    fn below(&self, direction: Direction, epsilon: f64) -> f64 {
        let sum: f64 = match direction {
            Direction::Forward => {
                let growth = expm1(epsilon);
                let term = |Term { bucket, below, .. }: &Term| {
                    let before = ln_1p(growth / bucket.hidden.0) * (1.0 + CLOSED_FORM);
                    let value = below.below(direction, before);
                    bucket.probability.0 * bucket.rate.0 * value
                };
                self.terms.iter().map(term).sum()
            }
            Direction::Reverse => {
                let shrink = -expm1(-epsilon);
                let term = |Term { bucket, below, .. }: &Term| {
                    let lost = shrink / bucket.hidden.0 * (1.0 + CLOSED_FORM);
                    match lost < 1.0 {
                        true => {
                            let before = -ln_1p(-lost) * (1.0 + CLOSED_FORM);
                            let value = below.below(direction, before);
                            bucket.probability.0 * bucket.rate.0 * (1.0 - lost) * value
                        }
                        false => 0.0,
                    }
                };
                exp(epsilon) * self.terms.iter().map(term).sum::<f64>()
            }
        };
        sum * (1.0 - CLOSED_FORM)
    }

    /// An estimate of the standard deviation of the loss: that of a batch with user 1, limited by the largest
    /// loss that the rate allows.
    fn deviation(&self) -> f64 {
        let term = |Term { bucket, above, .. }: &Term| {
            let alone = above.deviation().min(1.0 / bucket.hidden.1);
            bucket.probability.1 * bucket.rate.1 * alone
        };
        self.terms.iter().map(term).sum()
    }
}

impl UpperProfile for SecureSum {
    fn name(&self) -> &'static str {
        "profile"
    }

    fn ln_delta(&self, epsilon: f64, _: f64) -> f64 {
        ln_of(self.above(Direction::Forward, epsilon))
    }

    fn loss_limit(&self) -> f64 {
        self.loss_limit
    }

    fn loss_deviation(&self) -> f64 {
        self.deviation()
    }
}

impl PairProfile for SecureSum {
    fn ln_delta_in(&self, direction: Direction, epsilon: f64) -> LnEnclosure {
        let lower = self.below(direction, epsilon);
        LnEnclosure {
            lower: match lower > 0.0 {
                true => ln_down(lower),
                false => f64::NEG_INFINITY,
            },
            upper: ln_of(self.above(direction, epsilon)),
        }
    }

    fn is_symmetric(&self) -> bool {
        self.is_symmetric
    }

    fn loss_deviation(&self) -> f64 {
        self.deviation()
    }
}

/// Batches for a few counts, for noise whose batches are expensive to compute. h falls with the number of
/// reports, so that the batch of a smaller count is an upper bound and that of a larger count a lower bound.
struct Batches {
    levels: Vec<u64>,
    batches: Vec<Arc<dyn Batch>>,
}

impl Batches {
    /// The counts at some quantiles, and both ends.
    fn new(buckets: &[Bucket], batch: impl Fn(u64) -> Arc<dyn Batch>) -> Self {
        /// Quantiles about 7, 4, 2 and 1 standard deviations below the mean, at the mean, and 2 and 5 above.
        const PARTS: [f64; 7] = [1e-12, 3e-5, 0.02, 0.16, 0.5, 0.98, 1.0 - 1e-6];
        let mut sorted: Vec<&Bucket> = buckets.iter().collect();
        sorted.sort_by_key(|bucket| bucket.counts);
        let counts = |bucket: Option<&&Bucket>| bucket.map_or((1, 1), |bucket| bucket.counts);
        let mut levels = vec![counts(sorted.first()).0, counts(sorted.last()).1];
        for part in PARTS {
            let mut total = 0.0;
            let reaches = |bucket: &&&Bucket| {
                total += bucket.probability.1;
                total >= part
            };
            levels.extend(sorted.iter().find(reaches).map(|bucket| bucket.counts.0));
        }
        levels.sort_unstable();
        levels.dedup();
        let batches = levels.iter().map(|&users| batch(users)).collect();
        Self { levels, batches }
    }

    /// For each bucket the largest batch that is an upper bound, or the smallest that is a lower bound.
    fn terms(&self, buckets: &[Bucket], side: Side) -> Vec<Term> {
        let term = |&bucket: &Bucket| {
            let index = match side {
                Side::Upper => {
                    self.levels
                        .partition_point(|&level| level <= bucket.counts.0)
                        - 1
                }
                Side::Lower => self
                    .levels
                    .partition_point(|&level| level < bucket.counts.1),
            };
            Term {
                bucket,
                above: self.batches[index].clone(),
                below: self.batches[index].clone(),
            }
        };
        buckets.iter().map(term).collect()
    }
}
