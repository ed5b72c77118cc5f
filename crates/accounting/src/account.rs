//! Answers about a plan: the best bound of every theorem that applies.
//!
//! [`crate::laws`] has the laws of each round; [`crate::one_round`] answers one round by its profile,
//! [`crate::many_rounds`] several by composing privacy loss distributions; [`crate::upper`] has the theorems
//! that are not laws. Both bounds are certified: every step bounds its own errors.

use crate::bound::{Answer, Delta, Epsilon};
use crate::cells::Fineness;
use crate::compose::ln_tail;
use crate::error::{Error, Parameter, within};
use crate::gaussian::{gdp_delta, gdp_epsilon};
use crate::laws::{Priced, Want};
use crate::many_rounds::MOMENT_LN_TAIL;
use crate::one_round::{finite, ordered};
use crate::plan::Plan;
use crate::relation::Relation;
use crate::upper::alone::gaussian_alone;
use std::sync::Arc;

/// Default relative accuracy in ε of the lattice of losses. The number of lattice points is proportional to
/// the inverse of its square root.
const ACCURACY: f64 = 3.2e-5;

/// Answers about a plan.
#[derive(Clone, Debug)]
pub struct Account {
    pub(crate) rounds: Vec<(Arc<Priced>, u64)>,
    pub(crate) accuracy: f64,
}

