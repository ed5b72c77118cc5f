//! The randomizers that words name, as code that runs.

use crate::failure::Failure;
use crate::number::{real, whole};
use crate::words::{Randomizer, Where, Words};
use shuffledp::Mechanism;
use shuffledp::randomizers::{
    DiscreteGaussian, DiscreteLaplace, Duchi, Gaussian, HadamardResponse, Hybrid, KaryResponse,
    LocalHashing, Piecewise, PrivUnit, R1, R2, RInf, Randomizer as _, SubsetSelection,
    UnaryEncoding,
};

/// Coordinates of a vector, where nobody says.
pub(crate) const DIMENSION: usize = 8;

/// A randomizer, by what it is for.
pub(crate) enum Device {
    Category(Category),
    Number(Number),
    Vector(Vector),
}

/// One of k values.
pub(crate) enum Category {
    Kary(KaryResponse),
    Unary(UnaryEncoding),
    Subset(SubsetSelection),
    Hadamard(HadamardResponse),
    Hashing(LocalHashing),
}

/// A number in [0, 1].
pub(crate) enum Number {
    Duchi(Duchi),
    Piecewise(Piecewise),
    Hybrid(Hybrid),
    Laplace(DiscreteLaplace),
    Gaussian(Gaussian),
    DiscreteGaussian(DiscreteGaussian),
}

/// A vector in the unit ball of a norm.
pub(crate) enum Vector {
    RInf(RInf),
    R1(R1),
    R2(R2),
    PrivUnit(PrivUnit),
}

/// Does the same with whichever it is.
macro_rules! of_category {
    ($device:expr, $randomizer:ident => $does:expr) => {
        match $device {
            $crate::device::Category::Kary($randomizer) => $does,
            $crate::device::Category::Unary($randomizer) => $does,
            $crate::device::Category::Subset($randomizer) => $does,
            $crate::device::Category::Hadamard($randomizer) => $does,
            $crate::device::Category::Hashing($randomizer) => $does,
        }
    };
}
macro_rules! of_number {
    ($device:expr, $randomizer:ident => $does:expr) => {
        match $device {
            $crate::device::Number::Duchi($randomizer) => $does,
            $crate::device::Number::Piecewise($randomizer) => $does,
            $crate::device::Number::Hybrid($randomizer) => $does,
            $crate::device::Number::Laplace($randomizer) => $does,
            $crate::device::Number::Gaussian($randomizer) => $does,
            $crate::device::Number::DiscreteGaussian($randomizer) => $does,
        }
    };
}
macro_rules! of_vector {
    ($device:expr, $randomizer:ident => $does:expr) => {
        match $device {
            $crate::device::Vector::RInf($randomizer) => $does,
            $crate::device::Vector::R1($randomizer) => $does,
            $crate::device::Vector::R2($randomizer) => $does,
            $crate::device::Vector::PrivUnit($randomizer) => $does,
        }
    };
}
pub(crate) use {of_category, of_number, of_vector};

