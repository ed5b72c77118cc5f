//! Privacy-loss distributions on a lattice: one round, discretized so that it can be composed.
//!
//! # What it is
//!
//! A profile h(α) = Hα(P‖Q), convex and falling in α ≥ 0, from h(0) = 1, is h(α) = Σ q (λ − α)₊ + p_∞ for a measure q on likelihood ratios λ (Q's), with P's masses p = λ q at the loss ln λ. A function
//! that is convex, piecewise linear, and kinked at the lattice points α_i = e^{ih} only is therefore a distribution of losses on the lattice: q_i is the change of slope at α_i.
//!
//! # Pessimistic: connect the dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022)
//!
//! Take certified upper values of h at the lattice points and the largest convex function below them (their lower convex hull): h itself is convex and below them, so the hull is above h everywhere. To the
//! right of the last point it stays constant: that value is the mass p_∞ of an infinite loss. Towards α = 0 it goes straight to h(0) = 1.
//!
//! # Optimistic
//!
//! In each cell h lies above the lines through its neighbors' points, extended. Where the chord exceeds the higher of the two lines by at most g, the chord lowered by g is below h. Lower every point by the larger g of its two cells and
//! take the hull: below h everywhere. Beyond the first and the last point use h ≥ (1 − α)₊. The masses then add up to slightly less than one, which is fine: what composition needs is ∫ (λ−α)₊ dq ≤ h(α) for
//! all α (the stop-loss order), and that survives products of independent ratios.
//!
//! # Counting
//!
//! Where all outcomes of a round can be walked over ([`shuffledp_numerics::likelihood_ratio`]), one walk gives h at every lattice point. For a single law that is the same in both directions even the masses themselves come from it: each outcome is split between the
//! ends of its cell so that both of its masses are kept, which is what connecting the dots amounts to. The lattice may then be as fine as composition can digest.
//!
//! # Rounding
//!
//! With r(α) = h(α) − (1 − α)₊, tiny at both ends, slopes are differences of small numbers known to full relative accuracy; at α = 1 the slope changes by 1 more. Every mass is moved to the safe side by a bound on its rounding error.
//!
//! Standing: certified. The composed result is exact at the lattice points for one round, and off by about h²/12 of each round's variance otherwise.

use crate::bound::Side;
use crate::profile::{COARSE, Direction, Profile};
use shuffledp_numerics::enclosure::Wanted;
use shuffledp_numerics::lattice::Measure;
use shuffledp_numerics::likelihood_ratio::{Cells, PairSum};
use shuffledp_numerics::rounding::{ROUNDING_TWICE, exp_down, exp_up};
use shuffledp_numerics::search::{bisect_integers_from_below, bisect_on_log_scale};
use shuffledp_numerics::special::{exp, expm1, ln};
use std::sync::Arc;

/// Lattice points on either side that are ever looked at.
const MOST_POINTS: i64 = 40_000;
/// To the left the lattice ends where E(α − Λ)₊, what is beyond, is this part of a standard deviation of the loss: it is moved to the edge, or dropped.
const LEFT_TAIL: f64 = 1e-10;
/// Lattice points to the right of zero at the default accuracy: a round whose tail is that long is made of rare jumps, and a coarser lattice does for it.
const POINTS: f64 = 2500.0;

/// So many outcomes are counted in less time than it takes to evaluate the profile at the points of a lattice.
const MOST_OUTCOMES: f64 = 2e6;
/// Counting knows losses to some 1e-14 each, which must be nothing beside a step.
const FINEST_COUNTED: f64 = 1e-7;
/// Lattice points to the right of zero where outcomes are counted.
const MOST_COUNTED: f64 = 32_000.0;
/// From so many rounds on the transform of the sum decays long before the lattice shows.
const MANY_ROUNDS: f64 = 30.0;
/// Where a value costs milliseconds, beyond this many times the step only every other one is asked for, and so on.
const SPARSE: i64 = 90;
/// What counting leaves out is e^{−this} of the tail.
const MARGIN: f64 = 9.0;

