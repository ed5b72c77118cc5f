//! Batches: reports of one window and one context, released together in a uniformly random order, or not at
//! all.
//!
//! A [`Gathering`] takes opened envelopes, each once. Reports whose devices had been sent something else
//! (another *context*) do not mix: each context is a batch of its own, and too small a one is not released.
//! At the end every report gets a key of 128 random bits, and the batch is the reports in the order of their
//! keys: every order is equally likely, whatever the order of arrival.
//!
//! ```text
//! Batch, from the shuffler to the analyzer             all numbers big-endian
//!     u8   version = 1
//!     32   task id
//!     u64  window
//!     32   context
//!     u64  number of reports, each:
//!         32   enc
//!         ..   the report, sealed to the analyzer
//!
//! digest = SHA-256("shuffledp/1 batch" || Batch)
//! ```
//!
//! Where the task has a second shuffler, the first one hands it such a batch of middle layers in place of
//! reports, which are longer ([`Batch::decode_handed`]); the second opens them into a gathering of its own,
//! which counts and shuffles again.

use crate::envelope::{self, Inner, Kind, Opened, VERSION, array, handed_length};
use crate::hpke::{ENC, Hpke, SecretKey, TAG};
use crate::task::{Bytes32, Task};
use crate::token::{self, Pss};
use sha2::{Digest, Sha256};
use shuffledp_randomizers::{Random, Secure};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Version, task, window, context, number.
const HEADER: usize = 1 + 32 + 8 + 32 + 8;
/// What a digest hashes first.
const DOMAIN: &[u8] = b"shuffledp/1 batch";

/// Reports of windows that are still open.
pub struct Gathering<'t> {
    task: &'t Task,
    groups: BTreeMap<(u64, Bytes32), Vec<Inner>>,
    /// The encapsulated keys of every report, of the outer and of the inner layer: the same twice is one
    /// report sent twice. They are kept apart: everybody on the way sees those of the outer layer, and who
    /// repeats one as an inner key must not keep the report out that it is of.
    outer: HashSet<[u8; ENC]>,
    inner: HashSet<[u8; ENC]>,
    /// The tokens that were spent, by window: an issuer signs for one window. Hashes of their nonces
    /// ([`token::spent`]), also of those of earlier batches.
    tokens: HashSet<(u64, Bytes32)>,
    /// Those of them that the reports here carried, by window and context, in an order that says nothing.
    spent: BTreeMap<(u64, Bytes32), BTreeSet<Bytes32>>,
    repeated: u64,
    dummies: u64,
    /// The marks of probes by window, in their own order and in none of arrival.
    probes: BTreeMap<u64, BTreeSet<Bytes32>>,
}

/// A window and a context with fewer reports than a batch must have. They are not released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expired {
    /// The window.
    pub window: u64,
    /// What the devices had been sent.
    pub context: Bytes32,
    /// How many reports there were.
    pub reports: u64,
}

/// A batch, as it is released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    window: u64,
    context: Bytes32,
    rows: Vec<Inner>,
}

/// Why bytes are no batch of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// Too short for a header, or not as long as the header says.
    #[error("a batch of {got} bytes, which is not the length that it states")]
    Length {
        /// Its length.
        got: usize,
    },
    /// Another version of the wire format.
    #[error("a batch of wire version {got}: known is 1")]
    Version {
        /// Its version.
        got: u8,
    },
    /// Another task.
    #[error("a batch of the task {got}")]
    Task {
        /// Its task.
        got: Bytes32,
    },
    /// Fewer reports than the task allows: its users were promised more company.
    #[error("a batch of {reports} reports: those of this task have {smallest} or more")]
    TooSmall {
        /// Its reports.
        reports: u64,
        /// The smallest number.
        smallest: u64,
    },
    /// A task that has one shuffler.
    #[error("a batch for a second shuffler, and the task has none")]
    OneShuffler,
    /// A report that is there twice: it would be recognized.
    #[error("a batch that holds a report twice")]
    Repeated,
}

/// The reports of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reports {
    /// Those that the analyzer's key opens, in the order of the batch.
    pub readable: Vec<Vec<u8>>,
    /// How many it does not open.
    pub unreadable: u64,
}

impl<'t> Gathering<'t> {
    /// No reports yet.
    pub fn new(task: &'t Task) -> Self {
        Self {
            task,
            groups: BTreeMap::new(),
            outer: HashSet::new(),
            inner: HashSet::new(),
            tokens: HashSet::new(),
            spent: BTreeMap::new(),
            repeated: 0,
            dummies: 0,
            probes: BTreeMap::new(),
        }
    }

    /// The same where earlier batches have spent tokens ([`Self::spent`]), each of a window: a token that was
    /// spent for one context of its window is spent for all of them.
    pub fn with_spent(mut self, spent: impl IntoIterator<Item = (u64, Bytes32)>) -> Self {
        self.tokens.extend(spent);
        self
    }

