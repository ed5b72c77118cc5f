//! Moments of a likelihood ratio: E[Λ^λ] for the ratio Λ = A/B of a pair of sums, under B's measure.
//!
//! With the pair of [`crate::likelihood_ratio`], r = (A − B)/B and E A = E B = n under the law of the draws,
//!
//! ```text
//! (1/n) E[A^λ B^{1−λ}] − 1 = (1/n) E[ B g(r) ],     g(r) = (1+r)^λ − 1 − λr  ≥ 0
//! ```
//!
//! because E[A − B] = 0. The sum of g is the excess of the moment over one, without cancellation: at n = 1e12
//! it is 1e-11, to full accuracy. A − B is a sum of the atoms' differences, known to full accuracy.
//!
//! # Method
//!
//! A sum over the counts of all atoms but the heaviest, nested, each within a window around its largest
//! terms. Far from zero counts the terms are a smooth function on the integers, and adding every h-th of
//! them, times h, is the trapezoidal rule: with h at most two thirds of the Gaussian width at the peak the
//! difference is below e^{−40} of the sum (Poisson summation). So the cost does not depend on n. Where a
//! window ends at a count of zero or of all, and the terms there matter, every count is added.
//!
//! Standing: ordinary floating point; about eleven digits. Golden values: `golden/bounds.csv`.

use crate::likelihood_ratio::{Atom, PairSum};
use crate::log_space::{ln_1p_exp, ln_sum_exp};
use crate::special::{exp, exp_minus_1_minus_x, ln, ln_1p, ln_1p_minus_x};
use crate::stirling::{ln_poisson, ln_poisson_at_mean};

/// Terms below e^{−`DEPTH`} ≈ 1e-21 of the largest are left out: far below the rounding of the sum.
const DEPTH: f64 = 48.0;
/// Strides are chosen so that the relative error of the trapezoidal rule is at most e^{−`ALIAS`} ≈ 6e-19.
const ALIAS: f64 = 42.0;
/// Limits the time: windows of up to this many counts are summed in full where they end at a boundary.
const FULL: f64 = 20_000.0;

impl PairSum<'_> {
    /// ln(E[Λ^λ] − 1) under the second measure, for λ > 1; −∞ if Λ is constant.
    ///
    /// ```
    /// use shuffledp_numerics::likelihood_ratio::{Atom, PairSum};
    /// // One draw, Λ = 3 or 1/3 with B-masses 1/4 and 3/4: E Λ² = 9/4 + 1/12 = 7/3.
    /// let atoms = [(0.25, 3.0, 1.0), (0.25, 1.0, 3.0), (0.5, 0.0, 0.0)]
    ///     .map(|(weight, p, q)| Atom::new(weight, p, q));
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
        // In the counts of atoms that raise the ratio, terms are log-concave. In those of the others there
        // may be two peaks; these counts go outside, where both peaks are searched for.
        atoms.sort_by(|a, b| a.difference.total_cmp(&b.difference));
        let count = self.count as f64;
        Moment {
            order,
            count,
            shift: self.shift,
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
    /// Σ over the chosen of (count − mean).
    astray: f64,
    /// Σ over the chosen of count times P, Q and P − Q.
    a: f64,
    b: f64,
    difference: f64,
    /// Σ of the logarithms of the Poisson factors.
    ln_weight: f64,
}

/// One way the draws can come out.
struct Outcome {
    ln_weight: f64,
    /// ln(B/n), and A/B − 1 with its logarithm ln(A/B).
    ln_b: f64,
    r: f64,
    ln_ratio: f64,
}

/// A range of counts to add up, every `stride`-th.
struct Span {
    low: f64,
    high: f64,
    stride: f64,
}

struct Moment {
    order: f64,
    count: f64,
    shift: f64,
    atoms: Vec<Atom>,
    means: Vec<f64>,
    /// The expected share of the heaviest atom in the draws left after each count.
    shares: Vec<f64>,
    heaviest: Atom,
}

