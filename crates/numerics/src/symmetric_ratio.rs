//! Moments of the ratio of two sums whose joint law is the same with the two exchanged.
//!
//! A = s + ΣP and B = s + ΣQ over m independent draws (P, Q), where (Q, P) has the law of (P, Q), E P = 1,
//! and
//! N = m + s. Under the measure B/N the ratio A/B has the moments
//!
//! ```text
//! (1/N) E[A^λ B^{1−λ}] − 1 = (1/N) E[B g(r)],     r = A/B − 1,  g(r) = (1+r)^λ − 1 − λr
//!                          = Σ_{j=2}^λ C(λ,j) E_j at integer λ,     E_j = (1/N) E[(A−B)^j B^{1−j}].
//! ```
//!
//! With B^{1−j} = (1/Γ(j−1)) ∫ t^{j−2} e^{−tB} dt and the coefficients of a power series in v
//!
//! ```text
//! E_j = (1/N) (1/Γ(j−1)) ∫ t^{j−2} e^{−ts} j! [vʲ] G(v, t)^m dt
//! [vᵏ] G = (1/k!) E[(P−Q)ᵏ e^{−tQ}] = (1/k!) Σ over P > Q of π (P−Q)ᵏ (e^{−tQ} + (−1)ᵏ e^{−tP})  ≥ 0.
//! ```
//!
//! Every term is positive, so that all E_j have full relative accuracy, however large m is: at m = 1e12 the
//! excess over 1 is 1e-12, and known to a dozen digits. The law may have a density, and P/Q need not be
//! bounded: it is given by a quadrature for its moments.
//!
//! # Orders between integers
//!
//! Let k < λ < k + 1 and J the least even number above λ + 1 (J = k + 2 or k + 3). The Taylor remainder of g
//! is g(r) − Σ_{j<J} C(λ,j) rʲ = ρ(r) r^J, ρ(r) a mean of g^{(J)}/J! between 0 and r. The sign of g^{(J)} is
//! that of (−1)^{J−1−k}, and |g^{(J)}| falls in r; so ρ(r) lies between 0 and ρ(−1) = C(λ−1, J−1), and the
//! moment between
//!
//! ```text
//! Σ_{2≤j<J} C(λ,j) E_j     and     Σ_{2≤j<J} C(λ,j) E_j + C(λ−1, J−1) E_J.
//! ```
//!
//! Where r is mostly small the two are close. The chord of ln E[Λ^λ], which is convex in λ, is above it, too.
//!
//! # Method
//!
//! The integral over ln t is a trapezoidal sum, which converges exponentially; moments come in blocks of
//! doubling order, whose integrands are about equally wide. Standing: ordinary floating point; about eleven
//! digits.

use crate::log_space::{ln_1p_exp, ln_add_exp, ln_sum_exp};
use crate::power_series::ln_power;
use crate::special::{exp, expm1, ln, ln_1p, ln_gamma};

/// Part of a moment, or of an integral, that is left out: e^{−`DEPTH`} ≈ 1e-19.
const DEPTH: f64 = 44.0;
/// Draws whose part of a moment is e^{−`FAR`} of the largest are left out. More than `DEPTH`, because the
/// factor that depends on t moves the largest part.
const FAR: f64 = 70.0;
/// Step of the trapezoidal sum in units of the width of the integrand, 1/√j. Its relative error is
/// |Γ(j−1+2πi√j/`STEP`)/Γ(j−1)|, at most 1e-13 for every j of a block.
const STEP: f64 = 0.7;
/// So many negligible terms in a row end a sum.
const QUIET: usize = 4;
/// The first block of moments ends here.
const FIRST_BLOCK: usize = 8;

/// A value (P, Q) of a draw with P > Q; (Q, P) has the same weight.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// ln of its probability, or of the weight of a quadrature node.
    pub ln_weight: f64,
    /// Q.
    pub denominator: f64,
    /// ln(P − Q).
    pub ln_difference: f64,
}

/// The law of a draw, and how many there are.
#[derive(Clone, Debug)]
pub struct SymmetricSum<D> {
    /// The draws with P > Q, for moments of orders up to the given one.
    pub draws: D,
    /// (π, P) where P = Q > 0.
    pub shared: Vec<(f64, f64)>,
    /// The probability of P = Q = 0.
    pub rest: f64,
    /// m.
    pub count: u64,
    /// s.
    pub shift: f64,
}

