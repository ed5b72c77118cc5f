//! Binomial and multinomial probabilities against 40-digit values (golden/binomial.csv,
//! golden/multinomial.csv).

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{golden, number};
use shuffledp_numerics::binomial::Binomial;
use shuffledp_numerics::multinomial;

/// Relative error of e^got against e^want: about 1e-13, plus what rounding ln P itself to a double costs.
fn check(what: &str, row: &[String], got: f64, want: f64, slack: f64) {
    let error = (got - want).abs();
    assert!(
        error <= 1e-13 + 4e-16 * want.abs() + slack || got == want,
        "{what} of {row:?}: {got} is off by {error:e}"
    );
}

#[test]
fn probabilities_and_tails_agree_with_ball_arithmetic() {
    let rows = golden("binomial.csv");
    assert!(rows.len() > 100);
    for row in rows {
        let (n, k) = (number(&row[0]) as u64, number(&row[1]) as u64);
        let law = Binomial::new(n, number(&row[2])).unwrap();
        for (column, what, got) in [
            (3, "probability", law.ln_pmf(k)),
            (4, "upper tail", law.ln_upper_tail(k)),
            (5, "lower tail", law.ln_lower_tail(k)),
        ] {
            // Rows beyond n = 1e12 hold the probability only.
            if let Some(cell) = row.get(column).filter(|cell| !cell.is_empty()) {
                check(what, &row, got, number(cell), 0.0);
            }
        }
    }
}

#[test]
fn tails_meet_at_every_split() {
    // Where the methods hand over to each other: P[X ≥ k] + P[X < k] = 1, and tails fall strictly.
    for (n, p) in [
        (50u64, 0.3),
        (10_000, 0.5),
        (16_000_000, 0.5),
        (4_000_000_000, 0.001),
    ] {
        let law = Binomial::new(n, p).unwrap();
        let mean = n as f64 * p;
        let deviation = (mean * (1.0 - p)).sqrt();
        let mut last = f64::INFINITY;
        for tenth in -60..60 {
            let k = (mean + 0.1 * f64::from(tenth) * deviation).round().max(1.0) as u64;
            let (above, below) = (law.ln_upper_tail(k), law.ln_lower_tail(k - 1));
            assert!(
                (above.exp() + below.exp() - 1.0).abs() < 1e-13,
                "n {n} p {p} k {k}"
            );
            assert!(above <= last, "n {n} p {p} k {k}");
            last = above;
        }
    }
}

#[test]
fn edges_are_exact() {
    let law = Binomial::new(10, 0.25).unwrap();
    assert_eq!(law.ln_upper_tail(0), 0.0);
    assert_eq!(law.ln_lower_tail(10), 0.0);
    assert_eq!(law.ln_upper_tail(11), f64::NEG_INFINITY);
    assert_eq!(law.ln_pmf(11), f64::NEG_INFINITY);
    let never = Binomial::new(10, 0.0).unwrap();
    assert_eq!(
        (never.ln_pmf(0), never.ln_upper_tail(1)),
        (0.0, f64::NEG_INFINITY)
    );
    let always = Binomial::new(10, 1.0).unwrap();
    assert_eq!((always.ln_pmf(10), always.ln_upper_tail(10)), (0.0, 0.0));
    for p in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(Binomial::new(10, p).is_none());
    }
}

#[test]
fn multinomial_probabilities_agree_with_ball_arithmetic() {
    let rows = golden("multinomial.csv");
    assert!(rows.len() >= 20);
    let list = |cell: &str| -> Vec<f64> { cell.split_whitespace().map(number).collect() };
    for row in rows {
        let counts = list(&row[1]);
        let mut probabilities = list(&row[2]);
        let last = 1.0 - probabilities.iter().sum::<f64>();
        probabilities.push(last);
        // The table's last probability is exact and ours is a double: that alone is worth this much.
        let astray = counts[counts.len() - 1] - number(&row[0]) * last;
        let got = multinomial::ln_pmf(&counts, &probabilities);
        check(
            "probability",
            &row,
            got,
            number(&row[3]),
            3e-16 * astray.abs() / last,
        );
    }
}
