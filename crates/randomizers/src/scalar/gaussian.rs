//! Gaussian noise on a grid: an integer level plus a normal number, sampled exactly and rounded down to the
//! grid.
//!
//! ```text
//! grid of σ/2¹⁶, L = ⌊2¹⁶/σ⌋ levels;   X = xL, rounded without bias
//! report  X + ⌊2¹⁶ N⌋,   N standard normal;       decode (report + 1/2)/L
//! ```
//!
//! The report is a function of X + 2¹⁶N, so every bound for continuous Gaussian noise with this σ on [0, 1]
//! holds for it; the accountant uses those. N is never a floating-point number. A report is eight bytes.

use crate::device::Device;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::noise;
use crate::sample::random::Random;
use crate::scalar::{Noise, Number, level, level_variance, over_levels};
use crate::wire;
use shuffledp_accounting::{Domain, Mechanism, RandomizerSpec};

/// Binary digits of the noise per standard deviation: the grid adds 2⁻³² of the variance.
const BITS: u32 = 16;

/// Gaussian noise on numbers in [0, 1].
pub type Gaussian = Number<GridGaussian>;

/// The distribution of reports of [`Gaussian`].
#[derive(Clone, Debug)]
pub struct GridGaussian {
    mechanism: Mechanism,
    levels: u64,
}

impl Gaussian {
    /// Noise of standard deviation `sigma`, from 0.15 to 100.
    pub fn new(sigma: f64) -> Result<Self, Error> {
        if !(0.15..=100.0).contains(&sigma) {
            return Err(Error::Parameter {
                parameter: "sigma",
                value: sigma.to_string(),
                allowed: "[0.15, 100] for a device".into(),
            });
        }
        Ok(Self(GridGaussian {
            mechanism: Mechanism::gaussian(sigma, Domain::Interval)?,
            levels: (2f64.powi(BITS as i32) / sigma * (1.0 - 1e-14)).floor() as u64,
        }))
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec) -> Result<Device, Error> {
    let randomizer = Gaussian::new(spec.sigma()?)?;
    Ok(Device::Number(Dynamic::of(randomizer)))
}

impl Noise for GridGaussian {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        8
    }

    fn draw<R: Random + ?Sized>(&self, value: f64, random: &mut R, report: &mut [u8]) {
        let sent = level(value, self.levels, random) + noise::normal(BITS, random);
        report.copy_from_slice(&sent.to_le_bytes());
    }

    fn decode(&self, report: &[u8]) -> Result<f64, Error> {
        // The middle of the cell that the noise was rounded down from.
        Ok((wire::integer(report)? as f64 + 0.5) / self.levels as f64)
    }

    /// σ², plus the variance of the grid.
    fn variance(&self, value: f64) -> f64 {
        let levels = self.levels as f64;
        let noise = 2f64.powi(2 * BITS as i32) + 1.0 / 12.0;
        (noise + level_variance(value, self.levels)) / (levels * levels)
    }

    /// The noise is unbounded.
    fn influence(&self) -> f64 {
        f64::INFINITY
    }

    /// None: it would be an integral of the density over a cell of σ/2¹⁶.
    fn probability(&self, _: f64, _: &[u8]) -> Option<f64> {
        None
    }

    /// The density at the middle of the cell.
    fn likelihood(&self, value: f64, report: &[u8]) -> Option<f64> {
        let middle = wire::integer(report).ok()? as f64 + 0.5;
        let sigma = 2f64.powi(BITS as i32);
        Some(over_levels(value, self.levels, |level| {
            (-0.5 * ((middle - level) / sigma).powi(2)).exp()
        }))
    }
}
