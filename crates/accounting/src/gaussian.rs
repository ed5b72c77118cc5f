//! Gaussian noise: the laws of the shuffled Gaussian, in units of the distance D by which a replacement moves
//! a value.
//!
//! With reports y ~ N(x, σ²) and values in [0, 1], z the distance of the report, in standard deviations, from
//! the value that the other users are taken to hold (the middle of the interval for the blanket, user 1's
//! first value for the pair):
//!
//! | law | reports | P | Q |
//! |---|---|---|---|
//! | [`interval_blanket`], upper | φ(z) on \|z\| ≥ 1/2σ | 1, e^s on one side | 1, e^s on the other |
//! | [`pair`], others at user 1's first value | φ(z) | 1 | e^s |
//! | [`Opposite`], others at the middle | φ(z) | e^{rz − r²/2}, scaled | e^{−rz − r²/2}, scaled |
//!
//! s = (|z| − 1/2σ)/σ in the first row, where the rest of the mass is left over, and (z − 1/2σ)/σ in the
//! second; r in the third is half the distance of user 1's values over σ.
//!
//! **Blanket.** b(y) = inf over x in [0, 1] of the density of N(x, σ²) at y, which is that of the farther
//! end: its mass is 2Φ(−1/2σ). The endpoints 0 and 1 are user 1's worst two values (`worst_pair.proof.md`).
//!
//! **Pair.** All others hold user 1's first value, and the second is at distance D: mean of n lognormal
//! variables. Exact for that dataset, so a lower bound, in any dimension (project onto the line through the
//! two values). It is *conjectured* that no dataset is worse. The same pair dominates 1-out-of-n random
//! allocation of the Gaussian mechanism in central DP-SGD (Feldman, Shenfeld 2025), where it is exact.
//!
//! **Without its shuffler** the mechanism over T rounds is √T/σ-GDP (Dong, Roth, Su 2019), exactly: δ(ε) =
//! Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle, Wang 2018).

pub(crate) mod renyi;

use crate::atoms::{Atom, Atoms};
use crate::cells::{Fineness, Point, Ray};
use crate::error::Error;
use shuffledp_numerics::search::{Stop, bisect};
use shuffledp_numerics::special::{erf, erfc, exp, expm1};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Reports further out than this many standard deviations are left out of the laws. They have probability
/// 1e-291, which is added to δ.
const REACH: f64 = 36.5;
/// Beyond this many standard deviations cells may be wide: one in 1e18 reports lies there.
const CORE: f64 = 9.0;

/// The largest z, in standard deviations, at which Φ(−z) is a normal double.
const DEEPEST_TAIL: f64 = 37.0;

/// φ at z + d, to full relative accuracy where z² has few digits.
fn density(z: f64, d: f64) -> f64 {
    exp(-0.5 * z * z) * exp(-d * (z + 0.5 * d)) / (2.0 * PI).sqrt()
}

/// Φ(−z), the upper tail.
fn tail(z: f64) -> f64 {
    0.5 * erfc(z * FRAC_1_SQRT_2)
}

/// Reports on one side of a center, in units of the noise. Where two values lie `slope` on either side of it,
/// their likelihood ratios against the center are e^{±slope·z}, up to a constant.
pub(crate) fn half_line(slope: f64) -> Ray<impl Fn(f64, f64) -> f64> {
    Ray {
        density,
        slope,
        origin: 0.0,
        from: 0.0,
        to: REACH,
        core: CORE,
    }
}

/// Probability of reports beyond `REACH`, for values up to 1 away from the center.
pub(crate) fn lost(sigma: f64) -> f64 {
    4.0 * tail(REACH - 1.0 / sigma)
}

/// User 1 at either end of a diameter of a ball, against noise N(0, σ²) from its center:
///
/// ```text
/// (P, Q) = base + factor·(e^{rz − r²/2}, e^{−rz − r²/2}), z ~ N(0, 1), with probability share;  else (0, 0)
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opposite {
    /// r, the radius of the ball over σ.
    pub(crate) radius: f64,
    /// The probability of a ratio other than zero.
    pub(crate) share: f64,
    /// That of zero. The two are 1 together.
    pub(crate) rest: f64,
    /// The part of both ratios that does not depend on user 1's value.
    pub(crate) base: f64,
    /// The size of the part that does.
    pub(crate) factor: f64,
}

