//! The mean of a column.

use super::{Line, Outcome, RoundArguments};
use crate::device::{Device, of_number};
use crate::failure::Failure;
use crate::number::range;
use crate::words::Randomizer as Named;
use clap::Args;
use shuffledp::Unknown;
use shuffledp::randomizers::{Estimate, Randomizer};

/// Up to this epsilon0 one bit has less variance at worst than the piecewise mechanism (Wang et al. 2019).
const ONE_BIT: f64 = 1.29;

/// What to average.
#[derive(Args)]
pub(super) struct MeanArguments {
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
}

impl MeanArguments {
    pub(super) fn outcome(&self) -> Result<Outcome, Failure> {
        let round = &self.round;
        let (low, high) = range("--range", &self.range)?;
        let mut words = round.words.clone();
        if words.randomizer == Named::Ldp {
            words.randomizer = if round.epsilon0()? <= ONE_BIT {
                Named::Duchi
            } else {
                Named::Piecewise
            };
        }
        let numbers = round.numbers((low, high))?;
        let people = round.people(numbers.len() as u64)?;
        let Device::Number(device) =
            Device::new(&words.with(Unknown::Users, people.users as f64), 1.0)?
        else {
            let message = "this --randomizer is not for numbers: duchi, piecewise, hybrid, laplace, discrete-laplace, gaussian and discrete-gaussian are";
            return Err(Failure::words("--randomizer", message));
        };
        let mechanism = of_number!(&device, randomizer => randomizer.mechanism().clone());
        let (question, answer) = round.price(&words, mechanism, &people, None)?;
        let value = |record: usize| numbers[record];
        let (mean, reports, malformed) = of_number!(&device, randomizer => {
            let analyzer = round.collect(&words, randomizer, &people, value)?;
            // Two or more reports have a mean.
            let mean = analyzer.estimate().unwrap_or(Estimate::new(0.5, f64::INFINITY));
            (mean, analyzer.taken(), analyzer.refused())
        });
        let scaled = |share: f64| low + (high - low) * share;
        let truth: f64 = people.records().map(|record| numbers[record]).sum();
        let interval = round.confidence()?.around(mean);
        Ok(Outcome {
            question,
            answer,
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
