//! A tilted measure and its characteristic function φ̂(θ) = Σ weight e^{iθx} / Σ weight.
//!
//! At one θ by a plain sum; at many by a fast Fourier transform, kept in a [`Table`]. Both with a bound on
//! the error.

use super::measure::{CHUNK, LANES, Measure, PRODUCT, sum_with};
use crate::near_zero::NearZero;
use crate::rounding::ROUNDING;
use crate::special::sin_cos;
use num_complex::Complex;
use realfft::RealFftPlanner;
use std::cell::{OnceCell, RefCell};
use std::f64::consts::PI;

/// One tilted measure: its weights e^{cx − top} p.
pub(super) struct TiltedMeasure<'a> {
    pub(super) measure: &'a Measure,
    pub(super) count: f64,
    pub(super) weights: Vec<f64>,
    /// Σ weights, and ln φ(c) as used at the saddle point.
    mass: f64,
    pub(super) ln_moment: f64,
    /// Bound on the relative error of the rotated sum, apart from the part that grows with |θ|, and that
    /// part.
    pub(super) error: f64,
    pub(super) error_by_theta: f64,
    /// E|X − EX| under the tilted law, and what its variance and fourth moment say about φ̂.
    pub(super) absolute_deviation: f64,
    pub(super) near_zero: NearZero,
    envelope: OnceCell<Envelope>,
}

/// For equally spaced θ, the largest |φ̂| between θ and half a period.
struct Envelope {
    spacing: f64,
    from: Vec<f64>,
}

impl<'a> TiltedMeasure<'a> {
    pub(super) fn new(measure: &'a Measure, count: f64, c: f64) -> Self {
        let weights = measure.tilted(c);
        let tilt = measure.tilt_of(c, &weights);
        let step = measure.step;
        let mass = sum_with(&weights, |_| 1.0);
        let center = tilt.mean / step - measure.first as f64;
        let absolute = sum_with(&weights, |i| (i - center).abs()) / mass;
        // Both in steps: a fourth power of a small step underflows.
        let square = sum_with(&weights, |i| (i - center) * (i - center)) / mass;
        let fourth = sum_with(&weights, |i| {
            let square = (i - center) * (i - center);
            square * square
        }) / mass;
        let fourth = if square > 0.0 {
            fourth / (square * square)
        } else {
            0.0
        };
        let size = sum_with(&weights, |i| (measure.first as f64 + i).abs()) / mass;
        Self {
            measure,
            count,
            mass,
            ln_moment: tilt.ln_moment,
            error: ROUNDING * PRODUCT + tilt.error,
            error_by_theta: ROUNDING * size * step,
            absolute_deviation: absolute * step,
            near_zero: NearZero::new(tilt.variance, fourth),
            envelope: OnceCell::new(),
            weights,
        }
    }

    /// Σ weight e^{iθx}, divided by Σ weight.
    pub(super) fn rotated(&self, theta: f64) -> (f64, f64) {
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

impl TiltedMeasure<'_> {
    /// A bound on |φ̂| for all θ in [start, end], from a transform of the whole law: |φ̂′| ≤ E|X − EX|
    /// between its nodes.
    pub(super) fn largest_beyond(&self, start: f64, end: f64) -> f64 {
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
        // Beyond half a period |φ̂| rises again.
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
/// The error of a fast Fourier transform in the 2-norm is at most a few ε log₂ M of the whole (Higham 2002,
/// Theorem 24.2); no entry can be off by more than the norm. `tests/lattice.rs` compares with plain sums.
fn transform(part: &TiltedMeasure, stride: i64, size: usize) -> (Vec<Complex<f64>>, f64) {
    thread_local! {
        // A plan holds tables of sines; it is kept for the next transform.
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
    // The lengths are the plan's own, so this cannot fail; if it did, the error bound would be infinite.
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

/// φ̂ of every part at every node, by a fast Fourier transform of the tilted law: for sums where many nodes
/// matter.
pub(super) struct Table {
    pub(super) step: f64,
    pub(super) parts: Vec<TablePart>,
}

pub(super) struct TablePart {
    pub(super) values: Vec<Complex<f64>>,
    pub(super) error: f64,
    /// The largest |φ̂|² among each [`CHUNK`] of nodes.
    peaks: Vec<f64>,
}

impl TablePart {
    /// An upper bound on |φ̂| at the nodes from `first` to `last`: the largest at all nodes of their chunks.
    pub(super) fn largest(&self, first: usize, last: usize) -> f64 {
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

impl Table {
    /// All nodes 0, …, `last`: a real transform of length 2·last.
    pub(super) fn new(parts: &[TiltedMeasure], finest: f64, step: f64, last: f64) -> Self {
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
