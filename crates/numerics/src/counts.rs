//! Sums over the counts of a law's atoms: m draws, atom j drawn kⱼ times, Σ kⱼ = m.
//!
//! All counts but two are chosen within windows, outside of which the probability is negligible and bounded.
//! The last two atoms, the heaviest and the widest of the others, share the rest; the caller sums over how
//! they do. The heaviest must be one of them, because 1 − π is known to full relative accuracy only for the
//! others.

use crate::binomial::Binomial;
use crate::log_space::ln_add_exp;
use crate::multinomial;
use crate::search::first_integer;

/// Estimates the width of a window around m·π outside which the probability is e^{−budget}. An exact window
/// would cost a few evaluations of binomial tails.
pub(crate) fn rough_width(count: f64, weight: f64, budget: f64) -> f64 {
    let spread = (2.0 * budget * count * weight * (1.0 - weight)).sqrt();
    (2.0 * spread + 1.0).min(count + 1.0)
}

/// The counts of one atom that are summed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Window {
    /// The number of counts.
    pub(crate) fn size(&self) -> f64 {
        (self.last - self.first + 1) as f64
    }

    /// A window outside which Bin(m−1, π) + {0 or 1} has probability about e^{−budget}, with a bound on the
    /// logarithm of that probability.
    pub(crate) fn around(count: u64, weight: f64, budget: f64) -> Option<(Self, f64)> {
        let law = Binomial::new(count - 1, weight.min(1.0))?;
        let mean = count as f64 * weight;
        let reach = ((2.0 * budget * mean).sqrt() + budget).ceil() as u64 + 2;
        let middle = (mean as u64).min(count);
        // Outside above: Bin + 1 > last, that is Bin ≥ last.
        let last = first_integer(middle, (middle + reach).min(count), |k| {
            k == count || law.ln_upper_tail(k) <= -budget
        });
        // Outside below: Bin < first.
        let offset = first_integer(0, middle.min(reach), |d| {
            middle == d || law.ln_lower_tail(middle - d - 1) <= -budget
        });
        let first = middle - offset;
        let above = if last >= count {
            f64::NEG_INFINITY
        } else {
            law.ln_upper_tail(last)
        };
        let below = if first == 0 {
            f64::NEG_INFINITY
        } else {
            law.ln_lower_tail(first - 1)
        };
        // The tails are accurate to 1e-12, and a relative error of 8 ε in the weight moves them by far less
        // than a percent.
        let outside = ln_add_exp(above, below) + 0.01;
        Some((Self { first, last }, outside))
    }
}

/// The order in which counts are chosen: the outer atoms, from the narrowest window to the widest, and the
/// two inner ones, the widest of the others and the heaviest. `None` with fewer than two atoms.
pub(crate) fn ordered<A: Copy>(
    atoms: impl Iterator<Item = A>,
    weight: impl Fn(&A) -> f64,
    (count, budget): (f64, f64),
) -> Option<(Vec<A>, [A; 2])> {
    let mut order: Vec<A> = atoms.collect();
    order.sort_by(|a, b| weight(a).total_cmp(&weight(b)));
    let heaviest = order.pop()?;
    let width = |atom: &A| rough_width(count, weight(atom), budget);
    order.sort_by(|a, b| width(a).total_cmp(&width(b)));
    let inner = [order.pop()?, heaviest];
    Some((order, inner))
}

/// Calls `leaf` with every choice of outer counts within the windows, how many of the `draws` are left for
/// the inner atoms, and a state that `step` carries on from one choice (level, count) to the next.
pub(crate) fn walk<S: Copy>(
    windows: &[Window],
    draws: f64,
    state: S,
    step: impl Fn(usize, f64, S) -> S,
    mut leaf: impl FnMut(&[f64], f64, S),
) {
    let mut counts = Vec::with_capacity(windows.len());
    descend(windows, &mut counts, draws, state, &step, &mut leaf);
}

fn descend<S: Copy>(
    windows: &[Window],
    counts: &mut Vec<f64>,
    left: f64,
    state: S,
    step: &impl Fn(usize, f64, S) -> S,
    leaf: &mut impl FnMut(&[f64], f64, S),
) {
    let level = counts.len();
    let Some(window) = windows.get(level) else {
        leaf(counts, left, state);
        return;
    };
    for count in window.first..=window.last {
        let count = count as f64;
        if count > left {
            break;
        }
        counts.push(count);
        let next = step(level, count, state);
        descend(windows, counts, left - count, next, step, leaf);
        counts.pop();
    }
}

/// ln of the probability of the outer counts followed by the inner ones, and Σ|k − mπ|, by which a relative
/// error of the weights is multiplied ([`crate::multinomial`]).
pub(crate) fn ln_probability(
    outer: &[f64],
    inner: [f64; 2],
    weights: &[f64],
    draws: f64,
) -> (f64, f64) {
    let mut counts = outer.to_vec();
    counts.extend(inner);
    let astray = counts
        .iter()
        .zip(weights)
        .map(|(k, weight)| (k - draws * weight).abs())
        .sum();
    (multinomial::ln_pmf(&counts, weights), astray)
}
