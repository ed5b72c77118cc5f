//! Devices, shuffler and analyzer over real sockets, with the embedded store and a clock that the tests turn.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use shuffledp_accounting::{RandomizerSpec, RoundSpec};
use shuffledp_protocol::Confidence;
use shuffledp_protocol::envelope::{envelope_length, seal, seal_dummy};
use shuffledp_protocol::lifecycle::State;
use shuffledp_protocol::task::{Bytes32, Task, TaskSpec, Values};
use shuffledp_randomizers::{Random, Secure};
use shuffledp_service::answer::{Habits, answer};
use shuffledp_service::client::{Connection, Listed};
use shuffledp_service::folders::{Device, analyze_bytes, write_task};
use shuffledp_service::keys::{Party, analyzer_secret, make};
use shuffledp_service::ledger::{Decision, Ledger};
use shuffledp_service::schedule::Clock;
use shuffledp_service::server::access::new_token;
use shuffledp_service::server::config::{Config, TaskConfig};
use shuffledp_service::server::{Listening, ROUTES, Service, open_store};
use shuffledp_service::{AwsLc, ServiceError};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// A clock that stands where it is set.
#[derive(Clone)]
struct Turned(Arc<AtomicU64>);

impl Clock for Turned {
    fn now(&self) -> Option<u64> {
        Some(self.0.load(Ordering::SeqCst))
    }
}

/// The smallest batch of the tests.
const SMALLEST: u64 = 40;
const NOTHING: Bytes32 = Bytes32([0; 32]);

struct Running {
    folder: TempDir,
    config: Config,
    task: Task,
    clock: Turned,
    service: Arc<Service>,
    token: String,
    url: String,
    operator: String,
    stop: Option<oneshot::Sender<()>>,
    server: Option<JoinHandle<Result<(), ServiceError>>>,
}

fn spec(analyzer_key: Bytes32, window_seconds: Option<u64>) -> TaskSpec {
    let mut randomizer = RandomizerSpec::new("krr").unwrap();
    (randomizer.k, randomizer.epsilon0) = (Some(3), Some(1.0.into()));
    let mut round = RoundSpec::new(randomizer);
    (round.users, round.rounds) = (Some(SMALLEST), 100);
    TaskSpec {
        name: "commute".to_owned(),
        round,
        values: Values::Labels(["bike", "bus", "car"].map(str::to_owned).to_vec()),
        epsilon: 1.0,
        delta: 1e-3,
        window_seconds,
        analyzer_key,
        tokens: None,
        second_shuffler: None,
    }
}

impl Running {
    fn start(window_seconds: Option<u64>, change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (_, _, key) = make(Party::Analyzer, 0, folder.path()).unwrap();
        let task = Task::new(spec(key, window_seconds)).unwrap();
        let file = folder.path().join("task.json");
        write_task(&task, &file).unwrap();
        let (token, hash) = new_token().unwrap();
        let mut config = Config::new(TaskConfig {
            file,
            analyzer_token_sha256: Some(hash),
            contexts: Vec::new(),
        });
        let any_port = "127.0.0.1:0".parse().unwrap();
        (config.listen, config.operator_listen) = (any_port, any_port);
        config.keys.folder = folder.path().join("keys");
        config.store.folder = folder.path().join("store");
        config.store.master_key = folder.path().join("master.key");
        change(&mut config);
        let clock = Turned(Arc::new(AtomicU64::new(1_000_000)));
        Self::serve(folder, config, task, clock, token.to_string())
    }

    fn serve(folder: TempDir, config: Config, task: Task, clock: Turned, token: String) -> Self {
        let store = open_store(&config.store).unwrap();
        let service = Service::new(config.clone(), store, Arc::new(clock.clone())).unwrap();
        let listening = Listening::bind(Arc::clone(&service)).unwrap();
        let [url, operator] =
            [listening.public(), listening.operator()].map(|address| format!("http://{address}"));
        let (stop, stopped) = oneshot::channel();
        let server = std::thread::spawn(move || {
            listening.run(async {
                let _ = stopped.await;
            })
        });
        Self {
            folder,
            config,
            task,
            clock,
            service,
            token,
            url,
            operator,
            stop: Some(stop),
            server: Some(server),
        }
    }

    /// Stops it, and starts it again on the same folder.
    fn restarted(self) -> Self {
        self.restarted_after(|_| {})
    }

    /// The same with something done in between.
    fn restarted_after(mut self, between: impl FnOnce(&Config)) -> Self {
        self.stop.take();
        self.server.take().unwrap().join().unwrap().unwrap();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        let (config, task) = (self.config.clone(), self.task.clone());
        let (clock, token) = (self.clock.clone(), self.token.clone());
        drop(self);
        between(&config);
        Self::serve(folder, config, task, clock, token)
    }

    fn connection(&self) -> Connection {
        Connection::new(&self.url, None).unwrap()
    }

