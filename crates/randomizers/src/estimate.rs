//! Estimates with their variances, and what a batch is added up into.

/// An unbiased estimate and its variance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The estimate; it may lie outside the range of what is estimated.
    pub value: f64,
    /// Its variance, with what is estimated put where the formula needs the truth, but never as if a rare
    /// thing could not happen ([`towards_the_middle`]).
    pub variance: f64,
    /// How that variance changes with what is estimated: an interval asks which truths could have given the
    /// estimate, each with a variance of its own.
    pub slope: f64,
}

impl Estimate {
    /// With a variance that does not depend on what is estimated.
    pub fn new(value: f64, variance: f64) -> Self {
        Self {
            value,
            variance,
            slope: 0.0,
        }
    }

    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        self.variance.max(0.0).sqrt()
    }
}

/// How many reports support each category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    pub(crate) reports: u64,
    pub(crate) supports: Vec<u64>,
}

impl Counts {
    pub(crate) fn new(categories: usize) -> Self {
        Self {
            reports: 0,
            supports: vec![0; categories],
        }
    }

    /// The number of reports.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Another batch of the same randomizer.
    pub fn merge(&mut self, other: &Self) {
        self.reports += other.reports;
        for (mine, theirs) in self.supports.iter_mut().zip(&other.supports) {
            *mine += theirs;
        }
    }

    /// f̂ = (c/n − q)/(p − q) of every category, where a category is supported with probability p by its own
    /// people and q by the others.
    ///
    /// ```text
    /// Var f̂ = [q(1−q) + f (p−q)(1−p−q)] / (n (p−q)²)        for a fixed dataset
    /// ```
    pub(crate) fn shares(&self, p: f64, q: f64) -> Vec<Estimate> {
        let n = self.reports as f64;
        let gain = p - q;
        self.supports
            .iter()
            .map(|&count| {
                let value = (count as f64 / n - q) / gain;
                Estimate {
                    value,
                    variance: share_variance(p, q, towards_the_middle(value, n)) / n,
                    slope: share_slope(p, q) / n,
                }
            })
            .collect()
    }
}

/// A share for use in a variance: as if two more people had held it and two had not (Agresti, Coull 1998).
/// Where a few people decide, an estimate of 0 or 1 would have no variance, and an interval around it would
/// promise too much.
pub fn towards_the_middle(share: f64, people: f64) -> f64 {
    (people * share.clamp(0.0, 1.0) + 2.0) / (people + 4.0)
}

/// n times the variance of f̂ at a true share.
pub(crate) fn share_variance(p: f64, q: f64, share: f64) -> f64 {
    let gain = p - q;
    (q * (1.0 - q) + share * gain * (1.0 - p - q)) / (gain * gain)
}

/// n times the change of that with the share.
pub(crate) fn share_slope(p: f64, q: f64) -> f64 {
    (1.0 - p - q) / (p - q)
}

/// A sum of decoded reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    pub(crate) reports: u64,
    pub(crate) total: f64,
    pub(crate) squares: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, decoded: f64) {
        self.reports += 1;
        self.total += decoded;
        self.squares += decoded * decoded;
    }

    /// The number of reports.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Another batch of the same randomizer.
    pub fn merge(&mut self, other: &Self) {
        self.reports += other.reports;
        self.total += other.total;
        self.squares += other.squares;
    }

    /// The mean of the decoded reports. Its variance is taken from how they vary, which includes how people
    /// differ: for a fixed dataset it is an upper estimate. It is not below that of people who all hold the
    /// mean, whose variance is `known`, nor as if people could not differ.
    pub(crate) fn mean(&self, known: impl Fn(f64) -> f64) -> Estimate {
        let n = self.reports as f64;
        let value = self.total / n;
        let spread = (self.squares / n - value * value).max(0.0) * n / (n - 1.0).max(1.0);
        let held = towards_the_middle(value, n);
        // What four more people, two at either end, would add.
        let differ = 4.0 / (n + 4.0) * (0.25 + (value.clamp(0.0, 1.0) - 0.5).powi(2));
        Estimate {
            value,
            variance: (spread.max(known(held)) + differ) / n,
            slope: 0.0,
        }
    }
}
