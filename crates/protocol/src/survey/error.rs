//! Why a survey was not run, in fields.

use crate::attendance::AttendanceError;
use crate::collection::CollectionError;
use crate::shuffler::ShuffleError;
use shuffledp_accounting::{Input, grouped, names};
use shuffledp_randomizers::Device;

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// The round cannot be priced.
    #[error(transparent)]
    Accounting(#[from] shuffledp_accounting::Error),
    /// The randomizer cannot be run, a value is outside its domain, or there is no randomness.
    #[error(transparent)]
    Randomizer(#[from] shuffledp_randomizers::Error),
    /// The users cannot be called.
    #[error(transparent)]
    Attendance(#[from] AttendanceError),
    /// The shuffler failed.
    #[error(transparent)]
    Shuffle(#[from] ShuffleError),
    /// A number that is not what is allowed.
    #[error("{parameter} {value} is not {allowed}")]
    Parameter {
        /// Which number.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// More than one round.
    #[error("rounds {rounds} is more than the one round that is run: leave it out")]
    SeveralRounds {
        /// How many.
        rounds: u64,
    },
    /// Randomizers that look at earlier reports: there are none to run.
    #[error("the randomizers that are run do not look at earlier reports")]
    AdaptiveWithinRound,
    /// Neither a randomizer nor a local guarantee to choose one by.
    #[error("epsilon0, the local guarantee, is needed")]
    NoEpsilon0,
    /// A randomizer was chosen where there is only one.
    #[error("{survey} have a randomizer of their own; leave it out")]
    OwnRandomizer {
        /// What is asked for.
        survey: &'static str,
    },
    /// A number of categories, where the values are counted.
    #[error("k {k} is the number of values: leave it out")]
    Categories {
        /// The number.
        k: u64,
    },
    /// A randomizer for two values, where there are more.
    #[error("{randomizer} is for two values, and there are {}: krr is for more", grouped(*.values))]
    TwoValues {
        /// The randomizer.
        randomizer: &'static str,
        /// How many values there are.
        values: u64,
    },
    /// A randomizer for another kind of value.
    #[error("this randomizer is not for {}: {} are", kind(*.input), fitting(*.input))]
    OtherInput {
        /// The kind of value that users hold.
        input: Input,
    },
    /// Too few reports for an interval.
    #[error("{reports} report(s) arrived: two or more are needed to say how far off they may be")]
    TooFewReports {
        /// How many arrived.
        reports: u64,
    },
    /// A level of a hierarchy that no report is about.
    #[error(
        "{reports} reports over {depth} levels: nobody was asked about one of them; take fewer"
    )]
    TooFewForLevels {
        /// How many arrived.
        reports: u64,
        /// The number of levels.
        depth: u32,
    },
}

impl From<CollectionError> for SurveyError {
    fn from(error: CollectionError) -> Self {
        match error {
            CollectionError::Randomizer(error) => Self::Randomizer(error),
            CollectionError::Shuffle(error) => Self::Shuffle(error),
        }
    }
}

fn kind(input: Input) -> &'static str {
    match input {
        Input::Category => "values of a list",
        _ => "numbers",
    }
}

/// The randomizers for these values.
fn fitting(input: Input) -> String {
    names(|entry| entry.input() == input && Device::exists(entry.name()))
}
