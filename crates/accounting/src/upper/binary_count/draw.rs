//! How many of the others at q are drawn: tails of the hypergeometric law.
//!
//! Of N users, k of one kind, d are drawn without replacement, M = N − d are not. With H of that kind drawn,
//!
//! ```text
//! P(H = x) = b(x; d, κ) b(k − x; M, κ) / b(k; N, κ)   for every κ,
//! P(H ≥ x) ≤ P(H = x)/(1 − ρ),   ρ = P(H = x + 1)/P(H = x)                         (ratios fall with x)
//! P(|H − dκ| ≥ y, on one side) ≤ e^{−L},   y = L/3 + √(L²/9 + 2 L d κ(1 − κ)),   κ = k/N
//! ```
//!
//! The last is Bernstein's inequality for Bin(d, κ), whose exponential moments are the larger ones
//! (Hoeffding 1963, Theorem 4). H − dκ is also minus the same for the M that are not drawn, so d may be read
//! as M. H grows with k, stochastically.

use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::special::ln;

/// Allowance for the rounding of three binomial probabilities, in the logarithm: measured at 1e-12.
const LN_ERROR: f64 = 1e-9;

/// d of N users.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw {
    /// N.
    pub(super) all: u64,
    /// d.
    pub(super) drawn: u64,
}

impl Draw {
    /// M.
    pub(super) fn rest(&self) -> u64 {
        self.all - self.drawn
    }

    /// The mean of H.
    pub(super) fn mean(&self, kind: u64) -> f64 {
        self.drawn as f64 * (kind as f64 / self.all as f64)
    }

    /// About the standard deviation of H.
    pub(super) fn deviation(&self, kind: u64) -> f64 {
        let (all, rest) = (self.all as f64, self.rest() as f64);
        let share = kind as f64 / all;
        (self.drawn as f64 * share * (1.0 - share) * rest / all).sqrt()
    }

    /// How far H is from its mean on one side but with probability e^−`exponent`.
    fn reach(&self, kind: u64, exponent: f64) -> f64 {
        let draws = self.drawn.min(self.rest()) as f64;
        let share = kind as f64 / self.all as f64;
        let third = exponent / 3.0;
        third + (third * third + 2.0 * exponent * draws * share * (1.0 - share)).sqrt()
    }

    /// H is below the first with at most this probability, and above the last with at most this one.
    pub(super) fn between(&self, kinds: (u64, u64), exponent: f64) -> (u64, u64) {
        let (first, last) = kinds;
        let (least, most) = (first.saturating_sub(self.rest()), last.min(self.drawn));
        // One more on either side than rounding can lose, up to 2⁵³ users.
        let low = self.mean(first) * (1.0 - 1e-15) - self.reach(first, exponent) - 4.0;
        let high = self.mean(last) * (1.0 + 1e-15) + self.reach(last, exponent) + 4.0;
        // Not negative: a negative number becomes 0.
        (
            (low.floor() as u64).max(least),
            (high.ceil() as u64).min(most),
        )
    }

    /// At or above ln P(H ≥ x) with `kind` users of the kind.
    pub(super) fn ln_at_least(&self, x: u64, kind: u64) -> f64 {
        let (drawn, rest) = (self.drawn, self.rest());
        if x > kind.min(drawn) {
            return f64::NEG_INFINITY;
        }
        // Fewer than this are never drawn.
        if x <= kind.saturating_sub(rest) {
            return 0.0;
        }
        let share = kind as f64 / self.all as f64;
        let law = |users: u64| Binomial::new(users, share);
        let (Some(of_drawn), Some(of_rest), Some(of_all)) = (law(drawn), law(rest), law(self.all))
        else {
            return 0.0;
        };
        let up = (drawn - x) as f64 * (kind - x) as f64;
        let down = (x + 1) as f64 * ((rest + x + 1) - kind) as f64;
        let room = 1.0 - up / down;
        if room <= LN_ERROR {
            return 0.0;
        }
        let terms = [
            of_drawn.ln_pmf(x),
            of_rest.ln_pmf(kind - x),
            -of_all.ln_pmf(kind),
        ];
        let size: f64 = terms.iter().map(|term| term.abs()).sum();
        let value = terms.iter().sum::<f64>() - ln(room * (1.0 - LN_ERROR));
        (value + LN_ERROR * (1.0 + size)).min(0.0)
    }
}
