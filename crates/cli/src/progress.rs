//! Progress on standard error: a bar or the elapsed time on a terminal, nothing otherwise.

use indicatif::{ProgressBar, ProgressStyle};
#[cfg(feature = "papers")]
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The elapsed time appears after this long, and changes as often: most answers take less, and show nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// The elapsed time of an answer that takes long, gone when this is dropped. The cursor is never hidden, and
/// no signal is caught: Ctrl-C ends the process at once.
pub(crate) struct Waiting(Option<(Sender<()>, JoinHandle<()>)>);

impl Waiting {
    /// Starts to wait; without a terminal nothing is ever shown.
    pub(crate) fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (done, wait) = channel();
        let start = Instant::now();
        let clock = move || {
            let mut shown = false;
            while wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                show(&format!("\r{} s, computing", start.elapsed().as_secs()));
                shown = true;
            }
            if shown {
                // Back to the first column, and the rest of the line erased.
                show("\r\x1b[K");
            }
        };
        // Without a thread there is no clock, and the answer is the same.
        let clock = std::thread::Builder::new().spawn(clock).ok();
        Self(clock.map(|clock| (done, clock)))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((done, clock)) = self.0.take() {
            drop(done);
            // The line is erased before anything else is printed.
            let _ = clock.join();
        }
    }
}

/// Text on standard error. Progress that cannot be shown is no failure.
fn show(text: &str) {
    let mut terminal = std::io::stderr();
    let _ = terminal.write_all(text.as_bytes());
    let _ = terminal.flush();
}

/// A bar that is gone when its work is done.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar of this many steps, named `what`.
    pub(crate) fn of(steps: u64, what: &'static str) -> Self {
        let bar = ProgressBar::new(steps);
        let template = "{elapsed:>4} [{bar:40}] {pos}/{len} {prefix} {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(what);
        Self(bar)
    }

    /// Shows the current step.
    #[cfg(feature = "papers")]
    pub(crate) fn say(&self, what: impl Into<Cow<'static, str>>) {
        self.0.set_message(what);
        self.0.tick();
    }

    /// Several more are done.
    pub(crate) fn advance(&self, steps: u64) {
        self.0.inc(steps);
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
