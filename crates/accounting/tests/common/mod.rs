//! Shuffled mechanisms by full enumeration: slow, obvious, and sharing no code with the library. The answers
//! of the library are in `bounds`.
#![allow(dead_code)]

pub(crate) mod bounds;
pub(crate) mod normal;

use std::collections::BTreeMap;
use std::env::{self, VarError};

/// Whether the long enumerations are asked for, by `SHUFFLEDP_TESTS=all` (CONTRIBUTING.md). Another word is a
/// mistake, and would run less than was meant.
pub(crate) fn exhaustive() -> bool {
    match env::var("SHUFFLEDP_TESTS") {
        Err(VarError::NotPresent) => false,
        Ok(word) if word == "all" => true,
        other => panic!("SHUFFLEDP_TESTS is {other:?}: its one word is `all`"),
    }
}

/// A row-stochastic matrix, as a test sees it.
pub(crate) type Matrix = Vec<Vec<f64>>;

/// How the users of an enumerated round take part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    Everyone,
    CheckIn(f64),
    Sample(usize),
}

/// Probability of every histogram of reports.
type Histograms = BTreeMap<Vec<u8>, f64>;

/// k-ary randomized response.
pub(crate) fn kary(k: usize, epsilon0: f64) -> Matrix {
    let e = epsilon0.exp();
    let entry = |x, y| if x == y { e } else { 1.0 } / (e + k as f64 - 1.0);
    (0..k)
        .map(|x| (0..k).map(|y| entry(x, y)).collect())
        .collect()
}

/// "Nothing" with probability 1 − g, else the channel: nothing is one more output.
fn with_absence(channel: &Matrix, rate: f64) -> Matrix {
    channel
        .iter()
        .map(|row| {
            let mut row: Vec<f64> = row.iter().map(|entry| entry * rate).collect();
            row.push(1.0 - rate);
            row
        })
        .collect()
}

/// The law of the histogram of the reports of these users, user by user.
fn histograms(channel: &Matrix, inputs: &[usize]) -> Histograms {
    let mut law = Histograms::from([(vec![0; channel[0].len()], 1.0)]);
    for &x in inputs {
        let mut next = Histograms::new();
        for (histogram, probability) in &law {
            for (y, entry) in channel[x].iter().enumerate() {
                let mut grown = histogram.clone();
                grown[y] += 1;
                *next.entry(grown).or_default() += probability * entry;
            }
        }
        law = next;
    }
    law
}

/// The law of the histogram when a uniformly random subset of the given size reports.
fn sampled_histograms(channel: &Matrix, inputs: &[usize], size: usize) -> Histograms {
    let subsets: Vec<u32> = (0u32..1 << inputs.len())
        .filter(|subset| subset.count_ones() as usize == size)
        .collect();
    let mut law = Histograms::new();
    for subset in &subsets {
        let chosen: Vec<usize> = (0..inputs.len())
            .filter(|i| subset >> i & 1 == 1)
            .map(|i| inputs[i])
            .collect();
        for (histogram, probability) in histograms(channel, &chosen) {
            *law.entry(histogram).or_default() += probability / subsets.len() as f64;
        }
    }
    law
}

/// The law of what the analyzer sees.
pub(crate) fn view(channel: &Matrix, inputs: &[usize], part: Part) -> Histograms {
    match part {
        Part::Everyone => histograms(channel, inputs),
        Part::CheckIn(rate) => histograms(&with_absence(channel, rate), inputs),
        Part::Sample(size) => sampled_histograms(channel, inputs, size),
    }
}

/// Σ (P − aQ)₊.
pub(crate) fn hockey_stick<K: Ord>(p: &BTreeMap<K, f64>, q: &BTreeMap<K, f64>, a: f64) -> f64 {
    let there: f64 = p
        .iter()
        .map(|(key, p)| (p - a * q.get(key).unwrap_or(&0.0)).max(0.0))
        .sum();
    there
}

/// Every multiset of `count` inputs out of `kinds`, as sorted lists.
pub(crate) fn multisets(kinds: usize, count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in multisets(kinds, count - 1) {
        for x in shorter.last().copied().unwrap_or(0)..kinds {
            let mut longer = shorter.clone();
            longer.push(x);
            all.push(longer);
        }
    }
    all
}

/// A small deterministic generator (xorshift64*), so that a failure can be repeated.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.below(1 << 30) as f64 / f64::from(1 << 30)
    }
}

/// A random vertex of the polytope of ε₀-LDP channels with `inputs` inputs: columns c·θ with c in {1,
/// E}^inputs, rows summing to 1.
///
/// A vertex has at most `inputs` columns; draw that many and solve for the θ until they are not negative.
pub(crate) fn extremal_channel(dice: &mut Dice, inputs: usize, epsilon0: f64) -> Matrix {
    let e = epsilon0.exp();
    loop {
        let patterns: Vec<usize> = (0..inputs).map(|_| dice.below(1 << inputs)).collect();
        let entry = |row: usize, pattern: usize| if pattern >> row & 1 == 1 { e } else { 1.0 };
        let system: Vec<Vec<f64>> = (0..inputs)
            .map(|row| {
                let mut line: Vec<f64> = patterns.iter().map(|&p| entry(row, p)).collect();
                line.push(1.0);
                line
            })
            .collect();
        let Some(theta) = solve(system) else { continue };
        if theta.iter().any(|&t| t < 1e-9) {
            continue;
        }
        return (0..inputs)
            .map(|row| {
                let raw: Vec<f64> = patterns
                    .iter()
                    .zip(&theta)
                    .map(|(&p, t)| entry(row, p) * t)
                    .collect();
                let sum: f64 = raw.iter().sum();
                raw.iter().map(|x| x / sum).collect()
            })
            .collect();
    }
}

/// Gaussian elimination with pivoting; `None` when singular.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        if rows[pivot][column].abs() < 1e-9 {
            return None;
        }
        rows.swap(column, pivot);
        for row in 0..size {
            if row != column {
                let factor = rows[row][column] / rows[column][column];
                let pivot_row = rows[column].clone();
                for (entry, pivot_entry) in rows[row].iter_mut().zip(&pivot_row) {
                    *entry -= factor * pivot_entry;
                }
            }
        }
    }
    Some((0..size).map(|i| rows[i][size] / rows[i][i]).collect())
}

/// The rows of `golden/<name>`, split at commas, without comments and header.
pub(crate) fn golden(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/../../golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .skip(1)
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect()
}

/// The largest δ over every dataset: user 1 at any two inputs, the others anywhere.
pub(crate) fn worst(channel: &Matrix, users: usize, part: Part, a: f64) -> f64 {
    let mut most: f64 = 0.0;
    for others in multisets(channel.len(), users - 1) {
        let views: Vec<_> = (0..channel.len())
            .map(|x| {
                let mut inputs = others.clone();
                inputs.push(x);
                view(channel, &inputs, part)
            })
            .collect();
        for p in &views {
            for q in &views {
                most = most.max(hockey_stick(p, q, a));
            }
        }
    }
    most
}
