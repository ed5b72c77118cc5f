//! Directions from seeds: a seed of 16 bytes determines a point of the unit sphere of any dimension, the same
//! on the device and at the analyzer.
//!
//! ```text
//! ChaCha8 with the key seed ‖ 0¹²⁸, 32-bit words w₁, w₂, …, each a sign and 31 bits u
//! vᵢ = ± the normal quantile of (2u + 1)/2³³, by linear interpolation in cells of 2⁻⁹ of an octave of u
//! direction v/‖v‖
//! ```
//!
//! Each coordinate uses exactly one word, so rounding cannot make device and analyzer read different words.
//! The cells are narrow where the probability is small, so the normal numbers are right to 5e-7 out to 6.2.
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
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use shuffledp_numerics::special::{erf_inv, erfc_inv};
use std::sync::LazyLock;

/// Bytes of a seed: 128 bits, so that seeds are not guessed and practically never repeat.
pub(crate) const SEED: usize = 16;

/// The generator of a seed's words.
fn stream(seed: &[u8; SEED]) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..SEED].copy_from_slice(seed);
    ChaCha8Rng::from_seed(key)
}

/// The mantissa bits of a single that tell the cell of its octave.
const CELL_BITS: u32 = 9;
/// The other mantissa bits: where in its cell a number is.
const PLACE_BITS: u32 = f32::MANTISSA_DIGITS - 1 - CELL_BITS;

/// Room for 32 octaves: 31, and the beginning of the next, to which numbers just below 2³¹ are rounded. A
/// power of two, so that no index needs a check.
const QUANTILES: usize = 32 << CELL_BITS;

/// The quantile of the first number of every cell, and how much it falls by to the end of the cell: u = 1 has
/// the exponent 127, so its cell is the first.
fn quantiles() -> &'static [(f32, f32); QUANTILES] {
    static OF_CELLS: LazyLock<Box<[(f32, f32); QUANTILES]>> = LazyLock::new(|| {
        let quantile = |cell: u32| {
            let bits = (127 << (f32::MANTISSA_DIGITS - 1)) + (cell << PLACE_BITS);
            let tail = f64::from(f32::from_bits(bits)) / 2f64.powi(32);
            std::f64::consts::SQRT_2 * erfc_inv((2.0 * tail).min(1.0))
        };
        let cell = |cell| {
            let (from, to) = (quantile(cell), quantile(cell + 1));
            (from as f32, (from - to) as f32)
        };
        let mut all = Box::new([(0.0, 0.0); QUANTILES]);
        (0..).zip(all.iter_mut()).for_each(|(i, at)| *at = cell(i));
        all
    });
    &OF_CELLS
}

/// The normal number of a word.
#[inline]
fn normal(word: u32, quantiles: &[(f32, f32); QUANTILES]) -> f32 {
    // The exponent and the first bits of the mantissa tell the cell, the other bits the place in it.
    let bits = ((word >> 1) as f32 + 0.5).max(1.0).to_bits();
    let cell = (bits >> PLACE_BITS) - (127 << CELL_BITS);
    let place = (bits & ((1 << PLACE_BITS) - 1)) as f32 / (1 << PLACE_BITS) as f32;
    let (quantile, fall) = quantiles[cell as usize % QUANTILES];
    let size = quantile - fall * place;
    // The last bit of the word is the sign.
    f32::from_bits(size.to_bits() | word << 31)
}

/// Words drawn at a time: 1 KiB on the stack, so that calls of the generator cost little.
const TOGETHER: usize = 256;

/// Calls `f` with every part of a seed's normal numbers, and where it begins.
fn normals(seed: &[u8; SEED], dimension: usize, mut f: impl FnMut(usize, &[f32])) {
    let mut stream = stream(seed);
    let quantiles = quantiles();
    let (mut bytes, mut part) = ([0; 4 * TOGETHER], [0.0; TOGETHER]);
    for from in (0..dimension).step_by(TOGETHER) {
        let count = TOGETHER.min(dimension - from);
        let bytes = &mut bytes[..4 * count];
        stream.fill_bytes(bytes);
        for (v, word) in part.iter_mut().zip(bytes.chunks_exact(4)) {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            *v = normal(word, quantiles);
        }
        f(from, &part[..count]);
    }
}