/// How fine, and how far out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// The lattice is 2^`exponent`·ℤ.
    pub exponent: i32,
    /// To the right the lattice ends where δ falls below e^this.
    pub ln_tail: f64,
    /// Where the values that the dots are put at come from.
    pub values: Values,
}

/// The rounds that a round is composed with, itself among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Company {
    /// How many.
    pub rounds: f64,
    /// The standard deviation of the loss of one of them, on average (root mean square).
    pub deviation: f64,
}

/// How to know a round's profile at all lattice points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// All outcomes of the round can be counted: one walk over them serves every point, and a fine lattice costs no more than a coarse one.
    Counted,
    /// One evaluation for each point, at this relative accuracy in ε.
    Evaluated(f64),
}

impl Resolution {
    /// A lattice on which one round, in this company, costs at most about `accuracy` of relative error in the composed ε. The first of `profiles` is the one that varies most.
    pub fn for_accuracy(
        profiles: &[Profile],
        side: Side,
        accuracy: f64,
        ln_tail: f64,
        company: Company,
    ) -> Self {
        let profile = &profiles[0];
        let limit = profile.atoms().loss_limit();
        let step = profile.loss_deviation() * (12.0 * accuracy).sqrt();
        // How far out the tail is, by bisection on a logarithmic scale.
        let start = step.clamp(1e-12 * limit, limit);
        let tail = bisect_on_log_scale(start, limit, 1.1, |loss| {
            profile.ln_delta(loss, 1e-3, Wanted::Upper).upper <= ln_tail
        })
        .holds;
        let points = POINTS * (3.2e-5 / accuracy).sqrt().max(1.0);
        // At least some hundred points up to the largest loss: with few users the deviation says little.
        let step = step.max(tail / points).min(limit / 512.0);
        // Beside rounds with far larger losses there is nothing to gain from a lattice finer than theirs.
        let step = step.max(0.1 * company.deviation * (12.0 * accuracy).sqrt());
        let exponent = step.max(1e-250).log2().floor() as i32;
        if step < FINEST_COUNTED || !profiles.iter().all(|profile| countable(profile, ln_tail)) {
            return Self {
                exponent,
                ln_tail,
                values: Values::Evaluated(accuracy),
            };
        }
        // Where outcomes go straight into cells the lattice may be as fine as the composition can well digest: not in few rounds, or where losses are few or nearly a lattice themselves,
        // because then the transform does not decay and has to be known at every node.
        let digestible = company.rounds >= MANY_ROUNDS && profile.is_smooth();
        let halvings = if side == Side::Upper && is_direct(profiles) && digestible {
            (MOST_COUNTED * 2f64.powi(exponent) / tail)
                .log2()
                .floor()
                .clamp(0.0, 5.0) as i32
        } else {
            0
        };
        Self {
            exponent: exponent - halvings,
            ln_tail,
            values: Values::Counted,
        }
    }
}

/// Whether all outcomes of a round can be counted down to this tail.
fn countable(profile: &Profile, ln_tail: f64) -> bool {
    let (atoms, count, shift) = profile.pair(Direction::Forward);
    let pair = PairSum {
        atoms: &atoms,
        count,
        shift,
    };
    pair.outcomes(ln_tail - MARGIN) <= MOST_OUTCOMES
}

/// Whether counted outcomes are the distribution itself: one law, the same in both directions.
fn is_direct(profiles: &[Profile]) -> bool {
    matches!(profiles, [profile] if profile.atoms().is_symmetric())
}

/// The distribution of the privacy loss of one round, on one side of the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Pld {
    side: Side,
    losses: Arc<Measure>,
    infinite: f64,
    loss_limit: f64,
    /// What laws leave out: of this probability the loss is not even bounded by the limit.
    lost: f64,
}

