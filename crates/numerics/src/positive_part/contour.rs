//! The positive part as a Laplace integral ([`crate::laplace`]) of the sum's cumulant function.
//!
//! ```text
//! K(z) = m ln M(z) + s z,     M(z) = E e^{zX} = Σ π e^{zx}
//! ```
//!
//! On the line z = c + iθ, with M̂(θ) = M(c+iθ)/M(c) the characteristic function of the tilted law, blocks of
//! nodes are bounded by
//!
//! ```text
//! |M̂(θ)| ≤ exp(−2θ²v/π²)   for θ ≤ π/(range of X), v the tilted variance    (1 − cos t ≥ 2t²/π²)
//! |M̂(θ)|² ≤ 1 − θ²v + θ⁴E(X−X′)⁴/24       for θ² ≤ 12v/E(X−X′)⁴             (1 − cos t ≥ t²/2 − t⁴/24)
//! |M̂(θ)| ≤ |M̂(θ₀)| + E|X − EX| |θ − θ₀|                                     (tilted expectations)
//! ```
//!
//! Standing: certified. The cost does not depend on m.

use super::Sum;
use super::tilt::{self, ErrorScale, Tilted};
use crate::enclosure::LnEnclosure;
use crate::laplace::{self, Kernel, Line, Node};
use crate::near_zero::NearZero;
use crate::rounding::ROUNDING;
use crate::special::{atan2, exp, exp_minus_1_minus_x, expm1, ln, ln_1p, sin_cos, sin_minus_x};
use std::cell::Cell;
use std::f64::consts::PI;

/// Limits the terms of the transform (nodes times atoms) to a part of a second. Beyond it the integral gives
/// no enclosure, and the bounds that the caller has without it remain.
const MOST_WORK: f64 = 2e7;
/// Where another method stands ready, more terms than this at an accuracy of 3.2e-5 take longer than that
/// method does, by measurement. Its cost is in proportion to one over the square root of the accuracy.
const QUICK_WORK: f64 = 5e5;
/// Where no more than this accuracy is asked for, an enclosure that turns out wide is not made narrower: it
/// would take eight times as long, and the caller wants to be done.
const ROUGH: f64 = 5e-3;
/// A bound on ln of the integrand that is below this needs no better one.
const FAR_BELOW: f64 = -100.0;
/// Nodes count as needed where e^K is above e^this, relative to the real axis.
const NEEDED: f64 = -25.0;
/// The parts of the way to the last node where it is asked whether nodes are needed.
const PROBES: [f64; 6] = [0.9, 0.7, 0.45, 0.3, 0.15, 0.05];

/// Encloses ln E(S)₊.
pub(super) fn evaluate(sum: &Sum, tilted: &Tilted, accuracy: f64) -> LnEnclosure {
    evaluate_within(sum, tilted, accuracy, MOST_WORK)
}

/// The same if it takes no longer than the lattice; else an enclosure that says nothing.
pub(super) fn evaluate_quickly(sum: &Sum, tilted: &Tilted, accuracy: f64) -> LnEnclosure {
    let work = QUICK_WORK * (3.2e-5 / accuracy).sqrt();
    evaluate_within(sum, tilted, accuracy, work.min(MOST_WORK))
}

fn evaluate_within(sum: &Sum, tilted: &Tilted, accuracy: f64, work: f64) -> LnEnclosure {
    let line = SumLine::new(sum, tilted, work);
    let target = tilted.target(sum, accuracy);
    match accuracy >= ROUGH {
        true => laplace::integrate_once(&line, &tilted.saddle, Kernel::Ramp, target),
        false => laplace::integrate(&line, &tilted.saddle, Kernel::Ramp, target),
    }
}

/// One atom, with the numbers that do not depend on θ.
struct Ray {
    weight: f64,
    value: f64,
    /// e^{cx} (times e^{−top} when not near one), and e^{cx} − 1.
    tilted: f64,
    tilted_minus_1: f64,
}

/// The line Re z = c.
struct SumLine<'a> {
    sum: &'a Sum<'a>,
    tilted: &'a Tilted,
    rays: Vec<Ray>,
    /// M(c) − 1 when near one, else not a number.
    excess: f64,
    /// The exponent taken out of M when not near one.
    top: f64,
    errors: ErrorScale,
    /// E|X − EX| and max X − min X, the expectation tilted.
    absolute_deviation: f64,
    range: f64,
    /// What the tilted variance and fourth moment say, where rounding is negligible.
    near_zero: NearZero,
    /// Bound on the relative error of the tilted variance.
    variance_slack: f64,
    /// The number of evaluations of M.
    evaluated: Cell<f64>,
    /// The largest number of evaluations of M times atoms.
    most_work: f64,
}

