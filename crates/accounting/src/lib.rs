//! Privacy accounting of shuffled rounds: upper and lower bounds on (ε, δ).
//!
//! A [`Round`] describes the randomizer, the users and who takes part. [`account`] turns it into an
//! [`Account`], which answers with an upper and a lower bound, under the neighboring [`Relation`] of the
//! mechanism.
//!
//! Words of this crate: a *law* is a probability distribution, mostly that of one user's contribution to the
//! likelihood ratio; a *profile* is δ as a function of ε (the hockey-stick divergence); the *price* of rounds
//! is their (ε, δ); the *standing* of a number says how it was established ([`Standing`]).
//!
//! ```
//! use shuffledp_accounting::{Mechanism, Round, account};
//!
//! let round = Round::new(Mechanism::ldp(4.0)?, 1_000_000)?;
//! let answer = account(&round)?.epsilon(1e-8)?;
//! println!("{answer}");
//! # assert_eq!(answer.upper().to_string(), "0.0450730");
//! # assert_eq!(answer.lower().to_string(), "0.0446535");
//! # Ok::<(), shuffledp_accounting::Error>(())
//! ```
//!
//! # Where the number is computed
//!
//! `account.rs` has the public functions. `laws.rs` finds the distributions that dominate the round, which
//! are built in [`atoms`]. `one_round.rs` takes the best of their bounds, and **[`profile`] computes each**
//! of them, ε(δ) of one distribution: read it next. Several rounds go through `many_rounds.rs`, which
//! composes privacy loss distributions ([`pld`], [`compose`]).

mod account;
mod accountant;
pub mod atoms;
mod batch;
mod bound;
pub mod bounds;
mod calibrate;
mod catalog;
mod cells;
mod channel;
mod compare;
pub mod compose;
mod curves;
mod digits;
mod divergence;
mod error;
mod gaussian;
mod headcount;
mod laws;
mod local;
mod lower;
mod many_rounds;
mod mechanism;
mod one_round;
mod participation;
mod per_user;
mod plan;
pub mod pld;
pub mod profile;
pub mod rdp;
mod relation;
mod round;
mod schema;
mod secure_sum;
mod spec;
mod sphere;
mod unshuffled;
mod upper;

pub use account::{Account, account};
pub use accountant::Accountant;
pub use batch::of_batch;
pub use bound::{Answer, Bound, Delta, Epsilon, Numerics, Side, Standing};
pub use calibrate::{Calibration, Unknown, calibrate};
pub use catalog::{Entry, Input, VectorNorm, catalog, names};
pub use channel::Channel;
pub use compare::{Comparison, compare, compare_where};
pub use curves::{Curve, curves};
pub use digits::{grouped, plain, rounded, rounded_to};
pub use divergence::Divergence;
pub use error::{Error, Parameter};
pub use local::{Categories, Domain, LocalDelta, LocalEpsilon, RatioSummary, Sigma};
pub use mechanism::{
    DirectionLaw, DiscreteGaussian, Local, Mechanism, Oracle, OracleKind, ScalarKind, SquareWave,
};
pub use participation::{Participation, Rate};
pub use per_user::PerUser;
pub use plan::Plan;
pub use relation::Relation;
pub use round::Round;
pub use schema::round_schema;
pub use spec::{RandomizerSpec, RoundSpec};
pub use unshuffled::{unshuffled, with_dropout};
