//! What a budget buys on MNIST: shuffled reports and a trusted server, with the same model.

use crate::curves::digits;
use crate::error::Error;
use crate::exhibit::Shown;
use crate::learning::{Run, School, charged, commands, percent, seeds, spread};
use crate::note::{markdown, note};
use shuffledp::randomizers::{Ramp, Randomizer, Simulated};
use shuffledp::{
    Delta, DirectionLaw, Domain, Epsilon, Mechanism, Round, Side, grouped, plain, unshuffled,
};
use shuffledp_numerics::search::bisect_on_log_scale;
use shuffledp_plot::{Axis, Look, Picture, Series, Sheet};

const DELTA: f64 = 1e-5;
const USERS: u64 = 60_000;
/// Coordinates of a gradient: 200 numbers and a constant, for each of ten classes.
const DIMENSION: usize = 2010;
/// The runs at one budget.
struct Budget {
    epsilon: f64,
    epsilon0: f64,
    /// Users sampled each round, and rounds.
    rounds: (u64, u64),
    shuffled: &'static [Run],
    central: &'static [Run],
}

macro_rules! budget {
    ($name:literal, $epsilon:literal: $e0:literal of $sample:literal in $rounds:literal at $rate:literal,
     every $every:literal,
     seeds $seeds:tt, $sigma:literal at $central:literal, seeds $others:tt) => {
        Budget {
            epsilon: $epsilon,
            epsilon0: $e0,
            rounds: ($sample, $rounds),
            shuffled: &seeds!(
                concat!("ours/runs/epsilon-", $name),
                concat!(
                    "--features smooth-gradients --randomizer ramp --clip 0.15 --fast --epsilon0 ",
                    $e0,
                    " --sample ",
                    $sample,
                    " --rounds ",
                    $rounds,
                    " --rate ",
                    $rate,
                    " --every ",
                    $every
                ),
                $seeds
            ),
            central: &seeds!(
                concat!("ours/runs/central-", $name),
                concat!(
                    "--features smooth-gradients --algorithm central --clip 0.15 --sigma ",
                    $sigma,
                    " --batches 4 --rounds 100 --rate ",
                    $central,
                    " --every 20"
                ),
                $others
            ),
        }
    };
}

const BUDGETS: [Budget; 5] = [
    budget!("0.15", 0.15: 2.974 of 10000 in 400 at 1.5, every 50, seeds ["1", "2"], 107 at 4, seeds ["1"]),
    budget!("0.25", 0.25: 3.536 of 10000 in 500 at 3, every 50, seeds ["1", "2"], 67.2 at 6, seeds ["1"]),
    budget!("0.5", 0.5: 4.221 of 10000 in 800 at 4, every 100, seeds ["1"], 35.4 at 10, seeds ["1"]),
    budget!("1", 1.0: 4.739 of 20000 in 800 at 5, every 100, seeds ["1"], 18.7 at 16, seeds ["1"]),
    budget!("2", 2.0: 5.537 of 30000 in 800 at 8, every 100, seeds ["1"], 10.02 at 24, seeds ["1"]),
];

/// Other ways to spend ε = 1: ε₀, and rounds in which everybody takes part.
const MORE: [(f64, u64); 4] = [(1.5, 22_900), (1.9, 10_800), (3.0, 2_080), (4.0, 610)];

/// The variance of one decoded report of a vector of length 1 in one coordinate, measured: that of the mean
/// of many, times their number. The noise of a mean gradient is this, over the number of reports.
fn measured(ramp: &Ramp) -> Result<f64, Error> {
    const MANY: usize = 400;
    const TIMES: u64 = 25;
    let value = vec![(DIMENSION as f32).sqrt().recip(); DIMENSION];
    let mut report = vec![0; ramp.report_length()];
    let mut square = 0.0;
    for time in 0..TIMES {
        let (mut random, mut tally) = (Simulated::new(1, time), ramp.tally());
        for _ in 0..MANY {
            ramp.randomize(&value, &mut random, &mut report)?;
            ramp.add(&report, &mut tally)?;
        }
        let mean = ramp.estimate(&tally).mean;
        let off = mean.iter().zip(&value);
        square += off
            .map(|(mean, x)| (mean - f64::from(*x)).powi(2))
            .sum::<f64>();
    }
    Ok(square * MANY as f64 / (TIMES as f64 * DIMENSION as f64))
}

/// The squared ratio of signal to noise, in one coordinate, of all sums that a trusted server could publish
/// about everybody's vectors of length 1 within ε when one of them is replaced: n²/σ², σ = 2/μ.
fn trusted(epsilon: f64) -> Result<f64, Error> {
    let (budget, delta) = (Epsilon::new(epsilon)?, Delta::new(DELTA)?);
    let within = |mu: f64| -> Result<bool, Error> {
        let noise = Mechanism::gaussian(2.0 / mu, Domain::Ball)?;
        Ok(unshuffled(&noise, 1, delta)?.upper().get() <= budget)
    };
    within(1.0)?;
    let mu = bisect_on_log_scale(6.5, 1e-4, 1.0001, |mu| within(mu).unwrap_or(false)).holds;
    Ok((0.5 * mu * USERS as f64).powi(2))
}

