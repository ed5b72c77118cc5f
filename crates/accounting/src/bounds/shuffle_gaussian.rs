//! Liew, Takahashi, *Shuffle Gaussian mechanism for differential privacy*: the pair N(0, σ²Iₙ) against (1/n)
//! Σᵢ N(eᵢ, σ²Iₙ).
//!
//! All users hold 0, or user 1 holds 1. The likelihood ratio is the mean of n independent lognormal Y, ln E
//! Yᵏ = (k² − k)/(2σ²), so that Theorem 1's sum over partitions is E(mean Y)^λ. With the central moments D_k
//! = E(Y − 1)ᵏ, all of them positive, w = e^{1/σ²} − 1:
//!
//! ```text
//! D₀ = 1, D₁ = 0,  D_k = (e^{(k−1)/σ²} − 1) D_{k−1} + Σ_{j≤k−2} C(k−1,j) e^{j/σ²} w^{k−1−j} D_j
//! Σ c_j xʲ = (1 + g Σ_{k≥2} D_k xᵏ/k!)ᵐ,     g = 1 if m of n users take part, m = n if each does with
//!                                            probability g
//! e^{(λ−1)ε(λ)} − 1 = Σ_{j=2}^λ λ!/(λ−j)! n^{−j} c_j
//! ```
//!
//! One pass gives all integer orders in O(λ²), with full relative accuracy at any n; the paper enumerates
//! partitions and stops at 30.
//!
//! Sides and standings:
//!
//! * [`pair`] (Theorem 1, its sampled and check-in versions exact): D(M(D′)‖M(D)), the larger direction.
//!   Lower, proved, because it is one pair of datasets. As a guarantee (upper) it is conjectured: that no
//!   pair at this distance is worse.
//! * [`reverse`]: D(M(D)‖M(D′)). Lower, proved.
//! * [`unshuffled`] (Corollary 1): λ/(2σ²). Upper, proved: shuffling is post-processing.
//! * [`theorem_2`]: sampling applied to Theorem 1. Upper, conjectured: it uses a lower bound in place of an
//!   upper bound.
//! * [`equation_17`], [`theorem_3`]: check-in. Upper, refuted: given k check-ins the sampling rate is k/n,
//!   not γ (n = 4, γ = 0.1, σ = 1, λ = 12: 3.606 claimed, 4.404 true).
//!
//! Distances: |x − x′| ≤ 1. Replacing a vector clipped to norm C moves it by up to 2C: use σ/2 in units of C.

use super::{Unmet, ln_1p_exp, ln_sum_exp, require, wang_2019};
use crate::rdp::{Orders, RdpCurve};
use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::power_series::{ln_convolution, ln_power};
use shuffledp_numerics::search::{Stop, bisect};
use shuffledp_numerics::special::ln_gamma;
use shuffledp_numerics::symmetric_ratio::ln_excess_between;
use std::sync::{Mutex, PoisonError};

/// The largest order. It limits the time of the table, which is the square of the order.
pub const LARGEST: u64 = 20_000;

/// How users take part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crowd {
    /// All n.
    Everyone(u64),
    /// m of n.
    Sample(u64, u64),
    /// Each of n with this probability.
    CheckIn(u64, f64),
}

/// ln k!, ln D_k and ln c_k, up to the largest order used so far.
#[derive(Default)]
struct Table {
    ln_factorial: Vec<f64>,
    ln_central: Vec<f64>,
    ln_coefficient: Vec<f64>,
}

/// ln(e^x − 1) for x > 0.
fn ln_expm1(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp_m1().ln() }
}

impl Table {
    fn extend(&mut self, order: usize, sigma: f64, crowd: Crowd) {
        let s = 1.0 / (sigma * sigma);
        let length = order + 1;
        self.ln_factorial = (0..length).map(|k| ln_gamma(k as f64 + 1.0)).collect();
        let lf = &self.ln_factorial;
        // D_k as a convolution of D_j e^{sj}/j! with wⁱ/i!.
        let ln_w = ln_expm1(s);
        let powers: Vec<f64> = (0..length).map(|i| i as f64 * ln_w - lf[i]).collect();
        let mut central = vec![0.0, f64::NEG_INFINITY];
        let mut weighted = vec![0.0, f64::NEG_INFINITY];
        for k in 2..length {
            let sum = lf[k - 1] + ln_convolution(&weighted, &powers, k - 1, 0..=k - 2);
            let chain = ln_expm1(s * (k as f64 - 1.0)) + central[k - 1];
            central.push(ln_sum_exp(&[sum, chain]));
            weighted.push(central[k] + s * k as f64 - lf[k]);
        }
        self.ln_central = central;
        let (exponent, ln_rate) = match crowd {
            Crowd::Everyone(n) => (n, 0.0),
            Crowd::Sample(m, _) => (m, 0.0),
            Crowd::CheckIn(n, rate) => (n, rate.ln()),
        };
        let series: Vec<f64> = (0..length)
            .map(|k| match k {
                0 => 0.0,
                1 => f64::NEG_INFINITY,
                _ => self.ln_central[k] - lf[k] + ln_rate,
            })
            .collect();
        self.ln_coefficient = ln_power(&series, exponent);
    }
}

