//! The zero of a decreasing function, with a result that states which end is safe.
//!
//! The function is known as an enclosure only, so there is no single root, but a point where the certified
//! value is at or below zero, and a point close by where it is not. The search keeps that bracket throughout,
//! so stopping early costs tightness and never soundness.

/// Two points around the crossing of a falling function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Here the function was still above zero (or this is the lower end that was given).
    pub above: f64,
    /// Here the function was at or below zero (or this is the upper end that was given).
    pub below: f64,
}

/// Limits the evaluations to twice the 60 that bisection alone needs to reach neighboring doubles.
const MAX_EVALUATIONS: u32 = 120;

/// Where a falling `function` crosses zero within (`low`, `high`), to a relative distance `tolerance`.
///
/// The ends are not checked: the function must be above zero at `low`, and at or below zero at `high`. Values
/// may be infinite. Secant steps from `guess` (a point, and its relative error), with bisection whenever they
/// do not halve the bracket.
///
/// ```
/// use shuffledp_numerics::search::falling_crossing;
/// let root = falling_crossing(0.0, 10.0, (1.0, 0.02), 1e-12, |x| 2.0 - x * x);
/// assert!(root.above <= 2f64.sqrt() && 2f64.sqrt() <= root.below);
/// assert!(root.below - root.above <= 1e-12 * root.below);
/// ```
pub fn falling_crossing(
    low: f64,
    high: f64,
    guess: (f64, f64),
    tolerance: f64,
    mut function: impl FnMut(f64) -> f64,
) -> Crossing {
    let mut above = Point {
        x: low,
        value: f64::INFINITY,
    };
    let mut below = Point {
        x: high,
        value: f64::NEG_INFINITY,
    };
    let (mut next, mut stride) = guess;
    let mut width_before = f64::INFINITY;
    for evaluation in 0..MAX_EVALUATIONS {
        let width = below.x - above.x;
        if width <= tolerance * below.x || above.x.next_up() >= below.x {
            break;
        }
        // If the bracket has not halved in three evaluations, secants converge badly: bisect.
        let bisect = evaluation % 3 == 2 && width > 0.5 * width_before;
        if evaluation % 3 == 2 {
            width_before = width;
        }
        if bisect || !(next > above.x && next < below.x) {
            next = middle(above.x, below.x);
        }
        let point = Point {
            x: next,
            value: function(next),
        };
        if point.value.is_nan() {
            // The value gives no information, so the bracket is the result.
            break;
        }
        if point.value > 0.0 {
            above = point;
        } else {
            below = point;
        }
        next = match (above.value.is_finite(), below.value.is_finite()) {
            (true, true) => secant(above, below, tolerance),
            // Only one side has been evaluated: step towards the other, by larger and larger steps.
            (true, false) => above.x * (1.0 + stride),
            (false, true) => below.x * (1.0 - stride),
            (false, false) => f64::NAN,
        };
        stride = (4.0 * stride).min(0.9);
    }
    Crossing {
        above: above.x,
        below: below.x,
    }
}

#[derive(Clone, Copy)]
struct Point {
    x: f64,
    value: f64,
}

/// The secant's root, moved by just under half the tolerance so that the bracket closes from the farther
/// side.
fn secant(above: Point, below: Point, tolerance: f64) -> f64 {
    let x = above.x + (below.x - above.x) * above.value / (above.value - below.value);
    let nudge = 0.45 * tolerance * x;
    if below.x - x > x - above.x {
        x + nudge
    } else {
        x - nudge
    }
}

/// The middle: geometric where the ends are positive and far apart, so that tiny roots are found as fast as
/// large ones.
fn middle(low: f64, high: f64) -> f64 {
    if low > 0.0 && high > 4.0 * low {
        low.sqrt() * high.sqrt()
    } else if low == 0.0 && high > 1e-300 {
        high * 1e-3
    } else {
        low + 0.5 * (high - low)
    }
}
