//! Coins and dice whose probabilities are exact: integers over 2⁶⁴.
//!
//! ```text
//! Coin        P[heads] = t/2⁶⁴ exactly, t rounded to the stated side of the wanted probability
//! below(m)    uniform on 0 … m−1 exactly: the high word of m·U, rejecting the uneven rest (Lemire 2019)
//! ```

use crate::sample::random::Random;

/// Bounds the relative error of a probability computed by a few operations on doubles: 90 times the error of
/// one operation, 2⁻⁵³.
const RELATIVE_ERROR: f64 = 1e-14;

/// A coin with probability t/2⁶⁴ of heads, 0 < t < 2⁶⁴: neither side ever has probability zero.
///
/// ```
/// use shuffledp_randomizers::Coin;
/// // Three to one, or a little less.
/// let coin = Coin::at_most(3.0, 1.0);
/// assert!(coin.probability() <= 0.75 && coin.probability() > 0.75 - 1e-13);
/// assert_eq!(Coin::fair().probability(), 0.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coin {
    threshold: u64,
}

impl Coin {
    /// The odds of heads are at most `heads` to `tails`. Both are positive and accurate to a few units in the
    /// last place. The probability of the rarer side has a relative error of about 1e-14.
    pub fn at_most(heads: f64, tails: f64) -> Self {
        let whole = 2f64.powi(64);
        let threshold = if heads <= tails {
            (whole * (heads / (heads + tails)) * (1.0 - RELATIVE_ERROR)).floor() as u64
        } else {
            let rare = (whole * (tails / (heads + tails)) * (1.0 + RELATIVE_ERROR)).ceil();
            (rare as u64).wrapping_neg()
        };
        // Neither side has probability zero: a side that would round to zero has 2⁻⁶⁴.
        Self {
            threshold: threshold.max(1),
        }
    }

    /// Heads and tails with probability 1/2 each.
    pub fn fair() -> Self {
        Self { threshold: 1 << 63 }
    }

    /// The probability of heads, rounded to a double.
    pub fn probability(self) -> f64 {
        self.threshold as f64 / 2f64.powi(64)
    }

    /// The probability of tails, computed without subtracting from one.
    pub fn complement(self) -> f64 {
        self.threshold.wrapping_neg() as f64 / 2f64.powi(64)
    }

    /// Tosses the coin: true is heads.
    #[inline]
    pub fn toss<R: Random + ?Sized>(self, random: &mut R) -> bool {
        random.word() < self.threshold
    }
}

/// True with probability `value` in [0, 1], to within 2⁻⁶⁴: for rounding a value up or down without bias,
/// before the coin that protects it. Privacy does not depend on this probability.
pub(crate) fn round_up<R: Random + ?Sized>(value: f64, random: &mut R) -> bool {
    value >= 1.0 || random.word() < (value * 2f64.powi(64)) as u64
}

/// A uniform number below `bound`, which must be positive.
#[inline]
pub fn below<R: Random + ?Sized>(bound: u64, random: &mut R) -> u64 {
    loop {
        let product = u128::from(random.word()) * u128::from(bound);
        let low = product as u64;
        // Rejecting the first 2⁶⁴ mod `bound` values of the low word leaves every result equally many words.
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Coin, below};
    use crate::sample::random::Simulated;

    #[test]
    fn coins_are_never_certain_and_lean_to_the_side_they_say() {
        for odds in [1e-30, 1e-9, 0.3, 1.0, 40.0, 1e15, 1e22, 1e40] {
            let coin = Coin::at_most(odds, 1.0);
            assert!(coin.probability() > 0.0 && coin.complement() > 0.0);
            let ratio = coin.probability() / coin.complement() / odds;
            // A probability below 2⁻⁶⁴ is rounded up to it.
            assert!(ratio <= 1.0 || odds < 1e-19, "{odds}: {ratio}");
            assert!(ratio > 1.0 - 1e-9 || odds > 1e10, "{odds}: {ratio}");
        }
    }

    #[test]
    fn dice_are_even() {
        let mut random = Simulated::new(1, 0);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[below(7, &mut random) as usize] += 1;
        }
        let chi: f64 = counts
            .iter()
            .map(|&count| (f64::from(count) - 1e4).powi(2) / 1e4)
            .sum();
        // Six degrees of freedom: beyond 40 once in two million.
        assert!(chi < 40.0, "{counts:?}");
    }
}
