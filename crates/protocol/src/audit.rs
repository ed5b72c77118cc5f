//! An attack on the code that runs: how well a batch tells two datasets apart, as a lower bound on ε that holds with the confidence asked for.
//!
//! All users hold one value but user 1, who holds one of two. Users take part, randomize and are shuffled by the very code that a collection uses, many times for each dataset. Given m reports y of n users, with r_x(y) the likelihood of y from x against that from the value of the others, the likelihood ratio of the two datasets is
//!
//! ```text
//! L(y₁ … y_m) = (n − m + Σ r₀(yᵢ)) / (n − m + Σ r₁(yᵢ))
//! ```
//!
//! whoever takes part: everybody (m = n), a sample, check-in, and with dropouts; over rounds it multiplies. If P[L ≥ t] is at least p under one dataset and at most q under the other, each but for half the doubt ([`Confidence::at_least`]), no guarantee (ε, δ) below
//!
//! ```text
//! ε = ln((p − δ)/q)
//! ```
//!
//! can hold. Which pair of datasets, which side and which t is chosen on runs of their own, so the bound is valid whatever was chosen.
//!
//! The ratio above is all there is to know of a well shuffled batch. So that a badly shuffled one does not pass, a second statistic looks at one position of the batch alone, with (n − m + m r₀(yⱼ))/(n − m + m r₁(yⱼ)), at the j that tells most; user 1 sends first, or last.

use crate::attendance::{Attendance, Unattended};
use crate::confidence::Confidence;
use crate::shuffler::{self, Shuffler};
use rayon::prelude::*;
use shuffledp_accounting::Participation;
use shuffledp_randomizers::{Randomizer, Simulated};
use std::borrow::Borrow;
use std::io::Cursor;

/// Runs that share a generator, at most; fewer of large crowds, so that all cores have some.
const CHUNK: u64 = 256;
/// Positions of a batch that are looked at one by one.
const POSITIONS: usize = 1 << 16;
/// Reports of such runs.
const REPORTS: u64 = 100_000;
/// Memory of a batch: audits are of small ones.
const MEMORY: usize = 1 << 30;
/// Up to so many bytes the likelihoods of all reports are worked out beforehand.
const SHORT: usize = 2;

/// Two datasets: user 1 holds the first value or the second, all others hold `others`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair<V> {
    /// User 1's value in one dataset.
    pub first: V,
    /// In the other.
    pub second: V,
    /// What everybody else holds.
    pub others: V,
}

