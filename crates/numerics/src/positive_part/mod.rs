//! The expected positive part of a sum: E(X₁ + … + Xₘ + s)₊ for independent X of one finite law.
//!
//! The answer is an enclosure of the true value: every discretization, truncation and rounding error is
//! bounded and added on its side.
//!
//! There are four methods, chosen by the work they would take. Where several apply they agree within their
//! stated errors (`tests/positive_part.rs`).
//!
//! * `direct`: sum over the counts of the atoms, positive terms only. For small m, or when all but one atom
//!   are rare. A single term is a sum over the atoms.
//! * `contour`: a Laplace integral on a vertical line through the saddle point. Its cost does not depend on
//!   m.
//! * `jumps`: a few sums over the atoms, where large values are so rare that hardly ever two of them occur.
//! * `many`: for laws of many atoms. Long tails are clipped, and neighboring atoms merged, once above and
//!   once below.
//!
//! `tilt` finds the saddle point for the first two. Standing: certified.

mod contour;
mod direct;
mod jumps;
mod many;
mod tilt;

use crate::enclosure::{LOST, LnEnclosure, NEGLIGIBLE, Wanted};
use crate::laplace::Kernel;
use crate::rounding::ROUNDING;
use crate::special;
use tilt::Tilted;

/// One value that X may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Atom {
    /// Its probability, to a relative error of 8 ε (ε = 2⁻⁵²).
    pub weight: f64,
    /// The value x.
    pub value: f64,
    /// A number ≥ |x| such that the error of `value` is at most 8 ε times it. If x is a difference, the size
    /// of its terms.
    pub magnitude: f64,
}

/// X₁ + … + Xₘ + s.
#[derive(Clone, Copy, Debug)]
pub struct Sum<'a> {
    /// The law of X: weights add up to one.
    pub atoms: &'a [Atom],
    /// E X, more accurate than the sum over the atoms; at most zero.
    pub mean: f64,
    /// m, the number of terms.
    pub count: f64,
    /// s, at most zero.
    pub shift: f64,
}

