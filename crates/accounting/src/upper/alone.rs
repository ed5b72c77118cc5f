//! One report without a shuffler, seen together with its sender.
//!
//! ```text
//! ε₀-LDP          δ(ε) = (E − a)₊/(E + 1),                  a = e^ε, E = e^{ε₀}
//! (ε₀, δ₀)-LDP    δ(ε) = δ₀ + (1 − δ₀)(E − a)₊/(E + 1)       (Kairouz, Oh, Viswanath 2015)
//! Gaussian        δ(ε) of 1/σ-GDP                            (Balle, Wang 2018)
//! ```
//!
//! Each is attained by some mechanism with that local guarantee. Standing: certified.
//!
//! Several rounds of Gaussian noise are √(Σ T/σ²)-GDP. Where rounds of other kinds are among them, there are
//! closed forms that always have an answer, for a plan whose distribution of losses cannot be resolved:
//!
//! ```text
//! ε = Σ T ε₀                                           at δ = Σ T δ₀
//! ε = ρ + 2 √(ρ ln(1/(δ − Σ T δ₀))),   ρ = Σ T ε₀²/2 + Σ T/(2σ²)     (Bun, Steinke 2016)
//! ```
//!
//! (ε₀, δ₀)-LDP is ε₀-LDP but with probability δ₀, ε₀-LDP is ε₀²/2-zCDP, and 1/σ-GDP is 1/(2σ²)-zCDP.

use super::{CLOSED_FORM, UpperProfile, ln_of};
use crate::gaussian::{gdp_delta, gdp_epsilon};
use crate::mechanism::Local;
use crate::round::Round;
use shuffledp_numerics::special::{exp, expm1, ln};

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

/// What the local guarantees of all rounds of a plan add up to, without a shuffler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllAlone {
    /// μ where all rounds are Gaussian.
    mu: Option<f64>,
    /// Σ T ε₀, infinite with Gaussian rounds.
    pure: f64,
    /// ρ.
    concentrated: f64,
    /// Σ T δ₀.
    failure: f64,
}

impl AllAlone {
    /// `None` where some round has no local guarantee.
    pub(crate) fn new(rounds: &[(&Round, u64)]) -> Option<Self> {
        let (mut pure, mut concentrated, mut failure) = (0.0, 0.0, 0.0);
        for (round, times) in rounds {
            let times = *times as f64;
            match round.mechanism().local() {
                Local::Pure(epsilon0) => {
                    pure += times * epsilon0.value();
                    concentrated += times * 0.5 * epsilon0.value().powi(2);
                }
                Local::Approximate(epsilon0, delta0) => {
                    pure += times * epsilon0.value();
                    concentrated += times * 0.5 * epsilon0.value().powi(2);
                    failure += times * delta0.value();
                }
                Local::Gaussian(sigma) | Local::Gdp(sigma) => {
                    pure = f64::INFINITY;
                    concentrated += times * 0.5 / sigma.value().powi(2);
                }
                Local::Unknown => return None,
            }
        }
        Some(Self {
            mu: gaussian_alone(rounds),
            pure: pure * (1.0 + CLOSED_FORM),
            concentrated: concentrated * (1.0 + CLOSED_FORM),
            failure: failure * (1.0 + CLOSED_FORM),
        })
    }

    /// At or above the least ε at δ; infinite where δ is below what the rounds fail with.
    pub(crate) fn epsilon(&self, delta: f64) -> f64 {
        let rest = (delta - self.failure) * (1.0 - CLOSED_FORM);
        if rest < 0.0 {
            return f64::INFINITY;
        }
        let rho = self.concentrated;
        let concentrated = rho + 2.0 * (rho * -ln(rest)).sqrt();
        let gaussian = self.mu.map_or(f64::INFINITY, |mu| gdp_epsilon(mu, rest));
        gaussian
            .min(concentrated * (1.0 + CLOSED_FORM))
            .min(self.pure)
    }

