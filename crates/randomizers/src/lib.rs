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

mod best_oracle;
mod coin;
mod device;
mod discrete_gaussian;
mod discrete_laplace;
mod domain;
mod duchi;
mod dynamic;
mod error;
mod estimate;
mod frequency;
mod gaussian;
mod gaussian_vector;
mod hadamard;
mod hierarchy;
mod hybrid;
mod kary_response;
mod laplace_vector;
mod levels;
mod local_hashing;
mod noise;
mod number;
mod piecewise;
mod prefixes;
mod priv_unit;
mod question;
mod r_1;
mod r_2;
mod r_inf;
mod random;
mod randomizer;
mod signs;
mod sphere;
mod square_wave;
mod subset;
mod unary;
mod vector;
mod wire;

pub use best_oracle::BestOracle;
pub use coin::{Coin, below};
pub use device::{CategoryDevice, DIMENSION, Device, NumberDevice, VectorDevice};
pub use discrete_gaussian::DiscreteGaussian;
pub use discrete_laplace::DiscreteLaplace;
pub use duchi::Duchi;
pub use dynamic::Dynamic;
pub use error::Error;
pub use estimate::{Counts, Estimate, Sum, towards_the_middle};
pub use frequency::{Frequency, Support};
pub use gaussian::Gaussian;
pub use gaussian_vector::GaussianVector;
pub use hadamard::HadamardResponse;
pub use hierarchy::Hierarchy;
pub use hybrid::Hybrid;
pub use kary_response::KaryResponse;
pub use laplace_vector::LaplaceVector;
pub use local_hashing::LocalHashing;
pub use number::{Noise, Number};
pub use piecewise::Piecewise;
pub use prefixes::{PrefixTally, Prefixes};
pub use priv_unit::PrivUnit;
pub use question::Level;
pub use r_1::R1;
pub use r_2::R2;
pub use r_inf::RInf;
pub use random::{Random, Secure, Simulated};
pub use randomizer::Randomizer;
pub use square_wave::SquareWave;
pub use subset::SubsetSelection;
pub use unary::UnaryEncoding;
pub use vector::{Ball, Shape, VectorEstimate, VectorSum, Vectors};
