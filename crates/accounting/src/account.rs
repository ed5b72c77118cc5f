//! The price of a plan: every theorem that applies, asked for its best number.
//!
//! Upper: the largest over a family of laws that together dominate a round (one law for most mechanisms; one for each pair of inputs of a matrix, or for each end of a range of rates). Lower: the largest over explicit adversaries, each valid
//! alone. One round is answered by its profile; several by composing privacy-loss distributions, pessimistic ones above and optimistic ones below.
//!
//! Colluding users are subtracted from n: they can be handed over to the analyzer, reports and all. With m of n sampled, the number of honest participants is at most m, and δ grows with it (Jensen: a participant's X has mean 1 − a, an
//! absent user's is the constant), so the upper bound is m of n_honest; the lower one forgoes what the colluders know, and is m of n.

use crate::approximate;
use crate::atoms::Atoms;
use crate::bound::{Answer, Bound, Delta, Epsilon, Numerics, Side, Standing};
use crate::cells::Fineness;
use crate::compose::{self, Composition, ln_gaussian_delta, ln_tail};
use crate::error::{Error, Parameter, within};
use crate::gaussian;
use crate::lower::{self, Adversary};
use crate::mechanism::{Categories, Domain, Mechanism};
use crate::participation::{Participation, Rate};
use crate::plan::Plan;
use crate::pld::{Company, Pld, Resolution};
use crate::profile::{Direction, FINE, Profile};
use crate::round::Round;
use shuffledp_numerics::enclosure::Wanted;
use std::sync::{Arc, Mutex, PoisonError};

/// Relative accuracy in ε that the lattice of losses aims at, unless told otherwise.
const ACCURACY: f64 = 3.2e-5;
/// How many adversaries are composed when there is one kind of round; with several kinds, the most promising of each.
const MOST_ADVERSARIES: usize = 2;
/// While losses look Gaussian the one that varies most is the worst, and others are left out that vary less than this part of it.
const PROMISING: f64 = 0.9;
/// Losses look Gaussian where their skewness, times how many standard deviations of one round its share of ε is, stays below this.
const GAUSSIAN: f64 = 0.1;
/// A tail that no answer reaches.
const DEEPEST: f64 = -735.0;

/// The laws of one round, and their distributions of losses once these have been needed.
#[derive(Debug)]
pub(crate) struct Priced {
    round: Round,
    /// δ of the round is at most the largest of these; none where its local guarantee is approximate.
    dominating: Vec<Profile>,
    dominating_name: &'static str,
    /// δ of some instance of the round is each of these, the most promising first.
    attained: Vec<Attained>,
    shelf: Mutex<Vec<(Want, Resolution, Pld)>>,
}

/// A law that some instance of the round attains.
#[derive(Clone, Debug)]
pub(crate) struct Attained {
    pub(crate) profile: Profile,
    pub(crate) name: String,
    pub(crate) words: String,
}

/// Which distribution of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Dominating,
    Attained(usize, Direction),
}

/// Answers about a plan.
#[derive(Clone, Debug)]
pub struct Account {
    rounds: Vec<(Arc<Priced>, u64)>,
    accuracy: f64,
}

/// Prepares the account of a round or a plan.
///
/// ```
/// use shuffledp_accounting::{Delta, Mechanism, Plan, Round, account};
/// let round = Round::new(Mechanism::kary_response(10, 3.0)?, 1000)?;
/// let answer = account(&round)?.epsilon(Delta::new(1e-6)?)?;
/// assert!(answer.lower.value <= answer.upper.value);
/// assert_eq!(format!("{:.4}", answer.upper.value.value()), "0.6634");
/// // A hundred such rounds, each adaptive to what the earlier ones showed.
/// let hundred = account(&Plan::new(round, 100)?)?.epsilon(Delta::new(1e-6)?)?;
/// assert!(hundred.upper.value.value() < 10.0 * answer.upper.value.value() * 1.5);
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn account(plan: impl Into<Plan>) -> Result<Account, Error> {
    let plan = plan.into();
    let fineness = match plan.rounds() {
        [(round, 1)] => Fineness::of_one_round(round.users()),
        _ => Fineness::Coarse,
    };
    let rounds: Result<Vec<_>, Error> = plan
        .rounds()
        .iter()
        .map(|(round, times)| Ok((Arc::new(Priced::new(round, fineness)?), *times)))
        .collect();
    Ok(Account::of(rounds?))
}

