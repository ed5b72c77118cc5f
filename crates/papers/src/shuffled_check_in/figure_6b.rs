//! Figure 6b: the protocol of Figure 6a on CIFAR-10, where the last layer of a network is trained. Here it is
//! a linear model on fixed features of a picture.

use super::learning::{Accounts, EPOCH, People, Priced, RATE, SHOWN, exceeded, shown};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::learning::{
    Line, Pictures, Run, School, charged, commands, listed, over_epsilon, percent,
};
use crate::note::{markdown, note};
use shuffledp::{Standing, plain};
use shuffledp_plot::{Axis, Picture};

pub(super) const PHOTOGRAPHS: People = People {
    users: 50_000,
    fixed: 102,
};
/// The paper's protocol.
const RUN: Run = Run {
    log: "shuffled-check-in/runs/cifar10",
    line: "--features color-gradients --algorithm check-in --check-in 0.001 --randomizer gaussian --sigma \
           0.86 --clip 0.05 --rate 0.1 --schedule constant --momentum 0 --rounds 100000 --every 1000 --delta \
           2e-5 --fast --seed 1",
    data: Pictures::Cifar10,
};
/// The δ of the other runs, as of `ours/accuracy`.
const DELTA: f64 = 1e-5;

/// Reports of the ramp, and a trusted server, at one budget.
struct Budget {
    epsilon: f64,
    shuffled: Run,
    central: Run,
}

macro_rules! budget {
    ($name:literal, $epsilon:literal: $e0:literal in $rounds:literal, clip $clip:literal, rate $rate:literal;
     $sigma:literal at $central:literal) => {
        Budget {
            epsilon: $epsilon,
            shuffled: Run {
                log: concat!("shuffled-check-in/runs/cifar10-epsilon-", $name),
                line: concat!(
                    "--features color-gradients --randomizer ramp --clip ",
                    $clip,
                    " --fast --epsilon0 ",
                    $e0,
                    " --sample 10000 --rounds ",
                    $rounds,
                    " --rate ",
                    $rate,
                    " --every 50 --seed 1"
                ),
                data: Pictures::Cifar10,
            },
            central: Run {
                log: concat!("shuffled-check-in/runs/cifar10-central-", $name),
                line: concat!(
                    "--features color-gradients --algorithm central --clip ",
                    $clip,
                    " --sigma ",
                    $sigma,
                    " --batches 4 --rounds 100 --rate ",
                    $central,
                    " --every 20 --seed 1"
                ),
                data: Pictures::Cifar10,
            },
        }
    };
}

const BUDGETS: [Budget; 2] = [
    budget!("1", 1.0: 5.705 in 400, clip 0.15, rate 2; 18.7 at 16),
    budget!("3", 3.0: 7.665 in 400, clip 0.15, rate 4; 7.0 at 24),
];

pub(super) fn figure_6b(school: &School) -> Result<Shown, Error> {
    let delta = PHOTOGRAPHS.delta();
    let priced = Priced::new(school, &*school.run(&RUN)?, delta)?;
    let accounts = Accounts::new(&priced, PHOTOGRAPHS);
    let mut lines = accounts.lines();
    let mut rows = Vec::new();
    for budget in &BUDGETS {
        let (ours, server) = (school.run(&budget.shuffled)?, school.run(&budget.central)?);
        let rounds: Vec<u64> = ours.looks.iter().map(|look| look.0).collect();
        let prices = school.certified(&charged(&ours)?, &rounds, DELTA)?;
        let of_ours = |rounds: u64| Some(listed(&prices, rounds)?.upper);
        let last = |looks: &[(u64, f64)]| looks.last().copied().unwrap_or((0, f64::NAN));
        let (end, reached) = last(&ours.looks);
        let (epochs, central) = last(&server.looks);
        let price = school.certified(&charged(&server)?, &[epochs], DELTA)?;
        rows.push(vec![
            plain(budget.epsilon),
            shown(of_ours(end)),
            percent(reached),
            shown(price.first().map(|price| price.upper)),
            percent(central),
        ]);
        lines.push(Line::new(
            &format!(
                "reports of the ramp instead, ε = {}, δ = 1e-5",
                plain(budget.epsilon)
            ),
            Some(Standing::Certified),
            &ours.looks,
            of_ours,
        ));
    }
    let budgets = markdown(
        &[
            "ε",
            "certified, shuffled",
            "accuracy",
            "certified, trusted server",
            "accuracy",
        ],
        &rows,
    );
    let (rounds, accuracy) = priced.last();
    let runs: Vec<&Run> = [&RUN]
        .into_iter()
        .chain(
            BUDGETS
                .iter()
                .flat_map(|budget| [&budget.shuffled, &budget.central]),
        )
        .collect();
    Ok(Shown {
        picture: Picture {
            title: "Figure 6b: accuracy over ε, from above and from below".to_owned(),
            subtitle: "CIFAR-10, n = 50,000, check-in 0.001, Gaussian noise of σ = 0.86 on gradients clipped \
                       to C, δ = 1/n"
                .to_owned(),
            x: Axis::log("ε at δ = 1/50000"),
            y: Axis::linear("test accuracy"),
            within: (0.0, 1.0),
        },
        sheet: over_epsilon(&lines, &[]),
        note: note!(
            "figure_6b.md",
            commands = commands(&runs),
            table = accounts.table(),
            fixed = PHOTOGRAPHS.fixed,
            exceeded = format!("{:.1e}", exceeded(PHOTOGRAPHS.users, RATE, PHOTOGRAPHS.fixed)),
            epochs = SHOWN[SHOWN.len() - 1] / EPOCH,
            done = rounds / EPOCH,
            accuracy = percent(accuracy),
            low = shown(priced.lower(rounds)),
            high = shown(priced.upper(rounds)),
            budgets = budgets,
        ),
    })
}
