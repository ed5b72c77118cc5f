//! Shares of the values of a column.

use super::{Line, Outcome, RoundArguments};
use crate::column;
use crate::device::{Category, Device, of_category};
use crate::failure::Failure;
use crate::number::grouped;
use crate::values;
use crate::words::Randomizer as Named;
use clap::Args;
use shuffledp::Unknown;
use shuffledp::protocol::{make_consistent, of_all_users};
use shuffledp::randomizers::{BestOracle, Randomizer};
use std::collections::HashMap;

/// Beyond this many values, heavy hitters are what is wanted.
const MOST_VALUES: usize = 1 << 20;

/// What to count.
#[derive(Args)]
pub(super) struct HistogramArguments {
    #[command(flatten)]
    pub(super) round: RoundArguments,
    /// The values that there are: a list such as a,b,c or whole numbers such as 0..999 [default: those in the file]
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
        if let Some(k) = &round.words.k {
            let message =
                format!("--k {k} is the number of values: leave it out, or give --values");
            return Err(Failure::words("--k", message));
        }
        let Values { names, places } = self.read()?;
        let people = round.people(places.len() as u64)?;
        let k = names.len() as u64;
        let mut words = round.words.with(Unknown::Users, people.users as f64);
        if words.randomizer == Named::Ldp {
            words.randomizer = match BestOracle::new(k, round.epsilon0()?)? {
                BestOracle::Kary(_) => Named::Krr,
                BestOracle::Hadamard(_) => Named::Hadamard,
            };
        }
        let categorical = [
            Named::Rr,
            Named::Krr,
            Named::Sue,
            Named::Oue,
            Named::Subset,
            Named::Hadamard,
            Named::Olh,
        ];
        if !categorical.contains(&words.randomizer) {
            let message = "this --randomizer is not for values of a list: rr, krr, sue, oue, subset, hadamard and olh are";
            return Err(Failure::words("--randomizer", message));
        }
        if words.randomizer != Named::Rr {
            words.k = Some(k.to_string());
        } else if k != 2 {
            let message = format!(
                "--randomizer rr is for two values, and there are {}: krr is for more",
                grouped(k)
            );
            return Err(Failure::words("--randomizer", message));
        }
        // The randomizers above are for categories.
        let Device::Category(device) = Device::new(&words, 1.0)? else {
            return Err(Failure::incomplete("not a randomizer of categories"));
        };
        let (question, answer) = round.price(&words, device_mechanism(&device), &people, None)?;
        let value = |record: usize| u64::from(places[record]);
        let (shares, reports, malformed) = of_category!(&device, randomizer => {
            let analyzer = round.collect(&words, randomizer, &people, value)?;
            (analyzer.estimate().unwrap_or_default(), analyzer.taken(), analyzer.refused())
        });
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
            notes.push("The list of values was taken from the file: a real collection must know it beforehand (--values).".into());
        }
        if self.consistent {
            notes.push(
                "Shares were made consistent; the intervals are those of the shares before that."
                    .into(),
            );
        }
        Ok(Outcome {
            question,
            answer,
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
            return Err(Failure::words(
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
            return Err(Failure::words("--column", message));
        }
        if listed.is_none() {
            values::sort(&mut names, &mut places);
        }
        Ok(Values { names, places })
    }
}

fn device_mechanism(device: &Category) -> shuffledp::Mechanism {
    of_category!(device, randomizer => randomizer.mechanism().clone())
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
