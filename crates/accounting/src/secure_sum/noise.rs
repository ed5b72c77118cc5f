//! Shares of noise, and the profile h_k of a sum of k of them.
//!
//! In units of the grid, s the scale of a share, D the largest distance of two integer vectors, d
//! coordinates:
//!
//! | share | h_k, over every pair of vectors at distance D or less |
//! |---|---|
//! | Gaussian | that of D/(s√k)-GDP, exactly |
//! | discrete Gaussian | e^τ h(ε − 2τ) of D/√(ks² − t²)-GDP, τ = d (Σ_{j<k} λ(s²j/(j+1)) + λ(t²)), any t |
//! | Skellam | from the Rényi divergences αD²/2V + min( ((2α−1)D² + 6D₁)/4V², 3D₁/2V ), integer α ≥ 2 |
//!
//! A Skellam share has variance s², and V = ks².
//! λ(v) = ln((1 + θ)/(1 − θ)), θ = 2 Σ_{m≥1} e^{−2π²vm²}.
//!
//! **Discrete Gaussian.** By Poisson's formula Σ_z e^{−(z−c)²/2v} over the integers is √(2πv)(1 ± θ(v)) for
//! every real c. (i) Two independent discrete Gaussians of scales s₁, s₂ have at y the probability
//! e^{−y²/2(s₁² + s₂²)} times such a sum with v = s₁²s₂²/(s₁² + s₂²), so that likelihood ratios to the
//! discrete Gaussian of scale √(s₁² + s₂²) are within e^{±λ(v)}; add one share after the other (as Kairouz,
//! Liu, Steinke 2021, whose constant is 10 where this is 4). (ii) The discrete Gaussian of scale S is, within
//! e^{±λ(t²)}, the law of y when x is normal of variance S² − t² and y is drawn with probability proportional
//! to e^{−(y−x)²/2t²} (Peikert 2010): post-processing of the Gaussian mechanism. (iii) Laws within e^{±τ} of
//! others have P − aQ ≤ e^τ (P′ − a e^{−2τ} Q′). **From below** the sum plus a normal variable of variance t²
//! is, by the same sums, within e^{±τ} of a Gaussian mechanism of variance ks² + t², in one coordinate.
//! Proved; certified.
//!
//! **Skellam.** Sums of Skellam shares are Skellam. Agarwal, Kairouz, Liu 2021, Theorem 3.5, converted by
//! Canonne, Kamath, Steinke 2020, Proposition 12; near ε = 0 the variance of the likelihood ratio is better.
//! D₁ ≤ min(√d D, D²). Certified, of one pair from below by [`super::skellam`].

use super::Batch;
use crate::gaussian::{gdp_delta, gdp_delta_below};
use crate::profile::Direction;
use crate::rdp::{Orders, RdpCurve};
use crate::upper::CLOSED_FORM;
use shuffledp_numerics::special::{exp, expm1, ln, ln_1p};
use std::f64::consts::PI;
use std::sync::Arc;

/// The largest ε at which h is evaluated. A smaller ε is safe for an upper bound, and the lower bound is 0
/// beyond.
const LARGEST: f64 = 1e4;
/// The number of terms of the sum over j that are added one by one. Each of the rest is at most the next
/// term.
const FIRST_SHARES: u64 = 64;
/// The most that τ may grow by t, over all coordinates: far below the errors of a composition.
const SMOOTHING: f64 = 1e-13;
/// t² for the lower bound, at which λ(t²) is 3e-17.
const SMOOTHED: f64 = 2.0;

/// The noise that a participant adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Noise {
    /// N(0, σ²) on every coordinate, σ in units of the largest distance of two values.
    Gaussian {
        /// σ.
        sigma: f64,
    },
    /// The discrete Gaussian on every coordinate.
    DiscreteGaussian(Shares),
    /// The difference of two Poisson variables on every coordinate.
    Skellam(Shares),
}

/// Integer noise on integer vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shares {
    /// s.
    pub(crate) scale: f64,
    /// D, a whole number: the largest distance of two vectors, which two vectors along a coordinate have.
    pub(crate) distance: f64,
    /// d.
    pub(crate) dimension: f64,
}

/// A profile between two of μ-GDP, each with likelihood ratios known up to a factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gdp {
    /// At least that of this μ, with this τ.
    pub(super) low: (f64, f64),
    /// At most that of this μ, with this τ.
    pub(super) high: (f64, f64),
}

impl Noise {
    /// An upper bound on h of this many shares.
    pub(super) fn above(self, shares: u64) -> Arc<dyn Batch> {
        match self {
            Self::Skellam(own) => Arc::new(Skellam::new(own, shares)),
            Self::Gaussian { .. } | Self::DiscreteGaussian(_) => Arc::new(self.gdp(shares)),
        }
    }

    /// The profile of one pair of datasets, or of a post-processing of it, from both sides. Not for Skellam
    /// noise, which has [`super::skellam`].
    pub(super) fn pair(self, shares: u64) -> Arc<dyn Batch> {
        let gdp = self.gdp(shares);
        Arc::new(Gdp {
            high: (gdp.low.0 * (1.0 + 4.0 * CLOSED_FORM), gdp.low.1),
            ..gdp
        })
    }

