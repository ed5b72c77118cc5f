//! *Numerical accounting in the shuffle model of differential privacy*.

use crate::curves::{
    any_ldp, band, between, converted, digits, excess, extremes, line, linear, local, over_rounds,
    priced, upper_delta, value, whole,
};
use crate::error::Error;
use crate::exhibit::{Exhibit, Make, Shown};
use crate::note::{markdown, note};
use shuffledp::atoms::Atoms;
use shuffledp::bounds::numerical_accounting::{strong_composed, strong_printed};
use shuffledp::bounds::{Unmet, balle_2018, girgis_2021, kairouz_2015, zhu_2022};
use shuffledp::profile::{Direction, Profile};
use shuffledp::{Delta, Epsilon, Mechanism, Round, Standing};
use shuffledp_plot::{Axis, EVERYWHERE, Picture};
use shuffledp_plot::{Series, Sheet};

pub(super) const EXHIBITS: [Exhibit; 5] = [
    Exhibit {
        id: "numerical-accounting/figure-1",
        title: "delta of one and two rounds, by distributions and by moments",
        make: Make::Accounted(figure_1),
    },
    Exhibit {
        id: "numerical-accounting/figure-2",
        title: "how fine a grid connecting the dots needs",
        make: Make::Accounted(figure_2),
    },
    Exhibit {
        id: "numerical-accounting/figure-3",
        title: "epsilon of many rounds of a sample",
        make: Make::Accounted(figure_3),
    },
    Exhibit {
        id: "numerical-accounting/figure-4",
        title: "k-ary randomized response, adversary by adversary",
        make: Make::Accounted(figure_4),
    },
    Exhibit {
        id: "numerical-accounting/figure-5",
        title: "delta of a few users with Gaussian noise",
        make: Make::Accounted(figure_5),
    },
];

/// δ over ε of so many rounds, as a band.
fn deltas(
    name: &str,
    index: usize,
    at: &[f64],
    round: &Round,
    rounds: f64,
) -> Result<[Series; 2], Error> {
    let account = priced(round, rounds)?;
    band(
        name,
        index,
        at,
        |epsilon| account.delta(Epsilon::new(epsilon)?),
        Delta::value,
    )
}

fn figure_1() -> Result<Shown, Error> {
    const USERS: u64 = 10_000;
    let at = linear(0.0, 1.0, 26);
    let round = any_ldp(4.0, USERS)?;
    let profile = Profile::new(Atoms::ldp(local(4.0)?)?, USERS);
    let moments = profile.rdp(Direction::Forward);
    let mut series = Vec::new();
    for (index, rounds) in [1.0, 2.0].into_iter().enumerate() {
        let name = format!("shuffledp, T = {rounds}");
        series.extend(deltas(&name, index, &at, &round, rounds)?);
    }
    for rounds in [1, 2] {
        let curve = moments.clone().times(rounds);
        series.push(line(
            &format!("the same pair by moments, T = {rounds}"),
            Standing::Proved,
            &at,
            |epsilon| {
                let best = curve.delta(epsilon);
                best.map(|best| best.value)
                    .map_err(|error| Unmet(error.to_string()))
            },
        ));
    }
    // The best split of ε: T rounds of (ε₁, δ(ε₁)), composed by what (ε, δ) alone allows.
    let ones: Vec<(f64, f64)> = linear(0.005, 0.8, 160)
        .into_iter()
        .map(|one| (one, profile.delta(one).upper))
        .collect();
    series.push(line(
        "one exact round + kairouz-2015, T = 2",
        Standing::Proved,
        &at,
        |epsilon| {
            let all = ones.iter().map(|&(one, delta)| {
                let rest = kairouz_2015::delta_pure(2, one, epsilon);
                1.0 - (1.0 - delta).powi(2) * (1.0 - rest)
            });
            Ok(all.fold(1.0, f64::min).max(1e-16))
        },
    ));
    let at_half = |index: usize| digits(value(&series, index, 12));
    let note = note!(
        "numerical_accounting/figure_1.md",
        epsilon = at[12],
        one = at_half(0),
        one_moments = at_half(4),
        two = at_half(2),
        two_moments = at_half(5),
        two_composed = at_half(6),
    );
    Ok(Shown {
        picture: Picture {
            title: "Figure 1: δ(ε) of one and two rounds".to_owned(),
            subtitle: "n = 10,000, ε₀ = 4, any ε₀-LDP randomizer".to_owned(),
            x: Axis::linear("ε"),
            y: Axis::log("δ"),
            within: (1e-12, 1.0),
        },
        sheet: Sheet {
            over: "epsilon".to_owned(),
            at,
            series,
        },
        note,
    })
}

