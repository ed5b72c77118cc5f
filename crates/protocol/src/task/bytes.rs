//! Thirty-two bytes that people and files see as hexadecimal digits.

use data_encoding::HEXLOWER_PERMISSIVE;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Thirty-two bytes, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes32(pub [u8; 32]);

/// A text that is not 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not 64 hexadecimal digits")]
pub struct NotBytes32 {
    /// What was read.
    pub text: String,
}

impl fmt::Display for Bytes32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&HEXLOWER_PERMISSIVE.encode(&self.0))
    }
}

impl From<Bytes32> for String {
    fn from(bytes: Bytes32) -> Self {
        bytes.to_string()
    }
}

impl TryFrom<String> for Bytes32 {
    type Error = NotBytes32;

    fn try_from(text: String) -> Result<Self, NotBytes32> {
        let decoded = HEXLOWER_PERMISSIVE.decode(text.as_bytes());
        let bytes = decoded.ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(NotBytes32 { text })
    }
}
