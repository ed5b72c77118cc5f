//! Exhibits that learn. A run is a command line of `shuffledp train`, which the note prints. Its course is
//! kept in a log ([`crate::runs`]): where the log is there and of the same command, nothing is run. Accuracy
//! is drawn over the ε that some account gives to each round.

use crate::curves::epsilon;
use crate::error::Error;
use crate::runs::Log;
use rayon::prelude::*;
use shuffledp::{Round, Side, Standing};
use shuffledp_plot::{Look, Series, Sheet};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Trains as a command line says.
pub trait Learner {
    /// Runs what stands behind `shuffledp train --data DIR`, on the files of a folder, in memory and without
    /// prices. `step` is told of every round, and of how many there are. An error of the
    /// learner's own is [`Error::Run`].
    fn course(
        &self,
        data: &Path,
        line: &str,
        step: &mut dyn FnMut(u64, u64),
    ) -> Result<Course, Error>;
}

/// How well a run went, without its price.
#[derive(Clone, Debug)]
pub struct Course {
    /// What each round is charged as; none where nobody is protected.
    pub round: Option<Round>,
    /// Rounds that were looked at, and the accuracy after each.
    pub looks: Vec<(u64, f64)>,
}

/// Labeled pictures that anybody can fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// 60,000 handwritten digits.
    Mnist,
    /// 50,000 photographs in color.
    Cifar10,
}

impl Pictures {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Mnist, Self::Cifar10];

    /// The name, which stands for the folder in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mnist => "MNIST",
            Self::Cifar10 => "CIFAR-10",
        }
    }

    /// The flag of `shuffledp reproduce` that names the folder.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Mnist => "--data",
            Self::Cifar10 => "--cifar10",
        }
    }

    /// How to fetch them.
    pub fn fetched(self) -> &'static str {
        match self {
            Self::Mnist => "scripts/fetch-data mnist DIR",
            Self::Cifar10 => "scripts/fetch-data cifar10 DIR",
        }
    }
}

/// A run that a command line describes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// The name of its log, without the ending, as in `shuffled-check-in/runs/sample`.
    pub(crate) log: &'static str,
    /// What stands behind `shuffledp train --data DIR`.
    pub(crate) line: &'static str,
    /// What it learns from.
    pub(crate) data: Pictures,
}

impl Run {
    /// The whole command, as a note and a log have it.
    fn command(&self) -> String {
        format!("shuffledp train --data {} {}", self.data.name(), self.line)
    }
}

/// The same run from several seeds.
macro_rules! seeds {
    ($log:expr, $line:expr, [$($seed:literal),*]) => {
        [$($crate::learning::Run {
            log: concat!($log, "-seed-", $seed),
            line: concat!($line, " --seed ", $seed),
            data: $crate::learning::Pictures::Mnist,
        }),*]
    };
}
pub(crate) use seeds;

/// A name and its course.
type Known = (String, Rc<Course>);

/// A round, numbers of such rounds, and δ.
type Asked = (Round, Vec<u64>, f64);

/// The folders of the examples, somebody who learns from them, and the runs so far.
pub struct School<'a> {
    /// In the order of [`Pictures::ALL`].
    data: [Option<&'a Path>; 2],
    learner: &'a dyn Learner,
    watch: &'a dyn Fn(u64, u64),
    /// The folder of the logs, and whether to run again what is logged.
    kept: Option<(PathBuf, bool)>,
    /// Courses of this process, by the names of their logs.
    runs: RefCell<Vec<Known>>,
    /// Prices of this process, by what was asked.
    prices: RefCell<Vec<(Asked, Rc<Vec<Bracket>>)>>,
}

impl<'a> School<'a> {
    /// A folder with MNIST's files; without one, only runs that are logged are known. `watch` is told how
    /// many rounds of a run are done, and of how many.
    pub fn new(
        data: Option<&'a Path>,
        learner: &'a dyn Learner,
        watch: &'a dyn Fn(u64, u64),
    ) -> Self {
        Self {
            data: [data, None],
            learner,
            watch,
            kept: None,
            runs: RefCell::new(Vec::new()),
            prices: RefCell::new(Vec::new()),
        }
    }

