//! The matrix of a randomizer: a CSV file without a header, one row for each input, one probability for each
//! output.

use shuffledp::Channel;
use std::path::Path;

/// The largest file that is read, in bytes: more than 100 for each of the most entries.
const LARGEST: u64 = 1 << 25;

/// Why a matrix was not read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// The operating system does not give it out, or it is not CSV.
    #[error("{0}")]
    Unreadable(String),
    /// A file that is too large.
    #[error("{bytes} bytes: at most {LARGEST} are read")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// An entry that is not a number.
    #[error("line {line}, column {column}: '{value}' is not a number")]
    NotANumber {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The entry.
        value: String,
    },
    /// More rows or entries than the accountant answers for.
    #[error(
        "more than {} rows or {} entries: every pair of inputs is evaluated, and this would take too long",
        Channel::MOST_INPUTS,
        Channel::MOST_ENTRIES
    )]
    TooMany,
    /// Numbers that are not the rows of a channel.
    #[error("{0} (rows and columns from 0)")]
    NotAChannel(shuffledp::Error),
}

/// Reads the rows of a matrix, and checks that they are those of a channel.
///
/// ```
/// use shuffledp_tables::{MatrixError, read_matrix};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("response.csv");
/// std::fs::write(&path, "0.75, 0.25\n0.25, 0.75\n")?;
/// assert_eq!(read_matrix(&path)?, [[0.75, 0.25], [0.25, 0.75]]);
/// std::fs::write(&path, "0.75, 1/4\n")?;
/// let refused = read_matrix(&path).unwrap_err();
/// assert_eq!(refused.to_string(), "line 1, column 2: '1/4' is not a number");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_matrix(path: &Path) -> Result<Vec<Vec<f64>>, MatrixError> {
    let unreadable = |error: std::io::Error| MatrixError::Unreadable(error.to_string());
    let not_csv = |error: csv::Error| MatrixError::Unreadable(error.to_string());
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > LARGEST {
        return Err(MatrixError::TooLarge { bytes });
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(not_csv)?;
    let (mut rows, mut entries) = (Vec::new(), 0);
    for record in reader.records() {
        let record = record.map_err(not_csv)?;
        let number = |(column, text): (usize, &str)| {
            text.parse().map_err(|_| MatrixError::NotANumber {
                line: rows.len() + 1,
                column: column + 1,
                value: text.to_owned(),
            })
        };
        let row: Result<Vec<f64>, MatrixError> = record.iter().enumerate().map(number).collect();
        entries += record.len();
        rows.push(row?);
        // The library's limits, while the file is read.
        if rows.len() > Channel::MOST_INPUTS || entries > Channel::MOST_ENTRIES {
            return Err(MatrixError::TooMany);
        }
    }
    // Whether it is a channel is checked here, where the file can be named.
    Channel::new(rows.clone()).map_err(MatrixError::NotAChannel)?;
    Ok(rows)
}
