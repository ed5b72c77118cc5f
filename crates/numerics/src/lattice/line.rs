//! The cumulant function of a sum of lattice variables on the vertical line Re z = c: the [`Line`] of
//! [`crate::laplace`].

use super::measure::Tilt;
use super::sum::Sum;
use super::tilted::{Table, TiltedMeasure};
use crate::laplace::{Line, Node, Saddle};
use crate::rounding::ROUNDING;
use crate::special::{atan2, exp, ln};
use std::cell::{Cell, RefCell};
use std::f64::consts::PI;
use std::rc::Rc;

/// Up to this many nodes are always evaluated one by one, without a table.
const FEW_NODES: f64 = 512.0;
/// If more nodes than this have an integrand that is not negligible, one transform is cheaper than evaluating
/// them.
const MANY_ALIVE: f64 = 40.0;
/// Tables are made only for sums of fewer terms: a transform has a larger rounding error, which is multiplied
/// by the number of terms.
const FEW_TERMS: f64 = 1e5;
/// Limits the nodes of a table, and so its memory to some 100 MB. A sum with more nodes has many terms, and
/// few of its nodes matter.
const MOST_TABLED: f64 = 4e6;

/// Parts of the way to the last node, at no simple ratios.
const PROBES: [f64; 6] = [0.11, 0.23, 0.37, 0.53, 0.71, 0.89];

/// A phase that is off by more than this is not used.
const LOST_PHASE: f64 = 0.5;

/// The numbers on one line that do not depend on t.
pub(super) struct Prepared<'a> {
    pub(super) c: f64,
    pub(super) tilt: Tilt,
    parts: Vec<TiltedMeasure<'a>>,
    /// (b, K(b) rounded up), for t = 0.
    cumulants: RefCell<Vec<(f64, f64)>>,
    /// The last table that was made.
    table: RefCell<Option<Rc<Table>>>,
}

impl<'a> Prepared<'a> {
    /// The line Re z = c.
    pub(super) fn new(sum: &'a Sum, c: f64) -> Self {
        Self {
            c,
            tilt: sum.tilt(c),
            parts: sum
                .parts
                .iter()
                .map(|(measure, count)| TiltedMeasure::new(measure, *count, c))
                .collect(),
            cumulants: RefCell::new(Vec::new()),
            table: RefCell::new(None),
        }
    }

    /// K(c) − ct, with its error; `None` where it is not finite.
    pub(super) fn saddle(&self, t: f64) -> Option<Saddle> {
        let (c, tilt) = (self.c, self.tilt);
        let cumulant = tilt.ln_moment - c * t;
        let error = tilt.error + ROUNDING * (tilt.ln_moment.abs() + (c * t).abs());
        (cumulant.is_finite() && tilt.variance.is_finite() && error.is_finite()).then_some(Saddle {
            c,
            cumulant,
            variance: tilt.variance,
            error,
        })
    }
}

/// The line Re z = c.
pub(super) struct LatticeLine<'a, 'm> {
    pub(super) sum: &'a Sum,
    /// ln of the total mass, rounded up.
    pub(super) mass: f64,
    /// Whether a table is made as soon as more than [`MANY_ALIVE`] nodes matter.
    pub(super) tabulate_early: bool,
    pub(super) t: f64,
    pub(super) saddle: &'a Saddle,
    pub(super) prepared: &'a Prepared<'m>,
    pub(super) table: RefCell<Option<Rc<Table>>>,
    /// Whether more nodes matter than may be evaluated.
    pub(super) hopeless: Cell<bool>,
}

impl LatticeLine<'_, '_> {
    /// φ̂ of part `index` at θ, with a bound on its error.
    fn transformed(&self, index: usize, theta: f64, table: Option<&Table>) -> (f64, f64, f64) {
        let part = &self.prepared.parts[index];
        let own = part.error + part.error_by_theta * theta;
        match table {
            Some(table) => {
                let node = (theta / table.step).round() as usize;
                let known = &table.parts[index];
                let value = known.values[node];
                (value.re, value.im, own + known.error)
            }
            None => {
                let (real, imaginary) = part.rotated(theta);
                (real, imaginary, own)
            }
        }
    }
}

