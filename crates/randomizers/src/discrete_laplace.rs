//! Laplace noise on a grid: an integer level plus two-sided geometric noise, exactly (Ghosh, Roughgarden, Sundararajan 2009; sampled as by Canonne, Kamath, Steinke 2020).
//!
//! ```text
//! level  X = x(k−1), rounded without bias;   report  X + Z,  P[Z = z] ∝ α^|z|,  α = e^{−ε₀′/(k−1)},   ε₀′/(k−1) = r/2³² rounded down
//! Var Z = 2α/(1−α)²;     decode (X + Z)/(k−1)
//! ```
//!
//! With k levels by name ([`DiscreteLaplace::new`]), or as Laplace noise on [0, 1] ([`DiscreteLaplace::fine`]) with 4097 levels, where rounding to a level adds nothing that can be noticed. The accountant is told of the integer mechanism at ε₀′ in both cases. A report is eight bytes.

use crate::coin::round_up;
use crate::domain;
use crate::error::Error;
use crate::estimate::{Estimate, Sum};
use crate::noise;
use crate::random::Random;
use crate::randomizer::Randomizer;
use crate::wire;
use shuffledp_accounting::Mechanism;

/// The unit of rates.
const UNIT: u64 = 1 << 32;

/// Laplace noise on a grid.
#[derive(Clone, Debug)]
pub struct DiscreteLaplace {
    levels: u64,
    mechanism: Mechanism,
    rate: u64,
}

impl DiscreteLaplace {
    /// Levels of [`DiscreteLaplace::fine`].
    pub const FINE: u64 = 4097;

    /// On `levels` equally spaced values from 0 to 1.
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
        Ok(Self {
            levels,
            mechanism: Mechanism::discrete_laplace(levels, own)?,
            rate: rate as u64,
        })
    }

    /// As fine as Laplace noise on [0, 1] needs.
    pub fn fine(epsilon0: f64) -> Result<Self, Error> {
        Self::new(Self::FINE, epsilon0)
    }

    fn steps(&self) -> f64 {
        (self.levels - 1) as f64
    }
}

impl Randomizer for DiscreteLaplace {
    type Value = f64;
    type Tally = Sum;
    type Estimate = Estimate;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        8
    }

    fn check(&self, value: &f64) -> Result<(), Error> {
        domain::unit(*value)
    }

    fn randomise<R: Random + ?Sized>(
        &self,
        value: &f64,
        random: &mut R,
        report: &mut [u8],
    ) -> Result<(), Error> {
        self.check(value)?;
        wire::sized(report, self.report_length())?;
        let place = value * self.steps();
        let level = place.floor() as i64 + i64::from(round_up(place.fract(), random));
        let noise = noise::two_sided(self.rate, UNIT, random);
        report.copy_from_slice(&level.saturating_add(noise).to_le_bytes());
        Ok(())
    }

    fn tally(&self) -> Sum {
        Sum::default()
    }

    fn add(&self, report: &[u8], tally: &mut Sum) -> Result<(), Error> {
        tally.add(wire::integer(report)? as f64 / self.steps());
        Ok(())
    }

    fn estimate(&self, tally: &Sum) -> Estimate {
        tally.mean()
    }

    fn variance(&self, value: &f64) -> f64 {
        let rate = self.rate as f64 / UNIT as f64;
        // 2α/(1−α)² without cancellation; and the rounding to a level.
        let noise = 0.5 / (0.5 * rate).sinh().powi(2);
        let part = (value * self.steps()).fract();
        (noise + part * (1.0 - part)) / self.steps().powi(2)
    }

    /// Unbounded: one report may be anything.
    fn influence(&self) -> f64 {
        f64::INFINITY
    }

    fn probability(&self, value: &f64, report: &[u8]) -> Option<f64> {
        let sent = wire::integer(report).ok()? as f64;
        let rate = self.rate as f64 / UNIT as f64;
        let place = value * self.steps();
        let at = |level: f64| (0.5 * rate).tanh() * (-rate * (sent - level).abs()).exp();
        let up = place.fract();
        Some((1.0 - up) * at(place.floor()) + up * at(place.ceil()))
    }
}
