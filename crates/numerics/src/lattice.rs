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

use crate::enclosure::{LnEnclosure, NEGLIGIBLE};
use crate::laplace::{self, Kernel, Line, Node, Saddle};
use crate::rounding::ROUNDING;
use crate::special::{atan2, exp, ln, ln_1p, sin_cos};
use num_complex::Complex;
use realfft::RealFftPlanner;
use std::cell::{OnceCell, RefCell};
use std::f64::consts::PI;
use std::rc::Rc;
use std::sync::Arc;

/// Entries that share one evaluation of an exponential or of a sine: the others are products of two tabled ones.
const CHUNK: usize = 64;
/// Bound on the rounding error of one such product, in units of [`ROUNDING`].
const PRODUCT: f64 = 4.0;
/// Independent partial sums, so that a processor can work on several at a time.
const LANES: usize = 8;

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
        self.tilt_of(c, &self.tilted(c))
    }

    /// p e^{cx − top} for all points. From each chunk's largest exponent downwards, so that nothing overflows.
    fn tilted(&self, c: f64) -> Vec<f64> {
        let top = self.top(c);
        let mut powers = [0.0; CHUNK];
        for (j, power) in powers.iter_mut().enumerate() {
            *power = exp(-c.abs() * self.step * j as f64);
        }
        if c >= 0.0 {
            powers.reverse();
        }
        let mut weights = Vec::with_capacity(self.masses.len());
        for (chunk, masses) in self.masses.chunks(CHUNK).enumerate() {
            let anchor = chunk * CHUNK + if c >= 0.0 { masses.len() - 1 } else { 0 };
            let scale = exp(c * (self.first + anchor as i64) as f64 * self.step - top);
            let from = if c >= 0.0 { CHUNK - masses.len() } else { 0 };
            weights.extend(
                masses
                    .iter()
                    .zip(&powers[from..])
                    .map(|(p, power)| p * (scale * power)),
            );
        }
        weights
    }

    /// The same, from the weights at hand.
    fn tilt_of(&self, c: f64, weights: &[f64]) -> Tilt {
        let first = self.first as f64;
        let mass = sum_with(weights, |_| 1.0);
        let mean_index = sum_with(weights, |i| i) / mass;
        let square = sum_with(weights, |i| (i - mean_index) * (i - mean_index)) / mass;
        let size = sum_with(weights, |i| (first + i).abs()) / mass * (c.abs() * self.step);
        let top = self.top(c);
        Tilt {
            ln_moment: top + ln(mass),
            mean: (first + mean_index) * self.step,
            variance: square * self.step * self.step,
            error: ROUNDING * (PRODUCT + self.summation() + size + top.abs()),
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

/// Σ weight·f(index), in several partial sums.
fn sum_with(weights: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let chunks = weights.chunks_exact(LANES);
    let rest = chunks.remainder();
    let mut index = 0.0;
    for chunk in chunks {
        for (j, (lane, weight)) in lanes.iter_mut().zip(chunk).enumerate() {
            *lane += weight * f(index + j as f64);
        }
        index += LANES as f64;
    }
    for (j, weight) in rest.iter().enumerate() {
        lanes[j] += weight * f(index + j as f64);
    }
    lanes.iter().sum()
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

    /// t ↦ ln E(1 − e^{t−S})₊, to be asked at several t.
    pub fn saturating_ramp(&self) -> Ramp<'_> {
        self.expected(Shape::Saturating)
    }

    /// t ↦ ln E(S − t)₊, to be asked at several t.
    ///
    /// ```
    /// use shuffledp_numerics::lattice::{Measure, Sum};
    /// use std::sync::Arc;
    /// // Two fair coins worth ±1: (2 − 1/2)/4.
    /// let coin = Measure::new(0, -1, vec![0.5, 0.0, 0.5]).unwrap();
    /// let mut sum = Sum::default();
    /// sum.add(Arc::new(coin), 2);
    /// let answer = sum.ramp().ln_value(0.5, 1e-9);
    /// let truth = 0.375f64.ln();
    /// assert!(answer.lower <= truth && truth <= answer.upper && answer.upper - answer.lower < 1e-8);
    /// ```
    pub fn ramp(&self) -> Ramp<'_> {
        self.expected(Shape::Plain)
    }

    /// The same, by somebody who knows about where the saddle point is.
    pub(crate) fn ramp_near(&self, c: f64) -> Ramp<'_> {
        Ramp {
            start: Some(c),
            ..self.ramp()
        }
    }

    fn expected(&self, shape: Shape) -> Ramp<'_> {
        Ramp {
            sum: self,
            shape,
            start: None,
            flat: self.tilt(0.0),
            prepared: RefCell::new(None),
        }
    }
}

