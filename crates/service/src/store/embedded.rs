//! The store in a folder, for one program: `fjall`, a log-structured engine with one writer at a time. A
//! transaction is on disk (fsync) when it is committed.
//!
//! ```text
//! marks     task                             first open window
//! windows   task || window                   shelf || wrapped key of the tags; while the window is open
//! tags      shelf || blinded tag             nothing; while the window is open
//! batches   task || window || context        state, number, shelf, digest, wrapped key
//! rows      shelf || 128 random bits         encrypted row; while the batch is open
//! chunks    id || number                     encrypted bytes; while the batch may be read
//! journal   number                           entry
//! ```
//!
//! The rows of a batch are read and put into order outside of the writer's lock, so that other windows go on
//! taking reports meanwhile. Nothing is lost by that: its window is closed, so no transaction that began
//! after the mark was set adds a row, and transactions follow each other. The edge itself, with state, bytes,
//! digest and entry, is one transaction, which looks once more whether the batch is open.
//!
//! A *shelf* is 32 random bits under which the tags of one window, or the rows of one batch, are kept and
//! nothing else is. Keys of 20 bytes are what the engine holds in place: longer ones it compares through a
//! pointer, which took most of the time of a transaction.
//!
//! Tags of closed windows and rows of closed batches mean nothing any more. They are swept in transactions of
//! their own, and again when the store is opened: then what is on no shelf of an open one. A shelf is given
//! out again only when nothing is on it.

use crate::store::fault::{Boundary, at};
use crate::store::journal::{Entry, Event};
use crate::store::seal::{self, Closed, check_length, check_tags};
use crate::store::vault::{Blind, Cipher, Id, Key, Vault};
use crate::store::{Arrival, BatchName, Record, Store, StoreError, Taken};
use fjall::{
    KeyspaceCreateOptions, PersistMode, Readable, SingleWriterTxDatabase, SingleWriterTxKeyspace,
    SingleWriterWriteTx,
};
use serde::{Deserialize, Serialize};
use shuffledp_protocol::lifecycle::{self, State};
use shuffledp_protocol::task::Bytes32;
use shuffledp_randomizers::{Random, Secure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a sweep removes in one transaction: few enough that reports do not wait for it.
const SWEEP: usize = 10_000;

/// Bytes of a keyspace that are held in memory until they are written to a table. Of 8, 16 and 64 MiB the
/// one at which most reports a second were taken: larger ones are slow to search, smaller ones are merged
/// often.
const MEMTABLE: u64 = 16 << 20;

/// A store in a folder.
///
/// ```
/// use shuffledp_protocol::task::Bytes32;
/// use shuffledp_service::store::{Arrival, BatchName, Store, embedded::Embedded, vault::Vault};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let vault = Vault::new([(1, zeroize::Zeroizing::new([7; 32]))])?;
/// let store = Embedded::open(folder.path(), vault)?;
/// let batch = BatchName { task: Bytes32([1; 32]), window: 0, context: Bytes32([0; 32]) };
/// let report = Arrival { batch, tags: vec![Bytes32([2; 32])], row: b"sealed".to_vec(), dummy: false };
/// store.take(&[report])?;
/// store.close_windows(&batch.task, 1)?;
/// let record = store.close(&batch, 1, 0)?;
/// assert!(store.read(&batch)?.ends_with(b"sealed"));
/// # Ok(())
/// # }
/// ```
pub struct Embedded {
    vault: Vault,
    database: SingleWriterTxDatabase,
    marks: SingleWriterTxKeyspace,
    windows: SingleWriterTxKeyspace,
    tags: SingleWriterTxKeyspace,
    batches: SingleWriterTxKeyspace,
    rows: SingleWriterTxKeyspace,
    chunks: SingleWriterTxKeyspace,
    journal: SingleWriterTxKeyspace,
    /// Written to see whether the store can be.
    probe: SingleWriterTxKeyspace,
}

/// Where tags of a window or rows of a batch are.
type Shelf = [u8; 4];

/// What is known of the tags of an open window.
struct Tags {
    shelf: Shelf,
    blind: Blind,
}

/// A batch as it is stored.
#[derive(Clone, Serialize, Deserialize)]
struct Stored {
    name: BatchName,
    id: Id,
    state: State,
    /// While the batch is open.
    shelf: Option<Shelf>,
    row_length: usize,
    reports: Option<u64>,
    digest: Option<Bytes32>,
    closed: Option<u64>,
    /// Wrapped; gone with the reports.
    key: Option<Vec<u8>>,
}

impl Stored {
    fn record(&self) -> Record {
        Record {
            name: self.name,
            state: self.state,
            reports: self.reports,
            digest: self.digest,
            closed: self.closed,
        }
    }

    /// Where its rows are, if it is open.
    fn shelf(&self) -> Result<Shelf, StoreError> {
        let lost = || StoreError::Damaged("an open batch has no place for its rows".to_owned());
        self.shelf.ok_or_else(lost)
    }

    fn cipher(&self, vault: &Vault) -> Result<Cipher, StoreError> {
        let lost = || StoreError::Damaged("a batch that is not destroyed has no key".to_owned());
        let key = self.key.as_deref().ok_or_else(lost)?;
        vault.unwrap(&self.id, key)?.cipher(self.id)
    }
}

fn engine(error: fjall::Error) -> StoreError {
    StoreError::Engine(error.to_string())
}

fn window_key(task: &Bytes32, window: u64) -> Vec<u8> {
    [&task.0[..], &window.to_be_bytes()].concat()
}

fn batch_key(name: &BatchName) -> Vec<u8> {
    [&window_key(&name.task, name.window)[..], &name.context.0].concat()
}

/// To what the key of a window is bound when it is wrapped.
fn window_id(window: u64) -> Id {
    u128::from(window).to_be_bytes()
}

/// The shelf of a window's tags and their wrapped key.
fn window_value(bytes: &[u8]) -> Result<(Shelf, &[u8]), StoreError> {
    let (shelf, wrapped) = bytes.split_first_chunk().ok_or_else(|| {
        let message = "a window has no place for its tags";
        StoreError::Damaged(message.to_owned())
    })?;
    Ok((*shelf, wrapped))
}

/// A shelf that is not one of these, with nothing on it.
fn empty_shelf(
    tx: &SingleWriterWriteTx<'_>,
    keyspace: &SingleWriterTxKeyspace,
    taken: &[Shelf],
    random: &mut Secure,
) -> Shelf {
    let mut shelf = Shelf::default();
    loop {
        random.fill(&mut shelf);
        if !taken.contains(&shelf) && tx.prefix(keyspace, shelf).next().is_none() {
            return shelf;
        }
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| StoreError::Engine(error.to_string()))
}

fn from_json<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::Damaged(error.to_string()))
}

