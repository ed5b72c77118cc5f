//! Any (ε₀, δ₀)-LDP randomizer: the upper bound is that of [`crate::upper`], and since every ε₀-LDP
//! randomizer is one of them, the lower bound is that of [`super::AnyLdp`].

use super::{Adversary, Family, Local, Mechanism, any_ldp};
use crate::atoms::Atoms;
use crate::catalog::{Entry, Input};
use crate::cells::Fineness;
use crate::error::{Error, Parameter};
use crate::local::{LocalDelta, LocalEpsilon};
use crate::round::Round;
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;
use crate::upper::alone::Alone;
use crate::upper::approximate::theorem_a;
use crate::upper::sampling::Sampling;

/// Any (ε₀, δ₀)-LDP randomizer, or one of which nothing else is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ApproximateLdp {
    epsilon0: LocalEpsilon,
    delta0: LocalDelta,
    class: bool,
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "approx-ldp",
        title: "Any (epsilon0, delta0)-LDP randomizer",
        needs: &[Parameter::Epsilon0, Parameter::Delta0],
        takes: &[],
        pairs_are_alike: true,
        own_epsilon0: false,
        input: |_| Input::Anything,
        mechanism: |spec| Mechanism::approximate_ldp(spec.epsilon0()?, spec.delta0()?),
        phrase: |_| "any (epsilon0, delta0)-LDP randomizer".to_owned(),
    },
    Entry {
        name: "some-approx-ldp",
        title: "One (epsilon0, delta0)-LDP randomizer of which nothing else is known: no lower bound",
        needs: &[Parameter::Epsilon0, Parameter::Delta0],
        takes: &[],
        pairs_are_alike: true,
        own_epsilon0: false,
        input: |_| Input::Anything,
        mechanism: |spec| Mechanism::some_approximate_ldp(spec.epsilon0()?, spec.delta0()?),
        phrase: |_| "some (epsilon0, delta0)-LDP randomizer".to_owned(),
    },
];

impl ApproximateLdp {
    pub(super) fn any(epsilon0: f64, delta0: f64) -> Result<Self, Error> {
        Ok(Self {
            epsilon0: LocalEpsilon::new(epsilon0)?,
            delta0: LocalDelta::new(delta0)?,
            class: true,
        })
    }

    pub(super) fn some(epsilon0: f64, delta0: f64) -> Result<Self, Error> {
        let any = Self::any(epsilon0, delta0)?;
        Ok(Self {
            class: false,
            ..any
        })
    }
}

impl Family for ApproximateLdp {
    fn name(&self) -> &'static str {
        "approx-ldp"
    }

    fn local(&self) -> Local {
        Local::Approximate(self.epsilon0, self.delta0)
    }

    fn blankets(&self, _: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(Vec::new())
    }

    fn upper_profiles(&self, round: &Round) -> Vec<Box<dyn UpperProfile>> {
        let local = self.local();
        let mut all: Vec<Box<dyn UpperProfile>> = Vec::new();
        all.extend(Alone::new(local).map(|alone| Box::new(alone) as Box<_>));
        all.extend(Sampling::new(round).map(|sampling| Box::new(sampling) as Box<_>));
        all.extend(theorem_a(local, round));
        all
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        any_ldp::adversaries(self.epsilon0)
    }

    fn attains(&self) -> bool {
        self.class
    }

    fn spec(&self) -> RandomizerSpec {
        RandomizerSpec {
            epsilon0: Some(self.epsilon0.value().into()),
            delta0: Some(self.delta0.value()),
            ..RandomizerSpec::of(&ENTRIES[usize::from(!self.class)])
        }
    }
}
