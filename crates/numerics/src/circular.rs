//! Sine, cosine and the angle of a point, to less than one unit in the last place, in ordinary doubles.
//!
//! Transforms evaluate them for every atom at every node, most of the time of an answer. Correct rounding,
//! which other functions of [`crate::special`] have, takes several times as long and gains nothing there.
//!
//! * [`sin_cos`]: subtract k·π/2, π/2 in two parts of 33 and 53 bits, so that k times the first is exact.
//!   What is left has an error below 2^−69 up to [`LARGEST_ANGLE`]; the polynomials are those of FDLIBM
//!   (Sun Microsystems 1993), within 0.6 units on [−π/4, π/4].
//! * [`angle`]: turn the point by a multiple of π/2 and by atan(j/8), so that the tangent of the rest is
//!   small. The rounding error of the quotient is computed and added; the polynomial is that of FDLIBM.
//!
//! `tests/special.rs` measures both against correctly rounded functions.

/// Larger angles are left to another function: up to here, k has 16 bits, and k·[`HALF_PI_HEAD`] is exact.
const LARGEST_ANGLE: f64 = 1e5;
/// Closer to a multiple of π/2 than this, the error of the reduction shows in the digits of the sine.
const NEAR_MULTIPLE: f64 = 1.0 / 1024.0;
/// 2/π.
const PER_HALF_PI: f64 = std::f64::consts::FRAC_2_PI;
/// The first 33 bits of π/2, …
const HALF_PI_HEAD: f64 = 1.570_796_326_734_125_6;
/// … and the rest of it.
const HALF_PI_TAIL: f64 = 6.077_100_506_506_192e-11;
/// Adding and subtracting this rounds to a whole number.
const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;

/// (sin r − r)/r³ in powers of r².
const SINE: [f64; 6] = [
    -0.166_666_666_666_666_32,
    0.008_333_333_333_322_49,
    -0.000_198_412_698_298_579_5,
    2.755_731_370_707_006_8e-06,
    -2.505_076_025_340_686_3e-08,
    1.589_690_995_211_55e-10,
];
/// (cos r − 1 + r²/2)/r⁴ in powers of r².
const COSINE: [f64; 6] = [
    0.041_666_666_666_666_6,
    -0.001_388_888_888_887_411,
    2.480_158_728_947_673e-05,
    -2.755_731_435_139_066_3e-07,
    2.087_572_321_298_175e-09,
    -1.135_964_755_778_819_5e-11,
];

/// (sin x, cos x); `None` for large x, for x that is nearly a multiple of π/2, and for NaN.
#[inline]
pub(crate) fn sin_cos(x: f64) -> Option<(f64, f64)> {
    if x.is_nan() || x.abs() > LARGEST_ANGLE {
        return None;
    }
    let shifted = x * PER_HALF_PI + WHOLE;
    let k = shifted - WHOLE;
    let head = x - k * HALF_PI_HEAD;
    let tail = k * HALF_PI_TAIL;
    let r = head - tail;
    let r_low = (head - r) - tail;
    if r.abs() < NEAR_MULTIPLE && k != 0.0 {
        return None;
    }
    let z = r * r;
    let w = z * z;
    let [s1, s2, s3, s4, s5, s6] = SINE;
    let tail = s2 + z * (s3 + z * s4) + z * w * (s5 + z * s6);
    let cube = z * r;
    let sin = r - ((z * (0.5 * r_low - cube * tail) - r_low) - cube * s1);
    let [c1, c2, c3, c4, c5, c6] = COSINE;
    let tail = z * (c1 + z * (c2 + z * c3)) + w * w * (c4 + z * (c5 + z * c6));
    let half = 0.5 * z;
    let head = 1.0 - half;
    let cos = head + (((1.0 - head) - half) + (z * tail - r * r_low));
    // The last two bits of k, which are those of the shifted number.
    let quadrant = shifted.to_bits();
    let (a, b) = if quadrant & 1 == 0 {
        (sin, cos)
    } else {
        (cos, sin)
    };
    let flip = |value: f64, bit: u64| f64::from_bits(value.to_bits() ^ ((bit & 1) << 63));
    Some((flip(a, quadrant >> 1), flip(b, (quadrant >> 1) ^ quadrant)))
}

