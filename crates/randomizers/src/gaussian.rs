//! Gaussian noise on a grid: an integer level plus a normal number, sampled exactly and cut to the grid.
//!
//! ```text
//! grid of σ/2¹⁶, L = ⌊2¹⁶/σ⌋ levels;   X = xL, rounded without bias;   report  X + ⌊2¹⁶ N⌋,   N standard normal       decode (report + 1/2)/L
//! ```
//!
//! ⌊X + 2¹⁶N⌋ is computed from X + 2¹⁶N, so whatever holds of continuous Gaussian noise with this σ on [0, 1] holds of the report: that is what the accountant is told. N is never a floating-point number. A report is eight bytes.

use crate::coin::round_up;
use crate::domain;
use crate::error::Error;
use crate::estimate::{Estimate, Sum};
use crate::noise;
use crate::random::Random;
use crate::randomizer::Randomizer;
use crate::wire;
use shuffledp_accounting::{Domain, Mechanism};

/// Bits of a standard deviation.
const BITS: u32 = 16;

/// Gaussian noise on numbers in [0, 1].
#[derive(Clone, Debug)]
pub struct Gaussian {
    mechanism: Mechanism,
    levels: u64,
    sigma: f64,
}

impl Gaussian {
    /// With standard deviation `sigma`, from 0.15 to 100.
    pub fn new(sigma: f64) -> Result<Self, Error> {
        if !(0.15..=100.0).contains(&sigma) {
            return Err(Error::Parameter {
                parameter: "sigma",
                value: sigma.to_string(),
                allowed: "[0.15, 100] for a device".into(),
            });
        }
        Ok(Self {
            mechanism: Mechanism::gaussian(sigma, Domain::Interval)?,
            levels: (2f64.powi(BITS as i32) / sigma * (1.0 - 1e-14)).floor() as u64,
            sigma,
        })
    }
}

impl Randomizer for Gaussian {
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
        let place = value * self.levels as f64;
        let level = place.floor() as i64 + i64::from(round_up(place.fract(), random));
        let sent = level + noise::normal(BITS, random);
        report.copy_from_slice(&sent.to_le_bytes());
        Ok(())
    }

    fn tally(&self) -> Sum {
        Sum::default()
    }

    fn add(&self, report: &[u8], tally: &mut Sum) -> Result<(), Error> {
        // The middle of the cell that the noise was cut to.
        tally.add((wire::integer(report)? as f64 + 0.5) / self.levels as f64);
        Ok(())
    }

    fn estimate(&self, tally: &Sum) -> Estimate {
        tally.mean()
    }

    /// σ², a little more for the grid.
    fn variance(&self, value: &f64) -> f64 {
        let levels = self.levels as f64;
        let part = (value * levels).fract();
        let noise = 2f64.powi(2 * BITS as i32) + 1.0 / 12.0;
        (noise + part * (1.0 - part)) / (levels * levels)
    }

    /// Unbounded: one report may be anything.
    fn influence(&self) -> f64 {
        f64::INFINITY
    }

    /// Not listed: σ/2¹⁶ is a fine grid.
    fn probability(&self, _: &f64, _: &[u8]) -> Option<f64> {
        None
    }
}

impl Gaussian {
    /// σ.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }
}