    /// With a folder of other pictures.
    #[must_use]
    pub fn with(mut self, pictures: Pictures, folder: Option<&'a Path>) -> Self {
        self.data[pictures as usize] = folder;
        self
    }

    /// Reads and writes the logs of runs below this folder, as in `shuffled-check-in/runs/sample.csv`. With
    /// `again` every run is made again, and its log written anew.
    #[must_use]
    pub fn keeping(mut self, folder: &Path, again: bool) -> Self {
        self.kept = Some((folder.to_owned(), again));
        self
    }

    /// The course of a run.
    pub(crate) fn run(&self, run: &Run) -> Result<Rc<Course>, Error> {
        let command = run.command();
        if let Some(course) = self.known(run.log, &command)? {
            return Ok(course);
        }
        let data = self.folder(run.log, run.data)?;
        let mut step = |done: u64, planned: u64| (self.watch)(done, planned);
        let course = self.learner.course(data, run.line, &mut step)?;
        self.keep(run.log, &command, course)
    }

    /// The folder of the examples, for a run.
    fn folder(&self, run: &str, pictures: Pictures) -> Result<&'a Path, Error> {
        self.data[pictures as usize].ok_or_else(|| Error::NoData {
            run: run.to_owned(),
            pictures,
        })
    }

    /// The courses of runs that are not of `shuffledp train`, each of a log and of what it is called there.
    /// Those without a log are made by `make`, which gets the folder of the examples and their places, and
    /// hands over each as soon as it is made.
    pub(crate) fn others(
        &self,
        runs: &[(String, String)],
        make: impl FnOnce(
            &Path,
            &[usize],
            &mut dyn FnMut(usize, Course) -> Result<(), Error>,
        ) -> Result<(), Error>,
    ) -> Result<Vec<Rc<Course>>, Error> {
        let mut missing = Vec::new();
        for (at, (log, about)) in runs.iter().enumerate() {
            if self.known(log, about)?.is_none() {
                missing.push(at);
            }
        }
        if let Some((log, _)) = missing.first().and_then(|&at| runs.get(at)) {
            let (mut done, many) = (0, missing.len() as u64);
            let mut keep = |at: usize, course: Course| {
                let (log, about) = &runs[at];
                self.keep(log, about, course)?;
                done += 1;
                (self.watch)(done, many);
                Ok(())
            };
            make(self.folder(log, Pictures::Mnist)?, &missing, &mut keep)?;
        }
        let known = runs.iter().map(|(log, about)| {
            let course = self.known(log, about)?;
            course.ok_or_else(|| Error::Run(format!("{log} was not made").into()))
        });
        known.collect()
    }

    /// [`certified`], once for all exhibits that ask the same.
    pub(crate) fn certified(
        &self,
        round: &Round,
        rounds: &[u64],
        delta: f64,
    ) -> Result<Rc<Vec<Bracket>>, Error> {
        let asked = (round.clone(), rounds.to_vec(), delta);
        if let Some((_, prices)) = self.prices.borrow().iter().find(|known| known.0 == asked) {
            return Ok(Rc::clone(prices));
        }
        let prices = Rc::new(certified(round, rounds, delta)?);
        self.prices.borrow_mut().push((asked, Rc::clone(&prices)));
        Ok(prices)
    }

    /// From memory or from the log, if it is of this command and not asked for again.
    fn known(&self, name: &str, command: &str) -> Result<Option<Rc<Course>>, Error> {
        let known = |(known, _): &&Known| known == name;
        if let Some((_, course)) = self.runs.borrow().iter().find(known) {
            return Ok(Some(Rc::clone(course)));
        }
        let log = match &self.kept {
            Some((folder, false)) => Log::read(&log_in(folder, name))?,
            _ => None,
        };
        let log = log.filter(|log| log.command == command);
        Ok(log.map(|log| self.remembered(name, log.course)))
    }

    /// Into the log and into memory.
    fn keep(&self, name: &str, command: &str, course: Course) -> Result<Rc<Course>, Error> {
        let log = Log {
            command: command.to_owned(),
            course,
        };
        if let Some((folder, _)) = &self.kept {
            log.write(&log_in(folder, name))?;
        }
        Ok(self.remembered(name, log.course))
    }

    fn remembered(&self, name: &str, course: Course) -> Rc<Course> {
        let course = Rc::new(course);
        let run = (name.to_owned(), Rc::clone(&course));
        self.runs.borrow_mut().push(run);
        course
    }
}

