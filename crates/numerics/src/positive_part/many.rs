//! Laws of many atoms: the cells of a continuous law, or a channel with thousands of outputs. They may have tails of any weight.
//!
//! **Clipping.** Let K be so large that one term of that size decides the sign, P(K + rest ≤ 0) ≤ p. Then with X′ = min(X, K)
//!
//! ```text
//! E(Σ X′ + s)₊ + m E(X−K)₊ (1 − p)  ≤  E(Σ X + s)₊  ≤  E(Σ X′ + s)₊ + m E(X−K)₊
//! ```
//!
//! because x ↦ (x)₊ has slope at most 1, and slope 1 where the sum of the clipped terms is positive. So what is beyond K, be it e⁵⁰ times as far out, enters by its mean alone.
//! At the other end, a term so low that nothing makes up for it is raised to −L (above) or its mass left out (below).
//!
//! **On a lattice.** Above: each atom is split between its two neighbors on a lattice, its mean kept: larger in convex order, and convex order survives sums. Below: neighboring atoms are gathered, from left to right, into groups whose mean is a lattice point: smaller in convex order; what finds no group at the right end is moved down. A
//! handful of Fourier transforms then gives the sum of any number of terms ([`crate::lattice`]). Variances change by about h²/6.
//!
//! **Off a lattice.** Of very many terms the transform decays quickly, and some hundred nodes of the Laplace integral with the atoms as they are (`contour`) are both cheaper and immune to the rounding of m-th powers.
//!
//! Standing: certified.

use super::tilt::Tilted;
use super::{Atom, Sum, contour};
use crate::enclosure::{End, LnEnclosure, NEGLIGIBLE, Wanted};
use crate::laplace::Kernel;
use crate::lattice::{self, Measure};
use crate::log_space::ln_add_exp;
use crate::rounding::ROUNDING;
use crate::special::{exp, exp_minus_1_minus_x, ln, ln_1p};
use std::sync::Arc;

/// Laws of fewer atoms are left to the ways that take them as they are.
pub(super) const MANY: usize = 64;
/// From so many terms on the lattice, where the rounding of a mass is multiplied by the number of terms, comes second.
const MANY_TERMS: f64 = 300.0;
/// Of so few atoms the transform is cheap, and few terms need no lattice either.
const FEW_ATOMS: usize = 400;
/// From so many on also where the tail is heavy.
const VERY_MANY_TERMS: f64 = 1e5;
/// A term decides the sign if it is larger than what is lacking by so many standard deviations of the others.
const DECIDED: f64 = 4.5;
/// Terms of which there is one with at most this chance are rare.
const RARE: f64 = 1e-3;
/// A tilted law so many times as wide as the law itself has a heavy tail.
const HEAVY_TAIL: f64 = 1.5;
/// What thinning may add to a variance, in units of the accuracy.
const THINNING: f64 = 3.0;
/// A term this many tilted units low is beyond repair.
const HOPELESS: f64 = 45.0;
/// The most points of a lattice, at an accuracy of 1e-6; errors grow with the square of the step.
const MOST_POINTS: f64 = 524_288.0;
/// An atom of at least this weight is put on the lattice.
const HEAVY: f64 = 0.05;

/// Encloses ln E(S)₊, as far as wanted.
pub(super) fn evaluate(sum: &Sum, accuracy: f64, wanted: Wanted) -> LnEnclosure {
    let clipped = Clipped::new(sum, wanted);
    let end = |end: End, unknown: f64| {
        if wanted.includes(end) {
            clipped.evaluate(sum, accuracy, end)
        } else {
            unknown
        }
    };
    LnEnclosure {
        lower: end(End::Lower, f64::NEG_INFINITY),
        upper: end(End::Upper, f64::INFINITY),
    }
}

/// The law of max(−L, min(X, K)), sorted.
struct Clipped {
    atoms: Vec<Atom>,
    /// Its mean, and a bound on the error of that.
    mean: f64,
    mean_error: f64,
    /// E(X − K)₊, from both sides.
    beyond: (f64, f64),
    /// p.
    undecided: f64,
    /// P(X < −L), and L.
    raised: f64,
    bottom: f64,
}

