//! What the parties send each other, on seeds and on mutations of them.

#![allow(clippy::expect_used)]

#[path = "../../../fuzz/bodies/message.rs"]
mod message;
#[path = "../../../fuzz/bodies/mutations.rs"]
mod mutations;

use std::path::{Path, PathBuf};

fn seeds(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target)
}

/// How many mutations of each seed.
fn mutations_of_each() -> u64 {
    let all = std::env::var("SHUFFLEDP_TESTS").is_ok_and(|word| word == "all");
    if all { 1_700_000 } else { 20_000 }
}

#[test]
fn every_envelope_is_opened_or_refused() {
    mutations::run(&seeds("envelope"), mutations_of_each(), |_, data| {
        message::envelope(data);
    });
}

#[test]
fn every_batch_is_read_or_refused() {
    mutations::run(&seeds("batch"), mutations_of_each(), |_, data| {
        message::batch(data);
    });
}

#[test]
fn every_task_is_read_or_refused() {
    mutations::run(&seeds("task"), 1000, |_, data| message::task(data));
}