impl Priced {
    pub(crate) fn new(round: &Round, fineness: Fineness) -> Result<Self, Error> {
        let (dominating, dominating_name) = if is_approximate(round.mechanism()) {
            (Vec::new(), round.mechanism().name())
        } else {
            dominating_profiles(round, fineness)?
        };
        let attained = attained_profiles(round, fineness)?;
        Ok(Self {
            round: round.clone(),
            dominating,
            dominating_name,
            attained,
            shelf: Mutex::new(Vec::new()),
        })
    }

    /// The variance of the loss of one round, about.
    fn variance(&self) -> f64 {
        self.leading().loss_deviation().powi(2)
    }

    /// The law that varies most.
    fn leading(&self) -> &Profile {
        // There is always an adversary.
        self.dominating.first().unwrap_or(&self.attained[0].profile)
    }

    /// A distribution of this accuracy and depth, made once. `None` if the loss is always zero, or if a lower one cannot be had: leaving a round out lowers the bound.
    fn pld(
        &self,
        want: Want,
        accuracy: f64,
        ln_tail: f64,
        company: Company,
    ) -> Result<Option<Pld>, Error> {
        let (profiles, side) = match want {
            Want::Dominating => (&self.dominating[..], Side::Upper),
            Want::Attained(index, _) => {
                let profile = &self.attained[index].profile;
                (std::slice::from_ref(profile), Side::Lower)
            }
        };
        if profiles[0].atoms().loss_limit() == 0.0 {
            return Ok(None);
        }
        let resolution = Resolution::for_accuracy(profiles, side, accuracy, ln_tail, company);
        // A panic elsewhere while the shelf was held leaves it as it was: entries are only ever added whole. It is not held while building, which uses all cores.
        let shelf = || self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |(kept, have, _): &&(Want, Resolution, Pld)| {
            // Not merely fine enough: an answer must not depend on what was asked before.
            *kept == want && *have == resolution
        };
        if let Some((_, _, pld)) = shelf().iter().find(fits) {
            return Ok(Some(pld.clone()));
        }
        let pld = match want {
            Want::Dominating => Some(Pld::pessimistic(&self.dominating, resolution).ok_or(
                Error::NotResolved {
                    mechanism: self.dominating_name,
                },
            )?),
            Want::Attained(index, direction) => {
                Pld::optimistic(&self.attained[index].profile, direction, resolution)
            }
        };
        if let Some(pld) = &pld {
            shelf().push((want, resolution, pld.clone()));
        }
        Ok(pld)
    }
}

/// Laws that together dominate a round, the one that varies most first, and their name.
pub(crate) fn dominating_profiles(
    round: &Round,
    fineness: Fineness,
) -> Result<(Vec<Profile>, &'static str), Error> {
    let mut dominating = Vec::new();
    for atoms in dominating_atoms(round, fineness)? {
        for atoms in dominating_with(atoms, round.participation())? {
            dominating.push(match round.participation() {
                Participation::Sample(size) => Profile::sampled(atoms, round.honest(), size),
                _ => Profile::new(atoms, round.honest()),
            });
        }
    }
    // The most promising first: once one is solved, the others mostly need a single evaluation to be ruled out.
    dominating.sort_by(|a, b| b.loss_deviation().total_cmp(&a.loss_deviation()));
    let name = if round.is_adaptive_within_round() {
        "ldp-adaptive"
    } else {
        round.mechanism().name()
    };
    Ok((dominating, name))
}

