//! The store in a PostgreSQL database of its own, for several shufflers at once.
//!
//! ```text
//! marks     task: first open window
//! windows   task, window: id, wrapped key of the tags; while the window is open
//! tags      id of the window, blinded tag; while the window is open
//! batches   task, window, context: id, state, number, digest, wrapped key
//! reports   id of the batch, 128 random bits: encrypted row; while the batch is open
//! chunks    id of the batch, number: encrypted bytes; while the batch may be read
//! journal   number: entry
//! ```
//!
//! Who waits for whom, under READ COMMITTED:
//!
//! * Taking reports holds the lock of their task shared, closing windows holds it alone. So once windows are
//!   closed no transaction that saw them open is under way, and what comes later sees the mark. The lock is
//!   an advisory one and not a row's: it queues, so that those who share it cannot keep the closer out, and
//!   it writes nothing. Two tasks may share a lock; they then wait for each other and lose nothing.
//! * Whoever closes, acknowledges or shreds a batch holds its row (`FOR UPDATE`).
//! * Tags are inserted before reports, sorted. A tag that another transaction is inserting is waited for.
//! * The journal is locked last, when there is nothing left to wait for.
//!
//! A deadlock, which PostgreSQL resolves by refusing one transaction, is tried again.
//!
//! The connection is not encrypted: it belongs on a local socket or a private network. Rows are encrypted and
//! tags blinded before they are sent.
//!
//! Calls block, and must not be made on a thread of an asynchronous runtime.

use crate::store::fault::{Boundary, at};
use crate::store::journal::{Entry, Event};
use crate::store::seal::{self, check_length, check_tags};
use crate::store::vault::{Cipher, Id, Key, Vault};
use crate::store::{Arrival, BatchName, Record, Store, StoreError, Taken};
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, IsolationLevel, NoTls, Row, Transaction};
use sha2::{Digest, Sha256};
use shuffledp_protocol::lifecycle::{self, NoEdge, State};
use shuffledp_protocol::task::Bytes32;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often a transaction is tried that PostgreSQL refuses because of others. Each time one of them has gone
/// on, so that a few times are enough.
const ATTEMPTS: usize = 10;
/// Connections of one shuffler: a database has a hundred by default, for all its clients.
const MOST_CONNECTIONS: usize = 16;
/// Of these, those that are kept for taking reports.
const FOR_REPORTS: usize = 4;

/// How long a connection may take to be made, and data on it to be confirmed: a machine that is gone does not
/// say so.
const CONNECT: Duration = Duration::from_secs(10);
const CONFIRM: Duration = Duration::from_secs(30);
/// What PostgreSQL ends by itself. A batch of millions is read by one statement; who waits for another
/// shuffler's transaction tries again later.
const LIMITS: &str =
    "set synchronous_commit = on; set statement_timeout = '10min'; set lock_timeout = '1min';
                      set idle_in_transaction_session_timeout = '10min'";
/// Whether the store can be written is to be known soon.
const SOON: &str = "set local statement_timeout = '10s'; set local lock_timeout = '10s'";

/// No serial numbers and no times: nothing in a row tells when it came.
const SCHEMA: &str = "
create table if not exists marks (
    task bytea primary key,
    first_open bytea not null
);
create table if not exists windows (
    id bytea primary key,
    task bytea not null,
    number bytea not null,
    key bytea not null,
    unique (task, number)
);
create table if not exists tags (
    holder bytea,
    tag bytea,
    primary key (holder, tag)
);
create table if not exists batches (
    id bytea primary key,
    task bytea not null,
    number bytea not null,
    context bytea not null,
    state text not null,
    row_length bigint not null,
    reports bigint,
    digest bytea,
    closed bigint,
    key bytea,
    unique (task, number, context)
);
create table if not exists reports (
    batch bytea,
    place bytea,
    sealed bytea not null,
    primary key (batch, place)
);
create table if not exists chunks (
    batch bytea,
    number bigint,
    sealed bytea not null,
    primary key (batch, number)
);
create table if not exists journal (
    number bigint primary key,
    previous bytea not null,
    event text not null,
    hash bytea not null
);
create table if not exists probe (
    one boolean primary key
);
";

