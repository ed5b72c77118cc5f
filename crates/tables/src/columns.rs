//! Columns of a file: one as text, the label, where there is one, and others as numbers, the features.
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
    label: Option<&'a str>,
    features: Vec<String>,
}

/// What stands in a cell.
pub(crate) enum Cell<'a> {
    Label(&'a str),
    /// Of which feature, and its number, which is finite.
    Feature(usize, f64),
}

impl<'a> Columns<'a> {
    /// The label and the features of these names; every column but the label where no names are given.
    pub(crate) fn new(
        path: &'a Path,
        label: Option<&'a str>,
        chosen: Option<&[String]>,
    ) -> Result<Self, Error> {
        let any = Column::new(path, label.unwrap_or_default());
        let mut names = match any.open()? {
            Source::Csv(head, file) => Records::new(any, head, file)?.names,
            Source::Parquet(file) => in_parquet::names(any, file)?,
        };
        let file = path.to_owned();
        let features = match chosen {
            Some(chosen) => {
                for name in label
                    .iter()
                    .copied()
                    .chain(chosen.iter().map(String::as_str))
                {
                    Column::new(path, name).find(&names)?;
                }
                if let Some(name) = label
                    && chosen.iter().any(|feature| feature == name)
                {
                    let column = name.to_owned();
                    return Err(Error::LabelIsFeature { column });
                }
                chosen.to_vec()
            }
            None => {
                if label.is_some() {
                    names.remove(any.find(&names)?);
                }
                names
            }
        };
        let mut sorted: Vec<&String> = features.iter().collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let column = twice[0].clone();
            return Err(match chosen {
                Some(_) => Error::ListedTwice { value: column },
                None => Error::SameName { file, column },
            });
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
        if Some(name) == self.label {
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
        let label = self.label.map(|name| Column::new(self.path, name));
        // Any column opens the file.
        let any = label.unwrap_or(Column::new(self.path, &self.features[0]));
        let Source::Csv(head, file) = any.open()? else {
            let mut rows = 0;
            if let Some(label) = label {
                rows = label.texts(&mut |row, text| each(row, Cell::Label(text)))?;
            }
            for (place, name) in self.features.iter().enumerate() {
                let feature = Column::new(self.path, name);
                rows =
                    feature.numbers(&mut |row, number| each(row, Cell::Feature(place, number)))?;
            }
            return Ok(rows);
        };
        let mut records = Records::new(any, head, file)?;
        let labeled = match label {
            Some(label) => Some((label.find(&records.names)?, label)),
            None => None,
        };
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
            if let Some((index, label)) = labeled {
                let text = label.utf8(row, records.cell(label, index)?)?;
                each(row, Cell::Label(text))?;
            }
            for (place, &(index, feature)) in numbered.iter().enumerate() {
                let number = feature.number(row, records.cell(feature, index)?)?;
                each(row, Cell::Feature(place, number))?;
            }
        }
        any.some(records.row)
    }

    /// Something is wrong with the label of a row.
    pub(crate) fn refused_label(&self, row: u64, problem: CellProblem) -> Error {
        Column::new(self.path, self.label.unwrap_or_default()).at(row, problem)
    }

    /// Something is wrong with a feature of a row.
    pub(crate) fn refused_feature(&self, row: u64, feature: usize, problem: CellProblem) -> Error {
        Column::new(self.path, &self.features[feature]).at(row, problem)
    }
}
