//! The rounds of a run, one after the other: a step, now and then a look at accuracy and epsilon, and a checkpoint that another process could go on from.

use super::TrainWords;
use super::folder::Folder;
use super::setup::Setup;
use crate::failure::Failure;
use crate::number::Count;
use serde_json::{Value, json};
use shuffledp::learning::{Charge, Error, Training};
use shuffledp::{Answer, Delta, Epsilon, Error as AccountingError, Round};
use shuffledp::{grouped, plain};
use std::time::{Duration, Instant};

/// Time between two checkpoints: what a kill may cost.
const BETWEEN: Duration = Duration::from_millis(500);
/// Looks at accuracy and epsilon where nobody says how many.
const LOOKS: u64 = 20;

/// What has been spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Price {
    /// Nobody looked.
    Unasked,
    /// Nobody is protected.
    Unprotected,
    /// No finite epsilon can be proved.
    Unprovable,
    /// From above and from below.
    Spent(f64, f64),
}

/// A round of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) round: u64,
    pub(crate) reports: u64,
    pub(crate) refused: u64,
    pub(crate) accuracy: Option<f64>,
    pub(crate) price: Price,
}

/// What a run came to.
pub(crate) struct Outcome {
    /// Every round.
    pub(crate) points: Vec<Point>,
    /// What was spent in all, where somebody is protected and a price can be proved.
    pub(crate) spent: Option<Answer<Epsilon>>,
}

