//! The analyzer: adds up the reports of a shuffled batch, and refuses and counts malformed ones.

use shuffledp_randomizers::{Estimate, Randomizer, towards_the_middle};

/// A batch that is being read.
///
/// ```
/// use shuffledp_protocol::Analyzer;
/// use shuffledp_randomizers::KaryResponse;
///
/// let randomizer = KaryResponse::new(5, 1.0)?;
/// let mut analyzer = Analyzer::new(&randomizer);
/// assert!(analyzer.estimate().is_none());
/// for report in [[0u8], [3], [5], [4]] {
///     analyzer.take(&report);
/// }
/// // There is no category 5.
/// assert_eq!((analyzer.taken(), analyzer.refused()), (3, 1));
/// assert_eq!(analyzer.estimate().map(|shares| shares.len()), Some(5));
/// # Ok::<(), shuffledp_randomizers::Error>(())
/// ```
pub struct Analyzer<'a, R: Randomizer> {
    randomizer: &'a R,
    tally: R::Tally,
    taken: u64,
    refused: u64,
}

impl<'a, R: Randomizer> Analyzer<'a, R> {
    /// Of reports of this randomizer.
    pub fn new(randomizer: &'a R) -> Self {
        Self {
            randomizer,
            tally: randomizer.tally(),
            taken: 0,
            refused: 0,
        }
    }

    /// Adds a report, or counts it as malformed.
    pub fn take(&mut self, report: &[u8]) {
        match self.randomizer.add(report, &mut self.tally) {
            Ok(()) => self.taken += 1,
            Err(_) => self.refused += 1,
        }
    }

    /// Reports that were added.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Reports that were malformed.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The reports, added up.
    pub fn tally(&self) -> &R::Tally {
        &self.tally
    }

    /// The estimate from the batch; none if it is empty.
    pub fn estimate(&self) -> Option<R::Estimate> {
        (self.taken > 0).then(|| self.randomizer.estimate(&self.tally))
    }
}

/// A share among `reports` people as a share of the `users` from whom they were drawn: the variance grows by
/// (1 − reports/users) f(1−f)/reports, f a little off the ends ([`towards_the_middle`]).
///
/// ```
/// use shuffledp_protocol::of_all_users;
/// use shuffledp_randomizers::Estimate;
/// let share = Estimate::new(0.5, 0.001);
/// assert_eq!(of_all_users(share, 100, 100), share);
/// assert!((of_all_users(share, 100, 200).variance - 0.00225).abs() < 1e-12);
/// // Nobody among a hundred does not mean nobody among two hundred.
/// let none = Estimate::new(0.0, 0.0);
/// assert!(of_all_users(none, 100, 200).deviation() > 0.009);
/// ```
pub fn of_all_users(mut share: Estimate, reports: u64, users: u64) -> Estimate {
    let missing = (1.0 - reports as f64 / users as f64).max(0.0) / reports as f64;
    let held = towards_the_middle(share.value, reports as f64);
    share.variance += missing * held * (1.0 - held);
    share.slope += missing * (1.0 - 2.0 * held);
    share
}
