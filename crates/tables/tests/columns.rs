//! What is read, and every way in which a file can be wrong.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use shuffledp_tables::{Column, Error, Values};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A file in a directory of its own; what is said about it calls it by its name.
struct Scratch(TempDir, PathBuf);

fn scratch(name: &str, content: impl AsRef<[u8]>) -> Scratch {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    Scratch(directory, path)
}

fn said(error: &Error, directory: &Path) -> String {
    let message = error.to_string();
    message.replace(&format!("{}/", directory.display()), "")
}

impl Scratch {
    fn texts(&self, column: &str) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        let rows = Column::new(&self.1, column).texts(&mut |row, text| {
            all.push(text.to_owned());
            assert_eq!(row, all.len() as u64);
            Ok(())
        });
        let rows = rows.map_err(|error| said(&error, self.0.path()))?;
        assert_eq!(rows, all.len() as u64);
        Ok(all)
    }

    fn numbers(&self, column: &str) -> Result<Vec<f64>, String> {
        let mut all = Vec::new();
        let rows = Column::new(&self.1, column).numbers(&mut |row, number| {
            all.push(number);
            assert_eq!(row, all.len() as u64);
            Ok(())
        });
        let rows = rows.map_err(|error| said(&error, self.0.path()))?;
        assert_eq!(rows, all.len() as u64);
        Ok(all)
    }
}

/// Texts and numbers of a column, or what is said instead.
fn csv(content: impl AsRef<[u8]>, column: &str) -> [Result<Vec<String>, String>; 2] {
    let file = scratch("data.csv", content);
    let numbers = file.numbers(column);
    let numbers = numbers.map(|all| all.iter().map(f64::to_string).collect());
    [file.texts(column), numbers]
}

fn both(content: impl AsRef<[u8]>, column: &str) -> String {
    let [texts, numbers] = csv(content, column);
    let text = texts.unwrap_err();
    assert_eq!(text, numbers.unwrap_err());
    text
}

fn row(values: &[&str]) -> Result<Vec<String>, String> {
    Ok(values.iter().map(|&value| value.to_owned()).collect())
}

#[test]
fn a_csv_column_by_its_name() {
    let [texts, numbers] = csv("city,age\nOslo,30\n\"Porto, old\",4.5e1\n", "age");
    assert_eq!(texts, row(&["30", "4.5e1"]));
    assert_eq!(numbers, row(&["30", "45"]));
    let [texts, numbers] = csv("city,age\nOslo,30\n\"Porto, old\",45\n", "city");
    assert_eq!(texts, row(&["Oslo", "Porto, old"]));
    assert_eq!(
        numbers.unwrap_err(),
        "row 1 of data.csv, column 'city': 'Oslo' is not a number"
    );
}

#[test]
fn other_ways_of_writing_csv() {
    let expected = row(&["30", "45"]);
    for content in [
        "city,age\r\nOslo,30\r\nPorto,45\r\n",
        "\u{feff}age,city\n30,Oslo\n45,Porto",
        "city, age\nOslo,30\nPorto,45\n\n",
        "city,age\n\nOslo,30\n\nPorto,45\n\n",
        "age\n30\n45",
        "age\n30\n45\n\n\n",
        "age\r\n30\r\n45\r\n\r\n",
        "\"age\"\r\n\"30\"\r\n\"45\"\r\n",
    ] {
        assert_eq!(
            csv(content, "age"),
            [expected.clone(), expected.clone()],
            "{content}"
        );
    }
    let [texts, _] = csv("a\n\"x\ny\"\n\"x\r\n\r\nz\"\nw", "a");
    assert_eq!(texts, row(&["x\ny", "x\r\n\r\nz", "w"]));
    let [_, numbers] = csv("a,b\n1, 7\n1,8 \n", "b");
    assert_eq!(numbers, row(&["7", "8"]));
}

#[test]
fn a_cell_without_a_value() {
    let said = "row 2 of data.csv has no value in column 'age'";
    for content in [
        "city,age\nOslo,30\nPorto,\nTurin,20\n",
        "city,age\nOslo,30\nPorto,\"\"",
        "city,age\nOslo,30\nPorto,  \n",
        "age\n30\n\n45\n",
        "age\n30\n\n45",
        "age\r\n30\r\n\r\n45\r\n",
        "age\r\n30\r\n\r\n45",
        "age\n30\n\n\"45\"\n",
    ] {
        assert_eq!(both(content, "age"), said, "{content:?}");
    }
    assert_eq!(
        both("age\n\n30\n", "age"),
        "row 1 of data.csv has no value in column 'age'"
    );
}

