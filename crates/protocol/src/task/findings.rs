//! What an analyzer finds in the reports of a batch.

use super::{Task, TaskError, Values};
use crate::analyzer::Analyzer;
use crate::confidence::Confidence;
use shuffledp_randomizers::{Device, Estimate, Randomizer};

/// One estimate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is about: a value of the task, or a coordinate; none for the mean of numbers.
    pub name: Option<String>,
    /// The estimate: a share of those who reported, or a mean of theirs.
    pub value: f64,
    /// Its interval; none for coordinates of a vector.
    pub interval: Option<(f64, f64)>,
}

/// The estimates of a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Findings {
    /// Reports that were read.
    pub taken: u64,
    /// Reports that no device of the task sends; left out.
    pub malformed: u64,
    /// The estimates.
    pub findings: Vec<Finding>,
}

impl Task {
    /// Reads the reports of a batch. Shares and means are those of the people who reported.
    pub fn read<'r>(
        &self,
        reports: impl IntoIterator<Item = &'r [u8]>,
        confidence: Confidence,
    ) -> Result<Findings, TaskError> {
        let around = |name, estimate: Estimate| Finding {
            name,
            value: estimate.value,
            interval: Some(confidence.around(estimate)),
        };
        let name = |place| self.spec.values.name(place);
        Ok(match &self.device {
            Device::Category(device) => found(device, reports, |shares| {
                let named = shares.into_iter().enumerate();
                named
                    .map(|(place, share)| around(name(place), share))
                    .collect()
            }),
            Device::Number(device) => found(device, reports, |mean| {
                let scaled = |place: f64| self.spec.values.scaled(place);
                let place = around(None, mean);
                let interval = place
                    .interval
                    .map(|(low, high)| (scaled(low), scaled(high)));
                vec![Finding {
                    value: scaled(place.value),
                    interval,
                    ..place
                }]
            }),
            Device::Vector(device) => found(device, reports, |estimate| {
                let coordinates = estimate.mean.into_iter().enumerate();
                coordinates
                    .map(|(place, value)| Finding {
                        name: name(place),
                        value,
                        interval: None,
                    })
                    .collect()
            }),
            _ => {
                return Err(TaskError::OtherValues {
                    needed: "another reader",
                });
            }
        })
    }
}

impl Task {
    /// The most by which one well-formed report of `reports` moves an estimate, whoever made it up: a share
    /// or a mean in the units of the task, a vector in its norm. None where the noise has no bound.
    pub fn influence(&self, reports: u64) -> Option<f64> {
        let of_one = match &self.device {
            Device::Category(device) => device.influence(),
            Device::Number(device) => {
                let values = &self.spec.values;
                device.influence() * (values.scaled(1.0) - values.scaled(0.0))
            }
            Device::Vector(device) => device.influence(),
            _ => return None,
        };
        of_one.is_finite().then_some(of_one / reports as f64)
    }
}

fn found<'r, R: Randomizer>(
    device: &R,
    reports: impl IntoIterator<Item = &'r [u8]>,
    findings: impl FnOnce(R::Estimate) -> Vec<Finding>,
) -> Findings {
    let mut analyzer = Analyzer::new(device);
    reports.into_iter().for_each(|report| analyzer.take(report));
    Findings {
        taken: analyzer.taken(),
        malformed: analyzer.refused(),
        findings: analyzer.estimate().map(findings).unwrap_or_default(),
    }
}

impl Values {
    /// A place between the ends of the range as a number of it.
    fn scaled(&self, place: f64) -> f64 {
        match self {
            Self::Range([low, high]) => low + (high - low) * place,
            _ => place,
        }
    }
}
