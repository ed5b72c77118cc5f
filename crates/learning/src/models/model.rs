//! A model: layers in a row over one vector of parameters, and the loss of one example.
//!
//! ```text
//! z = f(θ, image),   L = −ln softmax(z)_label,   ∇L by one pass forward and one back
//! ```
//!
//! The parameters of a layer follow those of the layer before; within a layer, weights and then biases.

use super::layer::{Layer, Scratch};
use super::loss::cross_entropy;
use super::real::Real;
use crate::data::{Examples, Shape};
use crate::error::Error;
use crate::uniform::uniform;
use rayon::prelude::*;
use shuffledp_randomizers::Simulated;
use std::ops::Range;

/// Layers in a row.
#[derive(Clone, Debug)]
pub struct Model {
    shape: Shape,
    layers: Vec<Layer>,
    classes: usize,
    parameters: usize,
}

/// Where the weights or the biases of one layer lie among the parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tensor {
    /// The layer's place, counted over all layers from 0, and `weight` or `bias`.
    pub(crate) name: String,
    pub(crate) axes: Vec<usize>,
    pub(crate) place: Range<usize>,
}

/// The buffers one thread computes in, made once by [`Model::workspace`].
#[derive(Clone, Debug)]
pub struct Workspace<T> {
    layers: Vec<Layer>,
    steps: Vec<Step<T>>,
}

/// The buffers of one layer.
#[derive(Clone, Debug)]
struct Step<T> {
    values: Vec<T>,
    slopes: Vec<T>,
    scratch: Scratch<T>,
}

impl Model {
    /// Layers of which the last gives a score for each class.
    pub(crate) fn of(shape: Shape, layers: Vec<Layer>) -> Self {
        Self {
            shape,
            classes: layers.last().map_or(0, Layer::outputs),
            parameters: layers.iter().map(Layer::parameters).sum(),
            layers,
        }
    }

