//! Exact integer noise: no floating-point number is ever sampled, so none can leak.
//!
//! ```text
//! exp_coin(n/d)       heads with probability e^{−n/d} exactly: von Neumann's coin tosses                                   (Canonne, Kamath, Steinke 2020, Algorithm 1)
//! geometric(s/t)      P[G ≥ g] = e^{−gs/t}: U below t kept with e^{−U/t}, V whole units, ⌊(U + tV)/s⌋                          (Algorithm 2)
//! two-sided           a sign and a geometric, minus zero drawn again:  P[z] ∝ e^{−|z|s/t}
//! discrete Gaussian   a two-sided geometric, kept with probability e^{−(|Y| − s²/t)²/(2s²)}                                  (Algorithm 3)
//! normal              k + x with integer k, fraction x in 64 bits, a sign: Karney's Algorithm N                             (Karney 2016)
//! ```

use crate::coin::below;
use crate::random::Random;

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

/// The same for a ratio of at most one: the first k at which a toss of ratio/k fails is odd.
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
            // Zero would come from both signs.
            (true, 0) => {}
            (true, size) => return -size,
            (false, size) => return size,
        }
    }
}

/// z with P[z] ∝ e^{−z²/(2·scale²)}, for scales up to 4096.
pub(crate) fn discrete_gaussian<R: Random + ?Sized>(scale: u64, random: &mut R) -> i64 {
    let unit = scale + 1;
    let square = scale * scale;
    loop {
        let candidate = two_sided(1, unit, random);
        // (|Y| − s²/t)²/(2s²) over the common denominator 2s²t². Sizes whose square overflows are beyond any that are kept.
        let apart = (candidate.unsigned_abs().saturating_mul(unit)).abs_diff(square);
        let Some(numerator) = apart.checked_mul(apart) else {
            continue;
        };
        if exp_coin(numerator, 2 * square * unit * unit, random) {
            return candidate;
        }
    }
}

/// ⌊2^bits · N⌋ of a standard normal N.
pub(crate) fn normal<R: Random + ?Sized>(bits: u32, random: &mut R) -> i64 {
    let (whole, fraction) = loop {
        // k with probability ∝ e^{−k/2}, kept with e^{−k(k−1)/2}.
        let mut k = 0u64;
        while exp_coin(1, 2, random) {
            k += 1;
        }
        let pairs = k * k.saturating_sub(1);
        if !(0..pairs).all(|_| exp_coin(1, 2, random)) {
            continue;
        }
        let x = random.word();
        // e^{−x(2k+x)/2}, as k + 1 coins of e^{−x(2k+x)/(2k+2)}.
        if (0..=k).all(|_| fraction_coin(k, x, random)) {
            break (k, x);
        }
    };
    let size = (whole << bits) + (fraction >> (64 - bits));
    // N and −N are alike, and ⌊−y⌋ = −1 − ⌊y⌋ for y that is no integer.
    if random.word() >> 63 == 1 {
        -1 - size as i64
    } else {
        size as i64
    }
}

/// A standard normal number, to 40 binary places: for noise that a trusted server adds.
///
/// ```
/// use shuffledp_randomizers::{Simulated, standard_normal};
/// let mut random = Simulated::new(7, 0);
/// let square: f64 = (0..10_000).map(|_| standard_normal(&mut random).powi(2)).sum();
/// assert!((square / 10_000.0 - 1.0).abs() < 0.1);
/// ```
pub fn standard_normal<R: Random + ?Sized>(random: &mut R) -> f64 {
    const BITS: u32 = 40;
    (normal(BITS, random) as f64 + 0.5) / (1u64 << BITS) as f64
}

/// Heads with probability e^{−x(2k+x)/(2k+2)}, x a fraction of 2⁶⁴: falling runs of uniform numbers below x (Karney's Algorithm B).
fn fraction_coin<R: Random + ?Sized>(k: u64, x: u64, random: &mut R) -> bool {
    let sides = 2 * k + 2;
    let (mut last, mut run) = (x, 0u64);
    loop {
        let next = random.word();
        // Below the last one, and then one of: certain with 2k of 2k+2, with probability x for one side, never for the other.
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
    use super::{exp_coin, normal, two_sided};
    use crate::random::Simulated;

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

    #[test]
    fn normal_noise_has_its_law() {
        let mut random = Simulated::new(7, 0);
        // Cells of a sixteenth of a standard deviation against differences of the distribution function.
        let mut counts = std::collections::HashMap::new();
        for _ in 0..1_000_000 {
            *counts.entry(normal(4, &mut random)).or_insert(0u32) += 1;
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
}
