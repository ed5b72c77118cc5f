//! Several rounds: privacy loss distributions composed, pessimistic ones above and optimistic ones below.
//!
//! The upper bound composes the dominating laws of all rounds. The lower bound composes, for each kind of
//! round, the law of one adversary, and keeps the best choice.

use crate::account::Account;
use crate::bound::{Answer, Bound, Numerics, Side, Standing};
use crate::compose::{self, Composition, ln_gaussian_delta, ln_tail};
use crate::error::Error;
use crate::laws::{Attained, Want};
use crate::lower::LowerProfile;
use crate::pld::{ComposedRounds, RARE, is_deep};
use crate::profile::{Direction, Profile};
use crate::round::Round;
use crate::upper::BY_LAWS;
use crate::upper::alone::ALONE;

/// How many adversaries are composed when there is one kind of round: each costs as much as the upper bound.
/// With several kinds of rounds, one adversary of each kind is composed.
const MOST_ADVERSARIES: usize = 2;
/// While losses are nearly Gaussian, the adversary whose loss varies most is the best one. Others are left
/// out if the standard deviation of their loss is below this fraction of the largest.
const LEAST_DEVIATION_SHARE: f64 = 0.9;
/// Losses count as nearly Gaussian while their skewness, times the share of ε of one round in standard
/// deviations of its loss, is below this. Chosen by experiment, where the best adversary changes.
const GAUSSIAN_SKEWNESS: f64 = 0.1;
/// A lattice for a lower bound reaches at least to this ln δ of one round: δ = 1e-10.
const LARGEST_LN_TAIL: f64 = -23.0;
/// The smallest ln δ of one round that any answer needs: ln 1e-300 less 44, which covers 1e9 rounds with a
/// margin.
pub(crate) const SMALLEST_LN_TAIL: f64 = -735.0;
/// The same for moments, which weigh large losses: just below, so that it is told from the tail of a tiny δ,
/// for which a law may be evaluated roughly.
pub(crate) const MOMENT_LN_TAIL: f64 = -736.0;

/// One way to attain a lower bound: an adversary for each kind of round. With several kinds, the values that
/// users hold may differ from kind to kind, as in a sequence of surveys.
#[derive(Clone)]
pub(crate) struct Strategy {
    chosen: Vec<usize>,
    direction: Direction,
}

impl Strategy {
    /// The two datasets exchanged.
    pub(crate) fn reversed(&self) -> Self {
        Self {
            chosen: self.chosen.clone(),
            direction: self.direction.reversed(),
        }
    }
}

impl Account {
    /// The largest value that a strategy attains, and which strategy; `trivial` where no lower bound is
    /// known.
    ///
    /// `deviations`: how many standard deviations of the composed loss the answer lies out.
    pub(crate) fn best(
        &self,
        trivial: f64,
        deviations: f64,
        value: impl Fn(&Strategy) -> Result<f64, Error>,
    ) -> Result<(f64, Option<Strategy>), Error> {
        let (mut most, mut best) = (trivial, None);
        for strategy in self.strategies(deviations) {
            let value = value(&strategy)?;
            if value > most || best.is_none() {
                (most, best) = (value, Some(strategy));
            }
        }
        Ok((most, best))
    }

    /// The composed rounds, δ(ε), and ln of the tail at which the mass that was cut off is negligible in
    /// δ(ε).
    pub(crate) fn deep_enough(&self, epsilon: f64) -> Result<(Composition, f64, f64), Error> {
        let mut tail = ln_tail(ln_gaussian_delta(epsilon, self.variance()), self.total());
        let mut upper = self.pessimistic(tail)?;
        let mut most = upper.delta(epsilon);
        // Beyond the largest loss δ is zero but for the mass that was cut off.
        while upper.infinite() > 1e-3 * most
            && tail > SMALLEST_LN_TAIL
            && epsilon < upper.loss_limit()
        {
            tail = (2.0 * tail).max(SMALLEST_LN_TAIL);
            upper = self.pessimistic(tail)?;
            most = upper.delta(epsilon);
        }
        Ok((upper, most, tail))
    }

    /// The rounds as they were described.
    pub(crate) fn described(&self) -> Vec<(&Round, u64)> {
        self.rounds
            .iter()
            .map(|(round, times)| (&round.round, *times))
            .collect()
    }

    pub(crate) fn total(&self) -> f64 {
        self.rounds.iter().map(|(_, times)| *times as f64).sum()
    }

    /// All rounds, as the discretization of each of them needs to know them.
    fn composed_rounds(&self) -> ComposedRounds {
        // With few users the leading order overstates the standard deviation of a bounded loss.
        let variance: f64 = self
            .rounds
            .iter()
            .map(|(round, times)| {
                let most = round.loss_deviation().min(round.loss_limit());
                *times as f64 * most * most
            })
            .sum();
        ComposedRounds {
            rounds: self.total(),
            deviation: (variance / self.total()).sqrt(),
        }
    }

