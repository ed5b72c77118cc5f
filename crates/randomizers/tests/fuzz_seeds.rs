//! The fuzz target of this crate, on its seeds (a report of each randomizer) and on mutations of them.

#![allow(clippy::expect_used)]

#[path = "../../../fuzz/bodies/mutations.rs"]
mod mutations;
#[path = "../../../fuzz/bodies/report.rs"]
mod report;

use std::path::Path;

#[test]
fn every_report_is_counted_or_refused() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/report");
    mutations::run(&seeds, 2000, |_, data| report::run(data));
}
