//! `shuffledp report`: a device answers a window of a task; or many devices are simulated from a column.

use crate::failure::Failure;
use crate::number::{Count, Real};
use crate::output::{Block, Format, Grid, Report, fields};
use crate::tables::refused_records;
use clap::Args;
use serde_json::json;
use shuffledp::protocol::task::{Bytes32, Task, Value};
use shuffledp::{Side, grouped, plain, rounded};
use shuffledp_service::answer::{Habits, answer};
use shuffledp_service::client::Connection;
use shuffledp_service::folders::{Device, context_of, read_task};
use shuffledp_service::keys::shuffler_public;
use shuffledp_service::ledger::{Budget, Decision, Ledger, Terms};
use shuffledp_service::tokens::Wallet;
use shuffledp_tables::Column;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The delta of a device's budget where nobody has said another.
const USUAL_DELTA: f64 = 1e-6;

#[derive(Args)]
pub(crate) struct ReportArguments {
    /// The file of the task
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The shuffler's file of its public key; with --to, a shuffler that gives another key is refused
    #[arg(long, value_name = "FILE", required_unless_present_any = ["status", "to"])]
    shuffler_key: Option<PathBuf>,
    /// The window that is answered; with --to, the newest that is open
    #[arg(long, value_name = "W", required_unless_present_any = ["status", "to"])]
    window: Option<Count>,
    /// This device's value
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        help_heading = "One device"
    )]
    value: Option<String>,
    /// This device's ledger: which windows it has decided, and how often it has answered
    #[arg(long, value_name = "FILE", help_heading = "One device")]
    ledger: Option<PathBuf>,
    /// This device's file of tokens, for a task whose reports have some
    #[arg(
        long,
        value_name = "FILE",
        requires = "value",
        help_heading = "One device"
    )]
    wallet: Option<PathBuf>,
    /// Only say what the ledger has of the task
    #[arg(
        long,
        requires = "ledger",
        conflicts_with_all = ["value", "input", "out", "to"],
        help_heading = "One device"
    )]
    status: bool,
    /// The budget of this device for all tasks together: no answer that would take epsilon, as the accountant
    /// composes the tasks' promises, above it. Set in the ledger, and kept there
    #[arg(
        long,
        value_name = "E",
        requires = "ledger",
        help_heading = "What its owner allows"
    )]
    lifetime_epsilon: Option<Real>,
    /// The delta of the budget; without it that of the ledger, or 1e-6 where it has none
    #[arg(
        long,
        value_name = "D",
        requires = "lifetime_epsilon",
        help_heading = "What its owner allows"
    )]
    lifetime_delta: Option<Real>,
    /// The same for who knows which report is whose, so also for a shuffler that is not honest: no answer
    /// that would take the local guarantees together above it
    #[arg(
        long,
        value_name = "E",
        requires = "lifetime_epsilon",
        help_heading = "What its owner allows"
    )]
    lifetime_alone: Option<Real>,
    /// Answer no task whose batches may be smaller. Set in the ledger, and kept there
    #[arg(
        long,
        value_name = "N",
        requires = "ledger",
        help_heading = "What its owner allows"
    )]
    at_least_users: Option<Count>,
    /// Answer no task that promises more than this for a batch. Set in the ledger, and kept there
    #[arg(
        long,
        value_name = "E",
        requires = "ledger",
        help_heading = "What its owner allows"
    )]
    at_most_epsilon: Option<Real>,
    /// CSV file with a header, or Parquet file: each row is a device that is simulated here, without a ledger
    #[arg(long, value_name = "FILE", requires = "column", conflicts_with_all = ["value", "ledger"],
        help_heading = "Many devices")]
    input: Option<PathBuf>,
    /// The column of their values
    #[arg(long, value_name = "NAME", help_heading = "Many devices")]
    column: Option<String>,
    /// Write a dummy where the coin says to stay silent, or where nothing is answered any more: nobody who
    /// sees envelopes sees who answers
    #[arg(long, requires = "value", help_heading = "One device")]
    cover: bool,
    /// What devices were sent for this window, such as a model: a batch holds reports about one file alone
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// Where the envelope goes, or the envelopes: a new file
    #[arg(long, value_name = "FILE", required_unless_present_any = ["status", "to"])]
    out: Option<PathBuf>,
    /// Send the report to the shuffler at this address
    #[arg(
        long,
        value_name = "URL",
        requires = "value",
        conflicts_with = "out",
        help_heading = "One device"
    )]
    to: Option<String>,
    /// Wait a random time of at most so many seconds before the shuffler is asked for anything: who sees the
    /// connection does not see when the value was given
    #[arg(long, value_name = "S", requires = "to", help_heading = "One device")]
    delay: Option<Count>,
    /// Certificates in PEM that sign the shuffler's; without it, those that browsers trust
    #[arg(
        long,
        value_name = "FILE",
        requires = "to",
        help_heading = "One device"
    )]
    ca: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// A device asked to answer: the flags that clap has seen to be there.
