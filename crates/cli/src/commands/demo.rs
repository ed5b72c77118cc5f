//! `shuffledp demo`: devices, a shuffler and an analyzer over loopback, from keys to a private histogram.

use super::analyze::{confidence, shown};
use crate::failure::Failure;
use crate::number::{Count, Real};
use crate::output::{Block, Format, Report};
use clap::Args;
use serde_json::json;
use shuffledp::protocol::task::{Bytes32, TaskSpec, Values};
use shuffledp::{RandomizerSpec, RoundSpec, grouped};
use shuffledp_service::demo::demo;
use std::path::PathBuf;

/// How people go to work, and how many of a hundred do.
const COMMUTES: [(&str, usize); 6] = [
    ("car", 42),
    ("train", 21),
    ("bus", 17),
    ("bicycle", 11),
    ("on foot", 6),
    ("ferry", 3),
];

#[derive(Args)]
pub(crate) struct DemoArguments {
    /// The devices
    #[arg(long, value_name = "N", default_value = "10000")]
    devices: Count,
    /// Keep the files of all parties in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// The fewest devices: the smallest batch is half of them, and holds back fewer than this.
const FEWEST: u64 = 1000;
/// The most: everything is in memory at once.
const MOST: u64 = 1_000_000;

impl DemoArguments {
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let devices = self.devices.0;
        if !(FEWEST..=MOST).contains(&devices) {
            return Err(Failure::value("--devices", devices, "in [1000, 1000000]"));
        }
        let mut randomizer = RandomizerSpec::new("krr")?;
        (randomizer.k, randomizer.epsilon0) = (Some(COMMUTES.len() as u64), Some(2.0.into()));
        let mut round = RoundSpec::new(randomizer);
        round.users = Some(devices / 2);
        let labels = COMMUTES.map(|(name, _)| name.to_owned());
        let spec = TaskSpec {
            name: "commute".to_owned(),
            round,
            values: Values::Labels(labels.to_vec()),
            epsilon: 0.5,
            delta: 1e-6,
            window_seconds: None,
            analyzer_key: Bytes32([0; 32]),
            tokens: None,
            second_shuffler: None,
        };
        let hundred: Vec<&str> = COMMUTES
            .iter()
            .flat_map(|(name, share)| std::iter::repeat_n(*name, *share))
            .collect();
        let values = (0..devices as usize).map(|device| hundred[device % 100].to_owned());
        let values: Vec<String> = values.collect();
        let temporary = tempfile::tempdir().map_err(|error| {
            Failure::incomplete(format!("there is no temporary folder: {error}"))
        })?;
        let folder = self.keep.as_deref().unwrap_or(temporary.path());
        let confidence = confidence(Real(0.95))?;
        let mut said = Vec::new();
        let shown_by_demo = demo(spec, &values, folder, confidence, &mut |line| {
            said.push(line)
        })?;
        let query = json!({ "task": shown_by_demo.task.id(), "batch": "window 0" });
        let mut report = shown(
            &shown_by_demo.task,
            &shown_by_demo.analyzed,
            confidence,
            query,
        )?;
        let truth = COMMUTES.map(|(name, share)| format!("{name} {share} %"));
        said.push(format!(
            "The analyzer has fetched the batch. What {} devices said, of which it has seen none: {}.\n",
            grouped(shown_by_demo.devices),
            truth.join(", ")
        ));
        if let Some(folder) = &self.keep {
            said.push(format!(
                "The files of all parties are in {}.",
                folder.display()
            ));
        }
        report
            .blocks
            .splice(0..0, said.into_iter().map(Block::Line));
        Ok(report)
    }
}
