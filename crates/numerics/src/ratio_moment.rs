//! Moments of a likelihood ratio: E[Λ^λ] for the ratio Λ = A/B of a pair of sums, under B's measure.
//!
//! With the pair of [`crate::likelihood_ratio`], A = n(1 + x) and B = n(1 + y), E x = E y = 0 under the law of the draws,
//!
//! ```text
//! (1/n) E[A^λ B^{1−λ}] − 1 = E f(x, y),     f = (1+x)^λ (1+y)^{1−λ} − 1 − λx − (1−λ)y  ≥ 0
//! ```
//!
//! The linear terms have mean zero, so f is what the moment exceeds one by, term by term and without cancellation: at n = 1e12 it is 1e-11, and all its digits are there. f is not negative because the first term is
//! jointly convex and the others are its tangent plane.
//!
//! # Method
//!
//! A sum over the counts of all atoms but the heaviest, nested, each within a window around its largest terms. Far from zero counts the terms are a smooth function on the integers, and adding every h-th of them, times h, is the trapezoidal rule: with h at most two thirds of the
//! Gaussian width at the peak the difference is below e^{−40} of the sum (Poisson summation). So the cost does not depend on n.
//!
//! Standing: ordinary floating point; about eleven digits. Golden values: `golden/bounds.csv`.

use crate::likelihood_ratio::{Atom, PairSum};
use crate::special::{exp, exp_minus_1_minus_x, ln, ln_1p, ln_1p_minus_x};
use crate::stirling::{ln_poisson, ln_poisson_at_mean};

/// Terms this far below the largest, as logarithms, are left out.
const DEPTH: f64 = 48.0;
/// A stride may be off by e^{−this}.
const ALIAS: f64 = 42.0;

impl PairSum<'_> {
    /// ln(E[Λ^λ] − 1) under the second measure, for λ > 1; −∞ if Λ is constant.
    ///
    /// ```
    /// use shuffledp_numerics::likelihood_ratio::{Atom, PairSum};
    /// // One draw, Λ = 3 or 1/3 with B-masses 1/4 and 3/4: E Λ² = 9/4 + 1/12 = 7/3.
    /// let atoms = [(0.25, 3.0, 1.0), (0.25, 1.0, 3.0), (0.5, 0.0, 0.0)]
    ///     .map(|(weight, numerator, denominator)| Atom { weight, numerator, denominator });
    /// let pair = PairSum { atoms: &atoms, count: 1, shift: 0.0 };
    /// assert!((pair.ln_excess_moment(2.0).exp() - 4.0 / 3.0).abs() < 1e-12);
    /// ```
    pub fn ln_excess_moment(&self, order: f64) -> f64 {
        let mut atoms: Vec<Atom> = self
            .atoms
            .iter()
            .copied()
            .filter(|atom| atom.weight > 0.0)
            .collect();
        atoms.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        let Some(heaviest) = atoms.pop() else {
            return f64::NEG_INFINITY;
        };
        // In the counts of atoms that raise the ratio, terms are log-concave; the others may have two peaks, and go outside, where these are looked for.
        let leaning = |atom: &Atom| atom.numerator - atom.denominator;
        atoms.sort_by(|a, b| leaning(a).total_cmp(&leaning(b)));
        let count = self.count as f64;
        Moment {
            order,
            count,
            total: count + self.shift,
            means: atoms.iter().map(|atom| count * atom.weight).collect(),
            shares: (0..atoms.len())
                .map(|level| {
                    let later: f64 = atoms[level + 1..].iter().map(|atom| atom.weight).sum();
                    heaviest.weight / (heaviest.weight + later)
                })
                .collect(),
            atoms,
            heaviest,
        }
        .evaluate()
    }
}

/// The counts chosen so far.
#[derive(Clone, Copy)]
struct Chosen {
    level: usize,
    left: f64,
    /// Σ over the chosen of (count − mean), and of P and Q times it, divided by n.
    astray: f64,
    x: f64,
    y: f64,
    /// Σ of the logarithms of the Poisson factors.
    ln_weight: f64,
}

struct Moment {
    order: f64,
    count: f64,
    total: f64,
    atoms: Vec<Atom>,
    means: Vec<f64>,
    /// Of what is left after each count, the part that the heaviest atom expects.
    shares: Vec<f64>,
    heaviest: Atom,
}

