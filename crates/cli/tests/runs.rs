//! The logs of runs under `papers/` are of commands that train as they say: a shortened run of the same
//! command has the first rows of the log.
//!
//! MNIST is read from the folder that `SHUFFLEDP_MNIST` names, CIFAR-10 from that of `SHUFFLEDP_CIFAR10`.
//! Without the former the mechanism is tried on the demonstration's data: a shortened run has the first rows
//! of a longer one.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// How far accuracy on 10,000 test examples may be from the log's after a short run. Matrix products use what
/// the processor has, and hyperbolic tangents are the C library's, so the last bits of a gradient differ
/// between machines; on one machine the rows are the same.
const TOLERANCE: f64 = 0.005;

/// Runs that are made anew, and the rounds of each: its first look or two, as many gradients as take a few
/// seconds. The schedule of the others depends on how many rounds are planned.
const SHORTENED: [(&str, u64); 4] = [
    ("shuffle-gaussian/runs/figure-1b", 20),
    ("shuffled-check-in/runs/check-in", 1000),
    ("shuffled-check-in/runs/sample", 1000),
    ("subsampled-shuffle-rdp/runs/r-inf-seed-1", 24),
];

/// The same on CIFAR-10.
const SHORTENED_CIFAR10: [(&str, u64); 1] = [("shuffled-check-in/runs/cifar10", 2000)];

fn logs() -> Vec<PathBuf> {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let mut all = Vec::new();
    for paper in std::fs::read_dir(papers).unwrap() {
        if let Ok(files) = std::fs::read_dir(paper.unwrap().path().join("runs")) {
            all.extend(files.map(|file| file.unwrap().path()));
        }
    }
    all
}

/// The command of a log behind `shuffledp train --data DIR`, and its rows; nothing for another command.
fn read(path: &Path) -> (String, Vec<(u64, f64)>) {
    let text = std::fs::read_to_string(path).unwrap();
    let command = text.lines().next().unwrap().strip_prefix("# ").unwrap();
    let line = command.strip_prefix("shuffledp train --data ");
    let line = line
        .and_then(|line| line.split_once(' '))
        .map(|line| line.1);
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let rows = rows.map(|row| {
        let (round, accuracy) = row.split_once(',').unwrap();
        (round.parse().unwrap(), accuracy.parse().unwrap())
    });
    (line.unwrap_or_default().to_owned(), rows.collect())
}

/// The value of a flag.
fn value<'a>(line: &'a str, flag: &str) -> Option<&'a str> {
    let mut words = line.split_whitespace().skip_while(|word| *word != flag);
    words.nth(1)
}

/// The looks of a command, with another number of rounds.
fn looks(data: &[&str], line: &str, rounds: u64) -> Vec<(u64, f64)> {
    let planned = value(line, "--rounds").unwrap();
    let line = line.replace(
        &format!("--rounds {planned}"),
        &format!("--rounds {rounds}"),
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_shuffledp"));
    command
        .arg("train")
        .args(data)
        .args(line.split_whitespace());
    let output = command.args(["--format", "csv"]).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().skip(1).filter_map(|row| {
        let mut cells = row.split(',');
        let round = cells.next()?.parse().ok()?;
        Some((round, cells.nth(2)?.parse().ok()?))
    });
    rows.collect()
}

#[test]
fn a_shortened_run_has_the_first_rows_of_its_log() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let Ok(mnist) = std::env::var("SHUFFLEDP_MNIST") else {
        println!(
            "SKIPPED: SHUFFLEDP_MNIST is not set, so NO RUN ON MNIST is compared with its log; the \
             demonstration's data is used for the mechanism alone"
        );
        let (line, _) = read(&papers.join("subsampled-shuffle-rdp/runs/r-inf-seed-1.csv"));
        let line = line
            .replace("--every 24", "--every 1")
            .replace("--steps 421=0.18", "--steps 2=0.18");
        let line = line.replace("--sample 10000", "--sample 500");
        let (short, long) = (looks(&["--demo"], &line, 2), looks(&["--demo"], &line, 4));
        assert_eq!((short.len(), long.len()), (2, 4));
        assert_eq!(short, long[..2]);
        return;
    };
    compared(&mnist, &SHORTENED);
}

#[test]
fn a_shortened_run_on_cifar10_has_the_first_rows_of_its_log() {
    match std::env::var("SHUFFLEDP_CIFAR10") {
        Ok(cifar10) => compared(&cifar10, &SHORTENED_CIFAR10),
        Err(_) => println!(
            "SKIPPED: SHUFFLEDP_CIFAR10 is not set, so NO RUN ON CIFAR-10 is compared with its log"
        ),
    }
}

/// Shortened runs on the data of a folder have the first rows of their logs.
fn compared(data: &str, shortened: &[(&str, u64)]) {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    for &(name, rounds) in shortened {
        let (line, rows) = read(&papers.join(format!("{name}.csv")));
        let made = looks(&["--data", data], &line, rounds);
        assert!(!made.is_empty(), "{name}");
        for (made, kept) in made.iter().zip(&rows) {
            assert_eq!(made.0, kept.0, "{name}");
            let apart = (made.1 - kept.1).abs();
            assert!(apart <= TOLERANCE, "{name}: {made:?} is not {kept:?}");
        }
    }
}

/// A log has every look of its command: the last one after the last round, and one after each `--every`.
#[test]
fn a_log_is_whole() {
    let logs = logs();
    assert!(logs.len() > 10);
    for path in logs {
        let (line, rows) = read(&path);
        let name = path.display();
        assert!(rows.is_sorted_by(|a, b| a.0 < b.0), "{name}");
        let number = |flag| value(&line, flag).map(|text| text.parse::<u64>().unwrap());
        if let (Some(rounds), Some(every)) = (number("--rounds"), number("--every")) {
            assert_eq!(rows.last().unwrap().0, rounds, "{name}");
            assert_eq!(rows.len() as u64, rounds.div_ceil(every), "{name}");
        }
    }
}
