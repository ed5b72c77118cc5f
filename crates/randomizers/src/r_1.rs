//! R_1 (Girgis et al. 2021): vectors of l₁ norm at most a; one coordinate of the Hadamard transform, one bit.
//!
//! ```text
//! D = 2^⌈log₂ d⌉;   j uniform among D;   y_j = Σ_i H_ji x_i in [−a, a];   sign + with probability 1/2 + y_j/(2aC),  C = (E+1)/(E−1)
//! decode  aC sign H_·j, the first d entries;      E‖decoded‖² = d a² C²
//! ```
//!
//! Signs are added up by j, and one transform of the sums reads the mean back. At opposite corners ±a e_i it is binary randomized response, and the accountant is told so. A report is 2j + bit.

use crate::coin::{Coin, below, round_up};
use crate::domain;
use crate::error::Error;
use crate::random::Random;
use crate::randomizer::Randomizer;
use crate::vector::{self, VectorEstimate, VectorSum, transform};
use crate::wire;
use shuffledp_accounting::Mechanism;

/// One coordinate of the transform, one bit.
#[derive(Clone, Debug)]
pub struct R1 {
    dimension: usize,
    radius: f64,
    mechanism: Mechanism,
    truth: Coin,
}

impl R1 {
    /// Vectors of `dimension` coordinates with absolute values of at most `radius` in sum.
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

    /// D.
    fn rows(&self) -> u64 {
        self.dimension.next_power_of_two() as u64
    }

    /// aC.
    fn scale(&self) -> f64 {
        self.radius / (self.truth.probability() - self.truth.complement())
    }

    /// Where between −a and a a row's sum lies, from 0 to 1.
    fn level(&self, row: u64, value: &[f32]) -> f64 {
        let sum: f64 = value
            .iter()
            .enumerate()
            .map(|(i, x)| {
                let minus = (row & i as u64).count_ones() % 2 == 1;
                f64::from(if minus { -*x } else { *x })
            })
            .sum();
        (0.5 + 0.5 * sum / self.radius).clamp(0.0, 1.0)
    }
}

impl Randomizer for R1 {
    type Value = [f32];
    type Tally = VectorSum;
    type Estimate = VectorEstimate;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        wire::bytes(2 * self.rows())
    }

    fn check(&self, value: &[f32]) -> Result<(), Error> {
        let sum = value.iter().map(|x| f64::from(x.abs())).sum();
        vector::within(value, self.dimension, sum, self.radius)
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        let row = below(self.rows(), random);
        let bit = round_up(self.level(row, value), random) == self.truth.toss(random);
        wire::put(2 * row + u64::from(bit), report);
    }

    /// The sum of the signs of each row.
    fn tally(&self) -> VectorSum {
        VectorSum::new(self.rows() as usize)
    }

    fn add(&self, report: &[u8], tally: &mut VectorSum) -> Result<(), Error> {
        wire::sized(report, self.report_length())?;
        let number = wire::get(report, 2 * self.rows())?;
        tally.total[(number / 2) as usize] += if number % 2 == 1 { 1.0 } else { -1.0 };
        tally.reports += 1;
        Ok(())
    }

    fn estimate(&self, tally: &VectorSum) -> VectorEstimate {
        let (n, scale) = (tally.reports as f64, self.scale());
        let mut sums = tally.total.clone();
        transform(&mut sums);
        sums.truncate(self.dimension);
        sums.iter_mut().for_each(|sum| *sum *= scale / n);
        VectorEstimate {
            mean: sums,
            variance: self.dimension as f64 * scale * scale / n,
        }
    }

    fn variance(&self, value: &[f32]) -> f64 {
        let square: f64 = value.iter().map(|x| f64::from(*x).powi(2)).sum();
        self.dimension as f64 * self.scale().powi(2) - square
    }

    fn influence(&self) -> f64 {
        (self.dimension as f64).sqrt() * self.scale()
    }

    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let number = wire::get(report, 2 * self.rows()).ok()?;
        let level = self.level(number / 2, value);
        let (p, q) = (self.truth.probability(), self.truth.complement());
        let chance = if number % 2 == 1 {
            level * p + (1.0 - level) * q
        } else {
            level * q + (1.0 - level) * p
        };
        Some(chance / self.rows() as f64)
    }
}
