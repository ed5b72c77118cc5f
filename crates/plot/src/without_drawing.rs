//! In place of `draw` where the feature `draw` is off: there are no pictures.

use crate::Error;
use crate::picture::{Kind, Picture};
use crate::series::Sheet;

impl Picture {
    /// The bytes of a file, with the feature `draw`.
    pub fn draw(&self, _: &Sheet, _: Kind) -> Result<Vec<u8>, Error> {
        Err(Error::NotBuilt)
    }
}
