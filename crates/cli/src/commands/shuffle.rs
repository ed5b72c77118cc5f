//! `shuffledp shuffle`: the shuffler's side. Envelopes in, batches out; or what the first of two shufflers
//! handed on in, batches out.

use crate::failure::Failure;
use crate::output::{Block, Format, Grid, Report, fields};
use clap::Args;
use serde_json::{Value, json};
use shuffledp::grouped;
use shuffledp_service::folders::{Shuffler, read_task};
use shuffledp_service::keys::{second_secret, shuffler_secrets};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct ShuffleArguments {
    /// The file of the task
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The shuffler's file of its secret key; several times for several keys
    #[arg(long, value_name = "FILE", required_unless_present = "second_key")]
    key: Vec<PathBuf>,
    /// The second shuffler's file of its secret key: its input is what the first one handed on
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    second_key: Option<PathBuf>,
    /// A folder of envelopes, or a file of them; several times for several
    #[arg(long, value_name = "PATH", required = true)]
    input: Vec<PathBuf>,
    /// The folder for batches. What was released is remembered beside the key too: a window is released once,
    /// into one folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

impl ShuffleArguments {
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let task = read_task(&self.task)?;
        let smallest = task.smallest_batch();
        let hands_on = task.spec().second_shuffler.is_some() && self.second_key.is_none();
        let mut shuffler = match &self.second_key {
            None => Shuffler::new(task, shuffler_secrets(&self.key)?, &self.key, &self.out)?,
            Some(path) => {
                let key = second_secret(path, &task)?;
                Shuffler::second(task, key, path, &self.out)?
            }
        };
        let shuffled = shuffler.shuffle(&self.input)?;
        let mut blocks = Vec::new();
        let mut csv = Grid::new(["window", "context", "reports", "released", "digest"]);
        let window = |number: u64| match number {
            0 => "0".to_owned(),
            number => grouped(number),
        };
        for batch in &shuffled.released {
            let path = self.out.join(&batch.file);
            blocks.push(Block::Line(format!(
                "Window {}: {} reports in a random order, {} as {}.",
                window(batch.window),
                grouped(batch.reports),
                match hands_on {
                    true => "for the second shuffler",
                    false => "released",
                },
                path.display()
            )));
            csv.row([
                batch.window.to_string(),
                batch.context.to_string(),
                batch.reports.to_string(),
                "true".to_owned(),
                batch.digest.to_string(),
            ]);
        }
        for few in &shuffled.waiting {
            blocks.push(Block::Line(format!(
                "Window {}: {} held back: a batch has {} or more.",
                window(few.window),
                match few.reports {
                    1 => "1 report,".to_owned(),
                    many => format!("{} reports,", grouped(many)),
                },
                grouped(smallest)
            )));
            let (window, context, reports) = (few.window, few.context, few.reports);
            csv.row([
                window.to_string(),
                context.to_string(),
                reports.to_string(),
                "false".into(),
                String::new(),
            ]);
        }
        for (count, words) in [
            (shuffled.repeated, "came again, and count once"),
            (
                shuffled.late,
                "are of windows that were released before, and stay out",
            ),
            (shuffled.dummies, "are of devices that stay silent"),
            (shuffled.probes, "are probes of auditors"),
            (shuffled.refused, "are none of this task, or damaged"),
        ] {
            if count > 0 {
                blocks.push(Block::Line(format!(
                    "{} envelopes {words}.",
                    grouped(count)
                )));
            }
        }
        for number in &shuffled.elsewhere {
            blocks.push(Block::Line(format!(
                "Window {}: released before, into another folder than {}. A second batch, with one report \
                 more, would show that report.",
                window(*number),
                self.out.display()
            )));
        }
        if shuffled.released.is_empty() {
            blocks.push(Block::Line("Nothing was released.".to_owned()));
        }
        let waiting = shuffled.waiting.iter().map(
            |few| json!({ "window": few.window, "context": few.context, "reports": few.reports }),
        );
        let waiting: Vec<Value> = waiting.collect();
        let json = json!({
            "query": { "task": self.task, "input": self.input, "out": self.out },
            "released": shuffled.released,
            "waiting": waiting,
            "repeated": shuffled.repeated,
            "dummies": shuffled.dummies,
            "probes": shuffled.probes,
            "late": shuffled.late,
            "elsewhere": shuffled.elsewhere,
            "refused": shuffled.refused,
        });
        Ok(Report {
            blocks,
            json: fields(json),
            csv,
            relation: None,
            after: None,
        })
    }
}
