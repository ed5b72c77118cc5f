//! Privacy loss distributions on a lattice: one round, discretized so that it can be composed.
//!
//! # Definition
//!
//! A profile h(α) = Hα(P‖Q), convex and falling in α ≥ 0, from h(0) = 1, is h(α) = Σ q (λ − α)₊ + p_∞ for a
//! measure q on likelihood ratios λ (Q's), with P's masses p = λ q at the loss ln λ. A function that is
//! convex, piecewise linear, and has kinks at the lattice points α_i = e^{ih} only is therefore a
//! distribution of losses on the lattice: q_i is the change of slope at α_i.
//!
//! # Pessimistic: connect the dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022)
//!
//! Take certified upper values of h at the lattice points and the largest convex function below them (their
//! lower convex hull): h itself is convex and below them, so the hull is above h everywhere. To the right of
//! the last point it stays constant: that value is the mass p_∞ of an infinite loss. Towards α = 0 it goes
//! straight to h(0) = 1.
//!
//! # Optimistic
//!
//! In each cell h lies above the lines through its neighbors' points, extended. Where the chord exceeds the
//! higher of the two lines by at most g, the chord lowered by g is below h. Lower every point by the larger g
//! of its two cells and take the hull: below h everywhere. Beyond the first and the last point use h ≥ (1 −
//! α)₊. The masses then add up to slightly less than one, which is allowed: composition needs ∫ (λ−α)₊ dq ≤
//! h(α) for all α (the stop-loss order), and that survives products of independent ratios.
//!
//! # Counting
//!
//! Where all outcomes of a round can be enumerated ([`shuffledp_numerics::likelihood_ratio`]), one pass over
//! them gives h at every lattice point. For a single law that is the same in both directions it gives the
//! masses themselves: each outcome is split between the ends of its cell so that both of its masses are kept,
//! which is the same as connecting the dots. The lattice may then be as fine as composition can handle.
//!
//! # Rounding
//!
//! With r(α) = h(α) − (1 − α)₊, tiny at both ends, slopes are differences of small numbers known to full
//! relative accuracy; at α = 1 the slope changes by 1 more. Every mass is moved to the safe side by a bound
//! on its rounding error.
//!
//! Standing: certified. The composed result is exact at the lattice points for one round, and otherwise off
//! by about h²/12 of each round's variance.
//!
//! * `lattice`: the lattice of losses.
//! * `resolution`: how fine the lattice is and how far it reaches.
//! * `values`: h at the lattice points, evaluated.
//! * `counted`: the same, and the masses, from the outcomes of a round.
//! * `hull`: from a convex function to masses.
//! * `lowered`: the values of the optimistic side.

mod counted;
mod hull;
mod lattice;
mod lowered;
mod resolution;
mod values;

use crate::bound::Side;
use crate::lower::{PairProfile, probabilities};
use crate::profile::{COARSE, Direction, Profile, probability_up};
use crate::upper::Dominating;
use hull::Dot;
use lattice::{Lattice, MOST_POINTS};
use lowered::Enclosed;
pub use resolution::{ComposedRounds, Resolution, Values};
use resolution::{LARGEST_LOSS, POINTS, is_direct};
pub(crate) use resolution::{RARE, is_deep};
use shuffledp_numerics::enclosure::Wanted;
use shuffledp_numerics::lattice::Measure;
use shuffledp_numerics::rounding::{ROUNDING_TWICE, exp_up};
use shuffledp_numerics::search::{bisect_integers_from_below, bisect_on_log_scale};
use shuffledp_numerics::special::ln;
use std::sync::Arc;
use values::{parallel, sparse};

/// The lattice ends on the left where E(α − Λ)₊ is this fraction of the standard deviation of the loss: far
/// below the accuracy of a composed ε. Mass beyond is moved to the edge (pessimistic) or dropped
/// (optimistic).
const LEFT_TAIL: f64 = 1e-10;

/// Whether anything is left of a distribution after its values were lowered is decided by this many lattice
/// points on either side of zero.
const AROUND_ZERO: i64 = 3;