/// Explicit adversaries, the most promising first.
pub(crate) fn attained_profiles(round: &Round, fineness: Fineness) -> Result<Vec<Attained>, Error> {
    let mut attained = Vec::new();
    for Adversary { atoms, name, words } in lower::adversaries(round.mechanism(), fineness)? {
        for atoms in attained_with(atoms, round.participation())? {
            let profile = match round.participation() {
                Participation::Sample(size) => Profile::sampled(atoms, round.users(), size),
                _ => Profile::new(atoms, round.honest()),
            };
            attained.push(Attained {
                profile,
                name: name.clone(),
                words: words.clone(),
            });
        }
    }
    attained.sort_by(|a, b| {
        b.profile
            .loss_deviation()
            .total_cmp(&a.profile.loss_deviation())
    });
    Ok(attained)
}

/// Whether the local guarantee is approximate, with nothing else known that would dominate a round.
fn is_approximate(mechanism: &Mechanism) -> bool {
    matches!(
        mechanism,
        Mechanism::ApproximateLdp(..) | Mechanism::Gaussian(_, Domain::Ball)
    )
}

fn dominating_atoms(round: &Round, fineness: Fineness) -> Result<Vec<Atoms>, Error> {
    let adaptive = round.is_adaptive_within_round();
    match round.mechanism() {
        Mechanism::Ldp(epsilon0)
        | Mechanism::BinaryResponse(epsilon0)
        | Mechanism::KaryResponse(_, epsilon0)
            if adaptive =>
        {
            Ok(vec![Atoms::ldp_adaptive(*epsilon0)?])
        }
        Mechanism::Oracle(oracle) if adaptive => Ok(vec![Atoms::ldp_adaptive(oracle.epsilon0())?]),
        Mechanism::Oracle(oracle) => oracle.blankets(),
        Mechanism::Scalar(scalar) if adaptive => Ok(vec![Atoms::ldp_adaptive(scalar.epsilon0())?]),
        Mechanism::Scalar(scalar) => Ok(vec![scalar.blanket(fineness)?]),
        Mechanism::Gaussian(sigma, Domain::Interval) => {
            Ok(vec![gaussian::interval_blanket(sigma.value(), fineness)?])
        }
        Mechanism::RandomAllocation(sigma) => {
            Ok(vec![gaussian::pair_above(sigma.value(), fineness)?])
        }
        Mechanism::Ldp(epsilon0) => Ok(vec![Atoms::ldp(*epsilon0)?]),
        Mechanism::BinaryResponse(epsilon0) => {
            Ok(vec![Atoms::kary_blanket(Categories::TWO, *epsilon0)?])
        }
        Mechanism::KaryResponse(k, epsilon0) => Ok(vec![Atoms::kary_blanket(*k, *epsilon0)?]),
        Mechanism::Ratio(summary) => Ok(vec![Atoms::ratio(summary)?]),
        Mechanism::Matrix(channel) => {
            let inputs = channel.rows().len();
            let mut all = Vec::new();
            for x0 in 0..inputs {
                for x1 in x0 + 1..inputs {
                    all.push(Atoms::channel_blanket(channel, x0, x1)?);
                }
            }
            Ok(all)
        }
        Mechanism::ApproximateLdp(..) | Mechanism::Gaussian(_, Domain::Ball) => {
            Err(Error::NotPriced {
                mechanism: round.mechanism().name(),
            })
        }
    }
}

/// Laws that dominate under check-in: user 1 at either end of the range of rates, the others anywhere in it.
fn dominating_with(atoms: Atoms, participation: Participation) -> Result<Vec<Atoms>, Error> {
    match participation {
        Participation::Everyone | Participation::Sample(_) => Ok(vec![atoms]),
        Participation::CheckIn(rate) => rate
            .ends()
            .into_iter()
            .map(|own| atoms.check_in(rate, own))
            .collect(),
    }
}