/// Prepares the account of a round or a plan.
///
/// ```
/// use shuffledp_accounting::{Mechanism, Plan, Round, account};
/// let round = Round::new(Mechanism::kary_response(10, 3.0)?, 1000)?;
/// let answer = account(&round)?.epsilon(1e-6)?;
/// assert_eq!(answer.upper().to_string(), "0.663361");
/// // A hundred such rounds, each adaptive to the results of the earlier ones.
/// let hundred = account(&Plan::new(round, 100)?)?.epsilon(1e-6)?;
/// assert!(hundred.upper().value() < 10.0 * answer.upper().value() * 1.5);
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

    /// Which two datasets are compared. Without any round it is [`Relation::Replace`], which then holds
    /// trivially.
    pub fn relation(&self) -> Relation {
        let first = self.rounds.first();
        first.map_or(Relation::Replace, |(round, _)| round.round.relation())
    }

    /// The least ε for which the plan is (ε, δ)-DP.
    pub fn epsilon<D>(&self, delta: D) -> Result<Answer<Epsilon>, Error>
    where
        D: TryInto<Delta>,
        Error: From<D::Error>,
    {
        let delta = answerable(delta.try_into()?)?;
        if let [(round, 1)] = &self.rounds[..] {
            return round.epsilon(delta);
        }
        let tail = ln_tail(delta.ln(), self.total());
        let (lower, best) = self.best(0.0, (-2.0 * delta.ln()).sqrt(), |strategy| {
            self.attained_epsilon(strategy, tail, delta)
        })?;
        let upper = self.pessimistic(tail)?;
        let numerics = self.numerics(Want::Dominating, upper.infinite(), tail)?;
        let most = upper.epsilon(delta);
        let local =
            gaussian_alone(&self.described()).map_or(f64::INFINITY, |mu| gdp_epsilon(mu, delta));
        let (most, method) = match local < most {
            true => (local, self.method_alone()),
            false => (most, self.method(Want::Dominating, tail)?),
        };
        finite(most, self.name(), delta)?;
        ordered(lower, most)?;
        let (most, lower) = (Epsilon::new(most)?, Epsilon::new(lower)?);
        Ok(self.answer(most, lower, best, method, numerics))
    }

    /// The lower bound of [`Account::epsilon`] alone.
    pub(crate) fn lower_epsilon(&self, delta: f64) -> Result<f64, Error> {
        if let [(round, 1)] = &self.rounds[..] {
            return Ok(round.lower_epsilon(delta).0);
        }
        let tail = ln_tail(delta.ln(), self.total());
        let (lower, _) = self.best(0.0, (-2.0 * delta.ln()).sqrt(), |strategy| {
            self.attained_epsilon(strategy, tail, delta)
        })?;
        Ok(lower)
    }

    /// The upper bound of [`Account::epsilon`] alone.
    pub(crate) fn upper_epsilon(&self, delta: f64) -> Result<f64, Error> {
        if let [(round, 1)] = &self.rounds[..] {
            return Ok(round.dominating.epsilon(delta).0);
        }
        let tail = ln_tail(delta.ln(), self.total());
        let local =
            gaussian_alone(&self.described()).map_or(f64::INFINITY, |mu| gdp_epsilon(mu, delta));
        Ok(self.pessimistic(tail)?.epsilon(delta).min(local))
    }

    /// The name of the first law, for messages.
    fn name(&self) -> &'static str {
        let first = self.rounds.first();
        first.map_or("", |(round, _)| round.dominating_name)
    }

    /// An error for questions that have no answer where a loss may be infinite.
    fn refuse_infinite_losses(&self) -> Result<(), Error> {
        match self.rounds.iter().find(|(round, _)| round.has_no_law()) {
            Some((round, _)) => Err(Error::NotPriced {
                mechanism: round.dominating_name,
            }),
            None => Ok(()),
        }
    }

    /// The least δ for which the plan is (ε, δ)-DP.
    pub fn delta<E>(&self, epsilon: E) -> Result<Answer<Delta>, Error>
    where
        E: TryInto<Epsilon>,
        Error: From<E::Error>,
    {
        let epsilon = epsilon.try_into()?.value();
        if let [(round, 1)] = &self.rounds[..] {
            return round.delta(epsilon);
        }
        let (upper, most, tail) = self.deep_enough(epsilon)?;
        let infinite = upper.infinite();
        let local = gaussian_alone(&self.described()).map_or(1.0, |mu| gdp_delta(mu, epsilon));
        let (most, method) = match local < most {
            true => (local, self.method_alone()),
            false => (most, self.method(Want::Dominating, tail)?),
        };
        let (lower, best) = self.best(0.0, epsilon / self.variance().sqrt(), |strategy| {
            self.attained_delta(strategy, tail, epsilon)
        })?;
        ordered(lower, most)?;
        let numerics = self.numerics(Want::Dominating, infinite, tail)?;
        let (most, lower) = (Delta::new(most)?, Delta::new(lower)?);
        Ok(self.answer(most, lower, best, method, numerics))
    }

    /// The trade-off function: the type II error of any test with type I error `alpha` in (0, 1) is at least
    /// `upper`; for some pair of datasets a test attains `lower`.
    pub fn type_two_error(&self, alpha: f64) -> Result<Answer<f64>, Error> {
        let alpha = within(
            Parameter::Alpha,
            alpha,
            alpha > 0.0 && alpha < 1.0,
            "(0, 1)",
        )?;
        self.refuse_infinite_losses()?;
        let tail = ln_tail(alpha.ln() - 23.0, self.total());
        let upper = self.pessimistic(tail)?;
        // The smallest error is the best attack: the largest of its negative. Guessing has 1 − α.
        let (negative, best) = self.best(alpha - 1.0, f64::INFINITY, |strategy| {
            let forward = self.optimistic(strategy, tail)?;
            let reverse = self.optimistic(&strategy.reversed(), tail)?;
            Ok(-forward.type_two_error(&reverse, alpha))
        })?;
        let numerics = self.numerics(Want::Dominating, upper.infinite(), tail)?;
        let error = upper.type_two_error(&upper, alpha);
        let method = self.method(Want::Dominating, tail)?;
        Ok(self.answer(error, -negative, best, method, numerics))
    }

    /// The Rényi divergence of order `order` > 1 of the composed pair.
    pub fn renyi(&self, order: f64) -> Result<Answer<f64>, Error> {
        let order = within(
            Parameter::Order,
            order,
            (1.0 + 1e-6..=1e6).contains(&order),
            "[1 + 1e-6, 1e6]",
        )?;
        self.refuse_infinite_losses()?;
        let upper = self.by_laws(MOMENT_LN_TAIL)?;
        let (lower, best) = self.best(0.0, f64::INFINITY, |strategy| {
            Ok(self.optimistic(strategy, MOMENT_LN_TAIL)?.renyi(order))
        })?;
        let most = upper.renyi(order);
        ordered(lower, most)?;
        let numerics = self.numerics(Want::Laws, upper.infinite(), MOMENT_LN_TAIL)?;
        let method = self.method(Want::Laws, MOMENT_LN_TAIL)?;
        Ok(self.answer(most, lower, best, method, numerics))
    }

    /// Mean and variance of the privacy loss of the dominating and of the best attained pair, as discretized.
    pub fn loss_moments(&self) -> Result<Answer<(f64, f64)>, Error> {
        self.refuse_infinite_losses()?;
        let tail = ln_tail(-40.0, self.total());
        let upper = self.by_laws(tail)?;
        let best = self.strategies(0.0).into_iter().next();
        let attained = match &best {
            Some(strategy) => self.optimistic(strategy, tail)?.loss_moments(),
            None => (0.0, 0.0),
        };
        let numerics = self.numerics(Want::Laws, upper.infinite(), tail)?;
        let method = self.method(Want::Laws, tail)?;
        Ok(self.answer(upper.loss_moments(), attained, best, method, numerics))
    }
}

/// A δ at which ε can be computed.
pub(crate) fn answerable(delta: Delta) -> Result<f64, Error> {
    Ok(Delta::of_epsilon(delta.value())?.value())
}
