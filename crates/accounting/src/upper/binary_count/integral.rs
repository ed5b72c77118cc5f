//! F for many outcomes: an integral over frequencies, bounded in closed form for a whole bucket of k.
//!
//! With the tilt r (see the module above), z = r e^{iy} and w = 2 sin(y/2), t − 1 the mode of the tilted
//! count and x its distance to the mean, −1 < x < 1 (Darroch 1964):
//!
//! ```text
//! F = C e^{Λ − s x} (1/π) ∫₀^π |φ| (α(y) cos ψ + β(y) sin ψ) dy,     ψ = x y − c,
//! α = (r + 1) w²/2 / D,   β = (r − 1) sin y / D,   D = (r − 1)² + r w²,   Λ = −Σ of the divergences
//! ```
//!
//! |φ|² = Π (1 − v w²) over the users' variances v, and c = k c₁ − (N − k) c₂ is the skewness part of the
//! phase. |φ| and Λ grow with k, which is why the others at one value are nearly the worst. Upper bounds of
//! all factors are powers of w times e^{−σ²w²/2}/(ρ² + w²), ρ = 2 sinh(s/2), and their integrals are known:
//!
//! ```text
//! ∫₀^∞ e^{−σ²w²/2} w^j/(ρ² + w²) dw = √(π/2) σ^{1−j} K_j(σρ),     K₂ = 1 − z M(z),   K₄ = 1 − z² K₂,
//! K_j ≤ (j−3)!! (j−1)/(z² + j − 1)                                (Jensen)
//! ```
//!
//! M is Mills' ratio. Frequencies beyond w₁ are bounded by their size. All steps: `binary_count.proof.md`.

use super::{Bucket, Tilt};
use shuffledp_numerics::rounding::ln_up;
use shuffledp_numerics::special::{erfc, exp, expm1, ln};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, PI, SQRT_2};

/// Least variance of the count for which the closed form is evaluated; with less it is of no use.
const LEAST_VARIANCE: f64 = 25.0;
/// w₁ in standard deviations of the frequency: e^{−9²/2} is below 3e-18.
const REACH: f64 = 9.0;
/// (y − w)/w³ ≤ this for w ≤ 1: π/3 − 1 = 0.04720 at w = 1, where it is largest.
const ARC: f64 = 0.0472;
/// (dy/dw − 1)/w² ≤ this for w ≤ 1: 2/√3 − 1 = 0.15470 at w = 1, where it is largest.
const STRETCH: f64 = 0.1548;
/// A bound on the relative error of every quantity of this file, each of which takes fewer than a hundred
/// operations without cancellation.
const ROUNDED: f64 = 1e-12;

/// Enclosed K₂ and K₄.
struct Kernels {
    /// At or above K₂.
    second: f64,
    /// At or below and at or above K₄.
    fourth: (f64, f64),
}

/// Up to this z, K₂ is at least 0.15, and the subtraction in it loses less than a digit.
const SUBTRACTED: f64 = 2.0;
/// Terms of the continued fraction. From z = 2 on, neighboring convergents of this order differ by 1e-17.
const CONVERGENT: u32 = 60;

impl Kernels {
    fn at(z: f64) -> Self {
        if z < SUBTRACTED {
            let mills = FRAC_PI_2.sqrt() * exp(0.5 * z * z) * erfc(z / SQRT_2);
            let second = 1.0 - z * mills;
            let fourth = 1.0 - z * z * second;
            return Self {
                second: second + ROUNDED,
                fourth: (fourth - 4.0 * ROUNDED, fourth + 4.0 * ROUNDED),
            };
        }
        // M = 1/(z + 1/(z + V)), V = 2/(z + 3/(z + …)): cut after an odd term V is too small, after an even
        // one too large. K₂ = T/(z + T), T = 1/(z + V), falls with V, so that K₄ rises.
        let cut = |terms: u32| {
            let tail = (2..=terms).rev();
            let v = tail.fold(0.0, |rest, term| f64::from(term) / (z + rest));
            let t = 1.0 / (z + v);
            (t / (z + t), (1.0 + z * v) / ((z + v) * (z + t)))
        };
        let (above, below) = (cut(CONVERGENT + 1), cut(CONVERGENT));
        Self {
            second: above.0 * (1.0 + ROUNDED),
            fourth: (above.1 * (1.0 - ROUNDED), below.1 * (1.0 + ROUNDED)),
        }
    }
}

/// At or above K_j for j = 6, 8, 10: (j−3)!! (j−1)/(z² + j − 1).
fn higher(z: f64) -> [f64; 3] {
    [(3.0, 5.0), (15.0, 7.0), (105.0, 9.0)].map(|(moment, next)| moment * next / (z * z + next))
}

