//! R_inf (Girgis et al. 2021; Duchi, Jordan, Wainwright 2018), for vectors with coordinates in [−a, a]: one
//! bit of one coordinate. E = e^ε₀.
//!
//! ```text
//! j uniform among d;   sign + with probability 1/2 + x_j/(2aC),  C = (E+1)/(E−1)
//! decode  d a C sign at j, 0 elsewhere;      ‖decoded‖² = d² a² C²
//! ```
//!
//! The coordinate is rounded to a bit without bias and the bit goes through binary randomized response.
//! Between opposite corners of the cube, the worst pair, it *is* binary randomized response, for which the
//! accountant computes bounds. A report is 2j + bit.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::vector::Vectors;
use crate::vector::one_bit::{Measured, Signs};
use shuffledp_accounting::RandomizerSpec;

/// One bit of one coordinate.
pub type RInf = Vectors<Signs<Coordinates>>;

/// Measures by the coordinates.
#[derive(Clone, Debug)]
pub enum Coordinates {}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = RInf::new(dimension(spec), radius, spec.epsilon0()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}

impl Measured for Coordinates {
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
