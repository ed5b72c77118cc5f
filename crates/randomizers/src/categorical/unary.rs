//! Unary encodings (Erlingsson, Pihur, Korolova 2014; Wang et al. 2017): k bits, 1 for the value and 0 for
//! the others, each randomized independently. E = e^ε₀.
//!
//! | | a 1 stays 1 with p | a 0 becomes 1 with q |
//! |---|---|---|
//! | symmetric (basic one-time RAPPOR) | h/(h+1), h = e^{ε₀/2} | 1 − p |
//! | optimized | 1/2 | 1/(E+1) |
//!
//! ε₀ = ln p(1−q)/((1−p)q), so a smaller p and a larger q are more private: p is rounded down and q up. A
//! report is k bits, in whole bytes; the bits after the k-th are 0.

use crate::categorical::{Frequency, Support};
use crate::device::Device;
use crate::domain;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::Coin;
use crate::sample::random::Random;
use crate::wire;
use shuffledp_accounting::{Mechanism, OracleKind, RandomizerSpec};

/// A unary encoding.
pub type UnaryEncoding = Frequency<Unary>;

/// The distribution of reports of [`UnaryEncoding`].
#[derive(Clone, Debug)]
pub struct Unary {
    categories: u64,
    mechanism: Mechanism,
    /// Heads keeps a 1.
    own: Coin,
    /// Heads keeps a 0.
    other: Coin,
}

impl UnaryEncoding {
    /// The symmetric encoding, for 2 to 2³² categories.
    pub fn symmetric(categories: u64, epsilon0: f64) -> Result<Self, Error> {
        domain::categories(categories)?;
        domain::epsilon0(epsilon0, domain::LARGEST_EPSILON0)?;
        let kind = OracleKind::SymmetricUnary;
        let half = (0.5 * epsilon0).exp();
        let own = Coin::at_most(half, 1.0);
        Ok(Self(Unary {
            categories,
            mechanism: Mechanism::oracle(kind, categories, epsilon0)?,
            own,
            other: own,
        }))
    }

    /// The optimized encoding, for 2 to 2³² categories.
    pub fn optimized(categories: u64, epsilon0: f64) -> Result<Self, Error> {
        domain::categories(categories)?;
        domain::epsilon0(epsilon0, domain::LARGEST_EPSILON0)?;
        let kind = OracleKind::OptimizedUnary;
        Ok(Self(Unary {
            categories,
            mechanism: Mechanism::oracle(kind, categories, epsilon0)?,
            own: Coin::fair(),
            other: Coin::at_most(epsilon0.exp(), 1.0),
        }))
    }
}

impl Unary {
    /// The bit of a category: the first is the lowest bit of the first byte.
    fn bit(report: &[u8], category: u64) -> bool {
        report[(category / 8) as usize] >> (category % 8) & 1 == 1
    }

    fn checked(&self, report: &[u8]) -> Result<(), Error> {
        wire::sized(report, self.report_length())?;
        let used = self.categories % 8;
        let last = report.last().copied().unwrap_or_default();
        if used != 0 && last >> used != 0 {
            return Err(Error::report("bits are set beyond the last category"));
        }
        Ok(())
    }
}

/// The device of a description, with the symmetric encoding.
pub(crate) fn symmetric_device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = UnaryEncoding::symmetric(spec.k()?, spec.epsilon0()?)?;
    Ok(Device::Category(Dynamic::of(randomizer)))
}

/// The device of a description, with the optimized encoding.
pub(crate) fn optimized_device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = UnaryEncoding::optimized(spec.k()?, spec.epsilon0()?)?;
    Ok(Device::Category(Dynamic::of(randomizer)))
}

impl Support for Unary {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn categories(&self) -> u64 {
        self.categories
    }

    fn report_length(&self) -> usize {
        self.categories.div_ceil(8) as usize
    }

    fn chances(&self) -> (f64, f64) {
        (self.own.probability(), self.other.complement())
    }

    fn draw<R: Random + ?Sized>(&self, value: u64, random: &mut R, report: &mut [u8]) {
        report.fill(0);
        for category in 0..self.categories {
            let one = if category == value {
                self.own.toss(random)
            } else {
                !self.other.toss(random)
            };
            report[(category / 8) as usize] |= u8::from(one) << (category % 8);
        }
    }

    fn supported(&self, report: &[u8], mut each: impl FnMut(usize)) -> Result<(), Error> {
        self.checked(report)?;
        for (place, byte) in report.iter().enumerate() {
            let mut left = *byte;
            while left != 0 {
                each(8 * place + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
        Ok(())
    }

    fn probability(&self, value: u64, report: &[u8]) -> Option<f64> {
        self.checked(report).ok()?;
        let (p, q) = self.chances();
        let all = (0..self.categories).map(|category| {
            let chance = if category == value { p } else { q };
            if Self::bit(report, category) {
                chance
            } else {
                1.0 - chance
            }
        });
        Some(all.product())
    }

    /// Relative to k bits that are all 0 before randomization: the other bits cancel.
    fn likelihood(&self, value: u64, report: &[u8]) -> Option<f64> {
        self.checked(report).ok()?;
        let (p, q) = self.chances();
        Some(if Self::bit(report, value) {
            p / q
        } else {
            (1.0 - p) / (1.0 - q)
        })
    }
}
