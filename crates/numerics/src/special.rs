//! Elementary and special functions, nearly all from one crate.
//!
//! All come from `pxfm` (pure Rust, the same bits on every machine), but for sine, cosine and the angle of a
//! point, which are our own at ordinary arguments (`circular`); this is the only file that names it.
//! The error analysis of this workspace assumes [`ULPS`] = 2 units in the last place of the functions that
//! certified code calls; `tests/special.rs` measures their distance to correctly rounded functions, which is
//! below one. Three functions are less accurate, as documented: [`erf_inv`], [`erfc_inv`] and [`beta_share`].
//! No certified bound depends on them.

use crate::circular;

/// Assumed relative error of the functions of this file, in units of [`f64::EPSILON`], unless documented
/// otherwise: twice the largest error that the tests measure.
pub const ULPS: f64 = 2.0;

/// e^x.
#[inline]
pub fn exp(x: f64) -> f64 {
    pxfm::f_exp(x)
}

/// e^x − 1.
#[inline]
pub fn expm1(x: f64) -> f64 {
    pxfm::f_expm1(x)
}

/// ln x.
#[inline]
pub fn ln(x: f64) -> f64 {
    pxfm::f_log(x)
}

/// ln(1 + x).
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    pxfm::f_log1p(x)
}

/// ln(1 + x) − x, without cancellation near 0.
#[inline]
pub fn ln_1p_minus_x(x: f64) -> f64 {
    if x.abs() < 0.01 {
        // −x²/2 + x³/3 − …: the term left out is below 1e-17 of the first, and this is the common case.
        let mut tail = 1.0 / 9.0;
        for k in (2..=8).rev() {
            tail = 1.0 / f64::from(k) - x * tail;
        }
        return -x * x * tail;
    }
    pxfm::f_log1pmx(x)
}

/// (sin x, cos x).
#[inline]
pub fn sin_cos(x: f64) -> (f64, f64) {
    circular::sin_cos(x).unwrap_or_else(|| pxfm::f_sincos(x))
}

/// atan2(y, x).
#[inline]
pub fn atan2(y: f64, x: f64) -> f64 {
    circular::angle(y, x).unwrap_or_else(|| pxfm::f_atan2(y, x))
}

/// ln Γ(x), x > 0.
#[inline]
pub fn ln_gamma(x: f64) -> f64 {
    pxfm::f_lgamma(x)
}

/// erfc x.
#[inline]
pub fn erfc(x: f64) -> f64 {
    pxfm::f_erfc(x)
}

/// (f − s)!/k! for k = f, f + s, …, f = `first` and s = `stride`.
const fn over_factorials<const N: usize>(first: u32, stride: u32) -> [f64; N] {
    let mut values = [0.0; N];
    let (mut value, mut k, mut index) = (1.0, first - stride, 0);
    while index < N {
        let mut step = 0;
        while step < stride {
            k += 1;
            value /= k as f64;
            step += 1;
        }
        values[index] = value;
        index += 1;
    }
    values
}

/// e^x − 1 − x, without cancellation near 0.
///
/// ```
/// use shuffledp_numerics::special::exp_minus_1_minus_x;
/// // x²/2 + x³/6: subtracting would leave nothing but rounding.
/// assert!((exp_minus_1_minus_x(1e-9) / 5.000000001666667e-19 - 1.0).abs() < 1e-15);
/// ```
#[inline]
pub fn exp_minus_1_minus_x(x: f64) -> f64 {
    if x.abs() < 0.35 {
        // x²/2 · (1 + x/3 + x²/12 + …), the coefficients 2/k!: the first left out is below 1e-17 of the sum.
        const COEFFICIENTS: [f64; 13] = over_factorials(3, 1);
        let tail = COEFFICIENTS.iter().rev().fold(0.0, |tail, c| c + x * tail);
        0.5 * x * x * (1.0 + x * tail)
    } else {
        expm1(x) - x
    }
}

/// e^x − 1 − x, e^x − 1 and e^x for the price of one exponential. The first is that of
/// [`exp_minus_1_minus_x`]; the two others are known to two units in the last place.
#[inline]
pub fn exponentials(x: f64) -> (f64, f64, f64) {
    let (second, first) = if x.abs() < 0.35 {
        let second = exp_minus_1_minus_x(x);
        (second, x + second)
    } else {
        let first = expm1(x);
        (first - x, first)
    };
    // Further down 1 would cancel.
    let whole = if x > -0.5 { 1.0 + first } else { exp(x) };
    (second, first, whole)
}

/// sin x − x, without cancellation near 0.
#[inline]
pub fn sin_minus_x(x: f64) -> f64 {
    if x.abs() < 0.5 {
        // −x³/6 · (1 − x²/20 + x⁴/840 − …), the coefficients 6/k!: the first left out is below 1e-17 of the
        // sum.
        const COEFFICIENTS: [f64; 7] = over_factorials(5, 2);
        let square = x * x;
        let tail = COEFFICIENTS
            .iter()
            .rev()
            .fold(0.0, |tail, c| c - square * tail);
        -x * square / 6.0 * (1.0 - square * tail)
    } else {
        sin_cos(x).0 - x
    }
}

/// erf x.
#[inline]
pub fn erf(x: f64) -> f64 {
    pxfm::f_erf(x)
}

/// The inverse error function, to single precision (about 1e-7).
#[inline]
pub fn erf_inv(x: f32) -> f32 {
    pxfm::f_erfinvf(x)
}

/// The inverse of erfc, for x in [1e-20, 2). Below that it loses digits: erfc of the result is off by 2e-10
/// at x = 1e-50 and by 7e-6 at 1e-300, relatively.
#[inline]
pub fn erfc_inv(x: f64) -> f64 {
    pxfm::f_erfcinv(x)
}

/// The regularized incomplete beta function I_x(a, b), to about 1e-13.
#[inline]
pub fn beta_share(a: f64, b: f64, x: f64) -> f64 {
    pxfm::f_betainc_reg(a, b, x)
}
