//! Central training, for scale: a server that everybody trusts holds the data, and adds noise itself.
//!
//! ```text
//! every epoch each example is put into one of k batches at random, and for i = 1, …, k:
//!   θ ← θ − η (Σ over batch i of clip₂(∇L(θ; x), C) + σC·N(0, I)) k/n
//! ```
//!
//! Of k steps of the Gaussian mechanism one, chosen at random, sees a record: 1-out-of-k random allocation, priced by its own pair of distributions (Chua et al. 2024, Feldman and Shenfeld 2025). The neighbour has one record more or less: not the replacement of the shuffled rounds.

use crate::algorithm::{Algorithm, Draws, Gathered};
use crate::charge::Charge;
use crate::clip::Norm;
use crate::error::Error;
use crate::gradients::Gradients;
use crate::optimizer::Optimizer;
use shuffledp_accounting::{Mechanism, Round};
use shuffledp_randomizers::{below, standard_normal};

/// Batches, noise, and what an epoch is charged as.
#[derive(Debug)]
pub struct CentralSgd<'a> {
    gradients: Gradients<'a>,
    sigma: f64,
    batches: u64,
    charge: Charge,
}

impl<'a> CentralSgd<'a> {
    /// So many batches an epoch, and noise of σ in units of the bound.
    pub fn new(gradients: Gradients<'a>, batches: u64, sigma: f64) -> Result<Self, Error> {
        if gradients.norm != Norm::L2 {
            return Err(Error::parameter("norm", "of central training", "l2"));
        }
        let round = Round::new(Mechanism::random_allocation(sigma)?, batches)?;
        Ok(Self {
            gradients,
            sigma,
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
        let many = self.gradients.examples.len();
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
            let (mut sum, refused) = self.gradients.sum(server.parameters(), batch)?;
            let size = self.sigma * self.gradients.bound;
            for slope in &mut sum {
                *slope = share * (*slope + size * standard_normal(&mut noise));
            }
            server.step(&sum, rate)?;
            gathered.reports += batch.len() as u64;
            gathered.refused += refused;
        }
        Ok(gathered)
    }
}
