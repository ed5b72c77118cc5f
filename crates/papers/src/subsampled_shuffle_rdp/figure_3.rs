//! Figure 3: the accuracy of CLDP-SGD over the ε of its rounds, as printed, with R_2 in the place of R_inf,
//! and as we would do it.

use super::last_round;
use crate::curves::{converted, digits, extremes};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::learning::{
    Line, Run, School, charged, commands, listed, over_epsilon, percent, spread,
};
use crate::note::{markdown, note};
use shuffledp::Side;
use shuffledp::bounds::girgis_2021;
use shuffledp_plot::{Axis, Picture};
use shuffledp_plot::{Look, Series};

const DELTA: f64 = 1e-5;
/// Parameters of the network that is trained.
const PARAMETERS: f64 = 13_722.0;
/// As printed; 228 rounds are 38 epochs, in which the printed rate does not change yet.
const PRINTED: Run = Run {
    log: "subsampled-shuffle-rdp/runs/r-inf",
    line: "--model cnn --randomizer r-inf --clip 0.01 --epsilon0 1.5 --sample 10000 --rate 0.3 \
                       --schedule constant --momentum 0 --rounds 228 --every 19 --fast --seed 1",
};
/// The same network and crowd, reports of another kind.
const OTHER: Run = Run {
    log: "subsampled-shuffle-rdp/runs/r-2",
    line: "--model cnn --randomizer r-2 --clip 1 --epsilon0 1.5 --sample 10000 --rate 0.5 \
                     --schedule constant --momentum 0 --rounds 228 --every 19 --fast --seed 1",
};
/// Through the shuffler.
const OURS: [Run; 3] = [
    Run {
        log: "subsampled-shuffle-rdp/runs/features-seed-1",
        line: "--epsilon0 1.5 --sample 10000 --target-epsilon 0.6 --rate 0.06 --seed 1",
    },
    Run {
        log: "subsampled-shuffle-rdp/runs/features-seed-2",
        line: "--epsilon0 1.5 --sample 10000 --target-epsilon 0.6 --rate 0.06 --seed 2",
    },
    Run {
        log: "subsampled-shuffle-rdp/runs/features-seed-3",
        line: "--epsilon0 1.5 --sample 10000 --target-epsilon 0.6 --rate 0.06 --seed 3",
    },
];
/// (ε, accuracy) by its Theorem 1, and by the clones.
const THEOREM: [(f64, f64); 2] = [(1.4, 0.80), (2.91, 0.90)];
const CLONES: [(f64, f64); 2] = [(1.4, 0.707), (4.82, 0.90)];