/// A bound that takes long is first evaluated at one in this many of the points where it is to be known.
const LOOK: usize = 12;
/// A bound is named in `method` if it is the smallest one at no less than one in this many lattice points.
const NAMED_SHARE: usize = 20;

/// The distribution of the privacy loss of one round, on one side of the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Pld {
    side: Side,
    losses: Arc<Measure>,
    infinite: f64,
    loss_limit: f64,
    /// Probability of the reports that the laws leave out: their loss may exceed the limit.
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
            // A measure that dominates a probability measure has at least its mass.
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

    /// A distribution that dominates a round in both directions, given certified upper values of ln δ(ε) up
    /// to the largest loss `limit`, and about the standard `deviation` of the loss.
    pub(crate) fn pessimistic_from(
        upper: impl Fn(f64) -> f64 + Send + Sync,
        limit: f64,
        deviation: f64,
        ln_tail: f64,
    ) -> Option<Self> {
        // First find where the tail begins, then place POINTS lattice points up to it.
        let in_tail = |loss: f64| upper(loss) <= ln_tail;
        let tail = bisect_on_log_scale(1e-9 * limit, limit, 1.1, in_tail).holds;
        let lattice = Lattice::new((tail / POINTS).log2().floor() as i32);
        let last = lattice.index_above(tail).clamp(2, MOST_POINTS);
        let values = parallel(last, |i| exp_up(upper(lattice.loss(i)).max(-740.0)));
        Self::through(&lattice, &values, deviation, limit)
    }

    /// A distribution that dominates a round in both directions, through the smallest of several bounds at
    /// every lattice point, and the names of the bounds that are the smallest at a share of the points
    /// (`NAMED_SHARE`).
    pub(crate) fn of_bounds(
        bounds: &Dominating,
        resolution: Resolution,
    ) -> (Option<Self>, Vec<&'static str>) {
        let Values::Evaluated(accuracy) = resolution.values else {
            return (None, Vec::new());
        };
        let lattice = Lattice::new(resolution.exponent);
        let limit = bounds.loss_limit();
        let reach = lattice.index_above(bounds.flat_from()).min(MOST_POINTS);
        let last = first_index(reach, |i| bounds.meets(lattice.loss(i), resolution.ln_tail));
        let asked = match bounds.is_expensive() {
            true => sparse(last, accuracy),
            false => (0..=last).collect(),
        };
        let losses: Vec<f64> = asked.iter().map(|&i| lattice.loss(i)).collect();
        let known = smallest(bounds, &losses, accuracy);
        let mut names: Vec<&'static str> = Vec::new();
        for (_, name) in &known {
            let share = known.iter().filter(|(_, other)| other == name).count();
            if share * NAMED_SHARE >= known.len() && !names.contains(name) {
                names.push(name);
            }
        }
        let mut values: Vec<(f64, f64)> = known
            .iter()
            .map(|(ln, _)| (0.0, probability_up(ln.max(-740.0))))
            .collect();
        // A profile is decreasing: an upper bound at a smaller loss holds here as well.
        for i in 1..values.len() {
            values[i].1 = values[i].1.min(values[i - 1].1);
        }
        let values: Vec<f64> = lattice
            .filled(&asked, &values)
            .into_iter()
            .map(|(_, upper)| upper)
            .collect();
        (
            Self::through(&lattice, &values, bounds.loss_deviation(), limit),
            names,
        )
    }

    /// The same for a round that has losses beyond the limit, even infinite ones: their mass stays in δ at
    /// every ε.
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
        // To the right of α = 1: h. To the left: α h(1/α), which goes to 0 at α = 0.
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
        let (ahead, behind) = (direction, direction.reversed());
        let reach = lattice.index_above(limit).min(MOST_POINTS);
        // The end of the lattice need not be known better than the values on it.
        let accuracy = match resolution.values {
            Values::Evaluated(accuracy) => accuracy.max(COARSE),
            Values::Counted => COARSE,
        };
        let upper = |direction: Direction, i: i64| {
            profile
                .ln_delta_in(direction, lattice.loss(i), accuracy, Wanted::Upper)
                .upper
        };
        let last = first_index(reach, |i| upper(ahead, i) <= resolution.ln_tail).max(2);
        let ln_left = ln(LEFT_TAIL * profile.loss_deviation());
        let left = first_index(reach, |i| upper(behind, i) - lattice.loss(i) <= ln_left).max(2);
        let values = |direction: Direction, last: i64| {
            lattice.values(profile, direction, last, resolution, Wanted::Both)
        };
        // The points around zero alone say whether all mass would be there. A search tries many lattices that
        // lose everything, and evaluating the whole of one may take seconds.
        let evaluated = matches!(resolution.values, Values::Evaluated(_));
        if evaluated && last.max(left) > AROUND_ZERO {
            let near = |direction, end: i64| values(direction, end.min(AROUND_ZERO));
            let (ahead, behind) = (near(ahead, last)?, near(behind, left)?);
            if Enclosed::around_zero(&lattice, &ahead, &behind).is_lost() {
                return Self::below(&lattice, &ahead, &behind, limit);
            }
        }
        let ahead_values = values(ahead, last)?;
        let behind_values = if profile.atoms().is_symmetric() && left <= last {
            ahead_values[..=left as usize].to_vec()
        } else {
            values(behind, left)?
        };
        Self::below(&lattice, &ahead_values, &behind_values, limit)
    }

    /// A distribution that the profile of a pair of datasets dominates, in one direction.
    pub(crate) fn of_pair(
        pair: &dyn PairProfile,
        direction: Direction,
        resolution: Resolution,
    ) -> Option<Self> {
        let lattice = Lattice::new(resolution.exponent);
        let behind = direction.reversed();
        let reach = lattice.index_above(LARGEST_LOSS).min(MOST_POINTS);
        let upper =
            |direction: Direction, i: i64| pair.ln_delta_in(direction, lattice.loss(i)).upper;
        let last = first_index(reach, |i| upper(direction, i) <= resolution.ln_tail).max(2);
        let ln_left = ln(LEFT_TAIL * pair.loss_deviation());
        let left = first_index(reach, |i| upper(behind, i) - lattice.loss(i) <= ln_left).max(2);
        let values = |direction: Direction, last: i64| {
            parallel(last, |i| {
                probabilities(pair.ln_delta_in(direction, lattice.loss(i)))
            })
        };
        let (ahead, behind) = (values(direction, last), values(behind, left));
        Self::below(&lattice, &ahead, &behind, f64::INFINITY)
    }

    /// A distribution below the values of a profile at the lattice points from zero on, in its own direction
    /// and in the other one.
    fn below(
        lattice: &Lattice,
        ahead: &[(f64, f64)],
        behind: &[(f64, f64)],
        limit: f64,
    ) -> Option<Self> {
        let lowered = Enclosed::around_zero(lattice, ahead, behind).lowered();
        let split = behind.len() - 1;
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

    /// The largest loss that can occur: where there is no limit, the last one on the lattice.
    pub(crate) fn largest_loss(&self) -> f64 {
        if self.loss_limit.is_finite() {
            return self.loss_limit;
        }
        self.losses.iter().last().map_or(0.0, |(loss, _)| loss)
    }

    /// No loss of the round is larger than this, except with the probability that its law leaves out.
    pub fn loss_limit(&self) -> f64 {
        self.loss_limit
    }
}

