//! The configuration of a shuffler: a TOML file, checked whole before anything starts. Paths are relative to
//! the folder of the file.

use crate::error::ServiceError;
use crate::intake::MOST_CONTEXTS;
use crate::quota::Most;
use serde::{Deserialize, Serialize};
use shuffledp_protocol::envelope::{PROBES, envelope_length};
use shuffledp_protocol::task::{Bytes32, Task};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Everything that a shuffler can be told, with its defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where devices, relays and the analyzer connect.
    #[serde(default = "loopback::<8080>")]
    pub listen: SocketAddr,
    /// Where the operator connects: metrics, health, closing windows. Not for the network.
    #[serde(default = "loopback::<8081>")]
    pub operator_listen: SocketAddr,
    /// The hash of the operator's token. Needed where `operator_listen` is not on loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_token_sha256: Option<Bytes32>,
    /// The tasks.
    pub task: Vec<TaskConfig>,
    /// The keys that devices seal to.
    #[serde(default)]
    pub keys: KeysConfig,
    /// Where reports are kept.
    #[serde(default)]
    pub store: StoreConfig,
    /// When windows close, and how long batches are kept.
    #[serde(default)]
    pub windows: WindowsConfig,
    /// What is held in memory, and for how long.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Certificates; without them connections are not encrypted, and a proxy in front has to see to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsConfig>,
}

/// A task that the shuffler serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskConfig {
    /// Its file.
    pub file: PathBuf,
    /// The hash of the token with which its analyzer fetches batches; without it nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analyzer_token_sha256: Option<Bytes32>,
    /// What its devices are sent, as the SHA-256 of a file such as a model; reports about anything else are
    /// refused. None where they are sent nothing. More can be named while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<Bytes32>,
}

/// The keys that devices seal to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeysConfig {
    /// Their folder; a key is made where there is none.
    pub folder: PathBuf,
    /// After how many seconds a key is replaced by a new one; 0: never.
    pub rotate_seconds: u64,
    /// For how many seconds a replaced key still opens envelopes; then it is deleted. At least the longest
    /// window and its grace. Where windows are closed by hand, for as long as one may be open.
    pub overlap_seconds: u64,
}

/// Where reports are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// The folder of the embedded store.
    pub folder: PathBuf,
    /// The connection string of a PostgreSQL database, which several shufflers may share; instead of the
    /// embedded store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<String>,
    /// The file of the key that the keys of batches are encrypted with; made where it is not there. Not on
    /// the disk that is backed up.
    pub master_key: PathBuf,
    /// Older master keys, of batches from before the present one.
    pub older_master_keys: Vec<PathBuf>,
}

/// When windows close, and how long batches are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WindowsConfig {
    /// For how many seconds after its end a window still takes reports.
    pub grace_seconds: u64,
    /// After how many seconds from the end of its window a batch is destroyed that the analyzer has
    /// acknowledged.
    pub keep_released_seconds: u64,
    /// The same for a batch that it has not acknowledged.
    pub keep_sealed_seconds: u64,
}

/// What is held in memory, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// The most bytes of envelopes that wait to be opened and written.
    pub queue_bytes: usize,
    /// The most envelopes of one request, from a relay.
    pub envelopes_in_request: usize,
    /// The most reports that are taken for one window of a task: a batch is put into order in memory.
    pub envelopes_in_window: u64,
    /// The most bytes of their envelopes. A batch takes some four times as many while it is put into order.
    pub bytes_in_window: u64,
    /// The most dummies that are kept of a window, within as many bytes again. What comes beyond is answered
    /// as the others are, and dropped at once: a dummy carries no token, and anybody can send any number.
    pub dummies_in_window: u64,
    /// The same for probes. What is published of a window with so many says that there may have been more.
    pub probes_in_window: u64,
    /// The most connections at a time.
    pub connections: usize,
    /// The most seconds for a request to arrive.
    pub request_seconds: u64,
    /// The most seconds that a shutdown waits for requests that are under way.
    pub shutdown_seconds: u64,
    /// The longest time, in seconds, after which a device that was turned away is asked to come again. Each
    /// is told another time.
    pub retry_after_seconds: u32,
}

/// Certificates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificates, in PEM.
    pub certificate: PathBuf,
    /// Their key, in PEM.
    pub key: PathBuf,
}

const fn loopback<const PORT: u16>() -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), PORT)
}

