//! The laws of one round: those that together dominate it, and those that some dataset attains.
//!
//! Upper: δ of a round is at most the largest over a family of dominating laws: one for most mechanisms, one
//! for each pair of inputs of a matrix, one for each end of a range of check-in rates. Where theorems of
//! another form apply ([`crate::upper`]), the smallest of all bounds holds. Lower: explicit adversaries, each
//! valid alone.
//!
//! Reports that depend on earlier reports of the same round change nothing where one law is the largest in
//! convex order over all ordered pairs of user 1's values (Theorem S′, `atoms.proof.md`). Where a mechanism
//! has several laws, or one that is not the same with the two values exchanged, an adaptive round may mix
//! them, and the law of any ε₀-LDP randomizer stands for it. Bounds that count the reports of a round do not
//! hold in that case.
//!
//! Colluding users are subtracted from n: the analyzer can be given them and their reports. With m of n
//! sampled, the number of honest participants is at most m, and δ grows with it (Jensen: a participant's X
//! has mean 1 − a, an absent user's is the constant), so the upper bound is that of m of n_honest users. The
//! lower bound does not use the knowledge of the colluding users, and is that of m of n.

use crate::atoms::Atoms;
use crate::bound::Side;
use crate::cells::Fineness;
use crate::error::Error;
use crate::lower::LowerProfile;
use crate::mechanism::{Adversary, Local};
use crate::participation::{Participation, Rate};
use crate::pld::{ComposedRounds, Pld, Resolution};
use crate::profile::{Direction, Profile};
use crate::round::Round;
use crate::upper::{BY_LAWS, Dominating};
use std::sync::{Mutex, PoisonError};

/// The laws of one round, and their privacy loss distributions once these have been needed.
#[derive(Debug)]
pub(crate) struct Priced {
    pub(crate) round: Round,
    /// The upper bounds on δ of the round.
    pub(crate) dominating: Dominating,
    /// The name of the laws.
    pub(crate) dominating_name: &'static str,
    /// Each of these is δ of some instance of the round; the one with the largest variance first.
    pub(crate) attained: Vec<Attained>,
    built: Mutex<Vec<BuiltPld>>,
    resolutions: Mutex<Vec<KeptResolution>>,
}

/// A question for a distribution, as [`Priced::built`] takes it, and the resolution that answers it.
type KeptResolution = ((Want, f64, f64, ComposedRounds), Option<Resolution>);

/// A privacy loss distribution, and the names of the bounds that it was built from.
#[derive(Clone, Debug)]
pub(crate) struct BuiltPld {
    want: Want,
    resolution: Resolution,
    pub(crate) pld: Pld,
    pub(crate) bounds: Vec<&'static str>,
}

/// A law that some instance of the round attains.
#[derive(Clone, Debug)]
pub(crate) struct Attained {
    pub(crate) profile: LowerProfile,
    pub(crate) name: String,
    pub(crate) words: String,
}

/// Which privacy loss distribution of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The smallest of all upper bounds.
    Dominating,
    /// The laws alone, for questions that have no answer where a loss may be infinite.
    Laws,
    Attained(usize, Direction),
}

impl Priced {
    pub(crate) fn new(round: &Round, fineness: Fineness) -> Result<Self, Error> {
        let (laws, dominating_name) = dominating_profiles(round, fineness)?;
        Ok(Self {
            round: round.clone(),
            dominating: Dominating {
                laws,
                others: round.mechanism().upper_profiles(round),
            },
            dominating_name,
            attained: attained_profiles(round, fineness)?,
            built: Mutex::new(Vec::new()),
            resolutions: Mutex::new(Vec::new()),
        })
    }

    /// The same with the given law in place of all upper bounds.
    pub(crate) fn by_law(round: &Round, atoms: Atoms, name: &'static str) -> Result<Self, Error> {
        Ok(Self {
            round: round.clone(),
            dominating: Dominating {
                laws: profiles_with(round, atoms)?,
                others: Vec::new(),
            },
            dominating_name: name,
            attained: attained_profiles(round, Fineness::Coarse)?,
            built: Mutex::new(Vec::new()),
            resolutions: Mutex::new(Vec::new()),
        })
    }