impl Opposite {
    /// The law from above: (P, Q) lies on a hyperbola, moved and scaled. In a cell of z the arc lies in the
    /// triangle of its two ends and of the crossing of the tangents there. Its mass is moved to these three
    /// points, both means kept: larger in convex order, for all a at once ([`Ray::above_hyperbola`]).
    pub(crate) fn above(&self, fineness: Fineness) -> Result<Atoms, Error> {
        let Self { radius, base, .. } = *self;
        let ray = half_line(radius);
        let mut atoms = Vec::new();
        for node in ray.above_hyperbola(fineness) {
            let (up, down) = (exp(node.exponent), exp(-node.exponent));
            let scale = self.scale() * node.shrunk;
            let difference = scale * (expm1(node.exponent) - expm1(-node.exponent));
            let size = difference.abs().max(scale * (up + down) * node.exponent);
            let weight = self.share * node.weight;
            let (p, q) = (base + scale * up, base + scale * down);
            let atom = Atom::measured(weight, p, q, difference, size);
            atoms.extend([atom, atom.mirrored()]);
        }
        atoms.push(Atom::of(self.rest, 0.0, 0.0, 0.0));
        let limit = 2.0 * radius * ray.to;
        Ok(Atoms::of_limit(atoms, limit)?.leaving_out(lost(1.0 / radius)))
    }

    /// The factor of e^{±rz}.
    pub(crate) fn scale(&self) -> f64 {
        self.factor * exp(-0.5 * self.radius * self.radius)
    }
}

/// The blanket of Gaussian noise on [0, 1], user 1 at either end.
pub(crate) fn interval_blanket(sigma: f64, fineness: Fineness) -> Result<Atoms, Error> {
    let ray = Ray {
        density,
        slope: 1.0 / sigma,
        origin: 0.5 / sigma,
        from: 0.5 / sigma,
        to: REACH,
        core: CORE,
    };
    let mut atoms = Vec::new();
    for point in ray.above(fineness) {
        let atom = raised(point);
        atoms.extend([atom, atom.mirrored()]);
    }
    let rest = erf(0.5 / sigma * FRAC_1_SQRT_2);
    atoms.push(Atom::of(rest, 0.0, 0.0, 0.0));
    Ok(Atoms::of_limit(atoms, ray.slope * (ray.to - ray.origin))?.leaving_out(lost(sigma)))
}

/// User 1's two values at distance 1, all others at the first of them: below the truth.
pub(crate) fn pair(sigma: f64, fineness: Fineness) -> Result<Atoms, Error> {
    let points = pair_ray(sigma).below(fineness);
    let atoms = points.into_iter().map(|point| raised(point).mirrored());
    Atoms::of_limit(atoms.collect(), limit(sigma))
}

/// The same pair, from above.
pub(crate) fn pair_above(sigma: f64, fineness: Fineness) -> Result<Atoms, Error> {
    let points = pair_ray(sigma).above(fineness);
    let atoms = points.into_iter().map(|point| raised(point).mirrored());
    Ok(Atoms::of_limit(atoms.collect(), limit(sigma))?.leaving_out(lost(sigma)))
}

fn pair_ray(sigma: f64) -> Ray<impl Fn(f64, f64) -> f64> {
    Ray {
        density,
        slope: 1.0 / sigma,
        origin: 0.5 / sigma,
        from: -REACH,
        to: REACH,
        core: CORE,
    }
}

/// The largest |ln ratio| within reach.
fn limit(sigma: f64) -> f64 {
    (REACH + 0.5 / sigma) / sigma
}

/// P = e^s, Q = 1.
fn raised(point: Point) -> Atom {
    Atom::measured(point.weight, point.ratio, 1.0, point.growth, point.size)
}