struct Asked<'a> {
    task: Task,
    device: Device,
    window: u64,
    out: &'a Path,
}

impl ReportArguments {
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let task = read_task(&self.task)?;
        if let Some(ledger) = &self.ledger {
            let mut held = Ledger::open(ledger)?;
            held.set_terms(self.terms(held.terms()))?;
        }
        if let (true, Some(ledger)) = (self.status, &self.ledger) {
            return status(&Ledger::open(ledger)?, &task);
        }
        let needed = |flag: &str| Failure::flag(flag, format!("{flag} is needed"));
        if let (Some(url), Some(value)) = (&self.to, &self.value) {
            let ledger = self.ledger.as_deref().ok_or_else(|| needed("--ledger"))?;
            return self.send(url, &task, value, ledger);
        }
        let key = self
            .shuffler_key
            .as_deref()
            .ok_or_else(|| needed("--shuffler-key"))?;
        let mut device = Device::new(task.clone(), shuffler_public(key)?)?;
        if self.cover {
            device = device.with_cover();
        }
        if let Some(context) = self.context()? {
            device = device.with_context(context);
        }
        if let Some(wallet) = &self.wallet {
            device = device.with_wallet(Wallet::open(wallet)?);
        }
        let asked = Asked {
            device,
            task,
            window: self.window.ok_or_else(|| needed("--window"))?.0,
            out: self.out.as_deref().ok_or_else(|| needed("--out"))?,
        };
        match (&self.value, &self.ledger, &self.input, &self.column) {
            (Some(value), Some(ledger), _, _) => one(asked, value, ledger),
            (Some(_), None, _, _) => {
                let message = "--ledger, the file in which this device counts its answers, is needed with \
                               --value";
                Err(Failure::flag("--ledger", message))
            }
            (None, _, Some(input), Some(column)) => many(asked, &Column::new(input, column)),
            _ => Err(Failure::flag(
                "--value",
                "--value is needed, or --input and --column",
            )),
        }
    }
}

impl ReportArguments {
    /// What the owner of the device has said now, and before.
    fn terms(&self, before: Terms) -> Terms {
        let known = before.budget.map_or(USUAL_DELTA, |budget| budget.delta);
        Terms {
            budget: self.lifetime_epsilon.map(|Real(epsilon)| Budget {
                epsilon,
                delta: self.lifetime_delta.map_or(known, |Real(delta)| delta),
                alone: self.lifetime_alone.map(|Real(alone)| alone),
            }),
            at_least_users: self.at_least_users.map(|Count(users)| users),
            at_most_epsilon: self.at_most_epsilon.map(|Real(epsilon)| epsilon),
        }
    }

    fn context(&self) -> Result<Option<Bytes32>, Failure> {
        let context = self.context.as_deref().map(context_of);
        Ok(context.transpose()?)
    }

