//! The neighboring relation: which two datasets a guarantee compares.
//!
//! A pair (ε, δ) has no meaning without it: the Gaussian mechanism on values of norm 1 has sensitivity 1 when
//! a record is added and 2 when a value is replaced. A [`crate::Mechanism`] knows its relation, an
//! [`crate::Answer`] carries it, and plans, accountants and ledgers refuse to add numbers of two relations.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Which two datasets are neighbors.
///
/// ```
/// use shuffledp_accounting::{Mechanism, Relation};
/// assert_eq!(Mechanism::ldp(1.0)?.relation(), Relation::Replace);
/// assert_eq!(Mechanism::random_allocation(1.0)?.relation(), Relation::AddOrRemove);
/// assert_eq!(Relation::Replace.to_string(), "one user's value is replaced");
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Relation {
    /// The same n users, one of whom holds another value. All shuffled rounds have this relation.
    Replace,
    /// The same n records, one of which is replaced by a record that contributes nothing.
    ReplaceByNothing,
    /// One dataset has one record more than the other.
    AddOrRemove,
}

impl Relation {
    /// Its name in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::ReplaceByNothing => "replace-by-nothing",
            Self::AddOrRemove => "add-or-remove",
        }
    }

    /// The neighbors, as in "no two datasets that ...".
    pub fn neighbors(self) -> &'static str {
        match self {
            Self::Replace => "differ in one user's value",
            Self::ReplaceByNothing => "differ in one record, which is empty in one of them",
            Self::AddOrRemove => "differ by one record",
        }
    }
}

/// The change that a guarantee is about, as in "(ε, δ)-differentially private when ...".
impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Replace => "one user's value is replaced",
            Self::ReplaceByNothing => "one record is replaced by an empty one",
            Self::AddOrRemove => "one record is added or removed",
        })
    }
}