impl Pld {
    /// A distribution that dominates every one of these profiles in both directions.
    pub fn pessimistic(profiles: &[Profile], resolution: Resolution) -> Option<Self> {
        let lattice = Lattice::new(resolution.exponent);
        let limit = profiles
            .iter()
            .map(|profile| profile.atoms().loss_limit())
            .fold(0.0, f64::max);
        let reach = lattice.index_above(limit).min(MOST_POINTS);
        let last = first_index(reach, |i| {
            profiles.iter().all(|profile| {
                profile
                    .ln_delta(lattice.loss(i), COARSE, Wanted::Upper)
                    .upper
                    <= resolution.ln_tail
            })
        });
        if resolution.values == Values::Counted && is_direct(profiles) {
            let mut cells =
                lattice.cells(&profiles[0], Direction::Forward, -last, last, resolution)?;
            lattice.within_limit(&mut cells, last, limit);
            let infinite = (cells.above.0 * (1.0 + cells.relative_error) + cells.dropped)
                * (1.0 + ROUNDING_TWICE);
            let losses = lattice.split(&cells, -last)?;
            // What dominates a probability measure has no less mass.
            return (losses.mass() + infinite >= 1.0).then(|| Self {
                side: Side::Upper,
                infinite,
                losses: Arc::new(losses),
                loss_limit: limit,
                lost: 0.0,
            });
        }
        let mut values = vec![0.0f64; last as usize + 1];
        for profile in profiles {
            for &direction in profile.directions() {
                let more = lattice.values(profile, direction, last, resolution, Wanted::Upper)?;
                values
                    .iter_mut()
                    .zip(more)
                    .for_each(|(value, (_, upper))| *value = value.max(upper));
            }
        }
        let deviation = profiles
            .iter()
            .map(Profile::loss_deviation)
            .fold(0.0, f64::max);
        let lost = profiles
            .iter()
            .map(|profile| profile.atoms().lost())
            .fold(0.0, f64::max);
        Some(Self {
            lost,
            ..Self::through(&lattice, &values, deviation, limit)?
        })
    }

    /// A distribution that dominates a round in both directions, known by certified upper values of ln δ(ε) up to the largest loss `limit`; `deviation` is that of the loss, about.
    pub(crate) fn pessimistic_from(
        upper: impl Fn(f64) -> f64 + Send + Sync,
        limit: f64,
        deviation: f64,
        ln_tail: f64,
    ) -> Option<Self> {
        // The tail first, on a logarithmic scale; then POINTS up to it.
        let in_tail = |loss: f64| upper(loss) <= ln_tail;
        let tail = bisect_on_log_scale(1e-9 * limit, limit, 1.1, in_tail).holds;
        let lattice = Lattice::new((tail / POINTS).log2().floor() as i32);
        let last = lattice.index_above(tail).clamp(2, MOST_POINTS);
        let values = parallel(last, |i| exp_up(upper(lattice.loss(i)).max(-740.0)));
        Self::through(&lattice, &values, deviation, limit)
    }

    /// The same where losses beyond those looked at are possible, even infinite ones: what has them stays in δ at every ε.
    pub(crate) fn without_limit(mut self) -> Self {
        self.loss_limit = f64::INFINITY;
        self
    }

    /// Connects the dots h(α) = `values` at the lattice points from zero on, the same in both directions.
    fn through(lattice: &Lattice, values: &[f64], deviation: f64, limit: f64) -> Option<Self> {
        let last = values.len() as i64 - 1;
        let infinite = values[last as usize];
        let beyond = |i: i64| values[i as usize] * exp_up(-lattice.loss(i));
        let left = (1..last)
            .find(|&i| beyond(i) <= LEFT_TAIL * deviation)
            .unwrap_or(last);
        // To the right of α = 1: h. To the left: α h(1/α), going to 0 at α = 0.
        let right: Vec<Dot> = (0..=last)
            .map(|i| Dot {
                index: i,
                value: values[i as usize],
            })
            .collect();
        let mut leftwards: Vec<Dot> = (0..=left)
            .rev()
            .map(|i| Dot {
                index: -i,
                value: beyond(i),
            })
            .collect();
        leftwards.insert(0, Dot::ORIGIN);
        let masses = lattice.masses(&leftwards, &right, Side::Upper);
        Some(Self {
            side: Side::Upper,
            losses: Arc::new(masses?),
            infinite,
            loss_limit: limit,
            lost: 0.0,
        })
    }

