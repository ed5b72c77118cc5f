//! Figures 2, 4 and 6a: one network learns from Gaussian reports of those who check in; what differs is who
//! accounts for it.

use super::{FITS, USERS as OF_TABLE_2};
use crate::curves::{converted, digits, gaussian_on_the_interval, priced};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::learning::{Line, School, certified, charged, commands, listed, over_epsilon, percent};
use crate::note::{fragment, markdown, note};
use rayon::prelude::*;
use shuffledp::bounds::shuffle_gaussian::{Crowd, pair, theorem_2};
use shuffledp::bounds::shuffled_check_in::{CheckIn, approach_1, approach_2, baseline};
use shuffledp::bounds::{balle_2018, feldman_2021, secure_aggregation};
use shuffledp::rdp::RdpCurve;
use shuffledp::{Delta, Mechanism, Round, Standing};
use shuffledp_numerics::binomial::Binomial;
use shuffledp_plot::{Axis, Picture};

const USERS: u64 = 60_000;
const RATE: f64 = 1e-3;
const SIGMA: f64 = 0.86;
const DELTA: f64 = 1.0 / USERS as f64;
const DELTA0: f64 = DELTA * DELTA;
/// Rounds of an epoch, and check-ins of a round.
const EPOCH: u64 = 1000;
const BATCH: f64 = 60.0;
/// Epochs that are listed, and priced where that takes long.
const SOME: [u64; 5] = [1, 2, 5, 10, 20];
/// Check-ins that the baseline reckons with. The paper does not print them. A round exceeds this number about
/// as seldom as those that fit Table 2.
const FIXED: u64 = 117;
/// A fifth of the printed epochs: all of them take some ten minutes of processor time.
const RUN: &str = "--model cnn --algorithm check-in --check-in 0.001 --randomizer gaussian --sigma 0.86 \
                   --clip 0.05 --rate 0.1 --schedule constant --momentum 0 --rounds 20000 --every 1000 \
                   --delta 1.6667e-5 --fast --seed 1";
/// Reports of another kind, at a price that can be proved.
const OURS: &str = "--epsilon0 1.5 --sample 10000 --target-epsilon 0.25 --rate 0.1 --delta 1.6667e-5 \
                    --every 20 --fast --seed 1";

/// The settings of the run.
fn settings() -> String {
    fragment!("settings.md")
}

/// The paper's three accounts, as in its Table 2: ε₀ by the classical formula at sensitivity 1, δ₀ = δ², δ₁
/// left out.
struct Theirs {
    baseline: RdpCurve,
    approach_1: RdpCurve,
    approach_2: RdpCurve,
}

impl Theirs {
    fn at_sensitivity(sensitivity: f64) -> Self {
        let epsilon0 = sensitivity * (2.0 * (1.25 / DELTA0).ln()).sqrt() / SIGMA;
        let setting = CheckIn {
            users: USERS,
            rate: RATE,
            epsilon0,
            delta0: DELTA0,
            delta1: 0.0,
        };
        let part = FIXED as f64 / USERS as f64;
        let extra = part * feldman_2021::extra_delta(FIXED, epsilon0, DELTA0, epsilon0);
        Self {
            baseline: baseline(balle_2018::amplified(epsilon0, part), extra + DELTA0),
            approach_1: approach_1(setting),
            approach_2: approach_2(setting),
        }
    }

    fn lines(&self, looks: &[(u64, f64)]) -> Vec<Line> {
        [
            ("Baseline", &self.baseline),
            ("Approach 1", &self.approach_1),
            ("Approach 2", &self.approach_2),
        ]
        .map(|(name, curve)| {
            let refuted = Some(Standing::Refuted);
            Line::new(name, refuted, looks, |rounds| of(curve, rounds))
        })
        .into()
    }
}

/// ε of a Rényi curve, if it has one.
fn of(curve: &RdpCurve, rounds: u64) -> Option<f64> {
    converted(curve, rounds as f64, DELTA).ok()
}

