//! One column of a Parquet file, and the names of all. The only place that knows the Parquet library.

use crate::column::{Column, EachNumber, EachText};
use crate::error::{CellProblem, ColumnProblem, Error};
use parquet::basic::{ConvertedType, Encoding, LogicalType, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::cell::Cell;
use std::fmt::Write;
use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::sync::Once;

/// What the values of a Parquet column mean.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Signed,
    Unsigned,
    Decimal(usize),
    Real,
    Truth,
}

/// One value of a Parquet column.
#[derive(Clone, Copy)]
enum Value<'a> {
    Bytes(&'a [u8]),
    Signed(i64),
    Unsigned(u64),
    /// Without its point, and the digits after the point.
    Decimal(i128, usize),
    Single(f32),
    Real(f64),
    Truth(bool),
}

impl Value<'_> {
    /// Writes it in place of the text; writing to a string does not fail.
    fn write(self, text: &mut String) {
        text.clear();
        let _ = match self {
            Value::Bytes(_) => Ok(()),
            Value::Signed(value) => write!(text, "{value}"),
            Value::Unsigned(value) => write!(text, "{value}"),
            Value::Single(value) => write!(text, "{value}"),
            Value::Real(value) => write!(text, "{value}"),
            Value::Truth(value) => write!(text, "{value}"),
            Value::Decimal(value, 0) => write!(text, "{value}"),
            Value::Decimal(value, scale) => {
                let width = scale + 1 + usize::from(value < 0);
                let written = write!(text, "{value:0width$}");
                text.insert(text.len() - scale, '.');
                written
            }
        };
    }
}

/// What a column holds, or what it holds that is neither text nor numbers.
fn kind(leaf: &ColumnDescriptor) -> Result<Kind, &'static str> {
    const DIGITS: i32 = 38;
    let decimal = || match (leaf.type_precision(), usize::try_from(leaf.type_scale())) {
        (..=DIGITS, Ok(scale)) if scale <= DIGITS as usize => Ok(Kind::Decimal(scale)),
        _ => Err("decimals of more than 38 digits"),
    };
    let plain = match leaf.physical_type() {
        Type::BOOLEAN => Kind::Truth,
        Type::INT32 | Type::INT64 => Kind::Signed,
        Type::FLOAT | Type::DOUBLE => Kind::Real,
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => Kind::Text,
        Type::INT96 => return Err("timestamps"),
    };
    // Older files have a converted type only.
    match leaf.logical_type_ref() {
        Some(LogicalType::Integer(integer)) if !integer.is_signed => return Ok(Kind::Unsigned),
        Some(LogicalType::Decimal(_)) => return decimal(),
        Some(
            LogicalType::Integer(_)
            | LogicalType::String
            | LogicalType::Enum
            | LogicalType::Json
            | LogicalType::Unknown,
        ) => return Ok(plain),
        Some(LogicalType::Date) => return Err("dates"),
        Some(LogicalType::Time(_)) => return Err("times"),
        Some(LogicalType::Timestamp(_)) => return Err("timestamps"),
        Some(LogicalType::Uuid) => return Err("UUIDs"),
        Some(LogicalType::Float16) => return Err("numbers of 16 bits"),
        Some(_) => return Err("values of a special kind"),
        None => {}
    }
    match leaf.converted_type() {
        ConvertedType::UINT_8
        | ConvertedType::UINT_16
        | ConvertedType::UINT_32
        | ConvertedType::UINT_64 => Ok(Kind::Unsigned),
        ConvertedType::DECIMAL => decimal(),
        ConvertedType::DATE => Err("dates"),
        ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS => Err("times"),
        ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS => Err("timestamps"),
        ConvertedType::INTERVAL => Err("intervals of time"),
        ConvertedType::BSON => Err("values of a special kind"),
        _ => Ok(plain),
    }
}

/// Asks the Parquet library, which panics at some damaged files: here that is an error, and nothing is
/// printed.
fn quietly<T>(ask: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                loud(panic);
            }
        }));
    });
    QUIET.set(true);
    let answer = std::panic::catch_unwind(AssertUnwindSafe(ask));
    QUIET.set(false);
    answer.unwrap_or_else(|_| Err(ParquetError::General("it is damaged".to_owned())))
}

/// The pages of a column. The library makes room for as many values as a page announces, so a damaged page
/// could take all memory: this asks first whether they can be there.
struct Pages {
    pages: Box<dyn PageReader>,
    /// Rows in the group.
    rows: u64,
    /// Whether a page begins with definition levels.
    levels: bool,
}

