//! How fine the lattice of losses is, and how far out it reaches.
//!
//! The step is chosen so that the discretization adds h²/12 to each round's variance, a part `accuracy` of
//! it; see the constants for the exceptions. None of this can make a bound wrong: a poor choice makes it
//! loose, or slow.

use crate::bound::Side;
use crate::lower::PairProfile;
use crate::many_rounds::SMALLEST_LN_TAIL;
use crate::profile::{Direction, Profile};
use crate::upper::Dominating;
use shuffledp_numerics::enclosure::Wanted;
use shuffledp_numerics::likelihood_ratio::PairSum;
use shuffledp_numerics::search::bisect_on_log_scale;

/// Most lattice points to the right of zero at the default accuracy. It limits the cost of composition and
/// was chosen by experiment. A round with a longer tail consists of rare large losses, for which a coarser
/// lattice is enough.
pub(super) const POINTS: f64 = 2500.0;
/// The same for a round that is dominated by the smallest of several bounds. Where only sampling hides a
/// user, losses are rare and large, and [`POINTS`] points would raise ε by about one percent.
const BOUND_POINTS: f64 = 10_000.0;
/// Losses count as rare and large where the tail begins more than this many standard deviations from zero.
/// The tail of a Gaussian loss begins below 40.
pub(crate) const RARE: f64 = 300.0;
/// Relative accuracy in ε to which laws with such losses are evaluated: coarser than elsewhere, because each
/// evaluation takes milliseconds.
const RARE_ACCURACY: f64 = 1e-3;
/// Tails below e^this are for δ below 1e-150. There a law whose evaluation takes milliseconds is evaluated to
/// [`DEEP_ACCURACY`]: so deep in its tail each evaluation takes tens of them.
const DEEP: f64 = -400.0;
/// Relative accuracy in ε of evaluations for such tails.
const DEEP_ACCURACY: f64 = 1e-2;
/// Relative accuracy in ε of the search for where a tail begins.
const TAIL_ACCURACY: f64 = 1e-3;
/// Losses above this count as infinite: e^700 is still a finite double.
pub(super) const LARGEST_LOSS: f64 = 700.0;
/// Up to this many outcomes, counting them is faster than evaluating the profile at every lattice point, by
/// measurement.
const MOST_OUTCOMES: f64 = 2e6;
/// Finest step at which outcomes are counted. Counting knows each loss to about 1e-14, which must be
/// negligible compared with a step.
const FINEST_COUNTED: f64 = 1e-7;
/// Most lattice points to the right of zero where outcomes are counted. It limits the cost of composition and
/// was chosen by experiment.
const MOST_COUNTED: f64 = 32_000.0;
/// From this many rounds on, the Fourier transform of the sum of losses has decayed at the frequencies that a
/// finer lattice adds, so that a finer lattice costs little. Chosen by experiment.
const MANY_ROUNDS: f64 = 30.0;
/// Counting leaves out outcomes whose probability is below e^{−`MARGIN`} ≈ 1e-4 of the tail's.
pub(super) const MARGIN: f64 = 9.0;

/// How fine the lattice is, and how far out it reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// The lattice is 2^`exponent`·ℤ.
    pub exponent: i32,
    /// The lattice ends on the right where δ falls below e^this.
    pub ln_tail: f64,
    /// How the profile is known at the lattice points.
    pub values: Values,
}

/// All rounds of a composition, as the discretization of one of them needs to know them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComposedRounds {
    /// The number of rounds.
    pub rounds: f64,
    /// The root mean square, over the rounds, of the standard deviation of the privacy loss.
    pub deviation: f64,
}

/// How to know a round's profile at all lattice points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// All outcomes of the round can be counted. One pass over them serves every point, so that a fine
    /// lattice costs no more than a coarse one.
    Counted,
    /// One evaluation for each point, at this relative accuracy in ε.
    Evaluated(f64),
}