/// What is run, and how often.
#[derive(Clone, Debug)]
pub struct Setting {
    /// n.
    pub users: u64,
    /// Who takes part.
    pub participation: Participation,
    /// Who fails to.
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

/// A shuffler that is being audited: gives out `reports`, each of so many bytes.
pub type Shuffle = fn(
    reports: &[u8],
    length: usize,
    random: &mut Simulated,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), shuffler::Error>;

/// The shuffler that collections use.
pub fn shuffled(
    reports: &[u8],
    length: usize,
    random: &mut Simulated,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), shuffler::Error> {
    let mut shuffler = Shuffler::new(length, MEMORY, random, || Ok(Cursor::new(Vec::new())))?;
    for report in reports.chunks_exact(length) {
        shuffler.push(report)?;
    }
    shuffler.finish(each)
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
#[non_exhaustive]
pub struct Finding {
    /// With the confidence asked for, no guarantee at this δ holds below this.
    pub epsilon: f64,
    /// Which of the pairs.
    pub pair: usize,
    /// Whether the event is the likelier one under the first value.
    pub first: bool,
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
pub enum Error {
    /// A value that the randomizer is not for, or a report that it does not know.
    #[error(transparent)]
    Randomizer(#[from] shuffledp_randomizers::Error),
    /// The shuffler failed.
    #[error(transparent)]
    Shuffler(#[from] shuffler::Error),
    /// Nobody can be called.
    #[error(transparent)]
    Attendance(#[from] Unattended),
    /// Something to compare, often enough.
    #[error("an audit needs at least one pair of values, 2 users, a round and 1000 runs")]
    TooLittle,
}

/// Attacks `randomizer` behind `shuffle` on the best of `pairs`; `ran` hears of every few runs.
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
/// let finding = audit(&randomizer, &pairs, &setting, shuffled, |_| ())?;
/// assert!(finding.epsilon > 0.5 && finding.epsilon < 2.0);
/// # Ok::<(), shuffledp_protocol::audit::Error>(())
/// ```
pub fn audit<R, V>(
    randomizer: &R,
    pairs: &[Pair<V>],
    setting: &Setting,
    shuffle: Shuffle,
    ran: impl Fn(u64) + Sync,
) -> Result<Finding, Error>
where
    R: Randomizer + Sync,
    V: Borrow<R::Value> + Sync,
{
    if pairs.is_empty() || setting.users < 2 || setting.rounds == 0 || setting.trials < 1000 {
        return Err(Error::TooLittle);
    }
    for value in pairs
        .iter()
        .flat_map(|pair| [&pair.first, &pair.second, &pair.others])
    {
        randomizer.check(value.borrow())?;
    }
    let lab = Lab {
        randomizer,
        setting,
        shuffle,
        attendance: Attendance::new(setting.participation, setting.users, setting.dropout)?,
        ran: &ran,
    };
    let looks: Vec<(usize, Place)> = (0..pairs.len())
        .flat_map(|pair| [(pair, Place::First), (pair, Place::Last)])
        .collect();
    let mut stage = 0..;
    let mut fresh = || stage.next().unwrap_or(u64::MAX);

    // Which datasets, by a few runs of each.
    let few = setting.few(looks.len());
    let mut best: Option<(f64, usize, Place, usize)> = None;
    for &(pair, place) in &looks {
        let position = lab.telling_position(&pairs[pair], place, few, &mut fresh)?;
        let runs = lab.runs(&pairs[pair], place, position, few, &mut fresh)?;
        let apart = runs.apart();
        // Many looks are alike but for luck: a later one must tell a tenth more.
        if best.is_none_or(|(before, ..)| apart > 1.1 * before) {
            best = Some((apart, pair, place, position));
        }
    }
    // There is a pair, so there is a best one.
    let (_, pair, place, position) = best.ok_or(Error::TooLittle)?;

    // Which event, by more runs; and what it is worth, by runs that had no say in it.
    let more = setting.trials / 4;
    let promise = lab
        .runs(&pairs[pair], place, position, more, &mut fresh)?
        .promise(setting.delta);
    let runs = lab.runs(&pairs[pair], place, position, setting.trials, &mut fresh)?;
    let (seen, unseen) = runs.hits(&promise);
    let each = setting.confidence.for_each_of(2);
    let p = each.at_least(seen, setting.trials);
    let q = each.at_most(unseen, setting.trials);
    Ok(Finding {
        epsilon: ((p - setting.delta).max(0.0) / q).ln().max(0.0),
        pair,
        first: promise.first,
        place,
        evidence: if promise.batch {
            Evidence::Batch
        } else {
            Evidence::Position(position)
        },
        threshold: promise.threshold.exp(),
        seen: (seen, unseen),
        trials: setting.trials,
    })
}

/// Everything that a run needs.
struct Lab<'a, R, P> {
    randomizer: &'a R,
    setting: &'a Setting,
    shuffle: Shuffle,
    attendance: Attendance,
    ran: &'a P,
}

/// r₀ and r₁ of a report; none if it is malformed.
struct Ratios<'a, R, V> {
    randomizer: &'a R,
    pair: &'a Pair<V>,
    /// Of every short report, by its bytes as a number.
    known: Vec<Option<(f64, f64)>>,
}

impl<'a, R: Randomizer, V: Borrow<R::Value>> Ratios<'a, R, V> {
    fn new(randomizer: &'a R, pair: &'a Pair<V>) -> Self {
        let mut ratios = Self {
            randomizer,
            pair,
            known: Vec::new(),
        };
        let length = randomizer.report_length();
        if length <= SHORT {
            ratios.known = (0..1u64 << (8 * length))
                .map(|number| ratios.computed(&number.to_le_bytes()[..length]))
                .collect();
        }
        ratios
    }

    fn computed(&self, report: &[u8]) -> Option<(f64, f64)> {
        let of = |value: &V| self.randomizer.likelihood(value.borrow(), report);
        let all = of(&self.pair.others)?;
        Some((of(&self.pair.first)? / all, of(&self.pair.second)? / all))
    }

    fn of(&self, report: &[u8]) -> Option<(f64, f64)> {
        if self.known.is_empty() {
            return self.computed(report);
        }
        let number = report
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | usize::from(*byte));
        self.known.get(number).copied().flatten()
    }
}

/// ln L of every run, by the whole batch and by one position; of both datasets.
struct Runs {
    batch: [Vec<f64>; 2],
    position: [Vec<f64>; 2],
}

/// An event, and what it promises.
struct Promise {
    value: f64,
    /// By the batch, or by the position.
    batch: bool,
    /// In favor of the first dataset, or of the second.
    first: bool,
    /// The least ln L in favor.
    threshold: f64,
}

impl<R: Randomizer + Sync, P: Fn(u64) + Sync> Lab<'_, R, P> {
    /// The position at which user 1's value shows most.
    fn telling_position<V: Borrow<R::Value> + Sync>(
        &self,
        pair: &Pair<V>,
        place: Place,
        runs: u64,
        fresh: &mut impl FnMut() -> u64,
    ) -> Result<usize, Error> {
        let sums = [true, false].map(|first| {
            self.chunks(
                pair,
                first,
                place,
                runs,
                fresh(),
                |_, batch, total: &mut Vec<f64>| {
                    total.resize(total.len().max(batch.len().min(POSITIONS)), 0.0);
                    for (sum, (one, other)) in total.iter_mut().zip(batch) {
                        *sum += (one / other).ln();
                    }
                },
            )
        });
        let [first, second] = sums;
        let mut leaning = vec![0.0; POSITIONS.min(self.setting.users as usize)];
        for (side, sign) in [(first?, 1.0), (second?, -1.0)] {
            for chunk in side {
                for (lean, sum) in leaning.iter_mut().zip(chunk) {
                    *lean += sign * sum;
                }
            }
        }
        let most = (0..leaning.len()).max_by(|&a, &b| leaning[a].total_cmp(&leaning[b]));
        Ok(most.unwrap_or_default())
    }

    /// The likelihood ratios of so many runs of each dataset.
    fn runs<V: Borrow<R::Value> + Sync>(
        &self,
        pair: &Pair<V>,
        place: Place,
        position: usize,
        runs: u64,
        fresh: &mut impl FnMut() -> u64,
    ) -> Result<Runs, Error> {
        let n = self.setting.users as f64;
        let sides = [true, false].map(|first| {
            self.chunks(
                pair,
                first,
                place,
                runs,
                fresh(),
                |round, batch, seen: &mut Vec<(f64, f64)>| {
                    if round == 0 {
                        seen.push((0.0, 0.0));
                    }
                    let m = batch.len() as f64;
                    let ratio = |one: f64, other: f64| ((n - m + one) / (n - m + other)).ln();
                    let (one, other) = batch
                        .iter()
                        .fold((0.0, 0.0), |(one, other), (a, b)| (one + a, other + b));
                    // The run was begun above.
                    if let Some((batch_ln, position_ln)) = seen.last_mut() {
                        *batch_ln += ratio(one, other);
                        if let Some((one, other)) = batch.get(position) {
                            *position_ln += ratio(m * one, m * other);
                        }
                    }
                },
            )
        });
        let [first, second] = sides;
        let (first, second) = (first?.concat(), second?.concat());
        let batch = |side: &[(f64, f64)]| side.iter().map(|seen| seen.0).collect();
        let position = |side: &[(f64, f64)]| side.iter().map(|seen| seen.1).collect();
        Ok(Runs {
            batch: [batch(&first), batch(&second)],
            position: [position(&first), position(&second)],
        })
    }

    /// Runs of one dataset in chunks, each with a generator of its own; `see` is given the batch of each round of a run: r₀ and r₁ of every report.
    fn chunks<V: Borrow<R::Value> + Sync, T: Default + Send>(
        &self,
        pair: &Pair<V>,
        first: bool,
        place: Place,
        runs: u64,
        stage: u64,
        see: impl Fn(u64, &[(f64, f64)], &mut T) + Sync,
    ) -> Result<Vec<T>, Error> {
        let ratios = Ratios::new(self.randomizer, pair);
        let reports_a_run = self.setting.users.saturating_mul(self.setting.rounds);
        let size = (REPORTS / reports_a_run).clamp(1, CHUNK);
        (0..runs.div_ceil(size))
            .into_par_iter()
            .map(|chunk| {
                let mut random = Simulated::new(self.setting.seed, stage << 40 | chunk);
                let (mut reports, mut batch, mut seen) = (Vec::new(), Vec::new(), T::default());
                let runs = size.min(runs - chunk * size);
                for _ in 0..runs {
                    for round in 0..self.setting.rounds {
                        self.round(&ratios, first, place, &mut random, &mut reports, &mut batch)?;
                        see(round, &batch, &mut seen);
                    }
                }
                (self.ran)(runs);
                Ok(seen)
            })
            .collect()
    }

    /// One round: r₀ and r₁ of every report of the batch, in the order in which it is given out.
    fn round<V: Borrow<R::Value>>(
        &self,
        ratios: &Ratios<R, V>,
        first: bool,
        place: Place,
        random: &mut Simulated,
        reports: &mut Vec<u8>,
        batch: &mut Vec<(f64, f64)>,
    ) -> Result<(), Error> {
        let (length, pair) = (self.randomizer.report_length(), ratios.pair);
        let own = if first { &pair.first } else { &pair.second };
        let place = match place {
            Place::First => 0,
            Place::Last => self.setting.users - 1,
        };
        let mut attendance = self.attendance.clone();
        reports.clear();
        for user in 0..self.setting.users {
            if attendance.comes(random) {
                let value = if user == place { own } else { &pair.others };
                let start = reports.len();
                reports.resize(start + length, 0);
                self.randomizer
                    .draw(value.borrow(), random, &mut reports[start..]);
            }
        }
        batch.clear();
        let mut malformed = None;
        (self.shuffle)(
            reports,
            length,
            random,
            &mut |report| match ratios.of(report) {
                Some(both) => batch.push(both),
                None => malformed = Some(report.to_vec()),
            },
        )?;
        match malformed {
            None => Ok(()),
            Some(report) => Err(Error::Randomizer(shuffledp_randomizers::Error::Report {
                why: format!("{report:?} has no likelihood"),
            })),
        }
    }
}

impl Runs {
    fn side(&self, batch: bool, first: bool) -> (&[f64], &[f64], f64) {
        let [one, other] = if batch { &self.batch } else { &self.position };
        if first {
            (one, other, 1.0)
        } else {
            (other, one, -1.0)
        }
    }

    /// How far apart the datasets are, by the better statistic: the difference of the means of ln L, of which a few runs know more than of rare events. (For the batch that is the sum of the two Kullback-Leibler divergences.)
    fn apart(&self) -> f64 {
        let mean = |runs: &[f64]| runs.iter().sum::<f64>() / runs.len() as f64;
        let error = |runs: &[f64]| {
            let middle = mean(runs);
            let square = runs.iter().map(|run| (run - middle).powi(2)).sum::<f64>();
            square / (runs.len() as f64).powi(2)
        };
        let between = |sides: &[Vec<f64>; 2]| mean(&sides[0]) - mean(&sides[1]);
        // One report varies much more than a batch: what counts is beyond four deviations of its mean.
        let luck = 4.0 * (error(&self.position[0]) + error(&self.position[1])).sqrt();
        between(&self.batch)
            .max(between(&self.position) - luck)
            .max(0.0)
    }

    /// How often an event was seen: under the dataset that makes it likelier, and under the other.
    fn hits(&self, event: &Promise) -> (u64, u64) {
        let (likelier, other, sign) = self.side(event.batch, event.first);
        let count = |runs: &[f64]| {
            let hit = |run: &&f64| sign * **run >= event.threshold;
            runs.iter().filter(hit).count() as u64
        };
        (count(likelier), count(other))
    }

    /// The event with the best bound, were the shares that were seen a little worse than they were.
    fn promise(&self, delta: f64) -> Promise {
        let mut best = Promise {
            value: f64::NEG_INFINITY,
            batch: true,
            first: true,
            threshold: 0.0,
        };
        for (batch, first) in [(true, true), (true, false), (false, true), (false, false)] {
            let (likelier, other, sign) = self.side(batch, first);
            let falling = |runs: &[f64]| {
                let mut all: Vec<f64> = runs.iter().map(|run| sign * run).collect();
                all.sort_by(|a, b| b.total_cmp(a));
                all
            };
            let (likelier, other) = (falling(likelier), falling(other));
            let runs = likelier.len() as f64;
            let mut unseen = 0;
            for (index, &threshold) in likelier.iter().enumerate() {
                // Equal ratios are in or out together.
                if likelier.get(index + 1) == Some(&threshold) {
                    continue;
                }
                while unseen < other.len() && other[unseen] >= threshold {
                    unseen += 1;
                }
                let (seen, unseen) = ((index + 1) as f64, unseen as f64);
                // Three deviations of a count, and what even none of a rare event leaves open.
                let p = (seen - 3.0 * seen.sqrt()) / runs;
                let q = (unseen + 3.0 * unseen.sqrt() + 3.0) / runs;
                let value = ((p - delta) / q).ln();
                if value > best.value {
                    best = Promise {
                        value,
                        batch,
                        first,
                        threshold,
                    };
                }
            }
        }
        best
    }
}
