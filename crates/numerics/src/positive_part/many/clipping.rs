//! Clipping: values so large that a single term makes the sum positive, and values so low that no other terms
//! make it positive again.
//!
//! Let K be so large that one term of that size makes the sum positive: P(K + the other terms ≤ 0) ≤ p. Then
//! with X′ = min(X, K)
//!
//! ```text
//! E(Σ X′ + s)₊ + m E(X−K)₊ (1 − p)  ≤  E(Σ X + s)₊  ≤  E(Σ X′ + s)₊ + m E(X−K)₊
//! ```
//!
//! because x ↦ (x)₊ has slope at most 1, and slope 1 where the sum of the clipped terms is positive. So
//! values beyond K, even e⁵⁰ times K, enter by their mean alone.
//!
//! At the other end, values below −L are raised to −L. For an upper bound that is safe; for a lower bound,
//! the most that it can have added is subtracted.

use super::super::tilt::Tilted;
use super::super::{Atom, Sum};
use crate::compensated;
use crate::enclosure::{End, LnEnclosure, Wanted};
use crate::laplace::Kernel;
use crate::log_space::ln_add_exp;
use crate::rounding::ROUNDING;
use crate::special::{exp, exp_minus_1_minus_x, ln, ln_1p};

/// A term makes the sum positive if it exceeds the deficit of the others by this many of their standard
/// deviations. For Gaussian sums p is then below 1e-4; the bound on p is computed in any case.
const DECIDED: f64 = 4.5;
/// Values are rare, and not counted in the usual deficit of the others, if the probability of one among all
/// terms is at most this.
const RARE: f64 = 1e-3;

/// The law of max(−L, min(X, K)), sorted.
pub(super) struct Clipped {
    pub(super) atoms: Vec<Atom>,
    /// Its mean, and a bound on the error of that.
    mean: f64,
    mean_error: f64,
    /// E(X − K)₊, from both sides.
    pub(super) beyond: (f64, f64),
    /// p.
    undecided: f64,
    /// P(X < −L), and L.
    raised: f64,
    pub(super) bottom: f64,
}

impl Clipped {
    pub(super) fn new(sum: &Sum, wanted: Wanted) -> Self {
        let mut atoms = sum.atoms.to_vec();
        atoms.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
        // The law is not empty: weights add up to one.
        let (lowest, largest) = match (atoms.first(), atoms.last()) {
            (Some(first), Some(last)) => (first.value, last.value),
            _ => (0.0, 0.0),
        };
        let mut clipped = Self {
            atoms,
            mean: sum.mean,
            mean_error: 0.0,
            beyond: (0.0, 0.0),
            undecided: 0.0,
            raised: 0.0,
            bottom: f64::INFINITY,
        };
        // The deficit of a usual sum: values so low that there is hardly ever one among all terms do not
        // count.
        let rare = RARE / sum.count;
        let mut seen = 0.0;
        let usual = clipped
            .atoms
            .iter()
            .position(|atom| {
                seen += atom.weight;
                seen > rare
            })
            .map_or(lowest, |index| clipped.atoms[index].value);
        let raised = clipped
            .atoms
            .iter()
            .take_while(|atom| atom.value < usual)
            .map(|atom| atom.weight * (usual - atom.value));
        let deficit = -(sum.count * (sum.mean + compensated::sum(raised)) + sum.shift);
        // K: the deficit plus some standard deviations of the sum of terms clipped there.
        let mut level = largest;
        for _ in 0..60 {
            let next = deficit + DECIDED * (sum.count * clipped.square(usual, level)).sqrt();
            if next >= 0.9 * level {
                break;
            }
            level = next;
        }
        // Where only rare terms are low there is no deficit, and nothing is clipped.
        if level > 0.0 && level < 0.5 * largest {
            if wanted != Wanted::Upper {
                clipped.undecided = clipped.undecided(sum, level);
            }
            clipped.clip_above(level);
        }
        // L: so low that e^{cx} is negligible, c the tilt of a sum some standard deviations out.
        let mut bottom = -lowest;
        for _ in 0..20 {
            let next = level.abs() + 60.0 * (sum.count * clipped.square(-bottom, bottom)).sqrt();
            if next >= 0.9 * bottom {
                break;
            }
            bottom = next;
        }
        if bottom < -0.5 * lowest {
            clipped.raise(bottom);
        }
        clipped
    }

    /// E X², X clipped at both ends.
    fn square(&self, low: f64, high: f64) -> f64 {
        let squares = self
            .atoms
            .iter()
            .map(|a| a.weight * a.value.min(high).max(low).powi(2));
        squares.sum()
    }

