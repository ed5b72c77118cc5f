//! What is committed under `papers/` is what the command makes today: numbers, notes and pictures, for
//! everything that takes seconds.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// What is made anew here. Gaussian noise takes a minute, learning takes many, and times are never the same.
const CHEAP: [&str; 13] = [
    "shuffled-check-in/table-2",
    "shuffled-check-in/figure-5",
    "numerical-accounting/figure-1",
    "numerical-accounting/figure-2",
    "numerical-accounting/figure-3",
    "numerical-accounting/figure-4",
    "enhanced-rdp/table-1",
    "enhanced-rdp/figure-2",
    "enhanced-rdp/figure-3",
    "subsampled-shuffle-rdp/figure-2a",
    "subsampled-shuffle-rdp/figure-3-epsilon",
    "ours/gap-of-any-ldp",
    "ours/directions",
];
/// What takes a minute, made anew where all tests are asked for (CONTRIBUTING.md).
const LONG: [&str; 1] = ["ours/gap-closed"];

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers")
}

fn run(words: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_shuffledp"))
        .arg("reproduce")
        .args(words)
        .output()
        .unwrap()
}

/// Numbers and what stands between them.
fn tokens(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut number = false;
    for letter in text.chars() {
        let digit = letter.is_ascii_digit() || letter == '.';
        if digit != number {
            all.push(String::new());
            number = digit;
        }
        all.last_mut().unwrap().push(letter);
    }
    all
}

/// Equal but for the last digits of numbers: other processors round sums in another order.
#[track_caller]
fn same(made: &str, kept: &str, name: &str) {
    let (made, kept) = (tokens(made), tokens(kept));
    assert_eq!(made.len(), kept.len(), "{name}: another shape");
    for (made, kept) in made.iter().zip(&kept) {
        if let (Ok(a), Ok(b)) = (made.parse::<f64>(), kept.parse::<f64>()) {
            let apart = (a - b).abs();
            assert!(
                apart <= 2e-3 * b.abs().max(0.01),
                "{name}: {made} is not {kept}"
            );
        } else {
            assert_eq!(made, kept, "{name}");
        }
    }
}

#[test]
fn what_is_committed_is_what_is_made() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("papers");
    let all = std::env::var("SHUFFLEDP_TESTS").is_ok_and(|word| word == "all");
    for id in CHEAP.iter().chain(LONG.iter().filter(|_| all)) {
        let output = run(&[id, "--out", out.to_str().unwrap()]);
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "a bar where there is no terminal");
        for ending in ["csv", "svg", "md"] {
            let name = format!("{id}.{ending}");
            let made = std::fs::read_to_string(out.join(&name)).unwrap();
            let kept = std::fs::read_to_string(committed().join(&name)).unwrap();
            same(&made, &kept, &name);
        }
    }
}

/// An exhibit that learns is made of the logs of its runs, without data.
#[test]
fn what_was_learnt_is_made_from_logs() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("papers-from-logs");
    for (id, runs) in [
        (
            "subsampled-shuffle-rdp/figure-3",
            "subsampled-shuffle-rdp/runs",
        ),
        ("enhanced-rdp/figure-4", "enhanced-rdp/runs"),
        ("ours/accuracy", "ours/runs"),
    ] {
        std::fs::create_dir_all(out.join(runs)).unwrap();
        for log in std::fs::read_dir(committed().join(runs)).unwrap() {
            let log = log.unwrap();
            std::fs::copy(log.path(), out.join(runs).join(log.file_name())).unwrap();
        }
        let output = run(&[id, "--out", out.to_str().unwrap()]);
        assert!(output.status.success(), "{output:?}");
        for ending in ["csv", "svg", "md"] {
            let name = format!("{id}.{ending}");
            let made = std::fs::read_to_string(out.join(&name)).unwrap();
            let kept = std::fs::read_to_string(committed().join(&name)).unwrap();
            same(&made, &kept, &name);
        }
    }
}

