//! Secure aggregation in one process: a server learns the sum of the participants' vectors, and nothing else
//! about them.
//!
//! ```text
//! neighbors   a random ring, each participant with the h before and the h after it (all, if they are few)
//! i draws     a seed bᵢ of its own, a seed sᵢⱼ for each pair with a neighbor, a key eᵢ
//! i deposits  all its sᵢⱼ, encrypted with eᵢ, at the server; Shamir shares of bᵢ and of eᵢ at its neighbors
//! i sends     yᵢ = xᵢ + PRG(bᵢ) + Σ_{j > i} PRG(sᵢⱼ) − Σ_{j < i} PRG(sᵢⱼ)   modulo 2³²
//! unmasking   of those whose yᵢ arrived bᵢ is revealed, of those whose did not eᵢ; never both of the same
//! ```
//!
//! The masks of a pair cancel if both arrive. If j's report is missing, eⱼ opens its deposit, and the server
//! takes off what its neighbors added for it. So a missing participant costs its own report and no other.
//! This is the protocol of Bonawitz et al. 2017 with the sparse graph of Bell et al. 2020.
//!
//! **What is trusted.** The server keeps to the protocol (it is curious, not malicious: it does not tell
//! participants different things about who arrived), and sees no channel between two participants. Less than
//! half of a participant's neighbors collude with it. Participants, not the server, refuse to unmask a sum of
//! fewer than `least` reports, or a second sum of the same round. Who takes part is known to the server,
//! which routes the messages; if privacy is to be amplified by who takes part, the server must not be the
//! analyzer.
//!
//! **What is left out.** Key agreement: in one process both ends of a pair are given the same seed, in place
//! of a Diffie-Hellman exchange over keys that somebody vouches for. Encrypted channels for shares. Checks
//! against a lying server. The parts that are cryptography come from libraries: ChaCha20 expands seeds and
//! encrypts deposits, each key once (`rand_chacha`), shares are Shamir's over GF(2⁸) (`blahaj`).
//!
//! Cost: d·(neighbors + 1) words of ChaCha20 for each participant.

use blahaj::{Share, Sharks};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use shuffledp_randomizers::{Random, below};

/// The fewest participants: of a sum of two, each knows the other's report.
pub const FEWEST: u64 = 3;
/// The most neighbors: the shares of GF(2⁸) are numbered from 1 to 255.
const MOST_NEIGHBORS: u64 = 254;
/// The probability that a round with as many reports lost as it accepts cannot be unmasked, because too many
/// neighbors of one participant are gone. Such a round shows nothing.
const STUCK: f64 = 1e-9;
/// The same probability where it takes the most neighbors: a least number is refused if it would be larger.
const MOST_STUCK: f64 = 1e-3;

type Seed = [u8; 32];

/// Why a sum is not shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AggregationError {
    /// Too few participants to hide among, or too many for the numbers of this machine.
    #[error("{0} participants in a secure sum, which has from 3 to 2^32")]
    Participants(u64),
    /// A least number of reports of which a server could unmask two different sums, or more than there are.
    #[error(
        "at least {least} of {participants} reports: more than half of them must arrive, three or more, and \
         at most all"
    )]
    Least {
        /// The least number.
        least: u64,
        /// The participants.
        participants: u64,
    },
    /// So small a least number that the masks of those who are missing could often not be taken off.
    #[error(
        "at least {least} of {participants} reports: with up to 254 neighbors each, so many missing ones \
         would often leave masks that cannot be taken off"
    )]
    Sparse {
        /// The least number.
        least: u64,
        /// The participants.
        participants: u64,
    },
    /// A vector of another length.
    #[error("a report of {given} numbers, the sum has {wanted}")]
    Length {
        /// Its length.
        given: usize,
        /// The length of the sum.
        wanted: usize,
    },
    /// Fewer reports than participants agreed to unmask.
    #[error("{arrived} reports arrived, and fewer than {least} are not unmasked")]
    TooFew {
        /// The reports that arrived.
        arrived: u64,
        /// The least number.
        least: u64,
    },
    /// Too many neighbors of a participant are gone.
    #[error("the masks of participant {0} cannot be taken off: too many of its neighbors are gone")]
    Unrecoverable(u64),
    /// A participant that is not of this round, or that sent its report or revealed its shares before.
    #[error("participant {0} is unknown, or was heard before")]
    Unexpected(u64),
}

