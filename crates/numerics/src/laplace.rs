//! E f(S) as a Laplace integral, summed by the trapezoidal rule with every error bounded.
//!
//! S is given by its cumulant function K(z) = ln E e^{zS}, which is cheap on vertical lines even when S is a
//! sum of 10¹² terms. The functions f ([`Kernel`]), with their transforms f̂(z) = ∫ f(x) e^{−zx} dx, Re z >
//! 0:
//!
//! ```text
//! Ramp          f(x) = (x)₊,  f̂(z) = 1/z²;   smoothing factor e^{τ²z²/2}, correction κ = τ²
//! Lattice       f(x) = (1 − e^{−x})₊, x on a lattice hℤ + η;   no smoothing, κ = 0
//!               f̂(z) = h e^{−zη} (1 − e^{−η} + e^{−zh}(e^{−η} − e^{−h})) / ((1 − e^{−zh})(1 − e^{−(z+1)h}))
//! LatticeRamp   f(x) = (x)₊, x on a lattice hℤ + η;   no smoothing, κ = 0
//!               f̂(z) = h e^{−zη} (η + e^{−zh}(h − η)) / (1 − e^{−zh})²
//! ```
//!
//! # Formula
//!
//! For c > 0, f(x) = (1/2πi) ∫ f̂(z) e^{zx} dz along Re z = c, so E f(S) = (1/2π) ∫ e^{K(c+iθ)} f̂(c+iθ) dθ.
//! On a lattice the integral is over one period, |θ| ≤ π/h, and f̂ is the sum h Σ f(x) e^{−zx} over the
//! lattice points x = η, η + h, … (0 < η ≤ h): two geometric series, brought to one fraction with no
//! cancellation.
//!
//! **Smoothing.** Off a lattice the integrand need not decay. Replace S by S + G, G ~ N(0, τ²): by Jensen
//! E(S)₊ grows, and E(x+G)₊ − (x)₊ ≤ τ φ(x/τ), whose transform is τ² times the smoothing factor. So f̂ with
//! the smoothing factor gives an upper bound, and f̂ − κ with the same factor, at the same nodes, a lower
//! bound. They differ by about (cτ)², relatively. On a lattice there is nothing to smooth.
//!
//! **Trapezoidal rule, step Δ, period L = 2π/Δ.** With F(t) = E f(S + t), smoothed, Poisson's summation
//! formula says that the rule returns Σ_j F(jL) e^{−cjL} over all integers j, exactly. Every alias j ≠ 0 is
//! positive: the rule is an upper bound as it stands, and for the lower bound the aliases are subtracted. For
//! j > 0: F(jL) ≤ F(0) + jL times the mass, or the mass. For j < 0: f(x) ≤ C(b) e^{bx}, so F(−jL) ≤ C(b)
//! e^{K(b) − bjL} for any b > c (Chernoff).
//!
//! **Truncation.** Blocks of nodes are skipped where a proved bound on |e^{K(c+iθ) − K(c)}| makes them
//! negligible, and the bound is added to the error. Beyond the last node the Gaussian factor bounds the rest.
//!
//! **Rounding.** The implementation of [`Line`] bounds the error of K at each node.
//!
//! # Standing and cost
//!
//! Certified. Some tens to some thousands of nodes: more for distributions close to a lattice, but not more
//! for more terms. Inverting transforms by a Poisson-bounded trapezoidal rule is Abate and Whitt's method
//! (1992); the one-sided smoothing is ours.

use crate::enclosure::LnEnclosure;
use crate::rounding::ROUNDING;
use crate::special::{exp, expm1, ln, ln_1p, sin_cos};
use num_complex::Complex;
use std::f64::consts::PI;

/// Aliases, truncation and skipped blocks may each add this fraction of the requested width. Small, so that
/// the smoothing decides about the width; halving it costs few nodes.
const MINOR_SHARE: f64 = 1e-2;
/// Blocks of at most this many nodes are evaluated instead of split: bounding a block costs about as much.
const LEAF: f64 = 8.0;
/// Limits the nodes off a lattice, and so the time. Where more are needed the smoothing is made coarser: the
/// enclosure becomes wider and stays valid.
const MOST_NODES: f64 = 131_072.0;
/// Limits the nodes evaluated on a lattice, and so the time. Where more are needed the integral gives no
/// enclosure, and the caller uses Chernoff's bound.
const MOST_EVALUATED: f64 = 4_000_000.0;

