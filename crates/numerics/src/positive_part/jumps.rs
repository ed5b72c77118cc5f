//! Rare jumps: laws whose large values are so rare that hardly ever two of them occur among all terms.
//!
//! With so few jumps the transform of the sum does not decay, and the contour integral is far larger than its
//! value: it takes its longest and finds nothing. A few sums over the atoms then say as much. Where s ≤ 0,
//!
//! ```text
//! E(S)₊ ≤ m E X₊
//! E(S)₊ ≥ m E(X−K)₊ (1 − p),            p ≥ P(K + the other terms, clipped at K, + s ≤ 0)
//! E(S)₊ ≥ (1 − m q) m E[X; X ≥ −ℓ] + s,      q = P(X < −ℓ)
//! ```
//!
//! The first lower bound is that of `many/clipping`, and p is bounded by m q plus Cantelli's inequality for
//! terms raised to −ℓ. The second is Jensen's inequality where no term is below −ℓ. All of them hold for any
//! K and ℓ; with rare jumps some choice makes them meet. Standing: certified.

use super::{Atom, Sum};
use crate::enclosure::LnEnclosure;
use crate::rounding::ROUNDING;
use crate::special::ln;

/// Jumps are rare where this many values as large as the largest occur among all terms, on average. With more
/// the bounds do not meet, and the time is better spent elsewhere.
const RARE: f64 = 0.1;
/// How many low values may occur among all terms, on average, for them to be left out.
const LEFT_OUT: [f64; 3] = [1e-8, 1e-4, 0.5];
/// K is above the deficit of the other terms by these many of their standard deviations. More cost more where
/// jumps are not large, fewer where they are.
const MARGINS: [f64; 4] = [10.0, 1e2, 1e3, 1e4];
/// K changes the law that it is found from: limits the steps of that search. Any K is sound.
const MOST_STEPS: usize = 8;

/// Encloses ln E(S)₊ where jumps are rare; elsewhere it says nothing.
pub(super) fn evaluate(sum: &Sum) -> LnEnclosure {
    let mut atoms = sum.atoms.to_vec();
    atoms.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
    let rare = |atom: &Atom| sum.count * atom.weight < RARE;
    if sum.shift > 0.0 || !atoms.last().is_some_and(rare) {
        return LnEnclosure::UNKNOWN;
    }
    let mut most: f64 = 0.0;
    for left_out in LEFT_OUT {
        let mut weight = 0.0;
        let low = atoms.iter().take_while(|atom| {
            weight += atom.weight;
            sum.count * weight <= left_out
        });
        let low = low.count();
        most = most.max(without_low(sum, &atoms, low));
        for margin in MARGINS {
            most = most.max(by_one_jump(sum, &atoms, low, margin));
        }
    }
    let upper = ln(sum.count * sum.mean_positive_value());
    LnEnclosure {
        lower: if most > 0.0 {
            ln(most) - ROUNDING * (1.0 + ln(most).abs())
        } else {
            f64::NEG_INFINITY
        },
        upper: upper + ROUNDING * (1.0 + upper.abs()),
    }
}

/// m P(X < −ℓ), rounded up, if the first `low` of the sorted atoms are those below −ℓ.
fn some_low(sum: &Sum, atoms: &[Atom], low: usize) -> f64 {
    let weight: f64 = atoms[..low].iter().map(|atom| atom.weight).sum();
    sum.count * weight * (1.0 + ROUNDING * (low + 2) as f64)
}

/// (1 − m q) m E[X; X ≥ −ℓ] + s, rounded down; at least 0.
fn without_low(sum: &Sum, atoms: &[Atom], low: usize) -> f64 {
    let (mut total, mut size) = (0.0, 0.0);
    for atom in &atoms[low..] {
        total += atom.weight * atom.value;
        size += atom.weight * atom.magnitude.max(atom.value.abs());
    }
    let terms = (atoms.len() + 4) as f64;
    let usual = sum.count * (total - ROUNDING * terms * size);
    let value = usual * (1.0 - some_low(sum, atoms, low)) * (1.0 - ROUNDING) + sum.shift;
    (value - ROUNDING * (usual.abs() + sum.shift.abs())).max(0.0)
}

