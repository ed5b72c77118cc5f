//! Counting: the likelihood ratios of all outcomes of a round, in the cells between lattice points.

use super::lattice::Lattice;
use super::resolution::{MARGIN, Resolution};
use crate::profile::{Direction, Profile};
use shuffledp_numerics::lattice::Measure;
use shuffledp_numerics::likelihood_ratio::{Cells, PairSum};
use shuffledp_numerics::rounding::ROUNDING_TWICE;
use shuffledp_numerics::special::{exp, expm1};

impl Lattice {
    /// All likelihood ratios of a round, in the cells between the lattice points `first` to `last`.
    pub(super) fn cells(
        &self,
        profile: &Profile,
        direction: Direction,
        first: i64,
        last: i64,
        resolution: Resolution,
    ) -> Option<Cells> {
        let (atoms, count, shift) = profile.pair(direction);
        PairSum {
            atoms: &atoms,
            count,
            shift,
        }
        .cells(self.step, (first, last), resolution.ln_tail - MARGIN)
    }

    /// No ratio exceeds e^limit. Where the last node is at or beyond that, ratios that rounding has put
    /// beyond the node belong on it.
    pub(super) fn within_limit(&self, cells: &mut Cells, last: i64, limit: f64) {
        if self.loss(last) >= limit {
            cells.above.1 += cells.above.0 * exp(-self.loss(last)) * (1.0 + ROUNDING_TWICE);
            cells.above.0 = 0.0;
        }
    }

    /// h at the lattice points from the ratios above them, as sums of positive terms:
    /// h(αᵢ) = h(αᵢ₊₁) + (αᵢ₊₁ − αᵢ) P_Q[Λ ≥ αᵢ₊₁] + rise of the cell.
    pub(super) fn sums(&self, cells: &Cells) -> Vec<(f64, f64)> {
        let count = cells.inside.len();
        let slack = cells.relative_error + ROUNDING_TWICE * count as f64;
        let mut values = vec![(0.0, 0.0); count + 1];
        let (mut h, mut beyond) = cells.above;
        for i in (0..=count).rev() {
            let alpha = exp(self.loss(i as i64));
            let mut mass = beyond;
            if i < count {
                let gap = alpha * expm1(self.step);
                let (rise, fall) = cells.inside[i];
                mass += (rise + fall) / gap;
                h += beyond * gap + rise;
            }
            // Ratios and nodes are known to within a shift. It may put an outcome into the neighboring cell,
            // which has the same effect once more.
            let neighbor = match i.checked_sub(1) {
                Some(j) => {
                    (cells.inside[j].0 + cells.inside[j].1) / (alpha * expm1(self.step)) * 1.1
                }
                None => cells.below,
            };
            let shift = 2.0 * Cells::SHIFT * (h + alpha * (mass + neighbor));
            values[i] = (
                (h * (1.0 - slack) - shift).max(0.0),
                h * (1.0 + slack) + shift + cells.dropped,
            );
            beyond = mass;
        }
        values
    }

    /// Each outcome split between the two ends of its cell so that both of its masses are kept: the same
    /// distribution as by connecting the dots, without taking differences.
    pub(super) fn split(&self, cells: &Cells, first: i64) -> Option<Measure> {
        let mut masses = vec![0.0; cells.inside.len() + 1];
        let alpha = |i: usize| exp(self.loss(first + i as i64));
        // Outcomes below the first node are split between it and α = 0, where P has no mass.
        masses[0] += cells.below;
        for (i, (rise, fall)) in cells.inside.iter().enumerate() {
            let gap = alpha(i) * expm1(self.step);
            masses[i] += alpha(i) * (fall / gap);
            masses[i + 1] += alpha(i + 1) * (rise / gap);
        }
        masses[cells.inside.len()] += alpha(cells.inside.len()) * cells.above.1;
        // The nodes may be below the true ones by a few ε, which is less than the ratios were rounded up by.
        let slack = 1.0 + cells.relative_error + ROUNDING_TWICE;
        masses
            .iter_mut()
            .for_each(|mass| *mass = *mass * slack + f64::MIN_POSITIVE);
        Measure::new(self.exponent, first, masses)
    }
}