/// An enclosure at most so many times as wide as the error of K(c) gains little from finer smoothing: the
/// error widens it by four times itself.
const ROUNDED: f64 = 5.0;

/// The function whose expectation is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// (x)₊.
    Ramp,
    /// (1 − e^{−x})₊ for x on the lattice {offset + j·step}: `offset`, in (0, `step`], is its smallest
    /// positive point.
    Lattice {
        /// h.
        step: f64,
        /// η.
        offset: f64,
    },
    /// (x)₊ for x on the same lattice.
    LatticeRamp {
        /// h.
        step: f64,
        /// η.
        offset: f64,
    },
}

impl Kernel {
    /// The step of the lattice, for the functions on a lattice.
    fn lattice_step(self) -> Option<f64> {
        match self {
            Self::Ramp => None,
            Self::Lattice { step, .. } | Self::LatticeRamp { step, .. } => Some(step),
        }
    }

    /// −d ln f̂/dc and its derivative (on a lattice those of 1/(c(c+1)), which are close): the saddle point
    /// is where K′ equals the first.
    pub fn pull(self, c: f64) -> (f64, f64) {
        let d = match self {
            Self::Ramp | Self::LatticeRamp { .. } => c,
            Self::Lattice { .. } => c + 1.0,
        };
        (1.0 / c + 1.0 / d, 1.0 / (c * c) + 1.0 / (d * d))
    }

    /// ln C(b), C(b) = sup f(x) e^{−bx}.
    pub fn ln_chernoff(self, b: f64) -> f64 {
        match self {
            Self::Ramp | Self::LatticeRamp { .. } => -1.0 - ln(b),
            Self::Lattice { .. } => -ln_1p(b) - b * ln_1p(1.0 / b),
        }
    }
}

/// f̂ on the line Re z = c, with the numbers that do not depend on θ.
#[derive(Clone, Copy, Debug)]
struct Transform {
    c: f64,
    kernel: Kernel,
    lattice: OnLattice,
    /// |f̂(c)|.
    at_real: f64,
}

/// What f̂ on a lattice is made of. Its numerator is `first` + `second` e^{−iθh}, times `scale` e^{−iθη}.
#[derive(Clone, Copy, Debug, Default)]
struct OnLattice {
    first: f64,
    second: f64,
    scale: f64,
    /// The two factors of the denominator.
    denominators: [Factor; 2],
}

/// 1 − e^{−x}, and e^{−x}.
#[derive(Clone, Copy, Debug, Default)]
struct Factor {
    gap: f64,
    shrink: f64,
}

impl Factor {
    fn new(x: f64) -> Self {
        Self {
            gap: -expm1(-x),
            shrink: exp(-x),
        }
    }

    /// 1 − e^{−(x+iy)} for x > 0, without cancellation near 0, from sine and cosine of y/2.
    fn at(self, (half_sin, half_cos): (f64, f64)) -> Complex<f64> {
        Complex::new(
            self.gap + 2.0 * self.shrink * half_sin * half_sin,
            2.0 * self.shrink * half_sin * half_cos,
        )
    }
}

/// |z|, by the square of it where that is an ordinary number.
fn modulus(z: Complex<f64>) -> f64 {
    let square = z.norm_sqr();
    match (1e-280..1e280).contains(&square) {
        true => square.sqrt(),
        false => z.norm(),
    }
}

