//! Your own randomizer as a row-stochastic matrix: the upper bound is its privacy blanket, the lower bound
//! the worst dataset in which all others hold one value.

use super::{Adversary, Family, Local, Mechanism, needed};
use crate::atoms::Atoms;
use crate::catalog::{Entry, Input};
use crate::cells::Fineness;
use crate::channel::Channel;
use crate::error::{Error, Parameter, within_count};
use crate::local::LocalEpsilon;
use crate::spec::RandomizerSpec;

/// A finite channel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix(Channel);

pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "matrix",
    title: "Your own: a row-stochastic matrix in a CSV file, one row an input",
    needs: &[Parameter::Rows],
    takes: &[],
    pairs_are_alike: false,
    own_epsilon0: false,
    input: |_| Input::Category,
    mechanism: |spec| {
        let rows = needed(spec, Parameter::Rows, spec.rows.clone())?;
        let entries: usize = rows.iter().map(Vec::len).sum();
        let (most_inputs, most_entries) = (Channel::MOST_INPUTS, Channel::MOST_ENTRIES);
        let few = rows.len() <= most_inputs && entries <= most_entries;
        let allowed = format!("[2, {most_inputs}], with at most {most_entries} entries in all");
        within_count(Parameter::Rows, rows.len() as u64, few, allowed)?;
        Ok(Mechanism::matrix(Channel::new(rows)?))
    },
    phrase: |spec| match &spec.rows {
        Some(rows) => format!("your own randomizer of {} values", rows.len()),
        None => "your own randomizer".to_owned(),
    },
}];

impl Matrix {
    pub(super) fn new(channel: Channel) -> Self {
        Self(channel)
    }
}

impl Family for Matrix {
    fn name(&self) -> &'static str {
        "matrix"
    }

    /// The largest ln of a ratio within a column, rounded up by more than its rounding errors.
    fn local(&self) -> Local {
        let epsilon0 = self.0.local_epsilon() * (1.0 + 1e-14) + 1e-15;
        LocalEpsilon::new(epsilon0).map_or(Local::Unknown, Local::Pure)
    }

    fn blankets(&self, _: Fineness) -> Result<Vec<Atoms>, Error> {
        let inputs = self.0.rows().len();
        let mut all = Vec::new();
        for x0 in 0..inputs {
            for x1 in x0 + 1..inputs {
                all.push(Atoms::channel_blanket(&self.0, x0, x1)?);
            }
        }
        Ok(all)
    }

    fn adversaries(&self, _: Fineness) -> Result<Vec<Adversary>, Error> {
        let inputs = self.0.rows().len();
        let mut all = Vec::new();
        for x0 in 0..inputs {
            // Both directions are computed, so unordered pairs suffice.
            for x1 in x0 + 1..inputs {
                for x2 in 0..inputs {
                    all.push(Adversary {
                        atoms: Atoms::channel_others(&self.0, x0, x1, x2)?,
                        name: "matrix".into(),
                        words: format!("inputs {x0} and {x1}, every other user holding input {x2}"),
                    });
                }
            }
        }
        Ok(all)
    }

    fn spec(&self) -> RandomizerSpec {
        RandomizerSpec {
            rows: Some(self.0.rows().to_vec()),
            ..RandomizerSpec::of(&ENTRIES[0])
        }
    }
}