/// m E(X−K)₊ (1 − p), rounded down, for a K that is `margin` standard deviations above the deficit; at least
/// 0.
fn by_one_jump(sum: &Sum, atoms: &[Atom], low: usize, margin: f64) -> f64 {
    if low >= atoms.len() {
        return 0.0;
    }
    let mut level: f64 = 0.0;
    for _ in 0..MOST_STEPS {
        let others = Others::new(sum, atoms, (low, level));
        let next = -others.mean + margin * others.variance.sqrt();
        if next <= level {
            break;
        }
        level = next * (1.0 + 1e-9);
    }
    let others = Others::new(sum, atoms, (low, level));
    let above = level + others.mean;
    if !(level > 0.0 && above > 0.0) {
        return 0.0;
    }
    let undecided = others.variance / (others.variance + above * above) * (1.0 + 4.0 * ROUNDING)
        + some_low(sum, atoms, low);
    let jumps: f64 = atoms
        .iter()
        .map(|atom| atom.weight * (atom.value - level - ROUNDING * atom.magnitude).max(0.0))
        .sum();
    let slack = ROUNDING * (atoms.len() + 4) as f64;
    (sum.count * jumps * (1.0 - undecided) * (1.0 - slack)).max(0.0)
}

/// The m − 1 other terms, raised to −ℓ and clipped at K, with s.
struct Others {
    /// The mean of their sum, rounded down.
    mean: f64,
    /// Its variance, rounded up.
    variance: f64,
}

impl Others {
    /// The atoms before `first` are raised to it.
    fn new(sum: &Sum, atoms: &[Atom], (first, high): (usize, f64)) -> Self {
        let low = atoms[first].value;
        // From the mean of the law, which is more accurate than the sum over its atoms.
        let (mut moved, mut size) = (0.0, sum.mean.abs());
        for (index, atom) in atoms.iter().enumerate() {
            let change = atom.value.max(low).min(high) - atom.value;
            let error = ROUNDING * atom.magnitude;
            // An atom that is known to stay where it is has no error of its own.
            if index < first || atom.value + error > high {
                moved += atom.weight * change;
                size += atom.weight * (change.abs() + atom.magnitude);
            }
        }
        let terms = (atoms.len() + 4) as f64;
        let mean = sum.mean + moved;
        let count = sum.count - 1.0;
        let total = count * mean + sum.shift;
        let slack = ROUNDING * (terms * count * size + total.abs() + sum.shift.abs());
        // The second moment about any point is at least the variance. Each value is off by its own error.
        let squares: f64 = atoms
            .iter()
            .map(|atom| {
                let off = (atom.value.max(low).min(high) - mean).abs() + ROUNDING * atom.magnitude;
                atom.weight * off * off
            })
            .sum();
        Self {
            mean: total - slack,
            variance: count * squares * (1.0 + ROUNDING * terms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Atom, Sum};
    use super::evaluate;

    fn law(values: &[(f64, f64)]) -> Vec<Atom> {
        let of = |&(weight, value): &(f64, f64)| Atom {
            weight,
            value,
            magnitude: value.abs(),
        };
        values.iter().map(of).collect()
    }

    /// Two or three terms of two or three values, by enumeration.
    #[test]
    fn rare_jumps_are_enclosed() {
        for rare in [1e-2, 1e-4, 1e-9] {
            for high in [0.5, 3.0, 40.0] {
                for low in [-0.1, -2.0] {
                    let usual = 1.0 - 2.0 * rare;
                    let middle = -1e-3 - rare * (high + low) / usual;
                    let atoms = law(&[(rare, high), (usual, middle), (rare, low)]);
                    let mean = atoms.iter().map(|a| a.weight * a.value).sum::<f64>();
                    for shift in [0.0, -0.2] {
                        let mut truth = 0.0;
                        for a in &atoms {
                            for b in &atoms {
                                for c in &atoms {
                                    let total = a.value + b.value + c.value + shift;
                                    truth += a.weight * b.weight * c.weight * total.max(0.0);
                                }
                            }
                        }
                        let sum = Sum {
                            atoms: &atoms,
                            mean,
                            count: 3.0,
                            shift,
                        };
                        let found = evaluate(&sum);
                        let truth: f64 = truth.ln();
                        let case = format!("{rare} {high} {low} {shift}: {found:?} {truth}");
                        assert!(
                            found.lower <= truth && truth <= found.upper + 1e-12,
                            "{case}"
                        );
                        if rare < 1e-8 && shift == 0.0 && high > 1.0 {
                            assert!(found.upper - found.lower < 2e-2, "{case}");
                        }
                    }
                }
            }
        }
    }
}
