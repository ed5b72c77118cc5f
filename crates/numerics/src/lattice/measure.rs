//! A finite measure on a lattice, and its exponential tilting.
//!
//! ```text
//! φ(c) = Σ p e^{cx},     tilted masses p e^{cx}/φ(c)
//! ```

use crate::rounding::ROUNDING;
use crate::special::{exp, ln};

/// Number of neighboring entries that share one evaluation of an exponential or of a sine: the others are
/// products of two numbers from tables.
pub(super) const CHUNK: usize = 64;
/// Bound on the rounding error of one such product, in units of [`ROUNDING`].
pub(super) const PRODUCT: f64 = 4.0;
/// The number of independent partial sums: as many as wide vector registers hold doubles.
pub(super) const LANES: usize = 8;

/// A finite measure on the multiples of 2^k.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    pub(super) step: f64,
    pub(super) first: i64,
    masses: Vec<f64>,
}

impl Measure {
    /// `masses[i]` at (`first` + i)·2^`exponent`; `None` unless all are finite and not negative, and one is
    /// positive.
    ///
    /// ```
    /// use shuffledp_numerics::lattice::Measure;
    /// let coin = Measure::new(-1, -1, vec![0.5, 0.0, 0.5]).unwrap();
    /// assert_eq!((coin.step(), coin.mass(), coin.largest()), (0.5, 1.0, 0.5));
    /// ```
    pub fn new(exponent: i32, first: i64, masses: Vec<f64>) -> Option<Self> {
        let start = masses.iter().position(|&mass| mass != 0.0)?;
        let end = masses.iter().rposition(|&mass| mass != 0.0)?;
        let valid = |mass: &f64| *mass >= 0.0 && mass.is_finite();
        if !masses.iter().all(valid) || !(-900..=20).contains(&exponent) {
            return None;
        }
        Some(Self {
            step: 2f64.powi(exponent),
            first: first + start as i64,
            masses: masses[start..=end].to_vec(),
        })
    }

    /// The lattice's step, a power of two.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// (value, mass) in rising order.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        // Exact: a small integer times a power of two.
        self.masses
            .iter()
            .enumerate()
            .map(|(i, &mass)| ((self.first + i as i64) as f64 * self.step, mass))
    }

    /// The total mass.
    pub fn mass(&self) -> f64 {
        self.masses.iter().sum()
    }

    /// The largest value with mass.
    pub fn largest(&self) -> f64 {
        (self.first + self.masses.len() as i64 - 1) as f64 * self.step
    }

    /// Number of lattice points between the smallest and the largest value.
    pub fn points(&self) -> usize {
        self.masses.len()
    }

    /// ln φ(c), with a bound on its error, and mean and variance of the tilted measure.
    pub fn tilt(&self, c: f64) -> Tilt {
        self.tilt_of(c, &self.tilted(c))
    }

    /// p e^{cx − top} for all points. Products go down from each chunk's largest exponent, so that nothing
    /// overflows.
    pub(super) fn tilted(&self, c: f64) -> Vec<f64> {
        let top = self.top(c);
        let mut powers = [0.0; CHUNK];
        for (j, power) in powers.iter_mut().enumerate() {
            *power = exp(-c.abs() * self.step * j as f64);
        }
        if c >= 0.0 {
            powers.reverse();
        }
        let mut weights = Vec::with_capacity(self.masses.len());
        for (chunk, masses) in self.masses.chunks(CHUNK).enumerate() {
            let anchor = chunk * CHUNK + if c >= 0.0 { masses.len() - 1 } else { 0 };
            let scale = exp(c * (self.first + anchor as i64) as f64 * self.step - top);
            let from = if c >= 0.0 { CHUNK - masses.len() } else { 0 };
            weights.extend(
                masses
                    .iter()
                    .zip(&powers[from..])
                    .map(|(p, power)| p * (scale * power)),
            );
        }
        weights
    }

    /// [`Measure::tilt`] from tilted weights that are already computed.
    pub(super) fn tilt_of(&self, c: f64, weights: &[f64]) -> Tilt {
        let first = self.first as f64;
        let mass = sum_with(weights, |_| 1.0);
        let mean_index = sum_with(weights, |i| i) / mass;
        let square = sum_with(weights, |i| (i - mean_index) * (i - mean_index)) / mass;
        let size = sum_with(weights, |i| (first + i).abs()) / mass * (c.abs() * self.step);
        let top = self.top(c);
        Tilt {
            ln_moment: top + ln(mass),
            mean: (first + mean_index) * self.step,
            variance: square * self.step * self.step,
            error: ROUNDING * (PRODUCT + self.summation() + size + top.abs()),
        }
    }

    /// The largest exponent c·x.
    fn top(&self, c: f64) -> f64 {
        (c * self.largest()).max(c * self.first as f64 * self.step)
    }

    /// Rounding of a plain sum of this many positive terms, in units of [`ROUNDING`].
    fn summation(&self) -> f64 {
        2.0 + self.masses.len() as f64 / 8.0
    }
}

/// Σ weight·f(index), in several partial sums.
pub(super) fn sum_with(weights: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let chunks = weights.chunks_exact(LANES);
    let rest = chunks.remainder();
    let mut index = 0.0;
    for chunk in chunks {
        for (j, (lane, weight)) in lanes.iter_mut().zip(chunk).enumerate() {
            *lane += weight * f(index + j as f64);
        }
        index += LANES as f64;
    }
    for (j, weight) in rest.iter().enumerate() {
        lanes[j] += weight * f(index + j as f64);
    }
    lanes.iter().sum()
}

/// The result of [`Measure::tilt`].
#[derive(Clone, Copy, Debug)]
pub struct Tilt {
    /// ln Σ p e^{cx}.
    pub ln_moment: f64,
    /// Mean of the tilted measure.
    pub mean: f64,
    /// Variance of the tilted measure.
    pub variance: f64,
    /// Bound on the error of `ln_moment`.
    pub error: f64,
}