/// The moments of such a ratio, computed as far as they are needed.
#[derive(Clone, Debug)]
pub struct RatioMoments<D> {
    law: SymmetricSum<D>,
    /// ln E_j; the first two are not used.
    ln_moments: Vec<f64>,
}

/// ln |C(λ, j)| for real λ.
fn ln_binomial(order: f64, j: usize) -> f64 {
    (0..j)
        .map(|i| ln((order - i as f64).abs()) - ln(i as f64 + 1.0))
        .sum()
}

/// ln(e^a − e^b), −∞ where that is not positive.
fn ln_difference(a: f64, b: f64) -> f64 {
    if a > b {
        a + ln(-expm1(b - a))
    } else {
        f64::NEG_INFINITY
    }
}

/// ln of lower and upper bounds of E[Λ^λ] − 1 for a ratio Λ = 1 + r with E r = 0, from ln E r^j ≥ −∞ at
/// j = 2, 3, …; at integer orders both are the moment itself.
///
/// ```
/// use shuffledp_numerics::symmetric_ratio::ln_excess_between;
/// // r = ±1/2 with probability 1/2 each: E rʲ = 2⁻ʲ at even j, else 0.
/// let ln_moment = |j: usize| if j % 2 == 0 { -(j as f64) * 2f64.ln() } else { f64::NEG_INFINITY };
/// let (lower, upper) = ln_excess_between(2.5, ln_moment);
/// let truth = 0.5 * (1.5f64.powf(2.5) + 0.5f64.powf(2.5)) - 1.0;
/// assert!(lower.exp() <= truth && truth <= upper.exp() && upper.exp() < 1.02 * truth);
/// ```
pub fn ln_excess_between(order: f64, mut ln_moment: impl FnMut(usize) -> f64) -> (f64, f64) {
    let below = order.floor();
    let k = below as usize;
    let positive = |upto: usize, order: f64, ln_moment: &mut dyn FnMut(usize) -> f64| {
        // ln C(λ, j) by the ratio of neighbors: λ(λ−1)/2, times (λ−j+1)/j.
        let mut ln_choose = ln(order);
        let mut terms = Vec::with_capacity(upto);
        for j in 2..=upto {
            ln_choose += ln((order + 1.0 - j as f64) / j as f64);
            terms.push(ln_choose + ln_moment(j));
        }
        ln_sum_exp(&terms)
    };
    if order == below {
        let value = positive(k, order, &mut ln_moment);
        return (value, value);
    }
    // Up to j = k + 1 the coefficients are positive.
    let start = positive(k + 1, order, &mut ln_moment);
    let last = |j: usize, ln_moment: &mut dyn FnMut(usize) -> f64| {
        ln_binomial(order - 1.0, j - 1) + ln_moment(j)
    };
    let (lower, upper) = if k.is_multiple_of(2) {
        let remainder = last(k + 2, &mut ln_moment);
        (ln_difference(start, remainder), start)
    } else {
        let minus = ln_binomial(order, k + 2) + ln_moment(k + 2);
        let remainder = last(k + 3, &mut ln_moment);
        // Added before it is subtracted: the sum stays positive.
        let upper = ln_difference(ln_add_exp(start, remainder), minus);
        (ln_difference(start, minus), upper)
    };
    // The chord: ln E[Λ^λ] between the integers; at order 1 it is zero.
    let mut at = |upto: usize| match upto {
        1 => 0.0,
        _ => ln_1p_exp(positive(upto, upto as f64, &mut ln_moment)),
    };
    let chord = (below + 1.0 - order) * at(k) + (order - below) * at(k + 1);
    (lower, upper.min(ln_expm1(chord)))
}

/// ln(e^x − 1) for x ≥ 0.
fn ln_expm1(x: f64) -> f64 {
    if x > 40.0 { x } else { ln(expm1(x)) }
}

impl<D: Fn(usize) -> Vec<Draw>> RatioMoments<D> {
    /// No moments yet.
    pub fn new(law: SymmetricSum<D>) -> Self {
        Self {
            law,
            ln_moments: vec![f64::NEG_INFINITY; 2],
        }
    }

