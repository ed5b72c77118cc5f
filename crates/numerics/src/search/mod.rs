//! Searches along one variable: bisection, golden section, and the crossing of a falling function.
//!
//! Every search keeps a bracket, and the result names its ends by the value of the condition there, so that
//! the caller takes the safe end. Stopping early costs tightness, never soundness.
//!
//! | function | finds | result |
//! |---|---|---|
//! | [`bisect`] | where a condition on the reals begins to hold | [`Bracket::holds`], [`Bracket::fails`] |
//! | [`bisect_on_log_scale`] | the same, for ends that differ by orders of magnitude | the same |
//! | [`bisect_integers`] | the same on integers | the same |
//! | [`bisect_integers_from_below`] | the same on integers, doubling first | the same |
//! | [`first_integer`] | the first integer of a closed range where a condition holds | that integer |
//! | [`golden_middle`] | the minimum of a unimodal function | the middle of the last interval |
//! | [`golden_best`] | the minimum of a unimodal function | the best point evaluated |
//! | [`falling_crossing`] | the zero of a decreasing function | [`Crossing::above`], [`Crossing::below`] |

mod bisection;
mod crossing;
mod golden;

pub use bisection::{
    Bracket, Stop, bisect, bisect_integers, bisect_integers_from_below, bisect_on_log_scale,
    first_integer, try_bisect_integers_from_below,
};
pub use crossing::{Crossing, falling_crossing};
pub use golden::{golden_best, golden_middle};
