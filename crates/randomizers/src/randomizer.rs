//! The trait of all randomizers: the device's end and the analyzer's end of the same wire.

use crate::error::Error;
use crate::sample::random::Random;
use crate::wire;
use shuffledp_accounting::Mechanism;

/// A local randomizer.
pub trait Randomizer {
    /// The value that a user holds.
    type Value: ?Sized;
    /// The sums or counts of a batch of reports.
    type Tally;
    /// The estimate made from a batch.
    type Estimate;

    /// The mechanism that the accountant computes bounds for. The code is at least as private: probabilities
    /// are rounded towards more privacy.
    fn mechanism(&self) -> &Mechanism;

    /// The length of a report in bytes, the same for every value.
    fn report_length(&self) -> usize;

    /// Refuses a value outside the domain of this randomizer.
    fn check(&self, value: &Self::Value) -> Result<(), Error>;

    /// Draws a report. The value has passed [`Randomizer::check`], and `report` has
    /// [`Randomizer::report_length`] bytes.
    fn draw<R: Random + ?Sized>(&self, value: &Self::Value, random: &mut R, report: &mut [u8]);

    /// Checks a value and draws its report into `report`, which must have
    /// [`Randomizer::report_length`] bytes.
    fn randomize<R: Random + ?Sized>(
        &self,
        value: &Self::Value,
        random: &mut R,
        report: &mut [u8],
    ) -> Result<(), Error> {
        self.check(value)?;
        wire::sized(report, self.report_length())?;
        self.draw(value, random, report);
        Ok(())
    }

    /// An empty batch.
    fn tally(&self) -> Self::Tally;

    /// Adds a report to a batch. A malformed report is refused and changes nothing.
    fn add(&self, report: &[u8], tally: &mut Self::Tally) -> Result<(), Error>;

    /// Adds one user's contribution to a batch without making a report; [`Randomizer::settle`] then adds the
    /// noise that contributions left out. The value has passed [`Randomizer::check`].
    ///
    /// A settled batch of contributions has the same distribution as a batch of reports, each drawn
    /// ([`Randomizer::draw`]) and added ([`Randomizer::add`]). Most randomizers draw the report here, with
    /// the same randomness, and leave nothing to settle. One that adds noise may add the value alone, and the
    /// noise of the whole sum when the batch is settled.
    ///
    /// This is for simulations without wire and shuffler, where reports are expensive to draw or to decode. A
    /// batch that has not been settled has no privacy. Sums do not depend on the order, so the distribution
    /// is that of a shuffled batch.
    fn contribute<R: Random + ?Sized>(
        &self,
        value: &Self::Value,
        random: &mut R,
        tally: &mut Self::Tally,
    ) -> Result<(), Error> {
        let mut report = vec![0; self.report_length()];
        self.draw(value, random, &mut report);
        self.add(&report, tally)
    }

    /// Adds the noise that contributions have left out since the batch was last settled. Reports need none.
    /// Batches may be merged before or after.
    ///
    /// ```
    /// use shuffledp_randomizers::{GaussianVector, Randomizer, Simulated};
    /// let randomizer = GaussianVector::new(2, 1.0, 4.0)?;
    /// let (mut random, mut tally) = (Simulated::new(1, 0), randomizer.tally());
    /// for _ in 0..10_000 {
    ///     randomizer.contribute(&[0.6, 0.8], &mut random, &mut tally)?;
    /// }
    /// // The values alone so far, up to the grid; then the noise of all of them.
    /// assert!((randomizer.estimate(&tally).mean[0] - 0.6).abs() < 1e-4);
    /// randomizer.settle(&mut random, &mut tally);
    /// assert!((randomizer.estimate(&tally).mean[0] - 0.6).abs() > 1e-4);
    /// # Ok::<(), shuffledp_randomizers::Error>(())
    /// ```
    fn settle<R: Random + ?Sized>(&self, _random: &mut R, _tally: &mut Self::Tally) {}

    /// An unbiased estimate from a batch.
    fn estimate(&self, tally: &Self::Tally) -> Self::Estimate;

    /// The variance of the estimate from one report of this value. The variance from n reports is the mean of
    /// these, divided by n.
    fn variance(&self, value: &Self::Value) -> f64;

    /// The most by which one of n reports can move the estimate, times n; infinite for unbounded noise.
    fn influence(&self) -> f64;

    /// The probability of a report, given the value. None for a malformed report, and where there are too
    /// many reports to assign each a probability.
    fn probability(&self, value: &Self::Value, report: &[u8]) -> Option<f64>;

    /// The probability up to a factor that does not depend on the value: ratios of likelihoods tell values
    /// apart. None for a malformed report.
    fn likelihood(&self, value: &Self::Value, report: &[u8]) -> Option<f64> {
        self.probability(value, report)
    }
}
