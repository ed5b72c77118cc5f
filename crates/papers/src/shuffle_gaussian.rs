//! *Shuffle Gaussian mechanism for differential privacy*.

mod figure_1b;

use crate::curves::{
    at_order, between, converted, digits, excess, gaussian_on_the_interval, line, over_rounds,
    printed, value, whole,
};
use crate::error::Error;
use crate::exhibit::{Exhibit, Make, Shown};
use crate::note::{markdown, note};
use shuffledp::Standing;
use shuffledp::bounds::shuffle_gaussian::{Crowd, pair, unshuffled};
use shuffledp::bounds::{Unmet, feldman_2021};
use shuffledp_plot::Sheet;
use shuffledp_plot::{Axis, EVERYWHERE, Picture};

pub(super) const EXHIBITS: [Exhibit; 3] = [
    Exhibit {
        id: "shuffle-gaussian/table-1",
        title: "epsilon of a few compositions",
        make: Make::Accounted(table_1),
    },
    Exhibit {
        id: "shuffle-gaussian/figure-1a",
        title: "epsilon of many compositions",
        make: Make::Accounted(figure_1a),
    },
    Exhibit {
        id: "shuffle-gaussian/figure-1b",
        title: "accuracy over epsilon",
        make: Make::Learnt(figure_1b::figure_1b),
    },
];

const USERS: u64 = 60_000;
const SIGMA: f64 = 9.48;
const DELTA: f64 = 1.0 / USERS as f64;
const CLONES: [f64; 7] = [
    0.18623, 0.38461, 0.59516, 0.79355, 1.02241, 1.22689, 1.43138,
];
const OURS: [f64; 7] = [
    0.22820, 0.22820, 0.22821, 0.22821, 0.22821, 0.22822, 0.22822,
];

/// The row "Clones", as it was evidently made: σ = 9.476 = 2√(2 ln(1.25 n)) of a sensitivity of 2, the
/// classical ε₀ = 2√(2 ln(1.25/δ₀))/σ, δ = δ₀ halved from 1e-10 until T rounds fit into 1/n, and ε times T.
fn clones(rounds: f64) -> f64 {
    let sigma = 9.476;
    let mut delta0: f64 = 1e-10;
    loop {
        let epsilon0 = 2.0 * (2.0 * (1.25 / delta0).ln()).sqrt() / sigma;
        // Ten times below what the closed form allows: it always holds here.
        let one = feldman_2021::epsilon(USERS, epsilon0, delta0).unwrap_or(f64::NAN);
        let all = delta0 + feldman_2021::extra_delta(USERS, epsilon0, delta0, one);
        if all.is_nan() || rounds * all <= DELTA {
            return rounds * one;
        }
        delta0 /= 2.0;
    }
}

fn table_1() -> Result<Shown, Error> {
    let at: Vec<f64> = (1..=7).map(f64::from).collect();
    let round = gaussian_on_the_interval(SIGMA, USERS)?;
    let curve = pair(SIGMA, Crowd::Everyone(USERS));
    let capped = curve.clone().capped(30.0);
    let mut series = over_rounds(&round, &at, DELTA)?;
    series.push(line(
        "Theorem 1, every order",
        Standing::Conjectured,
        &at,
        |t| converted(&curve, t, DELTA),
    ));
    series.push(line(
        "Theorem 1, orders up to 30",
        Standing::Conjectured,
        &at,
        |t| converted(&capped, t, DELTA),
    ));
    series.push(line("Clones", Standing::Proved, &at, |t| Ok(clones(t))));
    series.push(printed("printed: Clones", &CLONES));
    series.push(printed("printed: Ours", &OURS));
    let sheet = Sheet {
        over: "rounds".to_owned(),
        at,
        series,
    };
    let cell = |series: usize, row: usize| sheet.series[series].values[row].unwrap_or(f64::NAN);
    let rows: Vec<Vec<String>> = (0..7)
        .map(|row| {
            let (upper, below) = (cell(0, row), cell(1, row));
            vec![
                format!("{}", row + 1),
                format!("{:.5}", CLONES[row]),
                format!("{:.5}", cell(4, row)),
                format!("{:.5}", OURS[row]),
                format!("{:.5}", cell(3, row)),
                digits(cell(2, row)),
                between(below, upper),
                format!("{:.0}", OURS[row] / upper),
            ]
        })
        .collect();
    let table = markdown(
        &[
            "T",
            "Clones, printed",
            "made anew",
            "Ours, printed",
            "made anew",
            "Theorem 1, every order",
            "certified bracket",
            "printed over certified",
        ],
        &rows,
    );
    let first = at_order(&curve, 1.0, DELTA)?;
    let note = note!(
        "shuffle_gaussian/table_1.md",
        table = table,
        // The conversion of a divergence of 0 at the order 30.
        conversion = format!(
            "{:.5}",
            ((1.0 / DELTA).ln() + 29.0 * (29.0f64 / 30.0).ln() - 30f64.ln()) / 29.0
        ),
        order = first.order,
        every_order = format!("{:.5}", first.value),
    );
    Ok(Shown {
        picture: Picture {
            title: "Table 1: ε of T shuffled Gaussian rounds".to_owned(),
            subtitle: "n = 60,000, σ = 9.48, numbers in [0, 1], δ = 1/n".to_owned(),
            x: Axis::words("rounds T", &["1", "2", "3", "4", "5", "6", "7"]),
            y: Axis::log("ε at δ = 1/60000"),
            within: EVERYWHERE,
        },
        sheet,
        note,
    })
}