impl Line for LatticeLine<'_, '_> {
    fn node(&self, theta: f64, least: f64) -> Node {
        let (mut ln_modulus, mut phase) = (0.0, -self.t * theta);
        let mut error = self.saddle.error + ROUNDING * (1.0 + phase.abs());
        let mut known = true;
        let table = self.table.borrow();
        for (index, part) in self.prepared.parts.iter().enumerate() {
            let (real, imaginary, off) = self.transformed(index, theta, table.as_deref());
            let square = real * real + imaginary * imaginary;
            let modulus = square.sqrt();
            // Where the transform has all but vanished, its phase is lost in rounding, but not its size.
            if part.count * off > LOST_PHASE * modulus {
                let ln_part = ln(modulus + off);
                ln_modulus += part.count * ln_part;
                error += ROUNDING * part.count * (1.0 + ln_part.abs() + part.ln_moment.abs());
                known = false;
                continue;
            }
            // Near one the logarithm of the square is as accurate as the square.
            let ln_part = 0.5 * ln(square);
            ln_modulus += part.count * ln_part;
            let turn = part.count * atan2(imaginary, real);
            phase += turn;
            error += part.count * off / modulus
                + ROUNDING * (turn.abs() + part.count * (ln_part.abs() + part.ln_moment.abs()));
        }
        Node {
            ln_modulus,
            phase: (known && ln_modulus >= least).then_some(phase),
            error,
        }
    }

    fn ln_bound(&self, start: f64, end: f64) -> f64 {
        self.prepared
            .parts
            .iter()
            .enumerate()
            .map(|(i, part)| {
                if let Some(bound) = part.near_zero.ln_modulus(start, end) {
                    return part.count * bound;
                }
                if let Some(table) = &*self.table.borrow() {
                    let node = |theta: f64| (theta / table.step).round() as usize;
                    let most = table.parts[i].largest(node(start), node(end))
                        + part.error
                        + part.error_by_theta * end;
                    return if most < 1.0 {
                        part.count * ln(most)
                    } else {
                        0.0
                    };
                }
                let mut modulus = part.largest_beyond(start, end);
                if modulus >= 0.9 {
                    // The law is nearly on a coarser lattice, so that |φ̂| is large again further out. In
                    // this block it may be small all the same.
                    let middle = 0.5 * (start + end);
                    let (real, imaginary) = part.rotated(middle);
                    let here = real.hypot(imaginary)
                        + part.error
                        + part.error_by_theta * middle
                        + part.absolute_deviation * 0.5 * (end - start) * (1.0 + 1e-6);
                    modulus = modulus.min(here);
                }
                if modulus < 1.0 {
                    part.count * ln(modulus)
                } else {
                    0.0
                }
            })
            .sum()
    }

    fn announce(&self, step: f64, last: f64) {
        // Is the integrand above e^−40 far from the real axis?
        let alive = |fraction: f64| {
            let theta = (fraction * last).round() * step;
            self.node(theta, f64::NEG_INFINITY).ln_modulus > -40.0
        };
        if last > MOST_TABLED {
            // Where it is nearly everywhere, the nodes are too many, and none is evaluated.
            let share =
                PROBES.into_iter().filter(|part| alive(*part)).count() as f64 / PROBES.len() as f64;
            self.hopeless
                .set(share > 0.5 && share * last > self.most_nodes());
            return;
        }
        if last < FEW_NODES {
            return;
        }
        let kept = self.prepared.table.borrow().clone();
        if let Some(table) = kept.filter(|table| table.step == step) {
            self.table.replace(Some(table));
            return;
        }
        // Where it is, most nodes will be needed. Or is it above that at more nodes than a transform costs?
        let terms: f64 = self.prepared.parts.iter().map(|part| part.count).sum();
        let some = MANY_ALIVE / last;
        let many = self.tabulate_early && terms < FEW_TERMS && alive(some);
        if many || PROBES.into_iter().any(alive) {
            let finest = self
                .prepared
                .parts
                .iter()
                .map(|part| part.measure.step)
                .fold(f64::INFINITY, f64::min);
            let table = Rc::new(Table::new(&self.prepared.parts, finest, step, last));
            self.prepared.table.replace(Some(table.clone()));
            self.table.replace(Some(table));
        }
    }

    fn most_nodes(&self) -> f64 {
        if self.hopeless.get() {
            return 0.0;
        }
        if self.table.borrow().is_some() {
            return f64::INFINITY;
        }
        // Each is a sum over all points.
        let points: usize = self
            .prepared
            .parts
            .iter()
            .map(|part| part.weights.len())
            .sum();
        2e9 / points as f64
    }

    fn cumulant(&self, b: f64) -> f64 {
        let known = self
            .prepared
            .cumulants
            .borrow()
            .iter()
            .find(|(at, _)| *at == b)
            .copied();
        let (_, at_zero) = known.unwrap_or_else(|| {
            let tilt = self.sum.tilt(b);
            let value = tilt.ln_moment + tilt.error + ROUNDING * (tilt.ln_moment.abs() + PI);
            self.prepared.cumulants.borrow_mut().push((b, value));
            (b, value)
        });
        at_zero - b * self.t + 2.0 * ROUNDING * ((b * self.t).abs() + at_zero.abs())
    }

    fn mass(&self) -> f64 {
        exp(self.mass)
    }
}
