//! Distributed check-in, exactly. Each of n users takes part with probability γ and adds Gaussian noise of
//! standard deviation σ to a vector of norm at most 1. The adversary sees only the sum of the noisy vectors
//! and the number k of participants.
//!
//! ```text
//! H_a = Σ_k Pr[Bin(n, γ) = k] · q H_{a′}(N(0, 1) ‖ N(μ, 1)),     q = k/n,  a′ = 1 + (a − 1)/q,  μ = 2/(σ√k)
//! ```
//!
//! k does not depend on the data. Given k, the participants are a uniform sample and the noise of the sum has
//! variance kσ²: a Gaussian mechanism of sensitivity 2 on a sample drawn without replacement, for which the
//! second factor is tight (Balle, Barthe, Gaboardi 2018). Rounds are composed by a privacy loss distribution
//! that dominates this δ(ε) (`Pld::pessimistic_from`). Theorem 4 of shuffled-check-in bounds the Rényi
//! divergence of the same system.
//!
//! Counts are grouped into some hundred buckets, each with its largest q and its largest μ: δ increases with
//! both. Side: upper. Standing: proved; ordinary floating point.

use super::{Unmet, balle_2018, require};
use crate::bound::Side;
use crate::compose::{Composition, ln_tail};
use crate::gaussian::gdp_delta;
use crate::pld::Pld;
use shuffledp_numerics::binomial::Binomial;

/// The number of buckets of counts. It limits the time; with 400 a bucket is 6 % of a standard deviation
/// wide.
const BUCKETS: f64 = 400.0;
/// Counts within this many standard deviations of the mean are put into buckets. The probability of the
/// others, far below any δ in use, is added to δ.
const REACH: f64 = 12.0;

/// One bucket: its probability, the largest rate, the largest μ.
struct Bucket {
    probability: f64,
    rate: f64,
    mu: f64,
}

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
    require(sigma > 0.0, || "sigma > 0".into())?;
    require(rate > 0.0 && rate <= 1.0, || "a rate in (0, 1]".into())?;
    let (buckets, beyond) = buckets(users, rate, sigma)?;
    let tail = ln_tail(delta.ln(), rounds as f64);
    let value = |epsilon: f64| {
        let inside: f64 = buckets
            .iter()
            .map(|bucket| {
                let before = balle_2018::before(epsilon, bucket.rate);
                bucket.probability * bucket.rate * gdp_delta(bucket.mu, before)
            })
            .sum();
        (inside + beyond).max(1e-300).ln()
    };
    // Beyond 38 standard deviations a Gaussian tail is below the smallest normal double.
    let limit = buckets
        .iter()
        .map(|b| balle_2018::amplified(0.5 * b.mu * b.mu + 38.0 * b.mu, b.rate))
        .fold(0.0, f64::max);
    let deviation: f64 = buckets.iter().map(|b| b.probability * b.rate * b.mu).sum();
    let pld = Pld::pessimistic_from(value, limit, deviation, tail);
    let mut composition = Composition::new(Side::Upper);
    match pld {
        Some(pld) if composition.add(&pld, rounds) => Ok(composition.epsilon(delta)),
        _ => Err(Unmet("a loss that a lattice can resolve".into())),
    }
}

/// The buckets with k ≥ 1, and the probability of all counts outside them except zero, which reveals nothing.
fn buckets(users: u64, rate: f64, sigma: f64) -> Result<(Vec<Bucket>, f64), Unmet> {
    let n = users as f64;
    if rate == 1.0 {
        let all = Bucket {
            probability: 1.0,
            rate: 1.0,
            mu: 2.0 / (sigma * n.sqrt()),
        };
        return Ok((vec![all], 0.0));
    }
    let law = Binomial::new(users, rate).ok_or(Unmet("a rate in (0, 1]".into()))?;
    let (mean, deviation) = (n * rate, (n * rate * (1.0 - rate)).sqrt());
    let first = (mean - REACH * deviation - REACH).floor().max(1.0) as u64;
    let last = (mean + REACH * deviation + 3.0 * REACH).ceil().min(n) as u64;
    let width = (((last - first + 1) as f64 / BUCKETS).ceil() as u64).max(1);
    let mut buckets = Vec::new();
    let mut low = first;
    while low <= last {
        let high = (low + width - 1).min(last);
        let probability = if high == low {
            law.ln_pmf(low).exp()
        } else if low as f64 > mean {
            law.ln_upper_tail(low).exp() - law.ln_upper_tail(high + 1).exp()
        } else {
            law.ln_lower_tail(high).exp() - law.ln_lower_tail(low - 1).exp()
        };
        buckets.push(Bucket {
            probability: probability.max(0.0),
            rate: high as f64 / n,
            mu: 2.0 / (sigma * (low as f64).sqrt()),
        });
        low = high + 1;
    }
    let below = if first > 1 {
        law.ln_lower_tail(first - 1).exp()
    } else {
        0.0
    };
    let above = if last < users {
        law.ln_upper_tail(last + 1).exp()
    } else {
        0.0
    };
    Ok((buckets, below + above))
}
