//! (ε₀, δ₀)-LDP randomizers, shuffled: but for a small event a round of them is one of ε₀-LDP ones.
//!
//! ```text
//! Hₐ ≤ Hₐ(law at ε₀) + (1 + a) τ
//!
//! Theorem A                               law of Theorem S,   τ = δ₀ (1 + 4 m/E)
//! Feldman, McMillan, Talwar 2021, 3.8     law of 2021,        τ = δ₀ m (1 + 1/(2E))
//! ```
//!
//! m is the number of participants (at most, or on average), E = e^{ε₀}. Theorem A moves mass δ₀ in user 1's
//! two laws and at most 4δ₀/E in every other one: `approximate.proof.md` beside this file. Gaussian noise is
//! (ε₀, δ₀)-LDP for every δ₀: a ladder of them ([`super::moved`]).
//!
//! Standing: certified.

use super::UpperProfile;
use super::gaussian_ball::moved_users;
use super::moved::{Moved, Rung};
use crate::atoms::Atoms;
use crate::error::Error;
use crate::gaussian::gdp_epsilon;
use crate::laws::profiles_with;
use crate::local::LocalEpsilon;
use crate::mechanism::Local;
use crate::round::Round;
use shuffledp_numerics::special::exp;

/// δ₀ of Gaussian noise goes from 10^−1 down to 10^−`DECADES` …
const DECADES: u32 = 300;
/// … in this many steps a decade down to 1e-40, where answers are usually wanted, and one from there on.
const STEPS: u32 = 4;
const STEPS_END: u32 = 40;
/// The largest ε₀ that a local guarantee may have.
const LARGEST_EPSILON0: f64 = 100.0;

/// Theorem A.
pub(crate) fn theorem_a(local: Local, round: &Round) -> Option<Box<dyn UpperProfile>> {
    let (others, ..) = moved_users(round);
    let moved = move |epsilon0: f64, delta0: f64| delta0 * (1.0 + 4.0 * others * exp(-epsilon0));
    ladder("theorem-a", local, round, Atoms::ldp, moved)
}

/// Theorem 3.8 of Feldman, McMillan and Talwar 2021.
pub(crate) fn clones(local: Local, round: &Round) -> Option<Box<dyn UpperProfile>> {
    let (_, taking_part, _) = moved_users(round);
    let moved =
        move |epsilon0: f64, delta0: f64| delta0 * taking_part * (1.0 + 0.5 * exp(-epsilon0));
    ladder("clones", local, round, Atoms::ldp_adaptive, moved)
}

fn ladder(
    name: &'static str,
    local: Local,
    round: &Round,
    law: fn(LocalEpsilon) -> Result<Atoms, Error>,
    moved: impl Fn(f64, f64) -> f64,
) -> Option<Box<dyn UpperProfile>> {
    let guarantees = guarantees(local);
    let (_, taking_part, users) = moved_users(round);
    let rung = |(epsilon0, delta0): (LocalEpsilon, f64)| {
        let chi_square = law(epsilon0).ok()?.chi_square();
        let deviation = (taking_part * chi_square).sqrt() / users;
        let round = round.clone();
        let laws = move || profiles_with(&round, law(epsilon0)?);
        Some(Rung::new(moved(epsilon0.value(), delta0), deviation, laws))
    };
    let rungs = guarantees.into_iter().filter_map(rung).collect();
    Some(Box::new(Moved::new(name, rungs)?))
}

/// The (ε₀, δ₀) that a report has: the one that is known, or many.
fn guarantees(local: Local) -> Vec<(LocalEpsilon, f64)> {
    match local {
        Local::Approximate(epsilon0, delta0) => vec![(epsilon0, delta0.value())],
        Local::Gaussian(sigma) => {
            let fine = (STEPS..=STEPS * STEPS_END).map(|i| f64::from(i) / f64::from(STEPS));
            let coarse = (STEPS_END + 1..=DECADES).map(f64::from);
            fine.chain(coarse)
                .map(|decades| 10f64.powf(-decades))
                .map(|delta0| (gdp_epsilon(1.0 / sigma.value(), delta0), delta0))
                .take_while(|(epsilon0, _)| *epsilon0 <= LARGEST_EPSILON0)
                .filter_map(|(epsilon0, delta0)| Some((LocalEpsilon::new(epsilon0).ok()?, delta0)))
                .collect()
        }
        Local::Pure(_) | Local::Unknown => Vec::new(),
    }
}