/// The Rényi divergence of the pair at integer orders, exact for every [`Crowd`].
///
/// ```
/// use shuffledp_accounting::bounds::shuffle_gaussian::{Crowd, pair};
/// let curve = pair(1.0, Crowd::Everyone(10_000));
/// assert!((curve.at(16.0) / 1.37641862866e-3 - 1.0).abs() < 1e-9);
/// // Table 1 is the cap on orders: 0.22820 at λ ≤ 30, 0.00141 without.
/// let table = pair(9.48, Crowd::Everyone(60_000));
/// assert!((table.clone().capped(30.0).epsilon(1.0 / 60_000.0)?.value - 0.22820).abs() < 5e-6);
/// assert!((table.epsilon(1.0 / 60_000.0)?.value - 0.00141).abs() < 5e-6);
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn pair(sigma: f64, crowd: Crowd) -> RdpCurve {
    let moments = Moments::new(sigma, crowd);
    RdpCurve::new(Orders::Integers(LARGEST), move |order| {
        moments.bounds(order).1
    })
}

/// The same at all orders, from below: between integers by the moments around it
/// ([`shuffledp_numerics::symmetric_ratio`]), and at least what it is at the integer before.
pub(crate) fn pair_from_below(sigma: f64, crowd: Crowd) -> RdpCurve {
    let moments = Moments::new(sigma, crowd);
    RdpCurve::new(Orders::Reals(LARGEST as f64), move |order| {
        let before = match order.floor() {
            one if one < 2.0 => 0.0,
            before => moments.bounds(before).0,
        };
        // The moments around it need three more orders.
        match order < LARGEST as f64 - 3.0 {
            true => moments.bounds(order).0.max(before),
            false => before,
        }
    })
}

/// The moments of the likelihood ratio of the pair, as far as they were needed.
struct Moments {
    sigma: f64,
    crowd: Crowd,
    table: Mutex<Table>,
}

impl Moments {
    fn new(sigma: f64, crowd: Crowd) -> Self {
        Self {
            sigma,
            crowd,
            table: Mutex::new(Table::default()),
        }
    }

    /// Lower and upper bounds of the divergence, the same at integer orders.
    fn bounds(&self, order: f64) -> (f64, f64) {
        let total = match self.crowd {
            Crowd::Everyone(n) | Crowd::Sample(_, n) | Crowd::CheckIn(n, _) => n as f64,
        };
        let needed = match order.fract() == 0.0 {
            true => order as usize,
            false => order as usize + 3,
        };
        // A poisoned lock is safe to use: entries are replaced whole, so a panic leaves at worst a shorter
        // table.
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.ln_coefficient.len() <= needed {
            let length = needed
                .max(2 * table.ln_coefficient.len())
                .min(LARGEST as usize);
            table.extend(length.max(needed), self.sigma, self.crowd);
        }
        let (lower, upper) = ln_excess_between(order, |j| {
            table.ln_factorial[j] - j as f64 * total.ln() + table.ln_coefficient[j]
        });
        let divergence = |excess: f64| ln_1p_exp(excess) / (order - 1.0);
        (divergence(lower), divergence(upper))
    }
}

