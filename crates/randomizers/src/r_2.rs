//! R_2 (Duchi, Jordan, Wainwright 2018; the sign mechanism of LDP-SGD): vectors of l₂ norm at most r; a
//! random direction, by its seed, and one bit. 17 bytes at any dimension.
//!
//! ```text
//! u = ±x/‖x‖, + with probability 1/2 + ‖x‖/(2r);   V uniform on the sphere;   s = sign⟨V, u⟩, kept with probability E/(E+1)
//! decode  s B V,   B = r C √π Γ((d+1)/2)/Γ(d/2),  C = (E+1)/(E−1);       E‖decoded‖² = B²
//! ```
//!
//! V does not depend on the value, and given V the bit is protected by binary randomized response: at
//! opposite vectors it *is* that, and the accountant is told so. Privacy rests on the coin alone, not on the
//! generator of V.

use crate::coin::{Coin, round_up};
use crate::device::{Device, dimension};
use crate::domain;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::random::Random;
use crate::sphere::{SEED, norm, quick_direction, seed, side, upright};
use crate::vector::{Ball, Shape, Vectors};
use crate::wire;
use shuffledp_accounting::{Mechanism, RandomizerSpec, VectorNorm};
use shuffledp_numerics::special::ln_gamma;

/// A direction and a bit.
pub type R2 = Vectors<SignedDirection>;

/// How it draws and what it stands for.
#[derive(Clone, Debug)]
pub struct SignedDirection {
    shape: Shape,
    mechanism: Mechanism,
    truth: Coin,
}

impl R2 {
    /// Vectors of `dimension` coordinates and norm at most `radius`.
    pub fn new(dimension: usize, radius: f64, epsilon0: f64) -> Result<Self, Error> {
        domain::epsilon0(epsilon0, 100.0)?;
        Ok(Self(SignedDirection {
            shape: Shape::new(dimension, radius)?,
            mechanism: Mechanism::one_bit_vector(VectorNorm::L2, epsilon0)?,
            truth: Coin::at_most(epsilon0.exp(), 1.0),
        }))
    }
}

impl SignedDirection {
    /// Seed and bit, checked.
    fn opened(&self, report: &[u8]) -> Result<([u8; SEED], bool), Error> {
        wire::sized(report, self.report_length())?;
        let (first, last) = report.split_at(SEED);
        Ok((seed(first)?, wire::get(last, 2)? == 1))
    }

    /// Whether a direction is on the value's side, once a seed's has been put in place of what it held.
    fn above(&self, seed: &[u8; SEED], value: &[f32], size: f64, direction: &mut [f32]) -> bool {
        quick_direction(seed, direction);
        side(direction, value, size) >= 0.0
    }

    /// A seed and a bit, and the seed's direction.
    fn drawn<R: Random + ?Sized>(
        &self,
        value: &[f32],
        random: &mut R,
        direction: &mut [f32],
    ) -> ([u8; SEED], bool) {
        let mut seed = [0; SEED];
        random.fill(&mut seed);
        let size = norm(value);
        let above = self.above(&seed, value, size, direction);
        let kept = round_up(upright(size, self.shape.radius), random) == self.truth.toss(random);
        (seed, above == kept)
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = R2::new(dimension(spec), radius, spec.epsilon0()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}

impl Ball for SignedDirection {
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
        SEED + 1
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        let (seed, bit) = self.drawn(value, random, &mut vec![0.0; value.len()]);
        report[..SEED].copy_from_slice(&seed);
        wire::put(u64::from(bit), &mut report[SEED..]);
    }

    fn add(&self, report: &[u8], sums: &mut [f64]) -> Result<(), Error> {
        let (seed, bit) = self.opened(report)?;
        let mut direction = vec![0.0; sums.len()];
        quick_direction(&seed, &mut direction);
        add_signed(&direction, bit, sums);
        Ok(())
    }

    /// The direction is at hand, so it is not drawn again.
    fn contribute<R: Random + ?Sized>(
        &self,
        value: &[f32],
        random: &mut R,
        sums: &mut [f64],
    ) -> Result<(), Error> {
        let mut direction = vec![0.0; value.len()];
        let (_, bit) = self.drawn(value, random, &mut direction);
        add_signed(&direction, bit, sums);
        Ok(())
    }

    /// B.
    fn length(&self) -> f64 {
        let d = self.shape.dimension as f64;
        let gain = self.truth.probability() - self.truth.complement();
        let ratio = (ln_gamma(0.5 * (d + 1.0)) - ln_gamma(0.5 * d)).exp();
        self.shape.radius / gain * std::f64::consts::PI.sqrt() * ratio
    }

    /// Given its seed: seeds are uniform, and the same for all values.
    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let (seed, bit) = self.opened(report).ok()?;
        let size = norm(value);
        let above = self.above(&seed, value, size, &mut vec![0.0; value.len()]);
        let level = upright(size, self.shape.radius);
        let (p, q) = (self.truth.probability(), self.truth.complement());
        let same = level * p + (1.0 - level) * q;
        Some(if above == bit { same } else { 1.0 - same })
    }
}

/// Adds a direction, or its opposite.
fn add_signed(direction: &[f32], bit: bool, sums: &mut [f64]) {
    let sign = if bit { 1.0 } else { -1.0 };
    for (sum, v) in sums.iter_mut().zip(direction) {
        *sum += sign * f64::from(*v);
    }
}
