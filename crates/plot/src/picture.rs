//! Pictures as they are described: axes, kinds of files, a sheet of series. They are drawn in
//! [`crate::draw`].

use crate::Error;
use crate::series::Sheet;
use shuffledp::plain;
use std::path::Path;

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// How values lie along it.
    pub scale: Scale,
}

/// How values lie along an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart.
    Log,
    /// The values are 1, 2, … and stand for these words.
    Words(Vec<String>),
}

impl Axis {
    /// An axis with a linear scale.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
        }
    }

    /// An axis with a logarithmic scale.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Log,
        }
    }

    /// An axis of words in place of numbers.
    pub fn words(label: impl Into<String>, words: &[&str]) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Words(words.iter().map(|&word| word.to_owned()).collect()),
        }
    }
}

/// A picture of a sheet.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The first line, in large letters.
    pub title: String,
    /// The second line, in small letters.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Least and largest value that are drawn.
    pub within: (f64, f64),
}

/// The kind of file, by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lines and letters.
    Svg,
    /// Pixels.
    Png,
}

impl Kind {
    /// The kind that a path asks for.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(Error::Ending {
                path: path.to_owned(),
            }),
        }
    }
}

/// All values.
pub const EVERYWHERE: (f64, f64) = (0.0, f64::INFINITY);

/// Largest over least value from which on a vertical axis is logarithmic: chosen by eye.
const WORTH_A_LOG: f64 = 30.0;

impl Picture {
    /// The numbers of a sheet, with words in the first column where the horizontal axis has words.
    pub fn csv(&self, sheet: &Sheet) -> String {
        match &self.x.scale {
            Scale::Words(words) => sheet.csv_by(|row, at| match words.get(row) {
                Some(word) => word.clone(),
                None => plain(at),
            }),
            Scale::Linear | Scale::Log => sheet.csv(),
        }
    }

    /// The vertical axis that suits the values: logarithmic where they span much.
    pub fn vertical(label: impl Into<String>, sheet: &Sheet) -> Axis {
        let values = || {
            let all = sheet.series.iter().flat_map(|series| &series.values);
            all.flatten().copied()
        };
        // A zero has no place on a logarithmic axis, and must not flatten everything else.
        let positive = values().filter(|value| *value > 0.0);
        let (least, most) = positive.fold((f64::INFINITY, 0.0f64), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        if most > WORTH_A_LOG * least {
            Axis::log(label)
        } else {
            Axis::linear(label)
        }
    }
}
