//! Local randomizers: what a user's device sends, and how the analyzer estimates from many reports.
//!
//! A [`Randomizer`] is both ends of one wire. On the device it checks a value and randomizes it into a report
//! of fixed length; at the analyzer it adds the reports of a shuffled batch up and estimates. It also has the
//! [`Mechanism`](shuffledp_accounting::Mechanism) that the accountant computes bounds for
//! ([`Randomizer::mechanism`]), so that the printed guarantee is about the code that runs.
//!
//! There is a module for each kind of value, and in it one for each randomizer, with its formula and source:
//! [`categorical`] for one of k categories, [`scalar`] for a number in [0, 1], [`vector`] for a vector of
//! bounded norm. [`Device`] makes any of them from its name in the catalog.
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
//! Probabilities are integers over 2⁶⁴, rounded towards more privacy. Only integers go on the wire, so the
//! low bits of floating-point noise cannot reveal a value. Randomness comes from the operating system
//! ([`Secure`]), and from a seed only in a simulation ([`Simulated`]).

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
    Ball, GaussianVector, LaplaceVector, MixedGaussian, NoiseShares, PrivUnit, R1, R2, RInf, Ramp,
    Shape, VectorEstimate, VectorSum, Vectors,
};
