//! Hybrid public key encryption (RFC 9180, base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
//! ChaCha20-Poly1305), as the protocol needs it: one message to a public key. The implementation is a
//! library's, behind one trait; there is no cryptography in here.

use crate::task::Bytes32;
use zeroize::Zeroizing;

/// The length of an encapsulated key.
pub const ENC: usize = 32;
/// By how much a sealed text is longer than the plain one.
pub const TAG: usize = 16;

/// A key that opens. It is cleared from memory when it is dropped, and does not print.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; 32]>);

impl SecretKey {
    /// The key of these bytes.
    pub fn new(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad("SecretKey(..)")
    }
}

/// A sealed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The encapsulated key.
    pub enc: [u8; ENC],
    /// The encrypted text and its tag.
    pub text: Vec<u8>,
}

/// Why a message was not sealed or not opened. It does not say more: an opener who tells a wrong tag from a
/// wrong key helps those who try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message cannot be {0}")]
pub struct HpkeError(
    /// What was tried.
    pub &'static str,
);

/// An implementation of the one suite.
pub trait Hpke: Send + Sync {
    /// A new pair of keys.
    fn keys(&self) -> Result<(Bytes32, SecretKey), HpkeError>;

    /// Seals a text to a public key.
    fn seal(&self, to: &Bytes32, info: &[u8], aad: &[u8], text: &[u8])
    -> Result<Sealed, HpkeError>;

    /// Opens what was sealed with the same `info` and `aad`.
    fn open(
        &self,
        key: &SecretKey,
        enc: &[u8; ENC],
        info: &[u8],
        aad: &[u8],
        text: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, HpkeError>;
}
