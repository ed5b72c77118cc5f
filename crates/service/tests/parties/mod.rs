//! Folders of all parties in one place, and a running shuffler, for tests of what a task may have beside the
//! ordinary: tokens, probes, a second shuffler.

#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod store;

use shuffledp_accounting::{RandomizerSpec, RoundSpec};
use shuffledp_protocol::envelope::{ShufflerKey, seal};
use shuffledp_protocol::task::{Bytes32, Task, TaskSpec, Value, Values};
use shuffledp_randomizers::Secure;
use shuffledp_service::client::{Connection, Listed};
use shuffledp_service::folders::{Device, Shuffler, write_task};
use shuffledp_service::keys::{self, Party};
use shuffledp_service::ledger::Ledger;
use shuffledp_service::schedule::{Clock, SystemClock};
use shuffledp_service::server::access::new_token;
use shuffledp_service::server::config::{Config, TaskConfig};
use shuffledp_service::server::{Listening, Service, open_store};
use shuffledp_service::store::Store;
use shuffledp_service::{AwsLc, ServiceError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// The reports of a batch.
pub(crate) const SMALLEST: u64 = 4;

/// Everybody's folders in one place, which the parties of a test share and those of a collection do not.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) task: Task,
}

impl Place {
    /// A task of two values with windows that are closed by hand.
    pub(crate) fn new(change: impl FnOnce(&mut TaskSpec, &Path)) -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        keys::make(Party::Shuffler, 1, &at("shuffler")).unwrap();
        let (_, _, analyzer_key) = keys::make(Party::Analyzer, 0, &at("analyzer")).unwrap();
        let mut response = RandomizerSpec::new("rr").unwrap();
        response.epsilon0 = Some(1.0.into());
        let mut round = RoundSpec::new(response);
        (round.users, round.rounds) = (Some(SMALLEST), 3);
        let mut spec = TaskSpec {
            name: "smokers".to_owned(),
            round,
            values: Values::Labels(["no", "yes"].map(str::to_owned).to_vec()),
            epsilon: 1.0,
            delta: 1e-6,
            window_seconds: None,
            analyzer_key,
            tokens: None,
            second_shuffler: None,
        };
        change(&mut spec, folder.path());
        let task = Task::new(spec).unwrap();
        write_task(&task, &at("task.json")).unwrap();
        std::fs::create_dir(at("inbox")).unwrap();
        Self { folder, task }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The key of the shuffler by files.
    pub(crate) fn key(&self) -> ShufflerKey {
        keys::shuffler_public(&self.at("shuffler/shuffler-1.pub")).unwrap()
    }

    pub(crate) fn device(&self) -> Device {
        Device::new(self.task.clone(), self.key()).unwrap()
    }

    pub(crate) fn shuffler(&self) -> Shuffler {
        let keys = keys::shuffler_secrets(&[self.at("shuffler/shuffler-1.key")]).unwrap();
        Shuffler::new(self.task.clone(), keys, &self.at("batches")).unwrap()
    }

    /// The envelope of a device with a new ledger.
    pub(crate) fn envelope(
        &self,
        device: &mut Device,
        window: u64,
    ) -> Result<Vec<u8>, ServiceError> {
        let folder = TempDir::new().unwrap();
        let mut ledger = Ledger::open(&folder.path().join("ledger.json"))?;
        let path = folder.path().join("envelope");
        device.report(&mut ledger, window, &Value::Category(1), &path)?;
        Ok(std::fs::read(path).unwrap())
    }

    /// Puts an envelope into the inbox under a name.
    pub(crate) fn put(&self, name: &str, envelope: &[u8]) {
        std::fs::write(self.at("inbox").join(name), envelope).unwrap();
    }
}

/// A clock that a test sets, and time that goes by as the test says.
#[derive(Clone, Default)]
pub(crate) struct Turned {
    now: Arc<AtomicU64>,
    gone: Arc<AtomicU64>,
}

impl Turned {
    pub(crate) fn at(now: u64) -> Self {
        let clock = Self::default();
        clock.set(now);
        clock
    }

    /// The clock shows another time.
    pub(crate) fn set(&self, now: u64) {
        self.now.store(now, Ordering::SeqCst);
    }