/// Laws that are attained under check-in: user 1 at one end of the range, all others at one.
fn attained_with(atoms: Atoms, participation: Participation) -> Result<Vec<Atoms>, Error> {
    match participation {
        Participation::Everyone | Participation::Sample(_) => Ok(vec![atoms]),
        Participation::CheckIn(rate) => {
            let mut all = Vec::new();
            for others in rate.ends() {
                for own in rate.ends() {
                    all.push(atoms.check_in(Rate::exactly(others)?, own)?);
                }
            }
            Ok(all)
        }
    }
}

/// One way to attain a lower bound: for each kind of round, which adversary. With several kinds, what users hold may differ from kind to kind, as it may in a sequence of surveys.
#[derive(Clone)]
struct Strategy {
    chosen: Vec<usize>,
    direction: Direction,
}

impl Strategy {
    /// The two datasets exchanged.
    fn reversed(&self) -> Self {
        Self {
            chosen: self.chosen.clone(),
            direction: match self.direction {
                Direction::Forward => Direction::Reverse,
                Direction::Reverse => Direction::Forward,
            },
        }
    }
}

/// Where no ε can be proved there is no answer.
fn finite(epsilon: f64, mechanism: &'static str, delta: f64) -> Result<(), Error> {
    if epsilon.is_finite() {
        Ok(())
    } else {
        Err(Error::NoFiniteEpsilon { mechanism, delta })
    }
}

/// Two bounds that contradict each other are not an answer.
fn ordered(lower: f64, upper: f64) -> Result<(), Error> {
    if lower <= upper {
        Ok(())
    } else {
        Err(Error::Contradiction { lower, upper })
    }
}

impl Account {
    pub(crate) fn of(rounds: Vec<(Arc<Priced>, u64)>) -> Self {
        Self {
            rounds,
            accuracy: ACCURACY,
        }
    }

    /// The same account with another relative accuracy of the composed ε, in [1e-7, 0.01] (default 3.2e-5).
    pub fn with_accuracy(mut self, accuracy: f64) -> Result<Self, Error> {
        self.accuracy = within(
            Parameter::Accuracy,
            accuracy,
            (1e-7..=1e-2).contains(&accuracy),
            "[1e-7, 0.01]",
        )?;
        Ok(self)
    }

    /// The least ε for which the plan is (ε, δ)-DP.
    pub fn epsilon(&self, delta: Delta) -> Result<Answer<Epsilon>, Error> {
        let delta = within(
            Parameter::Delta,
            delta.value(),
            (Delta::SMALLEST..1.0).contains(&delta.value()),
            "[1e-300, 1)",
        )?;
        if let [(round, 1)] = &self.rounds[..] {
            return round.epsilon(delta);
        }
        let tail = ln_tail(delta.ln(), self.total());
        let (lower, best) = self.attained_epsilon(delta, tail)?;
        let rounds = self.described();
        let (most, other, numerics) = if self.is_approximate() {
            let (most, way) = approximate::epsilon(&rounds, delta)?;
            (most, Some(way), self.numerics(0.0, tail)?)
        } else {
            let upper = self.pessimistic(tail)?;
            let numerics = self.numerics(upper.infinite(), tail)?;
            let (local, way) = approximate::local_epsilon(&rounds, delta);
            let most = upper.epsilon(delta);
            if local < most {
                (local, Some(way), numerics)
            } else {
                (most, None, numerics)
            }
        };
        let name = self
            .rounds
            .first()
            .map_or("", |(round, _)| round.dominating_name);
        finite(most, name, delta)?;
        ordered(lower, most)?;
        let (most, lower) = (Epsilon::new(most)?, Epsilon::new(lower)?);
        Ok(self.answer(most, lower, best, other, numerics))
    }

