//! One column of a CSV or Parquet file, read row by row.

mod in_parquet;
#[cfg(test)]
mod tests;

use crate::failure::Failure;
use in_parquet::{Value, read_parquet};
use parquet::errors::ParquetError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a column as text: `each(row, text)`, rows from 1. Gives the number of rows.
pub(crate) fn texts(
    path: &Path,
    column: &str,
    each: &mut dyn FnMut(u64, &str) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let column = Column { path, name: column };
    match column.open()? {
        Source::Csv(head, file) => read_csv(column, head, file, |row, cell| {
            each(row, column.utf8(row, cell)?)
        }),
        Source::Parquet(file) => {
            let mut text = String::new();
            read_parquet(column, file, false, |row, value| {
                if let Value::Bytes(bytes) = value {
                    return each(row, column.utf8(row, bytes)?);
                }
                value.write(&mut text);
                match value {
                    Value::Single(value) => column.finite(row, f64::from(value), &text)?,
                    Value::Real(value) => column.finite(row, value, &text)?,
                    _ => 0.0,
                };
                each(row, &text)
            })
        }
    }
}

/// Reads a column as finite numbers: `each(row, number)`, rows from 1. Gives the number of rows.
pub(crate) fn numbers(
    path: &Path,
    column: &str,
    each: &mut dyn FnMut(u64, f64) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let column = Column { path, name: column };
    match column.open()? {
        Source::Csv(head, file) => read_csv(column, head, file, |row, cell| {
            let text = column.utf8(row, cell)?;
            let number = text
                .trim()
                .parse()
                .map_err(|_| column.at(row, &format!("{} is not a number", quoted(text))))?;
            each(row, column.finite(row, number, text)?)
        }),
        Source::Parquet(file) => {
            let mut text = String::new();
            read_parquet(column, file, true, |row, value| {
                let number = match value {
                    Value::Signed(value) => value as f64,
                    Value::Unsigned(value) => value as f64,
                    Value::Single(value) => f64::from(value),
                    Value::Real(value) => value,
                    Value::Truth(value) => f64::from(u8::from(value)),
                    // The nearest number to the exact decimal: a quotient would round twice.
                    Value::Decimal(..) | Value::Bytes(_) => {
                        value.write(&mut text);
                        text.parse().unwrap_or(f64::NAN)
                    }
                };
                if !number.is_finite() {
                    value.write(&mut text);
                }
                each(row, column.finite(row, number, &text)?)
            })
        }
    }
}

/// Something is wrong with a cell.
pub(crate) fn refused_cell(path: &Path, column: &str, row: u64, what: &str) -> Failure {
    Column { path, name: column }.at(row, what)
}

/// Which column of which file; knows how to say what is wrong with it.
#[derive(Clone, Copy)]
struct Column<'a> {
    path: &'a Path,
    name: &'a str,
}

/// An opened file; of a CSV file the first bytes have been read.
enum Source {
    Csv(Vec<u8>, File),
    Parquet(File),
}

/// What a Parquet file begins with.
const MAGIC: &[u8] = b"PAR1";

