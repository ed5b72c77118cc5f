//! An accountant for programs: rounds are composed as they happen, and the ε and δ spent so far can be asked
//! for at any time.

use crate::account::Account;
use crate::bound::{Answer, Delta, Epsilon};
use crate::cells::Fineness;
use crate::error::Error;
use crate::laws::Priced;
use crate::plan::{Plan, check_relation};
use crate::relation::Relation;
use crate::round::Round;
use crate::spec::RoundSpec;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The privacy spent on one population, round by round.
///
/// ```
/// use shuffledp_accounting::{Accountant, Delta, Epsilon, Mechanism, Round};
///
/// let mut accountant = Accountant::new("survey 2026", 10_000)?;
/// let round = Round::new(Mechanism::ldp(1.0)?, 10_000)?.check_in(0.1)?;
/// let delta = Delta::new(1e-6)?;
/// let budget = Epsilon::new(0.2)?;
/// let mut rounds = 0;
/// while !accountant.would_exceed(&round, 50, budget, delta)? {
///     accountant.compose(&round, 50)?;
///     rounds += 50;
/// }
/// assert!(accountant.epsilon(delta)?.upper().get() <= budget);
/// // Stored and read back, it answers the same.
/// let stored = accountant.to_json();
/// let again = Accountant::from_json(&stored)?;
/// assert_eq!(again.epsilon(delta)?, accountant.epsilon(delta)?);
/// # assert_eq!(again.rounds(), rounds);
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Accountant {
    population: String,
    users: u64,
    spent: Vec<(Round, Arc<Priced>, u64)>,
}

/// How an accountant is stored.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    population: String,
    users: u64,
    rounds: Vec<RoundSpec>,
}

const VERSION: u32 = 1;

impl Accountant {
    /// Nothing spent yet on the population of this name, of at most `users` people.
    pub fn new(population: impl Into<String>, users: u64) -> Result<Self, Error> {
        Round::check_users(users)?;
        Ok(Self {
            population: population.into(),
            users,
            spent: Vec::new(),
        })
    }

    /// Records `times` rounds. A round of more users than the population has is refused; one of fewer users
    /// is not, as some may have left. A round with another neighboring relation than the rounds before it is
    /// refused.
    pub fn compose(&mut self, round: &Round, times: u64) -> Result<(), Error> {
        let (priced, at) = self.priced(round, times)?;
        match at {
            Some(index) => self.spent[index].2 += times,
            None => self.spent.push((round.clone(), priced, times)),
        }
        Ok(())
    }

    /// Takes over what another accountant recorded for the same population.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if (&self.population, self.users) != (&other.population, other.users) {
            return Err(Error::OtherPopulation {
                here: self.population.clone(),
                there: other.population.clone(),
            });
        }
        for (round, _, times) in &other.spent {
            self.compose(round, *times)?;
        }
        Ok(())
    }

    /// The number of rounds so far.
    pub fn rounds(&self) -> u64 {
        self.spent.iter().map(|(_, _, times)| times).sum()
    }

    /// Which two datasets the guarantee compares; none before the first round.
    pub fn relation(&self) -> Option<Relation> {
        self.spent.first().map(|(round, ..)| round.relation())
    }

    /// The ε spent so far.
    pub fn epsilon(&self, delta: Delta) -> Result<Answer<Epsilon>, Error> {
        self.account(None).epsilon(delta)
    }

    /// The δ spent so far.
    pub fn delta(&self, epsilon: Epsilon) -> Result<Answer<Delta>, Error> {
        self.account(None).delta(epsilon)
    }

    /// Whether `times` more of this round would take the certified ε above `budget`.
    pub fn would_exceed(
        &self,
        round: &Round,
        times: u64,
        budget: Epsilon,
        delta: Delta,
    ) -> Result<bool, Error> {
        let (priced, _) = self.priced(round, times)?;
        let spent = self.account(Some((priced, times))).delta(budget)?;
        Ok(spent.upper().get() > delta)
    }

    /// The laws of a round, reused if it has been composed before, and its index among the rounds.
    fn priced(&self, round: &Round, times: u64) -> Result<(Arc<Priced>, Option<usize>), Error> {
        // Checks the number of rounds in all.
        Plan::check_total(self.rounds(), times)?;
        if round.users() > self.users {
            return Err(Error::LargerPopulation {
                population: self.population.clone(),
                users: self.users,
                round: round.users(),
            });
        }
        if let Some((first, ..)) = self.spent.first() {
            check_relation(first, round)?;
        }
        match self.spent.iter().position(|(present, ..)| present == round) {
            Some(index) => Ok((self.spent[index].1.clone(), Some(index))),
            None => Ok((Arc::new(Priced::new(round, Fineness::Coarse)?), None)),
        }
    }

    fn account(&self, next: Option<(Arc<Priced>, u64)>) -> Account {
        let spent = self
            .spent
            .iter()
            .map(|(_, priced, times)| (priced.clone(), *times));
        Account::of(spent.chain(next).collect())
    }

    /// As JSON, without loss.
    pub fn to_json(&self) -> String {
        let stored = Stored {
            version: VERSION,
            population: self.population.clone(),
            users: self.users,
            rounds: self
                .spent
                .iter()
                .map(|(round, _, times)| RoundSpec::of(round, *times))
                .collect(),
        };
        // Strings, finite numbers and lists of them: nothing that JSON cannot hold.
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// From JSON, checked like any other input.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let stored: Stored = serde_json::from_str(text).map_err(|error| Error::Stored {
            message: error.to_string(),
        })?;
        if stored.version != VERSION {
            return Err(Error::Stored {
                message: format!("version {} is not {VERSION}", stored.version),
            });
        }
        let mut accountant = Self::new(stored.population, stored.users)?;
        for spec in stored.rounds {
            accountant.compose(&Round::try_from(&spec)?, spec.rounds)?;
        }
        Ok(accountant)
    }
}
