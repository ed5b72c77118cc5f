//! Central training, for scale: a server that everybody trusts holds the data, and adds noise itself.
//!
//! ```text
//! every epoch each example is put into one of k batches at random, and for i = 1, …, k:
//!   θ ← θ − η (Σ over batch i of clip₂(∇L(θ; x), C) + σC·N(0, I)) k/n
//! ```
//!
//! Of k steps of the Gaussian mechanism one, chosen at random, sees a record: 1-out-of-k random allocation,
//! priced by its own pair of distributions (Chua et al. 2024, Feldman and Shenfeld 2025). The neighbor has an
//! empty record, without a gradient, in the place of one; how many there are is public. This is not the
//! replacement of the shuffled rounds.
//!
//! Gradients are put on a grid inside the ball of C and noise is drawn on it exactly
//! ([`GaussianVector::noisy_sum`]).

use crate::algorithm::{Algorithm, Draws, Gathered};
use crate::charge::Charge;
use crate::clip::Norm;
use crate::error::Error;
use crate::gradients::Gradients;
use crate::optimizer::Optimizer;
use shuffledp_accounting::{Mechanism, Round};
use shuffledp_randomizers::{GaussianVector, Randomizer, VectorSum, below};

/// Batches, noise, and the charge for an epoch.
#[derive(Debug)]
pub struct CentralSgd<'a> {
    gradients: Gradients<'a>,
    noise: GaussianVector,
    batches: u64,
    charge: Charge,
}

impl<'a> CentralSgd<'a> {
    /// So many batches an epoch, and noise of σ in units of the bound.
    pub fn new(gradients: Gradients<'a>, batches: u64, sigma: f64) -> Result<Self, Error> {
        if gradients.norm != Norm::L2 {
            return Err(Error::parameter("norm", "of central training", "l2"));
        }
        let most = gradients.examples.users() as u64;
        if !(2..=most).contains(&batches) {
            let allowed = format!("[2, {most}], the number of examples");
            return Err(Error::parameter("batches", batches, allowed));
        }
        let round = Round::new(
            Mechanism::random_allocation_of_a_known_number(sigma)?,
            batches,
        )?;
        let d = gradients.model.parameters();
        Ok(Self {
            noise: GaussianVector::new(d, gradients.bound, sigma)?,
            gradients,
            batches,
            charge: Charge::Shuffled(round),
        })
    }
}

impl Algorithm for CentralSgd<'_> {
    fn charge(&self) -> &Charge {
        &self.charge
    }

    fn round(&self, server: &mut Optimizer, rate: f64, draws: Draws) -> Result<Gathered, Error> {
        let many = self.gradients.examples.users();
        let mut batches = vec![Vec::new(); self.batches as usize];
        let mut lots = draws.stream(0);
        for example in 0..many {
            batches[below(self.batches, &mut lots) as usize].push(example);
        }
        let mut noise = draws.stream(1);
        let mut gathered = Gathered::default();
        // A batch has this many on average; how many it has is not told.
        let share = self.batches as f64 / many as f64;
        for batch in &batches {
            let add = |tally: &mut VectorSum, gradient: &[f32]| {
                self.noise.check(gradient)?;
                // Nothing random yet: levels.
                Ok(self
                    .noise
                    .contribute(gradient, &mut draws.stream(2), tally)?)
            };
            let (tally, refused) = self.gradients.gathered(
                server.parameters(),
                batch,
                |_| self.noise.tally(),
                add,
                |sum, part| sum.merge(&part),
            )?;
            let mut sum = self.noise.noisy_sum(tally, &mut noise);
            sum.iter_mut().for_each(|slope| *slope *= share);
            server.step(&sum, rate)?;
            gathered.reports += batch.len() as u64;
            gathered.refused += refused;
        }
        Ok(gathered)
    }
}
