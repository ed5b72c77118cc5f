//! Directions from seeds: 16 bytes stand for a point of the unit sphere of any dimension, the same on the device and at the analyzer.
//!
//! ```text
//! ChaCha20 with the key seed ‖ 0¹²⁸, 32-bit words w₁, w₂, …      vᵢ = √2 erf⁻¹((2⌊wᵢ/2⁸⌋ + 1)/2²⁴ − 1)      v/‖v‖
//! ```
//!
//! One word for each coordinate, so that rounding cannot put the two ends out of step. Normal numbers of 24 bits: none beyond 5.4, and a variance of 1 to 2e-7. No guarantee rests on them, only the last digits of an estimate.

use crate::error::Error;
use crate::wire;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use shuffledp_numerics::special::erf_inv;

/// Bytes of a seed.
pub(crate) const SEED: usize = 16;

/// The direction of a seed.
pub(crate) fn direction(seed: &[u8; SEED], dimension: usize) -> Vec<f32> {
    let mut key = [0; 32];
    key[..SEED].copy_from_slice(seed);
    let mut stream = ChaCha20Rng::from_seed(key);
    let mut point = Vec::with_capacity(dimension);
    let mut square = 0.0f64;
    for _ in 0..dimension {
        let cell = stream.next_u32() >> 8;
        // Odd over 2²⁴, in (−1, 1): exact in single precision.
        let centre = (2 * cell as i32 + 1 - (1 << 24)) as f32 / (1 << 24) as f32;
        let normal = std::f32::consts::SQRT_2 * erf_inv(centre);
        square += f64::from(normal) * f64::from(normal);
        point.push(normal);
    }
    // No coordinate is zero, so the norm is not.
    let scale = (1.0 / square.sqrt()) as f32;
    point.iter_mut().for_each(|x| *x *= scale);
    point
}

/// ⟨v, x⟩.
pub(crate) fn inner(direction: &[f32], value: &[f32]) -> f64 {
    direction
        .iter()
        .zip(value)
        .map(|(v, x)| f64::from(*v) * f64::from(*x))
        .sum()
}

/// ‖x‖₂.
pub(crate) fn norm(value: &[f32]) -> f64 {
    inner(value, value).sqrt()
}

/// The probability of keeping the sign of a value of this norm, so that what is sent has the value for its mean.
pub(crate) fn upright(norm: f64, radius: f64) -> f64 {
    (0.5 + 0.5 * norm / radius).min(1.0)
}

/// The cosine between a direction and a value; the zero vector counts as the first unit vector.
pub(crate) fn side(direction: &[f32], value: &[f32], norm: f64) -> f64 {
    if norm > 0.0 {
        inner(direction, value) / norm
    } else {
        f64::from(direction[0])
    }
}

/// The seed that a report is, or begins with.
pub(crate) fn seed(bytes: &[u8]) -> Result<[u8; SEED], Error> {
    wire::sized(bytes, SEED)?;
    let mut seed = [0; SEED];
    seed.copy_from_slice(bytes);
    Ok(seed)
}

/// Adds the direction of a seed, or its opposite, to sums.
pub(crate) fn add_direction(seed: &[u8; SEED], sign: f64, sums: &mut [f64]) {
    let direction = direction(seed, sums.len());
    for (sum, v) in sums.iter_mut().zip(direction) {
        *sum += sign * f64::from(v);
    }
}
