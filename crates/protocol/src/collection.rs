//! A whole round in one process: devices, shuffler and analyzer.
//!
//! Devices randomize in parallel, each chunk of them with a generator of its own, so a simulation does not depend on the number of cores. What the analyzer is given has gone through the shuffler; nothing else reaches it.

use crate::analyzer::Analyzer;
use crate::attendance::Attendance;
use crate::shuffler::{self, Shuffler};
use rayon::prelude::*;
use shuffledp_randomizers::{Random, Randomizer};
use std::borrow::Borrow;
use std::io::{self, Read, Seek, Write};

/// Users who share a generator, at most.
const CHUNK: u64 = 1 << 14;
/// And bytes of their reports.
const BYTES: u64 = 1 << 22;
/// Chunks that are under way together.
const TOGETHER: u64 = 16;

/// Why a round was not completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Uncollected {
    /// A value that the randomizer is not for, or no randomness.
    #[error(transparent)]
    Randomizer(#[from] shuffledp_randomizers::Error),
    /// The shuffler failed.
    #[error(transparent)]
    Shuffler(#[from] shuffler::Error),
}

/// Who sends, and how much room there is.
///
/// ```
/// use shuffledp_accounting::Participation;
/// use shuffledp_protocol::{Attendance, Collection};
/// use shuffledp_randomizers::{KaryResponse, Secure};
/// use std::io::Cursor;
///
/// let randomizer = KaryResponse::new(10, 3.0)?;
/// let collection = Collection {
///     users: 1000,
///     attendance: Attendance::new(Participation::Everyone, 1000, 0.0)?,
///     memory: 1 << 20,
/// };
/// let analyzer = collection.run(
///     &randomizer,
///     |user| user % 10,
///     |_| Secure::new(),
///     || Ok(Cursor::new(Vec::new())),
///     |_| (),
/// )?;
/// assert_eq!(analyzer.taken(), 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Collection {
    /// How many users there are.
    pub users: u64,
    /// Who of them sends.
    pub attendance: Attendance,
    /// Bytes of reports that are held in memory.
    pub memory: usize,
}

impl Collection {
    /// Has the users, of whom the i-th holds `value(i)`, randomize and send, shuffles what they sent, and adds it up.
    ///
    /// `random` gives the generators: streams 0 and 1 are for attendance and shuffler, the rest for devices. Beyond the memory, reports go where `open` says. `sent` hears of users who are done.
    pub fn run<R, V, G, F>(
        mut self,
        randomizer: &R,
        value: impl Fn(u64) -> V + Sync,
        random: impl Fn(u64) -> Result<G, shuffledp_randomizers::Error> + Sync,
        open: impl FnMut() -> io::Result<F>,
        sent: impl Fn(u64),
    ) -> Result<Analyzer<'_, R>, Uncollected>
    where
        R: Randomizer + Sync,
        V: Borrow<R::Value>,
        G: Random,
        F: Read + Write + Seek,
    {
        let length = randomizer.report_length();
        let mut lots = random(0)?;
        let mut shuffler = Shuffler::new(length, self.memory, random(1)?, open)?;
        let mut coming = Vec::new();
        let chunk = (BYTES / length as u64).clamp(1, CHUNK);
        for start in (0..self.users).step_by((chunk * TOGETHER) as usize) {
            let end = self.users.min(start + chunk * TOGETHER);
            coming.clear();
            coming.extend((start..end).filter(|_| self.attendance.comes(&mut lots)));
            let batches: Vec<Result<Vec<u8>, shuffledp_randomizers::Error>> = coming
                .par_chunks(chunk as usize)
                .enumerate()
                .map(|(place, people)| {
                    // No more chunks come than there are, so no two share a stream.
                    let mut random = random(2 + start / chunk + place as u64)?;
                    let mut reports = vec![0; length * people.len()];
                    for (user, report) in people.iter().zip(reports.chunks_exact_mut(length)) {
                        randomizer.randomize(value(*user).borrow(), &mut random, report)?;
                    }
                    Ok(reports)
                })
                .collect();
            for batch in batches {
                for report in batch?.chunks_exact(length) {
                    shuffler.push(report)?;
                }
            }
            sent(end - start);
        }
        let mut analyzer = Analyzer::new(randomizer);
        shuffler.finish(|report| analyzer.take(report))?;
        Ok(analyzer)
    }
}
