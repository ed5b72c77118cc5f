//! All columns of a file: one as text, the label, and the others as numbers, the features.
//!
//! A CSV file is read row by row and a Parquet file column by column, as they are stored: either way every
//! cell is visited once.

use super::in_parquet;
use super::{Asked, Column, Records, Source, quoted};
use crate::failure::Failure;
use std::path::Path;

const ASKED: Asked = Asked {
    file: "--data",
    column: "--label",
    advice: ": every column but the label is a feature, so encode text as numbers first",
};

/// A file, its label and its features.
pub(crate) struct Columns<'a> {
    path: &'a Path,
    label: &'a str,
    features: Vec<String>,
}

/// What stands in a cell.
pub(crate) enum Cell<'a> {
    Label(&'a str),
    /// Of which feature, and its number, which is finite.
    Feature(usize, f64),
}

impl<'a> Columns<'a> {
    /// Reads the names; no two are the same, one is the label, and there is a feature.
    pub(crate) fn new(path: &'a Path, label: &'a str) -> Result<Self, Failure> {
        let column = Column {
            path,
            name: label,
            asked: ASKED,
        };
        let mut features = match column.open()? {
            Source::Csv(head, file) => Records::new(column, head, file)?.names,
            Source::Parquet(file) => in_parquet::names(column, file)?,
        };
        features.remove(column.find(&features)?);
        let mut sorted: Vec<&String> = features.iter().collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(column.fail(format!(
                "{} has more than one column {}",
                path.display(),
                quoted(twice[0])
            )));
        }
        if features.is_empty() {
            return Err(column.fail(format!(
                "{} has no column but the label: there is nothing to learn from",
                path.display()
            )));
        }
        Ok(Self {
            path,
            label,
            features,
        })
    }

    /// The names of the features, in the order of the file.
    pub(crate) fn features(&self) -> &[String] {
        &self.features
    }

    /// Which feature a flag names.
    pub(crate) fn find(&self, flag: &'static str, name: &str) -> Result<usize, Failure> {
        if name == self.label {
            let message = format!("{flag} {name}: that is the label, which is not a number");
            return Err(Failure::flag(flag, message));
        }
        let asked = Asked {
            column: flag,
            ..ASKED
        };
        Column {
            asked,
            ..self.column(name)
        }
        .find(&self.features)
    }

    /// Reads every cell: `each(row, cell)`, rows from 1. Gives the number of rows.
    pub(crate) fn read(
        &self,
        each: &mut dyn FnMut(u64, Cell) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let label = self.column(self.label);
        let Source::Csv(head, file) = label.open()? else {
            let rows = label.texts(&mut |row, text| each(row, Cell::Label(text)))?;
            for (place, name) in self.features.iter().enumerate() {
                let feature = self.column(name);
                feature.numbers(&mut |row, number| each(row, Cell::Feature(place, number)))?;
            }
            return Ok(rows);
        };
        let mut records = Records::new(label, head, file)?;
        let labeled = label.find(&records.names)?;
        let numbered: Vec<(usize, Column)> = self
            .features
            .iter()
            .map(|name| {
                let column = self.column(name);
                Ok((column.find(&records.names)?, column))
            })
            .collect::<Result<_, Failure>>()?;
        while records.next()? {
            let row = records.row;
            let text = label.utf8(row, records.cell(label, labeled)?)?;
            each(row, Cell::Label(text))?;
            for (place, &(index, feature)) in numbered.iter().enumerate() {
                let number = feature.number(row, records.cell(feature, index)?)?;
                each(row, Cell::Feature(place, number))?;
            }
        }
        label.some(records.row)
    }

    /// Something is wrong with the label of a row.
    pub(crate) fn refused_label(&self, row: u64, what: &str) -> Failure {
        self.column(self.label).at(row, what)
    }

    /// Something is wrong with a feature of a row.
    pub(crate) fn refused_feature(&self, row: u64, feature: usize, what: &str) -> Failure {
        self.column(&self.features[feature]).at(row, what)
    }

    fn column<'b>(&'b self, name: &'b str) -> Column<'b> {
        Column {
            path: self.path,
            name,
            asked: ASKED,
        }
    }
}
