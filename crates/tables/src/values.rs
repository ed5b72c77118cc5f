//! The different texts of a column, and the place of each row's among them.

use crate::column::Column;
use crate::error::{CellProblem, ColumnProblem, Error};
use std::collections::HashMap;

/// The different values of a column.
///
/// ```
/// use shuffledp_tables::{Column, Error, Values};
/// let listed = ["a".to_owned(), "a".to_owned()];
/// let refused = Values::read(Column::new("file.csv".as_ref(), "x"), Some(&listed));
/// assert!(matches!(refused, Err(Error::ListedTwice { .. })));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// The values, once each.
    pub names: Vec<String>,
    /// For each row, where its value is among them.
    pub places: Vec<u32>,
}

/// The values so far, and where each is among them.
pub(crate) struct Known {
    pub(crate) names: Vec<String>,
    places: HashMap<String, u32>,
    /// Whether there are no others.
    listed: bool,
    most: usize,
}

impl Values {
    /// The most values that are told apart where none are listed: for more there are heavy hitters.
    pub const MOST: usize = 1 << 20;

    /// Reads a column of at least two different values. `listed` are all that there may be, in their order;
    /// without a list, those that occur are taken, in the order of numbers or of letters.
    pub fn read(column: Column, listed: Option<&[String]>) -> Result<Self, Error> {
        let mut known = Known::new(listed, Self::MOST)?;
        let mut places = known.read(column, |_| Ok(()))?;
        let mut names = known.names;
        if names.len() < 2 {
            return Err(column.refused(ColumnProblem::OneValue));
        }
        if listed.is_none() {
            sort(&mut names, &mut places);
        }
        Ok(Self { names, places })
    }

    /// Reads a column of any number of values in the order in which they occur, and refuses those that
    /// `check` refuses, with its reason.
    pub fn checked(
        column: Column,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Self, Error> {
        let mut known = Known::new(None, usize::MAX)?;
        let places = known.read(column, check)?;
        let names = known.names;
        Ok(Self { names, places })
    }
}

impl Known {
    /// The values of a list, or none yet.
    pub(crate) fn new(listed: Option<&[String]>, most: usize) -> Result<Self, Error> {
        let names = listed.unwrap_or_default().to_vec();
        let mut places = HashMap::new();
        for (name, place) in names.iter().zip(0..) {
            if places.insert(name.clone(), place).is_some() {
                return Err(Error::ListedTwice {
                    value: name.clone(),
                });
            }
        }
        Ok(Self {
            names,
            places,
            listed: listed.is_some(),
            most,
        })
    }

    fn read(
        &mut self,
        column: Column,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Vec<u32>, Error> {
        let mut places = Vec::new();
        column.texts(&mut |row, text| {
            let text = text.trim();
            let place = self.place(text, &check);
            places.push(place.map_err(|problem| column.at(row, problem))?);
            Ok(())
        })?;
        Ok(places)
    }

    /// Where a value of a list is.
    #[cfg(feature = "learning")]
    pub(crate) fn listed_place(&self, value: &str) -> Result<u32, CellProblem> {
        self.places
            .get(value)
            .copied()
            .ok_or_else(|| CellProblem::NotListed {
                value: value.to_owned(),
            })
    }

    /// Where a value is; a new one is checked first.
    pub(crate) fn place(
        &mut self,
        value: &str,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<u32, CellProblem> {
        if let Some(place) = self.places.get(value) {
            return Ok(*place);
        }
        let owned = value.to_owned();
        if let Err(reason) = check(value) {
            return Err(CellProblem::Refused {
                value: owned,
                reason,
            });
        }
        if self.listed {
            return Err(CellProblem::NotListed { value: owned });
        }
        if self.names.len() == self.most {
            return Err(CellProblem::TooMany { most: self.most });
        }
        let place = self.names.len() as u32;
        self.names.push(owned.clone());
        self.places.insert(owned, place);
        Ok(place)
    }
}

/// Puts values in the order of numbers, if all are, and else of letters; a place among them stays with its
/// value.
pub(crate) fn sort(names: &mut [String], places: &mut [u32]) {
    let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    match numbers {
        Some(numbers) => order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b])),
        None => order.sort_by(|&a, &b| names[a].cmp(&names[b])),
    }
    let mut moved = vec![0; names.len()];
    for (new, &old) in order.iter().enumerate() {
        moved[old] = new as u32;
    }
    places
        .iter_mut()
        .for_each(|place| *place = moved[*place as usize]);
    let before = names.to_vec();
    for (name, old) in names.iter_mut().zip(order) {
        name.clone_from(&before[old]);
    }
}
