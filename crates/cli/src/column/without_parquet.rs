//! In place of [`in_parquet`](super) where the feature `parquet` is off: a Parquet file is refused.

use super::Column;
use crate::failure::{Failure, not_built};
use std::fs::File;

/// The names of all columns, with the feature.
#[cfg(feature = "train")]
pub(super) fn names(column: Column, _: File) -> Result<Vec<String>, Failure> {
    Err(refusal(column))
}

/// A column as text, with the feature.
pub(super) fn texts(
    column: Column,
    _: File,
    _: &mut dyn FnMut(u64, &str) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    Err(refusal(column))
}

/// A column as numbers, with the feature.
pub(super) fn numbers(
    column: Column,
    _: File,
    _: &mut dyn FnMut(u64, f64) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    Err(refusal(column))
}

fn refusal(column: Column) -> Failure {
    let what = format!("{} is a Parquet file", column.path.display());
    column.fail(not_built(&what, "parquet"))
}
