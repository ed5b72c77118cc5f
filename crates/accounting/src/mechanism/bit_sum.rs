//! One-hot vectors whose bits are flipped on the device, of which only the sums are seen: deployments of Prio
//! and of the Distributed Aggregation Protocol.
//!
//! The sums are a function of the shuffled reports, so that every upper bound on the shuffle of the same
//! reports ([`super::Oracle`]) holds for them. The tighter bounds on sums are in [`crate::secure_sum::bits`];
//! with m of n sampled and with check-in they are amplified by sampling.

use super::{Adversary, Family, Local, Mechanism, Oracle, OracleKind};
use crate::atoms::Atoms;
use crate::catalog::{Entry, Input};
use crate::cells::Fineness;
use crate::error::{Error, Parameter};
use crate::headcount;
use crate::local::{Categories, LocalEpsilon};
use crate::lower::KnownPair;
use crate::participation::Participation;
use crate::round::Round;
use crate::secure_sum::SecureSum;
use crate::secure_sum::bits::{Flip, Others, Which};
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;
use std::sync::Arc;

/// A unary encoding of which only the sum is seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BitSum {
    reports: Oracle,
    optimized: bool,
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry(
        "sue-sum",
        "Symmetric unary encoding (basic RAPPOR), of which only the sum is seen",
        |spec| Mechanism::unary_sum(OracleKind::SymmetricUnary, spec.k()?, spec.epsilon0()?),
        |spec| format!("symmetric unary encoding of {} values", spec.many()),
    ),
    entry(
        "oue-sum",
        "Optimized unary encoding, of which only the sum is seen",
        |spec| Mechanism::unary_sum(OracleKind::OptimizedUnary, spec.k()?, spec.epsilon0()?),
        |spec| format!("optimized unary encoding of {} values", spec.many()),
    ),
];

const fn entry(
    name: &'static str,
    title: &'static str,
    mechanism: fn(&RandomizerSpec) -> Result<Mechanism, Error>,
    phrase: fn(&RandomizerSpec) -> String,
) -> Entry {
    let needs = &[Parameter::Categories, Parameter::Epsilon0];
    Entry::new(name, title, needs, |_| Input::Category, mechanism, phrase)
}

impl BitSum {
    /// Of one of the two unary encodings.
    pub(super) fn new(kind: OracleKind, k: u64, epsilon0: f64) -> Result<Self, Error> {
        let optimized = match kind {
            OracleKind::SymmetricUnary => false,
            OracleKind::OptimizedUnary => true,
            _ => {
                return Err(Error::NotUnary {
                    oracle: Oracle::new(kind, k, epsilon0)?.name(),
                });
            }
        };
        Ok(Self {
            reports: Oracle::new(kind, k, epsilon0)?,
            optimized,
        })
    }

    fn epsilon0(&self) -> LocalEpsilon {
        self.reports.epsilon0()
    }

    fn flip(&self) -> Flip {
        match self.optimized {
            true => Flip::Optimized(self.epsilon0()),
            false => Flip::Symmetric(self.epsilon0()),
        }
    }

    fn pair(&self, buckets: &[headcount::Bucket], others: Others) -> KnownPair {
        let held = match others {
            Others::Second => "user 1's second value",
            Others::Third => "a third value",
        };
        KnownPair {
            profile: Arc::new(SecureSum::of_bits(self.flip(), Which::Of(others), buckets)),
            name: self.name().into(),
            words: format!("sums of bits, every other user holding {held}"),
        }
    }
}

impl Family for BitSum {
    fn name(&self) -> &'static str {
        match self.optimized {
            true => "oue-sum",
            false => "sue-sum",
        }
    }

    fn local(&self) -> Local {
        Local::Pure(self.epsilon0())
    }

    fn blankets(&self, fineness: Fineness) -> Result<Vec<Atoms>, Error> {
        Family::blankets(&self.reports, fineness)
    }

    fn upper_profiles(&self, round: &Round) -> Vec<Box<dyn UpperProfile>> {
        // Where reports depend on earlier ones, and where users have rates of their own, only the bounds on
        // the shuffle are known.
        let own_rates = match round.participation() {
            Participation::CheckIn(rate) => rate.lowest() < rate.highest(),
            Participation::Everyone | Participation::Sample(_) => false,
        };
        if own_rates || round.is_adaptive_within_round() || self.epsilon0().value() == 0.0 {
            return Vec::new();
        }
        let buckets = headcount::at_most(round);
        let sums = SecureSum::of_bits(self.flip(), Which::Dominating, &buckets);
        vec![Box::new(sums)]
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        Ok(Vec::new())
    }

    fn known_pairs(&self, round: &Round) -> Vec<KnownPair> {
        let mut all = Vec::new();
        for buckets in headcount::attained(round) {
            all.push(self.pair(&buckets, Others::Second));
            // With sampling the formula does not hold for a third value.
            let everybody = buckets.iter().all(|bucket| bucket.hidden.0 == 1.0);
            if everybody && self.reports.categories() != Categories::TWO {
                all.push(self.pair(&buckets, Others::Third));
            }
        }
        all
    }

    fn spec(&self) -> RandomizerSpec {
        RandomizerSpec {
            k: Some(self.reports.categories().value()),
            epsilon0: Some(self.epsilon0().value().into()),
            ..RandomizerSpec::of(&ENTRIES[usize::from(self.optimized)])
        }
    }
}
