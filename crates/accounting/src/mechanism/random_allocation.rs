//! 1-out-of-n random allocation of the Gaussian mechanism: of n steps one, chosen at random, sees the record.
//!
//! It is not a shuffle: a trusted server adds the noise, as in central DP-SGD. Its pair of distributions is
//! that of n shuffled Gaussian reports (Feldman, Shenfeld 2025). It is exact, so that upper and lower bound
//! meet. The relation is never replacement: replacing a record moves a step by twice the sensitivity.

use super::gaussian::attained;
use super::{Adversary, Family, KnownCurve, KnownCurves, Local, Mechanism};
use crate::atoms::Atoms;
use crate::bounds::shuffle_gaussian::{self, Crowd};
use crate::catalog::{Entry, Input};
use crate::cells::Fineness;
use crate::error::{Error, Parameter};
use crate::gaussian::{pair, pair_above};
use crate::local::Sigma;
use crate::relation::Relation;
use crate::round::Round;
use crate::spec::RandomizerSpec;

/// Random allocation, σ in units of the sensitivity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RandomAllocation {
    sigma: Sigma,
    relation: Relation,
}

pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "random-allocation",
    title: "Central DP-SGD: one of N steps of the Gaussian mechanism, chosen at random, sees the record",
    needs: &[Parameter::Sigma],
    takes: &[Parameter::Relation],
    pairs_are_alike: true,
    own_epsilon0: false,
    input: |_| Input::Records,
    mechanism: |spec| {
        let relation = spec.relation.unwrap_or(Relation::AddOrRemove);
        Mechanism::allocation(spec.sigma()?, relation)
    },
    phrase: |_| "the Gaussian mechanism".to_owned(),
}];

/// The datasets that attain the lower bound.
const WORDS: &str = "a record that moves one step by the whole sensitivity";

impl RandomAllocation {
    pub(super) fn new(sigma: f64, relation: Relation) -> Result<Self, Error> {
        if relation == Relation::Replace {
            return Err(Error::NotThisRelation {
                mechanism: "random-allocation",
                relation,
            });
        }
        Ok(Self {
            sigma: Sigma::new(sigma)?,
            relation,
        })
    }
}

impl Family for RandomAllocation {
    fn name(&self) -> &'static str {
        "random-allocation"
    }

    fn local(&self) -> Local {
        Local::Unknown
    }

    fn relation(&self) -> Relation {
        self.relation
    }

    fn has_users(&self) -> bool {
        false
    }

    fn blankets(&self, fineness: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(vec![pair_above(self.sigma.value(), fineness)?])
    }

    fn adversaries(&self, fineness: Fineness) -> Result<Vec<Adversary>, Error> {
        Ok(vec![Adversary {
            atoms: pair(self.sigma.value(), fineness)?,
            name: "gaussian-pair".into(),
            words: WORDS.into(),
        }])
    }

    fn known_curves(&self, round: &Round) -> Option<KnownCurves> {
        let above = shuffle_gaussian::pair(self.sigma.value(), Crowd::Everyone(round.users()));
        Some(KnownCurves {
            upper: vec![KnownCurve::one("random-allocation", above)],
            lower: vec![attained(self.sigma.value(), round, WORDS)],
        })
    }

    fn spec(&self) -> RandomizerSpec {
        let added = self.relation == Relation::AddOrRemove;
        RandomizerSpec {
            sigma: Some(self.sigma.value()),
            relation: (!added).then_some(self.relation),
            ..RandomizerSpec::of(&ENTRIES[0])
        }
    }
}
