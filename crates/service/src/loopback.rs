//! A shuffler on free ports of loopback, in a thread of this program: for a demonstration, an audit, a
//! benchmark. Its keys and its store are in a folder.

use crate::error::ServiceError;
use crate::folders::write_task;
use crate::schedule::SystemClock;
use crate::server::access::new_token;
use crate::server::config::{Config, TaskConfig};
use crate::server::{Listening, Service, open_store};
use crate::store::Store;
use shuffledp_protocol::task::Task;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

/// A running shuffler. It stops when it is dropped.
pub struct Loopback {
    url: String,
    operator: String,
    token: Zeroizing<String>,
    stop: Option<oneshot::Sender<()>>,
    server: Option<JoinHandle<Result<(), ServiceError>>>,
}

impl Loopback {
    /// Starts a shuffler of these tasks.
    pub fn start(tasks: &[Task], folder: &Path) -> Result<Self, ServiceError> {
        Self::start_with(tasks, folder, |store| store)
    }

    /// The same with another store around its own.
    pub(crate) fn start_with(
        tasks: &[Task],
        folder: &Path,
        around: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Result<Self, ServiceError> {
        let (config, token) = Self::config(tasks, folder)?;
        let store = around(open_store(&config.store)?);
        Self::run(config, store, token)
    }

    /// A configuration with these tasks, whose files are written, and the token of their analyzer.
    pub fn config(
        tasks: &[Task],
        folder: &Path,
    ) -> Result<(Config, Zeroizing<String>), ServiceError> {
        std::fs::create_dir_all(folder).map_err(ServiceError::unwritable(folder))?;
        let (token, hash) = new_token()?;
        let mut served = Vec::new();
        for task in tasks {
            let file = folder.join(format!("{}.json", task.id()));
            write_task(task, &file)?;
            served.push(TaskConfig {
                file,
                analyzer_token_sha256: Some(hash),
                contexts: Vec::new(),
            });
        }
        let none = || ServiceError::Config {
            message: "there is no task".to_owned(),
        };
        let mut config = Config::new(served.first().cloned().ok_or_else(none)?);
        config.task = served;
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        (config.listen, config.operator_listen) = (any_port, any_port);
        config.keys.folder = folder.join("keys");
        config.store.folder = folder.join("store");
        config.store.master_key = folder.join("master.key");
        Ok((config, token))
    }

    /// Starts a shuffler of this configuration, whose addresses must be on loopback.
    pub fn run(
        config: Config,
        store: Arc<dyn Store>,
        token: Zeroizing<String>,
    ) -> Result<Self, ServiceError> {
        if let Some(address) = [config.listen, config.operator_listen]
            .into_iter()
            .find(|address| !address.ip().is_loopback())
        {
            return Err(ServiceError::Config {
                message: format!("{address} is not on loopback"),
            });
        }
        let service = Service::new(config, store, Arc::new(SystemClock))?;
        let listening = Listening::bind(service)?;
        let [url, operator] =
            [listening.public(), listening.operator()].map(|address| format!("http://{address}"));
        let (stop, stopped) = oneshot::channel::<()>();
        let server = std::thread::Builder::new().name("shuffler".to_owned());
        let server = server.spawn(move || {
            listening.run(async {
                // A sender that is dropped stops it as well.
                let _ = stopped.await;
            })
        });
        let server = server.map_err(|error| ServiceError::NotStarted {
            what: "its thread",
            error,
        })?;
        Ok(Self {
            url,
            operator,
            token,
            stop: Some(stop),
            server: Some(server),
        })
    }

    /// Where devices and the analyzer connect.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where the operator connects.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// The analyzer's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Stops it, when what is under way is taken.
    pub fn stop(mut self) -> Result<(), ServiceError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ServiceError> {
        drop(self.stop.take());
        match self.server.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            // A thread that panicked has said so.
            Some(Err(_)) | None => Ok(()),
        }
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(%error, "the shuffler on loopback");
        }
    }
}
