//! The positive part by summing over the counts of the atoms.
//!
//! With J atoms, J − 2 counts are enumerated within windows; given those, the last two atoms share the rest
//! and the sum S rises with the count k of the larger one, so that
//!
//! ```text
//! E(S)₊ = Σ_outer P(outer, k₀) Σ_{k ≥ k₀} (S(k))₊ · Π ratios,      k₀ = the first k with S(k) > 0
//! ```
//!
//! has positive terms only, so that nothing cancels.
//!
//! **Windows.** The part that a window drops is bounded through (S)₊ ≤ Σ xᵢ₊: for an atom of weight π the sum
//! restricted to "its count is outside" is at most m E[X₊] P[Bin(m−1, π) + {0 or 1} outside].
//!
//! **Rounding.** A relative error η in the weights costs η Σ|kⱼ − mπⱼ| in ln P ([`crate::multinomial`]); an
//! error in the values shifts S(k) by at most 8ε Σ kⱼ·magnitude.
//!
//! Standing: certified. Cost: the product of the J − 2 narrowest windows.

use super::{Atom, Sum};
use crate::counts::{self, Window, rough_width};
use crate::enclosure::LnEnclosure;
use crate::laplace::{Kernel, Saddle};
use crate::log_space::ln_add_exp;
use crate::rounding::ROUNDING;
use crate::special::{exp, ln};

/// Limits the inner terms summed at an accuracy of 1e-6; longer sums are left to the contour, which is then
/// faster. The cost of the contour is proportional to one over the square root of the accuracy, and the limit
/// changes with it.
const MOST_WORK: f64 = 250_000.0;
/// The windows drop about e^{−34} ≈ 2e-15 of the answer: about eight units in the last place.
const DROPPED: f64 = 34.0;

/// Encloses ln E(S)₊; `None` if it would take too long.
pub(super) fn evaluate(sum: &Sum, saddle: &Saddle, accuracy: f64) -> Option<LnEnclosure> {
    evaluate_within(sum, saddle, MOST_WORK * (1e-6 / accuracy).sqrt().min(1.0))
}

pub(super) fn evaluate_within(sum: &Sum, saddle: &Saddle, work: f64) -> Option<LnEnclosure> {
    // The windows may drop e^{−DROPPED} of the answer; the dropped part is bounded in units of m E X₊.
    let most = sum.count * sum.mean_positive_value();
    let budget = DROPPED + (ln(most) - saddle.ln_estimate(Kernel::Ramp)).max(0.0);
    let present = sum.atoms.iter().copied().filter(|atom| atom.weight > 0.0);
    let (outer, inner) = counts::ordered(present, |atom| atom.weight, (sum.count, budget))?;
    // A rough width first: exact windows cost a few tails each.
    let rough = |atom: &Atom| rough_width(sum.count, atom.weight, budget);
    let states: f64 = outer.iter().map(rough).product();
    if states * rough(&inner[0]) > work {
        return None;
    }

    let mut windows = Vec::with_capacity(outer.len());
    let mut ln_dropped = f64::NEG_INFINITY;
    for atom in &outer {
        let (window, ln_outside) = Window::around(sum.count as u64, atom.weight, budget)?;
        windows.push(window);
        ln_dropped = ln_add_exp(ln_dropped, ln_outside + ln(most) + 1e-6);
    }
    if windows.iter().map(Window::size).product::<f64>() > work {
        return None;
    }

    let (high, low) = if inner[0].value >= inner[1].value {
        (inner[0], inner[1])
    } else {
        (inner[1], inner[0])
    };
    let last_two = LastTwo {
        weights: outer
            .iter()
            .chain([&high, &low])
            .map(|atom| atom.weight)
            .collect(),
        draws: sum.count,
        high,
        low,
    };
    let mut terms = Vec::new();
    let start = Partial {
        base: sum.shift,
        slack: 2.0 * ROUNDING * sum.shift.abs(),
    };
    let step = |level: usize, count: f64, partial: Partial| partial.with(outer[level], count);
    counts::walk(&windows, sum.count, start, step, |chosen, left, partial| {
        terms.extend(last_two.term(chosen, left, partial));
    });
    // In units of the largest term, so that no term that matters underflows. `floor` bounds those that do.
    let scale = terms
        .iter()
        .map(|term| term.ln_probability + ln(term.upper))
        .fold(ln_dropped, f64::max);
    if scale == f64::NEG_INFINITY {
        return Some(LnEnclosure::ZERO);
    }
    let floor = f64::MIN_POSITIVE * terms.len() as f64;
    let total = |part: fn(&Term) -> f64| {
        terms
            .iter()
            .map(|term| exp(term.ln_probability - scale) * part(term))
            .sum::<f64>()
    };
    let upper = total(|term| term.upper) + exp(ln_dropped - scale) + floor;
    Some(LnEnclosure::scaled(
        scale,
        total(|term| term.lower) * (1.0 - 1e-12),
        upper * (1.0 + 1e-12),
    ))
}