/// What an adversary attains who adds the reports of a round up and forgets the rest: user 1 at one end of
/// the ball or the other, all others at one. Counts of check-ins are in buckets, which rounds up a little.
fn added_up(rounds: u64) -> Option<f64> {
    secure_aggregation::epsilon(USERS, RATE, SIGMA, rounds, DELTA).ok()
}

/// The certified ε of numbers in an interval as wide as the ball: what one coordinate alone would cost. It is
/// no bound for vectors.
fn of_numbers(rounds: &[u64]) -> Result<Vec<(u64, f64)>, Error> {
    let round = gaussian_on_the_interval(0.5 * SIGMA, USERS)?.check_in(RATE)?;
    rounds
        .par_iter()
        .map(|&rounds| {
            let account = priced(&round, rounds as f64)?.with_accuracy(1e-2)?;
            let answer = account.epsilon(Delta::new(DELTA)?)?;
            Ok((rounds, answer.upper().value()))
        })
        .collect()
}

/// The certified ε of a trusted server that adds as much noise as all the reports of a round have, at the end
/// of some epochs.
fn central(rounds: &[u64]) -> Result<Vec<(u64, f64)>, Error> {
    let epoch = Round::new(Mechanism::random_allocation(BATCH.sqrt() * SIGMA)?, EPOCH)?;
    let epochs: Vec<u64> = rounds.iter().map(|rounds| rounds / EPOCH).collect();
    let mut prices = certified(&epoch, &epochs, DELTA)?;
    prices.iter_mut().for_each(|price| price.0 *= EPOCH);
    Ok(prices)
}

/// Whether the library finds a guarantee for these rounds at all; it is asked, not remembered.
fn guarantee(round: &Round, rounds: u64) -> Result<String, Error> {
    // Coarse is enough to learn whether there is one.
    let account = priced(round, rounds as f64)?.with_accuracy(1e-2)?;
    match account.epsilon(Delta::new(DELTA)?) {
        Ok(answer) => Ok(digits(answer.upper().value())),
        Err(shuffledp::Error::NoFiniteEpsilon { .. }) => Ok("none".to_owned()),
        Err(error) => Err(error.into()),
    }
}

fn picture(title: &str) -> Picture {
    Picture {
        title: title.to_owned(),
        subtitle: "MNIST, n = 60,000, check-in 0.001, Gaussian noise of σ = 0.86 on gradients clipped to C, \
                   δ = 1/n".to_owned(),
        x: Axis::log("ε at δ = 1/60000"),
        y: Axis::linear("test accuracy"),
        within: (0.0, 1.0),
    }
}

/// A row for some epochs: round, accuracy, and every account.
fn table(looks: &[(u64, f64)], names: &[&str], accounts: &[&dyn Fn(u64) -> Option<f64>]) -> String {
    let header: Vec<&str> = ["epoch", "accuracy"].iter().chain(names).copied().collect();
    let rows: Vec<Vec<String>> = looks
        .iter()
        .filter(|look| SOME.contains(&(look.0 / EPOCH)))
        .map(|&(rounds, accuracy)| {
            let mut row = vec![format!("{}", rounds / EPOCH), percent(accuracy)];
            let cell = |value: Option<f64>| value.map_or("-".to_owned(), digits);
            row.extend(accounts.iter().map(|account| cell(account(rounds))));
            row
        })
        .collect();
    markdown(&header, &rows)
}

/// The probability that a round has more check-ins than this.
fn exceeded(users: u64, rate: f64, many: u64) -> f64 {
    let law = Binomial::new(users, rate);
    law.map_or(f64::NAN, |law| law.ln_upper_tail(many + 1).exp())
}

