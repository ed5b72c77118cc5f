//! Numbers that say what they promise: [`Epsilon`], [`Delta`], and a [`Bound`] around each.

use crate::error::{Error, Parameter, within};
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

/// How sure a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// A proved theorem, evaluated so that discretization, truncation and floating-point errors all fall on the safe side.
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

/// A number with its side, its standing and the way it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound<T> {
    /// The number.
    pub value: T,
    /// Upper or lower.
    pub side: Side,
    /// How sure.
    pub standing: Standing,
    /// By which method, and about which law: `profile/ldp`.
    pub method: String,
    /// For a lower bound: the mechanism and the datasets that attain it.
    pub attained_by: Option<String>,
}

/// The two bounds that enclose the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// The guarantee.
    pub upper: Bound<T>,
    /// What no analysis can get below.
    pub lower: Bound<T>,
    /// How the computer went about it.
    pub numerics: Numerics,
}

/// The discretization behind an answer, and what it may have cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
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
