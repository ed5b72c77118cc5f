//! The fuzz target of this crate, on its seeds (CSV and Parquet files) and on mutations of them.

#![allow(clippy::expect_used)]

#[path = "../../../fuzz/bodies/column.rs"]
mod column;
#[path = "../../../fuzz/bodies/mutations.rs"]
mod mutations;

use std::path::Path;

#[test]
fn every_file_is_read_or_refused() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/column");
    let folder = tempfile::tempdir().expect("a folder");
    mutations::run(&seeds, 2000, |_, data| column::run(folder.path(), data));
}
