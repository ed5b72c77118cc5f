//! A survey: the records of many people collected in one process, from the choice of a randomizer to
//! estimates with intervals, with what the round costs.
//!
//! ```text
//! records ─► users ─► devices ─► shuffler ─► analyzer ─► estimates, each with its interval and the truth
//!            one a record, or drawn at random with replacement
//! ```
//!
//! The round is priced as the device that runs: the grid of a device may have a law of its own. Reports that
//! are lost are not credited ([`with_dropout`]). Intervals are those of [`Confidence`].

mod error;
mod heavy_hitters;
mod histogram;
mod mean;
mod quantiles;

pub use error::SurveyError;
pub use heavy_hitters::Hitters;

use crate::analyzer::Analyzer;
use crate::attendance::Attendance;
use crate::collection::Collection;
use crate::confidence::Confidence;
use shuffledp_accounting::{
    Answer, Delta, Epsilon, RandomizerSpec, Round, RoundSpec, Unknown, plain, with_dropout,
};
use shuffledp_randomizers::{Random, Randomizer, Secure, Simulated, below};
use std::borrow::Borrow;
use std::io::{self, Read, Seek, Write};

/// Bytes of reports that are shuffled in memory.
const MEMORY: usize = 1 << 28;
/// The stream of a seed that draws who holds which record: no device has it.
const RECORDS: u64 = u64::MAX;
/// Users that can be made of records: a record's place takes up four bytes each.
const MOST_USERS: u64 = 100_000_000;
/// The randomizer of a description where nobody chose one: a survey then chooses for itself.
const NOT_CHOSEN: &str = "ldp";

/// A round to be run on records.
///
/// ```
/// use shuffledp_accounting::{RandomizerSpec, RoundSpec};
/// use shuffledp_protocol::survey::Survey;
/// use std::io::Cursor;
///
/// let mut randomizer = RandomizerSpec::new("ldp")?;
/// randomizer.epsilon0 = Some(3.0.into());
/// let survey = Survey {
///     round: RoundSpec::new(randomizer),
///     dropout: 0.0,
///     delta: 1e-6,
///     confidence: 0.95,
///     seed: Some(1),
/// };
/// // Ten thousand people hold one of three values.
/// let held: Vec<u32> = (0..10_000).map(|user| user % 3).collect();
/// let outcome = survey.histogram(&held, 3, false, || Ok(Cursor::new(Vec::new())), |_| ())?;
/// let [share, ..] = outcome.readings[..] else { panic!() };
/// assert!((share.value - share.truth).abs() < 0.02);
/// assert!(outcome.answer.upper().value() < 0.3);
/// # Ok::<(), shuffledp_protocol::survey::SurveyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Survey {
    /// The round. Without a number of users there is one for each record; else each holds a record that is
    /// drawn at random. In place of the randomizer `ldp`, one is chosen by its local guarantee.
    pub round: RoundSpec,
    /// The share of reports that are lost, independently of their values: in [0, 1).
    pub dropout: f64,
    /// δ.
    pub delta: f64,
    /// The probability that an interval covers the truth.
    pub confidence: f64,
    /// Runs with the same seed are the same, and protect nobody. Without: the operating system's randomness.
    pub seed: Option<u64>,
}

/// One estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub interval: (f64, f64),
    /// The truth about the users, which a collection from real devices never knows.
    pub truth: f64,
}

/// What came out of a survey.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The round as it was run, with its users and its randomizer.
    pub round: RoundSpec,
    /// What it cost.
    pub answer: Answer<Epsilon>,
    /// Reports that arrived and were read.
    pub reports: u64,
    /// Reports that were malformed and refused.
    pub malformed: u64,
    /// The estimates.
    pub readings: Vec<Reading>,
}

/// Who holds which record.
struct People {
    users: u64,
    /// None where user i holds record i.
    drawn: Option<Vec<u32>>,
}

impl People {
    fn record(&self, user: u64) -> usize {
        match &self.drawn {
            Some(records) => records[user as usize] as usize,
            None => user as usize,
        }
    }

    /// The records that are held.
    fn records(&self) -> impl Iterator<Item = usize> {
        (0..self.users).map(|user| self.record(user))
    }

    /// How many users hold each of `k` values, of which a record has the one at its place.
    fn counts(&self, places: &[u32], k: usize) -> Vec<u64> {
        let mut counts = vec![0u64; k];
        self.records()
            .for_each(|record| counts[places[record] as usize] += 1);
        counts
    }
}

impl Survey {
    /// Checks what does not depend on the records.
    pub fn check(&self) -> Result<(), SurveyError> {
        match self.round.rounds {
            1 => {}
            0 => {
                return Err(refused(
                    "rounds",
                    "0".to_owned(),
                    "the one round that is run",
                ));
            }
            rounds => return Err(SurveyError::SeveralRounds { rounds }),
        }
        if self.round.adaptive_within_round {
            return Err(SurveyError::AdaptiveWithinRound);
        }
        Delta::new(self.delta)?;
        self.confidence()?;
        match (0.0..1.0).contains(&self.dropout) {
            true => Ok(()),
            false => Err(refused("dropout", plain(self.dropout), "in [0, 1)")),
        }
    }

