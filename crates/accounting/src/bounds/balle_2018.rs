//! Amplification of an (ε, δ) guarantee by subsampling: Ullman 2017; Balle, Barthe, Gaboardi, *Privacy
//! amplification by subsampling* (NeurIPS 2018), Theorem 9.
//!
//! ```text
//! m of n without replacement, γ = m/n:   ε′ = ln(1 + γ(e^ε − 1)),   δ′ = γδ
//! ```
//!
//! Side: upper. Standing: proved. For comparison: the exact distribution of a sampled shuffle gives an ε up
//! to nine times smaller.

/// ε′ after sampling a fraction `rate` of the users.
///
/// ```
/// use shuffledp_accounting::bounds::balle_2018::amplified;
/// assert!((amplified(1.0, 0.01) - 0.01704).abs() < 1e-4);
/// ```
pub fn amplified(epsilon: f64, rate: f64) -> f64 {
    (rate * epsilon.exp_m1()).ln_1p()
}

/// The inverse of [`amplified`]: the ε before sampling that gives `epsilon` after it.
pub fn before(epsilon: f64, rate: f64) -> f64 {
    (epsilon.exp_m1() / rate).ln_1p()
}
