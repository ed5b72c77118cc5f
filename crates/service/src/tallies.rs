//! How many reports of a window were taken, came again, and so on: counted as they come, shown after the
//! window is closed. While it is open, a count that moves would show one person's report.

use shuffledp_protocol::task::Bytes32;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What became of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It is in its batch.
    Taken,
    /// It came again, or its token was spent before.
    Repeated,
    /// It holds no report: a device that stays silent may send one, so that nobody sees that it does.
    Dummy,
    /// It is a probe of an auditor, and its mark will be published.
    Probe,
    /// It is none of the task, or damaged.
    Malformed,
    /// Its window is not open any more.
    Closed,
    /// Its window is not open yet: somebody's clock is wrong.
    Early,
    /// Its window has as many reports as the shuffler holds.
    Full,
    /// It is a dummy or a probe, and its window has as many of these as the shuffler keeps. It is answered as
    /// one that is kept.
    Dropped,
    /// The store failed: it was not taken.
    Failed,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Taken,
        Self::Repeated,
        Self::Dummy,
        Self::Probe,
        Self::Malformed,
        Self::Closed,
        Self::Early,
        Self::Full,
        Self::Dropped,
        Self::Failed,
    ];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Repeated => "repeated",
            Self::Dummy => "dummy",
            Self::Probe => "probe",
            Self::Malformed => "malformed",
            Self::Closed => "closed",
            Self::Early => "early",
            Self::Full => "full",
            Self::Dropped => "dropped",
            Self::Failed => "failed",
        }
    }
}

/// Windows that are counted at a time, for each task: what is older is added up into one number.
const MOST_WINDOWS: usize = 100;

/// Counts of one task.
#[derive(Clone, Debug, Default)]
struct OfTask {
    /// By window.
    windows: BTreeMap<u64, [u64; Outcome::ALL.len()]>,
    /// Windows that are counted no longer.
    older: [u64; Outcome::ALL.len()],
}

/// The counts of all tasks.
#[derive(Debug, Default)]
pub struct Tallies(Mutex<BTreeMap<Bytes32, OfTask>>);

impl Tallies {
    /// Counts an envelope of a window, of a task whose windows before `first_open` are closed.
    pub fn count(&self, task: Bytes32, window: u64, first_open: u64, outcome: Outcome) {
        let mut tasks = self.tasks();
        let counts = tasks.entry(task).or_default();
        counts.windows.entry(window).or_default()[outcome as usize] += 1;
        // What is added up is shown: never a window that is open.
        while counts.windows.len() > MOST_WINDOWS
            && let Some(oldest) = counts.windows.first_entry()
            && *oldest.key() < first_open
        {
            let oldest = oldest.remove();
            for (sum, part) in counts.older.iter_mut().zip(oldest) {
                *sum += part;
            }
        }
    }

    /// How many envelopes of closed windows, those before `first_open`, had this outcome.
    pub fn closed(&self, task: &Bytes32, first_open: u64, outcome: Outcome) -> u64 {
        let tasks = self.tasks();
        let Some(counts) = tasks.get(task) else {
            return 0;
        };
        let closed = counts.windows.range(..first_open);
        let recent: u64 = closed.map(|(_, counts)| counts[outcome as usize]).sum();
        recent + counts.older[outcome as usize]
    }

    /// A thread that panics while it counts leaves whole numbers.
    fn tasks(&self) -> MutexGuard<'_, BTreeMap<Bytes32, OfTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_WINDOWS, Outcome, Tallies};
    use shuffledp_protocol::task::Bytes32;

    #[test]
    fn an_open_window_shows_nothing() {
        let (tallies, task) = (Tallies::default(), Bytes32([1; 32]));
        for window in [3, 4, 4, 5] {
            tallies.count(task, window, 3, Outcome::Taken);
        }
        tallies.count(task, 4, 3, Outcome::Repeated);
        for (first_open, taken) in [(3, 0), (4, 1), (5, 3), (6, 4)] {
            assert_eq!(tallies.closed(&task, first_open, Outcome::Taken), taken);
        }
        assert_eq!(tallies.closed(&task, 5, Outcome::Repeated), 1);
        assert_eq!(tallies.closed(&Bytes32([2; 32]), 9, Outcome::Repeated), 0);
    }

    #[test]
    fn old_windows_stay_counted_in_bounded_memory() {
        let (tallies, task) = (Tallies::default(), Bytes32([1; 32]));
        let windows = 10 * MOST_WINDOWS as u64;
        for window in 0..windows {
            tallies.count(task, window, window, Outcome::Taken);
        }
        assert_eq!(tallies.closed(&task, windows, Outcome::Taken), windows);
        assert_eq!(tallies.tasks()[&task].windows.len(), MOST_WINDOWS);
        // Of windows that are open none is added up to the rest.
        for window in windows..2 * windows {
            tallies.count(task, window, windows, Outcome::Taken);
        }
        assert_eq!(tallies.closed(&task, windows, Outcome::Taken), windows);
        assert_eq!(tallies.tasks()[&task].windows.len(), windows as usize);
    }
}
