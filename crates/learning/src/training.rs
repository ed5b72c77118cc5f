//! Training, round by round, with the budget as it is spent.
//!
//! A round is charged when its gradient is used. What is stored ([`Training::to_json`]) is parameters, optimizer and ledger together: whoever goes on from it has spent exactly the rounds that its parameters have seen.

use crate::crowd::{Crowd, Way};
use crate::error::Error;
use crate::optimizer::{Optimizer, Rule, Schedule};
use serde::{Deserialize, Serialize};
use shuffledp_accounting::{Accountant, Answer, Delta, Epsilon, Round};
use shuffledp_protocol::Attendance;
use shuffledp_randomizers::{Random, Randomizer, VectorEstimate, VectorSum};

/// How to learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Rounds that are planned.
    pub rounds: u64,
    /// η in the first round.
    pub rate: f64,
    /// How it falls.
    pub schedule: Schedule,
    /// What a step is.
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

/// What a round did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// The ε spent so far.
    pub fn epsilon(&self, delta: Delta) -> Result<Answer<Epsilon>, Error> {
        Ok(self.accountant.epsilon(delta)?)
    }

    /// Whether one more such round would take the certified ε above a budget.
    pub fn would_exceed(
        &mut self,
        round: &Round,
        budget: Epsilon,
        delta: Delta,
    ) -> Result<bool, Error> {
        Ok(self.accountant.would_exceed(round, 1, budget, delta)?)
    }

    /// One round of a crowd, charged as `round`, which says who takes part.
    pub fn step<R, G>(
        &mut self,
        crowd: &Crowd<'_, R>,
        round: &Round,
        way: Way,
        random: impl Fn(u64) -> Result<G, shuffledp_randomizers::Error> + Sync,
    ) -> Result<Report, Error>
    where
        R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
        G: Random,
    {
        if round.mechanism() != crowd.randomizer.mechanism()
            || round.users() != crowd.examples.len() as u64
        {
            return Err(Error::OtherRound);
        }
        let attendance = Attendance::new(round.participation(), round.users(), 0.0)?;
        let gathered = crowd.round(self.server.parameters(), attendance, way, random)?;
        // Whoever could have come is charged, whether anybody did.
        self.accountant.compose(round, 1)?;
        self.done += 1;
        let rate = self.recipe.rate * self.recipe.schedule.factor(self.done, self.recipe.rounds);
        let (reports, refused) = match &gathered {
            Some(gathered) => {
                self.server.step(&gathered.mean, rate)?;
                (gathered.reports, gathered.refused)
            }
            None => (0, 0),
        };
        Ok(Report {
            round: self.done,
            reports,
            refused,
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
        let accountant = Accountant::from_json(&stored.ledger)?;
        if accountant.rounds() != stored.done {
            let rounds = accountant.rounds();
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
