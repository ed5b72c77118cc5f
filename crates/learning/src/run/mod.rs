//! A whole training run: described by a value, checked, run round by round, and stored in a folder from which
//! another process can go on.
//!
//! ```text
//! RunSpec  ── Setup::new ──>  Setup  ── run ──>  Outcome
//!   plain values                checked            log of all rounds, ε spent
//! ```
//!
//! [`run`] is one loop: a step, now and then a look at accuracy and ε, and a checkpoint twice a second. It
//! stops after the planned rounds; with a budget, after the last round that keeps the certified ε within it.
//!
//! ```
//! use shuffledp_learning::Error;
//! use shuffledp_learning::run::{Event, Looks, RunSpec, Setup, Source, run};
//!
//! let spec = RunSpec {
//!     data: Some(Source::Demo),
//!     sample: Some(200),
//!     rounds: Some(2),
//!     seed: Some(1),
//!     ..RunSpec::default()
//! };
//! let setup = Setup::read(spec)?;
//! let outcome = run::<Error>(&setup, None, Looks::Priced, &mut |event| {
//!     if let Event::Looked(point) = event {
//!         println!("round {}: accuracy {:?}", point.round, point.accuracy);
//!     }
//!     Ok(())
//! })?;
//! assert_eq!(outcome.points.len(), 2);
//! assert!(outcome.spent.is_some_and(|spent| spent.upper().value() < 0.02));
//! # Ok::<(), Error>(())
//! ```

mod choices;
mod folder;
mod log;
mod search;
mod selection;
mod setup;
mod spec;
mod trained;

pub use choices::{AlgorithmKind, Choice, FeatureKind, ModelKind, OptimizerKind, ScheduleKind};
pub use folder::Folder;
pub use log::{Point, Price, to_csv};
pub use search::{Found, Search, Tried};
pub use selection::{AUTO, Candidate, Selection};
pub use setup::{Setup, Unit};
pub use spec::{
    CategoryColumn, ColumnRange, Data, RunSpec, Source, StandIn, TableSpec, randomizers,
};
pub use trained::{Architecture, Card, Guarantee, MODEL_FILES, Names, Prediction, Trained};

use crate::charge::Charge;
use crate::error::Error;
use crate::training::Training;
use serde_json::{Value, json};
use shuffledp_accounting::{Answer, Epsilon, Error as AccountingError, Round};
use std::time::{Duration, Instant};

/// Time between two checkpoints: the most work that a kill can cost.
const BETWEEN: Duration = Duration::from_millis(500);
/// Looks at accuracy and ε where the description does not say how many.
const LOOKS: u64 = 20;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Every round.
    pub points: Vec<Point>,
    /// The ε spent in all, where somebody is protected and a price can be proved. None if no price was asked
    /// for.
    pub spent: Option<Answer<Epsilon>>,
    /// The round that is charged; none where nobody is protected.
    pub round: Option<Round>,
    /// Whose data the guarantee protects.
    pub unit: Unit,
    /// The parameters after the last round.
    pub parameters: Vec<f32>,
}

/// What is computed at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// Accuracy and ε.
    Priced,
    /// Accuracy alone: pricing may take longer than learning, and [`Outcome::round`] can be priced later.
    Unpriced,
}

/// Why a run has as many rounds as it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// So many were asked for, or are the default, and there is no budget.
    Asked,
    /// The next round would exceed the budget.
    Budget,
    /// So many were asked for, and all are within the budget.
    AllWithinBudget,
    /// More would be within the budget; so many are run where no number is asked for.
    Limit,
}

/// How many rounds there will be, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The number of rounds.
    pub rounds: u64,
    /// What decided it.
    pub reason: Reason,
}

/// News of a run, for its caller.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Nothing was refused, and so many rounds are planned.
    Begins(Planned),
    /// Accuracy was measured after this round. A resumed run repeats the looks of earlier processes.
    Looked(&'a Point),
    /// A round is done, of so many.
    Stepped(u64, u64),
}

