//! Composition of many adaptive rounds as a sum of independent privacy losses.
//!
//! If each round's pair of output laws is dominated by a fixed pair, whatever happened before, then T
//! adaptive rounds are dominated by the product of those pairs (Zhu, Dong, Wang 2022, Theorem 10), whose
//! privacy loss is the sum of independent losses:
//!
//! ```text
//! δ_T(ε) = E(1 − e^{ε − L₁ − … − L_T})₊ + P[some L_t = ∞]
//! ```
//!
//! The expectation is a Laplace integral ([`shuffledp_numerics::lattice`]) whose cost does not depend on T.
//! The other answers come from the same losses:
//!
//! ```text
//! f(x)  = sup_ε max(1 − δ(ε) − e^ε x, e^{−ε}(1 − δ(ε) − x))     trade-off function
//! D_λ   = (1/(λ−1)) Σ_t ln E e^{(λ−1) L_t}                       Rényi divergence
//! ```
//!
//! The trade-off function is the type II error at type I error x (Dong, Roth, Su 2022).
//!
//! Standing: certified, on the side of the distributions that went in.

use crate::bound::Side;
use crate::pld::Pld;
use crate::profile::above_wanted;
use crate::upper::CLOSED_FORM;
use shuffledp_numerics::lattice::{Ramp, Sum};
use shuffledp_numerics::log_space::ln_add_exp;
use shuffledp_numerics::rounding::{exp_down, exp_up, ln_down, ln_up, widen_up};
use shuffledp_numerics::search::falling_crossing;
use shuffledp_numerics::special::{exp, expm1, ln};

/// Width of the enclosure of ln δ that the integral is asked for, far below the error of the lattice.
pub(crate) const TARGET: f64 = 1e-7;
/// Relative distance in ε at which the search for ε stops, far below the error of the lattice.
pub(crate) const TOLERANCE: f64 = 1e-8;

/// An estimate of ε is not improved further where it is off by less than this, relatively: secants find the
/// rest in a few steps.
const ROUGHLY_RIGHT: f64 = 1e-3;
/// Most steps of Newton's method, each as long as a step of the search.
const MOST_REFINEMENTS: u32 = 6;

/// A number of rounds, all described on the same side of the truth.
#[derive(Clone, Debug)]
pub struct Composition {
    side: Side,
    parts: Vec<(Pld, u64)>,
    sum: Sum,
}

impl Composition {
    /// No rounds yet: δ is zero at every ε.
    pub fn new(side: Side) -> Self {
        Self {
            side,
            parts: Vec::new(),
            sum: Sum::default(),
        }
    }

    /// Adds `times` rounds of this distribution. `false`, and nothing added, if it is on the other side.
    #[must_use]
    pub fn add(&mut self, pld: &Pld, times: u64) -> bool {
        if pld.side() != self.side {
            return false;
        }
        self.sum.add(pld.losses().clone(), times);
        self.parts.push((pld.clone(), times));
        true
    }

    /// An upper bound on the probability that some loss is infinite.
    pub fn infinite(&self) -> f64 {
        self.parts
            .iter()
            .map(|(pld, times)| widen_up(pld.infinite() * *times as f64))
            .fold(0.0, |sum, next| widen_up(sum + next))
    }

    /// An upper bound on the probability of the reports that the laws of the rounds leave out, whose loss is
    /// not bounded.
    fn lost(&self) -> f64 {
        self.parts
            .iter()
            .filter(|(pld, _)| pld.lost() > 0.0)
            .map(|(pld, times)| widen_up(pld.lost() * *times as f64))
            .fold(0.0, |sum, next| widen_up(sum + next))
    }

    /// The largest loss that the rounds themselves can have.
    pub fn loss_limit(&self) -> f64 {
        self.parts
            .iter()
            .map(|(pld, times)| widen_up(pld.loss_limit() * *times as f64))
            .sum::<f64>()
            * (1.0 + 4.0 * f64::EPSILON * self.parts.len() as f64)
    }

    /// From this ε on δ is the probability of an infinite loss alone: the largest loss where there is one,
    /// else the end of the lattices.
    fn reach(&self) -> f64 {
        let limit = self.loss_limit();
        if limit.is_finite() {
            return limit;
        }
        let ends = self
            .parts
            .iter()
            .map(|(pld, times)| pld.largest_loss() * *times as f64);
        ends.sum::<f64>() * (1.0 + 1e-9)
    }

