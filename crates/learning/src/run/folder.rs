//! The folder of a run.
//!
//! ```text
//! record.json       description, versions, checksum of the data, and at the end the result
//! key               the source of the randomness, where no seed was given: as secret as the data,
//!                   deleted at the end
//! lock              held by the process that writes here
//! rounds.csv        a line a round
//! checkpoint.json   parameters and ledger in one
//! ```
//!
//! Every file is written beside its place and then moved there, so that a kill leaves the old one or the new
//! one. A round that was run and not saved is run again from the same key: it gives the same reports, and is
//! charged once.

use super::Outcome;
use super::log::{self, Point};
use super::setup::{Setup, Unit};
use super::spec::RunSpec;
use crate::algorithm::Key;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The version of the record's form.
const VERSION: u32 = 3;
/// The names of the files.
const RECORD: &str = "record.json";
const KEY: &str = "key";
const LOCK: &str = "lock";
const LOG: &str = "rounds.csv";
const CHECKPOINT: &str = "checkpoint.json";

/// The folder of a new run, or of one that is gone on with.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    resumed: bool,
    /// Held as long as this value lives.
    lock: Option<fs::File>,
}

/// Everything that is known of a run before its first round, and its result afterwards.
#[derive(Serialize, Deserialize)]
struct Record {
    version: u32,
    shuffledp: String,
    spec: RunSpec,
    unit: Unit,
    about: Vec<String>,
    checksum: String,
    parameters: usize,
    rounds: u64,
    #[serde(default)]
    result: Value,
    /// The result in sentences.
    #[serde(default)]
    summary: Vec<String>,
}

