//! Local randomizers: one file for each family.
//!
//! Code outside this folder does not match on mechanisms. It asks one for its local guarantee, the laws that
//! dominate a shuffled round of it, the datasets that attain a lower bound, and its neighboring relation. A
//! new family is a file here that implements [`Family`], one variant of [`Kind`], and one line in
//! [`Kind::family`].

mod any_ldp;
mod approximate_ldp;
mod bit_sum;
mod direction;
mod discrete_gaussian;
mod gaussian;
mod matrix;
mod mixed_gaussian;
mod oracle;
mod random_allocation;
mod ratio;
mod response;
mod scalar;
mod secure_sum;
mod square_wave;

use any_ldp::AnyLdp;
use approximate_ldp::ApproximateLdp;
use bit_sum::BitSum;
pub use direction::DirectionLaw;
pub use discrete_gaussian::DiscreteGaussian;
use gaussian::Gaussian;
use matrix::Matrix;
use mixed_gaussian::MixedGaussian;
pub use oracle::{Oracle, OracleKind};
use random_allocation::RandomAllocation;
use ratio::Ratio;
use response::Response;
use scalar::Scalar;
pub use scalar::ScalarKind;
use secure_sum::{Grid, SecureSum};
pub use square_wave::SquareWave;

pub(crate) use any_ldp::{ENTRIES as ANY_LDP, SOME_ENTRIES as SOME_LDP};
pub(crate) use approximate_ldp::ENTRIES as APPROXIMATE_LDP;
pub(crate) use bit_sum::ENTRIES as BIT_SUMS;
pub(crate) use direction::ENTRIES as DIRECTIONS;
pub(crate) use discrete_gaussian::ENTRIES as DISCRETE_GAUSSIAN;
pub(crate) use gaussian::ENTRIES as GAUSSIAN;
pub(crate) use matrix::ENTRIES as MATRIX;
pub(crate) use mixed_gaussian::ENTRIES as MIXED_GAUSSIAN;
pub(crate) use oracle::ENTRIES as ORACLES;
pub(crate) use random_allocation::ENTRIES as RANDOM_ALLOCATION;
pub(crate) use ratio::ENTRIES as RATIO;
pub(crate) use response::{BIT_ENTRIES as ONE_BIT_VECTORS, ENTRIES as RESPONSES};
pub(crate) use scalar::ENTRIES as SCALARS;
pub(crate) use secure_sum::ENTRIES as SECURE_SUM;
pub(crate) use square_wave::ENTRIES as SQUARE_WAVE;

use crate::atoms::Atoms;
use crate::catalog::VectorNorm;
use crate::cells::Fineness;
use crate::channel::Channel;
use crate::error::{Error, Parameter};
use crate::local::{Categories, Domain, LocalDelta, LocalEpsilon, RatioSummary, Sigma};
use crate::lower::KnownPair;
use crate::rdp::RdpCurve;
use crate::relation::Relation;
use crate::round::Round;
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;

/// What one report guarantees on its own, before any shuffling.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Local {
    /// ε₀-LDP.
    Pure(LocalEpsilon),
    /// (ε₀, δ₀)-LDP.
    Approximate(LocalEpsilon, LocalDelta),
    /// Gaussian noise: 1/σ-GDP, so (ε₀, δ₀)-LDP for every δ₀.
    Gaussian(Sigma),
    /// No easier to tell apart than two reports with Gaussian noise of this σ, and perhaps harder: 1/σ-GDP.
    Gdp(Sigma),
    /// No local guarantee is known.
    Unknown,
}

/// A mechanism on a pair of datasets, whose divergence is a lower bound.
#[derive(Clone, Debug)]
pub(crate) struct Adversary {
    /// The law of one user's contribution on these datasets.
    pub(crate) atoms: Atoms,
    /// Short name, for `method`.
    pub(crate) name: String,
    /// In words, for `attained_by`.
    pub(crate) words: String,
}

/// An upper bound on the Rényi divergences of one round.
pub(crate) struct KnownCurve {
    /// The largest of these dominates.
    pub(crate) curves: Vec<RdpCurve>,
    /// As it stands in `method`.
    pub(crate) name: String,
}

impl KnownCurve {
    pub(crate) fn one(name: &str, curve: RdpCurve) -> Self {
        Self {
            curves: vec![curve],
            name: name.to_owned(),
        }
    }

    /// The bound at this order, infinite where there is none.
    pub(crate) fn at(&self, order: f64) -> f64 {
        let each = self.curves.iter().map(|curve| curve.at(order));
        each.fold(0.0, f64::max)
    }
}