/// A participant: its seeds, and the shares that it holds for its neighbors.
pub struct Participant {
    place: usize,
    least: u64,
    /// Whether it has revealed shares: it does so for one sum only.
    is_done: bool,
    length: usize,
    own: Seed,
    /// Neighbors in rising order, with the seed of each pair.
    pairs: Vec<(usize, Seed)>,
    /// The shares of each neighbor's own seed and of its deposit's key.
    held: Vec<(Share, Share)>,
}

/// The server's side of a round.
#[derive(Clone)]
pub struct Aggregator {
    /// Σ of the masked reports, modulo 2³².
    sum: Vec<u32>,
    arrived: Vec<bool>,
    least: u64,
    neighbors: Vec<Vec<usize>>,
    deposits: Vec<Vec<u8>>,
}

/// What a participant reveals when it is told who arrived.
#[derive(Clone)]
pub struct Revealed {
    place: usize,
    own: Seed,
    /// One share for each neighbor: of its own seed if it arrived, else of its deposit's key.
    shares: Vec<Share>,
}

/// Begins a round of so many participants with vectors of `length` numbers, of which the sum is shown if at
/// least `least` arrive. Every participant's seeds come from a key that is drawn from `random`.
///
/// ```
/// use shuffledp_protocol::secure_aggregation::begin;
/// use shuffledp_randomizers::Secure;
///
/// let (mut people, mut server) = begin(5, 2, 4, &mut Secure::new()?)?;
/// // The third drops out.
/// for (place, person) in people.iter().enumerate().filter(|(place, _)| *place != 2) {
///     server.take(place, &person.masked(&[1, place as u32])?)?;
/// }
/// let revealed: Result<Vec<_>, _> = [0, 1, 3, 4]
///     .iter()
///     .map(|place: &usize| people[*place].reveal(server.arrived()))
///     .collect();
/// assert_eq!(server.unmask(&revealed?)?, [4, 8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn begin<R: Random + ?Sized>(
    participants: u64,
    length: usize,
    least: u64,
    random: &mut R,
) -> Result<(Vec<Participant>, Aggregator), AggregationError> {
    if !(FEWEST..=1 << 32).contains(&participants) {
        return Err(AggregationError::Participants(participants));
    }
    let neighbors = ring(
        participants,
        neighbors_of_each(participants, least)?,
        random,
    );
    let mut keys = vec![[0; 32]; neighbors.len()];
    keys.iter_mut().for_each(|key| random.fill(key));
    // Each draws the seeds of pairs with later neighbors, and sends them there.
    let mut drawn: Vec<Drawn> = keys
        .into_par_iter()
        .zip(&neighbors)
        .enumerate()
        .map(|(place, (key, own))| Drawn::new(key, own.iter().filter(|j| **j > place).count()))
        .collect();
    let pairs: Vec<Vec<(usize, Seed)>> = neighbors
        .par_iter()
        .enumerate()
        .map(|(place, own)| {
            let later = own.partition_point(|j| *j < place);
            own.iter()
                .enumerate()
                .map(|(at, &j)| {
                    if j > place {
                        return (j, drawn[place].to_later[at - later]);
                    }
                    let of_j = &neighbors[j];
                    let first = of_j.partition_point(|i| *i < j);
                    (j, drawn[j].to_later[position(of_j, place) - first])
                })
                .collect()
        })
        .collect();
    let dealt: Vec<Dealt> = drawn
        .par_iter_mut()
        .zip(&pairs)
        .map(|(drawn, pairs)| drawn.deal(pairs))
        .collect();
    let people = neighbors.par_iter().zip(&pairs).enumerate();
    let people = people.map(|(place, (own, pairs))| Participant {
        place,
        least,
        is_done: false,
        length,
        own: drawn[place].own,
        pairs: pairs.clone(),
        held: own
            .iter()
            .map(|&j| dealt[j].shares[position(&neighbors[j], place)].clone())
            .collect(),
    });
    let people: Vec<Participant> = people.collect();
    let server = Aggregator {
        sum: vec![0; length],
        arrived: vec![false; people.len()],
        least,
        neighbors,
        deposits: dealt.into_iter().map(|dealt| dealt.deposit).collect(),
    };
    Ok((people, server))
}

