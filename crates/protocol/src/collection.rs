//! A collection: the values of many users, randomized on their devices, shuffled, and added up by an
//! analyzer.
//!
//! Devices randomize in parallel, each chunk of them with a generator of its own, so a simulation does not
//! depend on the number of cores. The analyzer is given the shuffled reports and nothing else.

use crate::analyzer::Analyzer;
use crate::attendance::Attendance;
use crate::pipeline::{Devices, Mixer, run_round};
use crate::shuffler::{ShuffleError, Shuffler};
use rayon::prelude::*;
use shuffledp_randomizers::{Error, Random, Randomizer};
use std::borrow::Borrow;
use std::io::{self, Read, Seek, Write};
use std::ops::Range;

/// The most users who share a generator: large enough that making a generator costs nothing beside their
/// reports.
const CHUNK: u64 = 1 << 14;
/// The most bytes of reports of one chunk: a limit on memory where reports are long.
const BYTES: u64 = 1 << 22;
/// Chunks that are under way together: enough for the cores of one machine.
const TOGETHER: u64 = 16;

/// Why a round was not completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectionError {
    /// A value outside the randomizer's domain, or no randomness.
    #[error(transparent)]
    Randomizer(#[from] Error),
    /// The shuffler failed.
    #[error(transparent)]
    Shuffle(#[from] ShuffleError),
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
    /// The i-th user holds `value(i)`. Those who take part randomize their values and send the reports, the
    /// shuffler permutes them, and the analyzer adds them up.
    ///
    /// `random` gives the generators: streams 0 and 1 are for attendance and shuffler, the rest for devices.
    /// Beyond the memory, reports go where `open` says. `sent` is told of users who are done.
    pub fn run<R, V, G, F>(
        self,
        randomizer: &R,
        value: impl Fn(u64) -> V + Sync,
        random: impl Fn(u64) -> Result<G, Error> + Sync,
        open: impl FnMut() -> io::Result<F>,
        sent: impl Fn(u64),
    ) -> Result<Analyzer<'_, R>, CollectionError>
    where
        R: Randomizer + Sync,
        V: Borrow<R::Value>,
        G: Random,
        F: Read + Write + Seek,
    {
        let length = randomizer.report_length();
        let lots = random(0)?;
        let shuffler = Shuffler::new(length, self.memory, random(1)?, open)?;
        let mut devices = Crowd {
            randomizer,
            value,
            random,
            sent,
            lots,
            chunk: (BYTES / length as u64).clamp(1, CHUNK),
        };
        let mut analyzer = Analyzer::new(randomizer);
        let read = |report: &[u8]| analyzer.take(report);
        run_round(self.users, self.attendance, &mut devices, shuffler, read)?;
        Ok(analyzer)
    }
}

/// Devices that randomize in parallel, each chunk with its own generator.
struct Crowd<'a, R, V, G, L, S> {
    randomizer: &'a R,
    value: V,
    random: G,
    sent: S,
    /// The generator of attendance.
    lots: L,
    /// Users who share a generator.
    chunk: u64,
}

impl<R, V, B, G, L, S> Devices for Crowd<'_, R, V, G, L, S>
where
    R: Randomizer + Sync,
    V: Fn(u64) -> B + Sync,
    B: Borrow<R::Value>,
    G: Fn(u64) -> Result<L, Error> + Sync,
    L: Random,
    S: Fn(u64),
{
    type Error = CollectionError;

    fn window(&self) -> u64 {
        self.chunk * TOGETHER
    }

    fn comes(&mut self, attendance: &mut Attendance) -> bool {
        attendance.comes(&mut self.lots)
    }

    fn send(
        &mut self,
        called: Range<u64>,
        coming: &[u64],
        mixer: &mut impl Mixer,
    ) -> Result<(), CollectionError> {
        let (randomizer, value, random) = (self.randomizer, &self.value, &self.random);
        let length = randomizer.report_length();
        // A window sends no more chunks than it has, so no two chunks share a stream.
        let first = 2 + called.start / self.chunk;
        let batches: Vec<Result<Vec<u8>, Error>> = coming
            .par_chunks(self.chunk as usize)
            .enumerate()
            .map(|(place, users)| {
                let mut random = random(first + place as u64)?;
                let mut reports = vec![0; length * users.len()];
                for (user, report) in users.iter().zip(reports.chunks_exact_mut(length)) {
                    randomizer.randomize(value(*user).borrow(), &mut random, report)?;
                }
                Ok(reports)
            })
            .collect();
        for batch in batches {
            for report in batch?.chunks_exact(length) {
                mixer.push(report)?;
            }
        }
        (self.sent)(called.end - called.start);
        Ok(())
    }
}
