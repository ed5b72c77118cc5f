//! Quantiles of a column.

use super::{Line, Outcome, RoundArguments};
use crate::failure::Failure;
use crate::number::{Count, Range, Real};
use clap::Args;
use shuffledp::plain;
use shuffledp::protocol::Cumulative;
use shuffledp::randomizers::Hierarchy;

/// What to rank.
#[derive(Args)]
pub(super) struct QuantilesArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// Where the numbers lie, known beforehand: from..to
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
    pub(super) fn outcome(&self) -> Result<Outcome, Failure> {
        let round = &self.round;
        let Range(low, high) = self.range;
        if let Some(share) = self
            .at
            .iter()
            .find(|share| !(share.0 > 0.0 && share.0 < 1.0))
        {
            return Err(Failure::value("--at", share, "in (0, 1)"));
        }
        let Count(depth) = self.depth;
        if !(1..=20).contains(&depth) {
            return Err(Failure::value("--depth", depth, "in [1, 20]"));
        }
        let mut numbers = round.numbers(self.range)?;
        let people = round.people(numbers.len() as u64)?;
        let (spec, epsilon0) = round.own_randomizer("quantiles", "hierarchy", &people)?;
        let hierarchy = Hierarchy::new(depth as u32, epsilon0)?;
        let mut priced = round.priced(&spec, &hierarchy)?;
        priced
            .collected
            .insert("range".into(), serde_json::json!([low, high]));
        priced
            .collected
            .insert("depth".into(), serde_json::json!(depth));
        let cells = 1u64 << depth;
        let cell = |number: f64| ((number * cells as f64) as u64).min(cells - 1);
        let analyzer = round.collect(&spec, &hierarchy, &people, |record| cell(numbers[record]))?;
        let levels = analyzer.estimate().unwrap_or_default();
        let Some(cumulative) = Cumulative::new(&levels, people.users) else {
            return Err(Failure::incomplete(format!(
                "{} reports over {depth} levels: nobody was asked about one of them; take fewer (--depth)",
                analyzer.taken()
            )));
        };
        let confidence = round.confidence()?;
        let mut held: Vec<f64> = people.records().map(|record| numbers[record]).collect();
        held.sort_by(f64::total_cmp);
        numbers.clear();
        let edge = |place: f64| low + (high - low) * (place / cells as f64);
        let lines = self
            .at
            .iter()
            .map(|&Real(share)| {
                let quantile = cumulative.quantile(share, confidence);
                // The least value that the share of users is at or below.
                let rank = (share * held.len() as f64).ceil().max(1.0) as usize - 1;
                Line {
                    name: plain(share),
                    value: edge(quantile.value as f64 + 0.5),
                    interval: (
                        edge(quantile.interval.0 as f64),
                        edge(quantile.interval.1 as f64 + 1.0),
                    ),
                    truth: held.get(rank).map(|number| low + (high - low) * number),
                }
            })
            .collect();
        let notes = vec![format!(
            "The range is cut into {cells} cells of {}; an estimate is the middle of one.",
            plain((high - low) / cells as f64)
        )];
        Ok(Outcome {
            priced,
            reports: analyzer.taken(),
            malformed: analyzer.refused(),
            columns: ["share at or below", "quantile"],
            lines,
            notes,
        })
    }
}
