//! Several quantities over one: what a curve or a figure is made of, before it becomes a file or a picture.

use shuffledp::{Side, Standing, plain, rounded_to};

/// Digits in a file.
const DIGITS: usize = 8;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
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
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) side: Side,
    /// None for what a paper printed.
    pub(crate) standing: Option<Standing>,
    pub(crate) look: Look,
    /// None where there is no value.
    pub(crate) values: Vec<Option<f64>>,
}

impl Series {
    /// The name with what the number is worth.
    pub(crate) fn label(&self) -> String {
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
pub(crate) struct Sheet {
    /// What runs along.
    pub(crate) over: String,
    pub(crate) at: Vec<f64>,
    pub(crate) series: Vec<Series>,
}

impl Sheet {
    /// One column a series; upper bounds rounded up, lower ones down.
    pub(crate) fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut header = vec![self.over.clone()];
        header.extend(self.series.iter().map(Series::label));
        // Writing to memory cannot fail.
        let _ = writer.write_record(&header);
        for (row, at) in self.at.iter().enumerate() {
            let mut fields = vec![plain(*at)];
            fields.extend(self.series.iter().map(|series| {
                let value = series.values[row];
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
