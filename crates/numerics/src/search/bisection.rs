//! Bisection for a condition that holds on one side of a point and fails on the other.
//!
//! # Contract
//!
//! The two ends are not checked: the condition must fail at `fails` and hold at `holds`, which may be the
//! smaller one of the two. Each step evaluates the condition in the middle and moves the end of the same kind
//! there. So [`Bracket::holds`] is a point where the condition was seen to hold, or the end that was given;
//! likewise [`Bracket::fails`]. This is true of any condition, monotone or not: if it is not monotone, the
//! bracket is around one of its changes.

use std::convert::Infallible;

/// The two ends of a bisection, named by the value of the condition there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket<T> {
    /// Here the condition failed (or this is the end that was given).
    pub fails: T,
    /// Here the condition held (or this is the end that was given).
    pub holds: T,
}

impl<T: PartialOrd + Copy> Bracket<T> {
    fn low(&self) -> T {
        if self.fails < self.holds {
            self.fails
        } else {
            self.holds
        }
    }

    fn high(&self) -> T {
        if self.fails < self.holds {
            self.holds
        } else {
            self.fails
        }
    }

    /// Moves the end at which the condition has the value that it has at x.
    fn put(&mut self, x: T, held: bool) {
        if held {
            self.holds = x;
        } else {
            self.fails = x;
        }
    }
}

/// When a bisection on the reals stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    steps: u32,
    relative: Option<f64>,
}

impl Stop {
    /// More halvings than it takes from the largest double to zero, so that the tolerance alone decides.
    const ALWAYS_ENDS: u32 = 2200;

    /// After this many evaluations.
    pub fn after(steps: u32) -> Self {
        Self {
            steps,
            relative: None,
        }
    }

    /// Once the ends are at most this part of the upper one apart. For ends that are not negative.
    pub fn within(relative: f64) -> Self {
        Self {
            steps: Self::ALWAYS_ENDS,
            relative: Some(relative),
        }
    }

    /// At the latest after this many evaluations.
    pub fn or_after(self, steps: u32) -> Self {
        Self { steps, ..self }
    }
}

/// Bisection on the reals; see the contract above.
///
/// ```
/// use shuffledp_numerics::search::{Stop, bisect};
/// let root = bisect(0.0, 2.0, Stop::within(1e-12), |x| x * x >= 2.0);
/// assert!(root.fails < 2f64.sqrt() && 2f64.sqrt() <= root.holds && root.holds - root.fails < 3e-12);
/// // The condition may hold on the left.
/// assert_eq!(bisect(8.0, 0.0, Stop::after(3), |x| x <= 5.0).holds, 5.0);
/// ```
pub fn bisect(fails: f64, holds: f64, stop: Stop, condition: impl Fn(f64) -> bool) -> Bracket<f64> {
    let mut bracket = Bracket { fails, holds };
    for _ in 0..stop.steps {
        let (low, high) = (bracket.low(), bracket.high());
        if stop
            .relative
            .is_some_and(|relative| high - low <= relative * high)
        {
            break;
        }
        let middle = 0.5 * (low + high);
        bracket.put(middle, condition(middle));
    }
    bracket
}

/// Bisection on a logarithmic scale between two positive ends, until the larger is at most `ratio` > 1 times
/// the smaller.
///
/// ```
/// use shuffledp_numerics::search::bisect_on_log_scale;
/// let found = bisect_on_log_scale(1e-30, 1e30, 1.1, |x| x >= 1e-9);
/// assert!(found.fails < 1e-9 && 1e-9 <= found.holds && found.holds <= 1.1 * found.fails);
/// ```
pub fn bisect_on_log_scale(
    fails: f64,
    holds: f64,
    ratio: f64,
    condition: impl Fn(f64) -> bool,
) -> Bracket<f64> {
    let mut bracket = Bracket { fails, holds };
    while bracket.high() > ratio * bracket.low() {
        let middle = bracket.low().sqrt() * bracket.high().sqrt();
        bracket.put(middle, condition(middle));
    }
    bracket
}

/// Bisection on the integers, until the ends are neighbors (or equal from the start).
///
/// ```
/// use shuffledp_numerics::search::{Bracket, bisect_integers};
/// let found = bisect_integers(0, 100, |k| k * k >= 1000);
/// assert_eq!(found, Bracket { fails: 31, holds: 32 });
/// ```
pub fn bisect_integers(fails: u64, holds: u64, condition: impl Fn(u64) -> bool) -> Bracket<u64> {
    let Ok(bracket) = try_bisect_integers(fails, holds, |k| Ok::<_, Infallible>(condition(k)));
    bracket
}

fn try_bisect_integers<E>(
    fails: u64,
    holds: u64,
    condition: impl Fn(u64) -> Result<bool, E>,
) -> Result<Bracket<u64>, E> {
    let mut bracket = Bracket { fails, holds };
    while bracket.high() - bracket.low() > 1 {
        let middle = bracket.low() + (bracket.high() - bracket.low()) / 2;
        bracket.put(middle, condition(middle)?);
    }
    Ok(bracket)
}

/// The same from `fails` = 0 to `holds` = `last`, looking at `first`, 2·`first`, 4·`first`, … before
/// bisecting: the number of evaluations grows with the logarithm of the answer, and large integers, where the
/// condition may be expensive, are not looked at without need.
///
/// ```
/// use shuffledp_numerics::search::bisect_integers_from_below;
/// assert_eq!(bisect_integers_from_below(1, 1 << 50, |k| k >= 70).holds, 70);
/// // Where the condition holds nowhere below `last`, `last` is returned unseen.
/// assert_eq!(bisect_integers_from_below(1, 9, |_| false).holds, 9);
/// ```
pub fn bisect_integers_from_below(
    first: u64,
    last: u64,
    condition: impl Fn(u64) -> bool,
) -> Bracket<u64> {
    let certain = |k| Ok::<_, Infallible>(condition(k));
    let Ok(bracket) = try_bisect_integers_from_below(first, last, certain);
    bracket
}

/// [`bisect_integers_from_below`] for a condition that may have no answer: the first error ends the search.
pub fn try_bisect_integers_from_below<E>(
    first: u64,
    last: u64,
    condition: impl Fn(u64) -> Result<bool, E>,
) -> Result<Bracket<u64>, E> {
    let (mut fails, mut holds) = (0, first.min(last));
    while holds < last && !condition(holds)? {
        (fails, holds) = (holds, holds.saturating_mul(2).min(last));
    }
    try_bisect_integers(fails, holds, condition)
}

/// The first integer in [`low`, `high`] where a monotone condition holds; `high`, without evaluation, if it
/// holds nowhere below it. The condition may hold or fail at `low`.
///
/// ```
/// use shuffledp_numerics::search::first_integer;
/// assert_eq!((first_integer(3, 90, |_| true), first_integer(0, 9, |_| false)), (3, 9));
/// ```
pub fn first_integer(low: u64, high: u64, condition: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if condition(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}