fn number(bytes: &[u8]) -> Result<u64, StoreError> {
    let bytes = bytes.try_into();
    let bytes = bytes.map_err(|_| StoreError::Damaged("a number is cut".to_owned()))?;
    Ok(u64::from_be_bytes(bytes))
}

impl Embedded {
    /// Opens the store of a folder, or makes one. Another program must not have it open. Every key that lives
    /// is then wrapped by the newest master: older ones can be destroyed.
    pub fn open(folder: &Path, vault: Vault) -> Result<Self, StoreError> {
        let database = SingleWriterTxDatabase::builder(folder).open();
        let database = database.map_err(engine)?;
        let keyspace = |name| {
            let keyspace = database.keyspace(name, || {
                KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE)
            });
            keyspace.map_err(engine)
        };
        let store = Self {
            vault,
            marks: keyspace("marks")?,
            windows: keyspace("windows")?,
            tags: keyspace("tags")?,
            batches: keyspace("batches")?,
            rows: keyspace("rows")?,
            chunks: keyspace("chunks")?,
            journal: keyspace("journal")?,
            probe: keyspace("probe")?,
            database,
        };
        store.rewrap()?;
        store.sweep()?;
        Ok(store)
    }

    fn write(&self) -> SingleWriterWriteTx<'_> {
        let sync = Some(PersistMode::SyncAll);
        self.database.write_tx().durability(sync)
    }

    fn commit(tx: SingleWriterWriteTx<'_>) -> Result<(), StoreError> {
        at(Boundary::BeforeCommit)?;
        tx.commit().map_err(engine)?;
        at(Boundary::AfterCommit)
    }

    fn first_open(&self, tx: &impl Readable, task: &Bytes32) -> Result<u64, StoreError> {
        let mark = tx.get(&self.marks, task.0).map_err(engine)?;
        mark.map_or(Ok(0), |mark| number(&mark))
    }

    fn stored(&self, tx: &impl Readable, name: &BatchName) -> Result<Stored, StoreError> {
        let stored = tx.get(&self.batches, batch_key(name)).map_err(engine)?;
        from_json(&stored.ok_or(StoreError::Unknown(*name))?)
    }

    fn append(&self, tx: &mut SingleWriterWriteTx<'_>, events: &[Event]) -> Result<(), StoreError> {
        let last = tx.last_key_value(&self.journal);
        let last = last.map(|last| from_json::<Entry>(&last.value().map_err(engine)?));
        let mut last = last.transpose()?;
        for event in events {
            let entry = Entry::after(last.as_ref(), event);
            tx.insert(&self.journal, entry.number.to_be_bytes(), to_json(&entry)?);
            last = Some(entry);
        }
        Ok(())
    }

    fn put(&self, tx: &mut SingleWriterWriteTx<'_>, stored: &Stored) -> Result<(), StoreError> {
        tx.insert(&self.batches, batch_key(&stored.name), to_json(stored)?);
        Ok(())
    }

    /// Every key that lives, wrapped by the newest master.
    fn rewrap(&self) -> Result<(), StoreError> {
        let mut tx = self.write();
        let mut changed = false;
        let windows: Vec<_> = tx.iter(&self.windows).map(|row| row.into_inner()).collect();
        for row in windows {
            let (name, value) = row.map_err(engine)?;
            let window = number(name.get(32..).unwrap_or_default())?;
            let (shelf, wrapped) = window_value(&value)?;
            if let Some(wrapped) = self.vault.rewrap(&window_id(window), wrapped)? {
                tx.insert(&self.windows, name, [&shelf[..], &wrapped].concat());
                changed = true;
            }
        }
        let batches: Vec<_> = tx.iter(&self.batches).map(|row| row.value()).collect();
        for row in batches {
            let mut stored: Stored = from_json(&row.map_err(engine)?)?;
            let Some(wrapped) = &stored.key else {
                continue;
            };
            if let Some(wrapped) = self.vault.rewrap(&stored.id, wrapped)? {
                stored.key = Some(wrapped);
                self.put(&mut tx, &stored)?;
                changed = true;
            }
        }
        match changed {
            true => Self::commit(tx),
            false => Ok(()),
        }
    }

    /// Removes what an interrupted sweep has left.
    fn sweep(&self) -> Result<(), StoreError> {
        let snapshot = self.database.read_tx();
        let mut open = BTreeSet::new();
        for window in snapshot.iter(&self.windows) {
            open.insert(window_value(&window.value().map_err(engine)?)?.0);
        }
        self.keep(&self.tags, &open)?;
        let mut open = BTreeSet::new();
        for stored in snapshot.iter(&self.batches) {
            let stored: Stored = from_json(&stored.value().map_err(engine)?)?;
            if stored.state == State::Open {
                open.insert(stored.shelf()?);
            }
        }
        self.keep(&self.rows, &open)
    }

    /// Removes what is on no shelf of these.
    fn keep(
        &self,
        keyspace: &SingleWriterTxKeyspace,
        shelves: &BTreeSet<Shelf>,
    ) -> Result<(), StoreError> {
        let snapshot = self.database.read_tx();
        let mut next = Some(Shelf::default());
        for shelf in shelves {
            if let Some(start) = next {
                self.remove(keyspace, snapshot.range(keyspace, start..*shelf))?;
            }
            let number = u32::from_be_bytes(*shelf);
            next = number.checked_add(1).map(u32::to_be_bytes);
        }
        match next {
            Some(start) => self.remove(keyspace, snapshot.range(keyspace, start..)),
            None => Ok(()),
        }
    }

    /// Removes these entries of a keyspace, some at a time.
    fn remove(
        &self,
        from: &SingleWriterTxKeyspace,
        entries: fjall::Iter,
    ) -> Result<(), StoreError> {
        let mut entries = entries.peekable();
        while entries.peek().is_some() {
            let mut tx = self.write();
            for entry in entries.by_ref().take(SWEEP) {
                tx.remove(from, entry.key().map_err(engine)?);
            }
            Self::commit(tx)?;
        }
        Ok(())
    }
}

