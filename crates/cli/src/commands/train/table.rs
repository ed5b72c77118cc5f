//! A table to learn from: a row is a user, one column the label, every other column a feature.
//!
//! ```text
//! feature x of the public range lo..hi    2 (x − lo)/(hi − lo) − 1, in [−1, 1]
//! label                                   its place among the classes
//! ```
//!
//! Ranges are given and never read off the data: the smallest and largest value of a column are two users'
//! values, and would not be protected. The same holds for the classes; if they are not given, those that
//! occur are taken, and a note says so.
//!
//! A share of the rows is kept to judge by. A fixed seed draws them: every run keeps the same rows.

#[cfg(test)]
mod tests;

use crate::column::all::{Cell, Columns};
use crate::column::quoted;
use crate::failure::Failure;
use crate::number::Range;
use crate::values::{listed, sort};
use shuffledp::learning::run::{ColumnRange, Data, TableSpec};
use shuffledp::learning::{Dataset, Error, Examples, Shape};
use shuffledp::randomizers::{Simulated, below};
use shuffledp::{grouped, plain};
use std::collections::HashMap;

/// The most classes: a label is stored in a byte.
const MOST_CLASSES: usize = 256;
/// The seed that draws the rows kept for testing; public.
const SEED: u64 = 1;

/// Reads a table, with notes on the parts that are not protected.
pub(super) fn read(table: &TableSpec) -> Result<Data, Failure> {
    let loaded = Loaded::new(table)?;
    let mut data = Data::new(loaded.data, &table.path.display().to_string());
    data.about += &format!(", {} numbers each", grouped(loaded.features.len() as u64));
    if loaded.classes_occur {
        data.notes.push(format!(
            "The classes were taken from the file ({}): a real collection must know them beforehand \
             (--classes).",
            loaded.classes.join(", ")
        ));
    }
    let note = "The rows to be judged by are not protected: accuracy is theirs.";
    data.notes.push(note.into());
    Ok(data)
}

/// Ranges as they are typed: `LO..HI` for all columns, `name=LO..HI` for one.
pub(super) fn ranges(texts: &[String]) -> Result<Vec<ColumnRange>, Failure> {
    let parsed = texts.iter().map(|text| {
        // A name may hold an equals sign, a range does not.
        let (column, ends) = match text.rsplit_once('=') {
            None => (None, text.as_str()),
            Some((name, ends)) => (Some(name.trim().to_owned()), ends),
        };
        let range: Result<Range, _> = ends.parse();
        let Range(low, high) =
            range.map_err(|error| Failure::value("--range", ends, &error.to_string()))?;
        Ok(ColumnRange { column, low, high })
    });
    parsed.collect()
}

/// Classes as they are typed, between commas.
pub(super) fn classes(text: &str) -> Vec<String> {
    listed(text)
}

/// A table as it is learnt from.
#[derive(Debug)]
struct Loaded {
    /// An image is a row, a channel a feature.
    data: Dataset,
    /// The names of the features, in the order of the file.
    features: Vec<String>,
    /// The names of the classes; a label is a place among them.
    classes: Vec<String>,
    /// Whether the classes are those that occur: which exist is then not protected.
    classes_occur: bool,
}

impl Loaded {
    fn new(table: &TableSpec) -> Result<Self, Failure> {
        if !(table.test_share > 0.0 && table.test_share < 1.0) {
            let share = table.test_share.to_string();
            return Err(Failure::value(
                "--test-share",
                &share,
                "above 0 and below 1",
            ));
        }
        let mut classes = Classes::new(table.classes.as_deref())?;
        let columns = Columns::new(&table.path, &table.label)?;
        let ranges = ranges_of(&columns, &table.ranges)?;
        let mut features: Vec<Vec<f32>> = vec![Vec::new(); ranges.len()];
        let mut labels = Vec::new();
        let rows = columns.read(&mut |row, cell| {
            match cell {
                Cell::Label(text) => labels.push(
                    classes
                        .place(text.trim())
                        .map_err(|what| columns.refused_label(row, &what))?,
                ),
                Cell::Feature(feature, number) => {
                    let (low, high) = ranges[feature];
                    if !(low..=high).contains(&number) {
                        let what = format!(
                            "{} is outside its range {}..{} (--range)",
                            plain(number),
                            plain(low),
                            plain(high)
                        );
                        return Err(columns.refused_feature(row, feature, &what));
                    }
                    features[feature].push((2.0 * ((number - low) / (high - low)) - 1.0) as f32);
                }
            }
            Ok(())
        })?;
        let occurring = classes.names.len();
        if occurring < 2 {
            return Err(Failure::flag(
                "--label",
                format!(
                    "column {} of {} has one value only: there are two classes or more (--classes)",
                    quoted(&table.label),
                    table.path.display()
                ),
            ));
        }
        let classes_occur = !classes.listed;
        if classes_occur {
            sort(&mut classes.names, &mut labels);
        }
        Ok(Self {
            data: split(table, rows, &features, &labels, occurring)?,
            features: columns.features().to_vec(),
            classes: classes.names,
            classes_occur,
        })
    }
}

