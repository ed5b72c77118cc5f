//! Any layer, and the buffers one needs beside its inputs and outputs.

use super::activation::Activation;
use super::convolution::Convolution;
use super::dense::Dense;
use super::pool::MaxPool;
use super::real::Real;

/// One step of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Dense(Dense),
    Convolution(Convolution),
    MaxPool(MaxPool),
    /// On so many numbers.
    Activation(Activation, usize),
}

/// Parameters of a layer, and how many numbers one output sees and one input reaches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fan {
    pub(crate) weights: usize,
    pub(crate) biases: usize,
    pub(crate) within: usize,
    pub(crate) out: usize,
}

/// Buffers of one layer; those it does not need are empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch<T> {
    /// The image with zeros around it.
    pub(crate) padded: Vec<T>,
    /// A row for every patch.
    pub(crate) patches: Vec<T>,
    /// The pixel that each maximum came from.
    pub(crate) chosen: Vec<u32>,
}

impl Layer {
    /// How many numbers come out.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.outputs,
            Self::Convolution(convolution) => convolution.output().numbers(),
            Self::MaxPool(pool) => pool.output().numbers(),
            Self::Activation(_, numbers) => *numbers,
        }
    }

    pub(crate) fn fan(&self) -> Fan {
        match self {
            Self::Dense(dense) => dense.fan(),
            Self::Convolution(convolution) => convolution.fan(),
            Self::MaxPool(_) | Self::Activation(..) => Fan::default(),
        }
    }

    pub(crate) fn parameters(&self) -> usize {
        let Fan {
            weights, biases, ..
        } = self.fan();
        weights + biases
    }

    /// The axes of its weights; none where it has no parameters.
    pub(crate) fn axes(&self) -> Option<Vec<usize>> {
        match self {
            Self::Dense(dense) => Some(vec![dense.inputs, dense.outputs]),
            Self::Convolution(convolution) => Some(convolution.axes()),
            Self::MaxPool(_) | Self::Activation(..) => None,
        }
    }

    pub(crate) fn scratch<T: Real>(&self) -> Scratch<T> {
        match self {
            Self::Convolution(convolution) => convolution.scratch(),
            Self::MaxPool(pool) => pool.scratch(),
            Self::Dense(_) | Self::Activation(..) => Scratch::default(),
        }
    }

    /// From inputs to outputs.
    pub(crate) fn forward<T: Real>(
        &self,
        parameters: &[T],
        input: &[T],
        scratch: &mut Scratch<T>,
        output: &mut [T],
    ) {
        match self {
            Self::Dense(dense) => dense.forward(parameters, input, output),
            Self::Convolution(convolution) => {
                convolution.forward(parameters, input, scratch, output);
            }
            Self::MaxPool(pool) => pool.forward(input, scratch, output),
            Self::Activation(activation, _) => activation.forward(input, output),
        }
    }

    /// From the slopes of the outputs to those of the parameters and, where somebody asks, of the inputs. It
    /// follows a `forward` on the same buffers.
    pub(crate) fn backward<T: Real>(
        &self,
        parameters: &[T],
        values: (&[T], &[T]),
        above: &[T],
        scratch: &mut Scratch<T>,
        gradient: &mut [T],
        below: Option<&mut [T]>,
    ) {
        let (input, output) = values;
        match (self, below) {
            (Self::Dense(dense), below) => {
                dense.backward(parameters, input, above, gradient, below);
            }
            (Self::Convolution(convolution), below) => {
                convolution.backward(parameters, above, scratch, gradient, below);
            }
            (Self::MaxPool(pool), Some(below)) => pool.backward(above, scratch, below),
            (Self::Activation(activation, _), Some(below)) => {
                activation.backward(output, above, below);
            }
            (Self::MaxPool(_) | Self::Activation(..), None) => {}
        }
    }
}
