//! A whole audit from its description: the device and its broken copies, the pairs of values, how many runs,
//! and the bracket that the finding is held against.

use super::pairs::{categories, numbers, vectors, with_others};
use super::shufflers::{Shuffle, leaking, shuffled, unshuffled};
use super::{AuditError, Finding, Pair, Setting, audit};
use crate::confidence::Confidence;
use shuffledp_accounting::{Answer, Delta, Epsilon, Round, RoundSpec, plain, with_dropout};
use shuffledp_randomizers::{Device, Random, Randomizer, Secure};
use std::borrow::Borrow;

/// Reports of one dataset, where the number of runs is not given: some twenty seconds, for categories and
/// for everything else.
const REPORTS: [u64; 2] = [150_000_000, 25_000_000];
/// The runs that this makes, at least and at most.
const DEFAULT_TRIALS: (u64, u64) = (1000, 1_500_000);
/// Users of an audit: each run is all of them.
const MOST_USERS: u64 = 10_000_000;
/// Rounds of a run.
const MOST_ROUNDS: u64 = 10_000;
/// Runs of each dataset.
const MOST_TRIALS: u64 = 1_000_000_000;
/// Bytes of the reports of one run.
const MOST_BYTES: u64 = 1 << 28;
/// Coordinates of vectors: several are held for each pair.
const MOST_COORDINATES: u64 = 1 << 20;

/// A fault to put in, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Reports come out in the order in which they came in.
    NoShuffle,
    /// Randomized at twice the ε₀, or half the σ, that is priced.
    HalfNoise,
    /// The first report stays where it is, the others are shuffled.
    LeakFirst,
}

/// A value that a user holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Held {
    /// One of k values.
    Category(u64),
    /// A number in [0, 1].
    Number(f64),
    /// A vector of norm at most 1.
    Vector(Vec<f32>),
}

/// What is attacked, and how long.
///
/// ```
/// use shuffledp_accounting::{RandomizerSpec, RoundSpec};
/// use shuffledp_protocol::audit::{AuditSpec, Fault};
///
/// let mut randomizer = RandomizerSpec::new("krr")?;
/// (randomizer.k, randomizer.epsilon0) = (Some(4), Some(2.0.into()));
/// let mut round = RoundSpec::new(randomizer);
/// round.users = Some(20);
/// let mut spec = AuditSpec::new(round, 0.01);
/// (spec.trials, spec.seed) = (Some(20_000), Some(1));
/// let audited = spec.prepare()?.run(|_| ())?;
/// assert!(!audited.violated && audited.finding.epsilon > 0.5);
///
/// spec.fault = Some(Fault::NoShuffle);
/// assert!(spec.prepare()?.run(|_| ())?.violated);
/// # Ok::<(), shuffledp_protocol::audit::AuditError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditSpec {
    /// The rounds.
    pub round: RoundSpec,
    /// δ: events that are rarer are not seen.
    pub delta: f64,
    /// The probability that the finding is no accident.
    pub confidence: f64,
    /// The share of reports that are lost, independently of their values: in [0, 1).
    pub dropout: f64,
    /// Runs of each dataset. Default: as many as take some twenty seconds.
    pub trials: Option<u64>,
    /// The two values of user 1. Default: searched for.
    pub pair: Option<(Held, Held)>,
    /// The value of all others. Default: searched for.
    pub others: Option<Held>,
    /// Runs with the same seed are the same. Default: drawn.
    pub seed: Option<u64>,
    /// A fault to put in.
    pub fault: Option<Fault>,
}

/// An audit that can be run.
#[derive(Clone, Debug)]
pub struct Audit {
    setting: Setting,
    answer: Answer<Epsilon>,
    fault: Option<Fault>,
    attack: Attack,
}

/// What an audit found, beside what is proved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Audited {
    /// What was run, and how often.
    pub setting: Setting,
    /// The bracket of the rounds as they are described.
    pub answer: Answer<Epsilon>,
    /// What the attack found.
    pub finding: Finding,
    /// The datasets that it found it on.
    pub pair: Pair<Held>,
    /// Whether it went beyond the upper bound.
    pub violated: bool,
}

/// A device, and the pairs of values of its kind.
#[derive(Clone, Debug)]
enum Attack {
    Category(shuffledp_randomizers::CategoryDevice, Vec<Pair<u64>>),
    Number(shuffledp_randomizers::NumberDevice, Vec<Pair<f64>>),
    Vector(shuffledp_randomizers::VectorDevice, Vec<Pair<Vec<f32>>>),
}

