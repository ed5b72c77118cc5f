//! A device's ledger: which windows of which task it has decided, and how often it has answered.
//!
//! The coin of a window is thrown once, and a device answers a window once: a decision is on disk before
//! anything is sent. After a crash in between, the window stays decided and nothing is sent: the ledger may
//! count a report that nobody received, and never forgets one that somebody did. A device stops for good when
//! it has answered as many windows as its task allows.

use crate::error::ServiceError;
use crate::secure_file::{lock, read_or_begin, replace};
use serde::{Deserialize, Serialize};
use shuffledp_protocol::task::Task;
use shuffledp_randomizers::Secure;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What a device decided about a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// To send a report.
    Answered,
    /// To stay silent: the coin said so.
    Silent,
}

impl Decision {
    fn words(self) -> &'static str {
        match self {
            Self::Answered => "has answered it",
            Self::Silent => "stays silent in it",
        }
    }
}

/// The windows of one task.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Windows {
    name: String,
    decided: BTreeMap<u64, Decision>,
}

/// A device's ledger, held by one program at a time.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    tasks: BTreeMap<String, Windows>,
    _lock: File,
}

/// How much of a task's allowance is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The windows that were answered.
    pub answered: u64,
    /// The windows in which the coin said to stay silent.
    pub silent: u64,
    /// The windows that may be answered in all.
    pub most: u64,
}

impl Ledger {
    /// Opens the ledger of a file, or begins one.
    pub fn open(path: &Path) -> Result<Self, ServiceError> {
        let lock = lock(path)?;
        let tasks = read_or_begin(path, "a device's ledger")?;
        Ok(Self {
            path: path.to_owned(),
            tasks,
            _lock: lock,
        })
    }

    /// What is used up of a task.
    pub fn status(&self, task: &Task) -> Status {
        let windows = self.tasks.get(&task.id().to_string());
        let count = |decision| {
            let decided = windows.iter().flat_map(|windows| windows.decided.values());
            decided.filter(|other| **other == decision).count() as u64
        };
        Status {
            answered: count(Decision::Answered),
            silent: count(Decision::Silent),
            most: task.spec().round.rounds,
        }
    }

    /// Throws the coin of a window and writes down what it said. An error where the window was decided
    /// before, or where the task allows no more answers.
    pub fn decide(
        &mut self,
        task: &Task,
        window: u64,
        random: &mut Secure,
    ) -> Result<Decision, ServiceError> {
        let status = self.status(task);
        let windows = self.tasks.entry(task.id().to_string()).or_default();
        if let Some(decision) = windows.decided.get(&window) {
            let decision = decision.words();
            return Err(ServiceError::Decided { window, decision });
        }
        if status.answered >= status.most {
            return Err(ServiceError::Spent { most: status.most });
        }
        let decision = match task.answers(random) {
            true => Decision::Answered,
            false => Decision::Silent,
        };
        windows.name = task.spec().name.clone();
        windows.decided.insert(window, decision);
        // Texts and numbers: nothing that JSON cannot hold.
        let text = serde_json::to_string_pretty(&self.tasks).unwrap_or_default() + "\n";
        replace(&self.path, text.as_bytes())?;
        Ok(decision)
    }
}
