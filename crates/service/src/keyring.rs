//! The keys of a running shuffler: one that devices seal to, and older ones that still open what is on its
//! way.
//!
//! ```text
//! ACTIVE ──rotation──► RETIRED ──overlap──► deleted
//! ```
//!
//! A key is a file `shuffler-N.key` of the folder ([`crate::keys`]), with `shuffler-N.pub` beside it.
//! Encryption to a public key has no forward secrecy while the key lives: who records envelopes and takes the
//! key later opens them. So keys are replaced, and both files of an old one are removed when no open window
//! can have envelopes for it. They are removed, not erased: what a disk or a backup still holds of them is
//! another matter. Numbers are of one byte and come round: a number is free again once its key is deleted.
//!
//! One key is active. Where a crash or a full disk came between a new key and the retirement of the older
//! ones, they are retired the next time; a public file whose secret one is not there is removed then. Old
//! keys are deleted before a new one is made, so that a failure there keeps none alive. Several shufflers may
//! share a folder; a lock lets one of them at a time replace keys.

use crate::error::ServiceError;
use crate::keys::{KeyFile, Party, make_at};
use crate::secure_file::{lock, remove, replace};
use shuffledp_protocol::envelope::ShufflerKey;
use shuffledp_protocol::hpke::SecretKey;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The file whose lock is held while keys are replaced.
const GUARD: &str = "keyring";

/// The keys of a folder.
pub struct Keyring {
    folder: PathBuf,
    keys: Vec<Key>,
}

struct Key {
    path: PathBuf,
    file: KeyFile,
    secret: SecretKey,
}

/// What became of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// This key is active now.
    Made(u8),
    /// This key is deleted.
    Deleted(u8),
}

impl Keyring {
    /// Reads the keys of a folder; makes the first one where there is none.
    pub fn open(folder: &Path, now: u64) -> Result<Self, ServiceError> {
        std::fs::create_dir_all(folder).map_err(ServiceError::unwritable(folder))?;
        let mut ring = Self {
            folder: folder.to_owned(),
            keys: Vec::new(),
        };
        ring.read()?;
        if ring.active().is_none() {
            let _one_at_a_time = ring.guard()?;
            ring.read()?;
            if ring.active().is_none() {
                ring.make(now)?;
            }
        }
        Ok(ring)
    }

    /// The key that devices seal to; none where every key of the folder is retired.
    pub fn active(&self) -> Option<ShufflerKey> {
        let key = self.newest()?;
        Some(ShufflerKey {
            number: key.file.number,
            key: key.file.public,
        })
    }

    /// All keys that open envelopes.
    pub fn secrets(&self) -> Vec<(u8, SecretKey)> {
        let secrets = self
            .keys
            .iter()
            .map(|key| (key.file.number, key.secret.clone()));
        secrets.collect()
    }

    /// Makes a new key and retires the older ones.
    pub fn rotate(&mut self, now: u64) -> Result<Vec<Change>, ServiceError> {
        let _one_at_a_time = self.guard()?;
        self.read()?;
        Ok(vec![self.make(now)?])
    }

    /// Makes a new key and deletes all others at once: what was sealed to them opens no more.
    pub fn replace_all(&mut self, now: u64) -> Result<Vec<Change>, ServiceError> {
        let _one_at_a_time = self.guard()?;
        self.read()?;
        let mut changes = vec![self.make(now)?];
        let active = self.active().map(|key| key.number);
        for key in &self.keys {
            if Some(key.file.number) != active {
                std::fs::remove_file(&key.path).map_err(ServiceError::unwritable(&key.path))?;
                changes.push(Change::Deleted(key.file.number));
            }
        }
        self.read()?;
        Ok(changes)
    }

