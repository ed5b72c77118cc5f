//! Answers about a plan: the best bound of every theorem that applies.
//!
//! [`crate::laws`] has the laws of each round; [`crate::one_round`] answers one round by its profile,
//! [`crate::many_rounds`] several by composing privacy loss distributions; [`crate::upper`] has the theorems
//! that are not laws. Both bounds are certified: every step bounds its own errors.

use crate::bound::{Answer, Delta, Epsilon, Numerics};
use crate::cells::Fineness;
use crate::compose::ln_tail;
use crate::error::{Error, Parameter, within};
use crate::gaussian::{gdp_delta, gdp_epsilon};
use crate::laws::{Priced, Want};
use crate::many_rounds::MOMENT_LN_TAIL;
use crate::one_round::{finite, ordered};
use crate::plan::Plan;
use crate::relation::Relation;
use crate::upper::alone::{AllAlone, gaussian_alone};
use shuffledp_numerics::special::ln;
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
        // Searches along a tail take one evaluation after the other: the two bounds share the cores.
        let (lower, upper) = rayon::join(
            || {
                self.best(0.0, (-2.0 * delta.ln()).sqrt(), |strategy| {
                    self.attained_epsilon(strategy, tail, delta)
                })
            },
            || self.upper(tail, delta),
        );
        let ((lower, best), (most, method, numerics)) = (lower?, upper?);
        finite(most, self.name(), delta)?;
        ordered(lower, most)?;
        let (most, lower) = (Epsilon::new(most)?, Epsilon::new(lower)?);
        Ok(self.answer(most, lower, best, method, numerics))
    }

    /// The upper bound of [`Account::epsilon`], its method and its accuracy: the composed distributions, or
    /// what holds without a shuffler where that is smaller. The latter also stands in where a distribution
    /// cannot be resolved: each bound is valid alone, so that one that cannot be had is left out.
    fn upper(&self, tail: f64, delta: f64) -> Result<(f64, String, Numerics), Error> {
        let described = self.described();
        let alone = || AllAlone::new(&described).map(|alone| alone.epsilon(delta));
        let upper = match resolved(self.pessimistic(tail))? {
            Ok(upper) => upper,
            Err(unresolved) => {
                let most = alone().filter(|most| most.is_finite()).ok_or(unresolved)?;
                return Ok((most, self.method_alone(), self.no_lattice()));
            }
        };
        let numerics = self.numerics(Want::Dominating, upper.infinite(), tail)?;
        let most = upper.epsilon(delta);
        if most.is_infinite() {
            let most = alone().unwrap_or(f64::INFINITY);
            return Ok((most, self.method_alone(), numerics));
        }
        let local = gaussian_alone(&described).map_or(f64::INFINITY, |mu| gdp_epsilon(mu, delta));
        Ok(match local < most {
            true => (local, self.method_alone(), numerics),
            false => (most, self.method(Want::Dominating, tail)?, numerics),
        })
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
        let described = self.described();
        match resolved(self.pessimistic(tail))? {
            Ok(upper) => {
                let most = upper.epsilon(delta);
                let alone = match most.is_finite() {
                    true => gaussian_alone(&described).map(|mu| gdp_epsilon(mu, delta)),
                    false => AllAlone::new(&described).map(|alone| alone.epsilon(delta)),
                };
                Ok(alone.map_or(most, |alone| alone.min(most)))
            }
            Err(unresolved) => {
                let alone = AllAlone::new(&described).ok_or(unresolved)?;
                Ok(alone.epsilon(delta))
            }
        }
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
        let described = self.described();
        let (most, method, tail, numerics) = match resolved(self.deep_enough(epsilon))? {
            Ok((upper, most, tail)) => {
                let local = gaussian_alone(&described).map_or(1.0, |mu| gdp_delta(mu, epsilon));
                let (most, method) = match local < most {
                    true => (local, self.method_alone()),
                    false => (most, self.method(Want::Dominating, tail)?),
                };
                let numerics = self.numerics(Want::Dominating, upper.infinite(), tail)?;
                (most, method, tail, numerics)
            }
            Err(unresolved) => {
                let most = AllAlone::new(&described).ok_or(unresolved)?.delta(epsilon);
                // The lower bound needs some tail: that of this δ.
                let tail = ln_tail(ln(most.max(Delta::SMALLEST)), self.total());
                (most, self.method_alone(), tail, self.no_lattice())
            }
        };
        let (lower, best) = self.best(0.0, epsilon / self.variance().sqrt(), |strategy| {
            self.attained_delta(strategy, tail, epsilon)
        })?;
        ordered(lower, most)?;
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

/// A bound, or the error that its distribution could not be resolved; other errors end the answer.
fn resolved<T>(bound: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match bound {
        Err(unresolved @ Error::NotResolved { .. }) => Ok(Err(unresolved)),
        other => other.map(Ok),
    }
}

/// A δ at which ε can be computed.
pub(crate) fn answerable(delta: Delta) -> Result<f64, Error> {
    Ok(Delta::of_epsilon(delta.value())?.value())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Account;
    use crate::bound::{Delta, Epsilon};
    use crate::cells::Fineness;
    use crate::error::Error;
    use crate::gaussian::{gdp_delta, gdp_epsilon};
    use crate::laws::Priced;
    use crate::local::Domain;
    use crate::mechanism::Mechanism;
    use crate::round::Round;
    use crate::upper::{Dominating, UpperProfile};
    use std::sync::Arc;

    /// A bound that never ends, so that no lattice holds it.
    #[derive(Debug)]
    struct Endless;

    impl UpperProfile for Endless {
        fn name(&self) -> &'static str {
            "endless"
        }

        fn ln_delta(&self, _: f64, _: f64) -> f64 {
            -1.0
        }

        fn loss_limit(&self) -> f64 {
            f64::INFINITY
        }

        fn loss_deviation(&self) -> f64 {
            10.0
        }
    }

    fn endless(mechanism: Mechanism, times: u64) -> Account {
        let round = Round::new(mechanism, 1000).unwrap();
        let mut priced = Priced::new(&round, Fineness::Rough).unwrap();
        priced.dominating = Dominating {
            laws: Vec::new(),
            others: vec![Box::new(Endless)],
        };
        let account = Account::of(vec![(Arc::new(priced), times)]);
        account.with_accuracy(1e-2).unwrap()
    }

    #[test]
    fn what_cannot_be_resolved_has_the_bound_without_a_shuffler() {
        let noise = endless(Mechanism::gaussian(2.0, Domain::Interval).unwrap(), 9);
        assert!(matches!(
            noise.pessimistic(-30.0),
            Err(Error::NotResolved { .. })
        ));
        let answer = noise.epsilon(1e-6).unwrap();
        let exact = gdp_epsilon(1.5, 1e-6);
        let upper = answer.upper();
        assert!((upper.value() / exact - 1.0).abs() < 1e-6, "{upper:?}");
        assert!(upper.method().starts_with("local/"), "{}", upper.method());
        assert!(answer.lower().value() < upper.value());
        let delta = Delta::new(1e-6).unwrap();
        assert_eq!(noise.upper_epsilon(delta.value()).unwrap(), upper.value());
        let delta = noise.delta(Epsilon::new(3.0).unwrap()).unwrap();
        let exact = gdp_delta(1.5, 3.0);
        assert!((delta.upper().value() / exact - 1.0).abs() < 1e-6);

        // Basic composition of a pure guarantee.
        let bits = endless(Mechanism::binary_response(0.5).unwrap(), 3);
        let answer = bits.epsilon(1e-12).unwrap();
        assert!((answer.upper().value() - 1.5).abs() < 1e-9);
    }

    /// Where no local guarantee is known nothing is left.
    #[test]
    fn without_a_local_guarantee_it_is_still_an_error() {
        let allocation = endless(Mechanism::random_allocation(2.0).unwrap(), 3);
        let found = allocation.epsilon(1e-6);
        assert!(matches!(found, Err(Error::NotResolved { .. })), "{found:?}");
    }
}
