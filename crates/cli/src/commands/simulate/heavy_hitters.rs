//! The values of a column that many hold.

use super::{Line, Outcome, RoundArguments};
use crate::failure::Failure;
use crate::number::Count;
use crate::tables::refused_records;
use clap::Args;
use shuffledp::protocol::heavy_hitters;
use shuffledp::randomizers::{Prefixes, Randomizer};
use shuffledp_tables::Values;

/// What to look for.
#[derive(Args)]
pub(super) struct HeavyHittersArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// Bytes of the longest value that may be held, from 1 to 64: a question each
    #[arg(long, value_name = "L", default_value = "16", help_heading = "Records")]
    length: Count,
    /// How many to show at most
    #[arg(long, value_name = "K", default_value = "10", help_heading = "Output")]
    top: Count,
}

impl HeavyHittersArguments {
    pub(super) fn outcome(&self) -> Result<Outcome, Failure> {
        let round = &self.round;
        let Count(length) = self.length;
        if !(1..=64).contains(&length) {
            return Err(Failure::value("--length", length, "in [1, 64]"));
        }
        let top = match self.top {
            Count(0) => return Err(Failure::value("--top", "0", "1 or more")),
            Count(top) => top as usize,
        };
        // The number of records is known once they have been read, with values that fit.
        let spec = round.flags.spec()?.randomizer;
        let epsilon0 = spec.epsilon0.unwrap_or(1.0);
        let prefixes = Prefixes::new(length as usize, epsilon0)?;
        // Different values once; records by their place.
        let check = |text: &str| {
            let checked = prefixes.check(text.as_bytes());
            checked.map_err(|error| error.to_string())
        };
        let Values { names, places } =
            Values::checked(round.column(), check).map_err(refused_records)?;
        let people = round.people(places.len() as u64)?;
        let (spec, _) = round.own_randomizer("heavy hitters", "prefixes", &people)?;
        let mut priced = round.priced(&spec, &prefixes)?;
        priced
            .collected
            .insert("length".into(), serde_json::json!(length));
        let value = |record: usize| names[places[record] as usize].as_bytes();
        let analyzer = round.collect(&spec, &prefixes, &people, value)?;
        let confidence = round.confidence()?;
        let (found, asked) = heavy_hitters(&prefixes, analyzer.tally(), people.users, confidence);
        let mut counts = vec![0u64; names.len()];
        people
            .records()
            .for_each(|record| counts[places[record] as usize] += 1);
        let each = confidence.for_each_of(asked as u64);
        let lines: Vec<Line> = found
            .into_iter()
            .take(top)
            .map(|hitter| {
                let name = String::from_utf8_lossy(&hitter.value).into_owned();
                let place = names.iter().position(|known| *known == name);
                let held = place.map_or(0, |place| counts[place]);
                Line {
                    name,
                    value: hitter.share.value,
                    interval: each.around(hitter.share),
                    truth: Some(held as f64 / people.users as f64),
                }
            })
            .collect();
        let mut notes = Vec::new();
        if lines.is_empty() {
            notes.push(
                "Nothing stands out: no value is held by enough users to be told from noise."
                    .to_owned(),
            );
        } else {
            notes.push(format!(
                "Of {asked} values that were asked about; the intervals hold for all of them at once."
            ));
        }
        if round.truth {
            let heaviest = counts.iter().enumerate().max_by_key(|(_, count)| **count);
            if let Some((place, count)) = heaviest {
                let share = *count as f64 / people.users as f64;
                notes.push(format!(
                    "In truth the most frequent value is '{}', with a share of {share:.4}.",
                    names[place]
                ));
            }
        }
        Ok(Outcome {
            priced,
            reports: analyzer.taken(),
            malformed: analyzer.refused(),
            columns: ["value", "share"],
            lines,
            notes,
        })
    }
}
