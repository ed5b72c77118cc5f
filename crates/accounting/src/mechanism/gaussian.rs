//! Gaussian noise on an interval, or on a ball of any dimension.
//!
//! On an interval the blanket of [`crate::gaussian`] dominates, on a ball Theorem G ([`crate::upper`]). Two
//! further bounds hold on both: amplification by sampling alone, and one report without a shuffler. The pair
//! of datasets of the lower bound is the same on both: it lies on a line. Rényi curves come from the
//! mechanism without its shuffler above, and from [`shuffle_gaussian::pair`] below.

use super::{Adversary, Family, KnownCurves, Local, Mechanism};
use crate::atoms::Atoms;
use crate::bounds::shuffle_gaussian::{self, Crowd};
use crate::catalog::{Entry, Input, VectorNorm};
use crate::cells::Fineness;
use crate::digits::plain;
use crate::error::{Error, Parameter};
use crate::gaussian::{interval_blanket, pair};
use crate::local::{Domain, Sigma};
use crate::participation::Participation;
use crate::rdp::{Orders, RdpCurve};
use crate::round::Round;
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;
use crate::upper::alone::Alone;
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
            all.extend(theorem_g(self.sigma, round));
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
        Some(KnownCurves {
            upper: vec![shuffle_gaussian::unshuffled(sigma)],
            upper_name: "gaussian-unshuffled",
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

/// The curve of the pair. It is known at integer orders and rises with the order, so the next lower one is
/// below it.
pub(super) fn attained(sigma: f64, round: &Round, words: &str) -> (RdpCurve, String, String) {
    let users = round.most_honest();
    let crowd = match round.participation() {
        Participation::Everyone => Crowd::Everyone(users),
        Participation::Sample(size) => Crowd::Sample(size, round.users()),
        Participation::CheckIn(rate) => Crowd::CheckIn(users, rate.highest()),
    };
    let pair = shuffle_gaussian::pair(sigma, crowd);
    let orders = Orders::Reals(shuffle_gaussian::LARGEST as f64);
    let below = RdpCurve::new(orders, move |order| {
        if order < 2.0 {
            0.0
        } else {
            pair.at(order.floor())
        }
    });
    (below, "gaussian".into(), words.into())
}
