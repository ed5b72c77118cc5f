//! The keys of a running shuffler: one that devices seal to, and older ones that still open what is on its
//! way.
//!
//! ```text
//! PENDING ──every shuffler has it──► ACTIVE ──rotation──► RETIRED ──overlap──► deleted
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
//! share a folder; a lock lets one of them at a time replace keys. There a new key is pending until each of
//! them has read it, so that no device seals to a key that one of them does not have yet.
//!
//! A file is read again when it is another one than before, and not each time that it is looked at.

use crate::error::ServiceError;
use crate::keys::{KeyFile, Party, make_at};
use crate::secure_file::{lock, remove, replace};
use shuffledp_protocol::envelope::ShufflerKey;
use shuffledp_protocol::hpke::SecretKey;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file whose lock is held while keys are replaced.
const GUARD: &str = "keyring";

/// For how many seconds a key of a shared folder is pending: each shuffler reads the folder at every look,
/// and is not ready when it has not looked for two minutes; clocks differ by some seconds.
pub const PENDING: u64 = 150;

/// The keys of a folder.
pub struct Keyring {
    folder: PathBuf,
    keys: Vec<Key>,
    /// For how many seconds a new key is pending.
    pending: u64,
    /// When the folder was looked at last.
    now: u64,
    /// Whether the first look found a key that a running shuffler made.
    used: bool,
    /// Grows when a key comes or goes.
    revision: u64,
}

struct Key {
    path: PathBuf,
    file: KeyFile,
    secret: SecretKey,
    stamp: Stamp,
}

/// What tells a file from the one that was there before: files of keys are replaced, not written over.
type Stamp = (u64, i64, i64, u64);

/// What became of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// This key is active now.
    Made(u8),
    /// This key is deleted.
    Deleted(u8),
}

