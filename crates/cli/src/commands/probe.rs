//! `shuffledp probe`: an auditor sends envelopes that must come back, and checks whether they did.

use crate::failure::Failure;
use crate::number::Count;
use crate::output::{Block, Format, Grid, Report, fields};
use clap::{Args, Subcommand};
use serde_json::json;
use shuffledp::grouped;
use shuffledp_service::client::Connection;
use shuffledp_service::folders::read_task;
use shuffledp_service::keys::shuffler_public;
use shuffledp_service::probes::{Record, read_published, write_envelopes};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The most probes of one call.
const MOST: u64 = 100_000;
/// The exit code where probes did not come back.
const MISSING: u8 = 3;

#[derive(Args)]
pub(crate) struct ProbeArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Make probes: sent at once, or written to a file for somebody to carry
    #[command(
        after_help = "Examples:\n  shuffledp probe send --task task.json --to https://shuffler.example \
            --record probes.json\n  shuffledp probe send --task task.json --shuffler-key shuffler-1.pub \
            --window 0 --count 10 --record probes.json --out inbox/more"
    )]
    Send {
        #[command(flatten)]
        about: About,
        /// Send them to the shuffler at this address, each in a request of its own
        #[arg(
            long,
            value_name = "URL",
            conflicts_with = "out",
            required_unless_present = "out"
        )]
        to: Option<String>,
        /// The shuffler's file of its public key; with --to, a shuffler that gives another key is refused
        #[arg(long, value_name = "FILE", required_unless_present = "to")]
        shuffler_key: Option<PathBuf>,
        /// The window; with --to, the newest that is open
        #[arg(long, value_name = "W", required_unless_present = "to")]
        window: Option<Count>,
        /// How many
        #[arg(long, value_name = "N", default_value = "1")]
        count: Count,
        /// Write them here: a new file
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Check whether the probes of a closed window came back
    #[command(
        after_help = "Examples:\n  shuffledp probe check --task task.json --record probes.json --from \
            https://shuffler.example --window 0\n  shuffledp probe check --task task.json --record \
            probes.json --published batches/window-0.probes\n\nThe exit code is 3 if some did not."
    )]
    Check {
        #[command(flatten)]
        about: About,
        /// The address of the shuffler that publishes what it received
        #[arg(
            long,
            value_name = "URL",
            requires = "window",
            conflicts_with = "published",
            required_unless_present = "published"
        )]
        from: Option<String>,
        /// The window; with --published, that of the file
        #[arg(long, value_name = "W", conflicts_with = "published")]
        window: Option<Count>,
        /// What the shuffler published, as a file
        #[arg(long, value_name = "FILE")]
        published: Option<PathBuf>,
    },
}

#[derive(Args)]
struct About {
    /// The file of the task
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The auditor's record: which probes were made
    #[arg(long, value_name = "FILE")]
    record: PathBuf,
    /// Certificates in PEM that sign the shuffler's; without it, those that browsers trust
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl ProbeArguments {
    pub(crate) fn format(&self) -> Format {
        match &self.what {
            What::Send { about, .. } | What::Check { about, .. } => about.format,
        }
    }

    /// The report, and the exit code that says whether probes are missing.
    pub(crate) fn report(&self) -> Result<(Report, ExitCode), Failure> {
        match &self.what {
            What::Send {
                about,
                to,
                shuffler_key,
                window,
                count,
                out,
            } => {
                if !(1..=MOST).contains(&count.0) {
                    return Err(Failure::value("--count", count.0, "in [1, 100000]"));
                }
                let key = shuffler_key.as_deref();
                let window = window.map(|window| window.0);
                let report = match (to, key, window, out) {
                    (Some(url), key, window, _) => about.send(url, key, window, count.0),
                    (None, Some(key), Some(window), Some(out)) => {
                        about.write(key, window, count.0, out)
                    }
                    _ => Err(Failure::flag("--to", "--to is needed, or --out")),
                };
                Ok((report?, ExitCode::SUCCESS))
            }
            What::Check {
                about,
                from,
                window,
                published,
            } => about.check(
                from.as_deref(),
                window.map(|window| window.0),
                published.as_deref(),
            ),
        }
    }
}

impl About {
    fn send(
        &self,
        url: &str,
        key: Option<&Path>,
        window: Option<u64>,
        count: u64,
    ) -> Result<Report, Failure> {
        let task = read_task(&self.task)?;
        let connection = Connection::new(url, self.ca.as_deref())?;
        let pinned = key.map(shuffler_public).transpose()?;
        let mut record = Record::open(&self.record)?;
        let window = record.send(&task, &connection, pinned, window, count)?;
        let sentence = match count {
            1 => format!("1 probe of window {window} is received."),
            many => format!("{} probes of window {window} are received.", grouped(many)),
        };
        Ok(self.made(
            window,
            count,
            json!({ "task": self.task, "to": url }),
            sentence,
        ))
    }

