//! The positive part as a Laplace integral, summed by the trapezoidal rule with every error bounded.
//!
//! # Formula
//!
//! For c > 0, (x)₊ = (1/2πi) ∫ e^{zx}/z² dz along Re z = c, so with K(z) = ln E e^{zS}
//!
//! ```text
//! E(S)₊ = (1/2π) ∫ e^{K(c+iθ)} / (c+iθ)² dθ.
//! ```
//!
//! **Smoothing.** For a sum on a lattice the integrand never dies out, so S is replaced by S + G, G ~ N(0, τ²), which multiplies
//! the integrand by e^{τ²z²/2}. By Jensen E(S+G)₊ ≥ E(S)₊: an upper bound. And E(x+G)₊ − (x)₊ ≤ τ φ(x/τ), whose transform is τ² e^{τ²z²/2}:
//! the same nodes with 1/z² − τ² in place of 1/z² give a lower bound. The two differ by about (cτ)², relatively.
//!
//! **Trapezoidal rule, step Δ, period L = 2π/Δ.** With f(t) = E(S+G+t)₊, Poisson's summation formula says the rule returns
//! Σ_j f(jL) e^{−cjL} over all integers j, exactly. Every alias j ≠ 0 is positive: the rule is an upper bound as it stands,
//! and for the lower bound the aliases are subtracted:
//! f(jL) ≤ f(0) + jL for j > 0; f(−jL) ≤ e^{K(b) − bjL}/(eb) for any b > c (Chernoff).
//!
//! **Truncation.** |e^{K(c+iθ)}| ≤ e^{K(c)} |M̂(θ)|^m e^{−τ²θ²/2} with M̂ = M(c+iθ)/M(c). Nodes are skipped in blocks where one of
//!
//! ```text
//! |M̂(θ)| ≤ exp(−2θ²v/π²)   for θ ≤ π/(range of X), v the tilted variance    (1 − cos t ≥ 2t²/π²)
//! |M̂(θ)| ≤ |M̂(θ₀)| + E|X − EX| |θ − θ₀|                                     (tilted expectations)
//! ```
//!
//! makes them negligible; the bound is added to the error. Beyond the last node the Gaussian factor bounds the rest.
//!
//! **Rounding.** The error of K at each node is bounded from the sizes of what was added up ([`ErrorScale`]).
//!
//! # Standing and cost
//!
//! Certified. Some tens to some thousands of nodes, whatever m is: the number grows with how much of a lattice the law is, not with m.
//! Inverting transforms by a Poisson-bounded trapezoidal rule is Abate and Whitt's method (1992); the one-sided smoothing is ours.

use super::tilt::{ErrorScale, Saddle, Tilt, largest_exponent};
use super::{LnEnclosure, ROUNDING, Sum};
use crate::special::{atan2, exp, exp_minus_1_minus_x, expm1, ln, ln_1p, sin_cos, sin_minus_x};
use std::f64::consts::PI;

/// Aliases, truncation and skipped blocks may each take this part of the smoothing error.
const MINOR_SHARE: f64 = 1e-2;
/// Blocks of at most this many nodes are evaluated rather than split.
const LEAF: f64 = 8.0;
/// Work limit: past it the smoothing is made coarser instead (the enclosure grows, and stays one).
const MOST_NODES: f64 = 262_144.0;

/// Encloses ln E(S)₊.
pub(super) fn evaluate(sum: &Sum, saddle: &Saddle, accuracy: f64) -> LnEnclosure {
    let line = Line::new(sum, saddle);
    // d ln E / d ln mean, about: how much an error in the logarithm matters to whoever solves for the mean.
    let leverage = (saddle.c * (sum.count * sum.mean + sum.shift).abs()).max(1.0);
    let target = (accuracy * leverage).clamp(1e-11, 0.25);
    let mut smoothing = target;
    let mut best = line.integrate(smoothing, target);
    // On a lattice the smoothing error is of first order in τ: go finer where it shows.
    if best.upper - best.lower > 10.0 * target {
        smoothing /= 64.0;
        let finer = line.integrate(smoothing, target);
        best = LnEnclosure {
            lower: best.lower.max(finer.lower),
            upper: best.upper.min(finer.upper),
        };
    }
    best
}

