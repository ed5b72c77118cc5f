//! Figure 1b: a network learns from shuffled Gaussian reports; accuracy over the ε of different accounts of
//! the same rounds.

use super::{DELTA, USERS};
use crate::curves::{converted, digits, epsilon};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::learning::{Line, School, charged, commands, over_epsilon, percent};
use crate::note::{markdown, note};
use rayon::prelude::*;
use shuffledp::Standing;
use shuffledp::bounds::shuffle_gaussian::{Crowd, pair, theorem_3};
use shuffledp_plot::{Axis, Picture};

const RATE: f64 = 0.1;
/// Noise in units of the largest change: a replacement moves a vector of norm C by 2C.
const SIGMA: f64 = 2.5;
/// The first of the printed rounds: a gradient of the network takes some 50 µs, and a round has 6,000.
const RUN: &str = "--model cnn --algorithm check-in --check-in 0.1 --randomizer gaussian --sigma 5 --clip \
                   0.01 --rate 10 --schedule constant --momentum 0 --rounds 400 --every 50 --fast --seed 1";
const PRINTED_ROUNDS: u64 = 5540;

/// What the accounts say of so many rounds.
struct Price {
    rounds: u64,
    upper: f64,
    lower: f64,
}

pub(super) fn figure_1b(school: &School) -> Result<Shown, Error> {
    let course = school.run(RUN)?;
    let round = charged(&course)?;
    let mut rounds: Vec<u64> = course.looks.iter().map(|look| look.0).collect();
    rounds.push(PRINTED_ROUNDS);
    let prices: Result<Vec<Price>, shuffledp::Error> = rounds
        .par_iter()
        .map(|&rounds| {
            let answer = epsilon(&round, rounds as f64, DELTA)?;
            Ok(Price {
                rounds,
                upper: answer.upper().value(),
                lower: answer.lower().value(),
            })
        })
        .collect();
    let prices = prices?;
    let theorem = theorem_3(SIGMA, USERS, RATE).capped(30.0);
    let exact = pair(SIGMA, Crowd::CheckIn(USERS, RATE));
    let by_theorem = |rounds: u64| converted(&theorem, rounds as f64, DELTA).ok();
    let by_pair = |rounds: u64| converted(&exact, rounds as f64, DELTA).ok();
    let certified = |value: fn(&Price) -> f64| {
        let prices = &prices;
        move |rounds: u64| {
            prices
                .iter()
                .find(|price| price.rounds == rounds)
                .map(value)
        }
    };
    let looks = &course.looks;
    let lines = [
        Line::new(
            "attained by an adversary",
            Some(Standing::Certified),
            looks,
            certified(|price| price.lower),
        ),
        Line::new(
            "the check-in pair, every order",
            Some(Standing::Conjectured),
            looks,
            by_pair,
        ),
        Line::new(
            "guaranteed for vectors",
            Some(Standing::Certified),
            looks,
            certified(|price| price.upper),
        ),
        Line::new(
            "Theorem 3, orders up to 30",
            Some(Standing::Refuted),
            looks,
            by_theorem,
        ),
    ];
    let show = |value: Option<f64>| value.map_or("-".to_owned(), digits);
    let rows: Vec<Vec<String>> = prices
        .iter()
        .filter(|price| [50, 100, 200, 300, 400, PRINTED_ROUNDS].contains(&price.rounds))
        .map(|price| {
            let accuracy = looks.iter().find(|look| look.0 == price.rounds);
            vec![
                format!("{}", price.rounds),
                accuracy.map_or("not run".to_owned(), |look| percent(look.1)),
                digits(price.lower),
                show(by_pair(price.rounds)),
                digits(price.upper),
                show(by_theorem(price.rounds)),
            ]
        })
        .collect();
    let table = markdown(
        &[
            "rounds",
            "accuracy",
            "attained (certified)",
            "the pair as a guarantee (conjectured)",
            "guaranteed (certified)",
            "Theorem 3, orders up to 30 (refuted)",
        ],
        &rows,
    );
    let last = looks.last().copied().unwrap_or_default();
    let (low, high) = prices
        .last()
        .map_or((f64::NAN, f64::NAN), |price| (price.lower, price.upper));
    Ok(Shown {
        picture: Picture {
            title: "Figure 1b: accuracy over ε, by four accounts of the same rounds".to_owned(),
            subtitle: "MNIST, n = 60,000, check-in 0.1, Gaussian noise of σ = 5 on gradients clipped to C, \
                       δ = 1/n".to_owned(),
            x: Axis::log("ε at δ = 1/60000"),
            y: Axis::linear("test accuracy"),
            within: (0.0, 1.0),
        },
        sheet: over_epsilon(&lines, &[]),
        note: note!(
            "figure_1b.md",
            run = last.0,
            commands = commands(&[RUN]),
            table = table,
            accuracy = percent(last.1),
            low = digits(low),
            high = digits(high),
        ),
    })
}
