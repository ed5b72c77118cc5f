//! Users with an ε₀ of their own: every dataset and every assignment at n ≤ 4 against the bounds of a range,
//! and
//! families for which the largest ε₀ is seen not to be the worst.
//!
//! The enumeration is the definition of the shuffle model, with a matrix for each user. It shares no code
//! with
//! the library.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Matrix, exhaustive, kary, multisets};
use shuffledp_accounting::{
    Account, Epsilon, Mechanism, OracleKind, Parameter, PerUser, RandomizerSpec, Round, ScalarKind,
    account, catalog, names,
};
use std::collections::BTreeMap;

/// Rounding of the enumeration itself.
const SLACK: f64 = 1e-13;

/// How the users of an enumerated round take part; with check-in each at one of these rates.
#[derive(Clone, Debug)]
enum Part {
    Everyone,
    CheckIn(Vec<f64>),
    Sample(usize),
}

type Histograms = BTreeMap<Vec<u8>, f64>;

/// The law of the histogram of reports of these laws.
fn histograms(laws: &[&[f64]]) -> Histograms {
    let mut law = Histograms::from([(vec![0; laws[0].len()], 1.0)]);
    for row in laws {
        let mut next = Histograms::new();
        for (histogram, probability) in &law {
            for (y, entry) in row.iter().enumerate() {
                let mut grown = histogram.clone();
                grown[y] += 1;
                *next.entry(grown).or_default() += probability * entry;
            }
        }
        law = next;
    }
    law
}

/// "Nothing" with probability 1 − g, else a report: nothing is one more report.
fn with_absence(row: &[f64], rate: f64) -> Vec<f64> {
    let mut row: Vec<f64> = row.iter().map(|entry| rate * entry).collect();
    row.push(1.0 - rate);
    row
}

/// What the analyzer sees of users with these laws.
fn view(laws: &[&[f64]], part: &Part) -> Histograms {
    let Part::Sample(size) = part else {
        return histograms(laws);
    };
    let subsets: Vec<u32> = (0u32..1 << laws.len())
        .filter(|subset| subset.count_ones() as usize == *size)
        .collect();
    let mut law = Histograms::new();
    for subset in &subsets {
        let chosen: Vec<&[f64]> = (0..laws.len())
            .filter(|i| subset >> i & 1 == 1)
            .map(|i| laws[i])
            .collect();
        for (histogram, probability) in histograms(&chosen) {
            *law.entry(histogram).or_default() += probability / subsets.len() as f64;
        }
    }
    law
}

/// A family of randomizers as matrices: rows are values, columns reports.
struct Family {
    spec: RandomizerSpec,
    at: fn(usize, f64) -> Matrix,
    /// k, or what else the matrix needs.
    size: usize,
}

fn family(name: &str, size: usize, at: fn(usize, f64) -> Matrix) -> Family {
    let mut spec = RandomizerSpec::new(name).unwrap();
    spec.k = (name == "krr").then_some(size as u64);
    Family { spec, at, size }
}

/// P(1) = 1/2 + x(E − 1)/(2(E + 1)) at five values x from −1 to 1.
fn duchi(_: usize, epsilon0: f64) -> Matrix {
    let t = (0.5 * epsilon0).tanh();
    let row = |x: f64| vec![0.5 - 0.5 * x * t, 0.5 + 0.5 * x * t];
    [-1.0, -0.5, 0.0, 0.5, 1.0].map(row).to_vec()
}

/// A coordinate of two and a bit about it, at the corners of the square, an edge and the middle.
fn r_inf(_: usize, epsilon0: f64) -> Matrix {
    measured(
        &[[1.0, 0.0], [0.0, 1.0]],
        &[
            [1.0, 1.0],
            [-1.0, -1.0],
            [1.0, -1.0],
            [0.3, 1.0],
            [0.0, 0.0],
        ],
        epsilon0,
    )
}

/// A row of the Hadamard matrix and a bit about it, at corners of the l₁ ball, an edge and the middle.
fn r_1(_: usize, epsilon0: f64) -> Matrix {
    measured(
        &[[1.0, 1.0], [1.0, -1.0]],
        &[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.6, -0.4], [0.0, 0.0]],
        epsilon0,
    )
}

