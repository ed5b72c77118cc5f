//! Ctrl-C during a run of `train`: the last words say how to go on, and what stays secret.
//!
//! Nothing is saved on the way out, and nothing has to be: what is on disk is whole at any moment, as after a
//! kill. The process ends with the code of one that the signal ended.

use std::thread::Builder;

/// What a shell reports of a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// From now on Ctrl-C prints this and ends the process. Without a thread or a signal to wait for, it ends the
/// process as before, without a word.
pub(crate) fn says(words: String) {
    let wait = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let Ok(runtime) = runtime else {
            return;
        };
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            eprintln!("\n{words}");
            std::process::exit(INTERRUPTED);
        }
    };
    // The handle is let go: the thread ends with the process.
    drop(Builder::new().spawn(wait));
}