/// What is wrong with the paper's three accounts, and how they are evaluated.
fn refuted() -> String {
    let tail = |users: u64, rate: f64, many: u64| format!("{:.1e}", exceeded(users, rate, many));
    let [first, second] = FITS.map(|(rate, many)| tail(OF_TABLE_2, rate, many));
    fragment!(
        "refuted.md",
        fixed = FIXED,
        exceeded = tail(USERS, RATE, FIXED),
        first = first,
        second = second,
    )
}

pub(super) fn figure_2(school: &School) -> Result<Shown, Error> {
    let course = school.run(RUN)?;
    let ours = school.run(OURS)?;
    let looks = &course.looks;
    let theirs = Theirs::at_sensitivity(1.0);
    let round = charged(&ours)?;
    let rounds: Vec<u64> = ours.looks.iter().map(|look| look.0).collect();
    let prices = certified(&round, &rounds, DELTA)?;
    let mut lines = theirs.lines(looks);
    lines.push(Line::new(
        "R_2 on fixed features instead",
        Some(Standing::Certified),
        &ours.looks,
        |rounds| listed(&prices, rounds),
    ));
    let rounds = looks.last().map_or(0, |look| look.0);
    let guarantee = guarantee(&charged(&course)?, rounds)?;
    let double = Theirs::at_sensitivity(2.0);
    let end = |curve: &RdpCurve| of(curve, rounds).map_or("-".to_owned(), digits);
    let (paid, reached) = match (prices.last(), ours.looks.last()) {
        (Some(price), Some(look)) => (price.1, look.1),
        _ => (f64::NAN, f64::NAN),
    };
    Ok(Shown {
        picture: picture("Figure 2: accuracy over ε, by the paper's three accounts"),
        sheet: over_epsilon(&lines, &[]),
        note: note!(
            "figure_2.md",
            fixed = FIXED,
            settings = settings(),
            commands = commands(&[RUN, OURS]),
            table = table(
                looks,
                &[
                    "ε, Baseline (refuted)",
                    "Approach 1 (refuted)",
                    "Approach 2 (refuted)",
                ],
                &[
                    &|rounds| of(&theirs.baseline, rounds),
                    &|rounds| of(&theirs.approach_1, rounds),
                    &|rounds| of(&theirs.approach_2, rounds),
                ],
            ),
            refuted = refuted(),
            baseline = end(&double.baseline),
            approach_1 = end(&double.approach_1),
            approach_2 = end(&double.approach_2),
            epochs = rounds / EPOCH,
            guarantee = guarantee,
            reached = percent(reached),
            rounds = ours.looks.last().map_or(0, |look| look.0),
            paid = digits(paid),
        ),
    })
}

pub(super) fn figure_6a(school: &School) -> Result<Shown, Error> {
    let course = school.run(RUN)?;
    let looks = &course.looks;
    let theirs = Theirs::at_sensitivity(1.0);
    let exact = pair(SIGMA, Crowd::CheckIn(USERS, RATE));
    let double = pair(0.5 * SIGMA, Crowd::CheckIn(USERS, RATE));
    let epochs: Vec<u64> = looks.iter().map(|look| look.0).collect();
    let few: Vec<u64> = epochs
        .iter()
        .copied()
        .filter(|rounds| SOME.contains(&(rounds / EPOCH)))
        .collect();
    let numbers = of_numbers(&few)?;
    let mut lines = theirs.lines(looks);
    lines.push(Line::new(
        "the paper's lower bound: the pair, converted",
        None,
        looks,
        |rounds| of(&exact, rounds),
    ));
    lines.push(Line::new(
        "attained by adding reports up, about",
        None,
        looks,
        added_up,
    ));
    lines.push(Line::new(
        "numbers instead of vectors",
        Some(Standing::Certified),
        looks,
        |rounds| listed(&numbers, rounds),
    ));
    let rounds = looks.last().map_or(0, |look| look.0);
    let guarantee = guarantee(&charged(&course)?, rounds)?;
    let end = |value: Option<f64>| value.map_or("-".to_owned(), digits);
    Ok(Shown {
        picture: picture("Figure 6a: accuracy over ε, from above and from below"),
        sheet: over_epsilon(&lines, &[]),
        note: note!(
            "figure_6a.md",
            fixed = FIXED,
            settings = settings(),
            commands = commands(&[RUN]),
            table = table(
                looks,
                &[
                    "ε, Baseline (refuted)",
                    "Approach 1 (refuted)",
                    "Approach 2 (refuted)",
                    "the pair, converted",
                    "attained by adding up",
                    "numbers in an interval (certified)",
                ],
                &[
                    &|rounds| of(&theirs.baseline, rounds),
                    &|rounds| of(&theirs.approach_1, rounds),
                    &|rounds| of(&theirs.approach_2, rounds),
                    &|rounds| of(&exact, rounds),
                    &added_up,
                    &|rounds| listed(&numbers, rounds),
                ],
            ),
            refuted = refuted(),
            single = end(of(&exact, rounds)),
            epochs = rounds / EPOCH,
            double = end(of(&double, rounds)),
            attained = end(added_up(rounds)),
            guarantee = guarantee,
            numbers = end(listed(&numbers, rounds)),
        ),
    })
}

