//! What sampling alone gives: the participants are hidden among all users, their reports are taken as if they
//! were not shuffled.
//!
//! ```text
//! δ(ε) ≤ Σ_k P[K = k] · q δ₁(ln(1 + (a − 1)/q)),      q = k/n,  a = e^ε
//! ```
//!
//! K is the number of those who take part: m for m of n sampled, Bin(n, g) for check-in at rate g. It does
//! not depend on anybody's value, and given it every set of k users is equally likely, so each term is the
//! subsampling theorem of Balle, Barthe and Gaboardi 2018 (Theorem 9, replacement, without replacement) on a
//! mechanism whose own profile δ₁ is at most that of one report seen with its sender ([`super::alone`]): the
//! shuffled reports are computed from the reports. K may be seen: a mixture with a known index has the mixed
//! profile.
//!
//! Colluding users are no part of the n: their own reports are subtracted, and which of them took part says
//! nothing about the others.
//!
//! δ rises with q (it is the perspective of a falling convex function), so counts are put into buckets with
//! the largest q of each. Standing: certified.

use super::alone::Alone;
use super::{CLOSED_FORM, UpperProfile, ln_of};
use crate::participation::Participation;
use crate::round::Round;
use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::special::{expm1, ln_1p};

/// Buckets of counts. At most 1/20 of a standard deviation wide, which costs a few parts in 1e4 of ε.
const BUCKETS: f64 = 480.0;
/// How many standard deviations of the count get buckets; what is beyond counts as everybody taking part.
const REACH: f64 = 12.0;
/// Binomial tails are known to 1e-12 of themselves, the difference of two is rounded up by this part of them.
const TAIL_ERROR: f64 = 1e-11;

/// Counts with a probability of at most this, at a rate of at most that.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    probability: f64,
    rate: f64,
}

/// The profile of a sampled round by sampling alone.
#[derive(Debug)]
pub(crate) struct Sampling {
    buckets: Vec<Bucket>,
    alone: Alone,
}

impl Sampling {
    /// `None` where everybody takes part, where users have rates of their own, and where nothing is known of
    /// a single report.
    pub(crate) fn new(round: &Round) -> Option<Self> {
        let alone = Alone::new(round.mechanism().local())?;
        let users = round.honest();
        let buckets = match round.participation() {
            Participation::Everyone => return None,
            Participation::Sample(size) if size >= users => return None,
            Participation::Sample(size) => vec![Bucket {
                probability: 1.0,
                rate: size as f64 / users as f64 * (1.0 + CLOSED_FORM),
            }],
            Participation::CheckIn(rate) if rate.lowest() < rate.highest() => return None,
            Participation::CheckIn(rate) => buckets(users, rate.highest())?,
        };
        Some(Self { buckets, alone })
    }
}

impl Sampling {
    /// The largest loss after sampling that a loss of one report becomes.
    fn after(&self, loss: f64) -> f64 {
        let rates = self.buckets.iter().map(|bucket| bucket.rate);
        ln_1p(rates.fold(0.0, f64::max) * expm1(loss)) * (1.0 + CLOSED_FORM)
    }
}

/// The counts of Bin(n, g) in buckets.
fn buckets(users: u64, rate: f64) -> Option<Vec<Bucket>> {
    let n = users as f64;
    let law = Binomial::new(users, rate)?;
    let (mean, deviation) = (n * rate, (n * rate * (1.0 - rate)).sqrt());
    let first = (mean - REACH * deviation - REACH).floor().max(1.0) as u64;
    let last = (mean + REACH * deviation + 3.0 * REACH).ceil().min(n) as u64;
    let width = (((last - first + 1) as f64 / BUCKETS).ceil() as u64).max(1);
    // P[low ≤ K ≤ high], from the tails on the side where they are small.
    let probability = |low: u64, high: u64| {
        let (large, small) = if low as f64 > mean {
            let beyond = if high < users {
                law.ln_upper_tail(high + 1).exp()
            } else {
                0.0
            };
            (law.ln_upper_tail(low).exp(), beyond)
        } else {
            let before = if low > 0 {
                law.ln_lower_tail(low - 1).exp()
            } else {
                0.0
            };
            (law.ln_lower_tail(high).exp(), before)
        };
        (large - small + TAIL_ERROR * large).max(0.0)
    };
    // Everything below the first bucket goes into it.
    let mut buckets = vec![Bucket {
        probability: probability(0, first),
        rate: first as f64 / n * (1.0 + CLOSED_FORM),
    }];
    let mut low = first + 1;
    while low <= last {
        let high = (low + width - 1).min(last);
        buckets.push(Bucket {
            probability: probability(low, high),
            rate: (high as f64 / n * (1.0 + CLOSED_FORM)).min(1.0),
        });
        low = high + 1;
    }
    if last < users {
        buckets.push(Bucket {
            probability: law.ln_upper_tail(last + 1).exp() * (1.0 + TAIL_ERROR),
            rate: 1.0,
        });
    }
    Some(buckets)
}

impl UpperProfile for Sampling {
    fn name(&self) -> &'static str {
        "sampling"
    }

    fn ln_delta(&self, epsilon: f64, _: f64) -> f64 {
        let growth = expm1(epsilon);
        let total: f64 = self
            .buckets
            .iter()
            .map(|bucket| {
                // Rounded down: δ₁ falls.
                let before = ln_1p(growth / bucket.rate) * (1.0 - CLOSED_FORM);
                bucket.probability * bucket.rate * self.alone.delta(before)
            })
            .sum();
        ln_of(total * (1.0 + CLOSED_FORM))
    }

    fn loss_limit(&self) -> f64 {
        self.after(self.alone.loss_limit())
    }

    fn flat_from(&self) -> f64 {
        self.after(self.alone.flat_from())
    }

    fn loss_deviation(&self) -> f64 {
        // Of the loss of one report, at the average rate; large losses are rare, and capped where q is small.
        let rate: f64 = self.buckets.iter().map(|b| b.probability * b.rate).sum();
        rate * self.alone.loss_deviation().exp_m1().min(1.0 / rate)
    }
}
