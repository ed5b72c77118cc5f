//! Any randomizer with a summary of its likelihood ratios (Theorem V): [`Atoms::ratio`] dominates, and is
//! attained.

use super::{Adversary, Family, Local, Mechanism, needed};
use crate::atoms::Atoms;
use crate::catalog::{Entry, Input};
use crate::cells::Fineness;
use crate::error::{Error, Parameter};
use crate::local::RatioSummary;
use crate::spec::RandomizerSpec;

/// Any randomizer with this summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio(RatioSummary);

pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "ratio",
    title: "Any randomizer with a summary (p, beta, q) of its likelihood ratios",
    needs: &[Parameter::Ratio, Parameter::Variation, Parameter::Cover],
    takes: &[],
    pairs_are_alike: true,
    own_epsilon0: false,
    input: |_| Input::Anything,
    mechanism: |spec| {
        Ok(Mechanism::ratio(RatioSummary::new(
            needed(spec, Parameter::Ratio, spec.p)?,
            needed(spec, Parameter::Variation, spec.beta)?,
            needed(spec, Parameter::Cover, spec.q)?,
        )?))
    },
    phrase: |_| "any randomizer with a given ratio summary".to_owned(),
}];

impl Ratio {
    pub(super) fn new(summary: RatioSummary) -> Self {
        Self(summary)
    }
}

impl Family for Ratio {
    fn name(&self) -> &'static str {
        "ratio"
    }

    fn has_one_worst_law(&self) -> bool {
        true
    }

    /// p bounds the ratio of user 1's two laws, which is a local guarantee. It is not used: other users may
    /// run another randomizer, and theorems about ε₀-LDP randomizers assume one randomizer for all users.
    fn local(&self) -> Local {
        Local::Unknown
    }

    fn blankets(&self, _: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(vec![Atoms::ratio(&self.0)?])
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        Ok(vec![Adversary {
            atoms: Atoms::ratio(&self.0)?,
            name: "ratio".into(),
            words: "the extremal randomizer of the summary, every other user running one with the least \
                    covering law"
                .into(),
        }])
    }

    fn spec(&self) -> RandomizerSpec {
        RandomizerSpec {
            p: Some(self.0.ratio()),
            beta: Some(self.0.variation()),
            q: Some(self.0.cover()),
            ..RandomizerSpec::of(&ENTRIES[0])
        }
    }
}
