//! One column of a CSV or Parquet file, read row by row.

use crate::error::{CellProblem, ColumnProblem, Error};
use crate::{in_csv, in_parquet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Which column of which file.
///
/// ```
/// use shuffledp_tables::{Column, Error};
/// let refused = Column::new("no/such/file.csv".as_ref(), "age").numbers(&mut |_, _| Ok(()));
/// assert!(matches!(refused, Err(Error::Unreadable { .. })));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    path: &'a Path,
    name: &'a str,
}

/// An opened file; of a CSV file the first bytes have been read.
pub(crate) enum Source {
    Csv(Vec<u8>, File),
    Parquet(File),
}

/// Takes the row, from 1, and its cell as text; none where the cell has no value.
pub(crate) type EachText<'a> = &'a mut dyn FnMut(u64, Option<&str>) -> Result<(), Error>;
/// The same of numbers.
pub(crate) type EachNumber<'a> = &'a mut dyn FnMut(u64, Option<f64>) -> Result<(), Error>;

/// What a Parquet file begins with.
const MAGIC: &[u8] = b"PAR1";

impl<'a> Column<'a> {
    /// A column by its name; the file is not opened yet.
    pub fn new(path: &'a Path, name: &'a str) -> Self {
        Self { path, name }
    }

    /// The file.
    pub fn path(self) -> &'a Path {
        self.path
    }

    /// The name of the column.
    pub fn name(self) -> &'a str {
        self.name
    }

    /// Reads it as text: `each(row, text)`, rows from 1. Gives the number of rows.
    pub fn texts(self, each: &mut dyn FnMut(u64, &str) -> Result<(), Error>) -> Result<u64, Error> {
        match self.open()? {
            Source::Csv(head, file) => in_csv::read(self, head, file, |row, cell| {
                each(row, self.utf8(row, cell)?)
            }),
            Source::Parquet(file) => in_parquet::texts(self, file, &mut |row, text| {
                each(row, text.ok_or_else(|| self.missing(row))?)
            }),
        }
    }

    /// Reads it as finite numbers: `each(row, number)`, rows from 1. Gives the number of rows.
    pub fn numbers(
        self,
        each: &mut dyn FnMut(u64, f64) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        match self.open()? {
            Source::Csv(head, file) => in_csv::read(self, head, file, |row, cell| {
                each(row, self.number(row, cell)?)
            }),
            Source::Parquet(file) => in_parquet::numbers(self, file, &mut |row, number| {
                each(row, number.ok_or_else(|| self.missing(row))?)
            }),
        }
    }

    /// Reads it as numbers of the public range `low..=high`, each put into [0, 1].
    pub fn within(self, low: f64, high: f64) -> Result<Vec<f64>, Error> {
        let mut all = Vec::new();
        self.numbers(&mut |row, value| {
            if !(low..=high).contains(&value) {
                return Err(self.at(row, CellProblem::Outside { value, low, high }));
            }
            all.push(((value - low) / (high - low)).clamp(0.0, 1.0));
            Ok(())
        })?;
        Ok(all)
    }

    /// Opens the file; its kind is that of its extension, or else of its first bytes.
    pub(crate) fn open(self) -> Result<Source, Error> {
        let unreadable = |error| self.unreadable(&error);
        let mut file = File::open(self.path).map_err(unreadable)?;
        let mut head = Vec::new();
        (&mut file)
            .take(MAGIC.len() as u64)
            .read_to_end(&mut head)
            .map_err(unreadable)?;
        if head.is_empty() {
            return Err(self.empty());
        }
        let extension = self.path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("csv") {
            return Ok(Source::Csv(head, file));
        }
        let named = extension.eq_ignore_ascii_case("parquet");
        let file_name = self.path.to_owned();
        match (named, head == MAGIC) {
            (_, true) => Ok(Source::Parquet(file)),
            (true, false) => Err(Error::NotParquet { file: file_name }),
            (false, false) => Err(Error::UnknownKind { file: file_name }),
        }
    }

    /// Where the column is among all.
    pub(crate) fn find(self, names: &[String]) -> Result<usize, Error> {
        let (file, column) = (self.path.to_owned(), self.name.to_owned());
        let mut found = (0..names.len()).filter(|&i| names[i] == self.name);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => Err(Error::SameName { file, column }),
            (None, _) => Err(Error::NoColumn {
                file,
                column,
                columns: names.to_vec(),
            }),
        }
    }

    /// A cell of a CSV file as a number.
    pub(crate) fn number(self, row: u64, cell: &[u8]) -> Result<f64, Error> {
        let text = self.utf8(row, cell)?;
        let value = || text.to_owned();
        let number = text
            .trim()
            .parse()
            .map_err(|_| self.at(row, CellProblem::NotNumber { value: value() }))?;
        self.finite(row, number, text)
    }

    /// A cell as text.
    pub(crate) fn utf8(self, row: u64, cell: &[u8]) -> Result<&str, Error> {
        str::from_utf8(cell).map_err(|_| {
            let value = String::from_utf8_lossy(cell).into_owned();
            self.at(row, CellProblem::NotUtf8 { value })
        })
    }

    /// A number that is one; `text` is what the file says.
    pub(crate) fn finite(self, row: u64, number: f64, text: &str) -> Result<f64, Error> {
        match number.is_finite() {
            true => Ok(number),
            false => {
                let value = text.to_owned();
                Err(self.at(row, CellProblem::NotFinite { value }))
            }
        }
    }

    pub(crate) fn unreadable(self, error: &std::io::Error) -> Error {
        let text = error.to_string();
        let reason = text.split(" (os error").next().unwrap_or_default();
        Error::Unreadable {
            file: self.path.to_owned(),
            reason: reason.to_owned(),
        }
    }

    pub(crate) fn empty(self) -> Error {
        let file = self.path.to_owned();
        Error::Empty { file }
    }

    /// Something is wrong with a cell.
    pub(crate) fn at(self, row: u64, problem: CellProblem) -> Error {
        Error::Cell {
            file: self.path.to_owned(),
            row,
            column: self.name.to_owned(),
            problem,
        }
    }

    pub(crate) fn missing(self, row: u64) -> Error {
        Error::NoValue {
            file: self.path.to_owned(),
            row,
            column: self.name.to_owned(),
        }
    }

    /// The column is not one that can be used.
    pub(crate) fn refused(self, problem: ColumnProblem) -> Error {
        Error::Column {
            file: self.path.to_owned(),
            column: self.name.to_owned(),
            problem,
        }
    }

    /// The number of rows, if there are any.
    pub(crate) fn some(self, rows: u64) -> Result<u64, Error> {
        match rows {
            0 => Err(Error::NoRows {
                file: self.path.to_owned(),
            }),
            rows => Ok(rows),
        }
    }
}
