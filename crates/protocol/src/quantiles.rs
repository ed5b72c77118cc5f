//! Quantiles from a hierarchical histogram.
//!
//! The share of the values below b is the sum of the nodes that make up 0 … b − 1: at each level at most one,
//! where the ancestor of b is a right child, its left sibling. Levels are answered by different people, so
//! variances add up; each is that of a share among the few who were asked as a share of all
//! ([`of_all_users`]).
//!
//! ```text
//! F̂(b) = Σ over levels with b's bit set of f̂(left sibling),     Var F̂(b) = Σ Var f̂
//! ```
//!
//! F̂ need not rise; halfway between its running maximum from below and its running minimum from above lies
//! something that does, and the quantile is where that crosses p. The interval holds every place at which F̂
//! is not further than z deviations on the wrong side of p.

use crate::analyzer::of_all_users;
use crate::confidence::Confidence;
use shuffledp_randomizers::{Estimate, Level};

/// The shares of values below each of 0, 1, … 2ʰ.
///
/// ```
/// use shuffledp_protocol::{Confidence, Cumulative};
/// use shuffledp_randomizers::{Estimate, Level};
/// let share = |value| Estimate::new(value, 1e-6);
/// let levels = [
///     Level { reports: 1000, shares: vec![share(0.5), share(0.5)] },
///     Level { reports: 1000, shares: vec![share(0.1), share(0.4), share(0.5), share(0.0)] },
/// ];
/// let below = Cumulative::new(&levels, 2000).unwrap();
/// let quantile = below.quantile(0.3, Confidence::new(0.95).unwrap());
/// assert_eq!(quantile.value, 1);
/// ```
#[derive(Clone, Debug)]
pub struct Cumulative {
    below: Vec<Estimate>,
}

/// A quantile, as one of the values 0 … 2ʰ − 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quantile {
    /// The estimate.
    pub value: usize,
    /// The least and the largest value of the interval.
    pub interval: (usize, usize),
}

impl Cumulative {
    /// From the levels of a hierarchy, the coarsest first, asked of some of `users` people; none where nobody
    /// was asked about one of them.
    pub fn new(levels: &[Level], users: u64) -> Option<Self> {
        if levels.iter().any(|level| level.shares.is_empty()) {
            return None;
        }
        let depth = levels.len();
        let at = |b: usize| {
            let mut sum = Estimate::new(0.0, 0.0);
            for (place, level) in levels.iter().enumerate() {
                let ancestor = b >> (depth - 1 - place);
                if ancestor % 2 == 1 {
                    let node = of_all_users(level.shares[ancestor - 1], level.reports, users);
                    sum.value += node.value;
                    sum.variance += node.variance;
                }
            }
            sum
        };
        let mut below: Vec<Estimate> = (0..1 << depth).map(at).collect();
        // All values are below the end.
        below.push(Estimate::new(1.0, 0.0));
        Some(Self { below })
    }

    /// The share below a value, for every value and the end.
    pub fn below(&self) -> &[Estimate] {
        &self.below
    }

    /// The value below which, and at which, a share `p` in [0, 1] is reached.
    pub fn quantile(&self, p: f64, confidence: Confidence) -> Quantile {
        let last = self.below.len() - 2;
        let mut lowest_from_here: Vec<f64> = self.below.iter().map(|share| share.value).collect();
        for place in (0..=last).rev() {
            lowest_from_here[place] = lowest_from_here[place].min(lowest_from_here[place + 1]);
        }
        let mut highest = f64::NEG_INFINITY;
        let mut value = last;
        for (place, lowest) in lowest_from_here.iter().enumerate().skip(1) {
            highest = highest.max(self.below[place].value);
            if 0.5 * (highest + lowest) >= p {
                value = place - 1;
                break;
            }
        }
        // The first end of a value at which enough may have been reached, and the last beginning at which it
        // may not.
        let first = (1..=last).find(|&place| confidence.around(self.below[place]).1 >= p);
        let end = (0..=last)
            .rev()
            .find(|&place| confidence.around(self.below[place]).0 <= p);
        Quantile {
            value,
            interval: (
                first.map_or(last, |place| place - 1).min(value),
                end.unwrap_or_default().max(value),
            ),
        }
    }
}
