//! All columns of a file: one as text, the label, and the others as numbers, the features.
//!
//! A CSV file is read row by row and a Parquet file column by column, as they are stored: either way every
//! cell is visited once.

use crate::column::{Column, Source};
use crate::error::{CellProblem, Error};
use crate::in_csv::Records;
use crate::in_parquet;
use std::path::Path;

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
    pub(crate) fn new(path: &'a Path, label: &'a str) -> Result<Self, Error> {
        let column = Column::new(path, label);
        let mut features = match column.open()? {
            Source::Csv(head, file) => Records::new(column, head, file)?.names,
            Source::Parquet(file) => in_parquet::names(column, file)?,
        };
        features.remove(column.find(&features)?);
        let mut sorted: Vec<&String> = features.iter().collect();
        sorted.sort_unstable();
        let file = path.to_owned();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let column = twice[0].clone();
            return Err(Error::SameName { file, column });
        }
        if features.is_empty() {
            return Err(Error::OnlyLabel { file });
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

    /// Which feature has this name.
    pub(crate) fn find(&self, name: &str) -> Result<usize, Error> {
        if name == self.label {
            let column = name.to_owned();
            return Err(Error::RangeOfLabel { column });
        }
        Column::new(self.path, name).find(&self.features)
    }

    /// Reads every cell: `each(row, cell)`, rows from 1. Gives the number of rows.
    pub(crate) fn read(
        &self,
        each: &mut dyn FnMut(u64, Cell) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let label = Column::new(self.path, self.label);
        let Source::Csv(head, file) = label.open()? else {
            let rows = label.texts(&mut |row, text| each(row, Cell::Label(text)))?;
            for (place, name) in self.features.iter().enumerate() {
                let feature = Column::new(self.path, name);
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
                let column = Column::new(self.path, name);
                Ok((column.find(&records.names)?, column))
            })
            .collect::<Result<_, Error>>()?;
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
    pub(crate) fn refused_label(&self, row: u64, problem: CellProblem) -> Error {
        Column::new(self.path, self.label).at(row, problem)
    }

    /// Something is wrong with a feature of a row.
    pub(crate) fn refused_feature(&self, row: u64, feature: usize, problem: CellProblem) -> Error {
        Column::new(self.path, &self.features[feature]).at(row, problem)
    }
}
