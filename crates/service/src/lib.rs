//! The three parties of a collection as programs: devices that report, a shuffler that forgets, an analyzer
//! that learns the crowd. What they say to each other is in [`shuffledp_protocol`]; here are the keys, the
//! files and the device's ledger.
//!
//! ```text
//! device ──envelopes──► shuffler ──batches──► analyzer
//! ledger                shuffler's key        analyzer's key
//! ```
//!
//! The parties meet in folders: whatever carries files from one to the other will do. Nobody needs a server
//! to begin with, and no party needs to trust another with its key.

pub mod answer;
pub mod audit;
mod blind;
pub mod client;
pub mod demo;
mod error;
pub mod folders;
pub mod intake;
pub mod keyring;
pub mod keys;
pub mod ledger;
pub mod loopback;
pub mod probes;
pub mod schedule;
mod secure_file;
pub mod server;
pub mod store;
mod suite;
pub mod tallies;
pub mod tokens;

pub use blind::BlindError;
pub use error::ServiceError;
pub use suite::AwsLc;