/// The table of accuracies in docs/training.md is the exhibit's, and no run costs more than its budget.
#[test]
fn the_page_on_training_has_the_table_of_its_exhibit() {
    let note = std::fs::read_to_string(committed().join("ours/accuracy.md")).unwrap();
    let page = std::fs::read_to_string(committed().join("../docs/training.md")).unwrap();
    let rows: Vec<&str> = note
        .lines()
        .skip_while(|line| !line.starts_with("| ε |"))
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert_eq!(rows.len(), 7);
    assert!(page.contains(&rows.join("\n")));
    // On CIFAR-10.
    let cifar10 =
        std::fs::read_to_string(committed().join("shuffled-check-in/figure-6b.md")).unwrap();
    let budgets: Vec<&str> = cifar10
        .lines()
        .skip_while(|line| !line.starts_with("| ε |"))
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert_eq!(budgets.len(), 4);
    assert!(page.contains(&budgets.join("\n")));
    for row in &rows[2..] {
        let mut cells = row
            .split('|')
            .skip(1)
            .map(|cell| cell.trim().parse::<f64>());
        let (budget, price) = (cells.next().unwrap(), cells.next().unwrap());
        assert!(price.unwrap() <= budget.unwrap(), "{row}");
    }
}

/// The table of docs/directions.md is the exhibit's, which the test above makes anew.
#[test]
fn the_page_on_directions_has_the_table_of_its_exhibit() {
    let note = std::fs::read_to_string(committed().join("ours/directions.md")).unwrap();
    let page = std::fs::read_to_string(committed().join("../docs/directions.md")).unwrap();
    let table = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with('|'));
        lines.map(str::to_owned).collect()
    };
    let rows = table(&note);
    assert_eq!(rows.len(), 20);
    assert!(table(&page).windows(rows.len()).any(|part| part == rows));
}

/// A paper without data: what learns is left out by name, the rest is made.
#[test]
fn exhibits_that_learn_are_left_out_without_data() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("papers-without-data");
    let output = run(&["enhanced-rdp", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        "Left out without --data, a folder with the files of MNIST (`scripts/fetch-data mnist DIR` fetches \
         them): enhanced-rdp/figure-4"
    );
    assert!(out.join("enhanced-rdp/figure-3.md").exists());
    assert!(!out.join("enhanced-rdp/figure-4.md").exists());
}

/// Every `shuffledp ... --plot FILE` of a page, run as it stands, in the folder that its paths are from, but
/// into another file.
#[test]
fn the_pictures_of_the_guide_are_drawn_by_the_commands_under_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pictures = 0;
    for (page, folder) in [
        ("README.md", "."),
        ("docs/getting-started.md", "."),
        ("docs/shuffle-model.md", "."),
        ("docs/choosing.md", "."),
        ("docs/collecting.md", "docs/collecting.in"),
    ] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        for line in text.lines() {
            let Some((words, kept)) = line
                .strip_prefix("shuffledp ")
                .and_then(|words| words.split_once(" --plot "))
            else {
                continue;
            };
            let name = kept.rsplit('/').next().unwrap();
            assert!(
                text.contains(&format!("pictures/{name})")),
                "{page} shows {kept}"
            );
            let made = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{pictures}.svg"));
            // What stands between quotes is one word.
            let words = words.split('"').enumerate().flat_map(|(part, text)| {
                if part % 2 == 1 {
                    vec![text]
                } else {
                    text.split_whitespace().collect()
                }
            });
            let output = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
                .current_dir(root.join(folder))
                .args(words)
                .arg("--plot")
                .arg(&made)
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            let made = std::fs::read_to_string(made).unwrap();
            same(
                &made,
                &std::fs::read_to_string(root.join(folder).join(kept)).unwrap(),
                kept,
            );
            pictures += 1;
        }
    }
    assert_eq!(pictures, 7);
}

#[test]
fn every_exhibit_is_committed_and_in_the_index() {
    let list = String::from_utf8(run(&["--list"]).stdout).unwrap();
    let index = std::fs::read_to_string(committed().join("README.md")).unwrap();
    let mut ids = 0;
    for line in list.lines() {
        let id = line.split_whitespace().next().unwrap();
        ids += 1;
        assert!(
            index.contains(&format!("({id}.md)")),
            "{id} is not in the index"
        );
        for ending in ["csv", "svg", "md"] {
            let path = committed().join(format!("{id}.{ending}"));
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("NaN"), "{}", path.display());
        }
    }
    assert!(ids >= 25);
    for id in CHEAP.iter().chain(&LONG) {
        assert!(list.contains(id));
    }
}
