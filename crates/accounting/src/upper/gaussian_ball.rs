//! Theorem G: Gaussian noise on a ball of any dimension, shuffled.
//!
//! Values of norm at most 1, reports N(x, σ²I), M = N(0, σ²I), s = 1/σ (the *radius* of the ball in units of
//! the noise). For every 0 < λ < 1 and every dimension
//!
//! ```text
//! Hₐ ≤ (1/n) E( X₁ + … + Xₙ )₊ + κ (n − 1)(2h + a − 1),     h = Hₐ of two reports at distance 2
//! X = (e^{sz − s²/2} − a e^{−sz − s²/2})/λ, z ~ N(0, 1), with probability λ;   X = 0 otherwise
//! κ = λ Φ(ln λ/s + s/2) − Φ(ln λ/s − s/2) = λ · δ_{s-GDP}(−ln λ)
//! ```
//!
//! Moving mass κ in each other user's law puts it above the blanket λM ([`super::moved`] has the cost, also
//! for sampled rounds); user 1's worst values are then opposite ends of a diameter. Proof:
//! `gaussian_ball.proof.md` beside this file. λ is free: there is a ladder of values, and the best one is
//! taken for each ε.
//!
//! # Atoms
//!
//! (P, Q) = (e^{sz}, e^{−sz}) e^{−s²/2}/λ lies on a hyperbola. In a cell of z the arc lies in the triangle of
//! its two ends and of the crossing of the tangents there. Its mass is moved to these three points, both
//! means kept: larger in convex order, for all a at once ([`crate::cells::Ray::above_hyperbola`]).
//!
//! Standing: certified.

use super::UpperProfile;
use super::alone::Alone;
use super::moved::{Law, Moved, Rung};
use crate::atoms::{Atom, Atoms};
use crate::cells::Fineness;
use crate::error::Error;
use crate::gaussian::{gdp_delta, half_line, lost};
use crate::local::Sigma;
use crate::mechanism::Local;
use crate::round::Round;
use shuffledp_numerics::special::{exp, expm1, ln, ln_1p};

/// ln(λ/(1 − λ)) goes from here …
const LEAST: f64 = -40.0;
/// … to here, where 1 − λ is 1e-6 and a larger λ gains nothing, …
const MOST: f64 = 14.0;
/// … in steps of this, so that ε at the best rung is within 1e-3 of ε at the best λ, relatively.
const STEP: f64 = 1.0 / 16.0;

/// Theorem G for one round; σ in units of the ball's diameter.
pub(crate) fn theorem_g(sigma: Sigma, round: &Round) -> Option<Box<dyn UpperProfile>> {
    Some(Box::new(Moved::new("theorem-g", round, rungs(sigma)?)))
}

fn rungs(sigma: Sigma) -> Option<Vec<Rung<Blanket>>> {
    let s = 0.5 / sigma.value();
    let pair = Alone::new(Local::Gaussian(sigma))?;
    let rung = |index: u32| {
        let odds = LEAST + STEP * f64::from(index);
        let lambda = 1.0 / (1.0 + exp(-odds));
        // −ln λ. From λ = 1/2 on, λ − 1 is exact.
        let cost = match lambda > 0.5 {
            true => -ln_1p(lambda - 1.0),
            false => -ln(lambda),
        };
        Rung {
            kappa: lambda * gdp_delta(s, cost),
            own: 0.0,
            pair,
            law: Blanket { s, lambda },
        }
    };
    Some((0..=((MOST - LEAST) / STEP) as u32).map(rung).collect())
}

/// λM, and s, the radius of the ball over σ.
#[derive(Clone, Copy, Debug)]
struct Blanket {
    s: f64,
    lambda: f64,
}

impl Law for Blanket {
    /// The law of X above, user 1 at either end of a diameter.
    fn atoms(&self) -> Result<Atoms, Error> {
        let Self { s, lambda } = *self;
        let scale = exp(-0.5 * s * s) / lambda;
        let ray = half_line(s);
        let mut atoms = Vec::new();
        for node in ray.above_hyperbola(Fineness::Rough) {
            let (up, down) = (exp(node.exponent), exp(-node.exponent));
            let scale = scale * node.shrunk;
            let difference = scale * (expm1(node.exponent) - expm1(-node.exponent));
            let size = difference.abs().max(scale * (up + down) * node.exponent);
            let weight = lambda * node.weight;
            let atom = Atom::measured(weight, scale * up, scale * down, difference, size);
            atoms.extend([atom, atom.mirrored()]);
        }
        atoms.push(Atom::of(1.0 - lambda, 0.0, 0.0, 0.0));
        Ok(Atoms::of_limit(atoms, 2.0 * s * ray.to)?.leaving_out(lost(1.0 / s)))
    }

