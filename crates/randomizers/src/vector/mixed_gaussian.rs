//! The blanket-mixed Gaussian on vectors of l₂ norm at most r: Gaussian noise around the vector or, with
//! probability b, around zero, on the grid of [`super::gaussian`].
//!
//! ```text
//! report  cX_i + ⌊2¹⁶ N_i⌋,   c = 0 with probability b, else 1
//! decode  (report + 1/2) g/(1 − b);       E‖decoded − x‖² = (d σ² r² + b(1 − b) |x|²)/(1 − b)²
//! ```
//!
//! Source: *Shuffling-aware optimization for private vector mean estimation*, 2026 (arXiv 2604.28032). The
//! coin c has integer odds, and zero is never rarer than b: a device that sends noise around zero more often
//! is this one with some of its reports replaced, so every bound for b holds for it. A report has the
//! format of a Gaussian report. Both sides of the coin draw the same noise.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::Coin;
use crate::sample::random::Random;
use crate::vector::gaussian::GaussianNoise;
use crate::vector::{Ball, GaussianVector, Shape, Vectors};
use shuffledp_accounting::{Mechanism, RandomizerSpec};

/// Gaussian noise around the vector, or around zero.
pub type MixedGaussian = Vectors<MixedNoise>;

/// The distribution of reports of [`MixedGaussian`].
#[derive(Clone, Debug)]
pub struct MixedNoise {
    noise: GaussianNoise,
    mechanism: Mechanism,
    /// Heads: the report is about the vector.
    about_the_vector: Coin,
}

impl MixedGaussian {
    /// Noise on vectors of `dimension` coordinates and l₂ norm at most `radius`. Its standard deviation is
    /// `sigma`, from 0.3 to 200, in units of the radius; it is around zero with probability `blanket`.
    ///
    /// ```
    /// use shuffledp_randomizers::{MixedGaussian, Randomizer, Secure};
    /// let randomizer = MixedGaussian::new(3, 2.0, 0.5, 0.4)?;
    /// let (mut random, mut tally) = (Secure::new()?, randomizer.tally());
    /// let mut report = vec![0; randomizer.report_length()];
    /// for _ in 0..1000 {
    ///     randomizer.randomize(&[0.0, 1.6, -1.2], &mut random, &mut report)?;
    ///     randomizer.add(&report, &mut tally)?;
    /// }
    /// let estimate = randomizer.estimate(&tally);
    /// assert!((estimate.mean[1] - 1.6).abs() < 8.0 * estimate.variance.sqrt());
    /// # Ok::<(), shuffledp_randomizers::Error>(())
    /// ```
    pub fn new(dimension: usize, radius: f64, sigma: f64, blanket: f64) -> Result<Self, Error> {
        let noise = GaussianVector::new(dimension, radius, sigma)?.0;
        // Refuses a blanket outside its domain, where a coin would have no odds.
        let mechanism = Mechanism::mixed_gaussian(sigma, blanket)?;
        Ok(Self(MixedNoise {
            noise,
            mechanism,
            about_the_vector: Coin::at_most(1.0 - blanket, blanket),
        }))
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = MixedGaussian::new(dimension(spec), radius, spec.sigma()?, spec.blanket()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}

impl MixedNoise {
    /// 1 − b.
    fn share(&self) -> f64 {
        self.about_the_vector.probability()
    }

    /// The vector whose noise is sent: the user's or zero.
    fn center<R: Random + ?Sized>(&self, value: &[f32], random: &mut R) -> Vec<f32> {
        let kept = f32::from(u8::from(self.about_the_vector.toss(random)));
        value.iter().map(|x| kept * x).collect()
    }

    /// The expected squared distance of a decoded report to a vector of this squared norm.
    fn square(&self, norm: f64) -> f64 {
        let (share, blanket) = (self.share(), self.about_the_vector.complement());
        (self.noise.length().powi(2) + share * blanket * norm) / share.powi(2)
    }
}

impl Ball for MixedNoise {
    const SETTLES: bool = true;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn shape(&self) -> Shape {
        self.noise.shape()
    }

    fn norm(&self, value: &[f32]) -> f64 {
        self.noise.norm(value)
    }

    fn report_length(&self) -> usize {
        self.noise.report_length()
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        let center = self.center(value, random);
        self.noise.draw(&center, random, report);
    }

    fn add(&self, report: &[u8], sums: &mut [f64]) -> Result<(), Error> {
        self.noise.add(report, sums)
    }

    /// Adds the levels of the vector or of zero; [`Ball::settle`] adds the noise of all contributions.
    fn contribute<R: Random + ?Sized>(
        &self,
        value: &[f32],
        random: &mut R,
        sums: &mut [f64],
    ) -> Result<(), Error> {
        let center = self.center(value, random);
        self.noise.contribute(&center, random, sums)
    }

    fn settle<R: Random + ?Sized>(&self, reports: u64, random: &mut R, sums: &mut [f64]) {
        self.noise.settle(reports, random, sums);
    }

    /// The root of the largest variance, that of a vector of norm r.
    fn length(&self) -> f64 {
        self.square(self.noise.shape().radius.powi(2)).sqrt()
    }

    fn decoded(&self, sums: &[f64]) -> Vec<f64> {
        let share = self.share();
        let mut decoded = self.noise.decoded(sums);
        decoded.iter_mut().for_each(|sum| *sum /= share);
        decoded
    }

    fn variance(&self, value: &[f32]) -> f64 {
        self.square(self.noise.norm(value).powi(2))
    }

    /// The noise is unbounded.
    fn influence(&self) -> f64 {
        f64::INFINITY
    }

    /// None, as for Gaussian noise.
    fn probability(&self, _: &[f32], _: &[u8]) -> Option<f64> {
        None
    }

    /// The density divided by that of noise around zero.
    fn likelihood(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let around_the_vector = self.noise.likelihood(value, report)?;
        Some(self.share() * around_the_vector + self.about_the_vector.complement())
    }
}
