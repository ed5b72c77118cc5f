//! The issuer: a key for every window of one task, and a list of who had a signature for which.
//!
//! The list is on disk before a signature is given, and lies beside the keys: whoever moves the keys alone
//! would sign twice. Keys are for one task, the first that they sign for, since a signature says nothing of
//! the task that its message is about. The list names people, as the issuer does.

use super::{Answer, Request, key, of_task, to_json};
use crate::blind::{generate, sign};
use crate::error::ServiceError;
use crate::keys::Party;
use crate::secret::{self, Secret};
use crate::secure_file::{create_with_folder, lock, read_or_begin, replace};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shuffledp_protocol::task::{Bytes32, Task};
use shuffledp_protocol::token::{self, Bytes256, MOST_WINDOWS};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The longest name of a person, in bytes.
const LONGEST_PERSON: usize = 200;
/// What the files of an issuer are called in messages.
const WHAT: &str = "a file of an issuer's keys";

/// A file of keys; the public one has no secrets.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    party: Party,
    first_window: u64,
    keys: Vec<Bytes256>,
    /// PKCS #8, as hexadecimal digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<Secret>,
}

impl KeyFile {
    /// More than the bytes of the file: two digits a byte, and what stands between them.
    fn longest(&self) -> usize {
        let secrets = self.secrets.iter().map(|secret| 2 * secret.bytes().len());
        secrets.sum::<usize>()
            + (self.secrets.len() + self.keys.len()) * 32
            + self.keys.len() * 512
            + 1024
    }
}

/// Who had a signature.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    task: Option<Bytes32>,
    /// By window and person: the hash of what was signed.
    signed: BTreeMap<u64, BTreeMap<String, Bytes32>>,
}

/// The issuer of a task. Its folder is held by one program at a time.
pub struct Issuer {
    keys: KeyFile,
    list: List,
    list_path: PathBuf,
    _lock: File,
}

/// Makes an issuer's keys, one for each of `windows` windows from `first_window` on: two files in a folder,
/// which must not be there yet. Gives their paths, the secret one first.
pub fn make_issuer(
    first_window: u64,
    windows: u64,
    folder: &Path,
) -> Result<(PathBuf, PathBuf), ServiceError> {
    let count = usize::try_from(windows).ok();
    let count = count.filter(|windows| (1..=MOST_WINDOWS).contains(windows));
    let (Some(count), Some(_)) = (count, first_window.checked_add(windows)) else {
        return Err(ServiceError::Windows {
            first_window,
            windows,
        });
    };
    let mut file = KeyFile {
        party: Party::Issuer,
        first_window,
        keys: Vec::new(),
        secrets: Vec::new(),
    };
    for _ in 0..count {
        let (private, modulus) = generate()?;
        file.keys.push(modulus);
        file.secrets.push(Secret::new(private));
    }
    let path = |ending: &str| folder.join(format!("issuer.{ending}"));
    let (private, public) = (path("key"), path("pub"));
    create_with_folder(&private, &secret::to_json(&file, file.longest()))?;
    file.secrets.clear();
    create_with_folder(&public, to_json(&file).as_bytes())?;
    Ok((private, public))
}

fn read(path: &Path) -> Result<KeyFile, ServiceError> {
    let text = std::fs::read_to_string(path).map_err(ServiceError::unreadable(path))?;
    let file: KeyFile = serde_json::from_str(&Zeroizing::new(text))
        .map_err(|error| ServiceError::content(path, WHAT, error))?;
    match file.party {
        Party::Issuer => Ok(file),
        other => {
            let message = format!("it is the {}'s, and the issuer's is needed", other.name());
            Err(ServiceError::content(path, WHAT, message))
        }
    }
}

/// The issuer's public keys for a task, from either of its files.
pub fn issuer_public(path: &Path) -> Result<token::Issuer, ServiceError> {
    let file = read(path)?;
    Ok(token::Issuer {
        first_window: file.first_window,
        keys: file.keys,
    })
}

impl Issuer {
    /// The issuer of a file of secret keys. The list of who had a signature is `issued.json` beside it.
    pub fn open(path: &Path) -> Result<Self, ServiceError> {
        let list_path = path.with_file_name("issued.json");
        let lock = lock(&list_path)?;
        let keys = read(path)?;
        if keys.secrets.len() != keys.keys.len() {
            let message = "it has not a secret key for each window: it is the public file";
            return Err(ServiceError::content(path, WHAT, message));
        }
        let list = read_or_begin(&list_path, "a list of signatures that were issued")?;
        Ok(Self {
            keys,
            list,
            list_path,
            _lock: lock,
        })
    }

    /// Signs for a person and a window, once; the same request again has the same answer. Who the person is
    /// is for the caller to know.
    pub fn sign(
        &mut self,
        task: &Task,
        person: &str,
        request: &Request,
    ) -> Result<Answer, ServiceError> {
        if person.is_empty() || person.len() > LONGEST_PERSON || person.contains(char::is_control) {
            let person = person.to_owned();
            return Err(ServiceError::Person { person });
        }
        of_task(task, request.task)?;
        if let Some(first) = self.list.task {
            of_task(task, first)?;
        }
        let window = request.window;
        let modulus = key(task, window)?;
        let place = self.keys.keys.iter().position(|key| key == modulus);
        let private = place.and_then(|place| self.keys.secrets.get(place));
        let private = private.ok_or(ServiceError::OtherIssuer { window })?;
        let hash = Bytes32(Sha256::digest(request.blinded.0).into());
        let before = self.list.signed.get(&window);
        if before
            .and_then(|people| people.get(person))
            .is_some_and(|signed| *signed != hash)
        {
            let person = person.to_owned();
            return Err(ServiceError::Issued { person, window });
        }
        // A request that cannot be signed costs its person nothing.
        let signature = sign(private.bytes(), &request.blinded)?;
        self.list.task = Some(task.id());
        let people = self.list.signed.entry(window).or_default();
        people.insert(person.to_owned(), hash);
        replace(&self.list_path, to_json(&self.list).as_bytes())?;
        Ok(Answer {
            task: task.id(),
            window,
            signature,
        })
    }
}
