//! R_1 (Girgis et al. 2021), for vectors of l₁ norm at most a: one bit of one coordinate of the Hadamard
//! transform. E = e^ε₀.
//!
//! ```text
//! D = 2^⌈log₂ d⌉;   j uniform among D;   y_j = Σ_i H_ji x_i in [−a, a]
//! sign + with probability 1/2 + y_j/(2aC),  C = (E+1)/(E−1)
//! decode  aC sign H_·j, the first d entries;      ‖decoded‖² = d a² C²
//! ```
//!
//! Signs are added up by j, and one transform of the sums gives the mean. Between opposite corners ±a e_i,
//! the worst pair, it is binary randomized response, for which the accountant computes bounds. A report is 2j
//! + bit.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::vector::Vectors;
use crate::vector::one_bit::{Measured, Signs};
use crate::walsh_hadamard::walsh_hadamard;
use shuffledp_accounting::RandomizerSpec;

/// One bit of one coordinate of the Hadamard transform.
pub type R1 = Vectors<Signs<Transform>>;

/// Measures by the rows of the Hadamard matrix.
#[derive(Clone, Debug)]
pub enum Transform {}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = R1::new(dimension(spec), radius, spec.epsilon0()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}

impl Measured for Transform {
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
        walsh_hadamard(&mut sums);
        sums.truncate(dimension);
        sums
    }

    fn square(dimension: usize) -> f64 {
        dimension as f64
    }
}
