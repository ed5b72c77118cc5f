//! What every randomizer must pass: its own law by enumeration, its draws against that law, its estimates
//! against their formulas, its wire, and the accountant's view of the same law. A module per room of the
//! crate.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod categorical;
mod common;
mod parameters;
mod scalar;
mod vector;