    /// ln of lower and upper bounds of E[Λ^λ] − 1, equal at integer orders.
    ///
    /// ```
    /// use shuffledp_numerics::symmetric_ratio::{Draw, RatioMoments, SymmetricSum};
    /// // One draw, Λ = 3 or 1/3 with B-masses 1/4 and 3/4: E Λ² = 9/4 + 1/12 = 7/3.
    /// let draw = Draw { ln_weight: 0.25f64.ln(), denominator: 1.0, ln_difference: 2f64.ln() };
    /// let mut moments = RatioMoments::new(SymmetricSum {
    ///     draws: |_| vec![draw],
    ///     shared: Vec::new(),
    ///     rest: 0.5,
    ///     count: 1,
    ///     shift: 0.0,
    /// });
    /// let (_, upper) = moments.ln_excess(2.0);
    /// assert!((upper.exp() - 4.0 / 3.0).abs() < 1e-11);
    /// ```
    pub fn ln_excess(&mut self, order: f64) -> (f64, f64) {
        self.extend(order.floor() as usize + 3);
        let moments = &self.ln_moments;
        ln_excess_between(order, |j| moments[j])
    }

    /// Moments up to this order at least.
    fn extend(&mut self, order: usize) {
        while self.ln_moments.len() <= order {
            let first = self.ln_moments.len();
            let last = (2 * (first - 1)).max(FIRST_BLOCK);
            let block = Block::new(&self.law, last).moments(first);
            self.ln_moments.extend(block);
        }
    }
}

/// The draws of one block of moments, and their powers.
struct Block {
    draws: Vec<Draw>,
    weights: Vec<f64>,
    differences: Vec<f64>,
    /// For each power k: ln of the largest part π (P−Q)ᵏ, the first draw that matters, and the parts of it
    /// and the following ones over the largest.
    powers: Vec<(f64, usize, Vec<f64>)>,
    shared: Vec<(f64, f64)>,
    rest: f64,
    count: u64,
    shift: f64,
    last: usize,
}

impl Block {
    fn new<D: Fn(usize) -> Vec<Draw>>(law: &SymmetricSum<D>, last: usize) -> Self {
        let draws = (law.draws)(last);
        let powers = (0..=last)
            .map(|k| {
                let ln_part = |draw: &Draw| draw.ln_weight + k as f64 * draw.ln_difference;
                let top = draws.iter().map(ln_part).fold(f64::NEG_INFINITY, f64::max);
                let matters = |draw: &Draw| ln_part(draw) > top - FAR;
                let from = draws.iter().position(matters).unwrap_or(0);
                let to = draws.iter().rposition(matters).map_or(0, |index| index + 1);
                let parts = draws[from..to].iter().map(|draw| exp(ln_part(draw) - top));
                (top, from, parts.collect())
            })
            .collect();
        Self {
            weights: draws.iter().map(|draw| exp(draw.ln_weight)).collect(),
            differences: draws.iter().map(|draw| exp(draw.ln_difference)).collect(),
            powers,
            draws,
            shared: law.shared.clone(),
            rest: law.rest,
            count: law.count,
            shift: law.shift,
            last,
        }
    }

    fn total(&self) -> f64 {
        self.count as f64 + self.shift
    }

    /// ln E_j for j from `first` to the last.
    fn moments(&self, first: usize) -> Vec<f64> {
        let step = STEP / (self.last as f64).sqrt();
        let peak = |total: f64| ln((self.last as f64 - 1.0) / total);
        // Where B is near its mean, and where it is no more than half the draws that count are.
        let (start, end) = (peak(self.total()), peak(self.least()));
        let mut sums = vec![f64::NEG_INFINITY; self.last + 1 - first];
        for (direction, from) in [(1.0, 0), (-1.0, 1)] {
            let (mut i, mut quiet) = (from, 0);
            while quiet < QUIET {
                let x = start + direction * f64::from(i) * step;
                let mut matters = direction > 0.0 && x < end;
                for (sum, term) in sums.iter_mut().zip(self.terms(first, x)) {
                    // A moment of no mass has no terms at all.
                    matters |= term > *sum - DEPTH && term > f64::NEG_INFINITY;
                    *sum = ln_add_exp(*sum, term);
                }
                quiet = if matters { 0 } else { quiet + 1 };
                i += 1;
            }
        }
        sums.into_iter()
            .map(|sum| sum + ln(step) - ln(self.total()))
            .collect()
    }

