//! What a round costs, by whom people have to trust.
//!
//! ```text
//! shuffled   what the analyzer sees of a shuffled round                                   the accountant's price
//! local      who sent what is seen, and one person may be called every time:
//!            T rounds of ε₀-LDP                                                            Kairouz, Oh, Viswanath 2015, exact for randomized response
//! nothing    training without protection
//! ```

use crate::error::Error;
use shuffledp_accounting::bounds::kairouz_2015;
use shuffledp_accounting::{Accountant, Bound, Delta, Epsilon, Mechanism, Round, Side, Standing};

/// What has been spent, from both sides.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Spent {
    /// The guarantee.
    pub upper: Bound<Epsilon>,
    /// What no analysis can get below.
    pub lower: Bound<Epsilon>,
}

/// What one round is charged as.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Charge {
    /// A shuffled round, or one pass of central training.
    Shuffled(Round),
    /// The same round with nobody to shuffle it.
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

    /// The ε of what an accountant has recorded, of rounds of this kind only; none where nobody is protected.
    pub(crate) fn epsilon(&self, spent: &Accountant, delta: Delta) -> Result<Option<Spent>, Error> {
        match self {
            Self::Shuffled(_) => {
                let answer = spent.epsilon(delta)?;
                let (upper, lower) = (answer.upper, answer.lower);
                Ok(Some(Spent { upper, lower }))
            }
            Self::Local(round) => local(round.mechanism(), spent.rounds(), delta).map(Some),
            Self::Nothing => Ok(None),
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
                let answer = local(round.mechanism(), spent.rounds() + more, delta)?;
                Ok(answer.upper.value > budget)
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
        // The price never falls with more rounds: `low` are within the budget, `high` are not.
        let (mut low, mut high) = (0, 1);
        while high <= most && !self.exceeds(spent, high, budget, delta)? {
            (low, high) = (high, high.saturating_mul(2));
        }
        high = high.min(most + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.exceeds(spent, middle, budget, delta)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(low)
    }
}

/// The ε of a person who sends a report of their own every time, and is seen to.
fn local(mechanism: &Mechanism, rounds: u64, delta: Delta) -> Result<Spent, Error> {
    let epsilon0 = match mechanism {
        Mechanism::Ldp(epsilon0) | Mechanism::BinaryResponse(epsilon0) => epsilon0.value(),
        other => {
            return Err(Error::NoLocalPrice {
                mechanism: other.name(),
            });
        }
    };
    let total = match rounds {
        0 => 0.0,
        _ => kairouz_2015::epsilon(rounds, epsilon0, 0.0, delta.value())
            .map_err(|unmet| Error::parameter("delta", delta.value(), unmet.to_string()))?,
    };
    let bound = |side| {
        Ok::<_, Error>(Bound {
            value: Epsilon::new(total)?,
            side,
            standing: Standing::Proved,
            method: "kairouz-2015".into(),
            attained_by: (side == Side::Lower)
                .then(|| "binary randomized response in every round".into()),
        })
    };
    Ok(Spent {
        upper: bound(Side::Upper)?,
        lower: bound(Side::Lower)?,
    })
}