    /// A distribution that this profile dominates, in one direction.
    pub fn optimistic(
        profile: &Profile,
        direction: Direction,
        resolution: Resolution,
    ) -> Option<Self> {
        let lattice = Lattice::new(resolution.exponent);
        let limit = profile.atoms().loss_limit();
        let (ahead, behind) = match direction {
            Direction::Forward => (Direction::Forward, Direction::Reverse),
            Direction::Reverse => (Direction::Reverse, Direction::Forward),
        };
        let reach = lattice.index_above(limit).min(MOST_POINTS);
        let upper = |direction: Direction, i: i64| {
            profile
                .ln_delta_in(direction, lattice.loss(i), COARSE, Wanted::Upper)
                .upper
        };
        let last = first_index(reach, |i| upper(ahead, i) <= resolution.ln_tail).max(2);
        let ln_left = ln(LEFT_TAIL * profile.loss_deviation());
        let left = first_index(reach, |i| upper(behind, i) - lattice.loss(i) <= ln_left).max(2);
        let ahead_values = lattice.values(profile, ahead, last, resolution, Wanted::Both)?;
        let behind_values = if profile.atoms().is_symmetric() && left <= last {
            ahead_values[..=left as usize].to_vec()
        } else {
            lattice.values(profile, behind, left, resolution, Wanted::Both)?
        };
        // h(α) as enclosures at all lattice points from −left to last, above the line (1 − α)₊.
        let excess = |i: i64| {
            if i >= 0 {
                ahead_values[i as usize]
            } else {
                let (lower, upper) = behind_values[-i as usize];
                let loss = lattice.loss(-i);
                (lower * exp_down(-loss), upper * exp_up(-loss))
            }
        };
        let lowered = lattice.lowered(-left, last, excess);
        let split = left as usize;
        let masses = lattice.masses(&lowered[..=split], &lowered[split..], Side::Lower);
        Some(Self {
            side: Side::Lower,
            losses: Arc::new(masses?),
            infinite: 0.0,
            loss_limit: limit,
            lost: 0.0,
        })
    }

    /// On which side of the truth it is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The finite losses.
    pub fn losses(&self) -> &Arc<Measure> {
        &self.losses
    }

    /// The mass of an infinite loss.
    pub fn infinite(&self) -> f64 {
        self.infinite
    }

    /// The probability of losses that may exceed the limit.
    pub(crate) fn lost(&self) -> f64 {
        self.lost
    }

    /// No loss of the round itself is larger than this, but with the probability that its law leaves out.
    pub fn loss_limit(&self) -> f64 {
        self.loss_limit
    }
}

/// Indices from 0 to `last`: every one at first, then ever fewer.
fn sparse(last: i64) -> Vec<i64> {
    let mut indices = vec![0];
    let mut i = 0;
    while i < last {
        i = (i + (i / SPARSE).max(1)).min(last);
        indices.push(i);
    }
    indices
}

/// f(0), …, f(last), on all cores, in order.
fn parallel<T: Send>(last: i64, f: impl Fn(i64) -> T + Send + Sync) -> Vec<T> {
    use rayon::prelude::*;
    (0..=last).into_par_iter().map(f).collect()
}

/// The first index in [1, reach] where a monotone condition holds, or `reach`; looks at a logarithmic number of points.
fn first_index(reach: i64, condition: impl Fn(i64) -> bool) -> i64 {
    // Indices are at most 2·MOST_POINTS, far within both types.
    let found = bisect_integers_from_below(16, reach.max(0) as u64, |i| condition(i as i64));
    (found.holds as i64).max(1)
}

/// A point of a piecewise linear function: r at α = e^{index·h}.
#[derive(Clone, Copy, Debug)]
struct Dot {
    index: i64,
    value: f64,
}

impl Dot {
    /// The point α = 0, r = 0.
    const ORIGIN: Self = Self {
        index: i64::MIN,
        value: 0.0,
    };
}

