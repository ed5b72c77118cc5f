//! Files that are there whole or not at all, also after a power cut; and a lock beside a file.

use crate::error::ServiceError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The folder of a file.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A temporary file beside `path`, readable by its owner alone, with these bytes on disk.
fn beside(path: &Path, bytes: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(folder(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The name of a file is on disk once its folder is.
fn settle(path: &Path) -> std::io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// A new file; one that is there already is an error.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<(), ServiceError> {
    let written = beside(path, bytes).and_then(|file| {
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

/// A file in place of the one that is there.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), ServiceError> {
    let written = beside(path, bytes).and_then(|file| {
        file.persist(path).map_err(|error| error.error)?;
        settle(path)
    });
    written.map_err(ServiceError::unwritable(path))
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
