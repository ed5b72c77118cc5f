//! The values that many users hold, out of more than can be listed.

use super::{Outcome, Reading, Survey, SurveyError, check_places, refused};
use crate::heavy_hitters::heavy_hitters;
use shuffledp_randomizers::{Prefixes, Randomizer};
use std::io::{self, Read, Seek, Write};

/// The values that were found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hitters {
    /// The values, the heaviest first; the readings are their shares.
    pub values: Vec<Vec<u8>>,
    /// How many values were asked about; the intervals hold for all of them at once.
    pub asked: usize,
    /// In truth, the place of the value that most users hold, and its share.
    pub most_frequent: (usize, f64),
    /// The rest of the outcome.
    pub outcome: Outcome,
}

impl Survey {
    /// The values that many users hold; a record's is the one of `names` at its place. Values are texts of at
    /// most `length` bytes, from 1 to 64: a question each.
    pub fn heavy_hitters<F: Read + Write + Seek>(
        &self,
        names: &[String],
        places: &[u32],
        length: u64,
        open: impl FnMut() -> io::Result<F>,
        sent: impl Fn(u64),
    ) -> Result<Hitters, SurveyError> {
        let prefixes = self.prefixes(length)?;
        for name in names {
            prefixes.check(name.as_bytes())?;
        }
        check_places(places, names.len())?;
        let people = self.people(places.len())?;
        let (round, _) = self.own_round("heavy hitters", "prefixes", &people)?;
        let value = |record: usize| names[places[record] as usize].as_bytes();
        let (analyzer, mut outcome) = self.run(round, &prefixes, &people, value, open, sent)?;
        let confidence = self.confidence()?;
        let (found, asked) = heavy_hitters(&prefixes, analyzer.tally(), people.users, confidence);
        let each = confidence.for_each_of(asked as u64);
        let counts = people.counts(places, names.len());
        let share = |count: u64| count as f64 / people.users as f64;
        let mut values = Vec::new();
        for hitter in found {
            let name = names
                .iter()
                .position(|name| name.as_bytes() == hitter.value);
            outcome.readings.push(Reading {
                value: hitter.share.value,
                interval: each.around(hitter.share),
                truth: name.map_or(0.0, |place| share(counts[place])),
            });
            values.push(hitter.value);
        }
        let heaviest = counts.iter().enumerate().max_by_key(|(_, count)| **count);
        let most_frequent = heaviest.map_or((0, 0.0), |(place, count)| (place, share(*count)));
        Ok(Hitters {
            values,
            asked,
            most_frequent,
            outcome,
        })
    }

    /// The randomizer of values of at most so many bytes, which refuses those that do not fit.
    pub fn prefixes(&self, length: u64) -> Result<Prefixes, SurveyError> {
        if !(1..=64).contains(&length) {
            return Err(refused("length", length.to_string(), "in [1, 64]"));
        }
        // Which values fit does not depend on the guarantee, which is asked for once the records are known.
        let epsilon0 = self.round.randomizer.device_epsilon0()?.unwrap_or(1.0);
        Ok(Prefixes::new(length as usize, epsilon0)?)
    }
}
