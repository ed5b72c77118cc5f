//! Rényi divergences of a round of which only a noisy sum is seen.
//!
//! With y = e^{μz − μ²/2}, z ~ N(0, 1), and r = 1 − q + qy, given K participants ([`super`]):
//!
//! ```text
//! attained   e^{(λ−1)D} = Σ_k P[K = k] E r^λ
//! upper      e^{(λ−1)D} ≤ 1 + Σ_k P[K = k] E[ f(r) + g(r); r > 1 ]
//!            f(r) = r^λ − 1 − λ(r − 1),   g(r) = r^{1−λ} − 1 + (λ − 1)(r − 1)
//! ```
//!
//! The first line is the pair of datasets itself: r is its likelihood ratio. For the second, E_Q r^λ = 1 +
//! λ(λ−1) ∫ a^{λ−2} (Hₐ − (1−a)₊) da, and Hₐ is at most the profile h of that pair for a ≥ 1, and at most 1 −
//! a + a h(1/a) for a < 1, because the two datasets of the pair may be exchanged. The two halves of the
//! integral are f and g on r > 1. With q = 1 both lines are λμ²/2.
//!
//! Discrete Gaussian shares are within e^{±τ} of Gaussian ones ([`super::noise`]), which costs (2λ−1)/(λ−1)
//! τ.
//!
//! Standing: proved; ordinary floating point. The integrals are sums over a lattice of step 1/16, which is
//! exact to 1e-7; the upper one is raised by that.

use super::noise::{Gdp, Noise};
use crate::bound::Side;
use crate::headcount::Bucket;
use crate::rdp::{Orders, RdpCurve};
use shuffledp_numerics::log_space::{ln_1p_exp, ln_sum_exp};
use shuffledp_numerics::special::{expm1, ln, ln_1p};

/// The step of the sums over z, at which their error is below 1e-7.
const STEP: f64 = 1.0 / 16.0;
/// Sums end this many standard deviations beyond the maximum, where the integrand is below 1e-42 of it.
const REACH: f64 = 14.0;
/// Beyond this λμ the bounds E r^λ ≤ 1 − q + q E y^λ and E r^λ ≥ q^λ E y^λ are used: the sum would have
/// thousands of terms.
const LONG: f64 = 400.0;
/// A bound on the error of ln of such a sum.
const LATTICE_ERROR: f64 = 1e-6;

/// A bucket of counts, with the largest and the smallest μ.
struct Term {
    bucket: Bucket,
    high: f64,
    low: f64,
}

/// The curve of a round on one side.
pub(crate) fn curve(noise: Noise, buckets: &[Bucket], side: Side) -> RdpCurve {
    let (mut above, mut below): (f64, f64) = (0.0, 0.0);
    let mut term = |&bucket: &Bucket| {
        let (few, many): (Gdp, Gdp) = (noise.gdp(bucket.counts.0), noise.gdp(bucket.counts.1));
        above = above.max(few.high.1).max(many.high.1);
        below = below.max(few.low.1).max(many.low.1);
        Term {
            bucket,
            high: few.high.0,
            low: many.low.0,
        }
    };
    let terms: Vec<Term> = buckets.iter().map(&mut term).collect();
    RdpCurve::new(Orders::Reals(1e5), move |order| {
        // Likelihood ratios within e^{±τ} change both factors of ∫ P^λ Q^{1−λ}.
        let factor = (2.0 * order - 1.0) / (order - 1.0);
        let value = divergence(&terms, order, side);
        match side {
            Side::Upper => value + factor * above,
            Side::Lower => (value - factor * below).max(0.0),
        }
    })
}

fn divergence(terms: &[Term], order: f64, side: Side) -> f64 {
    if let [term] = terms
        && term.bucket.hidden.0 == 1.0
        && term.bucket.rate.0 == 1.0
    {
        let mu = match side {
            Side::Upper => term.high,
            Side::Lower => term.low,
        };
        return 0.5 * order * mu * mu;
    }
    let all: Vec<f64> = terms
        .iter()
        .map(|term| match side {
            Side::Upper => ln(term.bucket.probability.1) + ln_excess_above(term, order),
            Side::Lower => ln(term.bucket.probability.0) + ln_excess_below(term, order),
        })
        .collect();
    ln_1p_exp(ln_sum_exp(&all)) / (order - 1.0)
}

/// ln E[ f(r) + g(r); r > 1 ] of a bucket, its largest rate and its least noise; where user 1's coin is seen,
/// the closed form of the mixture.
fn ln_excess_above(term: &Term, order: f64) -> f64 {
    let (rate, mu) = (term.bucket.rate.1, term.high);
    if order * mu > LONG {
        let (alone, linear) = (ln(rate) + 0.5 * order * (order - 1.0) * mu * mu, ln(order));
        return ln_sum_exp(&[alone, linear]);
    }
    if term.bucket.hidden.1 == 1.0 {
        // User 1's coin is seen: with probability `rate` a sum with user 1's value, else a sum without it.
        return ln(rate) + ln(expm1(0.5 * order * (order - 1.0) * mu * mu));
    }
    let ln_value = |z: f64| {
        let jump = rate * expm1(mu * z - 0.5 * mu * mu);
        let log = ln_1p(jump);
        // f + g; the linear parts leave −(r − 1).
        let reverse = expm1((1.0 - order) * log);
        match order * log > 30.0 {
            true => order * log,
            false => ln((expm1(order * log) + reverse - jump).max(f64::MIN_POSITIVE)),
        }
    };
    ln_integral(0.5 * mu, order * mu + REACH, ln_value) + LATTICE_ERROR
}

/// ln (E r^λ − 1) of a bucket, its smallest rate and its most noise.
fn ln_excess_below(term: &Term, order: f64) -> f64 {
    let (rate, mu) = (term.bucket.rate.0, term.low);
    if order * mu > LONG {
        let ln_moment = order * ln(rate) + 0.5 * order * (order - 1.0) * mu * mu;
        return match ln_moment > 1.0 {
            true => ln_moment + ln_1p(-(-ln_moment).exp()),
            false => f64::NEG_INFINITY,
        };
    }
    let ln_value = |z: f64| {
        let jump = rate * expm1(mu * z - 0.5 * mu * mu);
        let log = ln_1p(jump);
        match order * log > 30.0 {
            // Less λ(r − 1), at most a part e^-20 of it.
            true => order * log + ln_1p(-order * jump * (-order * log).exp()),
            false => {
                let value = expm1(order * log) - order * jump;
                ln(value.max(f64::MIN_POSITIVE))
            }
        }
    };
    ln_integral(-REACH, order * mu + REACH, ln_value) - LATTICE_ERROR
}

/// ln ∫ φ(z) e^{ln_value(z)} dz over an interval at whose ends the integrand vanishes, by the trapezoidal
/// rule.
fn ln_integral(from: f64, to: f64, ln_value: impl Fn(f64) -> f64) -> f64 {
    let count = ((to - from) / STEP).ceil();
    let step = (to - from) / count;
    let logs: Vec<f64> = (1..count as u64)
        .map(|i| {
            let z = from + i as f64 * step;
            ln_value(z) - 0.5 * z * z
        })
        .collect();
    ln_sum_exp(&logs) + ln(step) - 0.5 * ln(2.0 * std::f64::consts::PI)
}
