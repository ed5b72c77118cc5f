//! R_inf (Girgis et al. 2021; Duchi, Jordan, Wainwright 2018): vectors with coordinates in [−a, a]; one coordinate, one bit.
//!
//! ```text
//! j uniform among d;   sign + with probability 1/2 + x_j/(2aC),  C = (E+1)/(E−1);      decode  d a C sign at j
//! E‖decoded‖² = d² a² C²
//! ```
//!
//! The coordinate is rounded to a bit without bias and the bit goes through binary randomized response: at opposite corners of the cube it *is* that, and the accountant is told so. A report is 2j + bit.

use crate::coin::{Coin, below, round_up};
use crate::domain;
use crate::error::Error;
use crate::random::Random;
use crate::randomizer::Randomizer;
use crate::vector::{self, VectorEstimate, VectorSum};
use crate::wire;
use shuffledp_accounting::Mechanism;

/// One coordinate, one bit.
#[derive(Clone, Debug)]
pub struct RInf {
    dimension: usize,
    radius: f64,
    mechanism: Mechanism,
    truth: Coin,
}

impl RInf {
    /// Vectors of `dimension` coordinates of at most `radius` each.
    pub fn new(dimension: usize, radius: f64, epsilon0: f64) -> Result<Self, Error> {
        vector::shape(dimension, radius)?;
        domain::epsilon0(epsilon0, 100.0)?;
        Ok(Self {
            dimension,
            radius,
            mechanism: Mechanism::binary_response(epsilon0)?,
            truth: Coin::shy(epsilon0.exp(), 1.0),
        })
    }

    /// d a C.
    fn scale(&self) -> f64 {
        let gain = self.truth.probability() - self.truth.complement();
        self.dimension as f64 * self.radius / gain
    }

    fn reports(&self) -> u64 {
        2 * self.dimension as u64
    }
}

impl Randomizer for RInf {
    type Value = [f32];
    type Tally = VectorSum;
    type Estimate = VectorEstimate;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        wire::bytes(self.reports())
    }

    fn check(&self, value: &[f32]) -> Result<(), Error> {
        let largest = value
            .iter()
            .map(|x| f64::from(x.abs()))
            .try_fold(0.0f64, |most, x| (!x.is_nan()).then_some(most.max(x)))
            .unwrap_or(f64::NAN);
        vector::within(value, self.dimension, largest, self.radius)
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        let place = below(self.dimension as u64, random);
        let level = 0.5 + 0.5 * f64::from(value[place as usize]) / self.radius;
        let bit = round_up(level.clamp(0.0, 1.0), random) == self.truth.toss(random);
        wire::put(2 * place + u64::from(bit), report);
    }

    /// The sum of the signs of each coordinate.
    fn tally(&self) -> VectorSum {
        VectorSum::new(self.dimension)
    }

    fn add(&self, report: &[u8], tally: &mut VectorSum) -> Result<(), Error> {
        wire::sized(report, self.report_length())?;
        let number = wire::get(report, self.reports())?;
        tally.total[(number / 2) as usize] += if number % 2 == 1 { 1.0 } else { -1.0 };
        tally.reports += 1;
        Ok(())
    }

    fn estimate(&self, tally: &VectorSum) -> VectorEstimate {
        let (n, scale) = (tally.reports as f64, self.scale());
        VectorEstimate {
            mean: tally.total.iter().map(|sum| scale * sum / n).collect(),
            variance: scale * scale / n,
        }
    }

    fn variance(&self, value: &[f32]) -> f64 {
        let square: f64 = value.iter().map(|x| f64::from(*x).powi(2)).sum();
        self.scale().powi(2) - square
    }

    fn influence(&self) -> f64 {
        self.scale()
    }

    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let number = wire::get(report, self.reports()).ok()?;
        let x = f64::from(*value.get((number / 2) as usize)?);
        let level = (0.5 + 0.5 * x / self.radius).clamp(0.0, 1.0);
        let (p, q) = (self.truth.probability(), self.truth.complement());
        let chance = if number % 2 == 1 {
            level * p + (1.0 - level) * q
        } else {
            level * q + (1.0 - level) * p
        };
        Some(chance / self.dimension as f64)
    }
}
