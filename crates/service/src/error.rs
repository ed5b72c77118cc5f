//! What can go wrong between the parties, in fields.

use crate::blind::BlindError;
use crate::ledger::Budget;
use crate::store::StoreError;
use shuffledp_protocol::batch::BatchError;
use shuffledp_protocol::hpke::HpkeError;
use shuffledp_protocol::task::{Bytes32, TaskError};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Why a party did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The task, a value, or the operating system's randomness.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Sealing failed: the public key is none.
    #[error(transparent)]
    Hpke(#[from] HpkeError),
    /// A token, or a key of its issuer.
    #[error(transparent)]
    Blind(#[from] BlindError),
    /// A task whose reports have no tokens.
    #[error("the reports of this task have no tokens")]
    WithoutTokens,
    /// A device without the token of a window.
    #[error("a report needs a token of window {window}, and this device has none")]
    NoToken {
        /// The window.
        window: u64,
    },
    /// An answer that nobody has asked for.
    #[error("no token of window {window} was requested with this wallet")]
    NotRequested {
        /// The window.
        window: u64,
    },
    /// A window that the issuer has no key for.
    #[error("the issuer has no key for window {window}: it has those of {first} to {last}")]
    NoIssuerKey {
        /// The window.
        window: u64,
        /// The first that it has.
        first: u64,
        /// The last that it has.
        last: u64,
    },
    /// Keys that are not those of the task.
    #[error("these keys are not those of the task's issuer for window {window}")]
    OtherIssuer {
        /// The window.
        window: u64,
    },
    /// A person who had a signature of a window for another request.
    #[error("{person:?} had a signature for window {window} before")]
    Issued {
        /// Who.
        person: String,
        /// The window.
        window: u64,
    },
    /// A name that is none.
    #[error("person {person:?} is not a text of 1 to 200 bytes without control characters")]
    Person {
        /// As it was given.
        person: String,
    },
    /// Windows that no issuer has keys for.
    #[error("{windows} windows from {first_window} on are not 1 to 1000 windows below 2^64")]
    Windows {
        /// The first.
        first_window: u64,
        /// How many.
        windows: u64,
    },
    /// A window without probes of this auditor.
    #[error("the record has no probes of window {window}")]
    NoProbes {
        /// The window.
        window: u64,
    },
    /// The store of a shuffler.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A configuration that cannot be run.
    #[error("the configuration cannot be run: {message}")]
    Config {
        /// What is wrong.
        message: String,
    },
    /// An address that cannot be used.
    #[error("{address} cannot be used: {error}")]
    Address {
        /// Which one.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// A part of a shuffler that did not start.
    #[error("{what} cannot be started: {error}")]
    NotStarted {
        /// Which part.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
    /// A shuffler whose clock or store is not to be trusted: `/readyz` says why.
    #[error("the shuffler closes nothing now: it is not ready")]
    Held,
    /// A shuffler of which a thread has ended.
    #[error("a part of the shuffler has failed: it ended, and is to be started again")]
    Broken,
    /// An address of a shuffler that is none.
    #[error("{url:?} is not http://HOST:PORT or https://HOST:PORT")]
    Url {
        /// As it was given.
        url: String,
    },
    /// An address of a shuffler to which connections are not encrypted.
    #[error(
        "{url:?} is not encrypted: who sends would be open to everybody on the way, and so would tokens. \
         Allowed are https://, and http:// on this machine (127.0.0.0/8, [::1], localhost)"
    )]
    NotEncrypted {
        /// As it was given.
        url: String,
    },
    /// A shuffler that does not answer, or not as one does.
    #[error("{url} does not answer: {message}")]
    Unreachable {
        /// Its address.
        url: String,
        /// Why.
        message: String,
    },
    /// A shuffler that refuses.
    #[error("the shuffler refuses ({status}): {message}")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// Its words.
        message: String,
    },
    /// A shuffler that serves another task under the id of this one, or a message about another task.
    #[error("the task {served} was found, and {wanted} was asked for")]
    OtherTask {
        /// What was asked for.
        wanted: Bytes32,
        /// What is served.
        served: Bytes32,
    },
    /// A shuffler that gives another key than the one the device knows.
    #[error("the shuffler gives the key {served}, and this device knows {pinned}")]
    OtherShuffler {
        /// The key that the device knows.
        pinned: Bytes32,
        /// The key that it is given.
        served: Bytes32,
    },
    /// A window that takes no reports.
    #[error("window {window} is not open: open are {first} to {last}")]
    NotOpen {
        /// The window.
        window: u64,
        /// The first that is open.
        first: u64,
        /// The last that is open.
        last: u64,
    },
    /// A batch of other bytes than were listed.
    #[error("the batch has the digest {found}, and {listed} was listed")]
    OtherDigest {
        /// The digest of the list.
        listed: Bytes32,
        /// That of the bytes.
        found: Bytes32,
    },
    /// A file that cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file that cannot be written.
    #[error("{} cannot be written: {error}", path.display())]
    Unwritable {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file that would be overwritten.
    #[error("{} is there already", path.display())]
    Exists {
        /// Which one.
        path: PathBuf,
    },
    /// A file that is not what it should be.
    #[error("{} is not {what}: {message}", path.display())]
    Content {
        /// Which one.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What is wrong.
        message: String,
    },
    /// The key of another party, or another key of this one.
    #[error("{} has the public key {found}, and the task is for the analyzer's key {wanted}", path.display())]
    OtherKey {
        /// The file.
        path: PathBuf,
        /// Its public key.
        found: Bytes32,
        /// The task's.
        wanted: Bytes32,
    },
    /// A file of a batch that is none of this task.
    #[error("{}: {error}", path.display())]
    Batch {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: BatchError,
    },
    /// A window that was decided before: the coin is thrown once, and one report is sent.
    #[error("window {window} was decided before: this device {decision}")]
    Decided {
        /// The window.
        window: u64,
        /// What was decided.
        decision: &'static str,
    },
    /// A device that has answered as often as the task allows.
    #[error("this device has answered {most} windows of the task, and answers no more")]
    Spent {
        /// How many windows it answers at most.
        most: u64,
    },
    /// A task with smaller batches than the owner of the device allows.
    #[error(
        "the smallest batch of this task has {users} reports, and this device answers tasks of {least} or \
         more"
    )]
    TooFewUsers {
        /// The task's.
        users: u64,
        /// What the owner allows.
        least: u64,
    },
    /// A task that promises less than the owner of the device asks for.
    #[error(
        "this task promises epsilon {epsilon}, and this device answers tasks of {most} or less"
    )]
    TooMuchEpsilon {
        /// The task's.
        epsilon: f64,
        /// What the owner allows.
        most: f64,
    },
    /// An answer that would cost more, with all that were given, than the owner of the device allows.
    #[error(
        "with one answer more, all answers of this device together would cost epsilon {shuffled:.6}{} at \
         delta {}, and its budget is {}{}: this device does not give it",
        alone.map_or(String::new(), |alone| format!(" ({alone:.6} without shufflers)")),
        budget.delta, budget.epsilon,
        budget.alone.map_or(String::new(), |alone| format!(" ({alone} without shufflers)"))
    )]
    BeyondBudget {
        /// What the owner allows.
        budget: Budget,
        /// What all answers would cost, for who sees batches alone.
        shuffled: f64,
        /// The same for who knows which report is whose.
        alone: Option<f64>,
    },
    /// Another program has the file.
    #[error("{} is in use by another program", path.display())]
    InUse {
        /// Which one.
        path: PathBuf,
    },
}

impl ServiceError {
    pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Unreadable { path, error }
    }

    pub(crate) fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            _ => Self::Unwritable { path, error },
        }
    }

    pub(crate) fn content(path: &Path, what: &'static str, message: impl ToString) -> Self {
        Self::Content {
            path: path.to_owned(),
            what,
            message: message.to_string(),
        }
    }
}