    /// Whether no law of atoms dominates it: then its losses may be infinite.
    pub(crate) fn has_no_law(&self) -> bool {
        self.dominating.laws.is_empty()
    }

    /// Whether the adversaries are instances of this round, so that it has a lower bound.
    pub(crate) fn attains(&self) -> bool {
        self.round.mechanism().has_lower_bound()
    }

    /// An estimate of the variance of the loss of one round.
    pub(crate) fn variance(&self) -> f64 {
        self.loss_deviation().powi(2)
    }

    /// An estimate of the standard deviation of the loss of one round.
    pub(crate) fn loss_deviation(&self) -> f64 {
        self.dominating.loss_deviation()
    }

    /// No loss of the round is larger, except on an event whose probability is part of δ.
    pub(crate) fn loss_limit(&self) -> f64 {
        self.dominating.loss_limit()
    }

    /// The privacy loss distribution of [`Priced::built`].
    pub(crate) fn pld(
        &self,
        want: Want,
        accuracy: f64,
        ln_tail: f64,
        composed: ComposedRounds,
    ) -> Result<Option<Pld>, Error> {
        Ok(self
            .built(want, accuracy, ln_tail, composed)?
            .map(|built| built.pld))
    }

    /// Whether the laws alone stand for the round.
    fn is_by_laws(&self, want: Want) -> bool {
        want == Want::Laws || self.dominating.others.is_empty()
    }

