//! Exponential tilting: the cumulant function of the sum on the real axis, and its saddle point.
//!
//! ```text
//! M(c) = E e^{cX},   K(c) = m ln M(c) + s c
//! ```
//!
//! M(c) − 1 is computed as c·EX + Σ π (e^{cx} − 1 − cx), with EX given: at m = 1e12 the M that matter differ
//! from 1 by 1e-11, and K must still be right to twelve digits. Where M is not near 1 the plain sum is the
//! accurate one.

use super::Sum;
use crate::laplace::{Kernel, Saddle};
use crate::rounding::ROUNDING;
use crate::saddle::{Found, SaddleSearch};
use crate::special::{exp, exponentials, ln, ln_1p};

/// The values are in units of the largest one, so that c has a known order of magnitude and bisection can use
/// the arithmetic middle.
const SEARCH: SaddleSearch = SaddleSearch {
    tolerance: 1e-3,
    shortest: 0.0,
    cut: 0.25,
    middle: |low, high| 0.5 * (low + high),
    range: (1e-290, 1e290),
};

/// ln M(c), and mean and variance of the tilted law π e^{cx}/M(c).
#[derive(Clone, Copy, Debug)]
pub(super) struct Tilt {
    pub(super) ln_moment: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
    /// Whether M(c) was computed from M(c) − 1.
    pub(super) near_one: bool,
}

impl Tilt {
    pub(super) fn at(sum: &Sum, c: f64) -> Self {
        // One pass has all exponentials: laws have hundreds of atoms, and a saddle takes several passes.
        let mut tilted = Vec::with_capacity(sum.atoms.len());
        let (mut second_order, mut slope) = (0.0, 0.0);
        for atom in sum.atoms {
            let (second, first, whole) = exponentials(c * atom.value);
            second_order += atom.weight * second;
            slope += atom.weight * atom.value * first;
            tilted.push(atom.weight * whole);
        }
        let excess = c * sum.mean + second_order;
        // No term of the second order is negative.
        let size = second_order - c * sum.mean;
        if size < 0.5 {
            let moment = 1.0 + excess;
            let mean = (sum.mean + slope) / moment;
            Self {
                ln_moment: ln_1p(excess),
                mean,
                variance: variance(sum, &tilted, mean) / moment,
                near_one: true,
            }
        } else {
            let top = largest_exponent(sum, c);
            tilted.clear();
            let weights = |atom: &super::Atom| atom.weight * exp(c * atom.value - top);
            tilted.extend(sum.atoms.iter().map(weights));
            let moment: f64 = tilted.iter().sum();
            let values = sum.atoms.iter().zip(&tilted);
            let mean = values.map(|(a, weight)| weight * a.value).sum::<f64>() / moment;
            Self {
                ln_moment: top + ln(moment),
                mean,
                variance: variance(sum, &tilted, mean) / moment,
                near_one: false,
            }
        }
    }

    /// K(c).
    pub(super) fn cumulant(&self, sum: &Sum, c: f64) -> f64 {
        sum.count * self.ln_moment + sum.shift * c
    }
}

/// Σ p (x − mean)², p the weights given.
fn variance(sum: &Sum, weights: &[f64], mean: f64) -> f64 {
    let values = sum.atoms.iter().zip(weights);
    values
        .map(|(a, weight)| weight * (a.value - mean).powi(2))
        .sum()
}

/// max c·x over the atoms that can occur.
pub(super) fn largest_exponent(sum: &Sum, c: f64) -> f64 {
    sum.atoms
        .iter()
        .filter(|atom| atom.weight > 0.0)
        .map(|atom| c * atom.value)
        .fold(f64::NEG_INFINITY, f64::max)
}

/// e^{cx − top} of every atom, and top: zero where M is near one, else the largest exponent.
pub(super) fn tilted(sum: &Sum, c: f64, near_one: bool) -> (Vec<f64>, f64) {
    let top = if near_one {
        0.0
    } else {
        largest_exponent(sum, c)
    };
    let of = |atom: &super::Atom| exp(c * atom.value - top);
    (sum.atoms.iter().map(of).collect(), top)
}

/// How errors in the atoms propagate to M on the line c + iθ.
///
/// With y = magnitude, |e^w − 1 − w| and |w (e^w − 1)| are below both |z|²·y² e^{(cx)₊} and (e^{cx} + 1)(1 +
/// |z| y) + |z| y.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorScale {
    mean: f64,
    quadratic: f64,
    constant: f64,
    linear: f64,
    near_one: bool,
}