/// δ(ε) of μ-GDP, rounded up.
pub(crate) fn gdp_delta(mu: f64, epsilon: f64) -> f64 {
    let far = epsilon / mu + 0.5 * mu;
    let (value, error) = if far < DEEPEST_TAIL && epsilon < 700.0 {
        gdp_delta_and_error(mu, epsilon)
    } else {
        // e^ε Φ(−far) = φ(near) Φ(−far)/φ(far) from below: the fourth convergent of the continued fraction of
        // the quotient, which is below it, and within 1e-11 of it so far out.
        let near = epsilon / mu - 0.5 * mu;
        let square = far * far;
        let quotient = (square + 5.0) / (square * (square + 6.0) + 3.0) * far;
        let (first, second) = (tail(near), density(near, 0.0) * quotient);
        let error = (near * near + epsilon + 16.0) * f64::EPSILON * (first + second);
        (first - second, error)
    };
    (value.max(0.0) + error).clamp(f64::MIN_POSITIVE, 1.0)
}

/// The same rounded down.
pub(crate) fn gdp_delta_below(mu: f64, epsilon: f64) -> f64 {
    let far = epsilon / mu + 0.5 * mu;
    let (value, error) = if far < DEEPEST_TAIL && epsilon < 700.0 {
        gdp_delta_and_error(mu, epsilon)
    } else {
        // The second term would underflow, or e^ε overflow: e^ε Φ(−far) = φ(near) Φ(−far)/φ(far), and the
        // quotient is at most 1/far.
        let near = epsilon / mu - 0.5 * mu;
        let (first, second) = (tail(near), density(near, 0.0) / far);
        let error = (near * near + 16.0) * f64::EPSILON * (first + second);
        (first - second, error)
    };
    // Numbers below the smallest normal one have few digits.
    (value - error - f64::MIN_POSITIVE).max(0.0)
}

/// δ(ε) of μ-GDP, and how far off it may be, where e^ε and both tails are normal doubles.
fn gdp_delta_and_error(mu: f64, epsilon: f64) -> (f64, f64) {
    let (near, far) = (epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu);
    let first = tail(near);
    let second = exp(epsilon) * tail(far);
    // Φ at a rounded argument z is off by up to z² units in the last place, e^ε by ε of them.
    let error = |z: f64, term: f64| (z * z + epsilon + 16.0) * f64::EPSILON * term;
    (first - second, error(near, first) + error(far, second))
}