/// The other direction, D(M(D)‖M(D′)) = 1/(λ−1) ln E(mean Y)^{1−λ}, for real orders.
///
/// ```text
/// E(mean Y)^{−r} = (1/Γ(r)) ∫ e^{ru} E e^{−(e^u/n) Y}ⁿ du
/// ```
///
/// Both integrals are computed by the trapezoidal rule, which converges exponentially here. The absolute
/// error of (λ−1)ε(λ) is about 1e-12, so smaller values are meaningless.
pub fn reverse(sigma: f64, users: u64) -> RdpCurve {
    let n = users as f64;
    // ln E e^{−xY}, Y = e^{z/σ − 1/(2σ²)}, z standard normal.
    let ln_laplace = move |x: f64| -> f64 {
        let step = 0.02f64.min(0.2 * sigma);
        let scale = step / (2.0 * std::f64::consts::PI).sqrt();
        let loss = |z: f64| x * (z / sigma - 0.5 / (sigma * sigma)).exp();
        if x < 0.3 {
            // Near one: compute the difference from one.
            let nodes = (9.5 / step).ceil() as i64;
            let missing: f64 = (-nodes..=nodes)
                .map(|i| i as f64 * step)
                .map(|z| (-0.5 * z * z).exp() * (-loss(z)).exp_m1())
                .sum();
            return (missing * scale).ln_1p();
        }
        // The integrand peaks where −z = loss(z)/σ.
        let peak = bisect(0.0, -1e3, Stop::after(60), |z| -z > loss(z) / sigma).holds;
        let height = |z: f64| -0.5 * z * z - loss(z);
        let top = height(peak);
        let nodes = (9.5 / step).ceil() as i64;
        let sum: f64 = (-nodes..=nodes)
            .map(|i| (height(peak + i as f64 * step) - top).exp())
            .sum();
        top + (sum * scale).ln()
    };
    RdpCurve::new(Orders::Reals(1e4), move |order| {
        let r = order - 1.0;
        let exponent = |u: f64| r * u + n * ln_laplace(u.exp() / n);
        // Step to the peak, then outwards until terms are negligible.
        let (mut peak, mut stride) = (r.max(0.5).ln(), 1.0);
        let mut height = exponent(peak);
        while stride > 1e-3 {
            let (a, b) = (exponent(peak + stride), exponent(peak - stride));
            if a > height {
                (peak, height) = (peak + stride, a);
            } else if b > height {
                (peak, height) = (peak - stride, b);
            } else {
                stride *= 0.5;
            }
        }
        let bend = {
            let h = 0.05;
            (2.0 * height - exponent(peak + h) - exponent(peak - h)) / (h * h)
        };
        let step = 0.25 / bend.max(1e-6).sqrt();
        let mut sum = 1.0;
        for direction in [1.0, -1.0] {
            let mut i = 1.0;
            loop {
                let term = exponent(peak + direction * i * step) - height;
                if term.is_nan() || term <= -45.0 {
                    break;
                }
                sum += term.exp();
                i += 1.0;
            }
        }
        (height + (sum * step).ln() - ln_gamma(r)) / r
    })
}

/// Corollary 1: the Gaussian mechanism without a shuffler.
pub fn unshuffled(sigma: f64) -> RdpCurve {
    RdpCurve::new(Orders::Reals(1e6), move |order| {
        order / (2.0 * sigma * sigma)
    })
}

/// Theorem 2: `sample` of `users`, Theorem 1 put through Wang et al.'s sampling bound.
pub fn theorem_2(sigma: f64, sample: u64, users: u64) -> RdpCurve {
    let rate = sample as f64 / users as f64;
    wang_2019::sampled(
        pair(sigma, Crowd::Everyone(sample)),
        rate,
        f64::INFINITY,
        LARGEST,
    )
}

/// Equation 17 as printed: the sum over the number of check-ins from one on, each with the sampling rate γ.
pub fn equation_17(sigma: f64, users: u64, rate: f64) -> Result<RdpCurve, Unmet> {
    require(users <= 200, || {
        "n <= 200 (the printed sum runs over all numbers of check-ins)".into()
    })?;
    let law = Binomial::new(users, rate).ok_or_else(|| Unmet("a rate in (0, 1]".into()))?;
    let curves: Vec<(f64, RdpCurve)> = (1..=users)
        .map(|k| {
            let base = pair(sigma, Crowd::Everyone(k));
            (
                law.ln_pmf(k),
                wang_2019::sampled(base, rate, f64::INFINITY, 256),
            )
        })
        .collect();
    Ok(RdpCurve::new(Orders::Integers(256), move |order| {
        let terms: Vec<f64> = curves
            .iter()
            .map(|(ln_pmf, curve)| ln_pmf + (order - 1.0) * curve.at(order))
            .collect();
        ln_sum_exp(&terms) / (order - 1.0)
    }))
}

/// Theorem 3 as printed, with the best of twenty values of its free parameter Δ.
pub fn theorem_3(sigma: f64, users: u64, rate: f64) -> RdpCurve {
    let mean = users as f64 * rate;
    let one = wang_2019::sampled(pair(sigma, Crowd::Everyone(1)), rate, f64::INFINITY, 2048);
    let many: Vec<(f64, RdpCurve)> = (1..=20)
        .map(|i| {
            let delta = f64::from(i) / 20.0;
            let crowd = ((1.0 - delta) * mean + 1.0).floor().max(1.0) as u64;
            let curve = pair(sigma, Crowd::Everyone(crowd));
            (delta, wang_2019::sampled(curve, rate, f64::INFINITY, 2048))
        })
        .collect();
    RdpCurve::new(Orders::Integers(2048), move |order| {
        many.iter()
            .map(|(delta, curve)| {
                let few = (order - 1.0) * one.at(order) - delta * delta * mean / 2.0;
                ln_sum_exp(&[few, (order - 1.0) * curve.at(order)]) / (order - 1.0)
            })
            .fold(f64::INFINITY, f64::min)
    })
}