    /// Takes a report, unless it is there already or its token was spent, drops a dummy, and notes the mark
    /// of a probe.
    pub fn take(&mut self, opened: Opened) {
        match opened.kind {
            Kind::Report => {}
            Kind::Dummy => {
                self.dummies += 1;
                return;
            }
            Kind::Probe(mark) => {
                self.probes.entry(opened.window).or_default().insert(mark);
                return;
            }
        }
        let inner = opened.inner.0.enc;
        let token = opened
            .token
            .map(|nonce| (opened.window, token::spent(&nonce)));
        let spent = token.is_some_and(|token| self.tokens.contains(&token));
        if spent || self.outer.contains(&opened.enc) || self.inner.contains(&inner) {
            self.repeated += 1;
            return;
        }
        if let Some((window, token)) = token {
            self.tokens.insert((window, token));
            let group = self.spent.entry((window, opened.context)).or_default();
            group.insert(token);
        }
        self.outer.insert(opened.enc);
        self.inner.insert(inner);
        let group = self
            .groups
            .entry((opened.window, opened.context))
            .or_default();
        group.push(opened.inner);
    }

    /// How many reports came again, or with a token that was spent, and were left out.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// How many dummies were dropped.
    pub fn dummies(&self) -> u64 {
        self.dummies
    }

    /// Hashes of the tokens that reports carried, by window and context. Whoever releases their batch keeps
    /// them for the later batches of the window ([`Self::with_spent`]).
    pub fn spent(&self) -> &BTreeMap<(u64, Bytes32), BTreeSet<Bytes32>> {
        &self.spent
    }

    /// The marks of the probes that came, by window.
    pub fn probes(&self) -> &BTreeMap<u64, BTreeSet<Bytes32>> {
        &self.probes
    }

    /// Closes all windows: the batches that are large enough, each in a random order, and those that are not.
    pub fn close(self, random: &mut Secure) -> (Vec<Batch>, Vec<Expired>) {
        let (mut batches, mut expired) = (Vec::new(), Vec::new());
        for ((window, context), rows) in self.groups {
            let reports = rows.len() as u64;
            if reports < self.task.smallest_batch() {
                expired.push(Expired {
                    window,
                    context,
                    reports,
                });
                continue;
            }
            let rows = permuted(rows, random);
            batches.push(Batch {
                window,
                context,
                rows,
            });
        }
        (batches, expired)
    }
}

/// The bytes of a batch of these rows, in an order that is drawn here: for a shuffler that keeps opened
/// reports as rows of bytes ([`Inner::row`]) until their window closes. Whether there are enough of them is
/// for the caller to see to ([`crate::lifecycle`]).
///
/// ```
/// use shuffledp_protocol::{batch, task::Bytes32};
/// use shuffledp_randomizers::Secure;
/// let (task, context) = (Bytes32([1; 32]), Bytes32([0; 32]));
/// let bytes = batch::seal(&task, 7, &context, vec![b"one", b"two"], &mut Secure::new()?);
/// assert!(bytes.ends_with(b"onetwo") || bytes.ends_with(b"twoone"));
/// # Ok::<(), shuffledp_randomizers::Error>(())
/// ```
pub fn seal<R: AsRef<[u8]>>(
    task: &Bytes32,
    window: u64,
    context: &Bytes32,
    rows: Vec<R>,
    random: &mut Secure,
) -> Vec<u8> {
    let mut bytes = header(task, window, context, rows.len() as u64);
    // Once and for all: a vector that grows takes up to three times as much meanwhile. Rows have one length.
    bytes.reserve_exact(rows.first().map_or(0, |row| row.as_ref().len()) * rows.len());
    for row in permuted(rows, random) {
        bytes.extend(row.as_ref());
    }
    bytes
}

/// The reports in the bytes of a batch, whatever else is wrong with it: for an attack on a shuffler, which
/// reads what it can. An analyzer calls [`Batch::decode`].
pub fn reports<'b>(task: &Task, bytes: &'b [u8]) -> impl Iterator<Item = Inner> + use<'b> {
    let rows = bytes.get(HEADER..).unwrap_or_default();
    rows.chunks_exact(ENC + task.report_length() + TAG)
        .filter_map(Inner::of_row)
}

/// The rows of sealed bytes, where each is of 32 bytes: marks of probes, which a shuffler keeps as it keeps
/// reports. None where the bytes are no such rows.
pub fn marks(bytes: &[u8]) -> Option<Vec<Bytes32>> {
    let rows = bytes.get(HEADER..)?;
    let whole = rows.len().is_multiple_of(32);
    whole.then(|| rows.chunks_exact(32).map(array).map(Bytes32).collect())
}

/// What a batch begins with.
fn header(task: &Bytes32, window: u64, context: &Bytes32, reports: u64) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend(task.0);
    bytes.extend(window.to_be_bytes());
    bytes.extend(context.0);
    bytes.extend(reports.to_be_bytes());
    bytes
}