/// How many neighbors each participant has: enough that more than half of them remain, except with
/// probability 1e-9 over all participants, when as many reports are lost as may be.
///
/// If a fraction f of the participants remains, at most half of m neighbors do with probability e^{−mD}, D =
/// −ln(4f(1 − f))/2 (Chernoff; Hoeffding 1963 for drawing without replacement). At least 2 log₂ n: a set of
/// participants is cut off from the others, so that their sum is seen, only if h = m/2 in a row are missing
/// on both sides of it.
///
/// Refuses a least number with which sums could be of fewer than three reports, or of two halves of the
/// participants, and one for which as many neighbors as there can be, 254, leave more than one chance in a
/// thousand that the masks stay on. A larger round of the same fraction needs more neighbors: what holds for
/// all users holds for those who take part.
pub fn neighbors_of_each(participants: u64, least: u64) -> Result<u64, AggregationError> {
    if !(participants / 2 < least && (FEWEST..=participants).contains(&least)) {
        return Err(AggregationError::Least {
            least,
            participants,
        });
    }
    let n = participants as f64;
    let remain = least as f64 / n;
    let exponent = -0.5 * (4.0 * remain * (1.0 - remain)).ln();
    let wanted = ((n / STUCK).ln() / exponent).max(2.0 * n.log2());
    let even = 2 * (0.5 * wanted.min(1e9)).ceil() as u64;
    let many = even.min(participants - 1).min(MOST_NEIGHBORS);
    let stuck = n * (-exponent * many as f64).exp();
    // With everybody a neighbor, more than half of them arrive whenever enough do.
    match many == participants - 1 || stuck <= MOST_STUCK {
        true => Ok(many),
        false => Err(AggregationError::Sparse {
            least,
            participants,
        }),
    }
}

/// The neighbors of everybody in a random ring, in rising order.
fn ring<R: Random + ?Sized>(participants: u64, many: u64, random: &mut R) -> Vec<Vec<usize>> {
    let n = participants as usize;
    if many == participants - 1 {
        return (0..n)
            .map(|i| (0..n).filter(|j| *j != i).collect())
            .collect();
    }
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        order.swap(last, below(last as u64 + 1, random) as usize);
    }
    let mut neighbors = vec![Vec::new(); n];
    for (at, &place) in order.iter().enumerate() {
        let around = (1..=many as usize / 2).flat_map(|step| [at + step, at + n - step]);
        neighbors[place] = around.map(|at| order[at % n]).collect();
        neighbors[place].sort_unstable();
    }
    neighbors
}

/// Where a neighbor is in a list; every neighbor has its neighbors among its own.
fn position(neighbors: &[usize], place: usize) -> usize {
    neighbors.partition_point(|j| *j < place)
}

/// More than half of the neighbors, so that no two disjoint sets of them open both secrets.
fn threshold(neighbors: usize) -> u8 {
    // At most 128.
    (neighbors / 2 + 1) as u8
}

/// What one participant draws.
struct Drawn {
    random: ChaCha20Rng,
    own: Seed,
    to_later: Vec<Seed>,
}

/// What one participant gives away before its report.
struct Dealt {
    /// Shares of its own seed and of its deposit's key for the neighbors, in their order.
    shares: Vec<(Share, Share)>,
    deposit: Vec<u8>,
}

impl Drawn {
    fn new(key: Seed, later: usize) -> Self {
        let mut random = ChaCha20Rng::from_seed(key);
        let mut seed = || {
            let mut seed = [0; 32];
            random.fill_bytes(&mut seed);
            seed
        };
        let own = seed();
        let to_later = (0..later).map(|_| seed()).collect();
        Self {
            own,
            to_later,
            random,
        }
    }

