//! Randomized response, binary and k-ary: its privacy blanket above, all others at one value below.
//!
//! The one-bit reports of vectors (R_inf, R_1, R_2) are priced as binary randomized response: what is
//! measured does not depend on the value, and given that, one bit is protected.

use super::{Adversary, Family, Local, Mechanism};
use crate::atoms::Atoms;
use crate::catalog::{Entry, Input, VectorNorm};
use crate::cells::Fineness;
use crate::error::{Error, Parameter};
use crate::local::{Categories, LocalEpsilon};
use crate::spec::RandomizerSpec;

/// k-ary randomized response at ε₀.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Response {
    k: Categories,
    epsilon0: LocalEpsilon,
    /// Whether it goes by the name of binary randomized response, which has no k to be said.
    binary: bool,
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "krr",
        title: "k-ary randomized response",
        needs: &[Parameter::Categories, Parameter::Epsilon0],
        takes: &[],
        pairs_are_alike: true,
        input: |_| Input::Category,
        mechanism: |spec| Mechanism::kary_response(spec.k()?, spec.epsilon0()?),
        phrase: |spec| format!("{}-ary randomized response", spec.many()),
    },
    Entry {
        name: "rr",
        title: "Binary randomized response",
        needs: &[Parameter::Epsilon0],
        takes: &[],
        pairs_are_alike: true,
        input: |_| Input::Category,
        mechanism: |spec| Mechanism::binary_response(spec.epsilon0()?),
        phrase: |_| "binary randomized response".to_owned(),
    },
];

/// Vectors of which one bit is sent.
pub(crate) const BIT_ENTRIES: &[Entry] = &[
    one_bit(
        "r-inf",
        "One coordinate of a vector of bounded coordinates, and one bit",
        |_| Input::Vector(VectorNorm::LInf),
        |_| "R_inf on vectors".to_owned(),
    ),
    one_bit(
        "r-1",
        "One Hadamard measurement of a vector of bounded l1 norm, and one bit",
        |_| Input::Vector(VectorNorm::L1),
        |_| "R_1 on vectors".to_owned(),
    ),
    one_bit(
        "r-2",
        "A random direction against a vector of bounded l2 norm, and one bit",
        |_| Input::Vector(VectorNorm::L2),
        |_| "R_2 on vectors".to_owned(),
    ),
];

const fn one_bit(
    name: &'static str,
    title: &'static str,
    input: fn(&RandomizerSpec) -> Input,
    phrase: fn(&RandomizerSpec) -> String,
) -> Entry {
    Entry {
        name,
        title,
        needs: &[Parameter::Epsilon0],
        takes: &[Parameter::Dimension],
        pairs_are_alike: true,
        input,
        mechanism: |spec| Mechanism::binary_response(spec.epsilon0()?),
        phrase,
    }
}

impl Response {
    pub(super) fn binary(epsilon0: f64) -> Result<Self, Error> {
        Ok(Self {
            k: Categories::TWO,
            epsilon0: LocalEpsilon::new(epsilon0)?,
            binary: true,
        })
    }

    pub(super) fn kary(k: u64, epsilon0: f64) -> Result<Self, Error> {
        Ok(Self {
            k: Categories::new(k)?,
            epsilon0: LocalEpsilon::new(epsilon0)?,
            binary: false,
        })
    }
}

impl Family for Response {
    fn name(&self) -> &'static str {
        if self.binary { "rr" } else { "krr" }
    }

    fn local(&self) -> Local {
        Local::Pure(self.epsilon0)
    }

    fn categories(&self) -> Option<Categories> {
        Some(self.k)
    }

    fn blankets(&self, _: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(vec![Atoms::kary_blanket(self.k, self.epsilon0)?])
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        let first = first_value(self.k, self.epsilon0)?;
        if self.k == Categories::TWO {
            return Ok(vec![first]);
        }
        Ok(vec![third_value(self.k, self.epsilon0)?, first])
    }

    fn spec(&self) -> RandomizerSpec {
        RandomizerSpec {
            k: (!self.binary).then_some(self.k.value()),
            epsilon0: Some(self.epsilon0.value()),
            ..RandomizerSpec::of(&ENTRIES[usize::from(self.binary)])
        }
    }
}

/// All others at a third value.
pub(super) fn third_value(k: Categories, epsilon0: LocalEpsilon) -> Result<Adversary, Error> {
    let k_ary = k.value();
    Ok(Adversary {
        atoms: Atoms::kary_third(k, epsilon0)?,
        name: format!("{k_ary}-rr"),
        words: format!("{k_ary}-ary randomized response, every other user holding a third value"),
    })
}

/// All others at user 1's first value.
pub(super) fn first_value(k: Categories, epsilon0: LocalEpsilon) -> Result<Adversary, Error> {
    let response = match k.value() {
        2 => "binary randomized response".to_owned(),
        more => format!("{more}-ary randomized response"),
    };
    Ok(Adversary {
        atoms: Atoms::kary_first(k, epsilon0)?,
        name: format!("{}-rr", k.value()),
        words: format!("{response}, every other user holding one of the two values"),
    })
}