impl Resolution {
    /// A lattice whose discretization error is at most about `accuracy` of the composed ε, relatively. The
    /// first of `profiles` has the largest variance.
    pub fn for_accuracy(
        profiles: &[Profile],
        side: Side,
        accuracy: f64,
        ln_tail: f64,
        composed: ComposedRounds,
    ) -> Self {
        let profile = &profiles[0];
        let limit = profile.atoms().loss_limit();
        let step = profile.loss_deviation() * (12.0 * accuracy).sqrt();
        let deep = profile.is_expensive() && is_deep(ln_tail);
        // Where the tail begins.
        let roughly = if deep { DEEP_ACCURACY } else { TAIL_ACCURACY };
        let start = step.clamp(1e-12 * limit, limit);
        let tail = bisect_on_log_scale(start, limit, 1.1, |loss| {
            profile.ln_delta(loss, roughly, Wanted::Upper).upper <= ln_tail
        })
        .holds;
        // Rare large losses: a coarse lattice would drop the small losses from a lower bound, and evaluating
        // a law of many atoms at these losses takes long.
        let rare = profile.is_expensive() && tail > RARE * profile.loss_deviation();
        let (most, accuracy) = match rare {
            true => (BOUND_POINTS, accuracy.max(RARE_ACCURACY)),
            false => (POINTS, accuracy),
        };
        let accuracy = if deep {
            accuracy.max(DEEP_ACCURACY)
        } else {
            accuracy
        };
        let points = most * (3.2e-5 / accuracy).sqrt().max(1.0);
        // At least 512 points up to the largest loss: with few users the standard deviation says little about
        // the distribution.
        let step = step.max(tail / points).min(limit / 512.0);
        // Where other rounds have far larger losses, a lattice finer than theirs gains nothing.
        let step = step.max(0.1 * composed.deviation * (12.0 * accuracy).sqrt());
        let exponent = step.max(1e-250).log2().floor() as i32;
        if step < FINEST_COUNTED || !profiles.iter().all(|profile| countable(profile, ln_tail)) {
            return Self {
                exponent,
                ln_tail,
                values: Values::Evaluated(accuracy),
            };
        }
        // Where outcomes are counted, a fine lattice costs nothing to build, and only composition limits it.
        // Composition is expensive with few rounds, and where the losses have few values or nearly lie on a
        // lattice: then the transform does not decay and must be evaluated at every node.
        let decays = composed.rounds >= MANY_ROUNDS && profile.is_smooth();
        let halvings = if side == Side::Upper && is_direct(profiles) && decays {
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

impl Resolution {
    /// The same for a round that several bounds dominate.
    pub(crate) fn of_bounds(
        bounds: &Dominating,
        accuracy: f64,
        ln_tail: f64,
        composed: ComposedRounds,
    ) -> Self {
        let in_tail = |loss: f64| bounds.meets(loss, ln_tail);
        let (limit, deviation) = (bounds.flat_from(), bounds.loss_deviation());
        let found = Self::of_values(in_tail, limit, deviation, accuracy, ln_tail, composed);
        match bounds.is_expensive() && is_deep(ln_tail) {
            true => Self {
                values: Values::Evaluated(accuracy.max(DEEP_ACCURACY)),
                ..found
            },
            false => found,
        }
    }

    /// The same for a pair of datasets.
    pub(crate) fn of_pair(
        pair: &dyn PairProfile,
        accuracy: f64,
        ln_tail: f64,
        composed: ComposedRounds,
    ) -> Self {
        let in_tail = |loss: f64| {
            let forward = pair.ln_delta_in(Direction::Forward, loss).upper;
            forward.max(pair.ln_delta_in(Direction::Reverse, loss).upper) <= ln_tail
        };
        let deviation = pair.loss_deviation();
        Self::of_values(
            in_tail,
            f64::INFINITY,
            deviation,
            accuracy,
            ln_tail,
            composed,
        )
    }

    /// The same for a profile that is known by its values.
    fn of_values(
        in_tail: impl Fn(f64) -> bool,
        loss_limit: f64,
        deviation: f64,
        accuracy: f64,
        ln_tail: f64,
        composed: ComposedRounds,
    ) -> Self {
        let limit = loss_limit.min(LARGEST_LOSS);
        let finest = deviation * (12.0 * accuracy).sqrt();
        let start = finest.clamp(1e-12 * limit, limit);
        let tail = bisect_on_log_scale(start, limit, 1.1, in_tail).holds;
        let points = BOUND_POINTS * (3.2e-5 / accuracy).sqrt().clamp(0.25, 4.0);
        let step = finest.max(tail / points).min(limit / 512.0);
        let step = step.max(0.1 * composed.deviation * (12.0 * accuracy).sqrt());
        Self {
            exponent: step.max(1e-250).log2().floor() as i32,
            ln_tail,
            values: Values::Evaluated(accuracy),
        }
    }
}

/// Whether a tail is that of a tiny δ. A moment has a deeper one, where all of a law matters.
pub(crate) fn is_deep(ln_tail: f64) -> bool {
    (SMALLEST_LN_TAIL..DEEP).contains(&ln_tail)
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
pub(super) fn is_direct(profiles: &[Profile]) -> bool {
    matches!(profiles, [profile] if profile.atoms().is_symmetric())
}
