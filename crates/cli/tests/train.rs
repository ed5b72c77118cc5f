//! Training as a user runs it: killed at any moment and gone on with, it ends where a run that nobody touched
//! ends.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

fn shuffledp(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shuffledp"));
    command.arg("train").args(words);
    command
}

/// A run that ends well, into a folder.
fn runs(words: &str, out: &Path) {
    let words: Vec<&str> = words
        .split(' ')
        .chain(["--out", out.to_str().unwrap()])
        .collect();
    assert!(
        shuffledp(&words)
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

/// Enough rounds for several checkpoints.
const RUN: &str = "--demo --sample 2000 --rounds 150 --every 10 --epsilon0 2 --fast";

/// Killed with SIGKILL after pauses of all lengths, every other time counted from the next checkpoint, then
/// left alone. It was interrupted after a checkpoint at least once.
fn run_with_kills(out: &Path, more: &[&str], pauses: &[u64]) {
    let path = out.to_str().unwrap();
    let first: Vec<&str> = RUN
        .split(' ')
        .chain(["--out", path])
        .chain(more.iter().copied())
        .collect();
    let next = || match out.join("record.json").exists() {
        true => shuffledp(&["--resume", path]),
        false => shuffledp(&first),
    };
    let saved = || fs::read(out.join("checkpoint.json")).unwrap_or_default();
    let mut interrupted = 0;
    for (at, pause) in pauses.iter().enumerate() {
        let before = saved();
        let mut child = next().stdout(Stdio::null()).spawn().unwrap();
        while at % 2 == 1 && saved() == before && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(*pause));
        // SIGKILL: nothing is written on the way out.
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        interrupted += usize::from(!saved().is_empty());
    }
    assert!(interrupted > 0, "over before it could be interrupted");
    assert!(next().stdout(Stdio::null()).status().unwrap().success());
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn a_run_that_is_killed_ends_where_one_that_is_not_does() {
    let (whole, killed) = (folder("whole"), folder("killed"));
    let seed = ["--seed", "3"];
    let words: Vec<&str> = RUN
        .split(' ')
        .chain(["--out", whole.to_str().unwrap()])
        .chain(seed)
        .collect();
    assert!(
        shuffledp(&words)
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
    // By a linear congruence.
    let mut state = 12345u64;
    let pauses: Vec<u64> = (0..8)
        .map(|at| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % (200 + 50 * at)
        })
        .collect();
    run_with_kills(&killed, &seed, &pauses);
    // Parameters, optimizer and ledger; every round once; what came out.
    assert_eq!(
        read(&killed, "checkpoint.json"),
        read(&whole, "checkpoint.json")
    );
    assert_eq!(read(&killed, "rounds.csv"), read(&whole, "rounds.csv"));
    assert_eq!(record(&killed)["result"], record(&whole)["result"]);
    assert_eq!(record(&whole)["result"]["rounds"], 150);
    assert_eq!(read(&killed, "accuracy.svg"), read(&whole, "accuracy.svg"));
    assert_eq!(read(&whole, "rounds.csv").lines().count(), 151);
}

/// Without a seed too: the key is in the folder, so a round that is run again draws the same reports and is
/// charged once.
#[test]
fn secret_randomness_is_gone_on_with() {
    let killed = folder("secret");
    run_with_kills(&killed, &[], &[300, 200, 100, 50]);
    let checkpoint: serde_json::Value =
        serde_json::from_str(&read(&killed, "checkpoint.json")).unwrap();
    assert_eq!(checkpoint["done"], 150);
    let ledger: serde_json::Value =
        serde_json::from_str(checkpoint["ledger"].as_str().unwrap()).unwrap();
    assert_eq!(ledger["rounds"][0]["rounds"], 150);
    let rounds: Vec<String> = read(&killed, "rounds.csv")
        .lines()
        .skip(1)
        .map(str::to_owned)
        .collect();
    for (at, line) in rounds.iter().enumerate() {
        assert!(line.starts_with(&format!("{},2000,0,", at + 1)), "{line}");
    }
    // Whoever has the key can take the noise off: it is gone when nobody needs it any more.
    assert!(!killed.join("key").exists());
    // Two runs without a seed have two keys, and nobody without them can tell the data by its checksum.
    let (one, other) = (folder("one"), folder("other"));
    for out in [&one, &other] {
        runs("--demo --sample 100 --rounds 2", out);
    }
    assert_ne!(record(&one)["checksum"], record(&other)["checksum"]);
}

/// Ctrl-C ends a run at once, and the last words are how to go on and what stays secret.
#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on_and_what_stays_secret() {
    use std::io::{BufRead, BufReader};
    let out = folder("interrupted");
    let path = out.to_str().unwrap();
    let words = |more: &[&str]| {
        let words = RUN.split(' ').map(str::to_owned);
        let words: Vec<String> = words
            .chain(more.iter().map(|&word| word.to_owned()))
            .collect();
        let mut child = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
            .arg("train")
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The table's first line: by then the run is under way.
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = lines
            .map_while(Result::ok)
            .any(|line| line.trim_start().starts_with("10 "));
        assert!(seen);
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(sent.success());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130));
        String::from_utf8(ended.stderr).unwrap()
    };
    let said = words(&["--out", path]);
    assert!(
        said.contains(&format!("shuffledp train --resume {path}")),
        "{said}"
    );
    assert!(
        said.contains(&format!(
            "The file key in {path} stays as secret as the data"
        )),
        "{said}"
    );
    assert!(
        said.contains("The rounds so far have their price"),
        "{said}"
    );
    assert!(out.join("key").exists());
    let resumed = shuffledp(&["--resume", path])
        .stdout(Stdio::null())
        .status();
    assert!(resumed.unwrap().success());
    assert!(!out.join("key").exists());
    // Of a simulation nothing is secret; without a folder nothing is kept.
    let said = words(&["--seed", "1"]);
    assert!(said.contains("Nothing was kept"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

fn record(folder: &Path) -> serde_json::Value {
    serde_json::from_str(&read(folder, "record.json")).unwrap()
}

/// As if the run had been killed before its end was recorded.
fn reopen(folder: &Path) {
    let mut record = record(folder);
    record["result"] = serde_json::Value::Null;
    let text = serde_json::to_string_pretty(&record).unwrap();
    fs::write(folder.join("record.json"), text).unwrap();
}

/// What is not the run that was begun is not gone on with.
#[test]
fn another_run_is_not_gone_on_with() {
    let out = folder("mixed");
    let path = out.to_str().unwrap();
    let words: Vec<&str> = "--demo --sample 100 --rounds 3 --seed 1 --out"
        .split(' ')
        .chain([path])
        .collect();
    let said = |words: &[&str]| {
        let output = shuffledp(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(
        shuffledp(&words)
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
    assert!(
        said(&words).contains("holds a run already"),
        "{}",
        said(&words)
    );
    // A run that is over says so, without its data.
    let over = shuffledp(&["--resume", path]).output().unwrap();
    assert!(
        String::from_utf8(over.stdout)
            .unwrap()
            .starts_with("This run is over: ")
    );
    reopen(&out);
    let checkpoint = read(&out, "checkpoint.json");
    // The ledger of cheaper rounds.
    let cheap = folder("cheap");
    runs(
        "--demo --sample 100 --rounds 3 --seed 1 --epsilon0 0.1",
        &cheap,
    );
    fs::copy(cheap.join("checkpoint.json"), out.join("checkpoint.json")).unwrap();
    assert!(said(&["--resume", path]).contains("of another run"));
    // A ledger that forgot a round.
    fs::write(
        out.join("checkpoint.json"),
        checkpoint.replace("\\\"rounds\\\":3", "\\\"rounds\\\":2"),
    )
    .unwrap();
    assert!(checkpoint != read(&out, "checkpoint.json"));
    assert!(
        said(&["--resume", path]).contains("the ledger has 2 rounds, the parameters have seen 3")
    );
    // Half a file.
    fs::write(
        out.join("checkpoint.json"),
        &checkpoint[..checkpoint.len() / 2],
    )
    .unwrap();
    assert!(said(&["--resume", path]).contains("checkpoint"));
    fs::write(out.join("checkpoint.json"), &checkpoint).unwrap();
    // Other data under the same record.
    let kept = read(&out, "record.json");
    let record = kept.clone();
    let sum = record.find("\"checksum\": \"").unwrap() + 13;
    let digit = if &record[sum..=sum] == "0" { "1" } else { "0" };
    let other = format!("{}{digit}{}", &record[..sum], &record[sum + 1..]);
    fs::write(out.join("record.json"), other).unwrap();
    assert!(said(&["--resume", path]).contains("the data is not what the run began with"));
    fs::write(out.join("record.json"), kept).unwrap();
    assert!(
        shuffledp(&["--resume", path])
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
    assert!(said(&["--resume", "nowhere"]).contains("no run is there"));
}
