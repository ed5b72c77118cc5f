//! A dense layer: every output sees every input.
//!
//! ```text
//! y = xᵀW + b          ∂L/∂W = x ∂yᵀ     ∂L/∂b = ∂y     ∂x = W ∂y
//! ```
//!
//! Parameters: W, one row for each input, then b.

use super::layer::Fan;
use super::product::{product, product_with_vector};
use super::real::Real;

/// Its sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dense {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
}

impl Dense {
    pub(crate) fn weights(&self) -> usize {
        self.inputs * self.outputs
    }

    pub(crate) fn fan(&self) -> Fan {
        Fan {
            weights: self.weights(),
            biases: self.outputs,
            within: self.inputs,
            out: self.outputs,
        }
    }

    pub(crate) fn forward<T: Real>(&self, parameters: &[T], input: &[T], output: &mut [T]) {
        let (weights, biases) = parameters.split_at(self.weights());
        product(input, weights, output, self.inputs, self.outputs);
        for (y, &bias) in output.iter_mut().zip(biases) {
            *y += bias;
        }
    }

    pub(crate) fn backward<T: Real>(
        &self,
        parameters: &[T],
        input: &[T],
        above: &[T],
        gradient: &mut [T],
        below: Option<&mut [T]>,
    ) {
        let (weights, biases) = gradient.split_at_mut(self.weights());
        for (row, &x) in weights.chunks_exact_mut(self.outputs).zip(input) {
            for (slope, &delta) in row.iter_mut().zip(above) {
                *slope = x * delta;
            }
        }
        biases.copy_from_slice(above);
        if let Some(below) = below {
            product_with_vector(&parameters[..self.weights()], above, below);
        }
    }
}
