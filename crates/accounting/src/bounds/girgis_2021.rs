//! Girgis, Data, Diggavi, Suresh, Kairouz, *On the Rényi differential privacy of the shuffle model* (CCS
//! 2021), and Girgis, Data, Diggavi, *Rényi differential privacy of the subsampled shuffle model in
//! distributed learning* (NeurIPS 2021).
//!
//! ```text
//! CCS upper        ε(λ) = 1/(λ−1) ln( e^{λ²(E−1)²/n̄} + e^{ε₀λ − (n−1)/(8E)} ),   n̄ = ⌊(n−1)/(2E)⌋ + 1
//! CCS lower        ε(λ) = 1/(λ−1) ln( 1 + C(λ,2) (E−1)²/(nE) )
//! Theorem 1 upper  k of n sampled, γ = k/n,   k̄ = ⌊(k−1)/(2E)⌋ + 1:
//!                  ε(λ) = 1/(λ−1) ln( 1 + 4C(λ,2) γ² (E−1)²/(k̄E)
//!                                       + Σ_{j=3}^λ C(λ,j) γʲ j Γ(j/2) (2(E²−1)²/(k̄E²))^{j/2} + Υ )
//!                  Υ = ((1 + γ(E²−1)/E)^λ − 1 − λγ(E²−1)/E) e^{−(k−1)/(8E)}
//! Theorem 2 lower  ε(λ) = 1/(λ−1) ln E(1 + γ (E²−1)/(kE) (m − k/(E+1)))^λ,   m ~ Bin(k, 1/(E+1))
//! ```
//!
//! Theorem 2 is printed as the binomial expansion of that expectation; it is exact for binary randomized
//! response with all others at one value, and is evaluated here as the moment of that pair.
//!
//! Standing: proved. Any discrete ε₀-LDP randomizer (upper), integer λ ≥ 2; the lower bounds are attained by
//! binary randomized response.

use super::{ln_1p_exp, ln_choose, ln_sum_exp};
use crate::atoms::Atoms;
use crate::error::Error;
use crate::local::{Categories, LocalEpsilon};
use crate::profile::{Direction, Profile};
use crate::rdp::{Orders, RdpCurve};
use shuffledp_numerics::special::ln_gamma;

/// The largest order of Theorem 1. It limits the time: a value at order λ is a sum of λ terms, and a search
/// needs some dozens of values.
const LARGEST: u64 = 20_000;

/// The CCS 2021 upper bound for n users.
///
/// ```
/// use shuffledp_accounting::bounds::girgis_2021::{shuffle_lower, shuffle_upper};
/// let (upper, lower) = (shuffle_upper(10_000, 1.0), shuffle_lower(10_000, 1.0));
/// assert!(lower.at(4.0) < upper.at(4.0));
/// ```
pub fn shuffle_upper(users: u64, epsilon0: f64) -> RdpCurve {
    let (e, n) = (epsilon0.exp(), users as f64);
    let effective = ((n - 1.0) / (2.0 * e)).floor() + 1.0;
    RdpCurve::new(Orders::Integers(1_000_000), move |order| {
        let first = order * order * epsilon0.exp_m1().powi(2) / effective;
        let second = epsilon0 * order - (n - 1.0) / (8.0 * e);
        (first + ln_1p_exp(second - first)) / (order - 1.0)
    })
}

/// The CCS 2021 lower bound for n users.
pub fn shuffle_lower(users: u64, epsilon0: f64) -> RdpCurve {
    let scale = epsilon0.exp_m1().powi(2) / (users as f64 * epsilon0.exp());
    RdpCurve::new(Orders::Integers(1_000_000), move |order| {
        (0.5 * order * (order - 1.0) * scale).ln_1p() / (order - 1.0)
    })
}

/// NeurIPS 2021 Theorem 1: `sample` of `users`.
///
/// ```
/// use shuffledp_accounting::bounds::girgis_2021::sampled_upper;
/// // Its own headline setting: T = 1e5 rounds of 1000 of a million.
/// let answer = sampled_upper(1_000_000, 1000, 2.0).times(100_000).epsilon(1e-8)?;
/// assert!((answer.value - 1.04022).abs() < 1e-5);
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn sampled_upper(users: u64, sample: u64, epsilon0: f64) -> RdpCurve {
    let (e, k) = (epsilon0.exp(), sample as f64);
    let rate = k / users as f64;
    let effective = ((k - 1.0) / (2.0 * e)).floor() + 1.0;
    // ln of γ² (E−1)²/(k̄E), of γ √(2(E²−1)²/(k̄E²)), and γ(E²−1)/E.
    let square = 2.0 * rate.ln() + 2.0 * epsilon0.exp_m1().ln() - effective.ln() - epsilon0;
    let spread = 2.0 * epsilon0.sinh();
    let ln_ratio = rate.ln() + spread.ln() + 0.5 * (2.0 / effective).ln();
    let jump = rate * spread;
    RdpCurve::new(Orders::Integers(LARGEST), move |order| {
        if epsilon0 == 0.0 {
            return 0.0;
        }
        let mut terms = vec![4f64.ln() + ln_choose(order, 2.0) + square];
        let ln_factorial = ln_gamma(order + 1.0);
        let mut top = terms[0];
        for j in 3..=order as u64 {
            let j = j as f64;
            let term = ln_factorial - ln_gamma(j + 1.0) - ln_gamma(order - j + 1.0)
                + j.ln()
                + ln_gamma(0.5 * j)
                + j * ln_ratio;
            top = top.max(term);
            terms.push(term);
        }
        // Υ: a binomial expansion without its first two terms.
        let power = order * jump.ln_1p();
        let remainder = if power < 1e-3 {
            (2..=40)
                .map(|j| {
                    (ln_choose(order, f64::from(j.min(order as u32))) + f64::from(j) * jump.ln())
                        .exp()
                        * if f64::from(j) <= order { 1.0 } else { 0.0 }
                })
                .sum::<f64>()
                .ln()
        } else {
            power + (-(1.0 + order * jump) * (-power).exp()).ln_1p()
        };
        terms.push(remainder - (k - 1.0) / (8.0 * e));
        ln_1p_exp(ln_sum_exp(&terms)) / (order - 1.0)
    })
}

/// NeurIPS 2021 Theorem 2: `sample` of `users`. Real orders.
pub fn sampled_lower(users: u64, sample: u64, epsilon0: LocalEpsilon) -> Result<RdpCurve, Error> {
    // The others all hold user 1's first value; the ratio is against that dataset, whose likelihood is
    // constant.
    let profile = Profile::sampled(Atoms::kary_first(Categories::TWO, epsilon0)?, users, sample);
    Ok(profile.rdp(Direction::Reverse))
}
