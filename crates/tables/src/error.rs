//! Everything that can be wrong with a file, in fields: which file, and which row, column and value where
//! there are some.

use shuffledp::{grouped, plain};
use std::path::PathBuf;

/// Why a file was not read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system does not give it out.
    #[error("{} cannot be read: {reason}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// It has no bytes, or no header.
    #[error("{} is empty", .file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// It has a header and nothing below.
    #[error("{} has no rows", .file.display())]
    NoRows {
        /// The file.
        file: PathBuf,
    },
    /// Neither its extension nor its first bytes are of a kind that is read.
    #[error("{} is neither a .csv nor a .parquet file", .file.display())]
    UnknownKind {
        /// The file.
        file: PathBuf,
    },
    /// The extension is that of a Parquet file, the first bytes are not.
    #[error("{} is not a Parquet file: it does not begin with PAR1", .file.display())]
    NotParquet {
        /// The file.
        file: PathBuf,
    },
    /// A Parquet file, and the feature `parquet` is off.
    #[error("{} is a Parquet file, for which the feature parquet must be built", .file.display())]
    ParquetNotBuilt {
        /// The file.
        file: PathBuf,
    },
    /// A Parquet file that the library cannot make sense of.
    #[error("{} cannot be read as a Parquet file: {reason}", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What the library says.
        reason: String,
    },
    /// No column has this name.
    #[error("{column} is not {}", a_column_of(.file, .columns))]
    NoColumn {
        /// The file.
        file: PathBuf,
        /// The name.
        column: String,
        /// The names that there are.
        columns: Vec<String>,
    },
    /// Several columns have this name.
    #[error("{} has more than one column {}", .file.display(), quoted(.column))]
    SameName {
        /// The file.
        file: PathBuf,
        /// The name.
        column: String,
    },
    /// A row with another number of fields than the header.
    #[error(
        "row {row} of {} has another number of fields ({fields}) than the header ({expected})",
        .file.display()
    )]
    RowLength {
        /// The file.
        file: PathBuf,
        /// The row, from 1.
        row: u64,
        /// How many fields it has.
        fields: u64,
        /// How many the header has.
        expected: u64,
    },
    /// A row that is not CSV.
    #[error("row {row} of {}: {reason}", .file.display())]
    Row {
        /// The file.
        file: PathBuf,
        /// The row, from 1.
        row: u64,
        /// What the library says.
        reason: String,
    },
    /// A column that cannot be used as what it was asked for.
    #[error("column {} of {} {problem}", quoted(.column), .file.display())]
    Column {
        /// The file.
        file: PathBuf,
        /// The column.
        column: String,
        /// What is wrong with it.
        problem: ColumnProblem,
    },
    /// A row without a value.
    #[error("row {row} of {} has no value in column {}", .file.display(), quoted(.column))]
    NoValue {
        /// The file.
        file: PathBuf,
        /// The row, from 1.
        row: u64,
        /// The column.
        column: String,
    },
    /// A value that cannot be used.
    #[error("row {row} of {}, column {}: {problem}", .file.display(), quoted(.column))]
    Cell {
        /// The file.
        file: PathBuf,
        /// The row, from 1.
        row: u64,
        /// The column.
        column: String,
        /// What is wrong with the value.
        problem: CellProblem,
    },
    /// Nothing but the label, where features are needed.
    #[error("{} has no column but the label: there is nothing to learn from", .file.display())]
    OnlyLabel {
        /// The file.
        file: PathBuf,
    },
    /// A column that is learnt and learnt from.
    #[error("column {} is the label: it cannot be learnt from", quoted(.column))]
    LabelIsFeature {
        /// The label.
        column: String,
    },
    /// A column with two uses.
    #[error("column {} is both {one} and {other}", quoted(.column))]
    UsedTwice {
        /// The column.
        column: String,
        /// One of its uses.
        one: &'static str,
        /// The other one.
        other: &'static str,
    },
    /// A column of categories that is not described as one.
    #[error("categories of column {}: {reason}", quoted(.column))]
    Categories {
        /// The column.
        column: String,
        /// What is wrong.
        reason: String,
    },
    /// A value for empty cells that the column cannot have.
    #[error("{} for empty cells of column {}: {reason}", quoted(.value), quoted(.column))]
    StandIn {
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A range for the label, which is not a number.
    #[error("a range of column {}: that is the label, which is not a number", quoted(.column))]
    RangeOfLabel {
        /// The label.
        column: String,
    },
    /// Two ranges for one column, or two for all of them.
    #[error(
        "range {}..{}: {} has a range already",
        plain(*.low), plain(*.high),
        .column.as_ref().map_or("every column".to_owned(), |name| format!("column {}", quoted(name)))
    )]
    TwoRanges {
        /// The column; none for all of them.
        column: Option<String>,
        /// The lower end of the second range.
        low: f64,
        /// Its higher end.
        high: f64,
    },
    /// A share of rows for testing that is no share.
    #[error("test_share {value} is not {SHARE}")]
    TestShare {
        /// The share.
        value: f64,
    },
    /// A share of rows for testing that takes none of them, or all.
    #[error(
        "test_share {} of the {} rows of {} leaves none to {}",
        plain(*.test_share), grouped(*.rows), .file.display(), part(*.tested)
    )]
    NoExamples {
        /// The file.
        file: PathBuf,
        /// Its rows.
        rows: u64,
        /// The share.
        test_share: f64,
        /// How many rows that are: none, or all.
        tested: u64,
    },
    /// A list of classes with too few, too many, or one without a name.
    #[error("classes {value} is not {CLASSES}")]
    Classes {
        /// The list.
        value: String,
    },
    /// A list with the same class or value twice.
    #[error("{} is listed twice", quoted(.value))]
    ListedTwice {
        /// The value.
        value: String,
    },
    /// Rows that are no examples.
    #[error("{}: {reason}", .file.display())]
    Examples {
        /// The file.
        file: PathBuf,
        /// Why they are none.
        reason: String,
    },
}

