//! Directions from seeds: a seed of 16 bytes determines a point of the unit sphere of any dimension, the same
//! on the device and at the analyzer.
//!
//! ```text
//! the last bit of the seed is its side, the other 127 are its axis
//! ChaCha8 with the key axis ‖ 0¹²⁹, 32-bit words w₁, w₂, …, each a sign and 31 bits u
//! vᵢ = ± the normal quantile of (2u + 1)/2³³, by linear interpolation in cells of 2⁻⁹ of an octave of u
//! direction v/‖v‖, or −v/‖v‖ on the other side
//! ```
//!
//! Two seeds that differ in their side have opposite directions, so one expansion tells the cosines of both.
//!
//! Each coordinate uses exactly one word, so rounding cannot make device and analyzer read different words.
//! The cells are narrow where the probability is small, so the normal numbers are right to 5e-7 out to 6.2.
//!
//! The seed is public, so nothing is hidden by the generator. It must be a strong one all the same: whether
//! the guarantee holds for every vector depends on there being no vector on which the directions of all seeds
//! are not spread as uniform ones are ([`crate::vector::leaning`]).
//!
//! Where only the last digits of an estimate depend on the direction, and no guarantee, there is a faster one
//! ([`quick_direction`]):
//!
//! ```text
//! ChaCha8 with the key seed ‖ 0¹²⁸, i = ⌊w/2²⁰⌋
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

/// The bit of the last byte that tells the side of a seed.
const SIDE: u8 = 1 << 7;

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

/// Room for 64 octaves of which 33 are used: numbers from 1/2 to 2³¹, to which those just below it are
/// rounded. The last six bits of the exponent tell the octave, so that no index needs a check.
const LINES: usize = 64 << CELL_BITS;
/// The exponents of the first number, 1/2, and of the last.
const EXPONENTS: [u32; 2] = [126, 158];

/// The normal quantile as a line on every cell: `at − slope x` for x = u + 1/2.
#[derive(Clone, Copy)]
struct Line {
    at: f32,
    slope: f32,
}

/// The lines of all cells, by the exponent and the first bits of the mantissa of x.
fn lines() -> &'static [Line; LINES] {
    static OF_CELLS: LazyLock<Box<[Line; LINES]>> = LazyLock::new(|| {
        let number = |cell: u32| f64::from(f32::from_bits(cell << PLACE_BITS));
        let quantile = |x: f64| {
            let tail = x / 2f64.powi(32);
            std::f64::consts::SQRT_2 * erfc_inv((2.0 * tail).min(1.0))
        };
        let none = Line {
            at: 0.0,
            slope: 0.0,
        };
        let mut all = Box::new([none; LINES]);
        let [first, last] = EXPONENTS.map(|exponent| exponent << CELL_BITS);
        for cell in first..last {
            let (from, to) = (number(cell), number(cell + 1));
            let slope = (quantile(from) - quantile(to)) / (to - from);
            all[cell as usize % LINES] = Line {
                at: (quantile(from) + slope * from) as f32,
                slope: slope as f32,
            };
        }
        // At 2³¹ the quantile is 0, which the empty line already says.
        all
    });
    &OF_CELLS
}

/// Words expanded together: few enough to stay in the fastest memory, and so many that calls of the generator
/// cost little.
const TOGETHER: usize = 256;

/// Room for the numbers of a seed, a part at a time.
pub(crate) struct Normals {
    stream: ChaCha8Rng,
    lines: &'static [Line; LINES],
    /// The last bit: the side of the seed.
    side: u32,
    bytes: [u8; 4 * TOGETHER],
    points: [f32; TOGETHER],
    found: [Line; TOGETHER],
}

impl Normals {
    pub(crate) fn new(seed: &[u8; SEED]) -> Self {
        let mut axis = *seed;
        axis[SEED - 1] &= !SIDE;
        let none = Line {
            at: 0.0,
            slope: 0.0,
        };
        Self {
            stream: stream(&axis),
            lines: lines(),
            side: u32::from(seed[SEED - 1] / SIDE),
            bytes: [0; 4 * TOGETHER],
            points: [0.0; TOGETHER],
            found: [none; TOGETHER],
        }
    }

