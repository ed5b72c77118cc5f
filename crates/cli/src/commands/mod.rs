//! One file a command, named for it.

#[cfg(feature = "service")]
pub(crate) mod analyze;
#[cfg(feature = "service")]
pub(crate) mod analyzer;
pub(crate) mod audit;
pub(crate) mod calibrate;
mod compare;
pub(crate) mod curve;
#[cfg(feature = "service")]
pub(crate) mod demo;
pub(crate) mod epsilon;
#[cfg(feature = "service")]
pub(crate) mod keys;
#[cfg(feature = "train")]
pub(crate) mod predict;
#[cfg(feature = "service")]
pub(crate) mod probe;
pub(crate) mod rdp;
#[cfg(feature = "service")]
pub(crate) mod report;
#[cfg(feature = "papers")]
pub(crate) mod reproduce;
#[cfg(feature = "service")]
pub(crate) mod shuffle;
#[cfg(feature = "service")]
pub(crate) mod shuffler;
pub(crate) mod simulate;
#[cfg(feature = "service")]
pub(crate) mod task;
#[cfg(feature = "service")]
pub(crate) mod token;
// Only `reproduce` asks for a run without its prices.
#[cfg(feature = "train")]
#[cfg_attr(not(feature = "papers"), allow(dead_code))]
pub(crate) mod train;
