//! Gaussian noise on vectors of l₂ norm at most r, on a grid: integer levels plus normal numbers, sampled
//! exactly and rounded down to the grid.
//!
//! ```text
//! grid of g = σr/2¹⁶;   X_i = x_i/g, truncated towards zero, ΣX_i² ≤ (2¹⁶/σ)² in integers
//! report  X_i + ⌊2¹⁶ N_i⌋,   N_i standard normal
//! decode  (report + 1/2) g;       E‖decoded − x‖² = d σ² r²
//! ```
//!
//! The report is a function of X + 2¹⁶N, and X is in the ball (`sample::levels`), so every bound for
//! continuous Gaussian noise with this σ on the ball holds for it; the accountant uses those. N is never a
//! floating-point number. Truncation moves a coordinate by less than g towards zero: 2⁻¹⁶ of the noise of one
//! report, and less than the noise of the mean of up to 2³² reports. A report has four bytes per coordinate.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::levels::inside;
use crate::sample::noise;
use crate::sample::random::Random;
use crate::sample::sphere::norm;
use crate::vector::{Ball, Shape, VectorSum, Vectors};
use crate::wire;
use shuffledp_accounting::{Domain, Mechanism, RandomizerSpec};

/// Binary digits of the noise per standard deviation: the grid adds 2⁻³² of the variance, and four bytes hold
/// 3e4 standard deviations.
const BITS: u32 = 16;
/// Bytes of a coordinate.
const WIDTH: usize = 4;

/// Gaussian noise on every coordinate.
pub type GaussianVector = Vectors<GaussianNoise>;

/// The distribution of reports of [`GaussianVector`].
#[derive(Clone, Debug)]
pub struct GaussianNoise {
    shape: Shape,
    mechanism: Mechanism,
    /// 1/g, less 1e-12 of itself, so that rounding in the division does not lead out of the ball.
    scale: f64,
    /// (2¹⁶/σ)², rounded down.
    most: u64,
}

impl GaussianVector {
    /// Noise on vectors of `dimension` coordinates and l₂ norm at most `radius`. Its standard deviation is
    /// `sigma`, from 0.3 to 200, in units of the radius.
    ///
    /// ```
    /// use shuffledp_randomizers::{GaussianVector, Randomizer, Secure};
    /// let randomizer = GaussianVector::new(3, 2.0, 0.5)?;
    /// let (mut random, mut tally) = (Secure::new()?, randomizer.tally());
    /// let mut report = vec![0; randomizer.report_length()];
    /// assert_eq!(report.len(), 12);
    /// for _ in 0..1000 {
    ///     randomizer.randomize(&[0.0, 1.6, -1.2], &mut random, &mut report)?;
    ///     randomizer.add(&report, &mut tally)?;
    /// }
    /// let estimate = randomizer.estimate(&tally);
    /// assert!((estimate.mean[1] - 1.6).abs() < 8.0 * estimate.variance.sqrt());
    /// # Ok::<(), shuffledp_randomizers::Error>(())
    /// ```
    pub fn new(dimension: usize, radius: f64, sigma: f64) -> Result<Self, Error> {
        let shape = Shape::new(dimension, radius)?;
        if !(0.3..=200.0).contains(&sigma) {
            return Err(Error::Parameter {
                parameter: "sigma",
                value: sigma.to_string(),
                allowed: "[0.3, 200] for a device".into(),
            });
        }
        let steps = 2f64.powi(BITS as i32) / sigma;
        Ok(Self(GaussianNoise {
            shape,
            mechanism: Mechanism::gaussian(sigma, Domain::Ball)?,
            scale: steps / radius * (1.0 - 1e-12),
            most: (steps * steps * (1.0 - 1e-14)).floor() as u64,
        }))
    }
}

