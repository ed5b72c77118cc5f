//! Randomizers of a number in [0, 1]: the mean of a batch.
//!
//! Each report decodes to an unbiased estimate of the number that it was drawn from. How a report is drawn
//! and what it decodes to differs from randomizer to randomizer ([`Noise`]); checking, sums and estimates are
//! shared ([`Number`]). Each file of this folder is one randomizer.

pub mod discrete_gaussian;
pub mod discrete_laplace;
pub mod duchi;
pub mod gaussian;
pub mod hybrid;
pub mod piecewise;
pub mod square_wave;

pub use discrete_gaussian::DiscreteGaussian;
pub use discrete_laplace::DiscreteLaplace;
pub use duchi::Duchi;
pub use gaussian::Gaussian;
pub use hybrid::Hybrid;
pub use piecewise::Piecewise;
pub use square_wave::SquareWave;

use crate::domain;
use crate::error::Error;
use crate::estimate::{Estimate, Sum};
use crate::randomizer::Randomizer;
use crate::sample::coin::round_up;
use crate::sample::random::Random;
use shuffledp_accounting::Mechanism;

/// What makes a mean mechanism of its own.
pub trait Noise {
    /// What the accountant prices.
    fn mechanism(&self) -> &Mechanism;

    /// Bytes of a report.
    fn report_length(&self) -> usize;

    /// Draws a report of a number in [0, 1], into bytes of the right number.
    fn draw<R: Random + ?Sized>(&self, value: f64, random: &mut R, report: &mut [u8]);

    /// What a report stands for, without bias.
    fn decode(&self, report: &[u8]) -> Result<f64, Error>;

    /// The variance of that.
    fn variance(&self, value: f64) -> f64;

    /// The most that one report can change.
    fn influence(&self) -> f64;

    /// The probability of a report, where reports can be listed.
    fn probability(&self, value: f64, report: &[u8]) -> Option<f64>;

    /// The same up to a factor that all numbers share.
    fn likelihood(&self, value: f64, report: &[u8]) -> Option<f64> {
        self.probability(value, report)
    }
}

/// A mean mechanism.
#[derive(Clone, Debug)]
pub struct Number<N>(pub(crate) N);

impl<N: Noise> Randomizer for Number<N> {
    type Value = f64;
    type Tally = Sum;
    type Estimate = Estimate;

    fn mechanism(&self) -> &Mechanism {
        self.0.mechanism()
    }

    fn report_length(&self) -> usize {
        self.0.report_length()
    }

    fn check(&self, value: &f64) -> Result<(), Error> {
        domain::unit(*value)
    }

    fn draw<R: Random + ?Sized>(&self, value: &f64, random: &mut R, report: &mut [u8]) {
        self.0.draw(*value, random, report);
    }

    fn tally(&self) -> Sum {
        Sum::default()
    }

    fn add(&self, report: &[u8], tally: &mut Sum) -> Result<(), Error> {
        tally.add(self.0.decode(report)?);
        Ok(())
    }

    fn estimate(&self, tally: &Sum) -> Estimate {
        tally.mean(|value| self.0.variance(value))
    }

    fn variance(&self, value: &f64) -> f64 {
        self.0.variance(*value)
    }

    fn influence(&self) -> f64 {
        self.0.influence()
    }

    fn probability(&self, value: &f64, report: &[u8]) -> Option<f64> {
        self.0.probability(*value, report)
    }

    fn likelihood(&self, value: &f64, report: &[u8]) -> Option<f64> {
        self.0.likelihood(*value, report)
    }
}

/// A number in [0, 1] on a grid of `levels` + 1 points, rounded up or down without bias.
pub(crate) fn level<R: Random + ?Sized>(value: f64, levels: u64, random: &mut R) -> i64 {
    let place = value * levels as f64;
    place.floor() as i64 + i64::from(round_up(place.fract(), random))
}

/// The variance of that rounding, in squares of a step.
pub(crate) fn level_variance(value: f64, levels: u64) -> f64 {
    let part = (value * levels as f64).fract();
    part * (1.0 - part)
}

/// A probability that depends on the point of the grid, averaged over the rounding.
pub(crate) fn over_levels(value: f64, levels: u64, at: impl Fn(f64) -> f64) -> f64 {
    let place = value * levels as f64;
    let up = place.fract();
    (1.0 - up) * at(place.floor()) + up * at(place.ceil())
}
