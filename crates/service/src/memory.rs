//! What a shuffler by files must not forget, in the folder of its secret key: the windows of a task that were
//! released, and the tokens that were spent in them.
//!
//! ```text
//! released-TASK.jsonl     a line for every batch that was released, wherever to
//! spent-TASK/DIGEST       hashes of the tokens in the batch with this digest, sorted
//! ```
//!
//! It is beside the key, and not beside the batches: whoever has the key could otherwise release a window a
//! second time by naming another folder, or by emptying one. The line is what counts. The tokens are written
//! before it, so that a crash in between leaves a file of a batch that there is not, which is not read.
//!
//! The second shuffler of a task has the same with `second` in the names: the two may be tried in one folder.
//!
//! A shuffler with several keys remembers in the folder of each, and knows what any of them says.

use crate::error::ServiceError;
use crate::secure_file::{lock, replace};
use serde::{Deserialize, Serialize};
use shuffledp_protocol::task::Bytes32;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A released batch, as the list has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Released {
    /// Its task.
    pub task: Bytes32,
    /// Its window.
    pub window: u64,
    /// What its devices had been sent.
    pub context: Bytes32,
    /// How many reports it holds.
    pub reports: u64,
    /// The hash of its bytes.
    pub digest: Bytes32,
    /// The name of its file in the folder.
    pub file: String,
    /// The marks of the probes of its window; none with the later batches of a window that has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Vec<Bytes32>>,
}

/// Reads a list of released batches, all of them of this task; none where there is no list yet.
pub(crate) fn read_list(path: &Path, task: &Bytes32) -> Result<Vec<Released>, ServiceError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ServiceError::unreadable(path)(error)),
    };
    let entries = text.lines().map(serde_json::from_str);
    let entries: Result<Vec<Released>, _> = entries.collect();
    let what = "a list of released batches";
    let entries = entries.map_err(|error| ServiceError::content(path, what, error))?;
    match entries.iter().find(|entry| entry.task != *task) {
        None => Ok(entries),
        Some(entry) => {
            let message = format!("of this task: it has a batch of the task {}", entry.task);
            Err(ServiceError::content(path, what, message))
        }
    }
}

/// Writes a list.
pub(crate) fn write_list(path: &Path, entries: &[Released]) -> Result<(), ServiceError> {
    let lines = entries
        .iter()
        .filter_map(|entry| serde_json::to_string(entry).ok());
    let text: String = lines.map(|line| line + "\n").collect();
    replace(path, text.as_bytes())
}

/// Adds to a list what it does not have.
pub(crate) fn add(list: &mut Vec<Released>, more: impl IntoIterator<Item = Released>) {
    for entry in more {
        if !list.iter().any(|there| there.digest == entry.digest) {
            list.push(entry);
        }
    }
}

/// The memory of a shuffler of one task, held by one program at a time.
pub(crate) struct Memory {
    task: Bytes32,
    /// What its names have before the task.
    party: &'static str,
    folders: Vec<PathBuf>,
    _locks: Vec<File>,
}

impl Memory {
    /// The memory in these folders.
    pub(crate) fn open(
        folders: &BTreeSet<PathBuf>,
        task: Bytes32,
        is_second: bool,
    ) -> Result<Self, ServiceError> {
        let party = if is_second { "second-" } else { "" };
        let lists = folders.iter().map(|folder| list(folder, party, &task));
        let locks = lists.map(|path| lock(&path)).collect::<Result<_, _>>()?;
        Ok(Self {
            task,
            party,
            folders: folders.iter().cloned().collect(),
            _locks: locks,
        })
    }

    /// What was released.
    pub(crate) fn released(&self) -> Result<Vec<Released>, ServiceError> {
        let mut released = Vec::new();
        for folder in &self.folders {
            add(&mut released, read_list(&self.list(folder), &self.task)?);
        }
        Ok(released)
    }

    /// The tokens that were spent in these batches, each with its window.
    pub(crate) fn spent(
        &self,
        released: &[Released],
    ) -> Result<BTreeSet<(u64, Bytes32)>, ServiceError> {
        let mut spent = BTreeSet::new();
        for folder in &self.folders {
            for entry in released {
                let path = self.tokens(folder).join(entry.digest.to_string());
                match std::fs::read(&path) {
                    Ok(bytes) => {
                        let (hashes, _) = bytes.as_chunks();
                        spent.extend(hashes.iter().map(|hash| (entry.window, Bytes32(*hash))));
                    }
                    // A task without tokens.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(ServiceError::unreadable(&path)(error)),
                }
            }
        }
        Ok(spent)
    }

    /// Remembers a batch that is released now, and its tokens. From here on its window is closed.
    pub(crate) fn remember(
        &self,
        entry: &Released,
        spent: &BTreeSet<Bytes32>,
    ) -> Result<(), ServiceError> {
        for folder in self.folders.iter().filter(|_| !spent.is_empty()) {
            let folder = self.tokens(folder);
            std::fs::create_dir_all(&folder).map_err(ServiceError::unwritable(&folder))?;
            let hashes: Vec<u8> = spent.iter().flat_map(|hash| hash.0).collect();
            replace(&folder.join(entry.digest.to_string()), &hashes)?;
        }
        for folder in &self.folders {
            let path = self.list(folder);
            let mut released = read_list(&path, &self.task)?;
            add(&mut released, [entry.clone()]);
            write_list(&path, &released)?;
        }
        Ok(())
    }

    fn list(&self, folder: &Path) -> PathBuf {
        list(folder, self.party, &self.task)
    }

    fn tokens(&self, folder: &Path) -> PathBuf {
        folder.join(format!("spent-{}{}", self.party, self.task))
    }
}

fn list(folder: &Path, party: &str, task: &Bytes32) -> PathBuf {
    folder.join(format!("released-{party}{task}.jsonl"))
}
