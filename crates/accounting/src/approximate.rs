//! Rounds whose local guarantee is approximate, through the clones: (ε₀, δ₀)-LDP randomizers, and Gaussian
//! noise in any dimension, which is (ε₀, δ₀)-LDP for every δ₀.
//!
//! Feldman, McMillan and Talwar 2021, Theorem 3.8: but for an event of probability τ = (1 + e^{−ε₀}/2) m δ₀,
//! m the users who take part, a round of (ε₀, δ₀)-LDP randomizers is one of ε₀-LDP ones, on either dataset.
//! Over T rounds these probabilities add up, so
//!
//! ```text
//! δ(ε) ≤ δ_pure(ε) + (1 + e^ε) Σ τ,
//! ```
//!
//! δ_pure that of the composed rounds of [`crate::atoms::Atoms::ldp_adaptive`]. For Gaussian noise δ₀ is
//! free, and chosen. Beside it stands what the users have without a shuffler: √T/σ-GDP, exactly; or the
//! optimal composition of (ε₀, δ₀) (Kairouz, Oh, Viswanath 2015).
//!
//! Standing: certified (closed forms are rounded up by far more than their error), but for the optimal
//! composition of (ε₀, δ₀) without a shuffler, which subtracts two tails in ordinary floating point: proved.

use crate::bound::Delta;
use crate::bounds::kairouz_2015;
use crate::error::Error;
use crate::gaussian::{gdp_delta, gdp_epsilon};
use crate::mechanism::{Local, Mechanism};
use crate::participation::Participation;
use crate::plan::Plan;
use crate::round::Round;