    /// Time goes by, and the clock with it.
    pub(crate) fn go(&self, seconds: u64) {
        self.gone.fetch_add(seconds, Ordering::SeqCst);
        self.now.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for Turned {
    fn now(&self) -> Option<u64> {
        Some(self.now.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        Duration::from_secs(self.gone.load(Ordering::SeqCst))
    }
}

/// A shuffler that runs, on the task of a place.
pub(crate) struct Server {
    pub(crate) service: Arc<Service>,
    pub(crate) token: String,
    pub(crate) url: String,
    pub(crate) operator: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServiceError>>>,
}

impl Server {
    /// Starts it on what the place holds of an earlier one.
    pub(crate) fn start(place: &Place) -> Self {
        Self::start_with(place, |_| {}).unwrap()
    }

    /// The same with another configuration, which may be refused.
    pub(crate) fn start_with(
        place: &Place,
        change: impl FnOnce(&mut Config),
    ) -> Result<Self, ServiceError> {
        Self::start_around(place, Arc::new(SystemClock), change, |store| store)
    }

    /// The same with another clock and store too.
    pub(crate) fn start_around(
        place: &Place,
        clock: Arc<dyn Clock>,
        change: impl FnOnce(&mut Config),
        around: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Result<Self, ServiceError> {
        let (token, hash) = new_token().unwrap();
        let mut config = Config::new(TaskConfig {
            file: place.at("task.json"),
            analyzer_token_sha256: Some(hash),
            contexts: Vec::new(),
        });
        let any_port = "127.0.0.1:0".parse().unwrap();
        (config.listen, config.operator_listen) = (any_port, any_port);
        config.keys.folder = place.at("keys");
        config.store.folder = place.at("store");
        config.store.master_key = place.at("master.key");
        change(&mut config);
        let store = around(open_store(&config.store).unwrap());
        let service = Service::new(config, store, clock)?;
        let listening = Listening::bind(Arc::clone(&service)).unwrap();
        let [url, operator] =
            [listening.public(), listening.operator()].map(|address| format!("http://{address}"));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            listening.run(async {
                let _ = stopped.await;
            })
        });
        Ok(Self {
            service,
            token: token.to_string(),
            url,
            operator,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub(crate) fn connection(&self) -> Connection {
        Connection::new(&self.url, None).unwrap()
    }

    pub(crate) fn close(&self, task: &Task, window: u64) {
        let operator = Connection::new(&self.operator, None).unwrap();
        operator.close(task, window, None).unwrap();
    }

    /// The envelope of a device for this shuffler.
    pub(crate) fn envelope(&self, task: &Task, window: u64) -> Vec<u8> {
        let mut random = Secure::new().unwrap();
        let value = task.value("yes").unwrap();
        let report = task.randomize(&value, &mut random).unwrap();
        let key = self.service.active_key().unwrap();
        seal(&AwsLc, task, &key, window, NOTHING, &report, &mut random).unwrap()
    }

    /// So many reports of a window.
    pub(crate) fn crowd(&self, task: &Task, window: u64, devices: u64) -> Vec<Vec<u8>> {
        let crowd: Vec<_> = (0..devices).map(|_| self.envelope(task, window)).collect();
        for envelope in &crowd {
            assert_eq!(self.post(task, envelope).0, 202);
        }
        crowd
    }

    /// How it ended, if it does within ten seconds.
    pub(crate) fn ended(&mut self) -> Option<Result<(), ServiceError>> {
        for _ in 0..1000 {
            if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
                return self.thread.take().map(|thread| thread.join().unwrap());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    pub(crate) fn ready(&self) -> (u16, String) {
        let mut response = agent().get(format!("{}/readyz", self.url)).call().unwrap();
        let status = response.status().as_u16();
        (status, response.body_mut().read_to_string().unwrap())
    }

    /// A request of the operator without a body: its status.
    pub(crate) fn operate(&self, path: &str) -> u16 {
        let url = format!("{}{path}", self.operator);
        agent().post(url).send_empty().unwrap().status().as_u16()
    }

    pub(crate) fn batches(&self, task: &Task) -> Vec<Listed> {
        self.connection().batches(task, &self.token).unwrap()
    }

    /// Sends envelopes by hand: status and body.
    pub(crate) fn post(&self, task: &Task, body: &[u8]) -> (u16, String) {
        let url = format!("{}/v1/tasks/{}/reports", self.url, task.id());
        let mut response = agent().post(url).send(body).unwrap();
        let status = response.status().as_u16();
        (status, response.body_mut().read_to_string().unwrap())
    }

    /// Asks a public address of the task: status and body.
    pub(crate) fn get(&self, task: &Task, path: &str, token: Option<&str>) -> (u16, String) {
        let url = format!("{}/v1/tasks/{}{path}", self.url, task.id());
        let mut request = agent().get(url);
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let mut response = request.call().unwrap();
        let status = response.status().as_u16();
        (status, response.body_mut().read_to_string().unwrap())
    }

    pub(crate) fn metrics(&self) -> String {
        let url = format!("{}/metrics", self.operator);
        let mut response = agent().get(url).call().unwrap();
        response.body_mut().read_to_string().unwrap()
    }
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    config.build().into()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The context of tasks that send devices nothing.
pub(crate) const NOTHING: Bytes32 = Bytes32([0; 32]);