    /// A bound on p = P(K + X₂ + … + Xₘ + s ≤ 0), X clipped at K: Chernoff's bound with all terms below −ℓ
    /// raised to −ℓ, plus the probability that there is such a term; the best of several ℓ.
    fn undecided(&self, sum: &Sum, level: f64) -> f64 {
        let others = sum.count - 1.0;
        let room = level + sum.shift;
        let mut best: f64 = 1.0;
        for depth in [1.0, 0.5, 0.25, 0.125].map(|part| part * level) {
            let clip = |atom: &Atom| atom.value.clamp(-depth, level);
            let first = self.atoms.partition_point(|atom| atom.value < -depth);
            let below = compensated::sum(self.atoms[..first].iter().map(|a| a.weight));
            let mean = compensated::sum(self.atoms.iter().map(|a| a.weight * clip(a)));
            let square: f64 = self
                .atoms
                .iter()
                .map(|a| a.weight * clip(a) * clip(a))
                .sum();
            // From the Gaussian guess downwards, as long as the bound improves.
            let mut theta = (room + others * mean) / (sum.count * square);
            let mut last = f64::INFINITY;
            while theta > 0.0 {
                let excess = -theta * mean
                    + self
                        .atoms
                        .iter()
                        .map(|a| a.weight * exp_minus_1_minus_x(-theta * clip(a)))
                        .sum::<f64>();
                let exponent = others * ln_1p(excess) - theta * room;
                if exponent.is_nan() || exponent >= last {
                    break;
                }
                last = exponent;
                theta *= 0.7;
            }
            let size = others * (1.0 + last.abs()) + last.abs();
            best = best.min(exp(last + 64.0 * ROUNDING * size) + others * below);
            if first == 0 {
                break;
            }
        }
        best
    }

    fn clip_above(&mut self, level: f64) {
        let kept = self.atoms.partition_point(|atom| atom.value <= level);
        let excess = |up: f64| {
            let terms = self.atoms[kept..]
                .iter()
                .map(|a| a.weight * (a.value - level + up * ROUNDING * a.magnitude));
            compensated::sum(terms) * (1.0 + 2.0 * up * ROUNDING)
        };
        let (low, high) = (excess(-1.0).max(0.0), excess(1.0));
        let weight = compensated::sum(self.atoms[kept..].iter().map(|a| a.weight));
        self.atoms.truncate(kept);
        self.atoms.push(Atom {
            weight,
            value: level,
            magnitude: level,
        });
        self.mean -= 0.5 * (low + high);
        self.mean_error += 0.5 * (high - low) + ROUNDING * high;
        self.beyond = (low, high);
    }

    fn raise(&mut self, bottom: f64) {
        let first = self.atoms.partition_point(|atom| atom.value < -bottom);
        let low = &self.atoms[..first];
        let more = compensated::sum(low.iter().map(|a| a.weight * (-bottom - a.value)));
        let error = compensated::sum(low.iter().map(|a| a.weight * a.magnitude));
        self.raised = compensated::sum(low.iter().map(|a| a.weight)) * (1.0 + ROUNDING);
        self.bottom = bottom;
        self.mean += more;
        self.mean_error += 2.0 * ROUNDING * (more + error);
        self.atoms.drain(1..first);
        self.atoms[0] = Atom {
            weight: self.raised,
            value: -bottom,
            magnitude: bottom,
        };
    }

    /// Σ π x².
    pub(super) fn variance(&self) -> f64 {
        let squares = self.atoms.iter().map(|a| a.weight * a.value * a.value);
        squares.sum()
    }

    /// The sum of clipped terms, its mean on the safe side.
    pub(super) fn inner<'a>(&'a self, sum: &Sum, end: End) -> Sum<'a> {
        Sum {
            atoms: &self.atoms,
            mean: self.mean + end.outward() * self.mean_error,
            count: sum.count,
            shift: sum.shift,
        }
    }

    /// One end of ln E(S)₊, from an enclosure of the same for clipped terms.
    pub(super) fn unclipped(
        &self,
        value: LnEnclosure,
        inner: &Sum,
        tilted: &Tilted,
        end: End,
    ) -> f64 {
        match end {
            End::Upper => add(value.upper, self.beyond.1 * inner.count, 1.0),
            End::Lower => {
                let without = self.unraised(value.lower, inner, tilted);
                let jump = self.beyond.0 * (1.0 - self.undecided) * inner.count;
                add(without, jump, -1.0)
            }
        }
    }

    /// A lower bound on ln E(S)₊ where the terms below −L are not raised, from one where they are: raising
    /// added at most m P(X < −L) E(S′ − L)₊, S′ the sum of the other terms.
    fn unraised(&self, ln: f64, inner: &Sum, tilted: &Tilted) -> f64 {
        if self.raised == 0.0 || ln == f64::NEG_INFINITY {
            return ln;
        }
        let c = tilted.saddle.c;
        let exponent = crate::special::ln(inner.count * self.raised)
            + tilted.saddle.cumulant
            + tilted.saddle.error
            - tilted.tilt.ln_moment
            - c * self.bottom
            + Kernel::Ramp.ln_chernoff(c);
        let part = exp(exponent - ln + 1e-9);
        if part < 1.0 {
            ln + ln_1p(-part)
        } else {
            f64::NEG_INFINITY
        }
    }
}

/// ln(e^`value` + `more`), rounded.
fn add(value: f64, more: f64, direction: f64) -> f64 {
    if more <= 0.0 {
        return value;
    }
    let total = ln_add_exp(value, ln(more));
    total + direction * ROUNDING * (1.0 + total.abs())
}