/// A value and the method that gave it.
pub(crate) type Named = (f64, &'static str);
/// The upper bound of rounds that have dominating laws: ε at a δ, or δ at an ε.
pub(crate) type PureBound = dyn Fn(&Plan, f64) -> Result<f64, Error>;

/// Of a total δ, what the events may take: less makes ε₀ larger, more leaves less for the rest.
const SHARES: [f64; 4] = [0.5, 0.2, 0.05, 0.01];
/// Of δ, what the events cost where the rest is as large as what they are allowed.
const SPENT: f64 = 0.1;
/// Closed forms in ordinary arithmetic are rounded up by this part.
const CLOSED_FORM: f64 = 1e-9;
/// No local guarantee is larger (the largest that a round may have).
const LARGEST_EPSILON0: f64 = 100.0;

/// Who takes part in a round, at most, on average.
fn participants(round: &Round) -> f64 {
    match round.participation() {
        Participation::Everyone => round.honest() as f64,
        Participation::Sample(size) => size as f64,
        Participation::CheckIn(rate) => round.honest() as f64 * rate.highest(),
    }
}

/// The rounds as ε₀-LDP ones, and Σ τ. `None` where no ε₀ within range has this δ₀.
fn purified(rounds: &[(&Round, u64)], delta0: f64) -> Result<Option<(Plan, f64)>, Error> {
    let (mut plan, mut total) = (None::<Plan>, 0.0);
    for &(round, times) in rounds {
        let (epsilon0, delta0) = match round.mechanism().local() {
            Local::Approximate(epsilon0, delta0) => (epsilon0.value(), delta0.value()),
            Local::Gaussian(sigma) => (gdp_epsilon(1.0 / sigma.value(), delta0), delta0),
            Local::Pure(_) | Local::Unknown => {
                plan = Some(added(plan, round.clone(), times)?);
                continue;
            }
        };
        if epsilon0 > LARGEST_EPSILON0 {
            return Ok(None);
        }
        let event = (1.0 + 0.5 * (-epsilon0).exp()) * participants(round) * delta0;
        total += times as f64 * event * (1.0 + CLOSED_FORM);
        let pure = round
            .with_mechanism(Mechanism::ldp(epsilon0)?)
            .adaptive_within_round()?;
        plan = Some(added(plan, pure, times)?);
    }
    Ok(plan.map(|plan| (plan, total)))
}

fn added(plan: Option<Plan>, round: Round, times: u64) -> Result<Plan, Error> {
    match plan {
        None => Plan::new(round, times),
        Some(plan) => plan.then(round, times),
    }
}

/// The least ε that these rounds can be shown to have at δ: infinite if none.
pub(crate) fn epsilon(
    rounds: &[(&Round, u64)],
    delta: f64,
    pure_epsilon: &PureBound,
) -> Result<Named, Error> {
    let mut best = local_epsilon(rounds, delta);
    if best.0 == 0.0 {
        return Ok(best);
    }
    let events: f64 = rounds
        .iter()
        .map(|(round, times)| 1.5 * participants(round) * *times as f64)
        .sum();
    for share in SHARES {
        // The events cost (1 + e^ε) times their probability: guess ε from above, twice.
        let mut guess: f64 = 1.0;
        for attempt in 0..5 {
            let price = 1.0 + guess.exp();
            let each = share * delta / price / events;
            // A price that overflows leaves nothing to spend: infinity times zero is no number to compare
            // with.
            if !(price.is_finite() && each >= Delta::SMALLEST) {
                break;
            }
            let Some((pure, total)) = purified(rounds, each)? else {
                break;
            };
            let left = delta - price * total * (1.0 + CLOSED_FORM);
            if left.is_nan() || left < Delta::SMALLEST {
                break;
            }
            let value = pure_epsilon(&pure, left)?;
            if value <= guess {
                if value < best.0 {
                    best = (value, "clones");
                }
                if attempt > 0 {
                    break;
                }
            }
            guess = 1.05 * value;
        }
    }
    Ok(best)
}

/// The least δ that these rounds can be shown to have at ε.
pub(crate) fn delta(
    rounds: &[(&Round, u64)],
    epsilon: f64,
    pure_delta: &PureBound,
) -> Result<Named, Error> {
    let mut best = local_delta(rounds, epsilon);
    let events: f64 = rounds
        .iter()
        .map(|(round, times)| 1.5 * participants(round) * *times as f64)
        .sum();
    let price = 1.0 + epsilon.min(700.0).exp();
    // The more the events may cost, the less the rest does: halving on a logarithmic scale finds where they
    // are alike, and every step gives a bound.
    let (mut low, mut high) = (-460.0, best.0.clamp(1e-200, 1.0).ln());
    let is_free = |mechanism: &Mechanism| matches!(mechanism.local(), Local::Gaussian(_));
    let free = rounds.iter().any(|(round, _)| is_free(round.mechanism()));
    for _ in 0..if free { 8 } else { 1 } {
        let spent = 0.5 * (low + high);
        let each = SPENT * spent.exp() / price / events;
        if each < Delta::SMALLEST {
            break;
        }
        let Some((pure, total)) = purified(rounds, each)? else {
            low = spent;
            continue;
        };
        let rest = pure_delta(&pure, epsilon)?;
        let value = rest + price * total * (1.0 + CLOSED_FORM);
        if value < best.0 {
            best = (value, "clones");
        }
        if rest < spent.exp() {
            high = spent;
        } else {
            low = spent;
        }
    }
    Ok((best.0.min(1.0), best.1))
}

/// √Σ T/σ² where all rounds are Gaussian: the mechanism without its shuffler.
fn local_mu(rounds: &[(&Round, u64)]) -> Option<f64> {
    let squares: Option<Vec<f64>> = rounds
        .iter()
        .map(|(round, times)| match round.mechanism().local() {
            Local::Gaussian(sigma) => Some(*times as f64 / sigma.value().powi(2)),
            _ => None,
        })
        .collect();
    squares.map(|squares| squares.iter().sum::<f64>().sqrt() * (1.0 + CLOSED_FORM))
}

/// ε of these rounds without a shuffler, where a closed form has it; else infinite.
pub(crate) fn local_epsilon(rounds: &[(&Round, u64)], delta: f64) -> Named {
    let value = match (local_mu(rounds), rounds) {
        (Some(mu), _) => gdp_epsilon(mu, delta),
        (None, [(round, times)]) => match round.mechanism().local() {
            Local::Approximate(epsilon0, delta0) => {
                kairouz_2015::epsilon(*times, epsilon0.value(), delta0.value(), delta)
                    .map_or(f64::INFINITY, |epsilon| epsilon * (1.0 + CLOSED_FORM))
            }
            _ => f64::INFINITY,
        },
        _ => f64::INFINITY,
    };
    (value, "local")
}

/// δ of these rounds without a shuffler, where a closed form has it; else 1.
pub(crate) fn local_delta(rounds: &[(&Round, u64)], epsilon: f64) -> Named {
    let value = match (local_mu(rounds), rounds) {
        (Some(mu), _) => gdp_delta(mu, epsilon),
        (None, [(round, times)]) => match round.mechanism().local() {
            Local::Approximate(epsilon0, delta0) => {
                let none = *times as f64 * (-delta0.value()).ln_1p();
                let pure = kairouz_2015::delta_pure(*times, epsilon0.value(), epsilon);
                // 1 − (1 − δ₀)^T (1 − δ̃).
                -none.exp_m1() + none.exp() * pure
            }
            _ => 1.0,
        },
        _ => 1.0,
    };
    ((value * (1.0 + CLOSED_FORM)).min(1.0), "local")
}

#[cfg(test)]
mod tests {
    use super::{delta, epsilon, local_epsilon};
    use crate::account::{account, pure_delta, pure_epsilon};
    use crate::local::Domain;
    use crate::mechanism::Mechanism;
    use crate::round::Round;

    #[test]
    fn a_price_that_overflows_buys_nothing() {
        // Noise so small that the clones are of no use: their price e^ε overflowed, what was left of δ was a
        // NaN, and that passed for plenty.
        for (users, times, delta) in [
            (1_000_000, 10, 1e-2),
            (1_000, 10, 1e-6),
            (1_000, 10, 0.5),
            (100_000, 20, 0.1),
        ] {
            let mechanism = Mechanism::gaussian(1.0, Domain::Ball).unwrap();
            let round = Round::new(mechanism, users).unwrap();
            let rounds = [(&round, times)];
            let (value, _) = epsilon(&rounds, delta, &pure_epsilon).unwrap();
            let (local, _) = local_epsilon(&rounds, delta);
            // At σ of half the diameter clones need billions of users: nothing beats the mechanism alone.
            assert!(
                value >= 0.99 * local,
                "{users} {times} {delta}: {value} {local}"
            );
        }
    }

    #[test]
    fn several_rounds_cost_what_one_attains_and_no_less_the_smaller_delta_is() {
        for (sigma, users, times) in [(2.0, 100_000, 30), (6.0, 10_000_000, 10)] {
            let mechanism = Mechanism::gaussian(sigma, Domain::Ball).unwrap();
            let round = Round::new(mechanism, users).unwrap();
            let one = account(&round).unwrap();
            let rounds = [(&round, times)];
            let mut last = 0.0;
            for at in [0.2, 1e-6, 1e-30] {
                let (value, _) = epsilon(&rounds, at, &pure_epsilon).unwrap();
                let attained = one.lower_epsilon(at).unwrap();
                assert!(
                    value >= attained,
                    "{sigma} {users} {times} {at}: {value} {attained}"
                );
                assert!(
                    value >= last,
                    "{sigma} {users} {times} {at}: {value} after {last}"
                );
                last = value;
                // The same rounds asked the other way round must not deny it.
                let (back, _) = delta(&rounds, 1.05 * value + 1e-9, &pure_delta).unwrap();
                assert!(
                    back <= 1.2 * at,
                    "{sigma} {users} {times} {at}: {back} at {value}"
                );
            }
        }
    }
}
