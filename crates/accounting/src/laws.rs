//! The laws that stand for one round: those that together dominate it, and those that some dataset attains.
//!
//! Upper: δ of a round is at most the largest over a family of dominating laws: one for most mechanisms, one
//! for each pair of inputs of a matrix, one for each end of a range of check-in rates. Lower: explicit
//! adversaries, each valid alone.
//!
//! Colluding users are subtracted from n: they can be handed over to the analyzer, reports and all. With m of
//! n sampled, the number of honest participants is at most m, and δ grows with it (Jensen: a participant's X
//! has mean 1 − a, an absent user's is the constant), so the upper bound is m of n_honest; the lower one
//! forgoes the knowledge of the colluders, and is m of n.

use crate::atoms::Atoms;
use crate::bound::{Side, Standing};
use crate::cells::Fineness;
use crate::error::Error;
use crate::mechanism::{Adversary, Local};
use crate::participation::{Participation, Rate};
use crate::pld::{Company, Pld, Resolution};
use crate::profile::{Direction, Profile};
use crate::round::Round;
use std::sync::{Mutex, PoisonError};

/// The laws of one round, and their privacy loss distributions once these have been needed.
#[derive(Debug)]
pub(crate) struct Priced {
    pub(crate) round: Round,
    /// δ of the round is at most the largest of these; none where its local guarantee is approximate.
    pub(crate) dominating: Vec<Profile>,
    pub(crate) dominating_name: &'static str,
    /// δ of some instance of the round is each of these, the most promising first.
    pub(crate) attained: Vec<Attained>,
    made: Mutex<Vec<(Want, Resolution, Pld)>>,
}

/// A law that some instance of the round attains.
#[derive(Clone, Debug)]
pub(crate) struct Attained {
    pub(crate) profile: Profile,
    pub(crate) name: String,
    pub(crate) words: String,
}

/// Which privacy loss distribution of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Dominating,
    Attained(usize, Direction),
}

impl Priced {
    pub(crate) fn new(round: &Round, fineness: Fineness) -> Result<Self, Error> {
        let (dominating, dominating_name) = dominating_profiles(round, fineness)?;
        Ok(Self {
            round: round.clone(),
            dominating,
            dominating_name,
            attained: attained_profiles(round, fineness)?,
            made: Mutex::new(Vec::new()),
        })
    }

    /// Whether only an approximate local guarantee dominates it: then there is no dominating law.
    pub(crate) fn is_approximate(&self) -> bool {
        self.dominating.is_empty()
    }

    /// How sure an upper bound by this method is. The optimal composition of an (ε₀, δ₀) guarantee without a
    /// shuffler subtracts two tails in ordinary floating point; everything else bounds its errors.
    pub(crate) fn standing(&self, way: &str) -> Standing {
        match self.round.mechanism().local() {
            Local::Approximate(..) if way == "local" => Standing::Proved,
            _ => Standing::Certified,
        }
    }

    /// Whether the adversaries are instances of this very round.
    pub(crate) fn attains(&self) -> bool {
        self.round.mechanism().has_lower_bound()
    }

    /// The variance of the loss of one round, about.
    pub(crate) fn variance(&self) -> f64 {
        self.leading().loss_deviation().powi(2)
    }

    /// The law that varies most.
    pub(crate) fn leading(&self) -> &Profile {
        // There is always an adversary.
        self.dominating.first().unwrap_or(&self.attained[0].profile)
    }

