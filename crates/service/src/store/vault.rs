//! Encryption at rest: a key for every batch, wrapped by a master key that is not in the store.
//!
//! ```text
//! wrapped key = u32 number of the master || AES-256-GCM(master, key;  aad = "shuffledp/1 key" || id)
//! row         = AES-256-GCM(key of the batch, row;      aad = "shuffledp/1 row" || id || place)
//! chunk       = AES-256-GCM(key of the batch, bytes;    aad = "shuffledp/1 chunk" || id || number)
//! tag         = the first 128 bits of HMAC-SHA-256(key of the window, tag)
//! ```
//!
//! Every AES-256-GCM text has a random nonce of 96 bits before it. The collision of two nonces under one key
//! has probability below 2^-32 for 2^32 texts, the bound of NIST SP 800-38D; a batch has far fewer. Among
//! 2^32 tags of a window two are the same with probability below 2^-64, and nobody without the key can aim at
//! it.
//!
//! With the key of a batch go its reports. An engine or a backup may still hold the *wrapped* key of a batch
//! that is gone, and whoever has the master can unwrap that one. So a master is rotated: a new one is added,
//! the store wraps every key that lives with it when it is opened, and the old master is destroyed. What was
//! shredded before is then unreadable wherever a copy of it lies.

use crate::error::ServiceError;
use crate::secret::{Secret32, to_json};
use crate::secure_file::create_with_folder;
use crate::store::StoreError;
use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use serde::{Deserialize, Serialize};
use shuffledp_protocol::task::{Bytes32, TaskError};
use shuffledp_randomizers::{Random, Secure};
use std::collections::BTreeMap;
use std::path::Path;
use zeroize::Zeroizing;

const KEY: &[u8] = b"shuffledp/1 key";
const ROW: &[u8] = b"shuffledp/1 row";
const CHUNK: &[u8] = b"shuffledp/1 chunk";

/// A number of 128 random bits: of a batch, and of the place of a row.
pub(crate) type Id = [u8; 16];

/// A file of a master key has one of 64 digits, and a number.
const LONGEST: usize = 512;

/// A master key in its file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MasterFile {
    number: u32,
    master: Secret32,
}

/// The master keys of a store. The one of the largest number wraps, the others still unwrap.
///
/// ```
/// use shuffledp_service::store::vault::Vault;
/// use zeroize::Zeroizing;
/// let vault = Vault::new([(1, Zeroizing::new([7; 32]))])?;
/// assert_eq!(vault.newest(), 1);
/// # Ok::<(), shuffledp_service::store::StoreError>(())
/// ```
pub struct Vault {
    newest: u32,
    masters: BTreeMap<u32, RandomizedNonceKey>,
}

/// The key of a batch or of a window.
pub(crate) struct Key(Zeroizing<[u8; 32]>);

/// What encrypts the rows and the bytes of a batch.
pub(crate) struct Cipher {
    id: Id,
    key: RandomizedNonceKey,
}

/// What blinds the tags of a window.
pub(crate) struct Blind(hmac::Key);

/// Makes a file with a new master key. It must not be there yet.
pub fn make(path: &Path, number: u32) -> Result<(), ServiceError> {
    let master = Key::new(&mut Secure::new().map_err(TaskError::from)?);
    let file = MasterFile {
        number,
        master: Secret32::new(master.0),
    };
    create_with_folder(path, &to_json(&file, LONGEST))
}

impl Vault {
    /// The vault of these masters and their numbers.
    pub fn new(
        masters: impl IntoIterator<Item = (u32, Zeroizing<[u8; 32]>)>,
    ) -> Result<Self, StoreError> {
        let mut known = BTreeMap::new();
        for (number, master) in masters {
            if known.insert(number, aead(&*master)?).is_some() {
                let message = format!("there are two master keys of number {number}");
                return Err(StoreError::Masters(message));
            }
        }
        match known.last_key_value() {
            Some((&newest, _)) => Ok(Self {
                newest,
                masters: known,
            }),
            None => Err(StoreError::Masters("there is no master key".to_owned())),
        }
    }

