//! Shufflers that can be audited: the one that collections use, and broken ones, which an audit must find.

use crate::shuffler::{ShuffleError, Shuffler};
use shuffledp_randomizers::Simulated;
use std::io::Cursor;

/// Memory of a batch: audits are of small ones.
const MEMORY: usize = 1 << 30;

/// A shuffler that is being audited: takes reports, each of so many bytes, in the order in which they are
/// sent, and hands them to `each` as an analyzer gets them; none where it releases nothing. Several threads
/// call it at once, each with a batch of its own.
pub type Shuffle<'s> = &'s (
        dyn Fn(&[u8], usize, &mut Simulated, &mut dyn FnMut(&[u8])) -> Result<(), ShuffleError>
            + Sync
    );

/// The shuffler that collections use.
pub fn shuffled(
    reports: &[u8],
    length: usize,
    random: &mut Simulated,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), ShuffleError> {
    let mut shuffler = Shuffler::new(length, MEMORY, random, || Ok(Cursor::new(Vec::new())))?;
    for report in reports.chunks_exact(length) {
        shuffler.push(report)?;
    }
    shuffler.finish(each)
}

/// A broken shuffler: reports come out in the order in which they came in.
pub fn unshuffled(
    reports: &[u8],
    length: usize,
    _: &mut Simulated,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), ShuffleError> {
    reports.chunks_exact(length).for_each(each);
    Ok(())
}

/// A broken shuffler: the first report stays where it is, the others are shuffled.
pub fn leaking(
    reports: &[u8],
    length: usize,
    random: &mut Simulated,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), ShuffleError> {
    let (first, rest) = reports.split_at(length.min(reports.len()));
    first.chunks_exact(length).for_each(&mut *each);
    shuffled(rest, length, random, each)
}
