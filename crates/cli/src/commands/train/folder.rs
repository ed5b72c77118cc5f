//! The folder of a run.
//!
//! ```text
//! record.json       words, versions, checksum of the data, and at the end what came out
//! key               what the randomness comes from, where no seed was given: as secret as the data, and gone at the end
//! lock              held by the process that writes here
//! rounds.csv        a line a round
//! checkpoint.json   parameters and ledger in one
//! accuracy.svg      at the end
//! ```
//!
//! Every file is written beside its place and then moved there, so that a kill leaves the old one or the new one. A round that was run and not saved is run again from the same key: it gives the same reports, and is charged once.

use super::TrainWords;
use super::run::{self, Outcome, Point};
use super::setup::Setup;
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shuffledp::learning::Key;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;

/// A folder, and whether a run in it is gone on with.
pub(super) struct Folder {
    path: PathBuf,
    resumed: bool,
    /// Held as long as this is.
    lock: Option<fs::File>,
}

/// What is known of a run before its first round.
#[derive(Serialize, Deserialize)]
struct Record {
    version: u32,
    shuffledp: String,
    words: TrainWords,
    about: Vec<String>,
    checksum: String,
    parameters: usize,
    rounds: u64,
    #[serde(default)]
    result: Value,
}

impl Folder {
    /// A new run's: nothing may be in it.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        if path.join("record.json").exists() {
            let name = path.display();
            let message = format!(
                "--out {name} holds a run already: go on with it by --resume {name}, or choose another folder"
            );
            return Err(Failure::flag("--out", message));
        }
        Ok(Self {
            path: path.to_owned(),
            resumed: false,
            lock: None,
        })
    }

    /// An earlier run's.
    pub(super) fn open(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            resumed: true,
            lock: None,
        }
    }

    /// Keeps other processes out until this one ends, however it ends.
    fn lock(&mut self) -> Result<(), Failure> {
        let file = private(&self.path.join("lock")).map_err(|error| self.unwritable(&error))?;
        match file.try_lock() {
            Ok(()) => {
                self.lock = Some(file);
                Ok(())
            }
            Err(fs::TryLockError::WouldBlock) => {
                let message = format!("{}: another process runs there", self.display());
                Err(Failure::flag("--out", message))
            }
            Err(fs::TryLockError::Error(error)) => Err(self.unwritable(&error)),
        }
    }

    /// What came out, if the run is over.
    pub(super) fn result(&self) -> Result<Option<Value>, Failure> {
        let result = self.record()?.result;
        Ok((!result.is_null()).then_some(result))
    }

    pub(super) fn display(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// The words of the run.
    pub(super) fn words(&self) -> Result<TrainWords, Failure> {
        Ok(self.record()?.words)
    }

    fn record(&self) -> Result<Record, Failure> {
        let text = self.read("record.json")?.ok_or_else(|| {
            let message = format!(
                "--resume {}: no run is there (no record.json)",
                self.display()
            );
            Failure::flag("--resume", message)
        })?;
        let record: Record = serde_json::from_str(&text)
            .map_err(|error| self.refused("record.json", &error.to_string()))?;
        if record.version != VERSION {
            let why = format!("version {} is not {VERSION}", record.version);
            return Err(self.refused("record.json", &why));
        }
        Ok(record)
    }

    /// Writes the record of a new run, or checks that of an old one against what it is gone on with; gives the key.
    pub(super) fn begin(
        &mut self,
        words: &TrainWords,
        setup: &Setup,
        rounds: u64,
    ) -> Result<Key, Failure> {
        let checksum = setup.data.checksum();
        // A plain checksum of secret data would tell two guesses apart.
        let sealed = |key: Key| match words.seed {
            Some(_) => checksum.clone(),
            None => key.seal(&checksum),
        };
        if self.resumed {
            self.lock()?;
            let record = self.record()?;
            let key = self.key(words)?;
            if record.shuffledp != env!("CARGO_PKG_VERSION") {
                let why = format!("shuffledp {} began it", record.shuffledp);
                return Err(self.refused("record.json", &why));
            }
            if record.checksum != sealed(key) {
                return Err(self.refused("record.json", "the data is not what the run began with"));
            }
            if (record.parameters, record.rounds) != (setup.model.parameters(), rounds) {
                return Err(self.refused("record.json", "its words now describe another run"));
            }
            return Ok(key);
        }
        fs::create_dir_all(&self.path).map_err(|error| self.unwritable(&error))?;
        self.lock()?;
        // Somebody may have been quicker.
        Self::new(&self.path)?;
        let key = words.key()?;
        // The key before the record: a run that can be resumed has one.
        if words.seed.is_none() {
            self.write("key", key.to_hex().as_bytes())?;
        }
        let record = Record {
            version: VERSION,
            shuffledp: env!("CARGO_PKG_VERSION").to_owned(),
            words: words.clone(),
            about: setup.about.clone(),
            checksum: sealed(key),
            parameters: setup.model.parameters(),
            rounds,
            result: Value::Null,
        };
        self.write_record(&record)?;
        Ok(key)
    }

    /// The key that a run began with.
    fn key(&self, words: &TrainWords) -> Result<Key, Failure> {
        if words.seed.is_some() {
            return words.key();
        }
        let text = self.read("key")?.unwrap_or_default();
        Key::from_hex(text.trim())
            .ok_or_else(|| self.refused("key", "it is not 64 hexadecimal digits"))
    }

    /// The last checkpoint, if there is one.
    pub(super) fn checkpoint(&self) -> Result<Option<String>, Failure> {
        match self.resumed {
            true => self.read("checkpoint.json"),
            false => Ok(None),
        }
    }

    /// The log up to a round.
    pub(super) fn log(&self, done: u64) -> Result<Vec<Point>, Failure> {
        if !self.resumed {
            return Ok(Vec::new());
        }
        let text = self.read("rounds.csv")?.unwrap_or_default();
        let lines = text.lines().skip(1).take(done as usize);
        let points: Option<Vec<Point>> = lines.map(Point::from_csv).collect();
        match points {
            Some(points) if points.len() as u64 == done => Ok(points),
            _ => Err(self.refused("rounds.csv", "it lacks rounds of the checkpoint")),
        }
    }

    /// Log and checkpoint.
    pub(super) fn save(&self, log: &[Point], checkpoint: &str) -> Result<(), Failure> {
        self.write("rounds.csv", run::csv(log).as_bytes())?;
        self.write("checkpoint.json", checkpoint.as_bytes())
    }

    /// What came out, and its picture where one was drawn.
    pub(super) fn finish(&self, outcome: &Outcome, picture: Option<&[u8]>) -> Result<(), Failure> {
        if let Some(picture) = picture {
            self.write("accuracy.svg", picture)?;
        }
        let mut record = self.record()?;
        record.result = outcome.json();
        self.write_record(&record)?;
        // Nobody goes on from here, and whoever has the key can take the noise off.
        match fs::remove_file(self.path.join("key")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(self.unwritable(&error))
            }
            _ => Ok(()),
        }
    }

    fn write_record(&self, record: &Record) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(record)
            .map_err(|error| self.refused("record.json", &error.to_string()))?;
        self.write("record.json", (text + "\n").as_bytes())
    }

    fn read(&self, name: &str) -> Result<Option<String>, Failure> {
        match fs::read_to_string(self.path.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.refused(name, &error.to_string())),
        }
    }

    /// Beside its place, then there.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
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
        moved().map_err(|error| self.unwritable(&error))
    }

    fn refused(&self, name: &str, why: &str) -> Failure {
        let path = self.path.join(name);
        Failure::flag(
            "--resume",
            format!("--resume: {} is refused: {why}", path.display()),
        )
    }

    fn unwritable(&self, error: &std::io::Error) -> Failure {
        let message = format!("--out {} cannot be written: {error}", self.display());
        Failure::flag("--out", message)
    }
}

/// A new file that nobody else reads: a key and parameters are in such files.
fn private(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
