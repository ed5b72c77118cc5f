//! Shuffled noisy SGD over blocks (enhanced-rdp's Algorithm 1, corrected).
//!
//! ```text
//! the examples in m blocks; every epoch a random order π of the blocks, and for i = 1, …, m:
//!   θ ← θ − η R(mean over block π(i) of clip(∇L(θ; x), C))
//! R is any ε₀-LDP randomizer of a vector in the ball of C; the paper prints Laplace noise on l₁
//! ```
//!
//! The paper prints a sum over a block of n/m examples divided by m, and Laplace noise of 2C/(ε₀m), as if one
//! example of the m-th part of the data were protected. But a whole block hides among the others: its report
//! is one of m, and shuffling amplifies over blocks only if *any* two blocks have reports within e^{ε₀} of
//! each other. So a block is averaged, its mean is in the ball of C for any content, and noise is for the
//! whole ball. **The unit of privacy is a block**: the data of a user who holds one block, or of all the
//! users who share one.
//!
//! The step of a block depends on the reports before it, so the price is that of a shuffle whose randomizers
//! are adaptive within the round.

use crate::algorithm::{Algorithm, Draws, Gathered};
use crate::charge::Charge;
use crate::error::Error;
use crate::gradients::Gradients;
use crate::optimizer::Optimizer;
use shuffledp_accounting::{Participation, Round};
use shuffledp_randomizers::{Randomizer, VectorEstimate, VectorSum, below};

/// Blocks, the randomizer of a block, and the charge for an epoch.
#[derive(Debug)]
pub struct BlocksSgd<'a, R> {
    gradients: Gradients<'a>,
    randomizer: &'a R,
    charge: Charge,
    blocks: u64,
}

impl<'a, R> BlocksSgd<'a, R>
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate>,
{
    /// As many blocks as the round has users; every one of them takes part, and the round is adaptive within
    /// itself.
    pub fn new(gradients: Gradients<'a>, randomizer: &'a R, round: Round) -> Result<Self, Error> {
        let blocks = round.users();
        if round.mechanism() != randomizer.mechanism()
            || round.participation() != Participation::Everyone
            || !round.is_adaptive_within_round()
        {
            return Err(Error::OtherRound);
        }
        let most = gradients.examples.users() as u64;
        if blocks > most {
            let allowed = format!("[2, {most}], the number of examples");
            return Err(Error::parameter("blocks", blocks, allowed));
        }
        Ok(Self {
            gradients,
            randomizer,
            charge: Charge::Shuffled(round),
            blocks,
        })
    }

    /// The examples of a block; sizes differ by one at most.
    fn block(&self, block: u64) -> Vec<usize> {
        let many = self.gradients.examples.users() as u128;
        let start = |block: u64| (u128::from(block) * many / u128::from(self.blocks)) as usize;
        (start(block)..start(block + 1)).collect()
    }
}

impl<R> Algorithm for BlocksSgd<'_, R>
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate>,
{
    fn charge(&self) -> &Charge {
        &self.charge
    }

    fn round(&self, server: &mut Optimizer, rate: f64, draws: Draws) -> Result<Gathered, Error> {
        let mut order: Vec<u64> = (0..self.blocks).collect();
        let mut lots = draws.stream(0);
        for last in (1..order.len()).rev() {
            order.swap(last, below(last as u64 + 1, &mut lots) as usize);
        }
        let mut gathered = Gathered::default();
        let mut report = vec![0; self.randomizer.report_length()];
        for (place, &block) in order.iter().enumerate() {
            let examples = self.block(block);
            let (sum, refused) = self.gradients.sum(server.parameters(), &examples)?;
            let mean: Vec<f32> = sum
                .iter()
                .map(|sum| (sum / examples.len() as f64) as f32)
                .collect();
            let mut random = draws.stream(1 + place as u64);
            self.randomizer.randomize(&mean, &mut random, &mut report)?;
            let mut tally = self.randomizer.tally();
            self.randomizer.add(&report, &mut tally)?;
            server.step(&self.randomizer.estimate(&tally).mean, rate)?;
            gathered.reports += 1;
            gathered.refused += refused;
        }
        Ok(gathered)
    }
}
