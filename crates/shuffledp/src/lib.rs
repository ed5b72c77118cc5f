//! The shuffle model of differential privacy: people randomize their own data, a shuffler forgets who sent
//! what, an analyzer learns only the crowd.
//!
//! This is the crate to add to a program; it re-exports the parts and has nothing of its own.
//!
//! ```
//! use shuffledp::{Delta, Mechanism, Round, account};
//!
//! let round = Round::new(Mechanism::ldp(2.0)?, 100_000)?.check_in(0.1)?;
//! let answer = account(&round)?.epsilon(Delta::new(1e-6)?)?;
//! println!("between {} and {}", answer.lower().value(), answer.upper().value());
//! # Ok::<(), shuffledp::Error>(())
//! ```
//!
//! The feature `learning` (on by default) adds private training, and with it ndarray, flate2 and sha2.
//! Without it (`default-features = false`) there are the accountant, the randomizers and the protocol.

pub use shuffledp_accounting::*;
#[cfg(feature = "learning")]
pub use shuffledp_learning as learning;
pub use shuffledp_protocol as protocol;
pub use shuffledp_randomizers as randomizers;

/// The README's program, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
