//! Gaussian noise on an interval, or on a ball of any dimension.
//!
//! On an interval the blanket of [`crate::gaussian`] dominates, on a ball Theorem G ([`crate::upper`]). Two
//! further bounds hold on both: amplification by sampling alone, and one report without a shuffler. The pair
//! of datasets of the lower bound is the same on both: it lies on a line. The upper Rényi curve is that of
//! the blanket or, where that is smaller and on a ball, of the mechanism without its shuffler; the lower one
//! is [`shuffle_gaussian::pair`].

use super::{Adversary, Family, KnownCurve, KnownCurves, Local, Mechanism};
use crate::atoms::Atoms;
use crate::bounds::shuffle_gaussian::{self, Crowd};
use crate::catalog::{Entry, Input, VectorNorm};
use crate::cells::Fineness;
use crate::digits::plain;
use crate::error::{Error, Parameter};
use crate::gaussian::renyi::interval_curves;
use crate::gaussian::{interval_blanket, pair};
use crate::local::{Domain, Sigma};
use crate::participation::Participation;
use crate::rdp::RdpCurve;
use crate::round::Round;
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;
use crate::upper::alone::{Alone, UNSHUFFLED};
use crate::upper::approximate::theorem_a;
use crate::upper::gaussian_ball::theorem_g;
use crate::upper::sampling::Sampling;

/// Gaussian noise, σ in units of the diameter of the domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gaussian {
    sigma: Sigma,
    domain: Domain,
}

pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "gaussian",
    title: "Gaussian noise (see the domain)",
    needs: &[Parameter::Sigma],
    takes: &[Parameter::Domain, Parameter::Dimension],
    pairs_are_alike: true,
    own_epsilon0: false,
    input: |spec| match spec.domain.unwrap_or_default() {
        Domain::Interval => Input::Number,
        Domain::Ball => Input::Vector(VectorNorm::L2),
    },
    mechanism: |spec| Mechanism::gaussian(spec.sigma()?, spec.domain.unwrap_or_default()),
    phrase: |spec| match spec.domain.unwrap_or_default() {
        Domain::Interval => "Gaussian noise on [0, 1]".to_owned(),
        Domain::Ball => "Gaussian noise on vectors of norm at most 1".to_owned(),
    },
}];

impl Gaussian {
    pub(super) fn new(sigma: f64, domain: Domain) -> Result<Self, Error> {
        let unit = Sigma::new(sigma / domain.diameter()).map_err(|error| match domain {
            Domain::Interval => error,
            Domain::Ball => Error::Domain {
                parameter: Parameter::Sigma,
                value: plain(sigma),
                allowed: "[0.3, 2e6]".into(),
            },
        })?;
        Ok(Self {
            sigma: unit,
            domain,
        })
    }
}

impl Family for Gaussian {
    fn name(&self) -> &'static str {
        "gaussian"
    }

    fn has_one_worst_law(&self) -> bool {
        // On an interval: noise with a symmetric log-concave density, `worst_pair.proof.md`.
        true
    }

    fn local(&self) -> Local {
        Local::Gaussian(self.sigma)
    }

    fn blankets(&self, fineness: Fineness) -> Result<Vec<Atoms>, Error> {
        match self.domain {
            Domain::Interval => Ok(vec![interval_blanket(self.sigma.value(), fineness)?]),
            Domain::Ball => Ok(Vec::new()),
        }
    }

    fn upper_profiles(&self, round: &Round) -> Vec<Box<dyn UpperProfile>> {
        let local = self.local();
        let mut all: Vec<Box<dyn UpperProfile>> = Vec::new();
        all.extend(Alone::new(local).map(|alone| Box::new(alone) as Box<_>));
        all.extend(Sampling::new(round).map(|sampling| Box::new(sampling) as Box<_>));
        if self.domain == Domain::Ball {
            all.extend(theorem_g(self.sigma, 0.0, round));
            all.extend(theorem_a(local, round));
        }
        all
    }

    fn adversaries(&self, fineness: Fineness) -> Result<Vec<Adversary>, Error> {
        Ok(vec![Adversary {
            atoms: pair(self.sigma.value(), fineness)?,
            name: "gaussian-pair".into(),
            words: "Gaussian noise, user 1's two values as far apart as can be, every other user holding the \
                    first"
                .into(),
        }])
    }

    fn known_curves(&self, round: &Round) -> Option<KnownCurves> {
        let sigma = self.sigma.value();
        let unshuffled = shuffle_gaussian::unshuffled(sigma);
        let name = format!("{}{UNSHUFFLED}", self.name());
        let mut upper = vec![KnownCurve::one(&name, unshuffled)];
        if self.domain == Domain::Interval {
            upper.push(KnownCurve {
                curves: interval_curves(sigma, round),
                name: self.name().to_owned(),
            });
        }
        Some(KnownCurves {
            upper,
            lower: vec![attained(
                sigma,
                round,
                "Gaussian noise, every other user holding one of the two values",
            )],
        })
    }

    fn spec(&self) -> RandomizerSpec {
        RandomizerSpec {
            // Exact: the diameter is 1 or 2.
            sigma: Some(self.sigma.value() * self.domain.diameter()),
            domain: Some(self.domain),
            ..RandomizerSpec::of(&ENTRIES[0])
        }
    }
}

/// The curve of the pair.
pub(super) fn attained(sigma: f64, round: &Round, words: &str) -> (RdpCurve, String, String) {
    let users = round.most_honest();
    let crowd = match round.participation() {
        Participation::Everyone => Crowd::Everyone(users),
        Participation::Sample(size) => Crowd::Sample(size, round.users()),
        Participation::CheckIn(rate) => Crowd::CheckIn(users, rate.highest()),
    };
    let below = shuffle_gaussian::pair_from_below(sigma, crowd);
    (below, "gaussian".into(), words.into())
}