/// The lattice and its likelihood ratios.
struct Lattice {
    exponent: i32,
    step: f64,
}

impl Lattice {
    fn new(exponent: i32) -> Self {
        Self {
            exponent,
            step: 2f64.powi(exponent),
        }
    }

    fn loss(&self, index: i64) -> f64 {
        index as f64 * self.step
    }

    fn index_above(&self, loss: f64) -> i64 {
        (loss / self.step).ceil().min(MOST_POINTS as f64 * 2.0) as i64
    }

    /// Enclosures of h at the lattice points 0 to `last`.
    fn values(
        &self,
        profile: &Profile,
        direction: Direction,
        last: i64,
        resolution: Resolution,
        wanted: Wanted,
    ) -> Option<Vec<(f64, f64)>> {
        match resolution.values {
            Values::Counted => {
                let limit = profile.atoms().loss_limit();
                let mut cells = self.cells(profile, direction, 0, last, resolution)?;
                self.within_limit(&mut cells, last, limit);
                let mut values = self.sums(&cells);
                if self.loss(last) >= limit {
                    values[last as usize] = (0.0, cells.dropped);
                }
                Some(values)
            }
            Values::Evaluated(accuracy) => {
                let at = |i: i64| {
                    let ln = profile.ln_delta_in(direction, self.loss(i), accuracy, wanted);
                    let upper = if ln.upper == f64::NEG_INFINITY {
                        0.0
                    } else {
                        exp_up(ln.upper)
                    };
                    (exp_down(ln.lower), upper)
                };
                if !profile.is_dear() {
                    return Some(parallel(last, at));
                }
                let asked = sparse(last);
                let known = parallel(asked.len() as i64 - 1, |k| at(asked[k as usize]));
                Some(self.filled(&asked, &known))
            }
        }
    }

    /// Values at all lattice points up to the last of `asked`, where a convex function is `known`: above by the chord, below by the chords on either side, extended.
    fn filled(&self, asked: &[i64], known: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let alpha = |i: i64| expm1(self.loss(i));
        // The line through two known points, the second one from below: below a convex function beyond it.
        let beyond = |near: usize, far: usize, x: f64| {
            let slope = (known[near].0 - known[far].1) / (alpha(asked[near]) - alpha(asked[far]));
            known[near].0 + slope * (x - alpha(asked[near]))
        };
        let mut values = Vec::new();
        for (k, pair) in asked.windows(2).enumerate() {
            let (a, b) = (pair[0], pair[1]);
            for i in a..b {
                let x = alpha(i);
                let part = (x - alpha(a)) / (alpha(b) - alpha(a));
                let upper = known[k].1 * (1.0 - part) + known[k + 1].1 * part;
                let mut lower = known[k + 1].0;
                if i == a {
                    lower = known[k].0;
                } else {
                    if k > 0 {
                        lower = lower.max(beyond(k, k - 1, x));
                    }
                    if k + 2 < known.len() {
                        lower = lower.max(beyond(k + 1, k + 2, x));
                    }
                }
                let slack = ROUNDING_TWICE * (known[k].1 + known[k + 1].1);
                let exact = i == a;
                values.push(if exact {
                    known[k]
                } else {
                    ((lower - slack).max(0.0), upper + slack)
                });
            }
        }
        values.extend(known.last());
        values
    }

    /// All likelihood ratios of a round, in the cells between the lattice points `first` to `last`.
    fn cells(
        &self,
        profile: &Profile,
        direction: Direction,
        first: i64,
        last: i64,
        resolution: Resolution,
    ) -> Option<Cells> {
        let (atoms, count, shift) = profile.pair(direction);
        PairSum {
            atoms: &atoms,
            count,
            shift,
        }
        .cells(self.step, (first, last), resolution.ln_tail - MARGIN)
    }

    /// No ratio exceeds e^limit: what rounding up put beyond a last node that is no less than that belongs on it.
    fn within_limit(&self, cells: &mut Cells, last: i64, limit: f64) {
        if self.loss(last) >= limit {
            cells.above.1 += cells.above.0 * exp(-self.loss(last)) * (1.0 + ROUNDING_TWICE);
            cells.above.0 = 0.0;
        }
    }