    fn at(&self, now: u64) {
        self.clock.0.store(now, Ordering::SeqCst);
        self.service.tick();
    }

    fn envelope(&self, window: u64, label: &str) -> Vec<u8> {
        self.envelope_in(window, label, NOTHING)
    }

    fn envelope_in(&self, window: u64, label: &str, context: Bytes32) -> Vec<u8> {
        let mut random = Secure::new().unwrap();
        let value = self.task.value(label).unwrap();
        let report = self.task.randomize(&value, &mut random).unwrap();
        let key = self.service.active_key().unwrap();
        seal(
            &AwsLc,
            &self.task,
            &key,
            window,
            context,
            &report,
            &mut random,
        )
        .unwrap()
    }

    fn dummy(&self, window: u64) -> Vec<u8> {
        let key = self.service.active_key().unwrap();
        seal_dummy(
            &AwsLc,
            &self.task,
            &key,
            window,
            NOTHING,
            &mut Secure::new().unwrap(),
        )
        .unwrap()
    }

    /// What a call leaves that broke off between the envelope's file and its removal.
    fn left_over(&self, ledger: &Path, window: u64) -> PathBuf {
        let mut outbox = ledger.as_os_str().to_owned();
        outbox.push(".outbox");
        let left = PathBuf::from(outbox).join(format!("{}-{window}", self.task.id()));
        let mut held = Ledger::open(ledger).unwrap();
        let key = self.service.active_key().unwrap();
        let mut device = Device::new(self.task.clone(), key).unwrap();
        let value = self.task.value("car").unwrap();
        device.report(&mut held, window, &value, &left).unwrap();
        left
    }

    fn send_crowd(&self, window: u64, devices: u64) {
        let all: Vec<u8> = (0..devices)
            .flat_map(|_| self.envelope(window, "bus"))
            .collect();
        self.connection().send(&self.task, &all).unwrap();
    }

    fn close(&self, window: u64) {
        let operator = Connection::new(&self.operator, None).unwrap();
        operator.close(&self.task, window, None).unwrap();
    }

    fn batches(&self) -> Vec<Listed> {
        self.connection().batches(&self.task, &self.token).unwrap()
    }

    /// A request by hand: status, headers without the date, body.
    fn post(&self, path: &str, body: &[u8]) -> (u16, BTreeMap<String, String>, String) {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        let mut response = agent
            .post(format!("{}{path}", self.url))
            .send(body)
            .unwrap();
        let headers = response
            .headers()
            .iter()
            .filter(|(name, _)| *name != "date");
        let headers = headers.map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        });
        let headers = headers.collect();
        (
            response.status().as_u16(),
            headers,
            response.body_mut().read_to_string().unwrap(),
        )
    }

    fn post_reports(&self, body: &[u8]) -> (u16, BTreeMap<String, String>, String) {
        self.post(&format!("/v1/tasks/{}/reports", self.task.id()), body)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

/// A request of the operator without a body, with these headers: its status.
fn post_to_operator(running: &Running, path: &str, headers: &[(&str, &str)]) -> u16 {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let url = format!("{}/v1/tasks/{}/{path}", running.operator, running.task.id());
    let mut request = agent.post(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send_empty().unwrap().status().as_u16()
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn get(url: &str, token: Option<&str>, accept: &str) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let mut request = agent.get(url).header("Accept", accept);
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    let mut response = request.call().unwrap();
    let status = response.status().as_u16();
    (status, response.body_mut().read_to_string().unwrap())
}

#[test]
fn a_collection_over_sockets() {
    let running = Running::start(None, |_| {});
    running.send_crowd(0, SMALLEST);
    // Nothing can be fetched while the window is open.
    assert_eq!(running.batches(), []);
    running.close(0);
    let batches = running.batches();
    assert_eq!(batches.len(), 1);
    assert_eq!(
        (batches[0].reports, batches[0].state),
        (SMALLEST, State::Sealed)
    );
    let (connection, task) = (running.connection(), &running.task);
    let fetched = connection.fetch(task, &running.token, &batches[0]).unwrap();
    let key = analyzer_secret(&running.folder.path().join("analyzer.key"), task).unwrap();
    let confidence = Confidence::new(0.95).unwrap();
    let analyzed = analyze_bytes(task, &key, &fetched, confidence, Path::new("batch")).unwrap();
    assert_eq!((analyzed.reports, analyzed.unreadable), (SMALLEST, 0));
    assert_eq!(analyzed.findings.malformed, 0);
    // What comes late stays out, and the batch is the same whenever it is fetched.
    let late = running.post_reports(&running.envelope(0, "bus"));
    assert_eq!(late.0, 410);
    connection
        .acknowledge(task, &running.token, &batches[0])
        .unwrap();
    connection
        .acknowledge(task, &running.token, &batches[0])
        .unwrap();
    let again = running.batches();
    assert_eq!(again[0].state, State::Released);
    assert_eq!(
        connection.fetch(task, &running.token, &again[0]).unwrap(),
        fetched
    );
    let running = running.restarted();
    let again = running
        .connection()
        .fetch(task_of(&running), &running.token, &batches[0]);
    assert_eq!(again.unwrap(), fetched);
    // The next window goes on; the first one does not open again.
    assert_eq!(running.post_reports(&running.envelope(0, "bus")).0, 410);
    assert_eq!(running.post_reports(&running.envelope(1, "bus")).0, 202);
}

fn task_of(running: &Running) -> &Task {
    &running.task
}

#[test]
fn what_is_too_small_is_destroyed_and_each_context_counts_for_itself() {
    let model = Bytes32([9; 32]);
    let running = Running::start(None, |config| {
        config.task[0].contexts = vec![NOTHING, model];
    });
    let few = (1..SMALLEST).flat_map(|_| running.envelope_in(0, "bus", model));
    let few: Vec<u8> = few.collect();
    running.connection().send(&running.task, &few).unwrap();
    running.send_crowd(0, SMALLEST);
    running.close(0);
    let batches = running.batches();
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].context, NOTHING);
    // The other one is not to be had, not even by its name.
    let url = format!(
        "{}/v1/tasks/{}/batches/0/{model}",
        running.url,
        running.task.id()
    );
    let (status, text) = get(&url, Some(&running.token), "*/*");
    assert_eq!((status, text.contains("expired")), (404, false), "{text}");
}

