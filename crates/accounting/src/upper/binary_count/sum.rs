//! The largest F for one number of users of each kind, summed.
//!
//! With i zeros of the k users at q and j ones of the m users at p, S − k = j − i. Scaled by r^{j − i} all
//! terms are of one size near the largest t, and with b̃(d) = r^d P(S − k = d)
//!
//! ```text
//! F = A r^{−d} ( b̃(d) − (r − 1) Σ_{l ≥ 1} r^{−l} b̃(d + l) ),       d = t − 1 − k
//!   = A r^{−d} Σᵢ u(i) ( v(d + i) − (r − 1) w(d + i) ),            w(j) = Σ_{l ≥ 1} r^{−l} v(j + l),
//! ```
//!
//! u(i) = P(i) r^{−i}, v(j) = P(j) r^j. Terms that are left out of w raise F. A bound on those that are left
//! out of u and v is added back. d is within 1 of the tilted mean (Darroch 1964): the largest of five values
//! is taken.

use super::{Kind, Tilt};
use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::rounding::ln_up;
use shuffledp_numerics::special::{exp, ln};

/// Terms below this fraction of the largest are left out …
const NEGLIGIBLE: f64 = 1e-22;
/// … and add up to less than this in one sum, as there are at most about 3,000 terms on either side.
const LEFT_OUT: f64 = 1e-18;
/// Relative error of the sums: each of at most about 3,000 steps of a recurrence has an error of up to five
/// units in the last place (1.1e-15).
const SUM_ERROR: f64 = 1e-11;
/// Error of the logarithm of a binomial probability, absolute and relative to its size; measured to be 1e-13.
const LN_ERROR: f64 = 1e-12;

/// The scaled probabilities of one kind of users, relative to the one at `peak`.
struct Scaled {
    peak: u64,
    first: u64,
    values: Vec<f64>,
    /// At or above the logarithm of the probability at the peak, before scaling.
    ln_peak: f64,
}

impl Scaled {
    /// The number of rare answers of `users`; scaling multiplies their odds by e^`shift`.
    fn new(tilt: &Tilt, users: u64, kind: &Kind, shift: f64) -> Option<Self> {
        let peak = ((users as f64 + 1.0) * kind.rare).floor().min(users as f64) as u64;
        let odds = tilt.odds * exp(shift);
        let n = users as f64;
        let mut upwards = Vec::new();
        let (mut value, mut j) = (1.0, peak as f64);
        while value > NEGLIGIBLE && j < n {
            value *= (n - j) / (j + 1.0) * odds;
            upwards.push(value);
            j += 1.0;
        }
        let mut values = Vec::new();
        let (mut value, mut j) = (1.0, peak as f64);
        while value > NEGLIGIBLE && j > 0.0 {
            value *= j / ((n - j + 1.0) * odds);
            values.push(value);
            j -= 1.0;
        }
        let first = j as u64;
        values.reverse();
        values.push(1.0);
        values.extend(upwards);
        let ln_pmf = Binomial::new(users, tilt.p)?.ln_pmf(peak);
        // p is off by up to four units in the last place, which counts once for each answer too many or few.
        let away = (peak as f64 - n * tilt.p).abs();
        Some(Self {
            peak,
            first,
            values,
            ln_peak: ln_pmf + LN_ERROR * (10.0 + ln_pmf.abs()) + 4.0 * f64::EPSILON * away,
        })
    }
}

/// At or above ln of the largest F of `high` users at q and `low` at p.
pub(super) fn ln_bound(tilt: &Tilt, high: u64, low: u64) -> f64 {
    let [at_q, at_p] = &tilt.kinds;
    let zeros = Scaled::new(tilt, high, at_q, -tilt.s);
    let ones = Scaled::new(tilt, low, at_p, tilt.s);
    let (Some(zeros), Some(ones)) = (zeros, ones) else {
        return 0.0;
    };
    let r = 1.0 + tilt.excess;
    // w(j), and in front of the first v(j) one entry for each step back to the first that is needed.
    let mut later = vec![0.0; ones.values.len()];
    for j in (0..later.len() - 1).rev() {
        later[j] = (ones.values[j + 1] + later[j + 1]) / r;
    }
    let before = (ones.values[0] + later[0]) / r;
    let center = low as f64 * at_p.rare - high as f64 * at_q.rare;
    let start = ones.peak as f64 - zeros.peak as f64;
    let mut largest: f64 = f64::NEG_INFINITY;
    for step in -2..=2 {
        let d = center.round() + f64::from(step);
        let (mut here, mut beyond) = (0.0, 0.0);
        // j − first of the ones, for i = first of the zeros.
        let offset = d + zeros.first as f64 - ones.first as f64;
        for (i, &u) in zeros.values.iter().enumerate() {
            let j = offset + i as f64;
            if j < 0.0 {
                beyond += u * before * exp(tilt.s * (j + 1.0));
            } else if (j as usize) < later.len() {
                here += u * ones.values[j as usize];
                beyond += u * later[j as usize];
            }
        }
        let value = here * (1.0 + SUM_ERROR) - tilt.excess * beyond * (1.0 - SUM_ERROR);
        // Terms that were left out of u and v: each tail is below a geometric series.
        let value = value + LEFT_OUT;
        if value > 0.0 {
            let scaled = ln(value) - tilt.s * (d - start);
            largest = largest.max(scaled);
        }
    }
    let scale = zeros.ln_peak + ones.ln_peak + ln_up(tilt.gain);
    largest + scale + SUM_ERROR * (1.0 + largest.abs())
}
