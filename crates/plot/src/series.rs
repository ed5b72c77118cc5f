//! Several quantities over one: the content of a curve or a figure, before it becomes a file or a picture.

use shuffledp::{Side, Standing, plain, rounded_to};

/// Digits in a file.
const DIGITS: usize = 8;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// One end of a band; bands are counted from 0.
    Band(usize),
    /// A line of its own.
    Line,
    /// A line through the values that there are, whatever lies between them.
    Path,
    /// Marks without a line: numbers that somebody printed.
    Marks,
    /// One end of a bar at each of the marks that come before.
    Whisker,
    /// In the file of numbers only.
    Hidden,
}

/// One quantity.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name without side and standing.
    pub name: String,
    /// Which way it bounds.
    pub side: Side,
    /// What the bound is worth; none for numbers that a paper printed.
    pub standing: Option<Standing>,
    /// How it is drawn.
    pub look: Look,
    /// A value for each place of the sheet; none where there is no value.
    pub values: Vec<Option<f64>>,
}

impl Series {
    /// The value at a place; none also beyond the end.
    pub(crate) fn value(&self, row: usize) -> Option<f64> {
        self.values.get(row).copied().flatten()
    }

    /// The name with the side and the standing.
    pub fn label(&self) -> String {
        let name = match (self.look, self.side) {
            (Look::Marks | Look::Hidden | Look::Path, _) | (Look::Line, Side::Upper) => {
                self.name.clone()
            }
            (_, side) => format!("{}, {side}", self.name),
        };
        match self.standing {
            Some(standing) => format!("{name} ({standing})"),
            None => name,
        }
    }
}

/// Quantities over one.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The name of the quantity along the horizontal axis.
    pub over: String,
    /// Its values, in increasing order.
    pub at: Vec<f64>,
    /// The quantities over it.
    pub series: Vec<Series>,
}

impl Sheet {
    /// One column a series; upper bounds rounded up, lower ones down.
    pub fn csv(&self) -> String {
        self.csv_by(|_, at| plain(at))
    }

    /// The same with a label of one's own for each row and its value.
    pub(crate) fn csv_by(&self, label: impl Fn(usize, f64) -> String) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut header = vec![self.over.clone()];
        header.extend(self.series.iter().map(Series::label));
        // Writing to memory cannot fail.
        let _ = writer.write_record(&header);
        for (row, at) in self.at.iter().enumerate() {
            let mut fields = vec![label(row, *at)];
            fields.extend(self.series.iter().map(|series| {
                let value = series.value(row);
                value.map_or(String::new(), |value| match series.standing {
                    Some(_) => rounded_to(DIGITS, value, series.side),
                    // Printed by somebody: as it stands.
                    None => plain(value),
                })
            }));
            let _ = writer.write_record(&fields);
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}
