//! One file a command, named for it.

pub(crate) mod audit;
pub(crate) mod calibrate;
mod compare;
pub(crate) mod curve;
pub(crate) mod epsilon;
pub(crate) mod rdp;
pub(crate) mod reproduce;
pub(crate) mod simulate;
pub(crate) mod train;
