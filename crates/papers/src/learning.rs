//! Exhibits that learn. A run is a command line of `shuffledp train`, which the note prints; a process makes
//! it once, however many exhibits read it. Accuracy is drawn over the ε that some account gives to each
//! round.

use crate::curves::epsilon;
use crate::error::Error;
use rayon::prelude::*;
use shuffledp::learning::Dataset;
use shuffledp::learning::data::idx;
use shuffledp::{Round, Side, Standing};
use shuffledp_plot::{Look, Series, Sheet};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// Trains as a command line says.
pub trait Learner {
    /// Runs what stands behind `shuffledp train --data MNIST`, in memory and without prices. `step` is told
    /// of every round, and of how many there are. An error of the learner's own is [`Error::Run`].
    fn course(&self, line: &str, step: &mut dyn FnMut(u64, u64)) -> Result<Course, Error>;
}

/// How well a run went, without its price.
#[derive(Clone, Debug)]
pub struct Course {
    /// What each round is charged as; none where nobody is protected.
    pub round: Option<Round>,
    /// Rounds that were looked at, and the accuracy after each.
    pub looks: Vec<(u64, f64)>,
}

/// The folder of the examples, somebody who learns from them, and the runs so far.
pub struct School<'a> {
    data: &'a Path,
    learner: &'a dyn Learner,
    watch: &'a dyn Fn(u64, u64),
    runs: RefCell<Vec<(String, Rc<Course>)>>,
}

impl<'a> School<'a> {
    /// A folder with MNIST's files. `watch` is told how many rounds of a run are done, and of how many.
    pub fn new(data: &'a Path, learner: &'a dyn Learner, watch: &'a dyn Fn(u64, u64)) -> Self {
        Self {
            data,
            learner,
            watch,
            runs: RefCell::new(Vec::new()),
        }
    }

    /// The course of `shuffledp train --data MNIST` and these words.
    pub(crate) fn run(&self, line: &str) -> Result<Rc<Course>, Error> {
        let known = |(words, _): &&(String, Rc<Course>)| words == line;
        if let Some((_, course)) = self.runs.borrow().iter().find(known) {
            return Ok(Rc::clone(course));
        }
        let mut step = |done: u64, planned: u64| (self.watch)(done, planned);
        let course = Rc::new(self.learner.course(line, &mut step)?);
        let run = (line.to_owned(), Rc::clone(&course));
        self.runs.borrow_mut().push(run);
        Ok(course)
    }

    /// The pictures themselves.
    pub(crate) fn mnist(&self) -> Result<Dataset, Error> {
        Ok(idx::read(self.data)?)
    }
}

/// Command lines, as a block of a note.
pub(crate) fn commands(lines: &[&str]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("shuffledp train --data MNIST {line}"))
        .collect();
    format!("```sh\n{}\n```", lines.join("\n"))
}

/// The round that a course was charged for.
pub(crate) fn charged(course: &Course) -> Result<Round, Error> {
    let round = course.round.clone();
    round.ok_or(Error::Unprotected)
}

/// The certified ε of so many rounds of a kind, for each of several numbers of them, on all cores.
pub(crate) fn certified(
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
pub(crate) fn listed(prices: &[(u64, f64)], rounds: u64) -> Option<f64> {
    let price = prices.iter().find(|price| price.0 == rounds);
    price.map(|price| price.1)
}

/// Accuracy after a round, and the ε of all rounds up to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) round: u64,
    pub(crate) epsilon: f64,
    pub(crate) accuracy: f64,
}

/// One way to account for one way to learn.
pub(crate) struct Line {
    pub(crate) name: String,
    /// What its ε is worth.
    pub(crate) standing: Option<Standing>,
    pub(crate) looks: Vec<Seen>,
}

impl Line {
    /// Looks at a course, each with its ε; without those that have none.
    pub(crate) fn new(
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
    pub(crate) fn reaches(&self, accuracy: f64) -> Option<Seen> {
        let good = |look: &&Seen| look.accuracy >= accuracy;
        self.looks.iter().find(good).copied()
    }
}

/// Lines over ε: a row for every look, with its round. Marks are numbers that a paper prints, as (ε,
/// accuracy).
pub(crate) fn over_epsilon(lines: &[Line], marks: &[(&str, &[(f64, f64)])]) -> Sheet {
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
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The mean, and the standard deviation of one of a few runs.
pub(crate) fn spread(values: &[f64]) -> (f64, f64) {
    let many = values.len() as f64;
    let mean = values.iter().sum::<f64>() / many;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (square / (many - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{Course, Learner, Line, School, over_epsilon, spread};
    use crate::Error;
    use std::cell::Cell;
    use std::path::Path;

    /// Counts its runs; fails at an empty line.
    struct Counting(Cell<usize>);

    impl Learner for Counting {
        fn course(&self, line: &str, step: &mut dyn FnMut(u64, u64)) -> Result<Course, Error> {
            if line.is_empty() {
                return Err(Error::Run("nothing to do".into()));
            }
            self.0.set(self.0.get() + 1);
            step(1, 2);
            Ok(Course {
                round: None,
                looks: vec![(2, 0.5)],
            })
        }
    }

    #[test]
    fn a_line_is_run_once_and_an_error_passes_through() {
        let (learner, seen) = (Counting(Cell::new(0)), Cell::new((0, 0)));
        let watch = |done: u64, planned: u64| seen.set((done, planned));
        let school = School::new(Path::new(""), &learner, &watch);
        for line in ["one", "two", "one"] {
            assert_eq!(school.run(line).unwrap().looks, [(2, 0.5)]);
        }
        assert_eq!((learner.0.get(), seen.get()), (2, (1, 2)));
        let error = school.run("").unwrap_err();
        assert_eq!(error.to_string(), "nothing to do");
    }

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
