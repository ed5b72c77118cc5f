//! `shuffledp shuffler`: a shuffler on the network, until it is asked to stop.

use crate::failure::Failure;
use clap::Args;
use shuffledp_service::schedule::SystemClock;
use shuffledp_service::server::config::{Config, TaskConfig};
use shuffledp_service::server::{Listening, Service, asked_to_stop, open_store};
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
}

impl ShufflerArguments {
    /// Runs until SIGTERM or Ctrl-C. Events go to standard error, a JSON object a line.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let Some(path) = self.config.as_ref().filter(|_| !self.defaults) else {
            let task = TaskConfig {
                file: "task.json".into(),
                analyzer_token_sha256: None,
            };
            return Ok(Config::new(task).to_toml());
        };
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
