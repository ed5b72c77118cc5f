//! The hybrid mechanism (Wang et al. 2019): the piecewise mechanism or Duchi's one-bit mechanism, chosen by a
//! coin that does not depend on the value.
//!
//! ```text
//! ε₀ > 0.61: piecewise with probability 1 − e^{−ε₀/2}, else one bit;    ε₀ ≤ 0.61: one bit
//! ```
//!
//! Both are ε₀-LDP and the choice does not depend on the value, so the report, which includes the choice, is
//! ε₀-LDP. The accountant has no exact distribution for the mixture and uses the bounds of any ε₀-LDP
//! randomizer. A report is the choice in one byte and the chosen mechanism's report in three.

use crate::device::Device;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::Coin;
use crate::sample::random::Random;
use crate::scalar::duchi::{Bit, Duchi};
use crate::scalar::piecewise::{Cells, Piecewise};
use crate::scalar::{Noise, Number};
use crate::wire;
use shuffledp_accounting::{Mechanism, RandomizerSpec};

/// Up to this ε₀ the mixture with the smallest worst-case variance is the bit alone (Wang et al. 2019).
const BIT_ONLY_UP_TO: f64 = 0.61;
/// The first byte of a report of the one-bit mechanism.
const BIT: u8 = 0;
/// The first byte of a report of the piecewise mechanism.
const CELL: u8 = 1;

/// The hybrid mechanism.
pub type Hybrid = Number<Either>;

/// The distribution of reports of [`Hybrid`].
#[derive(Clone, Debug)]
pub struct Either {
    mechanism: Mechanism,
    bit: Bit,
    /// The piecewise mechanism, and the coin that chooses it.
    cell: Option<(Cells, Coin)>,
}

impl Hybrid {
    /// The hybrid mechanism for numbers in [0, 1].
    pub fn new(epsilon0: f64) -> Result<Self, Error> {
        let cell = if epsilon0 > BIT_ONLY_UP_TO {
            let rare = (-0.5 * epsilon0).exp();
            let coin = Coin::at_most(1.0 - rare, rare);
            Some((Piecewise::new(epsilon0)?.0, coin))
        } else {
            None
        };
        Ok(Self(Either {
            mechanism: Mechanism::some_ldp(epsilon0)?,
            bit: Duchi::new(epsilon0)?.0,
            cell,
        }))
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = Hybrid::new(spec.epsilon0()?)?;
    Ok(Device::Number(Dynamic::of(randomizer)))
}

impl Noise for Either {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        4
    }

    fn draw<R: Random + ?Sized>(&self, value: f64, random: &mut R, report: &mut [u8]) {
        report.fill(0);
        match &self.cell {
            Some((cells, coin)) if coin.toss(random) => {
                report[0] = CELL;
                cells.draw(value, random, &mut report[1..]);
            }
            _ => {
                report[0] = BIT;
                self.bit.draw(value, random, &mut report[1..2]);
            }
        }
    }

    fn decode(&self, report: &[u8]) -> Result<f64, Error> {
        wire::sized(report, self.report_length())?;
        match (report[0], &self.cell) {
            (BIT, _) if report[2..] == [0, 0] => self.bit.decode(&report[1..2]),
            (CELL, Some((cells, _))) => cells.decode(&report[1..]),
            _ => Err(Error::report(
                "neither a bit (first byte 0) nor a cell (first byte 1)",
            )),
        }
    }

    fn variance(&self, value: f64) -> f64 {
        let bit = self.bit.variance(value);
        match &self.cell {
            Some((cells, coin)) => {
                coin.probability() * cells.variance(value) + coin.complement() * bit
            }
            None => bit,
        }
    }

    fn influence(&self) -> f64 {
        let cell = self.cell.as_ref().map_or(0.0, |(cell, _)| cell.influence());
        cell.max(self.bit.influence())
    }

    fn probability(&self, value: f64, report: &[u8]) -> Option<f64> {
        wire::sized(report, self.report_length()).ok()?;
        let coin = self.cell.as_ref();
        match report[0] {
            BIT if report[2..] == [0, 0] => {
                let chance = coin.map_or(1.0, |(_, coin)| coin.complement());
                Some(chance * self.bit.probability(value, &report[1..2])?)
            }
            CELL => {
                let (cells, coin) = coin?;
                Some(coin.probability() * cells.probability(value, &report[1..])?)
            }
            _ => None,
        }
    }
}
