//! The fuzz targets of this crate, on their seeds and on mutations of them.

#![allow(clippy::expect_used)]

#[path = "../../../fuzz/bodies/ledger.rs"]
mod ledger;
#[path = "../../../fuzz/bodies/mutations.rs"]
mod mutations;
#[path = "../../../fuzz/bodies/plan.rs"]
mod plan;

use std::path::Path;

fn seeds(target: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target)
}

#[test]
fn every_plan_is_read_or_refused() {
    mutations::run(&seeds("plan"), 5000, |_, data| plan::run(data));
}

#[test]
fn every_ledger_is_read_or_refused() {
    mutations::run(&seeds("ledger"), 20_000, |_, data| ledger::run(data));
}
