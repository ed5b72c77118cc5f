//! The shuffle model of differential privacy: people randomize their own data, a shuffler forgets who sent
//! what, an analyzer learns only the crowd.
//!
//! This is the crate to add to a program; it re-exports the parts and has nothing of its own.
//!
//! # A first answer
//!
//! Describe a round, then ask what it costs. An answer is an upper bound (the guarantee) and a lower bound
//! (which no analysis can get below), with the change that both are about. Printed, every digit is on the
//! safe side.
//!
//! ```
//! use shuffledp::{Mechanism, Round, account};
//!
//! let round = Round::new(Mechanism::ldp(4.0)?, 1_000_000)?;
//! let answer = account(&round)?.epsilon(1e-8)?;
//! assert_eq!(answer.to_string(), "between 0.0446535 and 0.0450730 when one user's value is replaced");
//! # Ok::<(), shuffledp::Error>(())
//! ```
//!
//! # Say more, and the answer gets better
//!
//! A [`Mechanism`] is any ε₀-LDP randomizer that all users run, or one by name: randomized response,
//! frequency oracles, Laplace and Gaussian noise, a matrix of your own. People take part all at once, as a
//! sample, or each by a coin of their own, and a fraction of them may collude with the analyzer.
//!
//! ```
//! use shuffledp::{Mechanism, Round, account};
//!
//! let response = Mechanism::kary_response(10, 3.0)?;
//! let round = Round::new(response, 1000)?.check_in(0.5)?.colluding(0.1)?;
//! let answer = account(&round)?.epsilon(1e-6)?;
//! assert_eq!(answer.upper().to_string(), "0.464367");
//! // The datasets that no proof can get below.
//! let datasets = "10-ary randomized response, every other user holding a third value";
//! assert_eq!(answer.lower().attained_by(), Some(datasets));
//! # Ok::<(), shuffledp::Error>(())
//! ```
//!
//! # A question is a value
//!
//! The same description comes from code, from a TOML plan or from JSON ([`RoundSpec`]), and goes back.
//! [`catalog`] lists the randomizers that have a name.
//!
//! ```
//! use shuffledp::{Plan, account};
//!
//! let plan = Plan::from_toml(
//!     r#"
//!     [[round]]
//!     randomizer = "krr"
//!     k = 10
//!     epsilon0 = 3.0
//!     users = 10000
//!     check_in = 0.01
//!     repeat = 100
//!     "#,
//! )?;
//! let sentence = "100 shuffled rounds, 10,000 users, 10-ary randomized response, epsilon0 = 3, \
//!                 each taking part with probability 0.01.";
//! assert_eq!(plan.sentence(), sentence);
//! assert!(account(&plan)?.epsilon(1e-6)?.upper().value() < 0.19);
//! # Ok::<(), shuffledp::Error>(())
//! ```
//!
//! # A budget that is kept
//!
//! An [`Accountant`] composes rounds as they happen and is asked before it spends; [`calibrate`] finds the
//! largest ε₀, the most rounds or the fewest users that a budget allows.
//!
//! ```
//! use shuffledp::{Accountant, Delta, Epsilon, Mechanism, Round};
//!
//! let mut ledger = Accountant::new("survey", 100_000)?;
//! let round = Round::new(Mechanism::kary_response(50, 2.0)?, 100_000)?;
//! let (budget, delta) = (Epsilon::new(0.1)?, Delta::new(1e-8)?);
//! let mut days = 0;
//! while !ledger.would_exceed(&round, 1, budget, delta)? {
//!     ledger.compose(&round, 1)?;
//!     days += 1;
//! }
//! assert!(days > 3 && ledger.epsilon(delta)?.upper().value() <= 0.1);
//! # Ok::<(), shuffledp::Error>(())
//! ```
//!
//! # Run it
//!
//! [`randomizers`] has the devices: a [`randomizers::Device`] is made from the same description that was
//! priced, so that what runs is what was promised. [`protocol`] has the shuffler, the analyzer with its
//! intervals, and an audit that attacks all of them; `learning` trains models on examples that stay with
//! their owners. The programs under `examples/` show each in fifty lines.
//!
//! # What a number promises
//!
//! *Certified*: a proved theorem, evaluated so that discretization, truncation and floating-point errors fall
//! on the safe side. *Proved*: the same in ordinary floating point. The neighboring [`Relation`] is part of
//! every answer, and guarantees about two different changes are never added up. All users run the same
//! randomizer: a shuffler hides nobody whose reports look different.
//!
//! # Features
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
