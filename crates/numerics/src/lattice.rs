//! Sums of many independent variables that live on a lattice, without ever forming their distribution.
//!
//! Each variable has a finite measure on the multiples of a power of two; the sum of T₁ of the first kind, T₂ of the second, … has the cumulant function
//!
//! ```text
//! K(z) = Σ_r T_r ln φ_r(z),     φ_r(z) = Σ_i p_i e^{z x_i}
//! ```
//!
//! and E(1 − e^{t−S})₊ is a Laplace integral over one period of it ([`crate::laplace`], kernel `Lattice`). A Fourier transform of the whole distribution would need a window that grows with √T and would round to an
//! absolute error; here some tens of nodes near the real axis do, at any T, with relative accuracy wherever the saddle point lies.
//!
//! The masses are taken as exact. They need not add up to one.

use crate::laplace::{self, Kernel, Line, Node, ROUNDING, Saddle};
use crate::positive_part::LnEnclosure;
use crate::special::{atan2, exp, ln, ln_1p, sin_cos};
use num_complex::Complex;
use realfft::RealFftPlanner;
use std::cell::RefCell;
use std::f64::consts::PI;
use std::sync::Arc;

/// Entries between two anchors of the rotation recurrence.
const CHUNK: usize = 64;
/// Bound on the rounding error of one rotated entry, in units of [`ROUNDING`].
const ROTATION: f64 = 40.0;

/// A finite measure on the multiples of 2^k.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    step: f64,
    first: i64,
    masses: Vec<f64>,
}

impl Measure {
    /// `masses[i]` at (`first` + i)·2^`exponent`; `None` unless all are finite and not negative, and one is positive.
    ///
    /// ```
    /// use shuffledp_numerics::lattice::Measure;
    /// let coin = Measure::new(-1, -1, vec![0.5, 0.0, 0.5]).unwrap();
    /// assert_eq!((coin.step(), coin.mass(), coin.largest()), (0.5, 1.0, 0.5));
    /// ```
    pub fn new(exponent: i32, first: i64, masses: Vec<f64>) -> Option<Self> {
        let start = masses.iter().position(|&mass| mass != 0.0)?;
        let end = masses.iter().rposition(|&mass| mass != 0.0)?;
        let valid = |mass: &f64| *mass >= 0.0 && mass.is_finite();
        if !masses.iter().all(valid) || !(-900..=20).contains(&exponent) {
            return None;
        }
        Some(Self {
            step: 2f64.powi(exponent),
            first: first + start as i64,
            masses: masses[start..=end].to_vec(),
        })
    }

    /// The lattice's step, a power of two.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// (value, mass) in rising order.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        // Exact: a small integer times a power of two.
        self.masses
            .iter()
            .enumerate()
            .map(|(i, &mass)| ((self.first + i as i64) as f64 * self.step, mass))
    }

    /// The total mass.
    pub fn mass(&self) -> f64 {
        self.masses.iter().sum()
    }

    /// The largest value with mass.
    pub fn largest(&self) -> f64 {
        (self.first + self.masses.len() as i64 - 1) as f64 * self.step
    }

    /// Number of lattice points between the smallest and the largest value.
    pub fn points(&self) -> usize {
        self.masses.len()
    }

    /// ln φ(c), with a bound on its error, and mean and variance of the tilted measure.
    pub fn tilt(&self, c: f64) -> Tilt {
        let top = self.top(c);
        let (mut mass, mut first) = (0.0, 0.0);
        let mut size = 0.0;
        let weights: Vec<f64> = self
            .iter()
            .map(|(x, p)| {
                let weight = if p > 0.0 { p * exp(c * x - top) } else { 0.0 };
                mass += weight;
                first += weight * x;
                size += weight * (c * x).abs();
                weight
            })
            .collect();
        let mean = first / mass;
        let variance = self
            .iter()
            .zip(&weights)
            .map(|((x, _), weight)| weight * (x - mean) * (x - mean))
            .sum::<f64>()
            / mass;
        Tilt {
            ln_moment: top + ln(mass),
            mean,
            variance,
            error: ROUNDING * (self.summation() + size / mass + top.abs()),
        }
    }

    /// The largest exponent c·x.
    fn top(&self, c: f64) -> f64 {
        (c * self.largest()).max(c * self.first as f64 * self.step)
    }

    /// Rounding of a plain sum of this many positive terms, in units of [`ROUNDING`].
    fn summation(&self) -> f64 {
        2.0 + self.masses.len() as f64 / 8.0
    }
}

/// What [`Measure::tilt`] gives.
#[derive(Clone, Copy, Debug)]
pub struct Tilt {
    /// ln Σ p e^{cx}.
    pub ln_moment: f64,
    /// Mean of the tilted measure.
    pub mean: f64,
    /// Variance of the tilted measure.
    pub variance: f64,
    /// Bound on the error of `ln_moment`.
    pub error: f64,
}