    /// The largest ε that an adversary attains over all rounds, and how.
    fn attained_epsilon(&self, delta: f64, tail: f64) -> Result<(f64, Option<Strategy>), Error> {
        let (mut lower, mut best) = (0.0, None);
        for strategy in self.strategies((-2.0 * delta.ln()).sqrt()) {
            let value = self.optimistic(&strategy, tail)?.epsilon(delta);
            if value > lower || best.is_none() {
                (lower, best) = (value, Some(strategy));
            }
        }
        Ok((lower, best))
    }

    /// The lower bound of [`Account::epsilon`] alone.
    pub(crate) fn lower_epsilon(&self, delta: f64) -> Result<f64, Error> {
        if let [(round, 1)] = &self.rounds[..] {
            return Ok(round.lower_epsilon(delta).0);
        }
        let tail = ln_tail(delta.ln(), self.total());
        Ok(self.attained_epsilon(delta, tail)?.0)
    }

    /// The upper bound of [`Account::epsilon`] alone.
    pub(crate) fn upper_epsilon(&self, delta: f64) -> Result<f64, Error> {
        if let [(round, 1)] = &self.rounds[..] {
            return Ok(round.upper_epsilon(delta)?.0);
        }
        let rounds = self.described();
        if self.is_approximate() {
            return Ok(approximate::epsilon(&rounds, delta)?.0);
        }
        let tail = ln_tail(delta.ln(), self.total());
        let local = approximate::local_epsilon(&rounds, delta).0;
        Ok(self.pessimistic(tail)?.epsilon(delta).min(local))
    }

    /// The upper bound of [`Account::delta`] alone.
    pub(crate) fn upper_delta(&self, epsilon: f64) -> Result<f64, Error> {
        if let [(round, 1)] = &self.rounds[..] {
            return Ok(round.upper_delta(epsilon)?.0);
        }
        Ok(self.deep_enough(epsilon)?.1)
    }

    /// The composed rounds, δ(ε), and the tail at which what was cut off no longer shows in it.
    fn deep_enough(&self, epsilon: f64) -> Result<(Composition, f64, f64), Error> {
        let mut tail = ln_tail(ln_gaussian_delta(epsilon, self.variance()), self.total());
        let mut upper = self.pessimistic(tail)?;
        let mut most = upper.delta(epsilon);
        // Beyond the largest loss there is nothing to see.
        while upper.infinite() > 1e-3 * most && tail > DEEPEST && epsilon < upper.loss_limit() {
            tail = (2.0 * tail).max(DEEPEST);
            upper = self.pessimistic(tail)?;
            most = upper.delta(epsilon);
        }
        Ok((upper, most, tail))
    }

    /// The rounds as they were described.
    fn described(&self) -> Vec<(&Round, u64)> {
        self.rounds
            .iter()
            .map(|(round, times)| (&round.round, *times))
            .collect()
    }

    /// Whether some round's local guarantee is approximate.
    fn is_approximate(&self) -> bool {
        self.rounds
            .iter()
            .any(|(round, _)| round.dominating.is_empty())
    }

    /// For questions that only distributions of losses answer.
    fn refuse_approximate(&self) -> Result<(), Error> {
        match self
            .rounds
            .iter()
            .find(|(round, _)| round.dominating.is_empty())
        {
            Some((round, _)) => Err(Error::NotPriced {
                mechanism: round.dominating_name,
            }),
            None => Ok(()),
        }
    }