impl Transform {
    fn new(kernel: Kernel, c: f64) -> Self {
        let lattice = match kernel {
            Kernel::Ramp => OnLattice::default(),
            Kernel::Lattice { step, offset } => OnLattice {
                first: -expm1(-offset),
                second: exp(-c * step) * exp(-offset) * -expm1(offset - step),
                scale: step * exp(-c * offset),
                denominators: [Factor::new(c * step), Factor::new((c + 1.0) * step)],
            },
            Kernel::LatticeRamp { step, offset } => OnLattice {
                first: offset,
                second: exp(-c * step) * (step - offset),
                scale: step * exp(-c * offset),
                denominators: [Factor::new(c * step); 2],
            },
        };
        let mut transform = Self {
            c,
            kernel,
            lattice,
            at_real: 0.0,
        };
        transform.at_real = transform.modulus(0.0);
        transform
    }

    /// A bound on |f̂(c + iθ)| that falls in |θ| (up to π/h on a lattice) and is |f̂(c)| at θ = 0.
    fn modulus(&self, theta: f64) -> f64 {
        match self.kernel {
            Kernel::Ramp => {
                let u = theta / self.c;
                1.0 / (self.c * self.c * (1.0 + u * u))
            }
            Kernel::Lattice { step, .. } | Kernel::LatticeRamp { step, .. } => {
                self.on_lattice(sin_cos(0.5 * theta * step)).0
            }
        }
    }

    /// The same with f̂(c + iθ) as (real part, imaginary part).
    fn at(&self, theta: f64) -> (f64, (f64, f64)) {
        match self.kernel {
            Kernel::Ramp => {
                // In units of c, so that no fourth power can leave the range of doubles.
                let u = theta / self.c;
                let modulus = 1.0 / (self.c * self.c * (1.0 + u * u));
                let scale = modulus / (1.0 + u * u);
                (modulus, ((1.0 - u * u) * scale, -2.0 * u * scale))
            }
            Kernel::Lattice { step, offset } | Kernel::LatticeRamp { step, offset } => {
                let half = sin_cos(0.5 * theta * step);
                let (modulus, denominator) = self.on_lattice(half);
                let OnLattice {
                    first,
                    second,
                    scale,
                    ..
                } = self.lattice;
                let (sin, cos) = (2.0 * half.0 * half.1, 1.0 - 2.0 * half.0 * half.0);
                let numerator = Complex::new(first + second * cos, -second * sin);
                let (offset_sin, offset_cos) = sin_cos(theta * offset);
                let turned = numerator * Complex::new(offset_cos, -offset_sin);
                let value = turned * scale / denominator;
                (modulus, (value.re, value.im))
            }
        }
    }

    /// The bound on a lattice, and the denominator of f̂, from sine and cosine of θh/2.
    fn on_lattice(&self, half: (f64, f64)) -> (f64, Complex<f64>) {
        let OnLattice {
            first,
            second,
            scale,
            denominators,
        } = self.lattice;
        let [one, other] = denominators.map(|factor| factor.at(half));
        let bound = scale * (first + second) / (modulus(one) * modulus(other));
        (bound, one * other)
    }
}

/// The cumulant function at the point c where the line of integration crosses the real axis.
#[derive(Clone, Copy, Debug)]
pub struct Saddle {
    /// c > 0.
    pub c: f64,
    /// K(c), as computed.
    pub cumulant: f64,
    /// K″(c).
    pub variance: f64,
    /// Bound on the error of `cumulant`.
    pub error: f64,
}

impl Saddle {
    /// ln of Chernoff's bound on E f(S).
    pub fn ln_chernoff(&self, kernel: Kernel) -> f64 {
        self.cumulant + kernel.ln_chernoff(self.c) + self.error + ROUNDING
    }

    /// The leading term of the saddle-point expansion as a logarithm. An estimate.
    pub fn ln_estimate(&self, kernel: Kernel) -> f64 {
        let spread = self.variance + kernel.pull(self.c).1;
        self.cumulant + ln(Transform::new(kernel, self.c).at_real) - 0.5 * ln(2.0 * PI * spread)
    }
}

/// e^{K(c+iθ) − K(c)} at one node.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Re K(c+iθ) − K(c), K(c) as in [`Saddle::cumulant`].
    pub ln_modulus: f64,
    /// Im K(c+iθ); `None` if the modulus is below the requested least one.
    pub phase: Option<f64>,
    /// Bound on the error of K in the plane.
    pub error: f64,
}

