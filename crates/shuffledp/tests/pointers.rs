//! The way from the README to the code: every step names the next file, and every file named is there.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// README → ARCHITECTURE.md → the accounting crate's first page → the module that computes the number.
#[test]
fn the_first_number_of_the_readme_is_four_files_away() {
    let readme = text("README.md");
    let number = readme.find("0.0450730").unwrap();
    assert!(readme[number..].contains("ARCHITECTURE.md#from-the-readmes-number-to-its-code"));
    let page = text("ARCHITECTURE.md");
    let (_, section) = page
        .split_once("### From the README's number to its code")
        .unwrap();
    let first = section.find("`crates/accounting/src/lib.rs`").unwrap();
    assert!(section[..first].contains("0.0450730"));
    let module = text("crates/accounting/src/lib.rs");
    assert!(module.contains("**[`profile`] computes each**"));
    assert!(text("crates/accounting/src/profile.rs").contains("fn epsilon_upper("));
}

#[test]
fn every_source_file_that_a_page_names_exists() {
    let mut named = 0;
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        for word in text(page).split('`').filter(|word| {
            word.starts_with("crates/") && !word.contains(['*', ' ']) && !word.contains("/x.")
        }) {
            named += 1;
            assert!(root().join(word).exists(), "{page} names {word}");
        }
    }
    assert!(named > 15, "{named}");
}

/// The folders of the randomizers, as ARCHITECTURE.md lists them.
#[test]
fn every_randomizer_is_on_the_page() {
    let page = text("ARCHITECTURE.md");
    let (_, section) = page.split_once("## randomizers").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let mut folders = vec![root().join("crates/randomizers/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                assert!(section.contains(&format!("`{name}/`")), "{name}/");
                folders.push(path);
            } else if !["mod", "lib"].contains(&&*name) {
                assert!(section.contains(&format!("`{name}`")), "{name}");
            }
        }
    }
}
