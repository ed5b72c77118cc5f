//! Everything that can be wrong with a question. Each error is data, and prints as a sentence.

use crate::digits::plain;
use crate::relation::Relation;
use std::fmt;

/// A parameter that an error can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parameter {
    /// The local guarantee ε₀.
    Epsilon0,
    /// The central ε that is asked about.
    Epsilon,
    /// The central δ that is asked about.
    Delta,
    /// The local δ₀.
    Delta0,
    /// The standard deviation of Gaussian noise.
    Sigma,
    /// The set of values that noise is added to.
    Domain,
    /// The number of users n.
    Users,
    /// The number of users sampled each round.
    Sample,
    /// The probability of taking part.
    CheckIn,
    /// The fraction of users who collude.
    Colluding,
    /// The fraction of reports that are lost.
    Dropout,
    /// The number of categories of randomized response.
    Categories,
    /// The number of coordinates of a vector.
    Dimension,
    /// Where the density of a direction begins to rise.
    Start,
    /// The probability of a report that does not depend on the value.
    Blanket,
    /// The number of rounds.
    Rounds,
    /// The accuracy of a composed ε.
    Accuracy,
    /// A Rényi order.
    Order,
    /// A type I error.
    Alpha,
    /// The bound p on the likelihood ratio, in a ratio summary.
    Ratio,
    /// The bound β on the total variation distance, in a ratio summary.
    Variation,
    /// The bound q on the ratio of user 1's law to the law of every other user, in a ratio summary.
    Cover,
    /// The rows of a matrix.
    Rows,
    /// The neighboring relation.
    Relation,
}

impl Parameter {
    /// The parameters that describe a randomizer, in the order in which they are checked.
    pub(crate) const OF_RANDOMIZERS: &'static [Self] = &[
        Self::Categories,
        Self::Epsilon0,
        Self::Delta0,
        Self::Sigma,
        Self::Domain,
        Self::Dimension,
        Self::Start,
        Self::Blanket,
        Self::Ratio,
        Self::Variation,
        Self::Cover,
        Self::Rows,
        Self::Relation,
    ];

    /// Its name in files and in JSON; on the command line the same with dashes.
    ///
    /// ```
    /// use shuffledp_accounting::Parameter;
    /// assert_eq!(Parameter::CheckIn.field(), "check_in");
    /// ```
    pub fn field(self) -> &'static str {
        match self {
            Self::Epsilon0 => "epsilon0",
            Self::Epsilon => "epsilon",
            Self::Delta => "delta",
            Self::Delta0 => "delta0",
            Self::Sigma => "sigma",
            Self::Domain => "domain",
            Self::Users => "users",
            Self::Sample => "sample",
            Self::CheckIn => "check_in",
            Self::Colluding => "colluding",
            Self::Dropout => "dropout",
            Self::Categories => "k",
            Self::Dimension => "dimension",
            Self::Start => "start",
            Self::Blanket => "blanket",
            Self::Rounds => "rounds",
            Self::Accuracy => "accuracy",
            Self::Order => "orders",
            Self::Alpha => "alpha",
            Self::Ratio => "p",
            Self::Variation => "beta",
            Self::Cover => "q",
            Self::Rows => "rows",
            Self::Relation => "relation",
        }
    }

    /// Its meaning in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Epsilon0 => "the local guarantee",
            Self::Epsilon => "the central epsilon",
            Self::Delta => "the central delta",
            Self::Delta0 => "the local delta",
            Self::Sigma => "the standard deviation of the noise",
            Self::Domain => "where the values are",
            Self::Users => "the number of users",
            Self::Sample => "the number of users sampled each round",
            Self::CheckIn => "the probability of taking part",
            Self::Colluding => "the fraction of users who may collude",
            Self::Dropout => "the fraction of reports that are lost",
            Self::Categories => "the number of categories (at least 2)",
            Self::Dimension => "the number of coordinates",
            Self::Start => {
                "where the density of a direction begins to rise, in standard deviations"
            }
            Self::Blanket => "the probability of a report that does not depend on the value",
            Self::Rounds => "the number of rounds",
            Self::Accuracy => "the relative accuracy of epsilon",
            Self::Order => "the orders of the Renyi divergence",
            Self::Alpha => "the type I error",
            Self::Ratio => "the bound on likelihood ratios",
            Self::Variation => "the bound on the total variation distance",
            Self::Cover => "the bound on the cover by other users",
            Self::Rows => "the rows of the matrix",
            Self::Relation => "the neighboring relation",
        }
    }
}

