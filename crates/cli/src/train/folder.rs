//! The folder of a run.
//!
//! ```text
//! record.json       words, versions, checksum of the data, and at the end what came out
//! key               what the randomness comes from, where no seed was given: as secret as the data
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
            return Err(Failure::words("--out", message));
        }
        Ok(Self {
            path: path.to_owned(),
            resumed: false,
        })
    }

    /// An earlier run's.
    pub(super) fn open(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            resumed: true,
        }
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
            Failure::words("--resume", message)
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
        &self,
        words: &TrainWords,
        setup: &Setup,
        rounds: u64,
    ) -> Result<Key, Failure> {
        let checksum = setup.data.checksum();
        if self.resumed {
            let record = self.record()?;
            if record.checksum != checksum {
                return Err(self.refused("record.json", "the data is not what the run began with"));
            }
            if (record.parameters, record.rounds) != (setup.model.parameters(), rounds) {
                return Err(self.refused("record.json", "its words now describe another run"));
            }
        } else {
            fs::create_dir_all(&self.path).map_err(|error| self.unwritable(&error))?;
            // The key before the record: a run that can be resumed has one.
            if words.seed.is_none() {
                self.write("key", words.key()?.to_hex().as_bytes())?;
            }
            let record = Record {
                version: VERSION,
                shuffledp: env!("CARGO_PKG_VERSION").to_owned(),
                words: words.clone(),
                about: setup.about.clone(),
                checksum,
                parameters: setup.model.parameters(),
                rounds,
                result: Value::Null,
            };
            self.write_record(&record)?;
        }
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

    /// What came out, and its picture.
    pub(super) fn finish(&self, outcome: &Outcome, picture: &[u8]) -> Result<(), Failure> {
        let mut record = self.record()?;
        if record.result.is_null() {
            record.result = outcome.json();
            self.write_record(&record)?;
            self.write("accuracy.svg", picture)?;
        }
        Ok(())
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
            fs::rename(&beside, self.path.join(name))
        };
        moved().map_err(|error| self.unwritable(&error))
    }

    fn refused(&self, name: &str, why: &str) -> Failure {
        let path = self.path.join(name);
        Failure::words(
            "--resume",
            format!("--resume: {} is refused: {why}", path.display()),
        )
    }

    fn unwritable(&self, error: &std::io::Error) -> Failure {
        let message = format!("--out {} cannot be written: {error}", self.display());
        Failure::words("--out", message)
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
