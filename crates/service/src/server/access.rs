//! Who may do what: devices send, a task's analyzer fetches its batches, the operator closes windows. A token
//! is known by its hash alone, so that the configuration shows none.

use crate::error::ServiceError;
use crate::secure_file::create_with_folder;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use shuffledp_protocol::task::{Bytes32, TaskError};
use shuffledp_randomizers::{Random, Secure};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A new token of 256 random bits, and its hash.
pub fn new_token() -> Result<(Zeroizing<String>, Bytes32), ServiceError> {
    let mut bytes = Zeroizing::new([0; 32]);
    Secure::new()
        .map_err(TaskError::from)?
        .fill(bytes.as_mut_slice());
    let token = Zeroizing::new(HEXLOWER.encode(bytes.as_slice()));
    let hash = hash_of(&token);
    Ok((token, hash))
}

/// Writes a new token to the file `token` of a folder, which must not be there yet: its path, and its hash.
pub fn make_token(folder: &Path) -> Result<(PathBuf, Bytes32), ServiceError> {
    let (token, hash) = new_token()?;
    let path = folder.join("token");
    create_with_folder(&path, format!("{}\n", token.as_str()).as_bytes())?;
    Ok((path, hash))
}

/// The token of a file.
pub fn read_token(path: &Path) -> Result<Zeroizing<String>, ServiceError> {
    let text = std::fs::read_to_string(path).map_err(ServiceError::unreadable(path))?;
    let token = Zeroizing::new(text.trim().to_owned());
    match token.bytes().all(|byte| byte.is_ascii_graphic()) && !token.is_empty() {
        true => Ok(token),
        false => Err(ServiceError::content(
            path,
            "a token",
            "it is not one word of ASCII",
        )),
    }
}

/// The hash of a token.
pub fn hash_of(token: &str) -> Bytes32 {
    Bytes32(Sha256::digest(token.as_bytes()).into())
}

/// Whether the value of an `Authorization` header has the token of this hash. Hashes are compared and not
/// tokens: how far two hashes agree tells nobody how to come nearer.
pub(crate) fn allowed(header: Option<&str>, hash: Option<&Bytes32>) -> bool {
    let token = header.and_then(|value| value.strip_prefix("Bearer "));
    match (token, hash) {
        (Some(token), Some(hash)) => hash_of(token) == *hash,
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{allowed, hash_of, new_token};

    #[test]
    fn a_token_opens_and_nothing_else_does() {
        let (token, hash) = new_token().unwrap();
        let header = format!("Bearer {}", token.as_str());
        assert!(allowed(Some(&header), Some(&hash)));
        assert!(!allowed(Some(&header), None));
        assert!(!allowed(None, Some(&hash)));
        for wrong in [
            "",
            "Bearer ",
            "Bearer x",
            &token,
            &header[..70],
            &format!("{header} "),
        ] {
            assert!(!allowed(Some(wrong), Some(&hash)), "{wrong}");
        }
        // SHA-256 of "abc".
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash_of("abc").to_string(), known);
    }
}
