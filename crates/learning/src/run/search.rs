//! A search for the learning rate and the clipping norm, and what it costs.
//!
//! Every candidate is a whole run with its own value of `rate` and `clip`; the best one has the highest
//! accuracy on the examples that the runs are judged by. The search gives no model: it tells how to make one.
//!
//! ```text
//! on people's data   K candidates of T rounds are K·T rounds; with the run that follows, (K + 1)·T
//! on public data     nothing; the run that follows is all that is charged
//! ```
//!
//! People's examples that candidates are judged by must be held out of what is learnt from, and are not
//! protected ([`RunSpec::validation`]). Choosing by test examples would make the last accuracy look better
//! than it is.

use super::spec::{Data, RunSpec};
use super::{Event, Looks, Setup, run};
use crate::charge::Charge;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use shuffledp_accounting::{Accountant, Answer, Delta, Epsilon, Error as AccountingError, plain};

/// The values to try.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Learning rates; the description's own where there are none.
    pub rates: Vec<f64>,
    /// Clipping norms, likewise.
    pub clips: Vec<f64>,
    /// Whether the data are public, so that nothing is charged.
    pub public: bool,
}

/// A candidate and how well it did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Tried {
    /// The learning rate.
    pub rate: f64,
    /// The clipping norm; none where gradients are not clipped.
    pub clip: Option<f64>,
    /// The share of the held-out or test examples that the last model is right about.
    pub accuracy: f64,
}

/// The outcome of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// All candidates, in the order in which they were tried.
    pub tried: Vec<Tried>,
    /// Rounds of each.
    pub rounds: u64,
    /// Which is the best.
    pub best: usize,
    /// ε of all candidates together; none where nobody is protected, no finite one can be proved, or the data
    /// are public.
    pub spent: Option<Answer<Epsilon>>,
    /// ε of all candidates and one more run; on public data, of that run alone. None where nobody is
    /// protected, or no finite one can be proved.
    pub with_a_run: Option<Answer<Epsilon>>,
}

impl Found {
    /// The best candidate.
    pub fn best(&self) -> Option<&Tried> {
        self.tried.get(self.best)
    }
}

/// More candidates than this are refused: each is a whole run.
const MOST_CANDIDATES: usize = 1000;

impl Search {
    /// The description of every candidate. Refuses a search that would be judged by test examples, and values
    /// that no run has.
    ///
    /// ```
    /// use shuffledp_learning::run::{RunSpec, Search};
    /// let search = Search { rates: vec![0.1, 0.3], clips: vec![0.5, 1.0], public: true };
    /// assert_eq!(search.candidates(&RunSpec::default())?.len(), 4);
    /// let search = Search { public: false, ..search };
    /// assert_eq!(
    ///     search.candidates(&RunSpec::default()).unwrap_err().to_string(),
    ///     "validation, the fraction held out to judge by, is needed for search on people's data"
    /// );
    /// # Ok::<(), shuffledp_learning::Error>(())
    /// ```
    pub fn candidates(&self, spec: &RunSpec) -> Result<Vec<RunSpec>, Error> {
        if !self.public && spec.validation.is_none() {
            let meaning = "the fraction held out to judge by";
            return Err(Error::needed(
                "validation",
                meaning,
                ("search", "on people's data"),
            ));
        }
        if !self.public && spec.target_epsilon.is_some() {
            // It would be the budget of each candidate and not of all.
            return Err(Error::surplus(
                "target_epsilon",
                ("search", "on people's data"),
            ));
        }
        for (parameter, values) in [("rate", &self.rates), ("clip", &self.clips)] {
            if let Some(value) = values
                .iter()
                .find(|value| !(**value > 0.0 && value.is_finite()))
            {
                return Err(Error::parameter(parameter, plain(*value), "(0, inf)"));
            }
        }
        let or_own = |values: &[f64], own: Option<f64>| match values {
            [] => vec![own],
            some => some.iter().copied().map(Some).collect(),
        };
        let mut candidates = Vec::new();
        for rate in or_own(&self.rates, spec.rate) {
            for clip in or_own(&self.clips, spec.clip) {
                // Each draws its own noise.
                let other = candidates.len() as u64;
                candidates.push(RunSpec {
                    rate,
                    clip,
                    seed: spec.seed.map(|seed| seed.wrapping_add(other)),
                    ..spec.clone()
                });
            }
        }
        match candidates.len() {
            2..=MOST_CANDIDATES => Ok(candidates),
            count => {
                let allowed = format!("[2, {MOST_CANDIDATES}] candidates");
                Err(Error::parameter("search", count, allowed))
            }
        }
    }

