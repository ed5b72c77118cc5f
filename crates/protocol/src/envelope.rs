//! Envelopes: a report within two layers of encryption. The shuffler opens the outer one and learns that
//! somebody reported, the analyzer opens the inner one and learns a report of the crowd.
//!
//! ```text
//! Envelope, from a device to the shuffler              all numbers big-endian
//!     u8   version = 1
//!     u8   which of the shuffler's keys
//!     32   task id
//!     u64  window
//!     32   enc
//!     ..   OuterPlain, sealed to the shuffler
//!          info = "shuffledp/1 outer" 01 02      aad = version || key || task id || window
//!
//! OuterPlain
//!     u8   kind: 0 a report, 1 a dummy, 2 a probe
//!     16   nonce, drawn by the device
//!     32   context: the hash of what devices were sent for this window; zeros where it is nothing
//!     288  token, where the task has an issuer of them ([`crate::token`])
//!     32   enc
//!     ..   the report, sealed to the analyzer
//!          info = "shuffledp/1 inner" 01 03      aad = task id || window || context
//! ```
//!
//! A dummy has random bytes for the fields after the context, which is that of a report. A device that stays
//! silent may send one: nobody on the way, who sees the length and the time of an envelope and no more,
//! learns who takes part. The shuffler drops it.
//!
//! A probe is a dummy that must come back. Whoever makes it keeps its *mark*, a hash of the nonce; the
//! shuffler publishes the marks of the probes that it received when their window is closed, and never puts
//! one into a batch. A mark that is missing shows that envelopes were lost or kept back on the way, where
//! nobody could tell probe from report.
//!
//! ```text
//! mark = SHA-256("shuffledp/1 probe" || task id || window || nonce)
//! ```
//!
//! Where the task has a second shuffler there is a layer between the two, which the first cannot open: it
//! hands the batch of middle layers on ([`crate::batch`]), and the second one opens them, shuffles again, and
//! releases the reports to the analyzer. The first learns who sends, the second what the analyzer gets, in an
//! order that the first has drawn. The token is for the second: a first shuffler that saw it could spend it
//! on a report of its own.
//!
//! ```text
//! OuterPlain                             as above, but with
//!     32   context
//!     32   enc
//!     ..   MiddlePlain, sealed to the second shuffler
//!          info = "shuffledp/1 middle" 01 04     aad = task id || window || context
//!
//! MiddlePlain
//!     288  token, where the task has an issuer of them
//!     32   enc
//!     ..   the report, sealed to the analyzer, as above
//! ```
//!
//! The task id is the hash of the whole task ([`crate::task`]), so that both layers are bound to every number
//! in it. All envelopes of a task have the same length ([`envelope_length`]); another length is refused
//! before anything is decrypted.

use crate::hpke::{ENC, Hpke, HpkeError, Sealed, SecretKey, TAG};
use crate::task::{Bytes32, Task};
use crate::token::{self, Pss, TOKEN, Token};
use sha2::{Digest, Sha256};
use shuffledp_randomizers::{Random, Secure};

/// The version of the wire format.
pub const VERSION: u8 = 1;
/// The kind of an envelope that holds a report.
const REPORT: u8 = 0;
/// The kind of one that holds none.
const DUMMY: u8 = 1;
/// The kind of one that holds none and must come back.
const PROBE: u8 = 2;
/// The context under which a shuffler keeps the marks of probes. No report may have it: it is no hash of what
/// devices are sent.
pub const PROBES: Bytes32 = Bytes32(*b"shuffledp/1 probes of one window");
/// What a mark hashes first.
const MARK_DOMAIN: &[u8] = b"shuffledp/1 probe";
const NONCE: usize = 16;
/// Version, key, task, window.
const HEADER: usize = 1 + 1 + 32 + 8;
/// What an outer text holds beside the inner one.
const OUTER: usize = 1 + NONCE + 32 + ENC;

