//! One bit of a vector: [`RInf`], [`R1`] and [`R2`] for the three norms (Girgis et al. 2021).
//!
//! Each measures the vector in one random direction, rounds the measurement to a bit without bias and sends
//! the bit through binary randomized response. This file has what R_inf and R_1 share ([`Signs`]): there are
//! finitely many measurements, each in [−a, a], and a report is 2j + bit of the j-th. [`R2`] draws its
//! direction from the sphere and sends the seed of it.

pub mod r_1;
pub mod r_2;
pub mod r_inf;

pub use r_1::R1;
pub use r_2::R2;
pub use r_inf::RInf;

use crate::domain;
use crate::error::Error;
use crate::sample::coin::{Coin, below, round_up};
use crate::sample::random::Random;
use crate::vector::{Ball, Shape, Vectors};
use crate::wire;
use shuffledp_accounting::Mechanism;

/// The measurements that differ between R_inf and R_1.
pub trait Measured {
    /// The number of measurements in a dimension.
    fn count(dimension: usize) -> usize;

    /// The measurement number `row` of a vector; its absolute value is at most [`Measured::norm`].
    fn measure(row: u64, value: &[f32]) -> f64;

    /// The norm that the radius bounds.
    fn norm(value: &[f32]) -> f64;

    /// The sum of the decoded reports in units of their scale, from the sum of the signs of each measurement.
    fn back(signs: &[f64], dimension: usize) -> Vec<f64>;

    /// The squared norm of a decoded report, in units of its scale.
    fn square(dimension: usize) -> f64;
}

/// The distribution of reports of R_inf and R_1: a measurement and a bit.
#[derive(Clone, Debug)]
pub struct Signs<M> {
    shape: Shape,
    mechanism: Mechanism,
    truth: Coin,
    measured: std::marker::PhantomData<M>,
}

impl<M: Measured> Vectors<Signs<M>> {
    /// Vectors of `dimension` coordinates within the ball of `radius`.
    pub fn new(dimension: usize, radius: f64, epsilon0: f64) -> Result<Self, Error> {
        domain::epsilon0(epsilon0, domain::LARGEST_EPSILON0)?;
        Ok(Self(Signs {
            shape: Shape::new(dimension, radius)?,
            mechanism: Mechanism::binary_response(epsilon0)?,
            truth: Coin::at_most(epsilon0.exp(), 1.0),
            measured: std::marker::PhantomData,
        }))
    }
}

impl<M: Measured> Signs<M> {
    fn reports(&self) -> u64 {
        2 * self.coordinates() as u64
    }

    /// A measurement, mapped from [−a, a] to [0, 1].
    fn level(&self, row: u64, value: &[f32]) -> f64 {
        (0.5 + 0.5 * M::measure(row, value) / self.shape.radius).clamp(0.0, 1.0)
    }

    /// The scale of decoded reports, aC.
    fn gain(&self) -> f64 {
        self.shape.radius / (self.truth.probability() - self.truth.complement())
    }
}

impl<M: Measured> Ball for Signs<M> {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn norm(&self, value: &[f32]) -> f64 {
        M::norm(value)
    }

    fn report_length(&self) -> usize {
        wire::bytes(self.reports())
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        let row = below(self.coordinates() as u64, random);
        let bit = round_up(self.level(row, value), random) == self.truth.toss(random);
        wire::put(2 * row + u64::from(bit), report);
    }

    fn coordinates(&self) -> usize {
        M::count(self.shape.dimension)
    }

    fn add(&self, report: &[u8], sums: &mut [f64]) -> Result<(), Error> {
        wire::sized(report, self.report_length())?;
        let number = wire::get(report, self.reports())?;
        sums[(number / 2) as usize] += if number % 2 == 1 { 1.0 } else { -1.0 };
        Ok(())
    }

    fn length(&self) -> f64 {
        M::square(self.shape.dimension).sqrt() * self.gain()
    }

    fn decoded(&self, sums: &[f64]) -> Vec<f64> {
        let gain = self.gain();
        let mut back = M::back(sums, self.shape.dimension);
        back.iter_mut().for_each(|sum| *sum *= gain);
        back
    }

    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let number = wire::get(report, self.reports()).ok()?;
        let level = self.level(number / 2, value);
        let (p, q) = (self.truth.probability(), self.truth.complement());
        let one = level * p + (1.0 - level) * q;
        let chance = if number % 2 == 1 { one } else { 1.0 - one };
        Some(chance / self.coordinates() as f64)
    }
}
