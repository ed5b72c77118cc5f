//! `shuffledp reproduce`: the tables and figures of the five papers, ours beside theirs, and a few of our own.
//!
//! An exhibit is made of numbers (CSV), a picture (SVG) and a note (Markdown): the settings, what the paper prints where it prints anything, what the same formula gives here, and what is right today.

mod enhanced_rdp;
mod learning;
mod numerical_accounting;
mod ours;
mod shuffle_gaussian;
mod shuffled_check_in;
mod subsampled_shuffle_rdp;

use crate::failure::Failure;
use crate::plot::{Kind, Picture};
use crate::progress::Progress;
use crate::series::{Look, Series, Sheet};
use clap::Args;
use learning::School;
use rayon::prelude::*;
use shuffledp::atoms::Atoms;
use shuffledp::bounds::Unmet;
use shuffledp::profile::Profile;
use shuffledp::rdp::RdpCurve;
use shuffledp::rounded_to;
use shuffledp::{
    Account, Answer, Delta, Domain, Epsilon, Error, LocalEpsilon, Mechanism, Plan, Round, Side,
    Standing, account,
};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct ReproduceArguments {
    /// An exhibit by its name, a paper for all of its exhibits, or 'all'
    #[arg(value_name = "ID", required_unless_present = "list")]
    id: Option<String>,
    /// Lists the names
    #[arg(long, conflicts_with_all = ["id", "out"])]
    list: bool,
    /// The folder to write into, one folder in it for each paper
    #[arg(long, value_name = "DIR", default_value = "papers")]
    out: PathBuf,
    /// A folder with MNIST's files, for the exhibits that learn (`scripts/fetch-data mnist DIR` fetches them)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Something that a paper shows.
pub(crate) struct Exhibit {
    /// Paper and item, as in `shuffle-gaussian/table-1`.
    id: &'static str,
    title: &'static str,
    make: Make,
}

/// How an exhibit is made.
#[derive(Clone, Copy)]
pub(crate) enum Make {
    /// By accounting alone.
    Accounted(fn() -> Result<Shown, Failure>),
    /// By learning from MNIST.
    Learnt(fn(&School) -> Result<Shown, Failure>),
}

/// An exhibit, made.
pub(crate) struct Shown {
    sheet: Sheet,
    picture: Picture,
    /// What is run, in a sentence.
    settings: String,
    /// Paragraphs and tables below the picture.
    text: Vec<String>,
}

/// What exhibits that learn need, and where it comes from.
const MNIST: &str = "a folder with MNIST's files (`scripts/fetch-data mnist DIR` fetches them)";

/// The papers, and what each claims; ours last.
const PAPERS: [(&str, &str); 6] = [
    (
        "shuffle-gaussian",
        "*Shuffle Gaussian mechanism for differential privacy*: the Renyi divergence of shuffled Gaussian noise, as a sum over partitions",
    ),
    (
        "shuffled-check-in",
        "*Shuffled check-in: privacy amplification towards practical distributed learning*: users take part by their own coin",
    ),
    (
        "numerical-accounting",
        "*Numerical accounting in the shuffle model of differential privacy*: privacy-loss distributions of the clones, and of k-ary randomized response",
    ),
    (
        "enhanced-rdp",
        "*Renyi differential privacy in the shuffle model: enhanced amplification bounds*: Renyi divergences by way of the clones",
    ),
    (
        "subsampled-shuffle-rdp",
        "*Renyi differential privacy of the subsampled shuffle model in distributed learning*: Renyi divergences of a shuffled sample",
    ),
    ("ours", "What this project adds"),
];

/// All exhibits, in the order of the papers.
fn exhibits() -> Vec<Exhibit> {
    let mut all = Vec::new();
    all.extend(shuffle_gaussian::EXHIBITS);
    all.extend(shuffled_check_in::EXHIBITS);
    all.extend(numerical_accounting::EXHIBITS);
    all.extend(enhanced_rdp::EXHIBITS);
    all.extend(subsampled_shuffle_rdp::EXHIBITS);
    all.extend(ours::EXHIBITS);
    all
}

impl ReproduceArguments {
    /// Makes what was asked for, and says what was written.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let all = exhibits();
        let Some(id) = &self.id else {
            let lines: Vec<String> = all
                .iter()
                .map(|exhibit| format!("{:39} {}\n", exhibit.id, exhibit.title))
                .collect();
            return Ok(lines.concat());
        };
        let everything = id == "all";
        let asked: Vec<&Exhibit> = all
            .iter()
            .filter(|exhibit| everything || exhibit.id == id || exhibit.paper() == id)
            .collect();
        if asked.is_empty() {
            let allowed = "an exhibit or a paper: `shuffledp reproduce --list` names them";
            return Err(Failure::value("ID", id, allowed));
        }
        let progress = Progress::of(asked.len() as u64, "exhibits");
        let school = self.data.as_ref().map(|data| School::new(data, &progress));
        let (mut lines, mut left_out) = (String::new(), Vec::new());
        for exhibit in asked {
            progress.say(exhibit.id);
            let shown = match (exhibit.make, &school) {
                (Make::Accounted(make), _) => make()?,
                (Make::Learnt(make), Some(school)) => make(school)?,
                (Make::Learnt(_), None) if exhibit.id == id => {
                    let message = format!("--data, {MNIST}, is needed for {id}");
                    return Err(Failure::flag("--data", message));
                }
                (Make::Learnt(_), None) => {
                    left_out.push(exhibit.id);
                    progress.step();
                    continue;
                }
            };
            for path in exhibit.write(&shown, &self.out)? {
                lines += &format!("{}\n", path.display());
            }
            progress.step();
        }
        if everything {
            let path = self.out.join("README.md");
            write(&path, index(&all).as_bytes())?;
            lines += &format!("{}\n", path.display());
        }
        if !left_out.is_empty() {
            let ids = left_out.join(", ");
            lines += &format!("Left out without --data, {MNIST}: {ids}\n");
        }
        Ok(lines)
    }
}