/// What one call of `take` is about to write.
#[derive(Default)]
struct Intake {
    /// The first open window of each task.
    marks: BTreeMap<Bytes32, u64>,
    windows: BTreeMap<(Bytes32, u64), Tags>,
    batches: BTreeMap<BatchName, (Stored, Cipher)>,
    tags: BTreeSet<Vec<u8>>,
    /// Under their random keys, which puts them into an order that is not theirs.
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Embedded {
    fn take_one(
        &self,
        tx: &mut SingleWriterWriteTx<'_>,
        intake: &mut Intake,
        random: &mut Secure,
        report: &Arrival,
    ) -> Result<Taken, StoreError> {
        let name = &report.batch;
        let first_open = match intake.marks.get(&name.task) {
            Some(&mark) => mark,
            None => {
                let mark = self.first_open(tx, &name.task)?;
                intake.marks.insert(name.task, mark);
                mark
            }
        };
        if name.window < first_open {
            return Ok(Taken::Closed);
        }
        let window = (name.task, name.window);
        if !intake.windows.contains_key(&window) {
            let taken: Vec<Shelf> = intake.windows.values().map(|tags| tags.shelf).collect();
            let tags = self.window(tx, name, &taken, random)?;
            intake.windows.insert(window, tags);
        }
        let Tags { shelf, blind } = &intake.windows[&window];
        let tags = report.tags.iter();
        let tags = tags.map(|tag| [&shelf[..], &blind.tag(tag)].concat());
        let tags: Vec<Vec<u8>> = tags.collect();
        for tag in &tags {
            if intake.tags.contains(tag) || tx.contains_key(&self.tags, tag).map_err(engine)? {
                return Ok(Taken::Repeated);
            }
        }
        if !intake.batches.contains_key(name) {
            let taken = intake.batches.values();
            let taken: Vec<Shelf> = taken.filter_map(|(stored, _)| stored.shelf).collect();
            let batch = self.batch(tx, report, &taken, random)?;
            intake.batches.insert(*name, batch);
        }
        let (stored, cipher) = &intake.batches[name];
        check_length(&report.row, stored.row_length)?;
        let place = seal::id(random);
        let row = cipher.row(&place, &seal::marked(report))?;
        intake.tags.extend(tags);
        let place = [&stored.shelf()?[..], &place].concat();
        intake.rows.insert(place, row);
        Ok(Taken::New)
    }

    /// Shelf and key of a window's tags; new ones for a new window.
    fn window(
        &self,
        tx: &mut SingleWriterWriteTx<'_>,
        name: &BatchName,
        taken: &[Shelf],
        random: &mut Secure,
    ) -> Result<Tags, StoreError> {
        let (place, id) = (window_key(&name.task, name.window), window_id(name.window));
        if let Some(value) = tx.get(&self.windows, &place).map_err(engine)? {
            let (shelf, wrapped) = window_value(&value)?;
            let blind = self.vault.unwrap(&id, wrapped)?.blind();
            return Ok(Tags { shelf, blind });
        }
        let (shelf, key) = (empty_shelf(tx, &self.tags, taken, random), Key::new(random));
        let wrapped = self.vault.wrap(&id, &key)?;
        tx.insert(&self.windows, place, [&shelf[..], &wrapped].concat());
        let blind = key.blind();
        Ok(Tags { shelf, blind })
    }

    /// The open batch of a report; a new one for the first report.
    fn batch(
        &self,
        tx: &mut SingleWriterWriteTx<'_>,
        report: &Arrival,
        taken: &[Shelf],
        random: &mut Secure,
    ) -> Result<(Stored, Cipher), StoreError> {
        let name = report.batch;
        let stored = match self.stored(tx, &name) {
            Ok(stored) if stored.state == State::Open => stored,
            Ok(_) => {
                let message = "a batch of an open window is closed".to_owned();
                return Err(StoreError::Damaged(message));
            }
            Err(StoreError::Unknown(_)) => {
                let (id, key) = (seal::id(random), Key::new(random));
                let stored = Stored {
                    name,
                    id,
                    state: State::Open,
                    shelf: Some(empty_shelf(tx, &self.rows, taken, random)),
                    row_length: report.row.len(),
                    reports: None,
                    digest: None,
                    closed: None,
                    key: Some(self.vault.wrap(&id, &key)?),
                };
                self.put(tx, &stored)?;
                stored
            }
            Err(error) => return Err(error),
        };
        let cipher = stored.cipher(&self.vault)?;
        Ok((stored, cipher))
    }
}

impl Store for Embedded {
    fn take(&self, reports: &[Arrival]) -> Result<Vec<Taken>, StoreError> {
        check_tags(reports)?;
        let (mut random, mut intake) = (seal::random()?, Intake::default());
        let mut tx = self.write();
        let taken = reports.iter();
        let taken = taken.map(|report| self.take_one(&mut tx, &mut intake, &mut random, report));
        let taken = taken.collect::<Result<Vec<_>, _>>()?;
        if intake.rows.is_empty() {
            // What is there already is on disk: it was committed.
            return Ok(taken);
        }
        for tag in intake.tags {
            tx.insert(&self.tags, tag, []);
        }
        for (place, row) in intake.rows {
            tx.insert(&self.rows, place, row);
        }
        Self::commit(tx)?;
        Ok(taken)
    }

