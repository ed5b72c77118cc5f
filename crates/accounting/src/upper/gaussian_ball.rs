//! Theorem G: Gaussian noise on a ball of any dimension, shuffled; also where a report is noise around zero
//! with some probability.
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
//! The blanket-mixed Gaussian (1 − b) N(x, σ²I) + bM has the blanket bM without moving anything. With λ for
//! the part that depends on the value, its blanket is λ′M, λ′ = b + (1 − b)λ, κ is (1 − b) times the above,
//! and X = ((1 − b)(e^{sz − s²/2} − a e^{−sz − s²/2}) + b(1 − a))/λ′ with probability λ′.
//!
//! Moving mass κ in each other user's law puts it above the blanket λM ([`super::moved`] has the cost, also
//! for sampled rounds); user 1's worst values are then opposite ends of a diameter. Proof:
//! `gaussian_ball.proof.md` beside this file. λ is free: there is a ladder of values, and the best one is
//! taken for each ε.
//!
//! Standing: certified.

use super::UpperProfile;
use super::alone::Alone;
use super::moved::{Law, Moved, Rung};
use crate::atoms::Atoms;
use crate::cells::Fineness;
use crate::error::Error;
use crate::gaussian::{Opposite, gdp_delta};
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

/// Theorem G for one round; σ in units of the ball's diameter, and b, the probability of noise around zero.
pub(crate) fn theorem_g(
    sigma: Sigma,
    around_zero: f64,
    round: &Round,
) -> Option<Box<dyn UpperProfile>> {
    let rungs = rungs(sigma, around_zero)?;
    Some(Box::new(Moved::new("theorem-g", round, rungs)))
}

fn rungs(sigma: Sigma, around_zero: f64) -> Option<Vec<Rung<Blanket>>> {
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
            kappa: (1.0 - around_zero) * lambda * gdp_delta(s, cost),
            own: 0.0,
            pair,
            law: Blanket {
                s,
                lambda,
                around_zero,
            },
        }
    };
    Some((0..=((MOST - LEAST) / STEP) as u32).map(rung).collect())
}

/// λ′M, by λ and b, and s, the radius of the ball over σ.
#[derive(Clone, Copy, Debug)]
struct Blanket {
    s: f64,
    lambda: f64,
    around_zero: f64,
}

impl Blanket {
    /// λ′.
    fn share(&self) -> f64 {
        self.around_zero + (1.0 - self.around_zero) * self.lambda
    }
}

impl Law for Blanket {
    /// The law of X above, user 1 at either end of a diameter.
    fn atoms(&self) -> Result<Atoms, Error> {
        let (share, around_value) = (self.share(), 1.0 - self.around_zero);
        let law = Opposite {
            radius: self.s,
            share,
            rest: around_value * (1.0 - self.lambda),
            base: self.around_zero / share,
            factor: around_value / share,
        };
        law.above(Fineness::Rough)
    }

    fn chi_square(&self) -> f64 {
        let square = (1.0 - self.around_zero).powi(2);
        2.0 * square * (expm1(self.s * self.s) - expm1(-self.s * self.s)) / self.share()
    }

    fn beyond(&self, threshold: f64) -> f64 {
        let around_value = 1.0 - self.around_zero;
        let threshold = (self.share() * threshold - self.around_zero) / around_value;
        // P is lognormal, moved and scaled: the formula of Black and Scholes.
        around_value * gdp_delta(self.s, ln(threshold.max(1.0)))
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
            let rungs = rungs(Sigma::new(0.5 * sigma).unwrap(), 0.0).unwrap();
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