#[test]
fn the_answer_to_a_dummy_is_that_to_a_report() {
    let running = Running::start(None, |_| {});
    let report = running.envelope(0, "bus");
    let first = running.post_reports(&report);
    assert_eq!((first.0, first.2.as_str()), (202, ""));
    assert_eq!(running.post_reports(&report), first);
    let dummy = running.dummy(0);
    assert_eq!(running.post_reports(&dummy), first);
    assert_eq!(running.post_reports(&dummy), first);
    assert_eq!(running.dummy(0).len(), report.len());
    running.send_crowd(0, SMALLEST - 1);
    running.close(0);
    // The repeated report and the dummy are not in the batch.
    assert_eq!(running.batches()[0].reports, SMALLEST);
    // Nor does it show who sent which when they are sent once more.
    let late = running.post_reports(&report);
    assert_eq!(late.0, 410);
    assert_eq!(running.post_reports(&dummy), late);
}

#[test]
fn whatever_does_not_open_gets_the_same_answer() {
    let running = Running::start(None, |_| {});
    let good = running.envelope(0, "bus");
    let damaged = |place: usize| {
        let mut envelope = good.clone();
        envelope[place] ^= 1;
        envelope
    };
    // Version, key, task, encapsulated key, text, tag.
    let places = [0, 1, 2, 42, 80, good.len() - 1];
    let answers: BTreeSet<_> = places
        .iter()
        .map(|&place| running.post_reports(&damaged(place)))
        .collect();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers.first().unwrap().0, 400);
    // A window that is not open is no secret: here the second and the last byte of its number.
    assert_eq!(running.post_reports(&damaged(35)).0, 503);
    assert_eq!(running.post_reports(&damaged(41)).0, 503);
    let mut random = Secure::new().unwrap();
    for length in [0, 1, good.len() - 1, good.len() + 1, 2 * good.len() - 1] {
        let mut body = vec![0; length];
        random.fill(&mut body);
        assert_eq!(running.post_reports(&body).0, 400, "{length}");
    }
    // Among others a malformed envelope does no harm, and the relay learns nothing of it.
    assert_eq!(
        running
            .post_reports(&[good.clone(), damaged(80)].concat())
            .0,
        202
    );
}

#[test]
fn nobody_may_do_what_is_anothers() {
    let (operators, hash) = new_token().unwrap();
    let running = Running::start(None, |config| config.operator_token_sha256 = Some(hash));
    let id = running.task.id();
    let analyzer = Some(running.token.as_str());
    let operator = Some(operators.as_str());
    for (_, path, who) in ROUTES.iter().filter(|(method, ..)| *method == "get") {
        let path = path
            .replace("{task}", &id.to_string())
            .replace("{window}", "0")
            .replace("{context}", &NOTHING.to_string());
        for token in [None, Some("made-up"), analyzer, operator] {
            let public = get(&format!("{}{path}", running.url), token, "*/*").0;
            let private = get(&format!("{}{path}", running.operator), token, "*/*").0;
            let health = path == "/healthz" || path == "/readyz";
            match *who {
                "anybody" => {
                    // Probes are published when their window is closed.
                    let wanted = if path.contains("/probes/") { 409 } else { 200 };
                    assert_eq!(public, wanted, "{path}");
                    assert_eq!(private, if health { 200 } else { 404 }, "{path}");
                }
                "analyzer" => {
                    let allowed = token == analyzer;
                    assert_eq!(public == 401, !allowed, "{path} {token:?}: {public}");
                    assert_eq!(private, 404, "{path}");
                }
                _ => {
                    assert_eq!(public, 404, "{path}");
                    let wanted = if token == operator { 200 } else { 401 };
                    assert_eq!(private, wanted, "{path} {token:?}");
                }
            }
        }
    }
    // Closing a window is the operator's.
    let closing = format!("/v1/tasks/{id}/windows/0/closing");
    assert_eq!(running.post(&closing, b"").0, 404);
    let connection = Connection::new(&running.operator, None).unwrap();
    assert!(connection.close(&running.task, 0, None).is_err());
    assert!(connection.close(&running.task, 0, analyzer).is_err());
    assert!(connection.close(&running.task, 1, operator).is_err());
    connection.close(&running.task, 0, operator).unwrap();
    // A task that is not there looks like one that is not theirs.
    let other = format!("{}/v1/tasks/{NOTHING}/batches", running.url);
    let mine = format!("{}/v1/tasks/{id}/batches", running.url);
    assert_eq!(
        get(&other, analyzer, "*/*"),
        get(&mine, Some("made-up"), "*/*")
    );
}