    /// Mean and variance of the composed loss, infinite losses counted at the largest possible one.
    pub fn loss_moments(&self) -> (f64, f64) {
        let (mut mean, mut variance) = (0.0, 0.0);
        for (pld, times) in &self.parts {
            let losses = pld
                .losses()
                .iter()
                .chain([(pld.largest_loss(), pld.infinite())]);
            let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
            for (loss, p) in losses {
                mass += p;
                first += p * loss;
                second += p * loss * loss;
            }
            let average = first / mass;
            mean += *times as f64 * average;
            variance += *times as f64 * (second / mass - average * average);
        }
        (mean, variance)
    }

    /// ln δ(ε) on this side, for ε ≥ 0.
    fn ln_delta(&self, ramp: &Ramp, epsilon: f64) -> f64 {
        if self.parts.is_empty() || epsilon >= self.loss_limit() {
            return match self.lost() {
                lost if lost > 0.0 => ln_up(lost),
                _ => f64::NEG_INFINITY,
            };
        }
        let finite = ramp.ln_value(epsilon, TARGET);
        match self.side {
            Side::Lower => finite.lower,
            Side::Upper => {
                let infinite = self.infinite();
                if infinite > 0.0 {
                    widen_up(ln_add_exp(finite.upper, ln_up(infinite))).min(0.0)
                } else {
                    finite.upper.min(0.0)
                }
            }
        }
    }

