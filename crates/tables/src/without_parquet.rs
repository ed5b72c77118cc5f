//! In place of `in_parquet` where the feature `parquet` is off: a Parquet file is refused.

use crate::column::{Column, EachNumber, EachText};
use crate::error::Error;
use std::fs::File;

/// The names of all columns, with the feature.
#[cfg(feature = "learning")]
pub(crate) fn names(column: Column, _: File) -> Result<Vec<String>, Error> {
    Err(refusal(column))
}

/// A column as text, with the feature.
pub(crate) fn texts(column: Column, _: File, _: EachText) -> Result<u64, Error> {
    Err(refusal(column))
}

/// A column as numbers, with the feature.
pub(crate) fn numbers(column: Column, _: File, _: EachNumber) -> Result<u64, Error> {
    Err(refusal(column))
}

fn refusal(column: Column) -> Error {
    let file = column.path().to_owned();
    Error::ParquetNotBuilt { file }
}
