//! Who sends a report: everybody, a sample of fixed size, or each by a coin of their own; and whose report is
//! lost.
//!
//! A sample is chosen in one pass over the users: of `left` users still in line, `wanted` are still to be
//! chosen, so the next one is with probability wanted/left, exactly (Knuth's algorithm S). A check-in coin
//! comes up heads with probability at most the rate.
//!
//! A report is lost after its user was chosen, by a coin that is independent of everybody's value. The
//! reports that arrive are then computed from the reports that would have arrived, so the price of the round
//! without dropouts holds. Where the network chooses whose report is lost, it does not.

use shuffledp_accounting::Participation;
use shuffledp_randomizers::{Coin, Random, below};

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
    /// A range of check-in rates: to run a round, one rate is needed.
    #[error("check-in rates from {lowest} to {highest}: to run a round, one rate is needed")]
    Rates {
        /// The lowest rate.
        lowest: f64,
        /// The highest rate.
        highest: f64,
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

#[derive(Clone, Copy, Debug)]
enum Choice {
    Everyone,
    Sample { wanted: u64, left: u64 },
    CheckIn(Coin),
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
        };
        chosen && !self.drops.is_some_and(|coin| coin.toss(random))
    }
}
