//! *Rényi differential privacy in the shuffle model: enhanced amplification bounds*.

mod figure_4;
mod principal;

use crate::curves::{
    any_ldp, band, between, digits, extremes, line, linear, local, logarithmic, lower, value,
};
use crate::error::Error;
use crate::exhibit::{Exhibit, Make, Shown};
use crate::note::{markdown, note};
use shuffledp::bounds::{enhanced_rdp, girgis_2021};
use shuffledp::{Divergence, Mechanism, Round, Standing};
use shuffledp_plot::{Axis, Picture};
use shuffledp_plot::{Series, Sheet};

pub(super) const EXHIBITS: [Exhibit; 4] = [
    Exhibit {
        id: "enhanced-rdp/table-1",
        title: "leading constants of Renyi bounds",
        make: Make::Accounted(table_1),
    },
    Exhibit {
        id: "enhanced-rdp/figure-2",
        title: "Renyi divergence over epsilon0",
        make: Make::Accounted(figure_2),
    },
    Exhibit {
        id: "enhanced-rdp/figure-3",
        title: "Renyi divergence over its order",
        make: Make::Accounted(figure_3),
    },
    Exhibit {
        id: "enhanced-rdp/figure-4",
        title: "accuracy of shuffled noisy SGD over epsilon0",
        make: Make::Learnt(figure_4::figure_4),
    },
];

/// The six bounds of the figures: two ends of ours, then the published ones. `at` gives ε₀ and λ.
fn all(
    users: u64,
    values: &[f64],
    setting: impl Fn(f64) -> (f64, f64) + Sync,
    scale: impl Fn(f64) -> f64 + Sync,
) -> Result<Vec<Series>, Error> {
    let mut series = band(
        "shuffledp",
        0,
        values,
        |x| {
            let (epsilon0, order) = setting(x);
            Divergence::new(&any_ldp(epsilon0, users)?)?.at(order)
        },
        |value: f64| value,
    )?
    .to_vec();
    for series in &mut series {
        for (value, x) in series.values.iter_mut().zip(values) {
            *value = value.map(|value| value * scale(*x));
        }
    }
    series.push(lower(line(
        "Girgis et al., equation 9",
        Standing::Proved,
        values,
        |x| {
            let (epsilon0, order) = setting(x);
            Ok(scale(x) * girgis_2021::shuffle_lower(users, epsilon0).at(order))
        },
    )));
    series.push(line(
        "Theorem 1, corrected",
        Standing::Proved,
        values,
        |x| {
            let (epsilon0, order) = setting(x);
            let curve = local(epsilon0).and_then(|local| enhanced_rdp::theorem_1(users, local));
            let curve = curve.map_err(|error| shuffledp::bounds::Unmet(error.to_string()))?;
            Ok(scale(x) * curve.at(order))
        },
    ));
    series.push(line(
        "Corollary 2: 2Eλ/(n−1)",
        Standing::Asymptotic,
        values,
        |x| {
            let (epsilon0, order) = setting(x);
            Ok(scale(x) * enhanced_rdp::corollary_2(users, epsilon0).at(order))
        },
    ));
    series.push(line(
        "Girgis et al., equation 8",
        Standing::Proved,
        values,
        |x| {
            let (epsilon0, order) = setting(x);
            Ok(scale(x) * girgis_2021::shuffle_upper(users, epsilon0).at(order))
        },
    ));
    Ok(series)
}

