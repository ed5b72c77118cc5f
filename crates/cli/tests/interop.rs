//! A client in another language sends to a running shuffler, and reads what it released: byte for byte both
//! ways, by another implementation of HPKE.

#![allow(clippy::unwrap_used)]

mod running;

use running::Shuffler;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reports of the other client, as one byte each: categories of k-ary response.
const REPORTS: [&str; 5] = ["00", "01", "02", "02", "02"];

fn run(program: &str, words: &[&str], folder: &Path) -> String {
    let output = Command::new(program)
        .args(words)
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_client_in_python_sends_and_reads() {
    let python = std::env::var("SHUFFLEDP_PYTHON").ok().filter(|python| {
        let asked = Command::new(python).args(["-c", "import pyhpke"]).status();
        asked.is_ok_and(|status| status.success())
    });
    let Some(python) = python else {
        println!(
            "SKIPPED: SHUFFLEDP_PYTHON names no Python with pyhpke, so NO OTHER CLIENT is tried"
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let shuffledp = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        run(env!("CARGO_BIN_EXE_shuffledp"), &words, folder.path())
    };
    shuffledp("keys analyzer");
    let token: Value = serde_json::from_str(&shuffledp("keys token --format json")).unwrap();
    let task = shuffledp(
        "task new --name commute --randomizer krr --labels bike,bus,car --epsilon0 2 --users 6 \
         --target-epsilon 2 --delta 1e-6 --analyzer-key analyzer.pub --out task.json --format json",
    );
    let task: Value = serde_json::from_str(&task).unwrap();
    running::configure(folder.path(), token["sha256"].as_str().unwrap());
    let mut shuffler = Shuffler::start(folder.path());
    let url = format!("http://{}", shuffler.public);
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/client.py");
    let sent = run(
        &python,
        &[&[client, "send", "task.json", &url][..], &REPORTS].concat(),
        folder.path(),
    );
    assert_eq!(sent.lines().collect::<Vec<_>>(), ["202"; REPORTS.len()]);
    let ours = format!("report --task task.json --to {url} --value bus --ledger ledger.json");
    shuffledp(&ours);
    shuffler.close_window(task["id"].as_str().unwrap());
    let fetch = format!("analyzer fetch --task task.json --from {url} --token token");
    shuffledp(&fetch);
    let words = [
        client,
        "read",
        "task.json",
        "analyzer.key",
        "window-0.batch",
    ];
    let read = run(&python, &words, folder.path());
    let mut read: Vec<&str> = read.lines().collect();
    read.sort_unstable();
    // All of theirs, and one of ours, whatever its coin said.
    for report in ["00", "01", "02"] {
        let count = |reports: &[&str]| reports.iter().filter(|other| **other == report).count();
        assert!(count(&read) >= count(&REPORTS), "{report}: {read:?}");
    }
    assert_eq!(read.len(), REPORTS.len() + 1);
    let _ = shuffler.child.kill();
}