    /// Writes the next normal numbers into `part`, at most [`TOGETHER`]. In three passes, of which the
    /// compiler vectorizes the first and the last; the second looks up the lines.
    #[inline]
    pub(crate) fn next(&mut self, part: &mut [f32]) {
        let count = part.len();
        let bytes = &mut self.bytes[..4 * count];
        self.stream.fill_bytes(bytes);
        let words = bytes.as_chunks::<4>().0;
        let (points, found) = (&mut self.points[..count], &mut self.found[..count]);
        for (x, word) in points.iter_mut().zip(words) {
            *x = (u32::from_le_bytes(*word) >> 1) as f32 + 0.5;
        }
        for (line, x) in found.iter_mut().zip(points.iter()) {
            *line = self.lines[(x.to_bits() >> PLACE_BITS) as usize % LINES];
        }
        for (((v, word), x), line) in part.iter_mut().zip(words).zip(points.iter()).zip(found) {
            // Never below 0 by more than rounding, and never 0 but at the median.
            let size = (line.at - line.slope * x).max(0.0);
            let sign = (u32::from_le_bytes(*word) ^ self.side) << 31;
            *v = f32::from_bits(size.to_bits() | sign);
        }
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

/// The squared norm of a part of normal numbers, and its inner product with a part of a unit vector: sums of
/// [`TOGETHER`]/16 products in single precision, which are right to 1e-6 of a standard deviation, added up in
/// double.
#[inline]
fn square_and_product(part: &[f32], unit: &[f32]) -> [f64; 2] {
    let (mut squares, mut products) = ([0f32; 16], [0f32; 16]);
    let ((parts, last), (units, last_unit)) = (part.as_chunks::<16>(), unit.as_chunks::<16>());
    for (v, x) in parts.iter().zip(units) {
        for lane in 0..16 {
            squares[lane] += v[lane] * v[lane];
            products[lane] += v[lane] * x[lane];
        }
    }
    for (lane, (v, x)) in last.iter().zip(last_unit).enumerate() {
        squares[lane] += v * v;
        products[lane] += v * x;
    }
    [squares, products].map(|sums| sums.iter().map(|sum| f64::from(*sum)).sum())
}

/// The direction of a seed.
pub(crate) fn direction(seed: &[u8; SEED], dimension: usize) -> Vec<f32> {
    let mut point = vec![0.0; dimension];
    let mut normals = Normals::new(seed);
    let mut squares = [0.0; 8];
    for part in point.chunks_mut(TOGETHER) {
        normals.next(part);
        add_products(part, part, &mut squares);
    }
    let scale = over_root(squares.iter().sum()) as f32;
    point.iter_mut().for_each(|x| *x *= scale);
    point
}

/// x/‖x‖ for a value of this norm; the zero vector counts as the first unit vector.
pub(crate) fn unit(value: &[f32], norm: f64) -> Vec<f32> {
    if norm > 0.0 {
        return value
            .iter()
            .map(|x| (f64::from(*x) / norm) as f32)
            .collect();
    }
    let mut first = vec![0.0; value.len()];
    first[..1].fill(1.0);
    first
}

/// The cosine between the direction of a seed and a unit vector. The same work for all of them.
pub(crate) fn cosine(seed: &[u8; SEED], unit: &[f32]) -> f64 {
    let mut normals = Normals::new(seed);
    let mut part = [0.0; TOGETHER];
    let (mut square, mut product) = (0.0, 0.0);
    for unit in unit.chunks(TOGETHER) {
        let part = &mut part[..unit.len()];
        normals.next(part);
        let sums = square_and_product(part, unit);
        square += sums[0];
        product += sums[1];
    }
    product * over_root(square)
}

/// The seed of the opposite direction.
pub(crate) fn opposite(mut seed: [u8; SEED]) -> [u8; SEED] {
    seed[SEED - 1] ^= SIDE;
    seed
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
    use super::{
        LINES, Normals, PLACE_BITS, SEED, cosine, direction, lines, norm, opposite, side, unit,
    };
    use rand_core::Rng;
    use shuffledp_numerics::special::erfc;

    /// The normal number of a word, and its opposite on the other side.
    fn normal(word: u32) -> f32 {
        let x = (word >> 1) as f32 + 0.5;
        let line = lines()[(x.to_bits() >> PLACE_BITS) as usize % LINES];
        let size = (line.at - line.slope * x).max(0.0);
        f32::from_bits(size.to_bits() | word << 31)
    }

    /// Against the normal distribution function: P[Z > v] is (u + 1/2)/2³² to what 5e-7 in v make of it.
    #[test]
    fn words_are_normal_quantiles() {
        let mut words: Vec<u32> = (0..32)
            .flat_map(|i| [1 << i, (1 << i) + (1 << i) / 3])
            .collect();
        words.extend((0..100_000u32).map(|i| i.wrapping_mul(2_654_435_761)));
        words.extend([u32::MAX, u32::MAX - 1, 0, 1, 2, 3]);
        for word in words {
            let v = f64::from(normal(word));
            assert_eq!(v.is_sign_negative(), word & 1 == 1);
            let v = v.abs();
            let tail = 0.5 * erfc(v * std::f64::consts::FRAC_1_SQRT_2);
            let wanted = (f64::from(word >> 1) + 0.5) / 2f64.powi(32);
            let density = (-0.5 * v * v).exp() / std::f64::consts::TAU.sqrt();
            let off = (tail - wanted).abs() / density;
            assert!(off < 5e-7, "{word}: {v} is off by {off}");
        }
    }

    /// What is expanded in passes is what the words say one by one.
    #[test]
    fn a_seed_is_expanded_word_by_word() {
        for last in [0x7f, 0xff] {
            let mut seed = [7; SEED];
            seed[SEED - 1] = last;
            let mut axis = seed;
            axis[SEED - 1] = 0x7f;
            let mut words = super::stream(&axis);
            let mut normals = Normals::new(&seed);
            for count in [256, 256, 77] {
                let mut part = vec![0.0; count];
                normals.next(&mut part);
                for v in part {
                    let sign = if last == 0xff { -1.0 } else { 1.0 };
                    assert_eq!(v, sign * normal(words.next_u32()));
                }
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
            let found = cosine(&seed, &unit(&value, size));
            assert!((found - by_hand).abs() < 1e-6);
            assert_eq!(cosine(&opposite(seed), &unit(&value, size)), -found);
            let zero = cosine(&seed, &unit(&vec![0.0; dimension], 0.0));
            assert!((zero - f64::from(far[0])).abs() < 1e-6);
            // Values as small as numbers get have directions, too.
            let tiny: Vec<f32> = value.iter().map(|x| x.signum() * 1e-45).collect();
            let by_hand = side(&far, &tiny, norm(&tiny));
            assert!((cosine(&seed, &unit(&tiny, norm(&tiny))) - by_hand).abs() < 1e-6);
        }
    }
}