    /// About the least value of B that counts.
    fn least(&self) -> f64 {
        let values = self.draws.iter().map(|draw| draw.denominator);
        let smallest = values
            .chain(self.shared.iter().map(|&(_, value)| value))
            .fold(f64::INFINITY, f64::min);
        let there = self.count as f64 * (1.0 - self.rest);
        (self.shift + smallest * (0.5 * there).max(1.0)).min(self.total())
    }

    /// ln of the integrands of E_j for j from `first` on, without the factor 1/N, at ln t = x.
    fn terms(&self, first: usize, x: f64) -> Vec<f64> {
        let t = exp(x);
        let near: Vec<f64> = self.draws.iter().map(|d| exp(-t * d.denominator)).collect();
        let fall: Vec<f64> = self.differences.iter().map(|d| -expm1(-t * d)).collect();
        let ln_constant = self.ln_constant(t, &near, &fall);
        let mut ln_factorial = 0.0;
        let mut series = vec![0.0];
        for (k, (top, from, parts)) in self.powers.iter().enumerate().skip(1) {
            ln_factorial += ln(k as f64);
            let (near, fall) = (&near[*from..], &fall[*from..]);
            let all = parts.iter().zip(near).zip(fall);
            // e^{−tQ} ± e^{−tP} over e^{−tQ} is 1 ± (1 − fall).
            let sum: f64 = match k % 2 {
                0 => all
                    .map(|((part, near), fall)| part * near * (2.0 - fall))
                    .sum(),
                _ => all.map(|((part, near), fall)| part * near * fall).sum(),
            };
            series.push(top + ln(sum) - ln_factorial - ln_constant);
        }
        let power = ln_power(&series, self.count);
        let common = self.count as f64 * ln_constant - t * self.shift;
        (first..=self.last)
            .map(|j| {
                let j_real = j as f64;
                let gammas = ln_gamma(j_real + 1.0) - ln_gamma(j_real - 1.0);
                (j_real - 1.0) * x + gammas + common + power[j]
            })
            .collect()
    }

    /// ln G(0, t).
    fn ln_constant(&self, t: f64, near: &[f64], fall: &[f64]) -> f64 {
        // 1 − e^{−tQ} + 1 − e^{−tP} = 2(1 − e^{−tQ}) + e^{−tQ} (1 − e^{−t(P−Q)}).
        let missing: f64 = self
            .draws
            .iter()
            .zip(&self.weights)
            .zip(near.iter().zip(fall))
            .map(|((draw, weight), (near, fall))| {
                weight * (near * fall - 2.0 * expm1(-t * draw.denominator))
            })
            .chain(self.shared.iter().map(|(w, value)| -w * expm1(-t * value)))
            .sum();
        if missing < 0.5 {
            return ln_1p(-missing);
        }
        let pairs = self.weights.iter().zip(near.iter().zip(fall));
        let present: f64 = pairs
            .map(|(weight, (near, fall))| weight * near * (2.0 - fall))
            .chain(self.shared.iter().map(|(w, value)| w * exp(-t * value)))
            .sum();
        ln(self.rest + present)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Draw, RatioMoments, SymmetricSum, ln_excess_between};
    use crate::likelihood_ratio::{Atom, PairSum};

    /// Atoms (π; P; Q), P > Q, with their mirror images; the rest is left over, but for a share of (1; 1).
    fn both(
        atoms: &[(f64, f64, f64)],
        shared: f64,
        count: u64,
        shift: f64,
        order: f64,
    ) -> (f64, (f64, f64)) {
        let weight: f64 = atoms.iter().map(|a| 2.0 * a.0).sum();
        let rest = 1.0 - weight - shared;
        let mut all: Vec<Atom> = Vec::new();
        for &(weight, p, q) in atoms {
            all.extend([Atom::new(weight, p, q), Atom::new(weight, q, p)]);
        }
        all.extend([Atom::new(shared, 1.0, 1.0), Atom::new(rest, 0.0, 0.0)]);
        let pair = PairSum {
            atoms: &all,
            count,
            shift,
        };
        let draws: Vec<Draw> = atoms
            .iter()
            .map(|&(weight, p, q)| Draw {
                ln_weight: weight.ln(),
                denominator: q,
                ln_difference: (p - q).ln(),
            })
            .collect();
        let mut moments = RatioMoments::new(SymmetricSum {
            draws: |_| draws.clone(),
            shared: vec![(shared, 1.0)],
            rest,
            count,
            shift,
        });
        (pair.ln_excess_moment(order), moments.ln_excess(order))
    }

