//! One of several questions, drawn by the device: a report is the question and its randomized answer.
//!
//! The question does not depend on the value, and every answer is ε₀-LDP; so is the report. The accountant
//! has no exact distribution for the mixture and uses the bounds of any ε₀-LDP randomizer. A report is the
//! number of the question in one byte and its answer, padded with zeros to the length of the longest.

pub mod hierarchy;
pub mod prefixes;

pub use hierarchy::Hierarchy;
pub use prefixes::Prefixes;

use crate::error::Error;
use crate::estimate::{Counts, Estimate};
use crate::randomizer::Randomizer;
use crate::sample::coin::below;
use crate::sample::random::Random;
use crate::wire;

/// The estimates from the answers to one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The number of answers.
    pub reports: u64,
    /// The share of every category among the users who drew this question; empty if there are none.
    pub shares: Vec<Estimate>,
}

impl Level {
    /// The estimates of an oracle from its reports.
    pub(crate) fn of<O>(oracle: &O, counts: &Counts) -> Self
    where
        O: Randomizer<Tally = Counts, Estimate = Vec<Estimate>>,
    {
        let reports = counts.reports();
        Self {
            reports,
            shares: if reports > 0 {
                oracle.estimate(counts)
            } else {
                Vec::new()
            },
        }
    }
}

/// Draws one of `questions`, writes its number and its answer, and pads the report with zeros.
pub(crate) fn ask<R: Random + ?Sized>(
    questions: usize,
    random: &mut R,
    report: &mut [u8],
    answer: impl FnOnce(usize, &mut R, &mut [u8]),
) {
    let question = below(questions as u64, random) as usize;
    report.fill(0);
    report[0] = question as u8;
    answer(question, random, &mut report[1..]);
}

/// The question and the answer of a report, after checking its length and its padding.
pub(crate) fn asked(
    questions: usize,
    report: &[u8],
    length: usize,
    answer_length: impl Fn(usize) -> usize,
) -> Result<(usize, &[u8]), Error> {
    wire::sized(report, length)?;
    let question = wire::get(&report[..1], questions as u64)? as usize;
    let (answer, rest) = report[1..].split_at(answer_length(question));
    if rest.iter().any(|byte| *byte != 0) {
        return Err(Error::report("bytes after the answer are not zero"));
    }
    Ok((question, answer))
}
