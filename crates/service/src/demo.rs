//! All three parties on one machine, over loopback: keys, a task, a running shuffler with its store, devices
//! that send, an operator who closes the window, an analyzer who fetches.

use crate::client::Connection;
use crate::error::ServiceError;
use crate::folders::{Analyzed, Device, analyze_bytes};
use crate::keys::{Party, analyzer_secret, make};
use crate::loopback::Loopback;
use shuffledp_accounting::grouped;
use shuffledp_protocol::Confidence;
use shuffledp_protocol::envelope::envelope_length;
use shuffledp_protocol::task::{Task, TaskSpec};
use std::path::Path;
use std::thread::{available_parallelism, scope};

/// The envelopes of one request: what a relay sends at once.
const TOGETHER: usize = 100;

/// What a demonstration showed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Shown {
    /// The task.
    pub task: Task,
    /// The devices that sent a report.
    pub devices: u64,
    /// What the analyzer found.
    pub analyzed: Analyzed,
}

/// Runs a collection over loopback. `spec` gets the key of an analyzer that is made here, `values` are those
/// of the devices, and everything that the parties keep is in `folder`. `say` hears what happens.
pub fn demo(
    spec: TaskSpec,
    values: &[String],
    folder: &Path,
    confidence: Confidence,
    say: &mut dyn FnMut(String),
) -> Result<Shown, ServiceError> {
    let (key, _, public) = make(Party::Analyzer, 0, &folder.join("analyzer"))?;
    let spec = TaskSpec {
        analyzer_key: public,
        ..spec
    };
    let task = Task::new(spec)?;
    let shuffler = Loopback::start(std::slice::from_ref(&task), &folder.join("shuffler"))?;
    let (url, operator) = (shuffler.url(), shuffler.operator());
    say(format!(
        "The shuffler listens on {url}, its operator's side on {operator}."
    ));
    collect(&task, values, url, say)?;
    Connection::new(operator, None)?.close(&task, 0, None)?;
    say("The operator has closed the window: its reports are in a random order.".to_owned());
    let analyzed = fetch(&task, url, shuffler.token(), (&key, confidence))?;
    shuffler.stop()?;
    Ok(Shown {
        devices: values.len() as u64,
        analyzed,
        task,
    })
}

/// Every device randomizes and seals its value; relays send the envelopes.
fn collect(
    task: &Task,
    values: &[String],
    url: &str,
    say: &mut dyn FnMut(String),
) -> Result<(), ServiceError> {
    let now = Connection::new(url, None)?.now(task)?;
    let window = *now.windows.end();
    let share = values
        .len()
        .div_ceil(available_parallelism().map_or(1, |n| n.get()));
    scope(|scope| {
        let relay = |values: &[String]| -> Result<(), ServiceError> {
            let connection = Connection::new(url, None)?;
            let mut device = Device::new(task.clone(), now.key)?;
            for together in values.chunks(TOGETHER) {
                let mut envelopes = Vec::with_capacity(together.len() * envelope_length(task));
                for value in together {
                    envelopes.extend(device.envelope(window, &task.value(value)?)?);
                }
                connection.send(task, &envelopes)?;
            }
            Ok(())
        };
        let relays = values
            .chunks(share.max(1))
            .map(|values| scope.spawn(move || relay(values)));
        let relays: Vec<_> = relays.collect();
        relays.into_iter().try_for_each(|relay| match relay.join() {
            Ok(sent) => sent,
            // The thread has said so.
            Err(_) => Err(ServiceError::Config {
                message: "a relay of the demonstration failed".to_owned(),
            }),
        })
    })?;
    say(format!(
        "{} devices have randomized, sealed and sent their values, {TOGETHER} envelopes a request.",
        grouped(values.len() as u64)
    ));
    Ok(())
}

/// The analyzer: fetches the one batch, reads it, and acknowledges it.
fn fetch(
    task: &Task,
    url: &str,
    token: &str,
    (key, confidence): (&Path, Confidence),
) -> Result<Analyzed, ServiceError> {
    let connection = Connection::new(url, None)?;
    let batches = connection.batches(task, token)?;
    let [batch] = &batches[..] else {
        return Err(ServiceError::Refused {
            status: 404,
            message: format!("{} batches were released, and not one", batches.len()),
        });
    };
    let bytes = connection.fetch(task, token, batch)?;
    let secret = analyzer_secret(key, task)?;
    let name = Path::new("the batch of the demonstration");
    let analyzed = analyze_bytes(task, &secret, &bytes, confidence, name)?;
    connection.acknowledge(task, token, batch)?;
    Ok(analyzed)
}
