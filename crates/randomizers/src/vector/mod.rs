//! Randomizers of vectors whose norm is bounded: the mean of a batch.
//!
//! Each report decodes to a vector: one of a fixed length, or the value with noise on every coordinate. How a
//! report is drawn and what it decodes to differs from randomizer to randomizer ([`Ball`]); checking, sums
//! and estimates are shared ([`Vectors`]). Each file of this folder is one randomizer; those that send one
//! bit of the vector are in [`one_bit`].

pub mod gaussian;
pub mod laplace;
pub mod leaning;
pub mod mixed_gaussian;
pub mod one_bit;
pub mod priv_unit;
pub mod ramp;
pub mod shares;

pub use gaussian::GaussianVector;
pub use laplace::LaplaceVector;
pub use mixed_gaussian::MixedGaussian;
pub use one_bit::{R1, R2, RInf};
pub use priv_unit::PrivUnit;
pub use ramp::Ramp;
pub use shares::NoiseShares;

use crate::error::Error;
use crate::randomizer::Randomizer;
use crate::sample::random::Random;
use shuffledp_accounting::Mechanism;

/// The sum of a batch, in the coordinates in which the randomizer adds reports.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorSum {
    pub(crate) reports: u64,
    /// The number of contributions that have not been settled ([`Randomizer::settle`]).
    pub(crate) unsettled: u64,
    pub(crate) total: Vec<f64>,
}

impl VectorSum {
    /// The number of reports.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Adds another batch of the same randomizer.
    pub fn merge(&mut self, other: &Self) {
        self.reports += other.reports;
        self.unsettled += other.unsettled;
        for (mine, theirs) in self.total.iter_mut().zip(&other.total) {
            *mine += theirs;
        }
    }
}

/// The mean of a batch of vectors.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct VectorEstimate {
    /// The estimate, unbiased in every coordinate.
    pub mean: Vec<f64>,
    /// An upper bound on the expected squared distance to the true mean.
    pub variance: f64,
}

/// The part of a randomizer of vectors that differs from randomizer to randomizer.
pub trait Ball {
    /// Whether contributions leave out noise that [`Ball::settle`] adds.
    const SETTLES: bool = false;

    /// The mechanism that the accountant computes bounds for.
    fn mechanism(&self) -> &Mechanism;

    /// The dimension and the radius.
    fn shape(&self) -> Shape;

    /// The norm that the radius bounds; NaN if a coordinate is NaN.
    fn norm(&self, value: &[f32]) -> f64;

    /// The length of a report in bytes.
    fn report_length(&self) -> usize;

    /// Draws a report of a vector within the ball into [`Ball::report_length`] bytes.
    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]);

    /// The number of sums of a batch.
    fn coordinates(&self) -> usize {
        self.shape().dimension
    }

    /// Adds a report to the sums, unscaled: [`Ball::decoded`] scales the sums.
    fn add(&self, report: &[u8], sums: &mut [f64]) -> Result<(), Error>;

    /// Adds a vector's contribution to the sums: a report, or the vector without the noise that
    /// [`Ball::settle`] adds later.
    fn contribute<R: Random + ?Sized>(
        &self,
        value: &[f32],
        random: &mut R,
        sums: &mut [f64],
    ) -> Result<(), Error> {
        let mut report = vec![0; self.report_length()];
        self.draw(value, random, &mut report);
        self.add(&report, sums)
    }

    /// Adds the noise that this many contributions left out: none, unless [`Ball::SETTLES`].
    fn settle<R: Random + ?Sized>(&self, _reports: u64, _random: &mut R, _sums: &mut [f64]) {}

    /// The norm of a decoded report if it is the same for all reports; for additive noise, the root mean
    /// square of the noise.
    fn length(&self) -> f64;

    /// The sum of the decoded reports of a batch, from its sums.
    fn decoded(&self, sums: &[f64]) -> Vec<f64> {
        let length = self.length();
        sums.iter().map(|sum| length * sum).collect()
    }

    /// The expected squared distance of a decoded report to the vector. By default that of reports with one
    /// length: the squared length minus the squared norm of the vector.
    fn variance(&self, value: &[f32]) -> f64 {
        let square: f64 = value.iter().map(|x| f64::from(*x).powi(2)).sum();
        self.length().powi(2) - square
    }

    /// The largest norm of a decoded report; infinite for unbounded noise.
    fn influence(&self) -> f64 {
        self.length()
    }

    /// The probability of a report, given the vector.
    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64>;

    /// The probability up to a factor that does not depend on the vector.
    fn likelihood(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        self.probability(value, report)
    }
}

