//! A running shuffler: what it knows, what it does every second, and how it starts and stops. The addresses
//! it answers are in `http`.

pub mod access;
mod answers;
pub mod config;
mod connections;
mod continuity;
mod http;
mod leap;
mod metrics;
mod page;

pub use http::ROUTES;

use crate::error::ServiceError;
use crate::folders::read_task;
use crate::intake::{Intake, OpenTask};
use crate::keyring::{Change, Keyring, PENDING};
use crate::quota::{Most, Quota};
use crate::schedule::{Clock, Schedule};
use crate::store::embedded::Embedded;
use crate::store::postgres::Postgres;
use crate::store::vault::{self, Vault};
use crate::store::{NEVER_ENOUGH, Record, Store, StoreError};
use crate::tallies::Tallies;
use answers::{Marks, TaskAnswer};
use axum_server::tls_rustls::RustlsConfig;
use config::{Config, StoreConfig};
use connections::Limited;
use continuity::{Continuity, Found};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use leap::Watch;
use shuffledp_protocol::envelope::{PROBES, ShufflerKey};
use shuffledp_protocol::lifecycle::State;
use shuffledp_protocol::task::{Bytes32, Guarantee};
use shuffledp_randomizers::Secure;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How often windows, keys and old batches are looked after.
const TICK: Duration = Duration::from_secs(1);
/// For how long they may not be: putting a large batch into order takes a part of it.
const STALE: Duration = Duration::from_secs(120);

/// Connections of operators at a time.
const CONNECTIONS_OF_OPERATORS: usize = 64;

/// A task that is served.
pub(crate) struct Served {
    pub(crate) open: Arc<OpenTask>,
    pub(crate) analyzer: Option<Bytes32>,
    pub(crate) guarantee: Guarantee,
    pub(crate) answer: TaskAnswer,
    /// Held while windows are closed: what an operator closes is not closed by the clock in between, and is
    /// in the answer to the operator.
    closing: Mutex<()>,
    /// All batches of windows before this one have expired or are shredded, and are not looked at again.
    settled: AtomicU64,
    /// Batches that the last look could not close or destroy.
    stuck: AtomicU64,
    /// The first open window after one that was destroyed at the start, though its time is not over; 0 where
    /// none was.
    destroyed: u64,
}

/// A shuffler.
pub struct Service {
    config: Config,
    tasks: BTreeMap<Bytes32, Served>,
    keyring: Mutex<Keyring>,
    /// The key that devices seal to, as the last look at the folder left it: whoever asks for it does not
    /// wait for a folder that hangs.
    active: RwLock<Option<ShufflerKey>>,
    store: Arc<dyn Store>,
    tallies: Arc<Tallies>,
    clock: Arc<dyn Clock>,
    /// As the last look found it: who asks does not make the store write.
    readiness: Mutex<Result<(), NotReady>>,
    /// The marks of probes that were asked for.
    marks: Marks,
    /// What the folder of keys remembers of the store.
    continuity: Continuity,
    /// Whether the store is still the one that was left, as the last look found it.
    restored: AtomicBool,
    watch: Watch,
    /// When everything was looked after last, by the steady clock.
    looked_after: Mutex<Duration>,
    /// What became of keys and is not in the journal yet.
    untold: Mutex<Vec<String>>,
    stopping: AtomicBool,
    broken: AtomicBool,
    // The last field: it is dropped when nothing can be submitted any more.
    intake: Intake,
}

/// Why a shuffler is not ready for reports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotReady {
    /// The store cannot be written.
    #[error("the store cannot be written")]
    Store,
    /// The clock is before 1970, or behind a window that is closed.
    #[error("the clock is behind a window that is closed")]
    Clock,
    /// There is no key that devices may seal to.
    #[error("there is no active key")]
    Key,
    /// The operating system gives no randomness.
    #[error("the operating system gives no randomness")]
    Randomness,
    /// The store is not in the state in which it was left.
    #[error(
        "the store was lost, or restored from a backup, while the shuffler ran: nothing is taken or closed \
         until it is started again"
    )]
    Restored,
    /// The clock went ahead further than time did.
    #[error(
        "the clock is {seconds} seconds ahead of the time that has gone by: nothing is closed or destroyed \
         until it is set right, or the operator confirms it (POST /v1/clock/confirmation)"
    )]
    Ahead {
        /// How far.
        seconds: u64,
    },
    /// Windows and keys are not looked after.
    #[error("windows and keys have not been looked after for {seconds} seconds")]
    Stale {
        /// For how long.
        seconds: u64,
    },
    /// A thread of it has ended.
    #[error("a part of the shuffler has failed: it ends")]
    Broken,
    /// It stops.
    #[error("the shuffler stops")]
    Stopping,
}

