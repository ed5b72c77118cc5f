//! The expectations E(1 − e^{t−S})₊ and E(S − t)₊ of a sum at several t.

use super::line::{LatticeLine, Prepared};
use super::measure::Tilt;
use super::sum::Sum;
use crate::enclosure::{LOST, LnEnclosure, NEGLIGIBLE};
use crate::laplace::{self, Kernel, Saddle};
use crate::rounding::ROUNDING;
use crate::saddle::{Found, SaddleSearch};
use crate::special::{exp, ln, ln_1p};
use std::cell::{Cell, RefCell};
use std::f64::consts::PI;
use std::rc::Rc;

impl Sum {
    /// t ↦ ln E(1 − e^{t−S})₊, for evaluation at several t.
    pub fn saturating_ramp(&self) -> Ramp<'_> {
        self.expected(Shape::Saturating)
    }

    /// t ↦ ln E(S − t)₊, for evaluation at several t.
    ///
    /// ```
    /// use shuffledp_numerics::lattice::{Measure, Sum};
    /// use std::sync::Arc;
    /// // Two fair coins worth ±1: (2 − 1/2)/4.
    /// let coin = Measure::new(0, -1, vec![0.5, 0.0, 0.5]).unwrap();
    /// let mut sum = Sum::default();
    /// sum.add(Arc::new(coin), 2);
    /// let answer = sum.ramp().ln_value(0.5, 1e-9);
    /// let truth = 0.375f64.ln();
    /// assert!(answer.lower <= truth && truth <= answer.upper && answer.upper - answer.lower < 1e-8);
    /// ```
    pub fn ramp(&self) -> Ramp<'_> {
        self.expected(Shape::Plain)
    }

    /// [`Sum::ramp`] for a caller who has an estimate of the saddle point.
    pub(crate) fn ramp_near(&self, c: f64) -> Ramp<'_> {
        Ramp {
            start: Some(c),
            ..self.ramp()
        }
    }

    fn expected(&self, shape: Shape) -> Ramp<'_> {
        Ramp {
            sum: self,
            shape,
            start: None,
            flat: self.tilt(0.0),
            prepared: RefCell::new(None),
        }
    }
}

/// The function of S − t whose expectation is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// (1 − e^{−x})₊.
    Saturating,
    /// (x)₊.
    Plain,
}

/// t ↦ ln E(1 − e^{t−S})₊ or ln E(S − t)₊ (E is the sum over masses, which need not add up to one).
///
/// The integral may go along any line Re z = c > 0. For t close to an earlier one, the earlier line is
/// reused, with the numbers already computed on it.
pub struct Ramp<'a> {
    sum: &'a Sum,
    shape: Shape,
    /// Where to begin looking for the saddle point.
    start: Option<f64>,
    flat: Tilt,
    prepared: RefCell<Option<Rc<Prepared<'a>>>>,
}

/// The terms may have very different sizes, so c may have any order of magnitude: geometric steps, within 200
/// orders of magnitude of one.
const SEARCH: SaddleSearch = SaddleSearch {
    tolerance: 1e-2,
    shortest: 0.1,
    cut: 1e-3,
    middle: |low, high| low.sqrt() * high.sqrt(),
    range: (1e-200, 1e200),
};

/// A line is reused while the saddle point is within this fraction of c: the integrand on it is then hardly
/// larger than on the line through the saddle point.
const NEAR: f64 = 0.02;

/// The mass is tried as the value where t is at least this many standard deviations below the mean: nearer,
/// an integral has few nodes.
const FAR_BELOW: f64 = 6.0;
/// Limits the slopes b that are tried for it: from that of a Gaussian sum down to e^−36 of it, for sums of
/// rare large terms.
const MOST_SLOPES: usize = 30;

impl<'a> Ramp<'a> {
    /// Encloses the value at t, to about `target`.
    ///
    /// ```
    /// use shuffledp_numerics::lattice::{Measure, Sum};
    /// use std::sync::Arc;
    /// // Two fair coins worth ±1: (1 − e^{−2})/4.
    /// let coin = Measure::new(0, -1, vec![0.5, 0.0, 0.5]).unwrap();
    /// let mut sum = Sum::default();
    /// sum.add(Arc::new(coin), 2);
    /// let answer = sum.saturating_ramp().ln_value(0.0, 1e-9);
    /// let truth: f64 = (1.0 - (-2f64).exp()) / 4.0;
    /// assert!(answer.lower <= truth.ln() && truth.ln() <= answer.upper);
    /// assert!(answer.upper - answer.lower < 1e-8);
    /// ```
    pub fn ln_value(&self, t: f64, target: f64) -> LnEnclosure {
        let step = self
            .sum
            .parts
            .iter()
            .map(|(measure, _)| measure.step)
            .fold(f64::INFINITY, f64::min);
        // Only lattice points strictly above t count.
        let next = ((t / step).floor() + 1.0) * step;
        if self.sum.largest() < next {
            return LnEnclosure::ZERO;
        }
        let offset = next - t;
        let (kernel, mass) = match self.shape {
            Shape::Saturating => (
                Kernel::Lattice { step, offset },
                self.flat.ln_moment + self.flat.error,
            ),
            Shape::Plain => (Kernel::LatticeRamp { step, offset }, f64::INFINITY),
        };
        if let Some(whole) = self.nearly_all(t, target) {
            return whole;
        }
        let Some((prepared, saddle)) = self.saddle(t, kernel) else {
            // No saddle: the mass bounds the value.
            return LnEnclosure::at_most(mass);
        };
        let chernoff = saddle.ln_chernoff(kernel).min(mass);
        if chernoff < NEGLIGIBLE || saddle.error > LOST {
            return LnEnclosure::at_most(chernoff);
        }
        let line = LatticeLine {
            sum: self.sum,
            mass: self.flat.ln_moment + self.flat.error,
            tabulate_early: self.shape == Shape::Plain,
            t,
            saddle: &saddle,
            prepared: &prepared,
            table: RefCell::new(None),
            hopeless: Cell::new(false),
        };
        let enclosure = laplace::integrate(&line, &saddle, kernel, target);
        LnEnclosure {
            lower: enclosure.lower,
            upper: enclosure.upper.min(chernoff),
        }
    }

