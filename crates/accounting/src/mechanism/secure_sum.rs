//! Noisy values of which only the sum and the number are seen: secure aggregation, *distributed* differential
//! privacy.
//!
//! Each participant adds a share of noise, and the protocol shows only the sum. σ is the standard deviation
//! of one share, so that the noise of k participants has σ√k. The profile of a round is known exactly for
//! Gaussian noise, and nearly so for integer noise on a grid ([`crate::secure_sum`]). A device that rounds to
//! the grid must not leave the ball.

use super::{Adversary, Family, KnownCurve, KnownCurves, Local, Mechanism};
use crate::atoms::Atoms;
use crate::bound::Side;
use crate::catalog::{Entry, Input, VectorNorm};
use crate::cells::Fineness;
use crate::digits::grouped;
use crate::error::{Error, Parameter, within, within_count};
use crate::headcount;
use crate::local::Domain;
use crate::lower::KnownPair;
use crate::participation::Participation;
use crate::round::Round;
use crate::secure_sum::noise::{Noise, Shares, skellam_curve};
use crate::secure_sum::{self, renyi};
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;
use std::sync::Arc;

/// Noise on a domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SecureSum {
    /// σ of one share, in the units of the domain.
    sigma: f64,
    kind: Kind,
}

/// The noise and its domain.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Gaussian(Domain),
    DiscreteGaussian(Grid),
    Skellam(Grid),
}

/// Vectors of norm at most 1 on a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    /// Steps of the grid to a length of 1.
    levels: u64,
    dimension: u64,
}

/// Most steps of the grid to a length of 1: up to here distances on the grid and their squares are exact
/// doubles.
const MOST_LEVELS: u64 = 1 << 25;

/// The least and the largest σ of one share, in the units of the domain. The noise of 2^53 of the least
/// shares has a standard deviation of 95.
const LEAST: f64 = 1e-6;
const MOST: f64 = 1e6;

/// The pair of datasets that attains the lower bound.
const PAIR: &str = "noisy-sum";
const WORDS: &str =
    "user 1's two values as far apart as can be, every other user holding the second of them";

/// The domain; by default vectors, as secure aggregation mostly sums gradients.
fn domain(spec: &RandomizerSpec) -> Domain {
    spec.domain.unwrap_or(Domain::Ball)
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "secure-sum",
        title: "Gaussian noise from each participant, of which only the sum is seen (see the domain)",
        needs: &[Parameter::Sigma],
        takes: &[Parameter::Domain, Parameter::Dimension],
        pairs_are_alike: true,
        own_epsilon0: false,
        input: |spec| match domain(spec) {
            Domain::Interval => Input::Number,
            Domain::Ball => Input::Vector(VectorNorm::L2),
        },
        mechanism: |spec| Mechanism::secure_sum(spec.sigma()?, domain(spec)),
        phrase: |spec| match domain(spec) {
            Domain::Interval => "each adding Gaussian noise to a number in [0, 1]".to_owned(),
            Domain::Ball => "each adding Gaussian noise to a vector of norm at most 1".to_owned(),
        },
    },
    on_a_grid(
        "discrete-gaussian-sum",
        "Integer Gaussian noise from each participant, of which only the sum is seen \
         (K steps of the grid to 1)",
        |spec| Mechanism::discrete_gaussian_sum(spec.sigma()?, spec.k()?, spec.dimension()?),
        |spec| phrase("discrete Gaussian", spec),
    ),
    on_a_grid(
        "skellam-sum",
        "Skellam noise from each participant, of which only the sum is seen (K steps of the grid to 1)",
        |spec| Mechanism::skellam_sum(spec.sigma()?, spec.k()?, spec.dimension()?),
        |spec| phrase("Skellam", spec),
    ),
];

const fn on_a_grid(
    name: &'static str,
    title: &'static str,
    mechanism: fn(&RandomizerSpec) -> Result<Mechanism, Error>,
    phrase: fn(&RandomizerSpec) -> String,
) -> Entry {
    let needs = &[
        Parameter::Sigma,
        Parameter::Categories,
        Parameter::Dimension,
    ];
    let input = |_: &RandomizerSpec| Input::Vector(VectorNorm::L2);
    Entry::new(name, title, needs, input, mechanism, phrase)
}

fn phrase(noise: &str, spec: &RandomizerSpec) -> String {
    let dimension = spec.dimension.map_or_else(|| "d".to_owned(), grouped);
    format!(
        "each adding {noise} noise to a vector of norm at most 1 in {dimension} dimensions, \
         {} steps of its grid to a length of 1",
        spec.many()
    )
}

