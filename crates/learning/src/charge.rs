//! The price of a round, by whom users have to trust.
//!
//! ```text
//! shuffled   the analyzer sees a shuffled batch, or a sum                      the accountant's price
//! lossy      the same, and reports are lost by coins that nobody sees          [`with_dropout`]
//! quorum     a sum of at least as many shares of noise as are priced           its upper bound alone
//! local      the analyzer sees who sent each report, and one user may be
//!            called every time: T rounds of the local guarantee                [`unshuffled`]
//! nothing    training without protection
//! ```

use crate::error::Error;
use shuffledp_accounting::{
    Accountant, Answer, Delta, Epsilon, Round, plain, unshuffled, with_dropout,
};
use shuffledp_numerics::search::try_bisect_integers_from_below;

/// The smallest δ that the accountant answers for.
const SMALLEST_DELTA: f64 = 1e-300;

/// The charge for one round.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Charge {
    /// A shuffled round, a secure sum, or one pass of central training.
    Shuffled(Round),
    /// A shuffled round of which each report is lost with this probability, in (0, 1), whatever its user
    /// holds. Nobody is credited with that.
    Lossy(Round, f64),
    /// A secure sum priced at the noise of its quorum. Sums of more shares protect better, so that no lower
    /// bound is known.
    Quorum(Round),
    /// The same round without a shuffler.
    Local(Round),
    /// Nothing: nobody is protected.
    Nothing,
}

impl Charge {
    /// The round that is recorded.
    pub fn round(&self) -> Option<&Round> {
        match self {
            Self::Shuffled(round)
            | Self::Lossy(round, _)
            | Self::Quorum(round)
            | Self::Local(round) => Some(round),
            Self::Nothing => None,
        }
    }

    /// The probability that a report is lost.
    pub fn dropout(&self) -> f64 {
        match self {
            Self::Lossy(_, dropout) => *dropout,
            Self::Shuffled(_) | Self::Quorum(_) | Self::Local(_) | Self::Nothing => 0.0,
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
            Self::Quorum(_) => Some(spent.epsilon(delta)?.without_lower()),
            Self::Lossy(round, dropout) => {
                Some(with_dropout(round, spent.rounds(), *dropout, delta)?)
            }
            Self::Local(round) => Some(unshuffled(round.mechanism(), spent.rounds(), delta)?),
            Self::Nothing => None,
        })
    }

    /// Refuses a δ, or a kind of round, that has no price.
    pub(crate) fn check(&self, delta: Delta) -> Result<(), Error> {
        match self {
            Self::Shuffled(_) | Self::Lossy(..) | Self::Quorum(_) | Self::Local(_)
                if !(SMALLEST_DELTA..1.0).contains(&delta.value()) =>
            {
                let value = plain(delta.value());
                Err(Error::parameter("delta", value, "[1e-300, 1)"))
            }
            Self::Local(round) => {
                unshuffled(round.mechanism(), 1, delta)?;
                Ok(())
            }
            Self::Lossy(round, dropout) => {
                with_dropout(round, 1, *dropout, delta)?;
                Ok(())
            }
            Self::Shuffled(_) | Self::Quorum(_) | Self::Nothing => Ok(()),
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
            Self::Shuffled(round) | Self::Lossy(round, _) | Self::Quorum(round) => {
                Ok(spent.would_exceed(round, more, budget, delta)?)
            }
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
