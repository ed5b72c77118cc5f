//! Frequency oracles reduced to a handful of atoms, against their full channels.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Matrix, Part, exhaustive, hockey_stick, multisets, view};
use shuffledp_accounting::OracleKind::{
    self, HadamardResponse, LocalHashing, OptimizedUnary, SubsetSelection, SymmetricUnary,
};
use shuffledp_accounting::{Channel, Delta, Epsilon, Mechanism, Round, account};

const KINDS: [OracleKind; 5] = [
    SymmetricUnary,
    OptimizedUnary,
    SubsetSelection,
    HadamardResponse,
    LocalHashing,
];

/// Rows of weights e where supported and 1 where not, normalized.
fn by_support(k: usize, outputs: usize, e: f64, supports: impl Fn(usize, usize) -> bool) -> Matrix {
    (0..k)
        .map(|x| {
            let raw: Vec<f64> = (0..outputs)
                .map(|y| if supports(x, y) { e } else { 1.0 })
                .collect();
            let sum: f64 = raw.iter().sum();
            raw.iter().map(|entry| entry / sum).collect()
        })
        .collect()
}

/// Every bit by itself: 1 with probability p at the value, q elsewhere.
fn unary(k: usize, p: f64, q: f64) -> Matrix {
    (0..k)
        .map(|x| {
            (0..1usize << k)
                .map(|y| {
                    (0..k)
                        .map(|bit| {
                            let one = if bit == x { p } else { q };
                            if y >> bit & 1 == 1 { one } else { 1.0 - one }
                        })
                        .product()
                })
                .collect()
        })
        .collect()
}

/// The channel of an oracle, output by output, from its definition.
fn channel(kind: OracleKind, k: usize, epsilon0: f64) -> Matrix {
    let e = epsilon0.exp();
    match kind {
        SymmetricUnary => {
            let h = (0.5 * epsilon0).exp();
            unary(k, h / (h + 1.0), 1.0 / (h + 1.0))
        }
        OptimizedUnary => unary(k, 0.5, 1.0 / (e + 1.0)),
        SubsetSelection => {
            let w = (k as f64 / (e + 1.0)).round().max(1.0) as u32;
            let subsets: Vec<usize> = (0..1usize << k).filter(|y| y.count_ones() == w).collect();
            by_support(k, subsets.len(), e, |x, y| subsets[y] >> x & 1 == 1)
        }
        HadamardResponse => {
            let blocks = (e.min(2.0 * k as f64).log2().ceil() - 1.0).max(0.0).exp2() as usize;
            let held = k.div_ceil(blocks);
            let size = (held + 1).next_power_of_two();
            by_support(k, blocks * size, e, |x, y| {
                let (block, row) = (x / held, x % held + 1);
                y / size == block && (row & (y % size)).count_ones().is_multiple_of(2)
            })
        }
        LocalHashing => {
            let g = e.round() as usize + 1;
            // Every function from the k values to g buckets, and every bucket.
            by_support(k, g.pow(k as u32) * g, e, |x, y| {
                let (hash, bucket) = (y / g, y % g);
                hash / g.pow(x as u32) % g == bucket
            })
        }
    }
}

#[test]
fn a_handful_of_atoms_is_the_whole_channel() {
    for kind in KINDS {
        for (k, epsilon0) in [(2, 1.0), (3, 0.5), (3, 2.0), (4, 1.2), (5, 2.5)] {
            let matrix = channel(kind, k, epsilon0);
            // Five bits by themselves make so many atoms that each such channel takes over ten seconds; four
            // bits are in the fast tests.
            let long = k == 5 && matches!(kind, SymmetricUnary | OptimizedUnary);
            if matrix[0].len() > 100 || long && !exhaustive() {
                continue;
            }
            let full = Mechanism::matrix(Channel::new(matrix).unwrap());
            let short = Mechanism::oracle(kind, k as u64, epsilon0).unwrap();
            for users in [2, 40] {
                let priced = |mechanism: &Mechanism| {
                    account(&Round::new(mechanism.clone(), users).unwrap()).unwrap()
                };
                let (full, short) = (priced(&full), priced(&short));
                for fraction in [0.0, 0.3, 0.8] {
                    let epsilon = Epsilon::new(fraction * epsilon0).unwrap();
                    let (full, short) =
                        (full.delta(epsilon).unwrap(), short.delta(epsilon).unwrap());
                    let (a, b) = (full.upper().value(), short.upper().value());
                    // With so many atoms the matrix is evaluated less sharply.
                    assert!(
                        b <= a * (1.0 + 1e-4) + 1e-13 && b >= a * (1.0 - 1e-3),
                        "{kind:?} {k} {epsilon0} {users}: {a} {b}"
                    );
                    let (a, b) = (full.lower().value(), short.lower().value());
                    assert!(
                        b <= a * (1.0 + 1e-4) + 1e-13,
                        "{kind:?} {k} {epsilon0} {users}: {a} {b}"
                    );
                }
            }
        }
    }
}

