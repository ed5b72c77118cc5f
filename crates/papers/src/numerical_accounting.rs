//! *Numerical accounting in the shuffle model of differential privacy*.

use crate::curves::{
    any_ldp, band, between, converted, digits, line, linear, local, over_rounds, priced,
    upper_delta, whole,
};
use crate::error::Error;
use crate::exhibit::{Exhibit, Make, Shown};
use crate::note::markdown;
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
    let at_half = |index: usize| series[index].values[12].unwrap_or(f64::NAN);
    let text = format!(
        "At ε = {}: one round δ = {} by its profile and {} by moments; two rounds {} by privacy-loss distributions, {} by moments, {} by composing one round's (ε, δ). The picture of the paper holds: distributions are far tighter than moments, and composing (ε, δ) pairs loses more the smaller δ is. What is new is the lower edge of each band: 3-ary randomized response attains it, so nothing more than the band's width is to be gained.",
        at[12],
        digits(at_half(0)),
        digits(at_half(4)),
        digits(at_half(2)),
        digits(at_half(5)),
        digits(at_half(6)),
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
        settings: "n = 10,000, epsilon0 = 4, one and two rounds, as in the paper.".to_owned(),
        text: vec![
            text,
            "The paper takes its pair from a theorem whose published proof has an acknowledged error; the same pair is right for randomizers that do not adapt within a round, by another proof (crates/accounting/src/atoms.proof.md).".to_owned(),
        ],
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
        settings: "epsilon0 = 3, n = 10,000, a sample of gamma = 0.01, ln(alpha) from -0.25 to 0.25 (the paper prints these as values of alpha; a negative one makes no sense). It does not print the sizes of its grids.".to_owned(),
        text: vec![
            "Connecting the dots is exact on the grid and above the curve between: with 128 points it is 16 % above the curve of Lemma 7 at ε = 0, which an even number of points misses, and within 3 % from ε = 0.01 on. The larger error is Lemma 7 itself, which forgets that the absent help to hide the present: the exact pair, in which they do, is the band far below it.".to_owned(),
        ],
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
            let value = |index: usize| series[index].values[row].unwrap_or(f64::NAN);
            vec![
                format!("{}", at[row]),
                between(value(1), value(0)),
                digits(value(2)),
                digits(value(3)),
                digits(value(3) / value(0)),
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
        settings: "epsilon0 = 3, n = 100,000, gamma = 0.01, delta = 1e-5: the settings of the published script (the caption prints none).".to_owned(),
        text: vec![
            table,
            "The paper's curve grows like T and crosses that of Girgis et al.; its text explains the crossing. There is none: composed rightly, the same pair grows like √T (a slip in indexing in the published script made it grow like T), and both it and the exact pair stay far below the moments for every T.".to_owned(),
        ],
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
    let value = |index: usize| series[index].values[half].unwrap_or(f64::NAN);
    let text = format!(
        "At ε = {} and T = 1: {} as printed for the strong adversary, {} tight; {} for the weak one (the blanket, upper edge of the band), {} attained, {} for any ε₀-LDP randomizer.",
        at[half],
        digits(value(8)),
        digits(value(4)),
        digits(value(0)),
        digits(value(1)),
        digits(value(5)),
    );
    Ok(Shown {
        picture: Picture {
            title: "Figure 4: δ(ε) of 4-ary randomized response".to_owned(),
            subtitle: "n = 1,000, k = 4, a random answer with probability 1/4 (ε₀ = ln 13)".to_owned(),
            x: Axis::linear("ε"),
            y: Axis::log("δ"),
            within: (1e-12, 1.0),
        },
        sheet: Sheet {
            over: "epsilon".to_owned(),
            at,
            series,
        },
        settings: "n = 1,000, k = 4, a uniform answer with probability gamma = 0.25, so epsilon0 = ln((1 - gamma) k/gamma + 1) = ln 13 = 2.565. The paper does not print its numbers of compositions: here T = 1 and 4.".to_owned(),
        text: vec![
            text,
            "The paper's strong adversary sees every coin. Its printed δ is a probability where the hockey-stick divergence belongs, 10 to 19 times too large in this picture, so its conclusions about which analysis is better are not supported; evaluated rightly, the strong adversary still learns far more than the crowd shows. The weak adversary is the blanket of this randomizer, and the lower edge of the band shows how little is left between it and what is attained.".to_owned(),
        ],
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
            let value = |index: usize| digits(series[index].values[row].unwrap_or(f64::NAN));
            vec![format!("{}", at[row]), value(0), value(3), value(5)]
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
        settings: "sigma = 2, one pair of datasets (one user at 1, the others at 0, against everybody at 0), n = 2 to 7.".to_owned(),
        text: vec![
            table,
            "The paper says that the divergence \"cannot be projected to a lower-dimensional problem\" and integrates over n dimensions with 5e7 random samples, for two digits at n = 7. It is one-dimensional: the likelihood ratio is the mean of n independent lognormal numbers, so δ = E(mean − e^ε)₊, here in milliseconds and to six digits, for any n. (One pair of datasets: exact for it, certified as such, and a guarantee for every pair only by conjecture.)".to_owned(),
        ],
    })
}
