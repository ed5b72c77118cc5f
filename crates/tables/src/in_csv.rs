//! One column of a CSV file with a header, and its rows. The only place that knows the CSV library.

use crate::column::Column;
use crate::error::Error;
use std::fs::File;
use std::io::{Chain, Cursor, Read};

/// Reads a column: `each(row, cell)`, rows from 1. Gives the number of rows.
pub(crate) fn read(
    column: Column,
    head: Vec<u8>,
    file: File,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Error>,
) -> Result<u64, Error> {
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
pub(crate) struct Records<'a> {
    column: Column<'a>,
    reader: csv::Reader<Lines>,
    pub(crate) names: Vec<String>,
    record: csv::ByteRecord,
    /// The row that was read last, 0 before the first.
    pub(crate) row: u64,
}

/// What was read of a file already, the rest, and the end of the last line.
type Lines = Chain<Chain<Cursor<Vec<u8>>, File>, &'static [u8]>;

impl<'a> Records<'a> {
    /// Reads the header.
    pub(crate) fn new(column: Column<'a>, head: Vec<u8>, file: File) -> Result<Self, Error> {
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
            return Err(column.empty());
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
    pub(crate) fn next(&mut self) -> Result<bool, Error> {
        let there = self
            .reader
            .read_byte_record(&mut self.record)
            .map_err(|error| wrong(self.column, self.row + 1, error))?;
        self.row += u64::from(there);
        Ok(there)
    }

    /// A cell of this row; every row has as many as the header.
    pub(crate) fn cell(&self, column: Column, index: usize) -> Result<&[u8], Error> {
        self.cell_with_value(index)
            .ok_or_else(|| column.missing(self.row))
    }

    /// The same; none where the cell is empty.
    pub(crate) fn cell_with_value(&self, index: usize) -> Option<&[u8]> {
        let cell = self.record.get(index)?;
        (!cell.trim_ascii().is_empty()).then_some(cell)
    }

    /// The line that the next row begins on.
    fn line(&self) -> u64 {
        self.reader.position().line()
    }
}

/// A row that is not one.
fn wrong(column: Column, row: u64, error: csv::Error) -> Error {
    let file = column.path().to_owned();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => column.unreadable(&error),
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => Error::RowLength {
            file,
            row,
            fields: len,
            expected: expected_len,
        },
        kind => Error::Row {
            file,
            row,
            reason: format!("{kind:?}"),
        },
    }
}
