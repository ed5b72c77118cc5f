//! Training without protection, for scale: a batch drawn at random each round, its mean gradient, no noise.

use crate::algorithm::{Algorithm, Draws, Gathered};
use crate::charge::Charge;
use crate::error::Error;
use crate::gradients::Gradients;
use crate::optimizer::Optimizer;
use shuffledp_accounting::Participation;
use shuffledp_protocol::Attendance;

/// Batches of one size.
#[derive(Debug)]
pub struct PlainSgd<'a> {
    gradients: Gradients<'a>,
    batch: u64,
}

impl<'a> PlainSgd<'a> {
    /// Batches of this size, of all examples.
    pub fn new(gradients: Gradients<'a>, batch: u64) -> Result<Self, Error> {
        let many = gradients.examples.users() as u64;
        if !(1..=many).contains(&batch) {
            return Err(Error::parameter("batch", batch, format!("[1, {many}]")));
        }
        Ok(Self { gradients, batch })
    }
}

impl Algorithm for PlainSgd<'_> {
    fn charge(&self) -> &Charge {
        &Charge::Nothing
    }

    fn round(&self, server: &mut Optimizer, rate: f64, draws: Draws) -> Result<Gathered, Error> {
        let many = self.gradients.examples.users();
        let sample = Participation::Sample(self.batch);
        let mut attendance = Attendance::new(sample, many as u64, 0.0)?;
        let mut lots = draws.stream(0);
        let batch: Vec<usize> = (0..many).filter(|_| attendance.comes(&mut lots)).collect();
        let (mut sum, refused) = self.gradients.sum(server.parameters(), &batch)?;
        sum.iter_mut()
            .for_each(|slope| *slope /= batch.len() as f64);
        server.step(&sum, rate)?;
        Ok(Gathered {
            reports: batch.len() as u64,
            refused,
        })
    }
}
