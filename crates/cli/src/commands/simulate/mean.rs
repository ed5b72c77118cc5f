//! The mean of a column.

use super::{Collected, RoundArguments, progress};
use crate::failure::Failure;
use crate::number::Range;
use clap::Args;
use serde_json::Map;
use shuffledp::protocol::survey::Survey;

/// Flags of a mean.
#[derive(Args)]
pub(super) struct MeanArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// Public range of the numbers: from..to
    #[arg(long, value_name = "LO..HI", help_heading = "Records")]
    range: Range,
}

impl MeanArguments {
    pub(super) fn collected(&self, survey: &Survey) -> Result<Collected, Failure> {
        let Range(low, high) = self.range;
        let numbers = self.round.numbers(self.range)?;
        let progress = progress(survey, numbers.len());
        let sent = |users: u64| progress.advance(users);
        Ok(Collected {
            outcome: survey.mean(&numbers, (low, high), tempfile::tempfile, sent)?,
            columns: ["column", "mean"],
            names: vec![self.round.column.clone()],
            asked: Map::new(),
            notes: Vec::new(),
        })
    }
}