impl Clipped {
    fn new(sum: &Sum, wanted: Wanted) -> Self {
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
        // What is usually lacking: terms so low that there is hardly ever one are not usual.
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
        let deficit = -(sum.count * (sum.mean + compensated(raised)) + sum.shift);
        // So far out that the other terms, give or take some standard deviations (of terms clipped there), do not make up for it.
        let mut level = largest;
        for _ in 0..60 {
            let next = deficit + DECIDED * (sum.count * clipped.square(usual, level)).sqrt();
            if next >= 0.9 * level {
                break;
            }
            level = next;
        }
        // Where only rare terms are low, nothing is lacking, and nothing is clipped.
        if level > 0.0 && level < 0.5 * largest {
            if wanted != Wanted::Upper {
                clipped.undecided = clipped.undecided(sum, level);
            }
            clipped.clip_above(level);
        }
        // So low that e^{cx} is nothing, c the tilt of a sum some standard deviations out.
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

    /// A bound on P(K + X₂ + … + Xₘ + s ≤ 0), X clipped at K: Chernoff's, with all terms below −ℓ raised to it, and the chance that there is one, for the best of some ℓ.
    fn undecided(&self, sum: &Sum, level: f64) -> f64 {
        let others = sum.count - 1.0;
        let room = level + sum.shift;
        let mut best: f64 = 1.0;
        for depth in [1.0, 0.5, 0.25, 0.125].map(|part| part * level) {
            let clip = |atom: &Atom| atom.value.clamp(-depth, level);
            let first = self.atoms.partition_point(|atom| atom.value < -depth);
            let below = compensated(self.atoms[..first].iter().map(|a| a.weight));
            let mean = compensated(self.atoms.iter().map(|a| a.weight * clip(a)));
            let square: f64 = self
                .atoms
                .iter()
                .map(|a| a.weight * clip(a) * clip(a))
                .sum();
            // The Gaussian guess, and less where it would tilt too far.
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
            compensated(terms) * (1.0 + 2.0 * up * ROUNDING)
        };
        let (low, high) = (excess(-1.0).max(0.0), excess(1.0));
        let weight = compensated(self.atoms[kept..].iter().map(|a| a.weight));
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
        let more = compensated(low.iter().map(|a| a.weight * (-bottom - a.value)));
        let error = compensated(low.iter().map(|a| a.weight * a.magnitude));
        self.raised = compensated(low.iter().map(|a| a.weight)) * (1.0 + ROUNDING);
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
    fn variance(&self) -> f64 {
        let squares = self.atoms.iter().map(|a| a.weight * a.value * a.value);
        squares.sum()
    }

    /// One end of the enclosure.
    fn evaluate(&self, sum: &Sum, accuracy: f64, end: End) -> f64 {
        let up = end.outward();
        let inner = Sum {
            atoms: &self.atoms,
            mean: self.mean + up * self.mean_error,
            count: sum.count,
            shift: sum.shift,
        };
        let Some(tilted) = Tilted::find(&inner) else {
            return up * f64::INFINITY;
        };
        let mut value = LnEnclosure::at_most(tilted.saddle.ln_chernoff(Kernel::Ramp));
        if value.upper >= NEGLIGIBLE {
            // Where tilting makes the law wider, rare large terms decide, and the transform decays slowly.
            let (flat, tilt) = (self.variance(), tilted.tilt.variance);
            let heavy = tilt > HEAVY_TAIL * flat && sum.count < VERY_MANY_TERMS;
            let few_terms = sum.count < MANY_TERMS || heavy;
            let by_contour = !few_terms || self.atoms.len() <= FEW_ATOMS;
            let width = flat.min(tilt).sqrt();
            if by_contour {
                let width = (THINNING * accuracy).sqrt() * width;
                let thinned = match end {
                    End::Upper => thinned_above(&self.atoms, width),
                    End::Lower => thinned_below(&self.atoms, width),
                };
                let thinner = Sum {
                    atoms: &thinned,
                    ..inner
                };
                if let Some(tilted) = Tilted::find(&thinner) {
                    let bound = contour::evaluate(&thinner, &tilted, accuracy);
                    value = value.intersected(end.only(bound));
                }
            }
            let estimate = tilted.saddle.ln_estimate(Kernel::Ramp);
            let known = match end {
                End::Upper => value.upper,
                End::Lower => value.lower,
            };
            // The estimate is good to a few per cent where the contour is: if the answer is far from it, the contour has given up.
            if !by_contour || (known - estimate).abs() > 1.0 {
                let bound = self.on_lattice(&inner, &tilted, accuracy, width, end);
                value = value.intersected(bound);
            }
        }
        match end {
            End::Upper => add(value.upper, self.beyond.1 * sum.count, 1.0),
            End::Lower => {
                let without = self.unraised(value.lower, &inner, &tilted);
                let jump = self.beyond.0 * (1.0 - self.undecided) * sum.count;
                add(without, jump, -1.0)
            }
        }
    }

    /// ln E(S)₊ at least, where the terms below −L stay there: less than when raised by at most m P(X < −L) E(S′ − L)₊, S′ the other terms.
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

/// What the enclosure of the logarithm should be wide: d ln E / d ln mean is about c times the mean.
fn target(sum: &Sum, tilted: &Tilted, accuracy: f64) -> f64 {
    let leverage = (tilted.saddle.c * (sum.count * sum.mean + sum.shift).abs()).max(1.0);
    (accuracy * leverage).clamp(1e-11, 0.25)
}

/// ln(e^`value` + `more`), rounded.
fn add(value: f64, more: f64, direction: f64) -> f64 {
    if more <= 0.0 {
        return value;
    }
    let total = ln_add_exp(value, ln(more));
    total + direction * ROUNDING * (1.0 + total.abs())
}

/// A running sum to within a unit in the last place or two (Neumaier).
#[derive(Clone, Copy, Default)]
struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    fn add(&mut self, term: f64) {
        let next = self.sum + term;
        self.lost += if self.sum.abs() >= term.abs() {
            (self.sum - next) + term
        } else {
            (term - next) + self.sum
        };
        self.sum = next;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

fn compensated(terms: impl Iterator<Item = f64>) -> f64 {
    let mut total = Total::default();
    terms.for_each(|term| total.add(term));
    total.value()
}

impl Clipped {
    /// One end, by a law on a lattice.
    fn on_lattice(
        &self,
        sum: &Sum,
        tilted: &Tilted,
        accuracy: f64,
        deviation: f64,
        end: End,
    ) -> LnEnclosure {
        // Terms below `floor` are hopeless.
        let floor = (-HOPELESS / tilted.saddle.c).max(-self.bottom);
        let (Some(first), Some(last)) = (sum.atoms.first(), sum.atoms.last()) else {
            return LnEnclosure::UNKNOWN;
        };
        let bottom = first.value.max(floor);
        // Neither the law nor a period of the sum's transform may have too many points.
        let period = 16.0 * (sum.count * tilted.tilt.variance).sqrt();
        let most = MOST_POINTS * (1e-6 / accuracy).min(1.0).sqrt();
        let step = ((6.0 * accuracy).sqrt() * deviation)
            .max((last.value - bottom) / most)
            .max(period / (2.0 * most));
        // A heavy atom is put on the lattice.
        let heavy = sum
            .atoms
            .iter()
            .max_by(|a, b| a.weight.total_cmp(&b.weight))
            .filter(|atom| atom.weight >= HEAVY && atom.value >= bottom)
            .map_or(0.0, |atom| atom.value);
        let exponent = step.log2().floor();
        if !(-900.0..=20.0).contains(&exponent) {
            return LnEnclosure::UNKNOWN;
        }
        let grid = Grid {
            exponent: exponent as i32,
            step: exponent.exp2(),
            heavy,
            floor,
        };
        let Some(measure) = grid.measure(sum.atoms, end) else {
            return LnEnclosure::UNKNOWN;
        };
        let mut total = lattice::Sum::default();
        total.add(Arc::new(measure), sum.count as u64);
        let towards = -end.outward();
        let moved = sum.count * heavy;
        let t = -(moved + sum.shift) + towards * ROUNDING * (moved.abs() + sum.shift.abs());
        let value = total
            .ramp_near(tilted.saddle.c)
            .ln_value(t, 0.25 * target(sum, tilted, accuracy));
        end.only(value)
    }
}

/// Neighboring atoms at most `width` apart, at the two ends of each such stretch, the mean kept: larger in convex order.
fn thinned_above(atoms: &[Atom], width: f64) -> Vec<Atom> {
    let mut kept: Vec<Atom> = Vec::new();
    let mut start = 0;
    let mut carried = Total::default();
    while start < atoms.len() {
        let low = atoms[start];
        let end = start + atoms[start..].partition_point(|a| a.value <= low.value + width);
        let high = atoms[end - 1];
        let mut left = carried;
        carried = Total::default();
        left.add(low.weight);
        if end - start > 2 {
            let gap = high.value - low.value;
            for atom in &atoms[start + 1..end - 1] {
                // Several atoms may have one value.
                if gap == 0.0 {
                    left.add(atom.weight);
                    continue;
                }
                left.add(atom.weight * ((high.value - atom.value) / gap));
                carried.add(atom.weight * ((atom.value - low.value) / gap));
            }
        }
        kept.push(Atom {
            weight: left.value(),
            ..low
        });
        // The last of the stretch is the first of the next one.
        start = if end - start > 1 { end - 1 } else { end };
        if start == atoms.len() - 1 {
            carried.add(atoms[start].weight);
            kept.push(Atom {
                weight: carried.value(),
                ..atoms[start]
            });
            break;
        }
    }
    kept
}

/// Atoms within `width` of each other at their mean: smaller in convex order.
fn thinned_below(atoms: &[Atom], width: f64) -> Vec<Atom> {
    let mut kept = Vec::new();
    let mut start = 0;
    while start < atoms.len() {
        let low = atoms[start];
        let end = start + atoms[start..].partition_point(|a| a.value <= low.value + width);
        let (mut weight, mut moment) = (Total::default(), Total::default());
        let mut magnitude: f64 = 0.0;
        for atom in &atoms[start..end] {
            weight.add(atom.weight);
            moment.add(atom.weight * (atom.value - low.value));
            magnitude = magnitude.max(atom.magnitude);
        }
        kept.push(Atom {
            weight: weight.value(),
            value: low.value + moment.value() / weight.value(),
            magnitude,
        });
        start = end;
    }
    kept
}

/// The lattice {heavy + i·step}.
struct Grid {
    exponent: i32,
    step: f64,
    heavy: f64,
    floor: f64,
}

impl Grid {
    /// A law on the lattice on the given side of this one, which is sorted.
    fn measure(&self, atoms: &[Atom], end: End) -> Option<Measure> {
        let up = end.outward();
        // Positions in steps, moved to the safe side by what they may be off.
        let moved: Vec<(f64, f64)> = atoms
            .iter()
            .filter(|atom| end == End::Upper || atom.value > self.floor)
            .map(|atom| {
                // A value that was raised to the floor is exact.
                let (value, size) = if atom.value < self.floor {
                    (self.floor, self.floor.abs())
                } else {
                    (atom.value, atom.magnitude)
                };
                let slack = up * ROUNDING * (size + self.heavy.abs());
                let position = (value - self.heavy + slack) / self.step;
                (position, atom.weight * (1.0 + 2.0 * up * ROUNDING))
            })
            .collect();
        let low = moved
            .iter()
            .map(|m| m.0)
            .fold(f64::INFINITY, f64::min)
            .floor()
            - 1.0;
        let high = moved
            .iter()
            .map(|m| m.0)
            .fold(f64::NEG_INFINITY, f64::max)
            .ceil()
            + 1.0;
        // Nothing left, or more than a lattice holds.
        if !(high - low < 4.0 * MOST_POINTS && low.abs() < 1e15) {
            return None;
        }
        let mut masses = vec![0.0; (high - low) as usize + 1];
        let mut put = |position: f64, weight: f64| masses[(position - low) as usize] += weight;
        match end {
            End::Upper => spread(&moved, &mut put),
            End::Lower => gather(&moved, &mut put),
        }
        Measure::new(self.exponent, low as i64, masses)
    }
}

/// Each atom to its two neighbors, keeping its mean.
fn spread(atoms: &[(f64, f64)], put: &mut impl FnMut(f64, f64)) {
    for &(position, weight) in atoms {
        let below = position.floor();
        let part = position - below;
        put(below, weight * (1.0 - part) * (1.0 + ROUNDING));
        put(below + 1.0, weight * part * (1.0 + ROUNDING));
    }
}

/// Sorted atoms, in groups whose means are lattice points; what is left at the end, down to the lattice.
fn gather(atoms: &[(f64, f64)], put: &mut impl FnMut(f64, f64)) {
    // The group: its lattice point, what it lacks to have its mean there, its members.
    let (mut point, mut lacking, mut mass) = (0.0, 0.0, 0.0);
    let mut members: Vec<(f64, f64)> = Vec::new();
    for &(position, mut weight) in atoms {
        if mass > 0.0 && position > point {
            let needed = lacking / (position - point);
            if needed < weight {
                put(
                    point,
                    (mass + needed) * (1.0 - ROUNDING * (members.len() + 4) as f64),
                );
                weight -= needed * (1.0 + ROUNDING);
                mass = 0.0;
                members.clear();
                if weight <= 0.0 {
                    continue;
                }
            }
        }
        if mass == 0.0 {
            if position == position.ceil() {
                put(position, weight);
                continue;
            }
            (point, lacking) = (position.ceil(), 0.0);
        }
        lacking += weight * (point - position);
        mass += weight;
        members.push((position, weight));
    }
    for (position, weight) in members {
        put(position.floor(), weight);
    }
}

#[cfg(test)]
mod tests {
    use super::{Atom, gather, spread, thinned_above, thinned_below};
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
            let more = plain(thinned_above(&atoms, 1.5));
            let less = plain(thinned_below(&atoms, 1.5));
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