impl Keyring {
    /// Whether there is a key in a folder.
    pub fn is_begun(folder: &Path) -> Result<bool, ServiceError> {
        for entry in std::fs::read_dir(folder).map_err(ServiceError::unreadable(folder))? {
            let path = entry.map_err(ServiceError::unreadable(folder))?.path();
            if is_named(&path, ".key") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the keys of a folder; makes the first one where there is none. New keys are pending for so many
    /// seconds ([`PENDING`] where others share the folder, 0 where nobody does).
    pub fn open(folder: &Path, now: u64, pending: u64) -> Result<Self, ServiceError> {
        std::fs::create_dir_all(folder).map_err(ServiceError::unwritable(folder))?;
        let mut ring = Self {
            folder: folder.to_owned(),
            keys: Vec::new(),
            pending,
            now,
            used: false,
            revision: 0,
        };
        ring.read()?;
        ring.used = ring.keys.iter().any(|key| key.file.made.is_some());
        if ring.active().is_none() {
            let _one_at_a_time = ring.guard()?;
            ring.read()?;
            if ring.active().is_none() {
                ring.make()?;
            }
        }
        Ok(ring)
    }

    /// The key that devices seal to; none where every key of the folder is retired. A pending one only where
    /// there is no other.
    pub fn active(&self) -> Option<ShufflerKey> {
        let key = self.current()?;
        Some(ShufflerKey {
            number: key.file.number,
            key: key.file.public,
        })
    }

    /// Whether the folder had a key, when it was opened, that a running shuffler made.
    pub fn was_used(&self) -> bool {
        self.used
    }

    /// Another number when a key has come or gone.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// All keys that open envelopes.
    pub fn secrets(&self) -> Vec<(u8, SecretKey)> {
        let secrets = self
            .keys
            .iter()
            .map(|key| (key.file.number, key.secret.clone()));
        secrets.collect()
    }

    /// Makes a new key, and retires the older ones once it is active.
    pub fn rotate(&mut self, now: u64) -> Result<Vec<Change>, ServiceError> {
        let _one_at_a_time = self.guard()?;
        self.now = now;
        self.read()?;
        Ok(vec![self.make()?])
    }

    /// Makes a new key and deletes all others at once, from the disk too: what was sealed to them opens no
    /// more. One that cannot be deleted is an error, after the others are.
    pub fn replace_all(&mut self, now: u64) -> Result<Vec<Change>, ServiceError> {
        let _one_at_a_time = self.guard()?;
        self.now = now;
        self.read()?;
        let made = self.make()?;
        let (mut changes, mut failed) = (vec![made], None);
        for key in &self.keys {
            let number = key.file.number;
            if made == Change::Made(number) {
                continue;
            }
            match key.delete() {
                Ok(()) => changes.push(Change::Deleted(number)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        self.read()?;
        failed.map_or(Ok(changes), Err)
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
        self.now = now;
        self.read()?;
        let mut changes = Vec::new();
        let mut failed = self.tidy().err();
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
            self.revision += 1;
            false
        });
        let made = self.newest().and_then(|key| key.file.made);
        if rotate.is_some_and(|rotate| made.unwrap_or(0).saturating_add(rotate) <= now) {
            match self.make() {
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

    /// Retires what is older than the active key, and puts in order what a crash has left: keys that should
    /// be retired, and public files without their secret ones.
    fn tidy(&mut self) -> Result<(), ServiceError> {
        self.retire_older()?;
        let folder = &self.folder;
        for entry in std::fs::read_dir(folder).map_err(ServiceError::unreadable(folder))? {
            let path = entry.map_err(ServiceError::unreadable(folder))?.path();
            if is_named(&path, ".pub") && !path.with_extension("key").exists() {
                remove(&path)?;
            }
        }
        Ok(())
    }

    fn retire_older(&mut self) -> Result<(), ServiceError> {
        let Some(active) = self.current().map(Key::age) else {
            return Ok(());
        };
        let now = self.now;
        for key in &mut self.keys {
            if key.age() < active && key.file.retired.is_none() {
                key.file.retired = Some(now);
                let retired = replace(&key.path, &key.file.text());
                match retired.and_then(|()| stamp(&key.path)) {
                    Ok(stamp) => key.stamp = stamp,
                    Err(error) => {
                        key.file.retired = None;
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// The newest key that is not retired.
    fn newest(&self) -> Option<&Key> {
        let current = self.keys.iter().filter(|key| key.file.retired.is_none());
        current.max_by_key(|key| key.age())
    }

    /// The newest key that is neither retired nor pending; the newest pending one where there is no other.
    fn current(&self) -> Option<&Key> {
        let current = self.keys.iter().filter(|key| key.file.retired.is_none());
        let is_pending = |key: &Key| {
            let until = key.file.made.map(|made| made.saturating_add(self.pending));
            self.pending > 0 && until.is_some_and(|until| until > self.now)
        };
        let active = current.filter(|key| !is_pending(key));
        active.max_by_key(|key| key.age()).or_else(|| self.newest())
    }

    fn guard(&self) -> Result<File, ServiceError> {
        lock(&self.folder.join(GUARD))
    }

    /// Reads the files that are others than before. Where one cannot be read, the keys stay as they were.
    fn read(&mut self) -> Result<(), ServiceError> {
        let (mut same, mut new) = (Vec::new(), Vec::new());
        let folder = &self.folder;
        for entry in std::fs::read_dir(folder).map_err(ServiceError::unreadable(folder))? {
            let path = entry.map_err(ServiceError::unreadable(folder))?.path();
            if !is_named(&path, ".key") {
                continue;
            }
            let stamp = stamp(&path)?;
            let known = |key: &Key| key.path == path && key.stamp == stamp;
            if let Some(place) = self.keys.iter().position(known) {
                same.push(place);
                continue;
            }
            let file = KeyFile::read(&path, Party::Shuffler)?;
            let secret = file.secret(&path)?;
            new.push(Key {
                path,
                file,
                secret,
                stamp,
            });
        }
        let mut numbers = BTreeSet::new();
        let kept = same.iter().map(|&place| &self.keys[place]);
        for key in kept.chain(&new) {
            if !numbers.insert(key.file.number) {
                let message = format!("there is another key of number {}", key.file.number);
                return Err(ServiceError::content(&key.path, "a file of keys", message));
            }
        }
        if new.is_empty() && same.len() == self.keys.len() {
            return Ok(());
        }
        let mut place = 0;
        self.keys.retain(|_| {
            place += 1;
            same.contains(&(place - 1))
        });
        self.keys.extend(new);
        self.keys.sort_by_key(|key| key.file.number);
        self.revision += 1;
        Ok(())
    }

    /// A new key under a number that no key of the folder has, and the others retired unless it is pending.
    fn make(&mut self) -> Result<Change, ServiceError> {
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
        // Later than the one before, also where the clock was set back: the newest is the one to come.
        let before = self.newest().and_then(|key| key.file.made);
        let made = before.map_or(self.now, |before| self.now.max(before.saturating_add(1)));
        make_at(Party::Shuffler, number, &self.folder, Some(made))?;
        self.read()?;
        // The new key is there, whatever comes now: older ones that stay active are retired the next time.
        let retired = self.retire_older();
        if let Err(error) = retired {
            tracing::error!(%error, "an older key is not retired yet");
        }
        Ok(Change::Made(number))
    }
}

impl Key {
    /// Which of two is the older one.
    fn age(&self) -> (Option<u64>, u8) {
        (self.file.made, self.file.number)
    }

    /// Removes its files, the secret one first.
    fn delete(&self) -> Result<(), ServiceError> {
        remove(&self.path)?;
        // Where that fails, it is a public file without its secret one: removed the next time.
        let _ = remove(&self.path.with_extension("pub"));
        Ok(())
    }
}

fn stamp(path: &Path) -> Result<Stamp, ServiceError> {
    let file = std::fs::metadata(path).map_err(ServiceError::unreadable(path))?;
    Ok((file.ino(), file.mtime(), file.mtime_nsec(), file.len()))
}

/// Whether it is the file of a key of the shuffler's with this ending.
fn is_named(path: &Path, ending: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("shuffler-") && name.ends_with(ending))
}
