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

/// What makes an oracle of its own.
pub trait Support {
    /// What the accountant prices.
    fn mechanism(&self) -> &Mechanism;

    /// k.
    fn categories(&self) -> u64;

    /// Bytes of a report.
    fn report_length(&self) -> usize;

    /// p and q, as the coins have them.
    fn chances(&self) -> (f64, f64);

    /// Draws a report of a category that there is, into bytes of the right number.
    fn draw<R: Random + ?Sized>(&self, value: u64, random: &mut R, report: &mut [u8]);

    /// Says which categories a report supports, once the whole of it has been checked.
    fn supported(&self, report: &[u8], each: impl FnMut(usize)) -> Result<(), Error>;

    /// The probability of a report.
    fn probability(&self, value: u64, report: &[u8]) -> Option<f64>;

    /// The same up to a factor that all values share.
    fn likelihood(&self, value: u64, report: &[u8]) -> Option<f64> {
        self.probability(value, report)
    }
}

/// A frequency oracle.
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
