//! Shares of the values of a column.

use super::{Collected, RoundArguments, progress};
use crate::failure::Failure;
use crate::tables::refused_records;
use crate::values;
use clap::Args;
use serde_json::Map;
use shuffledp::protocol::survey::Survey;
use shuffledp_tables::Values;

/// Flags of a histogram.
#[derive(Args)]
pub(super) struct HistogramArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// The possible values: a list such as a,b,c or whole numbers such as 0..999 [default: those in the file]
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        help_heading = "Records"
    )]
    values: Option<String>,
    /// Adjust the shares so that none is negative and they sum to 1
    #[arg(long, help_heading = "Output")]
    consistent: bool,
}

impl HistogramArguments {
    pub(super) fn collected(&self, survey: &Survey) -> Result<Collected, Failure> {
        survey.check_categories()?;
        let listed = self.values.as_deref().map(list).transpose()?;
        let Values { names, places } =
            Values::read(self.round.column(), listed.as_deref()).map_err(refused_records)?;
        let progress = progress(survey, places.len());
        let sent = |users: u64| progress.advance(users);
        let k = names.len() as u64;
        let outcome = survey.histogram(&places, k, self.consistent, tempfile::tempfile, sent)?;
        let mut notes = Vec::new();
        if self.values.is_none() {
            notes.push(
                "The list of values was taken from the file: a real collection must know it beforehand \
                 (--values)."
                    .into(),
            );
        }
        if self.consistent {
            notes.push(
                "Shares were made consistent; the intervals are those of the shares before that."
                    .into(),
            );
        }
        Ok(Collected {
            outcome,
            columns: ["value", "share"],
            names,
            asked: Map::new(),
            notes,
        })
    }
}

/// Whole numbers from..to, or words between commas.
fn list(text: &str) -> Result<Vec<String>, Failure> {
    let ends = text.split_once("..").and_then(|(low, high)| {
        Some((
            low.trim().parse::<i64>().ok()?,
            high.trim().parse::<i64>().ok()?,
        ))
    });
    let wrong = |allowed: &str| Failure::value("--values", text, allowed);
    let names: Vec<String> = match ends {
        Some((low, high)) if low < high && high.abs_diff(low) < Values::MOST as u64 => {
            (low..=high).map(|number| number.to_string()).collect()
        }
        Some(_) => {
            return Err(wrong(
                "from a lower to a higher whole number, at most 2^20 of them",
            ));
        }
        None => values::listed(text),
    };
    if names.len() < 2 || names.iter().any(String::is_empty) {
        return Err(wrong("two or more values, such as a,b,c or 0..999"));
    }
    Ok(names)
}
