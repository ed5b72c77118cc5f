//! From bytes that arrive to reports on disk: a bounded queue, threads that open envelopes, and one
//! transaction for all that has arrived while the last one was written.
//!
//! ```text
//! submit ──queue, bounded in bytes──► open on every core ──► one transaction for many ──► answers
//! ```
//!
//! * An answer is given when the transaction is on disk, and after a transaction for reports, dummies,
//!   probes, repeated and malformed envelopes alike. A dummy is stored as a report is, so that neither what
//!   is answered nor when tells the two apart, also where an envelope is sent again or its window has closed.
//! * Whether a window is open is looked at first, by the number that everybody on the way can read: what is
//!   too late or too early is not opened.
//! * A window takes so many and no more (`quota`): what does not fit is turned away, and what holds
//!   no report is dropped and answered as if it were kept.
//! * A task takes reports of the contexts that its operator has named, and no others: whoever makes one up
//!   opens no batch with it.
//! * Where the queue is full, [`Busy`] is said at once and nothing is held: memory is bounded by the queue.
//!   Who is turned away depends on the moment alone. When the queue is more than half full, the newest are
//!   opened first: their senders are still there.
//! * An envelope for a key that the shuffler does not have is opened all the same, with another key: it takes
//!   as long as any other that does not open.

use crate::quota::{Kept, Quota, Room as Place};
use crate::schedule::{Clock, Schedule};
use crate::store::{Arrival, BatchName, Store, Taken};
use crate::suite::AwsLc;
use crate::tallies::{Outcome, Tallies};
use sha2::{Digest, Sha256};
use shuffledp_protocol::envelope::{
    EnvelopeError, Kind, Opened, PROBES, envelope_length, open, window_of,
};
use shuffledp_protocol::hpke::SecretKey;
use shuffledp_protocol::task::{Bytes32, Task};
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// The most reports of one transaction: it bounds how long the first of them waits for the last.
const MOST_IN_TRANSACTION: usize = 10_000;
/// The hashes of what must not come twice are of different kinds, so that one of a kind is none of another.
const OUTER_TAG: &[u8] = b"shuffledp/1 outer tag";
const INNER_TAG: &[u8] = b"shuffledp/1 inner tag";
const TOKEN_TAG: &[u8] = b"shuffledp/1 token tag";
const PROBE_TAG: &[u8] = b"shuffledp/1 probe tag";

/// A task that takes reports.
#[derive(Debug)]
pub struct OpenTask {
    /// The task.
    pub task: Task,
    /// Its windows by the clock.
    pub schedule: Schedule,
    /// The first window that is open, as the store said last. It never falls.
    pub first_open: AtomicU64,
    /// The contexts that reports may have.
    contexts: RwLock<BTreeSet<Bytes32>>,
}

/// The context of reports about nothing that devices were sent.
const NOTHING: Bytes32 = Bytes32([0; 32]);
/// The most contexts of a task: each is a batch of its own in every window.
pub const MOST_CONTEXTS: usize = 1000;

/// What a window is to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    Open,
    Closed,
    Early,
}

impl OpenTask {
    /// A task whose windows before `first_open` are closed, with reports of these contexts; of nothing where
    /// there are none.
    pub fn new(task: Task, schedule: Schedule, first_open: u64, contexts: &[Bytes32]) -> Self {
        let mut contexts: BTreeSet<Bytes32> = contexts.iter().copied().collect();
        if contexts.is_empty() {
            contexts.insert(NOTHING);
        }
        Self {
            task,
            schedule,
            first_open: AtomicU64::new(first_open),
            contexts: RwLock::new(contexts),
        }
    }

    /// Takes reports of one more context. Whether there was room for it, and it is not that of probes.
    pub fn add_context(&self, context: Bytes32) -> bool {
        if context == PROBES {
            return false;
        }
        let mut contexts = self
            .contexts
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        contexts.contains(&context) || (contexts.len() < MOST_CONTEXTS && contexts.insert(context))
    }