    fn close_windows(&self, task: &Bytes32, first_open: u64) -> Result<u64, StoreError> {
        let mut tx = self.write();
        let mark = self.first_open(&tx, task)?;
        if first_open <= mark {
            return Ok(mark);
        }
        tx.insert(&self.marks, task.0, first_open.to_be_bytes());
        let closed = window_key(task, mark)..window_key(task, first_open);
        let windows = tx.range(&self.windows, closed);
        let windows: Vec<_> = windows.map(|window| window.into_inner()).collect();
        let mut shelves = Vec::new();
        for window in windows {
            let (name, value) = window.map_err(engine)?;
            shelves.push(window_value(&value)?.0);
            tx.remove(&self.windows, name);
        }
        Self::commit(tx)?;
        let snapshot = self.database.read_tx();
        for shelf in shelves {
            self.remove(&self.tags, snapshot.prefix(&self.tags, shelf))?;
        }
        Ok(first_open)
    }

    fn close(&self, batch: &BatchName, smallest: u64, now: u64) -> Result<Record, StoreError> {
        let snapshot = self.database.read_tx();
        let first_open = self.first_open(&snapshot, &batch.task)?;
        let stored = self.stored(&snapshot, batch)?;
        if batch.window >= first_open {
            let batch = *batch;
            return Err(StoreError::WindowOpen { batch, first_open });
        }
        if stored.state != State::Open {
            return Ok(stored.record());
        }
        let (cipher, shelf) = (stored.cipher(&self.vault)?, stored.shelf()?);
        let mut rows = Vec::new();
        for row in snapshot.prefix(&self.rows, shelf) {
            let (place, row) = row.into_inner().map_err(engine)?;
            rows.push(cipher.open_row(&place[shelf.len()..], &row)?);
        }
        let closed = seal::close(batch, rows, smallest, &cipher)?;

        let mut tx = self.write();
        let mut stored = self.stored(&tx, batch)?;
        if stored.state != State::Open {
            return Ok(stored.record());
        }
        let Closed { state, digest, .. } = closed;
        (stored.state, stored.shelf, stored.digest) = (state, None, digest);
        (stored.reports, stored.closed) = (Some(closed.reports), Some(now));
        if state == State::Expired {
            stored.key = None;
        }
        self.put(&mut tx, &stored)?;
        for (number, chunk) in (0_u32..).zip(closed.chunks) {
            let place = [&stored.id[..], &number.to_be_bytes()].concat();
            tx.insert(&self.chunks, place, chunk);
        }
        self.append(&mut tx, &[closed.event])?;
        Self::commit(tx)?;
        self.remove(&self.rows, snapshot.prefix(&self.rows, shelf))?;
        Ok(stored.record())
    }

