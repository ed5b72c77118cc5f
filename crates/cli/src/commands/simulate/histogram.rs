//! Shares of the values of a column.

use super::{Line, Outcome, RoundArguments};
use crate::column;
use crate::failure::Failure;
use crate::values;
use clap::Args;
use shuffledp::protocol::{make_consistent, of_all_users};
use shuffledp::randomizers::{Device, categorical::best_oracle};
use shuffledp::{Input, Parameter, grouped, names};
use std::collections::HashMap;

/// Beyond this many values, heavy hitters are what is wanted.
const MOST_VALUES: usize = 1 << 20;

/// What to count.
#[derive(Args)]
pub(super) struct HistogramArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// The values that there are: a list such as a,b,c or whole numbers such as 0..999 [default: those in the
    /// file]
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        help_heading = "Records"
    )]
    values: Option<String>,
    /// Put the shares where shares can be: none negative, 1 in all
    #[arg(long, help_heading = "Output")]
    consistent: bool,
}

/// The values of a column, and the place of each record's among them.
struct Values {
    names: Vec<String>,
    places: Vec<u32>,
}

impl HistogramArguments {
    pub(super) fn outcome(&self) -> Result<Outcome, Failure> {
        let round = &self.round;
        if let Some(k) = round.flags.spec()?.randomizer.k {
            let message =
                format!("--k {k} is the number of values: leave it out, or give --values");
            return Err(Failure::flag("--k", message));
        }
        let Values { names, places } = self.read()?;
        let people = round.people(places.len() as u64)?;
        let k = names.len() as u64;
        let mut spec = round.spec(&people, |epsilon0| Ok(best_oracle::name(k, epsilon0)))?;
        if spec
            .randomizer
            .entry()
            .needs()
            .contains(&Parameter::Categories)
        {
            spec.randomizer.k = Some(k);
        } else if spec.randomizer.input() == Input::Category && k != 2 {
            let name = spec.randomizer.name();
            let message = format!(
                "--randomizer {name} is for two values, and there are {}: krr is for more",
                grouped(k)
            );
            return Err(Failure::flag("--randomizer", message));
        }
        let Device::Category(randomizer) = Device::new(&spec.randomizer, 1.0)? else {
            return Err(not_for("values of a list", Input::Category));
        };
        let priced = round.priced(&spec, &randomizer)?;
        let value = |record: usize| u64::from(places[record]);
        let analyzer = round.collect(&spec, &randomizer, &people, value)?;
        let shares = analyzer.estimate().unwrap_or_default();
        let (reports, malformed) = (analyzer.taken(), analyzer.refused());
        let mut truth = vec![0u64; names.len()];
        people
            .records()
            .for_each(|record| truth[places[record] as usize] += 1);

        let confidence = round.confidence()?;
        let mut values: Vec<f64> = shares.iter().map(|share| share.value).collect();
        if self.consistent {
            make_consistent(&mut values);
        }
        let lines = names
            .into_iter()
            .enumerate()
            .map(|(place, name)| Line {
                name,
                value: values[place],
                interval: confidence.around(of_all_users(shares[place], reports, people.users)),
                truth: Some(truth[place] as f64 / people.users as f64),
            })
            .collect();
        let mut notes = Vec::new();
        if self.values.is_none() {
            notes.push(
                "The list of values was taken from the file: a real collection must know it beforehand (--values)."
                    .into(),
            );
        }
        if self.consistent {
            notes.push(
                "Shares were made consistent; the intervals are those of the shares before that."
                    .into(),
            );
        }
        Ok(Outcome {
            priced,
            reports,
            malformed,
            columns: ["value", "share"],
            lines,
            notes,
        })
    }

    /// The column, as places in the list of values.
    fn read(&self) -> Result<Values, Failure> {
        let round = &self.round;
        let listed = self.values.as_deref().map(list).transpose()?;
        let mut names = listed.clone().unwrap_or_default();
        let mut known: HashMap<String, u32> = (0..)
            .zip(&names)
            .map(|(place, name)| (name.clone(), place))
            .collect();
        if known.len() != names.len() {
            return Err(Failure::flag(
                "--values",
                "--values: a value is listed twice",
            ));
        }
        let mut places = Vec::new();
        column::texts(&round.input, &round.column, &mut |row, text| {
            let text = text.trim();
            if let Some(place) = known.get(text) {
                places.push(*place);
                return Ok(());
            }
            if listed.is_some() {
                return Err(round.refused(
                    row,
                    &format!("{} is not one of the --values", column::quoted(text)),
                ));
            }
            if names.len() == MOST_VALUES {
                let most = grouped(MOST_VALUES as u64);
                return Err(round.refused(
                    row,
                    &format!("more than {most} different values: ask for heavy-hitters"),
                ));
            }
            let place = names.len() as u32;
            names.push(text.to_owned());
            known.insert(text.to_owned(), place);
            places.push(place);
            Ok(())
        })?;
        if names.len() < 2 {
            let message = format!(
                "column '{}' of {} has one value only: a histogram is of two or more (--values)",
                round.column,
                round.input.display()
            );
            return Err(Failure::flag("--column", message));
        }
        if listed.is_none() {
            values::sort(&mut names, &mut places);
        }
        Ok(Values { names, places })
    }
}

/// A randomizer that is for other values, and those that are for these.
pub(super) fn not_for(what: &str, input: Input) -> Failure {
    let fitting = names(|entry| entry.input() == input && Device::exists(entry.name()));
    let message = format!("this --randomizer is not for {what}: {fitting} are");
    Failure::flag("--randomizer", message)
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
        Some((low, high)) if low < high && high.abs_diff(low) < MOST_VALUES as u64 => {
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
