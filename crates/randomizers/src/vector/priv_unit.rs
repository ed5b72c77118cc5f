//! PrivUnit (Bhowmick et al. 2018; compressed as by Feldman and Talwar 2021), for vectors of l₂ norm at most
//! r: the seed of a direction, E times as likely if the direction is in a cap around the vector's. 16 bytes
//! in any dimension. E = e^ε₀.
//!
//! The cap {c ≥ c₀} is the one that makes the mean of a report longest; everything else is [`Leaning`] with
//! c₁ = c₀.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::vector::Vectors;
use crate::vector::leaning::Leaning;
use shuffledp_accounting::{DirectionLaw, RandomizerSpec};

/// A random direction that is more likely near the vector's.
pub type PrivUnit = Vectors<Leaning<Step>>;

/// Leaning by a step: all directions in a cap are alike, and so are all others.
#[derive(Clone, Debug)]
pub enum Step {}

impl PrivUnit {
    /// PrivUnit for vectors of `dimension` coordinates, at least 2, and l₂ norm at most `radius`; ε₀ from
    /// 1e-6 to 16.
    pub fn new(dimension: usize, radius: f64, epsilon0: f64) -> Result<Self, Error> {
        let law = DirectionLaw::priv_unit;
        Leaning::new("PrivUnit", dimension, radius, epsilon0, law).map(Self)
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = PrivUnit::new(dimension(spec), radius, spec.epsilon0()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}
