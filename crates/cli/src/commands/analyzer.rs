//! `shuffledp analyzer`: the analyzer of a running shuffler fetches batches, reads them, and says that it has
//! them.

use super::analyze::{confidence, shown};
use crate::failure::Failure;
use crate::number::{Count, Real};
use crate::output::{Block, Format, Grid, Report, fields};
use clap::{Args, Subcommand};
use serde_json::json;
use shuffledp::grouped;
use shuffledp::protocol::batch::Batch;
use shuffledp::protocol::task::Task;
use shuffledp_service::client::{Connection, Listed};
use shuffledp_service::folders::{analyze_bytes, batch_name, read_task, write_batch};
use shuffledp_service::keys::analyzer_secret;
use shuffledp_service::server::access::read_token;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct AnalyzerArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Fetch the batches that were released
    #[command(
        after_help = "Example:\n  shuffledp analyzer fetch --task task.json --from https://shuffler.example \
            --token token --out batches"
    )]
    Fetch {
        #[command(flatten)]
        shuffler: ShufflerAddress,
        /// The folder for their files
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
    },
    /// Say that a batch is safe here: the shuffler destroys its own after a while
    #[command(
        after_help = "Example:\n  shuffledp analyzer ack --task task.json --from https://shuffler.example \
            --token token batches/window-0.batch"
    )]
    Ack {
        #[command(flatten)]
        shuffler: ShufflerAddress,
        /// The batch, as it was fetched
        batch: PathBuf,
    },
    /// Estimates from a batch at the shuffler, and what they cost
    #[command(
        after_help = "Example:\n  shuffledp analyzer estimate --task task.json --from \
            https://shuffler.example --token token --key analyzer.key --window 0"
    )]
    Estimate {
        #[command(flatten)]
        shuffler: ShufflerAddress,
        /// The analyzer's file of its secret key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The window; needed where several were released
        #[arg(long, value_name = "W")]
        window: Option<Count>,
        /// Confidence of the intervals, in [0.5, 1)
        #[arg(long, value_name = "C", default_value = "0.95")]
        confidence: Real,
    },
}

/// Where the shuffler is, and who asks.
#[derive(Args)]
struct ShufflerAddress {
    /// The file of the task
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The address of the shuffler
    #[arg(long, value_name = "URL")]
    from: String,
    /// The file of the analyzer's token
    #[arg(long, value_name = "FILE")]
    token: PathBuf,
    /// Certificates in PEM that sign the shuffler's; without it, those that browsers trust
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl AnalyzerArguments {
    pub(crate) fn format(&self) -> Format {
        match &self.what {
            What::Fetch { shuffler, .. }
            | What::Ack { shuffler, .. }
            | What::Estimate { shuffler, .. } => shuffler.format,
        }
    }

    pub(crate) fn report(&self) -> Result<Report, Failure> {
        match &self.what {
            What::Fetch { shuffler, out } => fetch(shuffler, out),
            What::Ack { shuffler, batch } => ack(shuffler, batch),
            What::Estimate {
                shuffler,
                key,
                window,
                confidence,
            } => estimate(shuffler, key, window.map(|window| window.0), *confidence),
        }
    }
}

impl ShufflerAddress {
    fn connect(
        &self,
    ) -> Result<(Task, Connection, impl std::ops::Deref<Target = String>), Failure> {
        let task = read_task(&self.task)?;
        let connection = Connection::new(&self.from, self.ca.as_deref())?;
        Ok((task, connection, read_token(&self.token)?))
    }
}

fn fetch(shuffler: &ShufflerAddress, out: &Path) -> Result<Report, Failure> {
    let (task, connection, token) = shuffler.connect()?;
    let mut blocks = Vec::new();
    let mut csv = Grid::new(["window", "context", "state", "reports", "digest", "file"]);
    let mut fetched = Vec::new();
    for batch in connection.batches(&task, &token)? {
        let path = out.join(batch_name(batch.window, &batch.context));
        let bytes = connection.fetch(&task, &token, &batch)?;
        write_batch(&path, &bytes)?;
        blocks.push(Block::Line(format!(
            "Window {}: {} reports, in {}.",
            batch.window,
            grouped(batch.reports),
            path.display()
        )));
        let file = path.display().to_string();
        csv.row([
            batch.window.to_string(),
            batch.context.to_string(),
            batch.state.name().to_owned(),
            batch.reports.to_string(),
            batch.digest.to_string(),
            file,
        ]);
        fetched.push(described(&batch, &path));
    }
    if fetched.is_empty() {
        blocks.push(Block::Line("No batch has been released.".to_owned()));
    }
    let query = json!({ "task": task.id(), "from": shuffler.from, "out": out });
    Ok(Report {
        blocks,
        json: fields(json!({ "query": query, "batches": fetched })),
        csv,
        relation: None,
        after: None,
    })
}

fn described(batch: &Listed, path: &Path) -> serde_json::Value {
    json!({
        "window": batch.window, "context": batch.context, "state": batch.state,
        "reports": batch.reports, "digest": batch.digest, "file": path,
    })
}

fn ack(shuffler: &ShufflerAddress, path: &Path) -> Result<Report, Failure> {
    let (task, connection, token) = shuffler.connect()?;
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::flag(
            "batch",
            format!("{} cannot be read: {error}", path.display()),
        )
    })?;
    let (digest, batches) = (Batch::digest(&bytes), connection.batches(&task, &token)?);
    let Some(batch) = batches.iter().find(|batch| batch.digest == digest) else {
        let message = format!("{} is no batch that this shuffler has", path.display());
        return Err(Failure::flag("batch", message));
    };
    connection.acknowledge(&task, &token, batch)?;
    let mut csv = Grid::new(["window", "digest"]);
    csv.row([batch.window.to_string(), digest.to_string()]);
    let query = json!({ "task": task.id(), "from": shuffler.from, "batch": path });
    Ok(Report {
        blocks: vec![Block::Line(format!(
            "Window {} is acknowledged: the shuffler destroys its reports after a while.",
            batch.window
        ))],
        json: fields(json!({ "query": query, "window": batch.window, "digest": digest })),
        csv,
        relation: None,
        after: None,
    })
}

fn estimate(
    shuffler: &ShufflerAddress,
    key: &Path,
    window: Option<u64>,
    level: Real,
) -> Result<Report, Failure> {
    let confidence = confidence(level)?;
    let (task, connection, token) = shuffler.connect()?;
    let key = analyzer_secret(key, &task)?;
    let mut batches = connection.batches(&task, &token)?;
    batches.retain(|batch| window.is_none_or(|window| batch.window == window));
    let [batch] = &batches[..] else {
        let message = match (batches.len(), window) {
            (0, _) => "no such batch has been released".to_owned(),
            (many, None) => format!("{many} batches were released: choose one by --window"),
            (many, Some(_)) => {
                format!("the window has {many} batches: fetch them, and analyze each")
            }
        };
        return Err(Failure::flag("--window", message));
    };
    let bytes = connection.fetch(&task, &token, batch)?;
    let name = Path::new("the batch");
    let analyzed = analyze_bytes(&task, &key, &bytes, confidence, name)?;
    let query = json!({ "task": shuffler.task, "batch": batch.digest });
    shown(&task, &analyzed, confidence, query)
}
