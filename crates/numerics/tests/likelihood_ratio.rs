//! Counting outcomes into cells, against the expected positive part evaluated one α at a time, which is
//! another algorithm.

use shuffledp_numerics::likelihood_ratio::{Atom, Cells, PairSum};
use shuffledp_numerics::positive_part::{self, Sum};

/// Clones of randomized response with e^ε₀ = ratio: (1/(E+1); E; 1), mirrored, and a left-over.
fn clones(ratio: f64) -> Vec<Atom> {
    let weight = 1.0 / (ratio + 1.0);
    [
        (weight, ratio, 1.0),
        (weight, 1.0, ratio),
        (1.0 - 2.0 * weight, 0.0, 0.0),
    ]
    .map(|(weight, numerator, denominator)| Atom::new(weight, numerator, denominator))
    .to_vec()
}

/// With a shared atom as well, as under check-in.
fn checked_in(ratio: f64, rate: f64) -> Vec<Atom> {
    let mut atoms = clones(ratio);
    atoms.iter_mut().for_each(|atom| atom.weight *= rate);
    atoms.push(Atom::new(1.0 - rate, 1.0, 1.0));
    atoms
}

/// ln (1/n) E(A − αB)₊.
fn directly(pair: &PairSum, alpha: f64) -> (f64, f64) {
    let atoms: Vec<positive_part::Atom> = pair
        .atoms
        .iter()
        .map(|atom| positive_part::Atom {
            weight: atom.weight,
            value: atom.numerator - alpha * atom.denominator,
            magnitude: atom.numerator + alpha * atom.denominator,
        })
        .collect();
    let sum = Sum {
        atoms: &atoms,
        mean: 1.0 - alpha,
        count: pair.count as f64,
        shift: pair.shift * (1.0 - alpha),
    };
    let ln_n = (pair.count as f64 + pair.shift).ln();
    let enclosure = sum.ln_positive_part(1e-9);
    (enclosure.lower - ln_n, enclosure.upper - ln_n)
}

#[test]
fn sums_over_cells_are_expected_positive_parts() {
    for (atoms, count, shift, step) in [
        (clones(3.0), 7, 0.0, 0.05),
        (clones(3.0), 400, 0.0, 0.02),
        (clones(50.0), 10_000, 0.0, 0.01),
        (clones(8.0), 100, 9_900.0, 1e-4),
        (checked_in(8.0, 0.05), 1_000, 0.0, 0.002),
    ] {
        let pair = PairSum {
            atoms: &atoms,
            count,
            shift,
        };
        let last = 60;
        let cells = pair.cells(step, (0, last), -80.0).unwrap();
        let alpha = |i: i64| (i as f64 * step).exp();
        for i in (0..last).step_by(7) {
            // Each outcome above αᵢ has B-mass (rise + fall)/gap and is rise + (αⱼ − αᵢ)·mass beyond it.
            let mut h = cells.above.0 + cells.above.1 * (alpha(last) - alpha(i));
            for j in i..last {
                let (rise, fall) = cells.inside[j as usize];
                let gap = alpha(j + 1) - alpha(j);
                h += rise + (rise + fall) / gap * (alpha(j) - alpha(i));
            }
            let (lower, upper) = directly(&pair, alpha(i));
            if upper < -60.0 {
                continue;
            }
            let slack = cells.relative_error + 1e-9 + cells.dropped / h + 10.0 * Cells::SHIFT / h;
            assert!(
                h.ln() >= lower - slack && h.ln() <= upper + slack,
                "{count} {shift} {i}: {} not in [{lower}, {upper}] ± {slack}",
                h.ln()
            );
        }
    }
}

#[test]
fn nothing_is_lost() {
    // E A/n = 1, in whichever cell the outcomes are.
    let atoms = clones(20.0);
    let pair = PairSum {
        atoms: &atoms,
        count: 2_000,
        shift: 0.0,
    };
    for (step, nodes) in [(0.01, (-300, 300)), (0.01, (-3, 3)), (0.5, (-1, 0))] {
        let cells = pair.cells(step, nodes, -40.0).unwrap();
        let alpha = |i: i64| (i as f64 * step).exp();
        let mut total = cells.below + cells.above.0 + cells.above.1 * alpha(nodes.1);
        for (i, (rise, fall)) in cells.inside.iter().enumerate() {
            let start = alpha(nodes.0 + i as i64);
            let gap = alpha(nodes.0 + i as i64 + 1) - start;
            total += rise + start * (rise + fall) / gap;
        }
        assert!(
            (total - 1.0).abs() < 1e-11 + cells.dropped,
            "{step} {nodes:?}: {total}"
        );
        assert!(cells.dropped < 1e-14);
    }
}
