//! The price of a round: every theorem that applies, asked for its best number.
//!
//! Upper: the largest over a family of laws that together dominate the round (one law for most mechanisms; one for each pair of inputs of a
//! matrix, or for each end of a range of rates). Lower: the largest over explicit adversaries, each valid alone.
//!
//! Colluding users are subtracted from n: they can be handed over to the analyzer, reports and all. With m of n sampled, the number of honest
//! participants is at most m, and δ grows with it (Jensen: a participant's X has mean 1 − a, an absent user's is the constant), so the upper
//! bound is m of n_honest; the lower one forgoes what the colluders know, and is m of n.

use crate::atoms::Atoms;
use crate::bound::{Answer, Bound, Delta, Epsilon, Side, Standing};
use crate::error::{Error, Parameter, within};
use crate::lower::{self, Adversary};
use crate::mechanism::{Categories, Mechanism};
use crate::participation::{Participation, Rate};
use crate::profile::Profile;
use crate::round::Round;

/// Answers about one round.
#[derive(Clone, Debug)]
pub struct Account {
    /// δ of the round is at most the largest of these.
    dominating: Vec<Profile>,
    dominating_name: &'static str,
    /// δ of some instance of the round is each of these.
    attained: Vec<Attained>,
}

#[derive(Clone, Debug)]
struct Attained {
    profile: Profile,
    name: String,
    words: String,
}

/// Prepares the account of a round.
///
/// ```
/// use shuffledp_accounting::{Delta, Mechanism, Round, account};
/// let round = Round::new(Mechanism::kary_response(10, 3.0)?, 1000)?;
/// let answer = account(&round)?.epsilon(Delta::new(1e-6)?)?;
/// assert!(answer.lower.value <= answer.upper.value);
/// assert_eq!(format!("{:.4}", answer.upper.value.value()), "0.6634");
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn account(round: &Round) -> Result<Account, Error> {
    let mut dominating = Vec::new();
    for atoms in dominating_atoms(round)? {
        for atoms in dominating_with(atoms, round.participation())? {
            dominating.push(match round.participation() {
                Participation::Sample(size) => Profile::sampled(atoms, round.honest(), size),
                _ => Profile::new(atoms, round.honest()),
            });
        }
    }
    let mut attained = Vec::new();
    for Adversary { atoms, name, words } in lower::adversaries(round.mechanism())? {
        for atoms in attained_with(atoms, round.participation())? {
            let profile = match round.participation() {
                Participation::Sample(size) => Profile::sampled(atoms, round.users(), size),
                _ => Profile::new(atoms, round.honest()),
            };
            attained.push(Attained {
                profile,
                name: name.clone(),
                words: words.clone(),
            });
        }
    }
    let dominating_name = if round.is_adaptive_within_round() {
        "ldp-adaptive"
    } else {
        round.mechanism().name()
    };
    // The most promising first: once one is solved, the others mostly need a single evaluation to be ruled out.
    dominating.sort_by(|a, b| b.atoms().chi_square().total_cmp(&a.atoms().chi_square()));
    attained.sort_by(|a, b| {
        let chi_square = |one: &Attained| one.profile.atoms().chi_square();
        chi_square(b).total_cmp(&chi_square(a))
    });
    Ok(Account {
        dominating,
        dominating_name,
        attained,
    })
}

fn dominating_atoms(round: &Round) -> Result<Vec<Atoms>, Error> {
    let adaptive = round.is_adaptive_within_round();
    match round.mechanism() {
        Mechanism::Ldp(epsilon0)
        | Mechanism::BinaryResponse(epsilon0)
        | Mechanism::KaryResponse(_, epsilon0)
            if adaptive =>
        {
            Ok(vec![Atoms::ldp_adaptive(*epsilon0)?])
        }
        Mechanism::Ldp(epsilon0) => Ok(vec![Atoms::ldp(*epsilon0)?]),
        Mechanism::BinaryResponse(epsilon0) => {
            Ok(vec![Atoms::kary_blanket(Categories::TWO, *epsilon0)?])
        }
        Mechanism::KaryResponse(k, epsilon0) => Ok(vec![Atoms::kary_blanket(*k, *epsilon0)?]),
        Mechanism::Ratio(summary) => Ok(vec![Atoms::ratio(summary)?]),
        Mechanism::Matrix(channel) => {
            let inputs = channel.rows().len();
            let mut all = Vec::new();
            for x0 in 0..inputs {
                for x1 in x0 + 1..inputs {
                    all.push(Atoms::channel_blanket(channel, x0, x1)?);
                }
            }
            Ok(all)
        }
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

/// Laws that are attained under check-in: everybody at one end of the range.
fn attained_with(atoms: Atoms, participation: Participation) -> Result<Vec<Atoms>, Error> {
    match participation {
        Participation::Everyone | Participation::Sample(_) => Ok(vec![atoms]),
        Participation::CheckIn(rate) => rate
            .ends()
            .into_iter()
            .map(|end| atoms.check_in(Rate::exactly(end)?, end))
            .collect(),
    }
}

impl Account {
    /// The least ε for which the round is (ε, δ)-DP.
    pub fn epsilon(&self, delta: Delta) -> Result<Answer<Epsilon>, Error> {
        let delta = within(
            Parameter::Delta,
            delta.value(),
            (Delta::SMALLEST..1.0).contains(&delta.value()),
            "[1e-300, 1)",
        )?;
        let mut upper: f64 = 0.0;
        for profile in &self.dominating {
            if upper == 0.0 || !profile.meets(upper, delta) {
                upper = upper.max(profile.epsilon_upper(delta));
            }
        }
        let mut lower: f64 = 0.0;
        let mut best = &self.attained[0];
        for attained in &self.attained {
            if lower == 0.0 || attained.profile.exceeds(lower, delta) {
                let value = attained.profile.epsilon_lower(delta);
                if value > lower {
                    (lower, best) = (value, attained);
                }
            }
        }
        self.answer(Epsilon::new(upper)?, Epsilon::new(lower)?, best)
    }

    /// The least δ for which the round is (ε, δ)-DP.
    pub fn delta(&self, epsilon: Epsilon) -> Result<Answer<Delta>, Error> {
        let upper = self
            .dominating
            .iter()
            .map(|profile| profile.delta(epsilon.value()).upper)
            .fold(0.0, f64::max);
        let mut lower: f64 = 0.0;
        let mut best = &self.attained[0];
        for attained in &self.attained {
            let value = attained.profile.delta(epsilon.value()).lower;
            if value > lower {
                (lower, best) = (value, attained);
            }
        }
        self.answer(Delta::new(upper)?, Delta::new(lower)?, best)
    }

    fn answer<T>(&self, upper: T, lower: T, best: &Attained) -> Result<Answer<T>, Error> {
        Ok(Answer {
            upper: Bound {
                value: upper,
                side: Side::Upper,
                standing: Standing::Certified,
                method: format!("profile/{}", self.dominating_name),
                attained_by: None,
            },
            lower: Bound {
                value: lower,
                side: Side::Lower,
                standing: Standing::Certified,
                method: format!("profile/{}", best.name),
                attained_by: Some(best.words.clone()),
            },
        })
    }
}