impl SecureSum {
    pub(super) fn gaussian(sigma: f64, domain: Domain) -> Result<Self, Error> {
        let inside = (LEAST..=MOST).contains(&sigma);
        within(Parameter::Sigma, sigma, inside, "[1e-6, 1e6]")?;
        Ok(Self {
            sigma,
            kind: Kind::Gaussian(domain),
        })
    }

    /// Integer Gaussian noise.
    pub(super) fn discrete_gaussian(sigma: f64, grid: Grid) -> Result<Self, Error> {
        let kind = Kind::DiscreteGaussian(grid);
        Ok(Self {
            kind,
            ..Self::gaussian(sigma, Domain::Ball)?
        })
    }

    /// Differences of Poisson variables.
    pub(super) fn skellam(sigma: f64, grid: Grid) -> Result<Self, Error> {
        let kind = Kind::Skellam(grid);
        Ok(Self {
            kind,
            ..Self::gaussian(sigma, Domain::Ball)?
        })
    }

    fn profile(&self, buckets: &[headcount::Bucket]) -> secure_sum::SecureSum {
        secure_sum::SecureSum::of_noise(self.noise(), buckets)
    }

    fn noise(&self) -> Noise {
        match self.kind {
            // Exact: the diameter is 1 or 2.
            Kind::Gaussian(domain) => Noise::Gaussian {
                sigma: self.sigma / domain.diameter(),
            },
            Kind::DiscreteGaussian(grid) => Noise::DiscreteGaussian(grid.shares(self.sigma)),
            Kind::Skellam(grid) => Noise::Skellam(grid.shares(self.sigma)),
        }
    }
}

impl Grid {
    /// `levels` from 2 to 2^25, at least one dimension.
    pub(super) fn new(levels: u64, dimension: u64) -> Result<Self, Error> {
        let inside = (2..=MOST_LEVELS).contains(&levels);
        within_count(
            Parameter::Categories,
            levels,
            inside,
            "[2, 2^25] for a grid",
        )?;
        within_count(Parameter::Dimension, dimension, dimension >= 1, "[1, 2^53]")?;
        Ok(Self { levels, dimension })
    }

    fn shares(self, sigma: f64) -> Shares {
        Shares {
            scale: sigma * self.levels as f64,
            distance: 2.0 * self.levels as f64,
            dimension: self.dimension as f64,
        }
    }
}

impl Family for SecureSum {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Gaussian(_) => "secure-sum",
            Kind::DiscreteGaussian(_) => "discrete-gaussian-sum",
            Kind::Skellam(_) => "skellam-sum",
        }
    }

    /// Unknown: a report is never seen alone.
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
            profile: Arc::new(secure_sum::SecureSum::pair_of_noise(self.noise(), &buckets)),
            name: PAIR.into(),
            words: WORDS.into(),
        };
        headcount::attained(round).into_iter().map(pair).collect()
    }

    fn known_curves(&self, round: &Round) -> Option<KnownCurves> {
        if let Kind::Skellam(grid) = self.kind {
            // The published theorem assumes that everybody takes part.
            let everyone = round.participation() == Participation::Everyone;
            return everyone.then(|| KnownCurves {
                upper: vec![KnownCurve::one(
                    self.name(),
                    skellam_curve(grid.shares(self.sigma), round.honest()),
                )],
                lower: Vec::new(),
            });
        }
        let upper = renyi::curve(self.noise(), &headcount::at_most(round), Side::Upper);
        let lower = |buckets: Vec<headcount::Bucket>| {
            let curve = renyi::curve(self.noise(), &buckets, Side::Lower);
            (curve, PAIR.into(), WORDS.into())
        };
        Some(KnownCurves {
            upper: vec![KnownCurve::one(self.name(), upper)],
            lower: headcount::attained(round).into_iter().map(lower).collect(),
        })
    }

    fn gaussian_sum(&self) -> Option<f64> {
        match self.kind {
            Kind::Gaussian(domain) => Some(self.sigma / domain.diameter()),
            Kind::DiscreteGaussian(_) | Kind::Skellam(_) => None,
        }
    }

    fn least_sigma(&self) -> f64 {
        LEAST
    }

    fn spec(&self) -> RandomizerSpec {
        let sigma = Some(self.sigma);
        let on_a_grid = |grid: Grid, entry| RandomizerSpec {
            sigma,
            k: Some(grid.levels),
            dimension: Some(grid.dimension),
            ..RandomizerSpec::of(entry)
        };
        match self.kind {
            Kind::Gaussian(domain) => RandomizerSpec {
                sigma,
                domain: Some(domain),
                ..RandomizerSpec::of(&ENTRIES[0])
            },
            Kind::DiscreteGaussian(grid) => on_a_grid(grid, &ENTRIES[1]),
            Kind::Skellam(grid) => on_a_grid(grid, &ENTRIES[2]),
        }
    }
}