impl ErrorScale {
    pub(super) fn new(sum: &Sum, c: f64, near_one: bool) -> Self {
        let (tilted, top) = tilted(sum, c, near_one);
        Self::of(sum, &tilted, top, near_one)
    }

    /// The same if e^{cx − `top`} is known.
    pub(super) fn of(sum: &Sum, tilted: &[f64], top: f64, near_one: bool) -> Self {
        let mut scale = Self {
            mean: sum.mean.abs(),
            quadratic: 0.0,
            constant: 0.0,
            linear: 0.0,
            near_one,
        };
        for (atom, &tilted) in sum.atoms.iter().zip(tilted) {
            let y = atom.magnitude;
            scale.quadratic += atom.weight * 2.0 * y * y * tilted.max(1.0);
            let floor = if near_one { 1.0 } else { 0.0 };
            // Subtracting `top` from an exponent has a rounding error in proportion to `top`, for every atom.
            scale.constant += atom.weight * (tilted * (1.0 + top.abs()) + floor);
            scale.linear += atom.weight * y * (tilted + 2.0 * floor);
        }
        scale
    }

    /// Bound on the error of M(c + iθ) (times e^{−top} when not near one).
    pub(super) fn moment_error(&self, modulus: f64) -> f64 {
        let plain = self.constant + modulus * self.linear;
        let size = if self.near_one {
            modulus * self.mean + plain.min(modulus * modulus * self.quadratic)
        } else {
            plain
        };
        2.0 * ROUNDING * size
    }
}

/// The saddle point: the c > 0 that minimizes K(c) − 2 ln c. There the integrand e^{K(z)}/z² is smallest on
/// the real axis and falls fastest away from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tilted {
    pub(super) saddle: Saddle,
    pub(super) tilt: Tilt,
}

impl Tilted {
    /// `None` where c would have to leave the range of doubles.
    pub(super) fn find(sum: &Sum) -> Option<Self> {
        let flat = Tilt::at(sum, 0.0);
        let total_mean = sum.count * sum.mean + sum.shift;
        let total_variance = sum.count * flat.variance;
        if !(total_variance > 0.0 && total_variance.is_finite()) {
            return None;
        }
        // Exact for a Gaussian sum. Capped, because e^{cx} of a skewed law may overflow at the Gaussian
        // guess.
        let gaussian = ((total_mean * total_mean + 8.0 * total_variance).sqrt() - total_mean)
            / (2.0 * total_variance);
        let largest = largest_exponent(sum, 1.0);
        let found = SEARCH.find(gaussian.min(30.0 / largest), Kernel::Ramp, |c| {
            let tilt = Tilt::at(sum, c);
            (sum.count * tilt.mean + sum.shift, sum.count * tilt.variance)
        });
        match found {
            Found::Saddle(c) | Found::Unfinished(c) => Self::at(sum, c),
            Found::OutOfRange => None,
        }
    }

    /// The width of the enclosure of ln E for a relative `accuracy` of the mean at which a value is reached:
    /// d ln E / d ln mean is about c times the mean of the sum.
    pub(super) fn target(&self, sum: &Sum, accuracy: f64) -> f64 {
        let leverage = (self.saddle.c * (sum.count * sum.mean + sum.shift).abs()).max(1.0);
        (accuracy * leverage).clamp(1e-11, 0.25)
    }

    /// The tilt at c, with the error of K(c).
    pub(super) fn at(sum: &Sum, c: f64) -> Option<Self> {
        let tilt = Tilt::at(sum, c);
        let cumulant = tilt.cumulant(sum, c);
        let variance = sum.count * tilt.variance;
        let scale = ErrorScale::new(sum, c, tilt.near_one);
        let size = if tilt.near_one {
            exp(tilt.ln_moment)
        } else {
            exp(tilt.ln_moment - largest_exponent(sum, c))
        };
        let error = sum.count * scale.moment_error(c) / size
            + ROUNDING * (1.0 + (sum.shift * c).abs() + (sum.count * tilt.ln_moment).abs());
        (cumulant.is_finite() && variance.is_finite() && error.is_finite()).then_some(Self {
            saddle: Saddle {
                c,
                cumulant,
                variance,
                error,
            },
            tilt,
        })
    }
}