impl Moment {
    fn evaluate(&self) -> f64 {
        let none = Chosen {
            level: 0,
            left: self.count,
            astray: 0.0,
            a: self.shift,
            b: self.shift,
            difference: 0.0,
            ln_weight: -ln_poisson_at_mean(self.count),
        };
        if self.atoms.is_empty() {
            return self.ln_term(none);
        }
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
            a: chosen.a + k * atom.numerator,
            b: chosen.b + k * atom.denominator,
            difference: chosen.difference + k * atom.difference,
            ln_weight: chosen.ln_weight + ln_poisson(k, mean, gap),
        }
    }

    /// With all counts chosen: the heaviest atom has the rest. `None` where neither measure has mass.
    fn outcome(&self, chosen: Chosen) -> Option<Outcome> {
        // Its count differs from its mean by minus the sum of the differences of the others.
        let (gap, k) = (chosen.astray, chosen.left);
        let ln_weight = chosen.ln_weight + ln_poisson(k, k + gap, gap);
        let a = chosen.a + k * self.heaviest.numerator;
        let b = chosen.b + k * self.heaviest.denominator;
        let r = (chosen.difference + k * self.heaviest.difference) / b;
        (b > 0.0).then(|| Outcome {
            ln_weight,
            ln_b: ln(b / (self.count + self.shift)),
            r,
            ln_ratio: if r > -0.5 { ln_1p(r) } else { ln(a / b) },
        })
    }

    /// ln of one term, probability times (B/n) g(r).
    fn ln_term(&self, chosen: Chosen) -> f64 {
        let Some(outcome) = self.outcome(chosen) else {
            return f64::NEG_INFINITY;
        };
        let (order, r) = (self.order, outcome.r);
        let power = order * outcome.ln_ratio;
        let ln_g = if (order * r).abs() < 0.05 && r.abs() < 0.05 {
            // C(λ,2) r² (1 + (λ−2)/3 r (1 + (λ−3)/4 r …)).
            let (mut term, mut sum) = (1.0, 1.0);
            for j in 2..24 {
                let j = f64::from(j);
                term *= (order - j) / (j + 1.0) * r;
                sum += term;
            }
            ln(0.5 * order * (order - 1.0) * sum) + 2.0 * ln(r.abs())
        } else if power < 30.0 {
            ln(exp_minus_1_minus_x(power) + self.bend(&outcome))
        } else {
            power + ln_1p(-(1.0 + order * r) * exp(-power))
        };
        if ln_g.is_nan() {
            f64::NEG_INFINITY
        } else {
            outcome.ln_weight + outcome.ln_b + ln_g
        }
    }

    /// λ(ln(1+r) − r).
    fn bend(&self, outcome: &Outcome) -> f64 {
        if outcome.r > -0.5 {
            self.order * ln_1p_minus_x(outcome.r)
        } else {
            self.order * (outcome.ln_ratio - outcome.r)
        }
    }

    /// The maximum, over the counts not yet chosen, of a smooth function that is large wherever terms are: ln
    /// of probability times (1 + (A/n)^λ (B/n)^{1−λ}).
    fn height(&self, chosen: Chosen, guess: &mut Vec<f64>) -> f64 {
        if chosen.level == self.atoms.len() {
            let Some(outcome) = self.outcome(chosen) else {
                return f64::NEG_INFINITY;
            };
            let ln_power = outcome.ln_b + self.order * outcome.ln_ratio;
            return outcome.ln_weight + ln_1p_exp(ln_power);
        }
        let level = chosen.level;
        let (peak, height) = self.climb(chosen, guess[level].min(chosen.left), guess);
        guess[level] = peak;
        height
    }

    /// The largest term at the guessed counts and a standard deviation to either side of each: at the peak
    /// itself g may vanish.
    fn ln_term_about(&self, chosen: Chosen, guess: &[f64]) -> f64 {
        if chosen.level == self.atoms.len() {
            return self.ln_term(chosen);
        }
        let peak = guess[chosen.level].min(chosen.left);
        let width = self.variance(chosen, peak).sqrt().ceil();
        [peak, peak + width, peak - width]
            .into_iter()
            .map(|k| {
                self.ln_term_about(
                    self.choose(chosen, k.round().clamp(0.0, chosen.left)),
                    guess,
                )
            })
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// The highest point along one count, from a guess, to within a tenth of its width. Strides double while
    /// they help and are halved when they do not.
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
        // As for a Gaussian, then further out if needed.
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

    /// ln Σ of all terms over the counts not yet chosen that are above a floor; `guess` is where the last sum
    /// was largest.
    fn sum(&self, chosen: Chosen, floor: f64, guess: &mut Vec<f64>) -> f64 {
        if chosen.level == self.atoms.len() {
            return self.ln_term(chosen);
        }
        let level = chosen.level;
        // At the outermost count, peaks at either end as well.
        let starts = if level == 0 {
            vec![guess[0], 0.0, chosen.left]
        } else {
            vec![guess[level]]
        };
        let mut peaks: Vec<(f64, f64)> = Vec::new();
        let mut largest = f64::NEG_INFINITY;
        for start in starts {
            let peak = self.climb(chosen, start, guess);
            guess[level] = peak.0;
            if level == 0 {
                largest = largest.max(self.ln_term_about(chosen, guess));
            }
            if !peaks.iter().any(|known| (known.0 - peak.0).abs() < 1.0) {
                peaks.push(peak);
            }
        }
        let floor = if level == 0 { largest - DEPTH } else { floor };
        // Peaks below the floor are left out.
        peaks.retain(|peak| peak.1 >= floor);
        let mut spans: Vec<Span> = Vec::new();
        for &peak in &peaks {
            guess[level] = peak.0;
            let low = peak.0 - self.edge(chosen, peak, floor, -1.0, guess);
            let high = peak.0 + self.edge(chosen, peak, floor, 1.0, guess);
            let stride = self.stride(self.variance(chosen, peak.0));
            match spans
                .iter_mut()
                .find(|span| low <= span.high && span.low <= high)
            {
                Some(span) => {
                    *span = Span {
                        low: span.low.min(low),
                        high: span.high.max(high),
                        stride: span.stride.min(stride),
                    };
                }
                None => spans.push(Span { low, high, stride }),
            }
        }
        let mut terms = Vec::new();
        for span in spans {
            self.add(chosen, span, floor, guess, &mut terms);
        }
        ln_sum_exp(&terms)
    }

    /// The terms of one span.
    fn add(
        &self,
        chosen: Chosen,
        span: Span,
        floor: f64,
        guess: &mut Vec<f64>,
        terms: &mut Vec<f64>,
    ) {
        let Span { low, high, stride } = span;
        let mut matters = |k: f64| self.height(self.choose(chosen, k), guess) >= floor;
        let (cut_below, cut_above) = (
            low <= 0.0 && matters(0.0),
            high >= chosen.left && matters(chosen.left),
        );
        if stride > 1.0 && (cut_below || cut_above) {
            if high - low <= FULL {
                return self.add(
                    chosen,
                    Span {
                        low,
                        high,
                        stride: 1.0,
                    },
                    floor,
                    guess,
                    terms,
                );
            }
            // Wide and cut off: the trapezoidal rule between the ends, which count half there, plus half of
            // each end.
            let steps = ((high - low) / stride).floor();
            for i in 0..=steps as u64 {
                let k = low + i as f64 * stride;
                let end = i == 0 || i == steps as u64;
                let weight = if end { 0.5 * stride + 0.5 } else { stride };
                terms.push(self.sum(self.choose(chosen, k), floor, guess) + ln(weight));
            }
            let mut k = low + steps * stride + 1.0;
            while k <= high {
                terms.push(self.sum(self.choose(chosen, k), floor, guess));
                k += 1.0;
            }
            return;
        }
        let mut k = low;
        while k <= high {
            terms.push(self.sum(self.choose(chosen, k), floor, guess) + ln(stride));
            k += stride;
        }
    }

    /// The variance of the Gaussian that terms look like along one count, near `at`.
    fn variance(&self, chosen: Chosen, at: f64) -> f64 {
        // Curvatures of the logarithm add up: that of the factor for count k is 1/k, as of a Gaussian of
        // variance k; the draws left for the others and the power of the ratio contribute as well.
        let atom = &self.atoms[chosen.level];
        let rest = (chosen.left - at).max(0.5);
        // A, if the counts not yet chosen are as expected.
        let expected: f64 = self.atoms[chosen.level + 1..]
            .iter()
            .zip(&self.means[chosen.level + 1..])
            .map(|(atom, mean)| atom.numerator * mean)
            .sum();
        let heaviest = self.count * self.heaviest.weight * self.heaviest.numerator;
        let sum = chosen.a + at.max(0.5) * atom.numerator + expected + heaviest;
        let power = if sum > 0.0 {
            self.order * (atom.numerator / sum).powi(2)
        } else {
            0.0
        };
        1.0 / (1.0 / at.max(0.5) + self.shares[chosen.level] / rest + power)
    }

    /// The stride of the trapezoidal rule, a whole number of counts.
    fn stride(&self, variance: f64) -> f64 {
        // The relative error of the rule with stride h is |φ(2π/h)|, which for a Poisson distribution of this
        // variance is e^{−v(1 − cos 2π/h)}.
        let off = |h: f64| variance * (1.0 - (2.0 * std::f64::consts::PI / h).cos());
        let mut stride = (0.5 * variance.sqrt()).floor().max(1.0);
        while stride > 1.0 && off(stride) < ALIAS {
            stride -= 1.0;
        }
        stride
    }
}
