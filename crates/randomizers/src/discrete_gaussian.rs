//! The discrete Gaussian (Canonne, Kamath, Steinke 2020): an integer level plus integer noise with P[z] ∝ e^{−z²/(2s²)}, exactly.
//!
//! ```text
//! s = 1024 levels to a standard deviation, L = ⌊s/σ⌋ levels to the interval;   X = xL, rounded without bias;   report X + Z
//! Z: two-sided geometric Y of scale t = s + 1, kept with probability e^{−(|Y| − s²/t)²/(2s²)}
//! δ₀(ε₀) = Σ_z (P[z] − e^{ε₀} P[z − L])₊
//! ```
//!
//! The accountant is told that it is (ε₀, δ₀)-LDP, with δ₀ as asked for and the least ε₀ that the sum gives. A report is eight bytes.

use crate::error::Error;
use crate::noise;
use crate::number::{Noise, Number, level, level_variance, over_levels};
use crate::random::Random;
use crate::wire;
use shuffledp_accounting::Mechanism;
use shuffledp_numerics::search::{Stop, bisect};

/// s.
const SCALE: u64 = 1024;

/// Discrete Gaussian noise on numbers in [0, 1].
pub type DiscreteGaussian = Number<Integers>;

/// How it draws and what it stands for.
#[derive(Clone, Debug)]
pub struct Integers {
    mechanism: Mechanism,
    levels: u64,
}

impl DiscreteGaussian {
    /// With standard deviation `sigma`, from 0.15 to 100, accounted at a local δ₀ from 1e-30 to 0.1.
    pub fn new(sigma: f64, delta0: f64) -> Result<Self, Error> {
        let refuse = |parameter: &'static str, value: f64, allowed: &str| Error::Parameter {
            parameter,
            value: value.to_string(),
            allowed: allowed.into(),
        };
        if !(0.15..=100.0).contains(&sigma) {
            return Err(refuse("sigma", sigma, "[0.15, 100] for a device"));
        }
        if !(1e-30..=0.1).contains(&delta0) {
            return Err(refuse("delta0", delta0, "[1e-30, 0.1] for a device"));
        }
        let levels = (SCALE as f64 / sigma * (1.0 - 1e-14)).floor() as u64;
        // The least ε₀, by bisection; the end that was seen to hold.
        let meets = |epsilon0: f64| profile(levels, epsilon0) <= delta0;
        let epsilon0 = bisect(0.0, 100.0, Stop::after(60), meets).holds;
        Ok(Self(Integers {
            mechanism: Mechanism::approximate_ldp(epsilon0, delta0)?,
            levels,
        }))
    }
}

/// δ₀(ε₀) of a shift by `levels`, a little more than the sum for what rounding may have lost.
fn profile(levels: u64, epsilon0: f64) -> f64 {
    let (s, shift) = (SCALE as f64, levels as f64);
    let mass = |z: f64| (-0.5 * (z / s).powi(2)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt());
    // P[z] > e^{ε₀} P[z − L] exactly below this; sixteen deviations further on nothing is left that a double shows.
    let first = 0.5 * shift - epsilon0 * s * s / shift;
    let mut total = 0.0;
    let mut z = first.floor();
    while z > first - 16.0 * s {
        // The normalizer of the sum over the integers is the integral's to e^{−2π²s²}: nothing.
        total += (mass(z) * -(epsilon0 + shift * (z - 0.5 * shift) / (s * s)).exp_m1()).max(0.0);
        z -= 1.0;
    }
    total * (1.0 + 1e-10)
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

    /// Unbounded: one report may be anything.
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
