//! R_2 (Duchi, Jordan, Wainwright 2018; the sign mechanism of LDP-SGD): vectors of l₂ norm at most r; a random direction, by its seed, and one bit. 17 bytes at any dimension.
//!
//! ```text
//! u = ±x/‖x‖, + with probability 1/2 + ‖x‖/(2r);   V uniform on the sphere;   s = sign⟨V, u⟩, kept with probability E/(E+1)
//! decode  s B V,   B = r C √π Γ((d+1)/2)/Γ(d/2),  C = (E+1)/(E−1);       E‖decoded‖² = B²
//! ```
//!
//! V does not depend on the value, and given V the bit is protected by binary randomized response: at opposite vectors it *is* that, and the accountant is told so. Privacy rests on the coin alone, not on the generator of V.

use crate::coin::{Coin, round_up};
use crate::domain;
use crate::error::Error;
use crate::random::Random;
use crate::randomizer::Randomizer;
use crate::sphere::{SEED, direction, inner, norm};
use crate::vector::{self, VectorEstimate, VectorSum};
use crate::wire;
use shuffledp_accounting::Mechanism;
use shuffledp_numerics::special::ln_gamma;

/// A direction and a bit.
#[derive(Clone, Debug)]
pub struct R2 {
    dimension: usize,
    radius: f64,
    mechanism: Mechanism,
    truth: Coin,
}

impl R2 {
    /// Vectors of `dimension` coordinates and norm at most `radius`.
    pub fn new(dimension: usize, radius: f64, epsilon0: f64) -> Result<Self, Error> {
        vector::shape(dimension, radius)?;
        domain::epsilon0(epsilon0, 100.0)?;
        Ok(Self {
            dimension,
            radius,
            mechanism: Mechanism::binary_response(epsilon0)?,
            truth: Coin::shy(epsilon0.exp(), 1.0),
        })
    }

    /// B.
    pub fn scale(&self) -> f64 {
        let d = self.dimension as f64;
        let gain = self.truth.probability() - self.truth.complement();
        let ratio = (ln_gamma(0.5 * (d + 1.0)) - ln_gamma(0.5 * d)).exp();
        self.radius / gain * std::f64::consts::PI.sqrt() * ratio
    }

    /// Seed and bit, checked.
    fn opened(&self, report: &[u8]) -> Result<([u8; SEED], bool), Error> {
        wire::sized(report, self.report_length())?;
        let mut seed = [0; SEED];
        seed.copy_from_slice(&report[..SEED]);
        Ok((seed, wire::get(&report[SEED..], 2)? == 1))
    }
}

/// The probability of keeping the sign of a value of this norm.
pub(crate) fn upright(norm: f64, radius: f64) -> f64 {
    (0.5 + 0.5 * norm / radius).min(1.0)
}

/// The side of a direction that a value is on; the zero vector counts as the first unit vector.
pub(crate) fn side(direction: &[f32], value: &[f32], norm: f64) -> f64 {
    if norm > 0.0 {
        inner(direction, value) / norm
    } else {
        f64::from(direction[0])
    }
}

impl Randomizer for R2 {
    type Value = [f32];
    type Tally = VectorSum;
    type Estimate = VectorEstimate;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        SEED + 1
    }

    fn check(&self, value: &[f32]) -> Result<(), Error> {
        vector::within(value, self.dimension, norm(value), self.radius)
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        let mut seed = [0; SEED];
        random.fill(&mut seed);
        let size = norm(value);
        let above = side(&direction(&seed, self.dimension), value, size) >= 0.0;
        let kept = round_up(upright(size, self.radius), random) == self.truth.toss(random);
        report[..SEED].copy_from_slice(&seed);
        wire::put(u64::from(above == kept), &mut report[SEED..]);
    }

    /// The sum of ±V.
    fn tally(&self) -> VectorSum {
        VectorSum::new(self.dimension)
    }

    fn add(&self, report: &[u8], tally: &mut VectorSum) -> Result<(), Error> {
        let (seed, bit) = self.opened(report)?;
        let sign = if bit { 1.0 } else { -1.0 };
        for (sum, v) in tally.total.iter_mut().zip(direction(&seed, self.dimension)) {
            *sum += sign * f64::from(v);
        }
        tally.reports += 1;
        Ok(())
    }

    fn estimate(&self, tally: &VectorSum) -> VectorEstimate {
        let (n, scale) = (tally.reports as f64, self.scale());
        VectorEstimate {
            mean: tally.total.iter().map(|sum| scale * sum / n).collect(),
            variance: scale * scale / n,
        }
    }

    fn variance(&self, value: &[f32]) -> f64 {
        self.scale().powi(2) - norm(value).powi(2)
    }

    fn influence(&self) -> f64 {
        self.scale()
    }

    /// Given its seed: seeds are uniform, and the same for all values.
    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let (seed, bit) = self.opened(report).ok()?;
        let size = norm(value);
        let above = side(&direction(&seed, self.dimension), value, size) >= 0.0;
        let level = upright(size, self.radius);
        let (p, q) = (self.truth.probability(), self.truth.complement());
        let same = level * p + (1.0 - level) * q;
        Some(if above == bit { same } else { 1.0 - same })
    }
}
