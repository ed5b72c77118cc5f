//! The hybrid mechanism (Wang et al. 2019): the piecewise mechanism or Duchi's one-bit mechanism, chosen by a
//! coin that does not depend on the value.
//!
//! ```text
//! ε₀ > 0.61: piecewise with probability 1 − e^{−ε₀/2}, else one bit;    ε₀ ≤ 0.61: one bit
//! ```
//!
//! Both are ε₀-LDP and the choice does not depend on the value, so the report, which includes the choice, is
//! ε₀-LDP. On its grid the piecewise mechanism has an ε₀ a little smaller than asked for; the bit and the
//! coin use the same one, so that the distribution is exactly the one that the accountant computes with. The
//! bit, which says more, is chosen with the probability above or a little less. A report is the choice in one
//! byte and the chosen mechanism's report in three.

use crate::device::Device;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::Coin;
use crate::sample::random::Random;
use crate::scalar::duchi::{Bit, Duchi};
use crate::scalar::piecewise::{Cells, Piecewise};
use crate::scalar::{Noise, Number};
use crate::wire;
use shuffledp_accounting::{Local, Mechanism, RandomizerSpec, ScalarKind};

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
    /// The piecewise mechanism, and the coin that chooses the bit.
    cell: Option<(Cells, Coin)>,
}

impl Hybrid {
    /// The hybrid mechanism for numbers in [0, 1].
    pub fn new(epsilon0: f64) -> Result<Self, Error> {
        let mut own = epsilon0;
        let mut cell = None;
        if epsilon0 > ScalarKind::HYBRID_FROM {
            let cells = Piecewise::new(epsilon0)?.0;
            if let Local::Pure(epsilon0) = cells.mechanism().local() {
                // A grid that just falls below the limit is priced at the limit, which is more.
                own = epsilon0.value().max(ScalarKind::HYBRID_FROM.next_up());
            }
            let rare = (-0.5 * own).exp();
            cell = Some((cells, Coin::at_most(rare, 1.0 - rare)));
        }
        Ok(Self(Either {
            mechanism: Mechanism::scalar(ScalarKind::Hybrid, own)?,
            bit: Duchi::new(own)?.0,
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
            Some((cells, bit)) if !bit.toss(random) => {
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
                coin.complement() * cells.variance(value) + coin.probability() * bit
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
                let chance = coin.map_or(1.0, |(_, coin)| coin.probability());
                Some(chance * self.bit.probability(value, &report[1..2])?)
            }
            CELL => {
                let (cells, coin) = coin?;
                Some(coin.complement() * cells.probability(value, &report[1..])?)
            }
            _ => None,
        }
    }
}