    /// δ at ε ≥ 0.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let ln = self.ln_delta(&self.sum.saturating_ramp(), epsilon);
        match self.side {
            Side::Upper if ln == f64::NEG_INFINITY => 0.0,
            Side::Upper => exp_up(ln).min(1.0),
            Side::Lower => exp_down(ln),
        }
    }

    /// The least ε with δ(ε) ≤ `delta`, rounded to this side; infinite where the laws leave out more than
    /// that.
    pub fn epsilon(&self, delta: f64) -> f64 {
        let unbounded = self.loss_limit().is_infinite() && self.infinite() >= delta;
        if self.lost() >= delta || unbounded {
            return f64::INFINITY;
        }
        let ln_delta = match self.side {
            Side::Upper => ln_down(delta),
            Side::Lower => ln_up(delta),
        };
        if self.most_at_zero() <= delta * (1.0 - 4.0 * f64::EPSILON) {
            return 0.0;
        }
        let ramp = self.sum.saturating_ramp();
        let guess = match ramp.estimate_crossing(ln_delta) {
            Some(epsilon) if epsilon > 0.1 * self.loss_moments().1.sqrt() => {
                (self.refined(&ramp, epsilon, ln_delta), 1e-4)
            }
            // Near δ(0), or where losses are far from Gaussian, the estimate is not used.
            _ if self.ln_delta(&ramp, 0.0) <= ln_delta => return 0.0,
            _ => (self.guess(delta), 0.02),
        };
        let crossing = falling_crossing(0.0, self.reach(), guess, TOLERANCE, |epsilon| {
            above_wanted(self.ln_delta(&ramp, epsilon), ln_delta)
        });
        match self.side {
            Side::Upper => crossing.below,
            Side::Lower => crossing.above,
        }
    }

    /// An upper bound on δ(0) that costs one pass over the masses: E(1 − e^{−L₁−L₂})₊ is at most the sum of
    /// the two E(1 − e^{−L})₊, times the masses of the others. Where it meets a large δ no integral is
    /// needed, and an integral over very rare losses may take its longest and find nothing.
    fn most_at_zero(&self) -> f64 {
        let (mut sum, mut ln_mass, mut size) = (0.0, 0.0, 0.0);
        for (pld, times) in &self.parts {
            let mass = pld.losses().mass();
            let positive = pld.losses().iter().filter(|(loss, _)| *loss > 0.0);
            let single: f64 = positive.map(|(loss, p)| p * -expm1(-loss)).sum();
            let times = *times as f64;
            // One round leaves its own mass out.
            sum += times * single / mass;
            ln_mass += times * ln(mass);
            size += times * pld.losses().points() as f64;
        }
        // Sums over so many points round so often, in each round.
        let slack = 8.0 * f64::EPSILON * (size + 16.0);
        exp_up(ln_mass + slack) * sum * (1.0 + CLOSED_FORM) + self.infinite()
    }

    /// An estimate of ε that may be off by percents, made better by Newton's method: ln δ falls by about c
    /// for each unit of ε. Rare large losses are what the saddle-point expansion does not see.
    fn refined(&self, ramp: &Ramp, estimate: f64, ln_delta: f64) -> f64 {
        let mut epsilon = estimate;
        for _ in 0..MOST_REFINEMENTS {
            let excess = self.ln_delta(ramp, epsilon) - ln_delta;
            let step = ramp.slope().map_or(f64::NAN, |slope| excess / slope);
            if !step.is_finite() || step.abs() <= ROUGHLY_RIGHT * epsilon {
                break;
            }
            let (least, most) = (0.5 * epsilon, (2.0 * epsilon).min(self.reach()));
            epsilon = (epsilon + step).max(least).min(most);
        }
        epsilon
    }

    /// ε of a Gaussian loss with these moments.
    fn guess(&self, delta: f64) -> f64 {
        let (mean, variance) = self.loss_moments();
        let deviation = variance.sqrt();
        let budget = -ln(delta) - 0.92;
        let mut z: f64 = 2.0;
        for _ in 0..4 {
            z = (2.0 * (budget - ln(z / deviation.min(1.0) + 1.0)).max(0.1)).sqrt();
        }
        (mean + deviation * z).min(0.5 * self.reach())
    }

    /// The type II error of the best test with type I error `alpha` in (0, 1): at least this for all pairs of
    /// datasets (upper side), or at most this for one pair (lower side). `reverse` is the same composition
    /// with the two datasets exchanged.
    pub fn type_two_error(&self, reverse: &Self, alpha: f64) -> f64 {
        // Concave in a = e^ε, and beyond a = 1/alpha negative.
        let steep = |a: f64| 1.0 - self.delta(ln(a).max(0.0)) - a * alpha;
        // Concave in b = e^{−ε}.
        let flat = |b: f64| b * (1.0 - reverse.delta(-ln(b).min(0.0)) - alpha);
        let limit = self.loss_limit().max(reverse.loss_limit()).min(600.0);
        let best = self
            .peak(&steep, 1.0, (1.0 / alpha).min(exp(limit)))
            .max(self.peak(&flat, exp(-limit), 1.0));
        match self.side {
            Side::Upper => (best - 4.0 * f64::EPSILON).clamp(0.0, 1.0 - alpha),
            Side::Lower => (best + 4.0 * f64::EPSILON).clamp(0.0, 1.0 - alpha),
        }
    }

    /// The largest value of a concave function on [low, high]: a value that is attained (upper side), or a
    /// bound that is not exceeded (lower side).
    fn peak(&self, f: &dyn Fn(f64) -> f64, low: f64, high: f64) -> f64 {
        // Three points around the peak, on a logarithmic scale. Not a golden section: the bound below needs
        // all three.
        let (mut left, mut right) = ((low, f(low)), (high, f(high)));
        let mut middle = (low.sqrt() * high.sqrt(), f(low.sqrt() * high.sqrt()));
        for _ in 0..60 {
            if right.0 <= left.0 * (1.0 + 1e-6) {
                break;
            }
            let (a, b) = (
                left.0.sqrt() * middle.0.sqrt(),
                middle.0.sqrt() * right.0.sqrt(),
            );
            let (a, b) = ((a, f(a)), (b, f(b)));
            if a.1 >= middle.1 && a.1 >= b.1 {
                (right, middle) = (middle, a);
            } else if b.1 >= middle.1 {
                (left, middle) = (middle, b);
            } else {
                (left, right) = (a, b);
            }
        }
        let seen = middle.1.max(left.1).max(right.1);
        match self.side {
            Side::Upper => seen,
            Side::Lower => {
                // A concave function stays below the lines through two of its points, extended.
                let slope = |p: (f64, f64), q: (f64, f64)| {
                    if q.0 > p.0 {
                        (q.1 - p.1) / (q.0 - p.0)
                    } else {
                        0.0
                    }
                };
                let to_right = slope(left, middle).max(0.0) * (right.0 - middle.0);
                let to_left = (-slope(middle, right)).max(0.0) * (middle.0 - left.0);
                seen.max(middle.1 + to_right.max(to_left))
            }
        }
    }

    /// The Rényi divergence of order λ > 1, rounded to this side.
    pub fn renyi(&self, order: f64) -> f64 {
        if self.lost() > 0.0 {
            return f64::INFINITY;
        }
        let power = order - 1.0;
        let total: f64 = self
            .parts
            .iter()
            .map(|(pld, times)| {
                let tilt = pld.losses().tilt(power);
                let times = *times as f64;
                match self.side {
                    Side::Lower => times * (tilt.ln_moment - tilt.error),
                    Side::Upper => {
                        let finite = tilt.ln_moment + tilt.error;
                        let far = if pld.infinite() > 0.0 {
                            // A constant profile up to the largest loss: λ ∫ α^{λ−2} dα, less than this.
                            ln_up(pld.infinite()) + ln_up(order) + power * pld.loss_limit()
                        } else {
                            f64::NEG_INFINITY
                        };
                        times * widen_up(ln_add_exp(finite, far))
                    }
                }
            })
            .sum();
        let value = total / power;
        let slack = 8.0 * f64::EPSILON * (1.0 + self.parts.len() as f64) * value.abs();
        match self.side {
            Side::Upper => value + slack,
            Side::Lower => (value - slack).max(0.0),
        }
    }
}

