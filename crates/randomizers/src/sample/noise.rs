//! Exact integer noise. No floating-point number is sampled, so low bits of one cannot reveal a value.
//!
//! ```text
//! exp_coin(n/d)       heads with probability e^{−n/d} exactly: von Neumann's coin tosses
//! geometric(s/t)      P[G ≥ g] = e^{−gs/t}: U below t kept with e^{−U/t}, V whole units, ⌊(U + tV)/s⌋
//! two-sided           a sign and a geometric, minus zero drawn again:  P[z] ∝ e^{−|z|s/t}
//! discrete Gaussian   sk + j, k the whole part of a normal, j below s, kept with probability
//!                     e^{−x(2k+x)/2}, x = j/s; a sign, minus zero drawn again
//! normal              k + x with integer k, fraction x in 64 bits, a sign: Karney's Algorithm N
//! quick normal        the same distribution; k < 9 and the sign come from one word, by a table of 127 bits
//! ```
//!
//! The first two are Algorithms 1 and 2 of Canonne, Kamath and Steinke (2020); the normal and the discrete
//! Gaussian are Algorithms N and D of Karney (2016), the latter with k from the table, as the quick normal.

use crate::sample::coin::below;
use crate::sample::random::Random;

/// Heads with probability e^{−numerator/denominator}.
fn exp_coin<R: Random + ?Sized>(numerator: u64, denominator: u64, random: &mut R) -> bool {
    let mut left = numerator;
    while left > denominator {
        if !small_exp_coin(denominator, denominator, random) {
            return false;
        }
        left -= denominator;
    }
    small_exp_coin(left, denominator, random)
}

/// [`exp_coin`] for a ratio of at most one: heads if the first k at which a toss of ratio/k fails is odd.
fn small_exp_coin<R: Random + ?Sized>(numerator: u64, denominator: u64, random: &mut R) -> bool {
    let mut k = 1;
    while below(denominator, random) < numerator && below(k, random) == 0 {
        k += 1;
    }
    k % 2 == 1
}

/// G with P[G ≥ g] = e^{−g·rate/unit}, rate in 1, …, unit.
pub(crate) fn geometric<R: Random + ?Sized>(rate: u64, unit: u64, random: &mut R) -> u64 {
    let start = loop {
        let start = below(unit, random);
        if small_exp_coin(start, unit, random) {
            break start;
        }
    };
    let mut whole = 0u64;
    while small_exp_coin(1, 1, random) {
        whole += 1;
    }
    (start + unit * whole) / rate
}

/// z with P[z] ∝ e^{−|z|·rate/unit}.
pub(crate) fn two_sided<R: Random + ?Sized>(rate: u64, unit: u64, random: &mut R) -> i64 {
    loop {
        let negative = random.word() >> 63 == 1;
        let size = geometric(rate, unit, random) as i64;
        match (negative, size) {
            // Otherwise zero would have twice its probability, once for each sign.
            (true, 0) => {}
            (true, size) => return -size,
            (false, size) => return size,
        }
    }
}

/// The largest scale of [`discrete_gaussian`]: all exponents below are then quotients of 64-bit numbers.
pub(crate) const MOST_SCALE: u64 = 1 << 24;

/// z with P[z] ∝ e^{−z²/(2·scale²)}, for scales from 1 to [`MOST_SCALE`].
pub(crate) fn discrete_gaussian<R: Random + ?Sized>(scale: u64, random: &mut R) -> i64 {
    loop {
        let word = random.word();
        let k = quick_whole(word >> 1, random);
        let j = below(scale, random);
        // A whole part whose exponent overflows, at 2¹⁴ or more, has a probability below e^{−10⁸}.
        let Some(exponent) = (2 * k)
            .checked_mul(scale)
            .and_then(|k| (k + j).checked_mul(j))
        else {
            continue;
        };
        if !exp_coin(exponent, 2 * scale * scale, random) {
            continue;
        }
        let size = (scale * k + j) as i64;
        match (word & 1 == 1, size) {
            // Otherwise zero would have twice its probability, once for each sign.
            (true, 0) => {}
            (true, size) => return -size,
            (false, size) => return size,
        }
    }
}

/// ⌊2^bits · N⌋ of a standard normal N.
pub(crate) fn normal<R: Random + ?Sized>(bits: u32, random: &mut R) -> i64 {
    let size = loop {
        let k = whole_from(0, random);
        if let Some(size) = with_fraction(k, bits, random) {
            break size;
        }
    };
    signed(size, random.word() >> 63 == 1)
}

/// The same distribution as [`normal`], from a quarter of the randomness: for vectors, which need thousands.
pub(crate) fn quick_normal<R: Random + ?Sized>(bits: u32, random: &mut R) -> i64 {
    loop {
        let word = random.word();
        let k = quick_whole(word >> 1, random);
        if let Some(size) = with_fraction(k, bits, random) {
            return signed(size, word & 1 == 1);
        }
    }
}

