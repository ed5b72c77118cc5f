//! Tokens: what a report carries where a task counts people, and not envelopes. A device has an issuer sign
//! a number of its own, blindly (RFC 9474, RSABSSA-SHA384-PSS-Randomized), and sends number and signature
//! with its report; the shuffler takes a number once. Neither the issuer nor the shuffler, nor both of them
//! together, can tell from a token whose it is: all whom the issuer has signed for in that window are equally
//! likely. Because a random number of the device is signed, that holds also where the issuer did not make its
//! keys as it should (Lysyanskaya, "Security Analysis of RSA-BSSA", 2022).
//!
//! ```text
//! Token                              in an envelope, all numbers big-endian
//!     32   nonce, drawn by the device
//!     256  signature, by the issuer's key for the window, of
//!          nonce || "shuffledp/1 token" || task id || u64 window
//!
//! signature: RSASSA-PSS, modulus of 2048 bits, exponent 65537, SHA-384, salt of 48 bytes
//! ```
//!
//! An issuer who signs blindly does not see for which window it signs. So it has a key for each window
//! ([`Issuer`]), all of them part of the task: thirty signatures of one person, one a window, are no thirty
//! tokens of one window. A key that was made for one person alone would be another task.
//!
//! The number is what must not come twice, not the signature: whoever has n signatures has n numbers.

use crate::task::{Bytes32, Task};
use data_encoding::HEXLOWER_PERMISSIVE;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// The length of a modulus, of a signature and of a blinded message, in bytes.
pub const MODULUS: usize = 256;
/// The exponent of every key.
pub const EXPONENT: u32 = 65_537;
/// The length of a nonce.
pub const NONCE: usize = 32;
/// The length of a token.
pub const TOKEN: usize = NONCE + MODULUS;
/// The most windows that an issuer has keys for.
pub const MOST_WINDOWS: usize = 1000;
/// What a signed message has first, after the nonce.
const DOMAIN: &[u8] = b"shuffledp/1 token";

/// What the hash of a nonce that was spent has first.
const SPENT: &[u8] = b"shuffledp/1 spent token";

/// The hash of the nonce of a token: what a shuffler keeps of one that was spent.
pub fn spent(nonce: &[u8; NONCE]) -> Bytes32 {
    let hash = Sha256::new().chain_update(SPENT).chain_update(nonce);
    Bytes32(hash.finalize().into())
}

/// 256 bytes, written as 512 hexadecimal digits: a modulus, a signature, a blinded message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes256(pub [u8; MODULUS]);

/// A text that is not 512 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a text of {length} characters is not 512 hexadecimal digits")]
pub struct NotBytes256 {
    /// The length of what was read.
    pub length: usize,
}

impl fmt::Display for Bytes256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&HEXLOWER_PERMISSIVE.encode(&self.0))
    }
}

impl fmt::Debug for Bytes256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes256({self})")
    }
}

impl From<Bytes256> for String {
    fn from(bytes: Bytes256) -> Self {
        bytes.to_string()
    }
}

impl TryFrom<String> for Bytes256 {
    type Error = NotBytes256;

    fn try_from(text: String) -> Result<Self, NotBytes256> {
        let decoded = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok();
        let bytes = decoded.and_then(|bytes| bytes.try_into().ok());
        let length = text.len();
        bytes.map(Self).ok_or(NotBytes256 { length })
    }
}

/// The issuer of a task: its public keys, one for each window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// The window of the first key; the others follow it.
    pub first_window: u64,
    /// The moduli.
    pub keys: Vec<Bytes256>,
}

impl Issuer {
    /// The key for a window; none where the issuer has none.
    ///
    /// ```
    /// use shuffledp_protocol::token::{Bytes256, Issuer};
    /// let issuer = Issuer { first_window: 7, keys: vec![Bytes256([255; 256])] };
    /// assert!(issuer.key(7).is_some() && issuer.key(6).is_none() && issuer.key(8).is_none());
    /// ```
    pub fn key(&self, window: u64) -> Option<&Bytes256> {
        let place = window.checked_sub(self.first_window)?;
        self.keys.get(usize::try_from(place).ok()?)
    }

    /// What is wrong with it, as value and what is allowed.
    pub(crate) fn check(&self) -> Result<(), (String, &'static str)> {
        let windows = self.keys.len();
        if !(1..=MOST_WINDOWS).contains(&windows) {
            return Err((format!("for {windows} windows"), "for 1 to 1000"));
        }
        if self.first_window.checked_add(windows as u64).is_none() {
            let allowed = "for windows below 2^64";
            return Err((format!("from window {} on", self.first_window), allowed));
        }
        for (place, key) in self.keys.iter().enumerate() {
            if key.0[0] < 128 || key.0[MODULUS - 1].is_multiple_of(2) {
                let allowed = "with odd moduli of 2048 bits alone";
                return Err((format!("with its key number {place}"), allowed));
            }
            // A key for two windows would let people choose the window of their token.
            if self.keys[..place].contains(key) {
                let allowed = "with another key for each window";
                return Err((format!("with its key number {place}"), allowed));
            }
        }
        Ok(())
    }
}

/// A token of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The window that it is for.
    pub window: u64,
    /// The number that was signed.
    pub nonce: [u8; NONCE],
    /// The issuer's signature.
    pub signature: Bytes256,
}

/// Verification of one kind of signatures. The implementation is a library's.
pub trait Pss: Send + Sync {
    /// Whether a signature is one of these bytes, RSASSA-PSS with SHA-384, a salt of 48 bytes and the
    /// exponent [`EXPONENT`].
    fn verifies(&self, modulus: &Bytes256, message: &[u8], signature: &[u8; MODULUS]) -> bool;
}

/// What is signed, without the nonce before it.
pub fn message(task: &Bytes32, window: u64) -> Vec<u8> {
    [DOMAIN, &task.0, &window.to_be_bytes()].concat()
}

impl Token {
    /// Its bytes in an envelope.
    pub(crate) fn encode(&self) -> [u8; TOKEN] {
        let mut bytes = [0; TOKEN];
        bytes[..NONCE].copy_from_slice(&self.nonce);
        bytes[NONCE..].copy_from_slice(&self.signature.0);
        bytes
    }

    /// The token of these bytes.
    pub(crate) fn decode(window: u64, bytes: &[u8; TOKEN]) -> Self {
        let (mut nonce, mut signature) = ([0; NONCE], [0; MODULUS]);
        nonce.copy_from_slice(&bytes[..NONCE]);
        signature.copy_from_slice(&bytes[NONCE..]);
        Self {
            window,
            nonce,
            signature: Bytes256(signature),
        }
    }

    /// Whether the issuer of the task has signed it, for this task and its window.
    pub fn is_of(&self, pss: &impl Pss, task: &Task) -> bool {
        let issuer = task.spec().tokens.as_ref();
        let key = issuer.and_then(|issuer| issuer.key(self.window));
        let signed = [&self.nonce[..], &message(&task.id(), self.window)].concat();
        key.is_some_and(|key| pss.verifies(key, &signed, &self.signature.0))
    }
}
