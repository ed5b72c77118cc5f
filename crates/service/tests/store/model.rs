//! Random histories, in a store and in a model at once: devices that send, send again and send late, clocks
//! that step back, analyzers that ask for anything, masters that rotate, programs that end, and faults at the
//! boundaries of every transaction, after which the store is opened anew and the call is made again.
//!
//! Every report has a bucket of its own, so that what a batch holds is seen exactly. What must hold: a report
//! that was taken is in its batch, in one, once; no batch below its size is ever fetched; a batch has the
//! same bytes each time; nothing follows a closed window; the journal is a chain that tells the same.
//!
//! An operation is an upload, or a call that is not one. `SHUFFLEDP_SEED` sets the first seed.

use crate::conformance::{NOW, buckets, report, tag};
use crate::place::{Place, all};
use shuffledp_protocol::batch::Batch;
use shuffledp_protocol::lifecycle::{NoEdge, State};
use shuffledp_protocol::task::Bytes32;
use shuffledp_randomizers::{Random, Simulated};
use shuffledp_service::store::fault::{self, Boundary};
use shuffledp_service::store::journal::{Event, verify};
use shuffledp_service::store::{Arrival, BatchName, Record, Store, StoreError, Taken};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;

/// The smallest batch of these tasks.
const SMALLEST: u64 = 5;
const OPERATIONS: u64 = 10_000;
/// Of each store: 100,000 operations. Without `SHUFFLEDP_TESTS=all`, one history of 10,000.
const HISTORIES: u64 = 10;

#[test]
fn histories_of_the_embedded_store() {
    histories("embedded", || Some(Place::folder()));
}

#[test]
fn histories_of_the_postgres_store() {
    histories("postgres", Place::database);
}

fn histories(name: &str, place: impl Fn() -> Option<Place>) {
    let mut given = std::env::var("SHUFFLEDP_SEED").ok();
    let first: u64 = match given.take() {
        Some(seed) => seed.parse().unwrap(),
        None => shuffledp_randomizers::Secure::new().unwrap().word() >> 16,
    };
    let histories = if all() { HISTORIES } else { 1 };
    for seed in first..first + histories {
        let Some(place) = place() else {
            return;
        };
        match history(&place, seed, OPERATIONS) {
            Ok(seen) => {
                // Past the harness: a run of the tests is to show what it looked at.
                let line = format!("store {name}, SHUFFLEDP_SEED={seed}: {seen}\n");
                std::io::stderr().write_all(line.as_bytes()).unwrap();
            }
            Err(error) => panic!("store {name}, SHUFFLEDP_SEED={seed}: {error}"),
        }
    }
}

macro_rules! ensure {
    ($holds:expr, $($message:tt)*) => {
        if !$holds {
            return Err(format!($($message)*));
        }
    };
}

/// What a history has come across.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    operations: u64,
    taken: u64,
    repeated: u64,
    late: u64,
    sealed: u64,
    expired: u64,
    fetched: u64,
    restarts: u64,
    faults: u64,
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            operations,
            taken,
            repeated,
            late,
            sealed,
            expired,
            fetched,
            restarts,
            faults,
        } = self;
        write!(
            f,
            "{operations} operations: {taken} reports taken, {repeated} repeated, {late} late, {sealed} \
             batches sealed, {expired} expired, {fetched} fetched, {restarts} restarts, {faults} faults"
        )
    }
}

struct Expected {
    state: State,
    held: BTreeSet<u64>,
    reports: Option<u64>,
    bytes: Option<Vec<u8>>,
}

impl Expected {
    fn record(&self, name: &BatchName) -> Record {
        Record {
            name: *name,
            state: self.state,
            reports: self.reports,
            digest: self.bytes.as_ref().map(|bytes| Batch::digest(bytes)),
            closed: (self.state != State::Open).then_some(NOW),
        }
    }
}

