//! Laplace noise on vectors of l₁ norm at most r, on a grid: integer levels plus two-sided geometric noise,
//! exactly.
//!
//! ```text
//! K = 2²⁰ levels in the radius;   X_i = x_i K/r, truncated towards zero, Σ|X_i| ≤ K in integers
//! report  X_i + Z_i,   P[Z = z] ∝ α^|z|,   α = e^{−t/2⁴⁸},   t = ⌊ε₀ 2⁴⁸/(2K)⌋
//! Var Z = 2α/(1−α)²;     decode  (X + Z) r/K;      E‖decoded − x‖² = d r²/K² Var Z,  about 8 d r²/ε₀²
//! ```
//!
//! Levels of two vectors are at most 2K apart in l₁ (`sample::levels`), so no report is more than
//! e^{2Kt/2⁴⁸} ≤ e^ε₀ times as likely for one as for the other: ε₀-LDP without any rounding. The accountant
//! has no exact distribution for it and uses the bounds of any ε₀-LDP randomizer. The noise has no bias;
//! truncation moves a coordinate by less than r/2²⁰ towards zero. A report has eight bytes per coordinate.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::levels::inside;
use crate::sample::noise;
use crate::sample::random::Random;
use crate::vector::one_bit::Measured;
use crate::vector::one_bit::r_1::Transform;
use crate::vector::{Ball, Shape, Vectors};
use crate::wire;
use shuffledp_accounting::{Mechanism, RandomizerSpec};

/// Levels in the radius, K: truncation is a millionth of the radius, far below the noise.
const LEVELS: u64 = 1 << 20;
/// The denominator of rates: the smallest ε₀, 0.01, has a rate above 10⁶, so rounding it down costs less than
/// a millionth, and noise of 2¹⁶ units still fits in 64 bits.
const UNIT: u64 = 1 << 48;
/// Bytes of a coordinate.
const WIDTH: usize = 8;

/// Laplace noise on every coordinate.
pub type LaplaceVector = Vectors<LaplaceNoise>;

/// The distribution of reports of [`LaplaceVector`].
#[derive(Clone, Debug)]
pub struct LaplaceNoise {
    shape: Shape,
    mechanism: Mechanism,
    /// K/r, less 1e-12 of itself, so that rounding in the division does not lead out of the ball.
    scale: f64,
    rate: u64,
}

impl LaplaceVector {
    /// Noise on vectors of `dimension` coordinates and l₁ norm at most `radius`; ε₀ from 0.01 to 100.
    ///
    /// ```
    /// use shuffledp_randomizers::{LaplaceVector, Randomizer, Secure};
    /// let randomizer = LaplaceVector::new(3, 2.0, 4.0)?;
    /// let (mut random, mut tally) = (Secure::new()?, randomizer.tally());
    /// let mut report = vec![0; randomizer.report_length()];
    /// assert_eq!(report.len(), 24);
    /// for _ in 0..1000 {
    ///     randomizer.randomize(&[0.0, 1.5, -0.5], &mut random, &mut report)?;
    ///     randomizer.add(&report, &mut tally)?;
    /// }
    /// let estimate = randomizer.estimate(&tally);
    /// assert!((estimate.mean[1] - 1.5).abs() < 8.0 * estimate.variance.sqrt());
    /// # Ok::<(), shuffledp_randomizers::Error>(())
    /// ```
    pub fn new(dimension: usize, radius: f64, epsilon0: f64) -> Result<Self, Error> {
        let shape = Shape::new(dimension, radius)?;
        if !(0.01..=100.0).contains(&epsilon0) {
            return Err(Error::Parameter {
                parameter: "epsilon0",
                value: epsilon0.to_string(),
                allowed: "[0.01, 100] for a device".into(),
            });
        }
        Ok(Self(LaplaceNoise {
            shape,
            mechanism: Mechanism::some_ldp(epsilon0)?,
            scale: LEVELS as f64 / radius * (1.0 - 1e-12),
            // Multiplication by a power of two is exact: only `floor` rounds.
            rate: (epsilon0 * (UNIT / (2 * LEVELS)) as f64).floor() as u64,
        }))
    }
}

impl LaplaceNoise {
    /// The levels of a vector, X.
    fn levels(&self, value: &[f32]) -> impl Iterator<Item = i64> {
        inside(value, self.scale, LEVELS, f64::abs)
    }

    /// The rate of the noise, −ln α.
    fn rate(&self) -> f64 {
        self.rate as f64 / UNIT as f64
    }

    /// The noisy levels of a report.
    fn noisy<'a>(&self, report: &'a [u8]) -> Result<impl Iterator<Item = i64> + 'a, Error> {
        wire::sized(report, self.report_length())?;
        Ok(report.chunks_exact(WIDTH).map(|at| {
            let mut all = [0; WIDTH];
            all.copy_from_slice(at);
            i64::from_le_bytes(all)
        }))
    }

    /// Σ(|Z_i| − `less`(report_i)) over the noise Z that leads from this vector to this report.
    fn noise(&self, value: &[f32], report: &[u8], less: impl Fn(i64) -> f64) -> Option<f64> {
        let pairs = self.noisy(report).ok()?.zip(self.levels(value));
        let size = |(noisy, level): (i64, i64)| noisy.abs_diff(level) as f64 - less(noisy);
        Some(pairs.map(size).sum())
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = LaplaceVector::new(dimension(spec), radius, spec.epsilon0()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}

impl Ball for LaplaceNoise {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn norm(&self, value: &[f32]) -> f64 {
        Transform::norm(value)
    }

    fn report_length(&self) -> usize {
        WIDTH * self.shape.dimension
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        for (at, level) in report.chunks_exact_mut(WIDTH).zip(self.levels(value)) {
            let noisy = level.saturating_add(noise::two_sided(self.rate, UNIT, random));
            at.copy_from_slice(&noisy.to_le_bytes());
        }
    }

    fn add(&self, report: &[u8], sums: &mut [f64]) -> Result<(), Error> {
        for (sum, noisy) in sums.iter_mut().zip(self.noisy(report)?) {
            *sum += noisy as f64;
        }
        Ok(())
    }

    fn length(&self) -> f64 {
        // 2α/(1−α)² without cancellation.
        let one = 0.5 / (0.5 * self.rate()).sinh().powi(2);
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

    /// Underflows to zero in high dimension; [`Ball::likelihood`] does not.
    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let (d, rate) = (self.shape.dimension as f64, self.rate());
        let noise = self.noise(value, report, |_| 0.0)?;
        Some((d * (0.5 * rate).tanh().ln() - rate * noise).exp())
    }

    /// The probability divided by that for the zero vector: within e^{±ε₀/2} in any dimension.
    fn likelihood(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let beyond = self.noise(value, report, |noisy| noisy.unsigned_abs() as f64)?;
        Some((-self.rate() * beyond).exp())
    }
}