pub(super) fn figure_4(school: &School) -> Result<Shown, Error> {
    let course = school.run(RUN)?;
    let looks = &course.looks;
    let few: Vec<u64> = looks
        .iter()
        .map(|look| look.0)
        .filter(|rounds| SOME.contains(&(rounds / EPOCH)))
        .collect();
    let trusted = central(&few)?;
    let numbers = of_numbers(&few)?;
    let theirs = theorem_2(SIGMA, BATCH as u64, USERS);
    let lines = [
        Line::new(
            "a trusted server",
            Some(Standing::Certified),
            looks,
            |rounds| listed(&trusted, rounds),
        ),
        Line::new(
            "a shuffler: attained by adding up, about",
            None,
            looks,
            added_up,
        ),
        Line::new(
            "a shuffler: Theorem 5",
            Some(Standing::Conjectured),
            looks,
            |rounds| of(&theirs, rounds),
        ),
        Line::new(
            "a shuffler: numbers instead of vectors",
            Some(Standing::Certified),
            looks,
            |rounds| listed(&numbers, rounds),
        ),
    ];
    let rounds = looks.last().map_or(0, |look| look.0);
    let guarantee = guarantee(&charged(&course)?, rounds)?;
    let end = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let (server, sum) = (end(listed(&trusted, rounds)), end(added_up(rounds)));
    Ok(Shown {
        picture: picture("Figure 4: accuracy over ε, with a trusted server and with a shuffler"),
        sheet: over_epsilon(&lines, &[]),
        note: note!(
            "figure_4.md",
            noise = digits(BATCH.sqrt() * SIGMA),
            commands = commands(&[RUN]),
            table = table(
                looks,
                &[
                    "ε, trusted server (certified, add or remove)",
                    "shuffler, attained by adding up",
                    "shuffler, Theorem 5 (conjectured)",
                    "shuffler, numbers in an interval (certified)",
                ],
                &[
                    &|rounds| listed(&trusted, rounds),
                    &added_up,
                    &|rounds| of(&theirs, rounds),
                    &|rounds| listed(&numbers, rounds),
                ],
            ),
            epochs = rounds / EPOCH,
            server = digits(server),
            sum = digits(sum),
            ratio = digits(sum / server),
            guarantee = guarantee,
            numbers = digits(end(listed(&numbers, rounds))),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::{FITS, FIXED, OF_TABLE_2, RATE, USERS, exceeded};

    #[test]
    fn the_check_ins_of_the_baseline_are_exceeded_as_seldom_as_those_of_table_2() {
        let [often, seldom] = FITS.map(|(rate, many)| exceeded(OF_TABLE_2, rate, many));
        let here = exceeded(USERS, RATE, FIXED);
        assert!(seldom < here && here < often, "{seldom} {here} {often}");
    }
}
