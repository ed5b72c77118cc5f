//! The notes under `papers/` say what their templates say, also those of exhibits that take long to make; and
//! the index is the one that is made.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_papers::{exhibits, index};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a template between its placeholders, with its lines joined.
fn pieces(template: &str) -> Vec<String> {
    let paragraphs: Vec<String> = template
        .trim()
        .split("\n\n")
        .map(|paragraph| paragraph.lines().collect::<Vec<_>>().join(" "))
        .collect();
    paragraphs
        .join("\n\n")
        .split('{')
        .enumerate()
        .map(|(index, part)| match part.split_once('}') {
            Some((_, after)) if index > 0 => after.to_owned(),
            _ => part.to_owned(),
        })
        .collect()
}

/// The templates that an exhibit is made of.
fn templates(id: &str) -> Vec<&'static str> {
    match id {
        "enhanced-rdp/figure-2" | "enhanced-rdp/figure-3" => vec!["enhanced_rdp/figure"],
        "shuffled-check-in/figure-2" => vec![
            "shuffled_check_in/figure_2",
            "shuffled_check_in/settings",
            "shuffled_check_in/refuted",
        ],
        "shuffled-check-in/figure-6a" => vec![
            "shuffled_check_in/figure_6a",
            "shuffled_check_in/settings",
            "shuffled_check_in/refuted",
        ],
        "subsampled-shuffle-rdp/figure-2a" => vec![
            "subsampled_shuffle_rdp/figure_2",
            "subsampled_shuffle_rdp/figure_2a",
            "subsampled_shuffle_rdp/colors",
            "subsampled_shuffle_rdp/red",
        ],
        "subsampled-shuffle-rdp/figure-2b" => vec!["subsampled_shuffle_rdp/figure_2b"],
        "subsampled-shuffle-rdp/figure-2c" => vec!["subsampled_shuffle_rdp/figure_2c"],
        _ => Vec::new(),
    }
}

#[test]
fn every_committed_note_follows_its_template() {
    for exhibit in exhibits() {
        let id = exhibit.id();
        let note = std::fs::read_to_string(root().join(format!("papers/{id}.md"))).unwrap();
        let mut names: Vec<String> = templates(id).into_iter().map(str::to_owned).collect();
        if names.is_empty() {
            names.push(id.replace('-', "_"));
        }
        for name in names {
            let path = root().join(format!("crates/papers/src/{name}.md"));
            let template = std::fs::read_to_string(&path).expect(&name);
            let mut rest = note.as_str();
            for piece in pieces(&template) {
                let at = rest.find(&piece);
                let at = at.unwrap_or_else(|| panic!("papers/{id}.md lacks: {piece}"));
                rest = &rest[at + piece.len()..];
            }
        }
    }
}

/// Less than the paper has is said before anything else.
#[test]
fn a_note_begins_with_what_was_cut() {
    for id in [
        "shuffle-gaussian/figure-1b",
        "shuffled-check-in/figure-2",
        "shuffled-check-in/figure-4",
        "shuffled-check-in/figure-6a",
        "shuffled-check-in/figure-6b",
        "numerical-accounting/figure-1",
        "numerical-accounting/figure-4",
        "enhanced-rdp/figure-2",
        "enhanced-rdp/figure-3",
        "enhanced-rdp/figure-4",
        "subsampled-shuffle-rdp/figure-3",
    ] {
        let note = std::fs::read_to_string(root().join(format!("papers/{id}.md"))).unwrap();
        let first = note.lines().nth(2).unwrap();
        assert!(first.starts_with("**Cut:** "), "{id}: {first}");
    }
}

#[test]
fn the_index_is_the_one_that_is_made() {
    let kept = std::fs::read_to_string(root().join("papers/README.md")).unwrap();
    assert_eq!(kept, index());
    assert!(kept.contains("Not made: Table 1 (orders of running times)"));
}
