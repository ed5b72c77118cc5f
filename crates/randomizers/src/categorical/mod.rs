//! Randomizers of one of k categories: the share of every category in a batch.
//!
//! A report supports the category that it was drawn from with probability p, and any other with probability
//! q. From c supporting reports out of n the share is estimated as f̂ = (c/n − q)/(p − q) ([`Counts`]). How a
//! report is drawn and which categories it supports differs from oracle to oracle ([`Support`]); counts and
//! estimates are shared ([`Frequency`]). Each file of this folder is one randomizer; those that ask each
//! device one of several questions are in [`question`].

pub mod best_oracle;
pub mod hadamard;
pub mod kary_response;
pub mod local_hashing;
pub mod question;
pub mod subset;
pub mod unary;

pub use hadamard::HadamardResponse;
pub use kary_response::KaryResponse;
pub use local_hashing::LocalHashing;
pub use question::{Hierarchy, Level, Prefixes};
pub use subset::SubsetSelection;
pub use unary::UnaryEncoding;

use crate::domain;
use crate::error::Error;
use crate::estimate::{Counts, Estimate, share_variance};
use crate::randomizer::Randomizer;
use crate::sample::random::Random;
use shuffledp_accounting::Mechanism;

/// The part of a frequency oracle that differs from oracle to oracle.
pub trait Support {
    /// The mechanism that the accountant computes bounds for.
    fn mechanism(&self) -> &Mechanism;

    /// The number of categories, k.
    fn categories(&self) -> u64;

    /// The length of a report in bytes.
    fn report_length(&self) -> usize;

    /// p and q, with the probabilities of the coins after rounding.
    fn chances(&self) -> (f64, f64);

    /// Draws a report of a category below k into [`Support::report_length`] bytes.
    fn draw<R: Random + ?Sized>(&self, value: u64, random: &mut R, report: &mut [u8]);

    /// Calls `each` with every category that a report supports, after checking the whole report.
    fn supported(&self, report: &[u8], each: impl FnMut(usize)) -> Result<(), Error>;

    /// The probability of a report, given the value.
    fn probability(&self, value: u64, report: &[u8]) -> Option<f64>;

    /// The probability up to a factor that does not depend on the value.
    fn likelihood(&self, value: u64, report: &[u8]) -> Option<f64> {
        self.probability(value, report)
    }
}

/// A frequency oracle: a [`Randomizer`] made from a [`Support`].
#[derive(Clone, Debug)]
pub struct Frequency<S>(pub(crate) S);

impl<S: Support> Randomizer for Frequency<S> {
    type Value = u64;
    type Tally = Counts;
    type Estimate = Vec<Estimate>;

    fn mechanism(&self) -> &Mechanism {
        self.0.mechanism()
    }

    fn report_length(&self) -> usize {
        self.0.report_length()
    }

    fn check(&self, value: &u64) -> Result<(), Error> {
        domain::category(*value, self.0.categories())
    }

    fn draw<R: Random + ?Sized>(&self, value: &u64, random: &mut R, report: &mut [u8]) {
        self.0.draw(*value, random, report);
    }

    fn tally(&self) -> Counts {
        Counts::new(self.0.categories() as usize)
    }

    fn add(&self, report: &[u8], tally: &mut Counts) -> Result<(), Error> {
        let supports = &mut tally.supports;
        self.0
            .supported(report, |category| supports[category] += 1)?;
        tally.reports += 1;
        Ok(())
    }

    fn estimate(&self, tally: &Counts) -> Vec<Estimate> {
        let (p, q) = self.0.chances();
        tally.shares(p, q)
    }

    fn variance(&self, _: &u64) -> f64 {
        let (p, q) = self.0.chances();
        share_variance(p, q, 1.0)
    }

    fn influence(&self) -> f64 {
        let (p, q) = self.0.chances();
        1.0 / (p - q)
    }

    fn probability(&self, value: &u64, report: &[u8]) -> Option<f64> {
        self.0.probability(*value, report)
    }

    fn likelihood(&self, value: &u64, report: &[u8]) -> Option<f64> {
        self.0.likelihood(*value, report)
    }
}
