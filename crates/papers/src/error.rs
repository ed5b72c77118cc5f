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
    /// Runs that share one list of prices are charged for different rounds.
    #[error("the runs of {exhibit} differ in price")]
    TwoPrices {
        /// The exhibit that compares them.
        exhibit: &'static str,
    },
    /// An exhibit that learns was asked for without a [`School`](crate::School).
    #[error("{exhibit} learns from MNIST, and there is no folder to read it from")]
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
