//! Coins and dice without rounding: a probability is an integer over 2⁶⁴.
//!
//! ```text
//! Coin        P[heads] = t/2⁶⁴ exactly, t chosen below or above the wanted probability
//! below(m)    uniform on 0 … m−1 exactly: the high word of m·U, drawn again where it would be uneven   (Lemire 2019)
//! ```

use crate::sample::random::Random;

/// Relative error of an expression of a few operations on doubles, generously.
const DOUBT: f64 = 1e-14;

/// A coin that is never certain.
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
    /// Heads against tails at odds not above `heads` to `tails`, both positive and known to a few units in
    /// the last place; the rarer side is exact to 1e-14 of itself.
    pub fn at_most(heads: f64, tails: f64) -> Self {
        let whole = 2f64.powi(64);
        let threshold = if heads <= tails {
            (whole * (heads / (heads + tails)) * (1.0 - DOUBT)).floor() as u64
        } else {
            let rare = (whole * (tails / (heads + tails)) * (1.0 + DOUBT)).ceil();
            (rare as u64).wrapping_neg()
        };
        // Never certain: where tails would round to nothing they are one in 2⁶⁴.
        Self {
            threshold: threshold.max(1),
        }
    }

    /// Heads as often as tails.
    pub fn fair() -> Self {
        Self { threshold: 1 << 63 }
    }

    /// The probability of heads, to the precision of a double.
    pub fn probability(self) -> f64 {
        self.threshold as f64 / 2f64.powi(64)
    }

    /// The probability of tails, without cancellation.
    pub fn complement(self) -> f64 {
        self.threshold.wrapping_neg() as f64 / 2f64.powi(64)
    }

    /// Tosses it.
    #[inline]
    pub fn toss<R: Random + ?Sized>(self, random: &mut R) -> bool {
        random.word() < self.threshold
    }
}

/// Heads with probability `value` in [0, 1], to the last of 64 bits: for rounding a value up or down, where
/// nothing depends on the last bit.
pub(crate) fn round_up<R: Random + ?Sized>(value: f64, random: &mut R) -> bool {
    value >= 1.0 || random.word() < (value * 2f64.powi(64)) as u64
}

/// One of 0, …, `bound` − 1, all alike; `bound` is positive.
#[inline]
pub fn below<R: Random + ?Sized>(bound: u64, random: &mut R) -> u64 {
    loop {
        let product = u128::from(random.word()) * u128::from(bound);
        let low = product as u64;
        // The first 2⁶⁴ mod `bound` values of the low word are one too many.
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
            // Below 2⁻⁶⁴ there is nothing to round to.
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
