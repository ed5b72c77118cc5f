//! Figures 2, 4 and 6a: one network learns from Gaussian reports of those who check in, or of a sample; what
//! differs beyond that is who accounts for it.

use super::{FITS, USERS as OF_TABLE_2};
use crate::curves::{converted, digits};
use crate::error::Error;
use crate::exhibit::Shown;
use crate::learning::{
    Bracket, Course, Line, Pictures, Run, School, charged, commands, listed, looks_after,
    over_epsilon, percent,
};
use crate::note::{fragment, markdown, note};
use shuffledp::bounds::shuffle_gaussian::{Crowd, pair, theorem_2, unshuffled};
use shuffledp::bounds::shuffled_check_in::{CheckIn, approach_1, approach_2, baseline};
use shuffledp::bounds::{balle_2018, feldman_2021, secure_aggregation, wang_2019};
use shuffledp::rdp::RdpCurve;
use shuffledp::{Standing, grouped};
use shuffledp_numerics::binomial::Binomial;
use shuffledp_plot::{Axis, Picture};
use std::rc::Rc;

/// The users of a figure, and the number of check-ins that the baseline reckons with. The paper does not
/// print it. A round exceeds it about as seldom as those that fit Table 2.
#[derive(Clone, Copy)]
pub(super) struct People {
    pub(super) users: u64,
    pub(super) fixed: u64,
}

impl People {
    /// δ = 1/n.
    pub(super) fn delta(self) -> f64 {
        1.0 / self.users as f64
    }

    fn delta0(self) -> f64 {
        self.delta() * self.delta()
    }
}

const USERS: u64 = 60_000;
const DIGITS: People = People {
    users: USERS,
    fixed: 117,
};
pub(super) const RATE: f64 = 1e-3;
pub(super) const SIGMA: f64 = 0.86;
const DELTA: f64 = 1.0 / USERS as f64;
/// Rounds of an epoch, and reports of a round.
pub(super) const EPOCH: u64 = 1000;
const BATCH: f64 = 60.0;
/// Looks that are priced, drawn and listed, in rounds; the log has every epoch. A price takes half a minute.
pub(super) const SHOWN: [u64; 8] = [1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 70_000, 100_000];
/// Figures 2 and 6a.
const RUN: Run = Run {
    log: "shuffled-check-in/runs/check-in",
    line: "--model cnn --algorithm check-in --check-in 0.001 --randomizer gaussian --sigma 0.86 --clip 0.05 \
           --rate 0.1 --schedule constant --momentum 0 --rounds 100000 --every 1000 --delta 1.6667e-5 --fast \
           --seed 1",
    data: Pictures::Mnist,
};
/// Figure 4.
const SAMPLE: Run = Run {
    log: "shuffled-check-in/runs/sample",
    line: "--model cnn --sample 60 --randomizer gaussian --sigma 0.86 --clip 0.05 --rate 0.1 --schedule \
           constant --momentum 0 --rounds 100000 --every 1000 --delta 1.6667e-5 --fast --seed 1",
    data: Pictures::Mnist,
};
/// Reports of another kind.
const OURS: Run = Run {
    log: "shuffled-check-in/runs/features",
    line: "--epsilon0 1.5 --sample 10000 --target-epsilon 0.25 --rate 0.1 --delta 1.6667e-5 --every 20 \
           --fast --seed 1",
    data: Pictures::Mnist,
};

/// The settings of the run.
fn settings() -> String {
    fragment!("settings.md")
}

/// The paper's three accounts, as in its Table 2: ε₀ by the classical formula at sensitivity 1, δ₀ = δ², δ₁
/// left out.
pub(super) struct Theirs {
    delta: f64,
    pub(super) baseline: RdpCurve,
    pub(super) approach_1: RdpCurve,
    pub(super) approach_2: RdpCurve,
}

impl Theirs {
    pub(super) fn at_sensitivity(people: People, sensitivity: f64) -> Self {
        let (users, fixed, delta0) = (people.users, people.fixed, people.delta0());
        let epsilon0 = sensitivity * (2.0 * (1.25 / delta0).ln()).sqrt() / SIGMA;
        let setting = CheckIn {
            users,
            rate: RATE,
            epsilon0,
            delta0,
            delta1: 0.0,
        };
        let part = fixed as f64 / users as f64;
        let extra = part * feldman_2021::extra_delta(fixed, epsilon0, delta0, epsilon0);
        Self {
            delta: people.delta(),
            baseline: baseline(balle_2018::amplified(epsilon0, part), extra + delta0),
            approach_1: approach_1(setting),
            approach_2: approach_2(setting),
        }
    }

