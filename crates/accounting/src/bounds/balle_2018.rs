//! Amplification by subsampling a finished guarantee: Ullman 2017; Balle, Barthe, Gaboardi, *Privacy
//! amplification by subsampling* (NeurIPS 2018), Theorem 9.
//!
//! ```text
//! m of n without replacement, γ = m/n:   ε′ = ln(1 + γ(e^ε − 1)),   δ′ = γδ
//! ```
//!
//! Side: upper. Standing: proved. For comparison: the exact atoms of a sampled shuffle are up to nine times
//! tighter.

/// ε′ after sampling a fraction `rate`.
///
/// ```
/// use shuffledp_accounting::bounds::balle_2018::amplified;
/// assert!((amplified(1.0, 0.01) - 0.01704).abs() < 1e-4);
/// ```
pub fn amplified(epsilon: f64, rate: f64) -> f64 {
    (rate * epsilon.exp_m1()).ln_1p()
}

/// The ε before sampling that becomes this one after it.
pub fn before(epsilon: f64, rate: f64) -> f64 {
    (epsilon.exp_m1() / rate).ln_1p()
}
