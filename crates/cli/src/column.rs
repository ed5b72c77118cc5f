//! One column of a CSV or Parquet file, read row by row; or all of them ([`all`]).

#[cfg(feature = "train")]
pub(crate) mod all;
#[cfg(feature = "parquet")]
mod in_parquet;
#[cfg(not(feature = "parquet"))]
#[path = "column/without_parquet.rs"]
mod in_parquet;
#[cfg(all(test, feature = "parquet"))]
mod tests;

use crate::failure::Failure;
use std::fs::File;
use std::io::{Chain, Cursor, Read};
use std::path::Path;

/// Reads a column as text: `each(row, text)`, rows from 1. Gives the number of rows.
pub(crate) fn texts(
    path: &Path,
    column: &str,
    each: &mut dyn FnMut(u64, &str) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    Column::new(path, column).texts(each)
}

/// Reads a column as finite numbers: `each(row, number)`, rows from 1. Gives the number of rows.
pub(crate) fn numbers(
    path: &Path,
    column: &str,
    each: &mut dyn FnMut(u64, f64) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    Column::new(path, column).numbers(each)
}

/// Something is wrong with a cell.
pub(crate) fn refused_cell(path: &Path, column: &str, row: u64, what: &str) -> Failure {
    Column::new(path, column).at(row, what)
}

/// Which column of which file; knows how to say what is wrong with it.
#[derive(Clone, Copy)]
struct Column<'a> {
    path: &'a Path,
    name: &'a str,
    asked: Asked,
}

/// How a command asks.
#[derive(Clone, Copy)]
struct Asked {
    /// The flag that names the file.
    file: &'static str,
    /// The flag that names the column.
    column: &'static str,
    /// What is added where text stands in place of numbers.
    advice: &'static str,
}

/// An opened file; of a CSV file the first bytes have been read.
enum Source {
    Csv(Vec<u8>, File),
    Parquet(File),
}

/// What a Parquet file begins with.
const MAGIC: &[u8] = b"PAR1";

impl<'a> Column<'a> {
    /// The one column that a command asks for.
    fn new(path: &'a Path, name: &'a str) -> Self {
        let asked = Asked {
            file: "--input",
            column: "--column",
            advice: "",
        };
        Self { path, name, asked }
    }

    fn texts(self, each: &mut dyn FnMut(u64, &str) -> Result<(), Failure>) -> Result<u64, Failure> {
        match self.open()? {
            Source::Csv(head, file) => read_csv(self, head, file, |row, cell| {
                each(row, self.utf8(row, cell)?)
            }),
            Source::Parquet(file) => in_parquet::texts(self, file, each),
        }
    }

    fn numbers(
        self,
        each: &mut dyn FnMut(u64, f64) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        match self.open()? {
            Source::Csv(head, file) => read_csv(self, head, file, |row, cell| {
                each(row, self.number(row, cell)?)
            }),
            Source::Parquet(file) => in_parquet::numbers(self, file, each),
        }
    }

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
                "{} {} is neither a .csv nor a .parquet file",
                self.asked.file,
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
            (Some(_), Some(_)) => Err(Failure::flag(
                self.asked.column,
                format!(
                    "{} {}: {} has more than one column of that name",
                    self.asked.column,
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
                Err(Failure::value(self.asked.column, self.name, &allowed))
            }
        }
    }

    /// A cell of a CSV file as a number.
    fn number(self, row: u64, cell: &[u8]) -> Result<f64, Failure> {
        let text = self.utf8(row, cell)?;
        let number = text.trim().parse().map_err(|_| {
            let what = format!("{} is not a number{}", quoted(text), self.asked.advice);
            self.at(row, &what)
        })?;
        self.finite(row, number, text)
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
        Failure::flag(self.asked.file, message)
    }

    fn unreadable(self, error: &std::io::Error) -> Failure {
        let text = error.to_string();
        let reason = text.split(" (os error").next().unwrap_or_default();
        let (flag, path) = (self.asked.file, self.path.display());
        self.fail(format!("{flag} {path} cannot be read: {reason}"))
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
    let mut records = Records::new(column, head, file)?;
    let index = column.find(&records.names)?;
    let mut line = records.line();
    while records.next()? {
        let cell = records.cell(column, index)?;
        if records.names.len() == 1 {
            // Empty lines are passed over, but here they are rows without a value.
            let lines = records.line() - line;
            line += lines;
            if lines > 1 && lines > 1 + cell.iter().filter(|&&byte| byte == b'\n').count() as u64 {
                return Err(column.missing(records.row));
            }
        }
        each(records.row, cell)?;
    }
    column.some(records.row)
}

/// The rows of a CSV file below its header.
struct Records<'a> {
    column: Column<'a>,
    reader: csv::Reader<Lines>,
    names: Vec<String>,
    record: csv::ByteRecord,
    /// The row that was read last, 0 before the first.
    row: u64,
}

/// What was read of a file already, the rest, and the end of the last line.
type Lines = Chain<Chain<Cursor<Vec<u8>>, File>, &'static [u8]>;

impl<'a> Records<'a> {
    /// Reads the header.
    fn new(column: Column<'a>, head: Vec<u8>, file: File) -> Result<Self, Failure> {
        // The last line gets its end, if it has none, so that every record takes up whole lines.
        let input = Cursor::new(head).chain(file).chain(b"\n".as_slice());
        let mut reader = csv::ReaderBuilder::new()
            .buffer_capacity(1 << 16)
            .from_reader(input);
        let header = reader
            .byte_headers()
            .map_err(|error| wrong(column, 0, error))?;
        let names: Vec<String> = header
            .iter()
            .map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned())
            .collect();
        if names.is_empty() {
            return Err(column.fail(format!("{} is empty", column.path.display())));
        }
        Ok(Self {
            column,
            reader,
            names,
            record: csv::ByteRecord::new(),
            row: 0,
        })
    }

    /// Goes on to the next row, if there is one.
    fn next(&mut self) -> Result<bool, Failure> {
        let there = self
            .reader
            .read_byte_record(&mut self.record)
            .map_err(|error| wrong(self.column, self.row + 1, error))?;
        self.row += u64::from(there);
        Ok(there)
    }

    /// A cell of this row; every row has as many as the header.
    fn cell(&self, column: Column, index: usize) -> Result<&[u8], Failure> {
        match self.record.get(index) {
            Some(cell) if !cell.trim_ascii().is_empty() => Ok(cell),
            _ => Err(column.missing(self.row)),
        }
    }

    /// The line that the next row begins on.
    fn line(&self) -> u64 {
        self.reader.position().line()
    }
}

/// A row that is not one.
fn wrong(column: Column, row: u64, error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => column.unreadable(&error),
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => column.fail(format!(
            "row {row} of {} has another number of fields ({len}) than the header ({expected_len})",
            column.path.display()
        )),
        kind => column.fail(format!("row {row} of {}: {kind:?}", column.path.display())),
    }
}