impl AuditSpec {
    /// The usual attack, at 95 % confidence.
    pub fn new(round: RoundSpec, delta: f64) -> Self {
        Self {
            round,
            delta,
            confidence: 0.95,
            dropout: 0.0,
            trials: None,
            pair: None,
            others: None,
            seed: None,
            fault: None,
        }
    }

    /// Checks it, prices the rounds and chooses what is not said.
    pub fn prepare(&self) -> Result<Audit, AuditError> {
        let delta = Delta::new(self.delta)?;
        let spec = &self.round.randomizer;
        if let Some(dimension) = spec.dimension
            && dimension > MOST_COORDINATES
        {
            let allowed = "at most 2^20 for an audit";
            return Err(refused("dimension", dimension, allowed));
        }
        let priced = Device::new(spec, 1.0)?;
        // No rounds at all, or too many, are refused here.
        self.round.plan()?;
        // The rounds are priced as the device that runs: its grid may have a law of its own.
        let round = Round::try_from(&self.round)?.run_by(priced.mechanism().clone())?;
        let device = match self.fault {
            Some(Fault::HalfNoise) => self.with_half_the_noise()?,
            _ => priced,
        };
        let setting = self.setting(&round, &device, delta)?;
        let answer = with_dropout(&round, self.round.rounds, self.dropout, delta)?;
        let attack = match device {
            Device::Category(device) => {
                let pairs = self.pairs(category, categories(spec))?;
                Attack::Category(checked(device, &pairs)?, pairs)
            }
            Device::Number(device) => {
                let pairs = self.pairs(number, numbers())?;
                Attack::Number(checked(device, &pairs)?, pairs)
            }
            Device::Vector(device) => {
                let pairs = match (&self.pair, &self.others) {
                    (None, None) => vectors(spec),
                    _ => self.vectors(vectors(spec))?,
                };
                Attack::Vector(checked(device, &pairs)?, pairs)
            }
            _ => return Err(AuditError::NotAttacked),
        };
        Ok(Audit {
            setting,
            answer,
            fault: self.fault,
            attack,
        })
    }

    fn with_half_the_noise(&self) -> Result<Device, AuditError> {
        let mut louder = self.round.randomizer.clone();
        louder.epsilon0 = louder
            .device_epsilon0()?
            .map(|epsilon0| (2.0 * epsilon0).into());
        louder.sigma = louder.sigma.map(|sigma| 0.5 * sigma);
        Device::new(&louder, 1.0).map_err(|_| AuditError::NoHalfNoise)
    }

    fn setting(&self, round: &Round, device: &Device, delta: Delta) -> Result<Setting, AuditError> {
        if self.round.adaptive_within_round {
            return Err(AuditError::AdaptiveWithinRound);
        }
        if round.honest() != round.users() {
            let colluding = self.round.colluding;
            return Err(AuditError::Colluding { colluding });
        }
        let (users, rounds) = (round.users(), self.round.rounds);
        if users > MOST_USERS {
            let allowed = "at most 1e7 for an audit, which runs them all every time";
            return Err(refused("users", users, allowed));
        }
        if rounds > MOST_ROUNDS {
            return Err(refused("rounds", rounds, "at most 10000 for an audit"));
        }
        let bytes = device.report_length() as u64;
        if users.saturating_mul(bytes) > MOST_BYTES {
            return Err(AuditError::TooManyBytes { users, bytes });
        }
        let trials = self.trials.unwrap_or_else(|| {
            let reports = REPORTS[usize::from(!matches!(device, Device::Category(_)))];
            let (fewest, most) = DEFAULT_TRIALS;
            (reports / (users * rounds)).clamp(fewest, most)
        });
        if !(super::FEWEST_TRIALS..=MOST_TRIALS).contains(&trials) {
            return Err(refused("trials", trials, "in [1000, 1e9]"));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(refused("dropout", plain(self.dropout), "in [0, 1)"));
        }
        let confidence = Confidence::new(self.confidence).ok_or_else(|| {
            let allowed = "in [0.5, 1 - 1e-12]";
            refused("confidence", plain(self.confidence), allowed)
        })?;
        Ok(Setting {
            users,
            participation: round.participation(),
            dropout: self.dropout,
            rounds,
            trials,
            delta: delta.value(),
            confidence,
            seed: match self.seed {
                Some(seed) => seed,
                // Short enough to type again.
                None => Secure::new()?.word() >> 32,
            },
        })
    }