impl Service {
    /// Reads tasks and keys, and starts to take reports. Every task is priced again: one whose promise is not
    /// certified is refused.
    pub fn new(
        config: Config,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, ServiceError> {
        config
            .check()
            .map_err(|message| ServiceError::Config { message })?;
        let now = clock.now().unwrap_or(0);
        let mut loaded = Vec::new();
        let (mut longest, mut shortest) = (0, u64::MAX);
        for entry in &config.task {
            let task = read_task(&entry.file)?;
            config
                .check_task(&task)
                .map_err(|message| ServiceError::Config { message })?;
            let length = task.spec().window_seconds;
            longest = longest.max(length.unwrap_or(0));
            shortest = shortest.min(length.unwrap_or(u64::MAX));
            loaded.push((entry, task.guarantee()?, task));
        }
        config
            .check_overlap(longest)
            .and_then(|()| config.check_grace(shortest))
            .map_err(|message| ServiceError::Config { message })?;
        let folder = &config.keys.folder;
        std::fs::create_dir_all(folder).map_err(ServiceError::unwritable(folder))?;
        let continuity = Continuity::of(folder);
        let alone = continuity.alone()?;
        let pending = if config.store.postgres.is_some() {
            PENDING
        } else {
            0
        };
        // A folder that is not mounted would make an end of everything that is open in the database.
        if pending > 0 && !Keyring::is_begun(folder)? && store.last_entry()?.is_some() {
            let path = folder.display();
            let message = format!(
                "keys.folder {path} has no key, and the database was used before: mount the folder that its \
                 shufflers share, or make a key in it (shuffledp keys shuffler --out {path}), which destroys \
                 what is open in the database"
            );
            return Err(ServiceError::Config { message });
        }
        let mut keyring = Keyring::open(folder, now, pending)?;
        // Before anything is written.
        let mut found = continuity.find(store.as_ref(), keyring.was_used())?;
        let watch = Watch::new(
            clock.as_ref(),
            found.time,
            (shortest < u64::MAX).then_some(shortest),
        );
        // Whoever acts by the clock takes the reading that was found to be right.
        let trusted = watch.look(clock.as_ref()).ok().flatten();
        let time = trusted.max(found.time);
        if !found.continues {
            let message = "another store than before, or an earlier state of it: what is open in it is \
                           destroyed, and the keys of devices are replaced";
            tracing::warn!("{message}");
            store.note(message)?;
            let served = loaded.iter().map(|(_, _, task)| task.id());
            destroy_open(store.as_ref(), served, &mut found, time.unwrap_or(0))?;
        }
        let (mut tasks, mut quota) = (BTreeMap::new(), Quota::default());
        for (entry, guarantee, task) in loaded {
            let schedule = Schedule {
                length: task.spec().window_seconds,
                grace: config.windows.grace_seconds,
            };
            let id = task.id();
            let by_clock = trusted.and_then(|now| schedule.first_open(now));
            let known = found.first_open.get(&id).copied();
            let first_open = by_clock.max(known).unwrap_or(0);
            let first_open = store.close_windows(&id, first_open)?;
            found.first_open.insert(id, first_open);
            let destroyed = if found.continues { 0 } else { first_open };
            store.note(&format!("task {id} loaded"))?;
            let served = Served {
                guarantee,
                answer: TaskAnswer::new(&task),
                open: Arc::new(OpenTask::new(task, schedule, first_open, &entry.contexts)),
                analyzer: entry.analyzer_token_sha256,
                closing: Mutex::default(),
                settled: AtomicU64::new(0),
                stuck: AtomicU64::new(0),
                destroyed,
            };
            tasks.insert(id, served);
        }
        if !found.continues {
            keyring.replace_all(time.unwrap_or(0))?;
        }
        continuity.begin(store.as_ref(), found.first_open, time)?;
        drop(alone);
        // What open windows hold already is counted while other shufflers go on.
        for (id, served) in &tasks {
            let rows = store.rows(id)?.into_iter();
            let rows = rows.map(|(batch, rows)| (batch.window, batch.context, rows));
            quota.begin(*id, Most::of(&config.limits, &served.open.task), rows);
        }
        let tallies = Arc::new(Tallies::default());
        let intake = Intake::start(
            Arc::clone(&store),
            Arc::clone(&tallies),
            Arc::clone(&clock),
            keyring.secrets(),
            (config.limits.queue_bytes, quota),
        );
        let intake = intake.map_err(|error| ServiceError::NotStarted {
            what: "its threads",
            error,
        })?;
        let service = Self {
            looked_after: Mutex::new(clock.steady()),
            config,
            tasks,
            active: RwLock::new(keyring.active()),
            keyring: Mutex::new(keyring),
            store,
            tallies,
            clock,
            readiness: Mutex::new(Ok(())),
            marks: Marks::default(),
            continuity,
            restored: AtomicBool::new(false),
            watch,
            untold: Mutex::default(),
            stopping: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            intake,
        };
        service.look_at_readiness();
        Ok(Arc::new(service))
    }

    /// Closes windows whose time is over, destroys batches that were kept long enough, and replaces keys.
    /// What fails is logged, and tried again the next time. Where the clock is far ahead of time, or the
    /// store not the one that was left, nothing of that is done.
    pub fn tick(&self) {
        if let Err(error) = self.look_after_all() {
            tracing::error!(%error, "not everything is looked after");
        }
        self.look_at_readiness();
    }

    fn look_after_all(&self) -> Result<(), ServiceError> {
        if !self.remember(None)? {
            return Ok(());
        }
        let Ok(now) = self.trusted_now() else {
            return Ok(());
        };
        let Some(now) = now else {
            tracing::error!("the clock is before 1970");
            return Ok(());
        };
        let mut failed = None;
        for (id, served) in &self.tasks {
            if let Err(error) = self.look_after(id, served, now) {
                tracing::error!(task = %id, %error, "windows are not looked after");
                failed = Some(error);
            }
        }
        let keys = &self.config.keys;
        let rotate = (keys.rotate_seconds > 0).then_some(keys.rotate_seconds);
        let overlap = keys.overlap_seconds;
        self.change_keys(|keyring| keyring.tick(now, rotate, overlap))?;
        self.remember(None)?;
        if let Some(error) = failed {
            return Err(error);
        }
        *self.looked_after() = self.clock.steady();
        Ok(())
    }

    /// Remembers the store beside the keys, and the first open window of a task; unless the store is not the
    /// one that was left: whether it is.
    fn remember(&self, first_open: Option<(Bytes32, u64)>) -> Result<bool, ServiceError> {
        let time = self.watch.look(self.clock.as_ref()).ok().flatten();
        let continuity = &self.continuity;
        let store = self.store.as_ref();
        let holds = continuity.remember(store, first_open, time)?;
        if !holds {
            tracing::error!(
                "the store was lost or restored while the shuffler ran: start it again"
            );
        }
        self.restored.store(!holds, Ordering::Release);
        Ok(holds)
    }

    /// Whether windows may be closed, reports taken and batches given out: the store is the one that was
    /// left, as the last look found it, and the clock has gone with time.
    pub(crate) fn may_go_on(&self) -> Result<(), NotReady> {
        self.trusted_now().map(drop)
    }

    /// The same, with the time that was found to be right; none before 1970.
    fn trusted_now(&self) -> Result<Option<u64>, NotReady> {
        if self.restored.load(Ordering::Acquire) {
            return Err(NotReady::Restored);
        }
        let look = self.watch.look(self.clock.as_ref());
        look.map_err(|seconds| NotReady::Ahead { seconds })
    }

    /// The operator says that the clock is right. Gives the time.
    pub fn confirm_clock(&self) -> Result<u64, ServiceError> {
        let now = self.clock.now().unwrap_or(0);
        self.watch.confirm(self.clock.as_ref());
        self.continuity.confirm(self.store.as_ref(), now)?;
        self.store
            .note(&format!("the operator confirms the time {now}"))?;
        tracing::info!(now, "the operator confirms the time");
        self.tick();
        Ok(now)
    }

    fn look_after(&self, id: &Bytes32, served: &Served, now: u64) -> Result<(), ServiceError> {
        let schedule = served.open.schedule;
        let by_clock = schedule.first_open(now).unwrap_or(0);
        let closed = self.close_before(id, served, by_clock)?;
        if self.restored.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut stuck = closed.failed.len() as u64;
        let mut settled = served.open.first_open.load(Ordering::Acquire);
        for record in self
            .store
            .batches(id, served.settled.load(Ordering::Acquire))?
        {
            let windows = &self.config.windows;
            let keep = match record.state {
                State::Released => windows.keep_released_seconds,
                State::Sealed => windows.keep_sealed_seconds,
                State::Open => u64::MAX,
                State::Expired | State::Shredded => continue,
            };
            let closed = record.closed.unwrap_or(now);
            if closed.saturating_add(keep) > now {
                settled = settled.min(record.name.window);
                continue;
            }
            match self.store.shred(&record.name) {
                Ok(record) => {
                    self.marks.forget(&record.name.task, record.name.window);
                    self.log(&record);
                }
                // Another shuffler of the database was faster.
                Err(StoreError::NoEdge(_)) => {
                    self.marks.forget(&record.name.task, record.name.window);
                }
                Err(error) => {
                    self.log_failure(&record, &error, "a batch is not destroyed");
                    settled = settled.min(record.name.window);
                    stuck += 1;
                }
            }
        }
        served.settled.fetch_max(settled, Ordering::AcqRel);
        served.stuck.store(stuck, Ordering::Release);
        Ok(())
    }

    /// Closes all windows before `first_open`, and the batches in them. One that cannot be closed does not
    /// keep the others open.
    fn close_before(
        &self,
        id: &Bytes32,
        served: &Served,
        first_open: u64,
    ) -> Result<Closed, ServiceError> {
        let _one_at_a_time = served
            .closing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let standing = self.store.close_windows(id, first_open)?;
        let before = served.open.first_open.fetch_max(standing, Ordering::AcqRel);
        if before < standing {
            tracing::info!(task = %id, first_open = standing, "windows closed");
        }
        let mut closed = Closed::default();
        let settled = served.settled.load(Ordering::Acquire);
        let mut due = self.store.batches(id, settled)?;
        due.retain(|record| record.state == State::Open && record.name.window < standing);
        // Before a batch is sealed: what was released is known to be closed wherever the store comes from,
        // and the store is still the one that was left.
        let known = due.is_empty() && self.continuity.knows(id, standing);
        if !known && !self.remember(Some((*id, standing)))? {
            return Ok(closed);
        }
        let Ok(now) = self.trusted_now() else {
            return Ok(closed);
        };
        for record in due {
            let smallest = match record.name.context == PROBES {
                // Marks are of nobody: they are published however few they are.
                true => 1,
                false => served.open.task.smallest_batch(),
            };
            match self.store.close(&record.name, smallest, now.unwrap_or(0)) {
                Ok(record) => {
                    self.log(&record);
                    closed.records.push(record);
                }
                Err(error) => {
                    self.log_failure(&record, &error, "a batch is not closed");
                    closed.failed.push(error);
                }
            }
        }
        Ok(closed)
    }

    /// Closes a window for the operator, and gives the batches that were closed.
    pub(crate) fn close_by_hand(
        &self,
        id: &Bytes32,
        served: &Served,
        window: u64,
    ) -> Result<Vec<Record>, ServiceError> {
        // The store may have been exchanged since the last look.
        if !self.remember(None)? || self.may_go_on().is_err() {
            self.look_at_readiness();
            return Err(ServiceError::Held);
        }
        let mut closed = self.close_before(id, served, window.saturating_add(1))?;
        if !self.remember(None)? {
            self.look_at_readiness();
            return Err(ServiceError::Held);
        }
        match closed.failed.pop() {
            Some(error) if closed.records.is_empty() => Err(error.into()),
            _ => Ok(closed.records),
        }
    }

    fn log(&self, record: &Record) {
        let (name, reports) = (&record.name, record.reports);
        tracing::info!(
            task = %name.task, window = name.window, context = %name.context, state = record.state.name(),
            reports, "batch"
        );
    }

    fn log_failure(&self, record: &Record, error: &StoreError, what: &str) {
        let name = &record.name;
        tracing::error!(
            task = %name.task, window = name.window, context = %name.context, %error, "{what}"
        );
    }

    /// Changes the keys. What is new opens envelopes before anybody can be told of it, and is then written
    /// down; where that fails, the next time.
    fn change_keys(
        &self,
        change: impl FnOnce(&mut Keyring) -> Result<Vec<Change>, ServiceError>,
    ) -> Result<(), ServiceError> {
        let changed = {
            let mut keyring = self.keyring();
            let before = keyring.revision();
            let changed = change(&mut keyring);
            if keyring.revision() != before {
                self.intake.set_keys(keyring.secrets());
            }
            let mut active = self.active.write().unwrap_or_else(PoisonError::into_inner);
            *active = keyring.active();
            changed
        };
        let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        for change in changed.as_deref().unwrap_or_default() {
            let event = match change {
                Change::Made(number) => format!("key {number} made"),
                Change::Deleted(number) => format!("key {number} deleted"),
            };
            tracing::info!(event, "keys");
            untold.push(event);
        }
        while let Some(event) = untold.first() {
            self.store.note(event)?;
            untold.remove(0);
        }
        changed.map(drop)
    }

    /// A new key, announced at once, or where others share the folder when they have it too. Not by a clock
    /// that is far ahead: a key of the future would be replaced in the future.
    pub fn rotate_keys(&self) -> Result<(), ServiceError> {
        let now = self.trusted_now().map_err(|_| ServiceError::Held)?;
        let now = now.unwrap_or(0);
        self.change_keys(|keyring| keyring.rotate(now))
    }

    /// The key that devices seal to.
    pub fn active_key(&self) -> Option<ShufflerKey> {
        let active = self.active.read().unwrap_or_else(PoisonError::into_inner);
        *active
    }

    /// Whether reports would be taken, as the last look found it.
    pub fn ready(&self) -> Result<(), NotReady> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(NotReady::Stopping);
        }
        if self.is_broken() {
            return Err(NotReady::Broken);
        }
        self.may_go_on()?;
        // What hangs does not come to say so.
        let since = self.clock.steady().saturating_sub(*self.looked_after());
        if since > STALE {
            let seconds = since.as_secs();
            return Err(NotReady::Stale { seconds });
        }
        let readiness = self
            .readiness
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        readiness.clone()
    }

    fn look_at_readiness(&self) {
        let found = self.look();
        let mut readiness = self
            .readiness
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *readiness = found;
    }

    /// Whether a thread of it has ended: then it is to end as a whole, and to be started again.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire) || !self.intake.is_whole()
    }

    fn looked_after(&self) -> MutexGuard<'_, Duration> {
        self.looked_after
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) -> Result<(), NotReady> {
        self.may_go_on()?;
        self.store.ready().map_err(|_| NotReady::Store)?;
        let now = self.clock.now().ok_or(NotReady::Clock)?;
        let behind = |served: &Served| {
            let first_open = served.open.first_open.load(Ordering::Acquire);
            // A window that was destroyed before its time is waited out, by its task alone.
            first_open != served.destroyed && served.open.schedule.open(now, first_open).is_empty()
        };
        if self.tasks.values().any(behind) {
            return Err(NotReady::Clock);
        }
        self.active_key().ok_or(NotReady::Key)?;
        Secure::new().map_err(|_| NotReady::Randomness)?;
        Ok(())
    }

    /// A thread that panics while it holds the keys leaves those of the folder.
    fn keyring(&self) -> MutexGuard<'_, Keyring> {
        self.keyring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Batches that were closed, and why others were not.