/// The smallest of several bounds on ln δ at each of rising losses, and which it is, among those that may be
/// below all bounds at smaller losses, which hold as well.
///
/// Where bounds take long, they are evaluated at one in `LOOK` of the losses, and then only in the stretches
/// where they may be the smallest. A law's δ falls: between two looks it is at least that at the second one,
/// so that it is left out where that is above what is known at the first. Another bound may fall and rise; it
/// is left out where it is above that at both. That a bound is left out changes nothing in soundness.
fn smallest(bounds: &Dominating, losses: &[f64], accuracy: f64) -> Vec<(f64, &'static str)> {
    let last = losses.len() - 1;
    if !bounds.is_expensive() {
        return parallel(last as i64, |k| {
            bounds.ln_delta(losses[k as usize], accuracy)
        });
    }
    let looks = last.div_ceil(LOOK);
    let place = |look: usize| (look * LOOK).min(last);
    let seen = parallel(looks as i64, |look| {
        bounds.looked_at(losses[place(look as usize)], accuracy)
    });
    // The smallest bound at this look and all before.
    let mut least = Vec::with_capacity(seen.len());
    for look in &seen {
        let before = least.last().copied().unwrap_or(0.0f64);
        least.push(before.min(look.smallest().0));
    }
    parallel(last as i64, |k| {
        let (k, look) = (k as usize, k as usize / LOOK);
        if k == place(look) {
            return seen[look].smallest();
        }
        let next = (look + 1).min(looks);
        if k == place(next) {
            return seen[next].smallest();
        }
        bounds.smallest_between(losses[k], accuracy, (&seen[look], &seen[next], least[look]))
    })
}