const OUTER_INFO: &[u8] = b"shuffledp/1 outer\x01\x02";
const MIDDLE_INFO: &[u8] = b"shuffledp/1 middle\x01\x04";
const INNER_INFO: &[u8] = b"shuffledp/1 inner\x01\x03";

/// A public key of the shuffler, and which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShufflerKey {
    /// Its number.
    pub number: u8,
    /// The key.
    pub key: Bytes32,
}

/// What a shuffler hands on and cannot read: a report for the analyzer, or a middle layer for the second
/// shuffler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner(pub(crate) Sealed);

/// What is in an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A report.
    Report,
    /// Nothing: it is there so that silence cannot be seen.
    Dummy,
    /// Nothing, with this mark: it is there to come back.
    Probe(Bytes32),
}

/// What the shuffler sees in an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opened {
    /// Whether it holds a report.
    pub kind: Kind,
    /// The window it is for.
    pub window: u64,
    /// What the device had been sent.
    pub context: Bytes32,
    /// The encapsulated key of the outer layer: an envelope that is sent twice has the same.
    pub enc: [u8; ENC],
    /// The nonce of its token, which the issuer has signed; none where there is no report, and of a task
    /// without tokens.
    pub token: Option<[u8; token::NONCE]>,
    /// For the analyzer, or for the second shuffler; of a dummy or a probe it is nothing.
    pub inner: Inner,
}

/// Why an envelope is none of this task's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// Another length: lengths would tell people apart.
    #[error("an envelope of {got} bytes: those of this task have {length}")]
    Length {
        /// Its length.
        got: usize,
        /// That of the task's.
        length: usize,
    },
    /// Another version of the wire format.
    #[error("an envelope of wire version {got}: known is 1")]
    Version {
        /// Its version.
        got: u8,
    },
    /// Another task.
    #[error("an envelope of the task {got}")]
    Task {
        /// Its task.
        got: Bytes32,
    },
    /// A key that the shuffler does not have.
    #[error("an envelope for the shuffler's key {number}")]
    Key {
        /// Its number.
        number: u8,
    },
    /// Encrypted to another key, for another task, or damaged.
    #[error("an envelope that the shuffler's key does not open")]
    Sealed,
    /// A report that says it is of the probes.
    #[error("an envelope with the context of probes")]
    Context,
    /// A kind of envelope that is not in use.
    #[error("an envelope of kind {got}: known are 0, 1 and 2")]
    Kind {
        /// Its kind.
        got: u8,
    },
    /// A report without a token that the issuer has signed for this task and window.
    #[error("an envelope without a token of the window {window}")]
    Token {
        /// Its window.
        window: u64,
    },
}

/// The length of the token of a report.
fn token_length(task: &Task) -> usize {
    task.spec().tokens.as_ref().map_or(0, |_| TOKEN)
}

/// The length of an inner text.
fn inner_length(task: &Task) -> usize {
    task.report_length() + TAG
}

/// Whether the token is in the outer layer; else it is in the middle one, if there is one.
fn outer_token_length(task: &Task) -> usize {
    match task.spec().second_shuffler {
        None => token_length(task),
        Some(_) => 0,
    }
}

/// The length of the text that a shuffler hands on and cannot read.
pub(crate) fn handed_length(task: &Task) -> usize {
    match task.spec().second_shuffler {
        None => inner_length(task),
        Some(_) => token_length(task) + ENC + inner_length(task) + TAG,
    }
}

/// The length of every envelope of a task.
pub fn envelope_length(task: &Task) -> usize {
    HEADER + ENC + OUTER + outer_token_length(task) + handed_length(task) + TAG
}

/// The window that an envelope says it is for, before it is opened; none where it is too short to say.
pub fn window_of(envelope: &[u8]) -> Option<u64> {
    let bytes = envelope.get(HEADER - 8..HEADER)?;
    Some(u64::from_be_bytes(array(bytes)))
}

