//! The one trait: a device's end and the analyzer's end of the same wire.

use crate::error::Error;
use crate::sample::random::Random;
use crate::wire;
use shuffledp_accounting::Mechanism;

/// A local randomizer.
pub trait Randomizer {
    /// What a person holds.
    type Value: ?Sized;
    /// What a batch of reports is added up into.
    type Tally;
    /// What is read back.
    type Estimate;

    /// What the accountant prices. The code may be a little more private (probabilities are rounded that
    /// way), never less.
    fn mechanism(&self) -> &Mechanism;

    /// Bytes of a report, the same for every value.
    fn report_length(&self) -> usize;

    /// Whether a value is one that it is for.
    fn check(&self, value: &Self::Value) -> Result<(), Error>;

    /// Draws a report of a value that has been checked, into bytes of the right number.
    fn draw<R: Random + ?Sized>(&self, value: &Self::Value, random: &mut R, report: &mut [u8]);

    /// Randomizes a value into `report`, which has the length of a report.
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

    /// Adds a report to a batch; a malformed one is refused and changes nothing.
    fn add(&self, report: &[u8], tally: &mut Self::Tally) -> Result<(), Error>;

    /// Adds what a report of a value that has been checked stands for to a batch, in one go, but for what
    /// [`Randomizer::settle`] makes up for.
    ///
    /// A batch of contributions that has been settled has the law of a batch of reports, each drawn
    /// ([`Randomizer::draw`]) and added ([`Randomizer::add`]). Most randomizers draw the report here, with
    /// the same randomness, and leave nothing to settle; one that adds noise may add the value alone, and the
    /// noise of the whole sum when it is settled.
    ///
    /// For simulations that skip wire and shuffler, where a report is dear to draw or to read back: a batch
    /// that has not been settled protects nobody. A batch added up this way is the same whatever its order,
    /// so its law is that of a shuffled one.
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

    /// Adds to a batch what its contributions left out since it was last settled; reports are not touched.
    /// Batches may be merged before or after.
    ///
    /// ```
    /// use shuffledp_randomizers::{GaussianVector, Randomizer, Simulated};
    /// let randomizer = GaussianVector::new(2, 1.0, 4.0)?;
    /// let (mut random, mut tally) = (Simulated::new(1, 0), randomizer.tally());
    /// for _ in 0..10_000 {
    ///     randomizer.contribute(&[0.6, 0.8], &mut random, &mut tally)?;
    /// }
    /// // The values alone so far, but for the grid; then the noise of all of them.
    /// assert!((randomizer.estimate(&tally).mean[0] - 0.6).abs() < 1e-4);
    /// randomizer.settle(&mut random, &mut tally);
    /// assert!((randomizer.estimate(&tally).mean[0] - 0.6).abs() > 1e-4);
    /// # Ok::<(), shuffledp_randomizers::Error>(())
    /// ```
    fn settle<R: Random + ?Sized>(&self, _random: &mut R, _tally: &mut Self::Tally) {}

    /// What the batch says, without bias.
    fn estimate(&self, tally: &Self::Tally) -> Self::Estimate;

    /// The variance of the estimate from one report of this value: that of n reports is the mean of these
    /// over n.
    fn variance(&self, value: &Self::Value) -> f64;

    /// The most by which one report can move the estimate of a single report.
    fn influence(&self) -> f64;

    /// The probability of a report of a value; none where a report is too large a thing to list.
    fn probability(&self, value: &Self::Value, report: &[u8]) -> Option<f64>;

    /// The same up to a factor that all values share: what is needed to tell values apart by a report. None
    /// for a malformed one.
    fn likelihood(&self, value: &Self::Value, report: &[u8]) -> Option<f64> {
        self.probability(value, report)
    }
}
