//! Lower bounds: explicit mechanisms on explicit datasets, whose divergence is computed exactly.
//!
//! For "any ε₀-LDP randomizer" the larger of binary and 3-ary randomized response: in χ² terms within (E+2)/(E+1) ≤ 4/3 of Theorem S, so that the two
//! bounds are never more than a sixth apart in ε. For a named randomizer, its own datasets: all others at user 1's first value
//! (both directions), or all at a third one.

use crate::atoms::Atoms;
use crate::cells::Fineness;
use crate::error::Error;
use crate::gaussian;
use crate::mechanism::{Categories, LocalEpsilon, Mechanism};

/// A mechanism on a pair of datasets.
pub(crate) struct Adversary {
    pub(crate) atoms: Atoms,
    /// Short name, for `method`.
    pub(crate) name: String,
    /// In words, for `attained_by`.
    pub(crate) words: String,
}

/// The datasets to try for a mechanism; each alone is a valid lower bound.
pub(crate) fn adversaries(
    mechanism: &Mechanism,
    fineness: Fineness,
) -> Result<Vec<Adversary>, Error> {
    match mechanism {
        // An epsilon0-LDP randomizer is an (epsilon0, delta0)-LDP one.
        Mechanism::Ldp(epsilon0) | Mechanism::ApproximateLdp(epsilon0, _) => Ok(vec![
            third_value(Categories::THREE, *epsilon0)?,
            first_value(Categories::TWO, *epsilon0)?,
        ]),
        Mechanism::BinaryResponse(epsilon0) => {
            Ok(vec![first_value(Categories::TWO, *epsilon0)?])
        }
        Mechanism::KaryResponse(k, epsilon0) if k.value() == 2 => {
            Ok(vec![first_value(*k, *epsilon0)?])
        }
        Mechanism::KaryResponse(k, epsilon0) => {
            Ok(vec![third_value(*k, *epsilon0)?, first_value(*k, *epsilon0)?])
        }
        Mechanism::Ratio(summary) => Ok(vec![Adversary {
            atoms: Atoms::ratio(summary)?,
            name: "ratio".into(),
            words: "the extremal randomizer of the summary, every other user running one with the least covering law"
                .into(),
        }]),
        Mechanism::Matrix(channel) => {
            let inputs = channel.rows().len();
            let mut all = Vec::new();
            for x0 in 0..inputs {
                // Both directions are computed, so unordered pairs suffice.
                for x1 in x0 + 1..inputs {
                    for x2 in 0..inputs {
                        all.push(Adversary {
                            atoms: Atoms::channel_others(channel, x0, x1, x2)?,
                            name: "matrix".into(),
                            words: format!(
                                "inputs {x0} and {x1}, every other user holding input {x2}"
                            ),
                        });
                    }
                }
            }
            Ok(all)
        }
        Mechanism::Oracle(oracle) => Ok(oracle
            .datasets()?
            .into_iter()
            .map(|(atoms, words)| Adversary {
                atoms,
                name: oracle.name().into(),
                words: format!("{}, {words}", oracle.words()),
            })
            .collect()),
        Mechanism::Scalar(scalar) => Ok(scalar
            .datasets(fineness)?
            .into_iter()
            .map(|(atoms, words)| Adversary {
                atoms,
                name: scalar.name().into(),
                words: format!("{}, {words}", scalar.name()),
            })
            .collect()),
        Mechanism::Gaussian(sigma, _) => Ok(vec![Adversary {
            atoms: gaussian::pair(sigma.value(), fineness)?,
            name: "gaussian-pair".into(),
            words: "Gaussian noise, user 1's two values as far apart as can be, every other user holding the first".into(),
        }]),
        Mechanism::RandomAllocation(sigma) => Ok(vec![Adversary {
            atoms: gaussian::pair(sigma.value(), fineness)?,
            name: "gaussian-pair".into(),
            words: "a record that moves one step by the whole sensitivity".into(),
        }]),
    }
}

fn third_value(k: Categories, epsilon0: LocalEpsilon) -> Result<Adversary, Error> {
    Ok(Adversary {
        atoms: Atoms::kary_third(k, epsilon0)?,
        name: format!("{}-rr", k.value()),
        words: format!(
            "{}-ary randomized response, every other user holding a third value",
            k.value()
        ),
    })
}

fn first_value(k: Categories, epsilon0: LocalEpsilon) -> Result<Adversary, Error> {
    let response = if k.value() == 2 {
        "binary randomized response".to_owned()
    } else {
        format!("{}-ary randomized response", k.value())
    };
    Ok(Adversary {
        atoms: Atoms::kary_first(k, epsilon0)?,
        name: format!("{}-rr", k.value()),
        words: format!("{response}, every other user holding one of the two values"),
    })
}