fn header(key: u8, task: &Task, window: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[0] = VERSION;
    header[1] = key;
    header[2..34].copy_from_slice(&task.id().0);
    header[34..].copy_from_slice(&window.to_be_bytes());
    header
}

fn inner_aad(task: &Task, window: u64, context: &Bytes32) -> Vec<u8> {
    [&task.id().0[..], &window.to_be_bytes(), &context.0].concat()
}

/// Seals a report for the analyzer, and that for the shuffler. `report` has the task's length, and the task
/// has no tokens.
pub fn seal(
    hpke: &impl Hpke,
    task: &Task,
    shuffler: &ShufflerKey,
    window: u64,
    context: Bytes32,
    report: &[u8],
    random: &mut Secure,
) -> Result<Vec<u8>, HpkeError> {
    if task.spec().tokens.is_some() {
        return Err(HpkeError("sealed: the task needs a token"));
    }
    let to = (task, shuffler, window);
    seal_report(hpke, to, context, None, report, random)
}

/// The same for a task with tokens, in the window of the token.
pub fn seal_with_token(
    suite: &(impl Hpke + Pss),
    task: &Task,
    shuffler: &ShufflerKey,
    context: Bytes32,
    token: &Token,
    report: &[u8],
    random: &mut Secure,
) -> Result<Vec<u8>, HpkeError> {
    if !token.is_of(suite, task) {
        return Err(HpkeError("sealed: the token is none of the task"));
    }
    let to = (task, shuffler, token.window);
    seal_report(suite, to, context, Some(token), report, random)
}

fn seal_report(
    hpke: &impl Hpke,
    (task, shuffler, window): (&Task, &ShufflerKey, u64),
    context: Bytes32,
    token: Option<&Token>,
    report: &[u8],
    random: &mut Secure,
) -> Result<Vec<u8>, HpkeError> {
    if report.len() != task.report_length() {
        return Err(HpkeError(
            "sealed: the report has not the length of the task's",
        ));
    }
    let to = &task.spec().analyzer_key;
    let aad = inner_aad(task, window, &context);
    let inner = hpke.seal(to, INNER_INFO, &aad, report)?;
    let token = token.map_or(Vec::new(), |token| token.encode().to_vec());
    let (token, handed) = match &task.spec().second_shuffler {
        None => (token, inner),
        Some(second) => {
            let plain = [&token[..], &inner.enc, &inner.text].concat();
            let middle = hpke.seal(second, MIDDLE_INFO, &aad, &plain)?;
            (Vec::new(), middle)
        }
    };
    let content = ((REPORT, nonce(random)), context, token, handed);
    seal_outer(hpke, (task, shuffler, window), content)
}

/// The mark of a probe.
fn mark(task: &Task, window: u64, nonce: &[u8]) -> Bytes32 {
    let hash = Sha256::new()
        .chain_update(MARK_DOMAIN)
        .chain_update(task.id().0)
        .chain_update(window.to_be_bytes())
        .chain_update(nonce);
    Bytes32(hash.finalize().into())
}

/// Seals a probe, which nobody but the shuffler can tell from an envelope with a report: its bytes, and its
/// mark.
pub fn seal_probe(
    hpke: &impl Hpke,
    task: &Task,
    shuffler: &ShufflerKey,
    window: u64,
    random: &mut Secure,
) -> Result<(Vec<u8>, Bytes32), HpkeError> {
    let nonce = nonce(random);
    let mark = mark(task, window, &nonce);
    let to = (task, shuffler, window);
    let envelope = seal_empty(hpke, to, (PROBE, nonce), Bytes32([0; 32]), random)?;
    Ok((envelope, mark))
}

