//! The life of a batch at the shuffler: which edge leads where, in one place for every store.
//!
//! ```text
//! OPEN ──its window closes, reports ≥ smallest──► SEALED ──acknowledged──► RELEASED
//!   │                                               │                         │
//!   └──its window closes, reports < smallest        └──────kept long enough───┤
//!                    ▼                                                        ▼
//!                 EXPIRED                                                 SHREDDED
//! ```
//!
//! A sealed batch has its order, its bytes and its digest for good, and may be fetched any number of times
//! until it is shredded. No edge leads back: a report that comes after the seal would show itself by the
//! difference of two releases. With EXPIRED and SHREDDED the key of the batch is destroyed.

use serde::{Deserialize, Serialize};

/// Where a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Takes reports.
    Open,
    /// Has its order and its bytes; the analyzer may fetch it.
    Sealed,
    /// The analyzer has said that it has it.
    Released,
    /// Its window closed with too few reports. They are destroyed.
    Expired,
    /// Its reports are destroyed.
    Shredded,
}

/// What happens to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its window closes.
    Close {
        /// The reports that it holds.
        reports: u64,
        /// The reports that it must hold to be released.
        smallest: u64,
    },
    /// The analyzer acknowledges it.
    Acknowledge,
    /// It was kept as long as it should be.
    Shred,
}

/// An edge that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a batch that is {} cannot be {event}", state.name())]
pub struct NoEdge {
    /// Where the batch is.
    pub state: State,
    /// What was wanted.
    pub event: &'static str,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Open,
        Self::Sealed,
        Self::Released,
        Self::Expired,
        Self::Shredded,
    ];

    /// Its name, as stores and messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Sealed => "sealed",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Shredded => "shredded",
        }
    }

    /// Whether the analyzer may fetch the batch.
    pub fn may_be_fetched(self) -> bool {
        matches!(self, Self::Sealed | Self::Released)
    }

    /// Where an event leads.
    ///
    /// ```
    /// use shuffledp_protocol::lifecycle::{Event, State};
    /// let close = |reports| Event::Close { reports, smallest: 1000 };
    /// assert_eq!(State::Open.after(close(1000))?, State::Sealed);
    /// assert_eq!(State::Open.after(close(999))?, State::Expired);
    /// assert!(State::Sealed.after(close(1001)).is_err());
    /// # Ok::<(), shuffledp_protocol::lifecycle::NoEdge>(())
    /// ```
    pub fn after(self, event: Event) -> Result<Self, NoEdge> {
        match (self, event) {
            (Self::Open, Event::Close { reports, smallest }) if reports >= smallest => {
                Ok(Self::Sealed)
            }
            (Self::Open, Event::Close { .. }) => Ok(Self::Expired),
            // An acknowledgement may be sent again: the analyzer cannot know whether the first one arrived.
            (Self::Sealed | Self::Released, Event::Acknowledge) => Ok(Self::Released),
            (Self::Sealed | Self::Released, Event::Shred) => Ok(Self::Shredded),
            (state, event) => Err(NoEdge {
                state,
                event: event.participle(),
            }),
        }
    }
}

impl Event {
    fn participle(self) -> &'static str {
        match self {
            Self::Close { .. } => "closed",
            Self::Acknowledge => "acknowledged",
            Self::Shred => "shredded",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, State};
    use std::collections::BTreeSet;

    /// Every sequence of events from OPEN: no state is entered twice, and none that has been left.
    #[test]
    fn no_edge_leads_back() {
        let events = [
            Event::Close {
                reports: 9,
                smallest: 10,
            },
            Event::Close {
                reports: 10,
                smallest: 10,
            },
            Event::Acknowledge,
            Event::Shred,
        ];
        let mut paths = vec![vec![State::Open]];
        let mut reached = BTreeSet::new();
        while let Some(path) = paths.pop() {
            let state = path[path.len() - 1];
            reached.insert(state);
            for event in events {
                match state.after(event) {
                    Ok(next) if next == state => assert_eq!(event, Event::Acknowledge),
                    Ok(next) => {
                        assert!(!path.contains(&next), "{path:?} {next:?}");
                        paths.push([&path[..], &[next]].concat());
                    }
                    Err(_) => {}
                }
            }
        }
        assert_eq!(reached, State::ALL.into());
    }

    #[test]
    fn what_is_too_small_is_never_fetched() {
        for reports in 0..10 {
            let close = Event::Close {
                reports,
                smallest: 10,
            };
            let expired = State::Open.after(close).unwrap_or(State::Sealed);
            assert_eq!(expired, State::Expired);
            assert!(!expired.may_be_fetched());
            for event in [close, Event::Acknowledge, Event::Shred] {
                assert!(expired.after(event).is_err());
            }
        }
    }
}
