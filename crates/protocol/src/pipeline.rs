//! One round of the protocol in one process: attend, randomize, shuffle, read.
//!
//! ```text
//! for the users in line, a window at a time:
//!   attend      an Attendance says who of the window takes part
//!   randomize   Devices make one report for each of them
//!   shuffle     a Mixer takes the reports, and gives all of them out when the last window is done
//! read          the caller is given the reports in that order, and nothing else
//! ```
//!
//! A collection, an audit and a round of private learning all run this loop ([`run_round`]). They differ in
//! the values, in where randomness comes from, and in what reads the batch.

use crate::attendance::Attendance;
use crate::shuffler::{ShuffleError, Shuffler};
use shuffledp_randomizers::Random;
use std::io::{self, Read, Seek, Write};
use std::ops::Range;

/// The users' side of a round.
pub trait Devices {
    /// Why a report was not made, or not taken.
    type Error: From<ShuffleError>;

    /// How many users are called together.
    fn window(&self) -> u64;

    /// Whether the next user in line takes part, drawn from the devices' own randomness.
    fn comes(&mut self, attendance: &mut Attendance) -> bool;

    /// Sends one report for each user in `coming`, in that order. `called` are all users of the window.
    fn send(
        &mut self,
        called: Range<u64>,
        coming: &[u64],
        mixer: &mut impl Mixer,
    ) -> Result<(), Self::Error>;
}

/// The shuffler's side of a round.
pub trait Mixer {
    /// Takes a report.
    fn push(&mut self, report: &[u8]) -> Result<(), ShuffleError>;

    /// Gives out all reports.
    fn finish(self, each: impl FnMut(&[u8])) -> Result<(), ShuffleError>;
}

impl<R, F, O> Mixer for Shuffler<R, F, O>
where
    R: Random,
    F: Read + Write + Seek,
    O: FnMut() -> io::Result<F>,
{
    fn push(&mut self, report: &[u8]) -> Result<(), ShuffleError> {
        Shuffler::push(self, report)
    }

    fn finish(self, each: impl FnMut(&[u8])) -> Result<(), ShuffleError> {
        Shuffler::finish(self, each)
    }
}

/// Runs a round of `users` users and gives every shuffled report to `read`.
pub fn run_round<D: Devices>(
    users: u64,
    mut attendance: Attendance,
    devices: &mut D,
    mut mixer: impl Mixer,
    read: impl FnMut(&[u8]),
) -> Result<(), D::Error> {
    let window = devices.window().max(1);
    let mut coming = Vec::new();
    let mut start = 0;
    while start < users {
        let end = users.min(start.saturating_add(window));
        coming.clear();
        coming.extend((start..end).filter(|_| devices.comes(&mut attendance)));
        devices.send(start..end, &coming, &mut mixer)?;
        start = end;
    }
    Ok(mixer.finish(read)?)
}