/// (atan t − t)/t³, up to its sign, in powers of t²: for |t| ≤ 7/16.
const ARCTANGENT: [f64; 11] = [
    0.333_333_333_333_329_3,
    -0.199_999_999_998_764_83,
    0.142_857_142_725_034_66,
    -0.111_111_104_054_623_56,
    0.090_908_871_334_365_07,
    -0.076_918_762_050_448_3,
    0.066_610_731_373_875_31,
    -0.058_335_701_337_905_735,
    0.049_768_779_946_159_324,
    -0.036_531_572_744_216_916,
    0.016_285_820_115_365_782,
];
/// Up to this tangent the polynomial is used as it is.
const SMALL_TANGENT: f64 = 7.0 / 16.0;
/// atan(j/8) for j = 4, …, 8, each as a double and the rest.
const TURNS: [(f64, f64); 5] = [
    (0.463_647_609_000_806_1, 2.269_877_745_296_168_7e-17),
    (0.558_599_315_343_562_4, -5.455_630_548_591_626_4e-18),
    (0.643_501_108_793_284_4, 1.583_478_505_144_428_6e-17),
    (0.718_829_999_621_624_5, -2.147_838_844_445_698_3e-17),
    (std::f64::consts::FRAC_PI_4, 3.061_616_997_868_383e-17),
];
/// π/2 and π in the same way.
const HALF_PI: (f64, f64) = (std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17);
const PI: (f64, f64) = (std::f64::consts::PI, 1.224_646_799_147_353_2e-16);
/// Points whose coordinates are outside this range are left to another function: the products below neither
/// overflow nor lose digits for these.
const USUAL: std::ops::Range<f64> = 1e-120..1e120;

/// The angle of the point (x, y), in [−π, π]; `None` where a coordinate is zero, very large or very small.
#[inline]
pub(crate) fn angle(y: f64, x: f64) -> Option<f64> {
    let (up, right) = (y.abs(), x.abs());
    if !(USUAL.contains(&up) && USUAL.contains(&right)) {
        return None;
    }
    let steep = up > right;
    let (small, large) = if steep { (right, up) } else { (up, right) };
    let tangent = small / large;
    // The angle of (small, large) is turn + atan q, q = over/under, `lost` the rounding error of q.
    let (turn, over, under) = if tangent <= SMALL_TANGENT {
        ((0.0, 0.0), small, large)
    } else {
        let j = (8.0 * tangent).round().max(4.0);
        let part = j / 8.0;
        let (product, error) = product(part, large);
        // The first difference is exact, by Sterbenz's lemma.
        let over = (small - product) - error;
        (TURNS[j as usize - 4], over, large + part * small)
    };
    let q = over / under;
    let (back, error) = product(q, under);
    let lost = ((over - back) - error) / under;
    let z = q * q;
    let w = z * z;
    let [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10] = ARCTANGENT;
    let even = z * (a0 + w * (a2 + w * (a4 + w * (a6 + w * (a8 + w * a10)))));
    let odd = w * (a1 + w * (a3 + w * (a5 + w * (a7 + w * a9))));
    // atan(q + lost) − q, to first order in `lost`.
    let rest = lost * (1.0 - z) - q * (even + odd);
    // base ± (turn + q + rest), where every part but the first is small or known in two parts.
    let (base, sign) = match (steep, x < 0.0) {
        (false, false) => ((0.0, 0.0), 1.0),
        (false, true) => (PI, -1.0),
        (true, false) => (HALF_PI, -1.0),
        (true, true) => (HALF_PI, 1.0),
    };
    let whole = base.0 + sign * turn.0;
    let low = ((base.0 - whole) + sign * turn.0) + (base.1 + sign * turn.1);
    let value = match whole == 0.0 {
        true => q + rest,
        false => whole + (sign * q + (sign * rest + low)),
    };
    Some(value.copysign(y))
}

/// a·b as a double and its rounding error, exactly (Dekker 1971).
#[inline]
fn product(a: f64, b: f64) -> (f64, f64) {
    let halves = |x: f64| {
        let scaled = 134_217_729.0 * x;
        let high = scaled - (scaled - x);
        (high, x - high)
    };
    let value = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let error = ((a_high * b_high - value) + a_high * b_low + a_low * b_high) + a_low * b_low;
    (value, error)
}
