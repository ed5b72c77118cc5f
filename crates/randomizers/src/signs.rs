//! One linear measurement of a vector, and one bit: what R_inf and R_1 share.
//!
//! A measurement lies in [−a, a]; it is rounded to a bit without bias, and the bit goes through binary
//! randomized response. A report is 2j + bit of the j-th measurement.

use crate::coin::{Coin, below, round_up};
use crate::domain;
use crate::error::Error;
use crate::random::Random;
use crate::vector::{Ball, Shape, Vectors};
use crate::wire;
use shuffledp_accounting::{Mechanism, VectorNorm};

/// Which measurements there are.
pub trait Measured {
    /// The norm that bounds the vectors.
    const NORM: VectorNorm;

    /// How many, in this dimension.
    fn count(dimension: usize) -> usize;

    /// The j-th, and the norm that bounds it.
    fn measure(row: u64, value: &[f32]) -> f64;

    /// That norm.
    fn norm(value: &[f32]) -> f64;

    /// The sum of ± the vectors that measurements stand for, from the sums of their signs.
    fn back(signs: &[f64], dimension: usize) -> Vec<f64>;

    /// The square of the length of such a vector, in units of the radius, before what randomizing costs.
    fn square(dimension: usize) -> f64;
}

/// A measurement and a bit.
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
        domain::epsilon0(epsilon0, 100.0)?;
        Ok(Self(Signs {
            shape: Shape::new(dimension, radius)?,
            mechanism: Mechanism::one_bit_vector(M::NORM, epsilon0)?,
            truth: Coin::at_most(epsilon0.exp(), 1.0),
            measured: std::marker::PhantomData,
        }))
    }
}

impl<M: Measured> Signs<M> {
    fn reports(&self) -> u64 {
        2 * self.coordinates() as u64
    }

    /// Where between −a and a a measurement lies, from 0 to 1.
    fn level(&self, row: u64, value: &[f32]) -> f64 {
        (0.5 + 0.5 * M::measure(row, value) / self.shape.radius).clamp(0.0, 1.0)
    }

    /// aC.
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
