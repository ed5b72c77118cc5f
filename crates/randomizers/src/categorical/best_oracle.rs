//! The oracle with less variance of two that are fast at any number of categories: k-ary randomized response
//! below 3E + 2 of them (Wang et al. 2017), Hadamard response from there on. E = e^ε₀.

use crate::categorical::hadamard::HadamardResponse;
use crate::categorical::kary_response::KaryResponse;
use crate::error::Error;
use crate::estimate::{Counts, Estimate};
use crate::randomizer::Randomizer;
use crate::sample::random::Random;
use shuffledp_accounting::Mechanism;

/// One of the two.
///
/// ```
/// use shuffledp_randomizers::BestOracle;
/// assert!(matches!(BestOracle::new(10, 1.0)?, BestOracle::Kary(_)));
/// assert!(matches!(BestOracle::new(11, 1.0)?, BestOracle::Hadamard(_)));
/// # Ok::<(), shuffledp_randomizers::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum BestOracle {
    /// Few categories.
    Kary(KaryResponse),
    /// Many.
    Hadamard(HadamardResponse),
}

/// Does the same with whichever it is.
macro_rules! either {
    ($self:expr, $oracle:ident => $does:expr) => {
        match $self {
            BestOracle::Kary($oracle) => $does,
            BestOracle::Hadamard($oracle) => $does,
        }
    };
}

impl BestOracle {
    /// Of `categories` values.
    pub fn new(categories: u64, epsilon0: f64) -> Result<Self, Error> {
        if Self::is_kary(categories, epsilon0) {
            KaryResponse::new(categories, epsilon0).map(Self::Kary)
        } else {
            HadamardResponse::new(categories, epsilon0).map(Self::Hadamard)
        }
    }

    /// The name of the one that is better at ε₀, in the catalog.
    pub fn name(categories: u64, epsilon0: f64) -> &'static str {
        if Self::is_kary(categories, epsilon0) {
            "krr"
        } else {
            "hadamard"
        }
    }

    fn is_kary(categories: u64, epsilon0: f64) -> bool {
        (categories as f64) < 3.0 * epsilon0.exp() + 2.0
    }
}

impl Randomizer for BestOracle {
    type Value = u64;
    type Tally = Counts;
    type Estimate = Vec<Estimate>;

    fn mechanism(&self) -> &Mechanism {
        either!(self, oracle => oracle.mechanism())
    }

    fn report_length(&self) -> usize {
        either!(self, oracle => oracle.report_length())
    }

    fn check(&self, value: &u64) -> Result<(), Error> {
        either!(self, oracle => oracle.check(value))
    }

    fn draw<R: Random + ?Sized>(&self, value: &u64, random: &mut R, report: &mut [u8]) {
        either!(self, oracle => oracle.draw(value, random, report));
    }

    fn tally(&self) -> Counts {
        either!(self, oracle => oracle.tally())
    }

    fn add(&self, report: &[u8], tally: &mut Counts) -> Result<(), Error> {
        either!(self, oracle => oracle.add(report, tally))
    }

    fn estimate(&self, tally: &Counts) -> Vec<Estimate> {
        either!(self, oracle => oracle.estimate(tally))
    }

    fn variance(&self, value: &u64) -> f64 {
        either!(self, oracle => oracle.variance(value))
    }

    fn influence(&self) -> f64 {
        either!(self, oracle => oracle.influence())
    }

    fn probability(&self, value: &u64, report: &[u8]) -> Option<f64> {
        either!(self, oracle => oracle.probability(value, report))
    }
}
