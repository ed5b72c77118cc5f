//! Sums of one-hot vectors whose bits were flipped on the device: the profile of a batch of k reports.
//!
//! A report has one bit for each category, 1 with probability p where the value is and q elsewhere,
//! independently. Given the data the sums of the coordinates are independent, and when user 1's value changes
//! from x₀ to x₁ two of them change, each a count of bits:
//!
//! ```text
//! coordinate x₀    S + Bern(p) against S + Bern(q)        S: the other users' bits there
//! coordinate x₁    S′ + Bern(q) against S′ + Bern(p)
//! ```
//!
//! **Upper.** A coordinate is a shuffled round of one bit, dominated over all datasets in both directions
//! ([`crate::laws`]); the two are dominated by the product of the dominating pairs. It does not matter that a
//! one-hot dataset cannot be the worst in both coordinates at once.
//!
//! **Lower.** Two datasets, each the product of its two coordinates' exact laws: all others at user 1's
//! second value, and (three categories or more) all others at a third one. Outcomes with nearly the same
//! likelihood ratio are merged, which can only lower the divergence.
//!
//! Standing: certified.

use super::Batch;
use super::outcomes::{MOST_COUNTS, Outcomes, window};
use crate::cells::Fineness;
use crate::channel::Channel;
use crate::error::Error;
use crate::laws::{Priced, Want};
use crate::local::LocalEpsilon;
use crate::mechanism::Mechanism;
use crate::pld::{ComposedRounds, Pld};
use crate::profile::Direction;
use crate::round::Round;
use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::special::{exp, expm1};
use std::sync::OnceLock;

/// Relative accuracy in ε that the lattice of the dominating pair aims at.
const ACCURACY: f64 = 1e-5;
/// The lattice ends where δ of a coordinate is e^this, 1e-130: losses beyond count as infinite.
const LN_TAIL: f64 = -300.0;
/// A bound on the relative error of a sum of some thousand positive products.
const SUM_ERROR: f64 = 1e-11;
/// A bound on the rounding error of the probability of a bit, relative to itself and to its complement.
const BIT_ERROR: f64 = 4.0 * f64::EPSILON;

/// How a bit of a one-hot vector is flipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Flip {
    /// p = 1 − q = 1/(1 + e^{−ε₀/2}): symmetric unary encoding, randomized response of every bit.
    Symmetric(LocalEpsilon),
    /// p = 1/2, q = 1/(e^{ε₀} + 1): optimized unary encoding.
    Optimized(LocalEpsilon),
}

impl Flip {
    pub(crate) fn epsilon0(self) -> f64 {
        match self {
            Self::Symmetric(epsilon0) | Self::Optimized(epsilon0) => epsilon0.value(),
        }
    }

    /// q, the probability of a 1 where the value is not, and p, where it is.
    fn probabilities(self) -> (f64, f64) {
        let rare = |logit: f64| exp(-logit) / (1.0 + exp(-logit));
        match self {
            Self::Symmetric(epsilon0) => {
                let logit = 0.5 * epsilon0.value();
                (rare(logit), 1.0 / (1.0 + exp(-logit)))
            }
            Self::Optimized(epsilon0) => (rare(epsilon0.value()), 0.5),
        }
    }

    /// One bit as a randomizer of its own.
    fn coordinate(self) -> Result<Mechanism, Error> {
        match self {
            Self::Symmetric(epsilon0) => Mechanism::binary_response(0.5 * epsilon0.value()),
            Self::Optimized(_) => {
                let (q, p) = self.probabilities();
                let rows = vec![vec![1.0 - q, q], vec![1.0 - p, p]];
                Ok(Mechanism::matrix(Channel::new(rows)?))
            }
        }
    }

    /// A bound on the error of ln of the likelihood of this many bits.
    fn slack(self, users: u64) -> f64 {
        BIT_ERROR * users as f64
    }
}

/// The value of all other users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// User 1's second value.
    Second,
    /// A value that user 1 has in neither dataset.
    Third,
}

/// Which profile of a batch is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// At or above that of every pair of datasets, in both directions.
    Dominating,
    /// At or below that of one pair of datasets.
    Of(Others),
}

/// The sums of a batch of reports. The profile is computed when it is first needed.
#[derive(Debug)]
pub(crate) struct Bits {
    flip: Flip,
    which: Which,
    users: u64,
    shown: OnceLock<Shown>,
}

/// A representation of the profile of a batch.
#[derive(Debug)]
enum Shown {
    /// Losses of a dominating pair with their masses, rising, and the mass of an infinite one.
    Losses(Vec<(f64, f64)>, f64),
    /// Outcomes of a pair of datasets.
    Outcomes(Outcomes),
    /// Only the local guarantee is known, and no lower bound.
    Nothing,
}

impl Bits {
    pub(crate) fn new(flip: Flip, which: Which, users: u64) -> Self {
        Self {
            flip,
            which,
            users,
            shown: OnceLock::new(),
        }
    }

    fn shown(&self) -> &Shown {
        self.shown.get_or_init(|| {
            let shown = match self.which {
                Which::Dominating => self.dominating(),
                Which::Of(others) => Ok(self.attained(others)),
            };
            // For a batch of one report, and where a lattice cannot resolve the losses.
            shown.ok().flatten().unwrap_or(Shown::Nothing)
        })
    }