/// The function of S − t whose expectation is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// (1 − e^{−x})₊.
    Saturating,
    /// (x)₊.
    Plain,
}

/// t ↦ ln E(1 − e^{t−S})₊ or ln E(S − t)₊ (E the sum over masses, whatever they add up to).
///
/// The integral may go along any line Re z = c > 0: near a t already asked for the line of that time will do, and what was computed on it.
pub struct Ramp<'a> {
    sum: &'a Sum,
    shape: Shape,
    /// Where to begin looking for the saddle point.
    start: Option<f64>,
    flat: Tilt,
    prepared: RefCell<Option<Rc<Prepared<'a>>>>,
}

/// All that does not depend on t.
struct Prepared<'a> {
    c: f64,
    tilt: Tilt,
    parts: Vec<Tilted<'a>>,
    /// (b, K(b) rounded up), for t = 0.
    cumulants: RefCell<Vec<(f64, f64)>>,
    /// The last table that was made.
    table: RefCell<Option<Rc<Table>>>,
}

/// A line is used again while the saddle point is off it by at most this part of c.
const NEAR: f64 = 0.02;

impl<'a> Ramp<'a> {
    /// Encloses the value at t, to about `target`.
    ///
    /// ```
    /// use shuffledp_numerics::lattice::{Measure, Sum};
    /// use std::sync::Arc;
    /// // Two fair coins worth ±1: (1 − e^{−2})/4.
    /// let coin = Measure::new(0, -1, vec![0.5, 0.0, 0.5]).unwrap();
    /// let mut sum = Sum::default();
    /// sum.add(Arc::new(coin), 2);
    /// let answer = sum.saturating_ramp().ln_value(0.0, 1e-9);
    /// let truth: f64 = (1.0 - (-2f64).exp()) / 4.0;
    /// assert!(answer.lower <= truth.ln() && truth.ln() <= answer.upper && answer.upper - answer.lower < 1e-8);
    /// ```
    pub fn ln_value(&self, t: f64, target: f64) -> LnEnclosure {
        let step = self
            .sum
            .parts
            .iter()
            .map(|(measure, _)| measure.step)
            .fold(f64::INFINITY, f64::min);
        // Only lattice points strictly above t count.
        let next = ((t / step).floor() + 1.0) * step;
        if self.sum.largest() < next {
            return LnEnclosure::ZERO;
        }
        let offset = next - t;
        let (kernel, mass) = match self.shape {
            Shape::Saturating => (
                Kernel::Lattice { step, offset },
                self.flat.ln_moment + self.flat.error,
            ),
            Shape::Plain => (Kernel::LatticeRamp { step, offset }, f64::INFINITY),
        };
        let Some((prepared, saddle)) = self.saddle(t, kernel) else {
            // No saddle: the mass bounds the value.
            return LnEnclosure::at_most(mass);
        };
        let chernoff = saddle.ln_chernoff(kernel).min(mass);
        if chernoff < NEGLIGIBLE {
            return LnEnclosure::at_most(chernoff);
        }
        let line = SumLine {
            ramp: self,
            t,
            saddle: &saddle,
            prepared: &prepared,
            table: RefCell::new(None),
        };
        let enclosure = laplace::integrate(&line, &saddle, kernel, target);
        LnEnclosure {
            lower: enclosure.lower,
            upper: enclosure.upper.min(chernoff),
        }
    }

