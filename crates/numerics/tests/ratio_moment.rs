//! Moments of likelihood ratios, against enumeration of all counts in the obvious way.

use shuffledp_numerics::likelihood_ratio::{Atom, PairSum};

/// (E, P, Q) triples as atoms; the last one has the remaining probability.
fn atoms(entries: &[(f64, f64, f64)]) -> Vec<Atom> {
    entries
        .iter()
        .map(|&(weight, numerator, denominator)| Atom::new(weight, numerator, denominator))
        .collect()
}

/// (1/n) Σ over all sequences of draws of probability · A^λ B^{1−λ}, minus one.
fn enumerated(atoms: &[Atom], count: u32, shift: f64, order: f64) -> f64 {
    let n = f64::from(count) + shift;
    let kinds = atoms.len();
    let mut total = 0.0;
    for code in 0..kinds.pow(count) {
        let (mut p, mut a, mut b, mut rest) = (1.0, shift, shift, code);
        for _ in 0..count {
            let atom = &atoms[rest % kinds];
            p *= atom.weight;
            a += atom.numerator;
            b += atom.denominator;
            rest /= kinds;
        }
        if b > 0.0 {
            total += p * a.powf(order) * b.powf(1.0 - order) / n;
        }
    }
    total - 1.0
}

#[test]
fn small_sums_are_what_enumeration_says() {
    let e = 3.0;
    let p = 1.0 / (e + 3.0);
    for law in [
        atoms(&[(0.25, e, 1.0), (0.25, 1.0, e), (0.5, 0.0, 0.0)]),
        atoms(&[(0.75, 1.0, 1.0 / e), (0.25, 1.0, e)]),
        atoms(&[
            (p, e, 1.0),
            (p, 1.0, e),
            (2.0 * p, 1.0, 1.0),
            (2.0 * p, 0.0, 0.0),
        ]),
    ] {
        for (count, shift) in [(1, 0.0), (2, 0.0), (5, 0.0), (3, 4.0)] {
            for order in [1.01, 1.5, 2.0, 7.0, 60.0] {
                let pair = PairSum {
                    atoms: &law,
                    count: u64::from(count),
                    shift,
                };
                let got = pair.ln_excess_moment(order).exp();
                let truth = enumerated(&law, count, shift, order);
                assert!(
                    (got / truth - 1.0).abs() < 1e-9,
                    "{count} {shift} {order}: {got} {truth}"
                );
            }
        }
    }
}

#[test]
fn a_million_million_draws_keep_all_digits() {
    // To second order: λ(λ−1)/2 · χ²/n.
    let e = 4f64.exp();
    let w = 1.0 / (e + 1.0);
    let law = atoms(&[(w, e, 1.0), (w, 1.0, e), (1.0 - 2.0 * w, 0.0, 0.0)]);
    let pair = PairSum {
        atoms: &law,
        count: 1_000_000_000_000,
        shift: 0.0,
    };
    let chi_square = 2.0 * (e - 1.0).powi(2) / (e + 1.0);
    let got = pair.ln_excess_moment(2.0).exp();
    assert!((got / (chi_square / 1e12) - 1.0).abs() < 1e-9, "{got:e}");
}
