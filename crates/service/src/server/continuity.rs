//! Whether the store is the one that the keys were used with, in the state in which it was left.
//!
//! A store that was lost, or restored from a backup, has forgotten which windows are closed and which reports
//! came. Whoever recorded envelopes could send them again, all but one, and the difference of the two batches
//! would be that one; and a batch that was open in the backup would be sealed with fewer reports than the one
//! that was released. So the folder of keys remembers the last entry of the journal, the first open window of
//! every task, and the time.
//!
//! * Where the store does not have that entry, it is not trusted: what is open in it is destroyed, and all
//!   keys of devices are replaced, so that nothing that was sealed before opens any more. The same where the
//!   store has a journal, or the keys were in use, and nothing is remembered.
//! * No window before the remembered one opens again, whatever the store says. It is written down before the
//!   batches of a window are sealed.
//! * What is remembered is only written over by a store that has the entry: one that is exchanged under a
//!   running shuffler leaves the evidence where it is, for the next start.
//!
//! Shufflers that share a folder of keys write one after the other, under a lock.

use crate::error::ServiceError;
use crate::secure_file::{lock, read_or_begin, replace};
use crate::store::Store;
use serde::{Deserialize, Serialize};
use shuffledp_protocol::task::Bytes32;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The file in the folder of keys.
const FILE: &str = "journal";
/// What it is called in messages.
const WHAT: &str = "an entry of a journal";
/// How often the time is written down, in seconds: nobody needs it to the second.
const MINUTE: u64 = 60;
/// How long one waits for another shuffler of the same folder, which looks after its windows or starts.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    /// The entry of the journal that the store must have.
    number: u64,
    hash: Bytes32,
    /// By task: no window before this one opens again.
    #[serde(default)]
    first_open: BTreeMap<Bytes32, u64>,
    /// When that was, in seconds since 1970.
    #[serde(default)]
    time: Option<u64>,
}

/// What a start finds.
#[derive(Debug)]
pub(super) struct Found {
    /// Whether the store goes on from what is remembered.
    pub(super) continues: bool,
    /// By task: no window before this one opens again.
    pub(super) first_open: BTreeMap<Bytes32, u64>,
    /// The time that was written down last.
    pub(super) time: Option<u64>,
}

/// What a folder of keys remembers of the store.
pub(super) struct Continuity {
    path: PathBuf,
    /// What this program wrote or found last: a store that another shuffler took over after it was restored
    /// is another one than this program has worked with.
    own: Mutex<Option<Memory>>,
}

impl Memory {
    fn is_of(&self, store: &dyn Store) -> Result<bool, ServiceError> {
        let entry = store.entry(self.number)?;
        Ok(entry.is_some_and(|entry| entry.hash == self.hash))
    }
}

impl Continuity {
    pub(super) fn of(keys: &Path) -> Self {
        Self {
            path: keys.join(FILE),
            own: Mutex::default(),
        }
    }

    /// Holds off the other shufflers of the folder until it is dropped.
    pub(super) fn alone(&self) -> Result<File, ServiceError> {
        let begun = Instant::now();
        loop {
            match lock(&self.path) {
                Err(ServiceError::InUse { .. }) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                locked => return locked,
            }
        }
    }

    /// Looks before anything is written. `used` says whether a shuffler has run with these keys.
    pub(super) fn find(&self, store: &dyn Store, used: bool) -> Result<Found, ServiceError> {
        let Some(memory) = self.read()? else {
            return Ok(Found {
                continues: !used && store.last_entry()?.is_none(),
                first_open: BTreeMap::new(),
                time: None,
            });
        };
        Ok(Found {
            continues: memory.is_of(store)?,
            first_open: memory.first_open,
            time: memory.time,
        })
    }

    /// Remembers the store as it is, whatever was before. The caller is [`Self::alone`].
    pub(super) fn begin(
        &self,
        store: &dyn Store,
        first_open: BTreeMap<Bytes32, u64>,
        time: Option<u64>,
    ) -> Result<(), ServiceError> {
        let Some(last) = store.last_entry()? else {
            return Ok(());
        };
        let memory = Memory {
            number: last.number,
            hash: last.hash,
            first_open,
            time,
        };
        self.write(&memory)?;
        *self.own() = Some(memory);
        Ok(())
    }

    /// Whether the store has what is remembered, in the folder and here. Nothing is written.
    pub(super) fn holds(&self, store: &dyn Store) -> Result<bool, ServiceError> {
        let own = self.own().clone();
        for memory in [self.read()?, own].iter().flatten() {
            if !memory.is_of(store)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Remembers the last entry, the first open window of a task and the time, unless the store has not what
    /// is remembered: whether it has.
    pub(super) fn remember(
        &self,
        store: &dyn Store,
        first_open: Option<(Bytes32, u64)>,
        time: Option<u64>,
    ) -> Result<bool, ServiceError> {
        let _alone = self.alone()?;
        if !self.holds(store)? {
            return Ok(false);
        }
        let Some(last) = store.last_entry()? else {
            return Ok(true);
        };
        let before = self.read()?;
        let mut memory = before.clone().or_else(|| self.own().clone());
        let memory = memory.get_or_insert_with(|| Memory {
            number: last.number,
            hash: last.hash,
            first_open: BTreeMap::new(),
            time: None,
        });
        (memory.number, memory.hash) = (last.number, last.hash);
        if let Some((task, first_open)) = first_open {
            let known = memory.first_open.entry(task).or_default();
            *known = first_open.max(*known);
        }
        let minute_ago = time.map(|time| time.saturating_sub(MINUTE));
        if memory.time.is_none() || memory.time <= minute_ago {
            memory.time = time.or(memory.time);
        }
        if before.as_ref() != Some(memory) {
            self.write(memory)?;
        }
        *self.own() = Some(memory.clone());
        Ok(true)
    }

    /// Whether it is written down that no window of a task before this one opens again.
    pub(super) fn knows(&self, task: &Bytes32, first_open: u64) -> bool {
        let own = self.own();
        let known = own.as_ref().and_then(|memory| memory.first_open.get(task));
        known.is_some_and(|known| *known >= first_open)
    }

    /// The operator says that this is the time.
    pub(super) fn confirm(&self, store: &dyn Store, time: u64) -> Result<(), ServiceError> {
        let _alone = self.alone()?;
        if let Some(mut memory) = self.read()?.filter(|memory| memory.time != Some(time))
            && self.holds(store)?
        {
            memory.time = Some(time);
            self.write(&memory)?;
        }
        Ok(())
    }

    fn read(&self) -> Result<Option<Memory>, ServiceError> {
        read_or_begin(&self.path, WHAT)
    }

    fn write(&self, memory: &Memory) -> Result<(), ServiceError> {
        // Texts and numbers: nothing that JSON cannot hold.
        let text = serde_json::to_string(memory).unwrap_or_default() + "\n";
        replace(&self.path, text.as_bytes())
    }

    /// A thread that panics in between leaves a whole memory.
    fn own(&self) -> MutexGuard<'_, Option<Memory>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
