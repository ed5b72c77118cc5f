//! A store in memory: a second implementation of the promises, simple enough to be read at a glance, and with
//! a defect where a test wants one. What is committed is what survives a fault.

use shuffledp_protocol::batch::{Batch, seal};
use shuffledp_protocol::lifecycle::{Event, NoEdge, State};
use shuffledp_protocol::task::Bytes32;
use shuffledp_randomizers::Secure;
use shuffledp_service::store::fault::{Boundary, at};
use shuffledp_service::store::journal::Entry;
use shuffledp_service::store::{Arrival, BatchName, Record, Store, StoreError, Taken};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    None,
    /// Closing counts and sets the state in one transaction, and writes the bytes of what it then finds in
    /// another one.
    SealApart,
    /// The window is looked at in one transaction, and reports are put in by another one.
    LookApart,
    /// Reports are put in first, and looked for afterwards.
    CheckAfterInsert,
    /// The place of a report is settled when it comes.
    OrderEarly,
    /// A second fetch draws the order again.
    OrderAgain,
    /// A batch that is one short is sealed.
    OneShort,
    /// The mark follows the clock back.
    MarkFollows,
}

#[derive(Clone)]
struct Held {
    state: State,
    rows: Vec<Vec<u8>>,
    reports: Option<u64>,
    bytes: Option<Vec<u8>>,
    closed: Option<u64>,
}

#[derive(Clone, Default)]
struct Contents {
    marks: BTreeMap<Bytes32, u64>,
    tags: BTreeSet<(Bytes32, u64, Bytes32)>,
    batches: BTreeMap<BatchName, Held>,
}

#[derive(Clone)]
pub(crate) struct Memory {
    defect: Defect,
    committed: Arc<Mutex<Contents>>,
}

impl Memory {
    pub(crate) fn new(defect: Defect) -> Self {
        Self {
            defect,
            committed: Arc::default(),
        }
    }

    /// One transaction: all of it, or nothing.
    fn transact<T>(
        &self,
        work: impl FnOnce(&mut Contents) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut committed = self.committed.lock().unwrap();
        let mut state = committed.clone();
        let value = work(&mut state)?;
        at(Boundary::BeforeCommit)?;
        *committed = state;
        drop(committed);
        at(Boundary::AfterCommit)?;
        Ok(value)
    }
}

impl Contents {
    fn first_open(&self, task: &Bytes32) -> u64 {
        self.marks.get(task).copied().unwrap_or(0)
    }

    fn batch(&mut self, name: &BatchName) -> Result<&mut Held, StoreError> {
        self.batches.get_mut(name).ok_or(StoreError::Unknown(*name))
    }

    fn is_new(&self, report: &Arrival) -> bool {
        let BatchName { task, window, .. } = report.batch;
        let mut tags = report.tags.iter();
        tags.all(|tag| !self.tags.contains(&(task, window, *tag)))
    }

    fn insert_tags(&mut self, report: &Arrival) {
        let BatchName { task, window, .. } = report.batch;
        let tags = report.tags.iter().map(|tag| (task, window, *tag));
        self.tags.extend(tags);
    }

    fn insert_row(&mut self, report: &Arrival) {
        let held = self.batches.entry(report.batch).or_insert(Held {
            state: State::Open,
            rows: Vec::new(),
            reports: None,
            bytes: None,
            closed: None,
        });
        if !report.dummy {
            held.rows.push(report.row.clone());
        }
    }
}

impl Held {
    fn record(&self, name: &BatchName) -> Record {
        Record {
            name: *name,
            state: self.state,
            reports: self.reports,
            digest: self.bytes.as_ref().map(|bytes| Batch::digest(bytes)),
            closed: self.closed,
        }
    }

    fn count(&mut self, smallest: u64) -> Result<(), StoreError> {
        let reports = self.rows.len() as u64;
        self.reports = Some(reports);
        self.state = self.state.after(Event::Close { reports, smallest })?;
        Ok(())
    }

    /// In an order that is drawn now; or in that of arrival, which is settled already.
    fn bytes(&self, name: &BatchName, drawn: bool) -> Vec<u8> {
        let (task, context) = (&name.task, &name.context);
        let mut random = Secure::new().unwrap();
        let mut bytes = seal(task, name.window, context, self.rows.clone(), &mut random);
        if !drawn {
            let rows = self.rows.concat();
            let start = bytes.len() - rows.len();
            bytes[start..].copy_from_slice(&rows);
        }
        bytes
    }
}

