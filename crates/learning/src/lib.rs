//! Models with per-example gradients, the data they learn from, and private training.
//!
//! In private learning the gradient of one person's example is the unit: it is clipped, randomized and
//! reported on its own. So a [`Model`] differentiates the loss of *one* example, in buffers that are made
//! once ([`Workspace`]): no graph is built, and only the matrix products allocate, a few kilobytes to pack
//! their operands in.
//!
//! ```
//! use shuffledp_learning::{Activation, Model, Norm, data::synthetic};
//!
//! let data = synthetic::blobs(7, 2000, 500)?;
//! let model = Model::mlp(data.shape(), 16, Activation::Tanh, data.classes())?;
//! let mut parameters = model.initial(7);
//! let (mut workspace, mut gradient) = (model.workspace(), vec![0.0; model.parameters()]);
//! for (image, label) in data.train().iter() {
//!     model.gradient(&parameters, image, label, &mut workspace, &mut gradient)?;
//!     Norm::L2.clip(&mut gradient, 1.0)?;
//!     for (parameter, slope) in parameters.iter_mut().zip(&gradient) {
//!         *parameter -= 0.05 * slope;
//!     }
//! }
//! assert!(model.accuracy(&parameters, data.test())? > 0.9);
//! # Ok::<(), shuffledp_learning::Error>(())
//! ```
//!
//! Training is [`Training`]: rounds of an [`Algorithm`], with the price of every round in its ledger.
//! [`ShuffledSgd`] is the one this crate is for: devices randomize their own gradients, a shuffler permutes
//! them. [`SecureSumSgd`], [`BlocksSgd`], [`CentralSgd`] and [`PlainSgd`] are for other kinds of trust.
//!
//! Initial parameters and synthetic examples are drawn from a seed: they are not secret.

mod algorithm;
mod blocks;
mod central;
mod charge;
mod clip;
pub mod data;
mod error;
mod features;
mod gradients;
mod models;
mod optimizer;
mod plain;
pub mod run;
mod secure_sum_sgd;
mod shuffled_sgd;
mod training;
mod uniform;

pub use algorithm::{Algorithm, Draws, Gathered, Key};
pub use blocks::BlocksSgd;
pub use central::CentralSgd;
pub use charge::Charge;
pub use clip::Norm;
pub use data::{Dataset, Examples, Shape};
pub use error::Error;
pub use features::{color_gradients, oriented_gradients, scattering, smooth_gradients};
pub use gradients::Gradients;
pub use models::{Activation, Model, Real, Workspace};
pub use optimizer::{Optimizer, RateStep, Rule, Schedule};
pub use plain::PlainSgd;
pub use secure_sum_sgd::{SecureSumSgd, Sharing};
pub use shuffled_sgd::{ShuffledSgd, Way};
pub use training::{Recipe, Report, Training};