/// K on the vertical line through c.
pub trait Line {
    /// K at c + iθ. Below the modulus e^`least` the phase is not needed.
    fn node(&self, theta: f64, least: f64) -> Node;

    /// A proved upper bound on Re K(c+iθ) − K(c) for all θ in [start, end], at most 0.
    fn ln_bound(&self, start: f64, end: f64) -> f64;

    /// An upper bound on K(b), b > 0; may be infinite.
    fn cumulant(&self, b: f64) -> f64;

    /// An upper bound on the total mass e^{K(0)}.
    fn mass(&self) -> f64;

    /// The largest number of nodes to evaluate: limits the time.
    fn most_nodes(&self) -> f64 {
        f64::INFINITY
    }

    /// Called before the nodes: they will be at multiples of `step`, at most `last` times it. A line may
    /// precompute them.
    fn announce(&self, _step: f64, _last: f64) {}
}

/// The sums of the trapezoidal rule, divided by the integrand's scale on the real axis.
#[derive(Default)]
struct Tally {
    upper: f64,
    lower: f64,
    error: f64,
    /// The number and the total size of the terms, for the rounding error of the sums.
    nodes: f64,
    absolute: f64,
    /// The number of nodes evaluated, those without a phase included.
    evaluated: f64,
}

/// One trapezoidal rule.
struct Rule {
    tau_squared: f64,
    step: f64,
    /// ln of the integrand, relative to the real axis, below which a node may be dropped (already divided by
    /// the number of nodes).
    ln_negligible: f64,
}

/// Encloses ln E f(S); the enclosure is about `target` wide.
pub fn integrate(line: &impl Line, saddle: &Saddle, kernel: Kernel, target: f64) -> LnEnclosure {
    let integral = Integral::new(line, saddle, kernel, target);
    let best = integral.with_smoothing(target);
    // On a lattice the smoothing error is of first order in τ: go finer where it shows. Sums over one period
    // have none.
    let width = best.upper - best.lower;
    // Nor where the width is that of rounding.
    let rounded = width <= ROUNDED * saddle.error;
    if kernel.lattice_step().is_some() || width <= 10.0 * target || rounded {
        return best;
    }
    let finer = integral.with_smoothing(target / 64.0);
    best.intersected(finer)
}

/// The same by one smoothing, however wide the enclosure.
pub(crate) fn integrate_once(
    line: &impl Line,
    saddle: &Saddle,
    kernel: Kernel,
    target: f64,
) -> LnEnclosure {
    Integral::new(line, saddle, kernel, target).with_smoothing(target)
}

struct Integral<'a, L> {
    line: &'a L,
    saddle: &'a Saddle,
    kernel: Kernel,
    transform: Transform,
    /// The value in units of e^{K(c)}, about.
    estimate: f64,
    /// The error that aliases, truncation and skipped blocks may each add.
    minor: f64,
    /// Points b > c with K(b), for Chernoff's bound on the aliases.
    beyond: Vec<(f64, f64)>,
}

