//! `shuffledp shuffler`: a shuffler on the network, until it is asked to stop; or the check of its journal.

use crate::failure::Failure;
use clap::Args;
use shuffledp::grouped;
use shuffledp_service::schedule::SystemClock;
use shuffledp_service::server::config::{Config, TaskConfig};
use shuffledp_service::server::{Listening, Service, asked_to_stop, open_store};
use shuffledp_service::store::journal::verify;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Args)]
pub(crate) struct ShufflerArguments {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE", required_unless_present = "defaults")]
    config: Option<PathBuf>,
    /// Print a configuration with every default and leave
    #[arg(long)]
    defaults: bool,
    /// Check the journal of the store and leave: how many entries it has, and the hash of the last. Exit code
    /// 1 if its chain is broken. A shuffler whose store is a folder must not be running
    #[arg(long, conflicts_with = "defaults")]
    check_journal: bool,
}

impl ShufflerArguments {
    /// Runs until SIGTERM or Ctrl-C. Events go to standard error, a JSON object a line.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let Some(path) = self.config.as_ref().filter(|_| !self.defaults) else {
            let task = TaskConfig {
                file: "task.json".into(),
                analyzer_token_sha256: None,
                contexts: Vec::new(),
            };
            return Ok(Config::new(task).to_toml());
        };
        if self.check_journal {
            return checked(&Config::read(path)?);
        }
        tracing_subscriber::fmt()
            .json()
            .with_writer(std::io::stderr)
            .init();
        let config = Config::read(path)?;
        let store = open_store(&config.store)?;
        let service = Service::new(config, store, Arc::new(SystemClock))?;
        let listening = Listening::bind(service)?;
        tracing::info!(
            public = %listening.public(),
            operator = %listening.operator(),
            "the shuffler listens"
        );
        listening.run(asked_to_stop())?;
        Ok(String::new())
    }
}

/// Follows the chain of the journal.
fn checked(config: &Config) -> Result<String, Failure> {
    let store = &config.store;
    // A check makes neither a key nor a store.
    let folder = store.postgres.is_none().then_some(&store.folder);
    for path in folder.into_iter().chain([&store.master_key]) {
        if !path.exists() {
            let message = format!("{} is not there: there is no journal", path.display());
            return Err(Failure::incomplete(message));
        }
    }
    let store = open_store(store)?;
    let entries = store
        .journal()
        .map_err(|error| Failure::incomplete(error.to_string()))?;
    let last = verify(&entries).map_err(|error| Failure::incomplete(error.to_string()))?;
    Ok(format!(
        "{} entries, and the chain holds. Hash of the last one: {last}\n",
        grouped(entries.len() as u64)
    ))
}