    pub(super) fn lines(&self, looks: &[(u64, f64)]) -> Vec<Line> {
        [
            ("Baseline", &self.baseline),
            ("Approach 1", &self.approach_1),
            ("Approach 2", &self.approach_2),
        ]
        .map(|(name, curve)| {
            let refuted = Some(Standing::Refuted);
            Line::new(name, refuted, looks, |rounds| of(curve, rounds, self.delta))
        })
        .into()
    }
}

/// Every account of the paper beside ours, of one run: both parts of Figure 6.
pub(super) struct Accounts<'p> {
    priced: &'p Priced,
    theirs: Theirs,
    /// The pair of the paper's lower bound.
    exact: RdpCurve,
}

impl<'p> Accounts<'p> {
    pub(super) fn new(priced: &'p Priced, people: People) -> Self {
        Self {
            priced,
            theirs: Theirs::at_sensitivity(people, 1.0),
            exact: pair(SIGMA, Crowd::CheckIn(people.users, RATE)),
        }
    }

    /// The paper's lower bound.
    pub(super) fn exact(&self, rounds: u64) -> Option<f64> {
        of(&self.exact, rounds, self.theirs.delta)
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let looks = &self.priced.looks;
        let name = "the paper's lower bound: the pair, converted";
        let mut lines = self.theirs.lines(looks);
        lines.push(Line::new(name, None, looks, |rounds| self.exact(rounds)));
        lines.extend(self.priced.lines());
        lines
    }

    pub(super) fn table(&self) -> String {
        let of = |curve, rounds| of(curve, rounds, self.theirs.delta);
        table(
            &self.priced.looks,
            &[
                "ε, Baseline (refuted)",
                "Approach 1 (refuted)",
                "Approach 2 (refuted)",
                "the pair, converted",
                "attained (certified)",
                "guaranteed (certified)",
            ],
            &[
                &|rounds| of(&self.theirs.baseline, rounds),
                &|rounds| of(&self.theirs.approach_1, rounds),
                &|rounds| of(&self.theirs.approach_2, rounds),
                &|rounds| self.exact(rounds),
                &|rounds| self.priced.lower(rounds),
                &|rounds| self.priced.upper(rounds),
            ],
        )
    }
}

/// ε of a Rényi curve, if it has one.
pub(super) fn of(curve: &RdpCurve, rounds: u64, delta: f64) -> Option<f64> {
    converted(curve, rounds as f64, delta).ok()
}

/// What an adversary attains who adds the reports of a round up and forgets the rest: user 1 at one end of
/// the ball or the other, all others at one. Counts of check-ins are in buckets, which rounds up a little.
fn added_up(rounds: u64) -> Option<f64> {
    secure_aggregation::epsilon(USERS, RATE, SIGMA, rounds, DELTA).ok()
}

/// A course at the looks that are shown, with the certified bracket of each.
pub(super) struct Priced {
    pub(super) looks: Vec<(u64, f64)>,
    prices: Rc<Vec<Bracket>>,
}

impl Priced {
    pub(super) fn new(school: &School, course: &Course, delta: f64) -> Result<Self, Error> {
        Ok(Self {
            looks: looks_after(course, &SHOWN),
            prices: school.certified(&charged(course)?, &SHOWN, delta)?,
        })
    }

    pub(super) fn lower(&self, rounds: u64) -> Option<f64> {
        Some(listed(&self.prices, rounds)?.lower)
    }

    pub(super) fn upper(&self, rounds: u64) -> Option<f64> {
        Some(listed(&self.prices, rounds)?.upper)
    }

    /// Both ends of the bracket.
    pub(super) fn lines(&self) -> [Line; 2] {
        let certified = Some(Standing::Certified);
        [
            Line::new(
                "attained by an adversary",
                certified,
                &self.looks,
                |rounds| self.lower(rounds),
            ),
            Line::new("guaranteed for vectors", certified, &self.looks, |rounds| {
                self.upper(rounds)
            }),
        ]
    }

    /// The last look: rounds and accuracy.
    pub(super) fn last(&self) -> (u64, f64) {
        self.looks.last().copied().unwrap_or_default()
    }
}

