//! Domains of parameters and values, each checked in one place with one message.

use crate::error::Error;

/// The largest ε₀ of devices that have no smaller limit of their own: that of the accountant.
pub(crate) const LARGEST_EPSILON0: f64 = 100.0;

/// Accepts ε₀ from 1e-6 to `most`. At 1e-6 the probabilities of 2³² values differ by 2⁻⁵², which integers
/// over 2⁶⁴ still represent.
pub(crate) fn epsilon0(value: f64, most: f64) -> Result<(), Error> {
    if (1e-6..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::Parameter {
        parameter: "epsilon0",
        value: value.to_string(),
        allowed: format!("[1e-6, {most}] for a device"),
    })
}

/// Accepts 2 to 2³² categories: more could not be counted one by one in memory.
pub(crate) fn categories(value: u64) -> Result<(), Error> {
    if (2..=1 << 32).contains(&value) {
        return Ok(());
    }
    Err(Error::Parameter {
        parameter: "k",
        value: value.to_string(),
        allowed: "[2, 2^32]".into(),
    })
}

/// Accepts a category below the number of categories.
pub(crate) fn category(value: u64, categories: u64) -> Result<(), Error> {
    if value < categories {
        return Ok(());
    }
    Err(Error::Value {
        value: value.to_string(),
        allowed: format!("[0, {}]", categories - 1),
    })
}

/// Accepts a number in [0, 1]; NaN is refused.
pub(crate) fn unit(value: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::Value {
        value: value.to_string(),
        allowed: "[0, 1]".into(),
    })
}
