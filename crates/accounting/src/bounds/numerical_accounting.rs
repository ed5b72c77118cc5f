//! *Numerical accounting in the shuffle model of differential privacy*: adversaries of k-ary randomized
//! response.
//!
//! A user reports the true value with probability 1 − γ, else a uniform value; γ = k/(E+k−1). The strong
//! adversary A_s sees which users sent a uniform value, the weak adversary A_w does not.
//!
//! ```text
//! A_s as printed (Theorem 13)   δ = P[N₁ ≥ e^ε N₂]                                        upper, conjectured
//!                               N₁ ~ 1 + Bin(n−1, γ/k), N₂ ~ Bin(n−1, γ/k) independent
//! A_s tight                     δ = (1−γ) E(1 − e^ε N₂/N₁)₊ = ((1−γ)/n) E(Σ X)₊           upper, proved
//!                               X = k/γ, −a k/γ with probability γ/k each, else 0
//! A_w (Theorem 15)              the k-RR blanket, Atoms::kary_blanket                     upper, certified
//! ```
//!
//! The printed value is called tight and is not. It is a probability in place of the hockey-stick divergence
//! (11 and 18 times too large at ε = 0.05 and 0.5, n = 1000, k = 4, γ = 1/4), and it ignores user 1's own
//! coin, which A_s also sees. With jointly multinomial counts the probability would be an upper bound. With
//! independent counts, as printed, it is smaller (0.0031 instead of 0.0040 at ε = 0.5); it was above the true
//! value in every case tried.

use super::{Unmet, require, solve};
use crate::bound::Side;
use crate::compose::Composition;
use crate::pld::Pld;
use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::positive_part::{Atom, Sum};
use shuffledp_numerics::search::{Stop, bisect};

/// γ, and 1 − γ without cancellation.
fn randomizing(k: u64, epsilon0: f64) -> (f64, f64) {
    let (e, k) = (epsilon0.exp(), k as f64);
    (k / (e + k - 1.0), epsilon0.exp_m1() / (e + k - 1.0))
}

/// δ against A_s as printed.
///
/// ```
/// use shuffledp_accounting::bounds::numerical_accounting::{strong_printed, strong_tight};
/// // n = 1000, k = 4, γ = 1/4.
/// let epsilon0 = 13f64.ln();
/// let (printed, tight) = (strong_printed(1000, 4, epsilon0, 0.5)?, strong_tight(1000, 4, epsilon0, 0.5));
/// assert!((printed / tight - 18.5).abs() < 0.1, "{printed} {tight}");
/// # Ok::<(), shuffledp_accounting::bounds::Unmet>(())
/// ```
pub fn strong_printed(users: u64, k: u64, epsilon0: f64, epsilon: f64) -> Result<f64, Unmet> {
    require(users <= 10_000_000, || {
        "n <= 1e7 (the printed sum runs over counts)".into()
    })?;
    let (gamma, _) = randomizing(k, epsilon0);
    let law = Binomial::new(users - 1, gamma / k as f64)
        .ok_or_else(|| Unmet("a probability gamma/k".into()))?;
    let a = epsilon.exp();
    let mean = (users - 1) as f64 * gamma / k as f64;
    let width = 14.0 * mean.sqrt() + 100.0;
    let first = (mean - width).max(0.0) as u64;
    let last = ((mean + width) as u64).min(users - 1);
    let mut total = 0.0;
    for n2 in first..=last {
        // N₁ − 1 ≥ a N₂ − 1.
        let least = (a * n2 as f64 - 1.0).ceil().max(0.0);
        if least > (users - 1) as f64 {
            break;
        }
        total += (law.ln_pmf(n2) + law.ln_upper_tail(least as u64)).exp();
    }
    Ok(total.min(1.0))
}

/// δ against A_s, the hockey-stick divergence.
pub fn strong_tight(users: u64, k: u64, epsilon0: f64, epsilon: f64) -> f64 {
    let (gamma, truthful) = randomizing(k, epsilon0);
    let (weight, a) = (gamma / k as f64, epsilon.exp());
    let atom = |weight: f64, value: f64| Atom {
        weight,
        value,
        magnitude: value.abs(),
    };
    let atoms = [
        atom(weight, 1.0 / weight),
        atom(weight, -a / weight),
        atom(1.0 - 2.0 * weight, 0.0),
    ];
    let sum = Sum {
        atoms: &atoms,
        mean: -epsilon.exp_m1(),
        count: users as f64,
        shift: 0.0,
    };
    (sum.ln_positive_part(1e-6).upper + truthful.ln() - (users as f64).ln()).exp()
}

