//! Noisy values of which only the sum is seen, and how many there are: secure aggregation, *distributed*
//! differential privacy.
//!
//! Each participant adds a share of noise, and the protocol shows nothing but the sum. σ is the standard
//! deviation of one share: k participants make it σ√k. The profile of a round is known exactly
//! ([`crate::secure_sum`]).

use super::{Adversary, Family, KnownCurves, Local, Mechanism};
use crate::atoms::Atoms;
use crate::bound::Side;
use crate::catalog::{Entry, Input, VectorNorm};
use crate::cells::Fineness;
use crate::error::{Error, Parameter, within};
use crate::headcount;
use crate::local::Domain;
use crate::lower::KnownPair;
use crate::round::Round;
use crate::secure_sum::{self, Noise, renyi};
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;
use std::sync::Arc;

/// Noise on a domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SecureSum {
    /// σ of one share, in the units of the domain.
    sigma: f64,
    domain: Domain,
}

/// The least share of noise: a sum of 2^53 of them has 95.
const LEAST: f64 = 1e-6;
const MOST: f64 = 1e6;

/// The pair of datasets that attains the lower bound.
const PAIR: &str = "noisy-sum";
const WORDS: &str =
    "user 1's two values as far apart as can be, every other user holding the second of them";

/// Vectors, unless somebody says otherwise: sums of gradients are what this is mostly used for.
fn domain(spec: &RandomizerSpec) -> Domain {
    spec.domain.unwrap_or(Domain::Ball)
}

pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "secure-sum",
    title: "Gaussian noise from each participant, of which only the sum is seen (see the domain)",
    needs: &[Parameter::Sigma],
    takes: &[Parameter::Domain, Parameter::Dimension],
    pairs_are_alike: true,
    input: |spec| match domain(spec) {
        Domain::Interval => Input::Number,
        Domain::Ball => Input::Vector(VectorNorm::L2),
    },
    mechanism: |spec| Mechanism::secure_sum(spec.sigma()?, domain(spec)),
    phrase: |spec| match domain(spec) {
        Domain::Interval => "each adding Gaussian noise to a number in [0, 1]".to_owned(),
        Domain::Ball => "each adding Gaussian noise to a vector of norm at most 1".to_owned(),
    },
}];

impl SecureSum {
    pub(super) fn gaussian(sigma: f64, domain: Domain) -> Result<Self, Error> {
        let inside = (LEAST..=MOST).contains(&sigma);
        within(Parameter::Sigma, sigma, inside, "[1e-6, 1e6]")?;
        Ok(Self { sigma, domain })
    }

    fn profile(&self, buckets: &[headcount::Bucket]) -> secure_sum::SecureSum {
        secure_sum::SecureSum::of_noise(self.noise(), buckets)
    }

    fn noise(&self) -> Noise {
        // Exact: the diameter is 1 or 2.
        Noise::Gaussian {
            sigma: self.sigma / self.domain.diameter(),
        }
    }
}

impl Family for SecureSum {
    fn name(&self) -> &'static str {
        "secure-sum"
    }

    /// No report is ever seen on its own.
    fn local(&self) -> Local {
        Local::Unknown
    }

    fn blankets(&self, _: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(Vec::new())
    }

    fn upper_profiles(&self, round: &Round) -> Vec<Box<dyn UpperProfile>> {
        let buckets = headcount::at_most(round);
        vec![Box::new(self.profile(&buckets))]
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        Ok(Vec::new())
    }

    fn known_pairs(&self, round: &Round) -> Vec<KnownPair> {
        let pair = |buckets: Vec<headcount::Bucket>| KnownPair {
            profile: Arc::new(self.profile(&buckets)),
            name: PAIR.into(),
            words: WORDS.into(),
        };
        headcount::attained(round).into_iter().map(pair).collect()
    }

    fn known_curves(&self, round: &Round) -> Option<KnownCurves> {
        let upper = renyi::curve(self.noise(), &headcount::at_most(round), Side::Upper);
        let lower = |buckets: Vec<headcount::Bucket>| {
            let curve = renyi::curve(self.noise(), &buckets, Side::Lower);
            (curve, PAIR.into(), WORDS.into())
        };
        Some(KnownCurves {
            upper: vec![upper],
            upper_name: self.name(),
            lower: headcount::attained(round).into_iter().map(lower).collect(),
        })
    }

    fn gaussian_sum(&self) -> Option<f64> {
        Some(self.sigma / self.domain.diameter())
    }

    fn least_sigma(&self) -> f64 {
        LEAST
    }

    fn spec(&self) -> RandomizerSpec {
        RandomizerSpec {
            sigma: Some(self.sigma),
            domain: Some(self.domain),
            ..RandomizerSpec::of(&ENTRIES[0])
        }
    }
}