#[test]
fn windows_follow_the_clock_and_never_open_again() {
    let running = Running::start(Some(100), |config| config.windows.grace_seconds = 10);
    let windows = |running: &Running| {
        let now = running.connection().now(&running.task).unwrap();
        (*now.windows.start(), *now.windows.end())
    };
    assert_eq!(windows(&running), (9_999, 10_000));
    running.at(1_000_050);
    assert_eq!(windows(&running), (10_000, 10_000));
    running.send_crowd(10_000, SMALLEST);
    // Too early by the shuffler's clock, which may be wrong: to be sent again.
    assert_eq!(
        running.post_reports(&running.envelope(10_001, "bus")).0,
        503
    );
    running.at(1_000_109);
    assert_eq!(windows(&running), (10_000, 10_001));
    running.at(1_000_110);
    assert_eq!(running.batches()[0].reports, SMALLEST);
    assert_eq!(
        running.post_reports(&running.envelope(10_000, "bus")).0,
        410
    );
    // The clock is set back: no window is open, and the shuffler says that it is not ready.
    running.at(1_000_020);
    assert_eq!(
        running.post_reports(&running.envelope(10_000, "bus")).0,
        410
    );
    assert!(running.connection().now(&running.task).is_err());
    let ready = |running: &Running| get(&format!("{}/readyz", running.url), None, "*/*");
    let (status, text) = ready(&running);
    assert_eq!((status, text.contains("clock")), (503, true));
    let running = running.restarted();
    assert_eq!(ready(&running).0, 503);
    assert_eq!(
        running.post_reports(&running.envelope(10_000, "bus")).0,
        410
    );
    running.at(1_000_150);
    assert_eq!(ready(&running).0, 200);
    assert_eq!(
        running.post_reports(&running.envelope(10_001, "bus")).0,
        202
    );
    // What nobody fetches is destroyed in time, counted from its closing.
    running.at(1_000_110 + running.config.windows.keep_sealed_seconds - 1);
    assert_eq!(running.batches().len(), 1);
    running.at(1_000_110 + running.config.windows.keep_sealed_seconds);
    assert_eq!(running.batches(), []);
}

#[test]
fn batches_of_windows_that_are_closed_by_hand_are_destroyed_too() {
    let running = Running::start(None, |config| {
        config.windows.keep_released_seconds = 10;
        config.windows.keep_sealed_seconds = 100;
    });
    for window in 0..2 {
        running.send_crowd(window, SMALLEST);
        running.close(window);
    }
    let batches = running.batches();
    let connection = running.connection();
    connection
        .acknowledge(&running.task, &running.token, &batches[0])
        .unwrap();
    running.at(1_000_009);
    assert_eq!(running.batches().len(), 2);
    running.at(1_000_010);
    assert_eq!(running.batches(), [batches[1].clone()]);
    assert!(
        connection
            .fetch(&running.task, &running.token, &batches[0])
            .is_err()
    );
    running.at(1_000_100);
    assert_eq!(running.batches(), []);
}

