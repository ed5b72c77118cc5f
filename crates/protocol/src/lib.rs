//! The protocol without its wires: what a shuffler does with a batch.
//!
//! Nothing here opens a file or a socket; a [`Shuffler`] that runs out of memory asks its owner for a place to put reports.

mod shuffler;

pub use shuffler::{Error, Shuffler};
