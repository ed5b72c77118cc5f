//! Quantiles of a column.

use super::{Collected, RoundArguments, progress};
use crate::failure::Failure;
use crate::number::{Count, Range, Real};
use crate::output::fields;
use clap::Args;
use serde_json::json;
use shuffledp::plain;
use shuffledp::protocol::survey::Survey;

/// Flags of quantiles.
#[derive(Args)]
pub(super) struct QuantilesArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// Public range of the numbers: from..to
    #[arg(long, value_name = "LO..HI", help_heading = "Records")]
    range: Range,
    /// Shares of the users at or below, such as 0.5 for the median
    #[arg(
        long,
        value_name = "LIST",
        default_value = "0.1,0.25,0.5,0.75,0.9",
        value_delimiter = ',',
        help_heading = "Question"
    )]
    at: Vec<Real>,
    /// The range is cut into 2^D cells, D from 1 to 20: finer cells leave fewer reports for each level
    #[arg(long, value_name = "D", default_value = "8", help_heading = "Question")]
    depth: Count,
}

impl QuantilesArguments {
    pub(super) fn collected(&self, survey: &Survey) -> Result<Collected, Failure> {
        let (Range(low, high), Count(depth)) = (self.range, self.depth);
        let at: Vec<f64> = self.at.iter().map(|Real(share)| *share).collect();
        Survey::check_quantiles(&at, depth)?;
        let numbers = self.round.numbers(self.range)?;
        let progress = progress(survey, numbers.len());
        let sent = |users: u64| progress.advance(users);
        let open = tempfile::tempfile;
        let outcome = survey.quantiles(&numbers, (low, high), &at, depth, open, sent)?;
        let cells = 1u64 << depth;
        Ok(Collected {
            outcome,
            columns: ["share at or below", "quantile"],
            names: at.iter().map(|share| plain(*share)).collect(),
            asked: fields(json!({ "range": [low, high], "depth": depth })),
            notes: vec![format!(
                "The range is cut into {cells} cells of {}; an estimate is the middle of one.",
                plain((high - low) / cells as f64)
            )],
        })
    }
}
