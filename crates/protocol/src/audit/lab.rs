//! Runs of the protocol on two datasets, and the likelihood ratios of what comes out.

use super::evidence::Runs;
use super::{AuditError, Holds, Pair, Place, Setting, Shuffle};
use crate::attendance::Attendance;
use crate::pipeline::{Devices, Mixer, run_round};
use crate::shuffler::ShuffleError;
use rayon::prelude::*;
use shuffledp_randomizers::{Error, Randomizer, Simulated};
use std::borrow::Borrow;
use std::cell::RefCell;
use std::ops::Range;

/// The most runs that share a generator: making one then costs nothing beside them.
const CHUNK: u64 = 256;
/// Reports of a chunk of runs, about: fewer runs of large crowds share a generator, so that all cores have
/// some.
const REPORTS: u64 = 100_000;
/// The most positions of a batch that are looked at one by one: a limit on memory.
const POSITIONS: usize = 1 << 16;
/// Up to this many bytes the likelihoods of all reports are computed beforehand: at most 2¹⁶ of them.
const SHORT: usize = 2;

/// Everything that a run needs.
pub(super) struct Lab<'a, R, P> {
    pub(super) randomizer: &'a R,
    pub(super) setting: &'a Setting,
    pub(super) shuffle: Shuffle<'a>,
    pub(super) attendance: Attendance,
    pub(super) ran: &'a P,
    /// Series of runs so far: each has generators of its own.
    pub(super) series: u64,
}

/// Which dataset is run, and where user 1 stands.
struct Dataset<'a, R, V> {
    ratios: Ratios<'a, R, V>,
    holds: Holds,
    place: Place,
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

impl<R: Randomizer + Sync, P: Fn(u64) + Sync> Lab<'_, R, P> {
    /// The position at which user 1's value shows most.
    pub(super) fn telling_position<V: Borrow<R::Value> + Sync>(
        &mut self,
        pair: &Pair<V>,
        place: Place,
        runs: u64,
    ) -> Result<usize, AuditError> {
        let mut leaning = vec![0.0; POSITIONS.min(self.setting.users as usize)];
        for (holds, sign) in [(Holds::First, 1.0), (Holds::Second, -1.0)] {
            let see = |_, batch: &[(f64, f64)], total: &mut Vec<f64>| {
                total.resize(total.len().max(batch.len().min(POSITIONS)), 0.0);
                for (sum, (one, other)) in total.iter_mut().zip(batch) {
                    *sum += (one / other).ln();
                }
            };
            for chunk in self.chunks(pair, holds, place, runs, see)? {
                for (lean, sum) in leaning.iter_mut().zip(chunk) {
                    *lean += sign * sum;
                }
            }
        }
        let most = (0..leaning.len()).max_by(|&a, &b| leaning[a].total_cmp(&leaning[b]));
        Ok(most.unwrap_or_default())
    }

    /// The likelihood ratios of so many runs of each dataset.
    pub(super) fn runs<V: Borrow<R::Value> + Sync>(
        &mut self,
        pair: &Pair<V>,
        place: Place,
        position: usize,
        runs: u64,
    ) -> Result<Runs, AuditError> {
        let n = self.setting.users as f64;
        let see = |round, batch: &[(f64, f64)], seen: &mut Vec<(f64, f64)>| {
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
        };
        let first = self.chunks(pair, Holds::First, place, runs, see)?.concat();
        let second = self.chunks(pair, Holds::Second, place, runs, see)?.concat();
        Ok(Runs::new(&first, &second))
    }

    /// Runs of one dataset in chunks, each with a generator of its own; `see` is given the number of each
    /// round of a run and its batch: r₀ and r₁ of every report.
    fn chunks<V: Borrow<R::Value> + Sync, T: Default + Send>(
        &mut self,
        pair: &Pair<V>,
        holds: Holds,
        place: Place,
        runs: u64,
        see: impl Fn(u64, &[(f64, f64)], &mut T) + Sync,
    ) -> Result<Vec<T>, AuditError> {
        let series = self.series;
        self.series += 1;
        let dataset = Dataset {
            ratios: Ratios::new(self.randomizer, pair),
            holds,
            place,
        };
        let reports_a_run = self.setting.users.saturating_mul(self.setting.rounds);
        let size = (REPORTS / reports_a_run).clamp(1, CHUNK);
        let lab = &*self;
        (0..runs.div_ceil(size))
            .into_par_iter()
            .map(|chunk| {
                let random = Simulated::new(lab.setting.seed, series << 40 | chunk);
                let random = RefCell::new(random);
                let (mut reports, mut batch, mut seen) = (Vec::new(), Vec::new(), T::default());
                let runs = size.min(runs - chunk * size);
                for _ in 0..runs {
                    for round in 0..lab.setting.rounds {
                        lab.round(&dataset, &random, &mut reports, &mut batch)?;
                        see(round, &batch, &mut seen);
                    }
                }
                (lab.ran)(runs);
                Ok(seen)
            })
            .collect()
    }

    /// One round: r₀ and r₁ of every report of the batch, in the order in which it is given out.
    fn round<V: Borrow<R::Value>>(
        &self,
        dataset: &Dataset<R, V>,
        random: &RefCell<Simulated>,
        reports: &mut Vec<u8>,
        batch: &mut Vec<(f64, f64)>,
    ) -> Result<(), AuditError> {
        let (users, length) = (self.setting.users, self.randomizer.report_length());
        let pair = dataset.ratios.pair;
        let mut devices = Line {
            randomizer: self.randomizer,
            own: match dataset.holds {
                Holds::First => pair.first.borrow(),
                Holds::Second => pair.second.borrow(),
            },
            others: pair.others.borrow(),
            place: match dataset.place {
                Place::First => 0,
                Place::Last => users - 1,
            },
            random,
            report: vec![0; length],
            window: match self.attendance.is_certain() {
                true => users,
                false => 1,
            },
        };
        reports.clear();
        let mixer = Audited {
            shuffle: self.shuffle,
            length,
            random,
            reports,
        };
        batch.clear();
        let mut malformed = None;
        let read = |report: &[u8]| match dataset.ratios.of(report) {
            Some(both) => batch.push(both),
            None => malformed = Some(report.to_vec()),
        };
        run_round(users, self.attendance.clone(), &mut devices, mixer, read)?;
        match malformed {
            None => Ok(()),
            Some(report) => Err(AuditError::Randomizer(Error::Report {
                why: format!("{report:?} has no likelihood"),
            })),
        }
    }
}