/// Not ready without a key that devices may seal to, and without a store that can be written.
#[test]
fn readiness_is_that_of_keys_and_store() {
    let running = Running::start(None, |_| {});
    let ready = || get(&format!("{}/readyz", running.url), None, "*/*");
    assert_eq!(ready().0, 200);
    let folder = &running.config.keys.folder;
    let away = running.folder.path().join("away");
    std::fs::create_dir(&away).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry
            .path()
            .extension()
            .is_some_and(|ending| ending == "key")
        {
            std::fs::rename(entry.path(), away.join(entry.file_name())).unwrap();
        }
    }
    running.service.tick();
    let (status, text) = ready();
    assert_eq!(
        (status, text.contains("no active key")),
        (503, true),
        "{text}"
    );
    for entry in std::fs::read_dir(&away).unwrap() {
        let entry = entry.unwrap();
        std::fs::rename(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    running.service.tick();
    assert_eq!(ready().0, 200);
}

/// What the analyzer asks for tells nothing about a window that is open, nor about a batch that expired.
#[test]
fn a_batch_that_is_not_released_is_as_if_it_were_not_there() {
    let model = Bytes32([7; 32]);
    let running = Running::start(None, |config| config.task[0].contexts = vec![model]);
    let url = format!(
        "{}/v1/tasks/{}/batches/0/{model}",
        running.url,
        running.task.id()
    );
    let ask = || get(&url, Some(&running.token), "*/*");
    let before = ask();
    assert_eq!(before.0, 404);
    assert_eq!(
        running
            .post_reports(&running.envelope_in(0, "bus", model))
            .0,
        202
    );
    assert_eq!(ask(), before);
    running.close(0);
    assert_eq!(ask(), before);
    let journal = get(&format!("{}/v1/journal", running.operator), None, "*/*").1;
    assert!(!journal.contains("opened"), "{journal}");
}

/// Whoever makes contexts up opens no batch with them.
#[test]
fn a_task_takes_reports_about_what_its_operator_has_named() {
    let running = Running::start(None, |_| {});
    let model = Bytes32([7; 32]);
    let about = |model| running.post_reports(&running.envelope_in(0, "bus", model));
    assert_eq!((about(NOTHING).0, about(model).0), (202, 400));
    let named = post_to_operator(&running, &format!("contexts/{model}"), &[]);
    assert_eq!(named, 200);
    assert_eq!(about(model).0, 202);
    assert_eq!(about(Bytes32([8; 32])).0, 400);
}

/// A store that was lost has forgotten what came: whoever recorded envelopes could send all but one again,
/// and the difference of two batches would be that one.
#[test]
fn after_a_store_is_lost_nothing_that_was_sealed_before_opens() {
    let mut running = Running::start(None, |_| {});
    let crowd: Vec<Vec<u8>> = (0..=SMALLEST).map(|_| running.envelope(0, "bus")).collect();
    let recorded = running.envelope(1, "bus");
    running
        .connection()
        .send(&running.task, &crowd.concat())
        .unwrap();
    running.close(0);
    let first = running.service.active_key().unwrap();
    running = running.restarted();
    assert_eq!(running.service.active_key().unwrap(), first);
    running = running.restarted_after(|config| {
        std::fs::remove_dir_all(&config.store.folder).unwrap();
    });
    assert_ne!(running.service.active_key().unwrap().key, first.key);
    // The window that was released stays closed, and what was recorded for a later one opens no more.
    for envelope in &crowd[1..] {
        assert_eq!(running.post_reports(envelope).0, 410);
    }
    assert_eq!(running.post_reports(&recorded).0, 400);
    assert_eq!(running.post_reports(&running.envelope(1, "bus")).0, 202);
}

#[test]
fn a_store_from_a_backup_is_noticed_as_well() {
    let mut running = Running::start(None, |_| {});
    let (store, copy) = (
        running.config.store.folder.clone(),
        running.folder.path().join("copy"),
    );
    running = running.restarted_after(|_| copy_folder(&store, &copy));
    let first = running.service.active_key().unwrap();
    running.send_crowd(0, SMALLEST);
    running.close(0);
    running = running.restarted_after(|_| {
        std::fs::remove_dir_all(&store).unwrap();
        copy_folder(&copy, &store);
    });
    assert_ne!(running.service.active_key().unwrap().key, first.key);
}

/// A page in a browser of the operator's machine may send requests to loopback: without a token nothing but
/// its headers tells it from a program.
#[test]
fn pages_in_a_browser_do_not_operate() {
    let running = Running::start(None, |_| {});
    running.send_crowd(0, SMALLEST - 1);
    for headers in [
        &[("Host", "evil.example")][..],
        &[("Origin", "https://evil.example")],
        &[("Sec-Fetch-Site", "cross-site")],
    ] {
        assert_eq!(
            post_to_operator(&running, "windows/0/closing", headers),
            403
        );
    }
    // Nothing was closed.
    running.send_crowd(0, 1);
    running.close(0);
    assert_eq!(running.batches()[0].reports, SMALLEST);
}

/// Connections that say nothing, half of something, or something very slowly.
#[test]
fn who_does_not_speak_is_let_go() {
    let running = Running::start(None, |config| config.limits.request_seconds = 1);
    let address = running.url.trim_start_matches("http://").to_owned();
    let path = format!(
        "/v1/tasks/{}/batches/0/{NOTHING}/acknowledgement",
        running.task.id()
    );
    let slow = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: 99\r\n\r\n{{",
        running.token
    );
    for said in [
        "",
        "P",
        "POST / HTTP/1.1\r\nHost: x\r\n",
        "PRI * HTTP/2.0\r\n",
        &slow,
    ] {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        // It ends: with an answer, or without one.
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        assert!(ended.is_ok(), "{said:?}: {ended:?}");
    }
}

#[test]
fn there_are_so_many_connections_and_no_more() {
    let running = Running::start(None, |config| {
        config.limits.connections = 5;
        // What is held below is not let go for its silence.
        config.limits.request_seconds = 600;
    });
    let address = running.url.trim_start_matches("http://").to_owned();
    // A server that has only begun to listen accepts nothing yet; an answer says that it accepts.
    running.connection().now(&running.task).unwrap();
    let held: Vec<TcpStream> = (0..5)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    // Accepted, all five: what comes later is closed at once.
    let closed = || {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(2)))
            .unwrap();
        matches!(stream.read(&mut [0]), Ok(0))
    };
    assert!((0..50).any(|_| closed()));
    drop(held);
    let taken = || running.connection().now(&running.task).is_ok();
    assert!((0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        taken()
    }));
}

