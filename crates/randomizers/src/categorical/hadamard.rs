//! Hadamard response (Acharya, Sun, Zhang 2019): a position of a Hadamard matrix, E times as likely where the
//! value's row has +1. E = e^ε₀.
//!
//! There are K = B·b positions in B blocks of b. The value x belongs to block ⌊x / ⌈k/B⌉⌋ and has row
//! (x mod ⌈k/B⌉) + 1 there, with +1 at a set C_x of s = b/2 positions.
//!
//! ```text
//! P[y in C_x | x] = p = sE/(sE + K − s);   uniform on C_x, and uniform on the rest
//! u = p/s, v = (1−p)/(K−s)   the probability of one position in C_x, and outside it
//! f̂ = 2/(s(u−v)) · (c(C_x) − c(block)/2)/n = (Σ_y in block row_x(y) c_y)/(s(u−v)n)
//! ```
//!
//! The last form is a Walsh–Hadamard transform of the counts of a block: O(k log k) for all values together.
//! p is rounded down, towards more privacy. A report is the position.

use crate::device::Device;
use crate::domain;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::estimate::{Counts, Estimate, towards_the_middle};
use crate::randomizer::Randomizer;
use crate::sample::coin::{Coin, below};
use crate::sample::random::Random;
use crate::walsh_hadamard::walsh_hadamard;
use crate::wire;
use shuffledp_accounting::{Mechanism, Oracle, OracleKind, RandomizerSpec};

/// Hadamard response.
#[derive(Clone, Debug)]
pub struct HadamardResponse {
    categories: u64,
    blocks: u64,
    size: u64,
    mechanism: Mechanism,
    inside: Coin,
}

impl HadamardResponse {
    /// Hadamard response for 2 to 2³² categories.
    pub fn new(categories: u64, epsilon0: f64) -> Result<Self, Error> {
        domain::categories(categories)?;
        domain::epsilon0(epsilon0, domain::LARGEST_EPSILON0)?;
        let oracle = Oracle::new(OracleKind::HadamardResponse, categories, epsilon0)?;
        let (blocks, size) = oracle.hadamard_blocks();
        let half = (size / 2) as f64;
        let weight = half * epsilon0.exp();
        let rest = (blocks * size) as f64 - half;
        Ok(Self {
            categories,
            blocks,
            size,
            mechanism: oracle.into(),
            inside: Coin::at_most(weight, rest),
        })
    }

    fn positions(&self) -> u64 {
        self.blocks * self.size
    }

    /// The block of a value, and its row in the block.
    fn place(&self, value: u64) -> (u64, u64) {
        let held = self.categories.div_ceil(self.blocks);
        (value / held, value % held + 1)
    }

    /// Whether a position is in C_x of the value x.
    fn supports(&self, position: u64, value: u64) -> bool {
        let (block, row) = self.place(value);
        position / self.size == block
            && ((position % self.size) & row)
                .count_ones()
                .is_multiple_of(2)
    }

    /// u and v.
    fn densities(&self) -> (f64, f64) {
        let half = (self.size / 2) as f64;
        (
            self.inside.probability() / half,
            self.inside.complement() / (self.positions() as f64 - half),
        )
    }

    /// 1/(s(u−v)).
    fn gain(&self) -> f64 {
        let (u, v) = self.densities();
        1.0 / ((self.size / 2) as f64 * (u - v))
    }

    /// The probability of a position in a block, if the value belongs to the block and if not.
    fn seen_from(&self) -> (f64, f64) {
        let (u, v) = self.densities();
        let half = (self.size / 2) as f64;
        (half * (u + v), 2.0 * half * v)
    }

    /// n times the variance of f̂: reports in the block count ±1, others 0.
    fn one_variance(&self, share: f64, block_share: f64) -> f64 {
        let (within, outside) = self.seen_from();
        let seen = block_share * within + (1.0 - block_share) * outside;
        self.gain().powi(2) * seen - share
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = HadamardResponse::new(spec.k()?, spec.epsilon0()?)?;
    Ok(Device::Category(Dynamic::of(randomizer)))
}

impl Randomizer for HadamardResponse {
    type Value = u64;
    /// How often each position was sent.
    type Tally = Counts;
    type Estimate = Vec<Estimate>;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        wire::bytes(self.positions())
    }

    fn check(&self, value: &u64) -> Result<(), Error> {
        domain::category(*value, self.categories)
    }

    fn draw<R: Random + ?Sized>(&self, value: &u64, random: &mut R, report: &mut [u8]) {
        let (block, _) = self.place(*value);
        let position = if self.inside.toss(random) {
            // Half of the block's positions are in C_x: two tries on average.
            loop {
                let position = block * self.size + below(self.size, random);
                if self.supports(position, *value) {
                    break position;
                }
            }
        } else {
            loop {
                let position = below(self.positions(), random);
                if !self.supports(position, *value) {
                    break position;
                }
            }
        };
        wire::put(position, report);
    }

    fn tally(&self) -> Counts {
        Counts::new(self.positions() as usize)
    }

    fn add(&self, report: &[u8], tally: &mut Counts) -> Result<(), Error> {
        wire::sized(report, self.report_length())?;
        tally.supports[wire::get(report, self.positions())? as usize] += 1;
        tally.reports += 1;
        Ok(())
    }

    fn estimate(&self, tally: &Counts) -> Vec<Estimate> {
        let (n, gain) = (tally.reports as f64, self.gain());
        let (within, outside) = self.seen_from();
        let mut all = Vec::with_capacity(self.categories as usize);
        for block in tally.supports.chunks(self.size as usize) {
            let mut sums: Vec<f64> = block.iter().map(|&count| count as f64).collect();
            walsh_hadamard(&mut sums);
            let seen = sums[0] / n;
            let held = self.categories.div_ceil(self.blocks) as usize;
            for sum in &sums[1..=held] {
                if all.len() as u64 == self.categories {
                    break;
                }
                let value = gain * sum / n;
                let share = towards_the_middle(value, n);
                // The share of the block, from its reports: at least that of this value, at most 1.
                let block = ((seen - outside) / (within - outside)).clamp(share, 1.0);
                all.push(Estimate::new(value, self.one_variance(share, block) / n));
            }
        }
        all
    }

    fn variance(&self, _: &u64) -> f64 {
        self.one_variance(1.0, 1.0)
    }

    fn influence(&self) -> f64 {
        2.0 * self.gain()
    }

    fn probability(&self, value: &u64, report: &[u8]) -> Option<f64> {
        let position = wire::get(report, self.positions()).ok()?;
        let (u, v) = self.densities();
        Some(if self.supports(position, *value) {
            u
        } else {
            v
        })
    }
}