/// N is symmetric, and ⌊−y⌋ = −1 − ⌊y⌋ unless y is an integer, which has probability zero.
fn signed(size: u64, negative: bool) -> i64 {
    if negative {
        -1 - size as i64
    } else {
        size as i64
    }
}

/// k ≥ first with probability ∝ e^{−k²/2}: j = k − first with e^{−j(first + 1/2)}, kept with e^{−j(j−1)/2}.
fn whole_from<R: Random + ?Sized>(first: u64, random: &mut R) -> u64 {
    loop {
        let mut j = 0u64;
        while exp_coin(2 * first + 1, 2, random) {
            j += 1;
        }
        let pairs = j * j.saturating_sub(1);
        if (0..pairs).all(|_| exp_coin(1, 2, random)) {
            return first + j;
        }
    }
}

/// The distribution function of the whole part: ⌊2¹²⁷ Σ_{j≤k} e^{−j²/2} / Σ_j e^{−j²/2}⌋ for k = 0, …, 8, as
/// the upper 63 and the lower 64 bits, computed with 400 bits. Nine entries: the rest has probability 2⁻⁵⁹.
const WHOLE: [(u64, u64); 9] = [
    (0x4901_2d8c_a416_7395, 0xea01_20ff_1ec2_81f0),
    (0x7548_bcc2_a3d0_77c9, 0xeaae_a7fc_d5c2_10a4),
    (0x7f2a_0ae3_74ed_25d7, 0x755d_59ce_2b6a_0cdf),
    (0x7ff9_a919_8cc8_4608, 0xec9b_de81_c93e_1784),
    (0x7fff_ee18_dc77_aca1, 0x2446_21fa_10cd_2474),
    (0x7fff_ffed_516b_91a2, 0x7836_aba7_92f1_3751),
    (0x7fff_ffff_f8d1_06d2, 0x1397_1c92_3cd8_71eb),
    (0x7fff_ffff_fffe_fbb6, 0x2564_eb77_8cb3_3a39),
    (0x7fff_ffff_ffff_fff2, 0x71a0_f0d8_7a3b_249b),
];

/// k ≥ 0 with probability ∝ e^{−k²/2}, from 63 bits; 64 more are drawn only where the first are a tie.
#[inline]
fn quick_whole<R: Random + ?Sized>(first: u64, random: &mut R) -> u64 {
    let mut rest = None;
    for (k, (high, low)) in (0..).zip(WHOLE) {
        if first < high || first == high && *rest.get_or_insert_with(|| random.word()) < low {
            return k;
        }
    }
    whole_from(WHOLE.len() as u64, random)
}

/// ⌊2^bits (k + x)⌋ of a fraction x, kept with probability e^{−x(2k+x)/2}: k + 1 coins of
/// e^{−x(2k+x)/(2k+2)}.
#[inline]
fn with_fraction<R: Random + ?Sized>(k: u64, bits: u32, random: &mut R) -> Option<u64> {
    let x = random.word();
    (0..=k)
        .all(|_| fraction_coin(k, x, random))
        .then(|| (k << bits) + (x >> (64 - bits)))
}

/// Heads with probability e^{−x(2k+x)/(2k+2)}, x a fraction of 2⁶⁴: falling runs of uniform numbers below x
/// (Karney's Algorithm B).
fn fraction_coin<R: Random + ?Sized>(k: u64, x: u64, random: &mut R) -> bool {
    let sides = 2 * k + 2;
    let (mut last, mut run) = (x, 0u64);
    loop {
        let next = random.word();
        // The run goes on if the next number is below the last and a die of 2k + 2 sides agrees: 2k sides
        // always do, one with probability x, one never.
        if next >= last {
            break;
        }
        let side = below(sides, random);
        let goes_on = match side {
            0 => false,
            1 => random.word() < x,
            _ => true,
        };
        if !goes_on {
            break;
        }
        last = next;
        run += 1;
    }
    run % 2 == 0
}

#[cfg(test)]
mod tests {
    use super::{
        WHOLE, discrete_gaussian, exp_coin, normal, quick_normal, quick_whole, two_sided,
        whole_from,
    };
    use crate::sample::random::Simulated;

    #[test]
    fn coins_of_exponentials() {
        let mut random = Simulated::new(5, 0);
        for (numerator, denominator) in [(0, 1), (1, 3), (1, 1), (5, 2)] {
            let heads = (0..200_000)
                .filter(|_| exp_coin(numerator, denominator, &mut random))
                .count() as f64;
            let p = (-(numerator as f64) / denominator as f64).exp();
            let deviation = (2e5 * p * (1.0 - p)).sqrt();
            assert!(
                (heads - 2e5 * p).abs() <= 5.0 * deviation,
                "{numerator}/{denominator}"
            );
        }
    }

