//! Who sends a report: everybody, a sample of fixed size, or each by a coin of their own; and whose report is
//! lost.
//!
//! A sample is chosen in one pass over the users: of `left` users still in line, `wanted` are still to be
//! chosen, so the next one is with probability wanted/left, exactly (Knuth's algorithm S). A check-in coin
//! comes up heads with probability at most the rate. Where users have rates of their own, every coin's
//! probability is within the range that the round was priced for.
//!
//! A report is lost after its user was chosen, by a coin that is independent of everybody's value. The
//! reports that arrive are then computed from the reports that would have arrived, so the price of the round
//! without dropouts holds. Where the network chooses whose report is lost, it does not.

use shuffledp_accounting::{Participation, Rate};
use shuffledp_randomizers::{Coin, Random, below};
use std::sync::Arc;

/// A coin may be this much less likely than its rate, relatively: ten times the error of [`Coin::at_most`].
/// Coins at the low end of a range are aimed this much above it.
const COIN_ERROR: f64 = 1e-13;

/// Why users cannot be called to a round.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AttendanceError {
    /// A sample larger than the number of users.
    #[error("a sample of {sample} from {users} users")]
    Sample {
        /// Its size.
        sample: u64,
        /// The users.
        users: u64,
    },
    /// A range of check-in rates, and nobody's own ([`Attendance::with_rates`]).
    #[error("check-in rates from {lowest} to {highest}: to run a round, one rate is needed")]
    Rates {
        /// The lowest rate.
        lowest: f64,
        /// The highest rate.
        highest: f64,
    },
    /// A user's own rate outside the range.
    #[error("check-in rate {rate} of user {user} is outside [{lowest}, {highest}]")]
    OwnRate {
        /// Which user, from 0.
        user: usize,
        /// The user's rate.
        rate: f64,
        /// The lowest rate of the round.
        lowest: f64,
        /// The highest rate of the round.
        highest: f64,
    },
    /// Own rates for a round that is no check-in, or for another number of users.
    #[error("{rates} check-in rates for a round of {users} users by {participation}")]
    NotForRates {
        /// How many rates there are.
        rates: usize,
        /// The users of the round.
        users: u64,
        /// Who takes part.
        participation: &'static str,
    },
    /// A dropout rate that is not a probability below 1.
    #[error("dropout rate {0} is outside [0, 1)")]
    Dropout(f64),
}

/// Calls the users of a round one after the other.
///
/// ```
/// use shuffledp_accounting::Participation;
/// use shuffledp_protocol::Attendance;
/// use shuffledp_randomizers::Secure;
///
/// let mut random = Secure::new()?;
/// let mut attendance = Attendance::new(Participation::Sample(30), 1000, 0.0)?;
/// let came = (0..1000).filter(|_| attendance.comes(&mut random)).count();
/// assert_eq!(came, 30);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Attendance {
    choice: Choice,
    drops: Option<Coin>,
}

#[derive(Clone, Debug)]
enum Choice {
    Everyone,
    Sample {
        wanted: u64,
        left: u64,
    },
    CheckIn(Coin),
    /// A coin for each user, and whose turn it is.
    OwnCoins {
        coins: Arc<[Coin]>,
        next: usize,
    },
}

impl Attendance {
    /// Of `users` users; each who would send a report fails to with probability `dropout`.
    pub fn new(
        participation: Participation,
        users: u64,
        dropout: f64,
    ) -> Result<Self, AttendanceError> {
        let choice = match participation {
            Participation::Everyone => Choice::Everyone,
            Participation::Sample(sample) if sample > users => {
                return Err(AttendanceError::Sample { sample, users });
            }
            Participation::Sample(wanted) => Choice::Sample {
                wanted,
                left: users,
            },
            Participation::CheckIn(rate) if rate.lowest() != rate.highest() => {
                return Err(AttendanceError::Rates {
                    lowest: rate.lowest(),
                    highest: rate.highest(),
                });
            }
            Participation::CheckIn(rate) if rate.highest() == 1.0 => Choice::Everyone,
            Participation::CheckIn(rate) => {
                Choice::CheckIn(Coin::at_most(rate.highest(), 1.0 - rate.highest()))
            }
        };
        Self::losing(choice, dropout)
    }

