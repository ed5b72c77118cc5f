//! What this project adds: how close the bounds are, what they cost, and what they say about randomizers.

mod accuracy;
mod directions;
mod gap;

use crate::curves::{any_ldp, digits, epsilon, logarithmic};
use crate::error::Error;
use crate::exhibit::{Exhibit, Make, Shown};
use crate::note::{markdown, note};
use shuffledp::learning::{Charge, Recipe, Rule, Schedule, Training};
use shuffledp::randomizers::{R2, Randomizer};
use shuffledp::{Delta, DirectionLaw, Epsilon, Mechanism, Round, Side};
use shuffledp::{grouped, plain};
use shuffledp_plot::{Axis, EVERYWHERE, Picture};
use shuffledp_plot::{Look, Series, Sheet};
use std::time::Instant;

pub(super) const EXHIBITS: [Exhibit; 6] = [
    Exhibit {
        id: "ours/gap-closed",
        title: "the upper bound over the lower one, for every randomizer",
        make: Make::Accounted(gap::gap_closed),
    },
    Exhibit {
        id: "ours/gap-of-any-ldp",
        title: "the upper bound over the lower one, over epsilon0",
        make: Make::Accounted(gap::gap_of_any_ldp),
    },
    Exhibit {
        id: "ours/cost-against-n",
        title: "the time of an answer over the number of users",
        make: Make::Accounted(cost_against_n),
    },
    Exhibit {
        id: "ours/which-randomizer",
        title: "what a budget buys a learner, by randomizer and local guarantee",
        make: Make::Accounted(which_randomizer),
    },
    Exhibit {
        id: "ours/directions",
        title: "the efficiency of reports that are directions, against a trusted server",
        make: Make::Accounted(directions::directions),
    },
    Exhibit {
        id: "ours/accuracy",
        title: "accuracy on MNIST over the budget, beside a trusted server's",
        make: Make::Learnt(accuracy::accuracy),
    },
];

const DELTA: f64 = 1e-6;

fn cost_against_n() -> Result<Shown, Error> {
    let at = logarithmic(100.0, 1e12, 11);
    // The median of five runs, in milliseconds, one after the other.
    let measured =
        |name: &str, round: &dyn Fn(u64) -> Result<Round, shuffledp::Error>, rounds: f64| {
            let values: Result<Vec<Option<f64>>, shuffledp::Error> = at
                .iter()
                .map(|&users| {
                    let round = round(users as u64)?;
                    let mut times = Vec::new();
                    for _ in 0..5 {
                        let start = Instant::now();
                        epsilon(&round, rounds, DELTA)?;
                        times.push(start.elapsed().as_secs_f64() * 1e3);
                    }
                    times.sort_by(f64::total_cmp);
                    Ok(Some(times[2]))
                })
                .collect();
            values.map(|values| Series {
                name: name.to_owned(),
                side: Side::Upper,
                standing: None,
                look: Look::Line,
                values,
            })
        };
    let series = vec![
        measured(
            "one round, any ε₀-LDP randomizer",
            &|n| any_ldp(2.0, n),
            1.0,
        )?,
        measured(
            "one round, each taking part with probability 0.1",
            &|n| any_ldp(2.0, n)?.check_in(0.1),
            1.0,
        )?,
        measured(
            "a thousand rounds, any ε₀-LDP randomizer",
            &|n| any_ldp(2.0, n),
            1000.0,
        )?,
        measured(
            "one round, 10-ary randomized response",
            &|n| Round::new(Mechanism::kary_response(10, 2.0)?, n),
            1.0,
        )?,
    ];
    Ok(Shown {
        picture: Picture {
            title: "Cost against n: the time of an answer".to_owned(),
            subtitle: "upper and lower ε together, ε₀ = 2, δ = 1e-6; the median of five runs"
                .to_owned(),
            x: Axis::log("users n"),
            y: Axis::log("milliseconds"),
            within: EVERYWHERE,
        },
        sheet: Sheet {
            over: "users".to_owned(),
            at,
            series,
        },
        note: note!("ours/cost_against_n.md"),
    })
}

/// Rounds of a sample of 10,000 of 60,000 that ε = 0.25 at δ = 1e-5 allows.
fn affordable(mechanism: Mechanism) -> Result<u64, Error> {
    const MOST: u64 = 10_000_000;
    let round = Round::new(mechanism, 60_000)?.sample(10_000)?;
    let recipe = Recipe {
        rounds: MOST,
        rate: 1.0,
        schedule: Schedule::Constant,
        rule: Rule::Momentum(0.0),
        radius: None,
    };
    let fresh = Training::new(recipe, vec![0.0], "ours", 60_000)?;
    let (budget, delta) = (Epsilon::new(0.25)?, Delta::new(1e-5)?);
    Ok(fresh.affordable(&Charge::Shuffled(round), MOST, budget, delta)?)
}

fn which_randomizer() -> Result<Shown, Error> {
    const D: usize = 1290;
    const NAMES: [&str; 3] = ["R_2", "PrivUnit", "the ramp"];
    let at = vec![0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0];
    // Reports times the square of the signal over that of the noise in one coordinate.
    let worth = |rounds: u64, scale: f64| {
        let square = D as f64 / (scale * scale);
        (rounds > 0).then_some(rounds as f64 * 1e4 * square)
    };
    let mut rows = Vec::new();
    let mut worths = vec![Vec::new(); NAMES.len()];
    for &epsilon0 in &at {
        let bit = R2::new(D, 1.0, epsilon0)?;
        let step = DirectionLaw::priv_unit(Some(D as u64), epsilon0)?;
        let ramp = DirectionLaw::ramp(Some(D as u64), epsilon0, None)?;
        // The mean of a direction is shorter by as much as a decoded report is longer.
        let length = |law: &DirectionLaw| law.mean_length().map_or(f64::NAN, f64::recip);
        let mut row = vec![plain(epsilon0)];
        for (worths, (mechanism, scale)) in worths.iter_mut().zip([
            (bit.mechanism().clone(), bit.scale()),
            (Mechanism::from(step), length(&step)),
            (Mechanism::from(ramp), length(&ramp)),
        ]) {
            let rounds = affordable(mechanism)?;
            let worth = worth(rounds, scale);
            row.extend([grouped(rounds), worth.map_or("-".to_owned(), digits)]);
            worths.push(worth);
        }
        rows.push(row);
    }
    let series = NAMES.iter().zip(worths).map(|(name, values)| Series {
        name: (*name).to_owned(),
        side: Side::Upper,
        standing: None,
        look: Look::Line,
        values,
    });
    let series: Vec<Series> = series.collect();
    let table = markdown(
        &[
            "epsilon0",
            "rounds, R_2",
            "worth",
            "rounds, PrivUnit",
            "worth",
            "rounds, ramp",
            "worth",
        ],
        &rows,
    );
    Ok(Shown {
        picture: Picture {
            title: "Which randomizer: what a central ε of 0.25 buys a learner".to_owned(),
            subtitle:
                "1,290 parameters, 10,000 of 60,000 users a round, δ = 1e-5, as many rounds as the \
                       budget allows"
                    .to_owned(),
            x: Axis::linear("local ε₀ of a report"),
            y: Axis::log("reports × (signal / noise)² in a coordinate"),
            within: EVERYWHERE,
        },
        sheet: Sheet {
            over: "epsilon0".to_owned(),
            at,
            series,
        },
        note: note!("ours/which_randomizer.md", table = table),
    })
}
