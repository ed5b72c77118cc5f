//! The expected positive part of a sum: E(X₁ + … + Xₘ + s)₊ for independent X of one finite law.
//!
//! This is the whole computational content of one shuffled round, stated without a word about privacy. The answer is a pair of
//! numbers that enclose the truth: every discretisation, truncation and rounding error is bounded and put on its side.
//!
//! Two ways, chosen by the work they would take; where both can be used they agree to their stated errors (`tests/positive_part.rs`).
//!
//! * `direct`: sum over the counts of the atoms, positive terms only. For small m, or when all but one atom are rare.
//! * `contour`: a Laplace integral on a vertical line through the saddle point. Its cost does not depend on m.

mod contour;
mod direct;
mod tilt;

use crate::special;
use tilt::Saddle;

/// Relative rounding error of a handful of floating-point operations. Inputs ([`Atom`], [`Sum`]) may be off by this much.
pub(crate) const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// One value that X may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Atom {
    /// Its probability, to a relative error of 8 ε (ε = 2⁻⁵²).
    pub weight: f64,
    /// The value x.
    pub value: f64,
    /// A number ≥ |x| such that the error of `value` is at most 8 ε times it: the size of what was subtracted to get x.
    pub magnitude: f64,
}

/// X₁ + … + Xₘ + s.
#[derive(Clone, Copy, Debug)]
pub struct Sum<'a> {
    /// The law of X: weights add up to one.
    pub atoms: &'a [Atom],
    /// E X, known better than by adding up the atoms; at most zero.
    pub mean: f64,
    /// m, the number of terms.
    pub count: f64,
    /// s, at most zero.
    pub shift: f64,
}

/// Natural logarithms that enclose a non-negative number; −∞ stands for zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LnEnclosure {
    /// At or below the truth.
    pub lower: f64,
    /// At or above the truth.
    pub upper: f64,
}

impl LnEnclosure {
    /// Exactly zero.
    pub const ZERO: Self = Self {
        lower: f64::NEG_INFINITY,
        upper: f64::NEG_INFINITY,
    };

    /// Encloses e^`scale` · [`low`, `high`], rounding outward.
    pub(crate) fn scaled(scale: f64, low: f64, high: f64) -> Self {
        let slack = ROUNDING * (1.0 + scale.abs());
        let side = |value: f64, slack: f64| {
            if value > 0.0 {
                scale + special::ln(value) + slack
            } else {
                f64::NEG_INFINITY
            }
        };
        Self {
            lower: side(low, -slack),
            upper: side(high, slack),
        }
    }
}

/// Below e^this the value is reported as the enclosure [0, Chernoff bound]: no double could hold it.
const NEGLIGIBLE: f64 = -760.0;

impl Sum<'_> {
    /// Encloses ln E(X₁ + … + Xₘ + s)₊.
    ///
    /// `accuracy` is the relative accuracy asked of the *point where the value is reached*: the enclosure of the logarithm is about
    /// `accuracy · |d ln E / d ln mean|` wide. It steers the work and never the soundness.
    ///
    /// ```
    /// use shuffledp_numerics::positive_part::{Atom, Sum};
    /// // A fair walk of two steps ±1 ends at 2, 0 or −2: E(·)₊ = 1/2.
    /// let atoms = [1.0, -1.0].map(|x| Atom { weight: 0.5, value: x, magnitude: 1.0 });
    /// let walk = Sum { atoms: &atoms, mean: 0.0, count: 2.0, shift: 0.0 };
    /// let answer = walk.ln_positive_part(1e-8);
    /// assert!((answer.lower.exp() - 0.5).abs() < 1e-12 && (answer.upper.exp() - 0.5).abs() < 1e-12);
    /// ```
    pub fn ln_positive_part(&self, accuracy: f64) -> LnEnclosure {
        let largest = self
            .atoms
            .iter()
            .filter(|atom| atom.weight > 0.0)
            .map(|atom| atom.value + ROUNDING * atom.magnitude)
            .fold(f64::NEG_INFINITY, f64::max);
        if self.count * largest + self.shift <= 0.0 {
            return LnEnclosure::ZERO;
        }
        let Some(saddle) = Saddle::find(self) else {
            // No saddle within range: the largest value of the sum is zero to within rounding. E(·)₊ is at most that value.
            let most = self.count * largest + self.shift;
            return LnEnclosure {
                lower: f64::NEG_INFINITY,
                upper: special::ln(most) + ROUNDING,
            };
        };
        let chernoff = saddle.ln_chernoff();
        if chernoff < NEGLIGIBLE {
            return LnEnclosure {
                lower: f64::NEG_INFINITY,
                upper: chernoff,
            };
        }
        direct::evaluate(self, &saddle)
            .unwrap_or_else(|| contour::evaluate(self, &saddle, accuracy))
    }
}

#[doc(hidden)]
pub mod testing {
    //! The two ways by name, for tests that compare them.
    use super::{LnEnclosure, Saddle, Sum, contour, direct};

    /// By the contour integral, whatever the size.
    pub fn by_contour(sum: &Sum, accuracy: f64) -> Option<LnEnclosure> {
        Saddle::find(sum).map(|saddle| contour::evaluate(sum, &saddle, accuracy))
    }

    /// By summation over counts, whatever the work.
    pub fn by_direct(sum: &Sum) -> Option<LnEnclosure> {
        Saddle::find(sum).and_then(|saddle| direct::evaluate_within(sum, &saddle, f64::INFINITY))
    }
}