    fn batches(&self, task: &Bytes32, from: u64) -> Result<Vec<Record>, StoreError> {
        let snapshot = self.database.read_tx();
        let last = BatchName {
            task: *task,
            window: u64::MAX,
            context: Bytes32([0xff; 32]),
        };
        let batches = snapshot.range(&self.batches, window_key(task, from)..=batch_key(&last));
        let batches = batches.map(|stored| {
            let stored: Stored = from_json(&stored.value().map_err(engine)?)?;
            Ok(stored.record())
        });
        batches.collect()
    }

    fn rows(&self, task: &Bytes32) -> Result<Vec<(BatchName, u64)>, StoreError> {
        let snapshot = self.database.read_tx();
        let mut rows = Vec::new();
        for stored in snapshot.prefix(&self.batches, task.0) {
            let stored: Stored = from_json(&stored.value().map_err(engine)?)?;
            if stored.state == State::Open {
                let held = snapshot.prefix(&self.rows, stored.shelf()?).count();
                rows.push((stored.name, held as u64));
            }
        }
        Ok(rows)
    }

    fn read(&self, batch: &BatchName) -> Result<Vec<u8>, StoreError> {
        let snapshot = self.database.read_tx();
        let stored = self.stored(&snapshot, batch)?;
        seal::may_be_read(stored.state)?;
        let chunks = snapshot.prefix(&self.chunks, stored.id);
        let chunks = chunks.map(|chunk| Ok(chunk.value().map_err(engine)?.to_vec()));
        seal::bytes(&stored.cipher(&self.vault)?, chunks, stored.digest)
    }

