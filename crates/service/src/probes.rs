//! Probes: an auditor sends envelopes that must come back, and sees whether somebody on the way keeps
//! envelopes back ([`shuffledp_protocol::envelope`]).
//!
//! The auditor writes the marks of its probes down before it sends them. When their window is closed, the
//! shuffler publishes the marks that it received, whole and once. A mark that is missing is an envelope that
//! was lost; who loses reports on purpose, to leave few of them in a batch, cannot spare the probes among
//! them.

use crate::client::Connection;
use crate::error::ServiceError;
use crate::secure_file::{create_with_folder, lock, read_or_begin, replace};
use crate::suite::AwsLc;
use serde::{Deserialize, Serialize};
use shuffledp_protocol::envelope::{ShufflerKey, seal_probe};
use shuffledp_protocol::task::{Bytes32, Task, TaskError};
use shuffledp_randomizers::Secure;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The probes of a window that a shuffler received: what it publishes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The task.
    pub task: Bytes32,
    /// The window.
    pub window: u64,
    /// The marks, in an order that says nothing.
    pub probes: Vec<Bytes32>,
    /// Whether there are as many as the shuffler keeps of a window: then others may have come and are not
    /// here, and a missing mark says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
}

/// Writes envelopes one after the other to a new file.
pub fn write_envelopes(envelopes: &[Vec<u8>], path: &Path) -> Result<(), ServiceError> {
    create_with_folder(path, &envelopes.concat())
}

/// Reads a file of published marks.
pub fn read_published(path: &Path) -> Result<Published, ServiceError> {
    let text = std::fs::read_to_string(path).map_err(ServiceError::unreadable(path))?;
    let what = "a list of probes";
    serde_json::from_str(&text).map_err(|error| ServiceError::content(path, what, error))
}

/// What an auditor sent, held by one program at a time.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    tasks: BTreeMap<String, BTreeMap<u64, BTreeSet<Bytes32>>>,
    _lock: File,
}

/// What came back of the probes of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Returned {
    /// The probes that were made.
    pub made: u64,
    /// The marks that were not published.
    pub missing: Vec<Bytes32>,
}

impl Record {
    /// Opens the record of a file, or begins one.
    pub fn open(path: &Path) -> Result<Self, ServiceError> {
        let lock = lock(path)?;
        let tasks = read_or_begin(path, "a record of probes")?;
        Ok(Self {
            path: path.to_owned(),
            tasks,
            _lock: lock,
        })
    }

    /// Makes probes of a window: their envelopes. Their marks are on disk before anybody has them.
    pub fn make(
        &mut self,
        task: &Task,
        shuffler: &ShufflerKey,
        window: u64,
        count: u64,
    ) -> Result<Vec<Vec<u8>>, ServiceError> {
        let mut random = Secure::new().map_err(TaskError::from)?;
        let windows = self.tasks.entry(task.id().to_string()).or_default();
        let marks = windows.entry(window).or_default();
        let mut envelopes = Vec::new();
        for _ in 0..count {
            let (envelope, mark) = seal_probe(&AwsLc, task, shuffler, window, &mut random)?;
            marks.insert(mark);
            envelopes.push(envelope);
        }
        // Texts and numbers: nothing that JSON cannot hold.
        let text = serde_json::to_string_pretty(&self.tasks).unwrap_or_default() + "\n";
        replace(&self.path, text.as_bytes())?;
        Ok(envelopes)
    }

    /// Makes probes for a running shuffler and sends them, each in a request of its own: of a window that is
    /// open, the newest where none is given. Gives the window.
    pub fn send(
        &mut self,
        task: &Task,
        connection: &Connection,
        pinned: Option<ShufflerKey>,
        window: Option<u64>,
        count: u64,
    ) -> Result<u64, ServiceError> {
        let now = connection.now(task)?;
        if let Some(pinned) = pinned.filter(|pinned| *pinned != now.key) {
            return Err(ServiceError::OtherShuffler {
                pinned: pinned.key,
                served: now.key.key,
            });
        }
        let window = window.unwrap_or(*now.windows.end());
        if !now.windows.contains(&window) {
            return Err(ServiceError::NotOpen {
                window,
                first: *now.windows.start(),
                last: *now.windows.end(),
            });
        }
        for envelope in self.make(task, &now.key, window, count)? {
            connection.send(task, &envelope)?;
        }
        Ok(window)
    }

    /// Compares what was published with what was made for that window.
    pub fn check(&self, task: &Task, published: &Published) -> Result<Returned, ServiceError> {
        let wanted = task.id();
        if published.task != wanted {
            return Err(ServiceError::OtherTask {
                wanted,
                served: published.task,
            });
        }
        let window = published.window;
        let windows = self.tasks.get(&wanted.to_string());
        let made = windows.and_then(|windows| windows.get(&window));
        let made = made.ok_or(ServiceError::NoProbes { window })?;
        let came: BTreeSet<&Bytes32> = published.probes.iter().collect();
        let missing = made.iter().filter(|mark| !came.contains(mark));
        Ok(Returned {
            made: made.len() as u64,
            missing: missing.copied().collect(),
        })
    }
}