    fn chi_square(&self) -> f64 {
        2.0 * (expm1(self.s * self.s) - expm1(-self.s * self.s)) / self.lambda
    }

    fn beyond(&self, threshold: f64) -> f64 {
        // P is lognormal: the formula of Black and Scholes.
        gdp_delta(self.s, ln((self.lambda * threshold).max(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Blanket, Rung, rungs};
    use crate::local::{Domain, Sigma};
    use crate::mechanism::Mechanism;
    use crate::round::Round;
    use crate::upper::moved::Moved;

    /// Hₐ of one shuffled round of two users on the line, the other one at `other`, user 1 at 1 or −1, with
    /// `size` of the two taking part: sums over a grid of an eighth of σ, good to four digits.
    fn truth(sigma: f64, other: f64, size: u64, epsilon: f64) -> f64 {
        let (step, a) = (sigma / 8.0, epsilon.exp());
        let reach = ((1.0 + 7.0 * sigma) / step).ceil() as i32;
        let at = |i: i32, center: f64| {
            let z = (f64::from(i) * step - center) / sigma;
            step * (-0.5 * z * z).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt())
        };
        let mut total = 0.0;
        for i in -reach..=reach {
            let (p, q, w) = (at(i, 1.0), at(i, -1.0), at(i, other));
            if size == 1 {
                total += (0.5 * (p + w) - a * 0.5 * (q + w)).max(0.0);
                continue;
            }
            for j in -reach..=reach {
                let (p2, q2, w2) = (at(j, 1.0), at(j, -1.0), at(j, other));
                total += 0.5 * (p * w2 + p2 * w - a * (q * w2 + q2 * w)).max(0.0);
            }
        }
        total
    }

    /// The least ratio of the bound to the truth, over rungs, places of the other user, and ε.
    fn least_ratio(change: impl Fn(Rung<Blanket>) -> Rung<Blanket>) -> f64 {
        let mut least = f64::INFINITY;
        for (sigma, size) in [(1.0, 2), (2.0, 2), (4.0, 2), (2.0, 1)] {
            let mechanism = Mechanism::gaussian(sigma, Domain::Ball).unwrap();
            let round = Round::new(mechanism, 2).unwrap().sample(size).unwrap();
            let rungs = rungs(Sigma::new(0.5 * sigma).unwrap()).unwrap();
            let bound = Moved::new("", &round, rungs.into_iter().map(&change).collect());
            for epsilon in [0.0, 0.3] {
                let worst = [-1.0, 0.0, 1.0]
                    .map(|other| truth(sigma, other, size, epsilon))
                    .into_iter()
                    .fold(0.0, f64::max);
                // λ from 0.05 to 0.999.
                for index in (592..=750).step_by(50) {
                    let value = bound.ln_delta_of(index, epsilon, 1e-5).exp();
                    least = least.min(value / worst);
                }
            }
        }
        least
    }

    #[test]
    fn no_dataset_of_two_on_the_line_is_worse_at_any_lambda() {
        let least = least_ratio(|rung| rung);
        assert!(least > 1.0 - 1e-3, "{least}");
    }

    /// The test above fails for each of these.
    #[test]
    fn wrong_versions_are_caught() {
        let free = least_ratio(|rung| Rung { kappa: 0.0, ..rung });
        assert!(free < 0.99, "kappa forgotten: {free}");
        let small = least_ratio(|rung| Rung {
            law: Blanket {
                s: 0.5 * rung.law.s,
                ..rung.law
            },
            ..rung
        });
        assert!(small < 0.9, "the radius taken for the diameter: {small}");
        let whole = least_ratio(|rung| Rung {
            law: Blanket {
                lambda: rung.law.lambda.sqrt(),
                ..rung.law
            },
            ..rung
        });
        assert!(whole < 0.99, "a blanket of more than lambda: {whole}");
    }
}
