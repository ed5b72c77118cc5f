//! Wang, Balle, Kasiviswanathan, *Subsampled Rényi differential privacy and analytical moments accountant*
//! (AISTATS 2019), Theorem 9: sampling without replacement, for a mechanism given by its Rényi divergences.
//!
//! ```text
//! ε′(λ) = 1/(λ−1) ln( 1 + γ² C(λ,2) min{4(e^{ε(2)} − 1), e^{ε(2)} min{2, (e^{ε(∞)} − 1)²}}
//!                       + Σ_{j=3}^λ γʲ C(λ,j) e^{(j−1)ε(j)} min{2, (e^{ε(∞)} − 1)ʲ} )
//! ```
//!
//! Side: upper. Standing: proved, integer orders.

use super::{ln_1p_exp, ln_choose, ln_sum_exp};
use crate::rdp::{Orders, RdpCurve};
use std::sync::Mutex;

/// The curve after sampling a fraction `rate`; `largest` is ε(∞), which may be infinite. The curve is
/// evaluated once at each integer order up to `orders`.
pub fn sampled(curve: RdpCurve, rate: f64, largest: f64, orders: u64) -> RdpCurve {
    let known = Mutex::new(vec![f64::NAN; 3]);
    let ln_jump = largest.exp_m1().ln();
    let ln_2 = 2f64.ln();
    RdpCurve::new(Orders::Integers(orders), move |order| {
        // A poisoned lock is safe to use: a panic in another thread leaves at worst a shorter table.
        let mut known = known
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for j in known.len()..=order as usize {
            known.push((j as f64 - 1.0) * curve.at(j as f64));
        }
        if known[2].is_nan() {
            known[2] = curve.at(2.0);
        }
        let second = known[2];
        let least =
            (4.0 * second.exp_m1()).min(second.exp() * (2.0f64).min(largest.exp_m1().powi(2)));
        let mut terms = vec![2.0 * rate.ln() + ln_choose(order, 2.0) + least.ln()];
        for (j, moment) in known.iter().enumerate().take(order as usize + 1).skip(3) {
            let j = j as f64;
            terms.push(j * rate.ln() + ln_choose(order, j) + moment + ln_2.min(j * ln_jump));
        }
        ln_1p_exp(ln_sum_exp(&terms)) / (order - 1.0)
    })
}