    /// h at the lattice points from the ratios above them, as sums of positive terms: h(αᵢ) = h(αᵢ₊₁) + (αᵢ₊₁ − αᵢ) P_Q[Λ ≥ αᵢ₊₁] + rise of the cell.
    fn sums(&self, cells: &Cells) -> Vec<(f64, f64)> {
        let count = cells.inside.len();
        let slack = cells.relative_error + ROUNDING_TWICE * count as f64;
        let mut values = vec![(0.0, 0.0); count + 1];
        let (mut h, mut beyond) = cells.above;
        for i in (0..=count).rev() {
            let alpha = exp(self.loss(i as i64));
            let mut mass = beyond;
            if i < count {
                let gap = alpha * expm1(self.step);
                let (rise, fall) = cells.inside[i];
                mass += (rise + fall) / gap;
                h += beyond * gap + rise;
            }
            // Ratios, and nodes, are known to within a shift: it may put an outcome into the neighboring cell, which is worth as much again.
            let neighbor = match i.checked_sub(1) {
                Some(j) => {
                    (cells.inside[j].0 + cells.inside[j].1) / (alpha * expm1(self.step)) * 1.1
                }
                None => cells.below,
            };
            let shift = 2.0 * Cells::SHIFT * (h + alpha * (mass + neighbor));
            values[i] = (
                (h * (1.0 - slack) - shift).max(0.0),
                h * (1.0 + slack) + shift + cells.dropped,
            );
            beyond = mass;
        }
        values
    }

    /// Each outcome split between the two ends of its cell so that both of its masses are kept: the same distribution as by connecting the dots, with no differences taken.
    fn split(&self, cells: &Cells, first: i64) -> Option<Measure> {
        let mut masses = vec![0.0; cells.inside.len() + 1];
        let alpha = |i: usize| exp(self.loss(first + i as i64));
        // Below the first node: towards α = 0, where the other measure is alone.
        masses[0] += cells.below;
        for (i, (rise, fall)) in cells.inside.iter().enumerate() {
            let gap = alpha(i) * expm1(self.step);
            masses[i] += alpha(i) * (fall / gap);
            masses[i + 1] += alpha(i + 1) * (rise / gap);
        }
        masses[cells.inside.len()] += alpha(cells.inside.len()) * cells.above.1;
        // The nodes, known to a few ε, may be below the true ones by less than the ratios were rounded up.
        let slack = 1.0 + cells.relative_error + ROUNDING_TWICE;
        masses
            .iter_mut()
            .for_each(|mass| *mass = *mass * slack + f64::MIN_POSITIVE);
        Measure::new(self.exponent, first, masses)
    }

    /// α of a dot.
    fn alpha(&self, dot: Dot) -> f64 {
        if dot.index == i64::MIN {
            0.0
        } else {
            exp(self.loss(dot.index))
        }
    }

    /// α_b − α_a for a before b.
    fn gap(&self, a: Dot, b: Dot) -> f64 {
        if a.index == i64::MIN {
            self.alpha(b)
        } else {
            self.alpha(a) * expm1(self.loss(b.index - a.index))
        }
    }

    /// Slope from a to b, and a bound on its rounding error.
    fn slope(&self, a: Dot, b: Dot) -> (f64, f64) {
        let gap = self.gap(a, b);
        (
            (b.value - a.value) / gap,
            // The last term is for values so small that a part of them is no double.
            (ROUNDING_TWICE * (a.value.abs() + b.value.abs()) + f64::MIN_POSITIVE) / gap,
        )
    }

    /// The lower convex hull of dots in rising order.
    fn hull(&self, dots: &[Dot]) -> Vec<Dot> {
        let mut hull: Vec<Dot> = Vec::with_capacity(dots.len());
        for &dot in dots {
            while let [.., a, b] = hull[..] {
                if self.slope(a, b).0 >= self.slope(b, dot).0 {
                    hull.pop();
                } else {
                    break;
                }
            }
            hull.push(dot);
        }
        hull
    }

