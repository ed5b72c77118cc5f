//! How much of a window a shuffler keeps: a batch is put into order in memory, so there is a bound.
//!
//! ```text
//! R   reports     min(envelopes_in_window, ⌊bytes_in_window / length of an envelope⌋)
//! D   dummies     min(dummies_in_window,   ⌊bytes_in_window / length of an envelope⌋)
//! P   probes      probes_in_window
//! ```
//!
//! The three are counted apart: a dummy and a probe carry no token, so anybody can send any number of them,
//! and people whom an issuer has signed for must find room all the same. A dummy or a probe beyond its number
//! is dropped and answered as one that is kept. A window that has R reports is full for everything that
//! comes: else the answer would tell reports and dummies apart.
//!
//! After a restart the store says how many rows a window has, and not which of them are dummies, for they are
//! encrypted. As many as may be are taken for dummies: then no report finds less room than it had, and
//! reports and dummies together are never more than R + D.

use crate::server::config::LimitsConfig;
use shuffledp_protocol::envelope::{PROBES, envelope_length};
use shuffledp_protocol::task::{Bytes32, Task};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What an envelope is to the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Report,
    Dummy,
    Probe,
}

/// What becomes of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It is kept, and counted.
    Kept,
    /// It holds no report, and its window has as many of these as are kept.
    Dropped,
    /// Its window has as many reports as are kept.
    Full,
}

/// What a window of a task may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    pub(crate) reports: u64,
    dummies: u64,
    probes: u64,
}

impl Most {
    /// The numbers of a task, by the length of its envelopes.
    pub(crate) fn of(limits: &LimitsConfig, task: &Task) -> Self {
        let by_bytes = limits.bytes_in_window / envelope_length(task) as u64;
        Self {
            reports: limits.envelopes_in_window.min(by_bytes),
            dummies: limits.dummies_in_window.min(by_bytes),
            probes: limits.probes_in_window,
        }
    }
}

/// What a window holds.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    reports: u64,
    dummies: u64,
    probes: u64,
}

/// How full the open windows of all tasks are.
#[derive(Debug, Default)]
pub(crate) struct Quota {
    most: BTreeMap<Bytes32, Most>,
    held: Mutex<BTreeMap<(Bytes32, u64), Held>>,
    /// Windows, the latest first, of which a probe was dropped: copies of one probe take room until they are
    /// known for copies.
    missed: Mutex<VecDeque<(Bytes32, u64)>>,
}

/// For how many windows it is known that a probe of theirs was dropped.
const MISSED: usize = 256;

impl Quota {
    /// Counts a task's windows from now on: those that have rows already begin with them, each with the
    /// context of its batch.
    pub(crate) fn begin(
        &mut self,
        task: Bytes32,
        most: Most,
        rows: impl IntoIterator<Item = (u64, Bytes32, u64)>,
    ) {
        self.most.insert(task, most);
        let mut windows = self.held();
        for (window, context, rows) in rows {
            let held = windows.entry((task, window)).or_default();
            if context == PROBES {
                held.probes += rows;
                continue;
            }
            let dummies = rows.min(most.dummies.saturating_sub(held.dummies));
            held.dummies += dummies;
            held.reports += rows - dummies;
        }
    }

    /// Whether a window takes nothing any more.
    pub(crate) fn is_full(&self, task: &Bytes32, window: u64) -> bool {
        let most = self.most.get(task).map_or(0, |most| most.reports);
        let held = self.held().get(&(*task, window)).copied();
        held.unwrap_or_default().reports >= most
    }

    /// Takes room for an envelope, of a task whose windows before `first_open` are closed and are not counted
    /// any more.
    pub(crate) fn take(&self, task: &Bytes32, window: u64, first_open: u64, kind: Kept) -> Room {
        let Some(most) = self.most.get(task) else {
            return Room::Full;
        };
        let mut windows = self.held();
        while let Some((closed, _)) = windows.range((*task, 0)..(*task, first_open)).next() {
            let closed = *closed;
            windows.remove(&closed);
        }
        let held = windows.entry((*task, window)).or_default();
        if held.reports >= most.reports {
            return Room::Full;
        }
        let (count, most) = match kind {
            Kept::Report => (&mut held.reports, most.reports),
            Kept::Dummy => (&mut held.dummies, most.dummies),
            Kept::Probe => (&mut held.probes, most.probes),
        };
        if *count >= most {
            if kind == Kept::Probe {
                self.miss((*task, window));
            }
            return Room::Dropped;
        }
        *count += 1;
        Room::Kept
    }

