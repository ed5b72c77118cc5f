//! Directions from seeds: 16 bytes stand for a point of the unit sphere of any dimension, the same on the
//! device and at the analyzer.
//!
//! ```text
//! ChaCha20 with the key seed ‖ 0¹²⁸, 32-bit words w₁, w₂, …      vᵢ = √2 erf⁻¹((2⌊wᵢ/2⁸⌋ + 1)/2²⁴ − 1)      v/‖v‖
//! ```
//!
//! One word for each coordinate, so that rounding cannot put the two ends out of step. Normal numbers of 24
//! bits: none beyond 5.4, and a variance of 1 to 2e-7.
//!
//! Where no guarantee rests on the direction, only the last digits of an estimate, a quicker one will do
//! ([`quick_direction`]):
//!
//! ```text
//! ChaCha8 with the same key, i = ⌊w/2²⁰⌋:     vᵢ = qᵢ + (qᵢ₊₁ − qᵢ)(w mod 2²⁰)/2²⁰,    qᵢ the i-th of 4096-quantiles of the normal law, q₀ = −q₄₀₉₆ = −3.96487396
//! ```
//!
//! The outermost two are such that the variance is 1; E|v| is then right to 5e-6, which is how far an
//! estimate in one direction can be off against another, relatively.

use crate::error::Error;
use crate::wire;
use rand_chacha::{ChaCha8Rng, ChaCha20Rng};
use rand_core::{Rng, SeedableRng};
use shuffledp_numerics::special::erf_inv;
use std::sync::LazyLock;

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

/// Cells of the quick law.
const CELLS: usize = 4096;
/// Where it ends.
const END: f32 = 3.964_874;

/// Beginning and width of every cell.
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

/// The quick direction of a seed, in place of what `point` held.
pub(crate) fn quick_direction(seed: &[u8; SEED], point: &mut [f32]) {
    /// Words that are drawn together.
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
    // The middle of the law is the beginning of a cell; all of a point there has a chance of 2⁻³² a
    // coordinate.
    let square: f64 = squares.iter().sum();
    let scale = if square > 0.0 {
        1.0 / square.sqrt()
    } else {
        0.0
    };
    point.iter_mut().for_each(|x| *x *= scale as f32);
}

/// ⟨v, x⟩, in eight sums.
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

/// The probability of keeping the sign of a value of this norm, so that what is sent has the value for its
/// mean.
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