/// The range of every feature.
fn ranges_of(columns: &Columns, ranges: &[ColumnRange]) -> Result<Vec<(f64, f64)>, Failure> {
    const FLAG: &str = "--range";
    let twice = |range: &ColumnRange, what: &str| {
        let column = range.column.as_ref();
        let name = column.map_or(String::new(), |name| format!("{name}="));
        let (low, high) = (plain(range.low), plain(range.high));
        let message = format!("{FLAG} {name}{low}..{high}: {what} has a range already");
        Failure::flag(FLAG, message)
    };
    let (mut of_all, mut own) = (None, vec![None; columns.features().len()]);
    for range in ranges {
        let ends = (range.low, range.high);
        match &range.column {
            None => {
                if of_all.replace(ends).is_some() {
                    return Err(twice(range, "every column"));
                }
            }
            Some(name) => {
                let place = columns.find(FLAG, name)?;
                if own[place].replace(ends).is_some() {
                    return Err(twice(range, &format!("column {}", quoted(name))));
                }
            }
        }
    }
    let of_all = of_all.unwrap_or((0.0, 1.0));
    Ok(own.into_iter().map(|own| own.unwrap_or(of_all)).collect())
}

/// The rows to learn from and the rows to be judged by, each in the order of the file.
fn split(
    table: &TableSpec,
    rows: u64,
    features: &[Vec<f32>],
    labels: &[u32],
    classes: usize,
) -> Result<Dataset, Failure> {
    let kept = (table.test_share * rows as f64).round() as u64;
    if kept == 0 || kept >= rows {
        let message = format!(
            "--test-share {} of the {} rows of {} leaves none to {}",
            plain(table.test_share),
            grouped(rows),
            table.path.display(),
            if kept == 0 { "test with" } else { "learn from" }
        );
        return Err(Failure::flag("--test-share", message));
    }
    let mut random = Simulated::new(SEED, 0);
    let mut parts = [const { (Vec::new(), Vec::new()) }; 2];
    let (mut wanted, mut left) = (kept, rows);
    for (row, &label) in labels.iter().enumerate() {
        // Of the rows that are left, each is as likely to be one of those still wanted.
        let tested = below(left, &mut random) < wanted;
        wanted -= u64::from(tested);
        left -= 1;
        let (images, labels) = &mut parts[usize::from(tested)];
        images.extend(features.iter().filter_map(|numbers| numbers.get(row)));
        // Classes are at most 256.
        labels.push(label as u8);
    }
    let shape = Shape {
        channels: features.len(),
        height: 1,
        width: 1,
    };
    let examples = |(images, labels)| Examples::new(shape, classes, images, labels);
    let [train, test] = parts.map(examples);
    let refused =
        |error: Error| Failure::flag("--data", format!("{}: {error}", table.path.display()));
    Dataset::new(train.map_err(refused)?, test.map_err(refused)?).map_err(refused)
}

/// The classes so far, and where each is among them.
struct Classes {
    names: Vec<String>,
    places: HashMap<String, u32>,
    /// Whether there are no others.
    listed: bool,
}

impl Classes {
    /// Those of a list, or none yet.
    fn new(list: Option<&[String]>) -> Result<Self, Failure> {
        let names = list.unwrap_or_default().to_vec();
        if let Some(list) = list
            && (!(2..=MOST_CLASSES).contains(&names.len()) || names.iter().any(String::is_empty))
        {
            let allowed = format!("2 to {MOST_CLASSES} classes, such as a,b,c");
            return Err(Failure::value("--classes", list.join(","), &allowed));
        }
        let places: HashMap<String, u32> = names.iter().cloned().zip(0..).collect();
        if places.len() != names.len() {
            return Err(Failure::flag(
                "--classes",
                "--classes: a class is listed twice",
            ));
        }
        Ok(Self {
            names,
            places,
            listed: list.is_some(),
        })
    }

    /// Where a class is, or why it is none.
    fn place(&mut self, name: &str) -> Result<u32, String> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        if name.is_empty() {
            return Err("the label is empty".into());
        }
        if self.listed {
            return Err(format!("{} is not one of the --classes", quoted(name)));
        }
        if self.names.len() == MOST_CLASSES {
            return Err(format!(
                "more than {MOST_CLASSES} different labels: a label is one of a few classes"
            ));
        }
        let place = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        Ok(place)
    }
}