impl Column<'_> {
    /// Opens the file; its kind is that of its extension, or else of its first bytes.
    fn open(self) -> Result<Source, Failure> {
        let unreadable = |error| self.unreadable(&error);
        let mut file = File::open(self.path).map_err(unreadable)?;
        let mut head = Vec::new();
        (&mut file)
            .take(MAGIC.len() as u64)
            .read_to_end(&mut head)
            .map_err(unreadable)?;
        if head.is_empty() {
            return Err(self.fail(format!("{} is empty", self.path.display())));
        }
        let extension = self.path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("csv") {
            return Ok(Source::Csv(head, file));
        }
        match (extension.eq_ignore_ascii_case("parquet"), head == MAGIC) {
            (_, true) => Ok(Source::Parquet(file)),
            (true, false) => Err(self.fail(format!(
                "{} is not a Parquet file: it does not begin with PAR1",
                self.path.display()
            ))),
            (false, false) => Err(self.fail(format!(
                "--input {} is neither a .csv nor a .parquet file",
                self.path.display()
            ))),
        }
    }

    /// Where the column is among all; their names are listed if it is not.
    fn find(self, names: &[String]) -> Result<usize, Failure> {
        const LISTED: usize = 10;
        let mut found = (0..names.len()).filter(|&i| names[i] == self.name);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => Err(Failure::words(
                "--column",
                format!(
                    "--column {}: {} has more than one column of that name",
                    self.name,
                    self.path.display()
                ),
            )),
            (None, _) => {
                let mut list: Vec<String> =
                    names.iter().take(LISTED).map(|name| quoted(name)).collect();
                if names.len() > LISTED {
                    list.push(format!("{} more", names.len() - LISTED));
                }
                let last = list.pop().unwrap_or_else(|| "none".to_owned());
                let list = match list.is_empty() {
                    true => last,
                    false => format!("{} and {last}", list.join(", ")),
                };
                let allowed = format!("a column of {}, which has {list}", self.path.display());
                Err(Failure::value("--column", self.name, &allowed))
            }
        }
    }

    /// A cell as text.
    fn utf8(self, row: u64, cell: &[u8]) -> Result<&str, Failure> {
        str::from_utf8(cell).map_err(|_| {
            let text = String::from_utf8_lossy(cell);
            self.at(row, &format!("{} is not valid UTF-8", quoted(&text)))
        })
    }

    /// A number that is one; `text` is what the file says.
    fn finite(self, row: u64, number: f64, text: &str) -> Result<f64, Failure> {
        match number.is_finite() {
            true => Ok(number),
            false => Err(self.at(row, &format!("{} is not a finite number", quoted(text)))),
        }
    }

    fn fail(self, message: String) -> Failure {
        Failure::words("--input", message)
    }

    fn unreadable(self, error: &std::io::Error) -> Failure {
        let text = error.to_string();
        let reason = text.split(" (os error").next().unwrap_or_default();
        let path = self.path.display();
        self.fail(format!("--input {path} cannot be read: {reason}"))
    }

    /// Something is wrong with a cell.
    fn at(self, row: u64, what: &str) -> Failure {
        let (path, name) = (self.path.display(), quoted(self.name));
        self.fail(format!("row {row} of {path}, column {name}: {what}"))
    }

    fn missing(self, row: u64) -> Failure {
        let (path, name) = (self.path.display(), quoted(self.name));
        self.fail(format!("row {row} of {path} has no value in column {name}"))
    }

    /// The column is not one that can be read.
    fn refused(self, why: &str) -> Failure {
        let (path, name) = (self.path.display(), quoted(self.name));
        self.fail(format!("column {name} of {path} {why}"))
    }

    fn damaged(self, error: &ParquetError) -> Failure {
        let text = error.to_string();
        let words: Vec<&str> = text
            .trim_start_matches("Parquet error: ")
            .split_whitespace()
            .collect();
        let path = self.path.display();
        self.fail(format!(
            "{path} cannot be read as a Parquet file: {}",
            words.join(" ")
        ))
    }

    /// The number of rows, if there are any.
    fn some(self, rows: u64) -> Result<u64, Failure> {
        match rows {
            0 => Err(self.fail(format!("{} has no rows", self.path.display()))),
            rows => Ok(rows),
        }
    }
}

/// A text in quotes, on one line and not too long.
pub(crate) fn quoted(text: &str) -> String {
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

/// Reads a CSV file with a header.
fn read_csv(
    column: Column,
    head: Vec<u8>,
    file: File,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let wrong = |row: u64, error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => column.unreadable(&error),
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => column.fail(format!(
            "row {row} of {} has another number of fields ({len}) than the header ({expected_len})",
            column.path.display()
        )),
        kind => column.fail(format!("row {row} of {}: {kind:?}", column.path.display())),
    };
    // The last line gets its end, if it has none, so that every record takes up whole lines.
    let input = head.as_slice().chain(file).chain(b"\n".as_slice());
    let mut reader = csv::ReaderBuilder::new()
        .buffer_capacity(1 << 16)
        .from_reader(input);
    let header = reader.byte_headers().map_err(|error| wrong(0, error))?;
    let names: Vec<String> = header
        .iter()
        .map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned())
        .collect();
    if names.is_empty() {
        return Err(column.fail(format!("{} is empty", column.path.display())));
    }
    let index = column.find(&names)?;
    let (mut record, mut rows) = (csv::ByteRecord::new(), 0);
    let mut line = reader.position().line();
    while reader
        .read_byte_record(&mut record)
        .map_err(|error| wrong(rows + 1, error))?
    {
        rows += 1;
        let cell = &record[index];
        if cell.trim_ascii().is_empty() {
            return Err(column.missing(rows));
        }
        if names.len() == 1 {
            // Empty lines are passed over, but here they are rows without a value.
            let lines = reader.position().line() - line;
            line += lines;
            if lines > 1 && lines > 1 + cell.iter().filter(|&&byte| byte == b'\n').count() as u64 {
                return Err(column.missing(rows));
            }
        }
        each(rows, cell)?;
    }
    column.some(rows)
}