    /// The vault of the masters in these files ([`make`]).
    pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Self, ServiceError> {
        let mut masters = Vec::new();
        for path in paths.iter().map(AsRef::as_ref) {
            let text = std::fs::read_to_string(path).map_err(ServiceError::unreadable(path))?;
            let file: MasterFile = serde_json::from_str(&Zeroizing::new(text))
                .map_err(|error| ServiceError::content(path, "a file of a master key", error))?;
            masters.push((file.number, file.master.bytes().clone()));
        }
        Self::new(masters).map_err(|error| match paths.last() {
            Some(path) => ServiceError::content(path.as_ref(), "a file of a master key", error),
            None => ServiceError::content(Path::new(""), "a list of master keys", error),
        })
    }

    /// The number of the master that wraps.
    pub fn newest(&self) -> u32 {
        self.newest
    }

    /// Wraps a key for the store.
    pub(crate) fn wrap(&self, id: &Id, key: &Key) -> Result<Vec<u8>, StoreError> {
        let master = self.master(self.newest)?;
        let mut wrapped = self.newest.to_be_bytes().to_vec();
        wrapped.extend(encrypt(master, &[KEY, id], &*key.0)?);
        Ok(wrapped)
    }

    /// Unwraps a key.
    pub(crate) fn unwrap(&self, id: &Id, wrapped: &[u8]) -> Result<Key, StoreError> {
        let (number, text) = wrapped.split_first_chunk().ok_or_else(unreadable)?;
        let master = self.master(u32::from_be_bytes(*number))?;
        let key = Zeroizing::new(decrypt(master, &[KEY, id], text)?);
        let key = <[u8; 32]>::try_from(&key[..]).map_err(|_| unreadable())?;
        Ok(Key(Zeroizing::new(key)))
    }

    /// The same key wrapped by the newest master, where it is not yet.
    pub(crate) fn rewrap(&self, id: &Id, wrapped: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let key = self.unwrap(id, wrapped)?;
        match wrapped.starts_with(&self.newest.to_be_bytes()) {
            true => Ok(None),
            false => self.wrap(id, &key).map(Some),
        }
    }

    fn master(&self, number: u32) -> Result<&RandomizedNonceKey, StoreError> {
        let missing = || StoreError::Damaged(format!("it needs the master key {number}"));
        self.masters.get(&number).ok_or_else(missing)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad("Vault(..)")
    }
}

impl Key {
    /// A new key.
    pub(crate) fn new(random: &mut Secure) -> Self {
        let mut key = Zeroizing::new([0; 32]);
        random.fill(&mut *key);
        Self(key)
    }

    /// For the rows and the bytes of a batch.
    pub(crate) fn cipher(&self, id: Id) -> Result<Cipher, StoreError> {
        let key = aead(&*self.0)?;
        Ok(Cipher { id, key })
    }

    /// For the tags of a window.
    pub(crate) fn blind(&self) -> Blind {
        Blind(hmac::Key::new(hmac::HMAC_SHA256, &*self.0))
    }
}

impl Cipher {
    /// Encrypts a row at its place.
    pub(crate) fn row(&self, place: &Id, row: &[u8]) -> Result<Vec<u8>, StoreError> {
        encrypt(&self.key, &[ROW, &self.id, place], row)
    }

    /// Decrypts a row.
    pub(crate) fn open_row(&self, place: &[u8], text: &[u8]) -> Result<Vec<u8>, StoreError> {
        decrypt(&self.key, &[ROW, &self.id, place], text)
    }

    /// Encrypts a part of the bytes of a batch.
    pub(crate) fn chunk(&self, number: u32, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
        encrypt(&self.key, &[CHUNK, &self.id, &number.to_be_bytes()], bytes)
    }

    /// Decrypts a part.
    pub(crate) fn open_chunk(&self, number: u32, text: &[u8]) -> Result<Vec<u8>, StoreError> {
        decrypt(&self.key, &[CHUNK, &self.id, &number.to_be_bytes()], text)
    }
}

impl Blind {
    /// What is stored of a tag.
    pub(crate) fn tag(&self, tag: &Bytes32) -> Id {
        let mut blinded = [0; 16];
        blinded.copy_from_slice(&hmac::sign(&self.0, &tag.0).as_ref()[..16]);
        blinded
    }
}

fn unreadable() -> StoreError {
    StoreError::Damaged("a text that its key does not open".to_owned())
}

fn aead(key: &[u8]) -> Result<RandomizedNonceKey, StoreError> {
    let failed = |_| StoreError::Engine("encryption is not to be had".to_owned());
    RandomizedNonceKey::new(&AES_256_GCM, key).map_err(failed)
}