impl Pages {
    /// Values that a page announces, and as many as there can be.
    fn announced(&self, page: &Page) -> (u64, u64) {
        let (values, encoding) = match page {
            // A word takes up a byte or more.
            Page::DictionaryPage { buf, .. } => {
                return (u64::from(page.num_values()), buf.len() as u64);
            }
            Page::DataPage { buf, encoding, .. } => {
                let levels = match buf.first_chunk() {
                    Some(length) if self.levels => 4 + u32::from_le_bytes(*length) as usize,
                    _ => 0,
                };
                (buf.get(levels..), encoding)
            }
            Page::DataPageV2 {
                buf,
                encoding,
                def_levels_byte_len,
                ..
            } => (buf.get(*def_levels_byte_len as usize..), encoding),
        };
        let announced = u64::from(page.num_values());
        let mut values = values.unwrap_or_default();
        let of_lengths = match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => lengths(&mut values, announced),
            // What a text shares with the one before it, and what follows.
            Encoding::DELTA_BYTE_ARRAY => {
                lengths(&mut values, announced).max(lengths(&mut values, announced))
            }
            _ => None,
        };
        match of_lengths {
            Some(count) if count > announced => (count, announced),
            _ => (announced, self.rows),
        }
    }
}

/// Passes over lengths that are stored as differences; gives how many they are, or none if they break off.
fn lengths(bytes: &mut &[u8], most: u64) -> Option<u64> {
    let (block, parts, count) = (varint(bytes)?, varint(bytes)?, varint(bytes)?);
    if count > most {
        return Some(count);
    }
    let together = block.checked_div(parts)?;
    varint(bytes)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        varint(bytes)?;
        for width in bytes.split_off(..usize::try_from(parts).ok()?)? {
            if left > 0 {
                let size = u64::from(*width).checked_mul(together)? / 8;
                bytes.split_off(..usize::try_from(size).ok()?)?;
                left = left.saturating_sub(together);
            }
        }
    }
    Some(count)
}

/// A number of seven bits a byte, the least significant first.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.pages.get_next_page()?;
        match page.as_ref().map(|page| self.announced(page)) {
            Some((announced, most)) if announced > most => Err(ParquetError::General(format!(
                "a page announces {announced} values where there can be {most}"
            ))),
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.pages.at_record_boundary()
    }
}

/// The names of all columns.
#[cfg(feature = "learning")]
pub(crate) fn names(column: Column, file: File) -> Result<Vec<String>, Error> {
    let reader = quietly(|| SerializedFileReader::new(file));
    reader
        .map(|reader| named(&reader))
        .map_err(|error| damaged(column, &error))
}

fn named(reader: &SerializedFileReader<File>) -> Vec<String> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields();
    fields.iter().map(|field| field.name().to_owned()).collect()
}

/// Reads a column as text: `each(row, text)`, rows from 1; none where there is no value.
pub(crate) fn texts(column: Column, file: File, each: EachText) -> Result<u64, Error> {
    let mut text = String::new();
    read_parquet(column, file, false, |row, value| {
        let Some(value) = value else {
            return each(row, None);
        };
        if let Value::Bytes(bytes) = value {
            return each(row, Some(column.utf8(row, bytes)?));
        }
        value.write(&mut text);
        match value {
            Value::Single(value) => column.finite(row, f64::from(value), &text)?,
            Value::Real(value) => column.finite(row, value, &text)?,
            _ => 0.0,
        };
        each(row, Some(&text))
    })
}

/// Reads a column as finite numbers: `each(row, number)`, rows from 1; none where there is no value.
pub(crate) fn numbers(column: Column, file: File, each: EachNumber) -> Result<u64, Error> {
    let mut text = String::new();
    read_parquet(column, file, true, |row, value| {
        let Some(value) = value else {
            return each(row, None);
        };
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
        each(row, Some(column.finite(row, number, &text)?))
    })
}

/// The file is not what the library can read.
fn damaged(column: Column, error: &ParquetError) -> Error {
    let text = error.to_string();
    let words: Vec<&str> = text
        .trim_start_matches("Parquet error: ")
        .split_whitespace()
        .collect();
    Error::Damaged {
        file: column.path().to_owned(),
        reason: words.join(" "),
    }
}

