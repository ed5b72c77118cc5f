//! Published bounds: one module for each source.
//!
//! The functions take and return plain numbers. Whether a number is an upper or a lower bound (its side), and
//! whether it is proved (its standing), is a property of the theorem; the first lines of its module state
//! both, and [`crate::compare`] attaches them. E = e^ε₀ throughout. Outside its domain a theorem gives an
//! [`Unmet`] condition instead of a number. `docs/bounds.md` lists all bounds.

pub mod balle_2018;
pub mod balle_2019;
pub mod chen_2024;
pub mod dwork_2010;
pub mod enhanced_rdp;
pub mod erlingsson_2019;
pub mod feldman_2021;
pub mod feldman_2023;
pub mod girgis_2021;
pub mod kairouz_2015;
pub mod numerical_accounting;
pub mod secure_aggregation;
pub mod shuffle_gaussian;
pub mod shuffled_check_in;
pub mod wang_2019;
pub mod zhu_2022;

pub(crate) use shuffledp_numerics::log_space::{ln_1p_exp, ln_sum_exp};
use shuffledp_numerics::search::{Stop, bisect};
use std::fmt;

/// A condition of a theorem that does not hold for the given parameters, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet(pub String);

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unmet {}

/// `Ok` if a condition holds, else an error with its text.
pub(crate) fn require(holds: bool, words: impl FnOnce() -> String) -> Result<(), Unmet> {
    if holds { Ok(()) } else { Err(Unmet(words())) }
}

/// The smallest ε in [0, `limit`] at which a decreasing δ(ε) is at most `delta`, by bisection.
pub(crate) fn solve(limit: f64, delta: f64, falling: impl Fn(f64) -> f64) -> Option<f64> {
    if falling(limit) > delta {
        return None;
    }
    let stop = Stop::within(1e-14).or_after(200);
    Some(bisect(0.0, limit, stop, |epsilon| falling(epsilon) <= delta).holds)
}

/// ln C(λ, j).
pub(crate) fn ln_choose(order: f64, j: f64) -> f64 {
    use shuffledp_numerics::special::ln_gamma;
    ln_gamma(order + 1.0) - ln_gamma(j + 1.0) - ln_gamma(order - j + 1.0)
}
