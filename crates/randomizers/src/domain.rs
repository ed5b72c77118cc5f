//! What randomizers are for: checked once, in the same words.

use crate::error::Error;

/// ε₀ large enough for 64 bits of probability to carry it among 2³² values, and not above `most`.
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

/// Numbers of categories that are counted one by one.
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

/// A category that there is.
pub(crate) fn category(value: u64, categories: u64) -> Result<(), Error> {
    if value < categories {
        return Ok(());
    }
    Err(Error::Value {
        value: value.to_string(),
        allowed: format!("[0, {}]", categories - 1),
    })
}

/// A number in [0, 1]; NaN is none.
pub(crate) fn unit(value: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::Value {
        value: value.to_string(),
        allowed: "[0, 1]".into(),
    })
}
