//! What is learnt from, and every table that is refused.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use shuffledp::learning::run::{CategoryColumn, ColumnRange, StandIn, TableSpec};
use shuffledp_tables::{Rows, Table};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// The column, or none for all, and the ends of its range.
type Range = (Option<&'static str>, f64, f64);

/// A table in a directory of its own; what is said about it calls it by its name.
struct Scratch {
    directory: TempDir,
    name: &'static str,
    label: &'static str,
    columns: Option<Vec<String>>,
    ranges: Vec<ColumnRange>,
    classes: Option<Vec<String>>,
    test_share: f64,
}

fn scratch(name: &'static str, content: impl AsRef<[u8]>, label: &'static str) -> Scratch {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(name), content).unwrap();
    Scratch {
        directory,
        name,
        label,
        columns: None,
        ranges: Vec::new(),
        classes: None,
        test_share: 0.2,
    }
}

fn csv(content: impl AsRef<[u8]>, label: &'static str) -> Scratch {
    scratch("data.csv", content, label)
}

impl Scratch {
    fn ranges(mut self, ranges: &[Range]) -> Self {
        let one = |&(column, low, high): &Range| ColumnRange {
            column: column.map(str::to_owned),
            low,
            high,
        };
        self.ranges = ranges.iter().map(one).collect();
        self
    }

    fn columns(mut self, columns: &[&str]) -> Self {
        self.columns = Some(columns.iter().map(|&column| column.to_owned()).collect());
        self
    }

    fn classes(mut self, classes: &[&str]) -> Self {
        self.classes = Some(classes.iter().map(|&class| class.to_owned()).collect());
        self
    }

    fn test_share(mut self, test_share: f64) -> Self {
        self.test_share = test_share;
        self
    }

    fn load(&self) -> Result<Table, String> {
        let table = Table::read(&TableSpec {
            path: self.directory.path().join(self.name),
            label: self.label.to_owned(),
            columns: self.columns.clone(),
            ranges: self.ranges.clone(),
            classes: self.classes.clone(),
            test_share: self.test_share,
            ..TableSpec::new("", "")
        });
        let directory = format!("{}/", self.directory.path().display());
        table.map_err(|error| error.to_string().replace(&directory, ""))
    }

    fn refused(&self) -> String {
        self.load().unwrap_err()
    }
}

/// The names of the features.
fn features(loaded: &Table) -> Vec<&str> {
    let columns = loaded.names.columns.iter();
    columns
        .map(|range| range.column.as_deref().unwrap())
        .collect()
}

/// Every example, as its features and the name of its class, those to learn from first.
fn examples(loaded: &Table) -> Vec<(Vec<f32>, String)> {
    let (train, test) = (loaded.data.train(), loaded.data.test());
    train
        .iter()
        .chain(test.iter())
        .map(|(image, label)| {
            (
                image.to_vec(),
                loaded.names.classes[usize::from(label)].clone(),
            )
        })
        .collect()
}

/// Ten people: how tall, how old, and from where.
const PEOPLE: &str = "tall,city,old\n\
    1.5,Oslo,0\n1.6,\"Porto, old\",25\n1.7,Oslo,50\n1.8,Oslo,75\n1.9,Bonn,100\n\
    1.5,Oslo,10\n1.6,Bonn,20\n1.7,Oslo,30\n1.8,\"Porto, old\",40\n2,Bonn,90\n";

/// The same as Parquet, in groups of five rows.
fn people_in_parquet() -> Vec<u8> {
    let schema =
        "message m { required double tall; required binary city (UTF8); required int32 old; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(PEOPLE.as_bytes())
        .records()
        .map(Result::unwrap)
        .collect();
    for rows in rows.chunks(5) {
        let cells = |at: usize| rows.iter().map(move |row| row[at].to_owned());
        let mut group = file.next_row_group().unwrap();
        let mut at = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            match column.untyped() {
                ColumnWriter::DoubleColumnWriter(writer) => {
                    let values: Vec<f64> = cells(at).map(|cell| cell.parse().unwrap()).collect();
                    writer.write_batch(&values, None, None).unwrap()
                }
                ColumnWriter::Int32ColumnWriter(writer) => {
                    let values: Vec<i32> = cells(at).map(|cell| cell.parse().unwrap()).collect();
                    writer.write_batch(&values, None, None).unwrap()
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    let values: Vec<ByteArray> =
                        cells(at).map(|cell| cell.as_str().into()).collect();
                    writer.write_batch(&values, None, None).unwrap()
                }
                _ => unreachable!(),
            };
            column.close().unwrap();
            at += 1;
        }
        group.close().unwrap();
    }
    file.into_inner().unwrap()
}

