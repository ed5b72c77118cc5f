//! The profile h at the lattice points, as enclosures: by counting, or by one evaluation for each point.
//!
//! Where one evaluation takes milliseconds, most of the far points are not evaluated but enclosed: h is
//! convex, so that it is below its chords and above their extensions.

use super::lattice::Lattice;
use super::resolution::{Resolution, Values};
use crate::profile::{Direction, Profile};
use shuffledp_numerics::enclosure::Wanted;
use shuffledp_numerics::rounding::{ROUNDING_TWICE, exp_down, exp_up};
use shuffledp_numerics::special::expm1;

/// For expensive profiles only: after index i the next index evaluated is i + max(1, i/`SPARSE`), so that
/// neighboring losses differ by about 1/90 of themselves. Chosen by experiment.
const SPARSE: f64 = 90.0;
/// Where no more than this relative accuracy in ε is asked for, they differ by more, in proportion to its
/// square root, as the steps of the lattice do.
const ROUGH: f64 = 1e-3;

impl Lattice {
    /// Enclosures of h at the lattice points 0 to `last`.
    pub(super) fn values(
        &self,
        profile: &Profile,
        direction: Direction,
        last: i64,
        resolution: Resolution,
        wanted: Wanted,
    ) -> Option<Vec<(f64, f64)>> {
        match resolution.values {
            Values::Counted => {
                let limit = profile.atoms().loss_limit();
                let mut cells = self.cells(profile, direction, 0, last, resolution)?;
                self.within_limit(&mut cells, last, limit);
                let mut values = self.sums(&cells);
                if self.loss(last) >= limit {
                    values[last as usize] = (0.0, cells.dropped);
                }
                Some(values)
            }
            Values::Evaluated(accuracy) => {
                let at = |i: i64| {
                    let ln = profile.ln_delta_in(direction, self.loss(i), accuracy, wanted);
                    let upper = if ln.upper == f64::NEG_INFINITY {
                        0.0
                    } else {
                        exp_up(ln.upper)
                    };
                    (exp_down(ln.lower), upper)
                };
                if !profile.is_expensive() {
                    return Some(parallel(last, at));
                }
                let asked = sparse(last, accuracy);
                let known = parallel(asked.len() as i64 - 1, |k| at(asked[k as usize]));
                Some(self.filled(&asked, &known))
            }
        }
    }

    /// Enclosures at all lattice points from those `known` at the points `asked`, for a convex function:
    /// above by the chord, below by the chords of the neighboring intervals, extended.
    pub(super) fn filled(&self, asked: &[i64], known: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let alpha = |i: i64| expm1(self.loss(i));
        // The line through a point at `far` and one at `near`, continued beyond `near`: below a convex
        // function if the first is at or above it and the second at or below.
        let beyond = |near: usize, far: usize, x: f64| {
            let slope = (known[near].0 - known[far].1) / (alpha(asked[near]) - alpha(asked[far]));
            known[near].0 + slope * (x - alpha(asked[near]))
        };
        let mut values = Vec::new();
        for (k, pair) in asked.windows(2).enumerate() {
            let (a, b) = (pair[0], pair[1]);
            for i in a..b {
                let x = alpha(i);
                let part = (x - alpha(a)) / (alpha(b) - alpha(a));
                let upper = known[k].1 * (1.0 - part) + known[k + 1].1 * part;
                let mut lower = known[k + 1].0;
                if i == a {
                    lower = known[k].0;
                } else {
                    if k > 0 {
                        lower = lower.max(beyond(k, k - 1, x));
                    }
                    if k + 2 < known.len() {
                        lower = lower.max(beyond(k + 1, k + 2, x));
                    }
                }
                let slack = ROUNDING_TWICE * (known[k].1 + known[k + 1].1);
                let exact = i == a;
                values.push(if exact {
                    known[k]
                } else {
                    ((lower - slack).max(0.0), upper + slack)
                });
            }
        }
        values.extend(known.last());
        values
    }
}

/// Indices from 0 to `last`: every one up to 2·`SPARSE`, then in growing steps.
pub(super) fn sparse(last: i64, accuracy: f64) -> Vec<i64> {
    let part = ((SPARSE * (ROUGH / accuracy).sqrt().min(1.0)) as i64).max(1);
    let mut indices = vec![0];
    let mut i = 0;
    while i < last {
        i = (i + (i / part).max(1)).min(last);
        indices.push(i);
    }
    indices
}

/// f(0), …, f(last), on all cores, in order.
pub(super) fn parallel<T: Send>(last: i64, f: impl Fn(i64) -> T + Send + Sync) -> Vec<T> {
    use rayon::prelude::*;
    (0..=last).into_par_iter().map(f).collect()
}