/// A randomizer of vectors: a [`Randomizer`] made from a [`Ball`].
#[derive(Clone, Debug)]
pub struct Vectors<B>(pub(crate) B);

impl<B: Ball> Vectors<B> {
    /// The root mean square of a decoded report ([`Ball::length`]). Its square divided by n bounds the
    /// variance of the mean of n reports.
    pub fn scale(&self) -> f64 {
        self.0.length()
    }
}

impl<B: Ball> Randomizer for Vectors<B> {
    type Value = [f32];
    type Tally = VectorSum;
    type Estimate = VectorEstimate;

    fn mechanism(&self) -> &Mechanism {
        self.0.mechanism()
    }

    fn report_length(&self) -> usize {
        self.0.report_length()
    }

    fn check(&self, value: &[f32]) -> Result<(), Error> {
        self.0.shape().holds(value, self.0.norm(value))
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        self.0.draw(value, random, report);
    }

    fn tally(&self) -> VectorSum {
        VectorSum {
            reports: 0,
            unsettled: 0,
            total: vec![0.0; self.0.coordinates()],
        }
    }

    fn add(&self, report: &[u8], tally: &mut VectorSum) -> Result<(), Error> {
        self.0.add(report, &mut tally.total)?;
        tally.reports += 1;
        Ok(())
    }

    fn contribute<R: Random + ?Sized>(
        &self,
        value: &[f32],
        random: &mut R,
        tally: &mut VectorSum,
    ) -> Result<(), Error> {
        self.0.contribute(value, random, &mut tally.total)?;
        tally.reports += 1;
        tally.unsettled += u64::from(B::SETTLES);
        Ok(())
    }

    fn settle<R: Random + ?Sized>(&self, random: &mut R, tally: &mut VectorSum) {
        let reports = std::mem::take(&mut tally.unsettled);
        if reports > 0 {
            self.0.settle(reports, random, &mut tally.total);
        }
    }

    fn estimate(&self, tally: &VectorSum) -> VectorEstimate {
        let n = tally.reports as f64;
        let mut mean = self.0.decoded(&tally.total);
        mean.iter_mut().for_each(|sum| *sum /= n);
        VectorEstimate {
            mean,
            variance: self.0.length().powi(2) / n,
        }
    }

    fn variance(&self, value: &[f32]) -> f64 {
        self.0.variance(value)
    }

    fn influence(&self) -> f64 {
        self.0.influence()
    }

    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        self.0.probability(value, report)
    }

    fn likelihood(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        self.0.likelihood(value, report)
    }
}

/// The ball that vectors lie in: its dimension and its radius.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(crate) dimension: usize,
    pub(crate) radius: f64,
}

impl Shape {
    /// Accepts dimensions up to 2³⁰, which fit in memory, and radii whose squares are far from overflow.
    pub(crate) fn new(dimension: usize, radius: f64) -> Result<Self, Error> {
        let refuse = |parameter, value: String, allowed: &str| Error::Parameter {
            parameter,
            value,
            allowed: allowed.into(),
        };
        if !(1..=1 << 30).contains(&dimension) {
            return Err(refuse("dimension", dimension.to_string(), "[1, 2^30]"));
        }
        if !(1e-30..=1e30).contains(&radius) {
            return Err(refuse("radius", radius.to_string(), "[1e-30, 1e30]"));
        }
        Ok(Self { dimension, radius })
    }

    /// Accepts a vector of this dimension whose norm exceeds the radius by at most one part in a million,
    /// which leaves room for rounding to single precision. The excess costs no privacy: coins limit their
    /// probabilities to [0, 1], and noise is added to levels that are brought inside first
    /// (`sample::levels`).
    fn holds(self, value: &[f32], norm: f64) -> Result<(), Error> {
        if value.len() != self.dimension {
            return Err(Error::Value {
                value: format!("of {} coordinates", value.len()),
                allowed: format!("vectors of {} coordinates", self.dimension),
            });
        }
        // False if a coordinate is NaN or infinite.
        if norm <= self.radius * (1.0 + 1e-6) {
            return Ok(());
        }
        Err(Error::Value {
            value: format!("of norm {norm}"),
            allowed: format!("the ball of radius {}", self.radius),
        })
    }
}
