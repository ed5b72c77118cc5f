//! One file a command, named for it.

pub(crate) mod audit;
pub(crate) mod calibrate;
mod compare;
pub(crate) mod curve;
pub(crate) mod epsilon;
pub(crate) mod rdp;
#[cfg(all(feature = "train", feature = "plots"))]
pub(crate) mod reproduce;
pub(crate) mod simulate;
#[cfg(feature = "train")]
pub(crate) mod train;