    pub(crate) fn variance(&self) -> f64 {
        self.rounds
            .iter()
            .map(|(round, times)| *times as f64 * round.variance())
            .sum()
    }

    pub(crate) fn pessimistic(&self, tail: f64) -> Result<Composition, Error> {
        self.composed(Side::Upper, tail, |_| Want::Dominating)
    }

    pub(crate) fn optimistic(&self, strategy: &Strategy, tail: f64) -> Result<Composition, Error> {
        self.composed(Side::Lower, tail, |kind| {
            Want::Attained(strategy.chosen[kind], strategy.direction)
        })
    }

    /// ε at δ that a strategy attains. Several rounds leak no less than one of them, so that the bound of one
    /// round holds as well. It is the better one where the lattice is too coarse for rare large losses.
    pub(crate) fn attained_epsilon(
        &self,
        strategy: &Strategy,
        tail: f64,
        delta: f64,
    ) -> Result<f64, Error> {
        if let Some(one) = self.rare_and_slow(strategy, (tail, delta)) {
            return Ok(one);
        }
        let mut value = self.optimistic(strategy, tail)?.epsilon(delta);
        // A lattice that reaches less far is finer. Losses beyond it are dropped, which lowers the bound.
        let mut reach = tail;
        while value == 0.0 && reach < LARGEST_LN_TAIL {
            reach = (0.5 * reach).min(LARGEST_LN_TAIL);
            value = self.optimistic(strategy, reach)?.epsilon(delta);
        }
        for profile in self.chosen_profiles(strategy) {
            if profile.exceeds(value, delta) {
                value = value.max(profile.epsilon(delta));
            }
        }
        Ok(value)
    }

    /// ε that one round attains, to four digits, where δ is tiny, points of the lattice take long, and this
    /// loss is so many standard deviations of all rounds that it is a rare large one. Such a lattice takes
    /// tens of seconds, and is so coarse that it gains little over the one round that has the loss.
    fn rare_and_slow(&self, strategy: &Strategy, (tail, delta): (f64, f64)) -> Option<f64> {
        let laws = self.chosen_profiles(strategy).map(LowerProfile::law);
        let laws: Vec<&Profile> = laws.collect::<Option<_>>()?;
        if !is_deep(tail) || !laws.iter().all(|law| law.is_expensive()) {
            return None;
        }
        let deviations = laws.iter().map(|law| law.loss_deviation());
        let losses = laws.iter().map(|law| law.epsilon_coarsely_lower(delta));
        let (deviation, loss) = (deviations.fold(0.0, f64::max), losses.fold(0.0, f64::max));
        (loss > RARE * deviation * self.total().sqrt()).then_some(loss)
    }

    /// δ at ε that a strategy attains, in the same way.
    pub(crate) fn attained_delta(
        &self,
        strategy: &Strategy,
        tail: f64,
        epsilon: f64,
    ) -> Result<f64, Error> {
        let composed = self.optimistic(strategy, tail)?.delta(epsilon);
        let one = |profile: &LowerProfile| profile.delta(epsilon);
        Ok(self
            .chosen_profiles(strategy)
            .map(one)
            .fold(composed, f64::max))
    }

    /// The profile that a strategy chooses for each kind of round that has a lower bound.
    fn chosen_profiles(&self, strategy: &Strategy) -> impl Iterator<Item = &LowerProfile> {
        let chosen = strategy.chosen.clone();
        let rounds = self.rounds.iter().zip(chosen);
        rounds
            .filter(|((round, _), _)| round.attains())
            .map(|((round, _), index)| &round.attained[index].profile)
    }

    /// The laws alone.
    pub(crate) fn by_laws(&self, tail: f64) -> Result<Composition, Error> {
        self.composed(Side::Upper, tail, |_| Want::Laws)
    }

    fn composed(
        &self,
        side: Side,
        tail: f64,
        want: impl Fn(usize) -> Want,
    ) -> Result<Composition, Error> {
        let mut composition = Composition::new(side);
        for (kind, (round, times)) in self.rounds.iter().enumerate() {
            // No lower bound is known for this round. Leaving it out lowers the bound.
            if side == Side::Lower && !round.attains() {
                continue;
            }
            if let Some(pld) = round.pld(want(kind), self.accuracy, tail, self.composed_rounds())? {
                // Distributions come from this account, on the side asked for.
                let _ = composition.add(&pld, *times);
            }
        }
        Ok(composition)
    }