    fn write(&self, key: &Path, window: u64, count: u64, out: &Path) -> Result<Report, Failure> {
        let task = read_task(&self.task)?;
        let mut record = Record::open(&self.record)?;
        let envelopes = record.make(&task, &shuffler_public(key)?, window, count)?;
        write_envelopes(&envelopes, out)?;
        let path = out.display();
        let sentence = match count {
            1 => format!("1 probe of window {window} is in {path}."),
            many => format!("{} probes of window {window} are in {path}.", grouped(many)),
        };
        Ok(self.made(
            window,
            count,
            json!({ "task": self.task, "out": out }),
            sentence,
        ))
    }

    fn made(&self, window: u64, count: u64, query: serde_json::Value, sentence: String) -> Report {
        let mut csv = Grid::new(["window", "probes"]);
        csv.row([window.to_string(), count.to_string()]);
        let json = json!({ "query": query, "window": window, "probes": count });
        Report {
            blocks: vec![Block::Line(sentence)],
            json: fields(json),
            csv,
            relation: None,
            after: None,
        }
    }

    fn check(
        &self,
        from: Option<&str>,
        window: Option<u64>,
        published: Option<&Path>,
    ) -> Result<(Report, ExitCode), Failure> {
        let task = read_task(&self.task)?;
        let published = match (from, window, published) {
            (Some(url), Some(window), _) => {
                Connection::new(url, self.ca.as_deref())?.probes(&task, window)?
            }
            (_, _, Some(path)) => read_published(path)?,
            _ => {
                return Err(Failure::flag(
                    "--from",
                    "--from and --window are needed, or --published",
                ));
            }
        };
        let returned = Record::open(&self.record)?.check(&task, &published)?;
        let (window, missing) = (published.window, returned.missing.len() as u64);
        let sentence = match (returned.made, missing) {
            (made, 0) => format!("Window {window}: all {} probes came back.", grouped(made)),
            (made, missing) => format!(
                "Window {window}: {} of {} probes did not come back. Somebody may keep envelopes away.",
                grouped(missing),
                grouped(made)
            ),
        };
        let mut blocks = vec![Block::Line(sentence)];
        if published.full {
            blocks.push(Block::Line(format!(
                "The shuffler has published {} marks, as many as it keeps of a window: others may have come, \
                 and a missing one says little.",
                grouped(published.probes.len() as u64)
            )));
        }
        let mut csv = Grid::new(["window", "made", "missing"]);
        csv.row([
            window.to_string(),
            returned.made.to_string(),
            missing.to_string(),
        ]);
        let json = json!({
            "query": { "task": self.task, "window": window },
            "made": returned.made, "missing": missing, "marks": returned.missing, "full": published.full,
        });
        let report = Report {
            blocks,
            json: fields(json),
            csv,
            relation: None,
            after: None,
        };
        let code = match missing {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::from(MISSING),
        };
        Ok((report, code))
    }
}