    /// Whether an envelope is about something that devices of this task are sent. Probes are about nothing.
    fn takes(&self, opened: &Opened) -> bool {
        let contexts = self.contexts.read().unwrap_or_else(PoisonError::into_inner);
        matches!(opened.kind, Kind::Probe(_)) || contexts.contains(&opened.context)
    }

    fn window(&self, window: u64, now: u64) -> Window {
        let first_open = self.first_open.load(Ordering::Acquire);
        if window < first_open {
            return Window::Closed;
        }
        match self.schedule.open(now, first_open).contains(&window) {
            true => Window::Open,
            false => Window::Early,
        }
    }
}

/// The queue is full, or the shuffler stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shuffler has more to do than it can hold")]
pub struct Busy;

/// Room in the queue, given back when it is dropped.
#[derive(Debug)]
pub struct Room {
    bytes: usize,
    held: Arc<AtomicUsize>,
    most: usize,
}

impl Room {
    /// Takes room for so many bytes more.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Busy> {
        let fits = |now: usize| now.checked_add(bytes).filter(|then| *then <= self.most);
        let update = self
            .held
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, fits);
        update.map_err(|_| Busy)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// Envelopes of one request.
struct Job {
    task: Arc<OpenTask>,
    envelopes: Vec<u8>,
    reply: oneshot::Sender<Vec<Outcome>>,
    room: Room,
}

/// What is known of an envelope: its place among the arrivals with its outcome if it is new there, or its
/// outcome.
type Found = Result<(usize, Outcome), Outcome>;

/// A job whose envelopes are opened.
struct OpenedJob {
    task: Arc<OpenTask>,
    /// The window to count an envelope under, and what is known of it.
    found: Vec<(u64, Found)>,
    arrivals: Vec<Arrival>,
    reply: oneshot::Sender<Vec<Outcome>>,
    _room: Room,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    stopped: bool,
}

struct Shared {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    keys: RwLock<Arc<Vec<(u8, SecretKey)>>>,
    held: Arc<AtomicUsize>,
    most: usize,
    quota: Arc<Quota>,
    clock: Arc<dyn Clock>,
}