const RANGES: [Range; 2] = [(Some("tall"), 1.0, 2.0), (None, 0.0, 100.0)];

#[test]
fn features_from_their_ranges_and_labels_by_name() {
    let loaded = csv(PEOPLE, "city").ranges(&RANGES).load().unwrap();
    assert_eq!(features(&loaded), ["tall", "old"]);
    assert_eq!(loaded.names.classes, ["Bonn", "Oslo", "Porto, old"]);
    assert!(loaded.classes_occur);
    assert_eq!(loaded.data.classes(), 3);
    assert_eq!(
        (loaded.data.train().len(), loaded.data.test().len()),
        (8, 2)
    );
    let mut found = examples(&loaded);
    found.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let expected = [
        (0.0, -1.0, "Oslo"),
        (0.0, -0.8, "Oslo"),
        (0.2, -0.6, "Bonn"),
        (0.2, -0.5, "Porto, old"),
        (0.4, -0.4, "Oslo"),
        (0.4, 0.0, "Oslo"),
        (0.6, -0.2, "Porto, old"),
        (0.6, 0.5, "Oslo"),
        (0.8, 1.0, "Bonn"),
        (1.0, 0.8, "Bonn"),
    ];
    for ((features, class), (tall, old, city)) in found.iter().zip(expected) {
        assert_eq!(class, city);
        assert!((features[0] - tall).abs() < 1e-6 && (features[1] - old).abs() < 1e-6);
    }
}

#[test]
fn one_content_one_dataset() {
    let csv = csv(PEOPLE, "city").ranges(&RANGES).load().unwrap();
    let parquet = scratch("data.parquet", people_in_parquet(), "city").ranges(&RANGES);
    let parquet = parquet.load().unwrap();
    assert_eq!(csv.data, parquet.data);
    assert_eq!(csv.data.checksum(), parquet.data.checksum());
    assert_eq!(csv.names, parquet.names);
}

#[test]
fn what_pyarrow_wrote() {
    let stored = |name: &'static str| {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/commands/simulate.in");
        let table = scratch(name, std::fs::read(folder.join(name)).unwrap(), "city");
        table
            .ranges(&[(Some("age"), 0.0, 120.0), (Some("height"), 0.0, 250.0)])
            .load()
    };
    let (csv, parquet) = (stored("people.csv"), stored("people.parquet"));
    let (csv, parquet) = (csv.unwrap(), parquet.unwrap());
    assert_eq!(csv.data, parquet.data);
    assert_eq!((csv.data.train().len(), csv.data.test().len()), (160, 40));
}

#[test]
fn any_column_can_be_the_label_and_numbers_are_in_their_order() {
    let rows: String = (0..40).map(|i| format!("0.5,{}\n", i % 12)).collect();
    let loaded = csv(format!("x,digit\n{rows}"), "digit").load().unwrap();
    let expected: Vec<String> = (0..12).map(|digit| digit.to_string()).collect();
    assert_eq!(loaded.names.classes, expected);
}

#[test]
fn classes_that_are_known_beforehand() {
    let table = csv(PEOPLE, "city").ranges(&RANGES);
    let loaded = table
        .classes(&["Turin", "Porto, old", "Oslo", "Bonn"])
        .load();
    let loaded = loaded.unwrap();
    assert_eq!(
        loaded.names.classes,
        ["Turin", "Porto, old", "Oslo", "Bonn"]
    );
    assert!(!loaded.classes_occur);
    assert_eq!(loaded.data.classes(), 4);
    let by_occurrence = csv(PEOPLE, "city").ranges(&RANGES).load().unwrap();
    assert_eq!(examples(&loaded), examples(&by_occurrence));

    let refused = |classes: &[&str]| {
        csv(PEOPLE, "city")
            .ranges(&RANGES)
            .classes(classes)
            .refused()
    };
    assert_eq!(
        refused(&["Oslo", "Bonn"]),
        "row 2 of data.csv, column 'city': 'Porto, old' is not one of the values listed"
    );
    for few in [["Oslo"].as_slice(), &[], &["Oslo", "", "Bonn"]] {
        let list = few.join(",");
        let said = format!("classes {list} is not 2 to 256 classes, such as a,b,c");
        assert_eq!(refused(few), said);
    }
    assert_eq!(refused(&["Oslo", "Bonn", "Oslo"]), "'Oslo' is listed twice");
}

