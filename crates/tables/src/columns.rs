//! Several columns of a file, each as text or as numbers.
//!
//! A CSV file is read row by row and a Parquet file column by column, as they are stored: either way every
//! cell is visited once.

use crate::column::{Column, Source};
use crate::error::{CellProblem, Error};
use crate::in_csv::Records;
use crate::in_parquet;
use std::path::Path;

/// A column, and how it is read.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// As text; else as finite numbers.
    pub(crate) is_text: bool,
    /// Whether a cell may be empty.
    pub(crate) may_be_missing: bool,
}

/// What stands in a cell.
pub(crate) enum Cell<'a> {
    Text(&'a str),
    /// Finite.
    Number(f64),
    /// Nothing, where that is allowed.
    Missing,
}

/// The names of all columns, in the order of the file.
pub(crate) fn names(path: &Path) -> Result<Vec<String>, Error> {
    let any = Column::new(path, "");
    match any.open()? {
        Source::Csv(head, file) => Ok(Records::new(any, head, file)?.names),
        Source::Parquet(file) => in_parquet::names(any, file),
    }
}

/// A file, and what is read of it.
pub(crate) struct Columns<'a> {
    pub(crate) path: &'a Path,
    /// One at least.
    pub(crate) wanted: Vec<Wanted>,
}

impl<'a> Columns<'a> {
    /// Reads every cell: `each(row, place, cell)`, rows from 1, places as in `wanted`. Gives the number of
    /// rows.
    pub(crate) fn read(
        &self,
        each: &mut dyn FnMut(u64, usize, Cell) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        // Any column opens the file.
        let Some(any) = self.wanted.first().map(|wanted| self.column(wanted)) else {
            let file = self.path.to_owned();
            return Err(Error::OnlyLabel { file });
        };
        let Source::Csv(head, file) = any.open()? else {
            return self.read_columns(each);
        };
        let mut records = Records::new(any, head, file)?;
        let mut places = Vec::new();
        for wanted in &self.wanted {
            places.push(self.column(wanted).find(&records.names)?);
        }
        while records.next()? {
            let row = records.row;
            for (place, (wanted, &index)) in self.wanted.iter().zip(&places).enumerate() {
                let column = self.column(wanted);
                let Some(cell) = records.cell_with_value(index) else {
                    each(row, place, self.missing(row, wanted)?)?;
                    continue;
                };
                let cell = match wanted.is_text {
                    true => Cell::Text(column.utf8(row, cell)?),
                    false => Cell::Number(column.number(row, cell)?),
                };
                each(row, place, cell)?;
            }
        }
        any.some(records.row)
    }

    /// The same of a Parquet file.
    fn read_columns(
        &self,
        each: &mut dyn FnMut(u64, usize, Cell) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut rows = 0;
        for (place, wanted) in self.wanted.iter().enumerate() {
            let column = self.column(wanted);
            let Source::Parquet(file) = column.open()? else {
                // It was one when it was opened before.
                return Err(column.empty());
            };
            rows = match wanted.is_text {
                true => in_parquet::texts(column, file, &mut |row, text| {
                    let cell = match text.filter(|text| !text.trim().is_empty()) {
                        Some(text) => Cell::Text(text),
                        None => self.missing(row, wanted)?,
                    };
                    each(row, place, cell)
                }),
                false => in_parquet::numbers(column, file, &mut |row, number| {
                    let cell = match number {
                        Some(number) => Cell::Number(number),
                        None => self.missing(row, wanted)?,
                    };
                    each(row, place, cell)
                }),
            }?;
        }
        Ok(rows)
    }

    fn missing(&self, row: u64, wanted: &Wanted) -> Result<Cell<'static>, Error> {
        match wanted.may_be_missing {
            true => Ok(Cell::Missing),
            false => Err(self.column(wanted).missing(row)),
        }
    }

    fn column<'b>(&'b self, wanted: &'b Wanted) -> Column<'b> {
        Column::new(self.path, &wanted.name)
    }

    /// Something is wrong with a cell of the column at this place.
    pub(crate) fn refused(&self, row: u64, place: usize, problem: CellProblem) -> Error {
        let name = self.wanted.get(place).map_or("", |wanted| &wanted.name);
        Column::new(self.path, name).at(row, problem)
    }
}