/// H_a of a sample of `rate` by Lemma 7, for ε ≥ 0.
fn sampled_delta(base: &Profile, rate: f64, epsilon: f64) -> f64 {
    rate * base.delta(balle_2018::before(epsilon, rate)).upper
}

fn figure_2() -> Result<Shown, Error> {
    const RATE: f64 = 0.01;
    let at = linear(0.0, 0.17, 35);
    let base = Profile::new(Atoms::ldp(local(3.0)?)?, 100);
    let round = any_ldp(3.0, 10_000)?.sample(100)?;
    let mut series = deltas("shuffledp, the exact pair", 0, &at, &round, 1.0)?.to_vec();
    series.push(line(
        "Lemma 7: H(γP + (1−γ)Q ‖ Q)",
        Standing::Certified,
        &at,
        |epsilon| Ok(sampled_delta(&base, RATE, epsilon)),
    ));
    for points in [8, 16, 32, 128] {
        // Between two values of α on the grid, the line between their H.
        let grid = linear(-0.25, 0.25, points);
        let values: Vec<(f64, f64)> = grid
            .into_iter()
            .map(|log| {
                let h = sampled_delta(&base, RATE, log.abs());
                // H_a(P‖Q) = 1 − a + a H_{1/a}(Q‖P).
                let a = log.exp();
                (a, if log < 0.0 { 1.0 - a + a * h } else { h })
            })
            .collect();
        series.push(line(
            &format!("its dots connected, {points} on the grid"),
            Standing::Proved,
            &at,
            |epsilon| {
                let a = epsilon.exp();
                let next = values.partition_point(|&(at, _)| at <= a);
                let (Some(&(x0, y0)), Some(&(x1, y1))) =
                    (values.get(next.wrapping_sub(1)), values.get(next))
                else {
                    return Err(Unmet("a grid that reaches as far".into()));
                };
                Ok(y0 + (y1 - y0) * (a - x0) / (x1 - x0))
            },
        ));
    }
    let above = |row: usize| value(&series, 6, row) / value(&series, 2, row);
    let later = (0..at.len()).filter(|&row| at[row] >= 0.01).map(above);
    let note = note!(
        "numerical_accounting/figure_2.md",
        at_zero = excess(above(0)),
        // Rounded up.
        later = excess((100.0 * extremes(later).1).ceil() / 100.0),
    );
    Ok(Shown {
        picture: Picture {
            title: "Figure 2: δ(ε) of a sample, for grids of several sizes".to_owned(),
            subtitle: "100 of 10,000 users, ε₀ = 3, ln α from −0.25 to 0.25".to_owned(),
            x: Axis::linear("ε = ln α"),
            y: Axis::log("δ"),
            within: (1e-8, 1.0),
        },
        sheet: Sheet {
            over: "epsilon".to_owned(),
            at,
            series,
        },
        note,
    })
}

fn figure_3() -> Result<Shown, Error> {
    const RATE: f64 = 0.01;
    const DELTA: f64 = 1e-5;
    let at = whole(10, 10_000, 13);
    let base = Profile::new(Atoms::ldp(local(3.0)?)?, 1000);
    let round = any_ldp(3.0, 100_000)?.sample(1000)?;
    let theorem = girgis_2021::sampled_upper(100_000, 1000, 3.0);
    let mut series = over_rounds(&round, &at, DELTA)?;
    series.push(line(
        "Lemma 7 by distributions",
        Standing::Certified,
        &at,
        |t| {
            zhu_2022::epsilon(&base, RATE, t as u64, DELTA)
                .ok_or_else(|| Unmet("losses that a lattice can hold".into()))
        },
    ));
    series.push(line(
        "girgis-2021 NeurIPS Theorem 1, by moments",
        Standing::Proved,
        &at,
        |t| converted(&theorem, t, DELTA),
    ));
    let rows: Vec<Vec<String>> = [0, 4, 8, 12]
        .into_iter()
        .map(|row| {
            let cell = |index: usize| value(&series, index, row);
            vec![
                format!("{}", at[row]),
                between(cell(1), cell(0)),
                digits(cell(2)),
                digits(cell(3)),
                digits(cell(3) / cell(0)),
            ]
        })
        .collect();
    let table = markdown(
        &[
            "T",
            "certified bracket",
            "Lemma 7",
            "Girgis et al.",
            "Girgis et al. over certified",
        ],
        &rows,
    );
    Ok(Shown {
        picture: Picture {
            title: "Figure 3: ε of T rounds of a sample".to_owned(),
            subtitle: "1,000 of 100,000 users, ε₀ = 3, δ = 1e-5".to_owned(),
            x: Axis::log("rounds T"),
            y: Axis::log("ε at δ = 1e-5"),
            within: EVERYWHERE,
        },
        sheet: Sheet {
            over: "rounds".to_owned(),
            at,
            series,
        },
        note: note!("numerical_accounting/figure_3.md", table = table),
    })
}