/// Whoever announces much and sends nothing holds nothing.
#[test]
fn bodies_that_do_not_come_take_no_room() {
    let running = Running::start(None, |config| config.limits.queue_bytes = 1 << 20);
    let address = running.url.trim_start_matches("http://").to_owned();
    let announced = 1000 * envelope_length(&running.task);
    let held: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            let head = format!(
                "POST /v1/tasks/{}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: {announced}\r\n\r\n",
                running.task.id()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(running.post_reports(&running.envelope(0, "bus")).0, 202);
    drop(held);
}

#[test]
fn a_window_has_room_for_so_many() {
    let running = Running::start(None, |config| {
        config.limits.envelopes_in_window = SMALLEST;
    });
    running.send_crowd(0, SMALLEST);
    assert_eq!(running.post_reports(&running.envelope(0, "bus")).0, 503);
    running.close(0);
    assert_eq!(running.batches()[0].reports, SMALLEST);
    assert_eq!(running.post_reports(&running.envelope(1, "bus")).0, 202);
}

#[test]
fn an_open_window_shows_no_count() {
    let running = Running::start(None, |_| {});
    let metrics = || get(&format!("{}/metrics", running.operator), None, "*/*").1;
    let before = metrics();
    assert!(before.contains("shuffledp_ready 1"), "{before}");
    running.send_crowd(0, SMALLEST + 3);
    let report = running.envelope(0, "car");
    running.post_reports(&report);
    running.post_reports(&report);
    running.post_reports(&running.dummy(0));
    assert_eq!(metrics(), before);
    running.close(0);
    let after = metrics();
    for (outcome, count) in [
        ("taken", SMALLEST + 4),
        ("repeated", 1),
        ("dummy", 1),
        ("malformed", 0),
    ] {
        let line = format!("outcome=\"{outcome}\"}} {count}\n");
        assert!(after.contains(&line), "{line} {after}");
    }
    assert!(after.contains("state=\"sealed\"} 1"));
}

#[test]
fn a_full_queue_says_so_at_once() {
    let running = Running::start(None, |config| {
        (
            config.limits.queue_bytes,
            config.limits.envelopes_in_request,
        ) = (1000, 5);
    });
    let (id, length) = (running.task.id(), envelope_length(&running.task));
    let begin = |announced: usize, sent: usize| {
        let mut stream = TcpStream::connect(running.url.trim_start_matches("http://")).unwrap();
        write!(
            stream,
            "POST /v1/tasks/{id}/reports HTTP/1.1\r\nHost: here\r\nContent-Length: {announced}\r\n\r\n"
        )
        .unwrap();
        stream.write_all(&vec![0; sent]).unwrap();
        stream
    };
    // A request whose end does not come.
    let held = begin(5 * length, 5 * length - 1);
    let many = vec![0; 2 * length];
    while running.post_reports(&many).0 != 503 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut waits = BTreeSet::new();
    for _ in 0..50 {
        let (status, headers, _) = running.post_reports(&many);
        assert_eq!(status, 503);
        waits.insert(headers["retry-after"].parse::<u32>().unwrap());
    }
    // Everybody is told another time, or they would all come back at once.
    assert!(
        waits.len() > 10 && waits.iter().all(|wait| (1..=30).contains(wait)),
        "{waits:?}"
    );
    // One that fits is taken.
    drop(held);
    let report = running.envelope(0, "bus");
    let taken = || running.post_reports(&report).0 == 202;
    assert!((0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        taken()
    }));
    // Too many are refused by their number alone: nothing of them need arrive.
    let mut stream = begin(6 * length, 0);
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[test]
fn an_old_key_opens_for_a_while_and_then_nothing_opens_what_it_did() {
    let running = Running::start(None, |config| config.keys.overlap_seconds = 100);
    let old = running.service.active_key().unwrap();
    let envelopes = [running.envelope(0, "bus"), running.envelope(0, "bus")];
    running.service.rotate_keys().unwrap();
    let new = running.service.active_key().unwrap();
    assert_ne!((old.number, old.key), (new.number, new.key));
    assert_eq!(running.connection().now(&running.task).unwrap().key, new);
    assert_eq!(running.post_reports(&envelopes[0]).0, 202);
    running.at(1_000_101);
    assert_eq!(running.post_reports(&envelopes[1]).0, 400);
    let name = format!("keys/shuffler-{}.key", old.number);
    assert!(!running.folder.path().join(name).exists());
    assert_eq!(running.post_reports(&running.envelope(0, "bus")).0, 202);
    let journal = get(&format!("{}/v1/journal", running.operator), None, "*/*").1;
    assert!(
        journal.contains(&format!("key {} deleted", old.number)),
        "{journal}"
    );
    let running = running.restarted();
    assert_eq!(running.service.active_key().unwrap(), new);
}

#[test]
fn the_promise_is_shown_to_people_and_to_programs() {
    let running = Running::start(None, |_| {});
    let url = format!("{}/guarantee", running.url);
    let (_, text) = get(&url, None, "application/json");
    let statement: Value = serde_json::from_str(&text).unwrap();
    let task = &statement["tasks"][0];
    assert_eq!(task["task"], running.task.id().to_string());
    assert_eq!(task["guarantee"]["smallest_batch"], SMALLEST);
    assert_eq!(task["guarantee"]["relation"], "replace");
    let upper = running.task.answer().upper().value();
    assert_eq!(task["guarantee"]["certified"]["upper"]["value"], upper);
    let (_, page) = get(&url, None, "text/html,*/*");
    for sentence in running.task.guarantee().unwrap().sentences() {
        let in_html = sentence.replace('\'', "&#39;");
        assert!(page.contains(&in_html), "{sentence}");
    }
    assert!(!page.contains("<script"));
}

#[test]
fn a_device_answers_once_whatever_breaks_in_between() {
    let running = Running::start(None, |_| {});
    let ledger = running.folder.path().join("ledger.json");
    let value = running.task.value("car").unwrap();
    let connection = running.connection();
    let done = answer(
        &connection,
        &running.task,
        &ledger,
        &value,
        &Habits::default(),
    )
    .unwrap();
    assert_eq!(done.decided, Some((0, Decision::Answered)));
    let again = answer(
        &connection,
        &running.task,
        &ledger,
        &value,
        &Habits::default(),
    );
    assert!(
        matches!(again, Err(ServiceError::Decided { window: 0, .. })),
        "{again:?}"
    );
    // The network broke after the ledger: the envelope is still there, and goes out the next time.
    let other = running.folder.path().join("other.json");
    let left = running.left_over(&other, 0);
    let done = answer(
        &connection,
        &running.task,
        &other,
        &value,
        &Habits::default(),
    )
    .unwrap();
    assert_eq!((done.sent_again, done.decided), (1, None));
    assert!(!left.exists());
    // A device that knows the key refuses another one.
    let pinned = Some(shuffledp_protocol::envelope::ShufflerKey {
        number: 1,
        key: NOTHING,
    });
    let habits = Habits {
        pinned,
        ..Habits::default()
    };
    let refused = answer(&connection, &running.task, &ledger, &value, &habits);
    assert!(
        matches!(refused, Err(ServiceError::OtherShuffler { .. })),
        "{refused:?}"
    );
    let habits = Habits {
        window: Some(7),
        ..Habits::default()
    };
    let refused = answer(&connection, &running.task, &ledger, &value, &habits);
    assert!(
        matches!(refused, Err(ServiceError::NotOpen { window: 7, .. })),
        "{refused:?}"
    );
}

#[test]
fn the_description_has_every_address() {
    let text = include_str!("../../../docs/openapi.json");
    let described: Value = serde_json::from_str(text).unwrap();
    let mut found = BTreeSet::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if method == "parameters" {
                continue;
            }
            let security = operation["security"][0].as_object();
            let who = security.map_or("anybody", |who| who.keys().next().unwrap());
            found.insert((method.clone(), path.clone(), who.to_owned()));
        }
    }
    let routes = ROUTES.iter();
    let routes = routes.map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string()));
    assert_eq!(found, routes.collect());
}

