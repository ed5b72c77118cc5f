//! The lattice of losses.

/// Most lattice points on either side of zero: limits time and memory, and was chosen by experiment. Losses
/// beyond them count as infinite (pessimistic) or are dropped (optimistic).
pub(super) const MOST_POINTS: i64 = 40_000;

/// The lattice hℤ of losses, h a power of two, and its likelihood ratios α_i = e^{ih}.
pub(super) struct Lattice {
    pub(super) exponent: i32,
    pub(super) step: f64,
}

impl Lattice {
    pub(super) fn new(exponent: i32) -> Self {
        Self {
            exponent,
            step: 2f64.powi(exponent),
        }
    }

    /// The loss at a lattice point.
    pub(super) fn loss(&self, index: i64) -> f64 {
        index as f64 * self.step
    }

    /// The first lattice point at or above a loss; beyond the lattice, a point twice as far out as the last.
    pub(super) fn index_above(&self, loss: f64) -> i64 {
        (loss / self.step).ceil().min(MOST_POINTS as f64 * 2.0) as i64
    }
}
