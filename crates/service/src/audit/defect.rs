//! Stores that break a promise, around one that keeps it: faults that an audit must find.

use crate::store::journal::Entry;
use crate::store::{Arrival, BatchName, Record, Store, StoreError, Taken};
use shuffledp_protocol::batch::Batch;
use shuffledp_protocol::task::Bytes32;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a store does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A batch has the order in which its reports came.
    KeepsOrder,
    /// The first report that came is the first of its batch; the others are in a random order.
    KeepsFirst,
    /// A batch is released however few reports it holds.
    ReleasesAll,
}

/// Rows in the order in which they came, and the bytes of batches that are sealed in it.
#[derive(Default)]
struct Kept {
    arrived: BTreeMap<BatchName, Vec<Vec<u8>>>,
    sealed: BTreeMap<BatchName, Vec<u8>>,
}

/// A store with a defect.
pub(super) struct Defective {
    store: Arc<dyn Store>,
    defect: Defect,
    kept: Mutex<Kept>,
    /// One batch is closed at a time: who finds it closed finds its bytes changed.
    closing: Mutex<()>,
}

impl Defective {
    pub(super) fn new(store: Arc<dyn Store>, defect: Defect) -> Self {
        Self {
            store,
            defect,
            kept: Mutex::default(),
            closing: Mutex::default(),
        }
    }

    /// A thread that panics in between leaves whole rows.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same record with the digest of the bytes that are given out.
    fn changed(&self, mut record: Record) -> Record {
        if let Some(bytes) = self.kept().sealed.get(&record.name) {
            record.digest = Some(Batch::digest(bytes));
        }
        record
    }

    /// The bytes of a batch in the order of this defect.
    fn in_order(&self, honest: &[u8], arrived: &[Vec<u8>]) -> Vec<u8> {
        let rows: usize = arrived.iter().map(Vec::len).sum();
        let (header, shuffled) = honest.split_at(honest.len() - rows);
        let mut bytes = header.to_vec();
        match (self.defect, arrived.first()) {
            (Defect::KeepsFirst, Some(first)) => {
                bytes.extend(first);
                let others = shuffled.chunks(first.len()).filter(|row| row != first);
                others.for_each(|row| bytes.extend(row));
            }
            _ => arrived.iter().for_each(|row| bytes.extend(row)),
        }
        bytes
    }
}

impl Store for Defective {
    fn take(&self, reports: &[Arrival]) -> Result<Vec<Taken>, StoreError> {
        let taken = self.store.take(reports)?;
        if self.defect != Defect::ReleasesAll {
            let mut kept = self.kept();
            for (report, taken) in reports.iter().zip(&taken) {
                if *taken == Taken::New && !report.dummy {
                    let arrived = kept.arrived.entry(report.batch).or_default();
                    arrived.push(report.row.clone());
                }
            }
        }
        Ok(taken)
    }

    fn close_windows(&self, task: &Bytes32, first_open: u64) -> Result<u64, StoreError> {
        self.store.close_windows(task, first_open)
    }

    fn close(&self, batch: &BatchName, smallest: u64, now: u64) -> Result<Record, StoreError> {
        if self.defect == Defect::ReleasesAll {
            return self.store.close(batch, 1, now);
        }
        let _one_at_a_time = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        let record = self.store.close(batch, smallest, now)?;
        let arrived = self.kept().arrived.remove(batch);
        if let (true, Some(arrived)) = (record.state.may_be_fetched(), arrived) {
            let bytes = self.in_order(&self.store.read(batch)?, &arrived);
            self.kept().sealed.insert(*batch, bytes);
        }
        Ok(self.changed(record))
    }

    fn batches(&self, task: &Bytes32, from: u64) -> Result<Vec<Record>, StoreError> {
        let records = self.store.batches(task, from)?;
        Ok(records
            .into_iter()
            .map(|record| self.changed(record))
            .collect())
    }

    fn rows(&self, task: &Bytes32) -> Result<Vec<(BatchName, u64)>, StoreError> {
        self.store.rows(task)
    }

    fn read(&self, batch: &BatchName) -> Result<Vec<u8>, StoreError> {
        let honest = self.store.read(batch)?;
        let sealed = self.kept().sealed.get(batch).cloned();
        Ok(sealed.unwrap_or(honest))
    }

    fn acknowledge(&self, batch: &BatchName, digest: &Bytes32) -> Result<Record, StoreError> {
        self.store.acknowledge(batch, digest)
    }

    fn shred(&self, batch: &BatchName) -> Result<Record, StoreError> {
        self.kept().sealed.remove(batch);
        self.store.shred(batch)
    }

    fn note(&self, event: &str) -> Result<(), StoreError> {
        self.store.note(event)
    }

    fn journal(&self) -> Result<Vec<Entry>, StoreError> {
        self.store.journal()
    }

    fn entry(&self, number: u64) -> Result<Option<Entry>, StoreError> {
        self.store.entry(number)
    }

    fn last_entry(&self) -> Result<Option<Entry>, StoreError> {
        self.store.last_entry()
    }

    fn ready(&self) -> Result<(), StoreError> {
        self.store.ready()
    }
}