/// Devices in line, with one generator for attendance, devices and shuffler.
struct Line<'a, R: Randomizer> {
    randomizer: &'a R,
    own: &'a R::Value,
    others: &'a R::Value,
    /// Where user 1 stands.
    place: u64,
    random: &'a RefCell<Simulated>,
    report: Vec<u8>,
    /// One user is called at a time, so that attendance and devices draw in turn; all are where attendance
    /// draws nothing, which is faster and draws the same reports.
    window: u64,
}

impl<R: Randomizer> Devices for Line<'_, R> {
    type Error = AuditError;

    fn window(&self) -> u64 {
        self.window
    }

    fn comes(&mut self, attendance: &mut Attendance) -> bool {
        attendance.comes(&mut *self.random.borrow_mut())
    }

    fn send(
        &mut self,
        _: Range<u64>,
        coming: &[u64],
        mixer: &mut impl Mixer,
    ) -> Result<(), AuditError> {
        let random = &mut *self.random.borrow_mut();
        for &user in coming {
            let value = if user == self.place {
                self.own
            } else {
                self.others
            };
            // The values were checked before the first run.
            self.report.fill(0);
            self.randomizer.draw(value, random, &mut self.report);
            mixer.push(&self.report)?;
        }
        Ok(())
    }
}

/// The shuffler that is audited, which is given a whole batch.
struct Audited<'a> {
    shuffle: Shuffle<'a>,
    length: usize,
    random: &'a RefCell<Simulated>,
    reports: &'a mut Vec<u8>,
}

impl Mixer for Audited<'_> {
    fn push(&mut self, report: &[u8]) -> Result<(), ShuffleError> {
        self.reports.extend_from_slice(report);
        Ok(())
    }

    fn finish(self, mut each: impl FnMut(&[u8])) -> Result<(), ShuffleError> {
        let random = &mut *self.random.borrow_mut();
        (self.shuffle)(self.reports, self.length, random, &mut each)
    }
}
