//! Files of keys. The secret one stays with its party and is readable by its owner alone; the public one is
//! for everybody.
//!
//! ```json
//! {"party": "shuffler", "number": 1, "public": "…", "secret": "…"}
//! ```

use crate::error::ServiceError;
use crate::secret::{Secret32, to_json};
use crate::secure_file::{create, create_public, remove};
use crate::suite::AwsLc;
use serde::{Deserialize, Serialize};
use shuffledp_protocol::envelope::ShufflerKey;
use shuffledp_protocol::hpke::{Hpke, SecretKey};
use shuffledp_protocol::task::{Bytes32, Task};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Whose key it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// Opens envelopes.
    Shuffler,
    /// Opens reports.
    Analyzer,
    /// Signs tokens ([`crate::tokens`]).
    Issuer,
    /// Opens what the first shuffler hands on.
    #[serde(rename = "second-shuffler")]
    Second,
}

impl Party {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shuffler => "shuffler",
            Self::Analyzer => "analyzer",
            Self::Issuer => "issuer",
            Self::Second => "second-shuffler",
        }
    }
}

/// The contents of a file of keys; of the public one, without the secret.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyFile {
    party: Party,
    pub(crate) number: u8,
    pub(crate) public: Bytes32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<Secret32>,
    /// When it was made, in seconds since 1970; of a key that a running shuffler made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) made: Option<u64>,
    /// When a newer key took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retired: Option<u64>,
}

/// A file of keys has two of 64 digits, and numbers.
const LONGEST: usize = 1024;
/// What a file of keys is called in messages.
const WHAT: &str = "a file of keys";

impl KeyFile {
    pub(crate) fn read(path: &Path, party: Party) -> Result<Self, ServiceError> {
        let text =
            Zeroizing::new(std::fs::read_to_string(path).map_err(ServiceError::unreadable(path))?);
        let file: Self = serde_json::from_str(&text)
            .map_err(|error| ServiceError::content(path, WHAT, error))?;
        match file.party == party {
            true => Ok(file),
            false => {
                let (found, wanted) = (file.party.name(), party.name());
                let message = format!("it is the {found}'s, and the {wanted}'s is needed");
                Err(ServiceError::content(path, WHAT, message))
            }
        }
    }

    pub(crate) fn secret(&self, path: &Path) -> Result<SecretKey, ServiceError> {
        let missing =
            || ServiceError::content(path, WHAT, "it has no secret key: it is the public file");
        let secret = self.secret.as_ref().ok_or_else(missing)?;
        Ok(SecretKey::new(secret.bytes().clone()))
    }

    /// The contents of the file.
    pub(crate) fn text(&self) -> Zeroizing<Vec<u8>> {
        to_json(self, LONGEST)
    }
}

/// Makes the keys of a shuffler or an analyzer: two files in a folder, which must not be there yet. Gives
/// their paths, the secret one first, and the public key.
pub fn make(
    party: Party,
    number: u8,
    folder: &Path,
) -> Result<(PathBuf, PathBuf, Bytes32), ServiceError> {
    let (secret_path, public_path, public, _) = make_at(party, number, folder, None)?;
    Ok((secret_path, public_path, public))
}

/// The same with the time at which they are made, and the secret key.
pub(crate) fn make_at(
    party: Party,
    number: u8,
    folder: &Path,
    made: Option<u64>,
) -> Result<(PathBuf, PathBuf, Bytes32, SecretKey), ServiceError> {
    let (public, secret) = AwsLc.keys()?;
    let name = match (party, number) {
        (Party::Shuffler, number) => format!("{}-{number}", party.name()),
        _ => party.name().to_owned(),
    };
    let path = |ending: &str| folder.join(format!("{name}.{ending}"));
    let (secret_path, public_path) = (path("key"), path("pub"));
    std::fs::create_dir_all(folder).map_err(ServiceError::unwritable(folder))?;
    let mut file = KeyFile {
        party,
        number,
        public,
        secret: Some(Secret32::new(Zeroizing::new(*secret.bytes()))),
        made,
        retired: None,
    };
    let secret_text = file.text();
    file.secret = None;
    // The public file first: where the secret one is there, both are.
    create_public(&public_path, &file.text())?;
    if let Err(error) = create(&secret_path, &secret_text) {
        // Where that fails too, the public file is left over: it opens nothing.
        let _ = remove(&public_path);
        return Err(error);
    }
    Ok((secret_path, public_path, public, secret))
}

/// The analyzer's public key, from either of its files.
pub fn analyzer_public(path: &Path) -> Result<Bytes32, ServiceError> {
    Ok(KeyFile::read(path, Party::Analyzer)?.public)
}

/// The analyzer's secret key, which must be that of the task.
pub fn analyzer_secret(path: &Path, task: &Task) -> Result<SecretKey, ServiceError> {
    let file = KeyFile::read(path, Party::Analyzer)?;
    let wanted = task.spec().analyzer_key;
    match file.public == wanted {
        true => file.secret(path),
        false => Err(ServiceError::OtherKey {
            path: path.to_owned(),
            found: file.public,
            wanted,
        }),
    }
}

/// The second shuffler's public key, from either of its files.
pub fn second_public(path: &Path) -> Result<Bytes32, ServiceError> {
    Ok(KeyFile::read(path, Party::Second)?.public)
}

/// The second shuffler's secret key, which must be that of the task.
pub fn second_secret(path: &Path, task: &Task) -> Result<SecretKey, ServiceError> {
    let file = KeyFile::read(path, Party::Second)?;
    match task.spec().second_shuffler {
        Some(key) if key == file.public => file.secret(path),
        Some(_) => {
            let message = "its public key is not that of the task's second shuffler";
            Err(ServiceError::content(path, WHAT, message))
        }
        None => {
            let message = "it is the second shuffler's, and the task has one shuffler";
            Err(ServiceError::content(path, WHAT, message))
        }
    }
}

/// The shuffler's public key and its number, from either of its files.
pub fn shuffler_public(path: &Path) -> Result<ShufflerKey, ServiceError> {
    let file = KeyFile::read(path, Party::Shuffler)?;
    Ok(ShufflerKey {
        number: file.number,
        key: file.public,
    })
}

/// The shuffler's secret keys with their numbers.
pub fn shuffler_secrets(paths: &[PathBuf]) -> Result<Vec<(u8, SecretKey)>, ServiceError> {
    let mut keys: Vec<(u8, SecretKey)> = Vec::new();
    for path in paths {
        let file = KeyFile::read(path, Party::Shuffler)?;
        if keys.iter().any(|(number, _)| *number == file.number) {
            let message = format!("there is another key of number {}", file.number);
            return Err(ServiceError::content(path, WHAT, message));
        }
        keys.push((file.number, file.secret(path)?));
    }
    Ok(keys)
}
