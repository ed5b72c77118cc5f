//! The values that many users hold, out of more than can be listed: prefixes are grown byte by byte, and
//! every value that is found is estimated as a whole.
//!
//! From the empty prefix on, every prefix that is kept is extended by every byte, and the [`BEAM`] extensions
//! with the largest shares are kept, among those that are two deviations above 0. A wrong prefix (kept by
//! luck, or because it hashes to the bucket of a right one) either has no extension with a share, or is
//! dropped at the end, where the share of the whole value is estimated from reports that were not used to
//! find it. A value is reported if its share is above 0 with the confidence asked for, simultaneously for all
//! values that were estimated.

use crate::analyzer::of_all_users;
use crate::confidence::Confidence;
use shuffledp_randomizers::{Estimate, PrefixTally, Prefixes, Randomizer};

/// Prefixes that are followed.
const BEAM: usize = 64;
/// How far above nothing a share must be for its prefix to be followed.
const WORTH_FOLLOWING: f64 = 2.0;

/// A value that many hold.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HeavyHitter {
    /// Without the zeros that fill it up.
    pub value: Vec<u8>,
    /// Its share of all users.
    pub share: Estimate,
}

/// The heavy hitters in a batch about `users` users, the heaviest first; and how many values were asked
/// about.
pub fn heavy_hitters(
    randomizer: &Prefixes,
    tally: &PrefixTally,
    users: u64,
    confidence: Confidence,
) -> (Vec<HeavyHitter>, usize) {
    let levels = randomizer.estimate(tally);
    let mut kept: Vec<Vec<u8>> = vec![Vec::new()];
    for _ in 0..randomizer.length() {
        let mut extended: Vec<(f64, Vec<u8>)> = Vec::new();
        for prefix in &kept {
            // After the end of a value there are only zeros, and no value is empty.
            let bytes = match prefix.last() {
                Some(0) => 0..=0,
                Some(_) => 0..=255,
                None => 1..=255,
            };
            for byte in bytes {
                let mut longer = prefix.clone();
                longer.push(byte);
                if let Some(share) = randomizer.prefix_share(&levels, &longer)
                    && share.value > WORTH_FOLLOWING * share.deviation()
                {
                    extended.push((share.value, longer));
                }
            }
        }
        extended.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        extended.truncate(BEAM);
        kept = extended.into_iter().map(|(_, prefix)| prefix).collect();
    }
    let asked = kept.len();
    let each = confidence.for_each_of(asked as u64);
    let mut found: Vec<HeavyHitter> = kept
        .into_iter()
        .filter_map(|mut value| {
            value.retain(|byte| *byte != 0);
            let (share, reports) = randomizer.whole_share(tally, &value)?;
            let share = of_all_users(share, reports, users);
            (each.around(share).0 > 0.0).then_some(HeavyHitter { value, share })
        })
        .collect();
    found.sort_by(|a, b| b.share.value.total_cmp(&a.share.value));
    (found, asked)
}
