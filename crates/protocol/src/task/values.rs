//! What a value of a task means to people, and how a device reads one.

use super::TaskError;
use serde::{Deserialize, Serialize};
use shuffledp_accounting::{Input, plain};
use shuffledp_randomizers::{Device, Error, Randomizer, Secure};

/// The most values that a task lists; more are numbered.
const MOST_LABELS: usize = 10_000;
/// The longest label, in bytes.
const LONGEST_LABEL: usize = 200;

/// What people call the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// One of these texts; their places in the list are the categories of the randomizer.
    Labels(Vec<String>),
    /// One of the whole numbers from 0 on, below the number of categories of the randomizer.
    Numbered,
    /// A number from the lower to the higher of these.
    Range([f64; 2]),
    /// A vector of at most this norm, as numbers between commas.
    Radius(f64),
}

/// A value as the randomizer of a task takes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A category.
    Category(u64),
    /// A place between the ends of the range, from 0 to 1.
    Number(f64),
    /// A vector.
    Vector(Vec<f32>),
}

impl Values {
    /// The largest norm of a vector; for other values it means nothing.
    pub(super) fn radius(&self) -> f64 {
        match self {
            Self::Radius(radius) => *radius,
            _ => 1.0,
        }
    }

    /// Refuses meanings that a device with so many categories has no use for.
    pub(super) fn check(&self, device: &Device, categories: u64) -> Result<(), TaskError> {
        let (needed, suitable) = match device {
            Device::Category(_) => {
                let listed = matches!(self, Self::Labels(_) | Self::Numbered);
                ("labels, or numbered values", listed)
            }
            Device::Number(_) => ("a range", matches!(self, Self::Range(_))),
            _ => ("a radius", matches!(self, Self::Radius(_))),
        };
        if !suitable {
            return Err(TaskError::OtherValues { needed });
        }
        match self {
            Self::Labels(labels) => check_labels(labels, categories),
            Self::Range([low, high]) if !(low < high && (high - low).is_finite()) => {
                let range = format!("{}..{}", plain(*low), plain(*high));
                Err(TaskError::parameter(
                    "range",
                    range,
                    "from a lower to a higher number",
                ))
            }
            Self::Radius(radius) if !(*radius > 0.0 && radius.is_finite()) => Err(
                TaskError::parameter("radius", plain(*radius), "above 0 and finite"),
            ),
            _ => Ok(()),
        }
    }

    /// Reads a value as a person writes it.
    pub(super) fn read(&self, text: &str, categories: u64) -> Result<Value, TaskError> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let (value, allowed) = match self {
            Self::Labels(labels) => {
                let place = labels.iter().position(|label| label == text);
                let value = place.map(|place| Value::Category(place as u64));
                (value, "one of the labels of the task".to_owned())
            }
            Self::Numbered => {
                let place = text.trim().parse().ok().filter(|place| *place < categories);
                let allowed = format!("a whole number from 0 to {}", categories - 1);
                (place.map(Value::Category), allowed)
            }
            Self::Range([low, high]) => {
                let inside = number(text).filter(|number| (low..=high).contains(&number));
                // A quotient of doubles can be above 1 by rounding.
                let place = inside.map(|number| ((number - low) / (high - low)).min(1.0));
                let allowed = format!("a number in {}..{}", plain(*low), plain(*high));
                (place.map(Value::Number), allowed)
            }
            Self::Radius(_) => {
                let numbers = text.split(',').map(|part| part.trim().parse::<f32>());
                let vector = numbers.collect::<Result<_, _>>().ok();
                (
                    vector.map(Value::Vector),
                    "numbers between commas".to_owned(),
                )
            }
        };
        value.ok_or(TaskError::Value {
            text: text.to_owned(),
            allowed,
        })
    }

    /// What the value at a place of a list of estimates is called.
    pub(super) fn name(&self, place: usize) -> Option<String> {
        match self {
            Self::Labels(labels) => labels.get(place).cloned(),
            Self::Numbered | Self::Radius(_) => Some(place.to_string()),
            Self::Range(_) => None,
        }
    }
}

fn check_labels(labels: &[String], categories: u64) -> Result<(), TaskError> {
    if labels.len() as u64 != categories {
        let allowed = "as many as the randomizer has categories";
        return Err(TaskError::parameter(
            "labels",
            format!("of number {}", labels.len()),
            allowed,
        ));
    }
    if labels.len() > MOST_LABELS {
        let allowed = "at most 10,000: number the values instead";
        return Err(TaskError::parameter(
            "labels",
            format!("of number {}", labels.len()),
            allowed,
        ));
    }
    let mut sorted: Vec<&String> = labels.iter().collect();
    sorted.sort();
    let twice = sorted
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .map(|pair| pair[0]);
    let odd = labels
        .iter()
        .find(|label| label.is_empty() || label.len() > LONGEST_LABEL);
    match twice.or(odd) {
        None => Ok(()),
        Some(label) => {
            let allowed = "a text of 1 to 200 bytes that is in the list once";
            Err(TaskError::parameter("label", format!("{label:?}"), allowed))
        }
    }
}

/// Draws a report from the operating system's randomness.
pub(super) fn randomize(
    device: &Device,
    value: &Value,
    random: &mut Secure,
) -> Result<Vec<u8>, TaskError> {
    let mut report = vec![0; device.report_length()];
    let other_kind = |input| Err(TaskError::OtherInput { input });
    let drawn: Result<(), Error> = match (device, value) {
        (Device::Category(device), Value::Category(value)) => {
            device.randomize(value, random, &mut report)
        }
        (Device::Number(device), Value::Number(value)) => {
            device.randomize(value, random, &mut report)
        }
        (Device::Vector(device), Value::Vector(value)) => {
            device.randomize(value, random, &mut report)
        }
        (Device::Category(_), _) => return other_kind(Input::Category),
        (Device::Number(_), _) => return other_kind(Input::Number),
        (_, _) => return other_kind(Input::Anything),
    };
    drawn?;
    Ok(report)
}