fn measured(rows: &[[f64; 2]], values: &[[f64; 2]], epsilon0: f64) -> Matrix {
    let t = (0.5 * epsilon0).tanh();
    let share = 1.0 / rows.len() as f64;
    let report = |value: &[f64; 2]| -> Vec<f64> {
        rows.iter()
            .map(|row| row[0] * value[0] + row[1] * value[1])
            .flat_map(|bit| [0.5 * share * (1.0 - bit * t), 0.5 * share * (1.0 + bit * t)])
            .collect()
    };
    values.iter().map(report).collect()
}

/// Three of the directions that R_2 may draw, and the bit: with the value's side, or not.
fn r_2(_: usize, epsilon0: f64) -> Matrix {
    let t = (0.5 * epsilon0).tanh();
    let directions: [[f64; 2]; 3] = [[1.0, 0.0], [0.6, 0.8], [-0.28, 0.96]];
    let values: [[f64; 2]; 4] = [[1.0, 0.0], [-1.0, 0.0], [0.3, 0.4], [0.0, -1.0]];
    let report = |value: &[f64; 2]| -> Vec<f64> {
        let norm = value[0].hypot(value[1]);
        directions
            .iter()
            .flat_map(|v| {
                let side = (v[0] * value[0] + v[1] * value[1]).signum();
                let one = 0.5 + 0.5 * side * norm * t;
                [(1.0 - one) / 3.0, one / 3.0]
            })
            .collect()
    };
    values.iter().map(report).collect()
}

fn families() -> Vec<Family> {
    vec![
        family("rr", 2, kary),
        family("krr", 2, kary),
        family("krr", 3, kary),
        family("krr", 4, kary),
        family("duchi", 0, duchi),
        family("r-inf", 0, r_inf),
        family("r-1", 0, r_1),
        family("r-2", 0, r_2),
    ]
}

fn priced(spec: &RandomizerSpec, epsilon0: impl Into<PerUser>, n: usize, part: &Part) -> Account {
    let mut spec = spec.clone();
    spec.epsilon0 = Some(epsilon0.into());
    let round = Round::of(spec, n as u64).unwrap();
    let round = match part {
        Part::Everyone => round,
        Part::CheckIn(rates) => round
            .check_in_between(rates[0], rates[rates.len() - 1])
            .unwrap(),
        Part::Sample(size) => round.sample(*size as u64).unwrap(),
    };
    account(&round).unwrap()
}

fn upper(account: &Account, epsilon: f64) -> f64 {
    let answer = account.delta(Epsilon::new(epsilon).unwrap()).unwrap();
    answer.upper().value()
}

fn lower(account: &Account, epsilon: f64) -> f64 {
    let answer = account.delta(Epsilon::new(epsilon).unwrap()).unwrap();
    answer.lower().value()
}

/// Σ (P − aQ)₊ of two lists.
fn divergence(p: &[f64], q: &[f64], a: f64) -> f64 {
    assert_eq!(p.len(), q.len());
    let excess = |(p, q): (&f64, &f64)| (p - a * q).max(0.0);
    p.iter().zip(q).map(excess).sum()
}

/// The largest divergence, for each ε, over every dataset, every assignment of these ε₀ and, with check-in,
/// every assignment of two rates. User 1's ε₀ may change with the value; the rate may not.
fn truth(family: &Family, own: &[f64], n: usize, part: &Part, epsilons: &[f64]) -> Vec<f64> {
    let channels = own.iter().map(|e| (family.at)(family.size, *e));
    // The laws of a user of each rate: one for each value at each ε₀.
    let laws: Vec<Vec<f64>> = channels.flatten().collect();
    let laws: Vec<Vec<Vec<f64>>> = match part {
        Part::Everyone | Part::Sample(_) => vec![laws],
        Part::CheckIn(rates) => {
            let at = |rate: &f64| laws.iter().map(|row| with_absence(row, *rate)).collect();
            rates.iter().map(at).collect()
        }
    };
    let all: Vec<&Vec<f64>> = laws.iter().flatten().collect();
    let mut largest = vec![0f64; epsilons.len()];
    for others in multisets(all.len(), n - 1) {
        for first in &laws {
            // Every histogram is possible for every user, so that the lists are about the same ones.
            let views: Vec<Vec<f64>> = first
                .iter()
                .map(|law| {
                    let mut users = vec![law.as_slice()];
                    users.extend(others.iter().map(|other| all[*other].as_slice()));
                    view(&users, part).into_values().collect()
                })
                .collect();
            for (p, q) in views.iter().flat_map(|p| views.iter().map(move |q| (p, q))) {
                for (found, epsilon) in largest.iter_mut().zip(epsilons) {
                    *found = found.max(divergence(p, q, epsilon.exp()));
                }
            }
        }
    }
    largest
}

