//! Sums of independent lattice variables, and their cumulant function on the real axis.

use super::measure::{Measure, Tilt};
use crate::rounding::ROUNDING;
use std::sync::Arc;

/// A sum of independent variables: each measure with the number of times it occurs.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    pub(super) parts: Vec<(Arc<Measure>, f64)>,
}

impl Sum {
    /// Adds `count` more variables with this distribution.
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
}