/// Envelopes of earlier calls do not keep a device from answering, whatever became of their windows and keys.
#[test]
fn an_envelope_that_nobody_takes_any_more_is_dropped() {
    let running = Running::start(Some(100), |config| {
        (config.keys.rotate_seconds, config.keys.overlap_seconds) = (200, 200);
        config.windows.grace_seconds = 10;
    });
    running.at(1_000_050);
    let ledger = running.folder.path().join("ledger.json");
    let ask = |window| {
        let value = running.task.value("car").unwrap();
        let habits = Habits {
            window,
            ..Habits::default()
        };
        answer(
            &running.connection(),
            &running.task,
            &ledger,
            &value,
            &habits,
        )
    };
    let left = running.left_over(&ledger, 10_000);
    // Its window is closed, and its key deleted.
    for now in [1_000_250, 1_000_460, 1_000_700, 1_000_850] {
        running.at(now);
    }
    let done = ask(None).unwrap();
    assert_eq!((done.too_late, done.refused, done.sent_again), (1, 0, 0));
    assert_eq!(done.decided, Some((10_008, Decision::Answered)));
    assert!(!left.exists());
    // Its window is open, and the shuffler does not open it: it will never be accepted.
    let damaged = running.left_over(&ledger, 10_009);
    let mut bytes = std::fs::read(&damaged).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    running.at(1_000_920);
    let done = ask(None).unwrap();
    assert_eq!((done.too_late, done.refused, done.sent_again), (0, 1, 0));
    // The ledger counts its window all the same.
    assert_eq!(done.decided, None);
    assert!(!damaged.exists());
    // Its window is not open yet: it is kept, and goes out when it is.
    let early = running.left_over(&ledger, 10_010);
    running.at(1_000_950);
    assert!(matches!(ask(None), Err(ServiceError::Decided { .. })));
    assert!(early.exists());
    running.at(1_001_050);
    let done = ask(None).unwrap();
    assert_eq!((done.sent_again, done.kept, done.decided), (1, 0, None));
    // Where the shuffler says that no window is open, nothing is sent and nothing is lost.
    let kept = running.left_over(&ledger, 10_012);
    running.at(1_001_350);
    running.at(1_000_000);
    assert!(ask(None).is_err());
    assert!(kept.exists());
}