impl Exhibit {
    fn paper(&self) -> &'static str {
        self.id.split('/').next().unwrap_or_default()
    }

    fn item(&self) -> &'static str {
        self.id.split('/').next_back().unwrap_or_default()
    }

    /// Three files.
    fn write(&self, shown: &Shown, out: &Path) -> Result<Vec<PathBuf>, Failure> {
        let folder = out.join(self.paper());
        std::fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
        let item = self.item();
        let mut paths = Vec::new();
        for (ending, bytes) in [
            ("csv", shown.sheet.csv().into_bytes()),
            ("svg", shown.picture.draw(&shown.sheet, Kind::Svg)?),
            ("md", self.note(shown).into_bytes()),
        ] {
            let path = folder.join(format!("{item}.{ending}"));
            write(&path, &bytes)?;
            paths.push(path);
        }
        Ok(paths)
    }

    fn note(&self, shown: &Shown) -> String {
        let (id, item) = (self.id, self.item());
        let data = match self.make {
            Make::Accounted(_) => "",
            Make::Learnt(_) => " --data MNIST",
        };
        format!(
            "# {}: {}\n\n{}\n\n![{}]({item}.svg)\n\n{}\n\nNumbers: [{item}.csv]({item}.csv). Made by `shuffledp reproduce {id}{data}`.\n",
            heading(self),
            self.title,
            shown.settings,
            shown.picture.title,
            shown.text.join("\n\n"),
        )
    }
}

/// shuffle-gaussian, Table 1; subsampled-shuffle-rdp, Figure 3 (epsilon).
fn heading(exhibit: &Exhibit) -> String {
    let kind = match exhibit.item().split_once('-') {
        Some(("table", number)) => ("Table", number),
        Some(("figure", number)) => ("Figure", number),
        _ => return exhibit.paper().to_owned(),
    };
    let number = match kind.1.split_once('-') {
        Some((number, part)) => format!("{number} ({part})"),
        None => kind.1.to_owned(),
    };
    format!("{}, {} {number}", exhibit.paper(), kind.0)
}

/// The page that lists all of them.
fn index(all: &[Exhibit]) -> String {
    let mut page = "# The papers, reproduced\n\nThe tables and figures of the five papers that this project started from, made anew by `shuffledp reproduce all --data MNIST` (without `--data`, those that are about accounting alone): each with its numbers (CSV), a picture (SVG) and a note on what the paper prints, what the same formula gives here, and what is right today. What the papers got wrong, with evidence: [errata](../docs/errata.md).\n".to_owned();
    for (paper, claim) in PAPERS {
        page += &format!("\n## {paper}\n\n{claim}.\n\n| | |\n|---|---|\n");
        for exhibit in all.iter().filter(|exhibit| exhibit.paper() == paper) {
            let item = exhibit.item();
            page += &format!(
                "| <img src=\"{paper}/{item}.svg\" width=\"360\" alt=\"{item}\"> | [{}]({paper}/{item}.md): {} |\n",
                heading(exhibit),
                exhibit.title
            );
        }
    }
    page
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let name = path.display();
    Failure::flag("--out", format!("--out: {name} cannot be written: {error}"))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|error| unwritable(path, &error))
}

/// A table in Markdown.
fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    let mut lines = vec![line(&header), "|---".repeat(header.len()) + "|"];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

/// Four significant digits.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor() as i32;
    if (-4..5).contains(&exponent) {
        format!("{value:.*}", (3 - exponent).max(0) as usize)
    } else {
        format!("{value:.3e}")
    }
}

/// A bracket to four digits, rounded outwards.
fn between(lower: f64, upper: f64) -> String {
    let (low, high) = (
        rounded_to(4, lower, Side::Lower),
        rounded_to(4, upper, Side::Upper),
    );
    format!("[{low}, {high}]")
}

