//! Figure 1b: a network learns from shuffled Gaussian reports; accuracy over the ε of different accounts of
//! the same rounds.

use super::{DELTA, USERS};
use crate::curves::{converted, digits};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::learning::{
    Line, Pictures, Run, School, charged, commands, listed, looks_after, over_epsilon, percent,
};
use crate::note::{markdown, note};
use shuffledp::bounds::shuffle_gaussian::{Crowd, pair, theorem_3};
use shuffledp::bounds::shuffled_check_in::{CheckIn, approach_2, baseline};
use shuffledp::bounds::{balle_2018, feldman_2021};
use shuffledp::rdp::RdpCurve;
use shuffledp::{Standing, grouped};
use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::search::bisect_integers;
use shuffledp_plot::{Axis, Picture};

const RATE: f64 = 0.1;
/// Noise in units of the clipping norm.
const NOISE: f64 = 5.0;
/// Noise in units of the largest change: a replacement moves a vector of norm C by 2C.
const SIGMA: f64 = 0.5 * NOISE;
const RUN: Run = Run {
    log: "shuffle-gaussian/runs/figure-1b",
    line: "--model cnn --algorithm check-in --check-in 0.1 --randomizer gaussian --sigma 5 --clip 0.01 \
           --rate 3 --schedule constant --momentum 0 --rounds 5540 --every 20 --fast --seed 1",
    data: Pictures::Mnist,
};
/// A run that chooses the learning rate, on examples held out.
macro_rules! choice {
    ($rate:literal) => {
        Run {
            log: concat!("shuffle-gaussian/runs/rate-", $rate),
            line: concat!(
                "--validation 0.16666667 --model cnn --algorithm check-in --check-in 0.0012 --randomizer \
                 gaussian --sigma 0.5 --clip 0.01 --rate ",
                $rate,
                " --schedule constant --momentum 0 --rounds 5540 --every 277 --fast --seed 1"
            ),
            data: Pictures::Mnist,
        }
    };
}
/// Learning rates that were tried.
const CHOICES: [(u64, Run); 6] = [
    (1, choice!("1")),
    (2, choice!("2")),
    (3, choice!("3")),
    (5, choice!("5")),
    (10, choice!("10")),
    (20, choice!("20")),
];
/// Looks that are priced and drawn; the log has more. A price takes seconds.
const SHOWN: [u64; 14] = [
    20, 40, 100, 200, 400, 700, 1000, 1500, 2000, 2600, 3200, 4000, 4700, 5540,
];
/// Looks that the note lists.
const LISTED: [u64; 7] = [20, 100, 400, 1000, 2000, 4000, 5540];

/// The paper's two other curves: those of shuffled-check-in, with δ₀ = 1/n² and δ₁ = 1/n as there in Figure
/// 3, and ε₀ by the classical formula.
struct Theirs {
    baseline: RdpCurve,
    generic: RdpCurve,
    /// Check-ins of a round that the baseline reckons with.
    fixed: u64,
}

impl Theirs {
    fn at_sensitivity(sensitivity: f64) -> Self {
        let (delta0, delta1) = (DELTA * DELTA, DELTA);
        let epsilon0 = sensitivity * (2.0 * (1.25 / delta0).ln()).sqrt() / NOISE;
        let setting = CheckIn {
            users: USERS,
            rate: RATE,
            epsilon0,
            delta0,
            delta1,
        };
        // The paper says "conservatively": a number of check-ins that is exceeded with probability δ₀.
        let mean = (USERS as f64 * RATE) as u64;
        let fixed = Binomial::new(USERS, RATE).map_or(USERS, |law| {
            let seldom = |many: u64| law.ln_upper_tail(many + 1) <= delta0.ln();
            bisect_integers(mean, USERS, seldom).holds
        });
        let part = fixed as f64 / USERS as f64;
        let shuffled = feldman_2021::epsilon(fixed, epsilon0, delta1).unwrap_or(epsilon0);
        let extra = delta1 + feldman_2021::extra_delta(fixed, epsilon0, delta0, shuffled);
        Self {
            baseline: baseline(balle_2018::amplified(shuffled, part), part * extra + delta0),
            generic: approach_2(setting),
            fixed,
        }
    }
}

/// ε of a Rényi curve, if it has one.
fn of(curve: &RdpCurve, rounds: u64) -> Option<f64> {
    converted(curve, rounds as f64, DELTA).ok()
}