/// Seals an envelope without a report, which nobody but the shuffler can tell from one with a report, of the
/// context that a report would have.
pub fn seal_dummy(
    hpke: &impl Hpke,
    task: &Task,
    shuffler: &ShufflerKey,
    window: u64,
    context: Bytes32,
    random: &mut Secure,
) -> Result<Vec<u8>, HpkeError> {
    let nonce = nonce(random);
    let to = (task, shuffler, window);
    seal_empty(hpke, to, (DUMMY, nonce), context, random)
}

fn nonce(random: &mut Secure) -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    random.fill(&mut nonce);
    nonce
}

/// An envelope with random bytes in place of a report.
fn seal_empty(
    hpke: &impl Hpke,
    (task, shuffler, window): (&Task, &ShufflerKey, u64),
    kind: (u8, [u8; NONCE]),
    context: Bytes32,
    random: &mut Secure,
) -> Result<Vec<u8>, HpkeError> {
    let mut inner = Sealed {
        enc: [0; ENC],
        text: vec![0; handed_length(task)],
    };
    random.fill(&mut inner.enc);
    random.fill(&mut inner.text);
    let mut token = vec![0; outer_token_length(task)];
    random.fill(&mut token);
    if let Some(signature) = token.get_mut(token::NONCE..) {
        // The largest bit of a modulus is 1 ([`crate::token`]): so what is here is below every modulus, as
        // signatures are. A larger number is refused before anything is computed, which takes less time.
        signature[0] &= 0x7f;
    }
    let content = (kind, context, token, inner);
    seal_outer(hpke, (task, shuffler, window), content)
}

fn seal_outer(
    hpke: &impl Hpke,
    (task, shuffler, window): (&Task, &ShufflerKey, u64),
    ((kind, nonce), context, token, inner): ((u8, [u8; NONCE]), Bytes32, Vec<u8>, Sealed),
) -> Result<Vec<u8>, HpkeError> {
    if shuffler.key == task.spec().analyzer_key {
        return Err(HpkeError(
            "sealed: the shuffler's key is the analyzer's, who would see who sends what",
        ));
    }
    if task.spec().second_shuffler == Some(shuffler.key) {
        return Err(HpkeError("sealed: both shufflers have the same key"));
    }
    let plain = [
        &[kind][..],
        &nonce,
        &context.0,
        &token,
        &inner.enc,
        &inner.text,
    ]
    .concat();
    let header = header(shuffler.number, task, window);
    let outer = hpke.seal(&shuffler.key, OUTER_INFO, &header, &plain)?;
    Ok([&header[..], &outer.enc, &outer.text].concat())
}

/// Opens the outer layer with the one of the shuffler's keys that the envelope is for.
pub fn open(
    suite: &(impl Hpke + Pss),
    task: &Task,
    keys: &[(u8, SecretKey)],
    envelope: &[u8],
) -> Result<Opened, EnvelopeError> {
    let length = envelope_length(task);
    if envelope.len() != length {
        return Err(EnvelopeError::Length {
            got: envelope.len(),
            length,
        });
    }
    let (header, sealed) = envelope.split_at(HEADER);
    if header[0] != VERSION {
        return Err(EnvelopeError::Version { got: header[0] });
    }
    let got = Bytes32(array(&header[2..34]));
    if got != task.id() {
        return Err(EnvelopeError::Task { got });
    }
    let number = header[1];
    let key = keys.iter().find(|(known, _)| *known == number);
    let (_, key) = key.ok_or(EnvelopeError::Key { number })?;
    let enc = array(&sealed[..ENC]);
    let plain = suite.open(key, &enc, OUTER_INFO, header, &sealed[ENC..]);
    // The length of the envelope settles that of the text.
    let plain = plain.map_err(|_| EnvelopeError::Sealed)?;
    let window = u64::from_be_bytes(array(&header[HEADER - 8..]));
    let kind = match plain[0] {
        REPORT => Kind::Report,
        DUMMY => Kind::Dummy,
        PROBE => Kind::Probe(mark(task, window, &plain[1..1 + NONCE])),
        got => return Err(EnvelopeError::Kind { got }),
    };
    let (context, rest) = plain[1 + NONCE..].split_at(32);
    if kind == Kind::Report && context == PROBES.0 {
        return Err(EnvelopeError::Context);
    }
    let (token, rest) = rest.split_at(outer_token_length(task));
    let inner = Sealed {
        enc: array(&rest[..ENC]),
        text: rest[ENC..].to_vec(),
    };
    Ok(Opened {
        kind,
        window,
        context: Bytes32(array(context)),
        enc,
        token: spent(suite, task, (kind, window), token)?,
        inner: Inner(inner),
    })
}