fn figure_1a() -> Result<Shown, Error> {
    let at = whole(1, 10_000, 17);
    let round = gaussian_on_the_interval(SIGMA, USERS)?;
    let curve = pair(SIGMA, Crowd::Everyone(USERS));
    let capped = curve.clone().capped(30.0);
    let local = unshuffled(SIGMA);
    let mut series = over_rounds(&round, &at, DELTA)?;
    let theorem = |curve| move |t: f64| -> Result<f64, Unmet> { converted(curve, t, DELTA) };
    series.push(line(
        "Theorem 1, every order",
        Standing::Conjectured,
        &at,
        theorem(&curve),
    ));
    series.push(line(
        "Theorem 1, orders up to 30 (the paper's)",
        Standing::Conjectured,
        &at,
        theorem(&capped),
    ));
    series.push(line(
        "Corollary 1: without a shuffler",
        Standing::Proved,
        &at,
        theorem(&local),
    ));
    let sheet = Sheet {
        over: "rounds".to_owned(),
        at,
        series,
    };
    let (end, hundred) = (
        sheet.at.len() - 1,
        sheet.at.iter().position(|&rounds| rounds == 100.0),
    );
    let ratio = |a: usize, b: usize, row: usize| {
        value(&sheet.series, a, row) / value(&sheet.series, b, row)
    };
    let wide = |row: usize| format!("{:.1} %", 100.0 * (ratio(0, 1, row) - 1.0));
    let note = note!(
        "shuffle_gaussian/figure_1a.md",
        at_one = digits(ratio(3, 0, 0)),
        at_the_end = digits(ratio(3, 0, end)),
        wide = wide(0),
        wide_at_the_end = wide(end),
        above = format!("{:.1}", ratio(2, 0, 0)),
        above_at_100 = excess(hundred.map_or(f64::NAN, |row| ratio(2, 0, row))),
        above_at_the_end = excess(ratio(2, 0, end)),
    );
    Ok(Shown {
        picture: Picture {
            title: "Figure 1a: ε of T shuffled Gaussian rounds".to_owned(),
            subtitle: "n = 60,000, σ = 9.48, numbers in [0, 1], δ = 1/n".to_owned(),
            x: Axis::log("rounds T"),
            y: Axis::log("ε at δ = 1/60000"),
            within: EVERYWHERE,
        },
        note,
        sheet,
    })
}

#[cfg(test)]
mod tests {
    use super::{CLONES, DELTA, OURS, SIGMA, USERS, clones, converted};
    use shuffledp::bounds::shuffle_gaussian::{Crowd, pair};

    #[test]
    fn both_rows_of_table_1_are_met_to_the_last_digit() {
        let capped = pair(SIGMA, Crowd::Everyone(USERS)).capped(30.0);
        for (row, rounds) in (1..=7).enumerate() {
            let rounds = f64::from(rounds);
            assert_eq!(
                format!("{:.5}", clones(rounds)),
                format!("{:.5}", CLONES[row])
            );
            let ours = converted(&capped, rounds, DELTA).unwrap();
            assert_eq!(format!("{ours:.5}"), format!("{:.5}", OURS[row]));
        }
    }
}
