//! One of several questions, drawn by the device: each report is about one of them, and says which.
//!
//! Which question is asked has nothing to do with the value, and every answer is ε₀-LDP; so is the report.
//! The accountant has no law of its own for the mixture and is told "any ε₀-LDP randomizer". A report is the
//! question in one byte and its answer, filled up with zeros to the longest.

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

/// Answers to one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// How many there are.
    pub reports: u64,
    /// Shares among those who were asked; none where nobody was.
    pub shares: Vec<Estimate>,
}

impl Level {
    /// What an oracle makes of its reports.
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

/// Draws one of `questions`, has it answered into as many bytes as it needs, and fills up the rest.
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

/// The question of a report, and its answer, checked for length and filling.
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
        return Err(Error::report("bytes beyond the answer"));
    }
    Ok((question, answer))
}