#[test]
fn too_few_labels_and_too_many() {
    assert_eq!(
        csv("x,y\n0,a\n1,a\n0,a\n", "y").refused(),
        "column 'y' of data.csv has one value only"
    );
    let rows: String = (0..300).map(|i| format!("0,{i}\n")).collect();
    assert_eq!(
        csv(format!("x,y\n{rows}"), "y").refused(),
        "row 257 of data.csv, column 'y': more than 256 different values"
    );
    let rows: String = (0..300).map(|i| format!("0,{}\n", i % 256)).collect();
    let loaded = csv(format!("x,y\n{rows}"), "y").load().unwrap();
    assert_eq!(loaded.data.classes(), 256);
}

#[test]
fn cells_that_are_not_features() {
    for (cell, what) in [
        (
            "1.01",
            "row 2 of data.csv, column 'x': 1.01 is outside its range 0..1",
        ),
        (
            "-1e-9",
            "row 2 of data.csv, column 'x': -1e-9 is outside its range 0..1",
        ),
        (
            "nan",
            "row 2 of data.csv, column 'x': 'nan' is not a finite number",
        ),
        (
            "inf",
            "row 2 of data.csv, column 'x': 'inf' is not a finite number",
        ),
        ("", "row 2 of data.csv has no value in column 'x'"),
        (" ", "row 2 of data.csv has no value in column 'x'"),
        (
            "red",
            "row 2 of data.csv, column 'x': 'red' is not a number",
        ),
    ] {
        let content = format!("y,x\na,0.5\nb,{cell}\na,0\nb,1\na,1\n");
        assert_eq!(csv(content, "y").refused(), what);
    }
    assert_eq!(
        csv("y,x\na,0.5\n,1\n", "y").refused(),
        "row 2 of data.csv has no value in column 'y'"
    );
    assert_eq!(
        csv("y,x\na,0.5\nb,1,0\n", "y").refused(),
        "row 2 of data.csv has another number of fields (3) than the header (2)"
    );
}

#[test]
fn text_and_nulls_in_parquet() {
    let table = scratch("data.parquet", people_in_parquet(), "old").ranges(&[(None, 1.0, 2.0)]);
    assert_eq!(
        table.refused(),
        "column 'city' of data.parquet holds text (BYTE_ARRAY), not numbers"
    );
    let table = scratch("data.parquet", people_in_parquet(), "city").ranges(&[(None, 1.0, 2.0)]);
    assert_eq!(
        table.refused(),
        "row 1 of data.parquet, column 'old': 0 is outside its range 1..2"
    );
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/commands/simulate.in");
    let nulls = std::fs::read(stored.join("nulls.parquet")).unwrap();
    assert_eq!(
        scratch("nulls.parquet", nulls, "city")
            .ranges(&[(None, 0.0, 1000.0)])
            .refused(),
        "row 17 of nulls.parquet has no value in column 'age'"
    );
}

#[test]
fn ranges_that_are_none() {
    let refused = |ranges: &[Range]| csv(PEOPLE, "city").ranges(ranges).refused();
    assert_eq!(
        refused(&[(Some("age"), 0.0, 120.0)]),
        "age is not a column of data.csv, which has 'tall' and 'old'"
    );
    assert_eq!(
        refused(&[(Some("city"), 0.0, 1.0)]),
        "a range of column 'city': that is the label, which is not a number"
    );
    assert_eq!(
        refused(&[(None, 0.0, 1.0), (None, 0.0, 2.0)]),
        "range 0..2: every column has a range already"
    );
    assert_eq!(
        refused(&[(Some("old"), 0.0, 1.0), (Some("old"), 0.0, 2.0)]),
        "range 0..2: column 'old' has a range already"
    );
    let table = csv("a=b,y\n7,u\n7,v\n7,u\n", "y").ranges(&[(Some("a=b"), 0.0, 7.0)]);
    assert_eq!(features(&table.load().unwrap()), ["a=b"]);
}

