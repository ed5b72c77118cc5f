//! The number of honest users who take part in a round, in buckets of counts.
//!
//! | who takes part | number K of participants | user 1 is one of them, given K = k |
//! |---|---|---|
//! | everybody | n | 1 |
//! | m of n sampled | m | m/n |
//! | m of n sampled, c of them colluding | hypergeometric: of n − c honest users | k/(n − c) |
//! | check-in at rate g | Bin(n, g) | k/n |
//! | check-in at rates in [l, h] | 1 + Bin(n − 1, l) or more, user 1's coin seen | 1, with probability h |
//!
//! K does not depend on anybody's value, and given K every set of k users is equally likely. The analyzer
//! sees K, so that the profile of the mixture over K is the mixture of the profiles. Colluding users know
//! whether they took part and are not counted. Where users have rates of their own, all coins are taken as
//! seen: then user 1 hides among the participants, if it takes part.
//!
//! Standing: certified. All probabilities are enclosed, and every count is in some bucket.

use crate::participation::Participation;
use crate::round::Round;
use shuffledp_numerics::binomial::Binomial;

/// Buckets per standard deviation of the count near its mean, which cost about 1e-4 of ε …
const FINE: f64 = 24.0;
/// … up to this many standard deviations from the mean. Beyond, buckets are six times as wide …
const CORE: f64 = 4.0;
/// … up to this many standard deviations, beyond which a count lies with probability 1e-32 at most. There …
const REACH: f64 = 12.0;
/// … the width of a bucket is the count divided by this.
const FAR: u64 = 8;
/// Binomial probabilities and tails have a relative error of 1e-12. A difference of two is widened by this
/// fraction of the larger one, a product of three by this fraction of itself.
const TAIL_ERROR: f64 = 1e-11;
/// A bound on the relative error of a quotient of two whole numbers, which is one rounding.
const ROUNDING: f64 = 1e-15;

/// A range of counts with common bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// The smallest and the largest count.
    pub(crate) counts: (u64, u64),
    /// A lower and an upper bound on the probability that the count is in this range.
    pub(crate) probability: (f64, f64),
    /// The smallest and the largest probability that user 1 takes part, given a count in this range.
    pub(crate) rate: (f64, f64),
    /// The smallest and the largest rate of sampling that amplifies privacy: the rate above, or 1 where user
    /// 1's coin is seen.
    pub(crate) hidden: (f64, f64),
}

impl Bucket {
    fn sampled(counts: (u64, u64), probability: (f64, f64), users: u64) -> Self {
        let n = users as f64;
        let rate = (
            counts.0 as f64 / n * (1.0 - ROUNDING),
            (counts.1 as f64 / n * (1.0 + ROUNDING)).min(1.0),
        );
        Self {
            counts,
            probability,
            rate,
            hidden: rate,
        }
    }
}

/// The buckets for an upper bound: it is known who colludes, and where users have rates of their own all
/// coins are seen.
pub(crate) fn at_most(round: &Round) -> Vec<Bucket> {
    let (users, honest) = (round.users(), round.honest());
    match round.participation() {
        Participation::Everyone => vec![everybody(honest)],
        Participation::Sample(size) if honest == users => sample(users, size),
        Participation::Sample(size) => sample_of_honest(users, honest, size),
        Participation::CheckIn(rate) if rate.lowest() == rate.highest() => {
            check_in(honest, rate.highest())
        }
        Participation::CheckIn(rate) => check_in(honest - 1, rate.lowest())
            .into_iter()
            .chain([nobody(honest - 1, rate.lowest())])
            // User 1 is one more than the others who take part.
            .map(|others| Bucket {
                counts: (others.counts.0 + 1, others.counts.1 + 1),
                probability: others.probability,
                rate: (rate.lowest(), rate.highest()),
                hidden: (1.0, 1.0),
            })
            .collect(),
    }
}

/// The buckets of instances of the round, for lower bounds: colluding users do not reveal who was sampled,
/// and everybody has the same rate, at one end of the range.
pub(crate) fn attained(round: &Round) -> Vec<Vec<Bucket>> {
    match round.participation() {
        Participation::Everyone => vec![vec![everybody(round.most_honest())]],
        Participation::Sample(size) => vec![sample(round.users(), size)],
        Participation::CheckIn(rate) => rate
            .ends()
            .into_iter()
            .map(|rate| check_in(round.most_honest(), rate))
            .collect(),
    }
}

fn everybody(users: u64) -> Bucket {
    let certain = (1.0, 1.0);
    Bucket {
        counts: (users, users),
        probability: certain,
        rate: certain,
        hidden: certain,
    }
}

fn sample(users: u64, size: u64) -> Vec<Bucket> {
    if size == users {
        return vec![everybody(users)];
    }
    vec![Bucket::sampled((size, size), (1.0, 1.0), users)]
}