/// Never above the upper bound of the range, never below its lower bound; and the largest is that of
/// everybody
/// at the highest ε₀.
#[test]
fn no_dataset_and_no_assignment_is_above_the_bounds_of_a_range() {
    let ranges = if exhaustive() {
        vec![[0.3, 2.0], [0.0, 1.0], [1.5, 4.0]]
    } else {
        vec![[0.3, 2.0]]
    };
    let mut settings = 0;
    for family in families() {
        for [lo, hi] in &ranges {
            let epsilons = [0.0, 0.02, 0.1, 0.3, 0.5, 0.8, 0.97].map(|part| part * hi);
            let own = [*lo, 0.5 * (lo + hi), *hi];
            let reports = (family.at)(family.size, *hi)[0].len();
            for n in 2..=4usize {
                // The longest enumerations are for another day.
                if n == 4 && reports > 2 && !exhaustive() {
                    continue;
                }
                let mut parts = vec![
                    Part::Everyone,
                    Part::CheckIn(vec![0.3]),
                    Part::Sample(n - 1),
                ];
                if n == 2 || reports == 2 {
                    parts.push(Part::CheckIn(vec![0.2, 0.7]));
                }
                for part in &parts {
                    let what = format!(
                        "{} {} {lo}..{hi} {n} {part:?}",
                        family.spec.name(),
                        family.size
                    );
                    let account = priced(&family.spec, PerUser::Range([*lo, *hi]), n, part);
                    let found = truth(&family, &own, n, part, &epsilons);
                    let highest = truth(&family, &[*hi], n, part, &epsilons);
                    for (i, &epsilon) in epsilons.iter().enumerate() {
                        let (above, below) = (upper(&account, epsilon), lower(&account, epsilon));
                        assert!(
                            found[i] <= above + SLACK,
                            "{what} {epsilon}: {} > {above}",
                            found[i]
                        );
                        assert!(
                            below <= found[i] + SLACK,
                            "{what} {epsilon}: {} < {below}",
                            found[i]
                        );
                        assert!(
                            (found[i] - highest[i]).abs() < SLACK,
                            "{what} {epsilon}: not at {hi}"
                        );
                        settings += 1;
                    }
                    // The lowest alone, or anything below the highest, would be found out.
                    let wrong = priced(&family.spec, *lo, n, part);
                    assert!(found[2] > upper(&wrong, epsilons[2]) + SLACK, "{what}");
                    let wrong = priced(&family.spec, 0.9 * hi, n, part);
                    let caught = |i: usize| found[i] > upper(&wrong, epsilons[i]) + SLACK;
                    assert!((0..epsilons.len()).any(caught), "{what}");
                }
            }
        }
    }
    println!("{settings} settings");
}

/// A range of one number is that number, for every randomizer; a wider one is refused by name where it is not
/// covered, and the error lists those where it is.
#[test]
fn a_range_is_refused_where_it_is_not_covered() {
    let covered = "krr, rr, duchi, r-inf, r-1 and r-2";
    assert_eq!(names(|entry| entry.takes_own_epsilon0()), covered);
    for entry in catalog().filter(|entry| entry.needs().contains(&Parameter::Epsilon0)) {
        let mut spec = RandomizerSpec::new(entry.name()).unwrap();
        spec.k = entry.needs().contains(&Parameter::Categories).then_some(5);
        spec.delta0 = entry.needs().contains(&Parameter::Delta0).then_some(1e-6);
        let mut at = |epsilon0: PerUser| {
            spec.epsilon0 = Some(epsilon0);
            spec.mechanism()
        };
        let one = at(2.0.into()).unwrap();
        assert_eq!(at(PerUser::Range([2.0, 2.0])).unwrap(), one);
        let range = at(PerUser::Range([0.5, 2.0]));
        if entry.takes_own_epsilon0() {
            assert_eq!(range.unwrap(), one);
            assert!(at(PerUser::Range([0.0, 2.0])).is_ok());
        } else {
            let error = range.unwrap_err();
            assert_eq!(error.parameter(), Some(Parameter::Epsilon0));
            let name = entry.name();
            assert_eq!(
                error.to_string(),
                format!(
                    "epsilon0 0.5..2 is a range, and users of {name} with an epsilon0 of their own may not \
                     be hidden: give one number; a range is for {covered}"
                )
            );
        }
        let mut said = |range| at(PerUser::Range(range)).unwrap_err().to_string();
        let outside = "is outside [1e-12, 100] (or exactly 0)";
        assert_eq!(said([-1.0, 2.0]), format!("epsilon0 -1 {outside}"));
        assert_eq!(said([1.0, 101.0]), format!("epsilon0 101 {outside}"));
        assert_eq!(said([f64::NAN, 2.0]), format!("epsilon0 NaN {outside}"));
        assert_eq!(
            said([2.0, 1.0]),
            "epsilon0 1 is outside [2, 100], from the lowest epsilon0 on"
        );
    }
}

