//! What others send takes no more memory than its own length allows: no number in a message is a number of
//! bytes to set aside. Seeds of the fuzzers and mutations of them.

#![allow(clippy::expect_used)]

// The file of a task is not measured: it is priced when it is read.
#[allow(dead_code)]
#[path = "../../../fuzz/bodies/message.rs"]
mod message;
#[path = "../../../fuzz/bodies/mutations.rs"]
mod mutations;

use std::path::Path;

/// Beside a few copies of the message: headers, sets of keys, the words of an error.
const BESIDE: u64 = 4096;
/// Copies of the message: parts of it, and what is encoded again to be compared.
const COPIES: u64 = 8;

fn check(target: &str, read: fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    mutations::run(&seeds, 2000, |name, data| {
        // The task of the seeds is parsed once, by the first call.
        read(data);
        let used = allocation_counter::measure(|| read(data));
        let allowed = COPIES * data.len() as u64 + BESIDE;
        assert!(
            used.bytes_max <= allowed,
            "{name}: {} bytes of memory for a message of {}",
            used.bytes_max,
            data.len()
        );
    });
}

#[test]
fn an_envelope() {
    check("envelope", message::envelope);
}

#[test]
fn a_batch() {
    check("batch", message::batch);
}
