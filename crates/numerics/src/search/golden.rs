//! Golden section: the minimum of a function that first decreases and then increases.
//!
//! The result is an estimate, accurate to about the square root of the rounding error, because a function is
//! flat at its minimum. Callers that need a bound evaluate a bound that holds everywhere at the point found.

/// (√5 − 1)/2: the fraction of the interval that one step keeps.
fn kept() -> f64 {
    0.5 * (5f64.sqrt() - 1.0)
}

/// The middle of the interval that remains of [`low`, `high`] after `steps` steps. Two evaluations per step,
/// both at points computed from the ends, so that rounding errors do not accumulate.
///
/// ```
/// use shuffledp_numerics::search::golden_middle;
/// assert!((golden_middle(0.0, 10.0, 60, |x| (x - 3.0) * (x - 3.0)) - 3.0).abs() < 1e-7);
/// ```
pub fn golden_middle(low: f64, high: f64, steps: u32, f: impl Fn(f64) -> f64) -> f64 {
    let golden = kept();
    let (mut low, mut high) = (low, high);
    for _ in 0..steps {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if f(a) <= f(b) {
            high = b;
        } else {
            low = a;
        }
    }
    0.5 * (low + high)
}

/// The best inner point evaluated, with its value. The search ends when the interval is at most `width` long
/// or `ended`, called with its ends, returns true. One evaluation per step: one of the two inner points is
/// reused.
///
/// `None` where the interval is too short from the start, or no value is below infinity.
///
/// ```
/// use shuffledp_numerics::search::golden_best;
/// let never = |_, _| false;
/// let (x, value) = golden_best(0.0, 10.0, 1e-3, never, |x| (x - 3.0) * (x - 3.0)).unwrap();
/// assert!((x - 3.0).abs() < 1e-3 && value < 1e-6);
/// ```
pub fn golden_best(
    low: f64,
    high: f64,
    width: f64,
    ended: impl Fn(f64, f64) -> bool,
    f: impl Fn(f64) -> f64,
) -> Option<(f64, f64)> {
    let golden = kept();
    let left = |low: f64, high: f64| high - golden * (high - low);
    let right = |low: f64, high: f64| low + golden * (high - low);
    let (mut low, mut high) = (low, high);
    let (mut a, mut b) = (left(low, high), right(low, high));
    let (mut at_a, mut at_b) = (f(a), f(b));
    let mut best: Option<(f64, f64)> = None;
    while high - low > width {
        for candidate in [(a, at_a), (b, at_b)] {
            if candidate.1 < best.map_or(f64::INFINITY, |(_, value)| value) {
                best = Some(candidate);
            }
        }
        if ended(low, high) {
            break;
        }
        if at_a <= at_b {
            high = b;
            (b, at_b) = (a, at_a);
            a = left(low, high);
            at_a = f(a);
        } else {
            low = a;
            (a, at_a) = (b, at_b);
            b = right(low, high);
            at_b = f(b);
        }
    }
    best
}