#[test]
fn a_range_may_be_wide_or_narrow() {
    let table = csv("x,y\n-1e300,u\n1e300,v\n0,u\n", "y").ranges(&[(None, -1e300, 1e300)]);
    let mut found: Vec<f32> = examples(&table.load().unwrap())
        .iter()
        .map(|(features, _)| features[0])
        .collect();
    found.sort_by(f32::total_cmp);
    assert_eq!(found, [-1.0, 0.0, 1.0]);
    let table = csv("x,y\n0,u\n5e-324,v\n0,u\n", "y").ranges(&[(None, 0.0, 5e-324)]);
    assert_eq!(table.load().unwrap().data.train().len(), 2);
}

#[test]
fn headers_that_cannot_be_used() {
    assert_eq!(
        csv("x,y,x\n0,a,0\n", "y").refused(),
        "data.csv has more than one column 'x'"
    );
    assert_eq!(
        csv("x,y,y\n0,a,0\n", "y").refused(),
        "data.csv has more than one column 'y'"
    );
    assert_eq!(
        csv("x,y\n0,a\n", "z").refused(),
        "z is not a column of data.csv, which has 'x' and 'y'"
    );
    assert_eq!(
        csv("y\na\nb\n", "y").refused(),
        "data.csv has no column but the label: there is nothing to learn from"
    );
    assert_eq!(csv("x,y\n", "y").refused(), "data.csv has no rows");
    assert_eq!(csv("", "y").refused(), "data.csv is empty");
    assert_eq!(
        scratch("data.txt", "x,y\n", "y").refused(),
        "data.txt is neither a .csv nor a .parquet file"
    );
}

#[test]
fn every_run_keeps_the_same_rows_and_as_many_as_it_is_told() {
    let rows: String = (0..1000)
        .map(|i| format!("{i},{}\n", if i % 3 == 0 { "a" } else { "b" }))
        .collect();
    let content = format!("x,y\n{rows}");
    let load = |share: f64| {
        let table = csv(&content, "y").ranges(&[(None, 0.0, 999.0)]);
        table.test_share(share).load().unwrap()
    };
    for (share, kept) in [(0.2, 200), (0.5, 500), (0.001, 1), (0.999, 999)] {
        let loaded = load(share);
        assert_eq!(loaded.data.test().len(), kept);
        assert_eq!(loaded.data.train().len(), 1000 - kept);
        assert_eq!(loaded.data, load(share).data);
        let mut all: Vec<f32> = examples(&loaded).iter().map(|(x, _)| x[0]).collect();
        all.sort_by(f32::total_cmp);
        all.dedup();
        assert_eq!(all.len(), 1000);
    }
    // Not the first, not the last: the mean of 200 of 1000 rows is within five deviations, 0.2.
    let loaded = load(0.2);
    let kept = loaded.data.test().images();
    assert!(kept.iter().sum::<f32>().abs() < 0.2 * 200.0);
    assert!(kept.is_sorted());
}

#[test]
fn shares_that_leave_nobody() {
    for share in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        assert_eq!(
            csv(PEOPLE, "city").test_share(share).refused(),
            format!("test_share {share} is not above 0 and below 1")
        );
    }
    let refused = |share| {
        csv(PEOPLE, "city")
            .ranges(&RANGES)
            .test_share(share)
            .refused()
    };
    assert_eq!(
        refused(0.04),
        "test_share 0.04 of the 10 rows of data.csv leaves none to test with"
    );
    assert_eq!(
        refused(0.96),
        "test_share 0.96 of the 10 rows of data.csv leaves none to learn from"
    );
}

