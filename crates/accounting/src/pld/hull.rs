//! From values at lattice points to masses: the convex hull, and its changes of slope.

use super::lattice::Lattice;
use crate::bound::Side;
use shuffledp_numerics::lattice::Measure;
use shuffledp_numerics::rounding::ROUNDING_TWICE;
use shuffledp_numerics::special::{exp, expm1};

/// The index that stands for α = 0, a loss of −∞.
const ORIGIN_INDEX: i64 = i64::MIN;

/// A point of a piecewise linear function: r at α = e^{index·h}.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dot {
    pub(super) index: i64,
    pub(super) value: f64,
}

impl Dot {
    /// The point α = 0, r = 0, which is no lattice point.
    pub(super) const ORIGIN: Self = Self {
        index: ORIGIN_INDEX,
        value: 0.0,
    };
}

impl Lattice {
    /// α of a dot.
    fn alpha(&self, dot: Dot) -> f64 {
        if dot.index == ORIGIN_INDEX {
            0.0
        } else {
            exp(self.loss(dot.index))
        }
    }

    /// α_b − α_a for a before b.
    fn gap(&self, a: Dot, b: Dot) -> f64 {
        if a.index == ORIGIN_INDEX {
            self.alpha(b)
        } else {
            self.alpha(a) * expm1(self.loss(b.index - a.index))
        }
    }

    /// Slope from a to b, and a bound on its rounding error.
    fn slope(&self, a: Dot, b: Dot) -> (f64, f64) {
        let gap = self.gap(a, b);
        (
            (b.value - a.value) / gap,
            // The last term is for values so small that their rounding error underflows.
            (ROUNDING_TWICE * (a.value.abs() + b.value.abs()) + f64::MIN_POSITIVE) / gap,
        )
    }

    /// The lower convex hull of dots in rising order.
    fn hull(&self, dots: &[Dot]) -> Vec<Dot> {
        let mut hull: Vec<Dot> = Vec::with_capacity(dots.len());
        for &dot in dots {
            while let [.., a, b] = hull[..] {
                if self.slope(a, b).0 >= self.slope(b, dot).0 {
                    hull.pop();
                } else {
                    break;
                }
            }
            hull.push(dot);
        }
        hull
    }

    /// Both hulls, with their common dot at α = 1 lowered until the kink there is convex, which is safe for a
    /// lower bound. (For an upper bound a concave kink is left out, which raises the function.)
    fn convex_at_one(&self, left: &[Dot], right: &[Dot]) -> Option<(Vec<Dot>, Vec<Dot>)> {
        let (mut left, mut right) = (left.to_vec(), right.to_vec());
        for _ in 0..50 {
            let hulls = (self.hull(&left), self.hull(&right));
            let [.., before, one] = hulls.0[..] else {
                return None;
            };
            let after = *hulls.1.get(1)?;
            let change = 1.0 + self.slope(one, after).0 - self.slope(before, one).0;
            if change >= 0.0 {
                return Some(hulls);
            }
            let stiffness = 1.0 / self.gap(before, one) + 1.0 / self.gap(one, after);
            let value = one.value + 1.01 * change / stiffness;
            left.last_mut()?.value = value;
            right.first_mut()?.value = value;
        }
        None
    }

    /// The masses p = α·(change of slope) of the function (1 − α)₊ + r, r given by dots left and right of α =
    /// 1 (both lists contain it).
    ///
    /// Left of the first dot and right of the last one r is constant.
    pub(super) fn masses(&self, left: &[Dot], right: &[Dot], side: Side) -> Option<Measure> {
        let (left, right) = match side {
            Side::Upper => (self.hull(left), self.hull(right)),
            Side::Lower => self.convex_at_one(left, right)?,
        };
        let first = left.iter().find(|dot| dot.index != ORIGIN_INDEX)?.index;
        let last = right.last()?.index;
        let mut masses = vec![0.0; (last - first + 1) as usize];
        let mut put = |dot: Dot, before: (f64, f64), after: (f64, f64), extra: f64| {
            if dot.index == ORIGIN_INDEX {
                return;
            }
            let alpha = self.alpha(dot);
            let change = after.0 - before.0 + extra;
            let error = before.1
                + after.1
                + ROUNDING_TWICE * change.abs()
                + f64::EPSILON * extra
                + f64::MIN_POSITIVE;
            let mass = match side {
                Side::Upper => alpha * (change + error) * (1.0 + ROUNDING_TWICE),
                Side::Lower => alpha * (change - error) * (1.0 - ROUNDING_TWICE),
            };
            // NaN is kept, so that the measure is refused below.
            if mass > 0.0 || mass.is_nan() {
                masses[(dot.index - first) as usize] += mass;
            }
        };
        let flat = (0.0, 0.0);
        let inner = |dots: &[Dot], i: usize| {
            let before = if i == 0 {
                flat
            } else {
                self.slope(dots[i - 1], dots[i])
            };
            let after = if i + 1 == dots.len() {
                flat
            } else {
                self.slope(dots[i], dots[i + 1])
            };
            (before, after)
        };
        for i in 0..left.len() - 1 {
            let (before, after) = inner(&left, i);
            put(left[i], before, after, 0.0);
        }
        for i in 1..right.len() {
            let (before, after) = inner(&right, i);
            put(right[i], before, after, 0.0);
        }
        // At α = 1 the slope of (1 − α)₊ itself changes by one.
        let before = inner(&left, left.len() - 1).0;
        let after = inner(&right, 0).1;
        put(right[0], before, after, 1.0);
        Measure::new(self.exponent, first, masses)
    }
}
