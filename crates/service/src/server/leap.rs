//! A clock that jumps forward. Windows close by the clock, for good, and batches and keys are destroyed by
//! it: one wrong time would do all of that at once, and nothing undoes it. So the clock is compared with the
//! time that has gone by since it was looked at last, and at a start with the time that was written down.
//! Where it is too far ahead, nothing is closed or destroyed until it is set right or an operator confirms
//! it. A clock that is set back is another matter: it closes nothing, and opens no window again.

use crate::schedule::Clock;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How far ahead of the time that went by a clock may be in seconds: what is set right by hand, or by a
/// server of time, is less.
const AHEAD: u64 = 3600;
/// How long a shuffler whose windows are closed by hand may have been off, in seconds.
const OFF: u64 = 86_400;

/// The clock as it was trusted last.
#[derive(Clone, Copy)]
struct Seen {
    time: u64,
    steady: Duration,
    /// How far ahead it may be at the next look.
    ahead: u64,
}

/// Watches a clock.
pub(super) struct Watch(Mutex<Seen>);

impl Watch {
    /// A clock that was trusted last when it showed `remembered`, of tasks whose shortest window is so long:
    /// a shuffler may have been off for two of them.
    pub(super) fn new(clock: &dyn Clock, remembered: Option<u64>, shortest: Option<u64>) -> Self {
        let off = shortest.map_or(OFF, |window| window.saturating_mul(2));
        Self(Mutex::new(Seen {
            time: remembered.or_else(|| clock.now()).unwrap_or(0),
            steady: clock.steady(),
            ahead: off.max(AHEAD),
        }))
    }

    /// The time, none before 1970; or how many seconds the clock is ahead of the time that has gone by, where
    /// that is too much. Who acts by the clock takes this reading: the next one may be another.
    pub(super) fn look(&self, clock: &dyn Clock) -> Result<Option<u64>, u64> {
        let mut seen = self.seen();
        let (Some(now), steady) = (clock.now(), clock.steady()) else {
            return Ok(None);
        };
        let gone = steady.saturating_sub(seen.steady).as_secs();
        let expected = seen.time.saturating_add(gone);
        let ahead = now.saturating_sub(expected);
        // What was allowed once is allowed again when as much time has gone by: not two jumps at once.
        let allowed = seen.ahead.saturating_add(gone).min(seen.ahead.max(AHEAD));
        if ahead > allowed {
            return Err(ahead);
        }
        // One that is far behind may come back: it is still compared with the time before.
        if now.saturating_add(AHEAD) >= expected {
            *seen = Seen {
                time: now,
                steady,
                ahead: (allowed - ahead).min(AHEAD),
            };
        }
        Ok(Some(now))
    }

    /// The operator says that the clock is right.
    pub(super) fn confirm(&self, clock: &dyn Clock) {
        if let Some(time) = clock.now() {
            *self.seen() = Seen {
                time,
                steady: clock.steady(),
                ahead: AHEAD,
            };
        }
    }

    /// Three numbers, which are written together.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{AHEAD, OFF, Watch};
    use crate::schedule::Clock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[derive(Default)]
    struct Two {
        now: AtomicU64,
        steady: AtomicU64,
    }

    impl Clock for Two {
        fn now(&self) -> Option<u64> {
            Some(self.now.load(Ordering::Relaxed))
        }

        fn steady(&self) -> Duration {
            Duration::from_secs(self.steady.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn a_clock_is_compared_with_the_time_that_has_gone_by() {
        let clock = Two::default();
        let at = |now: u64, steady: u64| {
            clock.now.store(now, Ordering::Relaxed);
            clock.steady.store(steady, Ordering::Relaxed);
        };
        let watch = Watch::new(&clock, Some(1_000_000), Some(60));
        let look = |now, steady| {
            at(now, steady);
            watch.look(&clock).err()
        };
        // Off for an hour and a second; then the clock is right.
        assert_eq!(look(1_000_000 + AHEAD + 1, 0), Some(AHEAD + 1));
        assert_eq!(look(1_000_000 + AHEAD, 0), None);
        // It goes with time, and for a little while behind it.
        assert_eq!(look(1_010_000, 6_400), None);
        assert_eq!(look(1_009_000, 6_400), None);
        // It jumps, stays ahead as time goes by, and comes back.
        assert_eq!(look(2_000_000, 6_400), Some(991_000));
        assert_eq!(look(2_000_600, 7_000), Some(991_000));
        assert_eq!(look(1_009_700, 7_001), None);
        // It jumps back, and forth.
        assert_eq!(look(5, 7_100), None);
        assert_eq!(look(1_009_900, 7_200), None);
        // A window of a day is two days off; one that is closed by hand is a day.
        for (shortest, most) in [(Some(86_400), 172_800), (None, OFF), (Some(1), AHEAD)] {
            let watch = Watch::new(&clock, Some(7), shortest);
            at(7 + most + 1, 7_200);
            assert_eq!(watch.look(&clock), Err(most + 1));
            watch.confirm(&clock);
            assert_eq!(watch.look(&clock), Ok(Some(7 + most + 1)));
            at(7 + most + 1 + AHEAD + 1, 7_200);
            assert_eq!(watch.look(&clock), Err(AHEAD + 1));
            // Two jumps, one right after the other, are one.
            at(7 + most + 1 + AHEAD, 7_200);
            assert_eq!(watch.look(&clock), Ok(Some(7 + most + 1 + AHEAD)));
            at(7 + most + 1 + AHEAD + 2, 7_201);
            assert_eq!(watch.look(&clock), Ok(Some(7 + most + 1 + AHEAD + 2)));
            at(7 + most + 1 + 2 * AHEAD, 7_201);
            assert!(watch.look(&clock).is_err());
        }
    }
}