/// A sum of independent variables: each measure with the number of times it occurs.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    parts: Vec<(Arc<Measure>, f64)>,
}

impl Sum {
    /// Adds `count` more variables of this law.
    pub fn add(&mut self, measure: Arc<Measure>, count: u64) {
        match self
            .parts
            .iter_mut()
            .find(|(present, _)| Arc::ptr_eq(present, &measure))
        {
            Some((_, present)) => *present += count as f64,
            None => self.parts.push((measure, count as f64)),
        }
    }

    /// The largest value of the sum.
    pub fn largest(&self) -> f64 {
        self.parts
            .iter()
            .map(|(measure, count)| count * measure.largest())
            .sum()
    }

    /// K(c), with derivatives and error.
    pub fn tilt(&self, c: f64) -> Tilt {
        let mut total = Tilt {
            ln_moment: 0.0,
            mean: 0.0,
            variance: 0.0,
            error: 0.0,
        };
        for (measure, count) in &self.parts {
            let tilt = measure.tilt(c);
            total.ln_moment += count * tilt.ln_moment;
            total.mean += count * tilt.mean;
            total.variance += count * tilt.variance;
            total.error += count * (tilt.error + ROUNDING * tilt.ln_moment.abs());
        }
        total
    }

    /// Encloses ln E(1 − e^{t−S})₊ for t ≥ 0 (E the sum over masses, whatever they add up to).
    ///
    /// ```
    /// use shuffledp_numerics::lattice::{Measure, Sum};
    /// use std::sync::Arc;
    /// // Two fair coins worth ±1: (1 − e^{−2})/4.
    /// let coin = Measure::new(0, -1, vec![0.5, 0.0, 0.5]).unwrap();
    /// let mut sum = Sum::default();
    /// sum.add(Arc::new(coin), 2);
    /// let answer = sum.ln_saturating_ramp(0.0, 1e-9);
    /// let truth: f64 = (1.0 - (-2f64).exp()) / 4.0;
    /// assert!(answer.lower <= truth.ln() && truth.ln() <= answer.upper && answer.upper - answer.lower < 1e-8);
    /// ```
    pub fn ln_saturating_ramp(&self, t: f64, target: f64) -> LnEnclosure {
        let step = self
            .parts
            .iter()
            .map(|(measure, _)| measure.step)
            .fold(f64::INFINITY, f64::min);
        // Only lattice points strictly above t count.
        let next = ((t / step).floor() + 1.0) * step;
        if self.largest() < next {
            return LnEnclosure::ZERO;
        }
        let kernel = Kernel::Lattice {
            step,
            offset: next - t,
        };
        let flat = self.tilt(0.0);
        let mass = flat.ln_moment + flat.error;
        let Some(saddle) = self.saddle(t, kernel) else {
            // No saddle: the mass bounds the value.
            return LnEnclosure {
                lower: f64::NEG_INFINITY,
                upper: mass,
            };
        };
        let chernoff = saddle.ln_chernoff(kernel).min(mass);
        if chernoff < crate::positive_part::NEGLIGIBLE {
            return LnEnclosure {
                lower: f64::NEG_INFINITY,
                upper: chernoff,
            };
        }
        let line = SumLine::new(self, t, &saddle);
        let enclosure = laplace::integrate(&line, &saddle, kernel, target);
        LnEnclosure {
            lower: enclosure.lower,
            upper: enclosure.upper.min(chernoff),
        }
    }

    /// The c > 0 where K(c) − ct + ln f̂(c) is least.
    fn saddle(&self, t: f64, kernel: Kernel) -> Option<Saddle> {
        let flat = self.tilt(0.0);
        let gap = t - flat.mean;
        let mut c = ((gap * gap + 4.0 * flat.variance).sqrt() + gap) / (2.0 * flat.variance);
        let (mut low, mut high) = (0.0, f64::INFINITY);
        for _ in 0..200 {
            if !(c > 1e-200 && c < 1e200) {
                return None;
            }
            let tilt = self.tilt(c);
            let (pull, stiffness) = kernel.pull(c);
            let slope = tilt.mean - t - pull;
            if !slope.is_finite() || slope > 0.0 {
                high = c;
            } else {
                low = c;
            }
            let newton = c - slope / (tilt.variance + stiffness);
            if slope.is_finite() && (newton - c).abs() <= 1e-2 * c {
                return self.saddle_at(c, t);
            }
            c = if newton > 0.1 * c && newton > low && newton < high {
                newton
            } else if high == f64::INFINITY {
                4.0 * c
            } else if low == 0.0 {
                1e-3 * high
            } else {
                low.sqrt() * high.sqrt()
            };
        }
        None
    }