pub(super) fn figure_1b(school: &School) -> Result<Shown, Error> {
    let course = school.run(&RUN)?;
    let mut tried = Vec::new();
    for (rate, run) in &CHOICES {
        let last = school
            .run(run)?
            .looks
            .last()
            .map_or(f64::NAN, |look| look.1);
        tried.push((rate, last));
    }
    let prices = school.certified(&charged(&course)?, &SHOWN, DELTA)?;
    let theirs = Theirs::at_sensitivity(2.0);
    let theorem = theorem_3(SIGMA, USERS, RATE).capped(30.0);
    let exact = pair(SIGMA, Crowd::CheckIn(USERS, RATE));
    let lower = |rounds| Some(listed(&prices, rounds)?.lower);
    let upper = |rounds| Some(listed(&prices, rounds)?.upper);
    let refuted = Some(Standing::Refuted);
    let looks = looks_after(&course, &SHOWN);
    let line = |name, standing, account: &dyn Fn(u64) -> Option<f64>| {
        Line::new(name, standing, &looks, account)
    };
    let lines = [
        line(
            "attained by an adversary",
            Some(Standing::Certified),
            &lower,
        ),
        line("guaranteed for vectors", Some(Standing::Certified), &upper),
        line(
            "the check-in pair, every order",
            Some(Standing::Conjectured),
            &|rounds| of(&exact, rounds),
        ),
        line("generic bound", refuted, &|rounds| {
            of(&theirs.generic, rounds)
        }),
        line("Baseline", refuted, &|rounds| of(&theirs.baseline, rounds)),
        line("Theorem 3, orders up to 30", refuted, &|rounds| {
            of(&theorem, rounds)
        }),
    ];
    let show = |value: Option<f64>| value.map_or("-".to_owned(), digits);
    let rows: Vec<Vec<String>> = looks
        .iter()
        .filter(|look| LISTED.contains(&look.0))
        .map(|&(rounds, accuracy)| {
            vec![
                format!("{rounds}"),
                percent(accuracy),
                show(lower(rounds)),
                show(upper(rounds)),
                show(of(&exact, rounds)),
                show(of(&theirs.generic, rounds)),
                show(of(&theirs.baseline, rounds)),
                show(of(&theorem, rounds)),
            ]
        })
        .collect();
    let table = markdown(
        &[
            "rounds",
            "accuracy",
            "attained (certified)",
            "guaranteed (certified)",
            "the pair as a guarantee (conjectured)",
            "generic bound (refuted)",
            "Baseline (refuted)",
            "Theorem 3, orders up to 30 (refuted)",
        ],
        &rows,
    );
    let (last, accuracy) = looks.last().copied().unwrap_or_default();
    let end = |account: &dyn Fn(u64) -> Option<f64>| show(account(last));
    let best = course.looks.iter().map(|look| look.1).fold(0.0, f64::max);
    let rates: Vec<String> = tried
        .iter()
        .map(|(rate, accuracy)| format!("{} at {rate}", percent(*accuracy)))
        .collect();
    let single = Theirs::at_sensitivity(1.0);
    Ok(Shown {
        picture: Picture {
            title: "Figure 1b: accuracy over ε, by six accounts of the same rounds".to_owned(),
            subtitle: "MNIST, n = 60,000, check-in 0.1, Gaussian noise of σ = 5 on gradients clipped to C, \
                       δ = 1/n".to_owned(),
            x: Axis::log("ε at δ = 1/60000"),
            y: Axis::linear("test accuracy"),
            within: (0.0, 1.0),
        },
        sheet: over_epsilon(&lines, &[]),
        note: note!(
            "figure_1b.md",
            run = grouped(last),
            commands = commands(&[&RUN]),
            choice = format!("shuffledp train --data MNIST {}", CHOICES[2].1.line),
            rates = rates.join(", "),
            table = table,
            accuracy = percent(accuracy),
            best = percent(best),
            fixed = grouped(theirs.fixed),
            low = end(&lower),
            high = end(&upper),
            generic = end(&|rounds| of(&theirs.generic, rounds)),
            baseline = end(&|rounds| of(&theirs.baseline, rounds)),
            single_generic = end(&|rounds| of(&single.generic, rounds)),
            single_baseline = end(&|rounds| of(&single.baseline, rounds)),
            theorem = end(&|rounds| of(&theorem, rounds)),
        ),
    })
}
