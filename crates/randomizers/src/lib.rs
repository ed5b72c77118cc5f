//! What a person's device does to its value, and how the crowd is read back.
//!
//! A [`Randomizer`] is both ends of one wire: it checks and randomizes a value into a report of fixed length,
//! and adds reports of a shuffled batch up into an estimate. It also names itself to the accountant
//! ([`Randomizer::mechanism`]), so that the guarantee that is printed is that of the code that runs.
//!
//! ```
//! use shuffledp_randomizers::{KaryResponse, Randomizer, Secure};
//!
//! let randomizer = KaryResponse::new(10, 3.0)?;
//! let (mut random, mut tally) = (Secure::new()?, randomizer.tally());
//! let mut report = vec![0; randomizer.report_length()];
//! for person in 0..1000u64 {
//!     randomizer.randomize(&(person % 10), &mut random, &mut report)?;
//!     randomizer.add(&report, &mut tally)?;
//! }
//! let shares = randomizer.estimate(&tally);
//! assert!((shares[3].value - 0.1).abs() < 8.0 * shares[3].deviation());
//! # Ok::<(), shuffledp_randomizers::Error>(())
//! ```
//!
//! Probabilities are integers over 2⁶⁴, rounded towards more privacy; only discrete outputs go on the wire,
//! so there are no low bits of floating-point noise to read a value from; randomness comes from the operating
//! system's generator ([`Secure`]), and from a seed only in a [`Simulated`] run.

pub mod categorical;
pub mod scalar;
pub mod vector;

mod device;
mod domain;
mod dynamic;
mod error;
mod estimate;
mod randomizer;
mod sample;
mod walsh_hadamard;
mod wire;

pub use categorical::question::prefixes::PrefixTally;
pub use categorical::{
    Frequency, HadamardResponse, Hierarchy, KaryResponse, Level, LocalHashing, Prefixes,
    SubsetSelection, Support, UnaryEncoding,
};
pub use device::{CategoryDevice, DIMENSION, Device, NumberDevice, VectorDevice};
pub use dynamic::Dynamic;
pub use error::Error;
pub use estimate::{Counts, Estimate, Sum, towards_the_middle};
pub use randomizer::Randomizer;
pub use sample::coin::{Coin, below};
#[doc(hidden)]
pub use sample::random::Source;
pub use sample::random::{Random, Secure, Simulated};
pub use scalar::{
    DiscreteGaussian, DiscreteLaplace, Duchi, Gaussian, Hybrid, Noise, Number, Piecewise,
    SquareWave,
};
pub use vector::{
    Ball, GaussianVector, LaplaceVector, PrivUnit, R1, R2, RInf, Shape, VectorEstimate, VectorSum,
    Vectors,
};