/// A device computes with its own file of the task alone, whatever a server sends beside the id.
#[test]
fn what_a_server_sends_is_not_priced() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, key) = make(Party::Analyzer, 0, folder.path()).unwrap();
    let task = Task::new(spec(key, None)).unwrap();
    let ask = |served: Value| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).unwrap();
            let body = serde_json::json!({
                "task": served,
                "shuffler_key": { "number": 1, "key": NOTHING },
                "windows": { "first": 3, "last": 4 },
            });
            let (body, close) = (body.to_string(), "Connection: close\r\nContent-Length");
            write!(
                stream,
                "HTTP/1.1 200 OK\r\n{close}: {}\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
        });
        let now = Connection::new(&url, None).unwrap().now(&task);
        server.join().unwrap();
        now
    };
    let now = ask(serde_json::json!({ "id": task.id(), "task": "expensive" })).unwrap();
    assert_eq!(now.windows, 3..=4);
    let other = ask(serde_json::json!({ "id": NOTHING, "task": task.spec() }));
    assert!(
        matches!(other, Err(ServiceError::OtherTask { .. })),
        "{other:?}"
    );
    assert!(ask(serde_json::json!({ "task": task.spec() })).is_err());
}

/// Shufflers of one database have one master key: none of them makes its own.
#[test]
fn a_shared_store_gets_no_master_key_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::new(TaskConfig {
        file: "task.json".into(),
        analyzer_token_sha256: None,
        contexts: Vec::new(),
    });
    config.store.master_key = folder.path().join("master.key");
    // The error comes before anybody connects.
    config.store.postgres = Some("host=/nowhere".to_owned());
    let refused = open_store(&config.store).map(drop).unwrap_err().to_string();
    assert!(refused.contains("shuffledp keys master --out"), "{refused}");
    assert!(!config.store.master_key.exists());
}

#[test]
fn reports_under_way_are_taken_when_it_stops() {
    let mut running = Running::start(None, |_| {});
    // A crowd, so that a batch is sealed whatever arrives besides, and says how many did.
    running.send_crowd(0, SMALLEST);
    const SENDERS: u64 = 8;
    let accepted = Arc::new(AtomicU64::new(0));
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| {
            let (connection, task) = (running.connection(), running.task.clone());
            let envelopes: Vec<Vec<u8>> = (0..200).map(|_| running.envelope(0, "bus")).collect();
            let accepted = Arc::clone(&accepted);
            std::thread::spawn(move || {
                for envelope in &envelopes {
                    if connection.send(&task, envelope).is_err() {
                        return;
                    }
                    accepted.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    while accepted.load(Ordering::SeqCst) < 20 && !senders.iter().all(JoinHandle::is_finished) {
        std::thread::yield_now();
    }
    running.stop.take();
    running.server.take().unwrap().join().unwrap().unwrap();
    for sender in senders {
        sender.join().unwrap();
    }
    let accepted = accepted.load(Ordering::SeqCst);
    assert!(accepted >= 20, "{accepted}");
    let running = running_again(running);
    running.close(0);
    let besides = running.batches()[0].reports - SMALLEST;
    // What was accepted is there. Each sender has stopped at the first report whose answer it did not get,
    // which may be there too.
    assert!(
        (accepted..=accepted + SENDERS).contains(&besides),
        "{accepted} {besides}"
    );
}

fn running_again(mut running: Running) -> Running {
    let folder = std::mem::replace(&mut running.folder, tempfile::tempdir().unwrap());
    let (config, task) = (running.config.clone(), running.task.clone());
    let (clock, token) = (running.clock.clone(), running.token.clone());
    drop(running);
    Running::serve(folder, config, task, clock, token)
}