impl Folder {
    /// For a new run: no other run may be in it. It is made when the run begins.
    pub fn create(path: &Path) -> Result<Self, Error> {
        if path.join(RECORD).exists() {
            return Err(Error::HoldsRun {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            resumed: false,
            lock: None,
        })
    }

    /// Of an earlier run that is gone on with.
    pub fn open(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            resumed: true,
            lock: None,
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The result in sentences, if the run is over.
    pub fn summary(&self) -> Result<Option<Vec<String>>, Error> {
        let record = self.record()?;
        Ok((!record.result.is_null()).then_some(record.summary))
    }

    /// The description of the run.
    pub fn spec(&self) -> Result<RunSpec, Error> {
        Ok(self.record()?.spec)
    }

    /// Writes a file for people, such as a picture.
    pub fn attach(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.write(name, bytes)
    }

    /// Records the result, with sentences that say it, and deletes the key: nobody goes on from here, and the
    /// key takes the noise off.
    pub fn finish(&self, outcome: &Outcome, summary: Vec<String>) -> Result<(), Error> {
        let mut record = self.record()?;
        record.result = outcome.to_json();
        record.summary = summary;
        self.write_record(&record)?;
        match fs::remove_file(self.path.join(KEY)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(self.unwritable(error))
            }
            _ => Ok(()),
        }
    }

    /// Keeps other processes out until this one ends, however it ends.
    fn lock(&mut self) -> Result<(), Error> {
        let file = private(&self.path.join(LOCK)).map_err(|error| self.unwritable(error))?;
        match file.try_lock() {
            Ok(()) => {
                self.lock = Some(file);
                Ok(())
            }
            Err(fs::TryLockError::WouldBlock) => Err(Error::Locked {
                path: self.path.clone(),
            }),
            Err(fs::TryLockError::Error(error)) => Err(self.unwritable(error)),
        }
    }

    fn record(&self) -> Result<Record, Error> {
        /// The version alone: other versions have other fields.
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let text = self.read(RECORD)?.ok_or_else(|| Error::NoRun {
            path: self.path.clone(),
        })?;
        let refused = |error: serde_json::Error| self.refused(RECORD, &error.to_string());
        let Version { version } = serde_json::from_str(&text).map_err(refused)?;
        if version != VERSION {
            let why = format!("version {version} is not {VERSION}");
            return Err(self.refused(RECORD, &why));
        }
        serde_json::from_str(&text).map_err(refused)
    }

    /// Writes the record of a new run, or checks that of an old one against the setup; gives the key.
    pub(super) fn begin(&mut self, setup: &Setup, rounds: u64) -> Result<Key, Error> {
        let (checksum, seed) = (setup.data().checksum(), setup.spec().seed);
        // A plain checksum of secret data would confirm a guess of it.
        let sealed = |key: Key| match seed {
            Some(_) => checksum.clone(),
            None => key.seal(&checksum),
        };
        let parameters = setup.model().parameters();
        if self.resumed {
            self.lock()?;
            let record = self.record()?;
            let key = self.key(setup)?;
            if record.shuffledp != env!("CARGO_PKG_VERSION") {
                let why = format!("shuffledp {} began it", record.shuffledp);
                return Err(self.refused(RECORD, &why));
            }
            if record.checksum != sealed(key) {
                return Err(self.refused(RECORD, "the data is not what the run began with"));
            }
            if (record.parameters, record.rounds) != (parameters, rounds) {
                return Err(self.refused(RECORD, "its description now gives another run"));
            }
            return Ok(key);
        }
        fs::create_dir_all(&self.path).map_err(|error| self.unwritable(error))?;
        self.lock()?;
        // Another process may have been quicker.
        Self::create(&self.path)?;
        let key = setup.key()?;
        // The key before the record: a run that can be resumed has one.
        if seed.is_none() {
            self.write(KEY, key.to_hex().as_bytes())?;
        }
        let record = Record {
            version: VERSION,
            shuffledp: env!("CARGO_PKG_VERSION").to_owned(),
            spec: setup.spec().clone(),
            unit: setup.unit(),
            about: setup.about().to_vec(),
            checksum: sealed(key),
            parameters,
            rounds,
            result: Value::Null,
            summary: Vec::new(),
        };
        self.write_record(&record)?;
        Ok(key)
    }

    /// The key that a run began with.
    fn key(&self, setup: &Setup) -> Result<Key, Error> {
        if setup.spec().seed.is_some() {
            return setup.key();
        }
        let text = self.read(KEY)?.unwrap_or_default();
        Key::from_hex(text.trim())
            .ok_or_else(|| self.refused(KEY, "it is not 64 hexadecimal digits"))
    }

    /// The last checkpoint, if there is one.
    pub(super) fn checkpoint(&self) -> Result<Option<String>, Error> {
        match self.resumed {
            true => self.read(CHECKPOINT),
            false => Ok(None),
        }
    }

    /// The log up to a round.
    pub(super) fn log(&self, done: u64) -> Result<Vec<Point>, Error> {
        if !self.resumed {
            return Ok(Vec::new());
        }
        let text = self.read(LOG)?.unwrap_or_default();
        log::from_csv(&text, done)
            .ok_or_else(|| self.refused(LOG, "it lacks rounds of the checkpoint"))
    }

    /// Saves log and checkpoint. The log first: a resumed run drops the rounds that the checkpoint has not
    /// seen.
    pub(super) fn save(&self, points: &[Point], checkpoint: &str) -> Result<(), Error> {
        self.write(LOG, log::to_csv(points).as_bytes())?;
        self.write(CHECKPOINT, checkpoint.as_bytes())
    }

    fn write_record(&self, record: &Record) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(record)
            .map_err(|error| self.refused(RECORD, &error.to_string()))?;
        self.write(RECORD, (text + "\n").as_bytes())
    }

    fn read(&self, name: &str) -> Result<Option<String>, Error> {
        match fs::read_to_string(self.path.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.refused(name, &error.to_string())),
        }
    }

    /// Writes a file beside its place, then moves it there.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let moved = || {
            let beside = self.path.join(format!("{name}.new"));
            let mut file = private(&beside)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&beside, self.path.join(name))?;
            // The move itself, where folders can be written through.
            #[cfg(unix)]
            fs::File::open(&self.path)?.sync_all()?;
            Ok(())
        };
        moved().map_err(|error| self.unwritable(error))
    }

    fn refused(&self, name: &str, why: &str) -> Error {
        Error::RunFile {
            file: self.path.join(name),
            why: why.to_owned(),
        }
    }

    fn unwritable(&self, source: std::io::Error) -> Error {
        Error::Unwritable {
            path: self.path.clone(),
            source,
        }
    }
}

/// A new file that only its owner can read: keys and parameters are in such files.
fn private(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