/// A number that may be missing.
pub(super) fn shown(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), digits)
}

fn picture(title: &str, crowd: &str) -> Picture {
    Picture {
        title: title.to_owned(),
        subtitle: format!(
            "MNIST, n = 60,000, {crowd}, Gaussian noise of σ = 0.86 on gradients clipped to C, δ = 1/n"
        ),
        x: Axis::log("ε at δ = 1/60000"),
        y: Axis::linear("test accuracy"),
        within: (0.0, 1.0),
    }
}

/// A row for each look: epoch, accuracy, and every account.
pub(super) fn table(
    looks: &[(u64, f64)],
    names: &[&str],
    accounts: &[&dyn Fn(u64) -> Option<f64>],
) -> String {
    let header: Vec<&str> = ["epoch", "accuracy"].iter().chain(names).copied().collect();
    let rows: Vec<Vec<String>> = looks
        .iter()
        .map(|&(rounds, accuracy)| {
            let mut row = vec![format!("{}", rounds / EPOCH), percent(accuracy)];
            row.extend(accounts.iter().map(|account| shown(account(rounds))));
            row
        })
        .collect();
    markdown(&header, &rows)
}

/// The probability that a round has more check-ins than this.
pub(super) fn exceeded(users: u64, rate: f64, many: u64) -> f64 {
    let law = Binomial::new(users, rate);
    law.map_or(f64::NAN, |law| law.ln_upper_tail(many + 1).exp())
}

/// What is wrong with the paper's three accounts, and how they are evaluated.
fn refuted() -> String {
    let tail = |users: u64, rate: f64, many: u64| format!("{:.1e}", exceeded(users, rate, many));
    let [first, second] = FITS.map(|(rate, many)| tail(OF_TABLE_2, rate, many));
    fragment!(
        "refuted.md",
        fixed = DIGITS.fixed,
        exceeded = tail(USERS, RATE, DIGITS.fixed),
        first = first,
        second = second,
    )
}

pub(super) fn figure_2(school: &School) -> Result<Shown, Error> {
    let priced = Priced::new(school, &*school.run(&RUN)?, DELTA)?;
    let ours = school.run(&OURS)?;
    let looks = &priced.looks;
    let theirs = Theirs::at_sensitivity(DIGITS, 1.0);
    let rounds: Vec<u64> = ours.looks.iter().map(|look| look.0).collect();
    let prices = school.certified(&charged(&ours)?, &rounds, DELTA)?;
    let of_ours = |rounds: u64| Some(listed(&prices, rounds)?.upper);
    let mut lines = theirs.lines(looks);
    lines.extend(priced.lines());
    lines.push(Line::new(
        "R_2 on fixed features instead, guaranteed",
        Some(Standing::Certified),
        &ours.looks,
        of_ours,
    ));
    let (rounds, accuracy) = priced.last();
    let double = Theirs::at_sensitivity(DIGITS, 2.0);
    let (reached, at) = ours
        .looks
        .last()
        .map_or((f64::NAN, 0), |look| (look.1, look.0));
    Ok(Shown {
        picture: picture(
            "Figure 2: accuracy over ε, by the paper's three accounts and by ours",
            "check-in 0.001",
        ),
        sheet: over_epsilon(&lines, &[]),
        note: note!(
            "figure_2.md",
            fixed = DIGITS.fixed,
            settings = settings(),
            commands = commands(&[&RUN, &OURS]),
            table = table(
                looks,
                &[
                    "ε, Baseline (refuted)",
                    "Approach 1 (refuted)",
                    "Approach 2 (refuted)",
                    "attained (certified)",
                    "guaranteed (certified)",
                ],
                &[
                    &|rounds| of(&theirs.baseline, rounds, DELTA),
                    &|rounds| of(&theirs.approach_1, rounds, DELTA),
                    &|rounds| of(&theirs.approach_2, rounds, DELTA),
                    &|rounds| priced.lower(rounds),
                    &|rounds| priced.upper(rounds),
                ],
            ),
            refuted = refuted(),
            baseline = shown(of(&double.baseline, rounds, DELTA)),
            approach_1 = shown(of(&double.approach_1, rounds, DELTA)),
            approach_2 = shown(of(&double.approach_2, rounds, DELTA)),
            epochs = rounds / EPOCH,
            rounds_run = grouped(rounds),
            accuracy = percent(accuracy),
            low = shown(priced.lower(rounds)),
            high = shown(priced.upper(rounds)),
            reached = percent(reached),
            rounds = at,
            paid = shown(of_ours(at)),
        ),
    })
}

