//! No number without the change it is about: every command, in every format, names its neighboring relation.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;

const REPLACED: &str = "one user's value is replaced";

/// The output of a command, whatever its exit code.
fn output(line: &str, format: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
        .args(line.split_whitespace())
        .args(["--format", format])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        !text.is_empty(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Every command that prints a privacy parameter.
const COMMANDS: [&str; 12] = [
    "epsilon --epsilon0 1 --users 1000 --delta 1e-6",
    "epsilon --plan plans/two_kinds.toml --delta 1e-6",
    "delta --epsilon0 1 --users 1000 --epsilon 0.1",
    "rdp --epsilon0 1 --users 1000 --orders 2,8",
    "compare --epsilon0 1 --users 1000 --delta 1e-6",
    "calibrate --users 1000 --target-epsilon 0.5 --delta 1e-6 --solve epsilon0",
    "curve --epsilon0 1 --users 1000 --delta 1e-6 --over rounds --from 1 --to 9 --points 2",
    "simulate histogram --input simulate.in/people.csv --column city --epsilon0 1 --seed 1",
    "simulate mean --input simulate.in/people.csv --column age --range 0..120 --epsilon0 1 --seed 1",
    "audit --randomizer rr --epsilon0 1 --users 10 --trials 1000 --seed 1",
    "train --demo --rounds 1 --sample 40 --seed 1",
    "predict --model predict.in/model --data predict.in/trees.csv",
];

#[test]
fn every_answer_names_the_change_that_it_is_about() {
    for line in COMMANDS {
        let text = output(line, "table");
        // Divergences are about two datasets that differ in it.
        let named = text.contains(REPLACED) || text.contains("differ in one user's value");
        assert!(named, "{line}:\n{text}");
        let json: serde_json::Value = serde_json::from_str(&output(line, "json")).unwrap();
        assert_eq!(json["relation"], "replace", "{line}");
        assert_eq!(json["version"], env!("CARGO_PKG_VERSION"), "{line}");
        assert!(json["query"].is_object(), "{line}");
        let csv = output(line, "csv");
        let mut lines = csv.lines();
        assert!(
            lines.next().unwrap().ends_with(",relation"),
            "{line}:\n{csv}"
        );
        assert!(lines.all(|row| row.ends_with(",replace")), "{line}:\n{csv}");
    }
}

/// Random allocation is about adding a record, by flags as from a file, and central training about an empty
/// one.
#[test]
fn other_relations_are_named_as_what_they_are() {
    for (line, name, words) in [
        (
            "epsilon --randomizer random-allocation --sigma 1 --users 100 --delta 1e-6",
            "add-or-remove",
            "one record is added or removed",
        ),
        (
            "epsilon --plan plans/random_allocation.toml --delta 1e-6",
            "add-or-remove",
            "one record is added or removed",
        ),
        (
            "rdp --randomizer random-allocation --sigma 1 --users 100 --orders 2",
            "add-or-remove",
            "no two datasets that differ by one record",
        ),
        (
            "train --demo --algorithm central --rounds 1 --seed 1",
            "replace-by-nothing",
            "one record is replaced by an empty one",
        ),
    ] {
        let text = output(line, "table");
        assert!(
            text.contains(words) && !text.contains(REPLACED),
            "{line}:\n{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&output(line, "json")).unwrap();
        assert_eq!(json["relation"], name, "{line}");
    }
}

/// The whole question is in the JSON: asked again from it, it gives the same answer.
#[test]
fn the_query_of_an_answer_is_the_whole_question() {
    for line in &COMMANDS[..2] {
        let json: serde_json::Value = serde_json::from_str(&output(line, "json")).unwrap();
        let specs: Vec<shuffledp::RoundSpec> = match json["query"].get("plan") {
            Some(plan) => serde_json::from_value(plan.clone()).unwrap(),
            None => vec![serde_json::from_value(json["query"].clone()).unwrap()],
        };
        let mut plan: Option<shuffledp::Plan> = None;
        for spec in specs {
            let round = shuffledp::Round::try_from(&spec).unwrap();
            plan = Some(match plan {
                None => shuffledp::Plan::new(round, spec.rounds).unwrap(),
                Some(plan) => plan.then(round, spec.rounds).unwrap(),
            });
        }
        let account = shuffledp::account(plan.unwrap()).unwrap();
        let answer = account.epsilon(json["delta"].as_f64().unwrap()).unwrap();
        assert_eq!(json["epsilon"]["upper"], answer.upper().value(), "{line}");
        assert_eq!(json["epsilon"]["lower"], answer.lower().value(), "{line}");
    }
}

/// A narrow terminal cuts no word in two, and a picture that cannot be written loses no number.
#[test]
fn narrow_terminals_and_unwritable_pictures_lose_nothing() {
    let line = "epsilon --epsilon0 1 --users 1000 --delta 1e-6";
    let wide = output(line, "table");
    let narrow = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
        .args(line.split_whitespace())
        .env("COLUMNS", "60")
        .output()
        .unwrap();
    let narrow = String::from_utf8(narrow.stdout).unwrap();
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 60),
        "{narrow}"
    );
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let sentences = |text: &str| {
        words(text)
            .into_iter()
            .filter(|word| !word.starts_with('─'))
    };
    assert_eq!(
        sentences(&narrow).collect::<Vec<_>>(),
        sentences(&wide).collect::<Vec<_>>()
    );
    let curve =
        "curve --epsilon0 1 --users 1000 --delta 1e-6 --over rounds --from 1 --to 9 --points 2";
    let failed = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
        .args(curve.split_whitespace())
        .args(["--plot", "/no/such/folder/picture.svg"])
        .output()
        .unwrap();
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(failed.stdout).unwrap(),
        output(curve, "table")
    );
    assert!(
        String::from_utf8(failed.stderr)
            .unwrap()
            .contains("cannot be written")
    );
}
