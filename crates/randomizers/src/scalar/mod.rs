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

/// The part of a randomizer of numbers that differs from randomizer to randomizer.
pub trait Noise {
    /// The mechanism that the accountant computes bounds for.
    fn mechanism(&self) -> &Mechanism;

    /// The length of a report in bytes.
    fn report_length(&self) -> usize;

    /// Draws a report of a number in [0, 1] into [`Noise::report_length`] bytes.
    fn draw<R: Random + ?Sized>(&self, value: f64, random: &mut R, report: &mut [u8]);

    /// The unbiased estimate of the number that a report decodes to.
    fn decode(&self, report: &[u8]) -> Result<f64, Error>;

    /// The variance of the decoded report.
    fn variance(&self, value: f64) -> f64;

    /// The largest difference between two decoded reports; infinite for unbounded noise.
    fn influence(&self) -> f64;

    /// The probability of a report, given the number; none where reports are too many to have one each.
    fn probability(&self, value: f64, report: &[u8]) -> Option<f64>;

    /// The probability up to a factor that does not depend on the number.
    fn likelihood(&self, value: f64, report: &[u8]) -> Option<f64> {
        self.probability(value, report)
    }
}

/// A randomizer of numbers: a [`Randomizer`] made from a [`Noise`].
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

/// Rounds a number in [0, 1] to a grid of `levels` + 1 points, up or down at random, without bias.
pub(crate) fn level<R: Random + ?Sized>(value: f64, levels: u64, random: &mut R) -> i64 {
    let place = value * levels as f64;
    place.floor() as i64 + i64::from(round_up(place.fract(), random))
}

/// The variance of the rounding by [`level`], in squared grid steps.
pub(crate) fn level_variance(value: f64, levels: u64) -> f64 {
    let part = (value * levels as f64).fract();
    part * (1.0 - part)
}

/// The mean, over the rounding by [`level`], of a probability that depends on the grid point.
pub(crate) fn over_levels(value: f64, levels: u64, at: impl Fn(f64) -> f64) -> f64 {
    let place = value * levels as f64;
    let up = place.fract();
    (1.0 - up) * at(place.floor()) + up * at(place.ceil())
}
