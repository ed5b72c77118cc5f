//! Damaged files: seeds and mutations of CSV and Parquet, read by the command as it is. Each is read, or
//! refused by one sentence on standard error.

#![allow(clippy::expect_used)]

#[path = "../../../fuzz/bodies/mutations.rs"]
mod mutations;

use std::path::Path;
use std::process::Command;

#[test]
fn every_file_is_read_or_refused() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/column");
    let folder = tempfile::tempdir().expect("a folder");
    mutations::run(&seeds, 300, |name, data| {
        let file = folder.path().join(name);
        std::fs::write(&file, data).expect("a file");
        for job in [
            ["histogram", "--column", "city", "--seed", "1"].as_slice(),
            &[
                "mean", "--column", "age", "--range", "0..100", "--seed", "1",
            ],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
                .arg("simulate")
                .args(job)
                .args(["--epsilon0", "2", "--input"])
                .arg(&file)
                .output()
                .expect("the command runs");
            let said = String::from_utf8_lossy(&output.stderr);
            match output.status.code() {
                Some(0) => assert!(!output.stdout.is_empty()),
                Some(2) => assert!(
                    said.starts_with("error: ") && said.lines().count() == 1,
                    "{said}"
                ),
                code => panic!("{job:?} of {name}: {code:?}, {said}"),
            }
        }
    });
}