    /// How many users there are where there are so many records.
    pub fn users(&self, records: usize) -> u64 {
        self.round.users.unwrap_or(records as u64)
    }

    fn confidence(&self) -> Result<Confidence, SurveyError> {
        let confidence = Confidence::new(self.confidence);
        confidence
            .ok_or_else(|| refused("confidence", plain(self.confidence), "in [0.5, 1 - 1e-12]"))
    }

    /// One user a record, or as many as are asked for, each with a record drawn at random.
    fn people(&self, records: usize) -> Result<People, SurveyError> {
        self.check()?;
        if records == 0 {
            return Err(refused("records", "0".to_owned(), "1 or more"));
        }
        let users = self.users(records);
        let drawn = match self.round.users {
            None => None,
            Some(_) if users > MOST_USERS || records > u32::MAX as usize => {
                let allowed = "at most 1e8 for a simulation";
                return Err(refused("users", users.to_string(), allowed));
            }
            Some(_) => Some(match self.seed {
                Some(seed) => draw(users, records, &mut Simulated::new(seed, RECORDS)),
                None => draw(users, records, &mut Secure::new()?),
            }),
        };
        Ok(People { users, drawn })
    }

    /// The round of so many users. `choose` names the randomizer where nobody did.
    fn round_of(
        &self,
        people: &People,
        choose: impl FnOnce(f64) -> &'static str,
    ) -> Result<RoundSpec, SurveyError> {
        let mut round = self.round.with(Unknown::Users, people.users as f64);
        if round.randomizer.name() == NOT_CHOSEN {
            let epsilon0 = round.randomizer.device_epsilon0()?;
            let epsilon0 = epsilon0.ok_or(SurveyError::NoEpsilon0)?;
            round.randomizer = RandomizerSpec::new(choose(epsilon0))?;
            round.randomizer.epsilon0 = Some(epsilon0.into());
        }
        Ok(round)
    }

    /// The round of a survey that has a randomizer of its own, and its local guarantee.
    fn own_round(
        &self,
        survey: &'static str,
        name: &'static str,
        people: &People,
    ) -> Result<(RoundSpec, f64), SurveyError> {
        let round = self.round_of(people, |_| name)?;
        if round.randomizer.name() != name {
            return Err(SurveyError::OwnRandomizer { survey });
        }
        let epsilon0 = round.randomizer.epsilon0()?;
        Ok((round, epsilon0))
    }

    /// Prices the round and runs it; a user's value is that of the record that they hold.
    fn run<'a, R, V, F>(
        &self,
        round: RoundSpec,
        randomizer: &'a R,
        people: &People,
        value: impl Fn(usize) -> V + Sync,
        open: impl FnMut() -> io::Result<F>,
        sent: impl Fn(u64),
    ) -> Result<(Analyzer<'a, R>, Outcome), SurveyError>
    where
        R: Randomizer + Sync,
        V: Borrow<R::Value>,
        F: Read + Write + Seek,
    {
        let priced = Round::try_from(&round)?.run_by(randomizer.mechanism().clone())?;
        let answer = with_dropout(&priced, 1, self.dropout, Delta::new(self.delta)?)?;
        let attendance = Attendance::new(priced.participation(), people.users, self.dropout)?;
        let collection = Collection {
            users: people.users,
            attendance,
            memory: MEMORY,
        };
        let value = |user: u64| value(people.record(user));
        let analyzer = match self.seed {
            Some(seed) => {
                let random = |stream| Ok(Simulated::new(seed, stream));
                collection.run(randomizer, value, random, open, sent)?
            }
            None => collection.run(randomizer, value, |_| Secure::new(), open, sent)?,
        };
        let (reports, malformed) = (analyzer.taken(), analyzer.refused());
        if reports < 2 {
            return Err(SurveyError::TooFewReports { reports });
        }
        let outcome = Outcome {
            round,
            answer,
            reports,
            malformed,
            readings: Vec::new(),
        };
        Ok((analyzer, outcome))
    }
}

/// Which of the records each user holds.
fn draw<R: Random>(users: u64, records: usize, random: &mut R) -> Vec<u32> {
    let records = records as u64;
    (0..users).map(|_| below(records, random) as u32).collect()
}

fn refused(parameter: &'static str, value: String, allowed: &'static str) -> SurveyError {
    SurveyError::Parameter {
        parameter,
        value,
        allowed,
    }
}

/// Refuses a place beyond the end of a list of `k` values.
fn check_places(places: &[u32], k: usize) -> Result<(), SurveyError> {
    match places.iter().find(|place| **place as usize >= k) {
        None => Ok(()),
        Some(place) => {
            let allowed = "a place in the list of values";
            Err(refused("place", place.to_string(), allowed))
        }
    }
}

/// Refuses a number that is not a place in a range, and a range that is none.
fn check_numbers(numbers: &[f64], (low, high): (f64, f64)) -> Result<(), SurveyError> {
    if !(low < high && (high - low).is_finite()) {
        let range = format!("{}..{}", plain(low), plain(high));
        return Err(refused("range", range, "from a lower to a higher number"));
    }
    match numbers.iter().find(|number| !(0.0..=1.0).contains(*number)) {
        None => Ok(()),
        Some(number) => Err(refused("number", plain(*number), "in [0, 1]")),
    }
}