impl Moment {
    fn evaluate(&self) -> f64 {
        let none = Chosen {
            level: 0,
            left: self.count,
            astray: 0.0,
            x: 0.0,
            y: 0.0,
            ln_weight: -ln_poisson_at_mean(self.count),
        };
        self.sum(none, f64::NEG_INFINITY, &mut self.means.clone())
    }

    /// One more count.
    fn choose(&self, chosen: Chosen, k: f64) -> Chosen {
        let (atom, mean) = (&self.atoms[chosen.level], self.means[chosen.level]);
        let gap = (mean - k) + self.count.mul_add(atom.weight, -mean);
        Chosen {
            level: chosen.level + 1,
            left: chosen.left - k,
            astray: chosen.astray - gap,
            x: chosen.x - atom.numerator * gap / self.total,
            y: chosen.y - atom.denominator * gap / self.total,
            ln_weight: chosen.ln_weight + ln_poisson(k, mean, gap),
        }
    }

    /// (ln probability, ln of (1+x)^λ(1+y)^{1−λ}, x, y) with all counts chosen: the heaviest atom has the rest.
    fn outcome(&self, chosen: Chosen) -> (f64, f64, f64, f64) {
        // Its count is off its mean by what the others are, the other way.
        let gap = chosen.astray;
        let ln_weight = chosen.ln_weight + ln_poisson(chosen.left, chosen.left + gap, gap);
        let x = chosen.x - self.heaviest.numerator * gap / self.total;
        let y = chosen.y - self.heaviest.denominator * gap / self.total;
        // 1 + y is B/n: where it is nothing, so is A.
        if y <= -1.0 + 1e-15 {
            return (ln_weight, f64::NEG_INFINITY, -1.0, -1.0);
        }
        let ln_power = self.order * ln_1p(x) + (1.0 - self.order) * ln_1p(y);
        (ln_weight, ln_power, x, y)
    }

    /// ln of one term, probability times f.
    fn ln_term(&self, chosen: Chosen) -> f64 {
        let (ln_weight, ln_power, x, y) = self.outcome(chosen);
        if ln_power == f64::NEG_INFINITY {
            // f(−1, −1) = −1 + λ + (1 − λ) = 0.
            return f64::NEG_INFINITY;
        }
        let excess = if ln_power < 30.0 {
            let bend = self.order * ln_1p_minus_x(x) + (1.0 - self.order) * ln_1p_minus_x(y);
            ln(exp_minus_1_minus_x(ln_power) + bend)
        } else {
            // Beside e^30 the linear terms may be large, or nothing; never negligible and wrong.
            let rest = (1.0 + self.order * x + (1.0 - self.order) * y) * exp(-ln_power);
            ln_power + ln_1p(-rest)
        };
        if excess.is_nan() {
            f64::NEG_INFINITY
        } else {
            ln_weight + excess
        }
    }

    /// A smooth function that is large wherever terms are: ln probability + ln(1 + (1+x)^λ(1+y)^{1−λ}); the largest over the counts not yet chosen.
    fn height(&self, chosen: Chosen, guess: &mut Vec<f64>) -> f64 {
        if chosen.level == self.atoms.len() {
            let (ln_weight, ln_power, ..) = self.outcome(chosen);
            let soft = if ln_power > 0.0 {
                ln_power + ln_1p(exp(-ln_power))
            } else {
                ln_1p(exp(ln_power))
            };
            return ln_weight + soft;
        }
        let level = chosen.level;
        let (peak, height) = self.climb(chosen, guess[level].min(chosen.left), guess);
        guess[level] = peak;
        height
    }

    /// The highest point along one count, from a guess, to within a tenth of its width: strides that double while they help, and halve when they do not.
    fn climb(&self, chosen: Chosen, from: f64, guess: &mut Vec<f64>) -> (f64, f64) {
        let mut at = from.round().clamp(0.0, chosen.left);
        let mut height = self.height(self.choose(chosen, at), guess);
        let mut stride = (0.5 * self.variance(chosen, at).sqrt()).ceil().max(1.0);
        let mut failed = false;
        loop {
            let mut moved = false;
            for direction in [1.0, -1.0] {
                let next = (at + direction * stride).clamp(0.0, chosen.left);
                if next == at {
                    continue;
                }
                let there = self.height(self.choose(chosen, next), guess);
                if there > height {
                    (at, height, moved) = (next, there, true);
                    break;
                }
            }
            match (moved, failed) {
                (true, false) => stride *= 2.0,
                (true, true) => {}
                (false, _) => {
                    failed = true;
                    if stride <= (0.1 * self.variance(chosen, at).sqrt()).max(1.0) {
                        return (at, height);
                    }
                    stride = (stride / 2.0).floor().max(1.0);
                }
            }
        }
    }

