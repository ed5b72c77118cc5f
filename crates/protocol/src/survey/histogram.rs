//! Shares of the values of a list.

use super::{Outcome, Reading, Survey, SurveyError, check_places, refused};
use crate::analyzer::of_all_users;
use crate::consistency::make_consistent;
use shuffledp_accounting::{Input, Parameter};
use shuffledp_randomizers::Device;
use shuffledp_randomizers::categorical::best_oracle;
use std::io::{self, Read, Seek, Write};

impl Survey {
    /// The share of each of `k` values; a record's is the one at its place. Where nobody chose a randomizer,
    /// it is the better of two fast oracles for so many values ([`best_oracle`]).
    ///
    /// Made consistent, no share is negative and all add up to 1; the intervals are those of the shares
    /// before that. Beyond the memory of the shuffler, reports go where `open` says; `sent` is told of users
    /// who are done.
    pub fn histogram<F: Read + Write + Seek>(
        &self,
        places: &[u32],
        k: u64,
        consistent: bool,
        open: impl FnMut() -> io::Result<F>,
        sent: impl Fn(u64),
    ) -> Result<Outcome, SurveyError> {
        self.check_categories()?;
        if !(2..=1 << 32).contains(&k) {
            return Err(refused("values", k.to_string(), "in [2, 2^32]"));
        }
        check_places(places, k as usize)?;
        let people = self.people(places.len())?;
        let mut round = self.round_of(&people, |epsilon0| best_oracle::name(k, epsilon0))?;
        let spec = &mut round.randomizer;
        if spec.entry().needs().contains(&Parameter::Categories) {
            spec.k = Some(k);
        } else if spec.input() == Input::Category && k != 2 {
            return Err(SurveyError::TwoValues {
                randomizer: spec.name(),
                values: k,
            });
        }
        let Device::Category(device) = Device::new(spec, 1.0)? else {
            let input = Input::Category;
            return Err(SurveyError::OtherInput { input });
        };
        let value = |record: usize| u64::from(places[record]);
        let (analyzer, mut outcome) = self.run(round, &device, &people, value, open, sent)?;
        let shares = analyzer.estimate().unwrap_or_default();
        let mut values: Vec<f64> = shares.iter().map(|share| share.value).collect();
        if consistent {
            make_consistent(&mut values);
        }
        let confidence = self.confidence()?;
        let counts = people.counts(places, k as usize);
        outcome.readings = shares
            .iter()
            .zip(values)
            .zip(counts)
            .map(|((&share, value), count)| {
                let of_all = of_all_users(share, outcome.reports, people.users);
                Reading {
                    value,
                    interval: confidence.around(of_all),
                    truth: count as f64 / people.users as f64,
                }
            })
            .collect();
        Ok(outcome)
    }

    /// Refuses a number of categories: a histogram is of as many as its list has.
    pub fn check_categories(&self) -> Result<(), SurveyError> {
        match self.round.randomizer.k {
            Some(k) => Err(SurveyError::Categories { k }),
            None => Ok(()),
        }
    }
}