/// Why a range is refused for noise: user 1 with *less* ε₀ than the others stands out, by a report that is
/// almost never theirs, and δ is larger than what certainly holds with everybody at the largest ε₀.
///
/// A is the event that some report looks like user 1's. On the first dataset it has at least user 1's
/// probability u, on the second at most user 1's v plus that of the n − 1 others, w each: δ ≥ u − a(v +
/// (n−1)w).
#[test]
fn for_laplace_noise_and_unary_encodings_the_largest_epsilon0_is_not_the_worst() {
    let (n, epsilon) = (100_000.0f64, 0.3f64);
    let everybody_at_the_largest = |mechanism: Mechanism| {
        let round = Round::new(mechanism, n as u64).unwrap();
        upper(&account(&round).unwrap(), epsilon)
    };
    let stands_out = |u: f64, v: f64, w: f64| u - epsilon.exp() * (v + (n - 1.0) * w);

    // Laplace noise: user 1 has 1 at ε₀ = 1, the others any values at ε₀ = 8; reports above 1 + 2.3.
    let beyond = |epsilon0: f64, distance: f64| 0.5 * (-epsilon0 * distance).exp();
    let truth = stands_out(beyond(1.0, 2.3), beyond(1.0, 3.3), beyond(8.0, 2.3));
    let wrong = everybody_at_the_largest(Mechanism::scalar(ScalarKind::Laplace, 8.0).unwrap());
    assert!(truth > 0.02 && truth > 2.0 * wrong, "{truth} {wrong}");

    // Unary encodings of 200 values: user 1 at ε₀ = 0.5, the others at ε₀ = 4; reports with at least 70 ones,
    // among them that of user 1's first value and not that of the second.
    let ones = |bits: i32, one: f64, at_least: i32| -> f64 {
        let ln = |x: f64| x.ln();
        let mut choose = 0.0;
        let mut tail = 0.0;
        for count in 0..=bits {
            if count >= at_least {
                tail +=
                    (choose + f64::from(count) * ln(one) + f64::from(bits - count) * ln(1.0 - one))
                        .exp();
            }
            choose += ln(f64::from(bits - count)) - ln(f64::from(count + 1));
        }
        tail
    };
    let flipped = |epsilon0: f64| 1.0 / ((0.5 * epsilon0).exp() + 1.0);
    let (own, theirs) = (flipped(0.5), flipped(4.0));
    let many = ones(198, own, 69);
    let truth = stands_out(
        (1.0 - own).powi(2) * many,
        own.powi(2) * many,
        ones(199, theirs, 69),
    );
    let sue = Mechanism::oracle(OracleKind::SymmetricUnary, 200, 4.0).unwrap();
    let wrong = everybody_at_the_largest(sue);
    assert!(truth > 0.05 && truth > 2.0 * wrong, "{truth} {wrong}");

    // The same for optimized unary encoding, whose bit of the value itself is a fair coin.
    let flipped = |epsilon0: f64| 1.0 / (epsilon0.exp() + 1.0);
    let (own, theirs) = (flipped(0.5), flipped(4.0));
    let many = ones(198, own, 49);
    let truth = stands_out(
        0.5 * (1.0 - own) * many,
        0.5 * own * many,
        ones(199, theirs, 49),
    );
    let oue = Mechanism::oracle(OracleKind::OptimizedUnary, 200, 4.0).unwrap();
    let wrong = everybody_at_the_largest(oue);
    assert!(truth > 0.02 && truth > 2.0 * wrong, "{truth} {wrong}");
}
