//! The catalog of randomizers: one entry each, filled by the files of [`crate::mechanism`].
//!
//! An entry has everything that people and programs need to name a randomizer: its name, a title, the
//! parameters it needs, the kind of value it is for, the mechanism that the accountant prices. Flags, plan
//! files, JSON, help texts, error messages and the tables of the documentation are made from it. The devices
//! that run the randomizers are filled in by the `randomizers` crate, under the same names.

use crate::error::{Error, Parameter};
use crate::mechanism::{self, Mechanism};
use crate::spec::RandomizerSpec;
use std::fmt;

/// The norm that bounds a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorNorm {
    /// Sum of absolute values.
    L1,
    /// Euclidean length.
    L2,
    /// Largest absolute value.
    LInf,
}

/// What a person holds: the kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// Whatever the randomizer is for.
    Anything,
    /// One of k values.
    Category,
    /// A number in an interval, scaled to [0, 1].
    Number,
    /// A vector whose norm is bounded.
    Vector(VectorNorm),
    /// A word of bounded length.
    Text,
    /// Nothing: the mechanism has a trusted server, not users.
    Records,
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Anything => "any value",
            Self::Category => "one of k values",
            Self::Number => "a number in [0, 1]",
            Self::Vector(VectorNorm::L1) => "a vector of l1 norm at most 1",
            Self::Vector(VectorNorm::L2) => "a vector of l2 norm at most 1",
            Self::Vector(VectorNorm::LInf) => "a vector with coordinates in [-1, 1]",
            Self::Text => "a word",
            Self::Records => "records on a trusted server",
        })
    }
}

/// One randomizer of the catalog.
#[derive(Debug)]
pub struct Entry {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) needs: &'static [Parameter],
    pub(crate) takes: &'static [Parameter],
    pub(crate) pairs_are_alike: bool,
    /// Whether at a smaller ε₀ it is itself at a larger one, on a value that was randomized before: then each
    /// user may have an ε₀ of their own (Theorem O, `per_user.proof.md`).
    pub(crate) own_epsilon0: bool,
    pub(crate) input: fn(&RandomizerSpec) -> Input,
    pub(crate) mechanism: fn(&RandomizerSpec) -> Result<Mechanism, Error>,
    pub(crate) phrase: fn(&RandomizerSpec) -> String,
}

impl Entry {
    /// An entry that takes no further parameters and one ε₀, and whose pairs of values are all alike.
    pub(crate) const fn new(
        name: &'static str,
        title: &'static str,
        needs: &'static [Parameter],
        input: fn(&RandomizerSpec) -> Input,
        mechanism: fn(&RandomizerSpec) -> Result<Mechanism, Error>,
        phrase: fn(&RandomizerSpec) -> String,
    ) -> Self {
        Self {
            name,
            title,
            needs,
            takes: &[],
            pairs_are_alike: true,
            own_epsilon0: false,
            input,
            mechanism,
            phrase,
        }
    }

    /// The name in flags, plan files and JSON.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One line for lists and help.
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// The parameters it cannot do without.
    pub fn needs(&self) -> &'static [Parameter] {
        self.needs
    }

    /// Further parameters, which have defaults.
    pub fn takes(&self) -> &'static [Parameter] {
        self.takes
    }

    /// Whether each user may have an ε₀ of their own, in a known range.
    pub fn takes_own_epsilon0(&self) -> bool {
        self.own_epsilon0
    }

    /// Whether the analyzer sees nothing but the sum of all reports, and how many they are.
    pub fn only_sum_is_seen(&self) -> bool {
        SUMS.iter().any(|list| list.contains(self))
    }

    /// What a person holds, where no optional parameter says otherwise.
    pub fn input(&'static self) -> Input {
        (self.input)(&RandomizerSpec::of(self))
    }
}

/// Two entries are the same if their names are: names are unique.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The lists of entries, in the order in which people read them.
const LISTS: &[&[Entry]] = &[
    mechanism::ANY_LDP,
    mechanism::RESPONSES,
    mechanism::ORACLES,
    mechanism::MATRIX,
    mechanism::SCALARS,
    mechanism::SQUARE_WAVE,
    mechanism::SOME_LDP,
    mechanism::GAUSSIAN,
    mechanism::MIXED_GAUSSIAN,
    mechanism::DISCRETE_GAUSSIAN,
    mechanism::ONE_BIT_VECTORS,
    mechanism::DIRECTIONS,
    mechanism::APPROXIMATE_LDP,
    mechanism::RATIO,
    mechanism::SECURE_SUM,
    mechanism::BIT_SUMS,
    mechanism::RANDOM_ALLOCATION,
];

/// Of these only the sum is seen.
const SUMS: &[&[Entry]] = &[mechanism::SECURE_SUM, mechanism::BIT_SUMS];

/// Every randomizer that the accountant can price by name.
///
/// ```
/// use shuffledp_accounting::catalog;
/// let names: Vec<&str> = catalog().map(|entry| entry.name()).collect();
/// assert!(names.contains(&"krr") && names.contains(&"gaussian"));
/// ```
pub fn catalog() -> impl Iterator<Item = &'static Entry> {
    LISTS.iter().flat_map(|list| list.iter())
}

/// The entry of a name.
pub(crate) fn find(name: &str) -> Result<&'static Entry, Error> {
    catalog()
        .find(|entry| entry.name == name)
        .ok_or_else(|| Error::UnknownRandomizer {
            name: name.to_owned(),
            known: names(|_| true),
        })
}

/// The names of the entries that satisfy a condition, as a list in a sentence: `a, b and c`.
///
/// ```
/// use shuffledp_accounting::{Input, names};
/// let text = names(|entry| entry.input() == Input::Number);
/// assert!(text.starts_with("laplace, ") && text.contains(" and "));
/// ```
pub fn names(wanted: impl Fn(&'static Entry) -> bool) -> String {
    let all: Vec<&str> = catalog()
        .filter(|entry| wanted(entry))
        .map(Entry::name)
        .collect();
    match &all[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
