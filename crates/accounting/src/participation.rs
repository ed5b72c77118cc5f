//! Who takes part in a round. Data only.

use crate::error::{Error, Parameter, within};

/// A range of probabilities of taking part, 0 < lowest ≤ highest ≤ 1, with highest < 1 unless both are 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    lowest: f64,
    highest: f64,
}

impl Rate {
    /// The smallest rate: with a smaller one the probabilities of rare events leave the range of doubles.
    const SMALLEST: f64 = 1e-30;

    /// Everybody checks in with the same probability.
    ///
    /// ```
    /// use shuffledp_accounting::Rate;
    /// assert!(Rate::exactly(0.01).is_ok());
    /// assert_eq!(
    ///     Rate::exactly(1.2).unwrap_err().to_string(),
    ///     "check-in rate 1.2 is outside (0, 1]"
    /// );
    /// ```
    pub fn exactly(rate: f64) -> Result<Self, Error> {
        within(
            Parameter::CheckIn,
            rate,
            (Self::SMALLEST..=1.0).contains(&rate),
            if rate > 0.0 && rate <= 1.0 {
                "[1e-30, 1]"
            } else {
                "(0, 1]"
            },
        )?;
        Ok(Self {
            lowest: rate,
            highest: rate,
        })
    }

    /// Each user has a probability of their own, known to lie between these.
    pub fn between(lowest: f64, highest: f64) -> Result<Self, Error> {
        if lowest == highest {
            return Self::exactly(lowest);
        }
        Self::exactly(lowest)?;
        within(
            Parameter::CheckIn,
            highest,
            highest > lowest && highest < 1.0,
            format!("({lowest}, 1), above the lowest rate and below 1"),
        )?;
        Ok(Self { lowest, highest })
    }

    /// The ends of the range, once each.
    pub(crate) fn ends(&self) -> Vec<f64> {
        let mut ends = vec![self.lowest, self.highest];
        ends.dedup();
        ends
    }

    /// The lowest rate.
    pub fn lowest(&self) -> f64 {
        self.lowest
    }

    /// The highest rate.
    pub fn highest(&self) -> f64 {
        self.highest
    }
}

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Participation {
    /// All users.
    Everyone,
    /// A uniformly random subset of this size, without replacement.
    Sample(u64),
    /// Each user by a coin of their own.
    CheckIn(Rate),
}
