//! The journal of a store: what happened to batches, as a chain of hashes. There is no entry for a report,
//! and none has a time: an entry tells of whole windows. Nor is there one for a batch that opens: entries
//! have an order, and that would be the order in which the first reports of several batches came.
//!
//! ```text
//! hash of an entry = SHA-256("shuffledp/1 journal" || u64 number || hash of the entry before || event)
//! ```
//!
//! The event is JSON, hashed as it is written; the entry before the first has the hash zero. An entry is
//! written in the transaction of what it tells. The chain shows a change, a gap or a swap of entries, and
//! that no batch took an edge that there is not. That entries were cut from its end shows only to somebody
//! who has kept a later hash.

use crate::store::BatchName;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shuffledp_protocol::lifecycle::{self, NoEdge, State};
use shuffledp_protocol::task::Bytes32;
use std::collections::BTreeMap;

/// What a hash hashes first.
const DOMAIN: &[u8] = b"shuffledp/1 journal";
/// The hash before the first entry.
const START: Bytes32 = Bytes32([0; 32]);

/// What an entry tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// It was closed and has its order.
    Sealed {
        /// Which batch.
        batch: BatchName,
        /// How many reports it has.
        reports: u64,
        /// How many it had to have.
        smallest: u64,
        /// The hash of its bytes.
        digest: Bytes32,
    },
    /// It was closed with too few reports, and they are destroyed.
    Expired {
        /// Which batch.
        batch: BatchName,
        /// How many reports it had.
        reports: u64,
        /// How many it had to have.
        smallest: u64,
    },
    /// The analyzer has it.
    Released {
        /// Which batch.
        batch: BatchName,
        /// The hash of the bytes that it has.
        digest: Bytes32,
    },
    /// Its reports are destroyed.
    Shredded {
        /// Which batch.
        batch: BatchName,
    },
    /// Something that is not about a batch.
    Note {
        /// What.
        text: String,
    },
}

/// An entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its number; that of the first is 0.
    pub number: u64,
    /// The hash of the entry before.
    pub previous: Bytes32,
    /// What happened: an [`Event`] in JSON.
    pub event: String,
    /// The hash of this entry.
    pub hash: Bytes32,
}

/// Why entries are no journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// An entry that does not follow from the one before: something was changed, left out or put in.
    #[error("the entry {number} of the journal does not follow from the one before")]
    Broken {
        /// Where it should be.
        number: u64,
    },
    /// An event that is none.
    #[error("the entry {number} of the journal is not readable: {error}")]
    Unreadable {
        /// Which entry.
        number: u64,
        /// Why.
        error: String,
    },
    /// What must not happen to a batch.
    #[error("the entry {number} of the journal tells what must not happen: {error}")]
    Edge {
        /// Which entry.
        number: u64,
        /// Why not.
        error: String,
    },
}

impl Entry {
    /// The entry that follows.
    pub(crate) fn after(last: Option<&Self>, event: &Event) -> Self {
        let (number, previous) = last.map_or((0, START), |last| (last.number + 1, last.hash));
        // Texts and numbers: nothing that JSON cannot hold.
        let event = serde_json::to_string(event).unwrap_or_default();
        let hash = hash(number, &previous, &event);
        Self {
            number,
            previous,
            event,
            hash,
        }
    }

    /// What it tells.
    pub fn event(&self) -> Result<Event, JournalError> {
        serde_json::from_str(&self.event).map_err(|error| JournalError::Unreadable {
            number: self.number,
            error: error.to_string(),
        })
    }
}

fn hash(number: u64, previous: &Bytes32, event: &str) -> Bytes32 {
    let hash = Sha256::new()
        .chain_update(DOMAIN)
        .chain_update(number.to_be_bytes())
        .chain_update(previous.0)
        .chain_update(event);
    Bytes32(hash.finalize().into())
}

/// Follows a journal from its first entry: the chain holds, and every batch went where the edges of
/// [`lifecycle`] lead. Gives the hash of the last entry.
///
/// ```
/// use shuffledp_service::store::journal::verify;
/// assert_eq!(verify(&[])?.0, [0; 32]);
/// # Ok::<(), shuffledp_service::store::journal::JournalError>(())
/// ```
pub fn verify(entries: &[Entry]) -> Result<Bytes32, JournalError> {
    let mut last = START;
    let mut batches = BTreeMap::new();
    for (number, entry) in (0..).zip(entries) {
        let follows = entry.number == number
            && entry.previous == last
            && entry.hash == hash(number, &last, &entry.event);
        if !follows {
            return Err(JournalError::Broken { number });
        }
        let edge = follow(&mut batches, &entry.event()?);
        edge.map_err(|error| JournalError::Edge { number, error })?;
        last = entry.hash;
    }
    Ok(last)
}