/// The rows in the order of keys of 128 bits that are drawn here. Among 2^32 rows two keys are the same with
/// probability below 2^-64.
fn permuted<R>(rows: Vec<R>, random: &mut Secure) -> Vec<R> {
    let mut keyed: Vec<([u64; 2], R)> = rows
        .into_iter()
        .map(|row| ([random.word(), random.word()], row))
        .collect();
    keyed.sort_unstable_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, row)| row).collect()
}

impl Batch {
    /// The window it is of.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// What its devices had been sent.
    pub fn context(&self) -> Bytes32 {
        self.context
    }

    /// How many reports it holds.
    pub fn reports(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Its bytes.
    pub fn encode(&self, task: &Task) -> Vec<u8> {
        let mut bytes = header(&task.id(), self.window, &self.context, self.reports());
        for Inner(row) in &self.rows {
            bytes.extend(row.enc);
            bytes.extend(&row.text);
        }
        bytes
    }

    /// The batch of these bytes, for the analyzer.
    pub fn decode(task: &Task, bytes: &[u8]) -> Result<Self, BatchError> {
        Self::decode_rows(task, bytes, task.report_length() + TAG)
    }

    /// The batch of these bytes, from the first shuffler of a task to the second. A task that has one
    /// shuffler hands nothing on.
    pub fn decode_handed(task: &Task, bytes: &[u8]) -> Result<Self, BatchError> {
        match task.spec().second_shuffler {
            Some(_) => Self::decode_rows(task, bytes, handed_length(task)),
            None => Err(BatchError::OneShuffler),
        }
    }

    fn decode_rows(task: &Task, bytes: &[u8], text: usize) -> Result<Self, BatchError> {
        let got = bytes.len();
        let (header, rows) = bytes
            .split_at_checked(HEADER)
            .ok_or(BatchError::Length { got })?;
        if header[0] != VERSION {
            return Err(BatchError::Version { got: header[0] });
        }
        let of = Bytes32(array(&header[1..33]));
        if of != task.id() {
            return Err(BatchError::Task { got: of });
        }
        let row = ENC + text;
        let reports = u64::from_be_bytes(array(&header[73..]));
        if rows.len() % row != 0 || (rows.len() / row) as u64 != reports {
            return Err(BatchError::Length { got });
        }
        let smallest = task.smallest_batch();
        if reports < smallest {
            return Err(BatchError::TooSmall { reports, smallest });
        }
        let rows: Vec<Inner> = rows.chunks_exact(row).filter_map(Inner::of_row).collect();
        let mut seen = HashSet::new();
        if !rows.iter().all(|row| seen.insert(row.0.enc)) {
            return Err(BatchError::Repeated);
        }
        let window = u64::from_be_bytes(array(&header[33..41]));
        Ok(Self {
            window,
            context: Bytes32(array(&header[41..73])),
            rows,
        })
    }

    /// Opens the middle layers with the second shuffler's key into a gathering. How many it does not open, or
    /// have no token.
    pub fn open_middle(
        &self,
        suite: &(impl Hpke + Pss),
        key: &SecretKey,
        gathering: &mut Gathering<'_>,
    ) -> u64 {
        let (task, of) = (gathering.task, (self.window, self.context));
        let mut refused = 0;
        for row in &self.rows {
            match envelope::open_middle(suite, task, key, of, row) {
                Ok(opened) => gathering.take(opened),
                Err(_) => refused += 1,
            }
        }
        refused
    }

    /// The hash of its bytes.
    pub fn digest(bytes: &[u8]) -> Bytes32 {
        Bytes32(
            Sha256::new()
                .chain_update(DOMAIN)
                .chain_update(bytes)
                .finalize()
                .into(),
        )
    }

    /// Opens every report with the analyzer's key.
    pub fn open(&self, hpke: &impl Hpke, task: &Task, key: &SecretKey) -> Reports {
        let mut reports = Reports {
            readable: Vec::new(),
            unreadable: 0,
        };
        for row in &self.rows {
            match row.open(hpke, task, key, self.window, &self.context) {
                Ok(report) => reports.readable.push(report),
                Err(_) => reports.unreadable += 1,
            }
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER, seal};
    use crate::task::Bytes32;
    use shuffledp_randomizers::Secure;
    use std::collections::BTreeMap;

    /// Four rows, 240,000 times: each of the 24 orders as often as any other. Of 23 degrees of freedom,
    /// chi-square exceeds 67 with probability 3e-6. A fixed order would give 5.5 million.
    #[test]
    fn every_order_of_four_rows_is_equally_likely() {
        let mut random = Secure::new().unwrap();
        let zeros = Bytes32([0; 32]);
        let mut times: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for _ in 0..240_000 {
            let rows = vec![b"a", b"b", b"c", b"d"];
            let bytes = seal(&zeros, 0, &zeros, rows, &mut random);
            *times.entry(bytes[HEADER..].to_vec()).or_default() += 1;
        }
        assert_eq!(times.len(), 24);
        let square = |times: &u32| (f64::from(*times) - 1e4).powi(2) / 1e4;
        let chi_square: f64 = times.values().map(square).sum();
        assert!(chi_square < 67.0, "{chi_square}: {times:?}");
    }
}
