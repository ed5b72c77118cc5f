//! The price of a round, by whom users have to trust.
//!
//! ```text
//! shuffled   the analyzer sees a shuffled batch, or a sum                      the accountant's price
//! local      the analyzer sees who sent each report, and one user may be
//!            called every time: T rounds of the local guarantee                [`unshuffled`]
//! nothing    training without protection
//! ```

use crate::error::Error;
use shuffledp_accounting::{Accountant, Answer, Delta, Epsilon, Round, plain, unshuffled};
use shuffledp_numerics::search::try_bisect_integers_from_below;

/// The smallest δ that the accountant answers for.
const SMALLEST_DELTA: f64 = 1e-300;

/// The charge for one round.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Charge {
    /// A shuffled round, a secure sum, or one pass of central training.
    Shuffled(Round),
    /// The same round without a shuffler.
    Local(Round),
    /// Nothing: nobody is protected.
    Nothing,
}

impl Charge {
    /// The round that is recorded.
    pub fn round(&self) -> Option<&Round> {
        match self {
            Self::Shuffled(round) | Self::Local(round) => Some(round),
            Self::Nothing => None,
        }
    }

    /// The ε of the rounds that an accountant has recorded, all of this kind; none where nobody is protected.
    pub(crate) fn epsilon(
        &self,
        spent: &Accountant,
        delta: Delta,
    ) -> Result<Option<Answer<Epsilon>>, Error> {
        Ok(match self {
            Self::Shuffled(_) => Some(spent.epsilon(delta)?),
            Self::Local(round) => Some(unshuffled(round.mechanism(), spent.rounds(), delta)?),
            Self::Nothing => None,
        })
    }

    /// Refuses a δ, or a kind of round, that has no price.
    pub(crate) fn check(&self, delta: Delta) -> Result<(), Error> {
        match self {
            Self::Shuffled(_) | Self::Local(_)
                if !(SMALLEST_DELTA..1.0).contains(&delta.value()) =>
            {
                let value = plain(delta.value());
                Err(Error::parameter("delta", value, "[1e-300, 1)"))
            }
            Self::Local(round) => {
                unshuffled(round.mechanism(), 1, delta)?;
                Ok(())
            }
            Self::Shuffled(_) | Self::Nothing => Ok(()),
        }
    }

    /// Whether more such rounds would take the ε above a budget.
    fn exceeds(
        &self,
        spent: &Accountant,
        more: u64,
        budget: Epsilon,
        delta: Delta,
    ) -> Result<bool, Error> {
        match self {
            Self::Shuffled(round) => Ok(spent.would_exceed(round, more, budget, delta)?),
            Self::Local(round) => {
                let answer = unshuffled(round.mechanism(), spent.rounds() + more, delta)?;
                Ok(answer.upper().get() > budget)
            }
            Self::Nothing => Ok(false),
        }
    }

    /// How many more such rounds a budget has room for, up to `most`.
    pub(crate) fn affordable(
        &self,
        spent: &Accountant,
        most: u64,
        budget: Epsilon,
        delta: Delta,
    ) -> Result<u64, Error> {
        // The price never falls with more rounds.
        let exceeds = |rounds: u64| self.exceeds(spent, rounds, budget, delta);
        Ok(try_bisect_integers_from_below(1, most.saturating_add(1), exceeds)?.fails)
    }
}