fn table_1() -> Result<Shown, Error> {
    const USERS: u64 = 100_000_000;
    const ORDER: f64 = 4.0;
    let at = vec![0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0];
    let scale = |epsilon0: f64| USERS as f64 / (ORDER * epsilon0.exp());
    let series = all(USERS, &at, |epsilon0| (epsilon0, ORDER), scale)?;
    let rows: Vec<Vec<String>> = [2, 4, 6, 8]
        .into_iter()
        .map(|row| {
            let cell = |index: usize| digits(value(&series, index, row));
            vec![
                format!("{}", at[row]),
                cell(5),
                cell(4),
                cell(3),
                between(value(&series, 1, row), value(&series, 0, row)),
                cell(2),
            ]
        })
        .collect();
    let measured = markdown(
        &[
            "ε₀",
            "Girgis et al., eq. 8",
            "this work: Corollary 2",
            "Theorem 1, corrected",
            "proved bracket",
            "lower bound, eq. 9",
        ],
        &rows,
    );
    let cell = |text: &str| text.to_owned();
    let told = markdown(
        &["method", "printed", "in units of λE/n", "holds?"],
        &[
            vec![
                cell("Erlingsson et al. 2019"),
                cell("O(e^{6ε₀} λ/n)"),
                cell("E⁵"),
                cell("as an order, yes"),
            ],
            vec![
                cell("Girgis et al. 2021"),
                cell("O(e^{2ε₀} λ/n)"),
                cell("E"),
                cell(
                    "for small ε₀ only: equation 8 leads with 2E(E−1)² λ²/((λ−1)n), an order E³ (table \
                     above)",
                ),
            ],
            vec![
                cell("Feldman et al. 2022"),
                cell("O(64 e^{ε₀} λ / 2)"),
                cell("64"),
                cell("a slip: n for 2, as in its Section 3.3"),
            ],
            vec![
                cell("Feldman et al. 2023"),
                cell("O(n/n)"),
                cell("-"),
                cell(
                    "no bound as it stands: symbols were lost in print, or in the text at hand; so were \
                     those of the lower bound beside the row above",
                ),
            ],
            vec![
                cell("this work"),
                cell("O(2 e^{ε₀} λ/n)"),
                cell("2"),
                cell(
                    "as n grows, yes; as a bound, no: without an error term it is exceeded at finite n \
                     (errata)",
                ),
            ],
            vec![
                cell("lower bound"),
                cell("O(e^{ε₀} λ/n)"),
                cell("1"),
                cell("(E−1)²/(2E²): at most 1/2"),
            ],
        ],
    );
    Ok(Shown {
        picture: Picture {
            title: "Table 1: what multiplies λE/n".to_owned(),
            subtitle: "n = 100,000,000, λ = 4: the Rényi divergence in units of λ e^ε₀/n"
                .to_owned(),
            x: Axis::linear("local ε₀"),
            y: Axis::log("divergence over λE/n"),
            within: (0.0, 100.0),
        },
        sheet: Sheet {
            over: "epsilon0".to_owned(),
            at,
            series,
        },
        note: note!("enhanced_rdp/table_1.md", measured = measured, told = told),
    })
}

/// The crowd of Figures 2 and 3.
const USERS: u64 = 10_000;

fn figure_2() -> Result<Shown, Error> {
    let at = linear(0.1, 5.0, 50);
    let series = all(USERS, &at, |epsilon0| (epsilon0, 4.0), |_| 1.0)?;
    figure(
        at,
        series,
        (
            "epsilon0",
            Axis::linear("local ε₀"),
            "Figure 2: Rényi divergence over ε₀",
            "n = 10,000, λ = 4",
        ),
        "n = 10,000, lambda = 4, as in the paper.",
        39,
    )
}

fn figure_3() -> Result<Shown, Error> {
    let mut at: Vec<f64> = logarithmic(2.0, 256.0, 29)
        .into_iter()
        .map(f64::round)
        .collect();
    at.dedup();
    let series = all(USERS, &at, |order| (2.0, order), |_| 1.0)?;
    figure(
        at,
        series,
        (
            "order",
            Axis::log("order λ"),
            "Figure 3: Rényi divergence over its order",
            "n = 10,000, ε₀ = 2",
        ),
        "n = 10,000, epsilon0 = 2, as in the paper.",
        5,
    )
}

fn figure(
    at: Vec<f64>,
    series: Vec<Series>,
    (over, x, title, subtitle): (&str, Axis, &str, &str),
    settings: &str,
    row: usize,
) -> Result<Shown, Error> {
    let cell = |index: usize| digits(value(&series, index, row));
    let ratios = (0..at.len()).map(|row| value(&series, 4, row) / value(&series, 2, row));
    let (least, most) = extremes(ratios);
    // Further out than either picture: n = 10,000, ε₀ = 4, λ = 64.
    let claimed = enhanced_rdp::corollary_2(USERS, 4.0).at(64.0);
    let binary = Round::new(Mechanism::kary_response(2, 4.0)?, USERS)?;
    let attained = Divergence::new(&binary)?.at(64.0)?;
    let note = note!(
        "enhanced_rdp/figure.md",
        settings = settings,
        over = over,
        at = at[row],
        corollary = cell(4),
        theorem = cell(3),
        equation_8 = cell(5),
        lower = cell(1),
        upper = cell(0),
        equation_9 = cell(2),
        least = digits(least),
        most = digits(most),
        claimed = format!("{claimed:.3}"),
        true_value = format!("{:.3}", attained.lower().get()),
    );
    Ok(Shown {
        picture: Picture {
            title: title.to_owned(),
            subtitle: format!("{subtitle}, any ε₀-LDP randomizer"),
            x,
            y: Axis::log("Rényi divergence"),
            within: (0.0, 10.0),
        },
        sheet: Sheet {
            over: over.to_owned(),
            at,
            series,
        },
        note,
    })
}
