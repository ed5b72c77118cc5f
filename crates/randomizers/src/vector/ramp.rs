//! The ramp, for vectors of l₂ norm at most r: the seed of a direction, the likelier the closer the direction
//! is to the vector's. 16 bytes in any dimension.
//!
//! From t₀/√d on the density rises in proportion to the cosine ([`Leaning`]); by default t₀ is where a budget
//! buys the most, see [`DirectionLaw`]. At the same ε₀ a report says less than one of [`crate::PrivUnit`] and
//! costs far less.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::vector::Vectors;
use crate::vector::leaning::Leaning;
use shuffledp_accounting::{DirectionLaw, RandomizerSpec};

/// A random direction that is the likelier the closer it is to the vector's.
pub type Ramp = Vectors<Leaning<Slope>>;

/// Leaning in proportion to the cosine.
#[derive(Clone, Debug)]
pub enum Slope {}

impl Ramp {
    /// The ramp for vectors of `dimension` coordinates, at least 2, and l₂ norm at most `radius`; ε₀ from
    /// 1e-6 to 16; a start in standard deviations of the cosine, or the most efficient one.
    ///
    /// ```
    /// use shuffledp_randomizers::{Ramp, Randomizer, Secure};
    /// let ramp = Ramp::new(100, 1.0, 2.0, None)?;
    /// let mut report = vec![0; ramp.report_length()];
    /// ramp.randomize(&[0.1; 100], &mut Secure::new()?, &mut report)?;
    /// assert_eq!(report.len(), 16);
    /// # Ok::<(), shuffledp_randomizers::Error>(())
    /// ```
    pub fn new(
        dimension: usize,
        radius: f64,
        epsilon0: f64,
        start: Option<f64>,
    ) -> Result<Self, Error> {
        let law = |dimension, epsilon0| DirectionLaw::ramp(dimension, epsilon0, start);
        Leaning::new("the ramp", dimension, radius, epsilon0, law).map(Self)
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = Ramp::new(dimension(spec), radius, spec.epsilon0()?, spec.start)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}