/// Rényi curves of one round that are known without a finite law.
pub(crate) struct KnownCurves {
    /// Upper bounds. Each holds, so the smallest does.
    pub(crate) upper: Vec<KnownCurve>,
    /// Curves that are attained: the curve, its name, and the datasets in words.
    pub(crate) lower: Vec<(RdpCurve, String, String)>,
}

/// A family of randomizers.
pub(crate) trait Family {
    /// The name of its law: part of `method`.
    fn name(&self) -> &'static str;

    /// What one report guarantees on its own.
    fn local(&self) -> Local;

    /// Laws that together dominate a shuffled round for all values of the other users; none where only an
    /// approximate local guarantee is known.
    fn blankets(&self, fineness: Fineness) -> Result<Vec<Atoms>, Error>;

    /// Further upper bounds on the profile of a round ([`crate::upper`]); each is valid alone.
    fn upper_profiles(&self, _round: &Round) -> Vec<Box<dyn UpperProfile>> {
        Vec::new()
    }

    /// Pairs of datasets; each gives a valid lower bound alone.
    fn adversaries(&self, fineness: Fineness) -> Result<Vec<Adversary>, Error>;

    /// Further pairs of datasets ([`crate::lower`]); each gives a valid lower bound alone.
    fn known_pairs(&self, _round: &Round) -> Vec<KnownPair> {
        Vec::new()
    }

    /// The randomizer as it is written in a file.
    fn spec(&self) -> RandomizerSpec;

    /// Whether the adversaries are instances of this randomizer. Where only its local guarantee is known,
    /// they are instances of another one with the same guarantee, and there is no lower bound.
    fn attains(&self) -> bool {
        true
    }

    /// Which two datasets are compared.
    fn relation(&self) -> Relation {
        Relation::Replace
    }

    /// Whether there are users who take part and may collude.
    fn has_users(&self) -> bool {
        true
    }

    /// Whether bounds are known when a report may depend on earlier reports of the same round.
    fn covers_adaptivity(&self) -> bool {
        self.has_users() && !matches!(self.local(), Local::Unknown)
    }

    /// Whether one law is the largest in convex order over all ordered pairs of values, so that a round in
    /// which values are chosen from earlier reports has it, too (Theorem S′, `atoms.proof.md`). Where that is
    /// not proved, such a round has the bounds of any randomizer with the same ε₀.
    fn has_one_worst_law(&self) -> bool {
        false
    }

    /// k of k-ary randomized response, about which there are theorems of its own.
    fn categories(&self) -> Option<Categories> {
        None
    }

    /// Whether binary randomized response is one of the randomizers that the mechanism stands for.
    fn includes_binary_response(&self) -> bool {
        self.categories() == Some(Categories::TWO)
    }

    /// σ of the Gaussian noise of each participant, in units of the domain's diameter, where only the sum of
    /// all reports is seen: there are theorems about it.
    fn gaussian_sum(&self) -> Option<f64> {
        None
    }

    /// The least σ that the mechanism is defined for, in units of its domain.
    fn least_sigma(&self) -> f64 {
        0.15
    }

    /// Rényi curves of a round that need no finite law.
    fn known_curves(&self, _round: &Round) -> Option<KnownCurves> {
        None
    }
}

/// The local randomizer, one and the same for all users.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanism(Kind);

/// The family. Private, so that code outside cannot match on it.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// Any ε₀-LDP randomizer, or one of which only that is known.
    AnyLdp(AnyLdp),
    /// Binary or k-ary randomized response, and one bit about a vector.
    Response(Response),
    /// Any randomizer with a summary of its likelihood ratios.
    Ratio(Ratio),
    /// A finite channel.
    Matrix(Matrix),
    /// A frequency oracle.
    Oracle(Oracle),
    /// Any (ε₀, δ₀)-LDP randomizer, or one of which only that is known.
    ApproximateLdp(ApproximateLdp),
    /// A randomizer of one number.
    Scalar(Scalar),
    /// The square wave mechanism.
    SquareWave(SquareWave),
    /// A direction that leans to a vector.
    Direction(DirectionLaw),
    /// Gaussian noise.
    Gaussian(Gaussian),
    /// Gaussian noise around the value, or around zero.
    MixedGaussian(MixedGaussian),
    /// One-hot vectors of flipped bits of which only the sum is seen.
    BitSum(BitSum),
    /// Noisy values of which only the sum is seen.
    SecureSum(SecureSum),
    /// Of n steps of the Gaussian mechanism one, chosen at random, sees the record: not a shuffle, but the
    /// same pair of distributions.
    RandomAllocation(RandomAllocation),
}

