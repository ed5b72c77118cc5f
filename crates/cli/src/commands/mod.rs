//! One file a command, named for it.

pub(crate) mod audit;
pub(crate) mod calibrate;
mod compare;
pub(crate) mod curve;
pub(crate) mod epsilon;
#[cfg(feature = "train")]
pub(crate) mod predict;
pub(crate) mod rdp;
#[cfg(feature = "papers")]
pub(crate) mod reproduce;
pub(crate) mod simulate;
// Only `reproduce` asks for a run without its prices.
#[cfg(feature = "train")]
#[cfg_attr(not(feature = "papers"), allow(dead_code))]
pub(crate) mod train;