/// Runs to the end, from the last checkpoint if the folder has one.
///
/// `watch` is called as things happen, and can end the run with an error of its own. The caller ends with
/// [`Folder::finish`].
pub fn run<E: From<Error>>(
    setup: &Setup,
    mut folder: Option<&mut Folder>,
    looks: Looks,
    watch: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<Outcome, E> {
    let algorithm = setup.algorithm()?;
    let charge = algorithm.charge();
    let planned = planned(setup, charge)?;
    let rounds = planned.rounds;
    let every = setup.spec().every.unwrap_or((rounds / LOOKS).max(1));
    let mut training = fresh(setup, charge, rounds)?;
    let mut log = Vec::new();
    let key = match &mut folder {
        None => setup.key()?,
        Some(folder) => {
            let key = folder.begin(setup, rounds)?;
            if let Some(stored) = folder.checkpoint()? {
                let stored = Training::from_json(&stored)?;
                if !stored.follows(&training, charge)? {
                    let why = "it is of another run than the record".into();
                    return Err(Error::Checkpoint { why }.into());
                }
                training = stored;
            }
            log = folder.log(training.done())?;
            key
        }
    };
    watch(Event::Begins(planned))?;
    let mut saved = Instant::now();
    for point in log.iter().filter(|point: &&Point| point.accuracy.is_some()) {
        watch(Event::Looked(point))?;
    }
    let mut spent = None;
    while training.done() < rounds {
        let report = training.step(&*algorithm, key)?;
        let last = report.round == rounds;
        let mut point = Point {
            round: report.round,
            reports: report.reports,
            refused: report.refused,
            accuracy: None,
            price: Price::Unasked,
        };
        if report.round % every == 0 || last {
            let test = setup.data().test();
            point.accuracy = Some(setup.model().accuracy(training.parameters(), test)?);
            if looks == Looks::Priced {
                (point.price, spent) = price(setup, charge, &training)?;
            }
        }
        log.push(point);
        if let Some(folder) = &folder
            && (last || saved.elapsed() >= BETWEEN)
        {
            folder.save(&log, &training.to_json()?)?;
            saved = Instant::now();
        }
        if point.accuracy.is_some() {
            watch(Event::Looked(&point))?;
        }
        watch(Event::Stepped(report.round, rounds))?;
    }
    if spent.is_none() && looks == Looks::Priced {
        (_, spent) = price(setup, charge, &training)?;
    }
    Ok(Outcome {
        points: log,
        spent,
        round: charge.round().cloned(),
        unit: setup.unit(),
        parameters: training.parameters().to_vec(),
    })
}

/// Training before its first round.
fn fresh(setup: &Setup, charge: &Charge, rounds: u64) -> Result<Training, Error> {
    let mut recipe = setup.recipe().clone();
    recipe.rounds = rounds;
    let users = match charge.round() {
        Some(round) => round.users(),
        None => setup.data().train().users() as u64,
    };
    Training::new(recipe, setup.start().to_vec(), "train", users.max(2))
}

/// The stop rule: as many rounds as are asked for and as the budget allows.
fn planned(setup: &Setup, charge: &Charge) -> Result<Planned, Error> {
    let asked = setup.recipe().rounds;
    let Some(target) = setup.target() else {
        return Ok(Planned {
            rounds: asked,
            reason: Reason::Asked,
        });
    };
    let delta = setup.delta();
    let rounds = fresh(setup, charge, asked)?.affordable(charge, asked, target, delta)?;
    if rounds == 0 {
        return Err(Error::Budget {
            target: target.value(),
            delta: delta.value(),
        });
    }
    let reason = match (rounds < asked, setup.spec().rounds) {
        (true, _) => Reason::Budget,
        (false, Some(_)) => Reason::AllWithinBudget,
        (false, None) => Reason::Limit,
    };
    Ok(Planned { rounds, reason })
}

/// The ε spent so far.
fn price(
    setup: &Setup,
    charge: &Charge,
    training: &Training,
) -> Result<(Price, Option<Answer<Epsilon>>), Error> {
    match training.epsilon(charge, setup.delta()) {
        Ok(Some(spent)) => {
            let (upper, lower) = (spent.upper().value(), spent.lower().value());
            Ok((Price::Spent(upper, lower), Some(spent)))
        }
        Ok(None) => Ok((Price::Unprotected, None)),
        Err(Error::Accounting(AccountingError::NoFiniteEpsilon { .. })) => {
            Ok((Price::Unprovable, None))
        }
        Err(error) => Err(error),
    }
}

impl Outcome {
    /// The rounds that were looked at.
    pub fn looks(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.accuracy.is_some())
    }

    /// Gradients that were not finite, in all rounds.
    pub fn refused(&self) -> u64 {
        self.points.iter().map(|point| point.refused).sum()
    }

    /// Rounds, accuracy, ε, the unit of privacy and the looks.
    pub fn to_json(&self) -> Value {
        let looks: Vec<Value> = self
            .looks()
            .map(|point| {
                let epsilon = match point.price {
                    Price::Spent(upper, lower) => json!({"upper": upper, "lower": lower}),
                    Price::Unprovable => json!({"upper": null, "lower": null}),
                    Price::Unasked | Price::Unprotected => Value::Null,
                };
                json!({
                    "round": point.round,
                    "reports": point.reports,
                    "accuracy": point.accuracy,
                    "epsilon": epsilon,
                })
            })
            .collect();
        let last = self.points.last();
        let spent = self.spent.as_ref();
        json!({
            "rounds": last.map(|point| point.round),
            "accuracy": last.and_then(|point| point.accuracy),
            "epsilon": spent.map(|spent| json!({"upper": spent.upper(), "lower": spent.lower()})),
            "unit": self.unit,
            "refused": self.refused(),
            "looks": looks,
        })
    }
}
