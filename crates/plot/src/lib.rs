//! Several quantities over one, as numbers ([`Sheet::csv`]) and as a picture ([`Picture::draw`]).
//!
//! A [`Sheet`] has the values that run along the horizontal axis and one [`Series`] for each quantity. A
//! series knows whether it is an upper or a lower bound and what the bound is worth; [`Look`] says how it is
//! drawn. This is the only crate that names the plotting library;
//! without its feature `draw` it draws nothing.
//!
//! ```
//! use shuffledp::{Side, Standing};
//! use shuffledp_plot::{Axis, EVERYWHERE, Kind, Look, Picture, Series, Sheet};
//!
//! let bound = |side, values: [f64; 3]| Series {
//!     name: "shuffledp".to_owned(),
//!     side,
//!     standing: Some(Standing::Certified),
//!     look: Look::Band(0),
//!     values: values.map(Some).to_vec(),
//! };
//! let sheet = Sheet {
//!     over: "rounds".to_owned(),
//!     at: vec![1.0, 10.0, 100.0],
//!     series: vec![
//!         bound(Side::Upper, [0.1, 0.33, 1.1]),
//!         bound(Side::Lower, [0.09, 0.3, 1.0]),
//!     ],
//! };
//! assert!(sheet.csv().starts_with("rounds,\"shuffledp, upper (certified)\""));
//! let picture = Picture {
//!     title: "ε of many rounds".to_owned(),
//!     subtitle: String::new(),
//!     x: Axis::log("rounds T"),
//!     y: Axis::linear("ε"),
//!     within: EVERYWHERE,
//! };
//! if shuffledp_plot::BUILT {
//!     let svg = picture.draw(&sheet, Kind::Svg)?;
//!     assert!(svg.starts_with(b"<svg"));
//! }
//! # Ok::<(), shuffledp_plot::Error>(())
//! ```

#[cfg(feature = "draw")]
mod draw;
mod picture;
mod series;
#[cfg(not(feature = "draw"))]
mod without_drawing;

/// Whether pictures can be drawn: the feature `draw`.
pub const BUILT: bool = cfg!(feature = "draw");

pub use picture::{Axis, EVERYWHERE, Kind, Picture, Scale};
pub use series::{Look, Series, Sheet};

use std::path::PathBuf;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ending of a file name is of no known kind of picture.
    #[error("{} is not {ENDINGS}", .path.display())]
    Ending {
        /// The name.
        path: PathBuf,
    },
    /// The feature that draws is off.
    #[error("this is a picture, for which the feature that draws must be built")]
    NotBuilt,
    /// The plotting library could not make the picture.
    #[error("no picture: {0}")]
    NotDrawn(String),
}

/// The names of files that [`Kind::of`] takes.
pub const ENDINGS: &str = "a file that ends in .svg or .png";
