//! R_1 (Girgis et al. 2021): vectors of l₁ norm at most a; one coordinate of the Hadamard transform, one bit.
//!
//! ```text
//! D = 2^⌈log₂ d⌉;   j uniform among D;   y_j = Σ_i H_ji x_i in [−a, a];   sign + with probability 1/2 + y_j/(2aC),  C = (E+1)/(E−1)
//! decode  aC sign H_·j, the first d entries;      E‖decoded‖² = d a² C²
//! ```
//!
//! Signs are added up by j, and one transform of the sums reads the mean back. At opposite corners ±a e_i it
//! is binary randomized response, and the accountant is told so. A report is 2j + bit.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::signs::{Measured, Signs};
use crate::vector::{Vectors, transform};
use shuffledp_accounting::{RandomizerSpec, VectorNorm};

/// One coordinate of the transform, one bit.
pub type R1 = Vectors<Signs<Transform>>;

/// The rows of the Hadamard transform.
#[derive(Clone, Debug)]
pub enum Transform {}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = R1::new(dimension(spec), radius, spec.epsilon0()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}

impl Measured for Transform {
    const NORM: VectorNorm = VectorNorm::L1;

    fn count(dimension: usize) -> usize {
        dimension.next_power_of_two()
    }

    fn measure(row: u64, value: &[f32]) -> f64 {
        let signed = value.iter().enumerate().map(|(i, x)| {
            let minus = (row & i as u64).count_ones() % 2 == 1;
            f64::from(if minus { -*x } else { *x })
        });
        signed.sum()
    }

    fn norm(value: &[f32]) -> f64 {
        value.iter().map(|x| f64::from(x.abs())).sum()
    }

    fn back(signs: &[f64], dimension: usize) -> Vec<f64> {
        let mut sums = signs.to_vec();
        transform(&mut sums);
        sums.truncate(dimension);
        sums
    }

    fn square(dimension: usize) -> f64 {
        dimension as f64
    }
}