fn encrypt(key: &RandomizedNonceKey, aad: &[&[u8]], plain: &[u8]) -> Result<Vec<u8>, StoreError> {
    let failed = |_| StoreError::Engine("a text cannot be encrypted".to_owned());
    let mut text = vec![0; NONCE_LEN];
    text.reserve_exact(plain.len() + AES_256_GCM.tag_len());
    text.extend(plain);
    let (nonce, tag) = key
        .seal_in_place_separate_tag(Aad::from(aad.concat()), &mut text[NONCE_LEN..])
        .map_err(failed)?;
    text[..NONCE_LEN].copy_from_slice(nonce.as_ref());
    text.extend(tag.as_ref());
    Ok(text)
}

fn decrypt(key: &RandomizedNonceKey, aad: &[&[u8]], text: &[u8]) -> Result<Vec<u8>, StoreError> {
    let (nonce, text) = text.split_first_chunk().ok_or_else(unreadable)?;
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let mut plain = text.to_vec();
    let opened = key.open_in_place(nonce, Aad::from(aad.concat()), &mut plain);
    let length = opened.map_err(|_| unreadable())?.len();
    plain.truncate(length);
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::{Key, Vault};
    use shuffledp_protocol::task::Bytes32;
    use shuffledp_randomizers::Secure;
    use zeroize::Zeroizing;

    fn vault(masters: &[(u32, u8)]) -> Vault {
        let masters = masters.iter().copied();
        Vault::new(masters.map(|(number, byte)| (number, Zeroizing::new([byte; 32])))).unwrap()
    }

    #[test]
    fn a_rotated_master_still_unwraps_until_it_is_destroyed() {
        let mut random = Secure::new().unwrap();
        let (id, key) = ([1; 16], Key::new(&mut random));
        let old = vault(&[(1, 1)]).wrap(&id, &key).unwrap();
        let both = vault(&[(1, 1), (2, 2)]);
        assert_eq!(both.unwrap(&id, &old).unwrap().0, key.0);
        let new = both.rewrap(&id, &old).unwrap().unwrap();
        assert_eq!(both.rewrap(&id, &new).unwrap(), None);
        let only_new = vault(&[(2, 2)]);
        assert_eq!(only_new.unwrap(&id, &new).unwrap().0, key.0);
        assert!(only_new.unwrap(&id, &old).is_err());
    }

    #[test]
    fn a_text_opens_only_in_its_place() {
        let mut random = Secure::new().unwrap();
        let key = Key::new(&mut random);
        let cipher = key.cipher([1; 16]).unwrap();
        let row = cipher.row(&[5; 16], b"row").unwrap();
        assert_eq!(cipher.open_row(&[5; 16], &row).unwrap(), b"row");
        assert!(cipher.open_row(&[6; 16], &row).is_err());
        assert!(
            key.cipher([2; 16])
                .unwrap()
                .open_row(&[5; 16], &row)
                .is_err()
        );
        let chunk = cipher.chunk(3, b"chunk").unwrap();
        assert_eq!(cipher.open_chunk(3, &chunk).unwrap(), b"chunk");
        assert!(cipher.open_chunk(4, &chunk).is_err());
        for cut in 0..chunk.len() {
            assert!(cipher.open_chunk(3, &chunk[..cut]).is_err());
        }
        // The same row twice: nothing at rest says so.
        assert_ne!(cipher.row(&[5; 16], b"row").unwrap(), row);
    }

    #[test]
    fn masters_are_given_once_each() {
        assert!(Vault::new([]).is_err());
        let twice = [1, 1].map(|number| (number, Zeroizing::new([0; 32])));
        assert!(Vault::new(twice).is_err());
        // A key wrapped for one batch is not that of another.
        let vault = vault(&[(1, 1)]);
        let key = Key::new(&mut Secure::new().unwrap());
        let wrapped = vault.wrap(&[1; 16], &key).unwrap();
        assert!(vault.unwrap(&[2; 16], &wrapped).is_err());
    }

    #[test]
    fn a_tag_is_blinded_by_its_window() {
        let mut random = Secure::new().unwrap();
        let (one, other) = (Key::new(&mut random).blind(), Key::new(&mut random).blind());
        let tag = Bytes32([3; 32]);
        assert_eq!(one.tag(&tag), one.tag(&tag));
        assert_ne!(one.tag(&tag), other.tag(&tag));
        assert_ne!(one.tag(&tag), one.tag(&Bytes32([4; 32])));
    }
}