impl<'a, L: Line> Integral<'a, L> {
    fn new(line: &'a L, saddle: &'a Saddle, kernel: Kernel, target: f64) -> Self {
        let unit = 1.0 / (saddle.variance + kernel.pull(saddle.c).1).sqrt();
        let beyond = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0]
            .into_iter()
            .map(|multiple| saddle.c + multiple * unit)
            .map(|b| (b, line.cumulant(b)))
            .filter(|(_, cumulant)| cumulant.is_finite())
            .collect();
        Self {
            line,
            saddle,
            kernel,
            transform: Transform::new(kernel, saddle.c),
            estimate: exp(saddle.ln_estimate(kernel) - saddle.cumulant),
            minor: MINOR_SHARE * target,
            beyond,
        }
    }

    /// Encloses ln E f(S) with (cτ)² = `smoothing`.
    fn with_smoothing(&self, smoothing: f64) -> LnEnclosure {
        let c = self.saddle.c;
        let (rule, last) = self.rule(smoothing);
        self.line.announce(rule.step, last);
        let mut tally = Tally::default();
        self.add_node(&rule, 0.0, 0.5, &mut tally);
        if self.kernel.lattice_step().is_none() {
            self.add_block(&rule, 1.0, last, &mut tally);
            tally.error += rest(rule.tau_squared, last * rule.step) / rule.step;
        } else {
            // The last node is half a period away and belongs to both halves.
            self.add_block(&rule, 1.0, last - 1.0, &mut tally);
            self.add_node(&rule, last, 0.5, &mut tally);
        }
        // The dropped part is relative to the true K(c); the sums round once for each of their terms.
        tally.error *= exp(self.saddle.error) * (1.0 + ROUNDING);
        tally.error += f64::EPSILON * tally.nodes * tally.absolute;
        let weight = rule.step / PI;
        let upper = weight * (tally.upper + tally.error) * (1.0 + ROUNDING);
        let aliases = self.aliases(
            rule.tau_squared,
            2.0 * PI / rule.step * (1.0 - ROUNDING),
            upper,
        );
        let lower = weight * (tally.lower - tally.error) * (1.0 - ROUNDING) - aliases;
        let scale = self.saddle.cumulant + 0.5 * rule.tau_squared * c * c;
        // The value is positive. If no positive double is left, a term has underflowed.
        if upper.is_normal() && upper > 0.0 {
            LnEnclosure::scaled(scale, lower, upper)
        } else {
            LnEnclosure::UNKNOWN
        }
    }

    /// The rule for a smoothing, and its last node.
    fn rule(&self, smoothing: f64) -> (Rule, f64) {
        let c = self.saddle.c;
        let (tau_squared, step, last) = match self.kernel.lattice_step() {
            None => {
                let mut tau_squared = smoothing / (c * c);
                let mut period = self.period(tau_squared);
                let mut reach = self.reach(tau_squared);
                while reach * period / (2.0 * PI) > MOST_NODES {
                    tau_squared *= 4.0;
                    period = self.period(tau_squared);
                    reach = self.reach(tau_squared);
                }
                let step = 2.0 * PI / period;
                (tau_squared, step, (reach / step).ceil())
            }
            Some(step) => {
                // An even number of lattice points, so that the rule covers whole periods; and one for which
                // the fast Fourier transform is fast.
                let half = smooth((0.5 * self.period(0.0) / step).ceil().max(1.0));
                (0.0, PI / (half * step), half)
            }
        };
        let rule = Rule {
            tau_squared,
            step,
            ln_negligible: ln(self.minor / last),
        };
        (rule, last)
    }

    /// The integrand at θ = `index`·Δ.
    fn add_node(&self, rule: &Rule, index: f64, share: f64, tally: &mut Tally) {
        let c = self.saddle.c;
        let theta = index * rule.step;
        let damping = 0.5 * rule.tau_squared * theta * theta;
        let (modulus, (real, imaginary)) = self.transform.at(theta);
        // The modulus of the transform is left out, which saves a logarithm: a few more phases are computed.
        let node = self.line.node(theta, rule.ln_negligible + damping);
        tally.evaluated += 1.0;
        let size = share * exp(node.ln_modulus - damping);
        let turn = rule.tau_squared * c * theta;
        let wrong = node.error + ROUNDING * (4.0 + damping + turn.abs() + node.ln_modulus.abs());
        let weight = modulus + rule.tau_squared;
        let Some(phase) = node.phase.filter(|_| wrong < 1.0) else {
            // Only the modulus is used. Where not even that is known, it is at most its value on the real
            // axis.
            let most = if wrong < 1.0 {
                size * exp(wrong)
            } else {
                share * exp(-damping)
            };
            tally.error += most * weight * (1.0 + ROUNDING);
            return;
        };
        let (sin, cos) = sin_cos(phase + turn);
        let plain = cos * real - sin * imaginary;
        tally.upper += size * plain;
        tally.lower += size * (plain - cos * rule.tau_squared);
        tally.nodes += 1.0;
        tally.absolute += size * weight;
        // K is off by `wrong`, so e^K by e^wrong − 1 ≤ 2 wrong of itself, up to wrong = 1.
        tally.error += size * weight * 2.0 * wrong;
    }

    /// Adds the nodes `first` to `last`, skipping blocks that are certainly negligible.
    fn add_block(&self, rule: &Rule, first: f64, last: f64, tally: &mut Tally) {
        if first > last || tally.error == f64::INFINITY {
            return;
        }
        if tally.evaluated > self.line.most_nodes().min(MOST_EVALUATED) {
            tally.error = f64::INFINITY;
            return;
        }
        let (start, end) = (first * rule.step, last * rule.step);
        let damping = 0.5 * rule.tau_squared * start * start;
        let modulus = self.transform.modulus(start);
        let wanted = rule.ln_negligible + damping + ln(self.transform.at_real / modulus);
        let small = last - first < LEAF;
        // A small block is evaluated, because a bound would cost as much; unless the bound of 1 is enough to
        // skip it.
        let ln_bound = if small {
            0.0
        } else {
            self.line.ln_bound(start, end)
        };
        if ln_bound <= wanted {
            tally.error +=
                (last - first + 1.0) * exp(ln_bound - damping) * (modulus + rule.tau_squared);
        } else if small {
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

    /// Where the Gaussian factor has made the rest of the integral negligible.
    fn reach(&self, tau_squared: f64) -> f64 {
        let mut widths = 2.0;
        loop {
            let end = widths / tau_squared.sqrt();
            if rest(tau_squared, end) / PI <= self.minor * self.estimate || widths > 38.0 {
                return end;
            }
            widths += 0.25;
        }
    }

    /// A period at which the aliases are estimated to be below their share of the value.
    fn period(&self, tau_squared: f64) -> f64 {
        let deviation = (self.saddle.variance + self.kernel.pull(self.saddle.c).1).sqrt();
        let mut period = 4.0 * deviation;
        for _ in 0..200 {
            if self.aliases(tau_squared, period, self.estimate) <= self.minor * self.estimate {
                break;
            }
            period *= 1.15;
        }
        period
    }

    /// Bound on Σ_{j≠0} F(jL) e^{−cjL} in units of the scale, given a bound `value` on F(0) in the same unit.
    fn aliases(&self, tau_squared: f64, period: f64, value: f64) -> f64 {
        let c = self.saddle.c;
        let scale = self.saddle.cumulant + 0.5 * tau_squared * c * c;
        let q = exp(-c * period);
        let unit = exp(-c * period - scale + ROUNDING * scale.abs());
        let ahead = match self.kernel {
            // Σ (F(0) + jL) q^j = F(0) q/(1−q) + L q/(1−q)².
            Kernel::Ramp | Kernel::LatticeRamp { .. } => {
                value * q / (1.0 - q) + self.line.mass() * period * unit / ((1.0 - q) * (1.0 - q))
            }
            Kernel::Lattice { .. } => unit / (1.0 - q) * self.line.mass(),
        };
        let behind = self
            .beyond
            .iter()
            .map(|&(b, cumulant)| {
                let exponent = cumulant + 0.5 * tau_squared * b * b + self.kernel.ln_chernoff(b)
                    - (b - c) * period
                    - scale;
                let size = cumulant.abs() + scale.abs() + (b - c) * period;
                exp(exponent + ROUNDING * size) / (1.0 - exp(-(b - c) * period))
            })
            .fold(f64::INFINITY, f64::min);
        ahead + behind
    }
}

/// ∫ from Θ on of e^{−τ²θ²/2} (1/θ² + τ²) dθ is at most this.
fn rest(tau_squared: f64, end: f64) -> f64 {
    exp(-0.5 * tau_squared * end * end) * (1.0 / (end * end) + tau_squared) / (tau_squared * end)
}

/// The least number of the form 2^a or 3·2^a that is at least x.
fn smooth(x: f64) -> f64 {
    let power = x.log2().ceil().exp2();
    if 0.75 * power >= x {
        0.75 * power
    } else {
        power
    }
}
