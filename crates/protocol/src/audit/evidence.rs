//! What runs of two datasets say about them: the events that tell them apart, and how often each was seen.

use super::Holds;

/// A number that is computed from a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statistic {
    /// ln L of the whole batch.
    Batch,
    /// ln L of the report at one position.
    Position,
}

/// The two statistics of many runs of both datasets.
pub(super) struct Runs {
    batch: [Vec<f64>; 2],
    position: [Vec<f64>; 2],
}

/// A statistic of at least a threshold, in favor of one dataset.
pub(super) struct Event {
    pub(super) statistic: Statistic,
    /// The dataset that it is in favor of.
    pub(super) likelier: Holds,
    /// The least ln L in its favor.
    pub(super) threshold: f64,
}

impl Runs {
    /// From the statistics of each run, of the batch and of the position, under the first and the second
    /// dataset.
    pub(super) fn new(first: &[(f64, f64)], second: &[(f64, f64)]) -> Self {
        let batch = |runs: &[(f64, f64)]| runs.iter().map(|run| run.0).collect();
        let position = |runs: &[(f64, f64)]| runs.iter().map(|run| run.1).collect();
        Self {
            batch: [batch(first), batch(second)],
            position: [position(first), position(second)],
        }
    }

    /// The runs of the dataset that an event is in favor of, those of the other, and the sign of ln L in its
    /// favor.
    fn sides(&self, statistic: Statistic, likelier: Holds) -> (&[f64], &[f64], f64) {
        let [first, second] = match statistic {
            Statistic::Batch => &self.batch,
            Statistic::Position => &self.position,
        };
        match likelier {
            Holds::First => (first, second, 1.0),
            Holds::Second => (second, first, -1.0),
        }
    }

    /// How far the datasets are from each other, by the better statistic: the difference of the means of ln
    /// L, which a few runs estimate better than the frequency of a rare event. (For the batch it is the sum
    /// of the two Kullback-Leibler divergences.)
    pub(super) fn distance(&self) -> f64 {
        let mean = |runs: &[f64]| runs.iter().sum::<f64>() / runs.len() as f64;
        let error = |runs: &[f64]| {
            let middle = mean(runs);
            let square = runs.iter().map(|run| (run - middle).powi(2)).sum::<f64>();
            square / (runs.len() as f64).powi(2)
        };
        let between = |sides: &[Vec<f64>; 2]| mean(&sides[0]) - mean(&sides[1]);
        // One report varies much more than a batch: only the part beyond four deviations of its mean counts.
        let luck = 4.0 * (error(&self.position[0]) + error(&self.position[1])).sqrt();
        between(&self.batch)
            .max(between(&self.position) - luck)
            .max(0.0)
    }

    /// How often an event was seen: under the dataset that makes it likelier, and under the other.
    pub(super) fn hits(&self, event: &Event) -> (u64, u64) {
        let (likelier, other, sign) = self.sides(event.statistic, event.likelier);
        let count = |runs: &[f64]| {
            let hit = |run: &&f64| sign * **run >= event.threshold;
            runs.iter().filter(hit).count() as u64
        };
        (count(likelier), count(other))
    }

    /// The event with the largest bound on ε, with every frequency taken a little worse than it was seen.
    pub(super) fn best_event(&self, delta: f64) -> Event {
        let mut best = Event {
            statistic: Statistic::Batch,
            likelier: Holds::First,
            threshold: 0.0,
        };
        let mut best_value = f64::NEG_INFINITY;
        for (statistic, side) in [
            (Statistic::Batch, Holds::First),
            (Statistic::Batch, Holds::Second),
            (Statistic::Position, Holds::First),
            (Statistic::Position, Holds::Second),
        ] {
            let (likelier, other, sign) = self.sides(statistic, side);
            let falling = |runs: &[f64]| {
                let mut all: Vec<f64> = runs.iter().map(|run| sign * run).collect();
                all.sort_by(|a, b| b.total_cmp(a));
                all
            };
            let (likelier, other) = (falling(likelier), falling(other));
            let runs = likelier.len() as f64;
            let mut unseen = 0;
            for (index, &threshold) in likelier.iter().enumerate() {
                // Equal ratios are in or out together.
                if likelier.get(index + 1) == Some(&threshold) {
                    continue;
                }
                while unseen < other.len() && other[unseen] >= threshold {
                    unseen += 1;
                }
                let (seen, unseen) = ((index + 1) as f64, unseen as f64);
                // Three deviations of a count, and the mean that a rare event may have though it was never
                // seen.
                let p = (seen - 3.0 * seen.sqrt()) / runs;
                let q = (unseen + 3.0 * unseen.sqrt() + 3.0) / runs;
                let value = ((p - delta) / q).ln();
                if value > best_value {
                    best_value = value;
                    best = Event {
                        statistic,
                        likelier: side,
                        threshold,
                    };
                }
            }
        }
        best
    }
}