#[test]
fn cells_that_are_not_numbers() {
    for (cell, what) in [
        ("abc", "'abc' is not a number"),
        ("1 000", "'1 000' is not a number"),
        ("NaN", "'NaN' is not a finite number"),
        ("-inf", "'-inf' is not a finite number"),
        ("1e999", "'1e999' is not a finite number"),
        ("\"a\nb\"", "'a\\nb' is not a number"),
        (
            "0123456789012345678901234567890123456789x",
            "'0123456789012345678901234567890123456789...' is not a number",
        ),
    ] {
        let [texts, numbers] = csv(format!("age,b\n1,2\n{cell},3\n"), "age");
        assert_eq!(texts.unwrap().len(), 2);
        assert_eq!(
            numbers.unwrap_err(),
            format!("row 2 of data.csv, column 'age': {what}")
        );
    }
}

#[test]
fn rows_that_are_not_like_the_header() {
    let said = both("city,age\nOslo,30\nPorto\n", "age");
    assert_eq!(
        said,
        "row 2 of data.csv has another number of fields (1) than the header (2)"
    );
}

#[test]
fn text_that_is_not_utf8() {
    let file = scratch("data.csv", b"city,age\nOslo,30\nZ\xfcrich,40\n");
    assert_eq!(
        file.texts("city").unwrap_err(),
        "row 2 of data.csv, column 'city': 'Z\u{fffd}rich' is not valid UTF-8"
    );
    // What is in other columns does not matter.
    assert_eq!(file.numbers("age").unwrap(), [30.0, 40.0]);
}

#[test]
fn columns_that_are_not_there() {
    assert_eq!(
        both("city,age,height\nOslo,30,1.8\n", "agee"),
        "agee is not a column of data.csv, which has 'city', 'age' and 'height'"
    );
    let many: Vec<String> = (1..=17).map(|i| format!("c{i}")).collect();
    assert_eq!(
        both(many.join(",") + "\n", "age"),
        "age is not a column of data.csv, which has 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9', \
         'c10' and 7 more"
    );
    assert_eq!(
        both("a\n1\n", "b"),
        "b is not a column of data.csv, which has 'a'"
    );
    assert_eq!(
        both("age,city,age\n1,Oslo,2\n", "age"),
        "data.csv has more than one column 'age'"
    );
}

#[test]
fn files_with_nothing_in_them() {
    assert_eq!(both("", "age"), "data.csv is empty");
    assert_eq!(both("\n\n", "age"), "data.csv is empty");
    assert_eq!(both("city,age", "age"), "data.csv has no rows");
    assert_eq!(both("age\n\n\n", "age"), "data.csv has no rows");
    let file = scratch("data.parquet", "");
    assert_eq!(file.texts("age").unwrap_err(), "data.parquet is empty");
}

#[test]
fn files_that_are_something_else() {
    let file = scratch("data.txt", "age\n1\n");
    assert_eq!(
        file.texts("age").unwrap_err(),
        "data.txt is neither a .csv nor a .parquet file"
    );
    let file = scratch("data.parquet", "age\n1\n");
    assert_eq!(
        file.texts("age").unwrap_err(),
        "data.parquet is not a Parquet file: it does not begin with PAR1"
    );
    let file = scratch("DATA.CSV", "age\n1\n");
    assert_eq!(file.numbers("age").unwrap(), [1.0]);
    let file = scratch("people", std::fs::read(data("people.parquet")).unwrap());
    assert_eq!(file.numbers("age").unwrap().len(), 200);
}

#[test]
#[cfg(unix)]
fn files_that_cannot_be_opened() {
    let mut never = |_: u64, _: f64| -> Result<(), Error> { unreachable!() };
    let column = Column::new(Path::new("x.csv"), "age");
    let error = column.numbers(&mut never).unwrap_err();
    assert_eq!(
        said(&error, Path::new("/")),
        "x.csv cannot be read: No such file or directory"
    );
    let column = Column::new(Path::new("src"), "age");
    let error = column.numbers(&mut never).unwrap_err();
    assert_eq!(
        said(&error, Path::new("/")),
        "src cannot be read: Is a directory"
    );
}