/// One atom with everything that does not change along the line.
struct Ray {
    weight: f64,
    value: f64,
    /// e^{cx} (times e^{−top} when not near one), and e^{cx} − 1.
    tilted: f64,
    tilted_minus_1: f64,
}

/// The line Re z = c.
struct Line<'a> {
    sum: &'a Sum<'a>,
    saddle: &'a Saddle,
    rays: Vec<Ray>,
    /// M(c) − 1 when near one.
    excess: f64,
    /// The exponent taken out of M when not near one.
    top: f64,
    errors: ErrorScale,
    /// E|X − EX| and max X − min X, the expectation tilted.
    absolute_deviation: f64,
    range: f64,
    /// Points b > c with K(b), for Chernoff's bound on the aliases.
    beyond: Vec<(f64, f64)>,
}

/// M(c + iθ), times e^{−top} but for its logarithm.
struct Moment {
    real: f64,
    imaginary: f64,
    modulus: f64,
    ln_modulus: f64,
}

/// The sums of the trapezoidal rule, divided by e^{K(c) + τ²c²/2}.
#[derive(Default)]
struct Tally {
    upper: f64,
    lower: f64,
    error: f64,
}

/// One trapezoidal rule.
struct Rule {
    tau_squared: f64,
    step: f64,
    /// ln of the integrand, relative to the real axis, below which a block may be dropped (already divided by the number of nodes).
    ln_negligible: f64,
}

