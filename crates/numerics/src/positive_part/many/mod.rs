//! Laws of many atoms: the cells of a continuous law, or a channel with thousands of outputs. Their tails may
//! be heavy.
//!
//! 1. **Clipping** (`clipping`). Values so large that a single one makes the sum positive are cut off, and
//!    enter by their mean alone. Values so low that no other terms make the sum positive again are raised, or
//!    left out.
//! 2. **Off a lattice** (`thinning`). For very many terms the transform decays quickly. Neighboring atoms are
//!    merged on the safe side, and some hundred nodes of the Laplace integral (`contour`) are cheaper than a
//!    lattice and free of the rounding of m-th powers. Where it would take longer, the lattice goes
//!    first for an upper end. A lower end tries it where rare large terms dominate, too, and takes the
//!    lattice where it is not quick.
//! 3. **On a lattice** (`grid`). Otherwise the law is moved to a lattice on the safe side, and a handful of
//!    Fourier transforms gives the sum of any number of terms ([`crate::lattice`]).
//!
//! Each of the two ends of the enclosure has its own law, above or below the given one in convex order, which
//! survives sums. Standing: certified.

mod clipping;
mod grid;
mod thinning;

use super::tilt::Tilted;
use super::{Sum, contour};
use crate::enclosure::{End, LOST, LnEnclosure, NEGLIGIBLE, Wanted};
use crate::laplace::Kernel;
use crate::special::{exp, ln};
use clipping::Clipped;

/// The smallest number of atoms handled here; for fewer, `direct` and `contour` are fast without merging
/// atoms.
pub(super) const MANY: usize = 64;
/// Above this many terms try the contour first: on the lattice the rounding error of each mass is multiplied
/// by the number of terms.
const MANY_TERMS: f64 = 300.0;
/// Up to this many atoms try the contour first, too: its cost grows with the number of atoms.
const FEW_ATOMS: usize = 400;
/// Above this many terms the contour is tried first even if the tail is heavy, and however long it takes.
const VERY_MANY_TERMS: f64 = 1e5;
/// A tail is heavy if the tilted law has at least this many times the variance of the law itself.
const HEAVY_TAIL: f64 = 1.5;
/// Where single large terms add more than the rest of the sum does, the rest may be off by so much more, at
/// most. A limit, because an estimate says how much the rest is.
const MOST_RELAXED: f64 = 300.0;
/// The rest is not evaluated where Chernoff's bound on it is this part of the accuracy, in units of what
/// single large terms add.
const NEXT_TO_NOTHING: f64 = 0.1;
/// On a lattice where most of the law is at one atom, and only an upper end is wanted, the step may be wider
/// by up to this factor. A limit, because the few terms elsewhere are a sum that is far from smooth. Composed
/// lower bounds fell by one percent with it.
const WIDEST: f64 = 8.0;
/// A contour that was not known to be short is used if its enclosure is at most this many times as wide as
/// asked for.
const WIDE: f64 = 4.0;
/// The relative variance that thinning may add to a term, in units of the requested accuracy.
const THINNING: f64 = 3.0;

/// Encloses ln E(S)₊, as far as wanted.
pub(super) fn evaluate(sum: &Sum, accuracy: f64, wanted: Wanted) -> LnEnclosure {
    let clipped = Clipped::new(sum, wanted);
    let end = |end: End, unknown: f64| {
        if wanted.includes(end) {
            clipped.evaluate(sum, accuracy, (end, wanted))
        } else {
            unknown
        }
    };
    LnEnclosure {
        lower: end(End::Lower, f64::NEG_INFINITY),
        upper: end(End::Upper, f64::INFINITY),
    }
}

impl Clipped {
    /// How many terms are elsewhere than at the heaviest atom, on average: where most users stay away, the
    /// sum is one of the few who do not.
    fn usual_terms(&self, count: f64) -> f64 {
        let heaviest = self
            .atoms
            .iter()
            .map(|atom| atom.weight)
            .fold(0.0, f64::max);
        count * (1.0 - heaviest)
    }

