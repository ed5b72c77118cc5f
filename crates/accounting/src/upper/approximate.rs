//! Theorem A: (ε₀, δ₀)-LDP randomizers, shuffled. Apart from a little mass, a round of them is a round of
//! ε₀-LDP randomizers, which Theorem S dominates.
//!
//! ```text
//! user 1's two laws are moved by   κ₁ = δ₀/(E + 1),
//! every other user's by at most    κ = 2 δ₀ (E + 2)/(E (E + 1)),       E = e^{ε₀}
//! ```
//!
//! The cost of moving mass is in [`super::moved`]. Proof: `approximate.proof.md` beside this file. Gaussian
//! noise is (ε₀, δ₀)-LDP for every δ₀, which gives a ladder of bounds. The bound is always below that of
//! Feldman, McMillan and Talwar 2021, Theorem 3.8, which moves more mass and has a wider law.
//!
//! Standing: certified.

use super::UpperProfile;
use super::alone::Alone;
use super::moved::{Law, Moved, Rung};
use crate::atoms::Atoms;
use crate::error::Error;
use crate::gaussian::gdp_epsilon;
use crate::local::LocalEpsilon;
use crate::mechanism::Local;
use crate::round::Round;
use shuffledp_numerics::special::exp;

/// The ladder of Gaussian noise has δ₀ from 10^−1 down to 10^−`DECADES`, the smallest δ that can be asked
/// for, …
const DECADES: u32 = 300;
/// … in this many steps per decade down to 10^−`FINE_UNTIL`, which covers the usual questions, and one step
/// per decade from there on.
const STEPS: u32 = 4;
const FINE_UNTIL: u32 = 40;
/// The largest ε₀ that a local guarantee may have.
const LARGEST_EPSILON0: f64 = 100.0;

/// Theorem A for one round. `None` where the local guarantee is neither approximate nor Gaussian.
pub(crate) fn theorem_a(local: Local, round: &Round) -> Option<Box<dyn UpperProfile>> {
    let rung = |(epsilon0, delta0): (LocalEpsilon, f64)| {
        // 1/E, so that nothing overflows.
        let inverse = exp(-epsilon0.value());
        Some(Rung {
            kappa: 2.0 * delta0 * inverse * (1.0 + 2.0 * inverse) / (1.0 + inverse),
            own: delta0 * inverse / (1.0 + inverse),
            pair: Alone::new(Local::Pure(epsilon0))?,
            law: AnyLdp(epsilon0),
        })
    };
    let rungs: Vec<_> = guarantees(local).into_iter().filter_map(rung).collect();
    (!rungs.is_empty())
        .then(|| Box::new(Moved::new("theorem-a", round, rungs)) as Box<dyn UpperProfile>)
}

/// The law of Theorem S at ε₀.
#[derive(Clone, Copy, Debug)]
struct AnyLdp(LocalEpsilon);

impl Law for AnyLdp {
    fn atoms(&self) -> Result<Atoms, Error> {
        Atoms::ldp(self.0)
    }

    fn chi_square(&self) -> f64 {
        // 2 (E − 1)²/(E + 1).
        let inverse = exp(-self.0.value());
        2.0 * (1.0 - inverse).powi(2) / (inverse * (1.0 + inverse))
    }

    fn beyond(&self, threshold: f64) -> f64 {
        let inverse = exp(-self.0.value());
        (1.0 - threshold * inverse).max(0.0) / (1.0 + inverse)
    }
}

/// The local guarantees (ε₀, δ₀) of a report: the one that is known, or those of the ladder.
fn guarantees(local: Local) -> Vec<(LocalEpsilon, f64)> {
    match local {
        Local::Approximate(epsilon0, delta0) => vec![(epsilon0, delta0.value())],
        Local::Gaussian(sigma) | Local::Gdp(sigma) => {
            let fine = (STEPS..=STEPS * FINE_UNTIL).map(|i| f64::from(i) / f64::from(STEPS));
            let coarse = (FINE_UNTIL + 1..=DECADES).map(f64::from);
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
