//! `shuffledp analyze`: the analyzer's side. A batch in, estimates with intervals out, and what they cost.

use crate::failure::Failure;
use crate::number::Real;
use crate::output::{Block, Format, Grid, Report, fields};
use clap::Args;
use serde_json::{Value, json};
use shuffledp::protocol::Confidence;
use shuffledp::protocol::task::Task;
use shuffledp::{Side, grouped, plain, rounded};
use shuffledp_service::folders::{Analyzed, analyze, read_task};
use shuffledp_service::keys::analyzer_secret;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct AnalyzeArguments {
    /// The file of the task
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The analyzer's file of its secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Confidence of the intervals, in [0.5, 1)
    #[arg(long, value_name = "C", default_value = "0.95")]
    confidence: Real,
    /// The batch
    batch: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

impl AnalyzeArguments {
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let confidence = confidence(self.confidence)?;
        let task = read_task(&self.task)?;
        let key = analyzer_secret(&self.key, &task)?;
        let analyzed = analyze(&task, &key, &self.batch, confidence)?;
        let query = json!({ "task": self.task, "batch": self.batch });
        shown(&task, &analyzed, confidence, query)
    }
}

/// The estimates of a batch and what they cost.
pub(crate) fn shown(
    task: &Task,
    analyzed: &Analyzed,
    confidence: Confidence,
    query: Value,
) -> Result<Report, Failure> {
    let findings = &analyzed.findings;
    let malformed = analyzed.made_up();
    let guarantee = task.guarantee()?;
    let of_batch = task.guarantee_of_batch(analyzed.reports, malformed)?;
    let mut table = Grid::new([
        "value".to_owned(),
        "estimate".into(),
        format!("{} % interval", plain(100.0 * confidence.value())),
    ])
    .right_aligned([1, 2]);
    let mut csv = Grid::new(["value", "estimate", "low", "high"]).right_aligned([1, 2, 3]);
    for finding in &findings.findings {
        let name = finding.name.clone().unwrap_or_else(|| "mean".to_owned());
        let interval = finding
            .interval
            .map(|(low, high)| format!("{low:.4} .. {high:.4}"));
        table.row([
            name.clone(),
            format!("{:.4}", finding.value),
            interval.unwrap_or_default(),
        ]);
        let [low, high] = match finding.interval {
            Some((low, high)) => [low, high].map(|end| end.to_string()),
            None => [String::new(), String::new()],
        };
        csv.row([name, finding.value.to_string(), low, high]);
    }
    let count = match malformed {
        0 => format!("{} reports, none malformed.", grouped(analyzed.reports)),
        some => format!(
            "{} reports, {} of them malformed and left out.",
            grouped(analyzed.reports),
            grouped(some)
        ),
    };
    let title = format!(
        "Task {}, window {}. Shares and means are of those who reported.",
        task.spec().name,
        analyzed.window
    );
    let influence = task.influence(findings.taken);
    let moved = match influence {
        Some(most) => format!(
            "One report, also one that somebody made up, moves an estimate by at most {}.",
            rounded(most, Side::Upper)
        ),
        None => "One report that somebody made up moves an estimate by any amount.".to_owned(),
    };
    let mut blocks = vec![
        Block::Paragraph(title),
        Block::Table(table),
        Block::Line(count),
        Block::Line(moved),
    ];
    blocks.extend(of_batch.sentences().into_iter().map(Block::Line));
    blocks.extend(trusted(&of_batch.trusted));
    let estimates = findings.findings.iter().map(|finding| {
        let [low, high] = finding
            .interval
            .map_or([None, None], |(low, high)| [Some(low), Some(high)]);
        json!({ "value": finding.name, "estimate": finding.value, "low": low, "high": high })
    });
    let estimates: Vec<Value> = estimates.collect();
    let json = json!({
        "query": query,
        "window": analyzed.window,
        "reports": analyzed.reports,
        "malformed": malformed,
        "influence": influence,
        "estimates": estimates,
        "guarantee": guarantee,
        "guarantee_of_batch": of_batch,
    });
    let relation = Some(guarantee.relation);
    Ok(Report {
        blocks,
        json: fields(json),
        csv,
        relation,
        after: None,
    })
}

/// What has to be trusted, as lines under a heading.
pub(crate) fn trusted(sentences: &[String]) -> impl Iterator<Item = Block> {
    let lines = sentences.iter().map(|sentence| format!("  {sentence}"));
    std::iter::once("Trusted:".to_owned())
        .chain(lines)
        .map(Block::Line)
}

/// The flag `--confidence`.
pub(crate) fn confidence(level: Real) -> Result<Confidence, Failure> {
    let allowed = || Failure::value("--confidence", plain(level.0), "in [0.5, 1 - 1e-12]");
    Confidence::new(level.0).ok_or_else(allowed)
}