pub(super) fn figure_3(school: &School) -> Result<Shown, Error> {
    let printed = school.run(&PRINTED)?;
    let other = school.run(&OTHER)?;
    let mut ours = Vec::new();
    for run in &OURS {
        ours.push(school.run(run)?);
    }
    // All these reports are priced as one bit, so one list of prices serves all runs.
    let round = charged(&ours[0])?;
    let rounds: Vec<u64> = ours[0].looks.iter().map(|look| look.0).collect();
    let shorter = printed.looks.iter().map(|look| look.0);
    let all: Vec<u64> = rounds.iter().copied().chain(shorter).collect();
    let prices = school.certified(&round, &all, DELTA)?;
    let price = |round: u64| Some(listed(&prices, round)?.upper);
    let spreads: Vec<(u64, (f64, f64))> = rounds
        .iter()
        .enumerate()
        .map(|(row, &round)| {
            let values: Vec<f64> = ours
                .iter()
                .filter_map(|run| Some(run.looks.get(row)?.1))
                .collect();
            (round, spread(&values))
        })
        .collect();
    let means: Vec<(u64, f64)> = spreads
        .iter()
        .map(|(round, (mean, _))| (*round, *mean))
        .collect();
    let deviation = |round: u64| {
        let row = spreads.iter().find(|row| row.0 == round);
        row.map_or(0.0, |row| row.1.1)
    };
    let lines = [
        Line::new(
            "fixed features, a linear model, R_2: mean and deviation of 3",
            None,
            &means,
            price,
        )
        .with_deviations(deviation),
        Line::new("the network with R_2", None, &other.looks, price),
        Line::new(
            "the network with R_inf, as printed",
            None,
            &printed.looks,
            price,
        ),
    ];
    let mut sheet = over_epsilon(
        &lines,
        &[
            ("printed, ε by Theorem 1", &THEOREM),
            ("printed, ε by clones", &CLONES),
        ],
    );
    for (seed, run) in ours.iter().enumerate() {
        let values = sheet.series[0].values.iter().map(|at| {
            let round = (*at)? as u64;
            run.looks
                .iter()
                .find(|look| look.0 == round)
                .map(|look| look.1)
        });
        let one = Series {
            name: format!("the same, seed {}", seed + 1),
            side: Side::Upper,
            standing: None,
            look: Look::Hidden,
            values: values.collect(),
        };
        sheet.series.push(one);
    }
    // A mark on the edge of a picture is cut in half.
    sheet.at.push(6.0);
    for series in &mut sheet.series {
        series.values.push(None);
    }
    let [best, network, as_printed] = &lines;
    let theorem = girgis_2021::sampled_upper(60_000, 10_000, 1.5);
    let theirs = |rounds: u64| converted(&theorem, rounds as f64, DELTA).ok();
    let cell = |line: &Line, round: u64| {
        let seen = line.looks.iter().find(|seen| seen.round == round);
        seen.map_or("-".to_owned(), |seen| percent(seen.accuracy))
    };
    let last = rounds.last().copied().unwrap_or_default();
    let told = [19, 57, 114, 152, 228, 456, 1026, last];
    let charges = told.map(|round| Some(theirs(round)? / price(round)?));
    let (least, most) = extremes(charges.into_iter().flatten());
    let rows: Vec<Vec<String>> = told
        .into_iter()
        .filter_map(|round| {
            let ours = spreads.iter().find(|row| row.0 == round);
            let ours = ours.map_or("-".to_owned(), |(_, (mean, deviation))| {
                format!("{} ± {:.1}", percent(*mean), 100.0 * deviation)
            });
            Some(vec![
                format!("{round}"),
                digits(price(round)?),
                theirs(round).map_or("-".into(), digits),
                cell(as_printed, round),
                cell(network, round),
                ours,
            ])
        })
        .collect();
    let table = markdown(
        &[
            "round",
            "certified ε",
            "ε by the paper's Theorem 1",
            "R_inf, as printed",
            "R_2",
            "features, R_2",
        ],
        &rows,
    );
    let reached = |accuracy: f64| match best.reaches(accuracy) {
        Some(seen) => format!("ε = {} (round {})", digits(seen.epsilon), seen.round),
        None => "no ε that was spent here".to_owned(),
    };
    let end = |line: &Line| line.looks.last().map_or(f64::NAN, |seen| seen.accuracy);
    let many = |line: &Line| line.looks.last().map_or(0, |seen| seen.round);
    let budget = best.looks.last().map_or(f64::NAN, |seen| seen.epsilon);
    let (_, (mean, deviation)) = spreads.last().copied().unwrap_or_default();
    Ok(Shown {
        picture: Picture {
            title: "Figure 3: accuracy of CLDP-SGD over ε".to_owned(),
            subtitle:
                "MNIST, n = 60,000, 10,000 sampled each round, ε₀ = 1.5, δ = 1e-5; ε of our runs \
                       certified"
                    .to_owned(),
            x: Axis::log("ε at δ = 1e-5"),
            y: Axis::linear("test accuracy"),
            within: (0.0, 1.0),
        },
        note: note!(
            "figure_3.md",
            run = many(as_printed),
            network_printed = percent(end(as_printed)),
            round = last_round(&theorem, THEOREM[0].0),
            commands = commands(&[&PRINTED, &OTHER, &OURS[0], &OURS[1], &OURS[2]]),
            table = table,
            run_other = many(network),
            network = percent(end(network)),
            deviation_inf = digits(0.01 * (PARAMETERS / 10_000.0).sqrt() * ratio(1.5)),
            // A report of R_2 is C√(πd/2)(E+1)/(E−1) long, in a random direction.
            deviation_2 = digits((std::f64::consts::PI / 2.0).sqrt() * ratio(1.5) / 100.0),
            root = format!("{:.0}", PARAMETERS.sqrt()),
            length = format!("{:.2}", 0.01 * PARAMETERS.sqrt()),
            network_printed_then = cell(as_printed, many(network)),
            least = format!("{least:.1}"),
            most = format!("{most:.1}"),
            at_80 = reached(0.8),
            at_90 = reached(0.9),
            mean = percent(mean),
            deviation = format!("{:.1}", 100.0 * deviation),
            budget = digits(budget),
            last = last,
        ),
        sheet,
    })
}

/// (E+1)/(E−1): what randomized response is scaled up by.
fn ratio(epsilon0: f64) -> f64 {
    (epsilon0.exp() + 1.0) / epsilon0.exp_m1()
}
