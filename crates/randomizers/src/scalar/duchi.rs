//! The one-bit mechanism of Duchi, Jordan and Wainwright (2018). The number x in [0, 1] is rounded to 0 or 1
//! without bias, and the bit goes through binary randomized response. E = e^ε₀.
//!
//! ```text
//! decode   (bit − q)/(p − q),  p = E/(E+1), q = 1 − p          variance  C²/4 − (x − 1/2)²,  C = (E+1)/(E−1)
//! ```
//!
//! The number is rounded before the coin of randomized response is tossed, so privacy does not depend on the
//! precision of the rounding. A report is one byte.

use crate::device::Device;
use crate::domain;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::{Coin, round_up};
use crate::sample::random::Random;
use crate::scalar::{Noise, Number};
use crate::wire;
use shuffledp_accounting::{Mechanism, RandomizerSpec, ScalarKind};

/// The one-bit mechanism.
pub type Duchi = Number<Bit>;

/// The distribution of reports of [`Duchi`].
#[derive(Clone, Debug)]
pub struct Bit {
    mechanism: Mechanism,
    truth: Coin,
}

impl Duchi {
    /// The one-bit mechanism for numbers in [0, 1].
    pub fn new(epsilon0: f64) -> Result<Self, Error> {
        domain::epsilon0(epsilon0, domain::LARGEST_EPSILON0)?;
        Ok(Self(Bit {
            mechanism: Mechanism::scalar(ScalarKind::Duchi, epsilon0)?,
            truth: Coin::at_most(epsilon0.exp(), 1.0),
        }))
    }
}

impl Bit {
    /// The number that a bit decodes to.
    fn decoded(&self, bit: u64) -> f64 {
        let (p, q) = (self.truth.probability(), self.truth.complement());
        (bit as f64 - q) / (p - q)
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = Duchi::new(spec.epsilon0()?)?;
    Ok(Device::Number(Dynamic::of(randomizer)))
}

impl Noise for Bit {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        1
    }

    fn draw<R: Random + ?Sized>(&self, value: f64, random: &mut R, report: &mut [u8]) {
        let bit = round_up(value, random);
        let sent = bit == self.truth.toss(random);
        wire::put(u64::from(sent), report);
    }

    fn decode(&self, report: &[u8]) -> Result<f64, Error> {
        wire::sized(report, 1)?;
        Ok(self.decoded(wire::get(report, 2)?))
    }

    fn variance(&self, value: f64) -> f64 {
        let half = 0.5 * (self.decoded(1) - self.decoded(0));
        half * half - (value - 0.5).powi(2)
    }

    fn influence(&self) -> f64 {
        self.decoded(1) - self.decoded(0)
    }

    fn probability(&self, value: f64, report: &[u8]) -> Option<f64> {
        let bit = wire::get(report, 2).ok()?;
        let (p, q) = (self.truth.probability(), self.truth.complement());
        let one = value * p + (1.0 - value) * q;
        Some(if bit == 1 { one } else { 1.0 - one })
    }
}
