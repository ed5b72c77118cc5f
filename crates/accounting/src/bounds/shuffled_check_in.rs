//! Liew, Hasegawa, Takahashi, *Shuffled check-in: privacy amplification towards practical distributed
//! learning*.
//!
//! Each of n users takes part with probability γ; K ~ Bin(n, γ) do.
//!
//! ```text
//! Theorem 1     l with P[K ≥ l] ≤ β,   k₀ = min(l, ⌈16 E ln(2/δ)⌉),   δ_total = β + (l/n) δ:
//!               ε = ln(1 + (1/n) max{ (E−1)/(E+1) (8√(l E ln(4/δ)) + 8E), (E−1) k₀ })
//! Lemma 1       "(ε, δ)-DP implies ε(λ) = ε + ln M(λ, ε, δ)/(λ−1)"
//!               M = min_r r^λ (r−δ)^{1−λ} + (1−r)^λ (e^ε − r + δ)^{1−λ}
//! Approach 1    shuffle of k by Feldman et al. 2021, Lemma 1, sampling at k/n by Wang et al. 2019,
//!               mixture over k
//! Approach 2    shuffle of k, sampling at k/n by Balle et al. 2018, Lemma 1, mixture over k
//! Theorem 4     secure aggregation, only the noisy sum of the m check-ins is seen; mixture over m of
//!               ε_m(λ) = 1/(λ−1) ln(1 + (m/n)² C(λ,2) min{4(e^{4/(mσ²)} − 1), 2e^{4/(mσ²)}}
//!                                     + Σ_{j≥3} 2 (m/n)ʲ C(λ,j) e^{2j(j−1)/(mσ²)})
//! ```
//!
//! Sides and standings:
//!
//! * [`first_cut`], Theorem 1 corrected: upper, proved. The second term of the maximum is for rounds with so
//!   few check-ins that the closed form is not valid; the paper leaves it out, and prints (E−1)/E, which is
//!   only looser.
//! * [`approach_1`], [`approach_2`], [`baseline`]: upper, refuted. Lemma 1 reverses a true statement (it
//!   gives the largest Rényi divergence that still *implies* (ε, δ)-DP). Releasing the data with probability
//!   δ is (0, δ)-DP and has infinite divergence.
//! * [`distributed`], Theorem 4, with the term of no check-in, (1−γ)ⁿ: upper for secure aggregation, proved.

use super::{Unmet, balle_2018, feldman_2021, ln_sum_exp, require, wang_2019};
use crate::rdp::{Orders, RdpCurve};
use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::search::{bisect_integers, golden_middle};
use std::sync::Mutex;

/// Why Approaches 1 and 2 are not bounds, in a sentence.
pub const WHY_REFUTED: &str = "rests on Lemma 1, which is false: \
                               (epsilon, delta)-DP with delta > 0 bounds no Renyi divergence";

/// Theorem 1: ε of one round at a total of `delta`.
///
/// ```
/// use shuffledp_accounting::bounds::shuffled_check_in::first_cut;
/// let epsilon = first_cut(1_000_000, 0.1, 1.0, 1e-6)?;
/// assert!(epsilon > 0.0 && epsilon < 0.1);
/// # Ok::<(), shuffledp_accounting::bounds::Unmet>(())
/// ```
pub fn first_cut(users: u64, rate: f64, epsilon0: f64, delta: f64) -> Result<f64, Unmet> {
    let law = Binomial::new(users, rate).ok_or_else(|| Unmet("a rate in (0, 1]".into()))?;
    // Half of δ covers the event of too many check-ins.
    let expected = (users as f64 * rate) as u64;
    let rarely_more = |count: u64| law.ln_upper_tail(count) <= (0.5 * delta).ln();
    let most = bisect_integers(expected, users, rarely_more).holds;
    let (n, l, e) = (users as f64, most as f64, epsilon0.exp());
    let share = (0.5 * delta * n / l).min(0.5);
    let few = (16.0 * e * (2.0 / share).ln()).ceil().min(l);
    require(l >= few, || "epsilon0 <= ln(l/(16 ln(2/delta)))".into())?;
    let closed =
        epsilon0.exp_m1() / (e + 1.0) * (8.0 * (l * e * (4.0 / share).ln()).sqrt() + 8.0 * e);
    let worst = closed.max(epsilon0.exp_m1() * few);
    Ok((worst / n)
        .ln_1p()
        .min(balle_2018::amplified(epsilon0, 1.0)))
}