impl GaussianVector {
    /// The sum of a batch of contributions with the noise of one report, as a trusted server would release
    /// it. One vector more or less moves the levels by at most 2¹⁶/σ, so this is exactly the Gaussian
    /// mechanism of the central model.
    ///
    /// ```
    /// use shuffledp_randomizers::{GaussianVector, Randomizer, Simulated};
    /// let randomizer = GaussianVector::new(2, 1.0, 4.0)?;
    /// let (mut random, mut tally) = (Simulated::new(1, 0), randomizer.tally());
    /// for _ in 0..10_000 {
    ///     randomizer.contribute(&[0.6, 0.8], &mut random, &mut tally)?;
    /// }
    /// let sum = randomizer.noisy_sum(tally, &mut random);
    /// assert!((sum[0] - 6000.0).abs() < 40.0);
    /// # Ok::<(), shuffledp_randomizers::Error>(())
    /// ```
    pub fn noisy_sum<R: Random + ?Sized>(&self, tally: VectorSum, random: &mut R) -> Vec<f64> {
        let mut sums = tally.total;
        for sum in &mut sums {
            *sum += noise::quick_normal(BITS, random) as f64 + 0.5;
        }
        self.0.decoded(&sums)
    }
}

impl GaussianNoise {
    /// The levels of a vector, X.
    fn levels(&self, value: &[f32]) -> impl Iterator<Item = i64> {
        inside(value, self.scale, self.most, |level| level * level)
    }

    /// The bytes of a noisy level. Levels beyond ±2³¹, 3e4 standard deviations, are clamped: a function of
    /// the report, so the guarantee is the same.
    fn sent(noisy: i64) -> [u8; WIDTH] {
        let end = if noisy < 0 { i32::MIN } else { i32::MAX };
        i32::try_from(noisy).unwrap_or(end).to_le_bytes()
    }

    /// The middles of the cells that the noise was rounded down from.
    fn middles<'a>(&self, report: &'a [u8]) -> Result<impl Iterator<Item = f64> + 'a, Error> {
        wire::sized(report, self.report_length())?;
        let cells = report.chunks_exact(WIDTH);
        Ok(cells.map(|at| f64::from(i32::from_le_bytes([at[0], at[1], at[2], at[3]])) + 0.5))
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = GaussianVector::new(dimension(spec), radius, spec.sigma()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}

impl Ball for GaussianNoise {
    const SETTLES: bool = true;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn norm(&self, value: &[f32]) -> f64 {
        norm(value)
    }

    fn report_length(&self) -> usize {
        WIDTH * self.shape.dimension
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        for (at, level) in report.chunks_exact_mut(WIDTH).zip(self.levels(value)) {
            at.copy_from_slice(&Self::sent(level + noise::quick_normal(BITS, random)));
        }
    }

    fn add(&self, report: &[u8], sums: &mut [f64]) -> Result<(), Error> {
        for (sum, middle) in sums.iter_mut().zip(self.middles(report)?) {
            *sum += middle;
        }
        Ok(())
    }

    /// Adds the levels alone; [`Ball::settle`] adds the noise of all contributions.
    fn contribute<R: Random + ?Sized>(
        &self,
        value: &[f32],
        _: &mut R,
        sums: &mut [f64],
    ) -> Result<(), Error> {
        for (sum, level) in sums.iter_mut().zip(self.levels(value)) {
            *sum += level as f64;
        }
        Ok(())
    }

    /// A sum of m normal numbers is √m times one, rounded to the grid of the levels. On a grid √m times as
    /// coarse, the sum of the levels could be read from the remainder.
    fn settle<R: Random + ?Sized>(&self, reports: u64, random: &mut R, sums: &mut [f64]) {
        /// Binary digits below the grid: multiplied by √m ≤ 2²⁴, the noise still reaches every grid point.
        const FINE: u32 = 24;
        let root = (reports as f64).sqrt() / (1u64 << FINE) as f64;
        for sum in sums {
            *sum += (root * (noise::quick_normal(BITS + FINE, random) as f64 + 0.5)).round();
        }
    }

