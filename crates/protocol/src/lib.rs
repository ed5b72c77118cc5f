//! The protocol without its wires: who takes part, what a shuffler does with a batch, what an analyzer reads
//! from it, and an attack on all of it; and the sum without a shuffler, by secure aggregation.
//!
//! Nothing here opens a file or a socket; a [`Shuffler`] that runs out of memory asks its owner for a place
//! to put reports.

mod analyzer;
mod attendance;
pub mod audit;
pub mod batch;
mod collection;
mod confidence;
mod consistency;
pub mod envelope;
mod heavy_hitters;
pub mod hpke;
pub mod lifecycle;
mod pipeline;
mod quantiles;
pub mod secure_aggregation;
mod shuffler;
pub mod survey;
pub mod task;
pub mod token;

pub use analyzer::{Analyzer, of_all_users};
pub use attendance::{Attendance, AttendanceError};
pub use collection::{Collection, CollectionError};
pub use confidence::Confidence;
pub use consistency::make_consistent;
pub use heavy_hitters::{HeavyHitter, heavy_hitters};
pub use pipeline::{Devices, Mixer, run_round};
pub use quantiles::{Cumulative, Quantile};
pub use shuffler::{ShuffleError, Shuffler};
