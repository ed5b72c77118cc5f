//! A number that everybody has in common, or that each user has for themselves within a known range. Data
//! only.

use crate::digits::plain;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One number for everybody, or the range that everybody's own number lies in.
///
/// ```
/// use shuffledp_accounting::PerUser;
/// assert_eq!(PerUser::from(2.0).to_string(), "2");
/// assert_eq!(PerUser::Range([0.5, 2.0]).to_string(), "0.5..2");
/// assert_eq!(serde_json::from_str::<PerUser>("[0.5, 2]").unwrap(), PerUser::Range([0.5, 2.0]));
/// ```
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(
    untagged,
    expecting = "not a number, nor a list of two numbers, the lowest and the highest"
)]
pub enum PerUser {
    /// The same for everybody.
    One(f64),
    /// From the lowest to the highest.
    Range([f64; 2]),
}

impl PerUser {
    /// The highest number that a user can have.
    pub fn highest(self) -> f64 {
        match self {
            Self::One(number) | Self::Range([_, number]) => number,
        }
    }

    /// The number that everybody has; none where two users can differ.
    pub fn common(self) -> Option<f64> {
        match self {
            Self::One(number) => Some(number),
            Self::Range([lowest, highest]) => (lowest == highest).then_some(highest),
        }
    }
}

impl From<f64> for PerUser {
    fn from(number: f64) -> Self {
        Self::One(number)
    }
}

impl fmt::Display for PerUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(number) => f.write_str(&plain(*number)),
            Self::Range([lowest, highest]) => write!(f, "{}..{}", plain(*lowest), plain(*highest)),
        }
    }
}