    /// How far from a peak, in one direction, the height stays above a floor: at least that far.
    fn edge(
        &self,
        chosen: Chosen,
        (peak, height): (f64, f64),
        floor: f64,
        direction: f64,
        guess: &mut Vec<f64>,
    ) -> f64 {
        let limit = if direction > 0.0 {
            chosen.left - peak
        } else {
            peak
        };
        // As if it were a Gaussian, and on from there.
        let reach = (2.0 * (height - floor).max(0.0) * self.variance(chosen, peak)).sqrt();
        let mut distance = (1.1 * reach + 2.0).ceil().min(limit);
        while distance < limit {
            let there = self.choose(chosen, peak + direction * distance);
            if self.height(there, guess) < floor {
                break;
            }
            distance = (1.3 * distance + 1.0).ceil().min(limit);
        }
        distance
    }

    /// ln Σ of all terms over the counts not yet chosen that are above a floor; `guess` is where the last sum was largest.
    fn sum(&self, chosen: Chosen, floor: f64, guess: &mut Vec<f64>) -> f64 {
        if chosen.level == self.atoms.len() {
            return self.ln_term(chosen);
        }
        let level = chosen.level;
        let mut starts = vec![guess[level]];
        if level == 0 && self.atoms.len() > 1 {
            starts.push(0.0);
        }
        let mut peaks: Vec<(f64, f64)> = Vec::new();
        for start in starts {
            let peak = self.climb(chosen, start, guess);
            if !peaks.iter().any(|known| (known.0 - peak.0).abs() < 1.0) {
                peaks.push(peak);
            }
        }
        let floor = if level == 0 {
            // A second peak may matter although it is lower than the first: the first is mostly 1, which does not count.
            peaks
                .iter()
                .map(|peak| peak.1)
                .fold(f64::INFINITY, f64::min)
                - DEPTH
        } else {
            floor
        };
        let mut windows: Vec<(f64, f64, f64)> = Vec::new();
        for &peak in &peaks {
            guess[level] = peak.0;
            let low = peak.0 - self.edge(chosen, peak, floor, -1.0, guess);
            let high = peak.0 + self.edge(chosen, peak, floor, 1.0, guess);
            let stride = self.stride(self.variance(chosen, peak.0));
            match windows.last_mut() {
                Some(last) if low <= last.1 && last.0 <= high => {
                    *last = (last.0.min(low), last.1.max(high), last.2.min(stride));
                }
                _ => windows.push((low, high, stride)),
            }
        }
        let mut terms = Vec::new();
        for (low, high, stride) in windows {
            let mut k = low;
            while k <= high {
                terms.push(self.sum(self.choose(chosen, k), floor, guess) + ln(stride));
                k += stride;
            }
        }
        ln_sum(&terms)
    }

    /// The variance of the Gaussian that terms look like along one count, near `at`.
    fn variance(&self, chosen: Chosen, at: f64) -> f64 {
        // The factor for count k bends like a Gaussian of variance k; what is left for the others bends it as well, and so does the power of the ratio.
        let atom = &self.atoms[chosen.level];
        let rest = (chosen.left - at).max(0.5);
        // A, if the counts not yet chosen are as expected.
        let x = chosen.x + atom.numerator * (at - self.means[chosen.level]) / self.total;
        let sum = (self.total * (1.0 + x)).max(at.max(0.5) * atom.numerator);
        let power = if sum > 0.0 {
            self.order * (atom.numerator / sum).powi(2)
        } else {
            0.0
        };
        1.0 / (1.0 / at.max(0.5) + self.shares[chosen.level] / rest + power)
    }

    /// A whole number of counts to go on by.
    fn stride(&self, variance: f64) -> f64 {
        // A Poisson law of this variance has |φ(2π/h)| = e^{−v(1 − cos 2π/h)}: what the rule with stride h is off by.
        let off = |h: f64| variance * (1.0 - (2.0 * std::f64::consts::PI / h).cos());
        let mut stride = (0.5 * variance.sqrt()).floor().max(1.0);
        while stride > 1.0 && off(stride) < ALIAS {
            stride -= 1.0;
        }
        stride
    }
}

/// ln Σ e^{x}.
fn ln_sum(terms: &[f64]) -> f64 {
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + ln(terms.iter().map(|term| exp(term - top)).sum::<f64>())
}
