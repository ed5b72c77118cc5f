//! Directions from seeds: a seed of 16 bytes determines a point of the unit sphere of any dimension, the same
//! on the device and at the analyzer.
//!
//! ```text
//! ChaCha20 with the key seed ‖ 0¹²⁸, 32-bit words w₁, w₂, …
//! vᵢ = √2 erf⁻¹((2⌊wᵢ/2⁸⌋ + 1)/2²⁴ − 1),      direction v/‖v‖
//! ```
//!
//! Each coordinate uses exactly one word, so rounding cannot make device and analyzer read different words.
//! The normal numbers have 24 bits: none exceeds 5.4, and their variance is 1 to within 2e-7.
//!
//! Where only the last digits of an estimate depend on the direction, and no guarantee, there is a faster one
//! ([`quick_direction`]):
//!
//! ```text
//! ChaCha8 with the same key, i = ⌊w/2²⁰⌋
//! v = qᵢ + (qᵢ₊₁ − qᵢ)(w mod 2²⁰)/2²⁰,    qᵢ the 4096-quantiles of the normal distribution, q₀ = −q₄₀₉₆
//! ```
//!
//! The outermost quantiles are finite, ±3.96487396, chosen so that the variance is 1. E|v| then has a
//! relative error of 5e-6, and so has an estimate in one direction relative to another.

use crate::error::Error;
use crate::wire;
use rand_chacha::{ChaCha8Rng, ChaCha20Rng};
use rand_core::{Rng, SeedableRng};
use shuffledp_numerics::special::erf_inv;
use std::sync::LazyLock;

/// Bytes of a seed: 128 bits, so that seeds are not guessed and practically never repeat.
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
        let center = (2 * cell as i32 + 1 - (1 << 24)) as f32 / (1 << 24) as f32;
        let normal = std::f32::consts::SQRT_2 * erf_inv(center);
        square += f64::from(normal) * f64::from(normal);
        point.push(normal);
    }
    // No coordinate is zero, so the norm is not.
    let scale = (1.0 / square.sqrt()) as f32;
    point.iter_mut().for_each(|x| *x *= scale);
    point
}

/// Cells of the faster normal distribution: the top 12 bits of a word, and a table of 32 KiB.
const CELLS: usize = 4096;
/// The outermost quantile: with it the variance is 1.
const END: f32 = 3.964_874;

/// The lower end and the width of every cell.
fn cells() -> &'static [(f32, f32)] {
    static CELLS_OF: LazyLock<Vec<(f32, f32)>> = LazyLock::new(|| {
        let quantile = |place: usize| match place {
            0 => -END,
            CELLS => END,
            // Exact in single precision.
            _ => std::f32::consts::SQRT_2 * erf_inv(place as f32 / (CELLS / 2) as f32 - 1.0),
        };
        let cell = |place| (quantile(place), quantile(place + 1) - quantile(place));
        (0..CELLS).map(cell).collect()
    });
    &CELLS_OF
}

/// Writes the faster direction of a seed into `point`.
pub(crate) fn quick_direction(seed: &[u8; SEED], point: &mut [f32]) {
    /// Words drawn at a time: 1 KiB on the stack, so that calls of the generator cost little.
    const TOGETHER: usize = 256;
    let mut key = [0; 32];
    key[..SEED].copy_from_slice(seed);
    let mut stream = ChaCha8Rng::from_seed(key);
    let mut bytes = [0; 4 * TOGETHER];
    let cells = cells();
    let mut squares = [0.0f64; 8];
    for part in point.chunks_mut(TOGETHER) {
        let bytes = &mut bytes[..4 * part.len()];
        stream.fill_bytes(bytes);
        for (v, word) in part.iter_mut().zip(bytes.chunks_exact(4)) {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            let (start, width) = cells[(word >> 20) as usize];
            *v = start + width * ((word & 0xf_ffff) as f32 / (1 << 20) as f32);
        }
        for lanes in part.chunks(8) {
            for (square, v) in squares.iter_mut().zip(lanes) {
                *square += f64::from(*v) * f64::from(*v);
            }
        }
    }
    // Zero is the lower end of a cell, so a coordinate is zero with probability 2⁻³²; all may be.
    let square: f64 = squares.iter().sum();
    let scale = if square > 0.0 {
        1.0 / square.sqrt()
    } else {
        0.0
    };
    point.iter_mut().for_each(|x| *x *= scale as f32);
}

/// ⟨v, x⟩, in eight partial sums that the compiler can vectorize.
pub(crate) fn inner(direction: &[f32], value: &[f32]) -> f64 {
    let mut sums = [0.0f64; 8];
    for (v, x) in direction.chunks(8).zip(value.chunks(8)) {
        for ((sum, v), x) in sums.iter_mut().zip(v).zip(x) {
            *sum += f64::from(*v) * f64::from(*x);
        }
    }
    sums.iter().sum()
}

/// ‖x‖₂.
pub(crate) fn norm(value: &[f32]) -> f64 {
    inner(value, value).sqrt()
}

/// The probability of keeping the sign of a vector of this norm: the unit vector ±x/‖x‖, scaled by the
/// radius, then has mean x.
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

/// The seed in these bytes, which must be as many as a seed has.
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