/// Adds the products of two lists of one length to eight partial sums that the compiler can vectorize.
#[inline]
fn add_products(one: &[f32], other: &[f32], sums: &mut [f64; 8]) {
    let (ones, others) = (one.chunks_exact(8), other.chunks_exact(8));
    let rest = ones.remainder().iter().zip(others.remainder());
    for (sum, (v, x)) in sums.iter_mut().zip(rest) {
        *sum += f64::from(*v) * f64::from(*x);
    }
    for (v, x) in ones.zip(others) {
        for lane in 0..8 {
            sums[lane] += f64::from(v[lane]) * f64::from(x[lane]);
        }
    }
}

/// The direction of a seed.
pub(crate) fn direction(seed: &[u8; SEED], dimension: usize) -> Vec<f32> {
    let mut point = Vec::with_capacity(dimension);
    let mut squares = [0.0; 8];
    normals(seed, dimension, |_, part| {
        add_products(part, part, &mut squares);
        point.extend_from_slice(part);
    });
    let scale = over_root(squares.iter().sum()) as f32;
    point.iter_mut().for_each(|x| *x *= scale);
    point
}

/// The cosine between the direction of a seed and a value of this norm; the zero vector counts as the first
/// unit vector.
pub(crate) fn cosine(seed: &[u8; SEED], value: &[f32], norm: f64) -> f64 {
    let (mut squares, mut products, mut first) = ([0.0; 8], [0.0; 8], 0.0);
    normals(seed, value.len(), |from, part| {
        if from == 0 {
            first = f64::from(part[0]);
        }
        add_products(part, part, &mut squares);
        add_products(part, &value[from..from + part.len()], &mut products);
    });
    let product = if norm > 0.0 {
        products.iter().sum::<f64>() / norm
    } else {
        first
    };
    product * over_root(squares.iter().sum())
}

/// 1/√square, or 0 for a point that is zero in all coordinates.
fn over_root(square: f64) -> f64 {
    if square > 0.0 {
        1.0 / square.sqrt()
    } else {
        0.0
    }
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
    let mut stream = stream(seed);
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
        add_products(part, part, &mut squares);
    }
    // Zero is the lower end of a cell, so a coordinate is zero with probability 2⁻³²; all may be.
    let scale = over_root(squares.iter().sum()) as f32;
    point.iter_mut().for_each(|x| *x *= scale);
}

/// ⟨v, x⟩.
pub(crate) fn inner(direction: &[f32], value: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    add_products(direction, value, &mut sums);
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

/// Adds the direction of a seed to sums.
pub(crate) fn add_direction(seed: &[u8; SEED], sums: &mut [f64]) {
    let direction = direction(seed, sums.len());
    for (sum, v) in sums.iter_mut().zip(direction) {
        *sum += f64::from(v);
    }
}

#[cfg(test)]
mod tests {
    use super::{SEED, cosine, direction, norm, normal, quantiles, side};
    use shuffledp_numerics::special::erfc;

    /// Against the normal distribution function: P[Z > v] is (u + 1/2)/2³² to what 5e-7 in v make of it.
    #[test]
    fn words_are_normal_quantiles() {
        let mut words: Vec<u32> = (0..32)
            .flat_map(|i| [1 << i, (1 << i) + (1 << i) / 3])
            .collect();
        words.extend((0..100_000u32).map(|i| i.wrapping_mul(2_654_435_761)));
        words.extend([u32::MAX, u32::MAX - 1, 2, 3]);
        for word in words {
            let v = f64::from(normal(word, quantiles()));
            assert_eq!(v.is_sign_negative(), word & 1 == 1);
            let v = v.abs();
            let tail = 0.5 * erfc(v * std::f64::consts::FRAC_1_SQRT_2);
            let wanted = (f64::from(word >> 1) + 0.5) / 2f64.powi(32);
            let density = (-0.5 * v * v).exp() / std::f64::consts::TAU.sqrt();
            // The first two of 2³¹ intervals share their quantile.
            if word >> 1 > 0 {
                let off = (tail - wanted).abs() / density;
                assert!(off < 5e-7, "{word}: {v} is off by {off}");
            }
        }
    }

    #[test]
    fn a_cosine_is_that_of_the_direction() {
        let seed = [7; SEED];
        for dimension in [2, 5, 256, 700] {
            let value: Vec<f32> = (0..dimension).map(|i| (i as f32).sin()).collect();
            let far = direction(&seed, dimension);
            assert!((norm(&far) - 1.0).abs() < 1e-6);
            let size = norm(&value);
            let by_hand = side(&far, &value, size);
            assert!((cosine(&seed, &value, size) - by_hand).abs() < 1e-6);
            let zero = cosine(&seed, &vec![0.0; dimension], 0.0);
            assert!((zero - f64::from(far[0])).abs() < 1e-6);
        }
    }
}