    fn send(&self, url: &str, task: &Task, value: &str, ledger: &Path) -> Result<Report, Failure> {
        let key = self.shuffler_key.as_deref();
        let habits = Habits {
            window: self.window.map(|window| window.0),
            pinned: key.map(shuffler_public).transpose()?,
            cover: self.cover,
            context: self.context()?,
            wallet: self.wallet.clone(),
            delay: Duration::from_secs(self.delay.map_or(0, |Count(seconds)| seconds)),
        };
        let connection = Connection::new(url, self.ca.as_deref())?;
        let answered = answer(&connection, task, ledger, &task.value(value)?, &habits)?;
        let mut blocks = Vec::new();
        for (count, words) in [
            (
                answered.sent_again,
                "of an earlier call, sent again and received",
            ),
            (
                answered.too_late,
                "of an earlier call, too late: the window is closed",
            ),
            (
                answered.refused,
                "of an earlier call, refused: the shuffler has no key for it any more, and can never accept \
                 it. It is dropped; the ledger counts its window as answered",
            ),
            (
                answered.kept,
                "of an earlier call, kept: the window is not open yet",
            ),
        ] {
            if count > 0 {
                blocks.push(Block::Line(format!("{} {words}.", grouped(count))));
            }
        }
        blocks.push(Block::Line(match answered.decided {
            Some((window, Decision::Answered)) => {
                format!("Window {window}: the report is received.")
            }
            Some((window, Decision::Silent)) if self.cover => {
                format!("Window {window}: the coin said to stay silent. A dummy was sent.")
            }
            Some((window, Decision::Silent)) => {
                format!("Window {window}: the coin said to stay silent. Nothing was sent.")
            }
            Some((window, Decision::Covered)) => {
                format!("Window {window}: this device answers no more. A dummy was sent.")
            }
            None => "The window was decided before.".to_owned(),
        }));
        let status = &answered.status;
        blocks.push(Block::Line(format!(
            "{} of at most {} windows answered.",
            grouped(status.answered),
            grouped(status.most)
        )));
        let window = answered.decided.map(|(window, _)| window);
        let decision = json!(answered.decided.map(|(_, decision)| decision));
        let mut csv = Grid::new(["window", "decision", "answered", "most"]);
        csv.row([
            window.map(|window| window.to_string()).unwrap_or_default(),
            decision.as_str().unwrap_or_default().to_owned(),
            status.answered.to_string(),
            status.most.to_string(),
        ]);
        let json = json!({
            "query": { "window": window, "to": url },
            "decision": decision, "answered": status.answered, "most": status.most,
            "sent_again": answered.sent_again, "too_late": answered.too_late,
            "refused": answered.refused, "kept": answered.kept,
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

fn one(mut asked: Asked<'_>, value: &str, ledger: &Path) -> Result<Report, Failure> {
    let value = asked.task.value(value)?;
    let mut ledger = Ledger::open(ledger)?;
    let decision = asked
        .device
        .report(&mut ledger, asked.window, &value, asked.out)?;
    let status = ledger.status(&asked.task);
    let path = asked.out.display();
    let sentence = match decision {
        Decision::Answered => format!("The report is in {path}, sealed."),
        Decision::Covered => format!("This device answers no more: {path} is a dummy."),
        Decision::Silent if asked.out.exists() => {
            format!("The coin said to stay silent in this window: {path} is a dummy.")
        }
        Decision::Silent => {
            "The coin said to stay silent in this window: nothing was written.".to_owned()
        }
    };
    let count = format!(
        "{} of at most {} windows answered.",
        grouped(status.answered),
        grouped(status.most)
    );
    let mut csv = Grid::new(["window", "decision", "answered", "most"]);
    let words = json!(decision);
    csv.row([
        asked.window.to_string(),
        words.as_str().unwrap_or_default().to_owned(),
        status.answered.to_string(),
        status.most.to_string(),
    ]);
    let json = json!({
        "query": { "window": asked.window, "out": asked.out },
        "decision": decision, "answered": status.answered, "most": status.most,
    });
    let blocks = vec![Block::Line(sentence), Block::Line(count)];
    Ok(Report {
        blocks,
        json: fields(json),
        csv,
        relation: None,
        after: None,
    })
}

fn many(mut asked: Asked<'_>, column: &Column<'_>) -> Result<Report, Failure> {
    let mut values: Vec<Value> = Vec::new();
    let mut refused = None;
    let read = column.texts(&mut |row, text| {
        match asked.task.value(text) {
            Ok(value) => values.push(value),
            Err(error) => {
                refused.get_or_insert((row, error));
            }
        }
        Ok(())
    });
    read.map_err(refused_records)?;
    if let Some((row, error)) = refused {
        return Err(Failure::flag(
            "--input",
            format!("--input, row {row}: {error}"),
        ));
    }
    let sent = asked.device.simulate(asked.window, &values, asked.out)?;
    let devices = values.len() as u64;
    let sentence = format!(
        "{} of {} simulated devices answered; their envelopes are in {}.",
        grouped(sent),
        grouped(devices),
        asked.out.display()
    );
    let ledger = "They keep no ledger; a device of a person needs one.".to_owned();
    let mut csv = Grid::new(["window", "devices", "sent"]);
    csv.row([
        asked.window.to_string(),
        devices.to_string(),
        sent.to_string(),
    ]);
    let query = json!({ "window": asked.window, "out": asked.out });
    let json = json!({ "query": query, "devices": devices, "sent": sent });
    let blocks = vec![Block::Line(sentence), Block::Line(ledger)];
    Ok(Report {
        blocks,
        json: fields(json),
        csv,
        relation: None,
        after: None,
    })
}

fn status(ledger: &Ledger, task: &Task) -> Result<Report, Failure> {
    let status = ledger.status(task);
    let (answered, silent, most) = (status.answered, status.silent, status.most);
    let mut blocks = vec![Block::Line(format!(
        "Task {}: {} of at most {} windows answered, silent in {}.",
        task.spec().name,
        grouped(answered),
        grouped(most),
        grouped(silent)
    ))];
    let terms = ledger.terms();
    let mut lifetime = None;
    if let Some(budget) = terms.budget {
        let spent = ledger.spent(budget.delta)?;
        let delta = plain(budget.delta);
        let about = spent.relation.map(|relation| format!(" when {relation}"));
        blocks.push(Block::Line(format!(
            "All tasks of this ledger: what was answered is ({}, {delta})-differentially private{} for who \
             sees batches alone, if every task and shuffler does as it promises. The budget is {}.",
            rounded(spent.shuffled, Side::Upper),
            about.unwrap_or_default(),
            plain(budget.epsilon)
        )));
        blocks.push(Block::Line(format!(
            "For who knows which report is whose, such as a shuffler that is not honest, {}.{}",
            match spent.alone {
                Some(alone) => format!("it is ({}, {delta})", rounded(alone, Side::Upper)),
                None => "nothing is guaranteed".to_owned(),
            },
            match budget.alone {
                Some(alone) => format!(" The budget is {}.", plain(alone)),
                None => " That has no budget (--lifetime-alone).".to_owned(),
            }
        )));
        lifetime = Some(spent);
    }
    if let Some(users) = terms.at_least_users {
        let least = grouped(users);
        blocks.push(Block::Line(format!(
            "It answers tasks whose batches have {least} reports or more."
        )));
    }
    if let Some(epsilon) = terms.at_most_epsilon {
        let most = plain(epsilon);
        blocks.push(Block::Line(format!(
            "It answers tasks that promise epsilon {most} or less for a batch."
        )));
    }
    let mut csv = Grid::new(["answered", "silent", "most"]);
    csv.row([answered.to_string(), silent.to_string(), most.to_string()]);
    let json = fields(json!({
        "query": { "task": task.id() }, "answered": answered, "silent": silent, "most": most,
        "terms": terms, "lifetime": lifetime,
    }));
    Ok(Report {
        blocks,
        json,
        csv,
        relation: None,
        after: None,
    })
}
