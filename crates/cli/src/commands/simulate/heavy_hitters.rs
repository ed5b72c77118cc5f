//! The most frequent values of a column.

use super::{Collected, RoundArguments, progress};
use crate::failure::Failure;
use crate::number::Count;
use crate::output::fields;
use crate::tables::refused_records;
use clap::Args;
use serde_json::json;
use shuffledp::protocol::survey::Survey;
use shuffledp::randomizers::Randomizer;
use shuffledp_tables::Values;

/// Flags of heavy hitters.
#[derive(Args)]
pub(super) struct HeavyHittersArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// Bytes of the longest possible value, from 1 to 64; each device is asked about one prefix length
    #[arg(long, value_name = "L", default_value = "16", help_heading = "Records")]
    length: Count,
    /// Most values to print
    #[arg(long, value_name = "K", default_value = "10", help_heading = "Output")]
    top: Count,
}

impl HeavyHittersArguments {
    pub(super) fn collected(&self, survey: &Survey) -> Result<Collected, Failure> {
        let Count(length) = self.length;
        let prefixes = survey.prefixes(length)?;
        let top = match self.top {
            Count(0) => return Err(Failure::value("--top", "0", "1 or more")),
            Count(top) => top as usize,
        };
        let check = |text: &str| {
            let checked = prefixes.check(text.as_bytes());
            checked.map_err(|error| error.to_string())
        };
        let Values { names, places } =
            Values::checked(self.round.column(), check).map_err(refused_records)?;
        let progress = progress(survey, places.len());
        let sent = |users: u64| progress.advance(users);
        let open = tempfile::tempfile;
        let mut found = survey.heavy_hitters(&names, &places, length, open, sent)?;
        found.outcome.readings.truncate(top);
        let mut notes = vec![match found.values.is_empty() {
            true => "No value is held by enough users to be distinguished from noise.".to_owned(),
            false => format!(
                "Of {} values that were asked about; the intervals hold for all of them at once.",
                found.asked
            ),
        }];
        if self.round.truth {
            let (place, share) = found.most_frequent;
            notes.push(format!(
                "In truth the most frequent value is '{}', with a share of {share:.4}.",
                names[place]
            ));
        }
        let shown = found.values.iter().take(top);
        Ok(Collected {
            columns: ["value", "share"],
            names: shown
                .map(|value| String::from_utf8_lossy(value).into_owned())
                .collect(),
            asked: fields(json!({ "length": length })),
            notes,
            outcome: found.outcome,
        })
    }
}
