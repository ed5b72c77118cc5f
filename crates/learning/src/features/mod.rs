//! Fixed features of a picture: without a parameter, and without a look at anybody else's data. A device
//! computes them from its own picture, so they cost no privacy. One file a kind.

mod color_gradients;
mod oriented_gradients;
mod scattering;
mod smooth_gradients;

pub use color_gradients::color_gradients;
pub(crate) use color_gradients::color_gradients_of;
pub(crate) use oriented_gradients::gradients_of;
pub use oriented_gradients::oriented_gradients;
pub use scattering::scattering;
pub(crate) use scattering::scattering_of;
pub use smooth_gradients::smooth_gradients;
pub(crate) use smooth_gradients::smooth_gradients_of;