#[test]
fn no_dataset_of_an_oracle_exceeds_its_bound() {
    let mut checks = 0;
    for kind in KINDS {
        for (k, epsilon0, n) in [(3, 1.0, 3), (3, 2.5, 2), (4, 1.0, 2), (10, 2.0, 2)] {
            let matrix = channel(
                kind,
                k.min(if kind == LocalHashing { 3 } else { 10 }),
                epsilon0,
            );
            if matrix[0].len() > 130 || (n == 3 && matrix[0].len() > 30) {
                continue;
            }
            let inputs = matrix.len();
            let mechanism = Mechanism::oracle(kind, inputs as u64, epsilon0).unwrap();
            let account = account(&Round::new(mechanism, n as u64).unwrap()).unwrap();
            for fraction in [0.0, 0.25, 0.6, 0.9] {
                let epsilon = fraction * epsilon0;
                let answer = account.delta(Epsilon::new(epsilon).unwrap()).unwrap();
                let (lower, upper) = (answer.lower().value(), answer.upper().value());
                let mut largest: f64 = 0.0;
                // All values are alike but for blocks: the first, the second and the last stand for all.
                for others in multisets(inputs.min(4), n - 1) {
                    for (x0, x1) in [(0, 1), (0, inputs - 1), (inputs - 1, 0)] {
                        let with = |x: usize| {
                            let mut all = others.clone();
                            all.push(x);
                            view(&matrix, &all, Part::Everyone)
                        };
                        largest = largest.max(hockey_stick(&with(x0), &with(x1), epsilon.exp()));
                        checks += 1;
                    }
                }
                assert!(
                    largest <= upper * (1.0 + 1e-9) + 1e-13,
                    "{kind:?} {k} {n}: {largest} > {upper}"
                );
                assert!(
                    lower <= largest * (1.0 + 1e-9) + 1e-13,
                    "{kind:?} {k} {n}: {lower} > {largest}"
                );
            }
        }
    }
    assert!(checks > 200, "{checks}");
}

#[test]
fn a_million_categories_cost_what_three_do() {
    let delta = Delta::new(1e-6).unwrap();
    for kind in KINDS {
        let epsilon = |k: u64| {
            let round = Round::new(Mechanism::oracle(kind, k, 2.0).unwrap(), 10_000).unwrap();
            let answer = account(&round).unwrap().epsilon(delta).unwrap();
            (answer.lower().value(), answer.upper().value())
        };
        let (lower, upper) = epsilon(1_000_000);
        let general = account(&Round::new(Mechanism::ldp(2.0).unwrap(), 10_000).unwrap()).unwrap();
        let general = general.epsilon(delta).unwrap().upper().value();
        assert!(
            0.0 < lower && lower <= upper && upper <= general * (1.0 + 1e-6),
            "{kind:?}: {lower} {upper} {general}"
        );
    }
}

/// Columns of some rows of a channel, those that are multiples of each other added up: nobody learns from
/// which of them a report is.
fn merged(matrix: &Matrix, rows: &[usize]) -> Matrix {
    let mut columns: std::collections::BTreeMap<Vec<i64>, Vec<f64>> = Default::default();
    let restricted = (0..matrix[0].len()).map(|y| rows.iter().map(|&x| matrix[x][y]).collect());
    for column in restricted {
        let column: Vec<f64> = column;
        let total: f64 = column.iter().sum();
        let shape = column
            .iter()
            .map(|p| (p / total * 1e9).round() as i64)
            .collect();
        let sum = columns
            .entry(shape)
            .or_insert_with(|| vec![0.0; rows.len()]);
        sum.iter_mut().zip(column).for_each(|(sum, p)| *sum += p);
    }
    (0..rows.len())
        .map(|x| columns.values().map(|column| column[x]).collect())
        .collect()
}

/// Three users hold at most four of ten values between them, user 1's two included: every such dataset, every
/// multiset of reports.
#[test]
fn no_dataset_of_three_with_ten_values_exceeds_its_bound() {
    let epsilon0 = 1.0;
    for kind in KINDS {
        // What a random function does to values that nobody holds is noise to everybody: four values do for
        // hashing.
        let matrix = channel(kind, if kind == LocalHashing { 4 } else { 10 }, epsilon0);
        let matrix = merged(&matrix, &[0, 1, 2, matrix.len() - 1]);
        let mechanism = Mechanism::oracle(kind, 10, epsilon0).unwrap();
        let account = account(&Round::new(mechanism, 3).unwrap()).unwrap();
        for epsilon in [0.0, 0.2, 0.6] {
            let answer = account.delta(Epsilon::new(epsilon).unwrap()).unwrap();
            let upper = answer.upper().value();
            let mut largest: f64 = 0.0;
            for others in multisets(4, 2) {
                for (x0, x1) in [(0, 1), (0, 3), (3, 0), (2, 3)] {
                    let with =
                        |x: usize| view(&matrix, &[&others[..], &[x]].concat(), Part::Everyone);
                    largest = largest.max(hockey_stick(&with(x0), &with(x1), f64::exp(epsilon)));
                }
            }
            assert!(
                largest <= upper * (1.0 + 1e-9),
                "{kind:?} at {epsilon}: {largest} > {upper}"
            );
            assert!(
                largest >= 0.5 * upper,
                "{kind:?} at {epsilon}: {largest}, {upper}"
            );
        }
    }
}