fn figure_4() -> Result<Shown, Error> {
    const USERS: u64 = 1000;
    const K: u64 = 4;
    // γ = 1/4: a true answer is 13 times as likely as another.
    let epsilon0 = 13f64.ln();
    let at = linear(0.0, 1.5, 26);
    let named = Round::new(Mechanism::kary_response(K, epsilon0)?, USERS)?;
    let any = any_ldp(epsilon0, USERS)?;
    let mut series = Vec::new();
    for (index, rounds) in [1.0, 4.0].into_iter().enumerate() {
        let name = format!("shuffledp, 4-RR, T = {rounds}");
        series.extend(deltas(&name, index, &at, &named, rounds)?);
    }
    for rounds in [1, 4] {
        let composed = strong_composed(USERS, K, epsilon0, rounds);
        series.push(line(
            &format!("strong adversary, tight, T = {rounds}"),
            Standing::Proved,
            &at,
            |epsilon| {
                let composed = composed.as_ref();
                let composed = composed.ok_or_else(|| Unmet("losses that fit a lattice".into()))?;
                Ok(composed.delta(epsilon))
            },
        ));
        let account = priced(&any, rounds as f64)?;
        series.push(upper_delta(
            &format!("any ε₀-LDP randomizer, T = {rounds}"),
            &account,
            &at,
        ));
    }
    series.push(line(
        "strong adversary, as printed, T = 1",
        Standing::Conjectured,
        &at,
        |epsilon| strong_printed(USERS, K, epsilon0, epsilon),
    ));
    let half = at.iter().position(|&epsilon| epsilon >= 0.48).unwrap_or(8);
    let cell = |index: usize| digits(value(&series, index, half));
    let ratios = (0..at.len()).map(|row| value(&series, 8, row) / value(&series, 4, row));
    let (least, most) = extremes(ratios);
    let note = note!(
        "numerical_accounting/figure_4.md",
        epsilon = at[half],
        printed = cell(8),
        strong = cell(4),
        weak = cell(0),
        attained = cell(1),
        any = cell(5),
        least = format!("{:.0}", least.floor()),
        most = format!("{:.0}", most.ceil()),
    );
    Ok(Shown {
        picture: Picture {
            title: "Figure 4: δ(ε) of 4-ary randomized response".to_owned(),
            subtitle: "n = 1,000, k = 4, a random answer with probability 1/4 (ε₀ = ln 13)"
                .to_owned(),
            x: Axis::linear("ε"),
            y: Axis::log("δ"),
            within: (1e-12, 1.0),
        },
        sheet: Sheet {
            over: "epsilon".to_owned(),
            at,
            series,
        },
        note,
    })
}

fn figure_5() -> Result<Shown, Error> {
    let at = linear(0.0, 1.0, 21);
    let mut series = Vec::new();
    for users in [2, 3, 4, 5, 6, 7] {
        let round = Round::new(Mechanism::random_allocation(2.0)?, users)?;
        let account = priced(&round, 1.0)?;
        series.push(upper_delta(&format!("n = {users}"), &account, &at));
    }
    let rows: Vec<Vec<String>> = [0, 5, 10, 20]
        .into_iter()
        .map(|row| {
            let cell = |index: usize| digits(value(&series, index, row));
            vec![format!("{}", at[row]), cell(0), cell(3), cell(5)]
        })
        .collect();
    let table = markdown(&["ε", "n = 2", "n = 5", "n = 7"], &rows);
    Ok(Shown {
        picture: Picture {
            title: "Figure 5: δ(ε) of a few users with Gaussian noise".to_owned(),
            subtitle: "σ = 2, one user at 1 and the others at 0, against everybody at 0".to_owned(),
            x: Axis::linear("ε"),
            y: Axis::log("δ"),
            within: EVERYWHERE,
        },
        sheet: Sheet {
            over: "epsilon".to_owned(),
            at,
            series,
        },
        note: note!("numerical_accounting/figure_5.md", table = table),
    })
}