    /// The resolution of a distribution, found once and kept: where it ends is found by a search. `None` if
    /// the loss is always zero.
    fn resolution(
        &self,
        want: Want,
        accuracy: f64,
        ln_tail: f64,
        composed: ComposedRounds,
    ) -> Option<Resolution> {
        let question = (want, accuracy, ln_tail, composed);
        // As in `built`, entries are only ever added whole, and the lock is not held during the search.
        let kept = || {
            self.resolutions
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let found = kept().iter().find(|(asked, _)| *asked == question).copied();
        if let Some((_, resolution)) = found {
            return resolution;
        }
        let resolution = self.search_resolution(want, accuracy, ln_tail, composed);
        kept().push((question, resolution));
        resolution
    }

    fn search_resolution(
        &self,
        want: Want,
        accuracy: f64,
        ln_tail: f64,
        composed: ComposedRounds,
    ) -> Option<Resolution> {
        Some(match want {
            Want::Dominating if !self.is_by_laws(want) => {
                Resolution::of_bounds(&self.dominating, accuracy, ln_tail, composed)
            }
            Want::Dominating | Want::Laws => {
                let laws = &self.dominating.laws;
                if laws.iter().all(|law| law.atoms().loss_limit() == 0.0) {
                    return None;
                }
                Resolution::for_accuracy(laws, Side::Upper, accuracy, ln_tail, composed)
            }
            Want::Attained(index, _) => {
                let profile = &self.attained[index].profile;
                if profile.is_zero() {
                    return None;
                }
                match profile {
                    LowerProfile::Law(profile) => {
                        let profiles = std::slice::from_ref(profile);
                        let side = Side::Lower;
                        Resolution::for_accuracy(profiles, side, accuracy, ln_tail, composed)
                    }
                    LowerProfile::Pair(pair) => {
                        Resolution::of_pair(pair.as_ref(), accuracy, ln_tail, composed)
                    }
                }
            }
        })
    }

    /// A distribution of this accuracy that reaches to this tail, built once and kept. `None` if the loss is
    /// always zero, or if an optimistic one cannot be built: leaving a round out lowers the bound.
    pub(crate) fn built(
        &self,
        want: Want,
        accuracy: f64,
        ln_tail: f64,
        composed: ComposedRounds,
    ) -> Result<Option<BuiltPld>, Error> {
        let Some(resolution) = self.resolution(want, accuracy, ln_tail, composed) else {
            return Ok(None);
        };
        let by_laws = self.is_by_laws(want);
        // A panic elsewhere while the lock was held leaves the list as it was: entries are only ever added
        // whole. The lock is not held while building, which uses all cores.
        let built = || self.built.lock().unwrap_or_else(PoisonError::into_inner);
        // The same resolution, not merely a fine one: an answer must not depend on earlier questions.
        let fits = |built: &&BuiltPld| built.want == want && built.resolution == resolution;
        if let Some(found) = built().iter().find(fits) {
            return Ok(Some(found.clone()));
        }
        let (pld, bounds) = match want {
            Want::Dominating if !by_laws => Pld::of_bounds(&self.dominating, resolution),
            Want::Dominating | Want::Laws => {
                let pld = Pld::pessimistic(&self.dominating.laws, resolution);
                (pld, vec![BY_LAWS])
            }
            Want::Attained(index, direction) => {
                let profile = &self.attained[index].profile;
                let pld = match profile {
                    LowerProfile::Law(profile) => Pld::optimistic(profile, direction, resolution),
                    LowerProfile::Pair(pair) => Pld::of_pair(pair.as_ref(), direction, resolution),
                };
                let Some(pld) = pld else {
                    return Ok(None);
                };
                (Some(pld), Vec::new())
            }
        };
        let new = BuiltPld {
            want,
            resolution,
            pld: pld.ok_or(Error::NotResolved {
                mechanism: self.dominating_name,
            })?,
            bounds,
        };
        built().push(new.clone());
        Ok(Some(new))
    }
}

/// Laws that together dominate a round, the one with the largest variance first, and their name; none where
/// only an approximate local guarantee is known.
pub(crate) fn dominating_profiles(
    round: &Round,
    fineness: Fineness,
) -> Result<(Vec<Profile>, &'static str), Error> {
    let (laws, name) = dominating_atoms(round, fineness)?;
    let mut dominating = Vec::new();
    for atoms in laws {
        dominating.extend(profiles_with(round, atoms)?);
    }
    // The one with the largest variance first: it mostly has the largest ε, and one evaluation then rules out
    // each of the others.
    dominating.sort_by(|a, b| b.loss_deviation().total_cmp(&a.loss_deviation()));
    Ok((dominating, name))
}

/// The profiles of a law, as the users of this round take part.
pub(crate) fn profiles_with(round: &Round, atoms: Atoms) -> Result<Vec<Profile>, Error> {
    let laws = dominating_with(atoms, round.participation())?.into_iter();
    let profile = |atoms| match round.participation() {
        Participation::Sample(size) => Profile::sampled(atoms, round.honest(), size),
        _ => Profile::new(atoms, round.honest()),
    };
    Ok(laws.map(profile).collect())
}

/// Explicit adversaries, the one with the largest variance first.
pub(crate) fn attained_profiles(round: &Round, fineness: Fineness) -> Result<Vec<Attained>, Error> {
    let mut attained = Vec::new();
    let everybody = round.randomizer().everybody_at();
    for Adversary { atoms, name, words } in round.mechanism().adversaries(fineness)? {
        for atoms in attained_with(atoms, round.participation())? {
            let profile = match round.participation() {
                Participation::Sample(size) => Profile::sampled(atoms, round.users(), size),
                _ => Profile::new(atoms, round.most_honest()),
            };
            attained.push(Attained {
                profile: LowerProfile::Law(profile),
                name: name.clone(),
                words: format!("{words}{everybody}"),
            });
        }
    }
    for pair in round.mechanism().known_pairs(round) {
        attained.push(Attained {
            profile: LowerProfile::Pair(pair.profile),
            name: pair.name,
            words: pair.words,
        });
    }
    attained.sort_by(|a, b| {
        b.profile
            .loss_deviation()
            .total_cmp(&a.profile.loss_deviation())
    });
    Ok(attained)
}

/// The dominating laws of one user's contribution when everybody takes part, and their name.
fn dominating_atoms(
    round: &Round,
    fineness: Fineness,
) -> Result<(Vec<Atoms>, &'static str), Error> {
    let mechanism = round.mechanism();
    let laws = mechanism.blankets(fineness)?;
    match mechanism.local() {
        Local::Pure(epsilon0)
            if round.is_adaptive_within_round() && !mechanism.has_one_worst_law() =>
        {
            Ok((vec![Atoms::ldp(epsilon0)?], "ldp"))
        }
        _ => Ok((laws, mechanism.name())),
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
