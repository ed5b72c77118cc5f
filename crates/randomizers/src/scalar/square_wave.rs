//! The square wave mechanism (Li et al. 2020) on a grid: a cell out of N, mostly from a wave of 2h + 1 cells
//! around the value.
//!
//! ```text
//! M = 1024 levels, j = xM rounded without bias;   cells 0, …, M + 2h;   wave j, …, j + 2h
//! a cell of the wave with probability (2h+1)E/Z, all alike, else one outside it;   Z = (2h+1)E + M
//! E y = a j + b,   a = p − (1 − p)(2h+1)/M,  p the probability of the wave;     decode (y − b)/(aM)
//! ```
//!
//! The probability of the wave is rounded towards more privacy. A report is the cell, in two bytes.

use crate::device::Device;
use crate::domain;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::{Coin, below};
use crate::sample::random::Random;
use crate::scalar::{Noise, Number, level, over_levels};
use crate::wire;
use shuffledp_accounting::{Mechanism, RandomizerSpec, SquareWave as Law};

/// M.
const LEVELS: u64 = Law::LEVELS;

/// The square wave mechanism.
pub type SquareWave = Number<Wave>;

/// How it draws and what it stands for.
#[derive(Clone, Debug)]
pub struct Wave {
    mechanism: Mechanism,
    half: u64,
    inside: Coin,
}

impl SquareWave {
    /// Numbers in [0, 1].
    ///
    /// ```
    /// use shuffledp_randomizers::{Randomizer, Secure, SquareWave};
    /// let randomizer = SquareWave::new(2.0)?;
    /// let (mut random, mut tally) = (Secure::new()?, randomizer.tally());
    /// let mut report = vec![0; randomizer.report_length()];
    /// for _ in 0..1000 {
    ///     randomizer.randomize(&0.25, &mut random, &mut report)?;
    ///     randomizer.add(&report, &mut tally)?;
    /// }
    /// let mean = randomizer.estimate(&tally);
    /// assert!((mean.value - 0.25).abs() < 8.0 * mean.deviation());
    /// # Ok::<(), shuffledp_randomizers::Error>(())
    /// ```
    pub fn new(epsilon0: f64) -> Result<Self, Error> {
        let law = Law::new(epsilon0)?;
        domain::epsilon0(epsilon0, 36.0)?;
        let wave = (2 * law.half() + 1) as f64;
        Ok(Self(Wave {
            mechanism: law.into(),
            half: law.half(),
            inside: Coin::at_most(wave * epsilon0.exp(), LEVELS as f64),
        }))
    }
}

impl Wave {
    /// 2h + 1.
    fn width(&self) -> u64 {
        2 * self.half + 1
    }

    /// N.
    fn cells(&self) -> u64 {
        LEVELS + self.width()
    }

    /// a and b of E y = a j + b.
    fn line(&self) -> (f64, f64) {
        let (p, rest) = (self.inside.probability(), self.inside.complement());
        let (width, levels, cells) = (self.width() as f64, LEVELS as f64, self.cells() as f64);
        let slope = p - rest * width / levels;
        let all = 0.5 * cells * (cells - 1.0);
        let middle = self.half as f64;
        (slope, p * middle + rest * (all - width * middle) / levels)
    }

    fn decoded(&self, cell: f64) -> f64 {
        let (slope, base) = self.line();
        (cell - base) / (slope * LEVELS as f64)
    }

    /// The variance of the cell at a level: the mean square of the cells of the wave and of the others.
    fn cell_variance(&self, j: f64) -> f64 {
        let (p, rest) = (self.inside.probability(), self.inside.complement());
        let (width, levels, cells) = (self.width() as f64, LEVELS as f64, self.cells() as f64);
        let (center, half) = (j + self.half as f64, self.half as f64);
        // Σ over the wave of y², and over all cells.
        let wave = width * center * center + half * (half + 1.0) * width / 3.0;
        let all = (cells - 1.0) * cells * (2.0 * cells - 1.0) / 6.0;
        let square = p * wave / width + rest * (all - wave) / levels;
        let (slope, base) = self.line();
        square - (slope * j + base).powi(2)
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = SquareWave::new(spec.epsilon0()?)?;
    Ok(Device::Number(Dynamic::of(randomizer)))
}

impl Noise for Wave {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        wire::bytes(self.cells())
    }

    fn draw<R: Random + ?Sized>(&self, value: f64, random: &mut R, report: &mut [u8]) {
        let start = level(value, LEVELS, random) as u64;
        let cell = if self.inside.toss(random) {
            start + below(self.width(), random)
        } else {
            // Cells outside the wave: those from its beginning on are moved past its end.
            let cell = below(LEVELS, random);
            if cell < start {
                cell
            } else {
                cell + self.width()
            }
        };
        wire::put(cell, report);
    }

    fn decode(&self, report: &[u8]) -> Result<f64, Error> {
        wire::sized(report, self.report_length())?;
        Ok(self.decoded(wire::get(report, self.cells())? as f64))
    }

    fn variance(&self, value: f64) -> f64 {
        let (slope, _) = self.line();
        let place = value * LEVELS as f64;
        let part = place.fract();
        let (low, high) = (
            self.cell_variance(place.floor()),
            self.cell_variance(place.ceil()),
        );
        // Within a level, and the rounding between two of them.
        let cell = (1.0 - part) * low + part * high + slope * slope * part * (1.0 - part);
        cell / (slope * LEVELS as f64).powi(2)
    }

    fn influence(&self) -> f64 {
        self.decoded((self.cells() - 1) as f64) - self.decoded(0.0)
    }

    fn probability(&self, value: f64, report: &[u8]) -> Option<f64> {
        wire::sized(report, self.report_length()).ok()?;
        let cell = wire::get(report, self.cells()).ok()?;
        let at = |start: f64| {
            let start = start as u64;
            if (start..start + self.width()).contains(&cell) {
                self.inside.probability() / self.width() as f64
            } else {
                self.inside.complement() / LEVELS as f64
            }
        };
        Some(over_levels(value, LEVELS, at))
    }
}