    fn dominating(&self) -> Result<Option<Shown>, Error> {
        let round = Round::new(self.flip.coordinate()?, self.users)?;
        let priced = Priced::new(&round, Fineness::Coarse)?;
        let composed = ComposedRounds {
            rounds: 2.0,
            deviation: priced.loss_deviation(),
        };
        let pld = priced.pld(Want::Dominating, ACCURACY, LN_TAIL, composed)?;
        Ok(pld.map(|pld| Shown::Losses(twice(&pld), 2.0 * pld.infinite())))
    }

    fn attained(&self, others: Others) -> Option<Shown> {
        let (q, p) = self.flip.probabilities();
        let there = match others {
            Others::Second => p,
            Others::Third => q,
        };
        let first = counts(self.users - 1, q, (p, q))?;
        let second = counts(self.users - 1, there, (q, p))?;
        Some(Shown::Outcomes(first.and(&second)))
    }

    /// The profile of one report, seen with its sender.
    fn local(&self, epsilon: f64) -> f64 {
        let limit = self.flip.epsilon0();
        -expm1(epsilon - limit) / (1.0 + exp(-limit))
    }
}

/// The sum of two independent losses of a distribution.
fn twice(pld: &Pld) -> Vec<(f64, f64)> {
    let step = pld.losses().step();
    // Exact: losses are small multiples of the step, a power of two.
    let index = |(loss, mass): (f64, f64)| ((loss / step) as i64, mass);
    let masses: Vec<(i64, f64)> = pld.losses().iter().map(index).collect();
    let end = |mass: Option<&(i64, f64)>| mass.map_or(0, |(index, _)| *index);
    let (first, last) = (end(masses.first()), end(masses.last()));
    let mut sums = vec![0.0; (2 * (last - first) + 1) as usize];
    for &(i, p) in &masses {
        for &(j, q) in &masses {
            sums[(i + j - 2 * first) as usize] += p * q;
        }
    }
    let loss = |(i, mass): (usize, f64)| ((2 * first + i as i64) as f64 * step, mass);
    sums.into_iter().enumerate().map(loss).collect()
}

/// The number of ones among `others` users, who send 1 with probability w, and user 1, who sends 1 with
/// probability u or v: its law under both.
fn counts(others: u64, w: f64, (u, v): (f64, f64)) -> Option<Outcomes> {
    if w > 0.5 {
        // Zeros, of which there are fewer.
        return counts(others, 1.0 - w, (1.0 - u, 1.0 - v));
    }
    let n = others as f64;
    let law = Binomial::new(others, w)?;
    let mean = n * w;
    let reach = window((n * w * (1.0 - w)).sqrt());
    let (low, high) = ((mean - reach).max(0.0) as u64, (mean + reach).min(n) as u64);
    if high - low > MOST_COUNTS {
        return None;
    }
    let mode = (mean as u64).clamp(low, high);
    let mut masses = vec![0.0; (high - low + 1) as usize];
    let odds = w / (1.0 - w);
    let at_mode = law.ln_pmf(mode).exp();
    let mut value = at_mode;
    for c in mode..=high {
        masses[(c - low) as usize] = value;
        value *= (n - c as f64) / (c as f64 + 1.0) * odds;
    }
    value = at_mode;
    for c in (low..mode).rev() {
        value *= (c as f64 + 1.0) / ((n - c as f64) * odds);
        masses[(c - low) as usize] = value;
    }
    let length = masses.len();
    let at = |index: Option<usize>| index.and_then(|i| masses.get(i)).copied().unwrap_or(0.0);
    let both = (0..length + 1).map(|i| {
        let (here, before) = (at(Some(i)), at(i.checked_sub(1)));
        (here * (1.0 - u) + before * u, here * (1.0 - v) + before * v)
    });
    Some(Outcomes::new(both, length))
}

impl Batch for Bits {
    fn above(&self, direction: Direction, epsilon: f64) -> f64 {
        if epsilon >= self.flip.epsilon0() {
            return 0.0;
        }
        let slack = self.flip.slack(self.users);
        let value = match self.shown() {
            Shown::Nothing => self.local(epsilon),
            Shown::Losses(masses, infinite) => {
                // The dominating pair of randomized response is exact.
                let slack = match self.flip {
                    Flip::Symmetric(_) => 0.0,
                    Flip::Optimized(_) => slack,
                };
                // At a smaller than 1, H is at most 1 − a larger than at 1.
                let at = epsilon - 2.0 * slack;
                let from = masses.partition_point(|(loss, _)| *loss <= at.max(0.0));
                let term = |(loss, mass): &(f64, f64)| mass * -expm1(at.max(0.0) - loss);
                let finite: f64 = masses[from..].iter().map(term).sum();
                let value = (finite + infinite - at.min(0.0)) * exp(slack);
                value.min(self.local(epsilon))
            }
            // An upper bound on the lower bound of the same outcomes.
            Shown::Outcomes(outcomes) => {
                outcomes.above(direction, epsilon + 2.0 * slack) * exp(-slack)
            }
        };
        value * (1.0 + SUM_ERROR)
    }

    fn below(&self, direction: Direction, epsilon: f64) -> f64 {
        let slack = self.flip.slack(self.users);
        match self.shown() {
            Shown::Outcomes(outcomes) => {
                let value = outcomes.below(direction, epsilon + 2.0 * slack);
                value * exp(-slack) * (1.0 - SUM_ERROR)
            }
            Shown::Losses(..) | Shown::Nothing => 0.0,
        }
    }

    fn deviation(&self) -> f64 {
        // Of a coordinate, with the others' bits at q; there are two.
        let (q, p) = self.flip.probabilities();
        let one = (p - q) / (q * (1.0 - q) * self.users as f64).sqrt();
        (std::f64::consts::SQRT_2 * one).min(self.flip.epsilon0())
    }
}
