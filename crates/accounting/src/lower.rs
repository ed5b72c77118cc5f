//! Pairs of neighboring datasets whose profile is known, where the round is not a sum of independent
//! contributions to a likelihood ratio: the counterpart of [`crate::upper`] for lower bounds.

use crate::profile::{Direction, FINE, Profile, above_wanted, by_central_limit, probability_up};
use shuffledp_numerics::enclosure::{LnEnclosure, Wanted};
use shuffledp_numerics::rounding::{exp_down, ln_up};
use shuffledp_numerics::search::falling_crossing;
use std::fmt::Debug;
use std::sync::Arc;

/// The profile of a round on one pair of datasets, certified from both sides.
pub(crate) trait PairProfile: Debug + Send + Sync {
    /// ln δ(ε) in one direction, for ε ≥ 0.
    fn ln_delta_in(&self, direction: Direction, epsilon: f64) -> LnEnclosure;

    /// Whether both directions are the same.
    fn is_symmetric(&self) -> bool;

    /// About the standard deviation of the privacy loss.
    fn loss_deviation(&self) -> f64;
}

/// A pair of datasets, with its name and in words.
#[derive(Clone, Debug)]
pub(crate) struct KnownPair {
    pub(crate) profile: Arc<dyn PairProfile>,
    /// Short name, for `method`.
    pub(crate) name: String,
    /// In words, for `attained_by`.
    pub(crate) words: String,
}

/// A profile that some instance of a round attains.
#[derive(Clone, Debug)]
pub(crate) enum LowerProfile {
    /// That of a law of contributions.
    Law(Profile),
    /// That of a pair of datasets.
    Pair(Arc<dyn PairProfile>),
}

/// The largest ε that is searched: e^700 is still a finite double.
const LARGEST_EPSILON: f64 = 700.0;

impl LowerProfile {
    /// The law, where there is one.
    pub(crate) fn law(&self) -> Option<&Profile> {
        match self {
            Self::Law(profile) => Some(profile),
            Self::Pair(_) => None,
        }
    }

    /// At or below δ(ε), the larger of the two directions.
    pub(crate) fn delta(&self, epsilon: f64) -> f64 {
        match self {
            Self::Law(profile) => profile.delta_as(epsilon, Wanted::Lower).lower,
            Self::Pair(pair) => exp_down(ln_delta(pair.as_ref(), epsilon)),
        }
    }

    /// Whether δ(ε) is certainly above `delta`.
    pub(crate) fn exceeds(&self, epsilon: f64, delta: f64) -> bool {
        match self {
            Self::Law(profile) => profile.exceeds(epsilon, delta),
            Self::Pair(pair) => ln_delta(pair.as_ref(), epsilon) > ln_up(delta),
        }
    }

    /// At or below the least ε with δ(ε) ≤ `delta`: here δ is certainly larger, or this is 0.
    pub(crate) fn epsilon(&self, delta: f64) -> f64 {
        match self {
            Self::Law(profile) => profile.epsilon_lower(delta),
            Self::Pair(pair) => {
                let wanted = ln_up(delta);
                let above = |epsilon| above_wanted(ln_delta(pair.as_ref(), epsilon), wanted);
                if above(0.0) <= 0.0 {
                    return 0.0;
                }
                if above(LARGEST_EPSILON) > 0.0 {
                    return LARGEST_EPSILON;
                }
                let guess = by_central_limit(pair.loss_deviation(), delta);
                let guess = guess.min(0.5 * LARGEST_EPSILON);
                falling_crossing(0.0, LARGEST_EPSILON, (guess, 0.05), FINE, above).above
            }
        }
    }

    /// Whether the loss is always zero.
    pub(crate) fn is_zero(&self) -> bool {
        self.law()
            .is_some_and(|profile| profile.atoms().loss_limit() == 0.0)
    }

    /// About the standard deviation of the privacy loss.
    pub(crate) fn loss_deviation(&self) -> f64 {
        match self {
            Self::Law(profile) => profile.loss_deviation(),
            Self::Pair(pair) => pair.loss_deviation(),
        }
    }

    /// See [`Profile::skewness`]; infinite for a pair, which is then always tried.
    pub(crate) fn skewness(&self) -> f64 {
        self.law().map_or(f64::INFINITY, Profile::skewness)
    }

    /// See [`Profile::heavier_direction`].
    pub(crate) fn heavier_direction(&self) -> Option<Direction> {
        self.law().and_then(Profile::heavier_direction)
    }

    /// Whether both directions are the same.
    pub(crate) fn is_symmetric(&self) -> bool {
        match self {
            Self::Law(profile) => profile.atoms().is_symmetric(),
            Self::Pair(pair) => pair.is_symmetric(),
        }
    }
}

/// At or below ln δ(ε), the larger of the two directions.
fn ln_delta(pair: &dyn PairProfile, epsilon: f64) -> f64 {
    let forward = pair.ln_delta_in(Direction::Forward, epsilon).lower;
    match pair.is_symmetric() {
        true => forward,
        false => forward.max(pair.ln_delta_in(Direction::Reverse, epsilon).lower),
    }
}

/// The two ends of an enclosure, as probabilities.
pub(crate) fn probabilities(ln: LnEnclosure) -> (f64, f64) {
    (exp_down(ln.lower), probability_up(ln.upper))
}
