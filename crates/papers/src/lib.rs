//! Tables and figures of the five papers that this project started from, as code, beside a few of our own.
//!
//! An [`Exhibit`] is one of them. Made, it has numbers (CSV), a picture (SVG) and a note (Markdown): the
//! settings, the numbers that the paper prints, the numbers that the same formula gives here, and the
//! certified ones. The first line of a note says what was cut, and why; [`index`] names the exhibits that are
//! not made at all.
//!
//! Most exhibits are about accounting alone and take seconds. Those that learn need MNIST and somebody who
//! trains: a [`Learner`].
//!
//! ```
//! use shuffledp_papers::exhibits;
//!
//! let exhibit = exhibits()
//!     .into_iter()
//!     .find(|exhibit| exhibit.id() == "numerical-accounting/figure-2");
//! let exhibit = exhibit.ok_or("no such exhibit")?;
//! assert_eq!(exhibit.paper(), "numerical-accounting");
//! assert!(exhibit.learns().is_none());
//! let shown = exhibit.made(None)?;
//! let [csv, svg, note] = exhibit.files(&shown)?;
//! assert_eq!(note.0, "numerical-accounting/figure-2.md");
//! assert!(csv.1.starts_with(b"epsilon,"));
//! assert!(svg.1.starts_with(b"<svg"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod curves;
mod enhanced_rdp;
mod error;
mod exhibit;
mod learning;
mod note;
mod numerical_accounting;
mod ours;
mod runs;
mod shuffle_gaussian;
mod shuffled_check_in;
mod subsampled_shuffle_rdp;

pub use error::Error;
pub use exhibit::{Exhibit, File, Shown, exhibits, index};
pub use learning::{Course, Learner, Pictures, School};