impl Device {
    /// What the words name, with `factor` times the local guarantee.
    pub(crate) fn new(words: &Words, factor: f64) -> Result<Self, Failure> {
        // Words that are missing or too many are refused in one place.
        words.description()?;
        let epsilon0 = || {
            let text = words.epsilon0.as_deref().unwrap_or_default();
            Ok::<f64, Failure>(factor * real("--epsilon0", text)?)
        };
        let k = || whole("--k", words.k.as_deref().unwrap_or_default());
        let sigma = || {
            let text = words.sigma.as_deref().unwrap_or_default();
            Ok::<f64, Failure>(real("--sigma", text)? / factor)
        };
        let dimension = || match &words.dimension {
            Some(text) => Ok(whole("--dimension", text)? as usize),
            None => Ok::<usize, Failure>(DIMENSION),
        };
        Ok(match words.randomizer {
            Randomizer::Rr => Self::Category(Category::Kary(KaryResponse::new(2, epsilon0()?)?)),
            Randomizer::Krr => {
                Self::Category(Category::Kary(KaryResponse::new(k()?, epsilon0()?)?))
            }
            Randomizer::Sue => Self::Category(Category::Unary(UnaryEncoding::symmetric(
                k()?,
                epsilon0()?,
            )?)),
            Randomizer::Oue => Self::Category(Category::Unary(UnaryEncoding::optimized(
                k()?,
                epsilon0()?,
            )?)),
            Randomizer::Subset => {
                Self::Category(Category::Subset(SubsetSelection::new(k()?, epsilon0()?)?))
            }
            Randomizer::Hadamard => Self::Category(Category::Hadamard(HadamardResponse::new(
                k()?,
                epsilon0()?,
            )?)),
            Randomizer::Olh => {
                Self::Category(Category::Hashing(LocalHashing::new(k()?, epsilon0()?)?))
            }
            Randomizer::Duchi => Self::Number(Number::Duchi(Duchi::new(epsilon0()?)?)),
            Randomizer::Piecewise => Self::Number(Number::Piecewise(Piecewise::new(epsilon0()?)?)),
            Randomizer::Hybrid => Self::Number(Number::Hybrid(Hybrid::new(epsilon0()?)?)),
            Randomizer::Laplace => {
                Self::Number(Number::Laplace(DiscreteLaplace::fine(epsilon0()?)?))
            }
            Randomizer::DiscreteLaplace => {
                Self::Number(Number::Laplace(DiscreteLaplace::new(k()?, epsilon0()?)?))
            }
            Randomizer::Gaussian if words.domain != Some(Where::Ball) => {
                Self::Number(Number::Gaussian(Gaussian::new(sigma()?)?))
            }
            Randomizer::DiscreteGaussian => {
                let text = words.delta0.as_deref().unwrap_or_default();
                let delta0 = real("--delta0", text)?;
                Self::Number(Number::DiscreteGaussian(DiscreteGaussian::new(
                    sigma()?,
                    delta0,
                )?))
            }
            Randomizer::RInf => {
                Self::Vector(Vector::RInf(RInf::new(dimension()?, 1.0, epsilon0()?)?))
            }
            Randomizer::R1 => Self::Vector(Vector::R1(R1::new(dimension()?, 1.0, epsilon0()?)?)),
            Randomizer::R2 => Self::Vector(Vector::R2(R2::new(dimension()?, 1.0, epsilon0()?)?)),
            Randomizer::PrivUnit => Self::Vector(Vector::PrivUnit(PrivUnit::new(
                dimension()?,
                1.0,
                epsilon0()?,
            )?)),
            Randomizer::Gaussian => {
                let message = "--domain ball: Gaussian noise is run on [0, 1] only; r-2 and priv-unit run on vectors";
                return Err(Failure::words("--domain", message));
            }
            Randomizer::Ldp
            | Randomizer::ApproxLdp
            | Randomizer::Matrix
            | Randomizer::TruncatedLaplace
            | Randomizer::RandomAllocation => {
                let message = "this --randomizer can be priced but not run: rr, krr, sue, oue, subset, hadamard, olh, laplace, discrete-laplace, duchi, piecewise, hybrid, gaussian, discrete-gaussian, r-inf, r-1, r-2 and priv-unit can";
                return Err(Failure::words("--randomizer", message));
            }
        })
    }

    /// Bytes of a report.
    pub(crate) fn report_length(&self) -> usize {
        match self {
            Self::Category(device) => of_category!(device, r => r.report_length()),
            Self::Number(device) => of_number!(device, r => r.report_length()),
            Self::Vector(device) => of_vector!(device, r => r.report_length()),
        }
    }

    /// What the accountant prices.
    pub(crate) fn mechanism(&self) -> Mechanism {
        match self {
            Self::Category(device) => of_category!(device, r => r.mechanism().clone()),
            Self::Number(device) => of_number!(device, r => r.mechanism().clone()),
            Self::Vector(device) => of_vector!(device, r => r.mechanism().clone()),
        }
    }
}
