//! Quantiles of a column.

use super::{Line, Outcome, RoundArguments};
use crate::failure::Failure;
use crate::number::{plain, range, real, whole};
use clap::Args;
use shuffledp::protocol::Cumulative;
use shuffledp::randomizers::{Hierarchy, Randomizer};

/// What to rank.
#[derive(Args)]
pub(super) struct QuantilesArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// Where the numbers lie, known beforehand: from..to
    #[arg(
        long,
        value_name = "LO..HI",
        allow_hyphen_values = true,
        help_heading = "Records"
    )]
    range: String,
    /// Shares of the users at or below, such as 0.5 for the median
    #[arg(
        long,
        value_name = "LIST",
        default_value = "0.1,0.25,0.5,0.75,0.9",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    at: String,
    /// The range is cut into 2^D cells, D from 1 to 20: finer cells leave fewer reports for each level
    #[arg(
        long,
        value_name = "D",
        default_value = "8",
        allow_hyphen_values = true,
        help_heading = "Question"
    )]
    depth: String,
}

impl QuantilesArguments {
    pub(super) fn outcome(&self) -> Result<Outcome, Failure> {
        let round = &self.round;
        let (low, high) = range("--range", &self.range)?;
        let shares = self
            .at
            .split(',')
            .map(|text| match real("--at", text)? {
                share if share > 0.0 && share < 1.0 => Ok(share),
                _ => Err(Failure::value("--at", text, "in (0, 1)")),
            })
            .collect::<Result<Vec<f64>, Failure>>()?;
        let depth = whole("--depth", &self.depth)?;
        if !(1..=20).contains(&depth) {
            return Err(Failure::value("--depth", &self.depth, "in [1, 20]"));
        }
        let hierarchy = Hierarchy::new(depth as u32, round.own_randomizer("quantiles")?)?;
        let mut numbers = round.numbers((low, high))?;
        let people = round.people(numbers.len() as u64)?;
        let own = format!("a hierarchical histogram of {} cells", 1u64 << depth);
        let (question, answer) = round.price(
            &round.words,
            hierarchy.mechanism().clone(),
            &people,
            Some(own),
        )?;
        let cells = 1u64 << depth;
        let cell = |number: f64| ((number * cells as f64) as u64).min(cells - 1);
        let analyzer = round.collect(&round.words, &hierarchy, &people, |record| {
            cell(numbers[record])
        })?;
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
        let lines = shares
            .iter()
            .map(|&share| {
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
            question,
            answer,
            reports: analyzer.taken(),
            malformed: analyzer.refused(),
            columns: ["share at or below", "quantile"],
            lines,
            notes,
        })
    }
}