    /// Both hulls, with the common dot at α = 1 lowered until the kink there is convex, as a lower bound may be. (Above, a concave kink is simply left out, which raises the function.)
    fn convex_at_one(&self, left: &[Dot], right: &[Dot]) -> Option<(Vec<Dot>, Vec<Dot>)> {
        let (mut left, mut right) = (left.to_vec(), right.to_vec());
        for _ in 0..50 {
            let hulls = (self.hull(&left), self.hull(&right));
            let [.., before, one] = hulls.0[..] else {
                return None;
            };
            let after = *hulls.1.get(1)?;
            let change = 1.0 + self.slope(one, after).0 - self.slope(before, one).0;
            if change >= 0.0 {
                return Some(hulls);
            }
            let stiffness = 1.0 / self.gap(before, one) + 1.0 / self.gap(one, after);
            let value = one.value + 1.01 * change / stiffness;
            left.last_mut()?.value = value;
            right.first_mut()?.value = value;
        }
        None
    }

    /// The masses p = α·(change of slope) of the function (1 − α)₊ + r, r given by dots left and right of α = 1 (both lists contain it).
    ///
    /// Left of the first dot and right of the last one r is constant.
    fn masses(&self, left: &[Dot], right: &[Dot], side: Side) -> Option<Measure> {
        let (left, right) = match side {
            Side::Upper => (self.hull(left), self.hull(right)),
            Side::Lower => self.convex_at_one(left, right)?,
        };
        let first = left.iter().find(|dot| dot.index != i64::MIN)?.index;
        let last = right.last()?.index;
        let mut masses = vec![0.0; (last - first + 1) as usize];
        let mut put = |dot: Dot, before: (f64, f64), after: (f64, f64), extra: f64| {
            if dot.index == i64::MIN {
                return;
            }
            let alpha = self.alpha(dot);
            let change = after.0 - before.0 + extra;
            let error = before.1
                + after.1
                + ROUNDING_TWICE * change.abs()
                + f64::EPSILON * extra
                + f64::MIN_POSITIVE;
            let mass = match side {
                Side::Upper => alpha * (change + error) * (1.0 + ROUNDING_TWICE),
                Side::Lower => alpha * (change - error) * (1.0 - ROUNDING_TWICE),
            };
            // What is not a number stays one, and is refused below.
            if mass > 0.0 || mass.is_nan() {
                masses[(dot.index - first) as usize] += mass;
            }
        };
        let flat = (0.0, 0.0);
        let inner = |dots: &[Dot], i: usize| {
            let before = if i == 0 {
                flat
            } else {
                self.slope(dots[i - 1], dots[i])
            };
            let after = if i + 1 == dots.len() {
                flat
            } else {
                self.slope(dots[i], dots[i + 1])
            };
            (before, after)
        };
        for i in 0..left.len() - 1 {
            let (before, after) = inner(&left, i);
            put(left[i], before, after, 0.0);
        }
        for i in 1..right.len() {
            let (before, after) = inner(&right, i);
            put(right[i], before, after, 0.0);
        }
        // At α = 1 the slope of (1 − α)₊ itself changes by one.
        let before = inner(&left, left.len() - 1).0;
        let after = inner(&right, 0).1;
        put(right[0], before, after, 1.0);
        Measure::new(self.exponent, first, masses)
    }