    /// At or above the least δ at ε.
    pub(crate) fn delta(&self, epsilon: f64) -> f64 {
        let rho = self.concentrated;
        // Not rising in ε, so that a smaller one is safe.
        let beyond = (epsilon * (1.0 - CLOSED_FORM) - rho).max(0.0);
        let exponent = beyond * beyond / (4.0 * rho) * (1.0 - CLOSED_FORM);
        let concentrated = exp(-exponent);
        let gaussian = self.mu.map_or(1.0, |mu| gdp_delta(mu, epsilon));
        let pure = if epsilon >= self.pure { 0.0 } else { 1.0 };
        let rest = concentrated.min(gaussian).min(pure);
        ((rest + self.failure) * (1.0 + CLOSED_FORM)).min(1.0)
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::AllAlone;
    use crate::local::Domain;
    use crate::mechanism::Mechanism;
    use crate::round::Round;

    /// δ(ε) of μ-GDP at any real ε.
    fn gaussian(mu: f64, epsilon: f64) -> f64 {
        let tail = |z: f64| 0.5 * shuffledp_numerics::special::erfc(z / 2f64.sqrt());
        tail(epsilon / mu - 0.5 * mu) - epsilon.exp() * tail(epsilon / mu + 0.5 * mu)
    }

    /// δ(ε) of `bits` binary responses and Gaussian noise, exactly: the loss of the bits is a binomial, and
    /// given it the rest of ε is left to the noise.
    fn truth(bits: u64, epsilon0: f64, mu: Option<f64>, epsilon: f64) -> f64 {
        let p = 1.0 / (1.0 + (-epsilon0).exp());
        let mut ways = 1.0;
        let mut total = 0.0;
        for k in 0..=bits {
            let loss = epsilon0 * (2.0 * k as f64 - bits as f64);
            let weight = ways * p.powi(k as i32) * (1.0 - p).powi((bits - k) as i32);
            let left = epsilon - loss;
            total += weight * mu.map_or((1.0 - left.exp()).max(0.0), |mu| gaussian(mu, left));
            ways *= (bits - k) as f64 / (k + 1) as f64;
        }
        total
    }

    #[test]
    fn no_closed_form_is_below_the_rounds_themselves() {
        let round = |mechanism: Mechanism| Round::new(mechanism, 1000).unwrap();
        let noise = round(Mechanism::gaussian(0.8, Domain::Interval).unwrap());
        for epsilon0 in [0.1, 1.0, 4.0] {
            let bit = round(Mechanism::binary_response(epsilon0).unwrap());
            for bits in [1, 5, 40] {
                for mixed in [false, true] {
                    let mut rounds = vec![(&bit, bits)];
                    if mixed {
                        rounds.push((&noise, 2));
                    }
                    let mu = mixed.then_some(2f64.sqrt() / 0.8);
                    let all = AllAlone::new(&rounds).unwrap();
                    for epsilon in [0.1, 0.5, 1.0, 3.0, 8.0, 20.0] {
                        let exact = truth(bits, epsilon0, mu, epsilon);
                        assert!(all.delta(epsilon) >= exact * (1.0 - 1e-9), "{epsilon}");
                    }
                    for delta in [1e-12, 1e-6, 1e-2] {
                        let epsilon = all.epsilon(delta);
                        assert!(truth(bits, epsilon0, mu, epsilon) <= delta * (1.0 + 1e-9));
                        assert!(all.delta(epsilon * (1.0 + 1e-9)) <= delta * (1.0 + 1e-6));
                    }
                }
            }
        }
    }

    /// What the rounds fail with is part of δ, and nothing is proved below it.
    #[test]
    fn failures_are_part_of_delta() {
        let mechanism = Mechanism::approximate_ldp(1.0, 1e-9).unwrap();
        let round = Round::new(mechanism, 1000).unwrap();
        let all = AllAlone::new(&[(&round, 3)]).unwrap();
        assert_eq!(all.epsilon(2.9e-9), f64::INFINITY);
        assert!((all.epsilon(3.1e-9) - 3.0).abs() < 1e-9);
        assert!(all.delta(3.1) >= 3e-9 && all.delta(3.1) < 3.1e-9);
    }
}
