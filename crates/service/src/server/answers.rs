//! Answers that are the same for everybody who asks: put together once, and shared. Whoever asks needs no
//! token, so an answer may cost neither time nor memory for each of them.

use crate::probes::Published;
use axum::body::Bytes;
use serde_json::json;
use shuffledp_protocol::envelope::ShufflerKey;
use shuffledp_protocol::task::{Bytes32, Task};
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// The windows whose marks are kept in memory at a time.
const WINDOWS: usize = 16;

/// What an answer about a task is made of.
type OfTask = (ShufflerKey, RangeInclusive<u64>);

/// A task as devices are told it, with the key and the windows of the moment.
pub(crate) struct TaskAnswer {
    /// The task in one line.
    task: String,
    last: Mutex<Option<(OfTask, Bytes)>>,
}

impl TaskAnswer {
    pub(crate) fn new(task: &Task) -> Self {
        // A file that was read as JSON.
        let value: Option<serde_json::Value> = serde_json::from_str(&task.to_json()).ok();
        Self {
            task: value.unwrap_or_default().to_string(),
            last: Mutex::default(),
        }
    }

    /// The bytes of the answer: those of the last one, unless a key or a window has changed.
    pub(crate) fn at(&self, key: ShufflerKey, open: RangeInclusive<u64>) -> Bytes {
        // A thread that panics in between leaves a whole answer.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (key, open);
        if let Some((of, bytes)) = &*last
            && *of == now
        {
            return bytes.clone();
        }
        let (key, open) = &now;
        let key = json!(key);
        let windows = json!({ "first": open.start(), "last": open.end() });
        let text = format!(
            "{{\"task\":{},\"shuffler_key\":{key},\"windows\":{windows}}}",
            self.task
        );
        let bytes = Bytes::from(text);
        *last = Some((now, bytes.clone()));
        bytes
    }
}

/// The marks of probes of closed windows.
pub(crate) struct Marks {
    made: Mutex<VecDeque<((Bytes32, u64), Bytes)>>,
    /// Held by who reads marks from the store: the others wait, and find what it has made.
    pub(crate) one_at_a_time: Arc<Semaphore>,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            made: Mutex::default(),
            one_at_a_time: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Marks {
    /// The answer about a window, if it is there.
    pub(crate) fn of(&self, task: &Bytes32, window: u64) -> Option<Bytes> {
        let made = self.made();
        let found = made.iter().find(|(of, _)| *of == (*task, window));
        found.map(|(_, bytes)| bytes.clone())
    }

    /// Makes the answer about a window, and keeps it; one without marks costs nothing to make again.
    pub(crate) fn keep(&self, published: &Published) -> Bytes {
        // Texts and numbers: nothing that JSON cannot hold.
        let bytes = Bytes::from(serde_json::to_vec(published).unwrap_or_default());
        if !published.probes.is_empty() {
            let mut made = self.made();
            made.truncate(WINDOWS - 1);
            made.push_front(((published.task, published.window), bytes.clone()));
        }
        bytes
    }

    /// Forgets a window whose marks are destroyed.
    pub(crate) fn forget(&self, task: &Bytes32, window: u64) {
        self.made().retain(|(of, _)| *of != (*task, window));
    }

    /// A thread that panics in between leaves whole answers.
    fn made(&self) -> MutexGuard<'_, VecDeque<((Bytes32, u64), Bytes)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Marks, WINDOWS};
    use crate::probes::Published;
    use shuffledp_protocol::task::Bytes32;

    const TASK: Bytes32 = Bytes32([1; 32]);

    fn published(window: u64, marks: usize) -> Published {
        Published {
            task: TASK,
            window,
            probes: vec![Bytes32([7; 32]); marks],
            full: false,
        }
    }

    #[test]
    fn all_who_ask_share_the_same_bytes() {
        let marks = Marks::default();
        let made = marks.keep(&published(3, 2));
        for _ in 0..3 {
            assert_eq!(marks.of(&TASK, 3).unwrap().as_ptr(), made.as_ptr());
        }
        marks.forget(&TASK, 3);
        assert!(marks.of(&TASK, 3).is_none());
    }

    #[test]
    fn few_windows_are_held_and_none_without_marks() {
        let marks = Marks::default();
        marks.keep(&published(0, 0));
        assert!(marks.of(&TASK, 0).is_none());
        for window in 0..10 * WINDOWS as u64 {
            marks.keep(&published(window, 1));
        }
        assert_eq!(marks.made().len(), WINDOWS);
    }
}
