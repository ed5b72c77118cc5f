//! Randomized response, binary and k-ary: the upper bound is its privacy blanket, the lower bound has all
//! others at one value. A round of bits is a count, and the largest divergence over all datasets is known
//! ([`crate::upper::binary_count`]).
//!
//! The one-bit reports of vectors (R_inf, R_1, R_2) have the blanket of binary randomized response: the
//! measurement does not depend on the value, and given the measurement one bit is protected. A round of them
//! is no count: the measurement is part of the report and distinguishes reports.

use super::{Adversary, Family, Local, Mechanism};
use crate::atoms::Atoms;
use crate::catalog::{Entry, Input, VectorNorm};
use crate::cells::Fineness;
use crate::error::{Error, Parameter};
use crate::local::{Categories, LocalEpsilon};
use crate::round::Round;
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;
use crate::upper::binary_count::BinaryCount;

/// k-ary randomized response at ε₀.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Response {
    k: Categories,
    epsilon0: LocalEpsilon,
    form: Form,
}

/// The content of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// One of k values.
    Category,
    /// One of two values, named binary randomized response, for which k is not given.
    Bit,
    /// A public measurement of a vector that this norm bounds, and a bit.
    MeasuredBit(VectorNorm),
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "krr",
        title: "k-ary randomized response",
        needs: &[Parameter::Categories, Parameter::Epsilon0],
        takes: &[],
        pairs_are_alike: true,
        own_epsilon0: true,
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
        own_epsilon0: true,
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
        |spec| Mechanism::one_bit_vector(VectorNorm::LInf, spec.epsilon0()?),
        |_| "R_inf on vectors".to_owned(),
    ),
    one_bit(
        "r-1",
        "One Hadamard measurement of a vector of bounded l1 norm, and one bit",
        |_| Input::Vector(VectorNorm::L1),
        |spec| Mechanism::one_bit_vector(VectorNorm::L1, spec.epsilon0()?),
        |_| "R_1 on vectors".to_owned(),
    ),
    one_bit(
        "r-2",
        "A random direction against a vector of bounded l2 norm, and one bit",
        |_| Input::Vector(VectorNorm::L2),
        |spec| Mechanism::one_bit_vector(VectorNorm::L2, spec.epsilon0()?),
        |_| "R_2 on vectors".to_owned(),
    ),
];

const fn one_bit(
    name: &'static str,
    title: &'static str,
    input: fn(&RandomizerSpec) -> Input,
    mechanism: fn(&RandomizerSpec) -> Result<Mechanism, Error>,
    phrase: fn(&RandomizerSpec) -> String,
) -> Entry {
    Entry {
        takes: &[Parameter::Dimension],
        own_epsilon0: true,
        ..Entry::new(
            name,
            title,
            &[Parameter::Epsilon0],
            input,
            mechanism,
            phrase,
        )
    }
}

impl Response {
    pub(super) fn binary(epsilon0: f64) -> Result<Self, Error> {
        Ok(Self {
            k: Categories::TWO,
            epsilon0: LocalEpsilon::new(epsilon0)?,
            form: Form::Bit,
        })
    }

    pub(super) fn measured_bit(norm: VectorNorm, epsilon0: f64) -> Result<Self, Error> {
        Ok(Self {
            form: Form::MeasuredBit(norm),
            ..Self::binary(epsilon0)?
        })
    }

    pub(super) fn kary(k: u64, epsilon0: f64) -> Result<Self, Error> {
        Ok(Self {
            k: Categories::new(k)?,
            epsilon0: LocalEpsilon::new(epsilon0)?,
            form: Form::Category,
        })
    }
}

impl Family for Response {
    fn name(&self) -> &'static str {
        match self.form {
            Form::Category => "krr",
            Form::Bit | Form::MeasuredBit(_) => "rr",
        }
    }

    fn has_one_worst_law(&self) -> bool {
        true
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

    fn upper_profiles(&self, round: &Round) -> Vec<Box<dyn UpperProfile>> {
        // A measured bit is sent with its measurement, so that a round of them is more than a count.
        let counted = self.k == Categories::TWO && !matches!(self.form, Form::MeasuredBit(_));
        let count = counted.then(|| BinaryCount::new(self.epsilon0, round));
        let boxed = |count| Box::new(count) as Box<dyn UpperProfile>;
        count.flatten().map(boxed).into_iter().collect()
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        let first = first_value(self.k, self.epsilon0)?;
        if self.k == Categories::TWO {
            return Ok(vec![first]);
        }
        Ok(vec![third_value(self.k, self.epsilon0)?, first])
    }

    fn spec(&self) -> RandomizerSpec {
        let (entry, k) = match self.form {
            Form::Category => (&ENTRIES[0], Some(self.k.value())),
            Form::Bit => (&ENTRIES[1], None),
            Form::MeasuredBit(VectorNorm::LInf) => (&BIT_ENTRIES[0], None),
            Form::MeasuredBit(VectorNorm::L1) => (&BIT_ENTRIES[1], None),
            Form::MeasuredBit(VectorNorm::L2) => (&BIT_ENTRIES[2], None),
        };
        RandomizerSpec {
            k,
            epsilon0: Some(self.epsilon0.value().into()),
            ..RandomizerSpec::of(entry)
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
