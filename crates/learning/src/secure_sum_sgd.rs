//! Learning from noisy sums alone, by secure aggregation: *distributed check-in* of the shuffled check-in
//! paper.
//!
//! ```text
//! each user takes part by a coin of their own, or m of n are drawn
//! k take part: each sends clip₂(∇L(θ; x_i), C) on a grid + a share of discrete Gaussian noise, masked
//! a of them arrive; if a ≥ qk, the masks come off:  θ ← θ − η (sum of the a shares)/a
//! ```
//!
//! The analyzer sees the sum, k and a. A round is priced as k shares whose variances add up to that of qk
//! shares ([`NoiseShares::mechanism`]), so that who drops out costs nothing beyond q, the quorum. A round of
//! fewer is not unmasked, and neither is one of fewer than three participants: it shows nothing, takes no
//! step, and is charged all the same.
//!
//! The masks are [`secure_aggregation`]'s, which says what is trusted. One thing follows for the price: under
//! check-in and sampling privacy is amplified by who takes part, which the server that routes messages sees.
//! It must not tell the analyzer. And dropping out must not depend on who one is: if everybody knew that
//! user 1 never fails, many failures would say that user 1 is not among the participants.
//!
//! Sums are modulo 2³², and read as numbers from −2³¹ on. The grid is refused if a sum could reach that.
//!
//! [`secure_aggregation`]: shuffledp_protocol::secure_aggregation

use crate::algorithm::{Algorithm, Draws, Gathered};
use crate::charge::Charge;
use crate::clip::Norm;
use crate::error::Error;
use crate::gradients::{CHUNK, Gradients};
use crate::optimizer::Optimizer;
use crate::shuffled_sgd::{Way, called};
use shuffledp_accounting::{Domain, Mechanism, Participation, Round, plain};
use shuffledp_protocol::Attendance;
use shuffledp_protocol::secure_aggregation::{AggregationError, FEWEST, begin, neighbors_of_each};
use shuffledp_randomizers::{Coin, NoiseShares, Simulated};

/// The steps of the finest grid that is chosen: truncation to it takes off at most 2⁻¹⁴ of the bound in each
/// coordinate, far less than the noise of any budget.
const FINEST: u64 = 1 << 14;
/// Standard deviations of a sum's noise for which the ring has room: what reaches further has a probability
/// below e^{−800}.
const ROOM: f64 = 40.0;
/// Half the ring.
const HALF: f64 = (1u64 << 31) as f64;

/// The shares of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    /// The noise of one share, in units of the bound on gradients.
    pub sigma: f64,
    /// Steps of the grid to the bound. Default: as many as fit, at most 2¹⁴.
    pub levels: Option<u64>,
    /// The probability that a participant drops out after the masks are agreed.
    pub dropout: f64,
    /// q: the fraction of the participants whose shares must arrive.
    pub quorum: f64,
}

/// A crowd whose sums alone are seen.
#[derive(Debug)]
pub struct SecureSumSgd<'a> {
    gradients: Gradients<'a>,
    shares: NoiseShares,
    /// Whether a participant drops out; nobody does where there is none.
    dropout: Option<Coin>,
    quorum: f64,
    charge: Charge,
    round: Round,
    /// The users in line, before anybody was called.
    attendance: Attendance,
    way: Way,
}

impl<'a> SecureSumSgd<'a> {
    /// `take_part` gives a round of everybody its participation.
    pub fn new(
        gradients: Gradients<'a>,
        sharing: Sharing,
        take_part: impl Fn(Mechanism) -> Result<Round, Error>,
        way: Way,
    ) -> Result<Self, Error> {
        if gradients.norm != Norm::L2 {
            return Err(Error::parameter("norm", "of a secure sum", "l2"));
        }
        let Sharing {
            sigma,
            levels,
            dropout,
            quorum,
        } = sharing;
        if !(0.0..0.5).contains(&dropout) {
            return Err(Error::parameter("dropout", dropout, "[0, 0.5)"));
        }
        if !(quorum > 0.5 && quorum <= 1.0) {
            return Err(Error::parameter("quorum", quorum, "(0.5, 1]"));
        }
        let users = gradients.examples.users() as u64;
        // Refuses a noise that is none, on whatever grid.
        Mechanism::secure_sum(sigma, Domain::Ball)?;
        let most = most_levels(users, sigma);
        if most < 1.0 {
            let allowed = format!("what leaves sums of {users} shares below 2^31");
            return Err(Error::parameter("sigma", plain(sigma), allowed));
        }
        let levels = levels.unwrap_or(FINEST.min(most as u64));
        if levels as f64 > most {
            let allowed = format!("[1, {most}], so that sums of {users} shares stay below 2^31");
            return Err(Error::parameter("levels", levels, allowed));
        }
        let d = gradients.model.parameters();
        let shares = NoiseShares::new(d, gradients.bound, sigma, levels)?;
        let round = take_part(shares.mechanism(quorum)?)?;
        if round.users() != users {
            return Err(Error::OtherRound);
        }
        if let Participation::Sample(size) = round.participation()
            && size < FEWEST
        {
            let allowed =
                format!("[{FEWEST}, {users}]: of a sum of two each knows the other's share");
            return Err(Error::parameter("sample", size, allowed));
        }
        // Fewer participants need fewer neighbors.
        if way == Way::Shuffled
            && users >= FEWEST
            && let Err(error) = neighbors_of_each(users, least_of(quorum, users))
        {
            return Err(Error::parameter(
                "quorum",
                quorum,
                format!("what works: {error}"),
            ));
        }
        let attendance = called(&round, gradients.examples, 0.0)?;
        Ok(Self {
            gradients,
            shares,
            dropout: (dropout > 0.0).then(|| Coin::at_most(dropout, 1.0 - dropout)),
            quorum,
            charge: match quorum < 1.0 {
                true => Charge::Quorum(round.clone()),
                false => Charge::Shuffled(round.clone()),
            },
            round,
            attendance,
            way,
        })
    }