/// The file of a log.
fn log_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.csv"))
}

/// The commands of runs, as a block of a note.
pub(crate) fn commands(runs: &[&Run]) -> String {
    let lines: Vec<String> = runs.iter().map(|run| run.command()).collect();
    format!("```sh\n{}\n```", lines.join("\n"))
}

/// The round that a course was charged for.
pub(crate) fn charged(course: &Course) -> Result<Round, Error> {
    let round = course.round.clone();
    round.ok_or(Error::Unprotected)
}

/// The certified bracket of ε of so many rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bracket {
    rounds: u64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// The certified bracket of ε of so many rounds of a kind, for each of several numbers of them, on all cores.
pub(crate) fn certified(round: &Round, rounds: &[u64], delta: f64) -> Result<Vec<Bracket>, Error> {
    let one = |&rounds: &u64| {
        let answer = epsilon(round, rounds as f64, delta)?;
        Ok(Bracket {
            rounds,
            lower: answer.lower().value(),
            upper: answer.upper().value(),
        })
    };
    rounds.par_iter().map(one).collect()
}

/// The bracket of so many rounds in such a list.
pub(crate) fn listed(prices: &[Bracket], rounds: u64) -> Option<Bracket> {
    let price = prices.iter().find(|price| price.rounds == rounds);
    price.copied()
}

