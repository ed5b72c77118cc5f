//! Reports that are directions: what a mean of them is worth, against a trusted server with the same budget.

use crate::curves::{digits, linear};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::note::{markdown, note};
use shuffledp::atoms::Atoms;
use shuffledp::randomizers::R2;
use shuffledp::{DirectionLaw, LocalEpsilon, Side, grouped, plain};
use shuffledp_plot::{Axis, EVERYWHERE, Look, Picture, Series, Sheet};

/// Dimensions of the table; the last is the picture's, and that of a linear model on 128 features of ten
/// classes.
const DIMENSIONS: [u64; 3] = [10, 128, 1290];
const NAMES: [&str; 4] = [
    "R_2",
    "PrivUnit at the price of any ε₀-LDP randomizer",
    "PrivUnit",
    "the ramp",
];

/// The efficiencies of one dimension and ε₀, in the order of the names, and the ramp.
struct Row {
    values: [Option<f64>; 4],
    ramp: DirectionLaw,
}

/// 4 d M²/v: M the length of the mean of a report, v what it costs.
fn efficiency(dimension: u64, length: f64, price: f64) -> f64 {
    4.0 * dimension as f64 * length * length / price
}

fn row(dimension: u64, epsilon0: f64) -> Result<Row, Error> {
    let any = Atoms::ldp(LocalEpsilon::new(epsilon0)?)?.chi_square();
    let bit = R2::new(dimension as usize, 1.0, epsilon0)?;
    let step = DirectionLaw::priv_unit(Some(dimension), epsilon0)?;
    let ramp = DirectionLaw::ramp(Some(dimension), epsilon0, None)?;
    let longest = step.mean_length();
    Ok(Row {
        values: [
            Some(efficiency(dimension, bit.scale().recip(), any)),
            longest.map(|length| efficiency(dimension, length, any)),
            step.efficiency(),
            ramp.efficiency(),
        ],
        ramp,
    })
}

/// The largest tenth at which a ramp costs no more than one bit at ε₀.
fn as_cheap(dimension: u64, epsilon0: f64) -> Result<f64, Error> {
    let price = Atoms::ldp(LocalEpsilon::new(epsilon0)?)?.chi_square();
    let mut tenths = (10.0 * epsilon0).round();
    while DirectionLaw::ramp(Some(dimension), 0.1 * (tenths + 1.0), None)?
        .chi_square()
        .is_some_and(|own| own <= price)
    {
        tenths += 1.0;
    }
    Ok(tenths / 10.0)
}

pub(super) fn directions() -> Result<Shown, Error> {
    let percent = |value: Option<f64>| value.map_or("-".into(), |x| format!("{:.1} %", 100.0 * x));
    let mut rows = Vec::new();
    for dimension in DIMENSIONS {
        for epsilon0 in [0.5, 1.0, 1.5, 2.0, 3.0, 4.0] {
            let Row { values, ramp } = row(dimension, epsilon0)?;
            let root = (dimension as f64).sqrt();
            let mut cells = vec![grouped(dimension), plain(epsilon0)];
            cells.extend(values.map(percent));
            cells.push(
                ramp.start()
                    .map_or("-".into(), |c| format!("{:.2}", c * root)),
            );
            cells.push(ramp.chi_square().map_or("-".into(), digits));
            rows.push(cells);
        }
    }
    let table = markdown(
        &[
            "d",
            "ε₀",
            "R_2",
            "PrivUnit at any price",
            "PrivUnit",
            "ramp",
            "its start",
            "its v",
        ],
        &rows,
    );
    let at = linear(0.25, 6.0, 24);
    let mut series: Vec<Series> = NAMES
        .iter()
        .map(|name| Series {
            name: (*name).to_owned(),
            side: Side::Upper,
            standing: None,
            look: Look::Line,
            values: Vec::new(),
        })
        .collect();
    for &epsilon0 in &at {
        let values = row(DIMENSIONS[2], epsilon0)?.values;
        for (series, value) in series.iter_mut().zip(values) {
            series.values.push(value);
        }
    }
    let same = as_cheap(DIMENSIONS[2], 1.5)?;
    Ok(Shown {
        picture: Picture {
            title: "Directions: efficiency against a trusted server".to_owned(),
            subtitle: "1,290 coordinates, certified prices, many users; 1 is a trusted server with Gaussian \
                       noise"
                .to_owned(),
            x: Axis::linear("local ε₀ of a report"),
            y: Axis::linear("squared signal over noise, of a trusted server's"),
            within: EVERYWHERE,
        },
        sheet: Sheet {
            over: "epsilon0".to_owned(),
            at,
            series,
        },
        note: note!("directions.md", table = table, same = plain(same)),
    })
}