    /// The least δ for which the plan is (ε, δ)-DP.
    pub fn delta(&self, epsilon: Epsilon) -> Result<Answer<Delta>, Error> {
        let epsilon = epsilon.value();
        if let [(round, 1)] = &self.rounds[..] {
            return round.delta(epsilon);
        }
        let rounds = self.described();
        let (most, other, tail, infinite) = if self.is_approximate() {
            let (most, way) = approximate::delta(&rounds, epsilon)?;
            let tail = ln_tail(ln_gaussian_delta(epsilon, self.variance()), self.total());
            (most, Some(way), tail, 0.0)
        } else {
            let (upper, most, tail) = self.deep_enough(epsilon)?;
            let (local, way) = approximate::local_delta(&rounds, epsilon);
            if local < most {
                (local, Some(way), tail, upper.infinite())
            } else {
                (most, None, tail, upper.infinite())
            }
        };
        let (mut lower, mut best) = (0.0, None);
        for strategy in self.strategies(epsilon / self.variance().sqrt()) {
            let value = self.optimistic(&strategy, tail)?.delta(epsilon);
            if value > lower || best.is_none() {
                (lower, best) = (value, Some(strategy));
            }
        }
        ordered(lower, most)?;
        let numerics = self.numerics(infinite, tail)?;
        let (most, lower) = (Delta::new(most)?, Delta::new(lower)?);
        Ok(self.answer(most, lower, best, other, numerics))
    }

    /// The trade-off function: the type II error of any test with type I error `alpha` in (0, 1) is at least `upper`; for some pair of datasets a test attains `lower`.
    pub fn type_two_error(&self, alpha: f64) -> Result<Answer<f64>, Error> {
        let alpha = within(
            Parameter::Alpha,
            alpha,
            alpha > 0.0 && alpha < 1.0,
            "(0, 1)",
        )?;
        self.refuse_approximate()?;
        let tail = ln_tail(alpha.ln() - 23.0, self.total());
        let upper = self.pessimistic(tail)?;
        let (mut attained, mut best) = (1.0 - alpha, None);
        for strategy in self.strategies(f64::INFINITY) {
            let forward = self.optimistic(&strategy, tail)?;
            let reverse = self.optimistic(&strategy.reversed(), tail)?;
            let value = forward.type_two_error(&reverse, alpha);
            if value < attained || best.is_none() {
                (attained, best) = (value, Some(strategy));
            }
        }
        let numerics = self.numerics(upper.infinite(), tail)?;
        Ok(self.answer(
            upper.type_two_error(&upper, alpha),
            attained,
            best,
            None,
            numerics,
        ))
    }

    /// The Rényi divergence of order `order` > 1 of the composed pair.
    pub fn renyi(&self, order: f64) -> Result<Answer<f64>, Error> {
        let order = within(
            Parameter::Order,
            order,
            (1.0 + 1e-6..=1e6).contains(&order),
            "[1 + 1e-6, 1e6]",
        )?;
        self.refuse_approximate()?;
        let upper = self.pessimistic(DEEPEST)?;
        let (mut lower, mut best) = (0.0, None);
        for strategy in self.strategies(f64::INFINITY) {
            let value = self.optimistic(&strategy, DEEPEST)?.renyi(order);
            if value > lower || best.is_none() {
                (lower, best) = (value, Some(strategy));
            }
        }
        let most = upper.renyi(order);
        ordered(lower, most)?;
        let numerics = self.numerics(upper.infinite(), DEEPEST)?;
        Ok(self.answer(most, lower, best, None, numerics))
    }

    /// Mean and variance of the privacy loss of the dominating and of the best attained pair, as discretized.
    pub fn loss_moments(&self) -> Result<Answer<(f64, f64)>, Error> {
        self.refuse_approximate()?;
        let tail = ln_tail(-40.0, self.total());
        let upper = self.pessimistic(tail)?;
        let best = self.strategies(0.0).into_iter().next();
        let attained = match &best {
            Some(strategy) => self.optimistic(strategy, tail)?.loss_moments(),
            None => (0.0, 0.0),
        };
        let numerics = self.numerics(upper.infinite(), tail)?;
        Ok(self.answer(upper.loss_moments(), attained, best, None, numerics))
    }

    fn total(&self) -> f64 {
        self.rounds.iter().map(|(_, times)| *times as f64).sum()
    }

