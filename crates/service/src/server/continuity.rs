//! Whether the store is the one that the keys were used with, in the state in which it was left.
//!
//! A store that was lost, or restored from a backup, has forgotten which windows are closed and which reports
//! came. Whoever recorded envelopes could send them again, all but one, and the difference of the two batches
//! would be that one. So the folder of keys remembers the last entry of the journal. Where the store does not
//! have that entry, all keys of devices are replaced, and nothing that was sealed before opens any more.

use crate::error::ServiceError;
use crate::secure_file::{read_or_begin, replace};
use crate::store::Store;
use serde::{Deserialize, Serialize};
use shuffledp_protocol::task::Bytes32;
use std::path::Path;

/// The file in the folder of keys.
const FILE: &str = "journal";

/// An entry of the journal that the store must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Remembered {
    number: u64,
    hash: Bytes32,
}

/// Whether the store goes on from what the folder of keys remembers. Asked before anything is written.
pub(super) fn holds(keys: &Path, store: &dyn Store) -> Result<bool, ServiceError> {
    let path = keys.join(FILE);
    let remembered: Option<Remembered> = read_or_begin(&path, "an entry of a journal")?;
    let Some(remembered) = remembered else {
        return Ok(true);
    };
    let entry = store.entry(remembered.number)?;
    Ok(entry.is_some_and(|entry| entry.hash == remembered.hash))
}

/// Remembers the last entry of the journal, if it is another one than `before`. Gives what is remembered.
pub(super) fn remember(
    keys: &Path,
    store: &dyn Store,
    before: Option<Remembered>,
) -> Result<Option<Remembered>, ServiceError> {
    let last = store.last_entry()?.map(|entry| Remembered {
        number: entry.number,
        hash: entry.hash,
    });
    if let Some(last) = last.filter(|last| Some(*last) != before) {
        // Two numbers: nothing that JSON cannot hold.
        let text = serde_json::to_string(&last).unwrap_or_default() + "\n";
        replace(&keys.join(FILE), text.as_bytes())?;
    }
    Ok(last)
}
