//! What is said about a file that is refused: the library's sentences with the command's flags in them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;

/// Runs a command on a file, which it names last, and gives the sentence on standard error.
#[track_caller]
fn refused(line: &[&str], name: &str, content: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), content).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
        .current_dir(&folder)
        .args(line)
        .arg(name)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let sentence = said.strip_prefix("error: ").unwrap();
    sentence.trim_end().to_owned()
}

const HISTOGRAM: [&str; 7] = [
    "simulate",
    "histogram",
    "--epsilon0",
    "1",
    "--column",
    "x",
    "--input",
];

fn histogram(more: &[&str], content: &str) -> String {
    refused(
        &[&HISTOGRAM[..6], more, &HISTOGRAM[6..]].concat(),
        "data.csv",
        content,
    )
}

#[test]
fn records_of_a_collection() {
    assert_eq!(
        refused(&HISTOGRAM, "data.txt", "x\n1\n"),
        "--input data.txt is neither a .csv nor a .parquet file"
    );
    assert_eq!(
        histogram(&[], "a,b\n1,2\n"),
        "--column x is not a column of data.csv, which has 'a' and 'b'"
    );
    assert_eq!(
        histogram(&[], "x,x\n1,2\n"),
        "--column x: data.csv has more than one column of that name"
    );
    assert_eq!(
        histogram(&[], "x\na\na\n"),
        "column 'x' of data.csv has one value only: a histogram is of two or more (--values)"
    );
    assert_eq!(
        histogram(&["--values", "a,b,a"], "x\na\n"),
        "--values: a value is listed twice"
    );
    assert_eq!(
        histogram(&["--values", "a,b"], "x\na\nc\n"),
        "row 2 of data.csv, column 'x': 'c' is not one of the --values"
    );
    let many: String = (0..=1 << 20).map(|i| format!("{i}\n")).collect();
    assert_eq!(
        histogram(&[], &format!("x\n{many}")),
        "row 1048577 of data.csv, column 'x': more than 1,048,576 different values: ask for heavy-hitters"
    );
    let mean = "simulate mean --epsilon0 1 --column x --range 0..2.5 --input";
    let mean: Vec<&str> = mean.split(' ').collect();
    assert_eq!(
        refused(&mean, "data.csv", "x\n0\n3\n"),
        "row 2 of data.csv, column 'x': 3 is outside --range 0..2.5"
    );
    assert_eq!(
        refused(&mean, "data.csv", "x\n0\nred\n"),
        "row 2 of data.csv, column 'x': 'red' is not a number"
    );
    let words = "simulate heavy-hitters --epsilon0 1 --column x --length 2 --input";
    let words: Vec<&str> = words.split(' ').collect();
    let said = refused(&words, "data.csv", "x\nab\nabc\n");
    assert!(
        said.starts_with("row 2 of data.csv, column 'x': 'abc': "),
        "{said}"
    );
    assert!(said.ends_with(" (--length)"), "{said}");
}

/// Ten people: how tall, how old, and from where.
const PEOPLE: &str = "tall,city,old\n1,Oslo,0\n1,Porto,1\n0,Oslo,0\n0,Oslo,1\n1,Bonn,0\n\
    1,Oslo,0\n1,Bonn,1\n0,Oslo,1\n0,Porto,0\n1,Bonn,1\n";

#[cfg(feature = "train")]
#[test]
fn tables_to_learn_from() {
    let train = |more: &str, content: &str| {
        let line = format!("train --seed 1 --rounds 1 --epsilon0 1 {more} --data");
        let line: Vec<&str> = line.split_whitespace().collect();
        refused(&line, "data.csv", content)
    };
    let people = |more: &str| train(&format!("--label city {more}"), PEOPLE);
    assert_eq!(
        people("--classes Oslo,Bonn"),
        "row 2 of data.csv, column 'city': 'Porto' is not one of the --classes"
    );
    for one in ["Oslo", "Oslo,,Bonn"] {
        let said = format!("--classes {one} is not 2 to 256 classes, such as a,b,c");
        assert_eq!(people(&format!("--classes {one}")), said);
    }
    assert_eq!(
        people("--classes Oslo,Bonn,Oslo"),
        "--classes: a class is listed twice"
    );
    assert_eq!(
        people("--range age=0..120"),
        "--range age is not a column of data.csv, which has 'tall' and 'old'"
    );
    assert_eq!(
        people("--range city=0..1"),
        "--range city: that is the label, which is not a number"
    );
    assert_eq!(
        people("--range 0..1 --range 0..2"),
        "--range 0..2: every column has a range already"
    );
    assert_eq!(
        people("--range old=0..1 --range old=0..2"),
        "--range old=0..2: column 'old' has a range already"
    );
    let wrong = "is not two numbers, the lower first and none beyond 1e300, such as 0..120";
    for range in ["1..1", "2..1", "7", "0..nan", "0..inf"] {
        assert_eq!(
            people(&format!("--range {range}")),
            format!("--range {range} {wrong}")
        );
        let of_one = people(&format!("--range old={range}"));
        assert_eq!(of_one, format!("--range {range} {wrong}"));
    }
    for share in ["0", "1", "-0.5", "NaN", "inf"] {
        let said = format!("--test-share {share} is not above 0 and below 1");
        assert_eq!(people(&format!("--test-share {share}")), said);
    }
    for (share, what) in [("0.04", "test with"), ("0.96", "learn from")] {
        let said = format!("--test-share {share} of the 10 rows of data.csv leaves none to {what}");
        assert_eq!(people(&format!("--test-share {share}")), said);
    }
    let of_y = |content: &str| train("--label y", content);
    assert_eq!(
        of_y("x,y\n0,a\n1,a\n0,a\n"),
        "column 'y' of data.csv has one value only: there are two classes or more (--classes)"
    );
    let rows: String = (0..300).map(|i| format!("0,{i}\n")).collect();
    assert_eq!(
        of_y(&format!("x,y\n{rows}")),
        "row 257 of data.csv, column 'y': more than 256 different labels: a label is one of a few classes"
    );
    assert_eq!(
        of_y("x,y\n0.5,a\n1.01,b\n"),
        "row 2 of data.csv, column 'x': 1.01 is outside its range 0..1 (--range)"
    );
    assert_eq!(
        of_y("x,y\n0.5,a\nred,b\n"),
        "row 2 of data.csv, column 'x': 'red' is not a number: \
         every column without another use is a feature and a number, or one of a list of values (--category)"
    );
    assert_eq!(
        of_y("x,y,x\n0,a,0\n"),
        "data.csv has more than one column 'x'"
    );
    assert_eq!(
        of_y("x,y,y\n0,a,0\n"),
        "--label y: data.csv has more than one column of that name"
    );
    assert_eq!(
        of_y("x,z\n0,a\n"),
        "--label y is not a column of data.csv, which has 'x' and 'z'"
    );
    assert_eq!(
        of_y("y\na\nb\n"),
        "data.csv has no column but the label: there is nothing to learn from"
    );
}
