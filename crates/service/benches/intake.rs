//! Reports through sockets into a store: how many a second, how late the answers are, how much memory, and
//! whether all of them are in the batch; then several times as much as it takes. `cargo bench -p
//! shuffledp-service --bench intake`.
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
use shuffledp_service::keyring::Keyring;
use shuffledp_service::keys::{Party, make};
use shuffledp_service::loopback::Loopback;
use shuffledp_service::server::config::Config;
use shuffledp_service::server::open_store;
use shuffledp_service::store::vault;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

/// Connections that send one report a request, as many devices do.
const DEVICES_AT_ONCE: usize = 128;
/// Connections of relays, and the envelopes of one of their requests.
const RELAYS: usize = 8;
const TOGETHER: usize = 100;
/// Clients that never wait, for so long, at a queue of a few of their requests.
const CROWD: usize = 64;
const SECONDS_OF_TOO_MUCH: u64 = 10;
const SMALL_QUEUE: usize = 512 << 10;

fn task(folder: &Path) -> Task {
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
        window_seconds: None,
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
    let keys = Keyring::open(folder, 0, 0).unwrap().secrets();
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

/// One connection that is kept, with nothing of HTTP that the shuffler's answers do not need: the work of a
/// device is not what is measured, and it is done on the same cores.
struct Light {
    stream: TcpStream,
    host: String,
    path: String,
    answer: Vec<u8>,
}

impl Light {
    async fn connect(url: &str, task: &Task) -> Self {
        let host = url.strip_prefix("http://").unwrap().to_owned();
        let stream = TcpStream::connect(&host).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let path = format!("/v1/tasks/{}/reports", task.id());
        let answer = Vec::new();
        Light {
            stream,
            host,
            path,
            answer,
        }
    }

    async fn send(&mut self, body: &[u8]) {
        let (path, host, length) = (&self.path, &self.host, body.len());
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n");
        let request = [head.as_bytes(), body].concat();
        self.stream.write_all(&request).await.unwrap();
        self.answer.clear();
        while !self.answer.ends_with(b"\r\n\r\n") {
            assert_ne!(self.stream.read_buf(&mut self.answer).await.unwrap(), 0);
        }
        // Nothing follows the head of this answer.
        let answer = String::from_utf8_lossy(&self.answer);
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    }
}

/// Sends bodies over so many connections, spread over these addresses: seconds, the time of each answer, and
/// the memory when half of them are sent. One thread moves all of them.
fn send(
    task: &Task,
    urls: &[String],
    bodies: &Arc<[Vec<u8>]>,
    connections: usize,
) -> (f64, Vec<Duration>, f64) {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_io().build().unwrap();
    let (next, half) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let start = Instant::now();
    let times = runtime.block_on(async {
        let mut all = JoinSet::new();
        for at in 0..connections {
            let (bodies, next, half) = (Arc::clone(bodies), Arc::clone(&next), Arc::clone(&half));
            let mut light = Light::connect(&urls[at % urls.len()], task).await;
            all.spawn(async move {
                let mut times = Vec::new();
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(body) = bodies.get(place) else { break };
                    if place == bodies.len() / 2 {
                        half.store(memory() as usize, Ordering::Relaxed);
                    }
                    let start = Instant::now();
                    light.send(body).await;
                    times.push(start.elapsed());
                }
                times
            });
        }
        all.join_all().await
    });
    let seconds = start.elapsed().as_secs_f64();
    (seconds, times.concat(), half.load(Ordering::Relaxed) as f64)
}

/// The largest memory of this process so far, in MiB.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}

/// What became of the requests of one client.
#[derive(Default)]
struct Turned {
    taken: Vec<usize>,
    away: u64,
    /// Sums and the largest of the seconds that it was told to wait.
    wait: u64,
    longest: u64,
}