    /// Datasets of the values that are given, or of the `ends` that an audit tries; `more` are for the
    /// others.
    fn pairs<V: Clone + PartialEq>(
        &self,
        value: impl Fn(&Held) -> Option<V>,
        (ends, more): (Vec<(V, V)>, Vec<V>),
    ) -> Result<Vec<Pair<V>>, AuditError> {
        let of_kind =
            |role: &'static str, held: &Held| value(held).ok_or(AuditError::OtherKind { role });
        let ends = match &self.pair {
            None => ends,
            Some((first, second)) => vec![(of_kind("pair", first)?, of_kind("pair", second)?)],
        };
        let others = self.others.as_ref();
        let others = others.map(|held| of_kind("others", held)).transpose()?;
        let mut pairs = Vec::new();
        for (first, second) in ends {
            if first == second {
                return Err(AuditError::SameValues);
            }
            match &others {
                Some(others) => pairs.push(Pair {
                    first,
                    second,
                    others: others.clone(),
                }),
                None => pairs.extend(with_others(first, second, &more)),
            }
        }
        Ok(pairs)
    }

    /// The same of vectors, where some are given.
    fn vectors(&self, tried: Vec<Pair<Vec<f32>>>) -> Result<Vec<Pair<Vec<f32>>>, AuditError> {
        let ends = tried
            .first()
            .map(|pair| (pair.first.clone(), pair.second.clone()));
        let more = tried.into_iter().map(|pair| pair.others).collect();
        self.pairs(vector, (ends.into_iter().collect(), more))
    }
}

impl Audit {
    /// What will be run, and how often.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// All runs that there will be.
    pub fn runs(&self) -> u64 {
        self.setting.runs(match &self.attack {
            Attack::Category(_, pairs) => pairs.len(),
            Attack::Number(_, pairs) => pairs.len(),
            Attack::Vector(_, pairs) => pairs.len(),
        })
    }

    /// What is proved of the rounds that will be run.
    pub fn answer(&self) -> &Answer<Epsilon> {
        &self.answer
    }

    /// Attacks the shuffler of this library, or a broken copy of it; `ran` is told of every few runs.
    pub fn run(self, ran: impl Fn(u64) + Sync) -> Result<Audited, AuditError> {
        let shuffle: Shuffle<'_> = match self.fault {
            Some(Fault::NoShuffle) => &unshuffled,
            Some(Fault::LeakFirst) => &leaking,
            Some(Fault::HalfNoise) | None => &shuffled,
        };
        self.run_behind(shuffle, ran)
    }

    /// Attacks another shuffler: of the faults, [`Fault::HalfNoise`] alone is put in here.
    pub fn run_behind(
        self,
        shuffle: Shuffle<'_>,
        ran: impl Fn(u64) + Sync,
    ) -> Result<Audited, AuditError> {
        let setting = &self.setting;
        let (finding, pair) = match &self.attack {
            Attack::Category(device, pairs) => {
                let finding = audit(device, pairs, setting, shuffle, ran)?;
                let pair = pairs[finding.pair].clone().map(Held::Category);
                (finding, pair)
            }
            Attack::Number(device, pairs) => {
                let finding = audit(device, pairs, setting, shuffle, ran)?;
                let pair = pairs[finding.pair].clone().map(Held::Number);
                (finding, pair)
            }
            Attack::Vector(device, pairs) => {
                let finding = audit(device, pairs, setting, shuffle, ran)?;
                let pair = pairs[finding.pair].clone().map(Held::Vector);
                (finding, pair)
            }
        };
        Ok(Audited {
            violated: finding.epsilon > self.answer.upper().value(),
            setting: self.setting,
            answer: self.answer,
            finding,
            pair,
        })
    }
}

impl<V> Pair<V> {
    fn map<W>(self, of: impl Fn(V) -> W) -> Pair<W> {
        Pair {
            first: of(self.first),
            second: of(self.second),
            others: of(self.others),
        }
    }
}

/// The device, if it is for all of these values.
fn checked<R, V>(device: R, pairs: &[Pair<V>]) -> Result<R, AuditError>
where
    R: Randomizer,
    V: Borrow<R::Value>,
{
    for pair in pairs {
        let values = [
            ("pair", &pair.first),
            ("pair", &pair.second),
            ("others", &pair.others),
        ];
        for (role, value) in values {
            let checked = device.check(value.borrow());
            checked.map_err(|error| AuditError::Value { role, error })?;
        }
    }
    Ok(device)
}

fn category(held: &Held) -> Option<u64> {
    match held {
        Held::Category(value) => Some(*value),
        _ => None,
    }
}

fn number(held: &Held) -> Option<f64> {
    match held {
        Held::Number(value) => Some(*value),
        _ => None,
    }
}

fn vector(held: &Held) -> Option<Vec<f32>> {
    match held {
        Held::Vector(value) => Some(value.clone()),
        _ => None,
    }
}

fn refused(parameter: &'static str, value: impl ToString, allowed: &'static str) -> AuditError {
    AuditError::Parameter {
        parameter,
        value: value.to_string(),
        allowed,
    }
}