impl Sum<'_> {
    /// Encloses ln E(X₁ + … + Xₘ + s)₊.
    ///
    /// `accuracy` is the relative accuracy of the *mean at which a value of E is reached*: the enclosure of
    /// the logarithm is about `accuracy · |d ln E / d ln mean|` wide. It affects the work and the width,
    /// never the soundness.
    ///
    /// ```
    /// use shuffledp_numerics::positive_part::{Atom, Sum};
    /// // A fair walk of two steps ±1 ends at 2, 0 or −2: E(·)₊ = 1/2.
    /// let atoms = [1.0, -1.0].map(|x| Atom { weight: 0.5, value: x, magnitude: 1.0 });
    /// let walk = Sum { atoms: &atoms, mean: 0.0, count: 2.0, shift: 0.0 };
    /// let answer = walk.ln_positive_part(1e-8);
    /// assert!((answer.lower.exp() - 0.5).abs() < 1e-11 && (answer.upper.exp() - 0.5).abs() < 1e-11);
    /// ```
    pub fn ln_positive_part(&self, accuracy: f64) -> LnEnclosure {
        self.ln_positive_part_as(accuracy, Wanted::Both)
    }

    /// [`Sum::ln_positive_part`] if perhaps only one end is wanted. The other end may then be infinite.
    pub fn ln_positive_part_as(&self, accuracy: f64, wanted: Wanted) -> LnEnclosure {
        // Work in units of a power of two near the largest value, so that no power of a value overflows.
        let magnitude = self
            .atoms
            .iter()
            .filter(|atom| atom.weight > 0.0)
            .map(|atom| atom.magnitude)
            .fold(0.0, f64::max);
        if magnitude == 0.0 {
            return LnEnclosure::ZERO;
        }
        let exponent = magnitude.log2().floor();
        let unit = (-exponent).exp2();
        if !(unit.is_normal() && self.mean.is_finite() && self.shift.is_finite()) {
            return LnEnclosure::UNKNOWN;
        }
        let atoms: Vec<Atom> = self
            .atoms
            .iter()
            .filter(|atom| atom.weight > 0.0)
            .map(|atom| Atom {
                weight: atom.weight,
                value: atom.value * unit,
                magnitude: atom.magnitude * unit,
            })
            .collect();
        let scaled = Sum {
            atoms: &atoms,
            mean: self.mean * unit,
            count: self.count,
            shift: self.shift * unit,
        }
        .ln_positive_part_in_units(accuracy, wanted);
        let ln_unit = exponent * std::f64::consts::LN_2;
        let slack = ROUNDING * (1.0 + ln_unit.abs());
        LnEnclosure {
            lower: scaled.lower + ln_unit - slack,
            upper: scaled.upper + ln_unit + slack,
        }
    }

    fn ln_positive_part_in_units(&self, accuracy: f64, wanted: Wanted) -> LnEnclosure {
        let largest = self
            .atoms
            .iter()
            .map(|atom| atom.value + ROUNDING * atom.magnitude)
            .fold(f64::NEG_INFINITY, f64::max);
        // The largest value of the sum, rounded up; E(·)₊ is at most that, and at most m E X₊.
        let most = self.count * largest
            + self.shift
            + 2.0 * ROUNDING * (self.count * largest.abs() + self.shift.abs());
        if most <= 0.0 {
            return LnEnclosure::ZERO;
        }
        let cap = most.min(self.count * self.mean_positive_value());
        let cap = special::ln(cap) + ROUNDING * (1.0 + special::ln(cap).abs());
        let enclosure = self.enclose(accuracy, wanted);
        LnEnclosure {
            lower: enclosure.lower,
            upper: enclosure.upper.min(cap),
        }
    }

    /// E X₊, rounded up, and more than 0: a product may underflow.
    fn mean_positive_value(&self) -> f64 {
        let terms = self
            .atoms
            .iter()
            .map(|atom| atom.weight * (atom.value + ROUNDING * atom.magnitude).max(0.0));
        let underflow = f64::MIN_POSITIVE * self.atoms.len() as f64;
        (terms.sum::<f64>() + underflow) * (1.0 + 4.0 * ROUNDING)
    }

    fn enclose(&self, accuracy: f64, wanted: Wanted) -> LnEnclosure {
        if self.count == 1.0 {
            return direct::one_term(self);
        }
        if self.atoms.len() >= many::MANY {
            return many::evaluate(self, accuracy, wanted);
        }
        let Some(tilted) = Tilted::find(self) else {
            // No saddle within range: the largest value of the sum is zero to within rounding.
            return LnEnclosure::UNKNOWN;
        };
        let chernoff = tilted.saddle.ln_chernoff(Kernel::Ramp);
        if chernoff < NEGLIGIBLE {
            return LnEnclosure::at_most(chernoff);
        }
        if let Some(counted) = direct::evaluate(self, &tilted.saddle, accuracy) {
            return counted;
        }
        let jumps = jumps::evaluate(self);
        if jumps.upper - jumps.lower <= tilted.target(self, accuracy) {
            return jumps;
        }
        let other = match tilted.saddle.error > LOST {
            true => LnEnclosure::at_most(chernoff),
            false => contour::evaluate(self, &tilted, accuracy),
        };
        jumps.intersected(other)
    }
}

#[doc(hidden)]
pub mod testing {
    //! Two of the methods by name, for tests that compare them.
    use super::{LnEnclosure, Sum, Tilted, contour, direct};

    /// By the contour integral, for any size.
    pub fn by_contour(sum: &Sum, accuracy: f64) -> Option<LnEnclosure> {
        Tilted::find(sum).map(|tilted| contour::evaluate(sum, &tilted, accuracy))
    }

    /// By summation over counts, without a limit on the work.
    pub fn by_direct(sum: &Sum) -> Option<LnEnclosure> {
        Tilted::find(sum)
            .and_then(|tilted| direct::evaluate_within(sum, &tilted.saddle, f64::INFINITY))
    }
}