#[test]
fn columns_are_chosen_and_ordered_by_name() {
    let loaded = csv(PEOPLE, "city")
        .columns(&["old"])
        .ranges(&[(Some("old"), 0.0, 100.0)])
        .load()
        .unwrap();
    assert_eq!(features(&loaded), ["old"]);
    assert_eq!(loaded.data.shape().numbers(), 1);
    for (columns, message) in [
        (&["size"][..], "size is not a column of data.csv"),
        (&["old", "old"], "'old' is listed twice"),
        (
            &["old", "city"],
            "column 'city' is the label: it cannot be learnt from",
        ),
    ] {
        let refused = csv(PEOPLE, "city").columns(columns).refused();
        assert!(refused.contains(message), "{refused}");
    }
}

#[test]
fn rows_are_read_as_the_model_was_trained() {
    let table = csv(PEOPLE, "city").ranges(&[(None, 0.0, 200.0)]);
    let names = table.load().unwrap().names;
    let read = |content: &str| {
        let rows = csv(content, "city");
        let path = rows.directory.path().join(rows.name);
        Rows::read(&path, &names).map_err(|error| error.to_string())
    };
    // In another order, with a column that the model does not know.
    let rows = read("shoes,old,tall,city\n40,50,200,Oslo\n41,100,0,Rome\n").unwrap();
    assert_eq!(rows.numbers, [1.0, -0.5, -1.0, 0.0]);
    assert_eq!(rows.labels.unwrap(), ["Oslo", "Rome"]);
    let rows = read("tall,old\n100,100\n").unwrap();
    assert_eq!((rows.numbers, rows.labels), (vec![0.0, 0.0], None));
    assert!(
        read("tall\n100\n")
            .unwrap_err()
            .contains("old is not a column of")
    );
    let refused = read("tall,old\n100,201\n").unwrap_err();
    assert!(
        refused.contains("201 is outside its range 0..200"),
        "{refused}"
    );
}

/// Users with several rows, a rate, a category and an empty cell.
const VISITS: &str = "who,often,age,color,kind\n\
    ann,0.2,10,red,a\n\
    bob,0.3,,blue,b\n\
    ann,0.2,20,,a\n\
    cid,0.4,30,red,b\n\
    bob,0.3,40,green,a\n\
    dan,0.5,0,blue,a\n";

/// The table as it is described; `change` makes it another one.
fn visits(content: &str, change: impl Fn(&mut TableSpec)) -> Result<Table, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("visits.csv");
    std::fs::write(&path, content).unwrap();
    let stand_in = |column: &str, value: &str| StandIn {
        column: column.to_owned(),
        value: value.to_owned(),
    };
    let mut spec = TableSpec {
        user: Some("who".to_owned()),
        rates: Some("often".to_owned()),
        categories: vec![CategoryColumn {
            column: "color".to_owned(),
            values: ["red", "green", "blue"].map(str::to_owned).to_vec(),
        }],
        missing: vec![stand_in("age", "20"), stand_in("color", "green")],
        ranges: vec![ColumnRange {
            column: Some("age".to_owned()),
            low: 0.0,
            high: 40.0,
        }],
        classes: Some(vec!["a".to_owned(), "b".to_owned()]),
        test_share: 0.25,
        ..TableSpec::new(&path, "kind")
    };
    change(&mut spec);
    let folder = format!("{}/", directory.path().display());
    Table::read(&spec).map_err(|error| error.to_string().replace(&folder, ""))
}

#[test]
fn users_have_several_rows_and_rates() {
    let table = visits(VISITS, |_| {}).unwrap();
    let (train, test) = (table.data.train(), table.data.test());
    // Four users, one of them with all of its rows to be judged by.
    assert_eq!((train.users(), test.users()), (3, 1));
    assert_eq!(train.len() + test.len(), 6);
    let mut seen = Vec::new();
    for examples in [train, test] {
        for user in 0..examples.users() {
            let rate = examples.rates().unwrap()[user];
            for at in examples.of_user(user) {
                let (numbers, label) = examples.get(at).unwrap();
                seen.push((rate, numbers.to_vec(), label));
            }
        }
    }
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The age scaled to [-1, 1], then a number for each color: red, green, blue. A user's rows are in the
    // order of the file, empty cells are what was declared.
    assert_eq!(
        seen,
        [
            (0.2, vec![-0.5, 1.0, 0.0, 0.0], 0),
            (0.2, vec![0.0, 0.0, 1.0, 0.0], 0),
            (0.3, vec![0.0, 0.0, 0.0, 1.0], 1),
            (0.3, vec![1.0, 0.0, 1.0, 0.0], 0),
            (0.4, vec![0.5, 1.0, 0.0, 0.0], 1),
            (0.5, vec![-1.0, 0.0, 0.0, 1.0], 0),
        ]
    );
    assert_eq!(table.names.numbers(), 4);
    assert_eq!(table.names.columns.len(), 1);
}

