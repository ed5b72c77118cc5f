//! Rényi divergences of shuffled Gaussian noise on [0, 1], from above: those of its blanket, exactly.
//!
//! ```text
//! e^{(λ−1)D_λ} ≤ (1/n) E[A^λ B^{1−λ}],     A = ΣP, B = ΣQ,  (P, Q) by the blanket
//! ```
//!
//! A law that dominates every δ dominates every Rényi divergence, which is a mixture of δ's
//! (`atoms.proof.md`,
//! section 11). P/Q is not bounded, but has all moments, so that nothing is cut off here and no mass is lost:
//! with s = (z − 1/2σ)/σ and z on the half line z > 1/2σ, P − Q = e^s − 1 and its powers are integrated by
//! Gauss–Legendre rules that reach as far as the moment does ([`shuffledp_numerics::symmetric_ratio`]).
//! Reports beyond a cut-off would make the divergence infinite if they counted as δ.
//!
//! Users who take part by their own coin, or are m of n sampled, enter as in [`crate::atoms`].
//!
//! Standing: proved; ordinary floating point.

use crate::cells::gauss_legendre;
use crate::participation::Participation;
use crate::rdp::{Orders, RdpCurve};
use crate::round::Round;
use shuffledp_numerics::log_space::ln_1p_exp;
use shuffledp_numerics::special::{erf, expm1, ln};
use shuffledp_numerics::symmetric_ratio::{Draw, RatioMoments, SymmetricSum};
use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::{Mutex, PoisonError};

/// The largest order: the time of the moments grows with its square, and is a second there.
pub(crate) const LARGEST: u64 = 1024;
/// The width of a Gauss–Legendre cell, in standard deviations or, if that is less, in units of s …
const CELL: f64 = 0.5;
/// … and further than the peak of a moment's integrand by this many standard deviations nothing counts.
const BEYOND: f64 = 11.0;

/// What every user's part looks like to the analyzer: the blanket in a share of all reports, its ratios
/// scaled, beside absences.
#[derive(Clone, Copy, Debug)]
struct Part {
    share: f64,
    scale: f64,
    /// Probability and ratio of an absence.
    absent: (f64, f64),
    count: u64,
    shift: f64,
}

/// The curves of the blanket; the largest dominates the round.
pub(crate) fn interval_curves(sigma: f64, round: &Round) -> Vec<RdpCurve> {
    let honest = round.honest();
    let present = Part {
        share: 1.0,
        scale: 1.0,
        absent: (0.0, 1.0),
        count: honest,
        shift: 0.0,
    };
    let parts = match round.participation() {
        Participation::Everyone => vec![present],
        Participation::Sample(size) => {
            let count = size.min(honest);
            vec![Part {
                count,
                shift: (honest - count) as f64,
                ..present
            }]
        }
        Participation::CheckIn(rate) if rate.highest() == 1.0 => vec![present],
        // User 1 at either end of the range, as in [`crate::atoms::Atoms::check_in`].
        Participation::CheckIn(rate) => rate
            .ends()
            .into_iter()
            .map(|own| Part {
                share: rate.lowest(),
                scale: own / rate.lowest(),
                absent: (1.0 - rate.highest(), (1.0 - own) / (1.0 - rate.highest())),
                ..present
            })
            .collect(),
    };
    parts.into_iter().map(|part| curve(sigma, part)).collect()
}

fn curve(sigma: f64, part: Part) -> RdpCurve {
    let (weight, _) = part.absent;
    let left_over = erf(0.5 / sigma * FRAC_1_SQRT_2);
    let law = SymmetricSum {
        draws: move |order| draws(sigma, part, order),
        shared: Vec::from_iter((weight > 0.0).then_some(part.absent)),
        // Those who might have stayed away, and might not.
        rest: part.share * left_over + (1.0 - part.share - weight).max(0.0),
        count: part.count,
        shift: part.shift,
    };
    let moments = Mutex::new(RatioMoments::new(law));
    RdpCurve::new(Orders::Reals(LARGEST as f64), move |order| {
        // A panic while the lock was held leaves at worst fewer moments: they are added a block at a time.
        let mut moments = moments.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, excess) = moments.ln_excess(order);
        ln_1p_exp(excess) / (order - 1.0)
    })
}

/// Nodes of a quadrature of the reports on one side, for moments of orders up to this one.
fn draws(sigma: f64, part: Part, order: usize) -> Vec<Draw> {
    let nearest = 0.5 / sigma;
    let order = order as f64;
    // (e^{y/σ} − 1)ʲ φ(z), z = 1/2σ + y, is largest at y ≤ j/σ + √j, and no wider than φ.
    let reach = order / sigma + order.sqrt() + BEYOND;
    let width = CELL * sigma.min(1.0);
    let cells = (reach / width).ceil() as usize;
    let mut draws = Vec::new();
    for cell in 0..cells {
        for (d, weight) in gauss_legendre(width) {
            let y = cell as f64 * width + d;
            let z = nearest + y;
            let s = y / sigma;
            let ln_growth = if s > 40.0 { s } else { ln(expm1(s)) };
            draws.push(Draw {
                ln_weight: ln(part.share * 0.5 * width * weight) - 0.5 * z * z - 0.5 * ln(2.0 * PI),
                denominator: part.scale,
                ln_difference: ln_growth + ln(part.scale),
            });
        }
    }
    draws
}

#[cfg(test)]
mod tests {
    use super::{Part, curve};

    /// Alone a user has the Gaussian mechanism, and the blanket is exact: λ/(2σ²). One order takes the first
    /// moment's integrand to e^1700.
    #[test]
    fn one_user_has_the_gaussian_mechanism() {
        for (sigma, order) in [
            (0.5, 3.0),
            (1.0, 2.0),
            (1.0, 60.0),
            (4.0, 40.0),
            (20.0, 300.0),
        ] {
            let alone = Part {
                share: 1.0,
                scale: 1.0,
                absent: (0.0, 1.0),
                count: 1,
                shift: 0.0,
            };
            let (value, truth) = (curve(sigma, alone).at(order), order / (2.0 * sigma * sigma));
            assert!(
                (value / truth - 1.0).abs() < 1e-9,
                "sigma {sigma} order {order}: {value} and not {truth}"
            );
        }
    }
}
