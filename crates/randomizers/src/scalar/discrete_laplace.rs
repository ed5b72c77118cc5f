//! Laplace noise on a grid: an integer level plus two-sided geometric noise, exactly (Ghosh, Roughgarden,
//! Sundararajan 2009; sampled as by Canonne, Kamath, Steinke 2020).
//!
//! ```text
//! X = x(k−1), rounded without bias;   report  X + Z,  P[Z = z] ∝ α^|z|,  α = e^{−ε₀′/(k−1)}
//! ε₀′/(k−1) = ε₀/(k−1) rounded down to a multiple of 2⁻³²
//! Var Z = 2α/(1−α)²;     decode (X + Z)/(k−1)
//! ```
//!
//! [`DiscreteLaplace::new`] takes the number of levels k. [`DiscreteLaplace::fine`] has 4097 levels and
//! serves as Laplace noise on [0, 1]: rounding to a level adds a variance of at most 1.5e-8. The accountant
//! computes bounds for the integer mechanism at ε₀′ in both cases. A report is eight bytes.

use crate::device::Device;
use crate::domain;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::noise;
use crate::sample::random::Random;
use crate::scalar::{Noise, Number, level, level_variance, over_levels};
use crate::wire;
use shuffledp_accounting::{Mechanism, RandomizerSpec};

/// The denominator of rates ε₀/(k−1): rounding down costs ε₀ at most (k−1)/2³², and noise of 2³² units still
/// fits in 64 bits.
const UNIT: u64 = 1 << 32;

/// Laplace noise on a grid.
pub type DiscreteLaplace = Number<GridLaplace>;

/// The distribution of reports of [`DiscreteLaplace`].
#[derive(Clone, Debug)]
pub struct GridLaplace {
    levels: u64,
    mechanism: Mechanism,
    rate: u64,
}

impl DiscreteLaplace {
    /// Levels of [`DiscreteLaplace::fine`]: 4096 steps, exact in binary, each far below the noise.
    pub const FINE: u64 = 4097;

    /// Noise on `levels` equally spaced numbers from 0 to 1; ε₀ from 1e-3 to 100, and at most one per step.
    pub fn new(levels: u64, epsilon0: f64) -> Result<Self, Error> {
        domain::categories(levels)?;
        let steps = levels as f64 - 1.0;
        let rate = (epsilon0 / steps * UNIT as f64 * (1.0 - 1e-14)).floor();
        if !(1e-3..=100.0).contains(&epsilon0) || !(1.0..=UNIT as f64).contains(&rate) {
            return Err(Error::Parameter {
                parameter: "epsilon0",
                value: epsilon0.to_string(),
                allowed: format!("[1e-3, 100], and at most {} for {levels} levels", steps),
            });
        }
        let own = (rate / UNIT as f64 * steps).min(epsilon0);
        Ok(Self(GridLaplace {
            levels,
            mechanism: Mechanism::discrete_laplace(levels, own)?,
            rate: rate as u64,
        }))
    }

    /// Laplace noise on [0, 1], on a grid of [`DiscreteLaplace::FINE`] levels.
    pub fn fine(epsilon0: f64) -> Result<Self, Error> {
        Self::new(Self::FINE, epsilon0)
    }
}

impl GridLaplace {
    /// The number of steps, k − 1.
    fn steps(&self) -> u64 {
        self.levels - 1
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = DiscreteLaplace::new(spec.k()?, spec.epsilon0()?)?;
    Ok(Device::Number(Dynamic::of(randomizer)))
}

/// The device of a description of continuous Laplace noise: [`DiscreteLaplace::fine`].
pub(crate) fn fine_device(spec: &RandomizerSpec) -> Result<Device, Error> {
    let randomizer = DiscreteLaplace::fine(spec.epsilon0()?)?;
    Ok(Device::Number(Dynamic::of(randomizer)))
}

impl Noise for GridLaplace {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        8
    }

    fn draw<R: Random + ?Sized>(&self, value: f64, random: &mut R, report: &mut [u8]) {
        let level = level(value, self.steps(), random);
        let noise = noise::two_sided(self.rate, UNIT, random);
        report.copy_from_slice(&level.saturating_add(noise).to_le_bytes());
    }

    fn decode(&self, report: &[u8]) -> Result<f64, Error> {
        Ok(wire::integer(report)? as f64 / self.steps() as f64)
    }

    fn variance(&self, value: f64) -> f64 {
        let rate = self.rate as f64 / UNIT as f64;
        // 2α/(1−α)² without cancellation, plus the variance of rounding to a level.
        let noise = 0.5 / (0.5 * rate).sinh().powi(2);
        (noise + level_variance(value, self.steps())) / (self.steps() as f64).powi(2)
    }

    /// The noise is unbounded.
    fn influence(&self) -> f64 {
        f64::INFINITY
    }

    fn probability(&self, value: f64, report: &[u8]) -> Option<f64> {
        let sent = wire::integer(report).ok()? as f64;
        let rate = self.rate as f64 / UNIT as f64;
        let at = |level: f64| (0.5 * rate).tanh() * (-rate * (sent - level).abs()).exp();
        Some(over_levels(value, self.steps(), at))
    }
}