    /// Which adversaries to try: a few when there is one kind of round, else the most promising of each kind;
    /// both directions where they differ; none where no round has a lower bound.
    ///
    /// `deviations`: how many standard deviations of the composed loss the answer lies out.
    pub(crate) fn strategies(&self, deviations: f64) -> Vec<Strategy> {
        if !self.rounds.is_empty() && !self.rounds.iter().any(|(round, _)| round.attains()) {
            return Vec::new();
        }
        let choices: Vec<Vec<usize>> = match &self.rounds[..] {
            [(round, _)] => {
                let promising = |index: usize| {
                    let profile = &round.attained[index].profile;
                    let best = round.attained[0].profile.loss_deviation();
                    profile.loss_deviation() >= LEAST_DEVIATION_SHARE * best
                        || deviations / self.total().sqrt() * profile.skewness() > GAUSSIAN_SKEWNESS
                };
                (0..round.attained.len().min(MOST_ADVERSARIES))
                    .filter(|&index| promising(index))
                    .map(|index| vec![index])
                    .collect()
            }
            rounds => vec![vec![0; rounds.len()]],
        };
        let mut all = Vec::new();
        for chosen in choices {
            let symmetric = self.rounds.iter().zip(&chosen).all(|((round, _), &index)| {
                let attained = round.attained.get(index);
                attained.is_none_or(|attained| attained.profile.is_symmetric())
            });
            // Laws of many atoms are expensive: only the direction with the heavier right tail is tried.
            let heavier = match (&self.rounds[..], &chosen[..]) {
                ([(round, _)], &[index]) => round.attained[index].profile.heavier_direction(),
                _ => None,
            };
            let directions: &[Direction] = match heavier {
                _ if symmetric => &[Direction::Forward],
                Some(Direction::Forward) => &[Direction::Forward],
                Some(Direction::Reverse) => &[Direction::Reverse],
                None => &[Direction::Forward, Direction::Reverse],
            };
            for &direction in directions {
                all.push(Strategy {
                    chosen: chosen.clone(),
                    direction,
                });
            }
        }
        all
    }

    pub(crate) fn numerics(
        &self,
        want: Want,
        infinite_loss: f64,
        tail: f64,
    ) -> Result<Numerics, Error> {
        let (mut step, mut points) = (f64::INFINITY, 0);
        for (round, _) in &self.rounds {
            if let Some(pld) = round.pld(want, self.accuracy, tail, self.composed_rounds())? {
                step = step.min(pld.losses().step());
                points = points.max(pld.losses().points());
            }
        }
        Ok(Numerics::Lattice {
            accuracy: self.accuracy,
            step: if step.is_finite() { step } else { 0.0 },
            points,
            infinite_loss,
            integral: compose::TARGET,
            search: compose::TOLERANCE,
        })
    }

    /// The accuracy of an upper bound in closed form: there is no lattice.
    pub(crate) fn no_lattice(&self) -> Numerics {
        Numerics::Lattice {
            accuracy: self.accuracy,
            step: 0.0,
            points: 0,
            infinite_loss: 0.0,
            integral: compose::TARGET,
            search: compose::TOLERANCE,
        }
    }

    /// The name of the upper bound: the theorems behind the composed distributions, or the laws.
    pub(crate) fn method(&self, want: Want, tail: f64) -> Result<String, Error> {
        let mut names = Vec::new();
        for (round, _) in &self.rounds {
            let built = round.built(want, self.accuracy, tail, self.composed_rounds())?;
            let bounds = built.map_or(Vec::new(), |built| built.bounds);
            names.push(match bounds.iter().any(|name| *name != BY_LAWS) {
                true => bounds.join("+"),
                false => round.dominating_name.to_owned(),
            });
        }
        Ok(format!("pld/{}", joined(names, "+")))
    }

    /// The same for the local guarantee, which holds without a shuffler.
    pub(crate) fn method_alone(&self) -> String {
        let names = self
            .rounds
            .iter()
            .map(|(round, _)| round.dominating_name.to_owned());
        format!("{ALONE}/{}", joined(names.collect(), "+"))
    }

    pub(crate) fn answer<T: Copy>(
        &self,
        upper: T,
        lower: T,
        best: Option<Strategy>,
        method: String,
        numerics: Numerics,
    ) -> Answer<T> {
        let attained: Vec<&Attained> = match &best {
            Some(strategy) => self
                .rounds
                .iter()
                .zip(&strategy.chosen)
                .filter(|((round, _), _)| round.attains())
                .map(|((round, _), &index)| &round.attained[index])
                .collect(),
            None => Vec::new(),
        };
        let certified = Standing::Certified;
        let lower = match &best {
            None => Bound::none(lower, certified),
            Some(_) => {
                let names = attained.iter().map(|a| a.name.clone()).collect();
                let words = attained.iter().map(|a| a.words.clone()).collect();
                let method = format!("pld/{}", joined(names, "+"));
                Bound::lower(lower, certified, method, joined(words, "; "))
            }
        };
        let upper = Bound::upper(upper, certified, method);
        Answer::new(self.relation(), upper, lower, numerics)
    }
}

/// The parts with a separator; equal neighbors are written once.
fn joined(mut parts: Vec<String>, by: &str) -> String {
    parts.dedup();
    parts.join(by)
}
