//! What closing a batch makes of its rows, the same in every store: an order that is drawn here, bytes in
//! encrypted chunks, a digest, and the event for the journal.

use crate::store::journal::Event;
use crate::store::vault::Cipher;
use crate::store::{Arrival, BatchName, StoreError};
use shuffledp_protocol::batch::{self, Batch};
use shuffledp_protocol::lifecycle::{self, NoEdge, State};
use shuffledp_protocol::task::Bytes32;
use shuffledp_randomizers::{Random, Secure};

/// The bytes in a chunk: below what any engine takes as one value, and enough that a million reports are some
/// hundred chunks.
const CHUNK: usize = 1 << 20;

/// A batch that is closed.
pub(crate) struct Closed {
    /// Sealed or expired.
    pub(crate) state: State,
    /// How many reports it had.
    pub(crate) reports: u64,
    /// The hash of its bytes, if it is sealed.
    pub(crate) digest: Option<Bytes32>,
    /// Its bytes in encrypted chunks; none if it expired.
    pub(crate) chunks: Vec<Vec<u8>>,
    /// For the journal.
    pub(crate) event: Event,
}

/// What is encrypted of an arrival: whether it is a dummy, and its row. At rest the two look the same.
pub(crate) fn marked(arrival: &Arrival) -> Vec<u8> {
    [&[u8::from(arrival.dummy)], &arrival.row[..]].concat()
}

/// The row of a report; none of a dummy.
fn unmarked(mut row: Vec<u8>) -> Option<Vec<u8>> {
    let dummy = row.is_empty() || row.remove(0) != 0;
    (!dummy).then_some(row)
}

/// Closes an open batch of these rows ([`marked`]). Dummies are dropped, and count for nothing.
pub(crate) fn close(
    batch: &BatchName,
    rows: Vec<Vec<u8>>,
    smallest: u64,
    cipher: &Cipher,
) -> Result<Closed, StoreError> {
    let rows: Vec<Vec<u8>> = rows.into_iter().filter_map(unmarked).collect();
    let reports = rows.len() as u64;
    let state = State::Open.after(lifecycle::Event::Close { reports, smallest })?;
    if state == State::Expired {
        return Ok(Closed {
            state,
            reports,
            digest: None,
            chunks: Vec::new(),
            event: Event::Expired {
                batch: *batch,
                reports,
                smallest,
            },
        });
    }
    let (task, context) = (&batch.task, &batch.context);
    let bytes = batch::seal(task, batch.window, context, rows, &mut random()?);
    let digest = Batch::digest(&bytes);
    let chunks = (0..).zip(bytes.chunks(CHUNK));
    let chunks = chunks.map(|(number, bytes)| cipher.chunk(number, bytes));
    Ok(Closed {
        state,
        reports,
        digest: Some(digest),
        chunks: chunks.collect::<Result<_, _>>()?,
        event: Event::Sealed {
            batch: *batch,
            reports,
            smallest,
            digest,
        },
    })
}

/// The bytes of a batch from its chunks, which must have the digest of the batch.
pub(crate) fn bytes(
    cipher: &Cipher,
    chunks: impl IntoIterator<Item = Result<Vec<u8>, StoreError>>,
    digest: Option<Bytes32>,
) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    for (number, chunk) in (0..).zip(chunks) {
        bytes.extend(cipher.open_chunk(number, &chunk?)?);
    }
    match Some(Batch::digest(&bytes)) == digest {
        true => Ok(bytes),
        false => Err(StoreError::Damaged(
            "the bytes of a batch have not its digest".to_owned(),
        )),
    }
}

/// Whether a batch may be read.
pub(crate) fn may_be_read(state: State) -> Result<(), StoreError> {
    let event = "fetched";
    match state.may_be_fetched() {
        true => Ok(()),
        false => Err(NoEdge { state, event }.into()),
    }
}

/// Where the acknowledgement of a digest leads.
pub(crate) fn acknowledged(
    state: State,
    stored: Option<Bytes32>,
    acknowledged: Bytes32,
) -> Result<State, StoreError> {
    let next = state.after(lifecycle::Event::Acknowledge)?;
    let lost = || StoreError::Damaged("a sealed batch has no digest".to_owned());
    let stored = stored.ok_or_else(lost)?;
    match stored == acknowledged {
        true => Ok(next),
        false => Err(StoreError::OtherDigest {
            stored,
            acknowledged,
        }),
    }
}

/// Every report has a tag.
pub(crate) fn check_tags(reports: &[Arrival]) -> Result<(), StoreError> {
    match reports.iter().any(|report| report.tags.is_empty()) {
        true => Err(StoreError::NoTag),
        false => Ok(()),
    }
}

/// All rows of a batch have one length.
pub(crate) fn check_length(row: &[u8], length: usize) -> Result<(), StoreError> {
    let got = row.len();
    match got == length {
        true => Ok(()),
        false => Err(StoreError::RowLength { got, length }),
    }
}

/// The generator of one call.
pub(crate) fn random() -> Result<Secure, StoreError> {
    Secure::new().map_err(|error| StoreError::Engine(error.to_string()))
}

/// 128 random bits.
pub(crate) fn id(random: &mut Secure) -> [u8; 16] {
    let mut id = [0; 16];
    random.fill(&mut id);
    id
}