    #[test]
    fn two_sided_geometric_noise_has_its_law() {
        let mut random = Simulated::new(6, 0);
        let (rate, unit) = (3, 4);
        let alpha = (-0.75f64).exp();
        let mut counts = std::collections::HashMap::new();
        for _ in 0..400_000 {
            *counts
                .entry(two_sided(rate, unit, &mut random))
                .or_insert(0u32) += 1;
        }
        for z in -4i64..=4 {
            let p = (1.0 - alpha) / (1.0 + alpha) * alpha.powi(z.unsigned_abs() as i32);
            let count = f64::from(counts[&z]);
            assert!((count - 4e5 * p).abs() < 5.0 * (4e5 * p).sqrt(), "{z}");
        }
    }

    /// Narrow ones, where every integer is a cell, by chi-square; wide ones by variance.
    #[test]
    fn discrete_gaussian_noise_has_its_law() {
        let mut random = Simulated::new(10, 0);
        for scale in [1, 3, 8] {
            let weight = |z: i64| (-0.5 * (z as f64 / scale as f64).powi(2)).exp();
            let total: f64 = (-100..=100).map(weight).sum();
            let (draws, reach) = (400_000, 3 * scale as i64);
            let mut counts = vec![0u32; 2 * reach as usize + 1];
            for _ in 0..draws {
                let z = discrete_gaussian(scale, &mut random);
                if z.abs() <= reach {
                    counts[(z + reach) as usize] += 1;
                }
            }
            let chi: f64 = (-reach..=reach)
                .zip(&counts)
                .map(|(z, count)| {
                    let expected = f64::from(draws) * weight(z) / total;
                    (f64::from(*count) - expected).powi(2) / expected
                })
                .sum();
            let freedom = counts.len() as f64;
            assert!(
                chi < freedom + 5.0 * (2.0 * freedom).sqrt(),
                "{scale}: {chi}"
            );
        }
        for scale in [1000, super::MOST_SCALE] {
            let square: f64 = (0..100_000)
                .map(|_| (discrete_gaussian(scale, &mut random) as f64 / scale as f64).powi(2))
                .sum();
            assert!(
                (square / 1e5 - 1.0).abs() < 5.0 * (2.0f64 / 1e5).sqrt(),
                "{scale}: {square}"
            );
        }
    }

    #[test]
    fn normal_noise_has_its_law() {
        normal_law(normal);
        normal_law(quick_normal);
    }

    fn normal_law(draw: fn(u32, &mut Simulated) -> i64) {
        let mut random = Simulated::new(7, 0);
        // Cells of a sixteenth of a standard deviation against differences of the distribution function.
        let mut counts = std::collections::HashMap::new();
        for _ in 0..1_000_000 {
            *counts.entry(draw(4, &mut random)).or_insert(0u32) += 1;
        }
        let cdf = |y: f64| 0.5 * shuffledp_numerics::special::erfc(-y / 2f64.sqrt());
        let (mut chi, mut freedom) = (0.0, 0.0);
        for cell in -48i64..48 {
            let p = cdf((cell + 1) as f64 / 16.0) - cdf(cell as f64 / 16.0);
            let count = f64::from(*counts.get(&cell).unwrap_or(&0));
            chi += (count - 1e6 * p).powi(2) / (1e6 * p);
            freedom += 1.0;
        }
        assert!(
            chi < freedom + 5.0 * (2.0f64 * freedom).sqrt(),
            "{chi} of {freedom}"
        );
    }
    #[test]
    fn whole_parts_by_the_table() {
        // The table against the sums it holds, to the precision of doubles.
        let total: f64 = (0..40).map(|k| (-0.5 * f64::from(k * k)).exp()).sum();
        let mut random = Simulated::new(8, 0);
        for (k, (high, low)) in (0u64..).zip(WHOLE) {
            let rest: f64 = (k as i32 + 1..40)
                .map(|j| (-0.5 * f64::from(j * j)).exp())
                .sum();
            let below = (u128::from(high) << 64) + u128::from(low);
            let left = ((1 << 127) - below) as f64 / 2f64.powi(127);
            assert!((left / (rest / total) - 1.0).abs() < 1e-14, "{k}");
            assert_eq!(quick_whole(high - 1, &mut random), k);
            assert!(quick_whole(high + 1, &mut random) > k);
        }
        // A tie is decided by the next 64 bits: it stays below with probability low/2⁶⁴.
        let (high, low) = WHOLE[0];
        let stay = (0..100_000)
            .filter(|_| quick_whole(high, &mut random) == 0)
            .count();
        let p = low as f64 / 2f64.powi(64);
        assert!((stay as f64 - 1e5 * p).abs() < 5.0 * (1e5 * p * (1.0 - p)).sqrt());
    }

    #[test]
    fn whole_parts_beyond_a_first() {
        let mut random = Simulated::new(9, 0);
        let beyond = (0..400_000)
            .filter(|_| whole_from(1, &mut random) > 1)
            .count() as f64;
        let all: f64 = (1..40).map(|k| (-0.5 * f64::from(k * k)).exp()).sum();
        let p = 1.0 - (-0.5f64).exp() / all;
        assert!((beyond - 4e5 * p).abs() < 5.0 * (4e5 * p * (1.0 - p)).sqrt());
        assert_eq!(quick_whole((1 << 63) - 1, &mut random), 9);
    }
}
