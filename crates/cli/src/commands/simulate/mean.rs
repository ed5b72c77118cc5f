//! The mean of a column.

use super::histogram::not_for;
use super::{Line, Outcome, RoundArguments};
use crate::failure::Failure;
use crate::number::Range;
use clap::Args;
use shuffledp::Input;
use shuffledp::randomizers::{Device, Estimate};

/// Up to this epsilon0 one bit has less variance at worst than the piecewise mechanism (Wang et al. 2019).
const ONE_BIT: f64 = 1.29;

/// What to average.
#[derive(Args)]
pub(super) struct MeanArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// Where the numbers lie, known beforehand: from..to
    #[arg(long, value_name = "LO..HI", help_heading = "Records")]
    range: Range,
}

impl MeanArguments {
    pub(super) fn outcome(&self) -> Result<Outcome, Failure> {
        let round = &self.round;
        let Range(low, high) = self.range;
        let numbers = round.numbers(self.range)?;
        let people = round.people(numbers.len() as u64)?;
        let spec = round.spec(&people, |epsilon0| {
            Ok(if epsilon0 <= ONE_BIT {
                "duchi"
            } else {
                "piecewise"
            })
        })?;
        let Device::Number(randomizer) = Device::new(&spec.randomizer, 1.0)? else {
            return Err(not_for("numbers", Input::Number));
        };
        let priced = round.priced(&spec, &randomizer)?;
        let value = |record: usize| numbers[record];
        let analyzer = round.collect(&spec, &randomizer, &people, value)?;
        // Two or more reports have a mean.
        let mean = analyzer
            .estimate()
            .unwrap_or(Estimate::new(0.5, f64::INFINITY));
        let (reports, malformed) = (analyzer.taken(), analyzer.refused());
        let scaled = |share: f64| low + (high - low) * share;
        let truth: f64 = people.records().map(|record| numbers[record]).sum();
        let interval = round.confidence()?.around(mean);
        Ok(Outcome {
            priced,
            reports,
            malformed,
            columns: ["column", "mean"],
            lines: vec![Line {
                name: round.column.clone(),
                value: scaled(mean.value),
                interval: (scaled(interval.0), scaled(interval.1)),
                truth: Some(scaled(truth / people.users as f64)),
            }],
            notes: Vec::new(),
        })
    }
}