    /// Check-in where each user has a rate of their own, in the range of the round.
    ///
    /// ```
    /// use shuffledp_accounting::{Participation, Rate};
    /// use shuffledp_protocol::Attendance;
    /// let participation = Participation::CheckIn(Rate::between(0.1, 0.5)?);
    /// assert!(Attendance::with_rates(participation, &[0.1, 0.2, 0.5], 3, 0.0).is_ok());
    /// let refused = Attendance::with_rates(participation, &[0.1, 0.6, 0.5], 3, 0.0);
    /// assert_eq!(
    ///     refused.unwrap_err().to_string(),
    ///     "check-in rate 0.6 of user 1 is outside [0.1, 0.5]"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_rates(
        participation: Participation,
        rates: &[f64],
        users: u64,
        dropout: f64,
    ) -> Result<Self, AttendanceError> {
        let refuse = |participation| {
            Err(AttendanceError::NotForRates {
                rates: rates.len(),
                users,
                participation,
            })
        };
        let range = match participation {
            Participation::CheckIn(range) => range,
            Participation::Everyone => return refuse("everybody"),
            Participation::Sample(_) => return refuse("sampling"),
        };
        if rates.len() as u64 != users {
            return refuse("check-in");
        }
        let (lowest, highest) = (range.lowest(), range.highest());
        let outside = |(_, rate): &(usize, &f64)| !(lowest..=highest).contains(*rate);
        if let Some((user, &rate)) = rates.iter().enumerate().find(outside) {
            return Err(AttendanceError::OwnRate {
                user,
                rate,
                lowest,
                highest,
            });
        }
        // A range that reaches 1 is 1 alone.
        let choice = match highest < 1.0 {
            true => Choice::OwnCoins {
                coins: rates.iter().map(|&rate| own_coin(rate, range)).collect(),
                next: 0,
            },
            false => Choice::Everyone,
        };
        Self::losing(choice, dropout)
    }

    fn losing(choice: Choice, dropout: f64) -> Result<Self, AttendanceError> {
        if !(0.0..1.0).contains(&dropout) {
            return Err(AttendanceError::Dropout(dropout));
        }
        Ok(Self {
            choice,
            drops: (dropout > 0.0).then(|| Coin::at_most(dropout, 1.0 - dropout)),
        })
    }

    /// Whether everybody's report arrives, so that no randomness is drawn.
    pub(crate) fn is_certain(&self) -> bool {
        matches!(self.choice, Choice::Everyone) && self.drops.is_none()
    }

    /// Whether a report of the next user in line arrives.
    pub fn comes<R: Random + ?Sized>(&mut self, random: &mut R) -> bool {
        let chosen = match &mut self.choice {
            Choice::Everyone => true,
            Choice::CheckIn(coin) => coin.toss(random),
            Choice::Sample { wanted, left } => {
                let chosen = *left > 0 && below(*left, random) < *wanted;
                *left = left.saturating_sub(1);
                *wanted -= u64::from(chosen);
                chosen
            }
            Choice::OwnCoins { coins, next } => {
                let coin = coins.get(*next);
                *next += 1;
                coin.is_some_and(|coin| coin.toss(random))
            }
        };
        chosen && !self.drops.is_some_and(|coin| coin.toss(random))
    }
}

/// The coin of a user whose rate is in the range, so that its probability is in the range as well.
fn own_coin(rate: f64, range: Rate) -> Coin {
    // A range narrower than a coin's error has one rate.
    let above_lowest = range.lowest() * (1.0 + 2.0 * COIN_ERROR);
    let aimed = rate.max(above_lowest).min(range.highest());
    Coin::at_most(aimed, 1.0 - aimed)
}
