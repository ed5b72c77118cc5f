//! Everything that can be wrong with a data set, a model or a question to it.

use shuffledp_accounting::plain;
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
    /// A parameter of a run that is not given and has no default.
    #[error("{parameter}, {meaning}, is needed for {of} {name}")]
    Needed {
        /// Which parameter.
        parameter: &'static str,
        /// What it is.
        meaning: &'static str,
        /// The parameter that asks for it.
        of: &'static str,
        /// The value of that parameter.
        name: String,
    },
    /// A parameter of a run that has no effect there.
    #[error("{parameter} is not for {of} {name}")]
    Surplus {
        /// Which parameter.
        parameter: &'static str,
        /// The parameter that has no use for it.
        of: &'static str,
        /// The value of that parameter.
        name: String,
    },
    /// A run without a source of examples.
    #[error("a run needs data, a source of examples to learn from")]
    NoData,
    /// A table, which this crate does not read.
    #[error("{} is a table: its examples must be read by the caller", path.display())]
    TableNotRead {
        /// The table.
        path: PathBuf,
    },
    /// A budget that one round exceeds.
    #[error("target_epsilon {}: one round takes more at delta {}", plain(*target), plain(*delta))]
    Budget {
        /// The budget.
        target: f64,
        /// The δ at which it is asked for.
        delta: f64,
    },
    /// A folder for a new run that holds a run.
    #[error("{} holds a run already", path.display())]
    HoldsRun {
        /// The folder.
        path: PathBuf,
    },
    /// A folder to go on from that holds no run.
    #[error("{}: no run is there (no record.json)", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that another process writes to.
    #[error("{}: another process runs there", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A file of a run that cannot be gone on with.
    #[error("{} is refused: {why}", file.display())]
    RunFile {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file of a trained model that does not describe one.
    #[error("{} is refused: {why}", file.display())]
    ModelFile {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
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
    Shuffle(#[from] shuffledp_protocol::ShuffleError),
    /// The users cannot be called.
    #[error(transparent)]
    Attendance(#[from] shuffledp_protocol::AttendanceError),
    /// Secure aggregation failed.
    #[error(transparent)]
    Aggregation(#[from] shuffledp_protocol::secure_aggregation::AggregationError),
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

    /// A parameter that has no effect where another one, by name, has this value.
    pub(crate) fn surplus(parameter: &'static str, (of, name): (&'static str, &str)) -> Self {
        Self::Surplus {
            parameter,
            of,
            name: name.to_owned(),
        }
    }

    /// A parameter that is missing where another one, by name, has this value.
    pub(crate) fn needed(
        parameter: &'static str,
        meaning: &'static str,
        (of, name): (&'static str, &str),
    ) -> Self {
        Self::Needed {
            parameter,
            meaning,
            of,
            name: name.to_owned(),
        }
    }

    /// Refuses numbers that are not as many as wanted.
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
