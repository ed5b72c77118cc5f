//! Prefixes of a text, for finding heavy hitters (TreeHist, Bassily, Nissim, Stemmer, Thakurta 2017; PEM,
//! Wang, Li, Jha 2018).
//!
//! A value is 1 to L bytes, none of them 0, padded with zeros. Each report answers one of L + 1 questions,
//! drawn by the device:
//!
//! * **The first j bytes**, j = 1 … L: Hadamard response of a public hash of them into 2¹⁶ buckets. It gives
//!   the shares of all buckets at once, for any number of candidates.
//! * **The whole value**: local hashing ([`LocalHashing`]) of a public 32-bit hash, with a new function for
//!   each report. It gives the shares of a few candidates, and candidates practically never collide.
//!
//! Public hashes are SipHash-1-3, with the question as key. They cost no privacy, because they are computed
//! before the value is randomized.

use crate::categorical::Support;
use crate::categorical::hadamard::HadamardResponse;
use crate::categorical::local_hashing::LocalHashing;
use crate::categorical::question::{Level, ask, asked};
use crate::error::Error;
use crate::estimate::{Counts, Estimate, share_slope, share_variance, towards_the_middle};
use crate::randomizer::Randomizer;
use crate::sample::random::Random;
use shuffledp_accounting::Mechanism;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// Bits of a prefix's hash: 2¹⁶ counts for each length, 512 KiB, and few collisions among heavy prefixes.
const BITS: u32 = 16;
/// The longest value in bytes: a report is about one of `LONGEST` + 1 questions, so each gets 1/65 of them.
const LONGEST: usize = 64;

/// Reports about one random prefix of a text, or the whole text.
#[derive(Clone, Debug)]
pub struct Prefixes {
    mechanism: Mechanism,
    length: usize,
    bucket: HadamardResponse,
    whole: LocalHashing,
}

/// Reports by question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixTally {
    prefixes: Vec<Counts>,
    /// The answers about whole values, concatenated.
    whole: Vec<u8>,
}

impl Prefixes {
    /// For values of up to `length` bytes, `length` from 1 to 64.
    pub fn new(length: usize, epsilon0: f64) -> Result<Self, Error> {
        if !(1..=LONGEST).contains(&length) {
            return Err(Error::Parameter {
                parameter: "length",
                value: length.to_string(),
                allowed: format!("[1, {LONGEST}]"),
            });
        }
        Ok(Self {
            mechanism: Mechanism::some_ldp(epsilon0)?,
            length,
            bucket: HadamardResponse::new(1 << BITS, epsilon0)?,
            whole: LocalHashing::new(1 << 32, epsilon0)?,
        })
    }

    /// The longest value in bytes, L.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The public hash of the first `bytes` bytes of a value (padded with zeros).
    fn hash(value: &[u8], bytes: usize) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(bytes as u64, 0x7368_7566_666c_6564);
        for place in 0..bytes {
            hasher.write_u8(value.get(place).copied().unwrap_or_default());
        }
        hasher.finish()
    }

    /// The bucket of the first `bytes` bytes of a value.
    fn place(value: &[u8], bytes: usize) -> u64 {
        Self::hash(value, bytes) >> (64 - BITS)
    }

    /// The category of a whole value.
    fn category(&self, value: &[u8]) -> u64 {
        Self::hash(value, self.length) & 0xffff_ffff
    }

    fn answer_length(&self, question: usize) -> usize {
        if question < self.length {
            self.bucket.report_length()
        } else {
            self.whole.report_length()
        }
    }

    fn opened<'a>(&self, report: &'a [u8]) -> Result<(usize, &'a [u8]), Error> {
        asked(self.length + 1, report, self.report_length(), |question| {
            self.answer_length(question)
        })
    }

    /// The share of a prefix among the users who answered about prefixes of its length. Prefixes that hash to
    /// the same bucket are included.
    pub fn prefix_share(&self, levels: &[Level], prefix: &[u8]) -> Option<Estimate> {
        let level = levels.get(prefix.len().checked_sub(1)?)?;
        level
            .shares
            .get(Self::place(prefix, prefix.len()) as usize)
            .copied()
    }

    /// The share of a value among the users who answered about the whole value, and the number of these
    /// users; none if there are none.
    pub fn whole_share(&self, tally: &PrefixTally, value: &[u8]) -> Option<(Estimate, u64)> {
        let category = self.category(value);
        let reports = tally.whole.chunks_exact(self.whole.report_length());
        let n = reports.len() as f64;
        let supports = |report: &&[u8]| self.whole.supports(report, category) == Ok(true);
        let count = reports.filter(supports).count() as f64;
        let (p, q) = self.whole.0.chances();
        let share = (count / n - q) / (p - q);
        (n > 0.0).then(|| {
            let estimate = Estimate {
                value: share,
                variance: share_variance(p, q, towards_the_middle(share, n)) / n,
                slope: share_slope(p, q) / n,
            };
            (estimate, n as u64)
        })
    }
}

impl Randomizer for Prefixes {
    type Value = [u8];
    type Tally = PrefixTally;
    /// The shares of the buckets of prefixes, by length.
    type Estimate = Vec<Level>;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        1 + self.answer_length(0).max(self.answer_length(self.length))
    }

    fn check(&self, value: &[u8]) -> Result<(), Error> {
        if (1..=self.length).contains(&value.len()) && !value.contains(&0) {
            return Ok(());
        }
        Err(Error::Value {
            value: format!("of {} bytes", value.len()),
            allowed: format!("[1, {}] bytes, none of them 0", self.length),
        })
    }

    fn draw<R: Random + ?Sized>(&self, value: &[u8], random: &mut R, report: &mut [u8]) {
        ask(
            self.length + 1,
            random,
            report,
            |question, random, answer| {
                let answer = &mut answer[..self.answer_length(question)];
                if question < self.length {
                    let bucket = Self::place(value, question + 1);
                    self.bucket.draw(&bucket, random, answer);
                } else {
                    self.whole.draw(&self.category(value), random, answer);
                }
            },
        );
    }

    fn tally(&self) -> PrefixTally {
        PrefixTally {
            prefixes: vec![self.bucket.tally(); self.length],
            whole: Vec::new(),
        }
    }

    fn add(&self, report: &[u8], tally: &mut PrefixTally) -> Result<(), Error> {
        let (question, answer) = self.opened(report)?;
        if question < self.length {
            return self.bucket.add(answer, &mut tally.prefixes[question]);
        }
        // A malformed report is refused here and not when shares are computed.
        self.whole.supports(answer, 0)?;
        tally.whole.extend_from_slice(answer);
        Ok(())
    }

    fn estimate(&self, tally: &PrefixTally) -> Vec<Level> {
        let levels = tally.prefixes.iter();
        levels
            .map(|counts| Level::of(&self.bucket, counts))
            .collect()
    }

    /// The variance of the share of the whole value; one report in L + 1 is about it.
    fn variance(&self, _: &[u8]) -> f64 {
        self.whole.variance(&0) * (self.length + 1) as f64
    }

    fn influence(&self) -> f64 {
        self.whole.influence().max(self.bucket.influence()) * (self.length + 1) as f64
    }

    fn probability(&self, value: &[u8], report: &[u8]) -> Option<f64> {
        let (question, answer) = self.opened(report).ok()?;
        let given = if question < self.length {
            let bucket = Self::place(value, question + 1);
            self.bucket.probability(&bucket, answer)
        } else {
            self.whole.probability(&self.category(value), answer)
        };
        given.map(|given| given / (self.length + 1) as f64)
    }
}