    /// √d σr, plus the variance of the grid.
    fn length(&self) -> f64 {
        let one = 2f64.powi(2 * BITS as i32) + 1.0 / 12.0;
        (self.shape.dimension as f64 * one).sqrt() / self.scale
    }

    fn decoded(&self, sums: &[f64]) -> Vec<f64> {
        sums.iter().map(|sum| sum / self.scale).collect()
    }

    /// The same for every vector.
    fn variance(&self, _: &[f32]) -> f64 {
        self.length().powi(2)
    }

    /// The noise is unbounded.
    fn influence(&self) -> f64 {
        f64::INFINITY
    }

    /// None: it would be an integral of the density over a cell of σ/2¹⁶.
    fn probability(&self, _: &[f32], _: &[u8]) -> Option<f64> {
        None
    }

    /// The density at the middle of the cell, divided by that for the zero vector, which neither underflows
    /// nor overflows in any dimension.
    fn likelihood(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let middles = self.middles(report).ok()?;
        let apart = |(middle, level): (f64, i64)| (middle - 0.5 * level as f64) * level as f64;
        let exponent: f64 = middles.zip(self.levels(value)).map(apart).sum();
        Some((exponent / 2f64.powi(2 * BITS as i32)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::{GaussianNoise, GaussianVector};
    use crate::randomizer::Randomizer;
    use crate::sample::random::{Random, Simulated};

    /// The noise is on the grid of the levels and does not reveal where on it they are: sums are integers,
    /// and every remainder occurs.
    #[test]
    fn settled_noise_is_on_the_grid_of_the_levels() {
        let randomizer = GaussianVector::new(1, 1.0, 10.0).unwrap();
        let mut random = Simulated::new(12, 0);
        let mut seen = [0u32; 20];
        for _ in 0..4000 {
            let mut tally = randomizer.tally();
            for _ in 0..400 {
                randomizer
                    .contribute(&[0.7], &mut random, &mut tally)
                    .unwrap();
            }
            randomizer.settle(&mut random, &mut tally);
            assert_eq!(tally.total[0].fract(), 0.0);
            seen[(tally.total[0] as i64).rem_euclid(20) as usize] += 1;
        }
        // Noise on a grid of √400 steps would give away the sum modulo 20.
        let chi: f64 = seen
            .iter()
            .map(|n| (f64::from(*n) - 200.0).powi(2) / 200.0)
            .sum();
        assert!(chi < 19.0 + 6.0 * 38f64.sqrt(), "{seen:?}");
    }

    #[test]
    fn levels_are_within_the_ball_that_the_accountant_is_told_of() {
        // (2¹⁶/σ)² is 2³⁴ here, so the comparison is exact.
        let randomizer = GaussianVector::new(2, 1.0, 0.5).unwrap();
        assert!(randomizer.0.most < 1 << 34 && randomizer.0.most > (1 << 34) - 1000);
        let mut random = Simulated::new(11, 0);
        let mut moved = 0;
        for _ in 0..20_000 {
            let angle = random.word() as f64 / 2f64.powi(61);
            let value = [angle.cos(), angle.sin()].map(|x| (x * (1.0 + 9e-7)) as f32);
            randomizer.check(&value).unwrap();
            let square = |levels: &mut dyn Iterator<Item = i64>| -> i64 {
                levels.map(|level| level * level).sum()
            };
            let own = square(&mut randomizer.0.levels(&value));
            assert!(own <= 1 << 34, "{value:?}");
            let cut = value.map(|x| (f64::from(x) * randomizer.0.scale) as i64);
            moved += u32::from(square(&mut cut.into_iter()) > 1 << 34);
        }
        // Not only because cutting to the grid would do.
        assert!(moved > 100, "{moved}");
    }

    #[test]
    fn what_four_bytes_cannot_hold_stays_at_the_end() {
        for (noisy, end) in [(1 << 40, i32::MAX), (-1 << 40, i32::MIN), (-7, -7)] {
            assert_eq!(GaussianNoise::sent(noisy), end.to_le_bytes());
        }
    }
}
