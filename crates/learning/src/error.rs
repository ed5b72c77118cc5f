//! Everything that can be wrong with a data set, a model or a question to it.

use std::path::{Path, PathBuf};

/// Why something was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that is not there.
    #[error("no {wanted} in {}: {hint}", folder.display())]
    Missing {
        /// Where it was looked for.
        folder: PathBuf,
        /// The name, or names, that would do.
        wanted: String,
        /// Where such files come from.
        hint: &'static str,
    },
    /// A file that the operating system did not read.
    #[error("{} cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A gzip stream that does not unpack.
    #[error("{}: the gzip stream is corrupt near byte {offset}: {why}", file.display())]
    Packed {
        /// The file.
        file: PathBuf,
        /// How far the packed file was read.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
    /// A file with the wrong content.
    #[error("{}, byte {offset}: {why}", file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// The offending byte, of the content once unpacked.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
    /// Examples that do not make a data set.
    #[error("examples are refused: {why}")]
    Examples {
        /// What is wrong with them.
        why: String,
    },
    /// A parameter of a model or of a data set.
    #[error("{parameter} {value} is outside {allowed}")]
    Parameter {
        /// Which parameter.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Numbers that are not as many as the model has use for.
    #[error("{what}: {given} numbers, the model has {wanted}")]
    Length {
        /// Which numbers.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// A gradient with a coordinate that is NaN or infinite.
    #[error("the gradient is not finite")]
    NotFinite,
    /// Parameters that are NaN or infinite.
    #[error("the parameters left the range of numbers: a smaller rate would keep them there")]
    Diverged,
    /// A randomizer refused a value or a parameter.
    #[error(transparent)]
    Randomizer(#[from] shuffledp_randomizers::Error),
    /// The accountant refused a round.
    #[error(transparent)]
    Accounting(#[from] shuffledp_accounting::Error),
    /// The shuffler failed.
    #[error(transparent)]
    Shuffler(#[from] shuffledp_protocol::Error),
    /// Nobody can be called.
    #[error(transparent)]
    Attendance(#[from] shuffledp_protocol::Unattended),
    /// A round that is not the one that runs: another mechanism, or other people.
    #[error("the round that is charged is not the one that runs")]
    OtherRound,
    /// A checkpoint that cannot be gone on from.
    #[error("the checkpoint is refused: {why}")]
    Checkpoint {
        /// What is wrong with it.
        why: String,
    },
    /// A workspace that another model made.
    #[error("the workspace was made by another model")]
    Workspace,
}

impl Error {
    pub(crate) fn content(file: &Path, offset: u64, why: impl Into<String>) -> Self {
        Self::Content {
            file: file.into(),
            offset,
            why: why.into(),
        }
    }

    pub(crate) fn parameter(
        parameter: &'static str,
        value: impl ToString,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Parameter {
            parameter,
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }

    /// Fine if there are as many numbers as wanted.
    pub(crate) fn unless_length(
        what: &'static str,
        given: usize,
        wanted: usize,
    ) -> Result<(), Self> {
        if given == wanted {
            return Ok(());
        }
        Err(Self::Length {
            what,
            given,
            wanted,
        })
    }
}