    /// The sum over counts, which is another way to the same number.
    #[test]
    fn moments_are_those_of_the_sum_over_counts() {
        // e^ε₀ = 3: π = 1/4, P = 3, Q = 1; and a smaller one.
        let three: &[_] = &[(0.25, 3.0, 1.0)];
        let close: &[_] = &[(0.4, 1.5, 1.0)];
        for (atoms, shared, count, shift, order) in [
            (three, 0.0, 1, 0.0, 2.0),
            (three, 0.0, 2, 0.0, 3.0),
            (three, 0.0, 5, 0.0, 7.0),
            (three, 0.0, 5, 95.0, 12.0),
            (close, 0.0, 3, 0.0, 40.0),
            (three, 0.0, 1000, 0.0, 64.0),
            (three, 0.0, 1000, 0.0, 300.0),
            (three, 0.0, 1_000_000, 0.0, 2.0),
            (three, 0.0, 1_000_000_000_000, 0.0, 5.0),
            (close, 0.0, 10_000, 0.0, 1000.0),
        ] {
            // As a law: E P = 1.
            let mean: f64 = atoms.iter().map(|(w, p, q)| w * (p + q)).sum::<f64>() + shared;
            let scaled: Vec<_> = atoms.iter().map(|&(w, p, q)| (w / mean, p, q)).collect();
            let (truth, (lower, upper)) = both(&scaled, shared, count, shift, order);
            assert_eq!(lower, upper);
            assert!(
                (upper - truth).abs() < 1e-9 * (1.0 + truth.abs()),
                "{atoms:?} {count} {shift} {order}: {upper} and not {truth}"
            );
        }
    }

    /// Between integers the two bounds contain the sum over counts.
    #[test]
    fn orders_between_integers_are_enclosed() {
        let atoms: &[_] = &[(0.25, 3.0, 1.0)];
        for count in [1, 2, 10, 1000, 1_000_000] {
            for order in [1.001, 1.5, 1.9, 2.1, 2.5, 3.3, 4.5, 5.01, 7.7, 16.5] {
                let (truth, (lower, upper)) = both(atoms, 0.0, count, 0.0, order);
                assert!(
                    lower <= truth + 1e-9 && truth <= upper + 1e-9,
                    "n {count} order {order}: {truth} outside [{lower}, {upper}]"
                );
                if count >= 1000 {
                    assert!(upper - lower < 1e-2, "n {count} order {order} is wide");
                }
            }
        }
    }

    /// Polynomials above and below g on a grid of r, at every pair of neighboring integers.
    #[test]
    fn the_polynomials_bound_the_power() {
        for order in [1.02, 1.5, 1.98, 2.3, 2.9, 3.5, 4.4, 5.5, 8.2, 9.9] {
            for i in 0..=120 {
                // A ratio that is 1 + r or 1 − r' with mean 1, so that the moments are those of two points.
                let r = 1e-3 * 10f64.powf(f64::from(i) / 24.0);
                let other = -r.min(1.0);
                let weight = -other / (r - other);
                let moment =
                    |j: usize| weight * r.powi(j as i32) + (1.0 - weight) * other.powi(j as i32);
                let ratio = |r: f64| (1.0 + r).powf(order);
                let truth = weight * ratio(r) + (1.0 - weight) * ratio(other) - 1.0;
                let (lower, upper) = ln_excess_between(order, |j| moment(j).max(0.0).ln());
                assert!(
                    lower.exp() <= truth * (1.0 + 1e-9) + 1e-15
                        && truth <= upper.exp() * (1.0 + 1e-9) + 1e-15,
                    "order {order} r {r}: {truth} outside [{}, {}]",
                    lower.exp(),
                    upper.exp()
                );
            }
        }
    }
}