    fn deal(&mut self, pairs: &[(usize, Seed)]) -> Dealt {
        let mut key = [0; 32];
        self.random.fill_bytes(&mut key);
        let sharks = Sharks(threshold(pairs.len()));
        let of_own: Vec<Share> = sharks
            .dealer_rng(&self.own, &mut self.random)
            .take(pairs.len())
            .collect();
        let of_key = sharks.dealer_rng(&key, &mut self.random);
        let shares = of_own.into_iter().zip(of_key).collect();
        let seeds = pairs.iter().flat_map(|(_, seed)| *seed).collect();
        Dealt {
            shares,
            deposit: encrypted(key, seeds),
        }
    }
}

/// Bytes with the key stream of ChaCha20 added; twice gives the bytes again.
fn encrypted(key: Seed, mut bytes: Vec<u8>) -> Vec<u8> {
    let mut stream = vec![0; bytes.len()];
    ChaCha20Rng::from_seed(key).fill_bytes(&mut stream);
    bytes
        .iter_mut()
        .zip(stream)
        .for_each(|(byte, key)| *byte ^= key);
    bytes
}

/// The side on which a mask is added.
#[derive(Clone, Copy)]
enum Sign {
    Plus,
    Minus,
}

impl Sign {
    /// The sign of a pair's mask in the report of `place`.
    fn of(place: usize, neighbor: usize) -> Self {
        match neighbor > place {
            true => Self::Plus,
            false => Self::Minus,
        }
    }

    fn opposite(self) -> Self {
        match self {
            Self::Plus => Self::Minus,
            Self::Minus => Self::Plus,
        }
    }
}

/// Adds PRG(seed), or takes it off. `room` is reused from mask to mask.
fn mask(values: &mut [u32], seed: Seed, sign: Sign, room: &mut Vec<u8>) {
    room.resize(4 * values.len(), 0);
    ChaCha20Rng::from_seed(seed).fill_bytes(room);
    for (value, word) in values.iter_mut().zip(room.chunks_exact(4)) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        *value = match sign {
            Sign::Plus => value.wrapping_add(word),
            Sign::Minus => value.wrapping_sub(word),
        };
    }
}

fn add(sum: &mut [u32], report: &[u32]) {
    for (sum, word) in sum.iter_mut().zip(report) {
        *sum = sum.wrapping_add(*word);
    }
}

impl Participant {
    /// The masked report of a vector of integers modulo 2³². To anybody without the seeds it is uniform.
    pub fn masked(&self, values: &[u32]) -> Result<Vec<u32>, AggregationError> {
        if values.len() != self.length {
            return Err(AggregationError::Length {
                given: values.len(),
                wanted: self.length,
            });
        }
        let (mut report, mut room) = (values.to_vec(), Vec::new());
        mask(&mut report, self.own, Sign::Plus, &mut room);
        for (neighbor, seed) in &self.pairs {
            mask(
                &mut report,
                *seed,
                Sign::of(self.place, *neighbor),
                &mut room,
            );
        }
        Ok(report)
    }

    /// What this participant, whose report arrived, reveals about itself and its neighbors. Refused if fewer
    /// than the least number of reports arrived, and a second time: of two sums that differ in one report,
    /// a server would learn this report.
    pub fn reveal(&mut self, arrived: &[bool]) -> Result<Revealed, AggregationError> {
        enough(arrived, self.least)?;
        if self.is_done {
            return Err(AggregationError::Unexpected(self.place as u64));
        }
        let is_here = |place: usize| arrived.get(place).copied().unwrap_or(false);
        if !is_here(self.place) {
            // The key of its deposit may be open: its own seed stays closed.
            return Err(AggregationError::Unexpected(self.place as u64));
        }
        let shares = self.pairs.iter().zip(&self.held);
        let shares = shares.map(
            |((neighbor, _), (of_own, of_key))| match is_here(*neighbor) {
                true => of_own.clone(),
                false => of_key.clone(),
            },
        );
        let shares = shares.collect();
        self.is_done = true;
        Ok(Revealed {
            place: self.place,
            own: self.own,
            shares,
        })
    }
}