impl Store for Memory {
    fn take(&self, reports: &[Arrival]) -> Result<Vec<Taken>, StoreError> {
        let mut closed = None;
        if self.defect == Defect::LookApart {
            let first_open = |state: &mut Contents| {
                let late =
                    |report: &Arrival| report.batch.window < state.first_open(&report.batch.task);
                Ok(reports.iter().map(late).collect::<Vec<bool>>())
            };
            closed = Some(self.transact(first_open)?);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        if self.defect == Defect::CheckAfterInsert {
            let open = self.transact(|state| {
                let mut answers = Vec::new();
                for report in reports {
                    let open = report.batch.window >= state.first_open(&report.batch.task);
                    answers.push(open);
                    if open {
                        state.insert_row(report);
                    }
                }
                Ok(answers)
            })?;
            // What was there before comes out again, in a transaction of its own.
            return self.transact(|state| {
                let mut taken = Vec::new();
                for (report, open) in reports.iter().zip(open) {
                    let new = state.is_new(report);
                    taken.push(match (open, new) {
                        (false, _) => Taken::Closed,
                        (true, false) => Taken::Repeated,
                        (true, true) => Taken::New,
                    });
                    if open && new {
                        state.insert_tags(report);
                    } else if open {
                        let rows = &mut state.batch(&report.batch)?.rows;
                        if let Some(place) = rows.iter().rposition(|row| *row == report.row) {
                            rows.remove(place);
                        }
                    }
                }
                Ok(taken)
            });
        }
        self.transact(|state| {
            let mut taken = Vec::new();
            for (index, report) in reports.iter().enumerate() {
                let late = report.batch.window < state.first_open(&report.batch.task);
                let late = closed.as_ref().map_or(late, |closed| closed[index]);
                taken.push(if late {
                    Taken::Closed
                } else if state.is_new(report) {
                    state.insert_tags(report);
                    state.insert_row(report);
                    Taken::New
                } else {
                    Taken::Repeated
                });
            }
            Ok(taken)
        })
    }

    fn close_windows(&self, task: &Bytes32, first_open: u64) -> Result<u64, StoreError> {
        self.transact(|state| {
            let mut mark = state.first_open(task).max(first_open);
            if self.defect == Defect::MarkFollows {
                mark = first_open;
            }
            state.marks.insert(*task, mark);
            Ok(mark)
        })
    }

    fn close(&self, batch: &BatchName, smallest: u64, now: u64) -> Result<Record, StoreError> {
        let smallest = smallest - u64::from(self.defect == Defect::OneShort);
        let (record, sealed) = self.transact(|state| {
            let first_open = state.first_open(&batch.task);
            let held = state.batch(batch)?;
            if batch.window >= first_open {
                let batch = *batch;
                return Err(StoreError::WindowOpen { batch, first_open });
            }
            let open = held.state == State::Open;
            if open {
                held.count(smallest)?;
                held.closed = Some(now);
            }
            let sealed = open && held.state == State::Sealed;
            if sealed && self.defect != Defect::SealApart {
                held.bytes = Some(held.bytes(batch, self.defect != Defect::OrderEarly));
            }
            Ok((held.record(batch), sealed))
        })?;
        if !sealed || self.defect != Defect::SealApart {
            return Ok(record);
        }
        self.transact(|state| {
            let held = state.batch(batch)?;
            held.bytes = Some(held.bytes(batch, true));
            Ok(held.record(batch))
        })
    }

    fn batches(&self, task: &Bytes32, from: u64) -> Result<Vec<Record>, StoreError> {
        self.transact(|state| {
            let wanted = |name: &BatchName| name.task == *task && name.window >= from;
            let of = state.batches.iter().filter(|(name, _)| wanted(name));
            Ok(of.map(|(name, held)| held.record(name)).collect())
        })
    }

    fn rows(&self, task: &Bytes32) -> Result<Vec<(BatchName, u64)>, StoreError> {
        self.transact(|state| {
            let open = |held: &Held| held.state == State::Open;
            let of = state.batches.iter();
            let of = of.filter(|(name, held)| name.task == *task && open(held));
            Ok(of
                .map(|(name, held)| (*name, held.rows.len() as u64))
                .collect())
        })
    }

    fn read(&self, batch: &BatchName) -> Result<Vec<u8>, StoreError> {
        self.transact(|state| {
            let held = state.batch(batch)?;
            let (state, event) = (held.state, "fetched");
            if !state.may_be_fetched() {
                return Err(NoEdge { state, event }.into());
            }
            if self.defect == Defect::OrderAgain {
                return Ok(held.bytes(batch, true));
            }
            let lost = || StoreError::Damaged("a sealed batch has no bytes".to_owned());
            held.bytes.clone().ok_or_else(lost)
        })
    }

    fn acknowledge(&self, batch: &BatchName, digest: &Bytes32) -> Result<Record, StoreError> {
        self.transact(|state| {
            let held = state.batch(batch)?;
            let next = held.state.after(Event::Acknowledge)?;
            let (stored, acknowledged) = (held.record(batch).digest, *digest);
            let lost = || StoreError::Damaged("a sealed batch has no digest".to_owned());
            let stored = stored.ok_or_else(lost)?;
            if stored != acknowledged {
                return Err(StoreError::OtherDigest {
                    stored,
                    acknowledged,
                });
            }
            held.state = next;
            Ok(held.record(batch))
        })
    }

    fn shred(&self, batch: &BatchName) -> Result<Record, StoreError> {
        self.transact(|state| {
            let held = state.batch(batch)?;
            held.state = held.state.after(Event::Shred)?;
            Ok(held.record(batch))
        })
    }

    fn note(&self, _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    fn journal(&self) -> Result<Vec<Entry>, StoreError> {
        Ok(Vec::new())
    }

    fn entry(&self, _: u64) -> Result<Option<Entry>, StoreError> {
        Ok(None)
    }

    fn last_entry(&self) -> Result<Option<Entry>, StoreError> {
        Ok(None)
    }

    fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
