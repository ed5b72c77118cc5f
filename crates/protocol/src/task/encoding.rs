//! The canonical encoding of a task: the same bytes for every program that reads the same task, so that the
//! task has an id. All numbers are big-endian; real numbers are the 64 bits of a double.
//!
//! ```text
//! u16   version
//! text  name                                          text: u16 length in bytes, then UTF-8
//! u16   number of fields of the round, each, sorted by name:
//!           text name;  u8 kind;  1: f64,  2: text,  3: u8 truth
//! u8    kind of values;  1: u32 number of labels, texts,  2: nothing,  3: f64 low, f64 high,  4: f64 radius
//! u32   length of a report in bytes
//! f64   claimed epsilon
//! f64   claimed delta
//! u64   length of a window in seconds; 0 where windows are closed by hand
//! 32    the analyzer's public key
//! where the task has tokens:
//!     u8   1
//!     u64  the first window that the issuer has a key for
//!     u32  number of windows, for each of which
//!          256: the modulus of the issuer's key
//! where it has a second shuffler:
//!     u8   2
//!     32   the second shuffler's public key
//!
//! id = SHA-256("shuffledp/1 task" || encoding)
//! ```

use super::{TaskError, TaskSpec, Values};
use serde_json::Value;
use sha2::{Digest, Sha256};
use shuffledp_accounting::RoundSpec;

/// The version of the encoding.
pub(super) const VERSION: u16 = 1;
/// What the id of a task hashes first, so that no other hash of the protocol is one of a task.
const DOMAIN: &[u8] = b"shuffledp/1 task";

const NUMBER: u8 = 1;
const TEXT: u8 = 2;
const TRUTH: u8 = 3;

/// What a task has beside its fields begins with a byte that says what it is.
const TOKENS: u8 = 1;
const SECOND_SHUFFLER: u8 = 2;

/// The encoding of a task whose reports have this length.
pub(super) fn encode(spec: &TaskSpec, report_length: u32) -> Result<Vec<u8>, TaskError> {
    let mut bytes = VERSION.to_be_bytes().to_vec();
    text(&mut bytes, &spec.name)?;
    round(&mut bytes, &spec.round)?;
    values(&mut bytes, &spec.values)?;
    bytes.extend(report_length.to_be_bytes());
    real(&mut bytes, spec.epsilon);
    real(&mut bytes, spec.delta);
    bytes.extend(spec.window_seconds.unwrap_or(0).to_be_bytes());
    bytes.extend(spec.analyzer_key.0);
    if let Some(issuer) = &spec.tokens {
        bytes.push(TOKENS);
        bytes.extend(issuer.first_window.to_be_bytes());
        // A thousand windows at most.
        bytes.extend((issuer.keys.len() as u32).to_be_bytes());
        bytes.extend(issuer.keys.iter().flat_map(|key| key.0));
    }
    if let Some(second) = &spec.second_shuffler {
        bytes.push(SECOND_SHUFFLER);
        bytes.extend(second.0);
    }
    Ok(bytes)
}

/// The hash of an encoding.
pub(super) fn id(encoding: &[u8]) -> [u8; 32] {
    Sha256::new()
        .chain_update(DOMAIN)
        .chain_update(encoding)
        .finalize()
        .into()
}

fn round(bytes: &mut Vec<u8>, round: &RoundSpec) -> Result<(), TaskError> {
    let described = serde_json::to_value(round).ok();
    let Some(Value::Object(fields)) = described else {
        return Err(TaskError::NotEncoded {
            field: "round".to_owned(),
        });
    };
    let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    // A round has some twenty fields.
    bytes.extend((fields.len() as u16).to_be_bytes());
    for (name, value) in fields {
        text(bytes, &name)?;
        match (value.as_f64(), value.as_str(), value.as_bool()) {
            (Some(number), _, _) => {
                bytes.push(NUMBER);
                real(bytes, number);
            }
            (_, Some(word), _) => {
                bytes.push(TEXT);
                text(bytes, word)?;
            }
            (_, _, Some(truth)) => bytes.extend([TRUTH, u8::from(truth)]),
            _ => return Err(TaskError::NotEncoded { field: name }),
        }
    }
    Ok(())
}

fn values(bytes: &mut Vec<u8>, values: &Values) -> Result<(), TaskError> {
    match values {
        Values::Labels(labels) => {
            bytes.push(1);
            bytes.extend((labels.len() as u32).to_be_bytes());
            labels.iter().try_for_each(|label| text(bytes, label))?;
        }
        Values::Numbered => bytes.push(2),
        Values::Range([low, high]) => {
            bytes.push(3);
            real(bytes, *low);
            real(bytes, *high);
        }
        Values::Radius(radius) => {
            bytes.push(4);
            real(bytes, *radius);
        }
    }
    Ok(())
}

fn text(bytes: &mut Vec<u8>, text: &str) -> Result<(), TaskError> {
    let length = u16::try_from(text.len()).map_err(|_| TaskError::NotEncoded {
        field: text.to_owned(),
    })?;
    bytes.extend(length.to_be_bytes());
    bytes.extend(text.as_bytes());
    Ok(())
}

/// There is one zero: adding +0 takes the sign off.
fn real(bytes: &mut Vec<u8>, number: f64) {
    bytes.extend((number + 0.0).to_bits().to_be_bytes());
}
