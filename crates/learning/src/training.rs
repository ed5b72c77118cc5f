//! Training, round by round, with the budget as it is spent.
//!
//! A round is charged before it is run. Parameters, optimizer and ledger are stored together
//! ([`Training::to_json`]): a run that goes on from there has spent exactly the rounds that its parameters
//! have seen.

use crate::algorithm::{Algorithm, Key};
use crate::charge::Charge;
use crate::error::Error;
use crate::optimizer::{Optimizer, Rule, Schedule};
use serde::{Deserialize, Serialize};
use shuffledp_accounting::{Accountant, Answer, Delta, Epsilon};

/// How to learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Rounds that are planned.
    pub rounds: u64,
    /// η in the first round.
    pub rate: f64,
    /// How it changes.
    pub schedule: Schedule,
    /// The rule of a step.
    pub rule: Rule,
    /// Parameters stay this near to where they began.
    pub radius: Option<f64>,
}

/// The server's side: it has parameters and a ledger, and never sees an example.
#[derive(Clone, Debug)]
pub struct Training {
    recipe: Recipe,
    server: Optimizer,
    accountant: Accountant,
    /// Rounds that were run, with or without reports.
    done: u64,
}

/// How training is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    recipe: Recipe,
    server: Optimizer,
    /// The accountant's own form.
    ledger: String,
    done: u64,
}

/// The reports of a round, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Which round, from 1.
    pub round: u64,
    /// Reports that arrived.
    pub reports: u64,
    /// Gradients that were not finite.
    pub refused: u64,
}

impl Training {
    /// From these parameters, on a population of so many people.
    pub fn new(
        recipe: Recipe,
        parameters: Vec<f32>,
        population: &str,
        users: u64,
    ) -> Result<Self, Error> {
        if !(recipe.rate > 0.0 && recipe.rate.is_finite()) {
            return Err(Error::parameter("rate", recipe.rate, "(0, inf)"));
        }
        if !(1..=1_000_000_000).contains(&recipe.rounds) {
            return Err(Error::parameter("rounds", recipe.rounds, "[1, 1e9]"));
        }
        recipe.schedule.check()?;
        Ok(Self {
            server: Optimizer::new(recipe.rule, parameters, recipe.radius)?,
            accountant: Accountant::new(population, users)?,
            recipe,
            done: 0,
        })
    }

    /// θ.
    pub fn parameters(&self) -> &[f32] {
        self.server.parameters()
    }

    /// Rounds so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// How it learns.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The ε that rounds of this kind have spent so far; none where nobody is protected.
    pub fn epsilon(&self, charge: &Charge, delta: Delta) -> Result<Option<Answer<Epsilon>>, Error> {
        charge.epsilon(&self.accountant, delta)
    }

    /// How many more rounds of this kind, up to `most`, keep the certified ε within a budget.
    pub fn affordable(
        &self,
        charge: &Charge,
        most: u64,
        budget: Epsilon,
        delta: Delta,
    ) -> Result<u64, Error> {
        charge.affordable(&self.accountant, most, budget, delta)
    }

    /// Whether this is a run of rounds of this kind alone, on the same people and by the same recipe as a
    /// fresh one.
    pub fn follows(&self, fresh: &Self, charge: &Charge) -> Result<bool, Error> {
        let mut expected = fresh.accountant.clone();
        if let Some(round) = charge.round()
            && self.done > 0
        {
            expected.compose(round, self.done)?;
        }
        Ok(self.recipe == fresh.recipe
            && self.parameters().len() == fresh.parameters().len()
            && self.done <= self.recipe.rounds
            && self.accountant.to_json() == expected.to_json())
    }

    /// One round, charged before it is run: all users who could have taken part are charged, even if none
    /// did.
    pub fn step(&mut self, algorithm: &dyn Algorithm, key: Key) -> Result<Report, Error> {
        if let Some(round) = algorithm.charge().round() {
            self.accountant.compose(round, 1)?;
        }
        self.done += 1;
        let Recipe {
            rate,
            rounds,
            ref schedule,
            ..
        } = self.recipe;
        let rate = schedule.rate(rate, self.done, rounds);
        let gathered = algorithm.round(&mut self.server, rate, key.round(self.done))?;
        Ok(Report {
            round: self.done,
            reports: gathered.reports,
            refused: gathered.refused,
        })
    }

    /// As JSON: parameters and ledger in one.
    pub fn to_json(&self) -> Result<String, Error> {
        let stored = Stored {
            version: 1,
            recipe: self.recipe.clone(),
            server: self.server.clone(),
            ledger: self.accountant.to_json(),
            done: self.done,
        };
        serde_json::to_string(&stored).map_err(|error| Error::Checkpoint {
            why: error.to_string(),
        })
    }

    /// From JSON, checked like any other input.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let refuse = |why: String| Error::Checkpoint { why };
        let stored: Stored =
            serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        if stored.version != 1 {
            return Err(refuse(format!("version {} is not 1", stored.version)));
        }
        if !stored.server.is_whole() {
            return Err(refuse(
                "what the optimizer remembers is not of its parameters".into(),
            ));
        }
        let accountant = Accountant::from_json(&stored.ledger)?;
        let rounds = accountant.rounds();
        // Training without protection records nothing.
        if rounds != stored.done && rounds > 0 {
            return Err(refuse(format!(
                "the ledger has {rounds} rounds, the parameters have seen {}",
                stored.done
            )));
        }
        Ok(Self {
            recipe: stored.recipe,
            server: stored.server,
            accountant,
            done: stored.done,
        })
    }
}
