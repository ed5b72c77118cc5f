//! Numbers on the wire: little-endian, in as many bytes as the largest of them needs, so that all reports of
//! a randomizer have the same length.

use crate::error::Error;

/// The number of bytes that hold every number below `count`.
pub(crate) fn bytes(count: u64) -> usize {
    let most = count.saturating_sub(1);
    (8 - most.leading_zeros() as usize / 8).max(1)
}

/// Writes a number that fits into `place`.
#[inline]
pub(crate) fn put(number: u64, place: &mut [u8]) {
    let width = place.len();
    place.copy_from_slice(&number.to_le_bytes()[..width]);
}

/// Reads a number that must be below `count`.
#[inline]
pub(crate) fn get(place: &[u8], count: u64) -> Result<u64, Error> {
    let mut all = [0; 8];
    all[..place.len()].copy_from_slice(place);
    let number = u64::from_le_bytes(all);
    if number < count {
        Ok(number)
    } else {
        Err(Error::report(format!("{number} is not below {count}")))
    }
}

/// Reads a report that is one signed number of eight bytes.
pub(crate) fn integer(report: &[u8]) -> Result<i64, Error> {
    sized(report, 8)?;
    let mut all = [0; 8];
    all.copy_from_slice(report);
    Ok(i64::from_le_bytes(all))
}

/// Refuses a report of any other length.
#[inline]
pub(crate) fn sized(report: &[u8], length: usize) -> Result<(), Error> {
    if report.len() == length {
        Ok(())
    } else {
        let got = report.len();
        Err(Error::report(format!("{got} bytes instead of {length}")))
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn as_many_bytes_as_needed() {
        let needed = [1u64, 2, 256, 257, 65_536, 65_537, 1 << 24, u64::MAX].map(bytes);
        assert_eq!(needed, [1, 1, 1, 2, 2, 3, 3, 8]);
    }
}