/// `rounds` rounds against A_s, tight: the same in both directions, since exchanging the datasets exchanges
/// the counts.
///
/// ```
/// use shuffledp_accounting::bounds::numerical_accounting::{strong_composed, strong_tight};
/// let epsilon0 = 13f64.ln();
/// let [one, four] = [1, 4].map(|rounds| strong_composed(1000, 4, epsilon0, rounds).unwrap());
/// assert!((one.delta(0.5) / strong_tight(1000, 4, epsilon0, 0.5) - 1.0).abs() < 1e-3);
/// assert!(four.delta(0.5) > one.delta(0.5) && four.delta(1.0) < one.delta(0.5) * 20.0);
/// ```
pub fn strong_composed(users: u64, k: u64, epsilon0: f64, rounds: u64) -> Option<Composition> {
    let (gamma, truthful) = randomizing(k, epsilon0);
    let counted = users as f64 * gamma / k as f64;
    let upper = |epsilon: f64| strong_tight(users, k, epsilon0, epsilon).ln();
    // The largest finite ratio of counts is n to 1; all other losses are infinite.
    let limit = (users as f64).ln();
    let deviation = truthful.sqrt() * (2.0 / counted).sqrt();
    let pld = Pld::pessimistic_from(upper, limit, deviation, DEEP)?.without_limit();
    let mut composition = Composition::new(Side::Upper);
    composition.add(&pld, rounds).then_some(composition)
}

/// ln of the smallest δ that the privacy loss distribution resolves: e^−80 is 2e-35, far below any δ in use.
const DEEP: f64 = -80.0;

/// ε of `rounds` rounds against A_s, tight.
///
/// ```
/// use shuffledp_accounting::bounds::numerical_accounting::{strong_composed, strong_composed_epsilon};
/// let epsilon0 = 13f64.ln();
/// let epsilon = strong_composed_epsilon(1000, 4, epsilon0, 4, 1e-6)?;
/// let four = strong_composed(1000, 4, epsilon0, 4).unwrap();
/// assert!(four.delta(epsilon) <= 1e-6 && four.delta(0.999 * epsilon) > 1e-6);
/// assert!((epsilon - 1.5).abs() < 0.01, "{epsilon}");
/// # Ok::<(), shuffledp_accounting::bounds::Unmet>(())
/// ```
pub fn strong_composed_epsilon(
    users: u64,
    k: u64,
    epsilon0: f64,
    rounds: u64,
    delta: f64,
) -> Result<f64, Unmet> {
    let composition = strong_composed(users, k, epsilon0, rounds)
        .ok_or_else(|| Unmet("losses that a lattice can hold".into()))?;
    // No finite loss of a round is larger than ln n.
    let limit = rounds as f64 * (users as f64).ln();
    solve(limit, delta, |epsilon| composition.delta(epsilon))
        .ok_or_else(|| Unmet("infinite losses rarer than delta".into()))
}

/// ε of one round against A_s, as printed or tight.
pub fn strong_epsilon(
    users: u64,
    k: u64,
    epsilon0: f64,
    delta: f64,
    printed: bool,
) -> Result<f64, Unmet> {
    if printed {
        strong_printed(users, k, epsilon0, 0.0)?;
        let falling = |epsilon: f64| strong_printed(users, k, epsilon0, epsilon).unwrap_or(1.0);
        // Six digits are enough for comparison, and each evaluation is a sum over all counts.
        let meets = |epsilon: f64| falling(epsilon) <= delta;
        require(meets(epsilon0), || "a value below epsilon0".into())?;
        return Ok(bisect(0.0, epsilon0, Stop::within(1e-6), meets).holds);
    }
    solve(epsilon0, delta, |epsilon| {
        strong_tight(users, k, epsilon0, epsilon)
    })
    .ok_or_else(|| Unmet("a value below epsilon0".into()))
}