/// The looks after these rounds.
pub(crate) fn looks_after(course: &Course, rounds: &[u64]) -> Vec<(u64, f64)> {
    let looks = course.looks.iter();
    looks
        .filter(|look| rounds.contains(&look.0))
        .copied()
        .collect()
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
    /// One standard deviation of accuracy for each look, where it is a mean of several runs.
    deviations: Vec<f64>,
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
            deviations: Vec::new(),
        }
    }

    /// The same with bars: the deviation after a round, for each look.
    pub(crate) fn with_deviations(mut self, deviation: impl Fn(u64) -> f64) -> Self {
        self.deviations = self
            .looks
            .iter()
            .map(|look| deviation(look.round))
            .collect();
        self
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
        let valued = |value: &dyn Fn(usize) -> Option<f64>| -> Vec<Option<f64>> {
            let values = rows.iter().map(|&(epsilon, round)| {
                let here = |look: &Seen| look.epsilon == epsilon && Some(look.round) == round;
                value(line.looks.iter().position(here)?)
            });
            values.collect()
        };
        let accuracy = |at: usize| Some(line.looks[at].accuracy);
        let name = match line.standing {
            Some(standing) => format!("{} ({standing})", line.name),
            None => line.name.clone(),
        };
        let look = match line.deviations.is_empty() {
            true => Look::Path,
            false => Look::Marks,
        };
        all.push(series(&name, look, valued(&accuracy)));
        // Bars stand right behind their marks.
        for (side, sign) in [(Side::Upper, 1.0), (Side::Lower, -1.0)] {
            if look == Look::Marks {
                let end = |at: usize| Some(accuracy(at)? + sign * line.deviations.get(at)?);
                all.push(Series {
                    side,
                    ..series("one deviation of it", Look::Whisker, valued(&end))
                });
            }
        }
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

/// Accuracy of several runs that differ in their seeds: mean and deviation, after the rounds at which all of
/// them were looked at.
#[derive(Clone, Debug)]
pub(crate) struct Several {
    runs: usize,
    rows: Vec<(u64, (f64, f64))>,
}

impl Several {
    pub(crate) fn of(courses: &[Rc<Course>]) -> Self {
        let after = |course: &Course, round: u64| {
            let look = course.looks.iter().find(|look| look.0 == round);
            look.map(|look| look.1)
        };
        let first = courses.first().map(|course| course.looks.as_slice());
        let rows = first.unwrap_or_default().iter().filter_map(|&(round, _)| {
            let values: Option<Vec<f64>> =
                courses.iter().map(|course| after(course, round)).collect();
            Some((round, spread(&values?)))
        });
        Self {
            runs: courses.len(),
            rows: rows.collect(),
        }
    }

    pub(crate) fn rounds(&self) -> Vec<u64> {
        self.rows.iter().map(|row| row.0).collect()
    }

    /// The means.
    pub(crate) fn looks(&self) -> Vec<(u64, f64)> {
        self.rows
            .iter()
            .map(|&(round, (mean, _))| (round, mean))
            .collect()
    }

    /// Mean and deviation after a round.
    pub(crate) fn after(&self, round: u64) -> Option<(f64, f64)> {
        let row = self.rows.iter().find(|row| row.0 == round);
        row.map(|row| row.1)
    }

    /// The last round, its mean and deviation.
    pub(crate) fn last(&self) -> Option<(u64, (f64, f64))> {
        self.rows.last().copied()
    }

    /// As text: 93.4 % ± 0.4, or 93.4 % of one run; a dash where there is none.
    pub(crate) fn cell(&self, round: u64) -> String {
        let around = |(mean, off): (f64, f64)| match self.runs {
            1 => percent(mean),
            _ => format!("{} ± {:.1}", percent(mean), 100.0 * off),
        };
        self.after(round).map_or("-".to_owned(), around)
    }

    /// A line over ε through the means at these looks, with bars where there are several runs.
    pub(crate) fn line(
        &self,
        name: &str,
        at: impl Fn(u64) -> bool,
        epsilon: impl Fn(u64) -> Option<f64>,
    ) -> Line {
        let looks = self.looks().into_iter().filter(|look| at(look.0));
        let looks: Vec<(u64, f64)> = looks.collect();
        let line = Line::new(name, None, &looks, epsilon);
        match self.runs {
            1 => line,
            _ => line.with_deviations(|round| self.after(round).map_or(0.0, |(_, off)| off)),
        }
    }
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
    use super::{Course, Learner, Line, Pictures, Run, School, over_epsilon, spread};
    use crate::Error;
    use std::cell::Cell;
    use std::path::Path;

    /// Counts its runs; fails at an empty line.
    struct Counting(Cell<usize>);

    impl Learner for Counting {
        fn course(
            &self,
            _: &Path,
            line: &str,
            step: &mut dyn FnMut(u64, u64),
        ) -> Result<Course, Error> {
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
        let school = School::new(Some(Path::new("")), &learner, &watch);
        let run = |name| {
            school.run(&Run {
                log: name,
                line: name,
                data: Pictures::Mnist,
            })
        };
        for name in ["one", "two", "one"] {
            assert_eq!(run(name).unwrap().looks, [(2, 0.5)]);
        }
        assert_eq!((learner.0.get(), seen.get()), (2, (1, 2)));
        let error = run("").unwrap_err();
        assert_eq!(error.to_string(), "nothing to do");
    }

    /// A run that is logged is not made again, unless it is asked for or its command is another one; without
    /// data only what is logged is known.
    #[test]
    fn a_log_stands_for_its_run() {
        let folder = std::env::temp_dir().join(format!("shuffledp-runs-{}", std::process::id()));
        let runs = |data: Option<&Path>, again: bool, line: &'static str| {
            let learner = Counting(Cell::new(0));
            let school = School::new(data, &learner, &|_, _| ()).keeping(&folder, again);
            let log = "paper/runs/one";
            let looks = school
                .run(&Run {
                    log,
                    line,
                    data: Pictures::Mnist,
                })
                .map(|course| course.looks.clone());
            (learner.0.get(), looks.map_err(|error| error.to_string()))
        };
        let (data, looks) = (Some(Path::new("")), Ok(vec![(2, 0.5)]));
        let missing = runs(None, false, "one").1.unwrap_err();
        assert!(missing.contains("paper/runs/one"), "{missing}");
        assert_eq!(runs(data, false, "one"), (1, looks.clone()));
        assert_eq!(runs(data, false, "one"), (0, looks.clone()));
        assert_eq!(runs(None, false, "one"), (0, looks.clone()));
        assert_eq!(runs(data, true, "one"), (1, looks.clone()));
        assert_eq!(runs(data, false, "other"), (1, looks));
        assert!(runs(None, false, "one").1.is_err());
        std::fs::write(folder.join("paper/runs/one.csv"), "# half").unwrap();
        let broken = runs(data, false, "one").1.unwrap_err();
        assert!(broken.contains("one.csv"), "{broken}");
        std::fs::remove_dir_all(folder).unwrap();
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