    /// About where the value is e^`ln_value`, by the leading term of the saddle-point expansion. An estimate.
    pub fn estimate_crossing(&self, ln_value: f64) -> Option<f64> {
        let kernel = Kernel::Lattice {
            step: 1.0,
            offset: 1.0,
        };
        let mut c = ((-2.0 * ln_value).max(0.1) / self.flat.variance).sqrt();
        for _ in 0..20 {
            let tilt = self.sum.tilt(c);
            let (pull, stiffness) = kernel.pull(c);
            let (t, spread) = (tilt.mean - pull, tilt.variance + stiffness);
            let estimate = tilt.ln_moment - c * t - ln(c) - ln_1p(c) - 0.5 * ln(2.0 * PI * spread);
            let move_by = (estimate - ln_value) / (c * spread);
            if !(move_by.is_finite() && t.is_finite()) {
                return None;
            }
            if move_by.abs() <= 1e-3 * c {
                // To first order, the value falls like e^{−ct}.
                return Some(t + (estimate - ln_value) / c);
            }
            c = (c + move_by).clamp(0.3 * c, 3.0 * c);
        }
        None
    }

    /// A line near the c > 0 where K(c) − ct + ln f̂(c) is least, with what was prepared on it.
    fn saddle(&self, t: f64, kernel: Kernel) -> Option<(Rc<Prepared<'a>>, Saddle)> {
        let kept = self.prepared.borrow().clone();
        if let Some(prepared) = kept {
            let (pull, stiffness) = kernel.pull(prepared.c);
            let off = (prepared.tilt.mean - t - pull) / (prepared.tilt.variance + stiffness);
            if off.abs() <= NEAR * prepared.c {
                let saddle = prepared.saddle(t)?;
                return Some((prepared, saddle));
            }
        }
        let prepared = Rc::new(self.prepare(self.search(t, kernel)?));
        self.prepared.replace(Some(prepared.clone()));
        let saddle = prepared.saddle(t)?;
        Some((prepared, saddle))
    }