/// The first index in [1, reach] where a monotone condition holds, or `reach`, with a logarithmic number of
/// evaluations.
fn first_index(reach: i64, condition: impl Fn(i64) -> bool) -> i64 {
    // Indices are at most 2·MOST_POINTS, far within both types.
    let found = bisect_integers_from_below(16, reach.max(0) as u64, |i| condition(i as i64));
    (found.holds as i64).max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::lattice::Lattice;
    use super::{LOOK, Pld, Resolution, Values, smallest};
    use crate::cells::Fineness;
    use crate::gaussian::pair;
    use crate::laws::Priced;
    use crate::local::Domain;
    use crate::mechanism::Mechanism;
    use crate::profile::{Direction, Profile};
    use crate::round::Round;
    use shuffledp_numerics::enclosure::Wanted;

    /// The law is below the bound without a shuffler at small losses and far above it at large ones.
    #[test]
    fn a_law_left_out_where_it_is_far_above_changes_no_value() {
        let mechanism = Mechanism::gaussian(0.3, Domain::Interval).unwrap();
        let round = Round::new(mechanism, 200).unwrap();
        let bounds = Priced::new(&round, Fineness::Coarse).unwrap().dominating;
        let losses: Vec<f64> = (0..=7 * LOOK + 5).map(|i| 0.35 * i as f64).collect();
        let found = smallest(&bounds, &losses, 1e-4);
        assert_eq!(found.len(), losses.len());
        for ((value, name), loss) in found.iter().zip(losses) {
            let (best, winner) = bounds.ln_delta(loss, 1e-4);
            assert_eq!((*value, *name), (best, winner), "at a loss of {loss}");
        }
        let is_law = |(_, name): &(f64, &str)| *name == "profile";
        assert!(found.iter().any(is_law) && !found.iter().all(is_law));
    }

    /// Where a few points say that all is lost, the whole of them says the same.
    #[test]
    fn a_lattice_that_loses_everything_is_told_by_the_points_around_zero() {
        let mut lost = 0;
        for (sigma, exponent) in [(0.2, -1), (0.25, 0), (0.3, -4), (1.0, -3)] {
            let atoms = pair(sigma, Fineness::Rough).unwrap();
            let profile = Profile::new(atoms, 200);
            let resolution = Resolution {
                exponent,
                ln_tail: -20.0,
                values: Values::Evaluated(1e-2),
            };
            let lattice = Lattice::new(exponent);
            for direction in [Direction::Forward, Direction::Reverse] {
                let found = Pld::optimistic(&profile, direction, resolution).unwrap();
                let limit = profile.atoms().loss_limit();
                let last = lattice.index_above(limit.min(30.0));
                let values = |direction| {
                    let wanted = Wanted::Both;
                    lattice
                        .values(&profile, direction, last, resolution, wanted)
                        .unwrap()
                };
                let (ahead, behind) = (values(direction), values(direction.reversed()));
                let whole = Pld::below(&lattice, &ahead, &behind, limit).unwrap();
                let is_lost = |pld: &Pld| pld.losses().points() == 1;
                assert_eq!(
                    is_lost(&found),
                    is_lost(&whole),
                    "sigma {sigma}, 2^{exponent}"
                );
                lost += usize::from(is_lost(&found));
            }
        }
        assert!((1..8).contains(&lost), "{lost}");
    }
}
