//! The contract of the searches: the condition has the value that the name of each end states.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use shuffledp_numerics::search::{
    Bracket, Stop, bisect, bisect_integers, bisect_integers_from_below, bisect_on_log_scale,
    first_integer, try_bisect_integers_from_below,
};
use std::cell::Cell;

proptest! {
    /// Even of a condition that changes at every other integer.
    #[test]
    fn ends_are_what_they_are_called(
        low in 0u64..1000, length in 1u64..1000, salt in 0u64..100, rises: bool
    ) {
        let condition = |k: u64| (k.wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ salt) >> 33) & 1 == 0;
        let (fails, holds) = if rises { (low, low + length) } else { (low + length, low) };
        let found = bisect_integers(fails, holds, condition);
        prop_assert!(found.holds == holds || condition(found.holds));
        prop_assert!(found.fails == fails || !condition(found.fails));
        prop_assert_eq!(found.holds.abs_diff(found.fails), 1);
    }

    #[test]
    fn all_integer_searches_find_the_first(first in 1u64..100_000, more in 0u64..100_000) {
        let (last, condition) = (first + more, |k: u64| k >= first);
        let expected = Bracket { fails: first - 1, holds: first };
        prop_assert_eq!(bisect_integers(0, last, condition), expected);
        prop_assert_eq!(bisect_integers_from_below(16, last, condition), expected);
        prop_assert_eq!(first_integer(0, last, condition), first);
    }

    #[test]
    fn the_crossing_of_a_real_condition_stays_inside(root in 1e-6f64..1e6) {
        for found in [
            bisect(0.0, 1e6, Stop::within(1e-9), |x| x >= root),
            bisect_on_log_scale(1e-6, 1e6, 1.0 + 1e-9, |x| x >= root),
        ] {
            prop_assert!(found.fails <= root && root <= found.holds);
            prop_assert!(found.holds - found.fails <= 1.1e-9 * found.holds);
        }
    }
}

#[test]
fn a_bisection_stops_when_it_is_told_to() {
    let evaluations = Cell::new(0);
    let never = |_: f64| {
        evaluations.set(evaluations.get() + 1);
        true
    };
    // The tolerance is never met, because the lower end stays at zero.
    let found = bisect(0.0, 1.0, Stop::within(1e-14).or_after(200), never);
    assert_eq!((evaluations.get(), found.fails), (200, 0.0));
    assert_eq!(found.holds, 2f64.powi(-200));
    // Without a limit it ends at zero.
    assert_eq!(bisect(0.0, 1.0, Stop::within(1e-14), |_| true).holds, 0.0);
    // Negative ends need a number of steps.
    let found = bisect(0.0, -1024.0, Stop::after(10), |x| x < -5.0);
    assert_eq!((found.holds, found.fails), (-6.0, -5.0));
}

#[test]
fn an_error_ends_the_search() {
    let found = try_bisect_integers_from_below(1, 100, |k| if k < 8 { Ok(false) } else { Err(k) });
    assert_eq!(found, Err(8));
}