    fn saddle_at(&self, c: f64, t: f64) -> Option<Saddle> {
        let tilt = self.tilt(c);
        let cumulant = tilt.ln_moment - c * t;
        let error = tilt.error + ROUNDING * (tilt.ln_moment.abs() + c * t);
        (cumulant.is_finite() && tilt.variance.is_finite() && error.is_finite()).then_some(Saddle {
            c,
            cumulant,
            variance: tilt.variance,
            error,
        })
    }
}

/// One measure, tilted: its weights e^{cx − top} p, ready to be rotated.
struct Tilted<'a> {
    measure: &'a Measure,
    count: f64,
    weights: Vec<f64>,
    /// Σ weights, and ln φ(c) as the saddle has it.
    mass: f64,
    ln_moment: f64,
    /// Bound on the relative error of the rotated sum, apart from the part that grows with |θ|, and that part.
    error: f64,
    error_by_theta: f64,
    /// E|X − EX|, Var X and E(X − X′)⁴ under the tilted law.
    absolute_deviation: f64,
    variance: f64,
    fourth: f64,
}

impl<'a> Tilted<'a> {
    fn new(measure: &'a Measure, count: f64, c: f64) -> Self {
        let top = measure.top(c);
        let weights: Vec<f64> = measure
            .iter()
            .map(|(x, p)| if p > 0.0 { p * exp(c * x - top) } else { 0.0 })
            .collect();
        let tilt = measure.tilt(c);
        let mass: f64 = weights.iter().sum();
        let expect = |f: &dyn Fn(f64) -> f64| {
            measure
                .iter()
                .zip(&weights)
                .map(|((x, _), weight)| weight * f(x))
                .sum::<f64>()
                / mass
        };
        let fourth_central = expect(&|x| (x - tilt.mean).powi(4));
        Self {
            measure,
            count,
            mass,
            ln_moment: tilt.ln_moment,
            error: ROUNDING
                * (ROTATION + measure.summation() + expect(&|x| (c * x).abs()) + top.abs()),
            error_by_theta: ROUNDING * expect(&f64::abs),
            absolute_deviation: expect(&|x| (x - tilt.mean).abs()),
            variance: tilt.variance,
            fourth: 2.0 * fourth_central + 6.0 * tilt.variance * tilt.variance,
            weights,
        }
    }

    /// Σ weight e^{iθx}, divided by Σ weight.
    fn rotated(&self, theta: f64) -> (f64, f64) {
        let turn = theta * self.measure.step;
        let (step_sin, step_cos) = sin_cos(turn);
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (chunk, weights) in self.weights.chunks(CHUNK).enumerate() {
            let index = self.measure.first + (chunk * CHUNK) as i64;
            let (mut sin, mut cos) = sin_cos(turn * index as f64);
            for &weight in weights {
                real += weight * cos;
                imaginary += weight * sin;
                (sin, cos) = (
                    sin * step_cos + cos * step_sin,
                    cos * step_cos - sin * step_sin,
                );
            }
        }
        (real / self.mass, imaginary / self.mass)
    }
}

/// The line Re z = c.
struct SumLine<'a> {
    sum: &'a Sum,
    t: f64,
    saddle: &'a Saddle,
    parts: Vec<Tilted<'a>>,
    table: RefCell<Option<Table>>,
}

/// φ̂ of every part at every node, where so many nodes matter that a fast Fourier transform of the tilted law is the way to get them.
struct Table {
    step: f64,
    parts: Vec<TablePart>,
}

struct TablePart {
    values: Vec<Complex<f64>>,
    error: f64,
}

/// Fewer nodes than this are evaluated one by one.
const FEW_NODES: f64 = 512.0;
/// More than this would be too much memory; such a sum has many rounds and few nodes that matter.
const MOST_TABLED: f64 = 4e6;

impl Table {
    /// All nodes 0, …, `last`: a real transform of length 2·last. The error in the 2-norm is at most a few ε log₂ M of the whole (Higham 2002, Theorem 24.2); no
    /// entry can be off by more than the norm. `tests/lattice.rs` compares with plain sums.
    fn new(parts: &[Tilted], finest: f64, step: f64, last: f64) -> Self {
        let size = 2 * last as usize;
        let transform = RealFftPlanner::<f64>::new().plan_fft_forward(size);
        let parts = parts
            .iter()
            .map(|part| {
                let stride = (part.measure.step / finest) as i64;
                let mut wrapped = vec![0.0; size];
                for (i, weight) in part.weights.iter().enumerate() {
                    let index = (part.measure.first + i as i64) * stride;
                    wrapped[index.rem_euclid(size as i64) as usize] += weight / part.mass;
                }
                let norm = wrapped.iter().map(|w| w * w).sum::<f64>().sqrt();
                let mut values = transform.make_output_vec();
                // The lengths are the plan's own, so this cannot fail; and if it did, the error below would say so.
                let done = transform.process(&mut wrapped, &mut values).is_ok();
                let logarithm = (size as f64).log2();
                let error = if done {
                    10.0 * f64::EPSILON * logarithm * (size as f64).sqrt() * norm
                } else {
                    f64::INFINITY
                };
                // The transform has e^{−iθx}.
                values.iter_mut().for_each(|value| *value = value.conj());
                TablePart { values, error }
            })
            .collect();
        Self { step, parts }
    }
}

