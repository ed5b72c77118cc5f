//! A table to learn from: a row is a user, one column the label, every other column a feature.
//!
//! ```text
//! feature x of the public range lo..hi    2 (x − lo)/(hi − lo) − 1, in [−1, 1]
//! label                                   its place among the classes
//! ```
//!
//! Ranges are given and never read off the data: the smallest and largest value of a column are two users'
//! values, and would not be protected. The same holds for the classes; if they are not given, those that
//! occur are taken, and [`Table::classes_occur`] says so.
//!
//! A share of the rows is kept to judge by. A fixed seed draws them: every run keeps the same rows.

use crate::columns::{Cell, Columns};
use crate::error::{CellProblem, ColumnProblem, Error};
use crate::values::{Known, sort};
use shuffledp::learning::run::{ColumnRange, Names, TableSpec};
use shuffledp::learning::{Dataset, Examples, Shape};
use shuffledp::randomizers::{Simulated, below};
use std::path::Path;

/// The most classes: a label is stored in a byte.
const MOST_CLASSES: usize = 256;
/// The seed that draws the rows kept for testing; public.
const SEED: u64 = 1;

/// A table as it is learnt from.
///
/// ```
/// use shuffledp::learning::run::TableSpec;
/// use shuffledp_tables::{Error, Table};
/// let spec = TableSpec {
///     path: "no/such/file.csv".into(),
///     label: "city".to_owned(),
///     columns: None,
///     ranges: Vec::new(),
///     classes: None,
///     test_share: 2.0,
/// };
/// assert_eq!(Table::read(&spec).unwrap_err(), Error::TestShare { value: 2.0 });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// An image is a row, a channel a feature.
    pub data: Dataset,
    /// The label, its classes, and the features in order with their ranges.
    pub names: Names,
    /// Whether the classes are those that occur: which exist is then not protected.
    pub classes_occur: bool,
}

impl Table {
    /// Reads it.
    pub fn read(table: &TableSpec) -> Result<Self, Error> {
        if !(table.test_share > 0.0 && table.test_share < 1.0) {
            let value = table.test_share;
            return Err(Error::TestShare { value });
        }
        if let Some(list) = &table.classes
            && (!(2..=MOST_CLASSES).contains(&list.len()) || list.iter().any(String::is_empty))
        {
            let value = list.join(",");
            return Err(Error::Classes { value });
        }
        let mut classes = Known::new(table.classes.as_deref(), MOST_CLASSES)?;
        let columns = Columns::new(&table.path, Some(&table.label), table.columns.as_deref())?;
        let ranges = ranges_of(&columns, &table.ranges)?;
        let mut features: Vec<Vec<f32>> = vec![Vec::new(); ranges.len()];
        let mut labels = Vec::new();
        let rows = columns.read(&mut |row, cell| {
            match cell {
                Cell::Label(text) => {
                    let place = match text.trim() {
                        "" => Err(CellProblem::EmptyLabel),
                        name => classes.place(name, |_| Ok(())),
                    };
                    labels.push(place.map_err(|problem| columns.refused_label(row, problem))?);
                }
                Cell::Feature(feature, value) => {
                    let number = scaled(value, ranges[feature]);
                    let number =
                        number.map_err(|problem| columns.refused_feature(row, feature, problem))?;
                    features[feature].push(number);
                }
            }
            Ok(())
        })?;
        let mut names = classes.names;
        if names.len() < 2 {
            return Err(Error::Column {
                file: table.path.clone(),
                column: table.label.clone(),
                problem: ColumnProblem::OneValue,
            });
        }
        let classes_occur = table.classes.is_none();
        if classes_occur {
            sort(&mut names, &mut labels);
        }
        Ok(Self {
            data: split(table, rows, &features, &labels, names.len())?,
            names: Names {
                label: Some(table.label.clone()),
                classes: names,
                columns: named(columns.features(), &ranges),
            },
            classes_occur,
        })
    }
}

/// Rows of a table in the form that a trained model reads: its columns by name, scaled by their ranges.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rows {
    /// The numbers of all rows, row after row.
    pub numbers: Vec<f32>,
    /// The label of each row, where the file has the label's column; it need not be one of the classes.
    pub labels: Option<Vec<String>>,
}

impl Rows {
    /// Reads the columns that a model was trained on. Others are not looked at.
    pub fn read(path: &Path, names: &Names) -> Result<Self, Error> {
        let chosen: Vec<String> = names
            .columns
            .iter()
            .map(|range| range.column.clone().unwrap_or_default())
            .collect();
        let labeled = |label: Option<&str>| Columns::new(path, label, Some(&chosen)).map(drop);
        let label = names.label.as_deref();
        let label = match labeled(label) {
            Err(Error::NoColumn { column, .. }) if Some(column.as_str()) == label => None,
            other => other.map(|()| label)?,
        };
        let columns = Columns::new(path, label, Some(&chosen))?;
        let mut features: Vec<Vec<f32>> = vec![Vec::new(); chosen.len()];
        let mut labels = label.map(|_| Vec::new());
        columns.read(&mut |row, cell| {
            match cell {
                Cell::Label(text) => {
                    if let Some(labels) = &mut labels {
                        labels.push(text.trim().to_owned());
                    }
                }
                Cell::Feature(feature, value) => {
                    let range = &names.columns[feature];
                    let number = scaled(value, (range.low, range.high));
                    let number =
                        number.map_err(|problem| columns.refused_feature(row, feature, problem))?;
                    features[feature].push(number);
                }
            }
            Ok(())
        })?;
        let rows = features.first().map_or(0, Vec::len);
        let numbers = (0..rows).flat_map(|row| features.iter().map(move |column| column[row]));
        Ok(Self {
            numbers: numbers.collect(),
            labels,
        })
    }
}

/// A number of a public range, brought to [−1, 1].
fn scaled(value: f64, (low, high): (f64, f64)) -> Result<f32, CellProblem> {
    if !(low..=high).contains(&value) {
        return Err(CellProblem::Outside { value, low, high });
    }
    Ok((2.0 * ((value - low) / (high - low)) - 1.0) as f32)
}

/// The features with their ranges.
fn named(features: &[String], ranges: &[(f64, f64)]) -> Vec<ColumnRange> {
    let columns = features.iter().zip(ranges);
    columns
        .map(|(name, &(low, high))| ColumnRange {
            column: Some(name.clone()),
            low,
            high,
        })
        .collect()
}

/// The range of every feature.
fn ranges_of(columns: &Columns, ranges: &[ColumnRange]) -> Result<Vec<(f64, f64)>, Error> {
    let (mut of_all, mut own) = (None, vec![None; columns.features().len()]);
    for range in ranges {
        let place = match &range.column {
            None => &mut of_all,
            Some(name) => &mut own[columns.find(name)?],
        };
        if place.replace((range.low, range.high)).is_some() {
            return Err(Error::TwoRanges {
                column: range.column.clone(),
                low: range.low,
                high: range.high,
            });
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
) -> Result<Dataset, Error> {
    let kept = (table.test_share * rows as f64).round() as u64;
    if kept == 0 || kept >= rows {
        return Err(Error::NoExamples {
            file: table.path.clone(),
            rows,
            test_share: table.test_share,
            tested: kept,
        });
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
    let refused = |error: shuffledp::learning::Error| Error::Examples {
        file: table.path.clone(),
        reason: error.to_string(),
    };
    Dataset::new(train.map_err(refused)?, test.map_err(refused)?).map_err(refused)
}
