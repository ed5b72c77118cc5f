//! Shares of noise for a sum that nobody sees the terms of: integer levels of a vector in the l₂ ball of
//! radius r, plus discrete Gaussian noise.
//!
//! ```text
//! K levels to the radius;   X_i = K x_i/r, truncated towards zero, ΣX_i² ≤ K² in integers
//! share  X_i + Z_i,   P[Z_i = z] ∝ e^{−z²/2s²}, s = ⌈σK⌉
//! ```
//!
//! A sum of discrete Gaussians is not a discrete Gaussian. The accountant prices the sum of k shares as what
//! it is (`discrete-gaussian-sum`), within a factor e^{±τ} of a discrete Gaussian; shares are drawn exactly.
//! A share is no report: alone it protects next to nothing, so that this is not a
//! [`Randomizer`](crate::Randomizer) and no shuffler is given one.

use crate::error::Error;
use crate::sample::levels::inside;
use crate::sample::noise::{MOST_SCALE, discrete_gaussian};
use crate::sample::random::Random;
use crate::sample::sphere::norm;
use crate::vector::Shape;
use shuffledp_accounting::Mechanism;

/// Shares of discrete Gaussian noise on vectors.
///
/// ```
/// use shuffledp_randomizers::{NoiseShares, Secure};
/// let shares = NoiseShares::new(2, 1.0, 0.5, 100)?;
/// let mut random = Secure::new()?;
/// let (mut sum, mut share) = ([0; 2], [0; 2]);
/// for _ in 0..1000 {
///     shares.draw(&[0.6, -0.8], &mut random, &mut share)?;
///     sum.iter_mut().zip(share).for_each(|(sum, share)| *sum += share);
/// }
/// let mean = shares.decoded(&sum, 1000);
/// assert!((mean[0] - 0.6).abs() < 0.15 && (mean[1] + 0.8).abs() < 0.15);
/// # Ok::<(), shuffledp_randomizers::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NoiseShares {
    shape: Shape,
    /// K.
    levels: u64,
    /// s.
    scale: u64,
}

impl NoiseShares {
    /// Shares of a standard deviation of `sigma`, in units of the radius and rounded up to the grid, for
    /// vectors of `dimension` coordinates; `levels` steps of the grid to the radius.
    pub fn new(dimension: usize, radius: f64, sigma: f64, levels: u64) -> Result<Self, Error> {
        let shape = Shape::new(dimension, radius)?;
        // Refuses what cannot be priced.
        Mechanism::discrete_gaussian_sum(sigma, levels, dimension as u64)?;
        let scale = (sigma * levels as f64).ceil();
        if scale > MOST_SCALE as f64 {
            return Err(Error::Parameter {
                parameter: "sigma",
                value: sigma.to_string(),
                allowed: format!("at most 2^24 steps of the grid, of which {levels} are 1"),
            });
        }
        Ok(Self {
            shape,
            levels,
            scale: scale as u64,
        })
    }

    /// K, the steps of the grid to the radius.
    pub fn levels(&self) -> u64 {
        self.levels
    }

    /// s, the standard deviation of a share's noise in steps of the grid.
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// The mechanism that the sum is priced as where at least this fraction of the shares of those who took
    /// part is in it.
    ///
    /// At least a fraction f of k shares is priced as k shares of scale s√f. The price is that of a normal
    /// variable of the variance of the sum and of the distance τ to it (`secure_sum/noise.rs`). The variance
    /// is not larger than that of fk shares or more, and τ is not smaller: it has a term for every share, and
    /// each term falls with the scale.
    pub fn mechanism(&self, fraction: f64) -> Result<Mechanism, Error> {
        if !(fraction > 0.0 && fraction <= 1.0) {
            return Err(Error::Parameter {
                parameter: "quorum",
                value: fraction.to_string(),
                allowed: "(0, 1]".into(),
            });
        }
        /// Far above the rounding of a quotient and a root, far below what is printed.
        const ROUNDING: f64 = 1e-14;
        let factor = match fraction < 1.0 {
            true => fraction.sqrt() * (1.0 - ROUNDING),
            false => 1.0,
        };
        let sigma = self.scale as f64 / self.levels as f64 * factor;
        let d = self.shape.dimension as u64;
        Ok(Mechanism::discrete_gaussian_sum(sigma, self.levels, d)?)
    }

