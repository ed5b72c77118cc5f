//! Activations: a rising function of every number.
//!
//! ```text
//! ReLU   y = max(x, 0)     ∂x = ∂y where y > 0
//! tanh   y = tanh x        ∂x = (1 − y²) ∂y
//! ```

use super::real::Real;
use serde::{Deserialize, Serialize};

/// Which function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Activation {
    /// max(x, 0).
    Relu,
    /// tanh x: bounded, which suits clipped gradients (Papernot et al. 2020).
    Tanh,
}

impl Activation {
    pub(crate) fn forward<T: Real>(self, input: &[T], output: &mut [T]) {
        let pairs = output.iter_mut().zip(input);
        match self {
            Self::Relu => pairs.for_each(|(y, &x)| *y = if x < T::ZERO { T::ZERO } else { x }),
            Self::Tanh => pairs.for_each(|(y, &x)| *y = x.tanh()),
        }
    }

    pub(crate) fn backward<T: Real>(self, output: &[T], above: &[T], below: &mut [T]) {
        let triples = below.iter_mut().zip(output).zip(above);
        match self {
            Self::Relu => triples.for_each(|((below, &y), &above)| {
                *below = if y > T::ZERO { above } else { T::ZERO };
            }),
            Self::Tanh => triples.for_each(|((below, &y), &above)| {
                *below = (T::ONE - y * y) * above;
            }),
        }
    }
}
