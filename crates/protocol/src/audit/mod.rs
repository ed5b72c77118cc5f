//! An attack on the code that runs: how well a batch tells two datasets apart, as a lower bound on ε that
//! holds with the confidence asked for.
//!
//! All users hold one value but user 1, who holds one of two. Each run is a round of [`crate::run_round`],
//! the loop that a collection runs. With m reports y of n users, and r_x(y) the likelihood of y from x
//! against that from the value of the others, the likelihood ratio of the two datasets is
//!
//! ```text
//! L(y₁ … y_m) = (n − m + Σ r₀(yᵢ)) / (n − m + Σ r₁(yᵢ))
//! ```
//!
//! for every kind of participation: everybody (m = n), a sample, check-in, and with dropouts; over rounds it
//! multiplies. If P[L ≥ t] is at least p under one dataset and at most q under the other, each with half the
//! allowed error ([`Confidence::at_least`]), then no guarantee (ε, δ) below
//!
//! ```text
//! ε = ln((p − δ)/q)
//! ```
//!
//! can hold. The pair of datasets, the side and t are chosen on runs of their own, so the bound is valid for
//! any choice.
//!
//! L is a sufficient statistic of a well shuffled batch. To detect a bad shuffler, a second statistic looks
//! at one position of the batch alone, with (n − m + m r₀(yⱼ))/(n − m + m r₁(yⱼ)), at the most telling j;
//! user 1 sends first, or last.

mod evidence;
mod lab;
mod pairs;
mod shufflers;
mod spec;

pub use pairs::{categories, numbers, vectors, with_others};
pub use shufflers::{Shuffle, leaking, shuffled, unshuffled};
pub use spec::{Audit, AuditSpec, Audited, Fault, Held};

use crate::attendance::{Attendance, AttendanceError};
use crate::confidence::Confidence;
use crate::shuffler::ShuffleError;
use evidence::Statistic;
use lab::Lab;
use shuffledp_accounting::{Participation, plain};
use shuffledp_randomizers::Randomizer;
use std::borrow::Borrow;

/// The fewest runs of each dataset: with fewer, no event is seen often enough.
const FEWEST_TRIALS: u64 = 1000;

/// Two datasets: user 1 holds the first value or the second, all others hold `others`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair<V> {
    /// User 1's value in one dataset.
    pub first: V,
    /// User 1's value in the other dataset.
    pub second: V,
    /// The value of everybody else.
    pub others: V,
}

/// One of the two datasets of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// User 1 holds the first value.
    First,
    /// User 1 holds the second value.
    Second,
}

/// What is run, and how often.
#[derive(Clone, Debug)]
pub struct Setting {
    /// n.
    pub users: u64,
    /// Who takes part.
    pub participation: Participation,
    /// The share of reports that are lost.
    pub dropout: f64,
    /// Rounds of the same values in one run.
    pub rounds: u64,
    /// Runs of each dataset that count; somewhat more than as many again, of both, to choose by.
    pub trials: u64,
    /// δ.
    pub delta: f64,
    /// How sure the bound is.
    pub confidence: Confidence,
    /// Runs with the same seed are the same.
    pub seed: u64,
}

impl Setting {
    /// Runs of each dataset by which one of several looks is chosen.
    fn few(&self, looks: usize) -> u64 {
        (self.trials / 2 / looks as u64).max(100)
    }

    /// All runs of an audit of so many pairs.
    pub fn runs(&self, pairs: usize) -> u64 {
        let looks = 2 * pairs;
        4 * looks as u64 * self.few(looks) + 2 * (self.trials / 4) + 2 * self.trials
    }
}

/// Where user 1 stands in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before all others.
    First,
    /// After all others.
    Last,
}

/// What the attack looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The whole batch, whatever its order.
    Batch,
    /// The report at one position, from 0.
    Position(usize),
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// With the confidence asked for, no guarantee at this δ holds below this.
    pub epsilon: f64,
    /// Which of the pairs.
    pub pair: usize,
    /// The dataset under which the event is likelier.
    pub likelier: Holds,
    /// Where user 1 stood.
    pub place: Place,
    /// What was looked at.
    pub evidence: Evidence,
    /// The event: a likelihood ratio of at least this, in favor of the dataset that makes it likelier.
    pub threshold: f64,
    /// How often it was seen under that dataset, and under the other.
    pub seen: (u64, u64),
    /// Out of so many runs each.
    pub trials: u64,
}

