//! Printed numbers: digits rounded to the safe side, short decimals, grouped thousands.

use crate::bound::Side;

/// Significant digits by default.
const DIGITS: usize = 6;

/// Six significant digits, rounded up for an upper bound and down for a lower one; `value` is not negative.
///
/// ```
/// use shuffledp_accounting::{Side, rounded};
/// assert_eq!(rounded(0.45072961, Side::Upper), "0.450730");
/// assert_eq!(rounded(0.45072961, Side::Lower), "0.450729");
/// ```
pub fn rounded(value: f64, side: Side) -> String {
    rounded_to(DIGITS, value, side)
}
/// The same with another number of digits.
pub fn rounded_to(places: usize, value: f64, side: Side) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    // Rust prints the exact decimal expansion; cutting it rounds down, and anything cut off rounds up.
    let exact = format!("{value:.60e}");
    let (mantissa, exponent) = exact.split_once('e').unwrap_or((&exact, "0"));
    let mut exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = mantissa.replace('.', "");
    let (kept, cut) = digits.split_at(places);
    let mut kept: u64 = kept.parse().unwrap_or(0);
    if side == Side::Upper && cut.contains(|digit| digit != '0') {
        kept += 1;
    }
    if kept == 10u64.pow(places as u32) {
        kept /= 10;
        exponent += 1;
    }
    let kept = kept.to_string();
    if (-5..0).contains(&exponent) {
        format!("0.{}{kept}", "0".repeat((-exponent - 1) as usize))
    } else if (0..places as i32 - 1).contains(&exponent) {
        let (whole, fraction) = kept.split_at(exponent as usize + 1);
        format!("{whole}.{fraction}")
    } else {
        let (first, rest) = kept.split_at(1);
        format!("{first}.{rest}e{exponent}")
    }
}

/// A number as a person would write it: 0.05, 4, 1e-8.
pub fn plain(value: f64) -> String {
    if value == 0.0 || (1e-4..1e7).contains(&value.abs()) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// 1000000 as 1,000,000.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{grouped, plain, rounded};
    use crate::bound::Side::{Lower, Upper};

    #[test]
    fn printed_digits_never_cross_the_bound() {
        assert_eq!(rounded(0.450_729_61, Upper), "0.450730");
        assert_eq!(rounded(0.450_729_61, Lower), "0.450729");
        assert_eq!(rounded(1.234_561e-9, Upper), "1.23457e-9");
        assert_eq!(rounded(1.234_567e-9, Lower), "1.23456e-9");
        assert_eq!(rounded(0.999_999_9, Upper), "1.00000");
        assert_eq!(rounded(4.0, Upper), "4.00000");
        assert_eq!(rounded(0.999_999_95, Lower), "0.999999");
        assert_eq!(rounded(0.0, Lower), "0");
        let mut x = 1.0e-300;
        while x < 1e10 {
            let (up, down): (f64, f64) = (
                rounded(x, Upper).parse().unwrap(),
                rounded(x, Lower).parse().unwrap(),
            );
            assert!(
                down <= x && x <= up && up - down <= 1.1e-5 * x,
                "{x}: {down} {up}"
            );
            x *= 1.234_567_891;
        }
    }

    #[test]
    fn plain_numbers_are_short() {
        assert_eq!(
            [1.0, 0.05, 1e-8, 1e9].map(plain),
            ["1", "0.05", "1e-8", "1e9"]
        );
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000_000), "1,000,000");
    }
}