/// Clients that never wait, whatever they are told: as much as the machine can send. Each body is sent until
/// it is taken.
fn overload(url: &str, task: &Task, bodies: &[Vec<u8>], seconds: u64) -> (Vec<Turned>, f64) {
    let path = format!("{url}/v1/tasks/{}/reports", task.id());
    let end = Instant::now() + Duration::from_secs(seconds);
    let watch = AtomicUsize::new(0);
    let turned = scope(|scope| {
        let clients = (0..CROWD).map(|client| {
            let path = &path;
            scope.spawn(move || {
                let agent: ureq::Agent = ureq::Agent::config_builder()
                    .http_status_as_error(false)
                    .build()
                    .into();
                let mut turned = Turned::default();
                let mut mine = (client..bodies.len()).step_by(CROWD);
                let mut next = mine.next();
                while let Some(place) = next
                    && Instant::now() < end
                {
                    let response = agent.post(path).send(&bodies[place][..]).unwrap();
                    match response.status().as_u16() {
                        202 => {
                            turned.taken.push(place);
                            next = mine.next();
                        }
                        503 => {
                            let wait = response.headers()["retry-after"].to_str().unwrap();
                            let wait: u64 = wait.parse().unwrap();
                            turned.away += 1;
                            turned.wait += wait;
                            turned.longest = turned.longest.max(wait);
                        }
                        other => panic!("{other}"),
                    }
                }
                turned
            })
        });
        let clients: Vec<_> = clients.collect();
        while Instant::now() < end {
            watch.fetch_max(memory() as usize, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(100));
        }
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    (turned, watch.into_inner() as f64)
}

fn config(folder: &Path, task: &Task, database: Option<&String>) -> (Config, Zeroizing<String>) {
    let (mut config, token) = Loopback::config(std::slice::from_ref(task), folder).unwrap();
    config.store.postgres = database.cloned();
    if database.is_some() {
        vault::make(&config.store.master_key, 1).unwrap();
    }
    (config, token)
}

/// Reports at the rate at which they are answered: one a request, and many.
fn measure(folder: &Path, database: Option<&String>, count: usize) {
    let task = task(folder);
    let (config, token) = config(folder, &task, database);
    let shufflers = if database.is_some() { 2 } else { 1 };
    let running: Vec<Loopback> = (0..shufflers)
        .map(|_| {
            let store = open_store(&config.store).unwrap();
            Loopback::run(config.clone(), store, token.clone()).unwrap()
        })
        .collect();
    let urls: Vec<String> = running.iter().map(|one| one.url().to_owned()).collect();
    let connection = Connection::new(&urls[0], None).unwrap();
    let operator = Connection::new(running[0].operator(), None).unwrap();
    let place = database.map_or("the embedded store", |_| "PostgreSQL");
    println!(
        "{count} reports twice, {} cores, {shufflers} shuffler(s) on {place}",
        cores()
    );
    for (name, together, connections) in [
        ("one report a request", 1, DEVICES_AT_ONCE),
        ("relays, 100 envelopes a request", TOGETHER, RELAYS),
    ] {
        let now = connection.now(&task).unwrap();
        let (key, window) = (now.key, *now.windows.start());
        let envelopes = sealed(&task, key, window, count);
        let limit = yardstick(&task, &config.keys.folder, &envelopes);
        let bodies: Arc<[Vec<u8>]> = envelopes.chunks(together).map(<[_]>::concat).collect();
        drop(envelopes);
        let before = memory();
        let (seconds, mut times, half) = send(&task, &urls, &bodies, connections);
        let after = memory();
        times.sort();
        let at =
            |share: f64| 1e3 * times[(share * (times.len() - 1) as f64) as usize].as_secs_f64();
        let rate = count as f64 / seconds;
        println!(
            "{name}: {rate:.0} a second, {:.2} of the {limit:.0} outer layers that all cores open; p50 \
             {:.1} ms, p99 {:.1} ms; memory {before:.0} -> {half:.0} -> {after:.0} MiB, {} bytes an envelope",
            rate / limit,
            at(0.5),
            at(0.99),
            envelope_length(&task)
        );
        drop(bodies);
        let start = Instant::now();
        let closed = operator.close(&task, window, None).unwrap();
        let sealing = start.elapsed().as_secs_f64();
        let batch = closed.iter().find(|batch| batch.window == window).unwrap();
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
    running.into_iter().for_each(|one| one.stop().unwrap());
}

/// Clients that send several times as much as the shuffler takes, until they have no reports left.
fn too_much(folder: &Path, count: usize) {
    let task = task(folder);
    let (mut config, token) = config(folder, &task, None);
    config.limits.queue_bytes = SMALL_QUEUE;
    let store = open_store(&config.store).unwrap();
    let running = Loopback::run(config, store, token.clone()).unwrap();
    let connection = Connection::new(running.url(), None).unwrap();
    let key = connection.now(&task).unwrap().key;
    let envelopes = sealed(&task, key, 0, count);
    let bodies: Vec<Vec<u8>> = envelopes.chunks(TOGETHER).map(<[_]>::concat).collect();
    drop(envelopes);
    let before = memory();
    let (turned, most) = overload(running.url(), &task, &bodies, SECONDS_OF_TOO_MUCH);
    let taken: usize = turned.iter().map(|client| client.taken.len()).sum();
    let away: u64 = turned.iter().map(|client| client.away).sum();
    let share =
        |client: &Turned| client.away as f64 / (client.away + client.taken.len() as u64) as f64;
    let shares = turned.iter().map(share);
    let (least, largest) = shares.fold((1.0f64, 0.0f64), |(least, largest), share| {
        (least.min(share), largest.max(share))
    });
    let offered = (taken as u64 + away) as f64 / taken as f64;
    let waits: u64 = turned.iter().map(|client| client.wait).sum();
    let longest = turned.iter().map(|client| client.longest).max().unwrap();
    println!(
        "too much: {CROWD} clients that never wait, a queue of {} KiB: {:.1} times what was taken; each was \
         turned away {:.0} to {:.0} % of the time, and asked to wait {:.1} s on average, {longest} \
         at most; memory {before:.0} -> {most:.0} MiB",
        SMALL_QUEUE / 1024,
        offered,
        100.0 * least,
        100.0 * largest,
        waits as f64 / away as f64,
    );
    let start = Instant::now();
    let done: HashSet<usize> = turned.into_iter().flat_map(|client| client.taken).collect();
    // One that was not taken; if all were, one that changes nothing.
    let other = (0..bodies.len()).find(|place| !done.contains(place));
    connection.send(&task, &bodies[other.unwrap_or(0)]).unwrap();
    let taken = taken + usize::from(other.is_some());
    println!(
        "  afterwards {TOGETHER} reports are taken in {:.1} ms",
        1e3 * start.elapsed().as_secs_f64()
    );
    let operator = Connection::new(running.operator(), None).unwrap();
    let closed = operator.close(&task, 0, None).unwrap();
    assert_eq!(
        closed[0].reports as usize,
        TOGETHER * taken,
        "reports were lost, or came twice"
    );
    println!("  all that were taken are in the batch");
    running.stop().unwrap();
}

fn main() {
    let count = std::env::var("REPORTS").map_or(100_000, |text| text.parse().unwrap());
    let database = std::env::var("STORE").ok();
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    measure(folders[0].path(), database.as_ref(), count);
    // In a folder of its own: a database has one master key.
    too_much(folders[1].path(), count);
}
