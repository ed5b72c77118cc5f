//! Where a shuffler keeps reports until their batch is released: one trait, the edges of
//! [`shuffledp_protocol::lifecycle`], each in one durable transaction together with its entry in the journal.
//!
//! What a store promises, and one suite of tests asks of all of them:
//!
//! * A report that was taken is on disk when [`Store::take`] returns. One that comes again, by any of its
//!   tags, is not taken.
//! * A window is open until [`Store::close_windows`] says otherwise, and then closed for good, whatever the
//!   clock says later. No report is taken for a closed window.
//! * The order of a batch is drawn when it is sealed, from 128 random bits a report. No field at rest tells
//!   the order of arrival: reports lie under random keys, without time or number, those of one call in no
//!   order. The files of an engine may show which call came after which until they are compacted; what was
//!   written is encrypted, and tags are blinded.
//! * A sealed batch has the same bytes each time it is read.
//! * Reports are encrypted with a key of their batch, which is removed when the batch expires or is shredded.
//!   A copy of the wrapped key that an engine or a backup still holds is unreadable once the master key that
//!   wrapped it is destroyed ([`vault`]).
//! * A call that failed may be made again. Where the answer to a commit was lost, the transaction may hold:
//!   then the second call finds its work done (and a second shredding is refused).

pub mod embedded;
#[cfg(feature = "faults")]
pub mod fault;
#[cfg(not(feature = "faults"))]
mod fault;
pub mod journal;
pub mod postgres;
mod seal;
pub mod vault;

use crate::store::journal::Entry;
use serde::{Deserialize, Serialize};
use shuffledp_protocol::lifecycle::{NoEdge, State};
use shuffledp_protocol::task::Bytes32;

/// As the smallest number of reports in [`Store::close`]: the batch expires, however many it holds.
pub const NEVER_ENOUGH: u64 = u64::MAX;

/// Which batch: a task, a window, and what the devices had been sent for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BatchName {
    /// The task.
    pub task: Bytes32,
    /// The window.
    pub window: u64,
    /// What the devices had been sent.
    pub context: Bytes32,
}

/// A report that has arrived: opened by the shuffler, still sealed to the analyzer.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The batch that it is for.
    pub batch: BatchName,
    /// What it must not share with another report of its task and window: a hash of the outer encapsulated
    /// key, one of the inner, one of the token that was spent. One tag or more; a report that is not taken
    /// leaves none.
    pub tags: Vec<Bytes32>,
    /// The row of the batch: encapsulated key and sealed report. All rows of a batch have one length.
    pub row: Vec<u8>,
    /// Whether it holds no report. A dummy is taken and stored as a report is, so that neither an answer nor
    /// its time nor the store tells the two apart, and dropped when its batch is closed.
    pub dummy: bool,
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is in its batch.
    New,
    /// It was there before, or its token was spent before.
    Repeated,
    /// Its window is closed.
    Closed,
}

/// A batch, as the store has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which one.
    pub name: BatchName,
    /// Where it is.
    pub state: State,
    /// The reports of a batch that was closed; none while it is open, for nobody is to see who takes part.
    pub reports: Option<u64>,
    /// The hash of its bytes, once it is sealed.
    pub digest: Option<Bytes32>,
    /// When it was closed, in seconds since 1970.
    pub closed: Option<u64>,
}

/// Why a store did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A batch that the store does not have.
    #[error("there is no batch of window {} and context {} of the task {}", _0.window, _0.context, _0.task)]
    Unknown(BatchName),
    /// A report without a tag: it could come any number of times.
    #[error("a report without a tag: a report has one or more")]
    NoTag,
    /// A row that would be recognized by its length.
    #[error("a row of {got} bytes: those of its batch have {length}")]
    RowLength {
        /// Its length.
        got: usize,
        /// That of the others.
        length: usize,
    },
    /// A batch that still takes reports.
    #[error("the window {} is open: the first open window of its task is {first_open}", batch.window)]
    WindowOpen {
        /// Which batch.
        batch: BatchName,
        /// The first window that is open.
        first_open: u64,
    },
    /// An edge that there is not.
    #[error(transparent)]
    NoEdge(#[from] NoEdge),
    /// An acknowledgement of other bytes.
    #[error("the batch has the digest {stored}, and {acknowledged} was acknowledged")]
    OtherDigest {
        /// The digest of the batch.
        stored: Bytes32,
        /// What was acknowledged.
        acknowledged: Bytes32,
    },
    /// The engine failed. The call may be made again.
    #[error("the store failed: {0}")]
    Engine(String),
    /// Master keys with which no store can be opened.
    #[error("the master keys of the store cannot be used: {0}")]
    Masters(String),
    /// What is stored is not what was written, or the key of the store is another one.
    #[error("the store is damaged or has another key: {0}")]
    Damaged(String),
}

/// A store of batches. Calls come from several threads at once, and of a shared database from several
/// programs.
pub trait Store: Send + Sync {
    /// Takes reports, in one transaction for all of them: one answer for each, in their order. Of two with
    /// the same tag the first is taken.
    fn take(&self, reports: &[Arrival]) -> Result<Vec<Taken>, StoreError>;

    /// Closes all windows of a task before `first_open`, for good. Earlier calls with a larger number stand.
    /// Gives the first window that is open now.
    fn close_windows(&self, task: &Bytes32, first_open: u64) -> Result<u64, StoreError>;

    /// Closes an open batch whose window is closed; of one that is open it is an error. Seals it if it holds
    /// `smallest` reports or more, and lets it expire otherwise. A batch that was closed before stays as it
    /// is. `now` is written down as the time of closing.
    fn close(&self, batch: &BatchName, smallest: u64, now: u64) -> Result<Record, StoreError>;

    /// The batches of a task, of windows from this one on.
    fn batches(&self, task: &Bytes32, from: u64) -> Result<Vec<Record>, StoreError>;

    /// The rows that the open batches of a task hold, with dummies: for the shuffler's own limits after a
    /// start, and for nobody else while a window is open.
    fn rows(&self, task: &Bytes32) -> Result<Vec<(BatchName, u64)>, StoreError>;

    /// The bytes of a sealed or released batch ([`shuffledp_protocol::batch`]).
    fn read(&self, batch: &BatchName) -> Result<Vec<u8>, StoreError>;

    /// The analyzer has the batch with this digest.
    fn acknowledge(&self, batch: &BatchName, digest: &Bytes32) -> Result<Record, StoreError>;

    /// Destroys the key and the reports of a sealed or released batch.
    fn shred(&self, batch: &BatchName) -> Result<Record, StoreError>;

    /// Writes down what is not about a batch: a task that was loaded, a key that came or went.
    fn note(&self, event: &str) -> Result<(), StoreError>;

    /// The whole journal, oldest first.
    fn journal(&self) -> Result<Vec<Entry>, StoreError>;

    /// The entry of the journal with this number.
    fn entry(&self, number: u64) -> Result<Option<Entry>, StoreError>;

    /// The last entry of the journal.
    fn last_entry(&self) -> Result<Option<Entry>, StoreError>;

    /// Whether the store can be written.
    fn ready(&self) -> Result<(), StoreError>;
}
