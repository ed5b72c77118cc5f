//! Upper bounds on the privacy profile of one round that are not the profile of a single law of atoms.
//!
//! A round's profile h(α) = sup Hα(P‖Q), over all pairs of neighboring datasets, may be bounded by several
//! theorems. Each holds at every α, so that the smallest of them does. Its lower convex hull is the profile
//! of a dominating pair (Zhu, Dong, Wang 2022), and rounds bounded this way compose with all others
//! ([`crate::pld`]). One theorem a file:
//!
//! | file | bound |
//! |---|---|
//! | `gaussian_ball` | Theorem G: Gaussian noise on a ball of any dimension |
//! | `approximate` | Theorem A: (ε₀, δ₀)-LDP randomizers |
//! | `binary_count` | binary randomized response: the report is a bit, the round a count |
//! | `sampling` | amplification by sampling alone, as if the participants' reports were not shuffled |
//! | `alone` | one report without a shuffler |
//! | `moved` | the common part of the first two: laws that dominate after a little mass was moved |

pub(crate) mod alone;
pub(crate) mod approximate;
pub(crate) mod binary_count;
pub(crate) mod gaussian_ball;
mod moved;
pub(crate) mod sampling;

use crate::bound::Delta;
use crate::profile::{COARSE, FINE, Profile, above_wanted, by_central_limit, probability_up};
use shuffledp_numerics::enclosure::Wanted;
use shuffledp_numerics::rounding::ln_down;
use shuffledp_numerics::search::falling_crossing;
use std::fmt::Debug;

/// A certified upper bound on the profile of one round, the same for both directions of the divergence.
pub(crate) trait UpperProfile: Debug + Send + Sync {
    /// The theorem, as it stands in `method`.
    fn name(&self) -> &'static str;

    /// An upper bound on ln δ(ε) for ε ≥ 0. `accuracy` is the relative accuracy in ε that the caller needs.
    fn ln_delta(&self, epsilon: f64, accuracy: f64) -> f64;

    /// The same, or any larger number if the bound is not expected to be below `rival`, the ln δ of another
    /// bound.
    fn ln_delta_unless(&self, epsilon: f64, accuracy: f64, _rival: f64) -> f64 {
        self.ln_delta(epsilon, accuracy)
    }

    /// From this ε on the bound is zero; infinite where it never is.
    fn loss_limit(&self) -> f64;

    /// From this ε on the bound does not fall any more.
    fn flat_from(&self) -> f64 {
        self.loss_limit()
    }

    /// An estimate of the standard deviation of the privacy loss. Searches start from it, and lattices are
    /// chosen by it.
    fn loss_deviation(&self) -> f64;

    /// Whether one evaluation takes milliseconds.
    fn is_expensive(&self) -> bool {
        false
    }

    /// Whether the bound may rise with ε, so that a larger ε may need another theorem.
    fn may_rise(&self) -> bool {
        false
    }
}

/// The largest ε that is searched: e^700 is still a finite double.
const LARGEST_EPSILON: f64 = 700.0;

/// A search for ε starts at least at this fraction of the largest one, from where about a hundred steps lead
/// up.
const LEAST_GUESS: f64 = 1e-9;
/// The factor between two steps of that search: small, because a bound may be below δ only in a short
/// interval.
const STRIDE: f64 = 1.25;

/// The least ε with δ(ε) ≤ `delta` by this bound, where it is below `best`.
pub(crate) fn epsilon_below(bound: &dyn UpperProfile, delta: f64, best: f64) -> Option<f64> {
    let wanted = ln_down(delta);
    let above = |epsilon: f64| above_wanted(bound.ln_delta(epsilon, FINE), wanted);
    if above(0.0) <= 0.0 {
        return Some(0.0);
    }
    let highest = best.min(bound.flat_from()).min(LARGEST_EPSILON);
    // `falling_crossing` needs an upper end where the bound is known to hold: step up to one. An evaluation
    // at a large ε may take long and is mostly not needed. The steps are small because a bound with a cost of
    // moved mass, which grows as e^ε, first falls and then rises, and may be small enough only in between.
    let guess = by_central_limit(bound.loss_deviation(), delta);
    let guess = guess.clamp(LEAST_GUESS * highest, 0.5 * highest);
    let (mut low, mut high) = (0.0, guess);
    while above(high) > 0.0 {
        if high >= highest {
            return None;
        }
        (low, high) = (high, (STRIDE * high).min(highest));
    }
    let crossing = falling_crossing(low, high, (0.5 * (low + high), 0.05), FINE, above);
    (crossing.below < best).then_some(crossing.below)
}

