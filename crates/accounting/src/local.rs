//! The numbers that describe a local randomizer, each valid once built: ε₀, δ₀, σ, k, and a summary of its
//! likelihood ratios. Data only: nothing is computed here.

use crate::error::{Error, Parameter, within, within_count};
use serde::{Deserialize, Serialize};
use shuffledp_numerics::MAX_COUNT;

/// A local guarantee ε₀: zero, or from 1e-12 to 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct LocalEpsilon(f64);

impl LocalEpsilon {
    /// Below this (and above zero) the rounding error of likelihood ratios exceeds their differences.
    const SMALLEST: f64 = 1e-12;
    /// Above this a local guarantee has no meaning in practice, and powers of e^ε₀ come near overflow.
    const LARGEST: f64 = 100.0;

    /// ε₀ = 0, or in [1e-12, 100].
    ///
    /// ```
    /// use shuffledp_accounting::LocalEpsilon;
    /// assert_eq!(LocalEpsilon::new(1.5)?.value(), 1.5);
    /// assert!(LocalEpsilon::new(101.0).is_err());
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(value: f64) -> Result<Self, Error> {
        within(
            Parameter::Epsilon0,
            value,
            value == 0.0 || (Self::SMALLEST..=Self::LARGEST).contains(&value),
            "[1e-12, 100] (or exactly 0)",
        )
        .map(Self)
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// The standard deviation σ of Gaussian noise, in units of the distance by which a replacement can move a
/// value: from 0.15 to 1e6.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Sigma(f64);

impl Sigma {
    pub(crate) fn new(value: f64) -> Result<Self, Error> {
        // With less noise, likelihood ratios leave the range that atoms allow, [1e-150, 1e150].
        within(
            Parameter::Sigma,
            value,
            (0.15..=1e6).contains(&value),
            "[0.15, 1e6]",
        )
        .map(Self)
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// The set of values that noise is added to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// Numbers in [0, 1]: a replacement moves one by at most 1.
    #[default]
    Interval,
    /// Vectors of norm at most 1, of any dimension: a replacement moves one by at most 2.
    Ball,
}

impl Domain {
    /// Its name in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Ball => "ball",
        }
    }

    /// The largest distance between two values.
    pub fn diameter(self) -> f64 {
        match self {
            Self::Interval => 1.0,
            Self::Ball => 2.0,
        }
    }
}

/// A local δ₀ in (0, 1).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct LocalDelta(f64);

impl LocalDelta {
    pub(crate) fn new(value: f64) -> Result<Self, Error> {
        within(
            Parameter::Delta0,
            value,
            value > 0.0 && value < 1.0,
            "(0, 1)",
        )
        .map(Self)
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// The number of categories of k-ary randomized response: at least 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Categories(u64);

impl Categories {
    pub(crate) const TWO: Self = Self(2);
    pub(crate) const THREE: Self = Self(3);

    /// k in [2, 2^53].
    ///
    /// ```
    /// use shuffledp_accounting::Categories;
    /// assert_eq!(Categories::new(10)?.value(), 10);
    /// assert_eq!(Categories::new(1).unwrap_err().to_string(), "k 1 is outside [2, 2^53]");
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(value: u64) -> Result<Self, Error> {
        within_count(
            Parameter::Categories,
            value,
            (2..=MAX_COUNT).contains(&value),
            "[2, 2^53]",
        )
        .map(|_| Self(value))
    }

    /// The number.
    pub fn value(self) -> u64 {
        self.0
    }
}

/// A summary of the likelihood ratios of a randomizer, for Theorem V (the parameters of Wang et al. 2024).
///
/// For every pair of inputs of a user, with laws U₀ and U₁ of the report: U₀/U₁ lies in [1/p, p], their total
/// variation distance is at most β, and the law of every other user, who may run another randomizer, is at
/// least max(U₀, U₁)/q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioSummary {
    ratio: f64,
    variation: f64,
    cover: f64,
}

impl RatioSummary {
    /// p > 1, 0 < β ≤ (p−1)/(p+1), q ≥ 1 + β.
    ///
    /// ```
    /// use shuffledp_accounting::RatioSummary;
    /// // 4-ary randomized response with e^ε₀ = 3.
    /// let summary = RatioSummary::new(3.0, 2.0 / 6.0, 3.0)?;
    /// assert_eq!(summary.ratio(), 3.0);
    /// assert!(RatioSummary::new(3.0, 0.6, 3.0).is_err());
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(ratio: f64, variation: f64, cover: f64) -> Result<Self, Error> {
        within(
            Parameter::Ratio,
            ratio,
            (1.0 + 1e-12..=1e43).contains(&ratio),
            "[1 + 1e-12, 1e43]",
        )?;
        let most = (ratio - 1.0) / (ratio + 1.0);
        within(
            Parameter::Variation,
            variation,
            variation > 0.0 && variation <= most * (1.0 + 1e-12),
            format!("(0, (p-1)/(p+1)] = (0, {most}]"),
        )?;
        within(
            Parameter::Cover,
            cover,
            cover >= 1.0 + variation && cover <= 1e43,
            format!("[1 + beta, 1e43] = [{}, 1e43]", 1.0 + variation),
        )?;
        Ok(Self {
            ratio,
            variation: variation.min(most),
            cover,
        })
    }

    /// p.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// β.
    pub fn variation(&self) -> f64 {
        self.variation
    }

    /// q.
    pub fn cover(&self) -> f64 {
        self.cover
    }
}