    /// All rounds together, as each of them sees them.
    fn company(&self) -> Company {
        // With few users the leading order overstates what a bounded loss can vary by.
        let variance: f64 = self
            .rounds
            .iter()
            .map(|(round, times)| {
                let profile = round.leading();
                let most = profile.loss_deviation().min(profile.atoms().loss_limit());
                *times as f64 * most * most
            })
            .sum();
        Company {
            rounds: self.total(),
            deviation: (variance / self.total()).sqrt(),
        }
    }

    fn variance(&self) -> f64 {
        self.rounds
            .iter()
            .map(|(round, times)| *times as f64 * round.variance())
            .sum()
    }

    fn pessimistic(&self, tail: f64) -> Result<Composition, Error> {
        self.composed(Side::Upper, tail, |_| Want::Dominating)
    }

    fn optimistic(&self, strategy: &Strategy, tail: f64) -> Result<Composition, Error> {
        self.composed(Side::Lower, tail, |kind| {
            Want::Attained(strategy.chosen[kind], strategy.direction)
        })
    }

    fn composed(
        &self,
        side: Side,
        tail: f64,
        want: impl Fn(usize) -> Want,
    ) -> Result<Composition, Error> {
        let mut composition = Composition::new(side);
        for (kind, (round, times)) in self.rounds.iter().enumerate() {
            if let Some(pld) = round.pld(want(kind), self.accuracy, tail, self.company())? {
                // Distributions come from this account, on the side asked for.
                let _ = composition.add(&pld, *times);
            }
        }
        Ok(composition)
    }