/// Encloses ln E(X + s)₊, one term: Σ π (x + s)₊ over the atoms.
pub(super) fn one_term(sum: &Sum) -> LnEnclosure {
    let start = Partial {
        base: sum.shift,
        slack: 2.0 * ROUNDING * sum.shift.abs(),
    };
    let mut series = Series::default();
    for atom in sum.atoms {
        let Partial { base, slack } = start.with(*atom, 1.0);
        series.add(atom.weight, base, slack);
    }
    // One rounding error for the weight, the product and the additions after it; and what underflows.
    let terms = sum.atoms.len() as f64;
    let relative = ROUNDING * (terms + 2.0);
    let floor = f64::MIN_POSITIVE * terms;
    LnEnclosure::scaled(
        0.0,
        series.lower * (1.0 - relative),
        (series.upper + floor) * (1.0 + relative),
    )
}

/// The contribution of one choice of outer counts: e^ln_probability times a number between the two.
struct Term {
    ln_probability: f64,
    lower: f64,
    upper: f64,
}

/// The sum of the values already chosen, accurate to within `slack`.
#[derive(Clone, Copy)]
struct Partial {
    base: f64,
    slack: f64,
}

impl Partial {
    /// With `count` times one more atom.
    fn with(self, atom: Atom, count: f64) -> Self {
        Self {
            base: self.base + count * atom.value,
            slack: self.slack + 2.0 * ROUNDING * (count * atom.magnitude + self.base.abs()),
        }
    }
}

/// The two atoms that share the draws left by the outer ones.
struct LastTwo {
    /// Weights of the outer atoms, the higher and the lower one.
    weights: Vec<f64>,
    /// m.
    draws: f64,
    high: Atom,
    low: Atom,
}

impl LastTwo {
    /// Σ_k P(outer, k, left − k) (S(k))₊; `None` where no S(k) is positive.
    fn term(&self, outer: &[f64], left: f64, Partial { base, slack }: Partial) -> Option<Term> {
        let step = self.high.value - self.low.value;
        let value_at = |k: f64| base + k * self.high.value + (left - k) * self.low.value;
        let slack_at = |k: f64| {
            slack
                + 2.0
                    * ROUNDING
                    * (base.abs() + k * self.high.magnitude + (left - k) * self.low.magnitude)
        };
        // The first k where S(k) may be positive, by division and then by trying neighbors; S rises with k.
        let may_be_positive = |k: f64| value_at(k) + slack_at(k) > 0.0;
        if !may_be_positive(left) {
            return None;
        }
        let mut first = if step > 0.0 {
            ((-(base + left * self.low.value) / step).floor()).clamp(0.0, left)
        } else {
            0.0
        };
        while first > 0.0 && may_be_positive(first - 1.0) {
            first -= 1.0;
        }
        while first < left && !may_be_positive(first) {
            first += 1.0;
        }
        let odds = self.high.weight / self.low.weight;
        let mode = (left * self.high.weight / (self.high.weight + self.low.weight)).floor();
        let start = first.max(mode);

        let inner = [start, left - start];
        let (ln_probability, astray) =
            counts::ln_probability(outer, inner, &self.weights, self.draws);
        let relative = 1e-12 + 2.0 * ROUNDING * (astray + 4.0 * left.sqrt() + 200.0);

        let mut series = Series::default();
        // Upwards from the start ...
        let mut weight = 1.0;
        let mut k = start;
        let mut rest = 0.0;
        loop {
            series.add(weight, value_at(k), slack_at(k));
            if k >= left {
                break;
            }
            let ratio = (left - k) / (k + 1.0) * odds;
            weight *= ratio;
            k += 1.0;
            // S grows by `step` a term and its slack is largest at an end: Σ ratio^j (S + j step) stays below
            // this.
            if ratio < 1.0 {
                let grown =
                    (value_at(k) + slack_at(left).max(slack_at(k)) + step / (1.0 - ratio)).max(0.0);
                let tail = weight / (1.0 - ratio) * grown;
                if tail <= 1e-15 * series.upper {
                    rest += tail;
                    break;
                }
            }
        }
        // ... and downwards, where both the weights and the values fall.
        let mut weight = 1.0;
        let mut k = start;
        while k > first {
            let ratio = k / ((left - k + 1.0) * odds);
            weight *= ratio;
            k -= 1.0;
            let term = series.add(weight, value_at(k), slack_at(k));
            if ratio < 1.0 && term * ratio <= 1e-15 * (1.0 - ratio) * series.upper {
                rest += term * ratio / (1.0 - ratio);
                break;
            }
        }
        Some(Term {
            ln_probability,
            lower: series.lower * (1.0 - relative),
            upper: (series.upper + rest) * (1.0 + relative),
        })
    }
}

/// Σ weight · (value ± slack)₊.
#[derive(Default)]
struct Series {
    lower: f64,
    upper: f64,
}

impl Series {
    /// Adds one term and returns its upper end.
    fn add(&mut self, weight: f64, value: f64, slack: f64) -> f64 {
        let most = weight * (value + slack).max(0.0);
        self.upper += most;
        self.lower += weight * (value - slack).max(0.0);
        most
    }
}