struct History<'p> {
    place: &'p Place,
    store: Option<Box<dyn Store>>,
    random: Simulated,
    master: u8,
    marks: BTreeMap<Bytes32, u64>,
    tags: HashSet<(Bytes32, u64, Bytes32)>,
    batches: BTreeMap<BatchName, Expected>,
    sent: Vec<Arrival>,
    next: u64,
    seen: Seen,
}

/// Runs a history. The error says what does not hold.
pub(crate) fn history(place: &Place, seed: u64, operations: u64) -> Result<Seen, String> {
    let mut history = History {
        place,
        store: Some(place.open()),
        random: Simulated::new(seed, 0),
        master: 1,
        marks: BTreeMap::new(),
        tags: HashSet::new(),
        batches: BTreeMap::new(),
        sent: Vec::new(),
        next: 0,
        seen: Seen::default(),
    };
    let outcome = history.run(operations);
    fault::disarm();
    outcome.map(|()| history.seen)
}

type Outcome = Result<(), String>;

impl History<'_> {
    fn run(&mut self, operations: u64) -> Outcome {
        while self.seen.operations < operations {
            self.seen.operations += 1;
            match self.below(100) {
                0..45 => self.upload()?,
                45..56 => self.advance()?,
                56..59 => self.step_back()?,
                59..76 => self.close()?,
                76..85 => self.fetch()?,
                85..91 => self.acknowledge()?,
                91..93 => self.acknowledge_other()?,
                93..96 => self.shred()?,
                96..98 => self.list()?,
                98 => self.note()?,
                _ => self.restart()?,
            }
        }
        self.restart()?;
        // The end of all windows: every report that was taken is accounted for.
        for task in self.marks.keys().copied().collect::<Vec<_>>() {
            let answer = self.store().close_windows(&task, u64::MAX);
            ensure!(answer.is_ok(), "{answer:?}");
            self.marks.insert(task, u64::MAX);
        }
        for name in self.batches.keys().copied().collect::<Vec<_>>() {
            self.close_batch(&name)?;
        }
        self.restart()?;
        self.look_at_everything()
    }

    fn store(&self) -> &dyn Store {
        self.store.as_deref().unwrap()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.word() % end
    }

    fn mark(&self, task: &Bytes32) -> u64 {
        self.marks.get(task).copied().unwrap_or(0)
    }

    fn task(&mut self) -> Bytes32 {
        Bytes32([[1; 32], [2; 32]][self.below(2) as usize])
    }

    fn any_batch(&mut self) -> BatchName {
        if self.below(2) == 0 && !self.batches.is_empty() {
            let place = self.below(self.batches.len() as u64) as usize;
            return *self.batches.keys().nth(place).unwrap();
        }
        let (task, context) = (self.task(), Bytes32([self.below(2) as u8; 32]));
        let mark = self.mark(&task);
        // Most often one that has just been closed, sometimes one that is open or long past.
        let window = match self.below(10) {
            0 => mark,
            1 => self.below(mark + 2),
            near => mark.saturating_sub(1 + near / 4),
        };
        BatchName {
            task,
            window,
            context,
        }
    }

    /// A call, sometimes with a fault. After the fault the store is opened anew and the call is made again.
    /// Gives the answer, and whether an earlier call has done the work.
    fn call<T: std::fmt::Debug>(
        &mut self,
        call: impl Fn(&dyn Store) -> Result<T, StoreError>,
    ) -> Result<(Result<T, StoreError>, bool), String> {
        if self.below(12) != 0 {
            return Ok((call(self.store()), false));
        }
        let boundary = [Boundary::BeforeCommit, Boundary::AfterCommit][self.below(2) as usize];
        // The second and the third transaction of a call, where it has them.
        let later = [0, 0, 1, 2][self.below(4) as usize];
        fault::arm(boundary, later);
        let answer = call(self.store());
        if fault::disarm() {
            return Ok((answer, false));
        }
        let told = matches!(answer, Err(StoreError::Engine(_)));
        ensure!(told, "a call with a fault says {answer:?}");
        self.seen.faults += 1;
        self.reopen()?;
        let done = boundary == Boundary::AfterCommit;
        Ok((call(self.store()), done))
    }

    fn reopen(&mut self) -> Outcome {
        self.store = None;
        self.seen.restarts += 1;
        let mut masters = vec![(u32::from(self.master), self.master)];
        if self.below(4) == 0 && self.master < 250 {
            self.master += 1;
            masters.push((u32::from(self.master), self.master));
        }
        if self.below(4) == 0 {
            let boundary = [Boundary::BeforeCommit, Boundary::AfterCommit][self.below(2) as usize];
            fault::arm(boundary, self.below(3) as u32);
            drop(self.place.open_with(&masters));
            fault::disarm();
        }
        let opened = self.place.open_with(&masters);
        self.store = Some(opened.map_err(|error| format!("reopened: {error}"))?);
        Ok(())
    }

    fn upload(&mut self) -> Outcome {
        let group = 1 + self.below(20);
        self.seen.operations += group - 1;
        let mut reports = Vec::new();
        for _ in 0..group {
            let report = self.arrival();
            self.sent.push(report.clone());
            reports.push(report);
        }
        let (answer, done) = self.call(|store| store.take(&reports))?;
        let taken = answer.map_err(|error| format!("{error}"))?;
        ensure!(taken.len() == reports.len(), "{} answers", taken.len());
        for (report, got) in reports.iter().zip(taken) {
            let expected = self.expect(report);
            let expected_now = match (expected, done) {
                (Taken::New, true) => Taken::Repeated,
                (expected, _) => expected,
            };
            let number = &report.row[..8];
            ensure!(
                got == expected_now,
                "report {number:?}: {got:?}, not {expected_now:?}"
            );
        }
        Ok(())
    }

    fn arrival(&mut self) -> Arrival {
        let kind = self.below(20);
        if kind < 4 && !self.sent.is_empty() {
            // Again, most often soon; perhaps for a window that is closed meanwhile.
            let back = 1 + self.below(if kind < 3 { 40 } else { 1 << 20 });
            let place = self.sent.len().saturating_sub(back as usize);
            return self.sent[place].clone();
        }
        let (task, context) = (self.task(), Bytes32([self.below(2) as u8; 32]));
        let mark = self.mark(&task);
        let window = match kind {
            4 => mark.saturating_sub(1 + self.below(3)),
            5..8 => mark + 1,
            _ => mark,
        };
        let batch = BatchName {
            task,
            window,
            context,
        };
        self.next += 1;
        let mut arrival = report(batch, self.next);
        arrival.dummy = kind == 9;
        if kind == 8 {
            // With a tag of another report, which may be there or on its way.
            let other = (self.next + 4).saturating_sub(self.below(30));
            arrival.tags.push(tag(2 * other));
        }
        arrival
    }

    fn expect(&mut self, report: &Arrival) -> Taken {
        let BatchName { task, window, .. } = report.batch;
        if window < self.mark(&task) {
            self.seen.late += 1;
            return Taken::Closed;
        }
        let tags = report.tags.iter().map(|tag| (task, window, *tag));
        if tags.clone().any(|tag| self.tags.contains(&tag)) {
            self.seen.repeated += 1;
            return Taken::Repeated;
        }
        self.tags.extend(tags);
        self.marks.entry(task).or_insert(0);
        let batch = self.batches.entry(report.batch).or_insert(Expected {
            state: State::Open,
            held: BTreeSet::new(),
            reports: None,
            bytes: None,
        });
        if !report.dummy {
            let bucket = u64::from_be_bytes(report.row[..8].try_into().unwrap());
            batch.held.insert(bucket);
        }
        self.seen.taken += 1;
        Taken::New
    }

    fn advance(&mut self) -> Outcome {
        let task = self.task();
        let mark = self.mark(&task) + 1;
        let (answer, _) = self.call(|store| store.close_windows(&task, mark))?;
        ensure!(
            matches!(answer, Ok(got) if got == mark),
            "{answer:?}, not {mark}"
        );
        self.marks.insert(task, mark);
        Ok(())
    }

    fn step_back(&mut self) -> Outcome {
        let task = self.task();
        let mark = self.mark(&task);
        let earlier = mark.saturating_sub(self.below(4));
        let (answer, _) = self.call(|store| store.close_windows(&task, earlier))?;
        ensure!(
            matches!(answer, Ok(got) if got == mark),
            "{answer:?}, not {mark}"
        );
        Ok(())
    }

    fn close(&mut self) -> Outcome {
        let name = self.any_batch();
        self.close_batch(&name)
    }

    fn close_batch(&mut self, name: &BatchName) -> Outcome {
        let mark = self.mark(&name.task);
        let (answer, _) = self.call(|store| store.close(name, SMALLEST, NOW))?;
        let Some(expected) = self.batches.get_mut(name) else {
            ensure!(
                matches!(answer, Err(StoreError::Unknown(_))),
                "{name:?}: {answer:?}"
            );
            return Ok(());
        };
        if name.window >= mark {
            let open = matches!(answer, Err(StoreError::WindowOpen { .. }));
            ensure!(open, "{name:?}: {answer:?}");
            return Ok(());
        }
        let record = answer.map_err(|error| format!("{name:?}: {error}"))?;
        if expected.state == State::Open {
            let reports = expected.held.len() as u64;
            expected.reports = Some(reports);
            if reports < SMALLEST {
                self.seen.expired += 1;
                expected.state = State::Expired;
            } else {
                self.seen.sealed += 1;
                expected.state = State::Sealed;
                let bytes = self.store.as_deref().unwrap().read(name);
                let bytes = bytes.map_err(|error| format!("{name:?}: {error}"))?;
                let held = buckets(name, &bytes);
                let set: BTreeSet<u64> = held.iter().copied().collect();
                ensure!(held.len() == set.len(), "{name:?} holds a report twice");
                ensure!(set == expected.held, "{name:?} holds other reports");
                expected.bytes = Some(bytes);
            }
        }
        let expected = expected.record(name);
        ensure!(record == expected, "{record:?}, not {expected:?}");
        Ok(())
    }

    fn fetch(&mut self) -> Outcome {
        let name = self.any_batch();
        let (answer, _) = self.call(|store| store.read(&name))?;
        self.seen.fetched += u64::from(answer.is_ok());
        self.check_bytes(&name, answer)
    }

    fn check_bytes(&self, name: &BatchName, answer: Result<Vec<u8>, StoreError>) -> Outcome {
        let batch = self.batches.get(name);
        match (batch.map(|batch| (batch.state, &batch.bytes)), answer) {
            (None, Err(StoreError::Unknown(_))) => Ok(()),
            (Some((State::Sealed | State::Released, Some(bytes))), Ok(got)) => {
                ensure!(*bytes == got, "{name:?} has other bytes than before");
                Ok(())
            }
            (
                Some((state @ (State::Open | State::Expired | State::Shredded), _)),
                Err(StoreError::NoEdge(NoEdge { state: told, .. })),
            ) if state == told => Ok(()),
            (batch, got) => {
                let state = batch.map(|(state, _)| state);
                let got = got.map(|bytes| bytes.len());
                Err(format!(
                    "{name:?}, which is {state:?}, was fetched: {got:?}"
                ))
            }
        }
    }

    fn acknowledge(&mut self) -> Outcome {
        let name = self.any_batch();
        let batch = self.batches.get(&name);
        let digest = batch.and_then(|batch| batch.record(&name).digest);
        let digest = digest.unwrap_or(tag(0));
        let (answer, _) = self.call(|store| store.acknowledge(&name, &digest))?;
        let Some(batch) = self.batches.get_mut(&name) else {
            ensure!(matches!(answer, Err(StoreError::Unknown(_))), "{answer:?}");
            return Ok(());
        };
        if !batch.state.may_be_fetched() {
            let refused = matches!(answer, Err(StoreError::NoEdge(_)));
            ensure!(refused, "{name:?} acknowledged: {answer:?}");
            return Ok(());
        }
        batch.state = State::Released;
        let expected = batch.record(&name);
        ensure!(
            matches!(&answer, Ok(got) if *got == expected),
            "{answer:?}, not {expected:?}"
        );
        Ok(())
    }

    fn acknowledge_other(&mut self) -> Outcome {
        let name = self.any_batch();
        let (answer, _) = self.call(|store| store.acknowledge(&name, &tag(0)))?;
        let refused = match self.batches.get(&name).map(|batch| batch.state) {
            None => matches!(answer, Err(StoreError::Unknown(_))),
            Some(State::Sealed | State::Released) => {
                matches!(answer, Err(StoreError::OtherDigest { .. }))
            }
            Some(_) => matches!(answer, Err(StoreError::NoEdge(_))),
        };
        ensure!(
            refused,
            "{name:?} acknowledged with another digest: {answer:?}"
        );
        Ok(())
    }

    fn shred(&mut self) -> Outcome {
        let name = self.any_batch();
        let (answer, done) = self.call(|store| store.shred(&name))?;
        let Some(batch) = self.batches.get_mut(&name) else {
            ensure!(matches!(answer, Err(StoreError::Unknown(_))), "{answer:?}");
            return Ok(());
        };
        if !batch.state.may_be_fetched() {
            let refused = matches!(answer, Err(StoreError::NoEdge(_)));
            ensure!(refused, "{name:?} shredded: {answer:?}");
            return Ok(());
        }
        batch.state = State::Shredded;
        let expected = batch.record(&name);
        let state = State::Shredded;
        match (done, answer) {
            (false, Ok(got)) if got == expected => Ok(()),
            (true, Err(StoreError::NoEdge(NoEdge { state: told, .. }))) if told == state => Ok(()),
            (_, answer) => Err(format!("{name:?} shredded: {answer:?}")),
        }
    }

    fn list(&mut self) -> Outcome {
        let task = self.task();
        let (answer, _) = self.call(|store| store.batches(&task, 0))?;
        let got: BTreeSet<_> = answer
            .map_err(|error| error.to_string())?
            .into_iter()
            .map(|record| format!("{record:?}"))
            .collect();
        let of = self.batches.iter().filter(|(name, _)| name.task == task);
        let expected: BTreeSet<_> = of
            .map(|(name, batch)| format!("{:?}", batch.record(name)))
            .collect();
        ensure!(got == expected, "{:?}", got.symmetric_difference(&expected));
        Ok(())
    }

    fn note(&mut self) -> Outcome {
        let (answer, _) = self.call(|store| store.note("a key came"))?;
        ensure!(answer.is_ok(), "{answer:?}");
        let answer = self.store().ready();
        ensure!(answer.is_ok(), "{answer:?}");
        Ok(())
    }

    fn restart(&mut self) -> Outcome {
        self.reopen()?;
        match self.below(10) {
            0 => self.look_at_everything(),
            _ => Ok(()),
        }
    }

    fn look_at_everything(&mut self) -> Outcome {
        for name in self.batches.keys() {
            self.check_bytes(name, self.store().read(name))?;
        }
        let journal = self.store().journal().map_err(|error| error.to_string())?;
        if matches!(self.place, Place::Memory(_)) {
            return Ok(());
        }
        verify(&journal).map_err(|error| error.to_string())?;
        let mut states = BTreeMap::new();
        for entry in journal {
            match entry.event().map_err(|error| error.to_string())? {
                Event::Sealed { batch, .. } => drop(states.insert(batch, State::Sealed)),
                Event::Expired { batch, .. } => drop(states.insert(batch, State::Expired)),
                Event::Released { batch, .. } => drop(states.insert(batch, State::Released)),
                Event::Shredded { batch } => drop(states.insert(batch, State::Shredded)),
                _ => {}
            }
        }
        let closed = self.batches.iter();
        let closed = closed.filter(|(_, batch)| batch.state != State::Open);
        let expected = closed.map(|(name, batch)| (*name, batch.state)).collect();
        ensure!(states == expected, "the journal tells of other states");
        Ok(())
    }
}
