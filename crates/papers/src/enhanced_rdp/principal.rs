//! Principal components of pictures, by subspace iteration on their covariance.
//!
//! ```text
//! S = Σ (x − x̄)(x − x̄)ᵀ/n;    V ← orthonormal basis of S V, again and again;    features Vᵀ(x − x̄)
//! ```
//!
//! Computed from the training pictures themselves, in the clear: what the components tell about them is
//! accounted for nowhere.

use crate::error::Error;
use rayon::prelude::*;
use shuffledp::learning::{Dataset, Examples, Shape};
use shuffledp::randomizers::{Random as _, Simulated};

/// Pictures that are added up in one piece.
const PIECE: usize = 1000;
/// Steps of the iteration: errors shrink by the ratio of the first eigenvalue left out to the last one kept,
/// each time.
const STEPS: usize = 60;

/// Light in [0, 1] where it was in [−1, 1].
pub(super) fn unit(data: &Dataset) -> Result<Dataset, Error> {
    mapped(data, |_, x| 0.5 * (x + 1.0))
}

/// Every number with mean 0 and variance 1 over the training examples; one that never changes is 0.
pub(super) fn standardized(data: &Dataset) -> Result<Dataset, Error> {
    let numbers = data.shape().numbers();
    let examples = data.train().len() as f64;
    let (mut mean, mut square) = (vec![0.0f64; numbers], vec![0.0f64; numbers]);
    for image in data.train().images().chunks_exact(numbers) {
        for (sums, x) in mean.iter_mut().zip(&mut square).zip(image) {
            *sums.0 += f64::from(*x) / examples;
            *sums.1 += f64::from(*x).powi(2) / examples;
        }
    }
    let deviation: Vec<f64> = mean
        .iter()
        .zip(&square)
        .map(|(mean, square)| (square - mean * mean).max(0.0).sqrt())
        .collect();
    mapped(data, |at, x| match deviation[at] > 1e-4 {
        true => ((f64::from(x) - mean[at]) / deviation[at]) as f32,
        false => 0.0,
    })
}

/// The same examples with every number put through a function of its place and itself.
fn mapped(data: &Dataset, to: impl Fn(usize, f32) -> f32) -> Result<Dataset, Error> {
    let numbers = data.shape().numbers();
    let put = |from: &Examples| {
        let images = from.images().iter().enumerate();
        let images = images.map(|(at, &x)| to(at % numbers, x)).collect();
        Examples::new(from.shape(), data.classes(), images, from.labels().to_vec())
    };
    Ok(Dataset::new(put(data.train())?, put(data.test())?)?)
}

/// The same examples as this many principal components of their numbers.
pub(super) fn components(data: &Dataset, many: usize) -> Result<Dataset, Error> {
    let pixels = data.shape().numbers();
    let images = data.train().images();
    let examples = data.train().len() as f64;
    let mut mean = vec![0.0f64; pixels];
    for image in images.chunks_exact(pixels) {
        for (mean, pixel) in mean.iter_mut().zip(image) {
            *mean += f64::from(*pixel) / examples;
        }
    }
    let mean: Vec<f32> = mean.into_iter().map(|mean| mean as f32).collect();
    let covariance = covariance(images, &mean);
    let basis = basis(&covariance, pixels, many);
    let seen = |from: &Examples| {
        let mut numbers = vec![0.0f32; many * from.len()];
        numbers
            .par_chunks_exact_mut(many)
            .zip(from.images().par_chunks_exact(pixels))
            .for_each(|(numbers, image)| {
                for (number, direction) in numbers.iter_mut().zip(&basis) {
                    let along = direction.iter().zip(image.iter().zip(&mean));
                    let sum: f64 = along.map(|(v, (x, mean))| v * f64::from(x - mean)).sum();
                    *number = sum as f32;
                }
            });
        let row = Shape {
            channels: 1,
            height: 1,
            width: many,
        };
        Examples::new(row, data.classes(), numbers, from.labels().to_vec())
    };
    Ok(Dataset::new(seen(data.train())?, seen(data.test())?)?)
}

/// n S, row after row.
fn covariance(images: &[f32], mean: &[f32]) -> Vec<f64> {
    let pixels = mean.len();
    let pieces: Vec<Vec<f32>> = images
        .par_chunks(PIECE * pixels)
        .map(|piece| {
            let mut sum = vec![0.0f32; pixels * pixels];
            let mut centered = vec![0.0f32; pixels];
            for image in piece.chunks_exact(pixels) {
                for (centered, (x, mean)) in centered.iter_mut().zip(image.iter().zip(mean)) {
                    *centered = x - mean;
                }
                for (row, x) in sum.chunks_exact_mut(pixels).zip(&centered) {
                    for (sum, y) in row.iter_mut().zip(&centered) {
                        *sum += x * y;
                    }
                }
            }
            sum
        })
        .collect();
    let mut total = vec![0.0f64; pixels * pixels];
    for piece in &pieces {
        for (total, sum) in total.iter_mut().zip(piece) {
            *total += f64::from(*sum);
        }
    }
    total
}

/// Orthonormal directions that span the leading eigenvectors of a symmetric matrix.
fn basis(matrix: &[f64], size: usize, many: usize) -> Vec<Vec<f64>> {
    let mut random = Simulated::new(1, 0);
    let mut uniform = || random.word() as f64 / u64::MAX as f64 - 0.5;
    let mut basis: Vec<Vec<f64>> = (0..many)
        .map(|_| (0..size).map(|_| uniform()).collect())
        .collect();
    for _ in 0..STEPS {
        basis = basis
            .par_iter()
            .map(|direction| {
                let rows = matrix.chunks_exact(size);
                rows.map(|row| dot(row, direction)).collect()
            })
            .collect();
        orthonormal(&mut basis);
    }
    basis
}

/// Gram and Schmidt, twice over for the sake of rounding.
fn orthonormal(basis: &mut [Vec<f64>]) {
    for at in 0..basis.len() {
        let (before, rest) = basis.split_at_mut(at);
        let Some(direction) = rest.first_mut() else {
            continue;
        };
        for _ in 0..2 {
            for other in before.iter() {
                let along = dot(other, direction);
                for (x, y) in direction.iter_mut().zip(other) {
                    *x -= along * y;
                }
            }
        }
        let norm = dot(direction, direction).sqrt().max(f64::MIN_POSITIVE);
        direction.iter_mut().for_each(|x| *x /= norm);
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::{basis, dot};

    /// A matrix made from its eigenvectors gives those with the largest eigenvalues back.
    #[test]
    fn the_leading_eigenvectors_are_found() {
        let h = std::f64::consts::FRAC_1_SQRT_2;
        let vectors = [[h, h, 0.0], [h, -h, 0.0], [0.0, 0.0, 1.0]];
        let values = [3.0, 1.0, 2.0];
        let mut matrix = vec![0.0; 9];
        for (vector, value) in vectors.iter().zip(values) {
            for i in 0..3 {
                for j in 0..3 {
                    matrix[3 * i + j] += value * vector[i] * vector[j];
                }
            }
        }
        let found = basis(&matrix, 3, 2);
        assert!((dot(&found[0], &vectors[0]).abs() - 1.0).abs() < 1e-9);
        assert!((dot(&found[1], &vectors[2]).abs() - 1.0).abs() < 1e-9);
    }
}