    /// A distribution of this accuracy and depth, made once. `None` if the loss is always zero, or if a lower
    /// one cannot be had: leaving a round out lowers the bound.
    pub(crate) fn pld(
        &self,
        want: Want,
        accuracy: f64,
        ln_tail: f64,
        company: Company,
    ) -> Result<Option<Pld>, Error> {
        let (profiles, side) = match want {
            Want::Dominating => (&self.dominating[..], Side::Upper),
            Want::Attained(index, _) => {
                let profile = &self.attained[index].profile;
                (std::slice::from_ref(profile), Side::Lower)
            }
        };
        if profiles[0].atoms().loss_limit() == 0.0 {
            return Ok(None);
        }
        let resolution = Resolution::for_accuracy(profiles, side, accuracy, ln_tail, company);
        // A panic elsewhere while the lock was held leaves the list as it was: entries are only ever added
        // whole. The lock is not held while building, which uses all cores.
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |(kept, have, _): &&(Want, Resolution, Pld)| {
            // Not merely fine enough: an answer must not depend on what was asked before.
            *kept == want && *have == resolution
        };
        if let Some((_, _, pld)) = made().iter().find(fits) {
            return Ok(Some(pld.clone()));
        }
        let pld = match want {
            Want::Dominating => Some(Pld::pessimistic(&self.dominating, resolution).ok_or(
                Error::NotResolved {
                    mechanism: self.dominating_name,
                },
            )?),
            Want::Attained(index, direction) => {
                Pld::optimistic(&self.attained[index].profile, direction, resolution)
            }
        };
        if let Some(pld) = &pld {
            made().push((want, resolution, pld.clone()));
        }
        Ok(pld)
    }
}

/// Laws that together dominate a round, the one that varies most first, and their name; none where only an
/// approximate local guarantee is known.
pub(crate) fn dominating_profiles(
    round: &Round,
    fineness: Fineness,
) -> Result<(Vec<Profile>, &'static str), Error> {
    let mut dominating = Vec::new();
    for atoms in dominating_atoms(round, fineness)? {
        for atoms in dominating_with(atoms, round.participation())? {
            dominating.push(match round.participation() {
                Participation::Sample(size) => Profile::sampled(atoms, round.honest(), size),
                _ => Profile::new(atoms, round.honest()),
            });
        }
    }
    // The most promising first: once one is solved, the others mostly need a single evaluation to be ruled
    // out.
    dominating.sort_by(|a, b| b.loss_deviation().total_cmp(&a.loss_deviation()));
    let name = match round.mechanism().local() {
        Local::Pure(_) if round.is_adaptive_within_round() => "ldp-adaptive",
        _ => round.mechanism().name(),
    };
    Ok((dominating, name))
}

/// Explicit adversaries, the most promising first.
pub(crate) fn attained_profiles(round: &Round, fineness: Fineness) -> Result<Vec<Attained>, Error> {
    let mut attained = Vec::new();
    for Adversary { atoms, name, words } in round.mechanism().adversaries(fineness)? {
        for atoms in attained_with(atoms, round.participation())? {
            let profile = match round.participation() {
                Participation::Sample(size) => Profile::sampled(atoms, round.users(), size),
                _ => Profile::new(atoms, round.most_honest()),
            };
            attained.push(Attained {
                profile,
                name: name.clone(),
                words: words.clone(),
            });
        }
    }
    attained.sort_by(|a, b| {
        b.profile
            .loss_deviation()
            .total_cmp(&a.profile.loss_deviation())
    });
    Ok(attained)
}

/// The laws of one user's contribution that dominate, before anybody stays away.
fn dominating_atoms(round: &Round, fineness: Fineness) -> Result<Vec<Atoms>, Error> {
    match round.mechanism().local() {
        Local::Pure(epsilon0) if round.is_adaptive_within_round() => {
            Ok(vec![Atoms::ldp_adaptive(epsilon0)?])
        }
        _ => round.mechanism().blankets(fineness),
    }
}

/// Laws that dominate under check-in: user 1 at either end of the range of rates, the others anywhere in it.
fn dominating_with(atoms: Atoms, participation: Participation) -> Result<Vec<Atoms>, Error> {
    match participation {
        Participation::Everyone | Participation::Sample(_) => Ok(vec![atoms]),
        Participation::CheckIn(rate) => rate
            .ends()
            .into_iter()
            .map(|own| atoms.check_in(rate, own))
            .collect(),
    }
}

/// Laws that are attained under check-in: user 1 at one end of the range, all others at one.
fn attained_with(atoms: Atoms, participation: Participation) -> Result<Vec<Atoms>, Error> {
    match participation {
        Participation::Everyone | Participation::Sample(_) => Ok(vec![atoms]),
        Participation::CheckIn(rate) => {
            let mut all = Vec::new();
            for others in rate.ends() {
                for own in rate.ends() {
                    all.push(atoms.check_in(Rate::exactly(others)?, own)?);
                }
            }
            Ok(all)
        }
    }
}
