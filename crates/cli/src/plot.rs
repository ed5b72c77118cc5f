//! Pictures of `--plot`: the library's errors as flags, and the file.

use crate::failure::{Failure, not_built};
pub(crate) use shuffledp_plot::{Axis, EVERYWHERE, Kind, Picture};
use shuffledp_plot::{ENDINGS, Error};
use std::path::Path;

/// Writes a picture, whole or not at all. A failure is given back, and the numbers are printed all the same.
pub(crate) fn written(path: &Path, bytes: Result<Vec<u8>, impl Into<Failure>>) -> Option<Failure> {
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(failure) => return Some(failure.into()),
    };
    let existed = path.exists();
    let error = std::fs::write(path, bytes).err()?;
    if !existed {
        // A part of a picture is of no use. If it cannot be removed either, the message below is enough.
        let _ = std::fs::remove_file(path);
    }
    let name = path.display();
    Some(Failure::incomplete(format!(
        "--plot {name} cannot be written: {error}"
    )))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Ending { path } => Self::value("--plot", path.display(), ENDINGS),
            Error::NotBuilt => Self::flag("--plot", not_built("this is a picture", "plots")),
            error => Self::flag("--plot", error.to_string()),
        }
    }
}