/// A week: the longest window that people commonly have; and an analyzer that is down over a weekend loses
/// nothing.
const WEEK: u64 = 604_800;
const DAY: u64 = 86_400;

impl Default for KeysConfig {
    fn default() -> Self {
        Self {
            folder: "keys".into(),
            rotate_seconds: 0,
            overlap_seconds: WEEK + DAY,
        }
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            folder: "store".into(),
            postgres: None,
            master_key: "master.key".into(),
            older_master_keys: Vec::new(),
        }
    }
}

impl Default for WindowsConfig {
    fn default() -> Self {
        Self {
            grace_seconds: 60,
            keep_released_seconds: DAY,
            keep_sealed_seconds: WEEK,
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            // Some 300,000 reports of a categorical task.
            queue_bytes: 64 << 20,
            envelopes_in_request: 1000,
            // A categorical batch of so many takes some 2 GB while it is put into order.
            envelopes_in_window: 5_000_000,
            // So many categorical envelopes fit; of vectors of 54 kB 19,000.
            bytes_in_window: 1 << 30,
            dummies_in_window: 1_000_000,
            // As many marks are some 700 kB when they are published.
            probes_in_window: 10_000,
            // Below the 65,536 files that the unit allows.
            connections: 10_000,
            request_seconds: 30,
            shutdown_seconds: 30,
            retry_after_seconds: 30,
        }
    }
}

/// The most windows of a task that are open at a time, by the grace.
const MOST_OPEN_WINDOWS: u64 = 50;
/// What is not set by default, as an example of how to: the hash of nothing that is a token.
const OPERATOR_TOKEN: &str =
    r#"operator_token_sha256 = "0000000000000000000000000000000000000000000000000000000000000000""#;
const ANALYZER_TOKEN: &str =
    r#"analyzer_token_sha256 = "0000000000000000000000000000000000000000000000000000000000000000""#;
const CONTEXTS: &str =
    r#"contexts = ["0000000000000000000000000000000000000000000000000000000000000000"]"#;
const POSTGRES: &str = r#"postgres = "host=/run/postgresql dbname=shuffler user=shuffler""#;
const TLS: &str = "# [tls]\n# certificate = \"chain.pem\"\n# key = \"key.pem\"";

/// What a file of a configuration is called in messages.
const WHAT: &str = "a configuration of a shuffler";

impl Config {
    /// The defaults with one task.
    pub fn new(task: TaskConfig) -> Self {
        Self {
            listen: loopback::<8080>(),
            operator_listen: loopback::<8081>(),
            operator_token_sha256: None,
            task: vec![task],
            keys: KeysConfig::default(),
            store: StoreConfig::default(),
            windows: WindowsConfig::default(),
            limits: LimitsConfig::default(),
            tls: None,
        }
    }

    /// Reads a file, and puts its folder in front of its paths.
    pub fn read(path: &Path) -> Result<Self, ServiceError> {
        let text = std::fs::read_to_string(path).map_err(ServiceError::unreadable(path))?;
        let mut config: Self =
            toml::from_str(&text).map_err(|error| ServiceError::content(path, WHAT, error))?;
        config
            .check()
            .map_err(|message| ServiceError::content(path, WHAT, message))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.paths().for_each(|path| *path = folder.join(&*path));
        Ok(config)
    }

    /// Every value as TOML, defaults too. What is not set is there behind a `#`, with an example.
    pub fn to_toml(&self) -> String {
        // Numbers, texts and tables: nothing that TOML cannot hold.
        let text = toml::to_string_pretty(self).unwrap_or_default();
        let (mut lines, mut table) = (Vec::new(), "");
        for line in text.lines() {
            if line.starts_with('[') {
                table = line;
            }
            lines.push(line.to_owned());
            let task = self.task.first();
            // After which value of which table, whether it is set, and the example.
            for (within, after, set, example) in [
                (
                    "",
                    "operator_listen",
                    self.operator_token_sha256.is_some(),
                    OPERATOR_TOKEN,
                ),
                (
                    "[[task]]",
                    "file",
                    task.is_some_and(|task| task.analyzer_token_sha256.is_some()),
                    ANALYZER_TOKEN,
                ),
                (
                    "[[task]]",
                    "file",
                    task.is_some_and(|task| !task.contexts.is_empty()),
                    CONTEXTS,
                ),
                ("[store]", "folder", self.store.postgres.is_some(), POSTGRES),
            ] {
                if !set && table == within && line.split(" = ").next() == Some(after) {
                    lines.push(format!("# {example}"));
                }
            }
        }
        if self.tls.is_none() {
            lines.extend([String::new(), TLS.to_owned()]);
        }
        lines.join("\n") + "\n"
    }

    fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let tls = self.tls.iter_mut();
        let tls = tls.flat_map(|tls| [&mut tls.certificate, &mut tls.key]);
        let store = &mut self.store;
        let files = self.task.iter_mut().map(|task| &mut task.file);
        [
            &mut self.keys.folder,
            &mut store.folder,
            &mut store.master_key,
        ]
        .into_iter()
        .chain(&mut store.older_master_keys)
        .chain(files)
        .chain(tls)
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let operator = self.operator_listen;
        if !operator.ip().is_loopback() && self.operator_token_sha256.is_none() {
            return Err(format!(
                "operator_listen {operator} is not on loopback, and operator_token_sha256 is missing"
            ));
        }
        if !operator.ip().is_loopback() && self.tls.is_none() {
            return Err(format!(
                "operator_listen {operator} is not on loopback, and [tls] is missing: its token would go in \
                 the clear"
            ));
        }
        if self.task.is_empty() {
            return Err("it has no [[task]]".to_owned());
        }
        if let Some(task) = self
            .task
            .iter()
            .find(|task| task.contexts.len() > MOST_CONTEXTS)
        {
            return Err(format!(
                "task.contexts of number {} is not at most {MOST_CONTEXTS}",
                task.contexts.len()
            ));
        }
        if self.task.iter().any(|task| task.contexts.contains(&PROBES)) {
            return Err(format!(
                "task.contexts has {PROBES}, which is that of probes"
            ));
        }
        let limits = &self.limits;
        for (name, value) in [
            ("queue_bytes", limits.queue_bytes as u64),
            ("envelopes_in_request", limits.envelopes_in_request as u64),
            ("envelopes_in_window", limits.envelopes_in_window),
            ("bytes_in_window", limits.bytes_in_window),
            ("dummies_in_window", limits.dummies_in_window),
            ("probes_in_window", limits.probes_in_window),
            ("connections", limits.connections as u64),
            ("request_seconds", limits.request_seconds),
            ("shutdown_seconds", limits.shutdown_seconds),
            ("retry_after_seconds", u64::from(limits.retry_after_seconds)),
        ] {
            if value == 0 {
                return Err(format!("limits.{name} 0 is not 1 or more"));
            }
        }
        Ok(())
    }

    /// Refuses limits in which no batch of this task, or no request of so many of its envelopes, finds room:
    /// everybody would be asked to come again, for ever.
    pub(crate) fn check_task(&self, task: &Task) -> Result<(), String> {
        let (limits, length) = (&self.limits, envelope_length(task));
        let (id, smallest) = (task.id(), task.smallest_batch());
        if limits.envelopes_in_window < smallest {
            return Err(format!(
                "limits.envelopes_in_window {} is not {smallest} or more, the smallest batch of task {id}",
                limits.envelopes_in_window
            ));
        }
        if Most::of(limits, task).reports < smallest {
            return Err(format!(
                "limits.bytes_in_window {} is not {} or more, the smallest batch of task {id}: {smallest} \
                 envelopes of {length} bytes",
                limits.bytes_in_window,
                u128::from(smallest) * length as u128
            ));
        }
        let request = limits.envelopes_in_request.saturating_mul(length);
        match limits.queue_bytes < request {
            true => Err(format!(
                "limits.queue_bytes {} is not {request} or more, limits.envelopes_in_request {} envelopes of \
                 {length} bytes of the task {id}: such a request would never find room",
                limits.queue_bytes, limits.envelopes_in_request
            )),
            false => Ok(()),
        }
    }

    /// Refuses windows that are too short for the grace: counts of closed windows are kept for so many.
    pub(crate) fn check_grace(&self, shortest_window: u64) -> Result<(), String> {
        let (grace, most) = (
            self.windows.grace_seconds,
            shortest_window.saturating_mul(MOST_OPEN_WINDOWS),
        );
        match grace > most {
            true => Err(format!(
                "windows.grace_seconds {grace} is not at most {most}, {MOST_OPEN_WINDOWS} times the shortest \
                 window"
            )),
            false => Ok(()),
        }
    }

    /// Refuses to delete keys that open windows still have envelopes for. A key may be replaced at any time,
    /// by the operator if not by the clock.
    pub(crate) fn check_overlap(&self, longest_window: u64) -> Result<(), String> {
        let (overlap, needed) = (
            self.keys.overlap_seconds,
            longest_window.saturating_add(self.windows.grace_seconds),
        );
        match overlap < needed {
            true => Err(format!(
                "keys.overlap_seconds {overlap} is not {needed} or more, the longest window and its grace"
            )),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Config, StoreConfig, TaskConfig, TlsConfig};
    use shuffledp_protocol::task::Bytes32;
    use std::path::{Path, PathBuf};

    fn read(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shuffler.toml");
        std::fs::write(&path, text).unwrap();
        Config::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn every_default_is_printed_and_read_again() {
        let config = Config::new(TaskConfig {
            file: "task.json".into(),
            analyzer_token_sha256: None,
            contexts: Vec::new(),
        });
        let again: Config = toml::from_str(&config.to_toml()).unwrap();
        assert_eq!(again, config);
        let short = read("[[task]]\nfile = 'task.json'").unwrap();
        assert_eq!(short.limits, config.limits);
        assert!(short.keys.folder.ends_with("keys") && short.keys.folder != Path::new("keys"));
    }

    /// A value that is not set by default is printed too, as an example that can be read.
    #[test]
    fn what_is_not_set_is_printed_behind_a_sign() {
        let hash = Bytes32([0; 32]);
        // Every field by its name: a new one is asked for here.
        let task = TaskConfig {
            file: "task.json".into(),
            analyzer_token_sha256: Some(hash),
            contexts: vec![hash],
        };
        let without = Config::new(TaskConfig {
            file: "task.json".into(),
            analyzer_token_sha256: None,
            contexts: Vec::new(),
        });
        let full = Config {
            listen: without.listen,
            operator_listen: without.operator_listen,
            operator_token_sha256: Some(hash),
            task: vec![task],
            keys: without.keys.clone(),
            store: StoreConfig {
                folder: "store".into(),
                postgres: Some("host=/run/postgresql dbname=shuffler user=shuffler".to_owned()),
                master_key: "master.key".into(),
                older_master_keys: Vec::new(),
            },
            windows: without.windows.clone(),
            limits: without.limits.clone(),
            tls: Some(TlsConfig {
                certificate: "chain.pem".into(),
                key: "key.pem".into(),
            }),
        };
        assert!(!full.to_toml().contains('#'), "{}", full.to_toml());
        let printed = without.to_toml();
        let uncommented = printed.replace("# ", "");
        assert_eq!(
            toml::from_str::<Config>(&uncommented).unwrap(),
            full,
            "{printed}"
        );
        assert_eq!(toml::from_str::<Config>(&printed).unwrap(), without);
    }

    #[test]
    fn mistakes_are_named() {
        let task = "[[task]]\nfile = 'task.json'\n";
        for (text, message) in [
            ("", "missing field `task`"),
            ("task = []", "it has no [[task]]"),
            (
                "operator_listen = '0.0.0.0:9'\n[[task]]\nfile = 'f'",
                "operator_listen 0.0.0.0:9 is not on loopback, and operator_token_sha256 is missing",
            ),
            ("listen = 'here'\n[[task]]\nfile = 'f'", "socket address"),
            (
                "[limits]\nqueue_bytes = 0\n",
                "limits.queue_bytes 0 is not 1 or more",
            ),
            ("[limits]\nqueue = 1\n", "unknown field `queue`"),
            ("[windows]\ngrace_seconds = -1\n", "grace_seconds"),
        ] {
            let text = match text.contains("task") || text.is_empty() {
                true => text.to_owned(),
                false => format!("{text}{task}"),
            };
            let error = read(&text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        let mut config = read(task).unwrap();
        // An operator may replace keys by hand: the overlap counts whether or not the clock does.
        for rotate in [0, 60] {
            config.keys.rotate_seconds = rotate;
            assert!(config.check_overlap(0).is_ok());
            assert!(config.check_overlap(604_800).is_ok());
            let month = config.check_overlap(2_592_000).unwrap_err();
            assert!(month.contains(" 2592060 or more"), "{month}");
        }
        assert_eq!(config.store.older_master_keys, Vec::<PathBuf>::new());
    }
}