/// ε of μ-GDP at δ, rounded up.
pub(crate) fn gdp_epsilon(mu: f64, delta: f64) -> f64 {
    if gdp_delta(mu, 0.0) <= delta {
        return 0.0;
    }
    // z standard deviations out suffice: δ ≤ Φ(−z) at ε = μ²/2 + μz. An evaluation takes a microsecond, so
    // that bisection is fast enough.
    let limit = 0.5 * mu * mu + mu * 39.0;
    let meets = |epsilon: f64| gdp_delta(mu, epsilon) <= delta * (1.0 - 1e-12);
    // No ε suffices at δ = 0; the end of the search must have been seen to hold.
    if !meets(limit) {
        return f64::INFINITY;
    }
    bisect(0.0, limit, Stop::within(1e-12), meets).holds
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{gdp_delta, gdp_epsilon, interval_blanket, pair, pair_above};
    use crate::cells::Fineness;
    use crate::profile::{Direction, Profile};

    /// δ of the shuffled Gaussian pair from both sides; `Reverse` is E(mean Y − a)₊.
    fn bracket(sigma: f64, users: u64, direction: Direction, epsilon: f64) -> (f64, f64) {
        let fineness = Fineness::of_one_round(users);
        let lower =
            Profile::new(pair(sigma, fineness).unwrap(), users).delta_in(direction, epsilon);
        let upper =
            Profile::new(pair_above(sigma, fineness).unwrap(), users).delta_in(direction, epsilon);
        (lower.lower, upper.upper)
    }

    /// To six digits, where numerical-accounting's Figure 5 has two from 5e7 samples; sources beside the
    /// rows.
    #[test]
    fn the_shuffled_gaussian_pair_has_its_known_values() {
        use Direction::{Forward, Reverse};
        for (sigma, users, direction, epsilon, value, digits) in [
            // An independent convolution in Python, six digits.
            (2.0, 7, Reverse, 0.0, 0.0791948, 1e-6),
            (2.0, 7, Reverse, 0.25, 0.0115621, 5e-6),
            (2.0, 7, Reverse, 0.5, 0.000593512, 2e-6),
            (2.0, 7, Reverse, 1.0, 1.34014e-7, 4e-6),
            (1.0, 1000, Reverse, 0.2, 2.037e-7, 3e-4),
            // Fourier inversion of the lognormal Laplace transform in 45 digits.
            (1.0, 1_000_000, Reverse, 0.006, 6.500439378e-10, 5e-5),
            (1.0, 1_000_000, Forward, 0.006, 5.990961962e-10, 5e-5),
            (1.0, 1_000_000_000, Reverse, 2e-4, 5.59639809e-12, 5e-5),
        ] {
            let (low, high) = bracket(sigma, users, direction, epsilon);
            assert!(
                low <= value * (1.0 + digits) && value * (1.0 - digits) <= high,
                "sigma {sigma} n {users}: {value} outside [{low}, {high}]"
            );
            assert!(
                high / low - 1.0 < 2.0 * digits + 1e-6,
                "sigma {sigma} n {users}: [{low}, {high}] is wide"
            );
        }
    }

    /// δ where e^ε overflows or the second tail is no normal double, against values to 60 digits (mpmath).
    /// The third convergent in place of the fourth, which is on the other side, is below them.
    #[test]
    fn delta_of_large_losses_has_its_value() {
        for (mu, epsilon, exact) in [
            (38.0, 690.0, 0.792_609_608_689_679_7),
            (40.0, 720.0, 0.975_830_035_050_260_8),
            (37.3, 2000.0, 1.699_804_307_795_174e-268),
            (20.0, 500.0, 2.092_050_285_928_744e-51),
            (3.0, 112.0, 1.289_775_836_147_284_3e-282),
            (100.0, 8000.0, 3.773_207_040_719_912e-198),
            (100.0, 5000.0, 0.496_010_976_018_643_2),
            (1000.0, 510_000.0, 7.543_668_954_024_447e-24),
        ] {
            let found = gdp_delta(mu, epsilon);
            assert!(
                found >= exact && found <= exact * (1.0 + 1e-9),
                "mu {mu} epsilon {epsilon}: {found} against {exact}"
            );
        }
    }

    /// ε beyond 700, where e^ε overflows, and one on either side of it.
    #[test]
    fn epsilon_of_large_losses_is_found() {
        for (mu, delta) in [(20.0, 1e-9), (37.3, 1e-300), (1e3, 1e-6), (1e5, 0.5)] {
            let epsilon = gdp_epsilon(mu, delta);
            assert!(epsilon.is_finite());
            assert!(gdp_delta(mu, epsilon) <= delta, "{mu} {delta}");
            assert!(
                gdp_delta(mu, epsilon * (1.0 - 1e-6)) > delta,
                "{mu} {delta}"
            );
        }
    }

    /// With one user the round is the Gaussian mechanism, and the blanket gives its profile.
    #[test]
    fn one_user_has_the_gaussian_mechanism() {
        for (sigma, epsilon) in [(0.5, 1.0), (1.0, 0.0), (1.0, 3.0), (4.0, 0.5)] {
            // Rounded up by a few units in the last place, which is more than it is off.
            let truth = gdp_delta(1.0 / sigma, epsilon) * (1.0 - 1e-13);
            for direction in [Direction::Forward, Direction::Reverse] {
                let (low, high) = bracket(sigma, 1, direction, epsilon);
                assert!(low <= truth && truth <= high, "{low} {truth} {high}");
                assert!(high / low - 1.0 < 1e-4, "{low} {high}");
            }
            let blanket = interval_blanket(sigma, Fineness::Finest).unwrap();
            let alone = Profile::new(blanket, 1).delta(epsilon).upper;
            assert!(alone >= truth && alone < truth * 1.0001, "{alone} {truth}");
        }
    }
}
