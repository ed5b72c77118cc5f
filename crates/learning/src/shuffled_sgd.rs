//! Learning from a crowd: who takes part computes the gradient of their own example, clips and randomizes it; the shuffler permutes the reports; the analyzer, who sees nothing else, averages them and steps.
//!
//! ```text
//! CLDP-SGD (Girgis et al. 2021)   m of n take part     g_i = clip(∇L(θ; x_i), C)     report R(g_i)     mean of the decoded reports
//! check-in SGD                    each by a coin of their own, else the same
//! ```

use crate::algorithm::{Algorithm, Draws, Gathered};
use crate::charge::Charge;
use crate::error::Error;
use crate::gradients::{CHUNK, Gradients, TOGETHER};
use crate::optimizer::Optimizer;
use rayon::prelude::*;
use shuffledp_accounting::Round;
use shuffledp_protocol::{Attendance, Shuffler};
use shuffledp_randomizers::{Randomizer, Simulated, VectorEstimate, VectorSum};
use std::io::Cursor;

/// Bytes of reports that are shuffled in one piece.
const MEMORY: usize = 1 << 30;
/// Bytes of shuffled reports that the analyzer reads at once.
const SLAB: usize = 1 << 26;

/// How reports reach the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// On the wire, through the shuffler, and read by the analyzer.
    Shuffled,
    /// Added where they are drawn, noise of a sum drawn as a sum where that is known. A sum does not depend on the order of its terms: its law is the same.
    Fast,
}

/// A crowd, what its devices run, and what a round of it is charged as.
#[derive(Debug)]
pub struct ShuffledSgd<'a, R> {
    gradients: Gradients<'a>,
    randomizer: &'a R,
    charge: Charge,
    round: Round,
    way: Way,
}

impl<'a, R> ShuffledSgd<'a, R>
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
{
    /// One example a person. The charge must be that of a round of this randomizer, of as many people.
    pub fn new(
        gradients: Gradients<'a>,
        randomizer: &'a R,
        charge: Charge,
        way: Way,
    ) -> Result<Self, Error> {
        let Some(round) = charge.round().cloned() else {
            return Err(Error::OtherRound);
        };
        if round.mechanism() != randomizer.mechanism()
            || round.users() != gradients.examples.len() as u64
        {
            return Err(Error::OtherRound);
        }
        // Whether they can be called is known now.
        Attendance::new(round.participation(), round.users(), 0.0)?;
        Ok(Self {
            gradients,
            randomizer,
            charge,
            round,
            way,
        })
    }

    /// Reports of these people at these parameters, added up, and how many gradients were refused. `draws` gives generators: 1 for the shuffler, from 2 for devices.
    fn gather(
        &self,
        parameters: &[f32],
        coming: &[usize],
        draws: Draws,
    ) -> Result<(VectorSum, u64), Error> {
        match self.way {
            Way::Fast => {
                let begin = |place| (self.randomizer.tally(), draws.stream(2 + place as u64));
                let add = |(tally, random): &mut (VectorSum, Simulated), gradient: &[f32]| {
                    self.randomizer.check(gradient)?;
                    Ok(self.randomizer.contribute(gradient, random, tally)?)
                };
                let ((mut sum, _), refused) = self.gradients.gathered(
                    parameters,
                    coming,
                    begin,
                    add,
                    |(sum, _), (part, _)| {
                        sum.merge(&part);
                    },
                )?;
                self.randomizer.settle(&mut draws.stream(1), &mut sum);
                Ok((sum, refused))
            }
            Way::Shuffled => {
                let length = self.randomizer.report_length();
                let open = || Ok(Cursor::new(Vec::new()));
                let mut shuffler = Shuffler::new(length, MEMORY, draws.stream(1), open)?;
                let begin = |place| (Vec::new(), draws.stream(2 + place as u64));
                let add = |(reports, random): &mut (Vec<u8>, Simulated), gradient: &[f32]| {
                    let start = reports.len();
                    reports.resize(start + length, 0);
                    Ok(self
                        .randomizer
                        .randomize(gradient, random, &mut reports[start..])?)
                };
                let mut pushed = Ok(());
                let push = |_: &mut (Vec<u8>, Simulated), (reports, _): (Vec<u8>, Simulated)| {
                    for report in reports.chunks_exact(length) {
                        if pushed.is_ok() {
                            pushed = shuffler.push(report);
                        }
                    }
                };
                let (_, refused) = self
                    .gradients
                    .gathered(parameters, coming, begin, add, push)?;
                pushed?;
                let mut sum = self.randomizer.tally();
                let mut slab = Vec::new();
                let mut read = Ok(());
                shuffler.finish(|report| {
                    slab.extend_from_slice(report);
                    if slab.len() >= SLAB && read.is_ok() {
                        read = self.add(&slab, &mut sum);
                        slab.clear();
                    }
                })?;
                read?;
                self.add(&slab, &mut sum)?;
                Ok((sum, refused))
            }
        }
    }

    /// The analyzer: shuffled reports, added up.
    fn add(&self, reports: &[u8], sum: &mut VectorSum) -> Result<(), Error> {
        let length = self.randomizer.report_length();
        for reports in reports.chunks(CHUNK * TOGETHER * length) {
            let parts: Result<Vec<VectorSum>, Error> = reports
                .par_chunks(CHUNK * length)
                .map(|reports| {
                    let mut tally = self.randomizer.tally();
                    for report in reports.chunks_exact(length) {
                        self.randomizer.add(report, &mut tally)?;
                    }
                    Ok(tally)
                })
                .collect();
            parts?.iter().for_each(|part| sum.merge(part));
        }
        Ok(())
    }
}

impl<R> Algorithm for ShuffledSgd<'_, R>
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
{
    fn charge(&self) -> &Charge {
        &self.charge
    }

    /// No step if nobody came.
    fn round(&self, server: &mut Optimizer, rate: f64, draws: Draws) -> Result<Gathered, Error> {
        let users = self.round.users();
        let mut attendance = Attendance::new(self.round.participation(), users, 0.0)?;
        let mut lots = draws.stream(0);
        let coming: Vec<usize> = (0..self.gradients.examples.len())
            .filter(|_| attendance.comes(&mut lots))
            .collect();
        let (sum, refused) = self.gather(server.parameters(), &coming, draws)?;
        if sum.reports() > 0 {
            server.step(&self.randomizer.estimate(&sum).mean, rate)?;
        }
        Ok(Gathered {
            reports: sum.reports(),
            refused,
        })
    }
}
