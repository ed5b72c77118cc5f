//! The errors of values, reports and randomizers.

/// Why a value, a report or a parameter was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value outside the randomizer's domain.
    #[error("value {value} is outside {allowed}")]
    Value {
        /// The value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A report that no device of this randomizer sends.
    #[error("report is malformed: {why}")]
    Report {
        /// The defect.
        why: String,
    },
    /// A parameter outside its domain.
    #[error("{parameter} {value} is outside {allowed}")]
    Parameter {
        /// Which parameter.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A randomizer of the catalog that has no device.
    #[error("{randomizer} can be priced but not run: {known} can")]
    NotRun {
        /// Its name.
        randomizer: &'static str,
        /// The names of the randomizers that can run, as part of a sentence.
        known: String,
    },
    /// The accountant refused the mechanism.
    #[error(transparent)]
    Accounting(#[from] shuffledp_accounting::Error),
    /// The operating system's random number generator failed.
    #[error("the operating system gave no randomness: {0}")]
    NoRandomness(String),
}

impl Error {
    pub(crate) fn report(why: impl Into<String>) -> Self {
        Self::Report { why: why.into() }
    }
}
