//! The piecewise mechanism (Wang et al. 2019) on a grid: one of M cells, most likely from a window of w cells
//! whose position is the value. h = e^{ε₀/2}.
//!
//! ```text
//! w = ⌈M/(h+1)⌉,   the window [s, s+w) with s = xS, S = M − w, rounded without bias
//! a uniform cell of the window with probability (M−w)/M, else a uniform cell outside it
//! ratio of the two probabilities of a cell   (M−w)²/w² = e^{ε₀′} with ε₀′ ≤ ε₀
//! E y = a s + b,   a = (M−w)/M − (w/M) w/(M−w);     decode (y − b)/(aS)
//! ```
//!
//! This is exactly the continuous mechanism at ε₀′, for which the accountant computes bounds. M = 2²⁴: a
//! report is three bytes, and ε₀′ is within 5e-7 of ε₀ for moderate ε₀. No probability is rounded.

use crate::device::Device;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::below;
use crate::sample::random::Random;
use crate::scalar::{Noise, Number, level, over_levels};
use crate::wire;
use shuffledp_accounting::{Mechanism, RandomizerSpec, ScalarKind};

/// The number of cells, M: reports of three bytes.
const CELLS: u64 = 1 << 24;

/// The piecewise mechanism.
pub type Piecewise = Number<Cells>;

/// The distribution of reports of [`Piecewise`].
#[derive(Clone, Debug)]
pub struct Cells {
    mechanism: Mechanism,
    width: u64,
}

impl Piecewise {
    /// The piecewise mechanism for numbers in [0, 1]. ε₀ is from 1e-3 to 28: below, w/M is so close to 1/2
    /// that the grid is too coarse for it; above, the window has fewer than 14 cells.
    pub fn new(epsilon0: f64) -> Result<Self, Error> {
        if !(1e-3..=28.0).contains(&epsilon0) {
            return Err(Error::Parameter {
                parameter: "epsilon0",
                value: epsilon0.to_string(),
                allowed: "[1e-3, 28] for the piecewise mechanism".into(),
            });
        }
        let half = (0.5 * epsilon0).exp();
        // Rounded up, with a margin for the rounding of the quotient.
        let width = (CELLS as f64 / (half + 1.0) * (1.0 + 1e-14)).ceil() as u64;
        let own = 2.0 * ((CELLS - width) as f64 / width as f64).ln();
        Ok(Self(Cells {
            mechanism: Mechanism::scalar(ScalarKind::Piecewise, own.min(epsilon0))?,
            width,
        }))
    }
}

impl Cells {
    /// The number of shifts of the window, S.
    fn shifts(&self) -> u64 {
        CELLS - self.width
    }

    /// a and b of E y = a s + b.
    fn line(&self) -> (f64, f64) {
        let (m, w) = (CELLS as f64, self.width as f64);
        let (inside, outside) = ((m - w) / m, w / m);
        let slope = inside - outside * w / (m - w);
        // The mean of the window at s = 0, and the mean of the other cells.
        let window = 0.5 * (w - 1.0);
        let rest = (0.5 * m * (m - 1.0) - w * window) / (m - w);
        (slope, inside * window + outside * rest)
    }

    fn decoded(&self, cell: u64) -> f64 {
        let (slope, base) = self.line();
        (cell as f64 - base) / (slope * self.shifts() as f64)
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = Piecewise::new(spec.epsilon0()?)?;
    Ok(Device::Number(Dynamic::of(randomizer)))
}

impl Noise for Cells {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        wire::bytes(CELLS)
    }

    fn draw<R: Random + ?Sized>(&self, value: f64, random: &mut R, report: &mut [u8]) {
        let shift = level(value, self.shifts(), random) as u64;
        let cell = if below(CELLS, random) < CELLS - self.width {
            shift + below(self.width, random)
        } else {
            // One of the cells outside the window: skip the window.
            let cell = below(CELLS - self.width, random);
            if cell < shift {
                cell
            } else {
                cell + self.width
            }
        };
        wire::put(cell, report);
    }

    fn decode(&self, report: &[u8]) -> Result<f64, Error> {
        wire::sized(report, self.report_length())?;
        Ok(self.decoded(wire::get(report, CELLS)?))
    }

    /// A quarter of the variance of the continuous mechanism on [−1, 1], which is
    /// t²/(h−1) + (h+3)/(3(h−1)²) at t = 2x − 1.
    fn variance(&self, value: f64) -> f64 {
        let h = (CELLS - self.width) as f64 / self.width as f64;
        let t = 2.0 * value - 1.0;
        0.25 * (t * t / (h - 1.0) + (h + 3.0) / (3.0 * (h - 1.0).powi(2)))
    }

    fn influence(&self) -> f64 {
        self.decoded(CELLS - 1) - self.decoded(0)
    }

    fn probability(&self, value: f64, report: &[u8]) -> Option<f64> {
        let cell = wire::get(report, CELLS).ok()?;
        let (m, w) = (CELLS as f64, self.width as f64);
        let at = |shift: f64| {
            let from = shift as u64;
            if (from..from + self.width).contains(&cell) {
                (m - w) / (m * w)
            } else {
                w / (m * (m - w))
            }
        };
        Some(over_levels(value, self.shifts(), at))
    }
}
