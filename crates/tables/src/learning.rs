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
use shuffledp::learning::run::{ColumnRange, TableSpec};
use shuffledp::learning::{Dataset, Examples, Shape};
use shuffledp::randomizers::{Simulated, below};

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
    /// The names of the features, in the order of the file.
    pub features: Vec<String>,
    /// The names of the classes; a label is a place among them.
    pub classes: Vec<String>,
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
        let columns = Columns::new(&table.path, &table.label)?;
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
                    let (low, high) = ranges[feature];
                    if !(low..=high).contains(&value) {
                        let problem = CellProblem::Outside { value, low, high };
                        return Err(columns.refused_feature(row, feature, problem));
                    }
                    features[feature].push((2.0 * ((value - low) / (high - low)) - 1.0) as f32);
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
            features: columns.features().to_vec(),
            classes: names,
            classes_occur,
        })
    }
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
