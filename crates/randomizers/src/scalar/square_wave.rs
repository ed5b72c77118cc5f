//! The square wave mechanism (Li et al. 2020) on a grid: one of N cells, most likely from a wave of 2h + 1
//! cells around the value. E = e^ε₀.
//!
//! ```text
//! M = 1024 levels, j = xM rounded without bias;   cells 0, …, M + 2h;   wave j, …, j + 2h
//! a uniform cell of the wave with probability (2h+1)E/Z, else a uniform one outside it;   Z = (2h+1)E + M
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

/// The number of levels, M: the accountant's, so that both compute with the same grid.
const LEVELS: u64 = Law::LEVELS;
/// The largest ε₀: e^36 is just below 2⁵², so in doubles the cells outside the wave keep a share of Z.
const LARGEST_EPSILON0: f64 = 36.0;

/// The square wave mechanism.
pub type SquareWave = Number<Wave>;

/// The distribution of reports of [`SquareWave`].
#[derive(Clone, Debug)]
pub struct Wave {
    mechanism: Mechanism,
    half: u64,
    inside: Coin,
}

impl SquareWave {
    /// The square wave mechanism for numbers in [0, 1]; ε₀ up to 36.
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
        domain::epsilon0(epsilon0, LARGEST_EPSILON0)?;
        let wave = (2 * law.half() + 1) as f64;
        Ok(Self(Wave {
            mechanism: law.into(),
            half: law.half(),
            inside: Coin::at_most(wave * epsilon0.exp(), LEVELS as f64),
        }))
    }
}

impl Wave {
    /// The number of cells of the wave, 2h + 1.
    fn width(&self) -> u64 {
        2 * self.half + 1
    }

    /// The number of cells, N.
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

    /// The variance of the reported cell at a level: its mean square minus the square of its mean.
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
            // One of the cells outside the wave: skip the wave.
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
        // The variance at a level, plus the variance of the rounding between two levels.
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