#[derive(Default)]
struct Closed {
    records: Vec<Record>,
    failed: Vec<StoreError>,
}

/// Destroys all batches that are open in a store that is not the one that was left, of the tasks that are
/// served and of those that ever were, and closes their windows: one of them may have been released with
/// more reports. Not even what is sealed later is then in a window of theirs.
fn destroy_open(
    store: &dyn Store,
    served: impl Iterator<Item = Bytes32>,
    found: &mut Found,
    now: u64,
) -> Result<(), ServiceError> {
    let tasks: BTreeSet<Bytes32> = served.chain(found.first_open.keys().copied()).collect();
    for id in tasks {
        let mut open = store.batches(&id, 0)?;
        open.retain(|record| record.state == State::Open);
        let first_open = found.first_open.entry(id).or_default();
        for record in &open {
            *first_open = record.name.window.saturating_add(1).max(*first_open);
        }
        *first_open = store.close_windows(&id, *first_open)?;
        for record in &open {
            store.close(&record.name, NEVER_ENOUGH, now)?;
        }
    }
    Ok(())
}

/// The store of a configuration. The master key of an embedded store is made where there is none; shufflers
/// that share a database share a master key, which none of them makes for itself.
pub fn open_store(config: &StoreConfig) -> Result<Arc<dyn Store>, ServiceError> {
    let master = &config.master_key;
    if !master.exists() {
        if config.postgres.is_some() {
            let path = master.display();
            let message = format!(
                "there is no store.master_key {path}, and all shufflers of a database have the same one: \
                 make it once (shuffledp keys master --out {path}), and give each of them a copy"
            );
            return Err(ServiceError::Config { message });
        }
        vault::make(master, 1)?;
    }
    let mut masters = vec![master];
    masters.extend(&config.older_master_keys);
    let vault = Vault::read(&masters)?;
    Ok(match &config.postgres {
        None => Arc::new(Embedded::open(&config.folder, vault)?),
        Some(connection) => Arc::new(Postgres::open(connection, vault)?),
    })
}

