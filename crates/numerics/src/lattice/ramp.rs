//! Sums of independent lattice variables, and the expectations E(1 − e^{t−S})₊ and E(S − t)₊ at several t.

use super::line::LatticeLine;
use super::measure::{Measure, Tilt};
use super::tilted::{Table, TiltedMeasure};
use crate::enclosure::{LnEnclosure, NEGLIGIBLE};
use crate::laplace::{self, Kernel, Saddle};
use crate::rounding::ROUNDING;
use crate::saddle::{Found, SaddleSearch};
use crate::special::{ln, ln_1p};
use std::cell::RefCell;
use std::f64::consts::PI;
use std::rc::Rc;
use std::sync::Arc;

/// A sum of independent variables: each measure with the number of times it occurs.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    parts: Vec<(Arc<Measure>, f64)>,
}

impl Sum {
    /// Adds `count` more variables of this law.
    pub fn add(&mut self, measure: Arc<Measure>, count: u64) {
        match self
            .parts
            .iter_mut()
            .find(|(present, _)| Arc::ptr_eq(present, &measure))
        {
            Some((_, present)) => *present += count as f64,
            None => self.parts.push((measure, count as f64)),
        }
    }

    /// The largest value of the sum.
    pub fn largest(&self) -> f64 {
        self.parts
            .iter()
            .map(|(measure, count)| count * measure.largest())
            .sum()
    }

    /// K(c), with derivatives and error.
    pub fn tilt(&self, c: f64) -> Tilt {
        let mut total = Tilt {
            ln_moment: 0.0,
            mean: 0.0,
            variance: 0.0,
            error: 0.0,
        };
        for (measure, count) in &self.parts {
            let tilt = measure.tilt(c);
            total.ln_moment += count * tilt.ln_moment;
            total.mean += count * tilt.mean;
            total.variance += count * tilt.variance;
            total.error += count * (tilt.error + ROUNDING * tilt.ln_moment.abs());
        }
        total
    }

    /// t ↦ ln E(1 − e^{t−S})₊, to be asked at several t.
    pub fn saturating_ramp(&self) -> Ramp<'_> {
        self.expected(Shape::Saturating)
    }

    /// t ↦ ln E(S − t)₊, to be asked at several t.
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

    /// The same, by somebody who knows about where the saddle point is.
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
pub(super) enum Shape {
    /// (1 − e^{−x})₊.
    Saturating,
    /// (x)₊.
    Plain,
}

/// t ↦ ln E(1 − e^{t−S})₊ or ln E(S − t)₊ (E the sum over masses, whatever they add up to).
///
/// The integral may go along any line Re z = c > 0: near a t already asked for the line of that time will do, and what was computed on it.
pub struct Ramp<'a> {
    pub(super) sum: &'a Sum,
    pub(super) shape: Shape,
    /// Where to begin looking for the saddle point.
    start: Option<f64>,
    pub(super) flat: Tilt,
    prepared: RefCell<Option<Rc<Prepared<'a>>>>,
}

/// All that does not depend on t.
pub(super) struct Prepared<'a> {
    c: f64,
    tilt: Tilt,
    pub(super) parts: Vec<TiltedMeasure<'a>>,
    /// (b, K(b) rounded up), for t = 0.
    pub(super) cumulants: RefCell<Vec<(f64, f64)>>,
    /// The last table that was made.
    pub(super) table: RefCell<Option<Rc<Table>>>,
}

/// Losses of very different sizes may be added, so that c may be anywhere: geometric steps.
const SEARCH: SaddleSearch = SaddleSearch {
    tolerance: 1e-2,
    shortest: 0.1,
    cut: 1e-3,
    middle: |low, high| low.sqrt() * high.sqrt(),
    range: (1e-200, 1e200),
};

/// A line is used again while the saddle point is off it by at most this part of c.
const NEAR: f64 = 0.02;

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
    /// assert!(answer.lower <= truth.ln() && truth.ln() <= answer.upper && answer.upper - answer.lower < 1e-8);
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
        let Some((prepared, saddle)) = self.saddle(t, kernel) else {
            // No saddle: the mass bounds the value.
            return LnEnclosure::at_most(mass);
        };
        let chernoff = saddle.ln_chernoff(kernel).min(mass);
        if chernoff < NEGLIGIBLE {
            return LnEnclosure::at_most(chernoff);
        }
        let line = LatticeLine {
            ramp: self,
            t,
            saddle: &saddle,
            prepared: &prepared,
            table: RefCell::new(None),
        };
        let enclosure = laplace::integrate(&line, &saddle, kernel, target);
        LnEnclosure {
            lower: enclosure.lower,
            upper: enclosure.upper.min(chernoff),
        }
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

    /// A line near the c > 0 where K(c) − ct + ln f̂(c) is least, with what was prepared on it.
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
        let prepared = Rc::new(self.prepare(self.search(t, kernel)?));
        self.prepared.replace(Some(prepared.clone()));
        let saddle = prepared.saddle(t)?;
        Some((prepared, saddle))
    }

    fn prepare(&self, c: f64) -> Prepared<'a> {
        Prepared {
            c,
            tilt: self.sum.tilt(c),
            parts: self
                .sum
                .parts
                .iter()
                .map(|(measure, count)| TiltedMeasure::new(measure, *count, c))
                .collect(),
            cumulants: RefCell::new(Vec::new()),
            table: RefCell::new(None),
        }
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

impl Prepared<'_> {
    fn saddle(&self, t: f64) -> Option<Saddle> {
        let (c, tilt) = (self.c, self.tilt);
        let cumulant = tilt.ln_moment - c * t;
        let error = tilt.error + ROUNDING * (tilt.ln_moment.abs() + c * t);
        (cumulant.is_finite() && tilt.variance.is_finite() && error.is_finite()).then_some(Saddle {
            c,
            cumulant,
            variance: tilt.variance,
            error,
        })
    }
}
