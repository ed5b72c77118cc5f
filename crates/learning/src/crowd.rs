//! One round of learning from a crowd: who takes part computes the gradient of their own example, clips and randomises it; the shuffler permutes the reports; the analyzer, who sees nothing else, averages them.
//!
//! ```text
//! CLDP-SGD (Girgis et al. 2021)   m of n take part     g_i = clip(∇L(θ; x_i), C)     report R(g_i)     mean of the decoded reports
//! check-in SGD                    each by a coin of their own, else the same
//! ```
//!
//! A gradient that is not finite is refused before it is randomised, and counted. Its owner sends a report of the zero vector instead: a report that is missing because of what somebody holds would say so.

use crate::clip::Norm;
use crate::data::Examples;
use crate::error::Error;
use crate::models::Model;
use rayon::prelude::*;
use shuffledp_protocol::{Attendance, Shuffler};
use shuffledp_randomizers::{Random, Randomizer, VectorEstimate, VectorSum};
use std::io::Cursor;

/// People who share a generator and a workspace.
const CHUNK: usize = 64;
/// Bytes of reports that are shuffled in memory.
const MEMORY: usize = 1 << 30;

/// How reports reach the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// On the wire, through the shuffler, and read by the analyzer.
    Shuffled,
    /// Added where they are drawn. A sum does not depend on the order of its terms: its law is the same, and a report need not be read back.
    Added,
}

/// People with an example each, and what their devices do.
pub struct Crowd<'a, R> {
    /// What is trained.
    pub model: &'a Model,
    /// One example a person.
    pub examples: &'a Examples,
    /// What protects a gradient.
    pub randomizer: &'a R,
    /// The norm that bounds it.
    pub norm: Norm,
    /// C.
    pub bound: f64,
}

/// What a round gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Gathered {
    /// The mean of the clipped gradients, without bias.
    pub mean: Vec<f64>,
    /// Reports that arrived.
    pub reports: u64,
    /// Gradients that were not finite.
    pub refused: u64,
}

impl<R> Crowd<'_, R>
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
{
    /// One round at these parameters; none if nobody came. `random` gives generators: 0 and 1 for attendance and shuffler, the rest for devices.
    pub fn round<G: Random>(
        &self,
        parameters: &[f32],
        mut attendance: Attendance,
        way: Way,
        random: impl Fn(u64) -> Result<G, shuffledp_randomizers::Error> + Sync,
    ) -> Result<Option<Gathered>, Error> {
        let mut lots = random(0)?;
        let coming: Vec<usize> = (0..self.examples.len())
            .filter(|_| attendance.comes(&mut lots))
            .collect();
        let device = |chunk: &[usize], place: usize, each: &mut Each<'_, R, G>| {
            let mut random = random(2 + place as u64)?;
            let mut workspace = self.model.workspace();
            let mut gradient = vec![0.0; self.model.parameters()];
            let mut refused = 0;
            for (image, label) in chunk.iter().filter_map(|&at| self.examples.get(at)) {
                self.model
                    .gradient(parameters, image, label, &mut workspace, &mut gradient)?;
                if matches!(
                    self.norm.clip(&mut gradient, self.bound),
                    Err(Error::NotFinite)
                ) {
                    refused += 1;
                    gradient.fill(0.0);
                }
                each(self.randomizer, &gradient, &mut random)?;
            }
            Ok::<u64, Error>(refused)
        };
        let chunks = coming.par_chunks(CHUNK).enumerate();
        let (tally, refused) = match way {
            Way::Added => {
                let parts: Result<Vec<(VectorSum, u64)>, Error> = chunks
                    .map(|(place, chunk)| {
                        let mut tally = self.randomizer.tally();
                        let refused = device(chunk, place, &mut |randomizer, gradient, random| {
                            randomizer.check(gradient)?;
                            Ok(randomizer.contribute(gradient, random, &mut tally)?)
                        })?;
                        Ok((tally, refused))
                    })
                    .collect();
                // In the order of the people, whichever core was first.
                let mut sum = self.randomizer.tally();
                let mut refused = 0;
                for (part, not_finite) in parts? {
                    sum.merge(&part);
                    refused += not_finite;
                }
                (sum, refused)
            }
            Way::Shuffled => {
                let length = self.randomizer.report_length();
                let parts: Result<Vec<(Vec<u8>, u64)>, Error> = chunks
                    .map(|(place, chunk)| {
                        let mut reports = Vec::with_capacity(length * chunk.len());
                        let refused = device(chunk, place, &mut |randomizer, gradient, random| {
                            let start = reports.len();
                            reports.resize(start + length, 0);
                            Ok(randomizer.randomise(gradient, random, &mut reports[start..])?)
                        })?;
                        Ok((reports, refused))
                    })
                    .collect();
                let open = || Ok(Cursor::new(Vec::new()));
                let mut shuffler = Shuffler::new(length, MEMORY, random(1)?, open)?;
                let mut refused = 0;
                for (reports, not_finite) in parts? {
                    for report in reports.chunks_exact(length) {
                        shuffler.push(report)?;
                    }
                    refused += not_finite;
                }
                let mut batch = Vec::with_capacity(length * coming.len());
                shuffler.finish(|report| batch.extend_from_slice(report))?;
                (self.added(&batch, length)?, refused)
            }
        };
        Ok((tally.reports() > 0).then(|| Gathered {
            mean: self.randomizer.estimate(&tally).mean,
            reports: tally.reports(),
            refused,
        }))
    }

    /// The analyzer: a shuffled batch, added up.
    fn added(&self, batch: &[u8], length: usize) -> Result<VectorSum, Error> {
        let parts: Result<Vec<VectorSum>, Error> = batch
            .par_chunks(CHUNK * length)
            .map(|reports| {
                let mut tally = self.randomizer.tally();
                for report in reports.chunks_exact(length) {
                    self.randomizer.add(report, &mut tally)?;
                }
                Ok(tally)
            })
            .collect();
        let mut sum = self.randomizer.tally();
        parts?.iter().for_each(|part| sum.merge(part));
        Ok(sum)
    }
}

/// What is done with a clipped gradient.
type Each<'a, R, G> = dyn FnMut(&R, &[f32], &mut G) -> Result<(), Error> + 'a;
