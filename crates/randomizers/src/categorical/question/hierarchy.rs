//! A hierarchical histogram (Hay et al. 2010; in the local model Cormode, Kulkarni, Srivastava 2019). The
//! values 0 … 2ʰ − 1 are the leaves of a binary tree. The device draws a level, and reports the ancestor of
//! its value at that level.
//!
//! The shares of the nodes of a level are estimated from the reports about it, by the better of two oracles
//! ([`best_oracle`]). Any range of values is a union of at most two nodes per level, so its share is a sum of
//! few estimates instead of one for each leaf.

use crate::categorical::best_oracle;
use crate::categorical::question::{Level, ask, asked};
use crate::device::CategoryDevice;
use crate::error::Error;
use crate::estimate::Counts;
use crate::randomizer::Randomizer;
use crate::sample::random::Random;
use shuffledp_accounting::Mechanism;

/// The deepest tree: 2²⁰ leaves, whose counts take some 16 MiB for all levels together.
const DEEPEST: u32 = 20;

/// Reports about one random level of a binary tree.
///
/// ```
/// use shuffledp_randomizers::{Hierarchy, Randomizer, Simulated};
/// let tree = Hierarchy::new(4, 2.0)?;
/// let mut random = Simulated::new(1, 0);
/// let (mut tally, mut report) = (tree.tally(), vec![0; tree.report_length()]);
/// for person in 0..40_000 {
///     tree.randomize(&(person % 8), &mut random, &mut report)?;
///     tree.add(&report, &mut tally)?;
/// }
/// // Nobody is in the upper half.
/// let halves = &tree.estimate(&tally)[0].shares;
/// assert!(halves[1].value.abs() < 5.0 * halves[1].deviation());
/// # Ok::<(), shuffledp_randomizers::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hierarchy {
    mechanism: Mechanism,
    /// The oracles of the levels, of 2, 4, … nodes.
    levels: Vec<CategoryDevice>,
}

impl Hierarchy {
    /// A tree over 2^`depth` values, `depth` from 1 to 20.
    pub fn new(depth: u32, epsilon0: f64) -> Result<Self, Error> {
        if !(1..=DEEPEST).contains(&depth) {
            return Err(Error::Parameter {
                parameter: "depth",
                value: depth.to_string(),
                allowed: format!("[1, {DEEPEST}]"),
            });
        }
        let levels: Result<_, Error> = (1..=depth)
            .map(|level| best_oracle::device(1 << level, epsilon0))
            .collect();
        Ok(Self {
            mechanism: Mechanism::some_ldp(epsilon0)?,
            levels: levels?,
        })
    }

    /// The number of levels below the root.
    pub fn depth(&self) -> u32 {
        self.levels.len() as u32
    }

    /// The ancestor of a value at a level.
    fn node(&self, value: u64, level: usize) -> u64 {
        value >> (self.levels.len() - 1 - level)
    }

    fn opened<'a>(&self, report: &'a [u8]) -> Result<(usize, &'a [u8]), Error> {
        asked(self.levels.len(), report, self.report_length(), |level| {
            self.levels[level].report_length()
        })
    }
}

impl Randomizer for Hierarchy {
    type Value = u64;
    type Tally = Vec<Counts>;
    /// From the coarsest level to the finest.
    type Estimate = Vec<Level>;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        let answers = self.levels.iter().map(Randomizer::report_length);
        1 + answers.max().unwrap_or_default()
    }

    fn check(&self, value: &u64) -> Result<(), Error> {
        // The leaves are the categories of the finest level.
        self.levels
            .iter()
            .rev()
            .take(1)
            .try_for_each(|leaves| leaves.check(value))
    }

    fn draw<R: Random + ?Sized>(&self, value: &u64, random: &mut R, report: &mut [u8]) {
        ask(
            self.levels.len(),
            random,
            report,
            |level, random, answer| {
                let oracle = &self.levels[level];
                let length = oracle.report_length();
                oracle.draw(&self.node(*value, level), random, &mut answer[..length]);
            },
        );
    }

    fn tally(&self) -> Vec<Counts> {
        self.levels.iter().map(Randomizer::tally).collect()
    }

    fn add(&self, report: &[u8], tally: &mut Vec<Counts>) -> Result<(), Error> {
        let (level, answer) = self.opened(report)?;
        self.levels[level].add(answer, &mut tally[level])
    }

    fn estimate(&self, tally: &Vec<Counts>) -> Vec<Level> {
        let levels = self.levels.iter().zip(tally);
        levels
            .map(|(oracle, counts)| Level::of(oracle, counts))
            .collect()
    }

    /// The variance of the share of the value's leaf; one report in `depth` is about the leaves.
    fn variance(&self, value: &u64) -> f64 {
        let leaves = self
            .levels
            .last()
            .map_or(0.0, |leaves| leaves.variance(value));
        leaves * self.levels.len() as f64
    }

    fn influence(&self) -> f64 {
        let most = self
            .levels
            .iter()
            .map(Randomizer::influence)
            .fold(0.0, f64::max);
        most * self.levels.len() as f64
    }

    fn probability(&self, value: &u64, report: &[u8]) -> Option<f64> {
        let (level, answer) = self.opened(report).ok()?;
        let given = self.levels[level].probability(&self.node(*value, level), answer)?;
        Some(given / self.levels.len() as f64)
    }
}
