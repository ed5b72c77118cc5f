//! Multinomial probabilities.
//!
//! ln P(k₁…k_J) = Σⱼ ln Poisson(kⱼ; n pⱼ) − ln Poisson(n; n), each term by [`crate::stirling`].
//!
//! The derivative with respect to ln pⱼ is kⱼ − n pⱼ, so a relative error η in the probabilities costs
//! η Σ|kⱼ − n pⱼ| and not η n: near the mean it costs little.

use crate::stirling::{ln_poisson, ln_poisson_at_mean};

/// ln of the multinomial probability of `counts`, whose sum is the number of draws.
///
/// Zero probabilities are allowed where the count is zero.
///
/// ```
/// use shuffledp_numerics::multinomial::ln_pmf;
/// let p = ln_pmf(&[1.0, 1.0, 1.0], &[0.5, 0.25, 0.25]).exp();
/// assert!((p - 6.0 / 32.0).abs() < 1e-16);
/// ```
pub fn ln_pmf(counts: &[f64], probabilities: &[f64]) -> f64 {
    let n: f64 = counts.iter().sum();
    let categories: f64 = counts
        .iter()
        .zip(probabilities)
        .map(|(&k, &p)| {
            let mean = n * p;
            ln_poisson(k, mean, (mean - k) + n.mul_add(p, -mean))
        })
        .sum();
    categories - ln_poisson_at_mean(n)
}
