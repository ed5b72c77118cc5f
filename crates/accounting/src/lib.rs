//! What a shuffled round costs.
//!
//! Describe, then price: a [`Round`] says who does what, [`account`] turns it into an [`Account`], and the account answers
//! with an upper and a lower bound side by side.
//!
//! ```
//! use shuffledp_accounting::{Delta, Mechanism, Round, account};
//!
//! let round = Round::new(Mechanism::ldp(4.0)?, 1_000_000)?;
//! let answer = account(&round)?.epsilon(Delta::new(1e-8)?)?;
//! assert!((answer.upper.value.value() - 0.0450730).abs() < 1e-6);
//! assert!((answer.lower.value.value() - 0.0446536).abs() < 1e-6);
//! # Ok::<(), shuffledp_accounting::Error>(())
//! ```
//!
//! Adjacency is replacement throughout: two datasets of the same n users that differ in one user's value.

mod account;
mod accountant;
mod approximate;
pub mod atoms;
mod bound;
pub mod bounds;
mod calibrate;
mod cells;
mod channel;
mod compare;
pub mod compose;
mod curves;
mod divergence;
mod error;
mod gaussian;
mod lower;
mod mechanism;
mod oracle;
mod participation;
mod plan;
pub mod pld;
pub mod profile;
pub mod rdp;
mod round;
mod scalar;

pub use account::{Account, account};
pub use accountant::Accountant;
pub use bound::{Answer, Bound, Delta, Epsilon, Numerics, Side, Standing};
pub use calibrate::{Calibration, Unknown, calibrate};
pub use channel::Channel;
pub use compare::{Comparison, compare, compare_where};
pub use curves::{Curve, curves};
pub use divergence::Divergence;
pub use error::{Error, Parameter};
pub use mechanism::{Categories, Domain, LocalEpsilon, Mechanism, RatioSummary};
pub use oracle::{Oracle, OracleKind};
pub use participation::{Participation, Rate};
pub use plan::Plan;
pub use round::Round;
pub use scalar::{Scalar, ScalarKind};
