//! The optimistic side: values at lattice points such that the piecewise linear function through them is
//! below h.

use super::hull::Dot;
use super::lattice::Lattice;
use shuffledp_numerics::rounding::{ROUNDING_TWICE, exp_down, exp_up};
use shuffledp_numerics::special::{exp, expm1};

/// Enclosures of r = h − (1 − α)₊ at consecutive lattice points on both sides of α = 1, at least two on each.
pub(super) struct Enclosed<'a> {
    lattice: &'a Lattice,
    first: i64,
    values: Vec<(f64, f64)>,
}

/// The line that h is measured from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// 1 − α, which (1 − α)₊ is to the left of α = 1.
    Falling,
    /// 0, which it is to the right.
    Zero,
}

impl<'a> Enclosed<'a> {
    /// `values` at the indices `first`, `first` + 1, …
    fn new(lattice: &'a Lattice, first: i64, values: Vec<(f64, f64)>) -> Self {
        Self {
            lattice,
            first,
            values,
        }
    }

    /// From the values of h at the losses 0, `step`, …, and those of the other direction, which are mirrored:
    /// to the left of α = 1, h is α h(1/α).
    pub(super) fn around_zero(
        lattice: &'a Lattice,
        ahead: &[(f64, f64)],
        behind: &[(f64, f64)],
    ) -> Self {
        let left = behind.len() as i64 - 1;
        let mirrored = (1..=left).rev().map(|i| {
            let (lower, upper) = behind[i as usize];
            let loss = lattice.loss(i);
            (lower * exp_down(-loss), upper * exp_up(-loss))
        });
        let values = mirrored.chain(ahead.iter().copied()).collect();
        Self::new(lattice, -left, values)
    }

    /// Whether nothing is left after lowering: a convex function that is zero at both ends and at α = 1 is
    /// zero in between. The value at α = 1 depends on three points on either side; more of them do not
    /// change it.
    pub(super) fn is_lost(&self) -> bool {
        let at_one = self.lowered().into_iter().find(|dot| dot.index == 0);
        at_one.is_none_or(|dot| dot.value == 0.0)
    }

    fn last(&self) -> i64 {
        self.first + self.values.len() as i64 - 1
    }

    /// r at a lattice point.
    fn at(&self, i: i64) -> (f64, f64) {
        self.values[(i - self.first) as usize]
    }

    /// h at a lattice point, measured from a line.
    fn above(&self, i: i64, line: Line) -> (f64, f64) {
        let (lower, upper) = self.at(i);
        let bend = match (line, i) {
            // To the right of 1, h is above 1 − α by α − 1 more than r.
            (Line::Falling, 1..) => expm1(self.lattice.loss(i)),
            // To the left of 1, h is above 0 by 1 − α more than r.
            (Line::Zero, ..=-1) => -expm1(self.lattice.loss(i)),
            _ => 0.0,
        };
        (
            lower + bend * (1.0 - ROUNDING_TWICE),
            upper + bend * (1.0 + ROUNDING_TWICE),
        )
    }

    /// How far the chord over the cell [i, i+1] may exceed h.
    fn gap(&self, i: i64) -> f64 {
        let step = self.lattice.step;
        let line = if i < 0 { Line::Falling } else { Line::Zero };
        let point = |j: i64| self.above(j, line);
        let alpha = exp(self.lattice.loss(i));
        let width = alpha * expm1(step);
        let (start, end) = (point(i).0, point(i + 1).0);
        // The line through the two points before, and the one through the two points after.
        let slope_before = if i > self.first {
            (start - point(i - 1).1) / (alpha * -expm1(-step))
        } else {
            f64::NEG_INFINITY
        };
        let slope_after = if i + 1 < self.last() {
            (point(i + 2).1 - end) / (width * exp(step))
        } else {
            f64::INFINITY
        };
        let chord = (end - start) / width;
        // At x from the start of the cell, the chord exceeds the line before by `rise`·x and the line after
        // by `fall`·(width − x).
        let (rise, fall) = (
            (chord - slope_before).max(0.0),
            (slope_after - chord).max(0.0),
        );
        let at_crossing = match (rise.is_finite(), fall.is_finite()) {
            (true, true) if rise + fall > 0.0 => rise * fall / (rise + fall) * width,
            (true, true) => 0.0,
            (true, false) => rise * width,
            (false, true) => fall * width,
            (false, false) => f64::INFINITY,
        };
        // h is not below the line it is measured from, so the chord exceeds it by at most its higher end.
        let higher = start.max(end);
        at_crossing.min(higher) * (1.0 + ROUNDING_TWICE) + ROUNDING_TWICE * higher
    }

    /// The lower ends, lowered by the larger gap of the two cells beside each; −∞ at the first and the last
    /// point.
    fn below_chords(&self) -> Vec<f64> {
        let gaps: Vec<f64> = (self.first..self.last()).map(|i| self.gap(i)).collect();
        let gap = |cell: i64| {
            let index = usize::try_from(cell - self.first).ok();
            index
                .and_then(|index| gaps.get(index))
                .copied()
                .unwrap_or(f64::INFINITY)
        };
        (self.first..=self.last())
            .map(|i| self.at(i).0 - gap(i - 1).max(gap(i)))
            .collect()
    }

    /// Whether the line through a point of height `low` and its inward neighbor of height `inward`, continued
    /// outward, is still at or above zero after one more cell.
    fn continues(&self, low: f64, inward: f64, outward: f64) -> bool {
        let ratio = exp(outward * self.lattice.step);
        low - (inward - low) * ratio * (1.0 + ROUNDING_TWICE) >= 0.0
    }

    /// Values of r such that the piecewise linear function through them, with (1 − α)₊ added, is below any
    /// convex function within the enclosures; zero at both ends.
    pub(super) fn lowered(&self) -> Vec<Dot> {
        let lowered = self.below_chords();
        let value = |i: i64| lowered[(i - self.first) as usize];
        // Outwards from α = 1 the values end where they reach zero, or where the line through this point and
        // the one before it would reach zero within the next cell: up to there a straight line down to zero
        // is below h.
        let keep = |i: i64| {
            let inward = self.at(i - i.signum()).1;
            value(i) > 0.0 && self.continues(self.at(i).0, inward, i.signum() as f64)
        };
        let from_right = (1..self.last())
            .take_while(|&i| keep(i))
            .last()
            .unwrap_or(0);
        let from_left = (self.first + 1..0)
            .rev()
            .take_while(|&i| keep(i))
            .last()
            .unwrap_or(0);
        // The same question at α = 1, where each neighbor is measured from the line on the other side.
        let one = self.at(0).0;
        let (before, after) = (self.above(-1, Line::Zero).1, self.above(1, Line::Falling).1);
        let right_ends_well = from_right > 0 || self.continues(one, before, 1.0);
        let left_ends_well = from_left < 0 || self.continues(one, after, -1.0);
        let middle = if right_ends_well && left_ends_well {
            value(0)
        } else {
            0.0
        };
        (self.first..=self.last())
            .map(|i| Dot {
                index: i,
                value: if i == 0 {
                    middle.max(0.0)
                } else if (from_left..=from_right).contains(&i) {
                    value(i).max(0.0)
                } else {
                    0.0
                },
            })
            .collect()
    }
}
