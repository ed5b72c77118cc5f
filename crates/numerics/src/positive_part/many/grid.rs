//! A law on a lattice, above or below a given one in convex order.
//!
//! Above: each atom is split between its two neighbors on the lattice, its mean kept. Below: neighboring
//! atoms are gathered, from left to right, into groups whose mean is a lattice point; atoms that find no
//! group at the right end are moved down. Variances change by about h²/6.

use super::super::tilt::Tilted;
use super::super::{Atom, Sum};
use crate::enclosure::{End, LnEnclosure};
use crate::lattice::{self, Measure};
use crate::rounding::ROUNDING;
use crate::special::exp;
use std::sync::Arc;

/// Values below −`HOPELESS`/c are cut off, c the tilt: they contribute less than e^{−45} ≈ 3e-20 to E e^{cX}.
const HOPELESS: f64 = 45.0;
/// Limits the points of a lattice at an accuracy of 1e-6, and so time and memory; coarser accuracies need
/// fewer, because errors grow with the square of the step.
const MOST_POINTS: f64 = 524_288.0;
/// An atom of at least this weight is made a point of the lattice, so that splitting it costs nothing.
const HEAVY: f64 = 0.05;

/// A wider step adds one over this of the variance that the accuracy allows: all of it raised composed upper
/// bounds by 3e-4 where about half of the law is at one atom.
const SHARE: f64 = 8.0;

/// One end of ln E(S)₊ for sorted atoms, none below −`bottom`. `deviation` is that of one term. Where most
/// of the law is at one heavy atom only the rest is split, and the step is wider by up to `widest`.
pub(super) fn evaluate(
    sum: &Sum,
    tilted: &Tilted,
    bottom: f64,
    (accuracy, deviation, widest): (f64, f64, f64),
    end: End,
) -> LnEnclosure {
    // Values below `floor` are cut off.
    let floor = (-HOPELESS / tilted.saddle.c).max(-bottom);
    let (Some(first), Some(last)) = (sum.atoms.first(), sum.atoms.last()) else {
        return LnEnclosure::UNKNOWN;
    };
    let lowest = first.value.max(floor);
    // A heavy atom is put on the lattice.
    let heaviest = sum
        .atoms
        .iter()
        .max_by(|a, b| a.weight.total_cmp(&b.weight))
        .filter(|atom| atom.weight >= HEAVY && atom.value >= lowest);
    let heavy = heaviest.map_or(0.0, |atom| atom.value);
    // The part of the law that is split, and that of the tilted one.
    let split = heaviest.map_or(1.0, |atom| {
        let tilted = atom.weight * exp(tilted.saddle.c * atom.value - tilted.tilt.ln_moment);
        (1.0 - atom.weight).max(1.0 - tilted)
    });
    let wider = (SHARE * split).sqrt().recip().clamp(1.0, widest);
    // Neither the law nor a period of the sum's transform may have too many points.
    let period = 16.0 * (sum.count * tilted.tilt.variance).sqrt();
    let most = MOST_POINTS * (1e-6 / accuracy).min(1.0).sqrt();
    let step = ((6.0 * accuracy).sqrt() * deviation * wider)
        .max((last.value - lowest) / most)
        .max(period / (2.0 * most));
    let exponent = step.log2().floor();
    if !(-900.0..=20.0).contains(&exponent) {
        return LnEnclosure::UNKNOWN;
    }
    let grid = Grid {
        exponent: exponent as i32,
        step: exponent.exp2(),
        heavy,
        floor,
    };
    let Some(measure) = grid.measure(sum.atoms, end) else {
        return LnEnclosure::UNKNOWN;
    };
    let mut total = lattice::Sum::default();
    total.add(Arc::new(measure), sum.count as u64);
    let towards = -end.outward();
    let moved = sum.count * heavy;
    let t = -(moved + sum.shift) + towards * ROUNDING * (moved.abs() + sum.shift.abs());
    let value = total
        .ramp_near(tilted.saddle.c)
        .ln_value(t, 0.25 * tilted.target(sum, accuracy));
    end.only(value)
}

/// The lattice {heavy + i·step}.
struct Grid {
    exponent: i32,
    step: f64,
    heavy: f64,
    floor: f64,
}

impl Grid {
    /// A law on the lattice on the given side of this one, which is sorted.
    fn measure(&self, atoms: &[Atom], end: End) -> Option<Measure> {
        let up = end.outward();
        // Positions in steps, moved to the safe side by the bound on their error.
        let moved: Vec<(f64, f64)> = atoms
            .iter()
            .filter(|atom| end == End::Upper || atom.value > self.floor)
            .map(|atom| {
                // A value that was raised to the floor is exact.
                let (value, size) = if atom.value < self.floor {
                    (self.floor, self.floor.abs())
                } else {
                    (atom.value, atom.magnitude)
                };
                let slack = up * ROUNDING * (size + self.heavy.abs());
                let position = (value - self.heavy + slack) / self.step;
                (position, atom.weight * (1.0 + 2.0 * up * ROUNDING))
            })
            .collect();
        let low = moved
            .iter()
            .map(|m| m.0)
            .fold(f64::INFINITY, f64::min)
            .floor()
            - 1.0;
        let high = moved
            .iter()
            .map(|m| m.0)
            .fold(f64::NEG_INFINITY, f64::max)
            .ceil()
            + 1.0;
        // No mass left, or more points than a lattice may have.
        if !(high - low < 4.0 * MOST_POINTS && low.abs() < 1e15) {
            return None;
        }
        let mut masses = vec![0.0; (high - low) as usize + 1];
        let mut put = |position: f64, weight: f64| masses[(position - low) as usize] += weight;
        match end {
            End::Upper => spread(&moved, &mut put),
            End::Lower => gather(&moved, &mut put),
        }
        Measure::new(self.exponent, low as i64, masses)
    }
}

/// Each atom to its two neighbors, keeping its mean.
pub(super) fn spread(atoms: &[(f64, f64)], put: &mut impl FnMut(f64, f64)) {
    for &(position, weight) in atoms {
        let below = position.floor();
        let part = position - below;
        put(below, weight * (1.0 - part) * (1.0 + ROUNDING));
        put(below + 1.0, weight * part * (1.0 + ROUNDING));
    }
}

/// Sorted atoms, in groups whose means are lattice points. Atoms left over at the end are moved down to the
/// lattice.
pub(super) fn gather(atoms: &[(f64, f64)], put: &mut impl FnMut(f64, f64)) {
    // The current group: its lattice point, the moment it lacks to have its mean there, its mass and members.
    let (mut point, mut lacking, mut mass) = (0.0, 0.0, 0.0);
    let mut members: Vec<(f64, f64)> = Vec::new();
    for &(position, mut weight) in atoms {
        if mass > 0.0 && position > point {
            let needed = lacking / (position - point);
            if needed < weight {
                put(
                    point,
                    (mass + needed) * (1.0 - ROUNDING * (members.len() + 4) as f64),
                );
                weight -= needed * (1.0 + ROUNDING);
                mass = 0.0;
                members.clear();
                if weight <= 0.0 {
                    continue;
                }
            }
        }
        if mass == 0.0 {
            if position == position.ceil() {
                put(position, weight);
                continue;
            }
            (point, lacking) = (position.ceil(), 0.0);
        }
        lacking += weight * (point - position);
        mass += weight;
        members.push((position, weight));
    }
    for (position, weight) in members {
        put(position.floor(), weight);
    }
}
