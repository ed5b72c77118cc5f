//! R_inf (Girgis et al. 2021; Duchi, Jordan, Wainwright 2018): vectors with coordinates in [−a, a]; one
//! coordinate, one bit.
//!
//! ```text
//! j uniform among d;   sign + with probability 1/2 + x_j/(2aC),  C = (E+1)/(E−1);      decode  d a C sign at j
//! E‖decoded‖² = d² a² C²
//! ```
//!
//! The coordinate is rounded to a bit without bias and the bit goes through binary randomized response: at
//! opposite corners of the cube it *is* that, and the accountant is told so. A report is 2j + bit.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::signs::{Measured, Signs};
use crate::vector::Vectors;
use shuffledp_accounting::{RandomizerSpec, VectorNorm};

/// One coordinate, one bit.
pub type RInf = Vectors<Signs<Coordinates>>;

/// The coordinates themselves.
#[derive(Clone, Debug)]
pub enum Coordinates {}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = RInf::new(dimension(spec), radius, spec.epsilon0()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}

impl Measured for Coordinates {
    const NORM: VectorNorm = VectorNorm::LInf;

    fn count(dimension: usize) -> usize {
        dimension
    }

    fn measure(row: u64, value: &[f32]) -> f64 {
        value.get(row as usize).map_or(0.0, |x| f64::from(*x))
    }

    fn norm(value: &[f32]) -> f64 {
        value
            .iter()
            .map(|x| f64::from(x.abs()))
            .try_fold(0.0f64, |most, x| (!x.is_nan()).then_some(most.max(x)))
            .unwrap_or(f64::NAN)
    }

    fn back(signs: &[f64], dimension: usize) -> Vec<f64> {
        signs.iter().map(|sum| dimension as f64 * sum).collect()
    }

    fn square(dimension: usize) -> f64 {
        (dimension as f64).powi(2)
    }
}
