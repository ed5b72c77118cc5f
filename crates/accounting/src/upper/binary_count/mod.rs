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
//! Where m of n are sampled, the analyzer is told how many of the participants but one are at q. What is left
//! is F with another A and C, in expectation over that number, which is an upper bound; where k is 0 or N
//! there is nothing to tell, and it is exact. Check-in is a sample of random size, which is seen.
//!
//! The largest over k is found by halving buckets k₁ ≤ k ≤ k₂ (`largest`, and `draw` for how many are
//! sampled of each kind). Two bounds of F hold for a whole range, and cost nothing that grows with n:
//!
//! * `sum`: the reports of the users who may be of either kind are handed over, the rest is summed exactly.
//!   Sharp for narrow ranges; for losses of few outcomes.
//! * `integral`: a closed form with all errors bounded. Sharp for wide ranges, too; for many outcomes.
//!
//! The reports of a round do not depend on each other: in an adaptive round, where the others' values follow
//! the reports before them, δ can be larger (by 3 % with 6 users at ε₀ = 1, ε = 0.2). Nor do users check in
//! at rates of their own. Reports that carry public randomness beside their bit are no count. Standing:
//! certified.

mod draw;
mod integral;
mod largest;
mod sum;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::{CLOSED_FORM, UpperProfile};
use crate::headcount;
use crate::local::LocalEpsilon;
use crate::participation::Participation;
use crate::round::Round;
use largest::{Datasets, Effort};
use shuffledp_numerics::log_space::ln_add_exp;
use shuffledp_numerics::rounding::ln_up;
use shuffledp_numerics::special::{exp, expm1, ln_1p};
use shuffledp_numerics::stirling::deviance;

/// Where the expected number of users whose bit is flipped is below this, δ is that of one report seen alone
/// up to this fraction of itself, and no bound is better.
const LEAST_FLIPS: f64 = 1e-3;
/// For one number of participants: a few parts in 1e5 of ε in the tail, and at most some ten milliseconds.
/// Above a variance of 2500 the closed form is within 1e-3.
const ALONE: Effort = Effort {
    tolerance: 5e-4,
    work: 5000.0,
    summed: 2500.0,
};
/// For each of several: a few parts in 1e4.
const AMONG_OTHERS: Effort = Effort {
    tolerance: 5e-3,
    work: 1000.0,
    summed: 500.0,
};
/// Numbers of participants are joined to ranges of this relative width, which cost 1e-4 of ε at most …
const ALIKE: f64 = 2e-4;
/// … or of this many standard deviations of the number, so that there are a few tens of ranges …
const ALIKE_DEVIATION: f64 = 0.4;
/// … and three times as wide beyond this many standard deviations from the mean.
const CORE: f64 = 4.0;
/// Ranges that add less than this fraction of δ, ln 1e-5, are bounded in one step.
const NEGLIGIBLE: f64 = -11.5;

/// The profile of a round of bits.
#[derive(Clone, Debug)]
pub(crate) struct BinaryCount {
    epsilon0: f64,
    /// n.
    users: u64,
    /// How many take part, the likeliest first, then upwards, then downwards.
    sizes: Vec<Size>,
    /// The expected number of participants, about.
    expected: f64,
}

/// A range of numbers of participants, priced as its largest.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// The largest: δ grows with it, since a report can be left out.
    most: u64,
    /// At or above the probability.
    probability: f64,
}

impl BinaryCount {
    /// `None` where users check in at rates of their own, where reports depend on earlier ones of the round,
    /// and where hardly any bit is flipped, so that nothing can be gained.
    pub(crate) fn new(epsilon0: LocalEpsilon, round: &Round) -> Option<Self> {
        let own_rates = match round.participation() {
            Participation::Everyone | Participation::Sample(_) => false,
            Participation::CheckIn(rate) => rate.lowest() != rate.highest(),
        };
        if own_rates || round.is_adaptive_within_round() || epsilon0.value() == 0.0 {
            return None;
        }
        // Colluding users hand over what they know: what is left is a round of the honest ones.
        let (sizes, expected) = sizes(headcount::at_most(round));
        let flips = expected * exp(-epsilon0.value());
        (flips > LEAST_FLIPS).then(|| Self {
            epsilon0: epsilon0.value(),
            users: round.honest(),
            sizes,
            expected,
        })
    }
}

/// The numbers of participants, joined into few, and about their mean.
fn sizes(mut buckets: Vec<headcount::Bucket>) -> (Vec<Size>, f64) {
    buckets.sort_by_key(|bucket| bucket.counts);
    let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
        let middle = |(low, high): (u64, u64)| 0.5 * (low as f64 + high as f64);
        let term = |bucket: &headcount::Bucket| bucket.probability.1 * of(middle(bucket.counts));
        buckets.iter().map(term).sum()
    };
    let mean = moment(&|count| count);
    let deviation = moment(&|count| (count - mean).powi(2)).sqrt();
    let mut joined: Vec<(u64, Size)> = Vec::new();
    for bucket in &buckets {
        let (first, most) = bucket.counts;
        let far = (first as f64 - mean).abs() > CORE * deviation;
        let alike = (ALIKE * first as f64).max(ALIKE_DEVIATION * deviation);
        let alike = if far { 3.0 * alike } else { alike };
        let probability = bucket.probability.1;
        match joined.last_mut() {
            Some((start, size)) if (most - *start) as f64 <= alike => {
                size.most = most;
                size.probability += probability;
            }
            _ => joined.push((first, Size { most, probability })),
        }
    }
    let likeliest = (0..joined.len()).max_by(|&i, &j| {
        let probability = |i: usize| joined[i].1.probability;
        probability(i).total_cmp(&probability(j))
    });
    let (before, after) = joined.split_at(likeliest.unwrap_or(0));
    let order = after.iter().chain(before.iter().rev());
    let widened = |&(_, size): &(u64, Size)| Size {
        probability: (size.probability * (1.0 + CLOSED_FORM)).min(1.0),
        ..size
    };
    (order.map(widened).collect(), mean)
}