    fn acknowledge(&self, batch: &BatchName, digest: &Bytes32) -> Result<Record, StoreError> {
        let mut tx = self.write();
        let mut stored = self.stored(&tx, batch)?;
        let next = seal::acknowledged(stored.state, stored.digest, *digest)?;
        if next == stored.state {
            return Ok(stored.record());
        }
        stored.state = next;
        self.put(&mut tx, &stored)?;
        let (batch, digest) = (*batch, *digest);
        self.append(&mut tx, &[Event::Released { batch, digest }])?;
        Self::commit(tx)?;
        Ok(stored.record())
    }

    fn shred(&self, batch: &BatchName) -> Result<Record, StoreError> {
        let mut tx = self.write();
        let mut stored = self.stored(&tx, batch)?;
        stored.state = stored.state.after(lifecycle::Event::Shred)?;
        stored.key = None;
        self.put(&mut tx, &stored)?;
        let chunks = tx.prefix(&self.chunks, stored.id);
        let chunks: Vec<_> = chunks.map(|chunk| chunk.key()).collect();
        for chunk in chunks {
            tx.remove(&self.chunks, chunk.map_err(engine)?);
        }
        self.append(&mut tx, &[Event::Shredded { batch: *batch }])?;
        Self::commit(tx)?;
        Ok(stored.record())
    }

    fn note(&self, event: &str) -> Result<(), StoreError> {
        let mut tx = self.write();
        let text = event.to_owned();
        self.append(&mut tx, &[Event::Note { text }])?;
        Self::commit(tx)
    }

    fn journal(&self) -> Result<Vec<Entry>, StoreError> {
        let snapshot = self.database.read_tx();
        let entries = snapshot.iter(&self.journal);
        let entries = entries.map(|entry| from_json(&entry.value().map_err(engine)?));
        entries.collect()
    }

    fn entry(&self, number: u64) -> Result<Option<Entry>, StoreError> {
        let snapshot = self.database.read_tx();
        let entry = snapshot.get(&self.journal, number.to_be_bytes());
        let entry = entry.map_err(engine)?;
        entry.map(|entry| from_json(&entry)).transpose()
    }

    fn last_entry(&self) -> Result<Option<Entry>, StoreError> {
        let last = self.database.read_tx().last_key_value(&self.journal);
        let last = last.map(|last| from_json(&last.value().map_err(engine)?));
        last.transpose()
    }

    fn ready(&self) -> Result<(), StoreError> {
        let mut tx = self.write();
        tx.insert(&self.probe, [0], [0]);
        Self::commit(tx)
    }
}