    /// One end of the enclosure.
    fn evaluate(&self, sum: &Sum, accuracy: f64, (end, wanted): (End, Wanted)) -> f64 {
        let inner = self.inner(sum, end);
        let Some(tilted) = Tilted::find(&inner) else {
            return end.outward() * f64::INFINITY;
        };
        let mut value = LnEnclosure::at_most(tilted.saddle.ln_chernoff(Kernel::Ramp));
        // What single large terms add is known; the rest may be off by more, relatively, where it is less. A
        // lower end is not relaxed, nor an upper one that a lower bound is made from: atoms gathered on a
        // coarse lattice lose most of a rare sum, and composed lower bounds fell by percents.
        let estimate = tilted.saddle.ln_estimate(Kernel::Ramp);
        let jumps = ln(self.beyond.0 * sum.count);
        let negligible = value.upper < jumps + ln(NEXT_TO_NOTHING * accuracy);
        let accuracy = match wanted == Wanted::Upper && jumps > estimate {
            true => accuracy * (1.0 + exp(jumps - estimate)).min(MOST_RELAXED),
            false => accuracy,
        };
        let lost = tilted.saddle.error > LOST;
        if value.upper >= NEGLIGIBLE && !negligible && !lost {
            // Where tilting makes the law much wider, rare large terms dominate, and the transform decays
            // slowly.
            let (flat, tilt) = (self.variance(), tilted.tilt.variance);
            let heavy = tilt > HEAVY_TAIL * flat && sum.count < VERY_MANY_TERMS;
            let few = self.usual_terms(sum.count) < MANY_TERMS && sum.count < VERY_MANY_TERMS;
            // A contour is known to be short where it decays quickly; where rare large terms dominate it may
            // be quick. Atoms gathered on a lattice lose most of a rare sum, so that a lower end tries.
            let short = !(few || heavy) || self.atoms.len() <= FEW_ATOMS;
            let by_contour = short || end == End::Lower && !few;
            let width = flat.min(tilt).sqrt();
            let contour = |evaluate: fn(&Sum, &Tilted, f64) -> LnEnclosure| {
                let width = (THINNING * accuracy).sqrt() * width;
                let thinned = thinning::thinned(&self.atoms, width, end);
                let thinner = Sum {
                    atoms: &thinned,
                    ..inner
                };
                let Some(tilted) = Tilted::find(&thinner) else {
                    return LnEnclosure::UNKNOWN;
                };
                let bound = evaluate(&thinner, &tilted, accuracy);
                let wide = bound.upper - bound.lower > WIDE * tilted.target(&thinner, accuracy);
                match wide && !short {
                    true => LnEnclosure::UNKNOWN,
                    false => end.only(bound),
                }
            };
            // Where a method succeeds, the estimate is within a few percent. If the two differ by a factor e,
            // it has given up.
            let known = |bound: LnEnclosure| match end {
                End::Upper => bound.upper,
                End::Lower => bound.lower,
            };
            let gave_up = |bound| {
                let off = (known(bound) - estimate).abs();
                off.is_nan() || off > 1.0
            };
            // Atoms gathered on a lattice lose more than atoms spread over it: only an upper end may do
            // without the contour.
            let quickly = !short || end == End::Upper && sum.count < VERY_MANY_TERMS;
            let by_line = by_contour.then(|| {
                contour(match quickly {
                    true => contour::evaluate_quickly,
                    false => contour::evaluate,
                })
            });
            if let Some(bound) = by_line {
                value = value.intersected(bound);
            }
            if by_line.is_none_or(gave_up) {
                let widest = if wanted == Wanted::Upper { WIDEST } else { 1.0 };
                let around = (accuracy, width, widest);
                let bound = grid::evaluate(&inner, &tilted, self.bottom, around, end);
                value = value.intersected(bound);
                // Where the lattice is too coarse for many terms, the contour may take its time.
                let slowly = short && quickly && sum.count >= MANY_TERMS;
                if slowly && gave_up(bound) {
                    value = value.intersected(contour(contour::evaluate));
                }
            }
        }
        self.unclipped(value, &inner, &tilted, end)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Atom;
    use super::grid::{gather, spread};
    use super::thinning::thinned;
    use crate::enclosure::End;
    use std::collections::BTreeMap;

    fn collected(way: impl FnOnce(&mut dyn FnMut(f64, f64))) -> Vec<(f64, f64)> {
        let mut at: BTreeMap<i64, f64> = BTreeMap::new();
        way(&mut |x, w| *at.entry(x as i64).or_default() += w);
        at.into_iter().map(|(x, w)| (x as f64, w)).collect()
    }

    fn stop_loss(law: &[(f64, f64)], t: f64) -> f64 {
        law.iter().map(|(x, w)| w * (x - t).max(0.0)).sum()
    }

    /// Convex order, by its definition: E(X − t)₊ for every t.
    #[test]
    fn the_two_lattice_laws_are_on_either_side() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for round in 0..200 {
            let count = 1 + (round % 40);
            let mut law: Vec<(f64, f64)> = (0..count)
                .map(|_| (20.0 * random() - 10.0, random() / f64::from(count)))
                .collect();
            // Several atoms at one value, as there are where two likelihoods agree.
            law.extend([(0.25, 0.1), (0.25, 0.2), (0.25, 0.3)]);
            law.sort_by(|a, b| a.0.total_cmp(&b.0));
            let above = collected(|mut put| spread(&law, &mut put));
            let below = collected(|mut put| gather(&law, &mut put));
            let atoms: Vec<Atom> = law
                .iter()
                .map(|&(value, weight)| Atom {
                    weight,
                    value,
                    magnitude: value.abs(),
                })
                .collect();
            let plain = |atoms: Vec<Atom>| -> Vec<(f64, f64)> {
                atoms.iter().map(|a| (a.value, a.weight)).collect()
            };
            let more = plain(thinned(&atoms, 1.5, End::Upper));
            let less = plain(thinned(&atoms, 1.5, End::Lower));
            for i in -120..=120 {
                let t = f64::from(i) * 0.1;
                let truth = stop_loss(&law, t);
                assert!(
                    stop_loss(&above, t) >= truth * (1.0 - 1e-14),
                    "{law:?} at {t}"
                );
                assert!(stop_loss(&more, t) >= truth - 1e-13 && more.len() <= law.len());
                assert!(stop_loss(&less, t) <= truth + 1e-13 && less.len() <= law.len());
                assert!(
                    stop_loss(&below, t) <= truth * (1.0 + 1e-14),
                    "{law:?} at {t}"
                );
            }
        }
    }
}