/// Lemma 1 as printed.
///
/// ```
/// use shuffledp_accounting::bounds::shuffled_check_in::lemma_1;
/// // Finite, for a mechanism that may publish everything with probability 1e-5.
/// assert!(lemma_1(10.0, 0.1, 1e-5) < 1.0);
/// ```
pub fn lemma_1(order: f64, epsilon: f64, delta: f64) -> f64 {
    let ln_m = |v: f64| {
        // r = δ + (1 − δ) s, s = 1/(1 + e^{−v}).
        let s = 1.0 / (1.0 + (-v).exp());
        let (over, left) = ((1.0 - delta) * s, (1.0 - delta) / (1.0 + v.exp()));
        let r = delta + over;
        let first = order * r.ln() + (1.0 - order) * over.ln();
        let second = order * left.ln() + (1.0 - order) * (epsilon.exp_m1() + (1.0 - over)).ln();
        ln_sum_exp(&[first, second])
    };
    let least = golden_middle(-80.0, 40.0, 40, ln_m);
    (epsilon + ln_m(least) / (order - 1.0)).max(0.0)
}

/// The parameters of the two approaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckIn {
    /// n.
    pub users: u64,
    /// γ.
    pub rate: f64,
    /// ε₀.
    pub epsilon0: f64,
    /// δ₀ of the randomizer.
    pub delta0: f64,
    /// The δ₁ given to the amplification by shuffling.
    pub delta1: f64,
}

impl CheckIn {
    /// All numbers of check-ins, with the logarithms of their probabilities. Far from the mean neighbors are
    /// grouped at the smallest of them: every bound used here decreases with the number of check-ins, so that
    /// is the safe side.
    fn counts(&self) -> Vec<(u64, f64)> {
        let Some(law) = Binomial::new(self.users, self.rate) else {
            return Vec::new();
        };
        let mean = self.users as f64 * self.rate;
        let width = (10.0 * mean.sqrt() + 30.0).min(250.0);
        let near = |k: u64| self.users <= 2000 || (k as f64 - mean).abs() <= width || k < 64;
        let mut counts = Vec::new();
        let mut k = 0;
        while k <= self.users {
            if near(k) {
                counts.push((k, law.ln_pmf(k)));
                k += 1;
                continue;
            }
            let mut next = (k + k / 32 + 1).min(self.users + 1);
            if near(next) && (k as f64) < mean {
                next = next.min((mean - width).max(64.0).ceil() as u64).max(k + 1);
            }
            // An upper bound: the probability of the tail that does not contain the mean.
            let most = if (k as f64) < mean {
                law.ln_lower_tail(next - 1)
            } else {
                law.ln_upper_tail(k)
            };
            counts.push((k, most));
            k = next;
        }
        counts
    }

    /// (ε, δ) of the shuffle of k reports; without amplification where the closed form does not hold.
    fn shuffled(&self, k: u64) -> (f64, f64) {
        let epsilon = feldman_2021::epsilon(k.max(1), self.epsilon0, self.delta1)
            .unwrap_or(self.epsilon0)
            .min(self.epsilon0);
        let delta = self.delta1 + feldman_2021::extra_delta(k, self.epsilon0, self.delta0, epsilon);
        (epsilon, delta.min(0.5))
    }