    /// How many parameters there are.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// The shape of the images.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The weights and biases of all layers, in the order of the parameters.
    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        let (mut tensors, mut start) = (Vec::new(), 0);
        for (at, layer) in self.layers.iter().enumerate() {
            let (fan, Some(axes)) = (layer.fan(), layer.axes()) else {
                continue;
            };
            let (middle, end) = (start + fan.weights, start + layer.parameters());
            for (kind, axes, place) in [
                ("weight", axes, start..middle),
                ("bias", vec![fan.biases], middle..end),
            ] {
                let name = format!("{at}.{kind}");
                tensors.push(Tensor { name, axes, place });
            }
            start = end;
        }
        tensors
    }

    /// Parameters to start from: weights uniform in ±√(6/(fan in + fan out)) (Glorot, Bengio 2010), biases
    /// zero. A seed gives the same numbers everywhere.
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        let mut random = Simulated::new(seed, 0);
        let mut parameters = Vec::with_capacity(self.parameters);
        for layer in &self.layers {
            let fan = layer.fan();
            let reach = (6.0 / (fan.within + fan.out) as f32).sqrt();
            let weights = (0..fan.weights).map(|_| reach * (2.0 * uniform(&mut random) - 1.0));
            parameters.extend(weights);
            parameters.extend((0..fan.biases).map(|_| 0.0));
        }
        parameters
    }

    /// Buffers for one thread.
    pub fn workspace<T: Real>(&self) -> Workspace<T> {
        let step = |layer: &Layer| Step {
            values: vec![T::ZERO; layer.outputs()],
            slopes: vec![T::ZERO; layer.outputs()],
            scratch: layer.scratch(),
        };
        Workspace {
            layers: self.layers.clone(),
            steps: self.layers.iter().map(step).collect(),
        }
    }

    /// The loss of one example, and its gradient in place of what `gradient` held.
    pub fn gradient<T: Real>(
        &self,
        parameters: &[T],
        image: &[T],
        label: u8,
        workspace: &mut Workspace<T>,
        gradient: &mut [T],
    ) -> Result<f64, Error> {
        Error::unless_length("gradient", gradient.len(), self.parameters)?;
        let loss = self.loss(parameters, image, label, workspace)?;
        let mut end = self.parameters;
        for (at, layer) in self.layers.iter().enumerate().rev() {
            let start = end - layer.parameters();
            let (before, rest) = workspace.steps.split_at_mut(at);
            let step = &mut rest[0];
            let (input, below) = match before.last_mut() {
                Some(step) => (&step.values[..], Some(&mut step.slopes[..])),
                None => (image, None),
            };
            layer.backward(
                &parameters[start..end],
                (input, &step.values),
                &step.slopes,
                &mut step.scratch,
                &mut gradient[start..end],
                below,
            );
            end = start;
        }
        Ok(loss)
    }

    /// The loss of one example.
    pub fn loss<T: Real>(
        &self,
        parameters: &[T],
        image: &[T],
        label: u8,
        workspace: &mut Workspace<T>,
    ) -> Result<f64, Error> {
        if usize::from(label) >= self.classes {
            let allowed = format!("the {} classes of the model", self.classes);
            return Err(Error::parameter("label", label, allowed));
        }
        self.forward(parameters, image, workspace)?;
        let Some(last) = workspace.steps.last_mut() else {
            return Err(Error::Workspace);
        };
        // The slopes at the scores are where the way back starts.
        Ok(cross_entropy(&last.values, usize::from(label), &mut last.slopes).into())
    }

    /// The probability of each class, in the order of the classes: softmax of the scores.
    pub fn probabilities(
        &self,
        parameters: &[f32],
        image: &[f32],
        workspace: &mut Workspace<f32>,
    ) -> Result<Vec<f64>, Error> {
        let scores = self.forward(parameters, image, workspace)?;
        let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weights = scores.iter().map(|score| f64::from(score - highest).exp());
        let weights: Vec<f64> = weights.collect();
        let sum: f64 = weights.iter().sum();
        Ok(weights.into_iter().map(|weight| weight / sum).collect())
    }

    /// The class with the highest score, the first of equals.
    pub fn classify<T: Real>(
        &self,
        parameters: &[T],
        image: &[T],
        workspace: &mut Workspace<T>,
    ) -> Result<u8, Error> {
        let scores = self.forward(parameters, image, workspace)?;
        let mut best = 0;
        for (class, score) in scores.iter().enumerate() {
            if *score > scores[best] {
                best = class;
            }
        }
        // Classes are at most 256.
        Ok(best as u8)
    }

    /// The share of examples that get their label, computed on all cores.
    pub fn accuracy(&self, parameters: &[f32], examples: &Examples) -> Result<f64, Error> {
        let numbers = examples.shape().numbers();
        let images = examples.images().par_chunks_exact(numbers);
        let right: usize = images
            .zip(examples.labels())
            .with_min_len(64)
            .map_init(
                || self.workspace(),
                |workspace, (image, label)| {
                    let class = self.classify(parameters, image, workspace)?;
                    Ok(usize::from(class == *label))
                },
            )
            .sum::<Result<usize, Error>>()?;
        Ok(right as f64 / examples.len() as f64)
    }

    /// The scores of one image.
    fn forward<'a, T: Real>(
        &self,
        parameters: &[T],
        image: &[T],
        workspace: &'a mut Workspace<T>,
    ) -> Result<&'a [T], Error> {
        Error::unless_length("parameters", parameters.len(), self.parameters)?;
        Error::unless_length("image", image.len(), self.shape.numbers())?;
        if workspace.layers != self.layers {
            return Err(Error::Workspace);
        }
        let mut parameters = parameters;
        for (at, layer) in self.layers.iter().enumerate() {
            let (own, others) = parameters.split_at(layer.parameters());
            parameters = others;
            let (before, rest) = workspace.steps.split_at_mut(at);
            let step = &mut rest[0];
            let input = before.last().map_or(image, |step| &step.values);
            layer.forward(own, input, &mut step.scratch, &mut step.values);
        }
        Ok(workspace.steps.last().map_or(&[], |step| &step.values))
    }
}