#[test]
fn who_reads_may_stop() {
    for name in ["people.csv", "people.parquet"] {
        let mut rows = 0;
        let enough = Error::NoRows {
            file: "enough".into(),
        };
        let stopped = Column::new(&data(name), "city").texts(&mut |row, _| {
            rows = row;
            match row {
                3 => Err(enough.clone()),
                _ => Ok(()),
            }
        });
        assert_eq!(stopped, Err(enough));
        assert_eq!(rows, 3);
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../cli/tests/commands/simulate.in")
        .join(name)
}

fn stored(name: &str) -> Scratch {
    scratch(name, std::fs::read(data(name)).unwrap())
}

#[test]
fn what_pyarrow_wrote() {
    let (parquet, csv) = (stored("people.parquet"), stored("people.csv"));
    for column in ["city", "age", "height"] {
        let texts = parquet.texts(column).unwrap();
        assert_eq!(texts, csv.texts(column).unwrap());
        assert_eq!(texts.len(), 200);
    }
    for column in ["age", "height"] {
        assert_eq!(
            parquet.numbers(column).unwrap(),
            csv.numbers(column).unwrap()
        );
    }
    assert_eq!(
        parquet.numbers("city").unwrap_err(),
        "column 'city' of people.parquet holds text (BYTE_ARRAY), not numbers"
    );
    assert_eq!(
        parquet.texts("town").unwrap_err(),
        "town is not a column of people.parquet, which has 'city', 'age' and 'height'"
    );
    assert_eq!(
        stored("nulls.parquet").numbers("age").unwrap_err(),
        "row 17 of nulls.parquet has no value in column 'age'"
    );
    assert_eq!(stored("nulls.parquet").texts("city").unwrap().len(), 30);
    assert_eq!(
        stored("empty.parquet").texts("city").unwrap_err(),
        "empty.parquet has no rows"
    );
    assert_eq!(stored("outside.csv").numbers("age").unwrap()[41], 130.0);
}

#[test]
fn values_and_their_places() {
    let file = scratch("data.csv", "x\n10\n 9\n10\n");
    let column = Column::new(&file.1, "x");
    let values = Values::read(column, None).unwrap();
    assert_eq!(
        (values.names, values.places),
        (texts(["9", "10"]), vec![1, 0, 1])
    );
    // In the order of the list, and of the file where nothing is sorted.
    let listed = texts(["10", "8", "9"]);
    let values = Values::read(column, Some(&listed)).unwrap();
    assert_eq!((values.names, values.places), (listed, vec![0, 2, 0]));
    let values = Values::checked(column, |_| Ok(())).unwrap();
    assert_eq!(
        (values.names, values.places),
        (texts(["10", "9"]), vec![0, 1, 0])
    );

    let refused = |read: Result<Values, Error>| said(&read.unwrap_err(), file.0.path());
    assert_eq!(
        refused(Values::read(column, Some(&texts(["10", "8"])))),
        "row 2 of data.csv, column 'x': '9' is not one of the values listed"
    );
    assert_eq!(
        refused(Values::read(column, Some(&texts(["9", "10", "9"])))),
        "'9' is listed twice"
    );
    let short = |text: &str| match text.len() {
        1 => Err("too short".to_owned()),
        _ => Ok(()),
    };
    assert_eq!(
        refused(Values::checked(column, short)),
        "row 2 of data.csv, column 'x': '9': too short"
    );
    let file = scratch("data.csv", "x\na\na\n");
    let read = Values::read(Column::new(&file.1, "x"), None);
    assert_eq!(
        said(&read.unwrap_err(), file.0.path()),
        "column 'x' of data.csv has one value only"
    );
}

#[test]
fn more_values_than_a_histogram_has() {
    let rows: String = (0..=Values::MOST).map(|i| format!("{i}\n")).collect();
    let file = scratch("data.csv", format!("x\n{rows}"));
    let column = Column::new(&file.1, "x");
    assert_eq!(
        said(&Values::read(column, None).unwrap_err(), file.0.path()),
        "row 1048577 of data.csv, column 'x': more than 1,048,576 different values"
    );
    let all = Values::checked(column, |_| Ok(())).unwrap();
    assert_eq!(all.names.len(), Values::MOST + 1);
}

fn texts<const N: usize>(values: [&str; N]) -> Vec<String> {
    values.map(str::to_owned).to_vec()
}

#[test]
fn numbers_of_a_range() {
    let file = scratch("data.csv", "x\n-1\n0\n3\n");
    let column = Column::new(&file.1, "x");
    assert_eq!(column.within(-1.0, 3.0).unwrap(), [0.0, 0.25, 1.0]);
    let refused = |low, high| said(&column.within(low, high).unwrap_err(), file.0.path());
    assert_eq!(
        refused(0.0, 3.0),
        "row 1 of data.csv, column 'x': -1 is outside its range 0..3"
    );
    assert_eq!(
        refused(-1.0, 2.5),
        "row 3 of data.csv, column 'x': 3 is outside its range -1..2.5"
    );
}

/// The plainest way of writing.
fn plain() -> WriterProperties {
    WriterProperties::builder().build()
}

/// A file of one or several groups, each with one column; `write` is told which group it is in.
fn written(
    schema: &str,
    properties: WriterProperties,
    groups: usize,
    write: impl Fn(usize, &mut ColumnWriter<'_>),
) -> Scratch {
    let schema = parse_message_type(&format!("message m {{ {schema} }}")).unwrap();
    let mut file =
        SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap();
    for i in 0..groups {
        let mut group = file.next_row_group().unwrap();
        while let Some(mut column) = group.next_column().unwrap() {
            write(i, column.untyped());
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    scratch("data.parquet", file.into_inner().unwrap())
}

/// One group without nulls.
macro_rules! file_of {
    ($schema:expr, $writer:ident, $values:expr) => {
        written($schema, plain(), 1, |_, column| match column {
            ColumnWriter::$writer(column) => {
                let values = $values;
                let levels = vec![1; values.len()];
                column.write_batch(&values, Some(&levels), None).unwrap();
            }
            _ => unreachable!(),
        })
    };
}

#[test]
fn the_types_of_parquet() {
    let file = file_of!("required int32 a;", Int32ColumnWriter, [-7, 8]);
    assert_eq!(file.texts("a").unwrap(), ["-7", "8"]);
    assert_eq!(file.numbers("a").unwrap(), [-7.0, 8.0]);

    for schema in [
        "optional int32 a (INTEGER(32,false));",
        "optional int32 a (UINT_32);",
    ] {
        let file = file_of!(schema, Int32ColumnWriter, [-1, 8]);
        assert_eq!(file.texts("a").unwrap(), ["4294967295", "8"]);
        assert_eq!(file.numbers("a").unwrap(), [4_294_967_295.0, 8.0]);
    }

    let file = file_of!("optional int64 a;", Int64ColumnWriter, [i64::MIN, 8]);
    assert_eq!(file.texts("a").unwrap(), ["-9223372036854775808", "8"]);
    assert_eq!(file.numbers("a").unwrap(), [-(2f64.powi(63)), 8.0]);

    let file = file_of!(
        "optional int64 a (INTEGER(64,false));",
        Int64ColumnWriter,
        [-1, 8]
    );
    assert_eq!(file.texts("a").unwrap(), ["18446744073709551615", "8"]);
    assert_eq!(file.numbers("a").unwrap(), [2f64.powi(64), 8.0]);

    let file = file_of!("required boolean a;", BoolColumnWriter, [true, false]);
    assert_eq!(file.texts("a").unwrap(), ["true", "false"]);
    assert_eq!(file.numbers("a").unwrap(), [1.0, 0.0]);

    let file = file_of!("optional float a;", FloatColumnWriter, [0.1, -2.0]);
    assert_eq!(file.texts("a").unwrap(), ["0.1", "-2"]);
    assert_eq!(file.numbers("a").unwrap(), [f64::from(0.1f32), -2.0]);

    let file = file_of!("optional double a;", DoubleColumnWriter, [0.1, -2.0]);
    assert_eq!(file.texts("a").unwrap(), ["0.1", "-2"]);
    assert_eq!(file.numbers("a").unwrap(), [0.1, -2.0]);

    for schema in [
        "binary a (STRING)",
        "binary a (UTF8)",
        "binary a",
        "binary a (ENUM)",
    ] {
        let values = ["x", "", "Zürich"].map(ByteArray::from);
        let file = file_of!(
            &format!("optional {schema};"),
            ByteArrayColumnWriter,
            values.clone()
        );
        assert_eq!(file.texts("a").unwrap(), ["x", "", "Zürich"]);
    }

    let values = ["xyz", "abc"].map(|text| FixedLenByteArray::from(text.as_bytes().to_vec()));
    let file = file_of!(
        "optional fixed_len_byte_array(3) a;",
        FixedLenByteArrayColumnWriter,
        values.clone()
    );
    assert_eq!(file.texts("a").unwrap(), ["xyz", "abc"]);
    assert_eq!(
        file.numbers("a").unwrap_err(),
        "column 'a' of data.parquet holds text (FIXED_LEN_BYTE_ARRAY), not numbers"
    );

    let values = [ByteArray::from("x"), ByteArray::from(vec![0xff])];
    let file = file_of!("optional binary a;", ByteArrayColumnWriter, values.clone());
    assert_eq!(
        file.texts("a").unwrap_err(),
        "row 2 of data.parquet, column 'a': '\u{fffd}' is not valid UTF-8"
    );
}

#[test]
fn decimals_of_parquet() {
    let file = file_of!(
        "optional int32 a (DECIMAL(9,2));",
        Int32ColumnWriter,
        [1250, -5, 0]
    );
    assert_eq!(file.texts("a").unwrap(), ["12.50", "-0.05", "0.00"]);
    assert_eq!(file.numbers("a").unwrap(), [12.5, -0.05, 0.0]);
    let file = file_of!(
        "optional int64 a (DECIMAL(18,0));",
        Int64ColumnWriter,
        [1250, -5]
    );
    assert_eq!(file.texts("a").unwrap(), ["1250", "-5"]);
    let values = [vec![0, 4, 0xe2], vec![0xff, 0xff, 0xfb]].map(FixedLenByteArray::from);
    let file = file_of!(
        "optional fixed_len_byte_array(3) a (DECIMAL(5,2));",
        FixedLenByteArrayColumnWriter,
        values.clone()
    );
    assert_eq!(file.texts("a").unwrap(), ["12.50", "-0.05"]);
    assert_eq!(file.numbers("a").unwrap(), [12.5, -0.05]);
    let values = [vec![4, 0xe2], vec![1; 17]].map(ByteArray::from);
    let file = file_of!(
        "optional binary a (DECIMAL(5,2));",
        ByteArrayColumnWriter,
        values.clone()
    );
    assert_eq!(
        file.numbers("a").unwrap_err(),
        "row 2 of data.parquet, column 'a': a decimal of 17 bytes, where 1 to 16 can be read"
    );
    let values = [FixedLenByteArray::from(vec![1; 32])];
    let file = file_of!(
        "optional fixed_len_byte_array(32) a (DECIMAL(76,2));",
        FixedLenByteArrayColumnWriter,
        values.clone()
    );
    assert_eq!(
        file.numbers("a").unwrap_err(),
        "column 'a' of data.parquet holds decimals of more than 38 digits (FIXED_LEN_BYTE_ARRAY), which \
         cannot be used"
    );
}

#[test]
fn numbers_that_are_not_finite() {
    for (value, shown) in [
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (-f64::INFINITY, "-inf"),
    ] {
        let said = format!("row 2 of data.parquet, column 'a': '{shown}' is not a finite number");
        let file = file_of!("optional double a;", DoubleColumnWriter, [1.0, value]);
        assert_eq!(file.numbers("a").unwrap_err(), said);
        assert_eq!(file.texts("a").unwrap_err(), said);
        let file = file_of!("optional float a;", FloatColumnWriter, [1.0, value as f32]);
        assert_eq!(file.numbers("a").unwrap_err(), said);
        assert_eq!(file.texts("a").unwrap_err(), said);
    }
}

#[test]
fn types_that_cannot_be_used() {
    let refused = |file: Scratch, what: &str| {
        let said = format!("column 'a' of data.parquet holds {what}, which cannot be used");
        assert_eq!(file.texts("a").unwrap_err(), said);
        assert_eq!(file.numbers("a").unwrap_err(), said);
    };
    for (logical, what) in [
        ("int32 a (DATE)", "dates (INT32)"),
        ("int32 a (TIME(MILLIS,true))", "times (INT32)"),
        ("int32 a (TIME_MILLIS)", "times (INT32)"),
    ] {
        let schema = format!("optional {logical};");
        refused(file_of!(&schema, Int32ColumnWriter, [1]), what);
    }
    for logical in [
        "TIMESTAMP(MICROS,true)",
        "TIMESTAMP(NANOS,false)",
        "TIMESTAMP_MILLIS",
    ] {
        let schema = format!("optional int64 a ({logical});");
        refused(
            file_of!(&schema, Int64ColumnWriter, [1]),
            "timestamps (INT64)",
        );
    }
    let values = [Int96::new()];
    refused(
        file_of!("optional int96 a;", Int96ColumnWriter, values),
        "timestamps (INT96)",
    );
    for (logical, length, what) in [
        ("UUID", 16, "UUIDs"),
        ("FLOAT16", 2, "numbers of 16 bits"),
        ("INTERVAL", 12, "intervals of time"),
    ] {
        let values = [FixedLenByteArray::from(vec![0; length])];
        let schema = format!("optional fixed_len_byte_array({length}) a ({logical});");
        let file = file_of!(&schema, FixedLenByteArrayColumnWriter, values.clone());
        refused(file, &format!("{what} (FIXED_LEN_BYTE_ARRAY)"));
    }
}

#[test]
fn nested_columns_are_refused() {
    for schema in [
        "repeated int32 a;",
        "optional group a { optional int32 b; }",
        "optional group a (LIST) { repeated group list { optional int32 element; } }",
    ] {
        let file = written(schema, plain(), 0, |_, _| {});
        assert_eq!(
            file.numbers("a").unwrap_err(),
            "column 'a' of data.parquet is nested (a list, a map or a group): only plain columns can be read"
        );
    }
    let file = written(
        "optional group a { optional int32 b; }",
        plain(),
        0,
        |_, _| {},
    );
    assert!(file.numbers("a.b").unwrap_err().contains("which has 'a'"));
    let file = written("optional int32 a; optional int32 a;", plain(), 0, |_, _| {});
    assert_eq!(
        file.numbers("a").unwrap_err(),
        "data.parquet has more than one column 'a'"
    );
}

fn other(row: usize) -> ByteArray {
    ByteArray::from(format!("other {}", row % 700).as_str())
}

/// Three groups of 20,000 rows beside another column; the null, if any, is in row 50,000.
fn groups(properties: WriterProperties, null: bool) -> Scratch {
    let schema = "optional binary other (STRING); optional int64 a;";
    written(schema, properties, 3, |group, column| match column {
        ColumnWriter::ByteArrayColumnWriter(column) => {
            let values: Vec<ByteArray> = (1..=20_000).map(other).collect();
            let levels = vec![1; 20_000];
            column.write_batch(&values, Some(&levels), None).unwrap();
        }
        ColumnWriter::Int64ColumnWriter(column) => {
            let mut values: Vec<i64> = (1..=20_000).map(|i| i + 20_000 * group as i64).collect();
            let mut levels = vec![1; 20_000];
            if null && group == 2 {
                values.remove(9_999);
                levels[9_999] = 0;
            }
            column.write_batch(&values, Some(&levels), None).unwrap();
        }
        _ => unreachable!(),
    })
}

#[test]
fn groups_pages_and_compressions() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = || {
                WriterProperties::builder()
                    .set_compression(compression)
                    .set_writer_version(version)
                    .set_data_page_row_count_limit(3_000)
            };
            for properties in [
                properties(),
                properties().set_dictionary_enabled(false),
                properties()
                    .set_dictionary_enabled(false)
                    .set_encoding(Encoding::PLAIN),
                properties()
                    .set_dictionary_enabled(false)
                    .set_column_encoding("other".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY),
            ] {
                let file = groups(properties.build(), false);
                let numbers = file.numbers("a").unwrap();
                assert!(numbers.into_iter().eq((1..=60_000).map(f64::from)));
                for (i, text) in file.texts("other").unwrap().iter().enumerate() {
                    assert_eq!(text.as_bytes(), other(i % 20_000 + 1).data());
                }
            }
            assert_eq!(
                groups(properties().build(), true).numbers("a").unwrap_err(),
                "row 50000 of data.parquet has no value in column 'a'"
            );
        }
    }
}

#[test]
fn damaged_files_are_told_from_good_ones() {
    for name in ["people.parquet", "nulls.parquet"] {
        let good = std::fs::read(data(name)).unwrap();
        let file = scratch(name, &good);
        let begins = format!("{name} cannot be read as a Parquet file: ");
        for length in 4..good.len() {
            std::fs::write(&file.1, &good[..length]).unwrap();
            let said = file.texts("city").unwrap_err();
            assert!(said.starts_with(&begins), "{length}: {said}");
        }
        // A flipped bit may leave a good file with other values, but there is always an answer.
        for at in 4..good.len() {
            for bit in [0, 3, 7] {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                std::fs::write(&file.1, &bad).unwrap();
                for said in [file.texts("city").err(), file.numbers("age").err()]
                    .into_iter()
                    .flatten()
                {
                    assert!(said.contains(name) && !said.contains('\n'), "{at}: {said}");
                }
            }
        }
    }
}