/// Opens a middle layer with the second shuffler's key: a row of what the first one handed on, of this window
/// and context.
pub fn open_middle(
    suite: &(impl Hpke + Pss),
    task: &Task,
    key: &SecretKey,
    (window, context): (u64, Bytes32),
    middle: &Inner,
) -> Result<Opened, EnvelopeError> {
    let Inner(Sealed { enc, text }) = middle;
    let length = handed_length(task);
    if task.spec().second_shuffler.is_none() || text.len() != length {
        let got = text.len();
        return Err(EnvelopeError::Length { got, length });
    }
    let aad = inner_aad(task, window, &context);
    let plain = suite.open(key, enc, MIDDLE_INFO, &aad, text);
    // The length of the text settles that of what is in it.
    let plain = plain.map_err(|_| EnvelopeError::Sealed)?;
    let (token, rest) = plain.split_at(token_length(task));
    let inner = Sealed {
        enc: array(&rest[..ENC]),
        text: rest[ENC..].to_vec(),
    };
    Ok(Opened {
        kind: Kind::Report,
        window,
        context,
        enc: *enc,
        token: spent(suite, task, (Kind::Report, window), token)?,
        inner: Inner(inner),
    })
}

/// The nonce of the token of a report, which must be signed. The signature of a dummy or a probe is verified
/// as well, whatever comes of it: random bytes below the modulus ([`seal_empty`]) take as long as one.
fn spent(
    pss: &impl Pss,
    task: &Task,
    (kind, window): (Kind, u64),
    token: &[u8],
) -> Result<Option<[u8; token::NONCE]>, EnvelopeError> {
    let Ok(token) = <&[u8; TOKEN]>::try_from(token) else {
        // A task without tokens.
        return Ok(None);
    };
    let token = Token::decode(window, token);
    match (token.is_of(pss, task), kind) {
        (_, Kind::Dummy | Kind::Probe(_)) => Ok(None),
        (true, Kind::Report) => Ok(Some(token.nonce)),
        (false, Kind::Report) => Err(EnvelopeError::Token { window }),
    }
}

impl Inner {
    /// The row of a batch: encapsulated key and sealed report ([`crate::batch::seal`]).
    pub fn row(&self) -> Vec<u8> {
        [&self.0.enc[..], &self.0.text].concat()
    }

    /// Its encapsulated key: a report that is sent twice, in envelopes of their own, has the same.
    pub fn enc(&self) -> &[u8; ENC] {
        &self.0.enc
    }

    /// What a row holds; none where it is too short for a key.
    pub(crate) fn of_row(row: &[u8]) -> Option<Self> {
        let (enc, text) = row.split_first_chunk()?;
        Some(Self(Sealed {
            enc: *enc,
            text: text.to_vec(),
        }))
    }

    /// Opens the inner layer with the analyzer's key: the report.
    pub fn open(
        &self,
        hpke: &impl Hpke,
        task: &Task,
        key: &SecretKey,
        window: u64,
        context: &Bytes32,
    ) -> Result<Vec<u8>, HpkeError> {
        let aad = inner_aad(task, window, context);
        let report = hpke.open(key, &self.0.enc, INNER_INFO, &aad, &self.0.text)?;
        Ok(report.to_vec())
    }
}

/// The first bytes of a slice that is long enough.
pub(crate) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}
