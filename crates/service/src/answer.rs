//! A device answers a window of a running shuffler.
//!
//! The order is: the shuffler says which windows are open; what was not received before is sent again; the
//! ledger decides; the envelope is on disk beside the ledger; it is sent; it is removed. After a crash
//! between the envelope's file and its removal the same envelope is sent again, and an envelope counts once
//! however often it arrives. A crash between ledger and file loses the report: the window stays decided, and
//! nothing is sent for it. The ledger comes first all the same: the other order could send two reports of a
//! window.
//!
//! ```text
//! window of an envelope that is left over       what becomes of it
//! before the first that is open                 dropped: too late
//! open, and the shuffler does not open it       dropped: the key that it is sealed to is deleted
//! open                                          sent
//! after the last that is open                   kept: the clocks differ
//! ```

use crate::client::Connection;
use crate::error::ServiceError;
use crate::folders::Device;
use crate::ledger::{Decision, Ledger, Status};
use crate::secure_file::remove;
use crate::tokens::Wallet;
use shuffledp_protocol::envelope::ShufflerKey;
use shuffledp_protocol::task::{Bytes32, Task, TaskError, Value};
use shuffledp_randomizers::{Random, Secure};
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a device answers.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// The window; the newest that is open where it is none.
    pub window: Option<u64>,
    /// The shuffler's key, where the device has it from somewhere else: another one is refused. A shuffler
    /// that gives every device a key of its own tells their envelopes apart.
    pub pinned: Option<ShufflerKey>,
    /// Whether a dummy is sent where the coin says to stay silent.
    pub cover: bool,
    /// What the device was sent for this window ([`crate::folders::context_of`]); nothing where it is none.
    pub context: Option<Bytes32>,
    /// The file of the device's tokens, for a task whose reports have some.
    pub wallet: Option<PathBuf>,
    /// The longest time that is waited before the shuffler is asked for anything; how long, is drawn. Who
    /// sees the connection does not see when the value was given.
    pub delay: Duration,
}

/// What a device did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answered {
    /// Envelopes of earlier calls that were sent now.
    pub sent_again: u64,
    /// Envelopes of earlier calls whose window was closed before they were received. They are dropped.
    pub too_late: u64,
    /// Envelopes of earlier calls that the shuffler does not open: the key that they are sealed to was
    /// deleted meanwhile, or they are damaged. It can never accept them, and they are dropped. Their windows
    /// stay answered in the ledger.
    pub refused: u64,
    /// Envelopes of earlier calls whose window is not open yet. They are kept.
    pub kept: u64,
    /// The window that was decided, and how; none where it was decided before and its envelope was sent again
    /// or dropped.
    pub decided: Option<(u64, Decision)>,
    /// What the ledger has of the task now.
    pub status: Status,
}

/// The folder of envelopes that are not received yet.
fn outbox(ledger: &Path) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(".outbox");
    PathBuf::from(name)
}

/// Waits a time between none and this, every millisecond as likely as any other.
fn wait(most: Duration) -> Result<(), ServiceError> {
    let choices = u64::try_from(most.as_millis()).map_or(u64::MAX, |most| most.saturating_add(1));
    // 2^64 is so much more than the choices that the remainder shows no preference.
    let drawn = Secure::new().map_err(TaskError::from)?.word() % choices;
    std::thread::sleep(Duration::from_millis(drawn));
    Ok(())
}

/// Answers a window of a task as the ledger and the coin of the device allow.
pub fn answer(
    connection: &Connection,
    task: &Task,
    ledger: &Path,
    value: &Value,
    habits: &Habits,
) -> Result<Answered, ServiceError> {
    wait(habits.delay)?;
    let mut held = Ledger::open(ledger)?;
    let outbox = outbox(ledger);
    let prefix = format!("{}-", task.id());
    let now = connection.now(task)?;
    if let Some(pinned) = habits.pinned.filter(|pinned| *pinned != now.key) {
        return Err(ServiceError::OtherShuffler {
            pinned: pinned.key,
            served: now.key.key,
        });
    }
    let left = send_again(connection, task, &outbox, &prefix, &now.windows)?;
    let window = habits.window.unwrap_or(*now.windows.end());
    if !now.windows.contains(&window) {
        return Err(ServiceError::NotOpen {
            window,
            first: *now.windows.start(),
            last: *now.windows.end(),
        });
    }
    let path = outbox.join(format!("{prefix}{window}"));
    let mut device = Device::new(task.clone(), now.key)?;
    if habits.cover {
        device = device.with_cover();
    }
    if let Some(context) = habits.context {
        device = device.with_context(context);
    }
    if let Some(wallet) = &habits.wallet {
        device = device.with_wallet(Wallet::open(wallet)?);
    }
    let decided = match device.report(&mut held, window, value, &path) {
        Ok(decision) => Some((window, decision)),
        Err(ServiceError::Decided { .. }) if left.settled.contains(&window) => None,
        Err(error) => return Err(error),
    };
    if decided.is_some() && path.exists() {
        send(connection, task, &path)?;
    }
    Ok(Answered {
        sent_again: left.sent_again,
        too_late: left.too_late,
        refused: left.refused,
        kept: left.kept,
        decided,
        status: held.status(task),
    })
}

fn send(connection: &Connection, task: &Task, path: &Path) -> Result<(), ServiceError> {
    let envelope = std::fs::read(path).map_err(ServiceError::unreadable(path))?;
    connection.send(task, &envelope)?;
    remove(path)
}

/// What became of the envelopes of earlier calls.
#[derive(Default)]
struct LeftOver {
    sent_again: u64,
    too_late: u64,
    refused: u64,
    kept: u64,
    /// The windows of those that are gone.
    settled: Vec<u64>,
}

/// Sends what is left in the outbox of a task, as far as it can be received.
fn send_again(
    connection: &Connection,
    task: &Task,
    outbox: &Path,
    prefix: &str,
    open: &RangeInclusive<u64>,
) -> Result<LeftOver, ServiceError> {
    let mut left = LeftOver::default();
    let entries = match std::fs::read_dir(outbox) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(left),
        Err(error) => return Err(ServiceError::unreadable(outbox)(error)),
    };
    for entry in entries {
        let path = entry.map_err(ServiceError::unreadable(outbox))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let window = name.and_then(|name| name.strip_prefix(prefix)?.parse().ok());
        let Some(window) = window else { continue };
        if window > *open.end() {
            left.kept += 1;
            continue;
        }
        let sent = match window < *open.start() {
            true => {
                left.too_late += 1;
                false
            }
            false => match send(connection, task, &path) {
                Ok(()) => {
                    left.sent_again += 1;
                    true
                }
                // Its window was closed in between.
                Err(ServiceError::Refused { status: 410, .. }) => {
                    left.too_late += 1;
                    false
                }
                Err(ServiceError::Refused { status: 400, .. }) => {
                    left.refused += 1;
                    false
                }
                Err(error) => return Err(error),
            },
        };
        if !sent {
            remove(&path)?;
        }
        left.settled.push(window);
    }
    Ok(left)
}
