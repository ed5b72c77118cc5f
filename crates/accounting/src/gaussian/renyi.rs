//! Rényi divergences of shuffled Gaussian noise, by laws of (P, Q) that are the same with P and Q exchanged:
//! the blanket on [0, 1], and user 1 at opposite ends of a ball ([`Opposite`]), exactly.
//!
//! ```text
//! e^{(λ−1)D_λ} ≤ (1/n) E[A^λ B^{1−λ}],     A = ΣP, B = ΣQ,  (P, Q) by a law that dominates
//!
//! on [0, 1]   P − Q = e^s − 1, Q = 1,       s = (z − 1/2σ)/σ,  z > 1/2σ, and mirrored
//! opposite    P − Q = 2f sinh(rz),          Q = base + f e^{−rz},  z > 0, and mirrored
//! ```
//!
//! A law that dominates every δ dominates every Rényi divergence, which is a mixture of δ's
//! (`atoms.proof.md`, section 11); for the law of a dataset the two sides are equal. P/Q is not bounded, but
//! has all moments, so that nothing is cut off here and no mass is lost: the powers of P − Q are integrated
//! by Gauss–Legendre rules that reach as far as the moment does ([`shuffledp_numerics::symmetric_ratio`]).
//! Reports beyond a cut-off would make the divergence infinite if they counted as δ.
//!
//! Users who take part by their own coin, or are m of n sampled, enter as in [`crate::atoms`].
//!
//! Standing: proved; ordinary floating point.

use super::Opposite;
use crate::cells::gauss_legendre;
use crate::participation::Participation;
use crate::rdp::{Orders, RdpCurve};
use crate::round::Round;
use shuffledp_numerics::log_space::ln_1p_exp;
use shuffledp_numerics::special::{erf, exp, expm1, ln};
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

/// The half of a law where P > Q: a report z = `from` + y, y > 0, has the density `share`·φ(z).
trait Half: Copy + Send + Sync + 'static {
    /// Where z begins, the slope of ln P, the share, and the probability of P = Q = 0.
    fn outline(&self) -> Outline;

    /// Q and ln(P − Q).
    fn ratios(&self, y: f64) -> (f64, f64);
}

/// What is the same for all reports of a [`Half`].
struct Outline {
    from: f64,
    slope: f64,
    share: f64,
    rest: f64,
}

/// The blanket on [0, 1], by its σ.
#[derive(Clone, Copy)]
struct Interval(f64);

impl Half for Interval {
    fn outline(&self) -> Outline {
        let Self(sigma) = *self;
        Outline {
            from: 0.5 / sigma,
            slope: 1.0 / sigma,
            share: 1.0,
            rest: erf(0.5 / sigma * FRAC_1_SQRT_2),
        }
    }

    fn ratios(&self, y: f64) -> (f64, f64) {
        let s = y / self.0;
        (1.0, if s > 40.0 { s } else { ln(expm1(s)) })
    }
}

impl Half for Opposite {
    fn outline(&self) -> Outline {
        Outline {
            from: 0.0,
            slope: self.radius,
            share: self.share,
            rest: self.rest,
        }
    }

    fn ratios(&self, y: f64) -> (f64, f64) {
        let s = self.radius * y;
        // ln(2 sinh s) = s + ln(1 − e^{−2s}).
        let ln_difference = s + ln(-expm1(-2.0 * s)) + ln(self.scale());
        (self.base + self.scale() * exp(-s), ln_difference)
    }
}

/// The curves of the blanket on [0, 1]; the largest dominates the round.
pub(crate) fn interval_curves(sigma: f64, round: &Round) -> Vec<RdpCurve> {
    dominating(Interval(sigma), round)
}

/// The curves of a round whose reports this law dominates; the largest dominates the round.
pub(crate) fn opposite_curves(law: Opposite, round: &Round) -> Vec<RdpCurve> {
    dominating(law, round)
}

/// The curve of a round whose participants have this law on some datasets: from below.
pub(crate) fn opposite_attained(law: Opposite, round: &Round) -> RdpCurve {
    let honest = round.most_honest();
    let part = match round.participation() {
        Participation::Everyone => Part::present(honest),
        Participation::Sample(size) => Part::sampled(size, round.users()),
        Participation::CheckIn(rate) => {
            let rate = rate.highest();
            Part::by_coin(rate, rate, rate, honest)
        }
    };
    let below = curve(law, part, |(below, _)| below);
    // Between whole orders the moments may show less than the divergence at the order before, which is below.
    RdpCurve::new(Orders::Reals(LARGEST as f64), move |order| {
        let before = order.floor();
        match before < 2.0 {
            true => below.at(order),
            false => below.at(order).max(below.at(before)),
        }
    })
}