/// At or above ln of the largest F(k, t) with k in the bucket; infinite where the bound is of no use.
pub(super) fn ln_bound(tilt: &Tilt, others: u64, bucket: Bucket) -> f64 {
    let [at_q, at_p] = &tilt.kinds;
    let (least, most) = (bucket.first as f64, bucket.last as f64);
    // Exact: both are whole numbers up to 2⁵³.
    let (most_at_p, least_at_p) = (
        (others - bucket.first) as f64,
        (others - bucket.last) as f64,
    );
    // The variance falls with k.
    let widest = (least * at_q.variance + most_at_p * at_p.variance).sqrt();
    let narrowest = (most * at_q.variance + least_at_p * at_p.variance).sqrt();
    if narrowest * narrowest < LEAST_VARIANCE || !widest.is_finite() {
        return f64::INFINITY;
    }
    let s = tilt.s;
    let (r, beta) = (1.0 + tilt.excess, tilt.excess);
    let alpha = 1.0 + 0.5 * tilt.excess;
    let edge = (REACH / narrowest).min(1.0);
    let cosine = (1.0 - 0.25 * edge * edge).sqrt();
    let steepest = |variance: f64| 1.0 / ((1.0 - variance * edge * edge) * cosine);

    // The phase: least·w³/6 ≤ c for every k of the bucket, and |c| ≤ most·w³/6.
    let skew_q = at_q.variance * at_q.lean;
    let skew_p = at_p.variance * at_p.lean;
    let up_q = most * skew_q * steepest(at_q.variance);
    let up_p = most_at_p * skew_p.abs() * steepest(at_p.variance);
    let (least_phase, most_phase) = if skew_p >= 0.0 {
        (least * skew_q - up_p, up_q.max(up_p))
    } else {
        (least * skew_q, up_q + up_p)
    };

    // Terms beside (α + β x) w² in the numerator, by powers of w.
    let arc = 1.0 + ARC * edge * edge;
    let bend = most_phase / 6.0;
    let fourth = alpha * STRETCH + beta * (ARC + arc.powi(3) / 6.0);
    let sixth = 0.5 * beta * arc * arc * bend;
    let eighth = 0.5 * beta * arc * bend * bend;
    let tenth = beta * bend.powi(3) / 6.0;

    let rho = 2.0 * (0.5 * s).sinh();
    let kernels = Kernels::at(rho * narrowest);
    let [k6, k8, k10] = higher(rho * narrowest);
    let per_square = 1.0 / (narrowest * narrowest);
    let added = per_square
        * (fourth * kernels.fourth.1
            + per_square * (sixth * k6 + per_square * (eighth * k8 + per_square * tenth * k10)));
    // The part of the phase's first power that is certainly subtracted, or that may be added.
    let of_phase = if least_phase > 0.0 {
        let kernels = Kernels::at(rho * widest);
        let [_, k8, _] = higher(rho * widest);
        let square = widest * widest;
        let squares = least * at_q.variance.powi(2) + most_at_p * at_p.variance.powi(2);
        let larger = at_q.variance.max(at_p.variance);
        let flatter = squares / (4.0 * (1.0 - larger * edge * edge));
        let cut = edge / square + 1.0 / (square * square * edge);
        let cut = FRAC_2_PI.sqrt() * cut * exp(-0.5 * square * edge * edge);
        let certain =
            kernels.fourth.0 / (square * widest) - flatter * k8 / (square.powi(3) * widest) - cut;
        -(beta * least_phase / 6.0 * certain.max(0.0)) * narrowest * (1.0 - ROUNDED)
    } else {
        -beta * least_phase / 6.0 * kernels.fourth.1 * per_square * (1.0 + ROUNDED)
    };
    // In units of 1/σ: the largest over all real x of e^{−s x} ((α + β x) K₂ + γ), or r γ.
    let gamma = added * (1.0 + ROUNDED) + of_phase;
    let growth = if s > 0.0 { expm1(s) / s } else { 1.0 };
    let half = 0.5 * s;
    // (s/2) coth(s/2) − 1 ≤ s²/12, which is as good where subtracting is not.
    let coth = (half / half.tanh() - 1.0 + ROUNDED).min(s * s / 12.0);
    let coth = if s > 0.0 { coth } else { 0.0 };
    let largest = growth * kernels.second * exp(coth + gamma / (kernels.second * growth));
    let core = FRAC_PI_2.sqrt() / (r * narrowest) * largest.max(r * gamma);
    // y ≥ w: what lies beyond the edge is shorter than π − w₁.
    let beyond = r.sqrt() * (PI - edge) * exp(-0.5 * narrowest * narrowest * edge * edge);

    let divergence = most * at_q.cost + least_at_p * at_p.cost;
    let ln_front = ln_up(tilt.gain) + s - ln(PI);
    let total = ln_front + ln(core + beyond);
    total - divergence * (1.0 - ROUNDED) + ROUNDED * (10.0 + s + total.abs())
}
