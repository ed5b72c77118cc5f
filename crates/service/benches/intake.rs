//! Reports through sockets into a store: how many a second, how late the answers are, how much memory, and
//! whether all of them are in the batch. `cargo bench -p shuffledp-service --bench intake`.
//!
//! Rates depend on the machine, so each is beside a yardstick of the same run: how many outer layers this
//! machine opens a second on all cores and does nothing else. The clients run on the same cores.
//!
//! | variable | meaning |
//! |---|---|
//! | `REPORTS` | how many; 100,000 |
//! | `STORE` | a connection string of PostgreSQL, for two shufflers on it; else the embedded store |

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use shuffledp_accounting::{RandomizerSpec, RoundSpec};
use shuffledp_protocol::envelope::{ShufflerKey, envelope_length, open, seal};
use shuffledp_protocol::task::{Bytes32, Task, TaskSpec, Values};
use shuffledp_randomizers::Secure;
use shuffledp_service::AwsLc;
use shuffledp_service::client::Connection;
use shuffledp_service::folders::write_task;
use shuffledp_service::keyring::Keyring;
use shuffledp_service::keys::{Party, make};
use shuffledp_service::schedule::SystemClock;
use shuffledp_service::server::access::new_token;
use shuffledp_service::server::config::{Config, TaskConfig};
use shuffledp_service::server::{Listening, Service, open_store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Connections that send one report a request, as many devices do.
const DEVICES_AT_ONCE: usize = 64;
/// Connections of relays, and the envelopes of one of their requests.
const RELAYS: usize = 8;
const TOGETHER: usize = 100;

fn task(folder: &Path, window_seconds: Option<u64>) -> Task {
    let (_, _, analyzer_key) = make(Party::Analyzer, 0, folder).unwrap();
    let mut randomizer = RandomizerSpec::new("krr").unwrap();
    (randomizer.k, randomizer.epsilon0) = (Some(100), Some(2.0.into()));
    let mut round = RoundSpec::new(randomizer);
    round.users = Some(10_000);
    let task = Task::new(TaskSpec {
        name: "bench".to_owned(),
        round,
        values: Values::Numbered,
        epsilon: 1.0,
        delta: 1e-8,
        window_seconds,
        analyzer_key,
        tokens: None,
        second_shuffler: None,
    });
    task.unwrap()
}

fn cores() -> usize {
    available_parallelism().map_or(1, |cores| cores.get())
}

/// Envelopes of devices that all report something else, sealed on all cores.
fn sealed(task: &Task, key: ShufflerKey, window: u64, count: usize) -> Vec<Vec<u8>> {
    let share = count.div_ceil(cores());
    scope(|scope| {
        let parts = (0..cores()).map(|core| {
            scope.spawn(move || {
                let mut random = Secure::new().unwrap();
                let mine = (core * share).min(count)..((core + 1) * share).min(count);
                let one = |device: usize| {
                    let value = task.value(&(device % 100).to_string()).unwrap();
                    let report = task.randomize(&value, &mut random).unwrap();
                    let nothing = Bytes32([0; 32]);
                    seal(&AwsLc, task, &key, window, nothing, &report, &mut random).unwrap()
                };
                mine.map(one).collect::<Vec<_>>()
            })
        });
        let parts: Vec<_> = parts.collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    })
}

/// Outer layers that are opened a second on all cores.
fn yardstick(task: &Task, folder: &Path, envelopes: &[Vec<u8>]) -> f64 {
    let keys = Keyring::open(folder, 0).unwrap().secrets();
    let some = &envelopes[..envelopes.len().min(20_000 * cores())];
    let start = Instant::now();
    scope(|scope| {
        for part in some.chunks(some.len().div_ceil(cores())) {
            let keys = &keys;
            scope.spawn(move || {
                for envelope in part {
                    open(&AwsLc, task, keys, envelope).unwrap();
                }
            });
        }
    });
    some.len() as f64 / start.elapsed().as_secs_f64()
}

/// Sends bodies over so many connections, spread over these addresses: seconds, and the time of each answer.
fn send(
    task: &Task,
    urls: &[String],
    bodies: &[Vec<u8>],
    connections: usize,
) -> (f64, Vec<Duration>) {
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    let times = scope(|scope| {
        let senders = (0..connections).map(|at| {
            let (url, next) = (&urls[at % urls.len()], &next);
            scope.spawn(move || {
                let connection = Connection::new(url, None).unwrap();
                let mut times = Vec::new();
                while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    connection.send(task, body).unwrap();
                    times.push(start.elapsed());
                }
                times
            })
        });
        let senders: Vec<_> = senders.collect();
        senders
            .into_iter()
            .flat_map(|sender| sender.join().unwrap())
            .collect()
    });
    (start.elapsed().as_secs_f64(), times)
}

