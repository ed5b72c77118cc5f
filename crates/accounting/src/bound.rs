//! Privacy parameters [`Epsilon`] and [`Delta`], and a [`Bound`] on each: the number with its side, standing
//! and method.

use crate::digits::rounded;
use crate::error::{Error, Parameter, within};
use crate::relation::Relation;
use crate::upper::alone::{ALONE, UNSHUFFLED};
use serde::Serialize;
use std::fmt;

/// A privacy parameter ε: finite, at least 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Epsilon(f64);

impl Epsilon {
    /// ε in [0, ∞).
    ///
    /// ```
    /// use shuffledp_accounting::Epsilon;
    /// assert_eq!(Epsilon::new(0.5)?.value(), 0.5);
    /// assert_eq!(Epsilon::new(f64::NAN).unwrap_err().to_string(), "epsilon NaN is outside [0, inf)");
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(value: f64) -> Result<Self, Error> {
        within(
            Parameter::Epsilon,
            value,
            value >= 0.0 && value.is_finite(),
            "[0, inf)",
        )
        .map(Self)
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// A privacy parameter δ: a probability.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Delta(f64);

impl Delta {
    /// The smallest δ for which an ε is computed.
    pub const SMALLEST: f64 = 1e-300;

    /// δ at which an ε can be computed, in [1e-300, 1).
    ///
    /// ```
    /// use shuffledp_accounting::Delta;
    /// assert_eq!(Delta::of_epsilon(1e-6)?, Delta::new(1e-6)?);
    /// assert_eq!(Delta::of_epsilon(2.0).unwrap_err().to_string(), "delta 2 is outside [1e-300, 1)");
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn of_epsilon(value: f64) -> Result<Self, Error> {
        within(
            Parameter::Delta,
            value,
            (Self::SMALLEST..1.0).contains(&value),
            "[1e-300, 1)",
        )
        .map(Self)
    }

    /// δ in [0, 1].
    ///
    /// ```
    /// use shuffledp_accounting::Delta;
    /// assert_eq!(Delta::new(1e-6)?.value(), 1e-6);
    /// assert_eq!(Delta::new(2.0).unwrap_err().to_string(), "delta 2 is outside [0, 1]");
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(value: f64) -> Result<Self, Error> {
        within(
            Parameter::Delta,
            value,
            (0.0..=1.0).contains(&value),
            "[0, 1]",
        )
        .map(Self)
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// On which side of the truth a number lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The mechanism is (ε, δ)-DP with this value.
    Upper,
    /// Some mechanism of the stated class, on some pair of datasets, is not better than this value.
    Lower,
}

/// How a number is established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Standing {
    /// A proved theorem, evaluated so that discretization, truncation and floating-point errors all fall on
    /// the safe side.
    Certified,
    /// A proved theorem, evaluated in ordinary floating point.
    Proved,
    /// True if a named unproved statement is.
    Conjectured,
    /// Holds as n grows, with no error bound.
    Asymptotic,
    /// Published, but shown false; kept to reproduce a paper's own figure.
    Refuted,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Upper => "upper",
            Self::Lower => "lower",
        })
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Certified => "certified",
            Self::Proved => "proved",
            Self::Conjectured => "conjectured",
            Self::Asymptotic => "asymptotic",
            Self::Refuted => "refuted",
        })
    }
}

/// A number with its side, its standing and its method. Only the accountant makes one.
///
/// Printed, it has six digits, rounded to the safe side: up for an upper bound, down for a lower one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound<T> {
    value: T,
    #[serde(skip)]
    side: Side,
    method: String,
    standing: Standing,
    #[serde(skip_serializing_if = "Option::is_none")]
    attained_by: Option<String>,
}

impl<T: Copy> Bound<T> {
    /// A guarantee.
    pub(crate) fn upper(value: T, standing: Standing, method: String) -> Self {
        Self {
            value,
            side: Side::Upper,
            standing,
            method,
            attained_by: None,
        }
    }

    /// A number that a mechanism attains on some pair of datasets.
    pub(crate) fn lower(value: T, standing: Standing, method: String, words: String) -> Self {
        Self {
            value,
            side: Side::Lower,
            standing,
            method,
            attained_by: Some(words),
        }
    }

    /// No lower bound: the trivial value.
    pub(crate) fn none(value: T, standing: Standing) -> Self {
        Self {
            value,
            side: Side::Lower,
            standing,
            method: "none".into(),
            attained_by: None,
        }
    }

    /// The value with its type.
    pub fn get(&self) -> T {
        self.value
    }

    /// Upper or lower.
    pub fn side(&self) -> Side {
        self.side
    }

