//! Where ε reaches a budget, as a function of one parameter: a search that asks little.
//!
//! The excess of ε over the budget is negative or zero on one side of a threshold and positive on the other,
//! and on logarithmic scales it is nearly linear in the value. An evaluation that is good to 1 % costs a
//! tenth of one that is good to the last digit, and its error hardly changes from a value to its neighbor.
//! So the search runs in passes: a rough one finds the place and the slope, and each finer one begins there
//! and follows the slope. Three fine evaluations are mostly enough.
//!
//! Both ends of what is returned were seen in the last pass, close to each other: a slope only says where to
//! look. Where ε bends sharply, as at the end of what shuffling hides, a secant is off by percents.

/// Relative distance in the value at which the search ends: 0.05 %.
pub(super) const TOLERANCE: f64 = 5e-4;
/// Values are aimed this far, relatively, to one side of the estimate and then to the other: two ends of
/// which one is twice as far off are still within [`TOLERANCE`].
const NUDGE: f64 = 0.3 * TOLERANCE;
/// The first stride of a pass that begins where a rougher one ended: the rougher one is seldom off by more.
const NEXT_STRIDE: f64 = 1.05;
/// The largest stride.
const MOST_STRIDE: f64 = 1e6;
/// A bracket is halved where so many values in a row have not made it half as wide.
const PATIENCE: u32 = 3;

/// One pass: the accuracy of its evaluations, and when it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// Relative accuracy of ε; that of the answer in the last pass.
    pub(super) accuracy: Option<f64>,
    /// A rough pass ends where a value lies this close to the threshold by its secant, as ln of their ratio;
    /// the last one where two values on either side do.
    closeness: f64,
    /// A secant counts if its two values are this close, as ln of their ratio. On logarithmic scales ε bends
    /// by no more than its slope, so that it is then off by far less than `closeness`.
    near: f64,
}

/// Evaluations at one accuracy alone.
pub(super) const FINE: [Pass; 1] = [Pass {
    accuracy: None,
    closeness: TOLERANCE,
    near: 0.02,
}];

/// Rough evaluations first. The rough thresholds are off by a few percent and a few tenths of a percent, so
/// that they need not be known better.
pub(super) const ROUGH_FIRST: [Pass; 3] = [
    Pass {
        accuracy: Some(1e-2),
        closeness: 1e-2,
        near: 0.1,
    },
    Pass {
        accuracy: Some(1e-3),
        closeness: 2e-3,
        near: 0.05,
    },
    FINE[0],
];

/// The same for what a lower bound exceeds. The last pass costs three times as much at the accuracy of an
/// answer, and gains less than the tolerance.
pub(super) const ROUGH_FIRST_BELOW: [Pass; 3] = [
    ROUGH_FIRST[0],
    ROUGH_FIRST[1],
    Pass {
        accuracy: Some(2e-4),
        ..FINE[0]
    },
];

/// What is searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values {
    /// The end of the range with the least ε, …
    pub(super) easiest: f64,
    /// … and the one with the most.
    pub(super) limit: f64,
    /// Whether they are whole numbers.
    pub(super) whole: bool,
    /// Whether the answer is the end that was seen to meet the budget, or the one that was seen to exceed it.
    pub(super) meets: bool,
}

/// Two values on either side of the threshold, as close as the search goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Threshold {
    /// Seen to meet the budget.
    pub(super) met: Option<f64>,
    /// Seen to exceed the budget.
    pub(super) unmet: Option<f64>,
}

/// A value that was tried, and the excess there.
#[derive(Clone, Copy, Debug)]
struct Tried {
    value: f64,
    excess: f64,
}

/// Where ε reaches the budget. `excess` is positive where it is larger, at the accuracy of a pass.
pub(super) fn threshold<E>(
    values: Values,
    (start, stride): (f64, f64),
    passes: &[Pass],
    excess: impl Fn(f64, Option<f64>) -> Result<f64, E>,
) -> Result<Threshold, E> {
    let (mut start, mut stride, mut slope) = (start, stride, None);
    let mut found = Threshold {
        met: None,
        unmet: None,
    };
    for (index, &pass) in passes.iter().enumerate() {
        let mut search = Search {
            values,
            pass,
            is_last: index + 1 == passes.len(),
            slope,
            met: None,
            unmet: None,
            latest: Vec::new(),
            stride,
            width: f64::INFINITY,
            slow: 0,
            aimed: None,
        };
        let mut next = Some(values.rounded(start));
        while let Some(value) = next {
            search.saw(value, excess(value, pass.accuracy)?);
            next = search.next();
        }
        start = search.end();
        (stride, slope) = (NEXT_STRIDE, search.secant().map(|(slope, _)| slope));
        found = Threshold {
            met: search.met.map(|tried| tried.value),
            unmet: search.unmet.map(|tried| tried.value),
        };
    }
    Ok(found)
}

