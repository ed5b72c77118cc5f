//! The discrete Gaussian (Canonne, Kamath, Steinke 2020): an integer level plus integer noise that is z with
//! probability proportional to e^{−z²/(2s²)}, exactly.
//!
//! ```text
//! s = 1024 levels per standard deviation, L = ⌊s/σ⌋ levels in [0, 1]
//! X = xL, rounded without bias;   report X + Z
//! ```
//!
//! The accountant uses the bounds of any (ε₀, δ₀)-LDP randomizer, with the given δ₀ and the smallest ε₀ that
//! holds for it. A report is eight bytes.

use crate::device::Device;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::noise;
use crate::sample::random::Random;
use crate::scalar::{Noise, Number, level, level_variance, over_levels};
use crate::wire;
use shuffledp_accounting::{DiscreteGaussian as Law, Mechanism, RandomizerSpec};

/// Levels per standard deviation, s: the accountant's, so that both compute with the same grid.
const SCALE: u64 = Law::SCALE;

/// Discrete Gaussian noise on numbers in [0, 1].
pub type DiscreteGaussian = Number<Integers>;

/// The distribution of reports of [`DiscreteGaussian`].
#[derive(Clone, Debug)]
pub struct Integers {
    mechanism: Mechanism,
    levels: u64,
}

impl DiscreteGaussian {
    /// Noise of standard deviation `sigma`, from 0.15 to 100; the local guarantee is stated at a δ₀ from
    /// 1e-30 to 0.1.
    pub fn new(sigma: f64, delta0: f64) -> Result<Self, Error> {
        let law = Law::new(sigma)?;
        Ok(Self(Integers {
            mechanism: law.mechanism(delta0)?,
            levels: law.levels(),
        }))
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = DiscreteGaussian::new(spec.sigma()?, spec.delta0()?)?;
    Ok(Device::Number(Dynamic::of(randomizer)))
}

impl Noise for Integers {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        8
    }

    fn draw<R: Random + ?Sized>(&self, value: f64, random: &mut R, report: &mut [u8]) {
        let sent = level(value, self.levels, random) + noise::discrete_gaussian(SCALE, random);
        report.copy_from_slice(&sent.to_le_bytes());
    }

    fn decode(&self, report: &[u8]) -> Result<f64, Error> {
        Ok(wire::integer(report)? as f64 / self.levels as f64)
    }

    fn variance(&self, value: f64) -> f64 {
        let levels = self.levels as f64;
        ((SCALE * SCALE) as f64 + level_variance(value, self.levels)) / (levels * levels)
    }

    /// The noise is unbounded.
    fn influence(&self) -> f64 {
        f64::INFINITY
    }

    fn probability(&self, value: f64, report: &[u8]) -> Option<f64> {
        let sent = wire::integer(report).ok()? as f64;
        let s = SCALE as f64;
        let at = |level: f64| {
            (-0.5 * ((sent - level) / s).powi(2)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt())
        };
        Some(over_levels(value, self.levels, at))
    }
}
