//! Any ε₀-LDP randomizer, the same for all users. The upper bound is Theorem S, the lower bound randomized
//! response.
//!
//! Upper: [`Atoms::ldp`], which dominates the shuffle of *every* ε₀-LDP randomizer that all users run
//! (`atoms.proof.md`, section 4). Lower: the larger of binary and 3-ary randomized response: in χ² terms
//! within (E+2)/(E+1) ≤ 4/3 of Theorem S, so that the two bounds are never more than a sixth apart in ε.
//!
//! A randomizer of which only ε₀ is known has the same upper bound. The lower bound would be that of another
//! randomizer, and is not claimed.

use super::response::{first_value, third_value};
use super::{Adversary, Family, Local, Mechanism};
use crate::atoms::Atoms;
use crate::catalog::{Entry, Input};
use crate::cells::Fineness;
use crate::error::{Error, Parameter};
use crate::local::{Categories, LocalEpsilon};
use crate::spec::RandomizerSpec;

/// Any ε₀-LDP randomizer, or one of which nothing else is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AnyLdp {
    epsilon0: LocalEpsilon,
    /// Whether it is the whole class: then a lower bound that one member attains is a bound for the class.
    class: bool,
}

pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "ldp",
    title: "Any epsilon0-LDP randomizer",
    needs: &[Parameter::Epsilon0],
    takes: &[],
    pairs_are_alike: true,
    own_epsilon0: false,
    input: |_| Input::Anything,
    mechanism: |spec| Mechanism::ldp(spec.epsilon0()?),
    phrase: |_| "any epsilon0-LDP randomizer".to_owned(),
}];

/// Randomizers of which only ε₀ is used.
pub(crate) const SOME_ENTRIES: &[Entry] = &[
    some(
        "some-ldp",
        "One epsilon0-LDP randomizer of which nothing else is known: no lower bound",
        |_| Input::Anything,
        |_| "some epsilon0-LDP randomizer".to_owned(),
    ),
    some(
        "hierarchy",
        "One level of a hierarchical histogram, for quantiles",
        |_| Input::Number,
        |_| "a hierarchical histogram".to_owned(),
    ),
    some(
        "prefixes",
        "A prefix of a word, for heavy hitters",
        |_| Input::Text,
        |_| "prefixes of words".to_owned(),
    ),
];

const fn some(
    name: &'static str,
    title: &'static str,
    input: fn(&RandomizerSpec) -> Input,
    phrase: fn(&RandomizerSpec) -> String,
) -> Entry {
    let mechanism = |spec: &RandomizerSpec| Mechanism::some_ldp(spec.epsilon0()?);
    Entry::new(
        name,
        title,
        &[Parameter::Epsilon0],
        input,
        mechanism,
        phrase,
    )
}

impl AnyLdp {
    pub(super) fn any(epsilon0: f64) -> Result<Self, Error> {
        let epsilon0 = LocalEpsilon::new(epsilon0)?;
        Ok(Self {
            epsilon0,
            class: true,
        })
    }

    pub(super) fn some(epsilon0: f64) -> Result<Self, Error> {
        let epsilon0 = LocalEpsilon::new(epsilon0)?;
        Ok(Self {
            epsilon0,
            class: false,
        })
    }
}

impl Family for AnyLdp {
    fn name(&self) -> &'static str {
        "ldp"
    }

    fn has_one_worst_law(&self) -> bool {
        true
    }

    fn local(&self) -> Local {
        Local::Pure(self.epsilon0)
    }

    fn blankets(&self, _: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(vec![Atoms::ldp(self.epsilon0)?])
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        adversaries(self.epsilon0)
    }

    fn attains(&self) -> bool {
        self.class
    }

    fn includes_binary_response(&self) -> bool {
        self.class
    }

    fn spec(&self) -> RandomizerSpec {
        let entry = if self.class {
            &ENTRIES[0]
        } else {
            &SOME_ENTRIES[0]
        };
        RandomizerSpec {
            epsilon0: Some(self.epsilon0.value().into()),
            ..RandomizerSpec::of(entry)
        }
    }
}

/// Randomized response with three values and with two.
pub(super) fn adversaries(epsilon0: LocalEpsilon) -> Result<Vec<Adversary>, Error> {
    Ok(vec![
        third_value(Categories::THREE, epsilon0)?,
        first_value(Categories::TWO, epsilon0)?,
    ])
}
