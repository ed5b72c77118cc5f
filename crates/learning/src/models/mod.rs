//! Models, one layer a file.
//!
//! | module | idea |
//! |---|---|
//! | `real` | f32 to train with, f64 to check with |
//! | `product` | the three matrix products that layers are made of |
//! | `dense`, `convolution`, `pool`, `activation` | a layer each: forward, and backward into the gradient |
//! | `loss` | softmax and cross-entropy |
//! | `layer` | any of them, and the buffers one needs |
//! | `model` | layers in a row over one vector of parameters |
//! | `networks` | the models of the papers, by name |

mod activation;
#[cfg(test)]
mod check;
mod convolution;
mod dense;
mod layer;
mod loss;
mod model;
mod networks;
mod pool;
mod product;
mod real;

pub use activation::Activation;
pub use model::{Model, Workspace};
pub use real::Real;