impl Values {
    fn rounded(&self, value: f64) -> f64 {
        if self.whole { value.round() } else { value }
    }

    fn least(&self) -> f64 {
        self.easiest.min(self.limit)
    }

    fn most(&self) -> f64 {
        self.easiest.max(self.limit)
    }
}

/// One pass under way.
struct Search {
    values: Values,
    pass: Pass,
    is_last: bool,
    /// The slope that the pass before ended with.
    slope: Option<f64>,
    /// The closest values on either side.
    met: Option<Tried>,
    unmet: Option<Tried>,
    /// All values, the latest one last.
    latest: Vec<Tried>,
    stride: f64,
    /// ln of the ratio of the ends when it last was halved, and how many values have been tried since.
    width: f64,
    slow: u32,
    /// The estimate before this one.
    aimed: Option<f64>,
}

impl Search {
    fn saw(&mut self, value: f64, excess: f64) {
        let tried = Tried { value, excess };
        self.latest.push(tried);
        // Not a number counts as above the budget.
        if excess <= 0.0 {
            self.met = Some(tried);
        } else {
            self.unmet = Some(tried);
        }
        if let (Some(met), Some(unmet)) = (self.met, self.unmet) {
            let width = (met.value / unmet.value).ln().abs();
            self.slow += 1;
            if width <= 0.5 * self.width {
                (self.width, self.slow) = (width, 0);
            }
        }
    }

    /// The value tried last.
    fn last(&self) -> f64 {
        self.latest
            .last()
            .map_or(self.values.easiest, |tried| tried.value)
    }

    /// d excess/d ln value by the two values closest to the threshold, and ln of their ratio; without two,
    /// the slope of the pass before. None where it has the wrong sign.
    fn secant(&self) -> Option<(f64, f64)> {
        let rises = (self.values.limit - self.values.easiest).signum();
        let (slope, distance) = match &self.closest()[..] {
            [a, b, ..] => {
                let distance = (a.value / b.value).ln();
                ((a.excess - b.excess) / distance, distance.abs())
            }
            _ => (self.slope?, 0.0),
        };
        (slope.is_finite() && slope * rises > 0.0).then_some((slope, distance))
    }

    /// The values with a finite excess, the smallest one first.
    fn closest(&self) -> Vec<Tried> {
        let finite = self.latest.iter().filter(|tried| tried.excess.is_finite());
        let mut finite: Vec<Tried> = finite.copied().collect();
        finite.sort_by(|a, b| a.excess.abs().total_cmp(&b.excess.abs()));
        finite
    }

    /// Where the secant reaches the budget.
    fn estimate(&self) -> Option<f64> {
        let (slope, _) = self.secant()?;
        let closest = *self.closest().first()?;
        let estimate = closest.value * (-closest.excess / slope).exp();
        estimate.is_finite().then_some(estimate)
    }

    /// Where the next pass begins: the estimate, as far as it is between the ends.
    fn end(&self) -> f64 {
        let (met, unmet) = (self.met, self.unmet);
        let ends = [met.map(|end| end.value), unmet.map(|end| end.value)];
        let (least, most) = match ends {
            [Some(met), Some(unmet)] => (met.min(unmet), met.max(unmet)),
            _ => (self.values.least(), self.values.most()),
        };
        self.estimate().unwrap_or(self.last()).clamp(least, most)
    }

    /// How close two ends on either side of the threshold need to be, as ln of their ratio.
    fn tolerance(&self) -> f64 {
        match self.is_last {
            true => TOLERANCE.ln_1p(),
            false => self.pass.closeness,
        }
    }

    /// Whether the pass may end.
    fn is_done(&self) -> bool {
        if let (Some(met), Some(unmet)) = (self.met, self.unmet) {
            let close = match self.values.whole {
                true => (met.value - unmet.value).abs() <= 1.0,
                false => (met.value / unmet.value).ln().abs() <= self.tolerance(),
            };
            if close {
                return true;
            }
        }
        let (Some((_, distance)), Some(estimate)) = (self.secant(), self.estimate()) else {
            return false;
        };
        let is_close = |tried: &Tried| (tried.value / estimate).ln().abs() <= self.pass.closeness;
        !self.is_last && distance <= self.pass.near && self.closest().first().is_some_and(is_close)
    }