/// What somebody who watches is told.
pub(crate) enum Event<'a> {
    /// Nothing was refused, and so many rounds are planned, in a sentence.
    Begins(&'a str),
    /// A round that was looked at.
    Looked(&'a Point),
}

/// How well it went, without what it cost.
pub(crate) struct Course {
    /// What each round is charged as; none where nobody is protected.
    pub(crate) round: Option<Round>,
    /// Rounds that were looked at, and the accuracy after each.
    pub(crate) looks: Vec<(u64, f64)>,
}

/// Runs to the end.
pub(crate) fn run(
    words: &TrainWords,
    setup: &Setup,
    mut folder: Option<&mut Folder>,
    watch: &mut dyn FnMut(Event<'_>) -> Result<(), Failure>,
) -> Result<Outcome, Failure> {
    let algorithm = setup.algorithm(words)?;
    let charge = algorithm.charge();
    if let Charge::Local(_) = charge {
        // Whether there is a price is known before the first report.
        price(
            charge,
            &fresh(setup, charge, setup.recipe.rounds)?,
            setup.delta,
        )?;
    }
    let (rounds, planned) = planned(words, setup, charge)?;
    let every = every(words, rounds)?;
    let mut training = fresh(setup, charge, rounds)?;
    let mut key = None;
    let mut log = Vec::new();
    if let Some(folder) = &mut folder {
        key = Some(folder.begin(words, setup, rounds)?);
        if let Some(stored) = folder.checkpoint()? {
            let stored = Training::from_json(&stored)?;
            if !stored.follows(&training, charge)? {
                let message = "--resume: the checkpoint is of another run than the record";
                return Err(Failure::flag("--resume", message));
            }
            training = stored;
        }
        log = folder.log(training.done())?;
    }
    let key = match key {
        Some(key) => key,
        None => words.key()?,
    };
    watch(Event::Begins(&planned))?;
    let mut saved = Instant::now();
    // Whoever goes on is shown how it went so far.
    for point in log.iter().filter(|point| point.accuracy.is_some()) {
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
            let test = setup.data.test();
            point.accuracy = Some(setup.model.accuracy(training.parameters(), test)?);
            (point.price, spent) = price(charge, &training, setup.delta)?;
        }
        log.push(point);
        if let Some(folder) = &folder
            && (last || saved.elapsed() >= BETWEEN)
        {
            // The log first: whoever goes on drops what the checkpoint has not seen.
            folder.save(&log, &training.to_json()?)?;
            saved = Instant::now();
        }
        if point.accuracy.is_some() {
            watch(Event::Looked(&point))?;
        }
    }
    if spent.is_none() {
        (_, spent) = price(charge, &training, setup.delta)?;
    }
    Ok(Outcome { points: log, spent })
}

/// Runs to the end in memory, and asks for no price: that may take longer than learning, and whoever wants one has the round. `step` is called after every round with its number and how many are planned.
pub(crate) fn course(
    words: &TrainWords,
    setup: &Setup,
    step: &mut dyn FnMut(u64, u64),
) -> Result<Course, Failure> {
    let algorithm = setup.algorithm(words)?;
    let charge = algorithm.charge();
    let (rounds, _) = planned(words, setup, charge)?;
    let every = every(words, rounds)?;
    let mut training = fresh(setup, charge, rounds)?;
    let key = words.key()?;
    let mut looks = Vec::new();
    while training.done() < rounds {
        let done = training.step(&*algorithm, key)?.round;
        if done % every == 0 || done == rounds {
            let accuracy = setup
                .model
                .accuracy(training.parameters(), setup.data.test())?;
            looks.push((done, accuracy));
        }
        step(done, rounds);
    }
    Ok(Course {
        round: charge.round().cloned(),
        looks,
    })
}

/// Before the first round.
fn fresh(setup: &Setup, charge: &Charge, rounds: u64) -> Result<Training, Failure> {
    let mut recipe = setup.recipe.clone();
    recipe.rounds = rounds;
    let users = match charge.round() {
        Some(round) => round.users(),
        None => setup.data.train().len() as u64,
    };
    let start = setup.start.clone();
    Ok(Training::new(recipe, start, "train", users.max(2))?)
}

/// Rounds from one look to the next.
fn every(words: &TrainWords, rounds: u64) -> Result<u64, Failure> {
    match &words.every {
        Some(Count(0)) => Err(Failure::value("--every", "0", "1 or more")),
        Some(Count(every)) => Ok(*every),
        None => Ok((rounds / LOOKS).max(1)),
    }
}

/// How many rounds, and why.
fn planned(words: &TrainWords, setup: &Setup, charge: &Charge) -> Result<(u64, String), Failure> {
    let asked = setup.recipe.rounds;
    let Some(target) = setup.target else {
        return Ok((asked, format!("{}.", many(asked))));
    };
    let (budget, delta) = (plain(target.value()), plain(setup.delta.value()));
    let rounds = fresh(setup, charge, asked)?.affordable(charge, asked, target, setup.delta)?;
    if rounds == 0 {
        return Err(Failure::flag(
            "--target-epsilon",
            format!("--target-epsilon {budget}: one round takes more at delta {delta}"),
        ));
    }
    let why = match (rounds < asked, &words.rounds) {
        (true, _) => format!("the next would take epsilon at delta = {delta} above {budget}"),
        (false, Some(_)) => {
            format!("all that were asked for are within epsilon = {budget} at delta = {delta}")
        }
        (false, None) => {
            format!("more would be within epsilon = {budget} at delta = {delta}: ask with --rounds")
        }
    };
    Ok((rounds, format!("{}: {why}.", many(rounds))))
}

/// So many rounds.
pub(super) fn many(rounds: u64) -> String {
    match rounds {
        1 => "1 round".to_owned(),
        more => format!("{} rounds", grouped(more)),
    }
}

/// What has been spent now.
fn price(
    charge: &Charge,
    training: &Training,
    delta: Delta,
) -> Result<(Price, Option<Answer<Epsilon>>), Failure> {
    match training.epsilon(charge, delta) {
        Ok(Some(spent)) => {
            let (upper, lower) = (spent.upper().value(), spent.lower().value());
            Ok((Price::Spent(upper, lower), Some(spent)))
        }
        Ok(None) => Ok((Price::Unprotected, None)),
        Err(Error::Accounting(AccountingError::NoFiniteEpsilon { .. })) => {
            Ok((Price::Unprovable, None))
        }
        Err(error) => Err(error.into()),
    }
}

impl Point {
    /// The header of a log.
    pub(crate) const COLUMNS: &str = "round,reports,refused,accuracy,epsilon_upper,epsilon_lower";

    /// A line of a log.
    pub(crate) fn csv(&self) -> String {
        let Self {
            round,
            reports,
            refused,
            ..
        } = self;
        let accuracy = self
            .accuracy
            .map_or(String::new(), |share| share.to_string());
        let (upper, lower) = match self.price {
            Price::Spent(upper, lower) => (upper.to_string(), lower.to_string()),
            Price::Unprovable => ("inf".to_owned(), String::new()),
            Price::Unprotected => ("none".to_owned(), String::new()),
            Price::Unasked => (String::new(), String::new()),
        };
        format!("{round},{reports},{refused},{accuracy},{upper},{lower}")
    }

    /// A line of a log, read back.
    pub(crate) fn from_csv(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [round, reports, refused, accuracy, upper, lower] = fields[..] else {
            return None;
        };
        Some(Self {
            round: round.parse().ok()?,
            reports: reports.parse().ok()?,
            refused: refused.parse().ok()?,
            accuracy: match accuracy {
                "" => None,
                share => Some(share.parse().ok()?),
            },
            price: match upper {
                "" => Price::Unasked,
                "inf" => Price::Unprovable,
                "none" => Price::Unprotected,
                upper => Price::Spent(upper.parse().ok()?, lower.parse().ok()?),
            },
        })
    }
}

/// All lines of a log.
pub(crate) fn csv<'a>(points: impl IntoIterator<Item = &'a Point>) -> String {
    let mut text = Point::COLUMNS.to_owned() + "\n";
    for point in points {
        text += &point.csv();
        text += "\n";
    }
    text
}

impl Outcome {
    /// The rounds that were looked at.
    pub(crate) fn looks(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.accuracy.is_some())
    }

    /// Gradients that were not finite.
    pub(crate) fn refused(&self) -> u64 {
        self.points.iter().map(|point| point.refused).sum()
    }

    pub(crate) fn json(&self) -> Value {
        let looks: Vec<Value> = self
            .looks()
            .map(|point| {
                let epsilon = match point.price {
                    Price::Spent(upper, lower) => json!({"upper": upper, "lower": lower}),
                    Price::Unprovable => json!({"upper": null, "lower": null}),
                    Price::Unasked | Price::Unprotected => Value::Null,
                };
                json!({"round": point.round, "reports": point.reports, "accuracy": point.accuracy, "epsilon": epsilon})
            })
            .collect();
        let last = self.points.last();
        json!({
            "rounds": last.map(|point| point.round),
            "accuracy": last.and_then(|point| point.accuracy),
            "epsilon": self.spent.as_ref().map(|spent| json!({"upper": spent.upper(), "lower": spent.lower()})),
            "refused": self.refused(),
            "looks": looks,
        })
    }
}
