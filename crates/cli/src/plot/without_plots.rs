//! In place of `draw` where the feature `plots` is off: there are no pictures.

use super::{Kind, Picture};
use crate::failure::{Failure, not_built};
use crate::series::Sheet;

/// No picture can be drawn.
pub(crate) const BUILT: bool = false;

impl Picture {
    /// The bytes of a file, with the feature.
    pub(crate) fn draw(&self, _: &Sheet, _: Kind) -> Result<Vec<u8>, Failure> {
        let message = not_built("this is a picture", "plots");
        Err(Failure::flag("--plot", message))
    }
}
