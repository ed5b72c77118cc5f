//! A pair of laws with few outcomes, such as the counts of two neighboring datasets: its profile from both
//! sides.
//!
//! Outcomes may be left out or merged with others: the profile of the result is a lower bound. To lose
//! little, only neighbors with nearly the same likelihood ratio are merged.

use crate::profile::Direction;
use shuffledp_numerics::special::{exp, ln};

/// Most counts of a law: with this many it takes about a tenth of a second.
pub(super) const MOST_COUNTS: u64 = 4_000_000;
/// Neighboring counts are merged into at most this many groups, each a hundredth of a standard deviation wide
/// or less.
const MOST_GROUPS: usize = 4000;
/// Pairs of outcomes of two laws are merged if their likelihood ratios lie in the same of this many cells.
const CELLS: usize = 1 << 14;
/// Bounds on the relative error of a probability: the first one, and the second one more for each step of its
/// recurrence.
const PROBABILITY_ERROR: (f64, f64) = (1e-11, 1e-15);

/// The distance from its mean beyond which counts are left out, given the standard deviation. They have
/// probability 1e-60, also where the count is nearly Poisson.
pub(super) fn window(deviation: f64) -> f64 {
    17.0 * deviation + 150.0
}

/// Probabilities of outcomes under two laws.
#[derive(Clone, Debug)]
pub(super) struct Outcomes {
    both: Vec<(f64, f64)>,
    /// A bound on the relative error of each.
    off: f64,
}

impl Outcomes {
    /// Outcomes in an order in which the likelihood ratio is monotone, from recurrences of up to `steps`
    /// steps.
    pub(super) fn new(both: impl ExactSizeIterator<Item = (f64, f64)>, steps: usize) -> Self {
        let group = both.len() / MOST_GROUPS + 1;
        let mut groups = vec![(0.0, 0.0); both.len() / group + 1];
        for (i, (p, q)) in both.enumerate() {
            let sum = &mut groups[i / group];
            sum.0 += p;
            sum.1 += q;
        }
        // Numbers below the smallest normal one have few digits.
        groups.retain(|(p, q)| *p > f64::MIN_POSITIVE && *q > f64::MIN_POSITIVE);
        Self {
            both: groups,
            off: PROBABILITY_ERROR.0 + PROBABILITY_ERROR.1 * steps as f64,
        }
    }

    /// The product of this pair of laws and another one, in cells of the likelihood ratio.
    pub(super) fn and(&self, other: &Self) -> Self {
        let losses = |law: &Self| -> Vec<f64> { law.both.iter().map(|(p, q)| ln(p / q)).collect() };
        let (here, there) = (losses(self), losses(other));
        let ends = |losses: &[f64]| {
            let low = losses.iter().copied().fold(f64::INFINITY, f64::min);
            (
                low,
                losses.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            )
        };
        let (a, b) = (ends(&here), ends(&there));
        let (low, range) = (a.0 + b.0, (a.1 - a.0) + (b.1 - b.0));
        let scale = (CELLS - 1) as f64 / range.max(f64::MIN_POSITIVE);
        let mut cells = vec![(0.0, 0.0); CELLS];
        for ((p0, q0), l0) in self.both.iter().zip(&here) {
            for ((p1, q1), l1) in other.both.iter().zip(&there) {
                // The difference may be rounded to just below zero, which a cast makes zero.
                let index = ((l0 + l1 - low) * scale) as usize;
                let cell = &mut cells[index.min(CELLS - 1)];
                cell.0 += p0 * p1;
                cell.1 += q0 * q1;
            }
        }
        cells.retain(|(p, q)| *p > 0.0 || *q > 0.0);
        Self {
            both: cells,
            off: 2.0 * (self.off + other.off),
        }
    }

    /// At or above the profile of these outcomes.
    pub(super) fn above(&self, direction: Direction, epsilon: f64) -> f64 {
        self.excess(direction, epsilon, 2.0 * self.off)
    }

    /// At or below it.
    pub(super) fn below(&self, direction: Direction, epsilon: f64) -> f64 {
        self.excess(direction, epsilon, -2.0 * self.off)
    }

    /// Σ (p − a q)₊, with p multiplied by 1 + `part` and q by 1 − `part`.
    fn excess(&self, direction: Direction, epsilon: f64, part: f64) -> f64 {
        let (raised, lowered) = (1.0 + part, exp(epsilon) * (1.0 - part));
        let term = |&(p, q): &(f64, f64)| match direction {
            Direction::Forward => (p * raised - q * lowered).max(0.0),
            Direction::Reverse => (q * raised - p * lowered).max(0.0),
        };
        self.both.iter().map(term).sum()
    }
}
