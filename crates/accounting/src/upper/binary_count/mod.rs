//! Reports of one bit are a count: binary randomized response over every dataset.
//!
//! A shuffled round of bits is the number of ones. Of the N = n − 1 other users k say 1 with probability q,
//! the rest with p = 1 − q = 1/(E + 1), so with S = Bin(k, q) + Bin(N − k, p), A = q − a p, C = a q − p:
//!
//! ```text
//! δ(ε) = max over k, t of F(k, t),   F = A P(S ≥ t − 1) − C P(S ≥ t),      a = e^ε, E = e^{ε₀}
//! ```
//!
//! Values between the two (Duchi's mechanism) are covered: δ is convex in every user's law. The other
//! direction of the divergence is N − k for k. Proofs: `binary_count.proof.md`.
//!
//! The largest over k is found by halving buckets k₁ ≤ k ≤ k₂. Two bounds hold for a whole bucket, and cost
//! nothing that grows with n:
//!
//! * `sum`: the reports of the k₂ − k₁ users who may be of either kind are handed over, the rest is summed
//!   exactly. Sharp for narrow buckets; for losses of few outcomes.
//! * `integral`: a closed form with all errors bounded. Sharp for wide buckets, too; for many outcomes.
//!
//! Everybody takes part, and the reports of a round do not depend on each other: in an adaptive round, where
//! the others' values follow the reports before them, δ can be larger (by 3 % with 6 users at ε₀ = 1, ε =
//! 0.2). Reports that carry public randomness beside their bit are no count. Standing: certified.

mod integral;
mod sum;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::UpperProfile;
use crate::local::LocalEpsilon;
use crate::participation::Participation;
use crate::round::Round;
use shuffledp_numerics::special::{exp, expm1, ln_1p};
use shuffledp_numerics::stirling::deviance;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Buckets are halved until the largest bound is within this of the largest at a single k, in ln δ. In the
/// tail that is a few parts in 1e5 of ε.
const TOLERANCE: f64 = 5e-4;
/// … or until this many bounds were computed, which takes at most about a millisecond.
const MOST_BOUNDS: usize = 240;
/// Below this variance of the count a bucket is summed, in about 20 µs. Above it the closed form is within
/// 1e-3 of the sum, in ln δ.
const SUMMED_VARIANCE: f64 = 2500.0;

/// Where the expected number of users whose bit is flipped is below this, δ is that of one report seen alone
/// up to this fraction of itself, and no bound is better.
const LEAST_FLIPS: f64 = 1e-3;

/// The profile of a round of bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BinaryCount {
    epsilon0: f64,
    /// n − 1.
    others: u64,
}

impl BinaryCount {
    /// `None` where not everybody takes part, where reports depend on earlier ones of the round, and where
    /// hardly any bit is flipped, so that nothing can be gained.
    pub(crate) fn new(epsilon0: LocalEpsilon, round: &Round) -> Option<Self> {
        let everyone = round.participation() == Participation::Everyone;
        let flips = round.honest() as f64 * exp(-epsilon0.value());
        let applies = everyone
            && !round.is_adaptive_within_round()
            && epsilon0.value() > 0.0
            && flips > LEAST_FLIPS;
        // Colluding users hand over their reports: what is left is a round of the honest ones.
        applies.then(|| Self {
            epsilon0: epsilon0.value(),
            others: round.honest() - 1,
        })
    }
}

/// Quantities at one ε that do not depend on k.
///
/// At the largest t the ratio P(S = t − 1)/P(S = t) passes r = C/A. Tilted by r, the two kinds of users have
/// their success probabilities at logits ε₀ + s and s − ε₀, s = ln r, and the largest t is one above the mode
/// of the tilted count.
#[derive(Clone, Copy, Debug)]
struct Tilt {
    /// 1/E, the odds of p.
    odds: f64,
    /// p.
    p: f64,
    /// A = (E − a)/(E + 1).
    gain: f64,
    /// r − 1 = (a − 1)/A.
    excess: f64,
    /// ln r.
    s: f64,
    /// The two kinds of users: those at q and those at p.
    kinds: [Kind; 2],
}

/// One kind of users under the tilt.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// The tilted probability of the rarer answer before tilting: 0 of those at q, 1 of those at p.
    rare: f64,
    /// The variance of the tilted bit.
    variance: f64,
    /// The tilted probability of the other answer less that of this one.
    lean: f64,
    /// The divergence of the tilted bit from the bit.
    cost: f64,
}

