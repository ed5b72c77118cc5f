//! What each user runs on their own value. Data only: nothing is computed here.

use crate::channel::Channel;
use crate::error::{Error, Parameter, within};
use crate::oracle::{Oracle, OracleKind};
use crate::scalar::{Scalar, ScalarKind};
use shuffledp_numerics::MAX_COUNT;

/// A local guarantee ε₀: zero, or from 1e-12 to 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct LocalEpsilon(f64);

impl LocalEpsilon {
    /// Below this (and above zero) differences of likelihood ratios drown in rounding.
    const SMALLEST: f64 = 1e-12;
    /// Above this a "local guarantee" promises nothing; e^ε₀ must stay far from overflow.
    const LARGEST: f64 = 100.0;

    fn new(value: f64) -> Result<Self, Error> {
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

/// The standard deviation σ of Gaussian noise, in units of the distance by which a replacement can move a value: from 0.15 to 1e6.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Sigma(f64);

impl Sigma {
    fn new(value: f64) -> Result<Self, Error> {
        // With less noise, likelihood ratios leave the range of doubles, and nobody would call it privacy.
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

/// Where the values are that Gaussian noise is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Numbers in [0, 1]: a replacement moves one by at most 1.
    Interval,
    /// Vectors of norm at most 1, of any dimension: a replacement moves one by at most 2.
    Ball,
}

impl Domain {
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
    fn new(value: f64) -> Result<Self, Error> {
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

    fn new(value: u64) -> Result<Self, Error> {
        within(
            Parameter::Categories,
            value as f64,
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

/// All that Theorem V needs to know of a randomizer (Wang et al. 2024's parameters).
///
/// For every pair of inputs of a user, with laws U₀ and U₁ of the report: U₀/U₁ lies in [1/p, p], their total variation distance is at most β, and
/// the law of every other user, who may run another randomizer, is at least max(U₀, U₁)/q.
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

/// The local randomizer.
#[derive(Clone, Debug, PartialEq)]
pub enum Mechanism {
    /// Any ε₀-LDP randomizer, possibly a different one for each user.
    Ldp(LocalEpsilon),
    /// Binary randomized response.
    BinaryResponse(LocalEpsilon),
    /// k-ary randomized response.
    KaryResponse(Categories, LocalEpsilon),
    /// Any randomizer with this summary.
    Ratio(RatioSummary),
    /// A finite channel.
    Matrix(Channel),
    /// A frequency oracle.
    Oracle(Oracle),
    /// Any (ε₀, δ₀)-LDP randomizer.
    ApproximateLdp(LocalEpsilon, LocalDelta),
    /// A randomizer of one number.
    Scalar(Scalar),
    /// Gaussian noise, σ in units of the diameter of the domain.
    Gaussian(Sigma, Domain),
    /// Not a shuffle, but the same pair of distributions: of n steps of the Gaussian mechanism one, chosen at random, sees the record (σ in units of the sensitivity).
    RandomAllocation(Sigma),
}

impl Mechanism {
    /// Any ε₀-LDP randomizer.
    ///
    /// ```
    /// use shuffledp_accounting::Mechanism;
    /// assert!(Mechanism::ldp(1.0).is_ok());
    /// assert_eq!(
    ///     Mechanism::ldp(-1.0).unwrap_err().to_string(),
    ///     "epsilon0 -1 is outside [1e-12, 100] (or exactly 0)"
    /// );
    /// ```
    pub fn ldp(epsilon0: f64) -> Result<Self, Error> {
        LocalEpsilon::new(epsilon0).map(Self::Ldp)
    }

    /// Binary randomized response at ε₀.
    pub fn binary_response(epsilon0: f64) -> Result<Self, Error> {
        LocalEpsilon::new(epsilon0).map(Self::BinaryResponse)
    }

    /// k-ary randomized response at ε₀.
    pub fn kary_response(k: u64, epsilon0: f64) -> Result<Self, Error> {
        Ok(Self::KaryResponse(
            Categories::new(k)?,
            LocalEpsilon::new(epsilon0)?,
        ))
    }

    /// A frequency oracle over k categories at ε₀.
    ///
    /// ```
    /// use shuffledp_accounting::{Mechanism, OracleKind};
    /// assert!(Mechanism::oracle(OracleKind::OptimizedUnary, 1_000_000, 2.0).is_ok());
    /// ```
    pub fn oracle(kind: OracleKind, k: u64, epsilon0: f64) -> Result<Self, Error> {
        let oracle = Oracle::new(kind, Categories::new(k)?, LocalEpsilon::new(epsilon0)?);
        Ok(Self::Oracle(oracle))
    }

    /// Any (ε₀, δ₀)-LDP randomizer.
    pub fn approximate_ldp(epsilon0: f64, delta0: f64) -> Result<Self, Error> {
        Ok(Self::ApproximateLdp(
            LocalEpsilon::new(epsilon0)?,
            LocalDelta::new(delta0)?,
        ))
    }

    /// A randomizer of one number at ε₀.
    ///
    /// ```
    /// use shuffledp_accounting::{Mechanism, ScalarKind};
    /// assert!(Mechanism::scalar(ScalarKind::Laplace, 1.0).is_ok());
    /// ```
    pub fn scalar(kind: ScalarKind, epsilon0: f64) -> Result<Self, Error> {
        Scalar::new(kind, LocalEpsilon::new(epsilon0)?).map(Self::Scalar)
    }

    /// Discrete Laplace noise at ε₀ on `levels` equally spaced values.
    pub fn discrete_laplace(levels: u64, epsilon0: f64) -> Result<Self, Error> {
        Self::scalar(
            ScalarKind::DiscreteLaplace(Categories::new(levels)?),
            epsilon0,
        )
    }

    /// Gaussian noise of standard deviation σ, in the units of the domain.
    ///
    /// ```
    /// use shuffledp_accounting::{Domain, Mechanism};
    /// assert!(Mechanism::gaussian(1.0, Domain::Interval).is_ok());
    /// assert_eq!(
    ///     Mechanism::gaussian(0.2, Domain::Ball).unwrap_err().to_string(),
    ///     "sigma 0.2 is outside [0.3, 2e6]"
    /// );
    /// ```
    pub fn gaussian(sigma: f64, domain: Domain) -> Result<Self, Error> {
        let diameter = domain.diameter();
        let unit = Sigma::new(sigma / diameter).map_err(|error| match domain {
            Domain::Interval => error,
            Domain::Ball => Error::Domain {
                parameter: Parameter::Sigma,
                value: sigma,
                allowed: "[0.3, 2e6]".into(),
            },
        })?;
        Ok(Self::Gaussian(unit, domain))
    }

    /// 1-out-of-n random allocation of the Gaussian mechanism.
    pub fn random_allocation(sigma: f64) -> Result<Self, Error> {
        Sigma::new(sigma).map(Self::RandomAllocation)
    }

    /// The word for it on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ldp(_) => "ldp",
            Self::BinaryResponse(_) => "rr",
            Self::KaryResponse(..) => "krr",
            Self::Ratio(_) => "ratio",
            Self::Matrix(_) => "matrix",
            Self::Oracle(oracle) => oracle.name(),
            Self::ApproximateLdp(..) => "approx-ldp",
            Self::Scalar(scalar) => scalar.name(),
            Self::Gaussian(..) => "gaussian",
            Self::RandomAllocation(_) => "random-allocation",
        }
    }
}