    /// The sum of the shares that arrived and their number, if they are enough, and how many gradients were
    /// refused. `draws` gives the generators: 0 for attendance, 1 for masks, 2 for dropouts, from 3 for
    /// devices.
    fn gather(&self, parameters: &[f32], draws: Draws) -> Result<(Option<Sum>, u64), Error> {
        let users = self.round.users();
        let mut attendance = self.attendance.clone();
        let (mut lots, mut losses) = (draws.stream(0), draws.stream(2));
        let taking_part: Vec<usize> = (0..users as usize)
            .filter(|_| attendance.comes(&mut lots))
            .collect();
        let participants = taking_part.len() as u64;
        if participants < FEWEST {
            return Ok((None, 0));
        }
        let least = least_of(self.quorum, participants);
        let places: Vec<usize> = (0..taking_part.len())
            .filter(|_| self.dropout.is_none_or(|coin| !coin.toss(&mut losses)))
            .collect();
        let arrived = places.len() as u64;
        let examples: Vec<usize> = places.iter().map(|place| taking_part[*place]).collect();
        let d = self.gradients.model.parameters();
        let masked = match self.way {
            Way::Shuffled => Some(begin(participants, d, least, &mut draws.stream(1))?),
            Way::Fast => None,
        };
        let (mut people, server) = match masked {
            Some((people, server)) => (Some(people), Some(server)),
            None => (None, None),
        };
        let begin = |chunk| Part {
            sum: vec![0; d],
            share: vec![0; d],
            at: chunk * CHUNK,
            random: draws.stream(3 + chunk as u64),
        };
        let send = |part: &mut Part, gradient: &[f32]| {
            self.shares
                .draw(gradient, &mut part.random, &mut part.share)?;
            // The ring: negative numbers are residues from 2³¹ on.
            let residues: Vec<u32> = part.share.iter().map(|level| *level as u32).collect();
            let report = match &people {
                Some(people) => people[places[part.at]].masked(&residues)?,
                None => residues,
            };
            part.add(&report);
            part.at += 1;
            Ok(())
        };
        let (part, refused) =
            self.gradients
                .gathered(parameters, &examples, begin, send, |sum, part| {
                    sum.add(&part.sum);
                })?;
        let sum = match (&mut people, server) {
            (Some(people), Some(mut server)) => {
                server.take_sum(places.iter().copied(), &part.sum)?;
                let revealed: Result<Vec<_>, _> = places
                    .iter()
                    .map(|place| people[*place].reveal(server.arrived()))
                    .collect();
                match revealed.and_then(|revealed| server.unmask(&revealed)) {
                    Err(AggregationError::TooFew { .. } | AggregationError::Unrecoverable(_)) => {
                        return Ok((None, refused));
                    }
                    unmasked => unmasked?,
                }
            }
            _ if arrived < least => return Ok((None, refused)),
            _ => part.sum,
        };
        let levels = sum.into_iter().map(|residue| i64::from(residue as i32));
        let sum = Sum {
            levels: levels.collect(),
            arrived,
        };
        Ok((Some(sum), refused))
    }
}

/// The least number of shares that are unmasked: the quorum, more than half of the participants, and three.
fn least_of(quorum: f64, participants: u64) -> u64 {
    let wanted = (quorum * participants as f64).ceil() as u64;
    wanted.clamp((participants / 2 + 1).max(FEWEST), participants)
}

/// The most steps K of a grid with mK + 40s√m < 2³¹ for m shares of noise s = ⌈σK⌉ ≤ σK + 1.
fn most_levels(shares: u64, sigma: f64) -> f64 {
    let (most, room) = (shares as f64, ROOM * (shares as f64).sqrt());
    ((HALF - room) / (most + room * sigma)).floor()
}

/// The sum of the shares that arrived.
struct Sum {
    levels: Vec<i64>,
    arrived: u64,
}

/// The devices of one chunk.
struct Part {
    /// Σ of their reports, modulo 2³².
    sum: Vec<u32>,
    /// The share that is drawn.
    share: Vec<i64>,
    /// The next device, counted among those who arrive.
    at: usize,
    random: Simulated,
}

impl Part {
    fn add(&mut self, report: &[u32]) {
        for (sum, residue) in self.sum.iter_mut().zip(report) {
            *sum = sum.wrapping_add(*residue);
        }
    }
}

impl Algorithm for SecureSumSgd<'_> {
    fn charge(&self) -> &Charge {
        &self.charge
    }

    /// No step if too few shares arrived.
    fn round(&self, server: &mut Optimizer, rate: f64, draws: Draws) -> Result<Gathered, Error> {
        let (sum, refused) = self.gather(server.parameters(), draws)?;
        let reports = sum.as_ref().map_or(0, |sum| sum.arrived);
        if let Some(Sum { levels, arrived }) = sum {
            server.step(&self.shares.decoded(&levels, arrived), rate)?;
        }
        Ok(Gathered { reports, refused })
    }
}