    /// How it is established.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// By which method, and about which law: `profile/ldp`.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Whether the number, or a part of it, is what users have without a shuffler: no smaller one is known.
    pub fn is_without_shuffler(&self) -> bool {
        let mut parts = self.method.split(['/', '+']);
        parts.any(|part| part == ALONE || part.ends_with(UNSHUFFLED))
    }

    /// For a lower bound, the mechanism and the datasets that attain it; none where no lower bound is known.
    pub fn attained_by(&self) -> Option<&str> {
        self.attained_by.as_deref()
    }
}

impl<T: Copy + Into<f64>> Bound<T> {
    /// The number.
    pub fn value(&self) -> f64 {
        self.value.into()
    }
}

impl<T: Copy + Into<f64>> fmt::Display for Bound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&rounded(self.value(), self.side))
    }
}

impl From<Epsilon> for f64 {
    fn from(epsilon: Epsilon) -> Self {
        epsilon.0
    }
}

impl From<Delta> for f64 {
    fn from(delta: Delta) -> Self {
        delta.0
    }
}

impl TryFrom<f64> for Epsilon {
    type Error = Error;

    fn try_from(value: f64) -> Result<Self, Error> {
        Self::new(value)
    }
}

impl TryFrom<f64> for Delta {
    type Error = Error;

    fn try_from(value: f64) -> Result<Self, Error> {
        Self::new(value)
    }
}

/// Lets `account.epsilon(1e-8)` and `account.epsilon(delta)` both work: the conversion of a [`Delta`] into
/// itself cannot fail.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// The two bounds that enclose the truth, and their neighboring relation.
///
/// ```
/// use shuffledp_accounting::{Mechanism, Round, account};
/// let round = Round::new(Mechanism::ldp(4.0)?, 1_000_000)?;
/// let answer = account(&round)?.epsilon(1e-8)?;
/// assert_eq!(answer.to_string(), "between 0.0446535 and 0.0450730 when one user's value is replaced");
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer<T> {
    relation: Relation,
    upper: Bound<T>,
    lower: Bound<T>,
    numerics: Numerics,
}

impl<T: Copy> Answer<T> {
    pub(crate) fn new(
        relation: Relation,
        upper: Bound<T>,
        lower: Bound<T>,
        numerics: Numerics,
    ) -> Self {
        Self {
            relation,
            upper,
            lower,
            numerics,
        }
    }

    /// The guarantee.
    pub fn upper(&self) -> &Bound<T> {
        &self.upper
    }

    /// The number that no analysis can get below.
    pub fn lower(&self) -> &Bound<T> {
        &self.lower
    }

    /// Both, the upper one first.
    pub fn bounds(&self) -> [&Bound<T>; 2] {
        [&self.upper, &self.lower]
    }

    /// Which two datasets are compared.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// How the numbers were computed.
    pub fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// The same guarantee with another lower bound.
    pub(crate) fn with_lower(mut self, lower: Bound<T>) -> Self {
        self.lower = lower;
        self
    }
}

impl Answer<Epsilon> {
    /// The same guarantee without a lower bound: for a mechanism that protects at least as well as the one
    /// that was priced, and perhaps better.
    ///
    /// ```
    /// use shuffledp_accounting::{Mechanism, Round, account};
    /// let answer = account(&Round::new(Mechanism::ldp(1.0)?, 1000)?)?.epsilon(1e-6)?;
    /// assert_eq!(answer.clone().without_lower().lower().value(), 0.0);
    /// assert_eq!(answer.clone().without_lower().upper(), answer.upper());
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn without_lower(self) -> Self {
        self.with_lower(Bound::none(Epsilon(0.0), Standing::Certified))
    }
}

impl<T: Copy + Into<f64>> fmt::Display for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lower, upper) = (&self.lower, &self.upper);
        write!(f, "between {lower} and {upper} when {}", self.relation)
    }
}

/// The discretization behind an answer, and its errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Numerics {
    /// One round, from its profile.
    Profile {
        /// Relative distance in ε between the two ends of each bound's enclosure, about.
        accuracy: f64,
    },
    /// Rényi divergences, from moments of the likelihood ratio summed in ordinary floating point.
    Moments,
    /// Several rounds, from privacy-loss distributions on a lattice.
    Lattice {
        /// Relative error in ε that the lattice aims at.
        accuracy: f64,
        /// The finest step among the rounds' lattices.
        step: f64,
        /// The largest number of lattice points of a single round.
        points: usize,
        /// Mass treated as an infinite loss, after composition: part of δ.
        infinite_loss: f64,
        /// Width of the enclosure of ln δ that the integral over the composed loss was asked for.
        integral: f64,
        /// Relative distance at which the search for ε stopped.
        search: f64,
    },
}