/// Its name in a message of the library.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CheckIn => "check-in rate",
            Self::Colluding => "colluding fraction",
            Self::Order => "order",
            Self::Alpha => "type I error",
            Self::Ratio => "likelihood ratio p",
            Self::Variation => "total variation beta",
            Self::Cover => "cover q",
            other => other.field(),
        })
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number outside its domain.
    #[error("{parameter} {value} is outside {allowed}")]
    Domain {
        /// Which one.
        parameter: Parameter,
        /// What was given.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// One user: there is no crowd.
    #[error(
        "users 1 is outside [2, 2^53]: with one user there is nobody to hide among, \
         and the guarantee is the local epsilon0"
    )]
    OneUser,
    /// More users collude than may.
    #[error(
        "colluding fraction {fraction} of {users} users leaves {honest} honest: \
         at least 2 honest users are needed"
    )]
    TooFewHonest {
        /// The fraction given.
        fraction: f64,
        /// The users given.
        users: u64,
        /// Who is left.
        honest: u64,
    },
    /// A sample larger than the population.
    #[error("sample {sample} is outside [1, {users}], the number of users")]
    SampleTooLarge {
        /// The size given.
        sample: u64,
        /// The population.
        users: u64,
    },
    /// Users who take part, or collude, where there are steps and no users.
    #[error("random-allocation has steps, not users: nobody is sampled, checks in or colludes")]
    StepsNotUsers,
    /// Sampling and check-in at once.
    #[error("a round has a sample or a check-in rate, not both")]
    TwoParticipations,
    /// In-round adaptivity for a mechanism whose bounds do not cover it.
    #[error(
        "no bound is known for {mechanism} rounds in which a report depends \
         on earlier reports of the same round"
    )]
    AdaptiveNotCovered {
        /// The mechanism's name.
        mechanism: &'static str,
    },
    /// Sums of bits of reports that are no vectors of independent bits.
    #[error(
        "the reports of {oracle} are no vectors of independent bits: only those of sue and oue are"
    )]
    NotUnary {
        /// The oracle's name.
        oracle: &'static str,
    },
    /// A channel that is not a matrix of at least two inputs and two outputs.
    #[error(
        "a channel needs at least 2 rows of equal length of at least 2: row {row} has {length} entries"
    )]
    ChannelShape {
        /// The offending row, from 0.
        row: usize,
        /// Its length.
        length: usize,
    },
    /// An entry that is not a probability.
    #[error("channel entry {value} in row {row}, column {column} is not 0 and outside [1e-100, 1]")]
    ChannelEntry {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// A row that is not a probability distribution.
    #[error("channel row {row} sums to {sum}, which is not 1 (to 1e-9)")]
    ChannelRow {
        /// Row, from 0.
        row: usize,
        /// Its sum.
        sum: f64,
    },
    /// An output that one input can give and another cannot: no finite ε₀.
    #[error(
        "channel column {column} is possible in row {possible} and impossible in row {impossible}: \
         the channel has no finite epsilon0"
    )]
    ChannelUnbounded {
        /// Column, from 0.
        column: usize,
        /// A row that can give it.
        possible: usize,
        /// A row that cannot.
        impossible: usize,
    },
    /// Atoms that are not the law of a contribution.
    #[error("atoms are not a law: {what} is {value}, which is not 1 (to 1e-9)")]
    NotALaw {
        /// Which sum.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// An atom with an entry that is not a probability or a likelihood ratio within range.
    #[error("atom {index} has an entry {} that is not 0 and outside [1e-150, 1e150]", plain(*.value))]
    BadAtom {
        /// Which atom.
        index: usize,
        /// The entry.
        value: f64,
    },
    /// More kinds of rounds than a plan may have.
    #[error("a plan may have at most {most} different kinds of rounds")]
    TooManyKinds {
        /// How many it may have.
        most: usize,
    },
    /// A plan without rounds.
    #[error("the plan has no [[round]]")]
    PlanEmpty,
    /// A plan file that is far too long.
    #[error(
        "the plan is {bytes} bytes long: at most {most} are read; repeat a round with `repeat`"
    )]
    PlanTooLarge {
        /// Its size.
        bytes: u64,
        /// What is allowed.
        most: u64,
    },
    /// A plan that is not TOML, or has a field it should not have, or lacks one.
    #[error("line {line}: {message}")]
    PlanSyntax {
        /// Where.
        line: usize,
        /// What.
        message: String,
    },
    /// A field of a plan with a bad value.
    #[error("line {line}, field `{field}`: {error}")]
    PlanField {
        /// Where.
        line: usize,
        /// Which.
        field: &'static str,
        /// What.
        error: Box<Error>,
    },
    /// A randomizer that is not in the catalog.
    #[error("there is no randomizer `{name}`: known are {known}")]
    UnknownRandomizer {
        /// The name given.
        name: String,
        /// The names that there are, in a sentence.
        known: String,
    },
    /// A parameter that the randomizer needs.
    #[error("{randomizer} needs {}, {}", .parameter.field(), .parameter.meaning())]
    MissingParameter {
        /// The randomizer's name.
        randomizer: &'static str,
        /// Which one.
        parameter: Parameter,
    },
    /// A parameter that the randomizer does not have.
    #[error("{} {value} is not a parameter of {randomizer}", .parameter.field())]
    SurplusParameter {
        /// The randomizer's name.
        randomizer: &'static str,
        /// Which one.
        parameter: Parameter,
        /// Its value, in short.
        value: String,
    },
    /// A range of ε₀ for a randomizer whose bounds do not cover one.
    #[error(
        "epsilon0 {value} is a range, and users of {randomizer} with an epsilon0 of their own may not be \
         hidden: give one number; a range is for {covered}"
    )]
    RangeNotCovered {
        /// The randomizer's name.
        randomizer: &'static str,
        /// The range, in short.
        value: String,
        /// The names of the randomizers that take a range, in a sentence.
        covered: String,
    },
    /// A range of ε₀ for a device.
    #[error(
        "epsilon0 {value} is a range, and a device that runs has one epsilon0: give one number"
    )]
    RangeOnDevice {
        /// The range, in short.
        value: String,
    },
    /// A round without a number of users.
    #[error("users, the number of users, is needed")]
    UsersMissing,
    /// Rounds whose guarantees are about different changes.
    #[error(
        "a guarantee for when {there} cannot be added to one for when {here}: \
         account for them separately, and state both"
    )]
    TwoRelations {
        /// The relation of the rounds that are there.
        here: Relation,
        /// The relation of the round that was to be added.
        there: Relation,
    },
    /// A relation that a mechanism has no guarantee for.
    #[error("{mechanism} has no guarantee for when {relation}")]
    NotThisRelation {
        /// The mechanism's name.
        mechanism: &'static str,
        /// The relation asked for.
        relation: Relation,
    },
    /// Two accountants of different populations.
    #[error("the rounds of population `{there}` cannot be added to those of `{here}`")]
    OtherPopulation {
        /// The one that was to be added to.
        here: String,
        /// The one that was to be added.
        there: String,
    },
    /// A round with more users than the population has.
    #[error("a round of {round} users is not one of population `{population}`, which has {users}")]
    LargerPopulation {
        /// The population's name.
        population: String,
        /// Its size.
        users: u64,
        /// The round's users.
        round: u64,
    },
    /// A round whose distribution of losses could not be represented.
    #[error(
        "the privacy loss of {mechanism} rounds could not be resolved to the accuracy asked for"
    )]
    NotResolved {
        /// The mechanism's name.
        mechanism: &'static str,
    },
    /// The two bounds contradict each other: a defect of this program, better not answered than answered
    /// wrongly.
    #[error("the lower bound {lower} exceeds the upper bound {upper}: please report this")]
    Contradiction {
        /// The lower bound.
        lower: f64,
        /// The upper bound.
        upper: f64,
    },
    /// A budget that no value of a parameter meets.
    #[error("epsilon {target} cannot be met: even at {parameter} {value} it is {epsilon}")]
    BudgetNotMet {
        /// What was to be solved for.
        parameter: Parameter,
        /// The value with the least ε.
        value: f64,
        /// ε there.
        epsilon: f64,
        /// The budget.
        target: f64,
    },
    /// A δ below what the local δ₀ of all users costs.
    #[error(
        "at delta {delta} rounds of {mechanism} have no finite epsilon that can be proved: \
         the delta0 of all users adds more to delta than that"
    )]
    NoFiniteEpsilon {
        /// The mechanism's name.
        mechanism: &'static str,
        /// The δ asked about.
        delta: f64,
    },
    /// A question that only a distribution of losses answers, about a mechanism that is known by an
    /// approximate local guarantee.
    #[error(
        "{mechanism} rounds have no distribution of losses to answer this from: ask for epsilon or delta"
    )]
    NotPriced {
        /// The mechanism's name.
        mechanism: &'static str,
    },
    /// A Rényi divergence of a mechanism that is known by an approximate local guarantee.
    #[error(
        "{mechanism} rounds have no Renyi divergence that is known to be finite: one report may have an \
         infinite one with probability delta0, and no amplification by shuffling is known for that; ask \
         for epsilon or delta"
    )]
    NoRenyiDivergence {
        /// The mechanism's name.
        mechanism: &'static str,
    },
    /// A mechanism of which no local guarantee is known.
    #[error("{mechanism} has no local guarantee that can be composed without a shuffler")]
    NoLocalGuarantee {
        /// The mechanism's name.
        mechanism: &'static str,
    },
    /// A stored accountant that cannot be read.
    #[error("not a stored accountant: {message}")]
    Stored {
        /// Why not.
        message: String,
    },
    /// An atom where one likelihood is zero and the other is not: an unbounded privacy loss.
    #[error("atom {index} has exactly one of P and Q equal to 0: its privacy loss is unbounded")]
    UnboundedAtom {
        /// Which atom.
        index: usize,
    },
}

