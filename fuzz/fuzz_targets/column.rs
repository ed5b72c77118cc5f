#![no_main]

#[path = "../bodies/column.rs"]
mod body;

use std::path::PathBuf;
use std::sync::LazyLock;

/// A folder for each process: fuzzers run side by side.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("shuffledp-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    folder
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(&FOLDER, data));
