//! A sum of Skellam shares on a pair of datasets: two integers at distance D, in one coordinate.
//!
//! P(z) = e^{−V} I_z(V), with quotients r_z = I_{z+1}/I_z by Miller's recurrence r_{z−1} = 1/(r_z + 2z/V),
//! from far out inwards, and P(0) from the sum of all being 1. Standing: certified.

use super::Batch;
use super::noise::Shares;
use super::outcomes::{MOST_COUNTS, Outcomes, window};
use crate::profile::Direction;
use shuffledp_numerics::special::expm1;
use std::sync::OnceLock;

/// Steps that the recurrence starts ahead of the first quotient needed: this many standard deviations, and
/// this many more. It starts with an error of at most 1, and every step multiplies the error by r_z², so that
/// less than 1e-15 is left.
const SETTLED: (f64, f64) = (2.0, 30.0);

/// The profile of the pair, computed when it is first asked for.
#[derive(Debug)]
pub(super) struct SkellamPair {
    own: Shares,
    shares: u64,
    outcomes: OnceLock<Option<Outcomes>>,
}

impl SkellamPair {
    pub(super) fn new(own: Shares, shares: u64) -> Self {
        Self {
            own,
            shares,
            outcomes: OnceLock::new(),
        }
    }

    /// The outcomes of the pair; none where there are more than [`MOST_COUNTS`].
    fn outcomes(&self) -> Option<&Outcomes> {
        self.outcomes
            .get_or_init(|| {
                let variance = self.own.scale * self.own.scale * self.shares as f64;
                let (masses, steps) = probabilities(variance)?;
                let reach = masses.len() as i64 - 1;
                let distance = self.own.distance as i64;
                if distance > 2 * reach {
                    return None;
                }
                let at = |z: i64| masses[z.unsigned_abs() as usize];
                let range = distance - reach..reach + 1;
                let count = (range.end - range.start) as usize;
                let both = (0..count).map(|i| {
                    let z = range.start + i as i64;
                    (at(z - distance), at(z))
                });
                Some(Outcomes::new(both, steps))
            })
            .as_ref()
    }
}

/// P(0), P(1), …, and the number of steps behind them.
fn probabilities(variance: f64) -> Option<(Vec<f64>, usize)> {
    let deviation = variance.sqrt();
    let reach = window(deviation);
    let settled = SETTLED.0 * deviation + SETTLED.1;
    if reach + settled > MOST_COUNTS as f64 {
        return None;
    }
    let (last, begin) = (reach as usize, (reach + settled) as usize);
    let mut ratios = vec![0.0; last];
    let mut ratio = 0.5;
    for z in (1..=begin).rev() {
        ratio = 1.0 / (ratio + 2.0 * z as f64 / variance);
        if z <= last {
            ratios[z - 1] = ratio;
        }
    }
    let mut masses = vec![1.0; last + 1];
    for z in 0..last {
        masses[z + 1] = masses[z] * ratios[z];
    }
    let total = 2.0 * masses.iter().rev().sum::<f64>() - 1.0;
    masses.iter_mut().for_each(|mass| *mass /= total);
    Some((masses, begin))
}

impl Batch for SkellamPair {
    fn above(&self, direction: Direction, epsilon: f64) -> f64 {
        self.outcomes()
            .map_or(1.0, |outcomes| outcomes.above(direction, epsilon))
    }

    fn below(&self, direction: Direction, epsilon: f64) -> f64 {
        self.outcomes()
            .map_or(0.0, |outcomes| outcomes.below(direction, epsilon))
    }

    fn deviation(&self) -> f64 {
        let square = self.own.distance.powi(2) / (self.own.scale.powi(2) * self.shares as f64);
        expm1(square.min(700.0)).sqrt()
    }
}