/// One ε, one number of participants: what the last report says.
#[derive(Clone, Copy, Debug)]
struct View {
    epsilon0: f64,
    epsilon: f64,
    /// g = m/n, the probability that the last report is user 1's.
    rate: f64,
    /// 1 − g.
    absent: f64,
}

impl View {
    fn new(epsilon0: f64, epsilon: f64, users: u64, taking_part: u64) -> Self {
        Self {
            epsilon0,
            epsilon,
            rate: taking_part as f64 / users as f64,
            absent: (users - taking_part) as f64 / users as f64,
        }
    }

    /// A last report that is not user 1's is of a user at q with probability `share`. `None` where δ is zero.
    fn tilt(&self, share: f64) -> Option<Tilt> {
        Tilt::new(self, share)
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
    /// A = g (E − a)/(E + 1) − (1 − g)(a − 1)(p + (q − p) φ), rounded up.
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
    fn new(view: &View, share: f64) -> Option<Self> {
        let View {
            epsilon0, epsilon, ..
        } = *view;
        if epsilon >= epsilon0 {
            return None;
        }
        // E − a = a (e^{ε₀ − ε} − 1), everything over E: no overflow, no cancellation.
        let odds = exp(-epsilon0);
        let p = odds / (1.0 + odds);
        let growth = expm1(epsilon);
        let own = view.rate * -expm1(epsilon - epsilon0) / (1.0 + odds);
        let others = view.absent * growth * (p + (1.0 - odds) / (1.0 + odds) * share);
        // F grows with A at the same a.
        let gain = own - others + ROUNDED * others;
        if gain <= 0.0 {
            return None;
        }
        let excess = growth / gain;
        let s = ln_1p(excess);
        Some(Self {
            odds,
            p,
            gain,
            excess,
            s,
            kinds: [Kind::new(p, -excess / (1.0 + excess)), Kind::new(p, excess)],
        })
    }
}

/// `own` and `others` above are off by a few units in the last place; where everybody takes part nothing is
/// subtracted.
const ROUNDED: f64 = 64.0 * f64::EPSILON;

/// k₁ ≤ k ≤ k₂ of the others at q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    first: u64,
    last: u64,
}

impl BinaryCount {
    /// At or above ln δ(ε).
    fn ln_sum(&self, epsilon: f64) -> f64 {
        let effort = match self.sizes.len() {
            1 => ALONE,
            _ => AMONG_OTHERS,
        };
        let mut total = f64::NEG_INFINITY;
        // The smallest number of participants for which datasets were searched, with its ln δ.
        let mut least: Option<(u64, f64)> = None;
        for &Size { most, probability } in &self.sizes {
            let (epsilons, users) = ((self.epsilon0, epsilon), (self.users, most));
            let Some(datasets) = Datasets::new(epsilons, users, effort) else {
                continue;
            };
            let ln_probability = ln_up(probability);
            // A δ of this range below this is negligible.
            let enough = total - ln_probability + NEGLIGIBLE;
            let cap = match least {
                Some((larger, ln_delta)) if larger >= most => datasets.cap().min(ln_delta),
                _ => datasets.cap(),
            };
            let value = if cap <= enough {
                cap
            } else {
                let value = datasets.ln_largest(enough).min(cap);
                if least.is_none_or(|(size, _)| most < size) {
                    least = Some((most, value));
                }
                value
            };
            total = ln_add_exp(total, value + ln_probability);
        }
        total + CLOSED_FORM * (1.0 + total.abs())
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
        let largest = self.ln_sum(epsilon);
        // NaN where an intermediate result overflowed: then the bound is the trivial one.
        if largest.is_nan() {
            0.0
        } else {
            largest.min(0.0)
        }
    }

    fn loss_limit(&self) -> f64 {
        let most = self.sizes.iter().map(|size| size.most).max();
        let rate = most.unwrap_or(self.users) as f64 / self.users as f64;
        // A = 0 at a − 1 = g (E − 1), with all others at p.
        match rate < 1.0 {
            true => (ln_1p(rate * expm1(self.epsilon0)) * (1.0 + CLOSED_FORM)).min(self.epsilon0),
            false => self.epsilon0,
        }
    }

    fn loss_deviation(&self) -> f64 {
        // v = g (E − 1)²/E with all others at one value: 2 sinh(ε₀/2) √m/n.
        let sinh = (0.5 * self.epsilon0).sinh();
        (2.0 * sinh * self.expected.sqrt() / self.users as f64).min(self.epsilon0)
    }

    fn is_expensive(&self) -> bool {
        let p = 1.0 / (exp(self.epsilon0) + 1.0);
        let sampled = self.sizes.iter().any(|size| size.most < self.users);
        sampled || self.expected * p * (1.0 - p) < 2.0 * ALONE.summed
    }
}
