//! Tokens by files: a device blinds ([`Wallet`]), the issuer signs ([`Issuer`]), the device unblinds, and its
//! next report carries the token ([`shuffledp_protocol::token`]).
//!
//! ```text
//! device ──request: task, window, blinded number──► issuer, who knows the person
//! wallet ◄──answer: task, window, signature──────── key of the window; who had one
//! ```
//!
//! The issuer knows who asks and for which window, and never sees the number that it signs.

mod issuer;
mod wallet;

pub use issuer::{Issuer, issuer_public, make_issuer};
pub use wallet::Wallet;

use crate::error::ServiceError;
use crate::secure_file::create_with_folder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shuffledp_protocol::task::{Bytes32, Task};
use shuffledp_protocol::token::Bytes256;
use std::path::Path;

/// What a device asks its issuer for: the file of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task.
    pub task: Bytes32,
    /// The window.
    pub window: u64,
    /// What is to be signed.
    pub blinded: Bytes256,
}

/// What the issuer answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The task.
    pub task: Bytes32,
    /// The window.
    pub window: u64,
    /// The signature of what was blinded.
    pub signature: Bytes256,
}

/// Reads the file of a request.
pub fn read_request(path: &Path) -> Result<Request, ServiceError> {
    read(path, "a request of a token")
}

/// Reads the file of an answer.
pub fn read_answer(path: &Path) -> Result<Answer, ServiceError> {
    read(path, "an answer of an issuer")
}

/// Writes a new file of a request or of an answer.
pub fn write(message: &impl Serialize, path: &Path) -> Result<(), ServiceError> {
    create_with_folder(path, to_json(message).as_bytes())
}

fn read<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, ServiceError> {
    let text = std::fs::read_to_string(path).map_err(ServiceError::unreadable(path))?;
    serde_json::from_str(&text).map_err(|error| ServiceError::content(path, what, error))
}

fn to_json(value: &impl Serialize) -> String {
    // Texts and numbers: nothing that JSON cannot hold.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// The issuer's key for a window of a task.
fn key(task: &Task, window: u64) -> Result<&Bytes256, ServiceError> {
    let issuer = task.spec().tokens.as_ref();
    let issuer = issuer.ok_or(ServiceError::WithoutTokens)?;
    issuer.key(window).ok_or(ServiceError::NoIssuerKey {
        window,
        first: issuer.first_window,
        // The task has one key or more, and their windows are below 2^64.
        last: issuer.first_window + (issuer.keys.len() as u64 - 1),
    })
}

/// A message is about this task.
fn of_task(task: &Task, named: Bytes32) -> Result<(), ServiceError> {
    let wanted = task.id();
    match named == wanted {
        true => Ok(()),
        false => Err(ServiceError::OtherTask {
            wanted,
            served: named,
        }),
    }
}
