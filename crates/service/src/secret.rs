//! Secrets of files, written as hexadecimal digits. They are cleared from memory when they are dropped, are
//! not copied without being asked for, and are in no message.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use zeroize::Zeroizing;

/// Secret bytes.
pub(crate) struct Secret(Zeroizing<Vec<u8>>);

/// Thirty-two secret bytes.
pub(crate) struct Secret32(Zeroizing<[u8; 32]>);

impl Secret {
    pub(crate) fn new(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Secret32 {
    pub(crate) fn new(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &Zeroizing<[u8; 32]> {
        &self.0
    }
}

/// Reads digits where they stand, so that no copy of them stays in memory.
struct Digits;

impl Visitor<'_> for Digits {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hexadecimal digits")
    }

    fn visit_str<E: Error>(self, digits: &str) -> Result<Secret, E> {
        let length = HEXLOWER_PERMISSIVE.decode_len(digits.len());
        let not_digits = || E::custom("a secret that is not hexadecimal digits");
        let mut bytes = Zeroizing::new(vec![0; length.map_err(|_| not_digits())?]);
        let decoded = HEXLOWER_PERMISSIVE.decode_mut(digits.as_bytes(), &mut bytes);
        decoded.map_err(|_| not_digits())?;
        Ok(Secret(bytes))
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Digits)
    }
}

impl<'de> Deserialize<'de> for Secret32 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let secret = Secret::deserialize(from)?;
        let mut bytes = Zeroizing::new([0; 32]);
        if secret.bytes().len() != bytes.len() {
            return Err(D::Error::custom(
                "a secret that is not 64 hexadecimal digits",
            ));
        }
        bytes.copy_from_slice(secret.bytes());
        Ok(Self(bytes))
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&Zeroizing::new(HEXLOWER.encode(&self.0)))
    }
}

impl Serialize for Secret32 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&Zeroizing::new(HEXLOWER.encode(&*self.0)))
    }
}

/// JSON of a file with secrets, of at most so many bytes: text that grows leaves copies where it was.
pub(crate) fn to_json(value: &impl Serialize, most: usize) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(most));
    // Texts and numbers: nothing that JSON cannot hold.
    let _ = serde_json::to_writer_pretty(&mut *text, value);
    text.push(b'\n');
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Secret, Secret32, to_json};
    use zeroize::Zeroizing;

    #[test]
    fn a_secret_is_read_as_it_is_written_and_not_shown() {
        let secret = Secret32::new(Zeroizing::new([0xab; 32]));
        let text = to_json(&secret, 100);
        assert_eq!(text.len(), 67);
        let read: Secret32 = serde_json::from_slice(&text).unwrap();
        assert_eq!(read.bytes(), secret.bytes());
        let any: Secret = serde_json::from_slice(&text).unwrap();
        assert_eq!(any.bytes(), [0xab; 32]);
        for (wrong, of_any_length) in [("\"abab\"", true), ("\"aba\"", false), ("\"xyzw\"", false)]
        {
            let refused = serde_json::from_str::<Secret32>(wrong).map(drop);
            let told = refused.unwrap_err().to_string();
            assert!(!told.contains(wrong.trim_matches('"')), "{told}");
            assert_eq!(serde_json::from_str::<Secret>(wrong).is_ok(), of_any_length);
        }
    }

    /// What was written is in memory once: a text that had to grow would be there several times.
    #[test]
    fn a_text_of_secrets_does_not_grow() {
        let secrets: Vec<Secret> = (0..9)
            .map(|_| Secret::new(Zeroizing::new(vec![7; 1200])))
            .collect();
        let most = 9 * (2 * 1200 + 16);
        let text = to_json(&secrets, most);
        assert!(
            text.capacity() == most && text.len() <= most,
            "{}",
            text.len()
        );
    }
}
