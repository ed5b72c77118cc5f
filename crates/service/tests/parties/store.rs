//! A store around another one, which a test exchanges, breaks and holds up while a shuffler has it.

#![allow(dead_code, clippy::unwrap_used)]

use shuffledp_protocol::task::Bytes32;
use shuffledp_service::store::journal::Entry;
use shuffledp_service::store::{Arrival, BatchName, Record, Store, StoreError, Taken};
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Every call fails.
    Fails,
    /// The list of batches does not come.
    Hangs,
    /// The list of batches ends the thread that asks for it.
    Panics,
    /// Batches of this window cannot be closed or destroyed.
    Damaged(u64),
}

/// Shared with the test.
#[derive(Clone)]
pub(crate) struct Troubled {
    store: Arc<RwLock<Arc<dyn Store>>>,
    trouble: Arc<Mutex<Option<Trouble>>>,
}

impl Troubled {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store: Arc::new(RwLock::new(store)),
            trouble: Arc::default(),
        }
    }

    /// Another store in its place.
    pub(crate) fn exchange(&self, store: Arc<dyn Store>) {
        *self.store.write().unwrap() = store;
    }

    pub(crate) fn set(&self, trouble: Option<Trouble>) {
        *self.trouble.lock().unwrap() = trouble;
    }

    fn trouble(&self) -> Option<Trouble> {
        *self.trouble.lock().unwrap()
    }

    fn store(&self) -> Result<Arc<dyn Store>, StoreError> {
        match self.trouble() {
            Some(Trouble::Fails) => Err(StoreError::Engine("the disk is full".to_owned())),
            _ => Ok(Arc::clone(&self.store.read().unwrap())),
        }
    }

    fn of(&self, batch: &BatchName) -> Result<Arc<dyn Store>, StoreError> {
        match self.trouble() {
            Some(Trouble::Damaged(window)) if window == batch.window => Err(StoreError::Damaged(
                "a text that its key does not open".to_owned(),
            )),
            _ => self.store(),
        }
    }
}

impl Store for Troubled {
    fn take(&self, reports: &[Arrival]) -> Result<Vec<Taken>, StoreError> {
        self.store()?.take(reports)
    }

    fn close_windows(&self, task: &Bytes32, first_open: u64) -> Result<u64, StoreError> {
        self.store()?.close_windows(task, first_open)
    }

    fn close(&self, batch: &BatchName, smallest: u64, now: u64) -> Result<Record, StoreError> {
        self.of(batch)?.close(batch, smallest, now)
    }

    fn batches(&self, task: &Bytes32, from: u64) -> Result<Vec<Record>, StoreError> {
        while self.trouble() == Some(Trouble::Hangs) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(self.trouble() != Some(Trouble::Panics), "for a test");
        self.store()?.batches(task, from)
    }

    fn read(&self, batch: &BatchName) -> Result<Vec<u8>, StoreError> {
        self.store()?.read(batch)
    }

    fn acknowledge(&self, batch: &BatchName, digest: &Bytes32) -> Result<Record, StoreError> {
        self.store()?.acknowledge(batch, digest)
    }

    fn shred(&self, batch: &BatchName) -> Result<Record, StoreError> {
        self.of(batch)?.shred(batch)
    }

    fn rows(&self, task: &Bytes32) -> Result<Vec<(BatchName, u64)>, StoreError> {
        self.store()?.rows(task)
    }

    fn note(&self, event: &str) -> Result<(), StoreError> {
        self.store()?.note(event)
    }

    fn journal(&self) -> Result<Vec<Entry>, StoreError> {
        self.store()?.journal()
    }

    fn entry(&self, number: u64) -> Result<Option<Entry>, StoreError> {
        self.store()?.entry(number)
    }

    fn last_entry(&self) -> Result<Option<Entry>, StoreError> {
        self.store()?.last_entry()
    }

    fn ready(&self) -> Result<(), StoreError> {
        self.store()?.ready()
    }
}

/// A folder and all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy_folder(&path, &to),
            false => drop(std::fs::copy(path, to).unwrap()),
        }
    }
}
