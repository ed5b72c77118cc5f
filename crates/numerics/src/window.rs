//! Windows of counts: which of the numbers of times an atom may occur are worth looking at, and what is lost by not looking at the others.

use crate::binomial::Binomial;
use crate::log_space::ln_add_exp;
use crate::search::first_integer;

/// About how wide a window around m·π is that leaves out e^{−budget}: exact windows cost a few tails each.
pub(crate) fn rough_width(count: f64, weight: f64, budget: f64) -> f64 {
    let spread = (2.0 * budget * count * weight * (1.0 - weight)).sqrt();
    (2.0 * spread + 1.0).min(count + 1.0)
}

/// The counts of one atom that are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Window {
    /// How many counts.
    pub(crate) fn size(&self) -> f64 {
        (self.last - self.first + 1) as f64
    }

    /// A window outside which Bin(m−1, π) + {0 or 1} has probability about e^{−budget}, with a bound on the logarithm of it.
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
        // The tails are good to 1e-12; a relative error in the weight moves them by far less than a percent.
        let outside = ln_add_exp(above, below) + 0.01;
        Some((Self { first, last }, outside))
    }
}
