//! Optimized local hashing (Wang et al. 2017): the value is hashed into g = round(E) + 1 buckets by a new
//! random function for each report, and the bucket goes through g-ary randomized response. E = e^ε₀.
//!
//! ```text
//! a report supports v if its function maps v to its bucket
//! P[support x | x] = p = E/(E+g−1),   P[support v | x] = q = 1/g   for v ≠ x
//! ```
//!
//! A report is the 128-bit key of the function and the bucket. The function is SipHash-1-3 with that key, its
//! 64 bits scaled to g buckets. Given the key a report is g-ary randomized response, so ε₀-LDP does not
//! depend on the hash. The shuffled guarantee does: the accountant assumes uniformly random functions.

use crate::categorical::{Frequency, Support};
use crate::device::Device;
use crate::domain;
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::{Coin, below};
use crate::sample::random::Random;
use crate::wire;
use shuffledp_accounting::{Mechanism, Oracle, OracleKind, RandomizerSpec};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// Bytes of a key: what SipHash takes.
const KEY: usize = 16;

/// The largest ε₀: e^22 + 1 buckets are numbered by four bytes.
const LARGEST_EPSILON0: f64 = 22.0;

/// Optimized local hashing.
pub type LocalHashing = Frequency<Hashing>;

/// The distribution of reports of [`LocalHashing`].
#[derive(Clone, Debug)]
pub struct Hashing {
    categories: u64,
    buckets: u64,
    mechanism: Mechanism,
    truth: Coin,
}

impl LocalHashing {
    /// Local hashing for 2 to 2³² categories; ε₀ up to 22.
    pub fn new(categories: u64, epsilon0: f64) -> Result<Self, Error> {
        let oracle = Oracle::new(OracleKind::LocalHashing, categories, epsilon0)?;
        let buckets = oracle.hash_buckets();
        domain::categories(categories)?;
        domain::epsilon0(epsilon0, LARGEST_EPSILON0)?;
        let e = epsilon0.exp();
        Ok(Self(Hashing {
            categories,
            buckets,
            mechanism: oracle.into(),
            truth: Coin::at_most(e, buckets as f64 - 1.0),
        }))
    }

    /// Whether a report supports a value. For estimating the shares of a few values of a large domain.
    pub fn supports(&self, report: &[u8], value: u64) -> Result<bool, Error> {
        domain::category(value, self.0.categories)?;
        let (key, bucket) = self.0.opened(report)?;
        Ok(self.0.bucket(&key, value) == bucket)
    }
}

impl Hashing {
    /// The bucket of a value under a key.
    fn bucket(&self, key: &[u8; KEY], value: u64) -> u64 {
        let mut hasher = SipHasher13::new_with_key(key);
        hasher.write_u64(value.to_le());
        ((u128::from(hasher.finish()) * u128::from(self.buckets)) >> 64) as u64
    }

    /// The key and the bucket of a report, checked.
    fn opened(&self, report: &[u8]) -> Result<([u8; KEY], u64), Error> {
        wire::sized(report, self.report_length())?;
        let (first, rest) = report.split_at(KEY);
        let mut key = [0; KEY];
        key.copy_from_slice(first);
        Ok((key, wire::get(rest, self.buckets)?))
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, _: f64) -> Result<Device, Error> {
    let randomizer = LocalHashing::new(spec.k()?, spec.epsilon0()?)?;
    Ok(Device::Category(Dynamic::of(randomizer)))
}

impl Support for Hashing {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn categories(&self) -> u64 {
        self.categories
    }

    fn report_length(&self) -> usize {
        KEY + wire::bytes(self.buckets)
    }

    fn chances(&self) -> (f64, f64) {
        (self.truth.probability(), 1.0 / self.buckets as f64)
    }

    fn draw<R: Random + ?Sized>(&self, value: u64, random: &mut R, report: &mut [u8]) {
        let mut key = [0; KEY];
        random.fill(&mut key);
        let own = self.bucket(&key, value);
        let sent = if self.truth.toss(random) {
            own
        } else {
            let other = below(self.buckets - 1, random);
            other + u64::from(other >= own)
        };
        let (first, rest) = report.split_at_mut(KEY);
        first.copy_from_slice(&key);
        wire::put(sent, rest);
    }

    /// Tries every value: k hashes per report.
    fn supported(&self, report: &[u8], mut each: impl FnMut(usize)) -> Result<(), Error> {
        let (key, bucket) = self.opened(report)?;
        (0..self.categories)
            .filter(|value| self.bucket(&key, *value) == bucket)
            .for_each(|value| each(value as usize));
        Ok(())
    }

    fn probability(&self, value: u64, report: &[u8]) -> Option<f64> {
        let (key, bucket) = self.opened(report).ok()?;
        Some(if self.bucket(&key, value) == bucket {
            self.truth.probability()
        } else {
            self.truth.complement() / (self.buckets as f64 - 1.0)
        })
    }
}
