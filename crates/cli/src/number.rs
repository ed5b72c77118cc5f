//! Parsers of the numbers on the command line.

use serde::{Deserialize, Serialize};
use shuffledp::{PerUser, plain};
use std::fmt;
use std::str::FromStr;

/// The error of a parser: a description of the allowed values.
#[derive(Debug)]
pub(crate) struct NotAllowed(pub(crate) &'static str);

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for NotAllowed {}

/// A real number. NaN and infinities pass: the library refuses them by name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Real(pub(crate) f64);

impl FromStr for Real {
    type Err = NotAllowed;

    fn from_str(text: &str) -> Result<Self, NotAllowed> {
        let number = text.trim().parse();
        number
            .map(Self)
            .map_err(|_| NotAllowed("a number, such as 0.5 or 1e-6"))
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain(self.0))
    }
}

/// A whole number, also as 1e6 or 2.5e3 or 1_000_000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Count(pub(crate) u64);

impl FromStr for Count {
    type Err = NotAllowed;

    fn from_str(text: &str) -> Result<Self, NotAllowed> {
        const LARGEST: f64 = 9_007_199_254_740_992.0;
        let plain = text.trim().replace('_', "");
        if let Ok(number) = plain.parse::<u64>() {
            return Ok(Self(number));
        }
        match plain.parse::<f64>() {
            Ok(number) if (0.0..=LARGEST).contains(&number) && number.fract() == 0.0 => {
                Ok(Self(number as u64))
            }
            _ => Err(NotAllowed(
                "a whole number up to 2^53, such as 1000000 or 1e6",
            )),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A lower and a higher number, such as 0..120.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Range(pub(crate) f64, pub(crate) f64);

impl FromStr for Range {
    type Err = NotAllowed;

    fn from_str(text: &str) -> Result<Self, NotAllowed> {
        let wrong =
            || NotAllowed("two numbers, the lower first and none beyond 1e300, such as 0..120");
        let (low, high) = text.split_once("..").ok_or_else(wrong)?;
        let (Real(low), Real(high)) = (low.parse()?, high.parse()?);
        if low < high && low.abs() <= 1e300 && high.abs() <= 1e300 {
            Ok(Self(low, high))
        } else {
            Err(wrong())
        }
    }
}

/// A number for everybody, or the range that everybody's own lies in, such as 0.5..2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OneOrRange(pub(crate) PerUser);

impl FromStr for OneOrRange {
    type Err = NotAllowed;

    fn from_str(text: &str) -> Result<Self, NotAllowed> {
        let real = |text: &str| match text.parse() {
            Ok(Real(number)) => Ok(number),
            Err(_) => Err(NotAllowed("a number or a range, such as 0.5 or 0.5..2")),
        };
        Ok(Self(match text.split_once("..") {
            Some((lowest, highest)) => PerUser::Range([real(lowest)?, real(highest)?]),
            None => PerUser::One(real(text)?),
        }))
    }
}