#[test]
fn a_model_reads_rows_as_its_table_was_read() {
    let names = visits(VISITS, |_| {}).unwrap().names;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("others.csv");
    // Columns in another order, without label, user and rate.
    std::fs::write(&path, "color,age\nblue,10\n,\n").unwrap();
    let rows = Rows::read(&path, &names).unwrap();
    assert_eq!(rows.numbers, [-0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(rows.labels, None);
    std::fs::write(&path, "color,age\npink,10\n").unwrap();
    let refused = Rows::read(&path, &names).unwrap_err().to_string();
    assert!(refused.ends_with("column 'color': 'pink' is not one of the values listed"));
}

#[test]
fn what_is_declared_wrongly_is_refused() {
    let refused = |change: &dyn Fn(&mut TableSpec)| visits(VISITS, change).unwrap_err();
    assert_eq!(
        refused(&|spec| spec.missing.clear()),
        "row 2 of visits.csv has no value in column 'age'"
    );
    assert_eq!(
        refused(&|spec| spec.missing[0].value = "50".to_owned()),
        "'50' for empty cells of column 'age': 50 is outside its range 0..40"
    );
    assert_eq!(
        refused(&|spec| spec.missing[0].value = "old".to_owned()),
        "'old' for empty cells of column 'age': it is not a number"
    );
    assert_eq!(
        refused(&|spec| spec.missing[1].value = "pink".to_owned()),
        "'pink' for empty cells of column 'color': 'pink' is not one of the values listed"
    );
    assert_eq!(
        refused(&|spec| spec.missing[1].column = "who".to_owned()),
        "'green' for empty cells of column 'who': the features are 'age', 'color'"
    );
    assert_eq!(
        refused(&|spec| spec.categories[0].column = "kind".to_owned()),
        "categories of column 'kind': the features are 'age', 'color'"
    );
    assert_eq!(
        refused(&|spec| spec.categories[0].values.truncate(1)),
        "categories of column 'color': 2 to 10,000 values are needed, such as a,b,c"
    );
    assert_eq!(
        refused(&|spec| spec.categories[0].values.push("red".to_owned())),
        "categories of column 'color': a value is listed twice"
    );
    assert_eq!(
        refused(&|spec| spec.categories[0].values[2] = "black".to_owned()),
        "row 2 of visits.csv, column 'color': 'blue' is not one of the values listed"
    );
    assert_eq!(
        refused(&|spec| spec.user = Some("kind".to_owned())),
        "column 'kind' is both the label and the user"
    );
    assert_eq!(
        refused(&|spec| spec.columns = Some(vec!["often".to_owned(), "age".to_owned()])),
        "column 'often' is both the rate and a feature"
    );
    assert_eq!(
        refused(&|spec| spec.ranges[0].column = Some("color".to_owned())),
        "categories of column 'color': they have no range"
    );
    let other = VISITS.replace("bob,0.3,40", "bob,0.6,40");
    assert_eq!(
        visits(&other, |_| {}).unwrap_err(),
        "row 5 of visits.csv, column 'often': '0.6': another row of this user has 0.3"
    );
    let certain = VISITS.replace("dan,0.5", "dan,1.5");
    assert_eq!(
        visits(&certain, |_| {}).unwrap_err(),
        "row 6 of visits.csv, column 'often': 1.5 is outside its range 0..1"
    );
    let nobody = VISITS.replace("\ndan,", "\n,");
    assert_eq!(
        visits(&nobody, |_| {}).unwrap_err(),
        "row 6 of visits.csv has no value in column 'who'"
    );
}