/// M(c + iθ), times e^{−top}, and its logarithm without that factor.
struct Moment {
    real: f64,
    imaginary: f64,
    modulus: f64,
    ln_modulus: f64,
}

impl<'a> SumLine<'a> {
    fn new(sum: &'a Sum<'a>, tilted: &'a Tilted, most_work: f64) -> Self {
        let (c, tilt) = (tilted.saddle.c, &tilted.tilt);
        // Every atom's exponential once: the sums below take it from here.
        let (factors, top) = tilt::tilted(sum, c, tilt.near_one);
        let known = sum.atoms.iter().zip(&factors);
        let rays: Vec<Ray> = known
            // Near one, an atom at zero contributes nothing to M − 1.
            .filter(|(atom, _)| atom.weight > 0.0 && !(tilt.near_one && atom.value == 0.0))
            .map(|(atom, &tilted)| Ray {
                weight: atom.weight,
                value: atom.value,
                tilted,
                // Used near one alone.
                tilted_minus_1: match tilt.near_one {
                    true => expm1(c * atom.value),
                    false => f64::NAN,
                },
            })
            .collect();
        let second = |atom: &super::Atom| atom.weight * exp_minus_1_minus_x(c * atom.value);
        let excess = match tilt.near_one {
            true => c * sum.mean + sum.atoms.iter().map(second).sum::<f64>(),
            false => f64::NAN,
        };
        let moment = exp(tilt.ln_moment - top);
        // Tilted expectations; the values are known to within 8ε of their magnitudes.
        let expect = |f: &dyn Fn(&super::Atom) -> f64| {
            let known = sum.atoms.iter().zip(&factors);
            let terms = known.map(|(atom, factor)| atom.weight * factor * f(atom));
            terms.sum::<f64>() / moment
        };
        let magnitude = expect(&|atom| atom.magnitude);
        let absolute_deviation = expect(&|atom| (atom.value - tilt.mean).abs()) * (1.0 + 1e-6)
            + 4.0 * ROUNDING * magnitude;
        let variance_slack =
            1e-6 + 8.0 * ROUNDING * expect(&|atom| atom.magnitude * atom.magnitude) / tilt.variance;
        // In units of the standard deviation, whose fourth power neither overflows nor underflows.
        let deviation = tilt.variance.sqrt();
        let fourth = expect(&|atom| ((atom.value - tilt.mean) / deviation).powi(4));
        let magnitudes = expect(&|atom| (atom.magnitude / deviation).powi(4));
        // Values are off by 8ε of their magnitude, and the fourth root by that of their fourth moment.
        let off = 16.0 * ROUNDING * (magnitudes / fourth).sqrt().sqrt();
        let slack = if off < 1e-3 {
            1e-6 + 5.0 * off
        } else {
            f64::INFINITY
        };
        let variance = tilt.variance * (1.0 - variance_slack);
        // The fourth moment in units of the variance that is rounded down.
        let fourth = fourth * (1.0 + slack) / (1.0 - variance_slack).powi(2);
        let near_zero = NearZero::new(variance, fourth);
        let (low, high) = sum
            .atoms
            .iter()
            .filter(|atom| atom.weight > 0.0)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), atom| {
                (low.min(atom.value), high.max(atom.value))
            });
        Self {
            sum,
            tilted,
            rays,
            excess,
            top,
            errors: ErrorScale::of(sum, &factors, top, tilt.near_one),
            absolute_deviation,
            range: high - low,
            near_zero,
            variance_slack,
            evaluated: Cell::new(0.0),
            most_work,
        }
    }

    /// Bound on the error of M(c + iθ), times e^{−top}.
    fn moment_error(&self, theta: f64) -> f64 {
        self.errors.moment_error(self.tilted.saddle.c.hypot(theta))
    }

    /// M(c + iθ).
    fn moment(&self, theta: f64) -> Moment {
        self.evaluated.set(self.evaluated.get() + 1.0);
        let (mut real, mut imaginary) = (0.0, 0.0);
        if self.tilted.tilt.near_one {
            for ray in &self.rays {
                let v = theta * ray.value;
                let (half_sin, half_cos) = sin_cos(0.5 * v);
                let sin = 2.0 * half_sin * half_cos;
                let sin_minus_v = if v.abs() < 0.5 {
                    sin_minus_x(v)
                } else {
                    sin - v
                };
                real -= 2.0 * ray.weight * ray.tilted * half_sin * half_sin;
                imaginary += ray.weight * (ray.tilted_minus_1 * sin + sin_minus_v);
            }
            real += self.excess;
            imaginary += theta * self.sum.mean;
            let beyond_one = 2.0 * real + real * real + imaginary * imaginary;
            Moment {
                real: 1.0 + real,
                imaginary,
                modulus: (1.0 + beyond_one).max(0.0).sqrt(),
                ln_modulus: 0.5 * ln_1p(beyond_one),
            }
        } else {
            for ray in &self.rays {
                let (sin, cos) = sin_cos(theta * ray.value);
                real += ray.weight * ray.tilted * cos;
                imaginary += ray.weight * ray.tilted * sin;
            }
            let square = real * real + imaginary * imaginary;
            Moment {
                real,
                imaginary,
                modulus: square.sqrt(),
                ln_modulus: self.top + 0.5 * ln(square),
            }
        }
    }
}