/// A bound on ln δ that is evaluated to [`COARSE`] and exceeds a number by this much exceeds it at any
/// accuracy.
const CLEAR: f64 = 0.1;

/// All bounds on ln δ at one ε. A bound that was not expected to be the smallest may be given as any larger
/// number.
#[derive(Debug)]
pub(crate) struct Look {
    /// The smallest of the bounds that take microseconds.
    quick: (f64, &'static str),
    laws: f64,
    slow: Vec<(f64, &'static str)>,
}

impl Look {
    /// The smallest, and which it is.
    pub(crate) fn smallest(&self) -> (f64, &'static str) {
        let slow = self.slow.iter().copied();
        slow.fold(smaller(self.quick, (self.laws, BY_LAWS)), smaller)
    }
}

/// The smaller of two bounds; the first where they are equal.
fn smaller(a: (f64, &'static str), b: (f64, &'static str)) -> (f64, &'static str) {
    if b.0 < a.0 { b } else { a }
}

/// All upper bounds on a round's profile: the largest of the laws, if there are any, and each of the others.
/// The smallest of these bounds holds.
#[derive(Debug, Default)]
pub(crate) struct Dominating {
    /// Their largest δ dominates; none where no law of atoms is known.
    pub(crate) laws: Vec<Profile>,
    /// Each dominates.
    pub(crate) others: Vec<Box<dyn UpperProfile>>,
}

/// The name of the laws in a list of bounds.
pub(crate) const BY_LAWS: &str = "profile";
/// The name of the bound δ ≤ 1.
const TRIVIAL: &str = "trivial";

impl Dominating {
    /// The smallest ln δ(ε), and which bound gives it.
    pub(crate) fn ln_delta(&self, epsilon: f64, accuracy: f64) -> (f64, &'static str) {
        let laws = (self.laws_ln_delta(epsilon, accuracy), BY_LAWS);
        let mut best = smaller((0.0, TRIVIAL), laws);
        for other in &self.others {
            let value = other.ln_delta_unless(epsilon, accuracy, best.0);
            best = smaller(best, (value, other.name()));
        }
        best
    }

    /// The largest ln δ(ε) of the laws; 0 where there is none.
    pub(crate) fn laws_ln_delta(&self, epsilon: f64, accuracy: f64) -> f64 {
        let of_law = |law: &Profile| law.ln_delta(epsilon, accuracy, Wanted::Upper).upper;
        let largest = self.laws.iter().map(of_law).reduce(f64::max);
        largest.map_or(0.0, |value| value.min(0.0))
    }

    /// Whether some bound shows that ln δ(ε) is at most this. The first one that does ends the search, so
    /// that a fast bound in front saves the evaluation of the others.
    pub(crate) fn meets(&self, epsilon: f64, ln_delta: f64) -> bool {
        // No bound in closed form says less than that: a search for a smaller one would not end.
        let ln_delta = ln_delta.max(ln_of(0.0));
        let others = self.others.iter();
        others
            .into_iter()
            .any(|other| other.ln_delta(epsilon, COARSE) <= ln_delta)
            || !self.laws.is_empty()
                && self
                    .laws
                    .iter()
                    .all(|law| law.ln_delta(epsilon, COARSE, Wanted::Upper).upper <= ln_delta)
    }

    /// All bounds on ln δ(ε), one by one.
    pub(crate) fn looked_at(&self, epsilon: f64, accuracy: f64) -> Look {
        let (quick, laws) = (self.quick(epsilon), self.laws_ln_delta(epsilon, accuracy));
        let rival = quick.0.min(laws);
        let slow = self.slow();
        let slow = slow.map(|other| {
            (
                other.ln_delta_unless(epsilon, accuracy, rival),
                other.name(),
            )
        });
        Look {
            quick,
            laws,
            slow: slow.collect(),
        }
    }

    /// The smallest bound on ln δ(ε) between two looks, of those that may be below `least`, which is known at
    /// the first of the two.
    pub(crate) fn smallest_between(
        &self,
        epsilon: f64,
        accuracy: f64,
        (first, second, least): (&Look, &Look, f64),
    ) -> (f64, &'static str) {
        let mut best = self.quick(epsilon);
        if second.laws <= least {
            let value = self.laws_ln_delta(epsilon, accuracy);
            best = smaller(best, (value, BY_LAWS));
        }
        for (other, (before, after)) in self.slow().zip(first.slow.iter().zip(&second.slow)) {
            if before.0 <= least || after.0 <= least {
                let value = other.ln_delta_unless(epsilon, accuracy, best.0.min(least));
                best = smaller(best, (value, other.name()));
            }
        }
        best
    }

    /// The smallest ln δ(ε) of the bounds that take microseconds, and which it is.
    fn quick(&self, epsilon: f64) -> (f64, &'static str) {
        let quick = self.others.iter().filter(|other| !other.is_expensive());
        quick
            .map(|other| (other.ln_delta(epsilon, FINE), other.name()))
            .fold((0.0, TRIVIAL), smaller)
    }

    /// The bounds that take milliseconds, apart from the laws.
    fn slow(&self) -> impl Iterator<Item = &dyn UpperProfile> {
        let others = self.others.iter().filter(|other| other.is_expensive());
        others.map(|other| other.as_ref())
    }

    /// Whether some bound may rise with ε.
    pub(crate) fn may_rise(&self) -> bool {
        self.others.iter().any(|other| other.may_rise())
    }

    /// Whether there are laws, and bounds that are evaluated much faster.
    pub(crate) fn has_quick_rivals(&self) -> bool {
        self.laws.iter().any(Profile::is_expensive)
            && self.others.iter().any(|other| !other.is_expensive())
    }

    /// The least ε that can be proved at δ, and the bound that proves it; infinite where none can.
    ///
    /// Bounds that are evaluated fast come first: the search for ε of an expensive law begins only where one
    /// evaluation has shown that it is smaller.
    pub(crate) fn epsilon(&self, delta: f64) -> (f64, &'static str) {
        let mut best = (f64::INFINITY, BY_LAWS);
        let rivals = self.has_quick_rivals();
        let try_others = |best: &mut (f64, &'static str), expensive: bool| {
            let others = self.others.iter();
            for other in others.filter(|other| !rivals || other.is_expensive() == expensive) {
                if let Some(epsilon) = epsilon_below(other.as_ref(), delta, best.0) {
                    *best = (epsilon, other.name());
                }
            }
        };
        if rivals {
            try_others(&mut best, false);
        }
        if !self.laws.is_empty() && self.laws_may_be_below(best.0, delta) {
            let mut epsilon = 0.0;
            for law in &self.laws {
                if epsilon == 0.0 || !law.meets(epsilon, delta) {
                    epsilon = law.epsilon_upper(delta).max(epsilon);
                }
            }
            if epsilon <= best.0 {
                best = (epsilon, BY_LAWS);
            }
        }
        try_others(&mut best, true);
        best
    }

    /// Whether ε of the laws at δ may be below `rival`; yes without a rival.
    fn laws_may_be_below(&self, rival: f64, delta: f64) -> bool {
        let clearly_above = |law: &Profile| {
            law.ln_delta(rival, COARSE, Wanted::Upper).upper > ln_down(delta) + CLEAR
        };
        rival.is_infinite()
            || !self.laws.iter().any(clearly_above)
                && self.laws.iter().all(|law| law.meets(rival, delta))
    }

    /// The least δ that can be proved at ε, and the bound that proves it.
    pub(crate) fn delta(&self, epsilon: f64) -> (f64, &'static str) {
        let of_law = |law: &Profile| law.delta_as(epsilon, Wanted::Upper).upper;
        let laws = self.laws.iter().map(of_law).reduce(f64::max);
        let mut best = (laws.unwrap_or(1.0), BY_LAWS);
        for other in &self.others {
            let value = probability_up(other.ln_delta(epsilon, FINE));
            if value < best.0 {
                best = (value, other.name());
            }
        }
        best
    }

    /// The largest loss that is possible by all bounds.
    pub(crate) fn loss_limit(&self) -> f64 {
        // Where a law leaves reports out, their loss is not bounded.
        let of_law = |law: &Profile| match law.atoms().lost() > 0.0 {
            true => f64::INFINITY,
            false => law.atoms().loss_limit(),
        };
        let laws = self
            .laws
            .iter()
            .map(of_law)
            .reduce(f64::max)
            .unwrap_or(f64::INFINITY);
        let others = self.others.iter().map(|other| other.loss_limit());
        others.fold(laws, f64::min)
    }

    /// From this ε on some bound does not fall any more: a lattice need not reach further.
    pub(crate) fn flat_from(&self) -> f64 {
        let others = self.others.iter().map(|other| other.flat_from());
        others.fold(self.loss_limit(), f64::min)
    }

    /// The smallest of the bounds' estimates of the standard deviation of the loss.
    pub(crate) fn loss_deviation(&self) -> f64 {
        let of_laws = self.laws.iter().map(Profile::loss_deviation);
        let laws = of_laws.reduce(f64::max).unwrap_or(f64::INFINITY);
        let others = self.others.iter().map(|other| other.loss_deviation());
        others.fold(laws, f64::min)
    }

    /// Whether one evaluation takes milliseconds.
    pub(crate) fn is_expensive(&self) -> bool {
        self.laws.iter().any(Profile::is_expensive)
            || self.others.iter().any(|other| other.is_expensive())
    }
}

/// The relative amount by which sums and products of a few certified numbers are rounded to the safe side:
/// far above their rounding error.
pub(crate) const CLOSED_FORM: f64 = 1e-12;

/// ln of a probability, at most 1; never below the smallest that any answer needs.
pub(crate) fn ln_of(probability: f64) -> f64 {
    if probability >= 1.0 {
        0.0
    } else {
        shuffledp_numerics::rounding::ln_up(probability.max(Delta::SMALLEST * 1e-7)).min(0.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{BY_LAWS, Dominating, epsilon_below};
    use crate::cells::Fineness;
    use crate::laws::Priced;
    use crate::local::Domain;
    use crate::mechanism::Mechanism;
    use crate::round::Round;

    /// A tail below the least δ that a closed form says is met where they end, so that a lattice ends there:
    /// one that did not had likelihood ratios beyond the doubles, and no distribution.
    #[test]
    fn a_tail_below_all_closed_forms_is_met() {
        let mechanism = Mechanism::gaussian(0.625, Domain::Ball).unwrap();
        let round = Round::new(mechanism, 1_000_000_000_000_000).unwrap();
        let bounds = Priced::new(&round, Fineness::Coarse).unwrap().dominating;
        assert!(bounds.meets(150.0, -713.0) && !bounds.meets(20.0, -713.0));
    }

    /// Where the law wins, where the bound without a shuffler does, and where they are close.
    #[test]
    fn the_order_in_which_bounds_are_tried_changes_nothing() {
        let mut names = Vec::new();
        for sigma in [0.2, 0.28, 0.3, 0.5, 1.0] {
            let mechanism = Mechanism::gaussian(sigma, Domain::Interval).unwrap();
            let round = Round::new(mechanism, 1000).unwrap();
            let bounds: Dominating = Priced::new(&round, Fineness::Coarse).unwrap().dominating;
            assert!(bounds.has_quick_rivals());
            let (found, name) = bounds.epsilon(1e-6);
            let law = bounds.laws[0].epsilon_upper(1e-6);
            let others = bounds.others.iter();
            let best = others
                .filter_map(|other| epsilon_below(other.as_ref(), 1e-6, f64::INFINITY))
                .fold(law, f64::min);
            assert!(
                (found / best - 1.0).abs() < 3e-6,
                "sigma {sigma}: {found} {best}"
            );
            names.push(name);
        }
        names.dedup();
        assert_eq!(names, ["local", BY_LAWS]);
    }
}
