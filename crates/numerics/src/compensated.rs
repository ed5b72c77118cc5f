//! Sums whose rounding error does not grow with the number of terms (Neumaier 1974).

/// A running sum, within two units in the last place for terms of one sign.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    pub(crate) fn add(&mut self, term: f64) {
        let next = self.sum + term;
        self.lost += if self.sum.abs() >= term.abs() {
            (self.sum - next) + term
        } else {
            (term - next) + self.sum
        };
        self.sum = next;
    }

    pub(crate) fn value(self) -> f64 {
        self.sum + self.lost
    }
}

/// The sum of all terms.
///
/// ```
/// use shuffledp_numerics::compensated::sum;
/// // Added one by one, the small terms would all be lost.
/// assert_eq!(sum([1.0].into_iter().chain([1e-16; 10_000])), 1.0 + 1e-12);
/// ```
pub fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let mut total = Total::default();
    terms.for_each(|term| total.add(term));
    total.value()
}
