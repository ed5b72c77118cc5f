//! A device's tokens: what it has asked for, and what was signed.
//!
//! A request is on disk before it is sent, and asking again for the same window gives the same request: an
//! issuer who signs once for a person and a window answers it as often as it comes.

use super::{Answer, Request, key, of_task, to_json};
use crate::blind::{blind, unblind};
use crate::error::ServiceError;
use crate::secure_file::{lock, read_or_begin, replace};
use serde::{Deserialize, Serialize};
use shuffledp_protocol::task::{Bytes32, Task};
use shuffledp_protocol::token::{Bytes256, Token, message};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A window of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    nonce: Bytes32,
    blinded: Bytes256,
    /// What takes the blinding off; gone when it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<Bytes256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<Bytes256>,
}

/// The file of a device's tokens, held by one program at a time.
#[derive(Debug)]
pub struct Wallet {
    path: PathBuf,
    tasks: BTreeMap<String, BTreeMap<u64, Kept>>,
    _lock: File,
}

impl Wallet {
    /// Opens the wallet of a file, or begins one.
    pub fn open(path: &Path) -> Result<Self, ServiceError> {
        let lock = lock(path)?;
        let tasks = read_or_begin(path, "a device's wallet")?;
        Ok(Self {
            path: path.to_owned(),
            tasks,
            _lock: lock,
        })
    }

    /// The request for a window: a new one, or the one that was made before.
    pub fn request(&mut self, task: &Task, window: u64) -> Result<Request, ServiceError> {
        let modulus = key(task, window)?;
        let id = task.id();
        let windows = self.tasks.entry(id.to_string()).or_default();
        if let Some(kept) = windows.get(&window) {
            return Ok(Request {
                task: id,
                window,
                blinded: kept.blinded,
            });
        }
        let blinded = blind(modulus, &message(&id, window))?;
        let kept = Kept {
            nonce: Bytes32(blinded.nonce),
            blinded: blinded.message,
            secret: Some(Bytes256(*blinded.secret)),
            signature: None,
        };
        windows.insert(window, kept);
        self.write()?;
        Ok(Request {
            task: id,
            window,
            blinded: blinded.message,
        })
    }

    /// Takes the issuer's answer: the window has a token then.
    pub fn finish(&mut self, task: &Task, answer: &Answer) -> Result<(), ServiceError> {
        of_task(task, answer.task)?;
        let window = answer.window;
        let modulus = key(task, window)?;
        let windows = self.tasks.entry(task.id().to_string()).or_default();
        let kept = windows.get_mut(&window);
        let kept = kept.ok_or(ServiceError::NotRequested { window })?;
        let Some(secret) = &kept.secret else {
            // It was finished before.
            return Ok(());
        };
        let signed = message(&task.id(), window);
        let secrets = (&kept.nonce.0, &secret.0);
        let signature = unblind(modulus, &signed, secrets, &answer.signature)?;
        (kept.signature, kept.secret) = (Some(signature), None);
        self.write()
    }

    /// The token for a window; none where the issuer has not answered.
    pub fn token(&self, task: &Task, window: u64) -> Option<Token> {
        let kept = self.tasks.get(&task.id().to_string())?.get(&window)?;
        Some(Token {
            window,
            nonce: kept.nonce.0,
            signature: kept.signature?,
        })
    }

    fn write(&self) -> Result<(), ServiceError> {
        let text = Zeroizing::new(to_json(&self.tasks));
        replace(&self.path, text.as_bytes())
    }
}
