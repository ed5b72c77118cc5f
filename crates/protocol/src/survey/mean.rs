//! The mean of numbers.

use super::{Outcome, Reading, Survey, SurveyError, check_numbers};
use shuffledp_accounting::Input;
use shuffledp_randomizers::{Device, Estimate};
use std::io::{self, Read, Seek, Write};

/// Up to this ε₀ one bit has less variance at worst than the piecewise mechanism (Wang et al. 2019).
const ONE_BIT: f64 = 1.29;

impl Survey {
    /// The mean of numbers in a public range, each given as its place in it, in [0, 1]. Where nobody chose a
    /// randomizer, it is one bit (Duchi) up to ε₀ = 1.29 and the piecewise mechanism beyond. One reading.
    pub fn mean<F: Read + Write + Seek>(
        &self,
        numbers: &[f64],
        range: (f64, f64),
        open: impl FnMut() -> io::Result<F>,
        sent: impl Fn(u64),
    ) -> Result<Outcome, SurveyError> {
        check_numbers(numbers, range)?;
        let people = self.people(numbers.len())?;
        let round = self.round_of(&people, |epsilon0| match epsilon0 <= ONE_BIT {
            true => "duchi",
            false => "piecewise",
        })?;
        let Device::Number(device) = Device::new(&round.randomizer, 1.0)? else {
            let input = Input::Number;
            return Err(SurveyError::OtherInput { input });
        };
        let value = |record: usize| numbers[record];
        let (analyzer, mut outcome) = self.run(round, &device, &people, value, open, sent)?;
        // Two or more reports have a mean.
        let unknown = Estimate::new(0.5, f64::INFINITY);
        let mean = analyzer.estimate().unwrap_or(unknown);
        let (low, high) = range;
        let scaled = |share: f64| low + (high - low) * share;
        let interval = self.confidence()?.around(mean);
        let sum: f64 = people.records().map(|record| numbers[record]).sum();
        outcome.readings.push(Reading {
            value: scaled(mean.value),
            interval: (scaled(interval.0), scaled(interval.1)),
            truth: scaled(sum / people.users as f64),
        });
        Ok(outcome)
    }
}