    /// The next value to try; none where the pass ends.
    fn next(&mut self) -> Option<f64> {
        if self.is_done() {
            return None;
        }
        let estimate = self.estimate();
        let (Some(met), Some(unmet)) = (self.met, self.unmet) else {
            return self.onwards(estimate);
        };
        let (low, high) = (met.value.min(unmet.value), met.value.max(unmet.value));
        // With the sign of the way from the threshold to the values that meet the budget.
        let to_met = (met.value - unmet.value).signum();
        let inside = estimate.filter(|value| *value > low && *value < high);
        let aim = match inside {
            Some(value) if self.slow < PATIENCE => {
                // Whole numbers need both neighbors of the threshold: as far off as the estimate may be.
                let nudge = match (self.values.whole, self.aimed) {
                    (true, Some(before)) => (value - before).abs().clamp(0.5, 0.5 + NUDGE * value),
                    (true, None) => 0.5 + NUDGE * value,
                    (false, _) => NUDGE * value,
                };
                // To the side that is asked for, or to the other one if that end is there already.
                let wanted = if self.values.meets { met } else { unmet };
                let to_wanted = if self.values.meets { to_met } else { -to_met };
                match (wanted.value - value).abs() <= 2.0 * nudge {
                    true => value - to_wanted * nudge,
                    false => value + to_wanted * nudge,
                }
            }
            _ => {
                self.slow = 0;
                f64::NAN
            }
        };
        self.aimed = estimate;
        let aim = self.values.rounded(aim);
        if aim > low && aim < high {
            return Some(aim);
        }
        Some(match self.values.whole {
            // A number between them: the ends are not neighbors.
            true => (low.sqrt() * high.sqrt())
                .round()
                .clamp(low + 1.0, high - 1.0),
            false => low.sqrt() * high.sqrt(),
        })
    }