    /// Replaces the active key when it is older than `rotate` seconds, and deletes those that are retired for
    /// more than `overlap` seconds. Reads the folder anew: another shuffler may have changed it.
    ///
    /// What was done is told even where a part of it failed: the error is logged then, and comes again.
    pub fn tick(
        &mut self,
        now: u64,
        rotate: Option<u64>,
        overlap: u64,
    ) -> Result<Vec<Change>, ServiceError> {
        let _one_at_a_time = match self.guard() {
            Ok(guard) => guard,
            // Another shuffler is at it; its changes are read the next time.
            Err(ServiceError::InUse { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        self.read()?;
        let mut changes = Vec::new();
        let mut failed = self.tidy(now).err();
        self.keys.retain(|key| {
            let retired = key.file.retired.map(|time| time.saturating_add(overlap));
            if retired.is_none_or(|deadline| deadline > now) {
                return true;
            }
            match key.delete() {
                Ok(()) => changes.push(Change::Deleted(key.file.number)),
                Err(error) => failed = failed.take().or(Some(error)),
            }
            // One that cannot be deleted opens nothing here any more.
            false
        });
        let made = self.newest().and_then(|key| key.file.made);
        if rotate.is_some_and(|rotate| made.unwrap_or(0).saturating_add(rotate) <= now) {
            match self.make(now) {
                Ok(change) => changes.push(change),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) if changes.is_empty() => Err(error),
            Some(error) => {
                tracing::error!(%error, "a part of the keys is not looked after");
                Ok(changes)
            }
            None => Ok(changes),
        }
    }

    /// What a crash has left: keys that should be retired, and public files without their secret ones.
    fn tidy(&mut self, now: u64) -> Result<(), ServiceError> {
        if let Some(newest) = self.newest().map(|key| key.file.number) {
            self.retire_all_but(newest, now)?;
        }
        let folder = &self.folder;
        for entry in std::fs::read_dir(folder).map_err(ServiceError::unreadable(folder))? {
            let path = entry.map_err(ServiceError::unreadable(folder))?.path();
            if is_named(&path, ".pub") && !path.with_extension("key").exists() {
                remove(&path)?;
            }
        }
        Ok(())
    }

    fn retire_all_but(&mut self, active: u8, now: u64) -> Result<(), ServiceError> {
        for key in &mut self.keys {
            if key.file.number != active && key.file.retired.is_none() {
                key.file.retired = Some(now);
                let retired = replace(&key.path, key.file.text().as_bytes());
                if retired.is_err() {
                    key.file.retired = None;
                }
                retired?;
            }
        }
        Ok(())
    }

    /// The newest key that is not retired.
    fn newest(&self) -> Option<&Key> {
        let current = self.keys.iter().filter(|key| key.file.retired.is_none());
        current.max_by_key(|key| (key.file.made, key.file.number))
    }

    fn guard(&self) -> Result<File, ServiceError> {
        lock(&self.folder.join(GUARD))
    }

    fn read(&mut self) -> Result<(), ServiceError> {
        let mut keys = Vec::new();
        let folder = &self.folder;
        for entry in std::fs::read_dir(folder).map_err(ServiceError::unreadable(folder))? {
            let path = entry.map_err(ServiceError::unreadable(folder))?.path();
            if !is_named(&path, ".key") {
                continue;
            }
            let file = KeyFile::read(&path, Party::Shuffler)?;
            let secret = file.secret(&path)?;
            keys.push(Key { path, file, secret });
        }
        keys.sort_by_key(|key| key.file.number);
        if let Some(pair) = keys
            .windows(2)
            .find(|pair| pair[0].file.number == pair[1].file.number)
        {
            let message = format!("there is another key of number {}", pair[1].file.number);
            return Err(ServiceError::content(
                &pair[1].path,
                "a file of keys",
                message,
            ));
        }
        self.keys = keys;
        Ok(())
    }

    /// A new key under a number that no key of the folder has, and the others retired.
    fn make(&mut self, now: u64) -> Result<Change, ServiceError> {
        let last = self.newest().map_or(0, |key| key.file.number);
        let taken = |number: &u8| self.keys.iter().any(|key| key.file.number == *number);
        let after = (1..=u8::MAX).map(|step| last.wrapping_add(step));
        let number = after.into_iter().find(|number| !taken(number));
        let number = number.ok_or_else(|| {
            let message = "there are 256 keys: delete old ones, or wait until they are deleted";
            ServiceError::content(&self.folder, "a folder for another key", message)
        })?;
        // Left over from a crash, or from a key that was deleted by hand: no secret key of this number is
        // there.
        remove(&self.folder.join(format!("shuffler-{number}.pub")))?;
        make_at(Party::Shuffler, number, &self.folder, Some(now))?;
        // The new key is there, whatever comes now: older ones that stay active are retired the next time.
        let retired = self.retire_all_but(number, now);
        self.read()?;
        if let Err(error) = retired {
            tracing::error!(%error, "an older key is not retired yet");
        }
        Ok(Change::Made(number))
    }
}

impl Key {
    /// Removes its files, the secret one first.
    fn delete(&self) -> Result<(), ServiceError> {
        remove(&self.path)?;
        // Where that fails, it is a public file without its secret one: removed the next time.
        let _ = remove(&self.path.with_extension("pub"));
        Ok(())
    }
}

/// Whether it is the file of a key of the shuffler's with this ending.
fn is_named(path: &Path, ending: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("shuffler-") && name.ends_with(ending))
}