fn ramp(epsilon0: f64) -> Result<Ramp, Error> {
    Ok(Ramp::new(DIMENSION, 1.0, epsilon0, None)?)
}

/// The last accuracies of some runs, and the certified ε of all rounds of one.
fn finished(school: &School, runs: &[Run]) -> Result<(Vec<f64>, f64), Error> {
    let (mut accuracies, mut price) = (Vec::new(), f64::NAN);
    for run in runs {
        let course = school.run(run)?;
        let (rounds, accuracy) = course.looks.last().copied().unwrap_or((0, f64::NAN));
        accuracies.push(accuracy);
        let prices = school.certified(&charged(&course)?, &[rounds], DELTA)?;
        price = prices.first().map_or(f64::NAN, |price| price.upper);
    }
    Ok((accuracies, price))
}

/// Mean and deviation as text, and of how many.
fn around(values: &[f64]) -> String {
    let (mean, deviation) = spread(values);
    match values.len() {
        1 => format!("{} (one run)", percent(mean)),
        many => format!("{} ± {:.2} ({many} runs)", percent(mean), 100.0 * deviation),
    }
}

pub(super) fn accuracy(school: &School) -> Result<Shown, Error> {
    let (mut rows, mut shuffled, mut central) = (Vec::new(), Vec::new(), Vec::new());
    for budget in &BUDGETS {
        let (ours, price) = finished(school, budget.shuffled)?;
        let (theirs, _) = finished(school, budget.central)?;
        let reports = (budget.rounds.0 * budget.rounds.1) as f64;
        let efficiency = reports / measured(&ramp(budget.epsilon0)?)? / trusted(budget.epsilon)?;
        rows.push(vec![
            plain(budget.epsilon),
            digits(price),
            plain(budget.epsilon0),
            grouped(budget.rounds.0 * budget.rounds.1),
            format!("{:.0} %", 100.0 * efficiency),
            around(&ours),
            around(&theirs),
        ]);
        shuffled.push(ours);
        central.push(theirs);
    }
    let table = markdown(
        &[
            "ε",
            "certified",
            "ε₀",
            "reports",
            "efficiency, measured",
            "shuffled",
            "trusted server",
        ],
        &rows,
    );
    let one = trusted(1.0)?;
    let mut rows = Vec::new();
    for (epsilon0, rounds) in MORE {
        let law = DirectionLaw::ramp(Some(DIMENSION as u64), epsilon0, None)?;
        let round = Round::new(Mechanism::from(law), USERS)?;
        let price = school.certified(&round, &[rounds], DELTA)?;
        let price = price.first().map_or(f64::NAN, |price| price.upper);
        let (reports, variance) = (rounds * USERS, measured(&ramp(epsilon0)?)?);
        rows.push(vec![
            plain(epsilon0),
            grouped(rounds),
            grouped(reports),
            digits(price),
            format!("{:.1} %", 100.0 * reports as f64 / variance / one),
        ]);
    }
    let more = markdown(
        &[
            "ε₀",
            "rounds of everybody",
            "reports",
            "certified",
            "efficiency, measured",
        ],
        &rows,
    );
    let at: Vec<f64> = BUDGETS.iter().map(|budget| budget.epsilon).collect();
    let series = |name: &str, side: Side, look: Look, values: Vec<f64>| Series {
        name: name.to_owned(),
        side,
        standing: None,
        look,
        values: values.into_iter().map(Some).collect(),
    };
    let mut all = Vec::new();
    for (name, values) in [("shuffled", &shuffled), ("trusted server", &central)] {
        let spreads: Vec<(f64, f64)> = values.iter().map(|values| spread(values)).collect();
        let of = |sign: f64| {
            spreads
                .iter()
                .map(|(mean, off)| mean + sign * off)
                .collect()
        };
        let title = format!("{name}: mean and deviation");
        all.push(series(&title, Side::Upper, Look::Marks, of(0.0)));
        for (side, sign) in [(Side::Upper, 1.0), (Side::Lower, -1.0)] {
            all.push(series("one deviation of it", side, Look::Whisker, of(sign)));
        }
    }
    for (name, values) in [("shuffled", &shuffled), ("trusted server", &central)] {
        let most = values.iter().map(Vec::len).max().unwrap_or(0);
        for seed in 0..most {
            all.push(Series {
                name: format!("{name}, seed {}", seed + 1),
                side: Side::Upper,
                standing: None,
                look: Look::Hidden,
                values: values
                    .iter()
                    .map(|values| values.get(seed).copied())
                    .collect(),
            });
        }
    }
    let first: Vec<&Run> = BUDGETS
        .iter()
        .flat_map(|budget| [&budget.shuffled[0], &budget.central[0]])
        .collect();
    Ok(Shown {
        picture: Picture {
            title: "Accuracy on MNIST over the budget".to_owned(),
            subtitle:
                "n = 60,000, δ = 1e-5, logistic regression on 200 smooth gradients; certified ε"
                    .to_owned(),
            x: Axis::log("ε at δ = 1e-5"),
            y: Axis::linear("test accuracy"),
            within: (0.0, 1.0),
        },
        sheet: Sheet {
            over: "epsilon".to_owned(),
            at,
            series: all,
        },
        note: note!(
            "accuracy.md",
            table = table,
            more = more,
            commands = commands(&first),
        ),
    })
}