    /// Draws the share of a vector within the ball.
    pub fn draw<R: Random + ?Sized>(
        &self,
        value: &[f32],
        random: &mut R,
        share: &mut [i64],
    ) -> Result<(), Error> {
        self.shape.holds(value, norm(value))?;
        if share.len() != value.len() {
            return Err(Error::Value {
                value: format!("a share of {} coordinates", share.len()),
                allowed: format!("shares of {} coordinates", value.len()),
            });
        }
        let square = |level: f64| level * level;
        let levels = inside(value, self.steps(), self.levels * self.levels, square);
        for (share, level) in share.iter_mut().zip(levels) {
            *share = level + discrete_gaussian(self.scale, random);
        }
        Ok(())
    }

    /// The mean of the vectors of so many shares, from their sum.
    pub fn decoded(&self, sum: &[i64], shares: u64) -> Vec<f64> {
        let unit = 1.0 / (self.steps() * shares as f64);
        sum.iter().map(|sum| *sum as f64 * unit).collect()
    }

    /// Steps of the grid to a length of 1, less 1e-12 of them, so that rounding does not lead out of the
    /// ball.
    fn steps(&self) -> f64 {
        self.levels as f64 / self.shape.radius * (1.0 - 1e-12)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::NoiseShares;
    use crate::sample::random::Simulated;
    use shuffledp_accounting::{Delta, Mechanism, Round, account};

    /// The noise of a sum of three narrow shares against the convolution of their laws.
    #[test]
    fn a_sum_of_shares_has_the_law_of_their_convolution() {
        let shares = NoiseShares::new(2, 2.0, 0.25, 4).unwrap();
        assert_eq!((shares.scale(), shares.levels()), (1, 4));
        let one: Vec<f64> = (-12i32..=12)
            .map(|z| (-0.5 * f64::from(z * z)).exp())
            .collect();
        let total: f64 = one.iter().sum();
        let mut law = vec![0.0; 73];
        for (i, p) in one.iter().enumerate() {
            for (j, q) in one.iter().enumerate() {
                for (k, r) in one.iter().enumerate() {
                    law[i + j + k] += p * q * r / total.powi(3);
                }
            }
        }
        let mut random = Simulated::new(21, 0);
        let mut counts = vec![0u32; 73];
        let (draws, mut share) = (200_000, [0i64; 2]);
        for _ in 0..draws {
            let mut sum = 0;
            // Levels −3, 2 and 0: −1.5, 1 and 0.4 at four steps to a radius of 2.
            for value in [[-1.500_001, 0.0], [1.000_001, 0.1], [0.4, -1.9]] {
                shares.draw(&value, &mut random, &mut share).unwrap();
                sum += share[0];
            }
            counts[(sum + 1 + 36) as usize] += 1;
        }
        let cells: Vec<(f64, f64)> = law
            .iter()
            .zip(counts)
            .map(|(p, count)| (p * f64::from(draws), f64::from(count)))
            .filter(|(expected, _)| *expected > 10.0)
            .collect();
        let chi: f64 = cells.iter().map(|(e, count)| (count - e).powi(2) / e).sum();
        let freedom = cells.len() as f64;
        assert!(
            chi < freedom + 5.0 * (2.0 * freedom).sqrt(),
            "{chi} of {freedom}"
        );
    }

    /// What a fraction of the shares is priced as costs no less than that many shares, and hardly more.
    #[test]
    fn a_part_of_the_shares_is_priced_as_that_many() {
        let delta = Delta::new(1e-6).unwrap();
        let epsilon = |mechanism: Mechanism, users: u64| {
            let round = Round::new(mechanism, users).unwrap();
            account(&round)
                .unwrap()
                .epsilon(delta)
                .unwrap()
                .upper()
                .value()
        };
        for (sigma, levels) in [(1.0, 64), (0.5, 4)] {
            let shares = NoiseShares::new(10, 1.0, sigma, levels).unwrap();
            let whole = shares.mechanism(1.0).unwrap();
            let part = shares.mechanism(0.75).unwrap();
            let (least, most) = (epsilon(whole.clone(), 75), epsilon(whole, 100));
            let said = epsilon(part, 100);
            assert!(said >= least && said < 1.001 * least, "{said} {least}");
            assert!(least > 1.1 * most);
        }
        let shares = NoiseShares::new(10, 1.0, 1.0, 64).unwrap();
        assert!(shares.mechanism(0.0).is_err() && shares.mechanism(1.1).is_err());
        assert!(NoiseShares::new(10, 1.0, 1e4, 1 << 20).is_err());
    }
}