/// ln of a tail of a single round that changes δ after `rounds` rounds by a negligible part (e^−9.3 ≈ 1e-4).
/// Rounded down to a multiple of 23 (a factor of 1e10), so that nearby δ share one distribution, and at least
/// −735, which no answer goes below.
pub(crate) fn ln_tail(ln_delta: f64, rounds: f64) -> f64 {
    const COARSE: f64 = 23.0;
    let wanted = ln_delta - ln(rounds) - 9.3;
    ((wanted / COARSE).floor() * COARSE).max(-735.0)
}

/// ln δ(ε) of a Gaussian loss with this variance and half of it as mean: an estimate, never too small by
/// much.
pub(crate) fn ln_gaussian_delta(epsilon: f64, variance: f64) -> f64 {
    let deviation = variance.sqrt();
    let z = ((epsilon - 0.5 * variance) / deviation).max(0.0);
    -0.5 * z * z - ln(1.0 + z * z) + expm1(-deviation).abs().max(1e-300).ln()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Composition;
    use crate::atoms::Atoms;
    use crate::bound::Side;
    use crate::local::LocalEpsilon;
    use crate::pld::{ComposedRounds, Pld, Resolution};
    use crate::profile::Profile;

    /// The distribution of one response of an unshuffled bit, a loss of ±ε₀.
    fn bit(epsilon0: f64) -> Pld {
        let atoms = Atoms::ldp(LocalEpsilon::new(epsilon0).unwrap()).unwrap();
        let profile = [Profile::new(atoms, 1)];
        let composed = ComposedRounds {
            rounds: 1.0,
            deviation: epsilon0,
        };
        let resolution = Resolution::for_accuracy(&profile, Side::Upper, 1e-3, -50.0, composed);
        Pld::pessimistic(&profile, resolution).unwrap()
    }

    /// δ(0) of bits by enumeration: the total variation distance of products, Σ (p − q)₊ over all outcomes.
    fn at_zero(bits: &[f64]) -> f64 {
        let total = (0..1u32 << bits.len()).map(|outcome| {
            let (mut p, mut q) = (1.0, 1.0);
            for (i, epsilon0) in bits.iter().enumerate() {
                let (kept, flipped) = (
                    1.0 / (1.0 + (-epsilon0).exp()),
                    1.0 / (1.0 + epsilon0.exp()),
                );
                let is_kept = outcome >> i & 1 == 0;
                p *= if is_kept { kept } else { flipped };
                q *= if is_kept { flipped } else { kept };
            }
            (p - q).max(0.0)
        });
        total.sum()
    }

    /// Above the truth, and at most the sum of the rounds' own: for one round the two are the same, so that
    /// nothing may be missing from the bound, and nothing be in it twice.
    #[test]
    fn the_bound_near_zero_is_above_the_truth_and_below_the_sum() {
        for kinds in [
            &[(0.01, 1)][..],
            &[(1.0, 1)],
            &[(0.1, 4)],
            &[(0.02, 3), (0.3, 2)],
            &[(2.0, 9)],
        ] {
            let mut composition = Composition::new(Side::Upper);
            let (mut bits, mut sum) = (Vec::new(), 0.0);
            for &(epsilon0, times) in kinds {
                assert!(composition.add(&bit(epsilon0), times));
                bits.extend(vec![epsilon0; times as usize]);
                sum += times as f64 * at_zero(&[epsilon0]);
            }
            let (bound, truth) = (composition.most_at_zero(), at_zero(&bits));
            assert!(bound >= truth * (1.0 - 1e-12), "{kinds:?}: {bound} {truth}");
            // The lattice is coarse, and its masses add up to a little more than one.
            assert!(bound <= sum * 1.01, "{kinds:?}: {bound} {sum}");
            if bits.len() == 1 {
                assert!(bound <= truth * 1.01, "{kinds:?}: {bound} {truth}");
            }
        }
    }

    /// Where the bound meets δ no integral is needed, and nowhere else is ε said to be 0 that is not.
    #[test]
    fn epsilon_is_zero_only_where_delta_of_zero_is_small_enough() {
        let mut composition = Composition::new(Side::Upper);
        assert!(composition.add(&bit(0.1), 4));
        let truth = at_zero(&[0.1; 4]);
        assert_eq!(composition.epsilon(1.02 * composition.most_at_zero()), 0.0);
        assert!(composition.epsilon(0.98 * truth) > 0.0);
    }
}
