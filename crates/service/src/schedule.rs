//! Windows by the clock: which one it is, and which ones take reports.
//!
//! ```text
//! window(t) = ⌊t / length⌋                    t in seconds since 1970, of this machine's clock
//! open at t: first_open(t) ..= window(t)      first_open(t) = ⌊(t − grace) / length⌋
//! ```
//!
//! The grace lets a report arrive that was sent in the last second of its window. A task without a length has
//! one open window at a time, which its operator closes.

use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub trait Clock: Send + Sync {
    /// Now; none where the machine's clock is before 1970.
    fn now(&self) -> Option<u64>;

    /// How long it is since some moment, whatever the clock is set to. A clock that nobody sets need not say
    /// it: there it is the same time.
    fn steady(&self) -> Duration {
        Duration::from_secs(self.now().unwrap_or(0))
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Option<u64> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(since.as_secs())
    }

    fn steady(&self) -> Duration {
        static BEGINNING: OnceLock<Instant> = OnceLock::new();
        BEGINNING.get_or_init(Instant::now).elapsed()
    }
}

/// The windows of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The length of a window in seconds; none where they are closed by hand.
    pub length: Option<u64>,
    /// How long a window stays open after its end, in seconds.
    pub grace: u64,
}

impl Schedule {
    /// The first window that is open by the clock; none where windows are closed by hand.
    pub fn first_open(&self, now: u64) -> Option<u64> {
        Some(now.saturating_sub(self.grace) / self.length?)
    }

    /// The windows that take reports, where the store has closed those before `first_open`. None of them may
    /// be open: the clock was set back.
    ///
    /// ```
    /// use shuffledp_service::schedule::Schedule;
    /// let hourly = Schedule { length: Some(3600), grace: 60 };
    /// assert_eq!(hourly.open(7199, 1), 1..=1);
    /// assert_eq!(hourly.open(7230, 1), 1..=2);
    /// // The clock was set back by an hour.
    /// assert!(hourly.open(3700, 2).is_empty());
    /// let by_hand = Schedule { length: None, grace: 60 };
    /// assert_eq!(by_hand.open(7200, 5), 5..=5);
    /// ```
    pub fn open(&self, now: u64, first_open: u64) -> RangeInclusive<u64> {
        match self.length {
            None => first_open..=first_open,
            Some(length) => first_open..=now / length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    #[test]
    fn a_window_opens_at_its_beginning_and_closes_after_its_grace() {
        let schedule = Schedule {
            length: Some(100),
            grace: 10,
        };
        for now in 1000..1400 {
            let open = schedule.open(now, schedule.first_open(now).unwrap_or(0));
            for window in 8..16 {
                let (begin, end) = (window * 100, (window + 1) * 100);
                assert_eq!(
                    open.contains(&window),
                    begin <= now && now < end + 10,
                    "{now} {window}"
                );
            }
        }
    }
}