impl Line for SumLine<'_> {
    fn node(&self, theta: f64, least: f64) -> Node {
        let (count, shift) = (self.sum.count, self.sum.shift);
        let saddle = &self.tilted.saddle;
        let moment = self.moment(theta);
        let ln_modulus = count * (moment.ln_modulus - self.tilted.tilt.ln_moment);
        let drift = shift * theta;
        let mut error = count * self.moment_error(theta) / moment.modulus
            + ROUNDING
                * (1.0
                    + drift.abs()
                    + (count * moment.ln_modulus).abs()
                    + (shift * saddle.c).abs()
                    + saddle.cumulant.abs());
        if ln_modulus < least {
            return Node {
                ln_modulus,
                phase: None,
                error,
            };
        }
        let turn = count * atan2(moment.imaginary, moment.real);
        error += ROUNDING * turn.abs();
        Node {
            ln_modulus,
            phase: Some(turn + drift),
            error,
        }
    }

    fn ln_bound(&self, start: f64, end: f64) -> f64 {
        let mut bound = 0.0f64;
        if end * self.range <= PI && self.variance_slack < 0.5 {
            bound = -2.0 * start * start * self.tilted.saddle.variance / (PI * PI)
                * (1.0 - self.variance_slack);
        }
        if let Some(near) = self.near_zero.ln_modulus(start, end) {
            bound = bound.min(self.sum.count * near);
        }
        // Where that is far below anything that matters, the middle need not be looked at.
        if bound < FAR_BELOW {
            return bound;
        }
        let middle = self.moment(0.5 * (start + end)).ln_modulus;
        let unit = exp(self.tilted.tilt.ln_moment - self.top);
        let modulus = exp(middle - self.tilted.tilt.ln_moment)
            + self.absolute_deviation * 0.5 * (end - start)
            + (self.moment_error(end) + ROUNDING) / unit;
        if modulus < 1.0 {
            bound = bound.min(self.sum.count * ln(modulus));
        }
        bound
    }

    fn most_nodes(&self) -> f64 {
        // For a distribution of many atoms each evaluation is expensive.
        if self.evaluated.get() * self.rays.len() as f64 > self.most_work {
            0.0
        } else {
            f64::INFINITY
        }
    }

    fn announce(&self, step: f64, last: f64) {
        let atoms = self.rays.len() as f64;
        if last * atoms <= self.most_work {
            return;
        }
        // Where nodes far out are needed, the work is known to be too much before it is done.
        let needed = PROBES.into_iter().find(|part| {
            let theta = (part * last).round() * step;
            let ln_modulus = self.moment(theta).ln_modulus - self.tilted.tilt.ln_moment;
            self.sum.count * ln_modulus > NEEDED
        });
        if needed.is_some_and(|part| part * last * atoms > self.most_work) {
            self.evaluated.set(f64::INFINITY);
        }
    }

    fn cumulant(&self, b: f64) -> f64 {
        Tilted::at(self.sum, b).map_or(f64::INFINITY, |beyond| {
            beyond.saddle.cumulant + beyond.saddle.error
        })
    }

    fn mass(&self) -> f64 {
        1.0
    }
}
