//! Files that are there whole or not at all, also after a power cut; and a lock beside a file. Nobody but
//! their owner reads them, unless they are public.

use crate::error::ServiceError;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

/// What the name of a file ends with that is not whole yet. One that is left over after a crash holds what
/// nobody has seen.
pub(crate) const PART: &str = ".part";
/// Who may do what: its owner alone.
const PRIVATE: u32 = 0o600;
/// Everybody reads it, as far as the process allows that at all (umask).
const PUBLIC: u32 = 0o644;

/// The folder of a file.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A temporary file beside `path` with these bytes on disk.
fn beside(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".")
        .suffix(PART)
        .permissions(std::fs::Permissions::from_mode(mode))
        .tempfile_in(folder(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The name of a file is on disk once its folder is.
fn settle(path: &Path) -> std::io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// A new file that only its owner reads; one that is there already is an error.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<(), ServiceError> {
    create_as(path, bytes, PRIVATE)
}

/// A new file for everybody; one that is there already is an error.
pub(crate) fn create_public(path: &Path, bytes: &[u8]) -> Result<(), ServiceError> {
    create_as(path, bytes, PUBLIC)
}

fn create_as(path: &Path, bytes: &[u8], mode: u32) -> Result<(), ServiceError> {
    let written = beside(path, bytes, mode).and_then(|file| {
        file.persist_noclobber(path).map_err(|error| error.error)?;
        settle(path)
    });
    written.map_err(ServiceError::unwritable(path))
}

/// The same in a folder that may not be there yet.
pub(crate) fn create_with_folder(path: &Path, bytes: &[u8]) -> Result<(), ServiceError> {
    let folder = folder(path);
    std::fs::create_dir_all(&folder).map_err(ServiceError::unwritable(&folder))?;
    create(path, bytes)
}

/// A file in place of the one that is there, readable by its owner alone.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), ServiceError> {
    let written = beside(path, bytes, PRIVATE).and_then(|file| {
        file.persist(path).map_err(|error| error.error)?;
        settle(path)
    });
    written.map_err(ServiceError::unwritable(path))
}

/// Removes a file, which need not be there.
pub(crate) fn remove(path: &Path) -> Result<(), ServiceError> {
    let removed = match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => settle(path),
    };
    removed.map_err(ServiceError::unwritable(path))
}

/// What a file of JSON holds, which `what` names in messages; nothing where there is no file yet.
pub(crate) fn read_or_begin<T: DeserializeOwned + Default>(
    path: &Path,
    what: &'static str,
) -> Result<T, ServiceError> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&Zeroizing::new(text))
            .map_err(|error| ServiceError::content(path, what, error)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(ServiceError::unreadable(path)(error)),
    }
}

/// Holds a file named `path` with `.lock` added until it is dropped: one program at a time.
pub(crate) fn lock(path: &Path) -> Result<File, ServiceError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let path = PathBuf::from(name);
    let open = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .open(&path);
    let file = open.map_err(ServiceError::unwritable(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ServiceError::InUse { path }),
        Err(TryLockError::Error(error)) => Err(ServiceError::unwritable(&path)(error)),
    }
}
