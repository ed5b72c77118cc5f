//! The tests that every randomizer must pass: its distribution by enumeration, its draws against that
//! distribution, its estimates against their formulas, its wire format, and the accountant's bounds for the
//! same distribution. A module for each folder of the crate.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod categorical;
mod common;
mod parameters;
mod scalar;
mod vector;