    fn mixture(
        self,
        at: impl Fn(u64, f64) -> f64 + Send + Sync + 'static,
        largest: u64,
    ) -> RdpCurve {
        let counts = self.counts();
        RdpCurve::new(Orders::Integers(largest), move |order| {
            let terms: Vec<f64> = counts
                .iter()
                .map(|&(k, ln_pmf)| {
                    let moment = if k == 0 {
                        0.0
                    } else {
                        (order - 1.0) * at(k, order)
                    };
                    ln_pmf + moment
                })
                .collect();
            (ln_sum_exp(&terms) / (order - 1.0)).max(0.0)
        })
    }
}

/// Approach 1.
pub fn approach_1(setting: CheckIn) -> RdpCurve {
    let curves: Vec<(u64, RdpCurve)> = setting
        .counts()
        .into_iter()
        .map(|(k, _)| {
            let (epsilon, delta) = setting.shuffled(k);
            let base = RdpCurve::new(Orders::Integers(1024), move |order| {
                lemma_1(order, epsilon, delta)
            });
            let rate = k as f64 / setting.users as f64;
            (
                k,
                wang_2019::sampled(base, rate.max(1e-300), f64::INFINITY, 1024),
            )
        })
        .collect();
    let curves = Mutex::new(curves);
    setting.mixture(
        move |k, order| {
            let curves = curves
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            curves
                .iter()
                .find(|(at, _)| *at == k)
                .map_or(0.0, |(_, curve)| curve.at(order))
        },
        1024,
    )
}

/// Approach 2.
pub fn approach_2(setting: CheckIn) -> RdpCurve {
    setting.mixture(
        move |k, order| {
            let (epsilon, delta) = setting.shuffled(k);
            let rate = k as f64 / setting.users as f64;
            lemma_1(order, balle_2018::amplified(epsilon, rate), rate * delta)
        },
        4096,
    )
}

/// The baseline for composition: (ε, δ) of [`first_cut`], converted by Lemma 1.
pub fn baseline(epsilon: f64, delta: f64) -> RdpCurve {
    RdpCurve::new(Orders::Integers(4096), move |order| {
        lemma_1(order, epsilon, delta)
    })
}

/// Theorem 4: distributed check-in of Gaussian vectors of norm at most 1, only the sum seen.
pub fn distributed(users: u64, rate: f64, sigma: f64) -> Result<RdpCurve, Unmet> {
    require(sigma > 0.0, || "sigma > 0".into())?;
    let setting = CheckIn {
        users,
        rate,
        epsilon0: 0.0,
        delta0: 0.0,
        delta1: 0.0,
    };
    let n = users as f64;
    let counts = setting.counts();
    Ok(RdpCurve::new(Orders::Integers(20_000), move |order| {
        let ln_choose: Vec<f64> = (0..=order as u64)
            .map(|j| super::ln_choose(order, j as f64))
            .collect();
        let mut terms = vec![0.0; order as usize - 1];
        let all: Vec<f64> = counts
            .iter()
            .map(|&(m, ln_pmf)| {
                if m == 0 {
                    return ln_pmf;
                }
                let (m, ln_gamma) = (m as f64, (m as f64 / n).ln());
                let s = 1.0 / (m * sigma * sigma);
                let second = (4.0 * (4.0 * s).exp_m1()).min(2.0 * (4.0 * s).exp());
                terms[0] = 2.0 * ln_gamma + ln_choose[2] + second.ln();
                for (j, term) in terms.iter_mut().enumerate().skip(1) {
                    let (c, j) = (ln_choose[j + 2], (j + 2) as f64);
                    *term = std::f64::consts::LN_2 + j * ln_gamma + c + 2.0 * j * (j - 1.0) * s;
                }
                ln_pmf + super::ln_1p_exp(ln_sum_exp(&terms))
            })
            .collect();
        (ln_sum_exp(&all) / (order - 1.0)).max(0.0)
    }))
}
