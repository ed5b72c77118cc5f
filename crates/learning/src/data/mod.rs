//! Labeled images: what a data set is, and where one comes from.
//!
//! | module | data set |
//! |---|---|
//! | [`idx`] | MNIST and Fashion-MNIST, in the format they are published in |
//! | [`cifar`] | CIFAR-10, binary |
//! | [`synthetic`] | ten classes made by formula, for a demonstration that needs no download |
//!
//! A pixel b of 0 … 255 becomes b/127.5 − 1, in [−1, 1]: a map that is the same for every data set. The usual
//! standardisation by the mean and deviation of the training images would be a statistic of the people's data
//! that nobody accounts for.

pub mod cifar;
mod dataset;
pub mod idx;
mod owners;
pub mod synthetic;

pub use dataset::{Dataset, Examples, Shape};

/// b/127.5 − 1.
pub(crate) fn pixel(byte: u8) -> f32 {
    f32::from(byte) / 127.5 - 1.0
}