/// Values equally spaced, or in their logarithm.
fn linear(from: f64, to: f64, points: usize) -> Vec<f64> {
    let step = (to - from) / (points - 1) as f64;
    (0..points).map(|i| clean(from + step * i as f64)).collect()
}

fn logarithmic(from: f64, to: f64, points: usize) -> Vec<f64> {
    let ratio = (to / from).ln() / (points - 1) as f64;
    (0..points)
        .map(|i| clean(from * (ratio * i as f64).exp()))
        .collect()
}

/// Whole numbers, equally spaced in their logarithm.
fn whole(from: u64, to: u64, points: usize) -> Vec<f64> {
    let mut all: Vec<f64> = logarithmic(from as f64, to as f64, points)
        .into_iter()
        .map(f64::round)
        .collect();
    all.dedup();
    all
}

fn clean(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Both ends of a bracket at every value, on all cores.
fn band<T: Copy + Send>(
    name: &str,
    band: usize,
    at: &[f64],
    answer: impl Fn(f64) -> Result<Answer<T>, Error> + Sync,
    value: fn(T) -> f64,
) -> Result<[Series; 2], Failure> {
    let answers: Result<Vec<Answer<T>>, Error> = at.par_iter().map(|&x| answer(x)).collect();
    let answers = answers?;
    let end = |side: Side| Series {
        name: name.to_owned(),
        side,
        standing: answers.first().map(|answer| answer.upper().standing()),
        look: Look::Band(band),
        values: answers
            .iter()
            .map(|answer| {
                Some(value(match side {
                    Side::Upper => answer.upper().get(),
                    Side::Lower => answer.lower().get(),
                }))
            })
            .collect(),
    };
    Ok([end(Side::Upper), end(Side::Lower)])
}

/// A line; nothing where a condition is not met.
fn line(
    name: &str,
    standing: Standing,
    at: &[f64],
    value: impl Fn(f64) -> Result<f64, Unmet> + Sync,
) -> Series {
    Series {
        name: name.to_owned(),
        side: Side::Upper,
        standing: Some(standing),
        look: Look::Line,
        values: at
            .par_iter()
            .map(|&x| value(x).ok().filter(|value| value.is_finite()))
            .collect(),
    }
}

/// The same, from below.
fn lower(mut series: Series) -> Series {
    series.side = Side::Lower;
    series
}

/// What a paper prints.
fn printed(name: &str, values: &[f64]) -> Series {
    Series {
        name: name.to_owned(),
        side: Side::Upper,
        standing: None,
        look: Look::Marks,
        values: values.iter().copied().map(Some).collect(),
    }
}

/// ε of a Rényi curve over so many rounds.
fn converted(curve: &RdpCurve, rounds: f64, delta: f64) -> Result<f64, Unmet> {
    let best = curve.clone().times(rounds as u64).epsilon(delta);
    best.map(|best| best.value)
        .map_err(|error| Unmet(error.to_string()))
}

/// The certified account of rounds of one kind.
fn priced(round: &Round, rounds: f64) -> Result<Account, Error> {
    account(&Plan::new(round.clone(), rounds as u64)?)
}

/// ε of rounds of one kind.
fn epsilon(round: &Round, rounds: f64, delta: f64) -> Result<Answer<Epsilon>, Error> {
    priced(round, rounds)?.epsilon(Delta::new(delta)?)
}

/// The band of ε over rounds of one kind.
fn over_rounds(round: &Round, at: &[f64], delta: f64) -> Result<Vec<Series>, Failure> {
    let one = |rounds: f64| epsilon(round, rounds, delta);
    Ok(band("shuffledp", 0, at, one, Epsilon::value)?.to_vec())
}

/// The upper end of δ over ε, as a line.
fn upper_delta(name: &str, account: &Account, at: &[f64]) -> Series {
    line(name, Standing::Certified, at, |epsilon| {
        let answer = Epsilon::new(epsilon).and_then(|epsilon| account.delta(epsilon));
        answer
            .map(|answer| answer.upper().value())
            .map_err(|error| Unmet(error.to_string()))
    })
}

fn gaussian_on_the_interval(sigma: f64, users: u64) -> Result<Round, Error> {
    Round::new(Mechanism::gaussian(sigma, Domain::Interval)?, users)
}

fn any_ldp(epsilon0: f64, users: u64) -> Result<Round, Error> {
    Round::new(Mechanism::ldp(epsilon0)?, users)
}

/// ε₀ as the theorems take it.
fn local(epsilon0: f64) -> Result<LocalEpsilon, Error> {
    LocalEpsilon::new(epsilon0)
}

/// One round of the clones of Feldman, McMillan and Talwar 2021, exactly.
fn clones_2021(epsilon0: f64, users: u64) -> Result<Profile, Error> {
    Ok(Profile::new(Atoms::ldp_adaptive(local(epsilon0)?)?, users))
}
