//! The saddle point of a Laplace integral: the c > 0 that minimizes K(c) + ln f̂(c).
//!
//! There the integrand e^{K(z)} f̂(z) is smallest on the real axis and falls fastest away from it. It is
//! found by Newton's method on the derivative K′(c) − pull(c) (see [`Kernel::pull`]), which increases, within
//! a bracket that every step shrinks.
//!
//! Standing: none is needed. The integral has the same value along every line Re z = c > 0, so c affects the
//! number of nodes and never the result.

use crate::laplace::Kernel;

/// The parameters of a search. They depend on how far from Gaussian the sum may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SaddleSearch {
    /// The search ends when Newton's step is at most this fraction of c.
    pub(crate) tolerance: f64,
    /// A Newton step to less than this fraction of c is replaced by a bisection.
    pub(crate) shortest: f64,
    /// While the bracket has no lower end, the next point is this fraction of the upper end.
    pub(crate) cut: f64,
    /// The middle of the bracket.
    pub(crate) middle: fn(f64, f64) -> f64,
    /// Outside this range the search fails.
    pub(crate) range: (f64, f64),
}

/// How a search ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// At the saddle point, to within the tolerance.
    Saddle(f64),
    /// At this point after [`MOST_STEPS`].
    Unfinished(f64),
    /// Outside the range where K can be evaluated.
    OutOfRange,
}

/// Limits the time of a search. Newton's method takes some five steps; bisection over the whole range of
/// doubles would take about a thousand.
const MOST_STEPS: usize = 200;

impl SaddleSearch {
    /// Whether K can be evaluated here.
    pub(crate) fn is_within(&self, c: f64) -> bool {
        c > self.range.0 && c < self.range.1
    }

    /// The saddle point for a kernel, from a first guess; `derivatives` are K′ and K″.
    pub(crate) fn find(
        &self,
        guess: f64,
        kernel: Kernel,
        derivatives: impl Fn(f64) -> (f64, f64),
    ) -> Found {
        let mut c = guess;
        let (mut low, mut high) = (0.0, f64::INFINITY);
        for _ in 0..MOST_STEPS {
            let (first, second) = derivatives(c);
            let (pull, stiffness) = kernel.pull(c);
            let slope = first - pull;
            if !slope.is_finite() || slope > 0.0 {
                high = c;
            } else {
                low = c;
            }
            let newton = c - slope / (second + stiffness);
            if slope.is_finite() && (newton - c).abs() <= self.tolerance * c {
                return Found::Saddle(c);
            }
            c = if newton > self.shortest * c && newton > low && newton < high {
                newton
            } else if high == f64::INFINITY {
                4.0 * c
            } else if low == 0.0 {
                self.cut * high
            } else {
                (self.middle)(low, high)
            };
            if !self.is_within(c) {
                return Found::OutOfRange;
            }
        }
        Found::Unfinished(c)
    }
}
