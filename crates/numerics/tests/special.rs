//! The elementary functions against correctly rounded ones (CORE-MATH), and the two of our own against their
//! series.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_numerics::special;

/// Distance in units in the last place of the reference.
fn ulps(got: f64, want: f64) -> f64 {
    let unit = (want.abs().next_up() - want.abs()).max(f64::MIN_POSITIVE);
    (got - want).abs() / unit
}

/// Deterministic points, evenly spread over [low, high] on a logarithmic or linear scale.
fn points(low: f64, high: f64, logarithmic: bool) -> impl Iterator<Item = f64> {
    let golden = 0.618_033_988_749_894_9;
    (0..200_000).map(move |i| {
        let t = (f64::from(i) * golden).fract();
        if logarithmic {
            (low.ln() + t * (high.ln() - low.ln())).exp()
        } else {
            low + t * (high - low)
        }
    })
}

fn worst(points: impl Iterator<Item = f64>, ours: fn(f64) -> f64, exact: fn(f64) -> f64) -> f64 {
    points.map(|x| ulps(ours(x), exact(x))).fold(0.0, f64::max)
}

#[test]
fn elementary_functions_are_within_one_unit_of_correct_rounding() {
    let sin = |x: f64| special::sin_cos(x).0;
    let cos = |x: f64| special::sin_cos(x).1;
    for (name, error) in [
        (
            "exp",
            worst(points(-700.0, 700.0, false), special::exp, core_math::exp),
        ),
        (
            "expm1",
            worst(
                points(1e-300, 700.0, true),
                special::expm1,
                core_math::expm1,
            ),
        ),
        (
            "expm1 < 0",
            worst(
                points(-40.0, -1e-9, false),
                special::expm1,
                core_math::expm1,
            ),
        ),
        (
            "ln",
            worst(points(1e-300, 1e300, true), special::ln, core_math::log),
        ),
        (
            "ln near 1",
            worst(points(0.5, 2.0, false), special::ln, core_math::log),
        ),
        (
            "ln_1p",
            worst(
                points(1e-300, 1e300, true),
                special::ln_1p,
                core_math::log1p,
            ),
        ),
        (
            "ln_1p < 0",
            worst(
                points(-0.999, -1e-9, false),
                special::ln_1p,
                core_math::log1p,
            ),
        ),
        ("sin", worst(points(1e-9, 1e9, true), sin, core_math::sin)),
        ("cos", worst(points(1e-9, 1e9, true), cos, core_math::cos)),
        (
            "ln_gamma",
            worst(
                points(1.1, 20.0, false),
                special::ln_gamma,
                core_math::lgamma,
            ),
        ),
    ] {
        assert!(error <= 1.0, "{name} is off by {error} ulp");
    }
}

#[test]
fn atan2_is_within_one_unit_of_correct_rounding() {
    for (i, y) in points(1e-12, 1.0, true).enumerate() {
        let x = if i % 2 == 0 { 1.0 - y } else { -1.0 + y };
        let error = ulps(special::atan2(y, x), core_math::atan2(y, x));
        assert!(error <= 1.0, "atan2({y}, {x}) is off by {error} ulp");
    }
}

/// Near multiples of π/2 and up to large angles, where a poor reduction loses digits.
#[test]
fn sine_and_cosine_keep_their_digits_in_every_quadrant() {
    let multiples = points(-7e4, 7e4, false)
        .zip(points(1e-17, 1.0, true))
        .map(|(k, off)| k.round() * std::f64::consts::FRAC_PI_2 * (1.0 + off));
    for x in points(-20.0, 20.0, false)
        .chain(points(-1.1e5, 1.1e5, false))
        .chain(multiples)
    {
        let (sin, cos) = special::sin_cos(x);
        let error = ulps(sin, core_math::sin(x)).max(ulps(cos, core_math::cos(x)));
        assert!(error <= 1.0, "sin_cos({x}) is off by {error} ulp");
    }
    for x in [0.0, -0.0, 1e300, 5e-324, 1e5, 1e5 + 1.0] {
        assert_eq!(special::sin_cos(x), (core_math::sin(x), core_math::cos(x)));
    }
    assert!(special::sin_cos(f64::NAN).0.is_nan() && special::sin_cos(f64::INFINITY).1.is_nan());
}

#[test]
fn angles_of_points_all_around_keep_their_digits() {
    for (turn, size) in points(-3.2, 3.2, false).zip(points(1e-150, 1e150, true)) {
        let (x, y) = (turn.cos() * size, turn.sin());
        for (y, x) in [
            (y * size, x),
            (y * 1e-3 * size, x),
            (y * size, 1e-3 * x),
            (y, x),
        ] {
            let error = ulps(special::atan2(y, x), core_math::atan2(y, x));
            assert!(error <= 1.0, "atan2({y}, {x}) is off by {error} ulp");
        }
    }
    for y in [0.0, -0.0, 1.0, -1.0, 1e-310, f64::INFINITY] {
        for x in [0.0, -0.0, 1.0, -1.0, 7.0 / 16.0, f64::NEG_INFINITY] {
            let (ours, exact) = (special::atan2(y, x), core_math::atan2(y, x));
            assert!(
                ulps(ours, exact) <= 1.0 || ours == exact,
                "atan2({y}, {x}): {ours} {exact}"
            );
        }
    }
    assert!(special::atan2(f64::NAN, 1.0).is_nan());
}

#[test]
fn functions_with_the_leading_terms_removed_keep_their_digits() {
    // The Taylor series from its first remaining term, smallest term first.
    let taylor = |x: f64, orders: &[u32], sign: fn(u32) -> f64| -> f64 {
        let term = |k: u32| (1..=k).map(|j| x / f64::from(j)).product::<f64>();
        orders.iter().rev().map(|&k| sign(k) * term(k)).sum()
    };
    let from_two: Vec<u32> = (2..60).collect();
    let odd_from_three: Vec<u32> = (3..60).step_by(2).collect();
    for i in 1..2000 {
        let x = f64::from(i) * 1e-3;
        let exponential = taylor(x, &from_two, |_| 1.0);
        let sine = taylor(x, &odd_from_three, |k| if k % 4 == 3 { -1.0 } else { 1.0 });
        assert!(
            (special::exp_minus_1_minus_x(x) / exponential - 1.0).abs() < 4e-15,
            "exp at {x}"
        );
        assert!(
            (special::sin_minus_x(x) / sine - 1.0).abs() < 4e-15,
            "sin at {x}"
        );
    }
}

/// There is no correctly rounded inverse to compare with: going back must lead to where it began, as far as
/// the slope lets one see.
#[test]
fn the_inverse_of_erfc_leads_back() {
    for x in points(1e-20, 1.0, true).chain(points(1.0, 1.999, false)) {
        let y = special::erfc_inv(x);
        // A unit in the last place of y moves erfc by 2|y|·|y| of itself, relatively, where it is small.
        let slack = 4e-16 * (4.0 + 4.0 * y * y);
        let back = core_math::erfc(y);
        assert!(
            (back / x - 1.0).abs() < slack,
            "erfc_inv({x:e}) = {y}: {:e}",
            back / x - 1.0
        );
    }
}