    /// Which adversaries to try: a few when there is one kind of round, else the most promising of each kind; both directions where they differ.
    ///
    /// `deviations`: how many standard deviations of the composed loss the answer lies out.
    fn strategies(&self, deviations: f64) -> Vec<Strategy> {
        let choices: Vec<Vec<usize>> = match &self.rounds[..] {
            [(round, _)] => {
                let promising = |index: usize| {
                    let profile = &round.attained[index].profile;
                    let best = round.attained[0].profile.loss_deviation();
                    profile.loss_deviation() >= PROMISING * best
                        || deviations / self.total().sqrt() * profile.skewness() > GAUSSIAN
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
            let symmetric =
                self.rounds.iter().zip(&chosen).all(|((round, _), &index)| {
                    round.attained[index].profile.atoms().is_symmetric()
                });
            // Of laws of many atoms, which are dear, only the direction whose losses lean to the right.
            let leaning = match (&self.rounds[..], &chosen[..]) {
                ([(round, _)], &[index]) => round.attained[index].profile.leaning(),
                _ => None,
            };
            let directions: &[Direction] = match leaning {
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

    fn numerics(&self, infinite_loss: f64, tail: f64) -> Result<Numerics, Error> {
        let (mut step, mut points) = (f64::INFINITY, 0);
        for (round, _) in &self.rounds {
            if round.dominating.is_empty() {
                continue;
            }
            if let Some(pld) = round.pld(Want::Dominating, self.accuracy, tail, self.company())? {
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

    fn answer<T>(
        &self,
        upper: T,
        lower: T,
        best: Option<Strategy>,
        other: Option<&'static str>,
        numerics: Numerics,
    ) -> Answer<T> {
        let names: Vec<&str> = self
            .rounds
            .iter()
            .map(|(round, _)| round.dominating_name)
            .collect();
        let attained: Vec<&Attained> = match &best {
            Some(strategy) => self
                .rounds
                .iter()
                .zip(&strategy.chosen)
                .map(|((round, _), &index)| &round.attained[index])
                .collect(),
            None => Vec::new(),
        };
        let join = |parts: Vec<&str>, by: &str| {
            let mut parts = parts;
            parts.dedup();
            parts.join(by)
        };
        let way = other.unwrap_or("pld");
        answer(
            (upper, format!("{way}/{}", join(names, "+"))),
            (
                lower,
                format!(
                    "pld/{}",
                    join(attained.iter().map(|a| a.name.as_str()).collect(), "+")
                ),
                join(attained.iter().map(|a| a.words.as_str()).collect(), "; "),
            ),
            numerics,
        )
    }
}

/// One round alone: no discretization of the loss.
impl Priced {
    /// The least ε that can be shown, and by what.
    fn upper_epsilon(&self, delta: f64) -> Result<approximate::Named, Error> {
        let described = [(&self.round, 1)];
        if self.dominating.is_empty() {
            return approximate::epsilon(&described, delta);
        }
        let mut upper: f64 = 0.0;
        for profile in &self.dominating {
            if upper == 0.0 || !profile.meets(upper, delta) {
                upper = upper.max(profile.epsilon_upper(delta));
            }
        }
        let local = approximate::local_epsilon(&described, delta);
        Ok(if local.0 < upper {
            local
        } else {
            (upper, "profile")
        })
    }

    /// The least δ that can be shown, and by what.
    fn upper_delta(&self, epsilon: f64) -> Result<approximate::Named, Error> {
        let described = [(&self.round, 1)];
        if self.dominating.is_empty() {
            return approximate::delta(&described, epsilon);
        }
        let upper = self
            .dominating
            .iter()
            .map(|profile| profile.delta_as(epsilon, Wanted::Upper).upper)
            .fold(0.0, f64::max);
        let local = approximate::local_delta(&described, epsilon);
        Ok(if local.0 < upper {
            local
        } else {
            (upper, "profile")
        })
    }

    /// The largest ε that an adversary attains, and which.
    fn lower_epsilon(&self, delta: f64) -> (f64, &Attained) {
        let (mut lower, mut best): (f64, _) = (0.0, &self.attained[0]);
        for attained in &self.attained {
            if lower == 0.0 || attained.profile.exceeds(lower, delta) {
                let value = attained.profile.epsilon_lower(delta);
                if value > lower {
                    (lower, best) = (value, attained);
                }
            }
        }
        (lower, best)
    }

    fn epsilon(&self, delta: f64) -> Result<Answer<Epsilon>, Error> {
        let (upper, (lower, best)) =
            rayon::join(|| self.upper_epsilon(delta), || self.lower_epsilon(delta));
        let (upper, way) = upper?;
        finite(upper, self.dominating_name, delta)?;
        ordered(lower, upper)?;
        Ok(self.answer(Epsilon::new(upper)?, Epsilon::new(lower)?, best, way))
    }

    fn delta(&self, epsilon: f64) -> Result<Answer<Delta>, Error> {
        let (upper, way) = self.upper_delta(epsilon)?;
        let (mut lower, mut best) = (0.0, &self.attained[0]);
        for attained in &self.attained {
            let value = attained.profile.delta_as(epsilon, Wanted::Lower).lower;
            if value > lower {
                (lower, best) = (value, attained);
            }
        }
        ordered(lower, upper)?;
        Ok(self.answer(Delta::new(upper)?, Delta::new(lower)?, best, way))
    }

    fn answer<T>(&self, upper: T, lower: T, best: &Attained, way: &str) -> Answer<T> {
        answer(
            (upper, format!("{way}/{}", self.dominating_name)),
            (lower, format!("profile/{}", best.name), best.words.clone()),
            Numerics::Profile { accuracy: FINE },
        )
    }
}

/// Both bounds are certified: everything below this line bounds its own errors.
fn answer<T>(upper: (T, String), lower: (T, String, String), numerics: Numerics) -> Answer<T> {
    Answer {
        upper: Bound {
            value: upper.0,
            side: Side::Upper,
            standing: Standing::Certified,
            method: upper.1,
            attained_by: None,
        },
        lower: Bound {
            value: lower.0,
            side: Side::Lower,
            standing: Standing::Certified,
            method: lower.1,
            attained_by: Some(lower.2),
        },
        numerics,
    }
}
