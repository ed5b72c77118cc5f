//! One report without a shuffler, seen together with its sender.
//!
//! ```text
//! ε₀-LDP          δ(ε) = (E − a)₊/(E + 1),                  a = e^ε, E = e^{ε₀}
//! (ε₀, δ₀)-LDP    δ(ε) = δ₀ + (1 − δ₀)(E − a)₊/(E + 1)       (Kairouz, Oh, Viswanath 2015)
//! Gaussian        δ(ε) of 1/σ-GDP                            (Balle, Wang 2018)
//! ```
//!
//! Each is attained by some mechanism with that local guarantee. Standing: certified.

use super::{CLOSED_FORM, UpperProfile, ln_of};
use crate::gaussian::gdp_delta;
use crate::mechanism::Local;
use crate::round::Round;
use shuffledp_numerics::special::{exp, expm1};

/// The name of the bound, as it stands in `method`.
pub(crate) const ALONE: &str = "local";
/// How the name of a Rényi curve ends that is one of reports without a shuffler.
pub(crate) const UNSHUFFLED: &str = "-unshuffled";

/// μ = √Σ T/σ² where all rounds are Gaussian: without a shuffler the rounds of one user are μ-GDP, exactly
/// (Dong, Roth, Su 2019).
pub(crate) fn gaussian_alone(rounds: &[(&Round, u64)]) -> Option<f64> {
    let square = |&(round, times): &(&Round, u64)| match round.mechanism().local() {
        Local::Gaussian(sigma) | Local::Gdp(sigma) => Some(times as f64 / sigma.value().powi(2)),
        _ => None,
    };
    let squares: Option<Vec<f64>> = rounds.iter().map(square).collect();
    squares.map(|squares| squares.iter().sum::<f64>().sqrt() * (1.0 + CLOSED_FORM))
}

/// The profile of one report on its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alone {
    local: Local,
}

impl Alone {
    /// `None` where no local guarantee is known.
    pub(crate) fn new(local: Local) -> Option<Self> {
        (!matches!(local, Local::Unknown)).then_some(Self { local })
    }

    /// At or above δ(ε), for ε ≥ 0.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        match self.local {
            Local::Pure(epsilon0) => pure(epsilon0.value(), epsilon),
            Local::Approximate(epsilon0, delta0) => {
                let delta0 = delta0.value();
                let value = delta0 + (1.0 - delta0) * pure(epsilon0.value(), epsilon);
                value * (1.0 + CLOSED_FORM)
            }
            Local::Gaussian(sigma) | Local::Gdp(sigma) => {
                gdp_delta((1.0 + CLOSED_FORM) / sigma.value(), epsilon)
            }
            Local::Unknown => 1.0,
        }
        .min(1.0)
    }
}

/// (E − a)₊/(E + 1) = (1 − e^{ε − ε₀})₊/(1 + e^{−ε₀}), rounded up.
fn pure(epsilon0: f64, epsilon: f64) -> f64 {
    if epsilon >= epsilon0 {
        return 0.0;
    }
    // The rounding error of a difference of two exact numbers is half a unit in its last place.
    let excess = -expm1(epsilon - epsilon0);
    excess / (1.0 + exp(-epsilon0)) * (1.0 + CLOSED_FORM)
}

impl UpperProfile for Alone {
    fn name(&self) -> &'static str {
        ALONE
    }

    fn ln_delta(&self, epsilon: f64, _: f64) -> f64 {
        ln_of(self.delta(epsilon))
    }

    fn loss_limit(&self) -> f64 {
        match self.local {
            Local::Pure(epsilon0) => epsilon0.value(),
            _ => f64::INFINITY,
        }
    }

    fn flat_from(&self) -> f64 {
        match self.local {
            Local::Pure(epsilon0) | Local::Approximate(epsilon0, _) => epsilon0.value(),
            _ => f64::INFINITY,
        }
    }

    fn loss_deviation(&self) -> f64 {
        match self.local {
            Local::Pure(epsilon0) | Local::Approximate(epsilon0, _) => epsilon0.value(),
            Local::Gaussian(sigma) | Local::Gdp(sigma) => 1.0 / sigma.value(),
            Local::Unknown => f64::INFINITY,
        }
    }
}