    /// Gives room back that was taken for an envelope that is not kept after all: one that came before.
    pub(crate) fn give_back(&self, task: &Bytes32, window: u64, kind: Kept) {
        if let Some(held) = self.held().get_mut(&(*task, window)) {
            let count = match kind {
                Kept::Report => &mut held.reports,
                Kept::Dummy => &mut held.dummies,
                Kept::Probe => &mut held.probes,
            };
            *count = count.saturating_sub(1);
        }
    }

    fn miss(&self, window: (Bytes32, u64)) {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        if !missed.contains(&window) {
            missed.truncate(MISSED - 1);
            missed.push_front(window);
        }
    }

    /// Whether a probe of a window was dropped since the start.
    pub(crate) fn missed_probes(&self, task: &Bytes32, window: u64) -> bool {
        let missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        missed.contains(&(*task, window))
    }

    /// A thread that panics while it counts leaves whole numbers.
    fn held(&self) -> MutexGuard<'_, BTreeMap<(Bytes32, u64), Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kept, Most, Quota, Room};
    use shuffledp_protocol::envelope::PROBES;
    use shuffledp_protocol::task::Bytes32;

    const TASK: Bytes32 = Bytes32([1; 32]);
    const NOTHING: Bytes32 = Bytes32([0; 32]);

    fn quota(rows: &[(u64, Bytes32, u64)]) -> Quota {
        let most = Most {
            reports: 5,
            dummies: 3,
            probes: 2,
        };
        let mut quota = Quota::default();
        quota.begin(TASK, most, rows.iter().copied());
        quota
    }

    fn until_it_is_not_kept(quota: &Quota, kind: Kept) -> (u64, Room) {
        let mut kept = 0;
        loop {
            match quota.take(&TASK, 7, 7, kind) {
                Room::Kept => kept += 1,
                room => return (kept, room),
            }
        }
    }

    #[test]
    fn what_carries_no_token_takes_no_room_from_reports() {
        let quota = quota(&[]);
        assert_eq!(
            until_it_is_not_kept(&quota, Kept::Dummy),
            (3, Room::Dropped)
        );
        assert!(!quota.missed_probes(&TASK, 7));
        assert_eq!(
            until_it_is_not_kept(&quota, Kept::Probe),
            (2, Room::Dropped)
        );
        // Also where room is given back: a missing mark says little.
        quota.give_back(&TASK, 7, Kept::Probe);
        assert!(quota.missed_probes(&TASK, 7) && !quota.missed_probes(&TASK, 8));
        assert_eq!(until_it_is_not_kept(&quota, Kept::Report), (5, Room::Full));
        assert_eq!(until_it_is_not_kept(&quota, Kept::Dummy), (0, Room::Full));
        quota.give_back(&TASK, 7, Kept::Report);
        assert_eq!(until_it_is_not_kept(&quota, Kept::Report), (1, Room::Full));
    }

    /// Of so many rows that were there before, any number may be dummies.
    #[test]
    fn after_a_restart_there_is_no_less_room_for_reports_and_no_more_in_all() {
        for before in 0..=8 {
            let quota = quota(&[(7, NOTHING, before), (7, PROBES, 1)]);
            let (reports, room) = until_it_is_not_kept(&quota, Kept::Report);
            assert_eq!(room, Room::Full);
            assert!(
                reports + before <= 8 && reports >= 5_u64.saturating_sub(before),
                "{before}"
            );
        }
        let quota = quota(&[(7, PROBES, 2)]);
        assert_eq!(
            until_it_is_not_kept(&quota, Kept::Probe),
            (0, Room::Dropped)
        );
    }

    #[test]
    fn closed_windows_are_forgotten() {
        let quota = quota(&[]);
        for window in 0..100 {
            quota.take(&TASK, window, window, Kept::Report);
        }
        assert_eq!(quota.held().len(), 1);
    }
}