    pub(super) fn gdp(self, shares: u64) -> Gdp {
        let rounded = |mu: f64| (mu * (1.0 - CLOSED_FORM), mu * (1.0 + CLOSED_FORM));
        match self {
            Self::Gaussian { sigma } => {
                let (low, high) = rounded(1.0 / (sigma * (shares as f64).sqrt()));
                Gdp {
                    low: (low, 0.0),
                    high: (high, 0.0),
                }
            }
            Self::DiscreteGaussian(own) => {
                let square = own.scale * own.scale;
                let variance = square * shares as f64;
                let added = added_one_by_one(square, shares);
                let taken =
                    (ln(4.0 * own.dimension / SMOOTHING) / (2.0 * PI * PI)).min(0.5 * variance);
                let smoothed = variance * SMOOTHED / (variance + SMOOTHED);
                let mu = |variance: f64| rounded(own.distance / variance.sqrt());
                Gdp {
                    low: (mu(variance + SMOOTHED).0, added + lambda(smoothed)),
                    high: (
                        mu(variance - taken).1,
                        own.dimension * (added + lambda(taken)),
                    ),
                }
            }
            // Never used: Skellam noise has batches of its own.
            Self::Skellam(_) => Gdp {
                low: (f64::MIN_POSITIVE, f64::INFINITY),
                high: (f64::INFINITY, f64::INFINITY),
            },
        }
    }
}

/// λ(v), rounded up; infinite where θ may be 1 or more.
fn lambda(v: f64) -> f64 {
    let first = exp(-2.0 * PI * PI * v);
    // The terms fall faster than a geometric series of ratio e^{−6π²v}.
    let theta = 2.0 * first / (1.0 - first.powi(3)) * (1.0 + CLOSED_FORM);
    match theta < 1.0 {
        true => (ln_1p(theta) - ln_1p(-theta)) * (1.0 + CLOSED_FORM),
        false => f64::INFINITY,
    }
}

/// Σ_{j<k} λ(s²j/(j+1)), rounded up.
fn added_one_by_one(square: f64, shares: u64) -> f64 {
    let term = |j: u64| lambda(square * (j as f64 / (j as f64 + 1.0)) * (1.0 - CLOSED_FORM));
    let first: f64 = (1..shares.min(FIRST_SHARES)).map(term).sum();
    let rest = shares.saturating_sub(FIRST_SHARES) as f64;
    let rest = if rest > 0.0 {
        rest * term(FIRST_SHARES)
    } else {
        0.0
    };
    (first + rest) * (1.0 + CLOSED_FORM)
}

/// Both directions are the same.
impl Batch for Gdp {
    fn above(&self, _: Direction, epsilon: f64) -> f64 {
        let (mu, slack) = self.high;
        if !(slack < 1.0 && mu.is_finite()) {
            return 1.0;
        }
        let at = (epsilon - 2.0 * slack).min(LARGEST);
        // At a smaller than 1, H is at most 1 − a larger than at 1.
        let value = gdp_delta(mu, at.max(0.0)) - at.min(0.0);
        (value * exp(slack) * (1.0 + CLOSED_FORM)).min(1.0)
    }

    fn below(&self, _: Direction, epsilon: f64) -> f64 {
        let (mu, slack) = self.low;
        match slack < 1.0 && epsilon < LARGEST {
            true => gdp_delta_below(mu, epsilon + 2.0 * slack) * exp(-slack) * (1.0 - CLOSED_FORM),
            false => 0.0,
        }
    }

    fn deviation(&self) -> f64 {
        expm1((self.high.0 * self.high.0).min(700.0)).sqrt()
    }
}

/// The Rényi bound of a sum of Skellam shares: the smaller of two that are linear in the order, ε(α) =
/// slope·α + start.
#[derive(Clone, Copy, Debug)]
struct Skellam {
    lines: [(f64, f64); 2],
    /// D²/V.
    square: f64,
}

impl Skellam {
    fn new(own: Shares, shares: u64) -> Self {
        let variance = own.scale * own.scale * shares as f64 * (1.0 - CLOSED_FORM);
        let square = own.distance * own.distance;
        let absolute = own.distance * own.dimension.sqrt().min(own.distance) * (1.0 + CLOSED_FORM);
        let (first, second) = (0.5 * square / variance, 0.25 / (variance * variance));
        Self {
            lines: [
                (
                    first + 2.0 * square * second,
                    (6.0 * absolute - square) * second,
                ),
                (first, 1.5 * absolute / variance),
            ],
            square: square / variance,
        }
    }
}