/// The largest memory of this process so far, in MiB.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}

fn main() {
    let count = std::env::var("REPORTS").map_or(100_000, |text| text.parse().unwrap());
    let database = std::env::var("STORE").ok();
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path(), None);
    let file = folder.path().join("task.json");
    write_task(&task, &file).unwrap();
    let (token, hash) = new_token().unwrap();
    let mut config = Config::new(TaskConfig {
        file,
        analyzer_token_sha256: Some(hash),
    });
    let any_port = "127.0.0.1:0".parse().unwrap();
    (config.listen, config.operator_listen) = (any_port, any_port);
    config.keys.folder = folder.path().join("keys");
    config.store.folder = folder.path().join("store");
    config.store.master_key = folder.path().join("master.key");
    config.store.postgres.clone_from(&database);
    let shufflers = if database.is_some() { 2 } else { 1 };
    let (mut urls, mut operators, mut stops, mut key) = (Vec::new(), Vec::new(), Vec::new(), None);
    for _ in 0..shufflers {
        let store = open_store(&config.store).unwrap();
        let service = Service::new(config.clone(), store, Arc::new(SystemClock)).unwrap();
        key = service.active_key();
        let listening = Listening::bind(service).unwrap();
        urls.push(format!("http://{}", listening.public()));
        operators.push(format!("http://{}", listening.operator()));
        let (stop, stopped) = oneshot::channel::<()>();
        let server = std::thread::spawn(move || {
            listening.run(async {
                let _ = stopped.await;
            })
        });
        stops.push((stop, server));
    }
    println!(
        "{count} reports twice, {} cores, {shufflers} shuffler(s) on {}; clients on the same cores",
        cores(),
        database
            .as_deref()
            .map_or("the embedded store", |_| "PostgreSQL")
    );
    let connection = Connection::new(&urls[0], None).unwrap();
    let operator = Connection::new(&operators[0], None).unwrap();
    for (name, together, connections) in [
        ("one report a request", 1, DEVICES_AT_ONCE),
        ("relays, 100 envelopes a request", TOGETHER, RELAYS),
    ] {
        let window = *connection.now(&task).unwrap().windows.start();
        let envelopes = sealed(&task, key.unwrap(), window, count);
        let limit = yardstick(&task, &config.keys.folder, &envelopes);
        let bodies: Vec<Vec<u8>> = envelopes.chunks(together).map(<[_]>::concat).collect();
        drop(envelopes);
        let before = memory();
        let (seconds, mut times) = send(&task, &urls, &bodies, connections);
        let after = memory();
        times.sort();
        let at =
            |share: f64| 1e3 * times[(share * (times.len() - 1) as f64) as usize].as_secs_f64();
        let rate = count as f64 / seconds;
        println!(
            "{name}: {rate:.0} a second, {:.2} of the {limit:.0} outer layers that all cores open; p50 \
             {:.1} ms, p99 {:.1} ms; memory {before:.0} -> {after:.0} MiB, {} bytes an envelope",
            rate / limit,
            at(0.5),
            at(0.99),
            envelope_length(&task)
        );
        let start = Instant::now();
        operator.close(&task, window, None).unwrap();
        let sealing = start.elapsed().as_secs_f64();
        let batches = connection.batches(&task, &token).unwrap();
        let batch = batches.iter().find(|batch| batch.window == window).unwrap();
        assert_eq!(
            batch.reports, count as u64,
            "reports were lost, or came twice"
        );
        let start = Instant::now();
        let bytes = connection.fetch(&task, &token, batch).unwrap();
        println!(
            "  all {count} are in the batch; sealed in {sealing:.1} s, {:.0} MB fetched in {:.1} s",
            bytes.len() as f64 / 1e6,
            start.elapsed().as_secs_f64()
        );
    }
    for (stop, server) in stops {
        drop(stop);
        server.join().unwrap().unwrap();
    }
}