/// A request to stop, from the terminal or from whatever runs services.
pub async fn asked_to_stop() {
    let mut terminate = match signal(SignalKind::terminate()) {
        Ok(terminate) => terminate,
        Err(error) => {
            tracing::error!(%error, "SIGTERM is not heard");
            return std::future::pending().await;
        }
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// A shuffler with its addresses bound, not yet answering.
pub struct Listening {
    service: Arc<Service>,
    public: (TcpListener, SocketAddr),
    operator: (TcpListener, SocketAddr),
}

impl Listening {
    /// Binds the addresses of the configuration; a port of 0 is any free one.
    pub fn bind(service: Arc<Service>) -> Result<Self, ServiceError> {
        let bound = |address: SocketAddr| {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let bound = |address: SocketAddr| {
            bound(address).map_err(|error| ServiceError::Address { address, error })
        };
        let public = bound(service.config.listen)?;
        let operator = bound(service.config.operator_listen)?;
        Ok(Self {
            service,
            public,
            operator,
        })
    }

    /// Where devices and the analyzer connect.
    pub fn public(&self) -> SocketAddr {
        self.public.1
    }

    /// Where the operator connects.
    pub fn operator(&self) -> SocketAddr {
        self.operator.1
    }

    /// Answers until `stop` is ready; then takes what is under way, and returns. Blocks the thread.
    pub fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ServiceError> {
        let not_started = |error| ServiceError::NotStarted {
            what: "its runtime",
            error,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(not_started)?;
        let service = Arc::clone(&self.service);
        let done = Arc::new(AtomicBool::new(false));
        let (watched, looked_after) = (Arc::clone(&done), Arc::clone(&service));
        let (broke, breaks) = tokio::sync::oneshot::channel::<()>();
        let ticker = std::thread::Builder::new().name("tick".to_owned());
        let ticker = ticker.spawn(move || {
            // Dropped where this thread panics too: then the shuffler ends.
            let _broke = broke;
            while !watched.load(Ordering::Acquire) && !looked_after.is_broken() {
                looked_after.tick();
                std::thread::park_timeout(TICK);
            }
        });
        let ticker = ticker.map_err(not_started)?;
        let watched = Arc::clone(&service);
        let stop = async move {
            tokio::select! {
                () = stop => {}
                _ = breaks => watched.broken.store(true, Ordering::Release),
            }
        };
        let answered = runtime.block_on(self.answer(stop));
        done.store(true, Ordering::Release);
        ticker.thread().unpark();
        let panicked = ticker.join().is_err();
        answered?;
        match panicked || service.is_broken() {
            // Whoever looks after programs starts it again.
            true => Err(ServiceError::Broken),
            false => Ok(()),
        }
    }

    async fn answer(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServiceError> {
        let service = self.service;
        let (public, operator) = (axum_server::Handle::new(), axum_server::Handle::new());
        let handles = [public.clone(), operator.clone()];
        let stopped = Arc::clone(&service);
        tokio::spawn(async move {
            stop.await;
            stopped.stopping.store(true, Ordering::Release);
            tracing::info!("the shuffler stops");
            let patience = Duration::from_secs(stopped.config.limits.shutdown_seconds);
            for handle in handles {
                handle.graceful_shutdown(Some(patience));
            }
        });
        let limits = &service.config.limits;
        let tls = match &service.config.tls {
            None => None,
            Some(files) => {
                // Another provider may be installed already by the program that this is a part of.
                let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
                let tls = RustlsConfig::from_pem_file(&files.certificate, &files.key).await;
                Some(tls.map_err(|error| ServiceError::NotStarted { what: "TLS", error })?)
            }
        };
        let public_side = Side {
            listener: self.public.0,
            address: self.public.1,
            tls: tls.clone(),
            connections: limits.connections,
            patience: Duration::from_secs(limits.request_seconds),
            handle: public,
        };
        let operator_side = Side {
            listener: self.operator.0,
            address: self.operator.1,
            // On loopback nobody is in between.
            tls: tls.filter(|_| !self.operator.1.ip().is_loopback()),
            connections: CONNECTIONS_OF_OPERATORS.min(limits.connections),
            patience: Duration::from_secs(limits.request_seconds),
            handle: operator,
        };
        let (public, operator) = (
            http::public(Arc::clone(&service)),
            http::operator(Arc::clone(&service)),
        );
        tokio::try_join!(public_side.serve(public), operator_side.serve(operator))?;
        Ok(())
    }
}

/// One of the two addresses.
struct Side {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<RustlsConfig>,
    connections: usize,
    patience: Duration,
    handle: axum_server::Handle<SocketAddr>,
}

impl Side {
    async fn serve(self, routes: axum::Router) -> Result<(), ServiceError> {
        let address = self.address;
        let failed = |error| ServiceError::Address { address, error };
        let routes = routes.into_make_service();
        let most = self.connections;
        match self.tls {
            None => {
                let server = axum_server::from_tcp(self.listener).map_err(failed)?;
                let server = server.map(|acceptor| Limited::new(acceptor, most, self.patience));
                let mut server = server.http1_only();
                limit(server.http_builder(), self.patience);
                server.handle(self.handle).serve(routes).await
            }
            Some(tls) => {
                let server = axum_server::from_tcp_rustls(self.listener, tls).map_err(failed)?;
                let server = server.map(|acceptor| Limited::new(acceptor, most, self.patience));
                let mut server = server.http1_only();
                limit(server.http_builder(), self.patience);
                server.handle(self.handle).serve(routes).await
            }
        }
        .map_err(failed)
    }
}

/// Senders who do not finish their headers, or do not begin them, are let go. That needs a server of one
/// version of HTTP: one of several waits for a connection to say which.
fn limit(builder: &mut Builder<TokioExecutor>, patience: Duration) {
    let mut http = builder.http1();
    http.timer(TokioTimer::new());
    http.header_read_timeout(patience);
}