impl Kind {
    /// The family behind the trait: the only match over all families.
    fn family(&self) -> &dyn Family {
        match self {
            Self::AnyLdp(family) => family,
            Self::Response(family) => family,
            Self::Ratio(family) => family,
            Self::Matrix(family) => family,
            Self::Oracle(family) => family,
            Self::ApproximateLdp(family) => family,
            Self::Scalar(family) => family,
            Self::SquareWave(family) => family,
            Self::Direction(family) => family,
            Self::Gaussian(family) => family,
            Self::MixedGaussian(family) => family,
            Self::BitSum(family) => family,
            Self::SecureSum(family) => family,
            Self::RandomAllocation(family) => family,
        }
    }
}

impl Mechanism {
    /// Any ε₀-LDP randomizer, the same for all users: the upper bound holds for each of them, the lower bound
    /// is attained by one of them.
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
        AnyLdp::any(epsilon0).map(Kind::AnyLdp).map(Self)
    }

    /// One particular randomizer of which only its ε₀ is known: the upper bound of [`Mechanism::ldp`], and no
    /// lower bound.
    pub fn some_ldp(epsilon0: f64) -> Result<Self, Error> {
        AnyLdp::some(epsilon0).map(Kind::AnyLdp).map(Self)
    }

    /// Binary randomized response at ε₀.
    pub fn binary_response(epsilon0: f64) -> Result<Self, Error> {
        Response::binary(epsilon0).map(Kind::Response).map(Self)
    }

    /// One bit at ε₀ about a vector that this norm bounds, reported with the measurement, which does not
    /// depend on the vector (R_inf, R_1, R_2). It has the blanket of binary randomized response but is not
    /// the same: the shuffled reports show more than the number of ones.
    ///
    /// ```
    /// use shuffledp_accounting::{Delta, Mechanism, Round, VectorNorm, account};
    /// let upper = |mechanism| -> Result<f64, shuffledp_accounting::Error> {
    ///     let answer = account(&Round::new(mechanism, 1000)?)?.epsilon(Delta::new(1e-6)?)?;
    ///     Ok(answer.upper().value())
    /// };
    /// let bit = upper(Mechanism::binary_response(1.0)?)?;
    /// assert!(bit < 0.9 * upper(Mechanism::one_bit_vector(VectorNorm::L2, 1.0)?)?);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn one_bit_vector(norm: VectorNorm, epsilon0: f64) -> Result<Self, Error> {
        Response::measured_bit(norm, epsilon0)
            .map(Kind::Response)
            .map(Self)
    }

    /// k-ary randomized response at ε₀.
    pub fn kary_response(k: u64, epsilon0: f64) -> Result<Self, Error> {
        Response::kary(k, epsilon0).map(Kind::Response).map(Self)
    }

    /// A frequency oracle over k categories at ε₀.
    ///
    /// ```
    /// use shuffledp_accounting::{Mechanism, OracleKind};
    /// assert!(Mechanism::oracle(OracleKind::OptimizedUnary, 1_000_000, 2.0).is_ok());
    /// ```
    pub fn oracle(kind: OracleKind, k: u64, epsilon0: f64) -> Result<Self, Error> {
        Oracle::new(kind, k, epsilon0).map(Kind::Oracle).map(Self)
    }

    /// Any (ε₀, δ₀)-LDP randomizer, the same for all users.
    pub fn approximate_ldp(epsilon0: f64, delta0: f64) -> Result<Self, Error> {
        ApproximateLdp::any(epsilon0, delta0)
            .map(Kind::ApproximateLdp)
            .map(Self)
    }

    /// One particular randomizer of which only its (ε₀, δ₀) is known: no lower bound.
    pub fn some_approximate_ldp(epsilon0: f64, delta0: f64) -> Result<Self, Error> {
        ApproximateLdp::some(epsilon0, delta0)
            .map(Kind::ApproximateLdp)
            .map(Self)
    }

    /// A randomizer of one number at ε₀.
    ///
    /// ```
    /// use shuffledp_accounting::{Mechanism, ScalarKind};
    /// assert!(Mechanism::scalar(ScalarKind::Laplace, 1.0).is_ok());
    /// ```
    pub fn scalar(kind: ScalarKind, epsilon0: f64) -> Result<Self, Error> {
        Scalar::new(kind, LocalEpsilon::new(epsilon0)?)
            .map(Kind::Scalar)
            .map(Self)
    }

    /// Discrete Laplace noise at ε₀ on `levels` equally spaced values.
    pub fn discrete_laplace(levels: u64, epsilon0: f64) -> Result<Self, Error> {
        let kind = ScalarKind::DiscreteLaplace(Categories::new(levels)?);
        Self::scalar(kind, epsilon0)
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
        Gaussian::new(sigma, domain).map(Kind::Gaussian).map(Self)
    }

    /// The blanket-mixed Gaussian on vectors of norm at most 1, in any dimension: Gaussian noise of standard
    /// deviation σ around the vector, or around zero with probability `blanket`.
    ///
    /// ```
    /// use shuffledp_accounting::{Domain, Mechanism, Round, account};
    /// let epsilon = |mechanism| -> Result<f64, shuffledp_accounting::Error> {
    ///     Ok(account(&Round::new(mechanism, 100_000)?)?.epsilon(1e-6)?.upper().value())
    /// };
    /// // One report in five is of use: a mean is as accurate as with Gaussian noise of 5.
    /// let mixed = epsilon(Mechanism::mixed_gaussian(1.0, 0.8)?)?;
    /// assert!(mixed < 0.65 * epsilon(Mechanism::gaussian(5.0, Domain::Ball)?)?);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn mixed_gaussian(sigma: f64, blanket: f64) -> Result<Self, Error> {
        MixedGaussian::new(sigma, blanket)
            .map(Kind::MixedGaussian)
            .map(Self)
    }

    /// Gaussian noise of standard deviation σ from each participant, in the units of the domain, where only
    /// the sum of all noisy values is seen, and how many they are (secure aggregation).
    ///
    /// ```
    /// use shuffledp_accounting::{Domain, Mechanism, Round, account};
    /// // The same as a trusted server that adds noise of 0.1·√10,000 = 10 to a sum of 10,000 vectors.
    /// let round = Round::new(Mechanism::secure_sum(0.1, Domain::Ball)?, 10_000)?;
    /// let answer = account(&round)?.epsilon(1e-6)?;
    /// assert_eq!(answer.upper().to_string(), "0.834118");
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn secure_sum(sigma: f64, domain: Domain) -> Result<Self, Error> {
        SecureSum::gaussian(sigma, domain)
            .map(Kind::SecureSum)
            .map(Self)
    }

    /// Discrete Gaussian noise from each participant, of which only the sum is seen (the distributed discrete
    /// Gaussian mechanism): vectors of norm at most 1 on a grid with `levels` steps to a length of 1, in
    /// `dimension` dimensions; σ is the scale of one participant's noise.
    ///
    /// ```
    /// use shuffledp_accounting::{Domain, Mechanism, Round, account};
    /// let epsilon = |mechanism| -> Result<f64, shuffledp_accounting::Error> {
    ///     Ok(account(&Round::new(mechanism, 1000)?)?.epsilon(1e-6)?.upper().value())
    /// };
    /// // On a fine grid the noise is as good as Gaussian, in any dimension.
    /// let gaussian = epsilon(Mechanism::secure_sum(1.0, Domain::Ball)?)?;
    /// let discrete = epsilon(Mechanism::discrete_gaussian_sum(1.0, 16, 1 << 20)?)?;
    /// assert!(discrete > gaussian && discrete < 1.0001 * gaussian);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn discrete_gaussian_sum(sigma: f64, levels: u64, dimension: u64) -> Result<Self, Error> {
        SecureSum::discrete_gaussian(sigma, Grid::new(levels, dimension)?)
            .map(Kind::SecureSum)
            .map(Self)
    }

    /// The same with Skellam noise of standard deviation σ, whose sums are Skellam again.
    pub fn skellam_sum(sigma: f64, levels: u64, dimension: u64) -> Result<Self, Error> {
        SecureSum::skellam(sigma, Grid::new(levels, dimension)?)
            .map(Kind::SecureSum)
            .map(Self)
    }

    /// A unary encoding over k categories at ε₀ (symmetric or optimized) of which only the sums of all bits
    /// are seen.
    ///
    /// ```
    /// use shuffledp_accounting::{Mechanism, OracleKind, Round, account};
    /// // Every bit is flipped with probability 1/(e^5 + 1).
    /// let round = Round::new(Mechanism::unary_sum(OracleKind::SymmetricUnary, 100, 10.0)?, 100_000)?;
    /// let answer = account(&round)?.epsilon(1e-9)?;
    /// assert!(answer.lower().value() > 0.297 && answer.upper().value() < 0.300);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn unary_sum(kind: OracleKind, k: u64, epsilon0: f64) -> Result<Self, Error> {
        BitSum::new(kind, k, epsilon0).map(Kind::BitSum).map(Self)
    }

    /// Random allocation under a given neighboring relation.
    fn allocation(sigma: f64, relation: Relation) -> Result<Self, Error> {
        RandomAllocation::new(sigma, relation)
            .map(Kind::RandomAllocation)
            .map(Self)
    }

    /// 1-out-of-n random allocation of the Gaussian mechanism, σ in units of the sensitivity: a record is
    /// added or removed.
    pub fn random_allocation(sigma: f64) -> Result<Self, Error> {
        Self::allocation(sigma, Relation::AddOrRemove)
    }

    /// The same where the number of records is public: a record is replaced by an empty one.
    pub fn random_allocation_of_a_known_number(sigma: f64) -> Result<Self, Error> {
        Self::allocation(sigma, Relation::ReplaceByNothing)
    }

    /// A finite channel: your own randomizer as a matrix.
    pub fn matrix(channel: Channel) -> Self {
        Self(Kind::Matrix(Matrix::new(channel)))
    }

    /// Any randomizer with this summary.
    pub fn ratio(summary: RatioSummary) -> Self {
        Self(Kind::Ratio(Ratio::new(summary)))
    }

    /// The name of its law, as it stands in `method`.
    pub fn name(&self) -> &'static str {
        self.0.family().name()
    }

    /// What one report guarantees on its own.
    ///
    /// ```
    /// use shuffledp_accounting::{Local, Mechanism};
    /// let Local::Pure(epsilon0) = Mechanism::kary_response(10, 3.0)?.local() else { panic!() };
    /// assert_eq!(epsilon0.value(), 3.0);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn local(&self) -> Local {
        self.0.family().local()
    }

    /// Which two datasets its guarantee compares.
    pub fn relation(&self) -> Relation {
        self.0.family().relation()
    }

    /// Whether a lower bound is known for this randomizer.
    pub fn has_lower_bound(&self) -> bool {
        self.0.family().attains()
    }

    pub(crate) fn blankets(&self, fineness: Fineness) -> Result<Vec<Atoms>, Error> {
        self.0.family().blankets(fineness)
    }

    pub(crate) fn upper_profiles(&self, round: &Round) -> Vec<Box<dyn UpperProfile>> {
        self.0.family().upper_profiles(round)
    }

    pub(crate) fn adversaries(&self, fineness: Fineness) -> Result<Vec<Adversary>, Error> {
        self.0.family().adversaries(fineness)
    }

    pub(crate) fn known_pairs(&self, round: &Round) -> Vec<KnownPair> {
        self.0.family().known_pairs(round)
    }

    pub(crate) fn gaussian_sum(&self) -> Option<f64> {
        self.0.family().gaussian_sum()
    }

    pub(crate) fn least_sigma(&self) -> f64 {
        self.0.family().least_sigma()
    }

    pub(crate) fn spec(&self) -> RandomizerSpec {
        self.0.family().spec()
    }

    pub(crate) fn has_users(&self) -> bool {
        self.0.family().has_users()
    }

    pub(crate) fn covers_adaptivity(&self) -> bool {
        self.0.family().covers_adaptivity()
    }

    pub(crate) fn has_one_worst_law(&self) -> bool {
        self.0.family().has_one_worst_law()
    }

    pub(crate) fn categories(&self) -> Option<Categories> {
        self.0.family().categories()
    }

    pub(crate) fn includes_binary_response(&self) -> bool {
        self.0.family().includes_binary_response()
    }

    pub(crate) fn known_curves(&self, round: &Round) -> Option<KnownCurves> {
        self.0.family().known_curves(round)
    }
}

impl From<Oracle> for Mechanism {
    fn from(oracle: Oracle) -> Self {
        Self(Kind::Oracle(oracle))
    }
}

impl From<DirectionLaw> for Mechanism {
    fn from(direction: DirectionLaw) -> Self {
        Self(Kind::Direction(direction))
    }
}

impl From<SquareWave> for Mechanism {
    fn from(wave: SquareWave) -> Self {
        Self(Kind::SquareWave(wave))
    }
}

/// A value that must be there, in a spec that a catalog entry reads.
fn needed<T>(spec: &RandomizerSpec, parameter: Parameter, value: Option<T>) -> Result<T, Error> {
    value.ok_or_else(|| spec.missing(parameter))
}