    fn prepare(&self, c: f64) -> Prepared<'a> {
        Prepared {
            c,
            tilt: self.sum.tilt(c),
            parts: self
                .sum
                .parts
                .iter()
                .map(|(measure, count)| Tilted::new(measure, *count, c))
                .collect(),
            cumulants: RefCell::new(Vec::new()),
            table: RefCell::new(None),
        }
    }

    fn search(&self, t: f64, kernel: Kernel) -> Option<f64> {
        let flat = self.flat;
        let gap = t - flat.mean;
        let gaussian = ((gap * gap + 4.0 * flat.variance).sqrt() + gap) / (2.0 * flat.variance);
        let mut c = self.start.unwrap_or(gaussian);
        let (mut low, mut high) = (0.0, f64::INFINITY);
        for _ in 0..200 {
            if !(c > 1e-200 && c < 1e200) {
                return None;
            }
            let tilt = self.sum.tilt(c);
            let (pull, stiffness) = kernel.pull(c);
            let slope = tilt.mean - t - pull;
            if !slope.is_finite() || slope > 0.0 {
                high = c;
            } else {
                low = c;
            }
            let newton = c - slope / (tilt.variance + stiffness);
            if slope.is_finite() && (newton - c).abs() <= 1e-2 * c {
                return Some(c);
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
}

impl Prepared<'_> {
    fn saddle(&self, t: f64) -> Option<Saddle> {
        let (c, tilt) = (self.c, self.tilt);
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
    envelope: OnceCell<Envelope>,
}

/// The largest |φ̂| from each of equally spaced θ on, up to half a period.
struct Envelope {
    spacing: f64,
    from: Vec<f64>,
}

impl<'a> Tilted<'a> {
    fn new(measure: &'a Measure, count: f64, c: f64) -> Self {
        let weights = measure.tilted(c);
        let tilt = measure.tilt_of(c, &weights);
        let step = measure.step;
        let mass = sum_with(&weights, |_| 1.0);
        let center = tilt.mean / step - measure.first as f64;
        let absolute = sum_with(&weights, |i| (i - center).abs()) / mass;
        let fourth = sum_with(&weights, |i| {
            let square = (i - center) * (i - center);
            square * square
        }) / mass;
        let size = sum_with(&weights, |i| (measure.first as f64 + i).abs()) / mass;
        Self {
            measure,
            count,
            mass,
            ln_moment: tilt.ln_moment,
            error: ROUNDING * PRODUCT + tilt.error,
            error_by_theta: ROUNDING * size * step,
            absolute_deviation: absolute * step,
            variance: tilt.variance,
            fourth: 2.0 * fourth * step.powi(4) + 6.0 * tilt.variance * tilt.variance,
            envelope: OnceCell::new(),
            weights,
        }
    }

    /// Σ weight e^{iθx}, divided by Σ weight.
    fn rotated(&self, theta: f64) -> (f64, f64) {
        let turn = theta * self.measure.step;
        let (mut sines, mut cosines) = ([0.0; CHUNK], [0.0; CHUNK]);
        for j in 0..CHUNK {
            (sines[j], cosines[j]) = sin_cos(turn * j as f64);
        }
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (chunk, weights) in self.weights.chunks(CHUNK).enumerate() {
            let index = self.measure.first + (chunk * CHUNK) as i64;
            let (sin, cos) = sin_cos(turn * index as f64);
            let along = dot(weights, &cosines);
            let across = dot(weights, &sines);
            real += cos * along - sin * across;
            imaginary += sin * along + cos * across;
        }
        (real / self.mass, imaginary / self.mass)
    }
}

impl Tilted<'_> {
    /// A bound on |φ̂| for all θ in [start, end], from a transform of the whole law: |φ̂′| ≤ E|X − EX| between its nodes.
    fn largest_beyond(&self, start: f64, end: f64) -> f64 {
        let envelope = self.envelope.get_or_init(|| {
            let size = (2 * self.weights.len()).next_power_of_two();
            let (values, error) = transform(self, 1, size);
            let mut from: Vec<f64> = values.iter().map(|value| value.norm() + error).collect();
            for i in (0..from.len() - 1).rev() {
                from[i] = from[i].max(from[i + 1]);
            }
            Envelope {
                spacing: 2.0 * PI / (size as f64 * self.measure.step),
                from,
            }
        });
        // Beyond half a period |φ̂| comes back.
        if end * self.measure.step > PI * (1.0 + 1e-9) {
            return 1.0;
        }
        let index = (start / envelope.spacing).floor() as usize;
        let nearest = envelope.from.get(index).copied().unwrap_or(1.0);
        nearest + self.error + self.absolute_deviation * envelope.spacing * (0.5 + 1e-6)
    }
}

/// φ̂ at the multiples of 2π/(size·step/stride), up to half a period, and a bound on the error of each.
///
/// The error of a fast Fourier transform in the 2-norm is at most a few ε log₂ M of the whole (Higham 2002, Theorem 24.2); no entry can be off by more than the norm. `tests/lattice.rs` compares with plain sums.
fn transform(part: &Tilted, stride: i64, size: usize) -> (Vec<Complex<f64>>, f64) {
    thread_local! {
        // Plans hold tables of sines, worth keeping.
        static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
    }
    let transform = PLANNER.with_borrow_mut(|planner| planner.plan_fft_forward(size));
    let mut wrapped = vec![0.0; size];
    for (i, weight) in part.weights.iter().enumerate() {
        let index = (part.measure.first + i as i64) * stride;
        wrapped[index.rem_euclid(size as i64) as usize] += weight / part.mass;
    }
    let norm = wrapped.iter().map(|w| w * w).sum::<f64>().sqrt();
    let mut values = transform.make_output_vec();
    // The lengths are the plan's own, so this cannot fail; and if it did, the error below would say so.
    let done = transform.process(&mut wrapped, &mut values).is_ok();
    let error = if done {
        10.0 * f64::EPSILON * (size as f64).log2() * (size as f64).sqrt() * norm
    } else {
        f64::INFINITY
    };
    // The transform has e^{−iθx}.
    values.iter_mut().for_each(|value| *value = value.conj());
    (values, error)
}

/// Σ a b over the shorter of the two, in several partial sums.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = if a.len().is_multiple_of(LANES) {
        0.0
    } else {
        let whole = a.len() / LANES * LANES;
        a[whole..].iter().zip(&b[whole..]).map(|(x, y)| x * y).sum()
    };
    for (x, y) in a_chunks.zip(b_chunks) {
        for j in 0..LANES {
            lanes[j] += x[j] * y[j];
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// The line Re z = c.
struct SumLine<'a, 'm> {
    ramp: &'a Ramp<'m>,
    t: f64,
    saddle: &'a Saddle,
    prepared: &'a Prepared<'m>,
    table: RefCell<Option<Rc<Table>>>,
}

/// φ̂ of every part at every node, where so many nodes matter that a fast Fourier transform of the tilted law is the way to get them.
struct Table {
    step: f64,
    parts: Vec<TablePart>,
}

struct TablePart {
    values: Vec<Complex<f64>>,
    error: f64,
    /// The largest |φ̂|² among each [`CHUNK`] of nodes.
    peaks: Vec<f64>,
}

impl TablePart {
    /// The largest |φ̂| at the nodes from `first` to `last`, or rather at all nodes of the chunks that these are in.
    fn largest(&self, first: usize, last: usize) -> f64 {
        let to = (last / CHUNK).min(self.peaks.len() - 1);
        let chunks = &self.peaks[(first / CHUNK).min(to)..=to];
        chunks
            .iter()
            .fold(0.0, |most: f64, peak| most.max(*peak))
            .sqrt()
            * (1.0 + ROUNDING)
            + self.error
    }
}

/// Fewer nodes than this are evaluated one by one.
const FEW_NODES: f64 = 512.0;
/// More nodes than this are worth a transform, of a sum of fewer terms than that.
const MANY_ALIVE: f64 = 40.0;
const FEW_TERMS: f64 = 1e5;
/// More than this would be too much memory; such a sum has many rounds and few nodes that matter.
const MOST_TABLED: f64 = 4e6;

impl Table {
    /// All nodes 0, …, `last`: a real transform of length 2·last.
    fn new(parts: &[Tilted], finest: f64, step: f64, last: f64) -> Self {
        let size = 2 * last as usize;
        let parts = parts
            .iter()
            .map(|part| {
                let stride = (part.measure.step / finest) as i64;
                let (values, error) = transform(part, stride, size);
                let peaks = values
                    .chunks(CHUNK)
                    .map(|chunk| chunk.iter().map(|v| v.norm_sqr()).fold(0.0, f64::max))
                    .collect();
                TablePart {
                    values,
                    error,
                    peaks,
                }
            })
            .collect();
        Self { step, parts }
    }
}

impl SumLine<'_, '_> {
    /// φ̂ of each part at θ, with a bound on its error.
    fn transforms(&self, theta: f64) -> Vec<(f64, f64, f64)> {
        let table = self.table.borrow();
        self.prepared
            .parts
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

impl Line for SumLine<'_, '_> {
    fn node(&self, theta: f64, least: f64) -> Node {
        let (mut ln_modulus, mut phase) = (0.0, -self.t * theta);
        let mut error = self.saddle.error + ROUNDING * (1.0 + phase.abs());
        for (part, (real, imaginary, off)) in self.prepared.parts.iter().zip(self.transforms(theta))
        {
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
        self.prepared
            .parts
            .iter()
            .enumerate()
            .map(|(i, part)| {
                // |φ̂|² = E cos θ(X−X′) ≤ 1 − θ²v + θ⁴ E(X−X′)⁴/24, which falls until θ² = 12v/E(X−X′)⁴.
                if end * end * part.fourth <= 12.0 * part.variance {
                    let square = start * start;
                    let fall = square * part.variance - square * square * part.fourth / 24.0;
                    return 0.5 * part.count * ln_1p(-fall * (1.0 - 1e-6));
                }
                if let Some(table) = &*self.table.borrow() {
                    let node = |theta: f64| (theta / table.step).round() as usize;
                    let most = table.parts[i].largest(node(start), node(end))
                        + part.error
                        + part.error_by_theta * end;
                    return if most < 1.0 {
                        part.count * ln(most)
                    } else {
                        0.0
                    };
                }
                let mut modulus = part.largest_beyond(start, end);
                if modulus >= 0.9 {
                    // The law is nearly a lattice itself and comes back to life further out. Here and now it may be small all the same.
                    let middle = 0.5 * (start + end);
                    let (real, imaginary) = part.rotated(middle);
                    let here = real.hypot(imaginary)
                        + part.error
                        + part.error_by_theta * middle
                        + part.absolute_deviation * 0.5 * (end - start) * (1.0 + 1e-6);
                    modulus = modulus.min(here);
                }
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
        let kept = self.prepared.table.borrow().clone();
        if let Some(table) = kept.filter(|table| table.step == step) {
            self.table.replace(Some(table));
            return;
        }
        // Does the integrand stay alive far from the real axis? Then most nodes will be asked for.
        let alive = |fraction: f64| {
            let theta = (fraction * last).round() * step;
            self.node(theta, f64::NEG_INFINITY).ln_modulus > -40.0
        };
        // Or is it alive at more nodes than it takes to transform everything? A transform rounds more than a sum does, which few terms forgive.
        let terms: f64 = self.prepared.parts.iter().map(|part| part.count).sum();
        let some = MANY_ALIVE / last;
        let many = self.ramp.shape == Shape::Plain && terms < FEW_TERMS && alive(some);
        if many || [0.11, 0.23, 0.37, 0.53, 0.71, 0.89].into_iter().any(alive) {
            let finest = self
                .prepared
                .parts
                .iter()
                .map(|part| part.measure.step)
                .fold(f64::INFINITY, f64::min);
            let table = Rc::new(Table::new(&self.prepared.parts, finest, step, last));
            self.prepared.table.replace(Some(table.clone()));
            self.table.replace(Some(table));
        }
    }

    fn most_nodes(&self) -> f64 {
        if self.table.borrow().is_some() {
            return f64::INFINITY;
        }
        // Each is a sum over all points.
        let points: usize = self
            .prepared
            .parts
            .iter()
            .map(|part| part.weights.len())
            .sum();
        2e9 / points as f64
    }

    fn cumulant(&self, b: f64) -> f64 {
        let known = self
            .prepared
            .cumulants
            .borrow()
            .iter()
            .find(|(at, _)| *at == b)
            .copied();
        let (_, at_zero) = known.unwrap_or_else(|| {
            let tilt = self.ramp.sum.tilt(b);
            let value = tilt.ln_moment + tilt.error + ROUNDING * (tilt.ln_moment.abs() + PI);
            self.prepared.cumulants.borrow_mut().push((b, value));
            (b, value)
        });
        at_zero - b * self.t + 2.0 * ROUNDING * (b * self.t + at_zero.abs())
    }

    fn mass(&self) -> f64 {
        exp(self.ramp.flat.ln_moment + self.ramp.flat.error)
    }
}