    /// Values of r, from index `first` to `last`, lowered so that the piecewise linear function through them is below any convex function (1 − α)₊ + r within the enclosures; zero at both ends.
    fn lowered(&self, first: i64, last: i64, excess: impl Fn(i64) -> (f64, f64)) -> Vec<Dot> {
        // r measured from the line that (1 − α)₊ is at `at`: to the left of 1 it is 1 − α, to the right 0.
        let seen_from = |i: i64, at_left: bool| {
            let (lower, upper) = excess(i);
            let bend = match (at_left, i) {
                // Seen from the left, h right of 1 stands above the line 1 − α by α − 1 more.
                (true, 1..) => expm1(self.loss(i)),
                // Seen from the right, h left of 1 stands above 0 by 1 − α more.
                (false, ..=-1) => -expm1(self.loss(i)),
                _ => 0.0,
            };
            (
                lower + bend * (1.0 - ROUNDING_TWICE),
                upper + bend * (1.0 + ROUNDING_TWICE),
            )
        };
        // How far the chord over the cell [i, i+1] may exceed the function.
        let gap = |i: i64| {
            let left = i < 0;
            let point = |j: i64| seen_from(j, left);
            let (alpha, width) = (exp(self.loss(i)), exp(self.loss(i)) * expm1(self.step));
            let (start, end) = (point(i).0, point(i + 1).0);
            // The line through the two points before, and the one through the two points after; zero is always below.
            let slope_before = if i > first {
                (start - point(i - 1).1) / (alpha * -expm1(-self.step))
            } else {
                f64::NEG_INFINITY
            };
            let slope_after = if i + 1 < last {
                (point(i + 2).1 - end) / (width * exp(self.step))
            } else {
                f64::INFINITY
            };
            let chord = (end - start) / width;
            // chord − line before = (chord − slope_before)(x); chord − line after = (slope_after − chord)(width − x).
            let (rise, fall) = (
                (chord - slope_before).max(0.0),
                (slope_after - chord).max(0.0),
            );
            let at_crossing = match (rise.is_finite(), fall.is_finite()) {
                (true, true) if rise + fall > 0.0 => rise * fall / (rise + fall) * width,
                (true, true) => 0.0,
                (true, false) => rise * width,
                (false, true) => fall * width,
                (false, false) => f64::INFINITY,
            };
            // The chord is never more than its higher end above zero.
            at_crossing.min(start.max(end)) * (1.0 + ROUNDING_TWICE)
                + ROUNDING_TWICE * start.max(end)
        };
        let gaps: Vec<f64> = (first..last).map(gap).collect();
        let lowered: Vec<f64> = (first..=last)
            .map(|i| {
                let before = if i > first {
                    gaps[(i - 1 - first) as usize]
                } else {
                    f64::INFINITY
                };
                let after = if i < last {
                    gaps[(i - first) as usize]
                } else {
                    f64::INFINITY
                };
                excess(i).0 - before.max(after)
            })
            .collect();
        // Outwards from α = 1 the values end where they reach zero, or where the line through this point and the one before it would reach zero within the next
        // cell: up to there a straight line down to zero is below the function.
        let keep = |i: i64| {
            let (low, inward) = (excess(i).0, excess(i - i.signum()).1);
            let ratio = if i > 0 {
                exp(self.step)
            } else {
                exp(-self.step)
            };
            lowered[(i - first) as usize] > 0.0
                && low - (inward - low) * ratio * (1.0 + ROUNDING_TWICE) >= 0.0
        };
        let from_right = (1..last).take_while(|&i| keep(i)).last().unwrap_or(0);
        let from_left = (first + 1..0)
            .rev()
            .take_while(|&i| keep(i))
            .last()
            .unwrap_or(0);
        // The same question at α = 1, where the neighbor on the other side is seen from this side.
        let one = excess(0).0;
        let (before, after) = (seen_from(-1, false).1, seen_from(1, true).1);
        let right_ends_well =
            from_right > 0 || one - (before - one) * exp(self.step) * (1.0 + ROUNDING_TWICE) >= 0.0;
        let left_ends_well =
            from_left < 0 || one - (after - one) * exp(-self.step) * (1.0 + ROUNDING_TWICE) >= 0.0;
        let middle = if right_ends_well && left_ends_well {
            lowered[(-first) as usize]
        } else {
            0.0
        };
        (first..=last)
            .map(|i| Dot {
                index: i,
                value: if i == 0 {
                    middle.max(0.0)
                } else if (from_left..=from_right).contains(&i) {
                    lowered[(i - first) as usize].max(0.0)
                } else {
                    0.0
                },
            })
            .collect()
    }
}