/// Why there is no finding.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// A value outside the randomizer's domain, or a malformed report.
    #[error(transparent)]
    Randomizer(#[from] shuffledp_randomizers::Error),
    /// The shuffler failed.
    #[error(transparent)]
    Shuffle(#[from] ShuffleError),
    /// The users cannot be called.
    #[error(transparent)]
    Attendance(#[from] AttendanceError),
    /// Too few pairs, users, rounds or runs.
    #[error(
        "an audit needs at least one pair of values, 2 users, a round and {FEWEST_TRIALS} runs"
    )]
    TooLittle,
    /// The rounds cannot be priced.
    #[error(transparent)]
    Accounting(#[from] shuffledp_accounting::Error),
    /// A number that is not what is allowed.
    #[error("{parameter} {value} is not {allowed}")]
    Parameter {
        /// Which number.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// Randomizers that look at earlier reports: there are none to run.
    #[error("an audit runs randomizers that do not look at earlier reports")]
    AdaptiveWithinRound,
    /// Users who collude: they are not run.
    #[error("colluding {}: an audit runs honest users; give their number as users", plain(*.colluding))]
    Colluding {
        /// The fraction.
        colluding: f64,
    },
    /// Rounds in which some stay silent, behind a shuffler that is another program.
    #[error("an audit of a running shuffler is of rounds in which everybody takes part")]
    SomeAreSilent,
    /// More reports than fit into memory.
    #[error(
        "users {users} with reports of {bytes} bytes: an audit holds all of a run in memory, up to 2^28 bytes"
    )]
    TooManyBytes {
        /// How many users.
        users: u64,
        /// The length of a report.
        bytes: u64,
    },
    /// No device has half the noise.
    #[error("at twice the epsilon0, or half the sigma, no device runs")]
    NoHalfNoise,
    /// A value that the device is not for.
    #[error("{role}: {error}")]
    Value {
        /// Whose value: `pair` for user 1, or `others`.
        role: &'static str,
        /// What is wrong with it.
        error: shuffledp_randomizers::Error,
    },
    /// A value of another kind than the device is for.
    #[error("{role}: the randomizer is for another kind of value")]
    OtherKind {
        /// Whose value: `pair` for user 1, or `others`.
        role: &'static str,
    },
    /// Two values that are the same.
    #[error("the two values are the same: there is nothing to tell apart")]
    SameValues,
    /// A kind of device that has no attack.
    #[error("an audit has no attack on values of this kind")]
    NotAttacked,
}

/// Attacks `randomizer` behind `shuffle` on the best of `pairs`; `ran` is told of every few runs.
///
/// ```
/// use shuffledp_accounting::Participation;
/// use shuffledp_protocol::audit::{Pair, Setting, audit, shuffled};
/// use shuffledp_protocol::Confidence;
/// use shuffledp_randomizers::KaryResponse;
///
/// let randomizer = KaryResponse::new(4, 2.0)?;
/// let pairs = [Pair { first: 0, second: 1, others: 2 }];
/// let setting = Setting {
///     users: 20,
///     participation: Participation::Everyone,
///     dropout: 0.0,
///     rounds: 1,
///     trials: 20_000,
///     delta: 0.01,
///     confidence: Confidence::new(0.95).unwrap(),
///     seed: 1,
/// };
/// let finding = audit(&randomizer, &pairs, &setting, &shuffled, |_| ())?;
/// assert!(finding.epsilon > 0.5 && finding.epsilon < 2.0);
/// # Ok::<(), shuffledp_protocol::audit::AuditError>(())
/// ```
pub fn audit<R, V>(
    randomizer: &R,
    pairs: &[Pair<V>],
    setting: &Setting,
    shuffle: Shuffle<'_>,
    ran: impl Fn(u64) + Sync,
) -> Result<Finding, AuditError>
where
    R: Randomizer + Sync,
    V: Borrow<R::Value> + Sync,
{
    let too_few = setting.users < 2 || setting.rounds == 0 || setting.trials < FEWEST_TRIALS;
    if pairs.is_empty() || too_few {
        return Err(AuditError::TooLittle);
    }
    for value in pairs
        .iter()
        .flat_map(|pair| [&pair.first, &pair.second, &pair.others])
    {
        randomizer.check(value.borrow())?;
    }
    let mut lab = Lab {
        randomizer,
        setting,
        shuffle,
        attendance: Attendance::new(setting.participation, setting.users, setting.dropout)?,
        ran: &ran,
        series: 0,
    };
    let looks: Vec<(usize, Place)> = (0..pairs.len())
        .flat_map(|pair| [(pair, Place::First), (pair, Place::Last)])
        .collect();

    // Which datasets, by a few runs of each.
    let few = setting.few(looks.len());
    let mut best: Option<(f64, usize, Place, usize)> = None;
    for &(pair, place) in &looks {
        let position = lab.telling_position(&pairs[pair], place, few)?;
        let distance = lab.runs(&pairs[pair], place, position, few)?.distance();
        // Many looks differ by luck only: a later one must tell a tenth more.
        if best.is_none_or(|(before, ..)| distance > 1.1 * before) {
            best = Some((distance, pair, place, position));
        }
    }
    // There is a pair, so there is a best one.
    let (_, pair, place, position) = best.ok_or(AuditError::TooLittle)?;

    // Which event, by more runs; and its worth, by runs that had no say in the choice.
    let more = setting.trials / 4;
    let chosen = lab.runs(&pairs[pair], place, position, more)?;
    let event = chosen.best_event(setting.delta);
    let runs = lab.runs(&pairs[pair], place, position, setting.trials)?;
    let (seen, unseen) = runs.hits(&event);
    let each = setting.confidence.for_each_of(2);
    let p = each.at_least(seen, setting.trials);
    let q = each.at_most(unseen, setting.trials);
    Ok(Finding {
        epsilon: ((p - setting.delta).max(0.0) / q).ln().max(0.0),
        pair,
        likelier: event.likelier,
        place,
        evidence: match event.statistic {
            Statistic::Batch => Evidence::Batch,
            Statistic::Position => Evidence::Position(position),
        },
        threshold: event.threshold.exp(),
        seen: (seen, unseen),
        trials: setting.trials,
    })
}
