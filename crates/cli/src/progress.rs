//! Progress on standard error: a bar on a terminal, nothing otherwise.

use indicatif::{ProgressBar, ProgressStyle};
#[cfg(feature = "papers")]
use std::borrow::Cow;

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