/// Bin(n, g), counts of at least one.
fn check_in(users: u64, rate: f64) -> Vec<Bucket> {
    let Some(law) = Binomial::new(users, rate).filter(|_| rate < 1.0) else {
        return vec![everybody(users)];
    };
    let n = users as f64;
    let (mean, deviation) = (n * rate, (n * rate * (1.0 - rate)).sqrt());
    bucketed((1, users), mean, deviation, |low, high| {
        let between = |large: f64, small: f64| {
            let error = TAIL_ERROR * large;
            ((large - small - error).max(0.0), large - small + error)
        };
        if low == high {
            let value = law.ln_pmf(low).exp();
            return (value * (1.0 - TAIL_ERROR), value * (1.0 + TAIL_ERROR));
        }
        // From the tails on the side where they are small.
        if low as f64 > mean {
            let beyond = law.ln_upper_tail(high + 1).exp();
            between(law.ln_upper_tail(low).exp(), beyond)
        } else {
            let before = law.ln_lower_tail(low - 1).exp();
            between(law.ln_lower_tail(high).exp(), before)
        }
    })
    .into_iter()
    .map(|(counts, probability)| Bucket::sampled(counts, probability, users))
    .collect()
}

/// The count of zero, which [`check_in`] leaves out.
fn nobody(users: u64, rate: f64) -> Bucket {
    let value = Binomial::new(users, rate).map_or(0.0, |law| law.ln_pmf(0).exp());
    let probability = (value * (1.0 - TAIL_ERROR), value * (1.0 + TAIL_ERROR));
    Bucket::sampled((0, 0), probability, users)
}

/// The number of honest users among m of n, which is hypergeometric, as C(N, k) C(n−N, m−k)/C(n, m) is b(k;
/// N, p) b(m−k; n−N, p)/b(m; n, p) for every p.
fn sample_of_honest(users: u64, honest: u64, size: u64) -> Vec<Bucket> {
    let colluding = users - honest;
    let rate = size as f64 / users as f64;
    let laws = (
        Binomial::new(honest, rate),
        Binomial::new(colluding, rate),
        Binomial::new(users, rate),
    );
    let (Some(of_honest), Some(of_colluding), Some(of_all)) = laws else {
        return sample(honest, size.min(honest));
    };
    let pmf = |count: u64| {
        (of_honest.ln_pmf(count) + of_colluding.ln_pmf(size - count) - of_all.ln_pmf(size)).exp()
    };
    let least = size.saturating_sub(colluding);
    let most = size.min(honest);
    let mean = rate * honest as f64;
    let spread = rate * (1.0 - rate) * honest as f64 * (colluding as f64 / users as f64);
    // The probabilities rise up to the mode and fall from there on.
    let mode = (u128::from(size) + 1) * (u128::from(honest) + 1) / (u128::from(users) + 2);
    // At most the sample's size, so that it fits.
    let mode = mode as u64;
    bucketed((least.max(1), most), mean, spread.sqrt(), |low, high| {
        if high - low < EXACTLY {
            let value: f64 = (low..=high).map(pmf).sum();
            return (value * (1.0 - TAIL_ERROR), value * (1.0 + TAIL_ERROR));
        }
        let length = (high - low + 1) as f64;
        let largest = pmf(mode.clamp(low, high));
        (0.0, (length * largest * (1.0 + TAIL_ERROR)).min(1.0))
    })
    .into_iter()
    .map(|(counts, probability)| Bucket::sampled(counts, probability, honest))
    .collect()
}

/// The probabilities of buckets of at most this many counts are summed one by one. Those of wider buckets are
/// bounded by the number of counts times the largest probability.
const EXACTLY: u64 = 2000;

/// All counts in a range, in buckets that are narrow near the mean and wider far from it.
fn bucketed(
    (least, most): (u64, u64),
    mean: f64,
    deviation: f64,
    probability: impl Fn(u64, u64) -> (f64, f64),
) -> Vec<((u64, u64), (f64, f64))> {
    let fine = ((deviation / FINE) as u64).max(1);
    let coarse = ((6.0 * deviation / FINE) as u64).max(1);
    let center = (mean.max(least as f64) as u64).clamp(least, most);
    // A few counts beside the standard deviations, for where the count is nearly Poisson.
    let (core, reach) = (
        (CORE * deviation + 10.0) as u64,
        (REACH * deviation + 40.0) as u64,
    );
    let width = |count: u64| {
        let near = match count.abs_diff(center) {
            near if near < core => fine,
            far if far < reach => coarse,
            _ => count,
        };
        near.min(count / FAR).max(1)
    };
    let mut buckets = Vec::new();
    let mut low = center;
    loop {
        let high = low.saturating_add(width(low) - 1).min(most);
        buckets.push(((low, high), probability(low, high)));
        if high == most {
            break;
        }
        low = high + 1;
    }
    let mut high = center;
    while high > least {
        high -= 1;
        let low = (high + 1).saturating_sub(width(high)).max(least);
        buckets.push(((low, high), probability(low, high)));
        high = low;
    }
    buckets
}
