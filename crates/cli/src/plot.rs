//! Pictures: series as lines, upper and lower bounds as bands, in SVG or PNG. [`draw`] is the only place that knows
//! the plotting library; without the feature `plots` nothing is drawn, and `--plot` is refused.

#[cfg(feature = "plots")]
mod draw;
#[cfg(not(feature = "plots"))]
#[path = "plot/without_plots.rs"]
mod draw;

use crate::failure::{Failure, not_built};
use crate::series::Sheet;
pub(crate) use draw::BUILT;
use std::path::Path;

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
}

/// How values lie along an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scale {
    Linear,
    Log,
    /// The values are 1, 2, … and stand for these words.
    Words(Vec<String>),
}

impl Axis {
    pub(crate) fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
        }
    }

    pub(crate) fn log(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Log,
        }
    }

    pub(crate) fn words(label: impl Into<String>, words: &[&str]) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Words(words.iter().map(|&word| word.to_owned()).collect()),
        }
    }
}

/// Writes a picture, whole or not at all. Where it cannot, it says why, and the numbers are printed all the same.
pub(crate) fn written(path: &Path, bytes: Result<Vec<u8>, Failure>) -> Option<Failure> {
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(failure) => return Some(failure),
    };
    let existed = path.exists();
    let error = std::fs::write(path, bytes).err()?;
    if !existed {
        // Half a picture is of no use; if it cannot be removed either, the message says enough.
        let _ = std::fs::remove_file(path);
    }
    let name = path.display();
    Some(Failure::incomplete(format!(
        "--plot {name} cannot be written: {error}"
    )))
}

/// A picture of a sheet.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Nothing outside is drawn.
    pub(crate) within: (f64, f64),
}

/// The kind of file, by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Svg,
    Png,
}

impl Kind {
    /// The kind that a path asks for, where pictures can be drawn.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        if !BUILT {
            return Err(Failure::flag(
                "--plot",
                not_built("--plot draws a picture", "plots"),
            ));
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(Failure::value(
                "--plot",
                &path.display().to_string(),
                "a file that ends in .svg or .png",
            )),
        }
    }
}

/// All values.
pub(crate) const EVERYWHERE: (f64, f64) = (0.0, f64::INFINITY);

/// Below this much of a span a logarithmic axis says less than a linear one.
pub(crate) const WORTH_A_LOG: f64 = 30.0;

impl Picture {
    /// The vertical axis that suits the values: logarithmic where they span much.
    pub(crate) fn vertical(label: impl Into<String>, sheet: &Sheet) -> Axis {
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