impl Kind {
    /// `plain`: the probability of the rarer answer; tilting multiplies its odds by 1 + `growth`.
    fn new(plain: f64, growth: f64) -> Self {
        let scale = 1.0 + plain * growth;
        let rare = plain * (1.0 + growth) / scale;
        let common = (1.0 - plain) / scale;
        let moved = plain * (1.0 - plain) * growth / scale;
        Self {
            rare,
            variance: rare * common,
            lean: common - rare,
            cost: deviance(rare, plain, -moved) + deviance(common, 1.0 - plain, moved),
        }
    }
}

impl Tilt {
    fn new(epsilon0: f64, epsilon: f64) -> Self {
        // E − a = a (e^{ε₀ − ε} − 1), everything over E: no overflow, no cancellation.
        let odds = exp(-epsilon0);
        let p = odds / (1.0 + odds);
        let gain = -expm1(epsilon - epsilon0) / (1.0 + odds);
        let excess = expm1(epsilon) / gain;
        let s = ln_1p(excess);
        Self {
            odds,
            p,
            gain,
            excess,
            s,
            kinds: [Kind::new(p, -excess / (1.0 + excess)), Kind::new(p, excess)],
        }
    }
}

/// k₁ ≤ k ≤ k₂ of the others at q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    first: u64,
    last: u64,
}

/// A bucket with its bound; ordered by the bound.
#[derive(Clone, Copy, Debug)]
struct Bounded {
    bucket: Bucket,
    ln_delta: f64,
}

impl Ord for Bounded {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ln_delta.total_cmp(&other.ln_delta)
    }
}

impl PartialOrd for Bounded {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Bounded {}

impl BinaryCount {
    /// At or above ln of the largest F(k, t) with k in the bucket. A bound that is already below `enough` is
    /// not improved.
    fn bound(&self, tilt: &Tilt, bucket: Bucket, enough: f64) -> f64 {
        let of_integral = integral::ln_bound(tilt, self.others, bucket);
        let left = (bucket.first as f64) * tilt.kinds[0].variance
            + (self.others - bucket.last) as f64 * tilt.kinds[1].variance;
        if of_integral <= enough || left > SUMMED_VARIANCE {
            return of_integral;
        }
        let sum = sum::ln_bound(tilt, bucket.first, self.others - bucket.last);
        sum.min(of_integral)
    }

    /// At or above ln of the largest F(k, t).
    fn ln_largest(&self, tilt: &Tilt) -> f64 {
        let whole = Bucket {
            first: 0,
            last: self.others,
        };
        let single = |k: u64| Bucket { first: k, last: k };
        let mut attained = f64::NEG_INFINITY;
        for k in [self.others, self.others / 2, 0] {
            attained = attained.max(self.bound(tilt, single(k), attained));
        }
        let mut heap = BinaryHeap::new();
        let bounded = |bucket, attained: f64| Bounded {
            bucket,
            ln_delta: self.bound(tilt, bucket, attained + TOLERANCE),
        };
        heap.push(bounded(whole, attained));
        let mut bounds = 4;
        // The heap covers all k at all times.
        while let Some(&top) = heap.peek() {
            let Bucket { first, last } = top.bucket;
            if top.ln_delta <= attained + TOLERANCE || first == last || bounds >= MOST_BOUNDS {
                return top.ln_delta;
            }
            heap.pop();
            let middle = first + (last - first) / 2;
            attained = attained.max(self.bound(tilt, single(middle), attained));
            let halves = [(first, middle), (middle + 1, last)];
            for (first, last) in halves {
                heap.push(bounded(Bucket { first, last }, attained));
            }
            bounds += 3;
        }
        0.0
    }
}

impl UpperProfile for BinaryCount {
    fn name(&self) -> &'static str {
        "count"
    }

    fn ln_delta(&self, epsilon: f64, _: f64) -> f64 {
        if epsilon >= self.epsilon0 {
            return f64::NEG_INFINITY;
        }
        let tilt = Tilt::new(self.epsilon0, epsilon);
        let largest = self.ln_largest(&tilt);
        // NaN where an intermediate result overflowed: then the bound is the trivial one.
        if largest.is_nan() {
            0.0
        } else {
            largest.min(0.0)
        }
    }

    fn loss_limit(&self) -> f64 {
        self.epsilon0
    }

    fn loss_deviation(&self) -> f64 {
        // v = (E − 1)²/E for every dataset: 2 sinh(ε₀/2)/√n.
        let sinh = (0.5 * self.epsilon0).sinh();
        (2.0 * sinh / ((self.others + 1) as f64).sqrt()).min(self.epsilon0)
    }

    fn is_expensive(&self) -> bool {
        let tilt = Tilt::new(self.epsilon0, 0.0);
        self.others as f64 * tilt.kinds[0].variance < 2.0 * SUMMED_VARIANCE
    }
}
