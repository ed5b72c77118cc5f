//! The three parties of a collection as programs: devices that report, a shuffler that forgets, an analyzer
//! that learns the crowd. What they say to each other is in [`shuffledp_protocol`]; here are the keys, the
//! files, the device's ledger, and the shuffler on the network with its store.
//!
//! ```text
//! device ──envelopes──► shuffler ──batches──► analyzer
//! ledger                shuffler's key        analyzer's key
//!                       store
//! ```
//!
//! The parties meet in one of two ways:
//!
//! * by files ([`folders`]): a device writes an envelope, a shuffler reads a folder of them and writes
//!   batches. How files get from one party to the other (a shared folder, a copy, mail) is not its concern,
//!   and nothing listens on a socket.
//! * over HTTP ([`server`]): a running shuffler takes envelopes ([`intake`]), keeps reports in a [`store`]
//!   that survives crashes, closes windows by the clock ([`schedule`]), replaces its keys ([`keyring`]), and
//!   releases each batch once. Devices ([`answer`]) and analyzers ([`client`]) connect to it.
//!
//! No party needs to trust another with its key. What the parties do trust each other with is in the
//! guarantee of a task ([`shuffledp_protocol::task::Guarantee`]).

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
mod memory;
pub mod probes;
mod quota;
pub mod schedule;
mod secret;
mod secure_file;
pub mod server;
pub mod store;
mod suite;
pub mod tallies;
pub mod tokens;

pub use blind::BlindError;
pub use error::ServiceError;
pub use suite::AwsLc;
