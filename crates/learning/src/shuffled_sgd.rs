//! Learning from a crowd. A user who takes part computes the gradient of their own example, clips and
//! randomizes it; the shuffler permutes the reports; the analyzer, who sees nothing else, averages them and
//! steps.
//!
//! ```text
//! CLDP-SGD (Girgis et al. 2021)   m of n take part; g_i = clip(∇L(θ; x_i), C); report R(g_i);
//!                                 step along the mean of the decoded reports
//! check-in SGD                    each user by a coin of their own, else the same; the rate may be the
//! user's
//!                                 own, too ([`Examples::rates`](crate::Examples::rates))
//! ```
//!
//! A user of several examples sends one report, of the mean of their gradients. Reports may be lost on the
//! way ([`Charge::Lossy`]).
//!
//! A round is a round of [`shuffledp_protocol::run_round`], the loop that a collection and an audit run.

use crate::algorithm::{Algorithm, Draws, Gathered};
use crate::charge::Charge;
use crate::data::Examples;
use crate::error::Error;
use crate::gradients::{CHUNK, Gradients, TOGETHER};
use crate::optimizer::Optimizer;
use rayon::prelude::*;
use shuffledp_accounting::Round;
use shuffledp_protocol::{Attendance, Devices, Mixer, Shuffler, run_round};
use shuffledp_randomizers::{Randomizer, Simulated, VectorEstimate, VectorSum};
use std::io::Cursor;
use std::ops::Range;

/// Bytes of reports that are shuffled in memory.
const MEMORY: usize = 1 << 30;
/// Bytes of shuffled reports that the analyzer adds up at once, on all cores.
const SLAB: usize = 1 << 26;

/// How reports reach the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// On the wire, through the shuffler, and read by the analyzer; masked and unmasked in a secure sum.
    Shuffled,
    /// Added where they are drawn; the noise of a sum is drawn as a sum where its law is known. A sum does
    /// not depend on the order of its terms: its law is the same.
    Fast,
}

/// A crowd, the randomizer of its devices, and the charge for a round.
#[derive(Debug)]
pub struct ShuffledSgd<'a, R> {
    gradients: Gradients<'a>,
    randomizer: &'a R,
    charge: Charge,
    round: Round,
    /// The users in line, before anybody was called.
    attendance: Attendance,
    way: Way,
}

impl<'a, R> ShuffledSgd<'a, R>
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
{
    /// The charge must be that of a round of this randomizer, of as many people as the examples are of.
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
            || round.users() != gradients.examples.users() as u64
        {
            return Err(Error::OtherRound);
        }
        let attendance = called(&round, gradients.examples, charge.dropout())?;
        Ok(Self {
            gradients,
            randomizer,
            charge,
            round,
            attendance,
            way,
        })
    }

    /// The sum of all reports at these parameters, and how many gradients were refused. `draws` gives the
    /// generators: 0 for attendance, 1 for the shuffler, from 2 for devices.
    fn gather(&self, parameters: &[f32], draws: Draws) -> Result<(VectorSum, u64), Error> {
        let users = self.round.users();
        let attendance = self.attendance.clone();
        let mut crowd = Crowd {
            sgd: self,
            parameters,
            draws,
            lots: draws.stream(0),
            refused: 0,
        };
        match self.way {
            Way::Fast => self.add_where_drawn(crowd, attendance),
            Way::Shuffled => {
                let length = self.randomizer.report_length();
                let open = || Ok(Cursor::new(Vec::new()));
                let shuffler = Shuffler::new(length, MEMORY, draws.stream(1), open)?;
                let mut sum = self.randomizer.tally();
                let mut slab = Vec::new();
                let mut added = Ok(());
                let read = |report: &[u8]| {
                    slab.extend_from_slice(report);
                    if slab.len() >= SLAB && added.is_ok() {
                        added = self.add(&slab, &mut sum);
                        slab.clear();
                    }
                };
                run_round(users, attendance, &mut crowd, shuffler, read)?;
                added?;
                self.add(&slab, &mut sum)?;
                Ok((sum, crowd.refused))
            }
        }
    }

    /// The same sum without reports: values are added where they are, and noise to the sum.
    fn add_where_drawn(
        &self,
        mut crowd: Crowd<'_, R>,
        mut attendance: Attendance,
    ) -> Result<(VectorSum, u64), Error> {
        let draws = crowd.draws;
        let coming: Vec<usize> = (0..self.gradients.examples.users())
            .filter(|_| crowd.comes(&mut attendance))
            .collect();
        let begin = |place| (self.randomizer.tally(), draws.stream(2 + place as u64));
        let add = |(tally, random): &mut (VectorSum, Simulated), gradient: &[f32]| {
            self.randomizer.check(gradient)?;
            Ok(self.randomizer.contribute(gradient, random, tally)?)
        };
        let merge = |(sum, _): &mut (VectorSum, _), (part, _): (VectorSum, _)| sum.merge(&part);
        let ((mut sum, _), refused) =
            self.gradients
                .gathered(crowd.parameters, &coming, begin, add, merge)?;
        self.randomizer.settle(&mut draws.stream(1), &mut sum);
        Ok((sum, refused))
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

/// The users of a round in line: at the rates of their own where they have some.
pub(crate) fn called(
    round: &Round,
    examples: &Examples,
    dropout: f64,
) -> Result<Attendance, Error> {
    let (participation, users) = (round.participation(), round.users());
    Ok(match examples.rates() {
        Some(rates) => Attendance::with_rates(participation, rates, users, dropout)?,
        None => Attendance::new(participation, users, dropout)?,
    })
}

/// The devices of a round: each randomizes the gradient of its own example at the parameters it was sent.
struct Crowd<'a, R> {
    sgd: &'a ShuffledSgd<'a, R>,
    parameters: &'a [f32],
    draws: Draws,
    /// The generator of attendance.
    lots: Simulated,
    /// Gradients that were not finite.
    refused: u64,
}

impl<R> Devices for Crowd<'_, R>
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
{
    type Error = Error;

    /// All users: generators belong to chunks of those who take part, not of those who are called.
    fn window(&self) -> u64 {
        self.sgd.round.users()
    }

    fn comes(&mut self, attendance: &mut Attendance) -> bool {
        attendance.comes(&mut self.lots)
    }

    fn send(&mut self, _: Range<u64>, coming: &[u64], mixer: &mut impl Mixer) -> Result<(), Error> {
        let (randomizer, draws) = (self.sgd.randomizer, self.draws);
        let length = randomizer.report_length();
        let coming: Vec<usize> = coming.iter().map(|&user| user as usize).collect();
        let begin = |place| (Vec::new(), draws.stream(2 + place as u64));
        let add = |(reports, random): &mut (Vec<u8>, Simulated), gradient: &[f32]| {
            let start = reports.len();
            reports.resize(start + length, 0);
            Ok(randomizer.randomize(gradient, random, &mut reports[start..])?)
        };
        let mut pushed = Ok(());
        let push = |_: &mut (Vec<u8>, Simulated), (reports, _): (Vec<u8>, Simulated)| {
            for report in reports.chunks_exact(length) {
                if pushed.is_ok() {
                    pushed = mixer.push(report);
                }
            }
        };
        let (_, refused) =
            self.sgd
                .gradients
                .gathered(self.parameters, &coming, begin, add, push)?;
        self.refused += refused;
        Ok(pushed?)
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
        let (sum, refused) = self.gather(server.parameters(), draws)?;
        if sum.reports() > 0 {
            server.step(&self.randomizer.estimate(&sum).mean, rate)?;
        }
        Ok(Gathered {
            reports: sum.reports(),
            refused,
        })
    }
}
