//! How sure a number is that was drawn by lot: intervals that miss the truth no more often than they say.
//!
//! ```text
//! estimates   every truth t with (t − value)² ≤ z² (variance + slope·(t − value)),
//!             z = √2 erfc⁻¹(1 − confidence)
//!             (Wilson 1927; normal approximation for many reports)
//! shares      s of N trials: below the p with P[Bin(N, p) ≤ s] = α, above that with P[Bin(N, p) ≥ s] = α
//!             (Clopper, Pearson 1934: exact)
//! ```

use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::search::falling_crossing;
use shuffledp_numerics::special::erfc_inv;
use shuffledp_randomizers::Estimate;

/// The probability that an interval covers the truth: from 0.5 to 1 − 1e-12.
///
/// ```
/// use shuffledp_protocol::Confidence;
/// use shuffledp_randomizers::Estimate;
/// let confidence = Confidence::new(0.95).unwrap();
/// let (low, high) = confidence.around(Estimate::new(0.3, 0.01));
/// assert!((low - 0.104).abs() < 1e-4 && (high - 0.496).abs() < 1e-4);
/// assert!(Confidence::new(1.0).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence(f64);

impl Confidence {
    /// None outside [0.5, 1 − 1e-12].
    pub fn new(value: f64) -> Option<Self> {
        (0.5..=1.0 - 1e-12).contains(&value).then_some(Self(value))
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }

    /// How often it may be wrong.
    fn doubt(self) -> f64 {
        1.0 - self.0
    }

    /// The same for each of several intervals, so that all hold at once (Bonferroni).
    pub fn for_each_of(self, several: u64) -> Self {
        // Past 1 − 1e-12 doubles have little left to say.
        Self((1.0 - self.doubt() / several.max(1) as f64).min(1.0 - 1e-12))
    }

    /// How many standard deviations the interval reaches to both sides.
    pub fn deviations(self) -> f64 {
        std::f64::consts::SQRT_2 * erfc_inv(self.doubt())
    }

    /// The interval around an estimate.
    pub fn around(self, estimate: Estimate) -> (f64, f64) {
        let z = self.deviations();
        let lean = 0.5 * z * z * estimate.slope;
        let reach = (lean * lean + z * z * estimate.variance.max(0.0)).sqrt();
        (estimate.value + lean - reach, estimate.value + lean + reach)
    }

    /// A lower bound on the probability of an event that was seen `successes` times in `trials`.
    ///
    /// ```
    /// # use shuffledp_protocol::Confidence;
    /// let confidence = Confidence::new(0.95).unwrap();
    /// // (1 − 0.95)^(1/100), of a hundred times in a hundred.
    /// assert!((confidence.at_least(100, 100) - 0.05f64.powf(0.01)).abs() < 1e-9);
    /// assert_eq!(confidence.at_least(0, 100), 0.0);
    /// assert!((confidence.at_most(0, 100) - (1.0 - 0.05f64.powf(0.01))).abs() < 1e-9);
    /// ```
    pub fn at_least(self, successes: u64, trials: u64) -> f64 {
        if successes == 0 || trials == 0 {
            return 0.0;
        }
        // P[at least so many] grows with p: the error allowed minus it falls.
        let left = |p: f64| match Binomial::new(trials, p) {
            Some(law) => self.doubt().ln() - law.ln_upper_tail(successes),
            None => f64::NEG_INFINITY,
        };
        let seen = successes as f64 / trials as f64;
        falling_crossing(0.0, seen, (0.9 * seen, 0.1), 1e-10, left).above
    }

    /// An upper bound on the probability of an event that was seen `successes` times in `trials`.
    pub fn at_most(self, successes: u64, trials: u64) -> f64 {
        if successes >= trials {
            return 1.0;
        }
        // P[at most so many] minus the error allowed falls as p grows.
        let over = |p: f64| match Binomial::new(trials, p) {
            Some(law) => law.ln_lower_tail(successes) - self.doubt().ln(),
            None => f64::NEG_INFINITY,
        };
        let seen = successes as f64 / trials as f64;
        falling_crossing(
            seen,
            1.0,
            (1.1 * seen + 1.0 / trials as f64, 0.1),
            1e-10,
            over,
        )
        .below
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::Confidence;

    /// From scipy 1.17's beta quantiles: beta.ppf(a, s, N−s+1) and beta.ppf(1−a, s+1, N−s).
    #[test]
    fn clopper_and_pearson() {
        let confidence = Confidence::new(0.975).unwrap();
        for (successes, trials, low, high) in [
            (1, 10, 0.002_528_578_544_461_784_8, 0.445_016_117_028_195_4),
            (37, 1000, 0.026_182_708_843_737_34, 0.050_641_123_059_924_85),
            (990, 1000, 0.981_686_756_944_887_5, 0.995_194_489_308_950_7),
        ] {
            assert!((confidence.at_least(successes, trials) / low - 1.0).abs() < 1e-8);
            assert!((confidence.at_most(successes, trials) / high - 1.0).abs() < 1e-8);
        }
    }
}
