//! Quantiles of numbers.

use super::{Outcome, Reading, Survey, SurveyError, check_numbers, refused};
use crate::quantiles::Cumulative;
use shuffledp_accounting::plain;
use shuffledp_randomizers::Hierarchy;
use std::io::{self, Read, Seek, Write};

impl Survey {
    /// Quantiles of numbers in a public range, each given as its place in it, in [0, 1]; one reading for each
    /// share of the users `at`. The range is cut into 2^`depth` cells, and an estimate is the middle of one:
    /// finer cells leave fewer reports for each level of the hierarchy.
    pub fn quantiles<F: Read + Write + Seek>(
        &self,
        numbers: &[f64],
        range: (f64, f64),
        at: &[f64],
        depth: u64,
        open: impl FnMut() -> io::Result<F>,
        sent: impl Fn(u64),
    ) -> Result<Outcome, SurveyError> {
        Self::check_quantiles(at, depth)?;
        check_numbers(numbers, range)?;
        let people = self.people(numbers.len())?;
        let (round, epsilon0) = self.own_round("quantiles", "hierarchy", &people)?;
        let depth = depth as u32;
        let hierarchy = Hierarchy::new(depth, epsilon0)?;
        let cells = 1u64 << depth;
        let cell = |record: usize| ((numbers[record] * cells as f64) as u64).min(cells - 1);
        let (analyzer, mut outcome) = self.run(round, &hierarchy, &people, cell, open, sent)?;
        let levels = analyzer.estimate().unwrap_or_default();
        let reports = outcome.reports;
        let cumulative = Cumulative::new(&levels, people.users)
            .ok_or(SurveyError::TooFewForLevels { reports, depth })?;
        let confidence = self.confidence()?;
        let mut held: Vec<f64> = people.records().map(|record| numbers[record]).collect();
        held.sort_by(f64::total_cmp);
        let (low, high) = range;
        let scaled = |place: f64| low + (high - low) * place;
        let edge = |place: f64| scaled(place / cells as f64);
        outcome.readings = at
            .iter()
            .map(|&share| {
                let quantile = cumulative.quantile(share, confidence);
                let (first, last) = quantile.interval;
                // The least value that the share of users is at or below; a share below 1 has one.
                let rank = (share * held.len() as f64).ceil().max(1.0) as usize - 1;
                Reading {
                    value: edge(quantile.value as f64 + 0.5),
                    interval: (edge(first as f64), edge(last as f64 + 1.0)),
                    truth: scaled(held[rank.min(held.len() - 1)]),
                }
            })
            .collect();
        Ok(outcome)
    }

    /// Refuses shares and depths that are none.
    pub fn check_quantiles(at: &[f64], depth: u64) -> Result<(), SurveyError> {
        if let Some(&share) = at.iter().find(|share| !(**share > 0.0 && **share < 1.0)) {
            return Err(refused("at", plain(share), "in (0, 1)"));
        }
        match (1..=20).contains(&depth) {
            true => Ok(()),
            false => Err(refused("depth", depth.to_string(), "in [1, 20]")),
        }
    }
}
