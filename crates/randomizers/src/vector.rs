//! What randomizers of vectors share: their domain, and the sum of a batch.

use crate::error::Error;

/// A sum over a batch, in the coordinates that reports come in.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorSum {
    pub(crate) reports: u64,
    pub(crate) total: Vec<f64>,
}

impl VectorSum {
    pub(crate) fn new(coordinates: usize) -> Self {
        Self {
            reports: 0,
            total: vec![0.0; coordinates],
        }
    }

    /// The number of reports.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Another batch of the same randomizer.
    pub fn merge(&mut self, other: &Self) {
        self.reports += other.reports;
        for (mine, theirs) in self.total.iter_mut().zip(&other.total) {
            *mine += theirs;
        }
    }
}

/// The mean of a batch of vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorEstimate {
    /// Unbiased, coordinate by coordinate.
    pub mean: Vec<f64>,
    /// At least the expected square of the distance to the true mean.
    pub variance: f64,
}

/// A dimension that can be listed, and a radius.
pub(crate) fn shape(dimension: usize, radius: f64) -> Result<(), Error> {
    if !(1..=1 << 30).contains(&dimension) {
        return Err(Error::Parameter {
            parameter: "dimension",
            value: dimension.to_string(),
            allowed: "[1, 2^30]".into(),
        });
    }
    if !(1e-30..=1e30).contains(&radius) {
        return Err(Error::Parameter {
            parameter: "radius",
            value: radius.to_string(),
            allowed: "[1e-30, 1e30]".into(),
        });
    }
    Ok(())
}

/// A vector of this dimension whose norm, already computed, is within the radius but for rounding. What is a little outside is not moved: the coin that protects does not depend on it.
pub(crate) fn within(value: &[f32], dimension: usize, norm: f64, radius: f64) -> Result<(), Error> {
    if value.len() != dimension {
        return Err(Error::Value {
            value: format!("of {} coordinates", value.len()),
            allowed: format!("vectors of {dimension} coordinates"),
        });
    }
    // NaN and infinite coordinates have no such norm.
    if norm <= radius * (1.0 + 1e-6) {
        return Ok(());
    }
    Err(Error::Value {
        value: format!("of norm {norm}"),
        allowed: format!("the ball of radius {radius}"),
    })
}

/// In place: every entry becomes the sum of all with the signs of its row of the Walsh–Hadamard matrix; the length is a power of two.
pub(crate) fn transform(values: &mut [f64]) {
    let mut width = 1;
    while width < values.len() {
        for pair in values.chunks_mut(2 * width) {
            let (low, high) = pair.split_at_mut(width);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        width *= 2;
    }
}
