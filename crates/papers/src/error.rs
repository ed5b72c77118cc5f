//! Why an exhibit could not be made.

use shuffledp::bounds::Unmet;

/// Why an exhibit could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The account of a round failed.
    #[error(transparent)]
    Accounting(#[from] shuffledp::Error),
    /// A randomizer refused its parameters.
    #[error(transparent)]
    Randomizer(#[from] shuffledp::randomizers::Error),
    /// A model, its data or a step of it failed.
    #[error(transparent)]
    Learning(#[from] shuffledp::learning::Error),
    /// The picture could not be drawn.
    #[error(transparent)]
    Picture(#[from] shuffledp_plot::Error),
    /// A condition of a published bound does not hold where an exhibit needs the bound.
    #[error("a published bound does not apply: {0}")]
    NotApplicable(String),
    /// The [`Learner`](crate::Learner) failed; its own error.
    #[error(transparent)]
    Run(Box<dyn std::error::Error + Send + Sync>),
    /// A run without protection was to be priced.
    #[error("a run without protection has no price")]
    Unprotected,
    /// A run that is not logged was asked for without a folder of examples.
    #[error("the run {run} is not kept, and there is no folder of {} to make it from", pictures.name())]
    NoData {
        /// The name of the run.
        run: String,
        /// What it learns from.
        pictures: crate::Pictures,
    },
    /// The log of a run cannot be read, or not be written.
    #[error("the log {}: {why}", path.display())]
    Log {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// An exhibit that learns was asked for without a [`School`](crate::School).
    #[error("{exhibit} learns from pictures, and there is no school")]
    NoSchool {
        /// The exhibit.
        exhibit: &'static str,
    },
}

impl From<Unmet> for Error {
    fn from(unmet: Unmet) -> Self {
        Self::NotApplicable(unmet.0)
    }
}