impl Skellam {
    /// E(r − a)₊ of a likelihood ratio r of mean 1 and variance χ² = e^{ε(2)} − 1 at most is at most
    /// (√(χ² + (a − 1)²) − (a − 1))/2 (Scarf 1958), which is better near a = 1.
    fn by_variance(&self, epsilon: f64) -> f64 {
        let [first, second] = self.lines.map(|(slope, start)| 2.0 * slope + start);
        let chi_square = expm1(first.min(second).min(700.0));
        let growth = expm1(epsilon.min(300.0));
        // Without cancellation.
        let value = 0.5 * chi_square / ((chi_square + growth * growth).sqrt() + growth);
        value * (1.0 + CLOSED_FORM)
    }
}

/// The Rényi curve of a sum of this many Skellam shares.
pub(crate) fn skellam_curve(own: Shares, shares: u64) -> RdpCurve {
    let lines = Skellam::new(own, shares).lines;
    RdpCurve::new(Orders::Integers(1_000_000), move |order| {
        let [first, second] = lines.map(|(slope, start)| slope * order + start);
        first.min(second)
    })
}

impl Batch for Skellam {
    fn above(&self, _: Direction, epsilon: f64) -> f64 {
        let epsilon = epsilon.min(LARGEST);
        let mut best: f64 = 0.0;
        for (slope, start) in self.lines {
            // About where the conversion is best; every whole order is valid.
            let order = 0.5 * (1.0 + (epsilon - start) / slope);
            for order in [order.floor(), order.ceil(), order.ceil() + 1.0] {
                let order = order.clamp(2.0, 1e9);
                let gain = (order - 1.0) * (slope * order + start - epsilon);
                let error = 1e-14 * order * (slope * order + start.abs() + epsilon + 1.0);
                let value = gain + (order - 1.0) * ln_1p(-1.0 / order) - ln(order) + error;
                best = best.min(value);
            }
        }
        (exp(best) * (1.0 + CLOSED_FORM)).min(self.by_variance(epsilon))
    }

    fn below(&self, _: Direction, _: f64) -> f64 {
        0.0
    }

    fn deviation(&self) -> f64 {
        expm1(self.square.min(700.0)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::{added_one_by_one, lambda};

    const REACH: i32 = 40;

    /// e^{−(z − center)²/2s²} over the integers, normalized.
    fn discrete(scale: f64, center: f64) -> Vec<f64> {
        let weight = |z: i32| (-0.5 * ((f64::from(z) - center) / scale).powi(2)).exp();
        let total: f64 = (-REACH..=REACH).map(weight).sum();
        (-REACH..=REACH).map(|z| weight(z) / total).collect()
    }

    /// The largest |ln| of the quotients of two laws where neither has underflowed.
    fn largest(first: &[f64], second: &[f64]) -> f64 {
        let quotients = first.iter().zip(second);
        quotients
            .filter(|(p, q)| **p > 1e-200 && **q > 1e-200)
            .map(|(p, q)| (p / q).ln().abs())
            .fold(0.0, f64::max)
    }

    /// Sums of two to four narrow shares against the discrete Gaussian of their variance: within the bound,
    /// and for two of them not within a third of it.
    #[test]
    fn a_sum_of_shares_is_within_a_factor_of_a_discrete_gaussian() {
        for scale in [0.5, 0.6, 0.8] {
            let share = discrete(scale, 0.0);
            let mut sum = share.clone();
            for shares in 2..=4u64 {
                let mut next = vec![0.0; sum.len()];
                for (i, p) in sum.iter().enumerate() {
                    for (j, q) in share.iter().enumerate() {
                        if let Some(k) = (i + j).checked_sub(REACH as usize)
                            && k < next.len()
                        {
                            next[k] += p * q;
                        }
                    }
                }
                sum = next;
                let inner = |law: &[f64]| law[30..=50].to_vec();
                let one = discrete(scale * (shares as f64).sqrt(), 0.0);
                let off = largest(&inner(&sum), &inner(&one));
                let said = added_one_by_one(scale * scale, shares);
                assert!(
                    off <= said && (shares > 2 || off > 0.3 * said),
                    "{scale} {shares}: {off} {said}"
                );
            }
        }
    }

    /// A normal variable drawn to the integers, as in the proof, integrated.
    #[test]
    fn a_discrete_gaussian_is_nearly_a_function_of_a_normal_variable() {
        for (scale, taken) in [(1.5f64, 0.15), (2.0, 0.3), (1.0, 0.2)] {
            let wide = (scale * scale - taken).sqrt();
            let mut law = vec![0.0; 2 * REACH as usize + 1];
            let step = 1.0 / 64.0;
            for i in -900..=900 {
                let x = f64::from(i) * step;
                let weight = step * (-0.5 * (x / wide).powi(2)).exp() / (wide * 2.5066282746310002);
                for (p, q) in law.iter_mut().zip(discrete(taken.sqrt(), x)) {
                    *p += weight * q;
                }
            }
            let inner = |law: &[f64]| law[34..=46].to_vec();
            let off = largest(&inner(&law), &inner(&discrete(scale, 0.0)));
            let said = lambda(taken);
            assert!(
                off <= said && off > 1e-3 * said,
                "{scale} {taken}: {off} {said}"
            );
        }
    }
}