    /// Runs all candidates. `watch` is told how many rounds of all are done, and of how many.
    pub fn run<E: From<Error>>(
        &self,
        spec: &RunSpec,
        data: &Data,
        watch: &mut dyn FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<Found, E> {
        let candidates = self.candidates(spec)?;
        let (mut tried, mut best, mut rounds) = (Vec::new(), 0, 0);
        let mut ledger: Option<(Accountant, Charge, Delta)> = None;
        let all = candidates.len() as u64;
        for (done, candidate) in (0u64..).zip(candidates) {
            let setup = Setup::new(candidate, data.clone())?;
            let mut step = |event: Event<'_>| match event {
                Event::Stepped(round, planned) => watch(done * planned + round, all * planned),
                _ => Ok(()),
            };
            let outcome = run(&setup, None, Looks::Unpriced, &mut step)?;
            let last = outcome.points.last();
            rounds = last.map_or(0, |point| point.round);
            tried.push(Tried {
                rate: setup.recipe().rate,
                clip: setup.clip(),
                accuracy: last.and_then(|point| point.accuracy).unwrap_or(0.0),
            });
            if tried[tried.len() - 1].accuracy > tried[best].accuracy {
                best = tried.len() - 1;
            }
            charge(&mut ledger, &setup, rounds)?;
        }
        let [spent, with_a_run] = self.prices(ledger, rounds)?;
        Ok(Found {
            tried,
            rounds,
            best,
            spent,
            with_a_run,
        })
    }

    /// ε of the search, and of the search and one more run; of that run alone where the data are public.
    fn prices(
        &self,
        ledger: Option<(Accountant, Charge, Delta)>,
        rounds: u64,
    ) -> Result<[Option<Answer<Epsilon>>; 2], Error> {
        let Some((accountant, charge, delta)) = ledger else {
            return Ok([None, None]);
        };
        let (spent, mut more) = match self.public {
            true => (None, Accountant::new("train", users_of(&charge))?),
            false => (provable(charge.epsilon(&accountant, delta))?, accountant),
        };
        compose(&mut more, &charge, rounds)?;
        Ok([spent, provable(charge.epsilon(&more, delta))?])
    }
}

/// The price, if there is one that can be proved.
fn provable(
    price: Result<Option<Answer<Epsilon>>, Error>,
) -> Result<Option<Answer<Epsilon>>, Error> {
    match price {
        Err(Error::Accounting(AccountingError::NoFiniteEpsilon { .. })) => Ok(None),
        price => price,
    }
}

/// Adds the rounds of a candidate. Rates and clips do not change what a round costs, so that all candidates
/// have the charge of the first; a randomizer that is chosen anew is chosen alike.
fn charge(
    ledger: &mut Option<(Accountant, Charge, Delta)>,
    setup: &Setup,
    rounds: u64,
) -> Result<(), Error> {
    let algorithm = setup.algorithm()?;
    let own = algorithm.charge();
    if own.round().is_none() {
        return Ok(());
    }
    let (accountant, ..) = match ledger {
        Some(ledger) => ledger,
        None => ledger.insert((
            Accountant::new("train", users_of(own))?,
            own.clone(),
            setup.delta(),
        )),
    };
    compose(accountant, own, rounds)
}

fn users_of(charge: &Charge) -> u64 {
    charge.round().map_or(2, |round| round.users().max(2))
}

fn compose(accountant: &mut Accountant, charge: &Charge, rounds: u64) -> Result<(), Error> {
    match charge.round() {
        Some(round) => Ok(accountant.compose(round, rounds)?),
        None => Ok(()),
    }
}