impl Shared {
    /// A thread that panics in between leaves whole jobs.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; none when the intake stops and the queue is empty.
    fn next(&self) -> Option<Job> {
        let mut waiting = self.waiting();
        loop {
            let crowded = self.held.load(Ordering::Acquire) > self.most / 2;
            let job = match crowded {
                true => waiting.jobs.pop_back(),
                false => waiting.jobs.pop_front(),
            };
            if job.is_some() || waiting.stopped {
                return job;
            }
            waiting = self
                .arrived
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The intake of a shuffler. When it is dropped, what is in the queue is still taken.
pub struct Intake {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Intake {
    /// Starts its threads: one for every core that opens envelopes, and one that writes. `most` bounds the
    /// bytes of all envelopes that wait, `quota` what is kept of a window.
    pub(crate) fn start(
        store: Arc<dyn Store>,
        tallies: Arc<Tallies>,
        clock: Arc<dyn Clock>,
        keys: Vec<(u8, SecretKey)>,
        (most, quota): (usize, Quota),
    ) -> std::io::Result<Self> {
        let quota = Arc::new(quota);
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            arrived: Condvar::new(),
            keys: RwLock::new(Arc::new(keys)),
            held: Arc::default(),
            most,
            quota: Arc::clone(&quota),
            clock,
        });
        let mut threads = Vec::new();
        let (sender, receiver) = channel();
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        for _ in 0..cores {
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            let opener = std::thread::Builder::new().name("open".to_owned());
            threads.push(opener.spawn(move || open_all(&shared, &sender))?);
        }
        let writer = std::thread::Builder::new().name("write".to_owned());
        threads.push(writer.spawn(move || {
            write_all(&receiver, store.as_ref(), &tallies, &quota);
        })?);
        Ok(Self { shared, threads })
    }

    /// The keys that open envelopes from now on.
    pub fn set_keys(&self, keys: Vec<(u8, SecretKey)>) {
        let mut current = self
            .shared
            .keys
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(keys);
    }

    /// Whether a probe of a window was dropped since the start, so that a missing one says little.
    pub(crate) fn missed_probes(&self, task: &Bytes32, window: u64) -> bool {
        self.shared.quota.missed_probes(task, window)
    }

    /// Whether all its threads are there: one that panicked is not.
    pub fn is_whole(&self) -> bool {
        !self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Room that grows as bytes arrive from the network: who announces many and sends none holds none.
    pub fn room(&self) -> Room {
        Room {
            bytes: 0,
            held: Arc::clone(&self.shared.held),
            most: self.shared.most,
        }
    }

    /// Whether so many bytes would find room now.
    pub fn has_room(&self, bytes: usize) -> bool {
        let held = self.shared.held.load(Ordering::Acquire);
        held.saturating_add(bytes) <= self.shared.most
    }

    /// Hands envelopes over, one after the other; their number of bytes is a multiple of the task's length.
    /// Gives the outcome of each once all are on disk.
    pub fn submit(
        &self,
        task: Arc<OpenTask>,
        envelopes: Vec<u8>,
        room: Room,
    ) -> Result<oneshot::Receiver<Vec<Outcome>>, Busy> {
        let (reply, answer) = oneshot::channel();
        let mut waiting = self.shared.waiting();
        if waiting.stopped {
            return Err(Busy);
        }
        waiting.jobs.push_back(Job {
            task,
            envelopes,
            reply,
            room,
        });
        drop(waiting);
        self.shared.arrived.notify_one();
        Ok(answer)
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.shared.waiting().stopped = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

fn open_all(shared: &Shared, opened: &Sender<OpenedJob>) {
    while let Some(job) = shared.next() {
        let keys = Arc::clone(&shared.keys.read().unwrap_or_else(PoisonError::into_inner));
        let now = shared.clock.now().unwrap_or(0);
        // The writer stops after those that open.
        if opened
            .send(open_job(job, &keys, now, &shared.quota))
            .is_err()
        {
            return;
        }
    }
}

fn open_job(job: Job, keys: &[(u8, SecretKey)], now: u64, quota: &Quota) -> OpenedJob {
    let task = &job.task.task;
    let (mut found, mut arrivals) = (Vec::new(), Vec::new());
    for envelope in job.envelopes.chunks(envelope_length(task)) {
        let first_open = job.task.first_open.load(Ordering::Acquire);
        let window = window_of(envelope).unwrap_or(0);
        let (counted, outcome) = match job.task.window(window, now) {
            // Envelopes of windows that are not open are counted together, under one that is: nobody who
            // makes up windows fills the memory with counts.
            Window::Closed => (first_open, Err(Outcome::Closed)),
            Window::Early => (first_open, Err(Outcome::Early)),
            Window::Open if quota.is_full(&task.id(), window) => (window, Err(Outcome::Full)),
            Window::Open => match opened(task, keys, envelope) {
                Some(opened) if job.task.takes(&opened) => {
                    let (arrival, new) = arrival(task, &opened);
                    let place = quota.take(&task.id(), window, first_open, kept(new));
                    let outcome = match place {
                        Place::Kept => {
                            arrivals.push(arrival);
                            Ok((arrivals.len() - 1, new))
                        }
                        Place::Dropped => Err(Outcome::Dropped),
                        Place::Full => Err(Outcome::Full),
                    };
                    (window, outcome)
                }
                _ => (window, Err(Outcome::Malformed)),
            },
        };
        found.push((counted, outcome));
    }
    OpenedJob {
        task: Arc::clone(&job.task),
        found,
        arrivals,
        reply: job.reply,
        _room: job.room,
    }
}

/// What an envelope is to the limits, if this becomes of it when it is new.
fn kept(new: Outcome) -> Kept {
    match new {
        Outcome::Dummy => Kept::Dummy,
        Outcome::Probe => Kept::Probe,
        _ => Kept::Report,
    }
}

/// What is in an envelope; none where it is none of the task's, or damaged.
fn opened(task: &Task, keys: &[(u8, SecretKey)], envelope: &[u8]) -> Option<Opened> {
    match open(&AwsLc, task, keys, envelope) {
        Ok(opened) => Some(opened),
        Err(EnvelopeError::Key { number }) => {
            // As much work as for a key that there is, and the same answer.
            let other = keys.first().map(|(_, key)| (number, key.clone()));
            let _ = open(&AwsLc, task, other.as_slice(), envelope);
            None
        }
        Err(_) => None,
    }
}

/// What is stored of an envelope, and what becomes of it if it is new. The marks of probes are a batch of
/// their own: they are kept like reports, and answered when they are on disk.
fn arrival(task: &Task, opened: &Opened) -> (Arrival, Outcome) {
    let tag = |kind: &[u8], value: &[u8]| {
        let hash = Sha256::new().chain_update(kind).chain_update(value);
        Bytes32(hash.finalize().into())
    };
    let mut tags = vec![
        tag(OUTER_TAG, &opened.enc),
        tag(INNER_TAG, opened.inner.enc()),
    ];
    match (opened.token, &task.spec().tokens) {
        (Some(nonce), _) => tags.push(tag(TOKEN_TAG, &nonce)),
        // What holds no report has something in its place: as much to look for as of a report.
        (None, Some(_)) => tags.push(tag(TOKEN_TAG, &opened.enc)),
        (None, None) => {}
    }
    let (context, row, new) = match opened.kind {
        Kind::Probe(mark) => {
            tags[1] = tag(PROBE_TAG, &mark.0);
            (PROBES, mark.0.to_vec(), Outcome::Probe)
        }
        Kind::Dummy => (opened.context, opened.inner.row(), Outcome::Dummy),
        Kind::Report => (opened.context, opened.inner.row(), Outcome::Taken),
    };
    let batch = BatchName {
        task: task.id(),
        window: opened.window,
        context,
    };
    let arrival = Arrival {
        batch,
        tags,
        row,
        dummy: opened.kind == Kind::Dummy,
    };
    (arrival, new)
}

fn write_all(opened: &Receiver<OpenedJob>, store: &dyn Store, tallies: &Tallies, quota: &Quota) {
    while let Ok(first) = opened.recv() {
        let mut jobs = vec![first];
        let mut reports = jobs[0].arrivals.len();
        while reports < MOST_IN_TRANSACTION
            && let Ok(job) = opened.try_recv()
        {
            reports += job.arrivals.len();
            jobs.push(job);
        }
        write(jobs, store, tallies, quota);
    }
}

/// One transaction, and the answers to all whose envelopes are in it.
fn write(mut jobs: Vec<OpenedJob>, store: &dyn Store, tallies: &Tallies, quota: &Quota) {
    let arrivals: Vec<Arrival> = jobs
        .iter_mut()
        .flat_map(|job| std::mem::take(&mut job.arrivals))
        .collect();
    // A transaction is written even where nothing is new: what is refused is answered no sooner than a
    // report.
    let taken = store.take(&arrivals).and_then(|taken| {
        if !taken.contains(&Taken::New) {
            store.ready()?;
        }
        Ok(taken)
    });
    let failed = taken.is_err();
    let taken = taken.unwrap_or_else(|error| {
        tracing::error!(%error, "reports are not taken");
        Vec::new()
    });
    let mut before = 0;
    for job in jobs {
        let outcome = |found: &Found| match found {
            _ if failed => Outcome::Failed,
            Err(outcome) => *outcome,
            // Where the store failed there is no answer.
            Ok((place, new)) => match taken.get(before + place) {
                Some(Taken::New) => *new,
                Some(Taken::Repeated) => Outcome::Repeated,
                Some(Taken::Closed) => Outcome::Closed,
                None => Outcome::Failed,
            },
        };
        let outcomes: Vec<Outcome> = job.found.iter().map(|(_, found)| outcome(found)).collect();
        let (task, first_open) = (
            job.task.task.id(),
            job.task.first_open.load(Ordering::Acquire),
        );
        for ((window, found), outcome) in job.found.iter().zip(&outcomes) {
            tallies.count(task, *window, first_open, *outcome);
            if let Ok((_, new)) = found
                && new != outcome
            {
                quota.give_back(&task, *window, kept(*new));
            }
        }
        before += job.found.iter().filter(|(_, found)| found.is_ok()).count();
        // The sender may have gone.
        let _ = job.reply.send(outcomes);
    }
}