    /// The value where t is far below nearly all of the sum, so that it is nearly the mass M. The line of an
    /// integral would be close to zero there, and its nodes very many. For y, b > 0
    ///
    /// ```text
    /// (1 − e^{−x})₊ ≥ (1 − e^{−y}) (1 − e^{−b(x−y)})
    /// E(1 − e^{t−S})₊ ≥ (1 − e^{−y}) (M − e^{K(−b) + b(t+y)})
    /// ```
    fn nearly_all(&self, t: f64, target: f64) -> Option<LnEnclosure> {
        let gap = self.flat.mean - t;
        let part = 0.25 * target;
        let y = 0.5 * gap;
        let tried = self.shape == Shape::Saturating
            && gap > FAR_BELOW * self.flat.variance.sqrt()
            && exp(-y) < part;
        if !tried {
            return None;
        }
        let slack = self.flat.error + ROUNDING * (1.0 + self.flat.ln_moment.abs());
        let least = self.flat.ln_moment - slack;
        let mut b = y / self.flat.variance;
        for _ in 0..MOST_SLOPES {
            let tilt = self.sum.tilt(-b);
            let reach = b * (t + y);
            let rounding = ROUNDING * (1.0 + reach.abs() + tilt.ln_moment.abs() + least.abs());
            let below = tilt.ln_moment + tilt.error + reach - least + rounding;
            if below < ln(part) {
                let lost = exp(-y) + exp(below);
                let lower = least + ln_1p(-lost * (1.0 + ROUNDING)) - ROUNDING;
                return Some(LnEnclosure {
                    lower,
                    upper: self.flat.ln_moment + slack,
                });
            }
            b *= 0.3;
        }
        None
    }

    /// About where the value is e^`ln_value`, by the leading term of the saddle-point expansion. An estimate.
    pub fn estimate_crossing(&self, ln_value: f64) -> Option<f64> {
        let kernel = Kernel::Lattice {
            step: 1.0,
            offset: 1.0,
        };
        let mut c = ((-2.0 * ln_value).max(0.1) / self.flat.variance).sqrt();
        for _ in 0..20 {
            let tilt = self.sum.tilt(c);
            let (pull, stiffness) = kernel.pull(c);
            let (t, spread) = (tilt.mean - pull, tilt.variance + stiffness);
            let estimate = tilt.ln_moment - c * t - ln(c) - ln_1p(c) - 0.5 * ln(2.0 * PI * spread);
            let move_by = (estimate - ln_value) / (c * spread);
            if !(move_by.is_finite() && t.is_finite()) {
                return None;
            }
            if move_by.abs() <= 1e-3 * c {
                // To first order, the value falls like e^{−ct}.
                return Some(t + (estimate - ln_value) / c);
            }
            c = (c + move_by).clamp(0.3 * c, 3.0 * c);
        }
        None
    }

    /// About −d ln E/dt at the t of the last value: the c of its line. `None` before the first value.
    pub fn slope(&self) -> Option<f64> {
        self.prepared.borrow().as_ref().map(|prepared| prepared.c)
    }

    /// A line near the c > 0 where K(c) − ct + ln f̂(c) is least, with the numbers prepared on it.
    fn saddle(&self, t: f64, kernel: Kernel) -> Option<(Rc<Prepared<'a>>, Saddle)> {
        let kept = self.prepared.borrow().clone();
        if let Some(prepared) = kept {
            let (pull, stiffness) = kernel.pull(prepared.c);
            let off = (prepared.tilt.mean - t - pull) / (prepared.tilt.variance + stiffness);
            if off.abs() <= NEAR * prepared.c {
                let saddle = prepared.saddle(t)?;
                return Some((prepared, saddle));
            }
        }
        let prepared = Rc::new(Prepared::new(self.sum, self.search(t, kernel)?));
        self.prepared.replace(Some(prepared.clone()));
        let saddle = prepared.saddle(t)?;
        Some((prepared, saddle))
    }

    fn search(&self, t: f64, kernel: Kernel) -> Option<f64> {
        let flat = self.flat;
        let gap = t - flat.mean;
        let gaussian = ((gap * gap + 4.0 * flat.variance).sqrt() + gap) / (2.0 * flat.variance);
        let start = self.start.unwrap_or(gaussian);
        if !SEARCH.is_within(start) {
            return None;
        }
        let found = SEARCH.find(start, kernel, |c| {
            let tilt = self.sum.tilt(c);
            (tilt.mean - t, tilt.variance)
        });
        match found {
            Found::Saddle(c) => Some(c),
            Found::Unfinished(_) | Found::OutOfRange => None,
        }
    }
}
