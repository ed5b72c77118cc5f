//! k-ary randomized response (Kairouz, Bonawitz, Ramage 2016; Warner 1965 for k = 2): the true value with
//! probability E/(E+k−1), else one of the other k − 1 values, uniformly. E = e^ε₀.
//!
//! ```text
//! f̂ = (c/n − q)/(p − q),   p = E/(E+k−1),   q = (1−p)/(k−1)
//! ```
//!
//! p is rounded down, towards more privacy. A report is a value, in as few bytes as hold k values.

use crate::categorical::{Frequency, Support};
use crate::device::Device;
use crate::domain;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::{Coin, below};
use crate::sample::random::Random;
use crate::wire;
use shuffledp_accounting::{Mechanism, RandomizerSpec};

/// k-ary randomized response.
pub type KaryResponse = Frequency<Kary>;

/// The distribution of reports of [`KaryResponse`].
#[derive(Clone, Debug)]
pub struct Kary {
    categories: u64,
    mechanism: Mechanism,
    truth: Coin,
}

impl KaryResponse {
    /// k-ary randomized response for 2 to 2³² categories.
    pub fn new(categories: u64, epsilon0: f64) -> Result<Self, Error> {
        let mechanism = Mechanism::kary_response(categories, epsilon0)?;
        domain::categories(categories)?;
        domain::epsilon0(epsilon0, domain::LARGEST_EPSILON0)?;
        let e = epsilon0.exp();
        Ok(Self(Kary {
            categories,
            mechanism,
            truth: Coin::at_most(e, categories as f64 - 1.0),
        }))
    }
}

/// The device of a description; binary if it has no number of categories.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = KaryResponse::new(spec.k.unwrap_or(2), spec.epsilon0()?)?;
    Ok(Device::Category(Dynamic::of(randomizer)))
}

impl Support for Kary {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn categories(&self) -> u64 {
        self.categories
    }

    fn report_length(&self) -> usize {
        wire::bytes(self.categories)
    }

    fn chances(&self) -> (f64, f64) {
        let others = self.categories as f64 - 1.0;
        (self.truth.probability(), self.truth.complement() / others)
    }

    fn draw<R: Random + ?Sized>(&self, value: u64, random: &mut R, report: &mut [u8]) {
        let sent = if self.truth.toss(random) {
            value
        } else {
            // One of the others: skip the value itself.
            let other = below(self.categories - 1, random);
            other + u64::from(other >= value)
        };
        wire::put(sent, report);
    }

    fn supported(&self, report: &[u8], mut each: impl FnMut(usize)) -> Result<(), Error> {
        wire::sized(report, self.report_length())?;
        each(wire::get(report, self.categories)? as usize);
        Ok(())
    }

    fn probability(&self, value: u64, report: &[u8]) -> Option<f64> {
        let sent = wire::get(report, self.categories).ok()?;
        let (p, q) = self.chances();
        Some(if sent == value { p } else { q })
    }
}