fn enough(arrived: &[bool], least: u64) -> Result<(), AggregationError> {
    let arrived = arrived.iter().filter(|here| **here).count() as u64;
    match arrived >= least {
        true => Ok(()),
        false => Err(AggregationError::TooFew { arrived, least }),
    }
}

impl Aggregator {
    /// Takes the masked report of a participant.
    pub fn take(&mut self, place: usize, report: &[u32]) -> Result<(), AggregationError> {
        self.take_sum([place], report)
    }

    /// Takes the sum of masked reports: the server uses them in no other way.
    pub fn take_sum(
        &mut self,
        places: impl IntoIterator<Item = usize>,
        sum: &[u32],
    ) -> Result<(), AggregationError> {
        if sum.len() != self.sum.len() {
            return Err(AggregationError::Length {
                given: sum.len(),
                wanted: self.sum.len(),
            });
        }
        let mut arrived = self.arrived.clone();
        for place in places {
            match arrived.get_mut(place) {
                Some(arrived) if !*arrived => *arrived = true,
                _ => return Err(AggregationError::Unexpected(place as u64)),
            }
        }
        // Nobody has arrived whose report is not in the sum.
        self.arrived = arrived;
        add(&mut self.sum, sum);
        Ok(())
    }

    /// Whose report arrived.
    pub fn arrived(&self) -> &[bool] {
        &self.arrived
    }

    /// The sum of the reports that arrived, modulo 2³².
    pub fn unmask(self, revealed: &[Revealed]) -> Result<Vec<u32>, AggregationError> {
        enough(&self.arrived, self.least)?;
        let mut of: Vec<Option<&Revealed>> = vec![None; self.arrived.len()];
        for one in revealed {
            match of.get_mut(one.place) {
                Some(place) if self.arrived[one.place] => *place = Some(one),
                _ => return Err(AggregationError::Unexpected(one.place as u64)),
            }
        }
        let masks = (0..self.arrived.len()).into_par_iter().map(|place| {
            let (mut masks, mut room) = (vec![0; self.sum.len()], Vec::new());
            if let (true, Some(revealed)) = (self.arrived[place], of[place]) {
                mask(&mut masks, revealed.own, Sign::Plus, &mut room);
                return Ok(masks);
            }
            let here: Vec<usize> = (0..self.neighbors[place].len())
                .filter(|at| self.arrived[self.neighbors[place][*at]])
                .collect();
            // Nobody's report has a mask of a pair with it.
            if !self.arrived[place] && here.is_empty() {
                return Ok(masks);
            }
            let secret = self.recovered(place, &of)?;
            if self.arrived[place] {
                mask(&mut masks, secret, Sign::Plus, &mut room);
                return Ok(masks);
            }
            let seeds = encrypted(secret, self.deposits[place].clone());
            for at in here {
                let mut seed = [0; 32];
                seed.copy_from_slice(&seeds[32 * at..32 * (at + 1)]);
                let sign = Sign::of(place, self.neighbors[place][at]).opposite();
                mask(&mut masks, seed, sign, &mut room);
            }
            Ok(masks)
        });
        let none = || Ok(vec![0; self.sum.len()]);
        let masks = masks.reduce(none, |one, other| {
            let (mut one, other) = (one?, other?);
            add(&mut one, &other);
            Ok(one)
        })?;
        let unmasked = self.sum.iter().zip(masks);
        Ok(unmasked.map(|(sum, mask)| sum.wrapping_sub(mask)).collect())
    }

    /// The secret of a participant that its neighbors opened: its own seed if it arrived, else its key.
    fn recovered(&self, place: usize, of: &[Option<&Revealed>]) -> Result<Seed, AggregationError> {
        let stuck = AggregationError::Unrecoverable(place as u64);
        let neighbors = &self.neighbors[place];
        let needed = threshold(neighbors.len());
        let shares: Vec<&Share> = neighbors
            .iter()
            .filter_map(|&j| of[j]?.shares.get(position(&self.neighbors[j], place)))
            .take(usize::from(needed))
            .collect();
        let sharks = Sharks(needed);
        let secret = sharks.recover(shares).map_err(|_| stuck.clone())?;
        Seed::try_from(secret.as_slice()).map_err(|_| stuck)
    }
}
