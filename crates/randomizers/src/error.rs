//! Everything that can be wrong with a value, a report or a randomizer.

/// Why something was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that the randomizer is not for.
    #[error("value {value} is outside {allowed}")]
    Value {
        /// The value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A report that no device sends.
    #[error("report is malformed: {why}")]
    Report {
        /// What is wrong with it.
        why: String,
    },
    /// A parameter of a randomizer.
    #[error("{parameter} {value} is outside {allowed}")]
    Parameter {
        /// Which parameter.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A randomizer of the catalog that has no device.
    #[error("{randomizer} can be priced but not run: {known} can")]
    NotRun {
        /// Its name.
        randomizer: &'static str,
        /// The names of those that can be run, in a sentence.
        known: String,
    },
    /// The accountant refused the mechanism.
    #[error(transparent)]
    Accounting(#[from] shuffledp_accounting::Error),
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness: {0}")]
    NoRandomness(String),
}

impl Error {
    pub(crate) fn report(why: impl Into<String>) -> Self {
        Self::Report { why: why.into() }
    }
}