/// A store in a database.
///
/// ```no_run
/// use shuffledp_service::store::{Store, postgres::Postgres, vault::Vault};
/// # fn main() -> Result<(), shuffledp_service::store::StoreError> {
/// let vault = Vault::new([(1, zeroize::Zeroizing::new([7; 32]))])?;
/// let store = Postgres::open("host=/run/postgresql dbname=shuffler user=shuffler", vault)?;
/// store.ready()?;
/// # Ok(())
/// # }
/// ```
pub struct Postgres {
    vault: Vault,
    config: Config,
    pool: Mutex<Pool>,
    returned: Condvar,
}

/// Connections that nobody uses, and how many are in use.
#[derive(Default)]
struct Pool {
    idle: Vec<Client>,
    used: usize,
}

/// A place among the connections, given back when it is dropped.
struct Place<'p> {
    store: &'p Postgres,
    /// A connection that can be used again.
    client: Option<Client>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut pool = self
            .store
            .pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pool.used -= 1;
        pool.idle.extend(self.client.take());
        drop(pool);
        self.store.returned.notify_all();
    }
}

/// Why a transaction was left.
enum Failure {
    Store(StoreError),
    Engine(postgres::Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<postgres::Error> for Failure {
    fn from(error: postgres::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<NoEdge> for Failure {
    fn from(error: NoEdge) -> Self {
        Self::Store(error.into())
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Store(error) => error,
            Failure::Engine(error) => match error.as_db_error() {
                Some(told) => Self::Engine(told.to_string()),
                None => Self::Engine(error.to_string()),
            },
        }
    }
}

impl Failure {
    /// Whether the transaction was refused because of others, and did nothing.
    fn is_conflict(&self) -> bool {
        let conflicts = [
            &SqlState::T_R_SERIALIZATION_FAILURE,
            &SqlState::T_R_DEADLOCK_DETECTED,
        ];
        match self {
            Self::Engine(error) => error.code().is_some_and(|code| conflicts.contains(&code)),
            Self::Store(_) => false,
        }
    }
}

/// A batch as it is stored.
struct Stored {
    id: Id,
    record: Record,
    row_length: usize,
    /// Wrapped; gone with the reports.
    key: Option<Vec<u8>>,
}

const COLUMNS: &str = "id, task, number, context, state, row_length, reports, digest, key, closed";

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(what.to_owned())
}

fn array<const N: usize>(row: &Row, column: usize) -> Result<[u8; N], Failure> {
    let bytes: &[u8] = row.try_get(column)?;
    let array = bytes.try_into().map_err(|_| damaged("a field is cut"))?;
    Ok(array)
}

fn unsigned(number: i64) -> Result<u64, StoreError> {
    number
        .try_into()
        .map_err(|_| damaged("a number is negative"))
}

fn signed(number: u64) -> Result<i64, StoreError> {
    let large = || StoreError::Engine("a number is too large for the database".to_owned());
    number.try_into().map_err(|_| large())
}

impl Stored {
    fn of(row: &Row) -> Result<Self, Failure> {
        let name: &str = row.try_get(4)?;
        let state = State::ALL.into_iter().find(|state| state.name() == name);
        let reports: Option<i64> = row.try_get(6)?;
        let digest: Option<&[u8]> = row.try_get(7)?;
        let digest = digest.map(|digest| digest.try_into().map(Bytes32));
        let length: i64 = row.try_get(5)?;
        let closed: Option<i64> = row.try_get(9)?;
        Ok(Self {
            id: array(row, 0)?,
            record: Record {
                name: BatchName {
                    task: Bytes32(array(row, 1)?),
                    window: u64::from_be_bytes(array(row, 2)?),
                    context: Bytes32(array(row, 3)?),
                },
                state: state.ok_or_else(|| damaged("a state that there is not"))?,
                reports: reports.map(unsigned).transpose()?,
                digest: digest.transpose().map_err(|_| damaged("a digest is cut"))?,
                closed: closed.map(unsigned).transpose()?,
            },
            row_length: usize::try_from(length).map_err(|_| damaged("a length is negative"))?,
            key: row.try_get(8)?,
        })
    }

    fn find(
        tx: &mut Transaction<'_>,
        name: &BatchName,
        lock: &str,
    ) -> Result<Option<Self>, Failure> {
        let query = format!(
            "select {COLUMNS} from batches where task = $1 and number = $2 and context = $3 {lock}"
        );
        let (task, window) = (&name.task.0[..], &name.window.to_be_bytes()[..]);
        let context = &name.context.0[..];
        let name =
            [&task, &window, &context].map(|part| (part as &(dyn ToSql + Sync), Type::BYTEA));
        let row = tx.query_typed_opt(&query, &name)?;
        row.as_ref().map(Self::of).transpose()
    }

    /// The batch, which nobody else changes until the transaction ends.
    fn locked(tx: &mut Transaction<'_>, name: &BatchName) -> Result<Self, Failure> {
        let stored = Self::find(tx, name, "for update")?;
        Ok(stored.ok_or(StoreError::Unknown(*name))?)
    }

    fn cipher(&self, vault: &Vault) -> Result<Cipher, StoreError> {
        let lost = || damaged("a batch that is not destroyed has no key");
        let key = self.key.as_deref().ok_or_else(lost)?;
        vault.unwrap(&self.id, key)?.cipher(self.id)
    }

    /// Writes what can change.
    fn put(&self, tx: &mut Transaction<'_>) -> Result<(), Failure> {
        let Record {
            state,
            reports,
            digest,
            closed,
            ..
        } = self.record;
        let reports = reports.map(signed).transpose()?;
        let closed = closed.map(signed).transpose()?;
        let digest = digest.as_ref().map(|digest| &digest.0[..]);
        let query = "update batches
                     set state = $2, reports = $3, digest = $4, key = $5, closed = $6 where id = $1";
        execute(
            tx,
            query,
            &[
                (&&self.id[..], Type::BYTEA),
                (&state.name(), Type::TEXT),
                (&reports, Type::INT8),
                (&digest, Type::BYTEA),
                (&self.key, Type::BYTEA),
                (&closed, Type::INT8),
            ],
        )
    }
}

/// A statement of which nothing comes back.
fn execute(
    tx: &mut Transaction<'_>,
    query: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
) -> Result<(), Failure> {
    tx.execute_typed(query, parameters)?;
    Ok(())
}

/// The number of the advisory lock of a task.
fn lock_number(task: &Bytes32) -> i64 {
    let hash = Sha256::new()
        .chain_update(b"shuffledp/1 lock")
        .chain_update(task.0)
        .finalize();
    let mut number = [0; 8];
    number.copy_from_slice(&hash[..8]);
    i64::from_be_bytes(number)
}

fn first_open(tx: &mut Transaction<'_>, task: &Bytes32) -> Result<u64, Failure> {
    let query = "select first_open from marks where task = $1";
    let row = tx.query_typed_opt(query, &[(&&task.0[..], Type::BYTEA)])?;
    let mark = row.map(|row| array(&row, 0).map(u64::from_be_bytes));
    Ok(mark.transpose()?.unwrap_or(0))
}

fn entry(row: &Row) -> Result<Entry, Failure> {
    Ok(Entry {
        number: unsigned(row.try_get(0)?)?,
        previous: Bytes32(array(row, 1)?),
        event: row.try_get(2)?,
        hash: Bytes32(array(row, 3)?),
    })
}

fn last_entry(tx: &mut Transaction<'_>) -> Result<Option<Entry>, Failure> {
    let query = "select number, previous, event, hash from journal order by number desc limit 1";
    let row = tx.query_typed_opt(query, &[])?;
    row.as_ref().map(entry).transpose()
}

/// Adds to the journal: the last thing that a transaction does.
fn append(tx: &mut Transaction<'_>, events: &[Event]) -> Result<(), Failure> {
    tx.batch_execute("lock table journal in exclusive mode")?;
    let mut last = last_entry(tx)?;
    for event in events {
        let entry = Entry::after(last.as_ref(), event);
        execute(
            tx,
            "insert into journal (number, previous, event, hash) values ($1, $2, $3, $4)",
            &[
                (&signed(entry.number)?, Type::INT8),
                (&&entry.previous.0[..], Type::BYTEA),
                (&entry.event, Type::TEXT),
                (&&entry.hash.0[..], Type::BYTEA),
            ],
        )?;
        last = Some(entry);
    }
    Ok(())
}

impl Postgres {
    /// Opens the store of a database, or makes its tables. Every key that lives is then wrapped by the newest
    /// master. Shufflers that share a database share its masters: one that does not have the newest yet fails
    /// until it is started with it.
    pub fn open(connection: &str, vault: Vault) -> Result<Self, StoreError> {
        let mut config = connection.parse::<Config>().map_err(Failure::from)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(CONFIRM);
        }
        config.keepalives_idle(CONFIRM);
        let store = Self {
            vault,
            config,
            pool: Mutex::default(),
            returned: Condvar::new(),
        };
        store.transact(|tx| {
            // Two programs that make the same table at the same time would fail.
            execute(tx, "select pg_advisory_xact_lock(0)", &[])?;
            tx.batch_execute("set local client_min_messages = warning")?;
            tx.batch_execute(SCHEMA)?;
            Ok(())
        })?;
        store.transact(|tx| store.rewrap(tx))?;
        // What an interrupted call has left.
        store.transact(|tx| {
            let orphans = "delete from tags where holder not in (select id from windows)";
            execute(tx, orphans, &[])
        })?;
        Ok(store)
    }

    /// A place among so many connections at most; waits for one.
    fn place(&self, most: usize) -> Place<'_> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        while pool.used >= most {
            let waited = self.returned.wait(pool);
            pool = waited.unwrap_or_else(PoisonError::into_inner);
        }
        pool.used += 1;
        let client = pool.idle.pop();
        drop(pool);
        Place {
            store: self,
            client: client.filter(|client| !client.is_closed()),
        }
    }

    fn connect(&self) -> Result<Client, Failure> {
        let mut client = self.config.connect(NoTls)?;
        client.batch_execute(LIMITS)?;
        Ok(client)
    }

    /// One transaction, made again where others were in its way.
    fn transact<T>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        self.transact_among(MOST_CONNECTIONS - FOR_REPORTS, work)
    }

    /// The same among so many connections at most.
    fn transact_among<T>(
        &self,
        most: usize,
        mut work: impl FnMut(&mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.attempt(most, &mut work) {
                Err(failure) if failure.is_conflict() && attempt < ATTEMPTS => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    fn attempt<T>(
        &self,
        most: usize,
        work: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut place = self.place(most);
        let mut client = match place.client.take() {
            Some(client) => client,
            None => self.connect()?,
        };
        let outcome = Self::run(&mut client, work);
        // A connection on which something failed is not used again.
        if !matches!(outcome, Err(Failure::Engine(_))) {
            place.client = Some(client);
        }
        outcome
    }

    fn run<T>(
        client: &mut Client,
        work: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // Whatever the server's default is: under a stricter level a mark that was waited for is not seen.
        let level = IsolationLevel::ReadCommitted;
        let mut tx = client.build_transaction().isolation_level(level).start()?;
        let value = work(&mut tx)?;
        at(Boundary::BeforeCommit)?;
        tx.commit()?;
        at(Boundary::AfterCommit)?;
        Ok(value)
    }

    fn rewrap(&self, tx: &mut Transaction<'_>) -> Result<(), Failure> {
        for table in ["batches", "windows"] {
            let query =
                format!("select id, key from {table} where key is not null order by id for update");
            let change = format!("update {table} set key = $2 where id = $1");
            for row in tx.query_typed(&query, &[])? {
                let (id, wrapped): (Id, &[u8]) = (array(&row, 0)?, row.try_get(1)?);
                if let Some(wrapped) = self.vault.rewrap(&id, wrapped)? {
                    let id = (&&id[..] as &(dyn ToSql + Sync), Type::BYTEA);
                    execute(tx, &change, &[id, (&wrapped, Type::BYTEA)])?;
                }
            }
        }
        Ok(())
    }

    /// The key of a window's tags and its id; a new one for a new window.
    fn window(
        &self,
        tx: &mut Transaction<'_>,
        task: &Bytes32,
        window: u64,
    ) -> Result<(Id, Key), Failure> {
        let query = "select id, key from windows where task = $1 and number = $2";
        let (task, window) = (&task.0[..], &window.to_be_bytes()[..]);
        let name = [&task, &window].map(|part| (part as &(dyn ToSql + Sync), Type::BYTEA));
        let mut row = tx.query_typed_opt(query, &name)?;
        if row.is_none() {
            let mut random = seal::random()?;
            let id = seal::id(&mut random);
            let key = self.vault.wrap(&id, &Key::new(&mut random))?;
            let insert = "insert into windows (task, number, id, key) values ($1, $2, $3, $4)
                          on conflict do nothing";
            let [task, window] = name.clone();
            let id = (&&id[..] as &(dyn ToSql + Sync), Type::BYTEA);
            execute(tx, insert, &[task, window, id, (&key, Type::BYTEA)])?;
            // Somebody else's, if there was a conflict.
            row = tx.query_typed_opt(query, &name)?;
        }
        let row = row.ok_or_else(|| damaged("a window that was made is not there"))?;
        let id = array(&row, 0)?;
        let key = self.vault.unwrap(&id, row.try_get(1)?)?;
        Ok((id, key))
    }

    /// The open batch of reports of this length; a new one for the first.
    fn batch(
        &self,
        tx: &mut Transaction<'_>,
        name: &BatchName,
        row_length: usize,
    ) -> Result<Stored, Failure> {
        if let Some(stored) = Stored::find(tx, name, "")? {
            return match stored.record.state {
                State::Open => Ok(stored),
                _ => Err(damaged("a batch of an open window is closed").into()),
            };
        }
        let mut random = seal::random()?;
        let id = seal::id(&mut random);
        let key = self.vault.wrap(&id, &Key::new(&mut random))?;
        let insert = "insert into batches (id, task, number, context, state, row_length, key)
                      values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing";
        execute(
            tx,
            insert,
            &[
                (&&id[..], Type::BYTEA),
                (&&name.task.0[..], Type::BYTEA),
                (&&name.window.to_be_bytes()[..], Type::BYTEA),
                (&&name.context.0[..], Type::BYTEA),
                (&State::Open.name(), Type::TEXT),
                (&signed(row_length as u64)?, Type::INT8),
                (&key, Type::BYTEA),
            ],
        )?;
        let stored = Stored::find(tx, name, "")?;
        let lost = || damaged("a batch that was made is not there");
        Ok(stored.ok_or_else(lost)?)
    }

    fn take_all(
        &self,
        tx: &mut Transaction<'_>,
        reports: &[Arrival],
    ) -> Result<Vec<Taken>, Failure> {
        // In the order of their numbers: whoever takes several locks takes them in the same order.
        let tasks: BTreeMap<i64, Vec<Bytes32>> =
            reports.iter().fold(BTreeMap::new(), |mut tasks, report| {
                let of: &mut Vec<_> = tasks.entry(lock_number(&report.batch.task)).or_default();
                if !of.contains(&report.batch.task) {
                    of.push(report.batch.task);
                }
                tasks
            });
        let mut marks = BTreeMap::new();
        for (lock, tasks) in tasks {
            let query = "select pg_advisory_xact_lock_shared($1)";
            execute(tx, query, &[(&lock, Type::INT8)])?;
            for task in tasks {
                marks.insert(task, first_open(tx, &task)?);
            }
        }
        let mut taken: Vec<Taken> = reports
            .iter()
            .map(
                |report| match report.batch.window < marks[&report.batch.task] {
                    true => Taken::Closed,
                    false => Taken::New,
                },
            )
            .collect();
        self.sift(tx, reports, &mut taken)?;
        let mut groups: BTreeMap<BatchName, Vec<&Arrival>> = BTreeMap::new();
        for (report, _) in chosen(reports, &taken) {
            groups.entry(report.batch).or_default().push(report);
        }
        let mut random = seal::random()?;
        // Under their random keys, which puts them into an order that is not theirs.
        let mut rows: BTreeMap<(Id, Id), Vec<u8>> = BTreeMap::new();
        for (batch, reports) in groups {
            let stored = self.batch(tx, &batch, reports[0].row.len())?;
            let cipher = stored.cipher(&self.vault)?;
            for report in reports {
                check_length(&report.row, stored.row_length)?;
                let place = seal::id(&mut random);
                rows.insert(
                    (stored.id, place),
                    cipher.row(&place, &seal::marked(report))?,
                );
            }
        }
        if !rows.is_empty() {
            let batches: Vec<&[u8]> = rows.keys().map(|(batch, _)| &batch[..]).collect();
            let places: Vec<&[u8]> = rows.keys().map(|(_, place)| &place[..]).collect();
            let rows: Vec<&[u8]> = rows.values().map(|row| &row[..]).collect();
            execute(
                tx,
                "insert into reports (batch, place, sealed) select * from unnest($1, $2, $3)",
                &[
                    (&batches, Type::BYTEA_ARRAY),
                    (&places, Type::BYTEA_ARRAY),
                    (&rows, Type::BYTEA_ARRAY),
                ],
            )?;
        }
        Ok(taken)
    }

    /// Marks what came before as repeated, and leaves the tags of everything else.
    fn sift(
        &self,
        tx: &mut Transaction<'_>,
        reports: &[Arrival],
        taken: &mut [Taken],
    ) -> Result<(), Failure> {
        let mut windows = BTreeMap::new();
        for (report, _) in chosen(reports, taken) {
            windows.insert((report.batch.task, report.batch.window), None);
        }
        for ((task, window), key) in &mut windows {
            let (id, found) = self.window(tx, task, *window)?;
            *key = Some((id, found.blind()));
        }
        let mut blinded: Vec<(usize, Vec<(Id, Id)>)> = Vec::new();
        for (report, index) in chosen(reports, taken) {
            if let Some(Some((id, blind))) = windows.get(&(report.batch.task, report.batch.window))
            {
                let tags = report.tags.iter().map(|tag| (*id, blind.tag(tag)));
                blinded.push((index, tags.collect()));
            }
        }
        let mut all: Vec<(Id, Id)> = blinded.iter().flat_map(|(_, tags)| tags.clone()).collect();
        all.sort_unstable();
        all.dedup();
        let inserted = tags_statement(
            tx,
            "insert into tags (holder, tag)
             select holder, tag from unnest($1, $2) as new (holder, tag) order by holder, tag
             on conflict do nothing returning holder, tag",
            &all,
        )?;
        let mut claimed = HashSet::new();
        for (index, tags) in blinded {
            let new = |tag| inserted.contains(tag) && !claimed.contains(tag);
            match tags.iter().all(new) {
                true => claimed.extend(tags),
                false => taken[index] = Taken::Repeated,
            }
        }
        // A report that is not taken leaves no tag: nobody keeps another's report out with one.
        let unclaimed: Vec<(Id, Id)> = inserted.difference(&claimed).copied().collect();
        let query = "delete from tags using unnest($1, $2) as old (holder, tag)
                     where tags.holder = old.holder and tags.tag = old.tag
                     returning tags.holder, tags.tag";
        tags_statement(tx, query, &unclaimed)?;
        Ok(())
    }
}

/// The reports that are still to be taken, and where they stand.
fn chosen<'r>(
    reports: &'r [Arrival],
    taken: &[Taken],
) -> impl Iterator<Item = (&'r Arrival, usize)> {
    let reports = reports.iter().zip(0..).zip(taken);
    let reports = reports.filter(|(_, taken)| **taken == Taken::New);
    reports.map(|(report, _)| report)
}

/// A statement about tags. Gives those that it concerned.
fn tags_statement(
    tx: &mut Transaction<'_>,
    query: &str,
    tags: &[(Id, Id)],
) -> Result<HashSet<(Id, Id)>, Failure> {
    if tags.is_empty() {
        return Ok(HashSet::new());
    }
    let holders: Vec<&[u8]> = tags.iter().map(|(holder, _)| &holder[..]).collect();
    let tags: Vec<&[u8]> = tags.iter().map(|(_, tag)| &tag[..]).collect();
    let parameters: [(&(dyn ToSql + Sync), Type); 2] =
        [(&holders, Type::BYTEA_ARRAY), (&tags, Type::BYTEA_ARRAY)];
    let rows = tx.query_typed(query, &parameters)?;
    rows.iter()
        .map(|row| Ok((array(row, 0)?, array(row, 1)?)))
        .collect()
}

impl Store for Postgres {
    fn take(&self, reports: &[Arrival]) -> Result<Vec<Taken>, StoreError> {
        check_tags(reports)?;
        self.transact_among(MOST_CONNECTIONS, |tx| self.take_all(tx, reports))
    }

    fn close_windows(&self, task: &Bytes32, until: u64) -> Result<u64, StoreError> {
        let mark = self.transact(|tx| first_open(tx, task))?;
        if until <= mark {
            return Ok(mark);
        }
        let (mark, closed) = self.transact(|tx| {
            let query = "select pg_advisory_xact_lock($1)";
            execute(tx, query, &[(&lock_number(task), Type::INT8)])?;
            let mark = first_open(tx, task)?;
            if until <= mark {
                return Ok((mark, Vec::new()));
            }
            let name: [(&(dyn ToSql + Sync), Type); 2] = [
                (&&task.0[..], Type::BYTEA),
                (&&until.to_be_bytes()[..], Type::BYTEA),
            ];
            let query = "insert into marks (task, first_open) values ($1, $2)
                         on conflict (task) do update set first_open = excluded.first_open";
            execute(tx, query, &name)?;
            let query = "delete from windows where task = $1 and number < $2 returning id";
            let rows = tx.query_typed(query, &name)?;
            let closed = rows.iter().map(|row| Ok(row.try_get(0)?));
            Ok((until, closed.collect::<Result<Vec<Vec<u8>>, Failure>>()?))
        })?;
        if !closed.is_empty() {
            let query = "delete from tags where holder = any($1)";
            self.transact(|tx| execute(tx, query, &[(&closed, Type::BYTEA_ARRAY)]))?;
        }
        Ok(mark)
    }

    fn close(&self, batch: &BatchName, smallest: u64, now: u64) -> Result<Record, StoreError> {
        self.transact(|tx| {
            let mut stored = Stored::locked(tx, batch)?;
            let first_open = first_open(tx, &batch.task)?;
            if batch.window >= first_open {
                let batch = *batch;
                return Err(StoreError::WindowOpen { batch, first_open }.into());
            }
            if stored.record.state != State::Open {
                return Ok(stored.record);
            }
            let cipher = stored.cipher(&self.vault)?;
            let id: [(&(dyn ToSql + Sync), Type); 1] = [(&&stored.id[..], Type::BYTEA)];
            let mut rows = Vec::new();
            let query = "select place, sealed from reports where batch = $1";
            let mut sealed = tx.query_typed_raw(query, id.iter().cloned())?;
            while let Some(row) = sealed.next()? {
                rows.push(cipher.open_row(row.try_get(0)?, row.try_get(1)?)?);
            }
            drop(sealed);
            let closed = seal::close(batch, rows, smallest, &cipher)?;
            execute(tx, "delete from reports where batch = $1", &id)?;
            for (number, chunk) in (0_i64..).zip(&closed.chunks) {
                execute(
                    tx,
                    "insert into chunks (batch, number, sealed) values ($1, $2, $3)",
                    &[id[0].clone(), (&number, Type::INT8), (chunk, Type::BYTEA)],
                )?;
            }
            let record = &mut stored.record;
            (record.state, record.digest) = (closed.state, closed.digest);
            (record.reports, record.closed) = (Some(closed.reports), Some(now));
            if closed.state == State::Expired {
                stored.key = None;
            }
            stored.put(tx)?;
            append(tx, &[closed.event])?;
            Ok(stored.record)
        })
    }

    fn batches(&self, task: &Bytes32, from: u64) -> Result<Vec<Record>, StoreError> {
        let query = format!(
            "select {COLUMNS} from batches where task = $1 and number >= $2 order by number, context"
        );
        self.transact(|tx| {
            let wanted: [(&(dyn ToSql + Sync), Type); 2] = [
                (&&task.0[..], Type::BYTEA),
                (&&from.to_be_bytes()[..], Type::BYTEA),
            ];
            let rows = tx.query_typed(&query, &wanted)?;
            let records = rows.iter().map(|row| Ok(Stored::of(row)?.record));
            records.collect()
        })
    }

    fn rows(&self, task: &Bytes32) -> Result<Vec<(BatchName, u64)>, StoreError> {
        let query = format!("select {COLUMNS} from batches where task = $1");
        self.transact(|tx| {
            let stored = tx.query_typed(&query, &[(&&task.0[..], Type::BYTEA)])?;
            let mut rows = Vec::new();
            for stored in &stored {
                let stored = Stored::of(stored)?;
                if stored.record.state != State::Open {
                    continue;
                }
                let query = "select count(*) from reports where batch = $1";
                let held = tx.query_typed(query, &[(&&stored.id[..], Type::BYTEA)])?;
                let held: i64 = held.first().map_or(Ok(0), |row| row.try_get(0))?;
                rows.push((stored.record.name, held as u64));
            }
            Ok(rows)
        })
    }

    fn read(&self, batch: &BatchName) -> Result<Vec<u8>, StoreError> {
        self.transact(|tx| {
            let stored = Stored::find(tx, batch, "for share")?;
            let stored = stored.ok_or(StoreError::Unknown(*batch))?;
            seal::may_be_read(stored.record.state)?;
            let query = "select sealed from chunks where batch = $1 order by number";
            let chunks = tx.query_typed(query, &[(&&stored.id[..], Type::BYTEA)])?;
            let chunks = chunks
                .iter()
                .map(|chunk| chunk.try_get(0).map_err(Failure::from));
            let chunks = chunks.map(|chunk| Ok(chunk?));
            let cipher = stored.cipher(&self.vault)?;
            Ok(seal::bytes(&cipher, chunks, stored.record.digest)?)
        })
    }

    fn acknowledge(&self, batch: &BatchName, digest: &Bytes32) -> Result<Record, StoreError> {
        self.transact(|tx| {
            let mut stored = Stored::locked(tx, batch)?;
            let Record {
                state, digest: of, ..
            } = stored.record;
            let next = seal::acknowledged(state, of, *digest)?;
            if next != state {
                stored.record.state = next;
                stored.put(tx)?;
                let (batch, digest) = (*batch, *digest);
                append(tx, &[Event::Released { batch, digest }])?;
            }
            Ok(stored.record)
        })
    }

    fn shred(&self, batch: &BatchName) -> Result<Record, StoreError> {
        self.transact(|tx| {
            let mut stored = Stored::locked(tx, batch)?;
            let next = stored.record.state.after(lifecycle::Event::Shred)?;
            (stored.record.state, stored.key) = (next, None);
            stored.put(tx)?;
            let query = "delete from chunks where batch = $1";
            execute(tx, query, &[(&&stored.id[..], Type::BYTEA)])?;
            append(tx, &[Event::Shredded { batch: *batch }])?;
            Ok(stored.record)
        })
    }

    fn note(&self, event: &str) -> Result<(), StoreError> {
        self.transact(|tx| {
            let text = event.to_owned();
            append(tx, &[Event::Note { text }])
        })
    }

    fn journal(&self) -> Result<Vec<Entry>, StoreError> {
        let query = "select number, previous, event, hash from journal order by number";
        self.transact(|tx| tx.query_typed(query, &[])?.iter().map(entry).collect())
    }

    fn entry(&self, number: u64) -> Result<Option<Entry>, StoreError> {
        let Ok(number) = signed(number) else {
            return Ok(None);
        };
        let query = "select number, previous, event, hash from journal where number = $1";
        self.transact(|tx| {
            let row = tx.query_typed_opt(query, &[(&number, Type::INT8)])?;
            row.as_ref().map(entry).transpose()
        })
    }

    fn last_entry(&self) -> Result<Option<Entry>, StoreError> {
        self.transact(last_entry)
    }

    fn ready(&self) -> Result<(), StoreError> {
        let query = "insert into probe (one) values (true)
                     on conflict (one) do update set one = excluded.one";
        self.transact(|tx| {
            tx.batch_execute(SOON)?;
            execute(tx, query, &[])
        })
    }
}