impl Error {
    /// The parameter at fault, where it is one number.
    pub fn parameter(&self) -> Option<Parameter> {
        match self {
            Self::Domain { parameter, .. } => Some(*parameter),
            Self::OneUser => Some(Parameter::Users),
            Self::TooFewHonest { .. } => Some(Parameter::Colluding),
            Self::SampleTooLarge { .. } => Some(Parameter::Sample),
            Self::UsersMissing => Some(Parameter::Users),
            Self::RangeNotCovered { .. } | Self::RangeOnDevice { .. } => Some(Parameter::Epsilon0),
            Self::MissingParameter { parameter, .. } | Self::SurplusParameter { parameter, .. } => {
                Some(*parameter)
            }
            _ => None,
        }
    }
}

/// `value` if it is `inside` its domain, else an error that says what is allowed. NaN lies in no domain.
pub(crate) fn within(
    parameter: Parameter,
    value: f64,
    inside: bool,
    allowed: impl Into<String>,
) -> Result<f64, Error> {
    if inside && !value.is_nan() {
        Ok(value)
    } else {
        Err(outside(parameter, plain(value), allowed))
    }
}

/// The same of a whole number, which is printed with all its digits.
pub(crate) fn within_count(
    parameter: Parameter,
    value: u64,
    inside: bool,
    allowed: impl Into<String>,
) -> Result<u64, Error> {
    if inside {
        Ok(value)
    } else {
        Err(outside(parameter, value.to_string(), allowed))
    }
}

fn outside(parameter: Parameter, value: String, allowed: impl Into<String>) -> Error {
    Error::Domain {
        parameter,
        value,
        allowed: allowed.into(),
    }
}