impl<'a> Line<'a> {
    fn new(sum: &'a Sum<'a>, saddle: &'a Saddle) -> Self {
        let c = saddle.c;
        let near_one = saddle.tilt.near_one;
        let top = if near_one {
            0.0
        } else {
            largest_exponent(sum, c)
        };
        let rays: Vec<Ray> = sum
            .atoms
            .iter()
            // Near one, an atom at zero contributes nothing to M − 1.
            .filter(|atom| atom.weight > 0.0 && !(near_one && atom.value == 0.0))
            .map(|atom| Ray {
                weight: atom.weight,
                value: atom.value,
                tilted: exp(c * atom.value - top),
                tilted_minus_1: expm1(c * atom.value),
            })
            .collect();
        let excess = c * sum.mean
            + sum
                .atoms
                .iter()
                .map(|atom| atom.weight * exp_minus_1_minus_x(c * atom.value))
                .sum::<f64>();
        let moment = exp(saddle.tilt.ln_moment - top);
        let absolute_deviation = sum
            .atoms
            .iter()
            .map(|atom| {
                atom.weight * exp(c * atom.value - top) * (atom.value - saddle.tilt.mean).abs()
            })
            .sum::<f64>()
            / moment;
        let (low, high) = sum
            .atoms
            .iter()
            .filter(|atom| atom.weight > 0.0)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), atom| {
                (low.min(atom.value), high.max(atom.value))
            });
        let unit = 1.0 / (saddle.variance + 2.0 / (c * c)).sqrt();
        let beyond = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0]
            .into_iter()
            .map(|multiple| {
                let b = c + multiple * unit;
                (b, Tilt::at(sum, b).cumulant(sum, b))
            })
            .filter(|(_, cumulant)| cumulant.is_finite())
            .collect();
        Self {
            sum,
            saddle,
            rays,
            excess,
            top,
            errors: ErrorScale::new(sum, c, near_one),
            absolute_deviation,
            range: high - low,
            beyond,
        }
    }

    /// M(c + iθ).
    fn moment(&self, theta: f64) -> Moment {
        let (mut real, mut imaginary) = (0.0, 0.0);
        if self.saddle.tilt.near_one {
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

    /// Encloses ln E(S)₊ with (cτ)² = `smoothing`.
    fn integrate(&self, smoothing: f64, target: f64) -> LnEnclosure {
        let c = self.saddle.c;
        let minor = MINOR_SHARE * target;
        let mut tau_squared = smoothing / (c * c);
        let mut period = self.period(tau_squared, minor);
        let mut reach = self.reach(tau_squared, minor);
        while reach * period / (2.0 * PI) > MOST_NODES {
            tau_squared *= 4.0;
            period = self.period(tau_squared, minor);
            reach = self.reach(tau_squared, minor);
        }
        let step = 2.0 * PI / period;
        let last = (reach / step).ceil();
        let rule = Rule {
            tau_squared,
            step,
            ln_negligible: ln(minor / last),
        };

        let mut tally = Tally::default();
        self.add_node(&rule, 0.0, 0.5, &mut tally);
        self.add_block(&rule, 1.0, last, &mut tally);

        // ∫ from `last` on of e^{−τ²θ²/2} (1/θ² + τ²) dθ ≤ e^{−τ²Θ²/2} (1/(τ²Θ³) + 1/Θ).
        let end = last * step;
        let gaussian = exp(-0.5 * tau_squared * end * end);
        tally.error += gaussian * (1.0 / (tau_squared * end * end * end) + 1.0 / end) / step;

        let weight = step / PI;
        let upper = weight * (tally.upper + tally.error) * (1.0 + ROUNDING);
        let aliases = self.aliases(tau_squared, period, upper);
        let lower = weight * (tally.lower - tally.error) * (1.0 - ROUNDING) - aliases;
        let scale = self.saddle.cumulant + 0.5 * tau_squared * c * c;
        LnEnclosure::scaled(scale, lower, upper)
    }

    /// e^{K}·(1/z² and 1/z² − τ²) at θ = `index`·Δ, relative to e^{K(c) + τ²c²/2}.
    fn add_node(&self, rule: &Rule, index: f64, share: f64, tally: &mut Tally) {
        let c = self.saddle.c;
        let theta = index * rule.step;
        let square = c * c + theta * theta;
        let moment = self.moment(theta);
        let damping = -0.5 * rule.tau_squared * theta * theta;
        let exponent = self.sum.count * (moment.ln_modulus - self.saddle.tilt.ln_moment) + damping;
        let size = share * exp(exponent);
        if exponent < rule.ln_negligible + ln(square / (c * c)) {
            // Twice the size for the rounding error of the exponent, which is far below ln 2 here.
            tally.error += 2.0 * size * (1.0 / square + rule.tau_squared);
            return;
        }
        let argument = atan2(moment.imaginary, moment.real);
        let (turn, drift) = (self.sum.count * argument, self.sum.shift * theta);
        let phase = turn + drift + rule.tau_squared * c * theta;
        let (sin, cos) = sin_cos(phase);
        // 1/z² = (c² − θ² − 2icθ)/(c² + θ²)².
        let inverse_real = (c * c - theta * theta) / (square * square);
        let inverse_imaginary = -2.0 * c * theta / (square * square);
        let plain = cos * inverse_real - sin * inverse_imaginary;
        tally.upper += size * plain;
        tally.lower += size * (plain - cos * rule.tau_squared);
        // K is off by `wrong`, so e^K by at most e^wrong − 1 of itself.
        let wrong = self.sum.count * self.errors.moment_error(square.sqrt()) / moment.modulus
            + ROUNDING
                * (1.0
                    + damping.abs()
                    + phase.abs()
                    + turn.abs()
                    + drift.abs()
                    + (self.sum.count * moment.ln_modulus).abs()
                    + (self.sum.shift * c).abs()
                    + self.saddle.cumulant.abs());
        // e^w − 1 ≤ 2w up to w = 1; a phase error alone never costs more than twice the modulus.
        let relative = if wrong < 1.0 {
            2.0 * wrong
        } else {
            f64::INFINITY
        };
        tally.error += size * (1.0 / square + rule.tau_squared) * relative;
    }

    /// Nodes `first` to `last`, skipping what is certainly negligible.
    fn add_block(&self, rule: &Rule, first: f64, last: f64, tally: &mut Tally) {
        if first > last {
            return;
        }
        let c = self.saddle.c;
        let (start, end) = (first * rule.step, last * rule.step);
        let mut ln_bound = 0.0f64;
        if end * self.range <= PI {
            ln_bound = -2.0 * start * start * self.saddle.variance / (PI * PI) * (1.0 - 1e-6);
        }
        let damping = 0.5 * rule.tau_squared * start * start;
        let wanted = rule.ln_negligible + damping + ln_1p((start / c) * (start / c));
        if ln_bound > wanted && last - first >= LEAF {
            let middle = 0.5 * (start + end);
            let modulus = exp(self.moment(middle).ln_modulus - self.saddle.tilt.ln_moment)
                + self.absolute_deviation * 0.5 * (end - start) * (1.0 + 1e-6)
                + 1e-13;
            if modulus < 1.0 {
                ln_bound = ln_bound.min(self.sum.count * ln(modulus));
            }
        }
        if ln_bound <= wanted {
            let inverse_square = 1.0 / (c * c + start * start);
            tally.error += (last - first + 1.0)
                * exp(ln_bound - damping)
                * (inverse_square + rule.tau_squared);
        } else if last - first < LEAF {
            let mut index = first;
            while index <= last {
                self.add_node(rule, index, 1.0, tally);
                index += 1.0;
            }
        } else {
            let half = first + ((last - first) * 0.5).floor();
            self.add_block(rule, first, half, tally);
            self.add_block(rule, half + 1.0, last, tally);
        }
    }

    /// A period at which the aliases are below the share `minor` of the value, by the estimates at hand.
    fn period(&self, tau_squared: f64, minor: f64) -> f64 {
        let c = self.saddle.c;
        let estimate = exp(self.saddle.ln_estimate() - self.saddle.cumulant);
        let deviation = (self.saddle.variance + 2.0 / (c * c)).sqrt();
        let mut period = 4.0 * deviation;
        for _ in 0..200 {
            if self.aliases(tau_squared, period, estimate) <= minor * estimate {
                break;
            }
            period *= 1.15;
        }
        period
    }

    /// Bound on Σ_{j≠0} f(jL) e^{−cjL}, divided by e^{K(c) + τ²c²/2}, given a bound `value` on f(0) in the same unit.
    fn aliases(&self, tau_squared: f64, period: f64, value: f64) -> f64 {
        let c = self.saddle.c;
        let scale = self.saddle.cumulant + 0.5 * tau_squared * c * c;
        // j > 0: Σ (f(0) + jL) q^j = f(0) q/(1−q) + L q/(1−q)².
        let q = exp(-c * period);
        let ahead = value * q / (1.0 - q)
            + period * exp(-c * period - scale + self.saddle.error) / ((1.0 - q) * (1.0 - q));
        // j < 0: the best of a few b > c.
        let behind = self
            .beyond
            .iter()
            .map(|&(b, cumulant)| {
                let exponent = cumulant + 0.5 * tau_squared * b * b - (b - c) * period - scale;
                let ratio = exp(-(b - c) * period);
                exp(exponent + 2.0 * self.saddle.error + 1e-9)
                    / (std::f64::consts::E * b * (1.0 - ratio))
            })
            .fold(f64::INFINITY, f64::min);
        ahead + behind
    }

    /// Where the Gaussian factor has made the rest of the integral negligible.
    fn reach(&self, tau_squared: f64, minor: f64) -> f64 {
        let estimate = exp(self.saddle.ln_estimate() - self.saddle.cumulant);
        let tau = tau_squared.sqrt();
        let mut widths = 2.0;
        loop {
            let end = widths / tau;
            let rest = exp(-0.5 * widths * widths)
                * (1.0 / (tau_squared * end * end * end) + 1.0 / end)
                / PI;
            if rest <= minor * estimate || widths > 38.0 {
                return end;
            }
            widths += 0.25;
        }
    }
}