    /// The next value where all so far are on one side; none at the end of the range.
    fn onwards(&mut self, estimate: Option<f64>) -> Option<f64> {
        let value = self.last();
        let towards = match self.met {
            Some(_) => self.values.limit,
            None => self.values.easiest,
        };
        if value == towards {
            return None;
        }
        let up = towards > value;
        let sign = if up { 1.0 } else { -1.0 };
        let stride = value * self.stride.powf(sign);
        // Beyond the estimate if that is the side asked for or the value is next to it, else before.
        let is_close = |estimate: f64| (value / estimate).ln().abs() <= 2.0 * NUDGE;
        let crosses = self.met.is_none() == self.values.meets || estimate.is_some_and(is_close);
        let beyond = crosses == up;
        let nudged = estimate.map(|value| value * if beyond { 1.0 + NUDGE } else { 1.0 - NUDGE });
        let is_ahead = |aim: &f64| (*aim - value) * sign > 0.0 && (stride - *aim) * sign > 0.0;
        let next = nudged.filter(is_ahead).unwrap_or(stride);
        // A stride that was not needed in full is kept.
        if next == stride {
            self.stride = (self.stride * self.stride).min(MOST_STRIDE);
        }
        let next = next.clamp(self.values.least(), self.values.most());
        let rounded = self.values.rounded(next);
        // Whole numbers move by one at least.
        Some(match rounded == value {
            true => value + sign,
            false => rounded,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{FINE, Pass, ROUGH_FIRST, TOLERANCE, Threshold, Values, threshold};
    use std::cell::RefCell;

    /// The values tried, with the accuracies, and what was found.
    fn search(
        values: Values,
        start: f64,
        passes: &[Pass],
        excess: impl Fn(f64, Option<f64>) -> f64,
    ) -> (Threshold, Vec<(f64, Option<f64>)>) {
        let tried = RefCell::new(Vec::new());
        let found = threshold(values, (start, 4.0), passes, |value, accuracy| {
            tried.borrow_mut().push((value, accuracy));
            Ok::<f64, ()>(excess(value, accuracy))
        });
        (found.unwrap(), tried.into_inner())
    }

    /// ε falls as a power of σ that changes with σ, and rough evaluations are off by about their accuracy.
    #[test]
    fn a_few_fine_evaluations_are_enough() {
        let mut most = 0;
        for i in 0..200 {
            let budget = (-6.0 + 0.05 * f64::from(i)).exp();
            for (meets, bias) in [(true, 0.1), (false, -10.0), (false, -3.0)] {
                let values = Values {
                    easiest: 1e6,
                    limit: 0.15,
                    whole: false,
                    meets,
                };
                // ε = σ^−1 + σ^−3/4.
                let exact = |sigma: f64| (1.0 / sigma + 0.25 / sigma.powi(3)).ln() - budget.ln();
                let (found, tried) = search(values, 2.0, &ROUGH_FIRST, |sigma, accuracy| {
                    exact(sigma) + bias * accuracy.unwrap_or(0.0)
                });
                let fine = tried.iter().filter(|(_, accuracy)| accuracy.is_none());
                most = most.max(fine.count());
                let end = if meets { found.met } else { found.unmet }.unwrap();
                assert_eq!(exact(end) <= 0.0, meets, "{budget} {found:?}");
                // A little further it is on the other side.
                let further = end * (1.0 + TOLERANCE).powf(if meets { -1.0 } else { 1.0 });
                assert_eq!(exact(further) <= 0.0, !meets, "{budget} {found:?}");
                assert!(tried.len() < 20, "{tried:?}");
            }
        }
        assert!(most <= 6, "{most}");
    }

    /// Of whole numbers the neighbors of the threshold are seen at the last accuracy.
    #[test]
    fn whole_numbers_end_at_neighbors() {
        for truth in [1.5, 2.5, 3.5, 17.5, 1000.5, 123_456.5, 9_876_543_210.5] {
            for (easiest, limit, power) in [(1.0, 1e12, 0.5), (1e12, 1.0, -0.5)] {
                for meets in [true, false] {
                    let values = Values {
                        easiest,
                        limit,
                        whole: true,
                        meets,
                    };
                    let (found, tried) = search(values, 16.0, &ROUGH_FIRST, |value, accuracy| {
                        power * (value / truth).ln() + 3.0 * accuracy.unwrap_or(0.0)
                    });
                    let (low, high) = (truth - 0.5, truth + 0.5);
                    let ends = if limit > easiest {
                        [low, high]
                    } else {
                        [high, low]
                    };
                    assert_eq!([found.met, found.unmet].map(Option::unwrap), ends);
                    let fine = |value| tried.contains(&(value, None));
                    assert!(fine(low) && fine(high));
                    assert!(tried.len() < 30, "{} {tried:?}", tried.len());
                }
            }
        }
    }

    /// A step has no slope, and an excess may be infinite on either side.
    #[test]
    fn steps_are_found() {
        for (below, above) in [
            (f64::NEG_INFINITY, f64::INFINITY),
            (f64::NEG_INFINITY, 0.3),
            (-0.7, f64::INFINITY),
            (-1.0, 2.0),
            (-1.0, f64::NAN),
        ] {
            for passes in [&FINE[..], &ROUGH_FIRST[..]] {
                for meets in [true, false] {
                    let values = Values {
                        easiest: 1e-12,
                        limit: 100.0,
                        whole: false,
                        meets,
                    };
                    let step = |value: f64| if value <= 0.0123 { below } else { above };
                    let (found, tried) = search(values, 1.0, passes, |value, _| step(value));
                    let (met, unmet) = (found.met.unwrap(), found.unmet.unwrap());
                    assert!(met <= 0.0123 && unmet > 0.0123);
                    assert!(unmet / met <= 1.0 + 1.01 * TOLERANCE, "{met} {unmet}");
                    assert!(tried.len() < 60, "{}", tried.len());
                }
            }
        }
    }

    /// Where all values meet the budget, or none does, the end of the range is seen, whatever rough
    /// evaluations say.
    #[test]
    fn the_ends_of_the_range() {
        let values = |easiest: f64, limit: f64| Values {
            easiest,
            limit,
            whole: false,
            meets: true,
        };
        for bias in [0.0, 100.0, -100.0] {
            let excess = |sign: f64| {
                move |value: f64, accuracy: Option<f64>| {
                    sign + 1e-3 * value.ln() + bias * accuracy.unwrap_or(0.0)
                }
            };
            let (found, _) = search(values(1e-3, 1e3), 1.0, &ROUGH_FIRST, excess(-1.0));
            assert_eq!((found.met, found.unmet), (Some(1e3), None));
            let (found, _) = search(values(1e-3, 1e3), 1.0, &ROUGH_FIRST, excess(1.0));
            assert_eq!((found.met, found.unmet), (None, Some(1e-3)));
        }
    }
}
