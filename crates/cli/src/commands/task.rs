//! `shuffledp task`: the file that devices, shuffler and analyzer of a collection agree on.

use super::analyze::trusted;
use crate::failure::Failure;
use crate::number::{Count, Range, Real};
use crate::output::{Block, Format, Grid, Report, fields};
use crate::question::RoundFlags;
use crate::values::listed;
use clap::{Args, Subcommand};
use serde_json::json;
use shuffledp::protocol::task::{Task, TaskSpec, Values};
use shuffledp::{Input, Parameter, plain};
use shuffledp_service::folders::{read_task, write_task};
use shuffledp_service::keys::{analyzer_public, second_public};
use shuffledp_service::tokens::issuer_public;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct TaskArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Write a task, if what it promises is certified
    #[command(
        after_help = "Example:\n  shuffledp task new --name commute --randomizer krr --epsilon0 2 \
            --labels bicycle,bus,car --users 1000 --rounds 30 --target-epsilon 0.4 --delta 1e-6 \
            --analyzer-key analyzer.pub --out task.json"
    )]
    New(Box<NewArguments>),
    /// What a task promises, and what has to be trusted for it
    #[command(after_help = "Example:\n  shuffledp task show task.json")]
    Show(ShowArguments),
}

/// The round, where --users are the reports of the smallest batch that may be released, --rounds the windows
/// that a device answers at most, and --check-in the probability that it answers one.
#[derive(Args)]
struct NewArguments {
    #[command(flatten)]
    round: RoundFlags,
    /// What people call the task
    #[arg(long, help_heading = "Task")]
    name: String,
    /// The values, a category each: a list such as a,b,c [default: the numbers 0 to K-1]
    #[arg(long, value_name = "LIST", help_heading = "Task")]
    labels: Option<String>,
    /// The range of a number
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true, help_heading = "Task",
        conflicts_with_all = ["labels", "radius"])]
    range: Option<Range>,
    /// The largest norm of a vector
    #[arg(
        long,
        value_name = "R",
        help_heading = "Task",
        conflicts_with = "labels"
    )]
    radius: Option<Real>,
    /// The epsilon that every batch is promised
    #[arg(long, value_name = "E", help_heading = "Task")]
    target_epsilon: Real,
    /// The delta that every batch is promised, in [1e-300, 1)
    #[arg(long, value_name = "D", help_heading = "Task")]
    delta: Real,
    /// The length of a window in seconds [default: windows are closed by hand]
    #[arg(long, value_name = "S", help_heading = "Task")]
    window_seconds: Option<Count>,
    /// The analyzer's file of its public key
    #[arg(long, value_name = "FILE", help_heading = "Task")]
    analyzer_key: PathBuf,
    /// The issuer's file of its public keys: a report counts with a token that the issuer has signed
    #[arg(long, value_name = "FILE", help_heading = "Task")]
    token_issuer: Option<PathBuf>,
    /// The second shuffler's file of its public key: reports go through two shufflers
    #[arg(long, value_name = "FILE", help_heading = "Task")]
    second_shuffler: Option<PathBuf>,
    /// Where the task goes: a new file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: PathBuf,
}

#[derive(Args)]
struct ShowArguments {
    /// The file of the task
    task: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl TaskArguments {
    pub(crate) fn format(&self) -> Format {
        match &self.what {
            What::New(arguments) => arguments.round.format,
            What::Show(arguments) => arguments.format,
        }
    }

    pub(crate) fn report(&self) -> Result<Report, Failure> {
        match &self.what {
            What::New(arguments) => {
                let task = arguments.task()?;
                write_task(&task, &arguments.out)?;
                described(&task, &arguments.out, true)
            }
            What::Show(arguments) => {
                described(&read_task(&arguments.task)?, &arguments.task, false)
            }
        }
    }
}

impl NewArguments {
    fn task(&self) -> Result<Task, Failure> {
        self.round.refuse_accuracy()?;
        let mut round = self.round.spec()?;
        let values = match (&self.labels, self.range, self.radius) {
            (Some(labels), _, _) => Values::Labels(listed(labels)),
            (_, Some(Range(low, high)), _) => Values::Range([low, high]),
            (_, _, Some(Real(radius))) => Values::Radius(radius),
            _ if round.randomizer.input() == Input::Number => {
                let message = "--range, the range of the numbers, is needed: devices and analyzer must \
                               agree on it";
                return Err(Failure::flag("--range", message));
            }
            _ => Values::Numbered,
        };
        if let (Values::Labels(labels), None) = (&values, round.randomizer.k)
            && round
                .randomizer
                .entry()
                .needs()
                .contains(&Parameter::Categories)
        {
            round.randomizer.k = Some(labels.len() as u64);
        }
        Ok(Task::new(TaskSpec {
            name: self.name.clone(),
            round,
            values,
            epsilon: self.target_epsilon.0,
            delta: self.delta.0,
            window_seconds: self.window_seconds.map(|seconds| seconds.0),
            analyzer_key: analyzer_public(&self.analyzer_key)?,
            tokens: self
                .token_issuer
                .as_deref()
                .map(issuer_public)
                .transpose()?,
            second_shuffler: self
                .second_shuffler
                .as_deref()
                .map(second_public)
                .transpose()?,
        })?)
    }
}

/// The task and its promise.
fn described(task: &Task, path: &Path, written: bool) -> Result<Report, Failure> {
    let guarantee = task.guarantee()?;
    let (spec, id) = (task.spec(), task.id());
    let mut blocks = vec![Block::Paragraph(format!("Task {}, id {id}.", spec.name))];
    blocks.extend(guarantee.sentences().into_iter().map(Block::Line));
    blocks.extend(trusted(&guarantee.trusted));
    if written {
        blocks.push(Block::Line(format!("Written to {}.", path.display())));
    }
    let mut csv = Grid::new([
        "id",
        "epsilon",
        "delta",
        "certified",
        "smallest_batch",
        "windows",
        "all_windows",
    ]);
    csv.row([
        id.to_string(),
        plain(spec.epsilon),
        plain(spec.delta),
        json!(guarantee.certified.upper().value()).to_string(),
        guarantee.smallest_batch.to_string(),
        guarantee.windows.to_string(),
        json!(guarantee.all_windows.upper().value()).to_string(),
    ]);
    let relation = Some(guarantee.relation);
    let json = fields(
        json!({ "query": { "task": path }, "id": id, "task": spec, "guarantee": guarantee }),
    );
    Ok(Report {
        blocks,
        json,
        csv,
        relation,
        after: None,
    })
}