/// Reads a column; text is refused where values `must_be_numbers`.
fn read_parquet(
    column: Column,
    file: File,
    must_be_numbers: bool,
    mut each: impl FnMut(u64, Option<Value>) -> Result<(), Error>,
) -> Result<u64, Error> {
    let damaged = |error| damaged(column, &error);
    let reader = quietly(|| SerializedFileReader::new(file)).map_err(damaged)?;
    column.find(&named(&reader))?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let (index, leaf) = schema
        .columns()
        .iter()
        .enumerate()
        .find(|(_, leaf)| leaf.path().parts() == [column.name()] && leaf.max_rep_level() == 0)
        .ok_or_else(|| column.refused(ColumnProblem::Nested))?;
    let stored = leaf.physical_type().to_string();
    let kind = match kind(leaf) {
        Ok(kind) => kind,
        Err(values) => return Err(column.refused(ColumnProblem::Values { values, stored })),
    };
    if must_be_numbers && matches!(kind, Kind::Text) {
        return Err(column.refused(ColumnProblem::Text { stored }));
    }
    let whole = |signed: i64, unsigned: u64| match kind {
        Kind::Unsigned => Value::Unsigned(unsigned),
        Kind::Decimal(scale) => Value::Decimal(i128::from(signed), scale),
        _ => Value::Signed(signed),
    };
    let mut rows = 0;
    for group in 0..reader.num_row_groups() {
        let group = quietly(|| reader.get_row_group(group)).map_err(damaged)?;
        let there = u64::try_from(group.metadata().num_rows()).unwrap_or_default();
        let chunk = Chunk {
            column,
            present: leaf.max_def_level(),
            before: rows,
        };
        let pages = Pages {
            pages: quietly(|| group.get_column_page_reader(index)).map_err(damaged)?,
            rows: there,
            levels: leaf.max_def_level() > 0,
        };
        let read = match get_column_reader(leaf.clone(), Box::new(pages)) {
            ColumnReader::BoolColumnReader(reader) => chunk.read(reader, |row, value| {
                each(row, value.copied().map(Value::Truth))
            }),
            ColumnReader::Int32ColumnReader(reader) => chunk.read(reader, |row, value| {
                let value = value.map(|&value| whole(i64::from(value), u64::from(value as u32)));
                each(row, value)
            }),
            ColumnReader::Int64ColumnReader(reader) => chunk.read(reader, |row, value| {
                each(row, value.map(|&value| whole(value, value as u64)))
            }),
            ColumnReader::FloatColumnReader(reader) => chunk.read(reader, |row, value| {
                each(row, value.copied().map(Value::Single))
            }),
            ColumnReader::DoubleColumnReader(reader) => chunk.read(reader, |row, value| {
                each(row, value.copied().map(Value::Real))
            }),
            ColumnReader::ByteArrayColumnReader(reader) => chunk.read(reader, |row, value| {
                let value = value.map(|value| meaning(column, kind, row, value.data()));
                each(row, value.transpose()?)
            }),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                chunk.read(reader, |row, value| {
                    let value = value.map(|value| meaning(column, kind, row, value.data()));
                    each(row, value.transpose()?)
                })
            }
            ColumnReader::Int96ColumnReader(_) => Ok(0),
        }?;
        if read != there {
            return Err(damaged(ParquetError::General(format!(
                "{there} rows are announced and {read} are there"
            ))));
        }
        rows += read;
    }
    column.some(rows)
}

/// Bytes as text, or as a decimal whose first byte is the most significant.
fn meaning<'a>(column: Column, kind: Kind, row: u64, bytes: &'a [u8]) -> Result<Value<'a>, Error> {
    let Kind::Decimal(scale) = kind else {
        return Ok(Value::Bytes(bytes));
    };
    let mut wide = match bytes.first() {
        Some(first) if bytes.len() <= 16 && *first >= 0x80 => [0xff; 16],
        Some(_) if bytes.len() <= 16 => [0; 16],
        _ => {
            let bytes = bytes.len();
            return Err(column.at(row, CellProblem::LongDecimal { bytes }));
        }
    };
    wide[16 - bytes.len()..].copy_from_slice(bytes);
    Ok(Value::Decimal(i128::from_be_bytes(wide), scale))
}

/// The part of a column that is in one group of rows.
struct Chunk<'a> {
    column: Column<'a>,
    /// The definition level of a value that is there.
    present: i16,
    /// Rows in the groups before.
    before: u64,
}

impl Chunk<'_> {
    /// Reads it, `each(row, value)`, none where there is no value; gives the number of rows.
    fn read<T: DataType>(
        &self,
        mut reader: ColumnReaderImpl<T>,
        mut each: impl FnMut(u64, Option<&T::T>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        const AT_ONCE: usize = 1 << 13;
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let mut row = self.before;
        loop {
            levels.clear();
            values.clear();
            let (records, there, _) =
                quietly(|| reader.read_records(AT_ONCE, Some(&mut levels), None, &mut values))
                    .map_err(|error| damaged(self.column, &error))?;
            if records == 0 {
                return Ok(row - self.before);
            }
            let mut values = values.iter().take(there);
            for place in 0..records {
                row += 1;
                // Without levels every value is there.
                let is_there = levels.get(place).is_none_or(|&level| level >= self.present);
                let value = match is_there {
                    true => Some(values.next().ok_or_else(|| self.column.missing(row))?),
                    false => None,
                };
                each(row, value)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lengths;

    #[test]
    fn announced_lengths_are_counted() {
        // Blocks of 128 in 4 parts, 3 lengths, of which the first is 5 (as 10); two differences of one bit.
        let good = [0x80, 1, 4, 3, 10, 0, 1, 0, 0, 0, 0b10, 0, 0, 0, 99];
        let mut bytes = good.as_slice();
        assert_eq!(lengths(&mut bytes, 3), Some(3));
        assert_eq!(bytes, [99]);
        assert_eq!(lengths(&mut good.as_slice(), 2), Some(3));
        assert_eq!(lengths(&mut &good[..12], 3), None);
        // No parts, and parts without values.
        assert_eq!(lengths(&mut [4, 0, 3, 10, 0, 0].as_slice(), 3), None);
        assert_eq!(lengths(&mut [4, 8, 3, 10, 0, 0].as_slice(), 3), None);
        assert_eq!(lengths(&mut [0xff; 40].as_slice(), 3), None);
    }
}