impl<'a> SumLine<'a> {
    fn new(sum: &'a Sum, t: f64, saddle: &'a Saddle) -> Self {
        Self {
            sum,
            t,
            saddle,
            parts: sum
                .parts
                .iter()
                .map(|(measure, count)| Tilted::new(measure, *count, saddle.c))
                .collect(),
            table: RefCell::new(None),
        }
    }

    /// φ̂ of each part at θ, with a bound on its error.
    fn transforms(&self, theta: f64) -> Vec<(f64, f64, f64)> {
        let table = self.table.borrow();
        self.parts
            .iter()
            .enumerate()
            .map(|(i, part)| {
                let own = part.error + part.error_by_theta * theta;
                match &*table {
                    Some(table) => {
                        let node = (theta / table.step).round() as usize;
                        let (value, error) = (table.parts[i].values[node], table.parts[i].error);
                        (value.re, value.im, own + error)
                    }
                    None => {
                        let (real, imaginary) = part.rotated(theta);
                        (real, imaginary, own)
                    }
                }
            })
            .collect()
    }
}

impl Line for SumLine<'_> {
    fn node(&self, theta: f64, least: f64) -> Node {
        let (mut ln_modulus, mut phase) = (0.0, -self.t * theta);
        let mut error = self.saddle.error + ROUNDING * (1.0 + phase.abs());
        for (part, (real, imaginary, off)) in self.parts.iter().zip(self.transforms(theta)) {
            let square = real * real + imaginary * imaginary;
            let modulus = square.sqrt();
            // Near one the logarithm of the square is as accurate as the square.
            let ln_part = 0.5 * ln(square);
            ln_modulus += part.count * ln_part;
            let turn = part.count * atan2(imaginary, real);
            phase += turn;
            error += part.count * off / modulus
                + ROUNDING * (turn.abs() + part.count * (ln_part.abs() + part.ln_moment.abs()));
        }
        Node {
            ln_modulus,
            phase: (ln_modulus >= least).then_some(phase),
            error,
        }
    }

    fn ln_bound(&self, start: f64, end: f64) -> f64 {
        let middle = 0.5 * (start + end);
        self.parts
            .iter()
            .map(|part| {
                // |φ̂|² = E cos θ(X−X′) ≤ 1 − θ²v + θ⁴ E(X−X′)⁴/24, which falls until θ² = 12v/E(X−X′)⁴.
                if end * end * part.fourth <= 12.0 * part.variance {
                    let square = start * start;
                    let fall = square * part.variance - square * square * part.fourth / 24.0;
                    return 0.5 * part.count * ln_1p(-fall * (1.0 - 1e-6));
                }
                // With a table of all nodes a bound would cost more than what it saves.
                if self.table.borrow().is_some() {
                    return 0.0;
                }
                let (real, imaginary) = part.rotated(middle);
                let modulus = real.hypot(imaginary)
                    + part.error
                    + part.error_by_theta * middle
                    + part.absolute_deviation * 0.5 * (end - start) * (1.0 + 1e-6);
                if modulus < 1.0 {
                    part.count * ln(modulus)
                } else {
                    0.0
                }
            })
            .sum()
    }

    fn announce(&self, step: f64, last: f64) {
        if !(FEW_NODES..=MOST_TABLED).contains(&last) {
            return;
        }
        // Does the integrand stay alive far from the real axis? Then most nodes will be asked for.
        let alive = |fraction: f64| {
            let theta = (fraction * last).round() * step;
            self.node(theta, f64::NEG_INFINITY).ln_modulus > -40.0
        };
        if [0.11, 0.23, 0.37, 0.53, 0.71, 0.89].into_iter().any(alive) {
            let finest = self
                .parts
                .iter()
                .map(|part| part.measure.step)
                .fold(f64::INFINITY, f64::min);
            *self.table.borrow_mut() = Some(Table::new(&self.parts, finest, step, last));
        }
    }

    fn cumulant(&self, b: f64) -> f64 {
        let tilt = self.sum.tilt(b);
        tilt.ln_moment - b * self.t
            + tilt.error
            + ROUNDING * (tilt.ln_moment.abs() + b * self.t + PI)
    }

    fn mass(&self) -> f64 {
        let tilt = self.sum.tilt(0.0);
        exp(tilt.ln_moment + tilt.error)
    }
}