/// What is wrong with a column.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnProblem {
    /// It has columns inside.
    #[error("is nested (a list, a map or a group): only plain columns can be read")]
    Nested,
    /// It holds something that is neither text nor numbers.
    #[error("holds {values} ({stored}), which cannot be used")]
    Values {
        /// What it holds.
        values: &'static str,
        /// How they are stored.
        stored: String,
    },
    /// It holds text where numbers are needed.
    #[error("holds text ({stored}), not numbers")]
    Text {
        /// How it is stored.
        stored: String,
    },
    /// Every row has the same value.
    #[error("has one value only")]
    OneValue,
}

/// What is wrong with the value of a row.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CellProblem {
    /// Bytes that are no text.
    #[error("{} is not valid UTF-8", quoted(.value))]
    NotUtf8 {
        /// The text, as far as it is one.
        value: String,
    },
    /// Text where a number is needed.
    #[error("{} is not a number", quoted(.value))]
    NotNumber {
        /// The text.
        value: String,
    },
    /// A number that is infinite or none.
    #[error("{} is not a finite number", quoted(.value))]
    NotFinite {
        /// As it stands in the file.
        value: String,
    },
    /// A decimal that is too long to be read.
    #[error("a decimal of {bytes} bytes, where 1 to 16 can be read")]
    LongDecimal {
        /// Its length.
        bytes: usize,
    },
    /// A number outside its public range.
    #[error("{} is outside its range {}..{}", plain(*.value), plain(*.low), plain(*.high))]
    Outside {
        /// The number.
        value: f64,
        /// The lower end.
        low: f64,
        /// The higher end.
        high: f64,
    },
    /// A value that is not in the list of those that there are.
    #[error("{} is not one of the values listed", quoted(.value))]
    NotListed {
        /// The value.
        value: String,
    },
    /// One value too many.
    #[error("more than {} different values", grouped(*.most as u64))]
    TooMany {
        /// The most that there may be.
        most: usize,
    },
    /// A value that the reader cannot use.
    #[error("{}: {reason}", quoted(.value))]
    Refused {
        /// The value.
        value: String,
        /// Why.
        reason: String,
    },
}

const SHARE: &str = "above 0 and below 1";
const CLASSES: &str = "2 to 256 classes, such as a,b,c";

impl Error {
    /// What would be allowed in place of a name, a share or a list.
    ///
    /// ```
    /// let error = shuffledp_tables::Error::TestShare { value: 2.0 };
    /// assert_eq!(error.allowed().as_deref(), Some("above 0 and below 1"));
    /// ```
    pub fn allowed(&self) -> Option<String> {
        match self {
            Self::NoColumn { file, columns, .. } => Some(a_column_of(file, columns)),
            Self::TestShare { .. } => Some(SHARE.to_owned()),
            Self::Classes { .. } => Some(CLASSES.to_owned()),
            _ => None,
        }
    }
}

/// Which columns there are.
fn a_column_of(file: &std::path::Path, columns: &[String]) -> String {
    /// More names would hide the sentence.
    const LISTED: usize = 10;
    let mut list: Vec<String> = columns
        .iter()
        .take(LISTED)
        .map(|name| quoted(name))
        .collect();
    if columns.len() > LISTED {
        list.push(format!("{} more", columns.len() - LISTED));
    }
    let last = list.pop().unwrap_or_else(|| "none".to_owned());
    let list = match list.is_empty() {
        true => last,
        false => format!("{} and {last}", list.join(", ")),
    };
    format!("a column of {}, which has {list}", file.display())
}

fn part(tested: u64) -> &'static str {
    match tested {
        0 => "test with",
        _ => "learn from",
    }
}

/// A text in quotes, on one line and not too long.
///
/// ```
/// assert_eq!(shuffledp_tables::quoted("a\nb"), "'a\\nb'");
/// ```
pub fn quoted(text: &str) -> String {
    /// Letters that still fit into a sentence.
    const SHOWN: usize = 40;
    let mut shown = String::new();
    for letter in text.chars().take(SHOWN) {
        match letter.is_control() {
            true => shown.extend(letter.escape_debug()),
            false => shown.push(letter),
        }
    }
    if text.chars().nth(SHOWN).is_some() {
        shown += "...";
    }
    format!("'{shown}'")
}