fn dominating<H: Half>(half: H, round: &Round) -> Vec<RdpCurve> {
    let honest = round.honest();
    let parts = match round.participation() {
        Participation::Everyone => vec![Part::present(honest)],
        Participation::Sample(size) => vec![Part::sampled(size.min(honest), honest)],
        // User 1 at either end of the range, as in [`crate::atoms::Atoms::check_in`].
        Participation::CheckIn(rate) => {
            let part = |own| Part::by_coin(own, rate.lowest(), rate.highest(), honest);
            rate.ends().into_iter().map(part).collect()
        }
    };
    let above = |part| curve(half, part, |(_, above)| above);
    parts.into_iter().map(above).collect()
}

impl Part {
    /// All of `count` users take part.
    fn present(count: u64) -> Self {
        Self {
            share: 1.0,
            scale: 1.0,
            absent: (0.0, 1.0),
            count,
            shift: 0.0,
        }
    }

    /// `size` of `users` do.
    fn sampled(size: u64, users: u64) -> Self {
        Self {
            shift: (users - size) as f64,
            ..Self::present(size)
        }
    }

    /// User 1 does with probability `own`, each of the others with one between `lowest` and `highest`.
    fn by_coin(own: f64, lowest: f64, highest: f64, users: u64) -> Self {
        if highest == 1.0 {
            return Self::present(users);
        }
        Self {
            share: lowest,
            scale: own / lowest,
            absent: (1.0 - highest, (1.0 - own) / (1.0 - highest)),
            ..Self::present(users)
        }
    }
}

/// One of the two bounds between integer orders.
type Side = fn((f64, f64)) -> f64;

fn curve<H: Half>(half: H, part: Part, side: Side) -> RdpCurve {
    let (weight, _) = part.absent;
    let law = SymmetricSum {
        draws: move |order| draws(half, part, order),
        shared: Vec::from_iter((weight > 0.0).then_some(part.absent)),
        // Those who might have stayed away, and might not.
        rest: part.share * half.outline().rest + (1.0 - part.share - weight).max(0.0),
        count: part.count,
        shift: part.shift,
    };
    let moments = Mutex::new(RatioMoments::new(law));
    RdpCurve::new(Orders::Reals(LARGEST as f64), move |order| {
        // A panic while the lock was held leaves at worst fewer moments: they are added a block at a time.
        let mut moments = moments.lock().unwrap_or_else(PoisonError::into_inner);
        ln_1p_exp(side(moments.ln_excess(order))) / (order - 1.0)
    })
}

/// Nodes of a quadrature of the reports of a half, for moments of orders up to this one.
fn draws<H: Half>(half: H, part: Part, order: usize) -> Vec<Draw> {
    let Outline {
        from, slope, share, ..
    } = half.outline();
    let order = order as f64;
    // (P − Q)ʲ φ(z) is largest at y ≤ j·slope + √j, and no wider than φ.
    let reach = order * slope + order.sqrt() + BEYOND;
    let width = CELL * slope.recip().min(1.0);
    let cells = (reach / width).ceil() as usize;
    let mut draws = Vec::new();
    for cell in 0..cells {
        for (d, weight) in gauss_legendre(width) {
            let y = cell as f64 * width + d;
            let z = from + y;
            let (denominator, ln_difference) = half.ratios(y);
            let ln_density = -0.5 * z * z - 0.5 * ln(2.0 * PI);
            draws.push(Draw {
                ln_weight: ln(part.share * share * 0.5 * width * weight) + ln_density,
                denominator: part.scale * denominator,
                ln_difference: ln_difference + ln(part.scale),
            });
        }
    }
    draws
}

#[cfg(test)]
mod tests {
    use super::{Interval, Part, curve};

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
            let alone = Part::present(1);
            let (value, truth) = (
                curve(Interval(sigma), alone, |(_, above)| above).at(order),
                order / (2.0 * sigma * sigma),
            );
            assert!(
                (value / truth - 1.0).abs() < 1e-9,
                "sigma {sigma} order {order}: {value} and not {truth}"
            );
        }
    }
}