/// Where the batches are, and the digests of those that are sealed.
type Batches = BTreeMap<BatchName, (State, Option<Bytes32>)>;

fn follow(batches: &mut Batches, event: &Event) -> Result<(), String> {
    let edge = |batches: &mut Batches, batch: &BatchName, event, to: State| {
        // What is not known yet is open.
        let (state, _) = batches.entry(*batch).or_insert((State::Open, None));
        let next = State::after(*state, event).map_err(|error: NoEdge| error.to_string())?;
        if next != to || next == *state {
            return Err(format!("the batch is {}, not {}", next.name(), to.name()));
        }
        *state = next;
        Ok(())
    };
    match event {
        Event::Sealed {
            batch,
            reports,
            smallest,
            digest,
        } => {
            let (reports, smallest) = (*reports, *smallest);
            let close = lifecycle::Event::Close { reports, smallest };
            edge(batches, batch, close, State::Sealed)?;
            batches.insert(*batch, (State::Sealed, Some(*digest)));
            Ok(())
        }
        Event::Expired {
            batch,
            reports,
            smallest,
        } => {
            let (reports, smallest) = (*reports, *smallest);
            let close = lifecycle::Event::Close { reports, smallest };
            edge(batches, batch, close, State::Expired)
        }
        Event::Released { batch, digest } => {
            if batches.get(batch).and_then(|(_, digest)| *digest) != Some(*digest) {
                return Err("the batch has another digest".to_owned());
            }
            edge(
                batches,
                batch,
                lifecycle::Event::Acknowledge,
                State::Released,
            )
        }
        Event::Shredded { batch } => edge(batches, batch, lifecycle::Event::Shred, State::Shredded),
        Event::Note { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Event, JournalError, verify};
    use crate::store::BatchName;
    use shuffledp_protocol::task::Bytes32;

    fn written(events: &[Event]) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for event in events {
            entries.push(Entry::after(entries.last(), event));
        }
        entries
    }

    fn life() -> [Event; 4] {
        let batch = BatchName {
            task: Bytes32([1; 32]),
            window: 7,
            context: Bytes32([0; 32]),
        };
        let digest = Bytes32([9; 32]);
        [
            Event::Note {
                text: "a task was loaded".to_owned(),
            },
            Event::Sealed {
                batch,
                reports: 5,
                smallest: 5,
                digest,
            },
            Event::Released { batch, digest },
            Event::Shredded { batch },
        ]
    }

    #[test]
    fn a_change_anywhere_breaks_the_chain() {
        let entries = written(&life());
        assert_eq!(verify(&entries).unwrap(), entries[3].hash);
        for number in 0..entries.len() {
            let mut changed = entries.clone();
            changed[number].event = changed[number].event.replace('7', "8") + " ";
            let broken = JournalError::Broken {
                number: number as u64,
            };
            assert_eq!(verify(&changed), Err(broken.clone()));
            let mut without = entries.clone();
            without.remove(number);
            assert_eq!(verify(&without).is_ok(), number == 3);
            let mut twice = entries.clone();
            twice.insert(number, entries[number].clone());
            assert!(verify(&twice).is_err());
        }
        let mut swapped = entries;
        swapped.swap(0, 1);
        assert_eq!(verify(&swapped), Err(JournalError::Broken { number: 0 }));
    }

    /// A chain that holds and tells of a second release, of a batch below its size, of one that came back.
    #[test]
    fn a_whole_chain_with_a_forbidden_edge_is_refused() {
        let [note, sealed, released, shredded] = life();
        let Event::Sealed { batch, digest, .. } = sealed.clone() else {
            panic!("{sealed:?}");
        };
        let small = Event::Sealed {
            batch,
            reports: 4,
            smallest: 5,
            digest,
        };
        let other = Event::Released {
            batch,
            digest: Bytes32([8; 32]),
        };
        let expired = Event::Expired {
            batch,
            reports: 5,
            smallest: 5,
        };
        for wrong in [
            vec![&released],
            vec![&shredded],
            vec![&small],
            vec![&expired],
            vec![&sealed, &sealed],
            vec![&sealed, &other],
            vec![&sealed, &released, &released],
            vec![&sealed, &shredded, &released],
            vec![&note, &sealed, &shredded, &sealed],
        ] {
            let wrong: Vec<Event> = wrong.into_iter().cloned().collect();
            let refused = verify(&written(&wrong));
            assert!(
                matches!(refused, Err(JournalError::Edge { .. })),
                "{wrong:?}"
            );
        }
    }
}
