//! What exhibits that learn share. A run is a command line of `shuffledp train`, which the note prints; a process makes it once, however many exhibits read it. Accuracy is drawn over the ε that some account gives to each round.

use super::epsilon;
use crate::commands::train::{self, Course};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::series::{Look, Series, Sheet};
use rayon::prelude::*;
use shuffledp::grouped;
use shuffledp::learning::Dataset;
use shuffledp::learning::data::idx;
use shuffledp::learning::run::Source;
use shuffledp::{Error, Round, Side, Standing};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// Where the examples are, and what has been learnt from them so far.
pub(crate) struct School<'a> {
    data: &'a Path,
    progress: &'a Progress,
    runs: RefCell<Vec<(String, Rc<Course>)>>,
}

impl<'a> School<'a> {
    pub(super) fn new(data: &'a Path, progress: &'a Progress) -> Self {
        Self {
            data,
            progress,
            runs: RefCell::new(Vec::new()),
        }
    }

    /// What comes of `shuffledp train --data MNIST` and these words.
    pub(super) fn run(&self, line: &str) -> Result<Rc<Course>, Failure> {
        let known = |(words, _): &&(String, Rc<Course>)| words == line;
        if let Some((_, course)) = self.runs.borrow().iter().find(known) {
            return Ok(Rc::clone(course));
        }
        let mut spec = train::parsed(line)?;
        spec.data = Some(Source::Folder(self.data.to_owned()));
        let course = train::course(spec, &mut |round, rounds| self.rounds(round, rounds))?;
        let course = Rc::new(course);
        let run = (line.to_owned(), Rc::clone(&course));
        self.runs.borrow_mut().push(run);
        Ok(course)
    }

    /// The pictures themselves.
    pub(super) fn mnist(&self) -> Result<Dataset, Failure> {
        Ok(idx::read(self.data)?)
    }

    /// How far a run is.
    pub(super) fn rounds(&self, done: u64, planned: u64) {
        let (done, planned) = (grouped(done), grouped(planned));
        self.progress.say(format!("round {done} of {planned}"));
    }
}

/// Command lines, as a block of a note.
pub(super) fn commands(lines: &[&str]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("shuffledp train --data MNIST {line}"))
        .collect();
    format!("```sh\n{}\n```", lines.join("\n"))
}

/// The round that a course was charged for.
pub(super) fn charged(course: &Course) -> Result<Round, Failure> {
    let round = course.round.clone();
    round.ok_or_else(|| Failure::incomplete("a run without protection has no price"))
}

/// The certified ε of so many rounds of a kind, for each of several numbers of them, on all cores.
pub(super) fn certified(
    round: &Round,
    rounds: &[u64],
    delta: f64,
) -> Result<Vec<(u64, f64)>, Error> {
    let one = |rounds: u64| epsilon(round, rounds as f64, delta);
    rounds
        .par_iter()
        .map(|&rounds| Ok((rounds, one(rounds)?.upper().value())))
        .collect()
}

/// The price of so many rounds in such a list.
pub(super) fn listed(prices: &[(u64, f64)], rounds: u64) -> Option<f64> {
    let price = prices.iter().find(|price| price.0 == rounds);
    price.map(|price| price.1)
}

/// Accuracy after a round, and the ε of all rounds up to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) round: u64,
    pub(super) epsilon: f64,
    pub(super) accuracy: f64,
}

/// One way to account for one way to learn.
pub(super) struct Line {
    pub(super) name: String,
    /// What its ε is worth.
    pub(super) standing: Option<Standing>,
    pub(super) looks: Vec<Seen>,
}

impl Line {
    /// Looks at a course, each with its ε; without those that have none.
    pub(super) fn new(
        name: &str,
        standing: Option<Standing>,
        course: &[(u64, f64)],
        epsilon: impl Fn(u64) -> Option<f64>,
    ) -> Self {
        let looks = course.iter().filter_map(|&(round, accuracy)| {
            let epsilon = epsilon(round).filter(|epsilon| *epsilon > 0.0)?;
            Some(Seen {
                round,
                epsilon,
                accuracy,
            })
        });
        Self {
            name: name.to_owned(),
            standing,
            looks: looks.collect(),
        }
    }

    /// The first look that is at least this good.
    pub(super) fn reaches(&self, accuracy: f64) -> Option<Seen> {
        let good = |look: &&Seen| look.accuracy >= accuracy;
        self.looks.iter().find(good).copied()
    }
}

/// Lines over ε: a row for every look, with its round. Marks are numbers that a paper prints, as (ε, accuracy).
pub(super) fn over_epsilon(lines: &[Line], marks: &[(&str, &[(f64, f64)])]) -> Sheet {
    let mut rows: Vec<(f64, Option<u64>)> = Vec::new();
    for line in lines {
        rows.extend(
            line.looks
                .iter()
                .map(|look| (look.epsilon, Some(look.round))),
        );
    }
    for (_, points) in marks {
        rows.extend(points.iter().map(|point| (point.0, None)));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    rows.dedup();
    let series = |name: &str, look: Look, values: Vec<Option<f64>>| Series {
        name: name.to_owned(),
        side: Side::Upper,
        standing: None,
        look,
        values,
    };
    let rounds = rows.iter().map(|row| row.1.map(|round| round as f64));
    let mut all = vec![series("round", Look::Hidden, rounds.collect())];
    for line in lines {
        let values = rows.iter().map(|&(epsilon, round)| {
            let here = |look: &&Seen| look.epsilon == epsilon && Some(look.round) == round;
            line.looks.iter().find(here).map(|look| look.accuracy)
        });
        let name = match line.standing {
            Some(standing) => format!("{} ({standing})", line.name),
            None => line.name.clone(),
        };
        all.push(series(&name, Look::Path, values.collect()));
    }
    for (name, points) in marks {
        let values = rows.iter().map(|&(epsilon, round)| {
            let here = |point: &&(f64, f64)| point.0 == epsilon && round.is_none();
            points.iter().find(here).map(|point| point.1)
        });
        all.push(series(name, Look::Marks, values.collect()));
    }
    Sheet {
        over: "epsilon".to_owned(),
        at: rows.into_iter().map(|row| row.0).collect(),
        series: all,
    }
}

/// 93.4 %.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The mean, and the standard deviation of one of a few runs.
pub(super) fn spread(values: &[f64]) -> (f64, f64) {
    let many = values.len() as f64;
    let mean = values.iter().sum::<f64>() / many;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (square / (many - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{Line, over_epsilon, spread};

    #[test]
    fn a_row_is_a_look() {
        let course = [(1, 0.5), (2, 0.7), (3, 0.6)];
        let one = Line::new("one", None, &course, |round| Some(round as f64));
        let two = Line::new("two", None, &course, |round| {
            (round > 1).then_some(0.5 * round as f64)
        });
        assert_eq!(one.reaches(0.6).map(|look| look.round), Some(2));
        let sheet = over_epsilon(&[one, two], &[("printed", &[(1.4, 0.8)])]);
        assert_eq!(sheet.at, [1.0, 1.0, 1.4, 1.5, 2.0, 3.0]);
        assert_eq!(sheet.series[0].values[..2], [Some(1.0), Some(2.0)]);
        assert_eq!(sheet.series[1].values[..2], [Some(0.5), None]);
        assert_eq!(sheet.series[2].values[..2], [None, Some(0.7)]);
        assert_eq!(sheet.series[3].values[2], Some(0.8));
        assert_eq!(spread(&[1.0, 2.0, 3.0]), (2.0, 1.0));
    }
}