pub(super) fn figure_6a(school: &School) -> Result<Shown, Error> {
    let priced = Priced::new(school, &*school.run(&RUN)?, DELTA)?;
    let accounts = Accounts::new(&priced, DIGITS);
    let double = pair(0.5 * SIGMA, Crowd::CheckIn(USERS, RATE));
    let (rounds, accuracy) = priced.last();
    Ok(Shown {
        picture: picture(
            "Figure 6a: accuracy over ε, from above and from below",
            "check-in 0.001",
        ),
        sheet: over_epsilon(&accounts.lines(), &[]),
        note: note!(
            "figure_6a.md",
            fixed = DIGITS.fixed,
            settings = settings(),
            commands = commands(&[&RUN]),
            table = accounts.table(),
            refuted = refuted(),
            single = shown(accounts.exact(rounds)),
            epochs = rounds / EPOCH,
            accuracy = percent(accuracy),
            double = shown(of(&double, rounds, DELTA)),
            attained = shown(added_up(rounds)),
            low = shown(priced.lower(rounds)),
            high = shown(priced.upper(rounds)),
        ),
    })
}

pub(super) fn figure_4(school: &School) -> Result<Shown, Error> {
    let priced = Priced::new(school, &*school.run(&SAMPLE)?, DELTA)?;
    let looks = &priced.looks;
    let noise = BATCH.sqrt() * SIGMA;
    // Half the noise: a replacement moves a vector of norm C by 2C.
    let trusted = |noise: f64| {
        let rate = BATCH / USERS as f64;
        wang_2019::sampled(unshuffled(noise), rate, f64::INFINITY, 4096)
    };
    let server = trusted(0.5 * noise);
    let drawn = trusted(noise);
    let theirs = theorem_2(SIGMA, BATCH as u64, USERS);
    let mut lines = vec![
        Line::new(
            "a trusted server: moments accountant",
            Some(Standing::Proved),
            looks,
            |rounds| of(&server, rounds, DELTA),
        ),
        Line::new(
            "a shuffler: Theorem 5",
            Some(Standing::Conjectured),
            looks,
            |rounds| of(&theirs, rounds, DELTA),
        ),
    ];
    lines.extend(priced.lines().map(|mut line| {
        line.name = format!("a shuffler: {}", line.name);
        line
    }));
    let (rounds, accuracy) = priced.last();
    Ok(Shown {
        picture: picture(
            "Figure 4: accuracy over ε, with a trusted server and with a shuffler",
            "60 sampled a round",
        ),
        sheet: over_epsilon(&lines, &[]),
        note: note!(
            "figure_4.md",
            noise = digits(noise),
            commands = commands(&[&SAMPLE]),
            table = table(
                looks,
                &[
                    "ε, trusted server (proved)",
                    "shuffler, Theorem 5 (conjectured)",
                    "shuffler, attained (certified)",
                    "shuffler, guaranteed (certified)",
                ],
                &[
                    &|rounds| of(&server, rounds, DELTA),
                    &|rounds| of(&theirs, rounds, DELTA),
                    &|rounds| priced.lower(rounds),
                    &|rounds| priced.upper(rounds),
                ],
            ),
            epochs = rounds / EPOCH,
            accuracy = percent(accuracy),
            server = shown(of(&server, rounds, DELTA)),
            drawn = shown(of(&drawn, rounds, DELTA)),
            theorem = shown(of(&theirs, rounds, DELTA)),
            low = shown(priced.lower(rounds)),
            high = shown(priced.upper(rounds)),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::figure_6b::PHOTOGRAPHS;
    use super::{DIGITS, FITS, OF_TABLE_2, RATE, exceeded};

    #[test]
    fn the_check_ins_of_the_baseline_are_exceeded_as_seldom_as_those_of_table_2() {
        let [often, seldom] = FITS.map(|(rate, many)| exceeded(OF_TABLE_2, rate, many));
        for people in [DIGITS, PHOTOGRAPHS] {
            let here = exceeded(people.users, RATE, people.fixed);
            assert!(seldom < here && here < often, "{seldom} {here} {often}");
        }
    }
}
