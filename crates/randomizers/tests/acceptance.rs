//! What every randomizer must pass: its own law by enumeration, its draws against that law, its estimates
//! against their formulas, its wire, and the accountant's view of the same law.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::{Channel, Delta, Local, Mechanism, Round, account};
use shuffledp_randomizers::{
    Counts, DiscreteGaussian, DiscreteLaplace, Duchi, Error, Estimate, Gaussian, GaussianVector,
    HadamardResponse, Hierarchy, Hybrid, KaryResponse, LaplaceVector, LocalHashing, Piecewise,
    Prefixes, PrivUnit, R1, R2, RInf, Random, Randomizer, Simulated, SquareWave, SubsetSelection,
    Sum, UnaryEncoding, VectorEstimate, VectorSum,
};
use std::collections::HashMap;

const DRAWS: usize = 1_000_000;

/// The local guarantee that a mechanism was configured with.
fn configured(mechanism: &Mechanism) -> f64 {
    match mechanism.local() {
        Local::Pure(epsilon0) => epsilon0.value(),
        other => panic!("{other:?}"),
    }
}

/// Every report of up to two bytes that a device can send, after a fixed beginning.
fn reports<R: Randomizer>(randomizer: &R, value: &R::Value, beginning: &[u8]) -> Vec<Vec<u8>> {
    let bytes = randomizer.report_length() - beginning.len();
    assert!(bytes <= 2, "too long to enumerate");
    (0..1u32 << (8 * bytes))
        .map(|number| [beginning, &number.to_le_bytes()[..bytes]].concat())
        .filter(|report| randomizer.probability(value, report).is_some())
        .collect()
}

/// The law of each of `values`, over all reports: sums to one, within ε₀ and attaining it.
fn law<R: Randomizer>(randomizer: &R, values: &[&R::Value], beginning: &[u8]) -> Vec<Vec<f64>> {
    let all = reports(randomizer, values[0], beginning);
    let rows: Vec<Vec<f64>> = values
        .iter()
        .map(|value| {
            all.iter()
                .map(|report| randomizer.probability(value, report).unwrap())
                .collect()
        })
        .collect();
    for row in &rows {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    let mut largest: f64 = 0.0;
    for column in 0..all.len() {
        for one in &rows {
            for other in &rows {
                largest = largest.max((one[column] / other[column]).ln());
            }
        }
    }
    let wanted = configured(randomizer.mechanism());
    // Not above, but for the rounding of this very check, and not wastefully below.
    assert!(
        largest <= wanted + 4e-15 * wanted.max(1.0),
        "{largest} {wanted}"
    );
    assert!(largest >= wanted - 1e-12, "{largest} {wanted}");
    rows
}

/// Draws against the law: chi-square, beyond which one run in a million would be.
fn draws_fit<R: Randomizer>(randomizer: &R, value: &R::Value, seed: u64) {
    let mut random = Simulated::new(seed, 1);
    let mut report = vec![0xaa; randomizer.report_length()];
    let mut seen: HashMap<Vec<u8>, u64> = HashMap::new();
    for _ in 0..DRAWS {
        randomizer
            .randomize(value, &mut random, &mut report)
            .unwrap();
        *seen.entry(report.clone()).or_default() += 1;
    }
    let all = reports(randomizer, value, &[]);
    for report in seen.keys() {
        assert!(all.contains(report), "{report:?} has no probability");
    }
    let (mut chi, mut freedom, mut rare) = (0.0, -1.0f64, (0.0, 0.0));
    for report in &all {
        let expected = randomizer.probability(value, report).unwrap() * DRAWS as f64;
        let count = *seen.get(report).unwrap_or(&0) as f64;
        if expected < 10.0 {
            rare = (rare.0 + expected, rare.1 + count);
            continue;
        }
        chi += (count - expected).powi(2) / expected;
        freedom += 1.0;
    }
    if rare.0 > 10.0 {
        chi += (rare.1 - rare.0).powi(2) / rare.0;
        freedom += 1.0;
    }
    // Wilson and Hilferty: 4.75 standard deviations of the cube root.
    let limit =
        freedom * (1.0 - 2.0 / (9.0 * freedom) + 4.75 * (2.0 / (9.0 * freedom)).sqrt()).powi(3);
    assert!(
        chi < limit,
        "chi-square {chi} of {freedom} degrees, limit {limit}"
    );
}

/// Shares of a mixed population: every category within five standard errors, and the spread over batches what
/// the formula says.
fn shares_are_unbiased<R>(randomizer: &R, categories: u64, seed: u64)
where
    R: Randomizer<Value = u64, Tally = Counts, Estimate = Vec<Estimate>>,
{
    const BATCHES: usize = 400;
    const SIZE: usize = 2500;
    let mut random = Simulated::new(seed, 2);
    let mut report = vec![0; randomizer.report_length()];
    // Category 0 has 60 %, category 1 the rest; the others nobody.
    let holds = |person: usize| u64::from(person % 5 >= 3);
    let truth = |category: u64| [0.6, 0.4].get(category as usize).copied().unwrap_or(0.0);
    let mut estimates: Vec<Vec<f64>> = vec![Vec::new(); categories as usize];
    let mut claimed = vec![0.0; categories as usize];
    for _ in 0..BATCHES {
        let mut tally = randomizer.tally();
        for person in 0..SIZE {
            randomizer
                .randomize(&holds(person), &mut random, &mut report)
                .unwrap();
            randomizer.add(&report, &mut tally).unwrap();
        }
        assert_eq!(tally.reports(), SIZE as u64);
        for (category, estimate) in randomizer.estimate(&tally).iter().enumerate() {
            estimates[category].push(estimate.value);
            claimed[category] += estimate.variance / BATCHES as f64;
        }
    }
    for category in 0..categories {
        let values = &estimates[category as usize];
        let mean = values.iter().sum::<f64>() / BATCHES as f64;
        let variance =
            values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (BATCHES - 1) as f64;
        let error = (variance / BATCHES as f64).sqrt();
        assert!(
            (mean - truth(category)).abs() < 5.0 * error,
            "category {category}: {mean}"
        );
        // The variance of 400 batches is known to 7 %: five deviations.
        let ratio = variance / claimed[category as usize];
        assert!(
            (ratio - 1.0).abs() < 0.36,
            "category {category}: variance {ratio} times the claim"
        );
    }
}

/// Other lengths and values outside are refused, and a refused report changes nothing.
fn wire_is_strict<R>(randomizer: &R, outside: &R::Value, broken: &[&[u8]])
where
    R: Randomizer,
    R::Tally: Clone + PartialEq + std::fmt::Debug,
{
    let mut random = Simulated::new(3, 3);
    let length = randomizer.report_length();
    let mut report = vec![0; length];
    let refused = randomizer.randomize(outside, &mut random, &mut report);
    assert!(matches!(refused, Err(Error::Value { .. })), "{refused:?}");
    let mut tally = randomizer.tally();
    let empty = tally.clone();
    let short = vec![0; length - 1];
    let long = vec![0; length + 1];
    for bad in broken.iter().copied().chain([&short[..], &long[..]]) {
        assert!(
            matches!(randomizer.add(bad, &mut tally), Err(Error::Report { .. })),
            "{bad:?}"
        );
    }
    assert_eq!(tally, empty);
}

/// The accountant's bracket for the name and for the enumerated law.
fn priced_alike(mechanism: &Mechanism, rows: Vec<Vec<f64>>) {
    let delta = Delta::new(1e-6).unwrap();
    let price = |mechanism: Mechanism| {
        let round = Round::new(mechanism, 1000).unwrap();
        account(&round).unwrap().epsilon(delta).unwrap()
    };
    let named = price(mechanism.clone());
    let listed = price(Mechanism::matrix(Channel::new(rows).unwrap()));
    for (a, b) in [
        (named.upper(), listed.upper()),
        (named.lower(), listed.lower()),
    ] {
        let (a, b) = (a.value(), b.value());
        assert!(
            (a / b - 1.0).abs() < 1e-5,
            "{mechanism:?}: {a} by name, {b} by enumeration"
        );
    }
}

/// The first reports of a fixed stream: they may never change, or old clients and new analyzers part ways.
fn golden<R: Randomizer>(randomizer: &R, values: &[&R::Value], expected: &str) {
    let mut random = Simulated::new(2026, 0);
    let mut report = vec![0; randomizer.report_length()];
    let text: Vec<String> = values
        .iter()
        .map(|value| {
            randomizer
                .randomize(value, &mut random, &mut report)
                .unwrap();
            report.iter().map(|byte| format!("{byte:02x}")).collect()
        })
        .collect();
    assert_eq!(text.join(" "), expected);
}

const VALUES: [&u64; 5] = [&0, &1, &2, &3, &4];

#[test]
fn kary_response() {
    for (k, epsilon0) in [(2, 1.0), (3, 0.1), (5, 4.0), (5, 12.0)] {
        let randomizer = KaryResponse::new(k, epsilon0).unwrap();
        let rows = law(&randomizer, &VALUES[..k as usize], &[]);
        priced_alike(randomizer.mechanism(), rows);
    }
    let randomizer = KaryResponse::new(5, 1.5).unwrap();
    draws_fit(&randomizer, &3, 11);
    shares_are_unbiased(&randomizer, 5, 12);
    wire_is_strict(&randomizer, &5, &[&[5], &[255]]);
    golden(&randomizer, &VALUES, "00 03 02 03 04");
    assert_eq!(KaryResponse::new(1000, 1.0).unwrap().report_length(), 2);
}

#[test]
fn symmetric_unary_encoding() {
    for (k, epsilon0) in [(2, 1.0), (5, 0.3), (5, 5.0)] {
        let randomizer = UnaryEncoding::symmetric(k, epsilon0).unwrap();
        let rows = law(&randomizer, &VALUES[..k as usize], &[]);
        priced_alike(randomizer.mechanism(), rows);
    }
    let randomizer = UnaryEncoding::symmetric(5, 2.0).unwrap();
    draws_fit(&randomizer, &0, 21);
    shares_are_unbiased(&randomizer, 5, 22);
    wire_is_strict(&randomizer, &5, &[&[0b0010_0000]]);
    golden(&randomizer, &VALUES, "01 18 0c 01 13");
}

#[test]
fn optimized_unary_encoding() {
    for (k, epsilon0) in [(2, 1.0), (5, 0.3), (5, 5.0)] {
        let randomizer = UnaryEncoding::optimized(k, epsilon0).unwrap();
        let rows = law(&randomizer, &VALUES[..k as usize], &[]);
        priced_alike(randomizer.mechanism(), rows);
    }
    let randomizer = UnaryEncoding::optimized(10, 2.0).unwrap();
    draws_fit(&randomizer, &9, 31);
    shares_are_unbiased(&randomizer, 10, 32);
    wire_is_strict(&randomizer, &10, &[&[0, 0b100]]);
    golden(&randomizer, &VALUES, "4003 0201 0001 0400 8000");
}

#[test]
fn subset_selection() {
    for (k, epsilon0) in [(3, 0.4), (5, 0.5), (5, 3.0)] {
        let randomizer = SubsetSelection::new(k, epsilon0).unwrap();
        let rows = law(&randomizer, &VALUES[..k as usize], &[]);
        priced_alike(randomizer.mechanism(), rows);
    }
    let randomizer = SubsetSelection::new(6, 0.5).unwrap();
    assert_eq!(randomizer.report_length(), 2);
    draws_fit(&randomizer, &4, 41);
    shares_are_unbiased(&randomizer, 6, 42);
    wire_is_strict(&randomizer, &6, &[&[1, 1], &[2, 1], &[0, 6]]);
    golden(&randomizer, &VALUES, "0304 0405 0205 0105 0103");
}

#[test]
fn hadamard_response() {
    for (k, epsilon0) in [(3, 0.5), (5, 1.0), (5, 3.0)] {
        let randomizer = HadamardResponse::new(k, epsilon0).unwrap();
        let rows = law(&randomizer, &VALUES[..k as usize], &[]);
        priced_alike(randomizer.mechanism(), rows);
    }
    for (k, epsilon0) in [(10, 1.0), (10, 3.0)] {
        let randomizer = HadamardResponse::new(k, epsilon0).unwrap();
        draws_fit(&randomizer, &9, 51);
        shares_are_unbiased(&randomizer, k, 52);
    }
    let randomizer = HadamardResponse::new(5, 1.0).unwrap();
    wire_is_strict(&randomizer, &5, &[&[255]]);
    golden(&randomizer, &VALUES, "05 04 04 07 02");
}

#[test]
fn local_hashing() {
    for epsilon0 in [0.5, 1.0, 3.0] {
        let randomizer = LocalHashing::new(40, epsilon0).unwrap();
        let values: Vec<u64> = (0..40).collect();
        let values: Vec<&u64> = values.iter().collect();
        // Given the key.
        law(&randomizer, &values, &[7; 16]);
    }
    let randomizer = LocalHashing::new(6, 1.0).unwrap();
    shares_are_unbiased(&randomizer, 6, 62);
    wire_is_strict(&randomizer, &6, &[&[255; 17]]);
    golden(
        &randomizer,
        &VALUES[..2],
        "22ec148010e5aa80fea2d5d3892674a000 332fa28eca69111b4e09c76d77ac068501",
    );
    // Any two values share a bucket as often as they should: over the keys, once in g.
    let mut random = Simulated::new(63, 0);
    let mut report = vec![0; randomizer.report_length()];
    let mut together = 0;
    for _ in 0..200_000 {
        randomizer.randomize(&0, &mut random, &mut report).unwrap();
        let both =
            randomizer.supports(&report, 3).unwrap() && randomizer.supports(&report, 5).unwrap();
        together += u32::from(both);
    }
    // g = 4 buckets: both in the report's bucket, once in 16, give or take 0.9 %.
    let share = f64::from(together) / 200_000.0;
    assert!(
        (share - 1.0 / 16.0).abs() < 5.0 * (1.0f64 / 16.0 * 15.0 / 16.0 / 2e5).sqrt(),
        "{share}"
    );
}

#[test]
fn hierarchy() {
    for epsilon0 in [0.1, 1.0, 3.0] {
        // Up to three levels, by k-ary response, and by Hadamard response where epsilon0 is small.
        for depth in 1..=3 {
            let randomizer = Hierarchy::new(depth, epsilon0).unwrap();
            let values: Vec<u64> = (0..1 << depth).collect();
            let values: Vec<&u64> = values.iter().collect();
            law(&randomizer, &values, &[]);
        }
        draws_fit(&Hierarchy::new(3, epsilon0).unwrap(), &5, 71);
    }
    let randomizer = Hierarchy::new(9, 1.0).unwrap();
    assert_eq!(randomizer.report_length(), 3);
    // No tenth level; a level of two nodes; bytes beyond its answer.
    wire_is_strict(&randomizer, &512, &[&[9, 0, 0], &[0, 2, 0], &[0, 1, 1]]);
    golden(&randomizer, &[&0, &511, &5], "042300 020700 042300");

    // Every level says what share each of its nodes has: 60 % hold 0, the others 511.
    let mut random = Simulated::new(72, 0);
    let (mut tally, mut report) = (randomizer.tally(), [0; 3]);
    for person in 0..900_000 {
        let value = if person % 5 < 3 { 0 } else { 511 };
        randomizer
            .randomize(&value, &mut random, &mut report)
            .unwrap();
        randomizer.add(&report, &mut tally).unwrap();
    }
    for (place, level) in randomizer.estimate(&tally).iter().enumerate() {
        // A ninth of the people, give or take.
        assert!((level.reports as f64 - 1e5).abs() < 1500.0);
        assert_eq!(level.shares.len(), 2 << place);
        for (node, share) in level.shares.iter().enumerate() {
            let truth = match node {
                0 => 0.6,
                last if last + 1 == level.shares.len() => 0.4,
                _ => 0.0,
            };
            // The shares of those who happened to be asked, too.
            let lot = (truth * (1.0 - truth) / level.reports as f64).sqrt();
            let off = (share.value - truth).abs() / share.deviation().hypot(lot);
            assert!(off < 5.5, "level {place}, node {node}: {off} deviations");
        }
    }
}

#[test]
fn prefixes() {
    let randomizer = Prefixes::new(4, 1.0).unwrap();
    let mut random = Simulated::new(73, 0);
    let mut report = vec![0; randomizer.report_length()];
    let values: [&[u8]; 3] = [b"a", b"abc", b"wxyz"];
    let mut largest: f64 = 0.0;
    let mut questions = [0; 5];
    for draw in 0..20_000 {
        randomizer
            .randomize(values[draw % 3], &mut random, &mut report)
            .unwrap();
        questions[report[0] as usize] += 1;
        let chances = values.map(|value| randomizer.probability(value, &report).unwrap());
        for one in chances {
            for other in chances {
                largest = largest.max((one / other).ln());
            }
        }
    }
    assert!(largest <= 1.0 + 4e-15 && largest > 1.0 - 1e-12, "{largest}");
    // 4,000 each, give or take 57.
    assert!(
        questions.iter().all(|count| (3700..4300).contains(count)),
        "{questions:?}"
    );

    let mut random = Simulated::new(74, 0);
    for outside in [&b""[..], b"abcde", b"a\0c"] {
        let refused = randomizer.randomize(outside, &mut random, &mut report);
        assert!(matches!(refused, Err(Error::Value { .. })));
    }
    let mut tally = randomizer.tally();
    let length = randomizer.report_length();
    // No sixth question; a position and then more; a bucket that is none.
    let mut broken = [
        vec![0; length],
        vec![0; length],
        vec![255; length],
        vec![0; length - 1],
    ];
    broken[0][0] = 5;
    broken[1][length - 1] = 1;
    broken[2][0] = 4;
    for bad in &broken {
        assert!(
            matches!(randomizer.add(bad, &mut tally), Err(Error::Report { .. })),
            "{bad:?}"
        );
    }
    assert!(randomizer.whole_share(&tally, b"a").is_none());
    assert!(
        randomizer
            .estimate(&tally)
            .iter()
            .all(|level| level.shares.is_empty())
    );
    assert!(Prefixes::new(65, 1.0).is_err() && Prefixes::new(0, 1.0).is_err());
    golden(
        &randomizer,
        &values,
        "022e1b010000000000000000000000000000 010685000000000000000000000000000000 040b6cbbf2a1ed388cce5368b180b44cea03",
    );
}

#[test]
fn duchi() {
    let values = [0.0, 0.25, 0.5, 1.0];
    let listed: Vec<&f64> = values.iter().collect();
    for epsilon0 in [0.2, 1.0, 5.0] {
        let randomizer = Duchi::new(epsilon0).unwrap();
        let rows = law(&randomizer, &listed, &[]);
        priced_alike(
            randomizer.mechanism(),
            vec![rows[0].clone(), rows[3].clone()],
        );
    }
    let randomizer = Duchi::new(1.0).unwrap();
    for value in values {
        draws_fit(&randomizer, &value, 71);
    }
    means_are_unbiased(&randomizer, &values, 72);
    wire_is_strict(&randomizer, &1.5, &[&[2]]);
    wire_is_strict(&randomizer, &f64::NAN, &[]);
    golden(&randomizer, &listed, "00 00 01 00");
}

/// Means of fixed values: within five standard errors, and the variance within 1 % of the formula.
fn means_are_unbiased<R>(randomizer: &R, values: &[f64], seed: u64)
where
    R: Randomizer<Value = f64, Tally = Sum, Estimate = Estimate>,
{
    let mut random = Simulated::new(seed, 4);
    let mut report = vec![0; randomizer.report_length()];
    for value in values {
        let mut tally = randomizer.tally();
        for _ in 0..DRAWS {
            randomizer
                .randomize(value, &mut random, &mut report)
                .unwrap();
            randomizer.add(&report, &mut tally).unwrap();
        }
        let estimate = randomizer.estimate(&tally);
        assert!(
            (estimate.value - value).abs() < 5.0 * estimate.deviation(),
            "{value}: {estimate:?}"
        );
        let ratio = estimate.variance * DRAWS as f64 / randomizer.variance(value);
        assert!((ratio - 1.0).abs() < 0.01, "{value}: {ratio}");
    }
}

#[test]
fn piecewise() {
    for epsilon0 in [0.5, 1.0, 4.0] {
        let randomizer = Piecewise::new(epsilon0).unwrap();
        // Every cell of two distant windows: the law is constant on three pieces, whose ends are looked at.
        let own = configured(randomizer.mechanism());
        assert!(own <= epsilon0 && own > epsilon0 - 2e-6, "{own}");
        let cell = |number: u32| number.to_le_bytes()[..3].to_vec();
        let mut largest: f64 = 0.0;
        for number in [0, 1, (1 << 23), (1 << 24) - 1] {
            let report = cell(number);
            let at = |value: f64| randomizer.probability(&value, &report).unwrap();
            largest = largest.max((at(0.0) / at(1.0)).ln().abs());
        }
        assert!((largest - own).abs() < 1e-12, "{largest} {own}");
        means_are_unbiased(&randomizer, &[0.0, 0.3, 1.0], 81);
    }
    let randomizer = Piecewise::new(1.0).unwrap();
    wire_is_strict(&randomizer, &-0.1, &[]);
    golden(&randomizer, &[&0.0, &0.5, &1.0], "08c9b8 c5e581 a6cef7");
}

#[test]
fn square_wave() {
    for epsilon0 in [1e-3, 0.5, 1.0, 4.0] {
        let randomizer = SquareWave::new(epsilon0).unwrap();
        // Every report of the two ends and the middle: the law by name is that of the listed probabilities.
        let rows = law(&randomizer, &[&0.0, &1.0, &0.5], &[]);
        priced_alike(randomizer.mechanism(), rows);
        means_are_unbiased(&randomizer, &[0.0, 0.3, 1.0], 83);
    }
    // No pair of values is worse than the two ends.
    let randomizer = SquareWave::new(1.0).unwrap();
    let values: [f64; 7] = [0.0, 0.1, 0.2501, 0.5, 0.6, 0.9, 1.0];
    let values: Vec<&f64> = values.iter().collect();
    let all = Mechanism::matrix(Channel::new(law(&randomizer, &values, &[])).unwrap());
    let upper = |mechanism: Mechanism| {
        let round = Round::new(mechanism, 50).unwrap();
        account(&round)
            .unwrap()
            .epsilon(1e-4)
            .unwrap()
            .upper()
            .value()
    };
    let (ends, any) = (upper(randomizer.mechanism().clone()), upper(all));
    assert!((any / ends - 1.0).abs() < 1e-5, "{any} {ends}");
    wire_is_strict(&randomizer, &1.1, &[]);
    draws_fit(&randomizer, &0.3, 84);
    golden(&randomizer, &[&0.0, &0.5, &1.0], "4304 1003 e005");
}

#[test]
fn discrete_laplace() {
    for (levels, epsilon0) in [(2, 1.0), (5, 0.5), (11, 3.0)] {
        let randomizer = DiscreteLaplace::new(levels, epsilon0).unwrap();
        let own = configured(randomizer.mechanism());
        assert!(own <= epsilon0 && own > epsilon0 * (1.0 - 1e-8), "{own}");
        let sent = |z: i64| z.to_le_bytes();
        let at = |value: f64, z: i64| randomizer.probability(&value, &sent(z)).unwrap();
        let total: f64 = (-2000..2000).map(|z| at(0.0, z)).sum();
        assert!((total - 1.0).abs() < 1e-12, "{total}");
        let largest = (-50..50)
            .map(|z| (at(0.0, z) / at(1.0, z)).ln().abs())
            .fold(0.0, f64::max);
        assert!((largest - own).abs() < 1e-12 * own, "{largest} {own}");
        means_are_unbiased(&randomizer, &[0.0, 0.37, 1.0], 91);
    }
    let fine = DiscreteLaplace::fine(1.0).unwrap();
    means_are_unbiased(&fine, &[0.2], 92);
    // 2/epsilon0² of continuous Laplace noise.
    assert!((fine.variance(&0.2) - 2.0).abs() < 1e-5);
    wire_is_strict(&fine, &1.1, &[]);
    golden(&fine, &[&0.0, &0.5], "3df7ffffffffffff 4cd6ffffffffffff");
}

#[test]
fn gaussian() {
    for sigma in [0.5, 5.0] {
        let randomizer = Gaussian::new(sigma).unwrap();
        means_are_unbiased(&randomizer, &[0.0, 0.6, 1.0], 95);
        let variance = randomizer.variance(&0.3);
        assert!(
            (variance / (sigma * sigma) - 1.0).abs() < 1e-3,
            "{variance}"
        );
    }
    let randomizer = Gaussian::new(1.0).unwrap();
    wire_is_strict(&randomizer, &f64::INFINITY, &[]);
    golden(
        &randomizer,
        &[&0.0, &0.5],
        "2ac1ffffffffffff ed0c020000000000",
    );
}

#[test]
fn discrete_gaussian() {
    for sigma in [0.5, 4.0] {
        let randomizer = DiscreteGaussian::new(sigma, 1e-9).unwrap();
        means_are_unbiased(&randomizer, &[0.0, 0.6], 97);
        // The guarantee that the accountant is told, by a sum over the law itself.
        let Local::Approximate(epsilon0, delta0) = randomizer.mechanism().local() else {
            panic!()
        };
        let at = |value: f64, z: i64| randomizer.probability(&value, &z.to_le_bytes()).unwrap();
        let e = epsilon0.value().exp();
        let total: f64 = (-30_000..30_000)
            .map(|z| (at(0.0, z) - e * at(1.0, z)).max(0.0))
            .sum();
        assert!(
            total <= delta0.value() && total > 0.99 * delta0.value(),
            "{total}"
        );
    }
    let randomizer = DiscreteGaussian::new(1.0, 1e-9).unwrap();
    wire_is_strict(&randomizer, &2.0, &[]);
    golden(
        &randomizer,
        &[&0.0, &0.5],
        "cffdffffffffffff 38feffffffffffff",
    );
}

#[test]
fn hybrid() {
    for epsilon0 in [0.3, 2.0] {
        let randomizer = Hybrid::new(epsilon0).unwrap();
        means_are_unbiased(&randomizer, &[0.0, 0.4, 1.0], 98);
    }
    let randomizer = Hybrid::new(2.0).unwrap();
    let at = |value: f64, report: &[u8]| randomizer.probability(&value, report).unwrap();
    for report in [[0u8, 1, 0, 0], [1, 0, 0, 0]] {
        let ratio = (at(0.0, &report) / at(1.0, &report)).ln().abs();
        assert!(ratio <= 2.0 && ratio > 2.0 - 1e-5, "{ratio}");
    }
    wire_is_strict(
        &randomizer,
        &2.0,
        &[&[2, 0, 0, 0], &[0, 1, 1, 0], &[0, 2, 0, 0]],
    );
    golden(&randomizer, &[&0.0, &0.5], "01ffec10 011a5cab");
}

/// Means of fixed vectors, coordinate by coordinate within five standard errors, and the mean square within 1
/// % of the formula.
fn vectors_are_unbiased<R>(randomizer: &R, values: &[&[f32]], draws: usize, seed: u64)
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate>,
{
    let mut random = Simulated::new(seed, 5);
    let mut report = vec![0; randomizer.report_length()];
    for value in values {
        let mut tally = randomizer.tally();
        let mut squares = vec![0.0; value.len()];
        for _ in 0..draws {
            randomizer
                .randomize(value, &mut random, &mut report)
                .unwrap();
            randomizer.add(&report, &mut tally).unwrap();
            let mut one = randomizer.tally();
            randomizer.add(&report, &mut one).unwrap();
            for (square, x) in squares.iter_mut().zip(randomizer.estimate(&one).mean) {
                *square += x * x / draws as f64;
            }
        }
        let estimate = randomizer.estimate(&tally);
        for ((mean, square), x) in estimate.mean.iter().zip(&squares).zip(*value) {
            let error = (square / draws as f64).sqrt();
            assert!(
                (mean - f64::from(*x)).abs() < 5.0 * error,
                "{mean} {x} {error}"
            );
        }
        let size: f64 = value.iter().map(|x| f64::from(*x).powi(2)).sum();
        let ratio = (squares.iter().sum::<f64>() - size) / randomizer.variance(value);
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
        let claimed = estimate.variance * draws as f64;
        assert!(claimed >= 0.999 * randomizer.variance(value), "{claimed}");
    }
}

/// In one go, with nothing to settle, or by way of a report: the same sums from the same randomness.
fn contributions_are_reports<R>(randomizer: &R, values: &[&[f32]])
where
    R: Randomizer<Value = [f32], Tally = VectorSum>,
{
    let (mut once, mut again) = (Simulated::new(123, 0), Simulated::new(123, 0));
    let (mut direct, mut by_report) = (randomizer.tally(), randomizer.tally());
    let mut report = vec![0; randomizer.report_length()];
    for draw in 0..300 {
        let value = values[draw % values.len()];
        randomizer
            .contribute(value, &mut once, &mut direct)
            .unwrap();
        randomizer
            .randomize(value, &mut again, &mut report)
            .unwrap();
        randomizer.add(&report, &mut by_report).unwrap();
    }
    assert_eq!(direct, by_report);
    randomizer.settle(&mut once, &mut direct);
    assert_eq!(direct, by_report);
    assert_eq!(once.word(), again.word());
}

#[test]
fn contributing_is_sending_and_adding() {
    let values: [&[f32]; 3] = [&[0.5, -0.2, 0.1], &[0.0, 0.0, 0.0], &[0.0, -0.9, 0.0]];
    contributions_are_reports(&RInf::new(3, 1.0, 1.0).unwrap(), &values);
    contributions_are_reports(&R1::new(3, 1.0, 1.0).unwrap(), &values);
    contributions_are_reports(&R2::new(3, 1.0, 1.0).unwrap(), &values);
    contributions_are_reports(&PrivUnit::new(3, 1.0, 1.0).unwrap(), &values);
    contributions_are_reports(&LaplaceVector::new(3, 1.0, 1.0).unwrap(), &values);
}

/// The largest distance between the distribution functions of two samples of one size, over what one pair of
/// samples in a million exceeds: above one, they are told apart.
fn apart(one: &mut [f64], other: &mut [f64]) -> f64 {
    one.sort_by(f64::total_cmp);
    other.sort_by(f64::total_cmp);
    let (mut i, mut j, mut largest) = (0, 0, 0usize);
    while i < one.len() && j < other.len() {
        if one[i] <= other[j] {
            i += 1;
        } else {
            j += 1;
        }
        largest = largest.max(i.abs_diff(j));
    }
    let n = one.len() as f64;
    // Smirnov: P[distance > t √(2/n)] ≤ 2e^{−2t²}.
    let limit = (0.5 * 2e6f64.ln()).sqrt() * (2.0 / n).sqrt();
    largest as f64 / n / limit
}

/// How far the sums of a settled batch and of a batch of reports are from the truth, coordinate by
/// coordinate, over many small batches.
fn settled_and_sent(batches: usize) -> [Vec<f64>; 2] {
    let randomizer = GaussianVector::new(3, 2.0, 1.5).unwrap();
    let values: [&[f32]; 4] = [
        &[1.2, 0.0, -1.6],
        &[0.0; 3],
        &[0.1, -0.2, 0.3],
        &[0.0, 2.0, 0.0],
    ];
    let truth = [1.3, 1.8, -1.3];
    let mut random = Simulated::new(151, 0);
    let mut report = vec![0; randomizer.report_length()];
    let (mut settled, mut sent) = (Vec::new(), Vec::new());
    for _ in 0..batches {
        let (mut direct, mut by_report) = (randomizer.tally(), randomizer.tally());
        for value in values {
            randomizer
                .contribute(value, &mut random, &mut direct)
                .unwrap();
            randomizer
                .randomize(value, &mut random, &mut report)
                .unwrap();
            randomizer.add(&report, &mut by_report).unwrap();
        }
        randomizer.settle(&mut random, &mut direct);
        for (tally, sample) in [(&direct, &mut settled), (&by_report, &mut sent)] {
            assert_eq!(tally.reports(), 4);
            let mean = randomizer.estimate(tally).mean;
            sample.extend(mean.iter().zip(truth).map(|(x, truth)| 4.0 * x - truth));
        }
    }
    [settled, sent]
}

#[test]
fn a_settled_batch_has_the_law_of_a_batch_of_reports() {
    let [mut settled, mut sent] = settled_and_sent(250_000);
    // Every coordinate, then all of them, among which a deviation of 3 % more or less would be seen.
    for coordinate in 0..3 {
        let of = |all: &[f64]| all.iter().skip(coordinate).step_by(3).copied().collect();
        let (mut one, mut other): (Vec<f64>, Vec<f64>) = (of(&settled), of(&sent));
        let far = apart(&mut one, &mut other);
        assert!(far < 1.0, "coordinate {coordinate}: {far} of the limit");
    }
    // Noise of one coordinate says nothing of that of another.
    for sample in [&settled, &sent] {
        let product: f64 = sample.chunks_exact(3).map(|x| x[0] * x[1]).sum();
        let square: f64 = sample.iter().map(|x| x * x).sum::<f64>() / 3.0;
        assert!(product.abs() < 5.0 * square / 500.0, "{product} {square}");
    }
    let far = apart(&mut settled, &mut sent);
    assert!(far < 1.0, "{far} of the limit");
    for factor in [0.97, 1.03] {
        let mut wrong: Vec<f64> = settled.iter().map(|x| factor * x).collect();
        let far = apart(&mut wrong, &mut sent);
        assert!(far > 1.0, "a factor of {factor} is not seen: {far}");
    }
}

#[test]
fn batches_are_settled_once_however_they_are_put_together() {
    let randomizer = GaussianVector::new(1000, 1.0, 1.0).unwrap();
    let mut random = Simulated::new(152, 0);
    let value = vec![0.01; 1000];
    let contribute = |people: usize, random: &mut Simulated, tally: &mut VectorSum| {
        for _ in 0..people {
            randomizer.contribute(&value, random, tally).unwrap();
        }
    };
    let mut report = vec![0; randomizer.report_length()];
    let mut tally = randomizer.tally();
    contribute(30, &mut random, &mut tally);
    randomizer.settle(&mut random, &mut tally);
    let once = tally.clone();
    randomizer.settle(&mut random, &mut tally);
    assert_eq!(tally, once);
    // Reports bring their own noise; a part that is not settled brings its debt.
    for _ in 0..30 {
        randomizer
            .randomize(&value, &mut random, &mut report)
            .unwrap();
        randomizer.add(&report, &mut tally).unwrap();
    }
    let mut part = randomizer.tally();
    contribute(40, &mut random, &mut part);
    tally.merge(&part);
    randomizer.settle(&mut random, &mut tally);
    let mean = randomizer.estimate(&tally).mean;
    let square: f64 = mean.iter().map(|x| (x - 0.01).powi(2)).sum();
    // A thousand coordinates know it to 4.5 %.
    let ratio = square * 100.0 / randomizer.variance(&value);
    assert!((ratio - 1.0).abs() < 0.22, "{ratio}");
}

/// Draws of every coordinate, in cells, against the distribution function of its noise on integers:
/// `cdf(level, z)` is the probability of less than z.
fn coordinates_fit<R: Randomizer<Value = [f32]>>(
    randomizer: &R,
    value: &[f32],
    levels: &[i64],
    cell: i64,
    cdf: impl Fn(f64) -> f64,
) {
    const CELLS: i64 = 40;
    let width = randomizer.report_length() / value.len();
    let mut random = Simulated::new(161, 0);
    let mut report = vec![0; randomizer.report_length()];
    let draws = 400_000;
    let mut counts = vec![[0.0; 2 * CELLS as usize]; value.len()];
    for _ in 0..draws {
        randomizer
            .randomize(value, &mut random, &mut report)
            .unwrap();
        for ((at, level), counts) in report.chunks(width).zip(levels).zip(&mut counts) {
            // Two's complement, of either width.
            let sign = if at[width - 1] < 128 { 0 } else { 255 };
            let mut all = [sign; 8];
            all[..width].copy_from_slice(at);
            let noise = i64::from_le_bytes(all) - level;
            let place = noise.div_euclid(cell).clamp(-CELLS, CELLS - 1);
            counts[(place + CELLS) as usize] += 1.0;
        }
    }
    for counts in counts {
        let (mut chi, mut freedom) = (0.0, -1.0f64);
        for (place, count) in (-CELLS..CELLS).zip(counts) {
            let ends = [place, place + 1].map(|end| match end {
                end if end == -CELLS => 0.0,
                CELLS => 1.0,
                _ => cdf((end * cell) as f64),
            });
            let expected = (ends[1] - ends[0]) * f64::from(draws);
            assert!(expected > 5.0, "cell {place} is too rare");
            chi += (count - expected).powi(2) / expected;
            freedom += 1.0;
        }
        let limit =
            freedom * (1.0 - 2.0 / (9.0 * freedom) + 4.75 * (2.0 / (9.0 * freedom)).sqrt()).powi(3);
        assert!(chi < limit, "chi-square {chi}, limit {limit}");
    }
}

#[test]
fn gaussian_vector() {
    let long: [f32; 5] = [0.6, 0.0, 0.0, -0.8, 0.0];
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.4];
    for sigma in [0.3, 2.0] {
        let randomizer = GaussianVector::new(5, 1.0, sigma).unwrap();
        vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 300_000, 142);
        let ratio = randomizer.variance(&inside) / (5.0 * sigma * sigma);
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
        assert!((randomizer.scale().powi(2) / (5.0 * sigma * sigma) - 1.0).abs() < 1e-9);
        assert!(randomizer.influence().is_infinite());
    }
    // Differences of the normal law, at a radius that is no power of two; 2^16 cells to a deviation, a tenth
    // of that in one.
    let randomizer = GaussianVector::new(3, 3.0, 0.7).unwrap();
    let value: [f32; 3] = [1.1, -2.7, 0.0];
    let levels = value.map(|x| (f64::from(x) / (0.7 * 3.0 / 65536.0)) as i64);
    coordinates_fit(&randomizer, &value, &levels, 6554, |z| {
        0.5 * shuffledp_numerics::special::erfc(-z / 65536.0 / 2f64.sqrt())
    });
    // Likelihoods are densities, up to what all values share.
    let mut report = [0; 12];
    let sent: [i32; 3] = [40_000, -90_000, 7];
    for (at, x) in report.chunks_mut(4).zip(sent) {
        at.copy_from_slice(&x.to_le_bytes());
    }
    let density = |levels: [i64; 3]| {
        let square = |(x, level): (i32, i64)| (f64::from(x) + 0.5 - level as f64).powi(2);
        let total: f64 = sent.into_iter().zip(levels).map(square).sum();
        (-0.5 * total / 2f64.powi(32)).exp()
    };
    let likelihood = randomizer.likelihood(&value[..], &report).unwrap();
    assert!((likelihood / density(levels) * density([0; 3]) - 1.0).abs() < 1e-12);
    assert_eq!(randomizer.likelihood(&[0.0; 3][..], &report), Some(1.0));
    // What the tolerance lets pass is brought inside: the levels are what is contributed.
    let mut random = Simulated::new(143, 0);
    for beyond in [1.0 + 9e-7, 1.0 + 1e-7, 1.0] {
        for d in [1usize, 2, 7, 1000] {
            let randomizer = GaussianVector::new(d, 1.0, 0.3).unwrap();
            let value = vec![(beyond / (d as f64).sqrt()) as f32; d];
            randomizer.check(&value).unwrap();
            let mut tally = randomizer.tally();
            randomizer
                .contribute(&value, &mut random, &mut tally)
                .unwrap();
            let mean = randomizer.estimate(&tally).mean;
            let norm = mean.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(norm <= 1.0 + 2e-12 && norm > 1.0 - 2e-4, "{norm}");
        }
    }
    let randomizer = GaussianVector::new(5, 1.0, 2.0).unwrap();
    wire_is_strict(
        &randomizer,
        &[1.0, 0.1, 0.0, 0.0, 0.0][..],
        &[&[], &[0; 40]],
    );
    wire_is_strict(&randomizer, &[f32::NAN, 0.0, 0.0, 0.0, 0.0][..], &[]);
    wire_is_strict(&randomizer, &[0.0; 4][..], &[]);
    golden(
        &randomizer,
        &[&long[..], &inside[..]],
        "40ed0000f97affffb315ffffdb4dfeff6a780000 04fb010073580100b283ffffd6b5ffff58d9feff",
    );
}

#[test]
fn laplace_vector() {
    let long: [f32; 5] = [0.25, 0.0, 0.0, -0.75, 0.0];
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.25];
    for epsilon0 in [0.5, 8.0] {
        let randomizer = LaplaceVector::new(5, 1.0, epsilon0).unwrap();
        vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 300_000, 172);
        // Twice the square of 2/epsilon0 on every coordinate.
        let ratio = randomizer.variance(&inside) * epsilon0 * epsilon0 / 40.0;
        assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
        assert!(randomizer.influence().is_infinite());
    }
    // The law of a two-sided geometric number with the rate that the documentation gives.
    let randomizer = LaplaceVector::new(3, 3.0, 20.0).unwrap();
    let value: [f32; 3] = [0.7, -2.2, 0.0];
    let levels = value.map(|x| (f64::from(x) / 3.0 * 1_048_576.0) as i64);
    let rate = 20.0 / 2_097_152.0;
    coordinates_fit(&randomizer, &value, &levels, 20_000, |z| {
        // P[Z < z] = P[Z ≥ 1 − z] for z ≤ 0, and P[Z ≥ g] = e^{−rate g}/(1 + e^{−rate}) for g ≥ 1.
        let tail = |g: f64| (-rate * g).exp() / (1.0 + (-rate).exp());
        if z <= 0.0 {
            tail(1.0 - z)
        } else {
            1.0 - tail(z)
        }
    });
    let randomizer = LaplaceVector::new(5, 1.0, 2.0).unwrap();
    wire_is_strict(
        &randomizer,
        &[0.5, 0.6, 0.0, 0.0, 0.0][..],
        &[&[], &[0; 80]],
    );
    wire_is_strict(&randomizer, &[f32::NAN, 0.0, 0.0, 0.0, 0.0][..], &[]);
    wire_is_strict(&randomizer, &[0.0; 6][..], &[]);
    golden(
        &randomizer,
        &[&long[..], &inside[..]],
        "1b44ffffffffffffa786070000000000ae12fcffffffffff6c61f5ffffffffff8b7be4ffffffffff 8299eaffffffffff3bf6b7ffffffffff7aeef8ffffffffffdeb8f9ffffffffff523b010000000000",
    );
}

#[test]
fn no_report_of_a_laplace_vector_says_more_than_epsilon0() {
    const K: i64 = 1 << 20;
    // One is outside by nearly what is let pass, which is more than a level.
    const RADIUS: f64 = 1.0 / (1.0 + 9.8e-7);
    for epsilon0 in [0.01, 0.3, 1.0, 7.7, 100.0] {
        let one = LaplaceVector::new(1, RADIUS, epsilon0).unwrap();
        let at = |value: f32, y: i64| one.probability(&[value][..], &y.to_le_bytes()).unwrap();
        let (mut largest, mut total) = (0.0f64, 0.0);
        // Where the law changes, and some beyond.
        for y in (-K - 2000..=K + 2000)
            .step_by(13)
            .chain([-K, 0, K, -9 * K, 9 * K])
        {
            for (a, b) in [(1.0, -1.0), (-1.0, 1.0), (0.999, -1.0)] {
                one.check(&[a][..]).unwrap();
                largest = largest.max((at(a, y) / at(b, y)).ln());
            }
        }
        assert!(largest <= epsilon0 * (1.0 + 1e-13), "{largest} {epsilon0}");
        // A few levels are lost to bringing it inside, and a little to the rate.
        assert!(largest > epsilon0 * (1.0 - 4e-6), "{largest} {epsilon0}");
        if epsilon0 == 100.0 {
            for y in -K..=2 * K {
                total += at(0.7, y);
            }
            assert!((total - 1.0).abs() < 1e-9, "{total}");
        }

        let two = LaplaceVector::new(2, RADIUS, epsilon0).unwrap();
        let values: [[f32; 2]; 8] = [
            [1.0, 0.0],
            [-1.0, 0.0],
            [0.0, 1.0],
            [0.0, -1.0],
            [0.5, 0.5],
            [-0.5, 0.5],
            [1.0, -1e-40],
            [f32::MIN_POSITIVE, -0.999_999_9],
        ];
        let mut largest: f64 = 0.0;
        for place in 0..33 * 33i64 {
            let y = [place % 33 - 16, place / 33 - 16].map(|x| x * K / 12);
            let report = y.map(i64::to_le_bytes).concat();
            let at: Vec<[f64; 2]> = values
                .iter()
                .map(|value| {
                    two.check(&value[..]).unwrap();
                    [
                        two.probability(&value[..], &report).unwrap().ln(),
                        two.likelihood(&value[..], &report).unwrap().ln(),
                    ]
                })
                .collect();
            for a in &at {
                for b in &at {
                    largest = largest.max(a[0] - b[0]);
                    let differ = (a[0] - b[0]) - (a[1] - b[1]);
                    assert!(differ.abs() < 1e-11 * (1.0 + epsilon0), "{differ}");
                }
            }
        }
        assert!(
            largest <= epsilon0 * (1.0 + 1e-13) + 1e-13,
            "{largest} {epsilon0}"
        );
        assert!(largest > epsilon0 * (1.0 - 4e-6), "{largest} {epsilon0}");
    }
}

#[test]
fn r_inf() {
    let corner: [f32; 3] = [0.5, 0.5, -0.5];
    let opposite = corner.map(|x| -x);
    let inside: [f32; 3] = [0.1, -0.5, 0.0];
    let randomizer = RInf::new(3, 0.5, 1.0).unwrap();
    let rows = law(&randomizer, &[&corner[..], &opposite[..], &inside[..]], &[]);
    priced_alike(
        randomizer.mechanism(),
        vec![rows[0].clone(), rows[1].clone()],
    );
    draws_fit(&randomizer, &inside[..], 101);
    vectors_are_unbiased(&randomizer, &[&corner, &inside, &[0.0; 3]], 400_000, 102);
    wire_is_strict(&randomizer, &[0.6, 0.0, 0.0][..], &[&[6]]);
    wire_is_strict(&randomizer, &[f32::NAN, 0.0, 0.0][..], &[]);
    wire_is_strict(&randomizer, &[0.0, 0.0][..], &[]);
    golden(&randomizer, &[&corner[..], &inside[..]], "03 02");
}

#[test]
fn r_1() {
    let corner: [f32; 3] = [0.0, 2.0, 0.0];
    let opposite = corner.map(|x| -x);
    let inside: [f32; 3] = [0.5, -0.5, 0.75];
    let randomizer = R1::new(3, 2.0, 1.5).unwrap();
    let rows = law(&randomizer, &[&corner[..], &opposite[..], &inside[..]], &[]);
    priced_alike(
        randomizer.mechanism(),
        vec![rows[0].clone(), rows[1].clone()],
    );
    draws_fit(&randomizer, &inside[..], 111);
    vectors_are_unbiased(&randomizer, &[&corner, &inside, &[0.0; 3]], 400_000, 112);
    wire_is_strict(&randomizer, &[1.0, 1.0, 0.1][..], &[&[8]]);
    golden(&randomizer, &[&corner[..], &inside[..]], "05 05");
}

#[test]
fn r_2() {
    let long: [f32; 5] = [0.6, 0.0, 0.0, -0.8, 0.0];
    let opposite = long.map(|x| -x);
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.4];
    let randomizer = R2::new(5, 1.0, 2.0).unwrap();
    // Given the seed.
    law(
        &randomizer,
        &[&long[..], &opposite[..], &inside[..], &[0.0; 5][..]],
        &[9; 16],
    );
    vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 400_000, 122);
    // In high dimension the square is about (pi/2) d C².
    let wide = R2::new(10_000, 1.0, 1.0).unwrap();
    let c = (1f64.exp() + 1.0) / 1f64.exp_m1();
    assert!((wide.scale().powi(2) / (0.5 * std::f64::consts::PI * 1e4 * c * c) - 1.0).abs() < 1e-4);
    assert_eq!(wide.report_length(), 17);
    wire_is_strict(&randomizer, &[1.0, 0.1, 0.0, 0.0, 0.0][..], &[&[2; 17]]);
    golden(
        &randomizer,
        &[&long[..], &inside[..]],
        "22ec148010e5aa80fea2d5d3892674a000 36a2ea9bfd4cef3e332fa28eca69111b01",
    );
    // What a seed stands for, by ChaCha8 written out in Python and the normal quantiles of scipy.
    let mut tally = randomizer.tally();
    let report = [vec![9; 16], vec![1]].concat();
    randomizer.add(&report, &mut tally).unwrap();
    let mean = randomizer.estimate(&tally).mean;
    let text: Vec<String> = mean
        .iter()
        .map(|x| format!("{:.5}", x / randomizer.scale()))
        .collect();
    assert_eq!(text.join(" "), "-0.17497 0.12199 0.90157 -0.10898 0.36028");
}

#[test]
fn priv_unit() {
    let long: [f32; 5] = [0.6, 0.0, 0.0, -0.8, 0.0];
    let inside: [f32; 5] = [0.1, -0.2, 0.3, 0.0, 0.4];
    for epsilon0 in [0.5, 4.0] {
        let randomizer = PrivUnit::new(5, 1.0, epsilon0).unwrap();
        vectors_are_unbiased(&randomizer, &[&long, &inside, &[0.0; 5]], 400_000, 132);
        // Ratios of likelihoods of many seeds: never above epsilon0, and attained.
        let mut random = Simulated::new(133, 0);
        let mut report = [0; 16];
        let mut largest: f64 = 0.0;
        for _ in 0..2000 {
            randomizer
                .randomize(&long[..], &mut random, &mut report)
                .unwrap();
            let at = |value: &[f32]| randomizer.probability(value, &report).unwrap();
            let opposite = long.map(|x| -x);
            largest = largest.max((at(&long) / at(&opposite)).ln().abs());
        }
        assert!(
            largest <= epsilon0 + 1e-14 && largest > epsilon0 - 1e-12,
            "{largest}"
        );
    }
    // At larger epsilon0 it is clearly better than a direction and a bit.
    let (unit, bit) = (
        PrivUnit::new(1000, 1.0, 6.0).unwrap(),
        R2::new(1000, 1.0, 6.0).unwrap(),
    );
    assert!(
        unit.scale() < 0.6 * bit.scale(),
        "{} {}",
        unit.scale(),
        bit.scale()
    );
    let randomizer = PrivUnit::new(5, 1.0, 2.0).unwrap();
    wire_is_strict(&randomizer, &[2.0, 0.0, 0.0, 0.0, 0.0][..], &[]);
    golden(
        &randomizer,
        &[&long[..], &inside[..]],
        "36a2ea9bfd4cef3e332fa28eca69111b 74364632cd2728f60b6cbbf2a1ed388c",
    );
    // What a seed stands for, as ChaCha20 and the inverse error function of other libraries have it.
    let randomizer = PrivUnit::new(5, 1.0, 2.0).unwrap();
    let mut tally = randomizer.tally();
    randomizer.add(&[9; 16], &mut tally).unwrap();
    let mean = randomizer.estimate(&tally).mean;
    let text: Vec<String> = mean
        .iter()
        .map(|x| format!("{:.5}", x / randomizer.scale()))
        .collect();
    assert_eq!(
        text.join(" "),
        "-0.47833 -0.07046 -0.67369 -0.15944 -0.53569"
    );
}

#[test]
fn parameters_outside_their_domains_are_refused_by_name() {
    let message = KaryResponse::new(4, 0.0).unwrap_err().to_string();
    assert_eq!(message, "epsilon0 0 is outside [1e-6, 100] for a device");
    assert!(LocalHashing::new(4, 30.0).is_err());
    assert!(KaryResponse::new(1, 1.0).is_err());
    assert!(UnaryEncoding::optimized(1 << 40, 1.0).is_err());
    assert!(Duchi::new(f64::NAN).is_err());
    let message = |refused: Result<(), Error>| refused.unwrap_err().to_string();
    let gaussian = |d, radius, sigma| message(GaussianVector::new(d, radius, sigma).map(drop));
    let laplace = |d, radius, epsilon0| message(LaplaceVector::new(d, radius, epsilon0).map(drop));
    let (sigma, epsilon0) = ("[0.3, 200] for a device", "[0.01, 100] for a device");
    for (value, text) in [(0.29, "0.29"), (201.0, "201"), (f64::NAN, "NaN")] {
        let message = gaussian(3, 1.0, value);
        assert_eq!(message, format!("sigma {text} is outside {sigma}"));
    }
    for (value, text) in [(0.0, "0"), (100.5, "100.5"), (f64::NAN, "NaN")] {
        let message = laplace(3, 1.0, value);
        assert_eq!(message, format!("epsilon0 {text} is outside {epsilon0}"));
    }
    for refused in [&gaussian as &dyn Fn(usize, f64, f64) -> String, &laplace] {
        assert_eq!(refused(0, 1.0, 1.0), "dimension 0 is outside [1, 2^30]");
        let message = refused(3, 0.0, 1.0);
        assert_eq!(message, "radius 0 is outside [1e-30, 1e30]");
    }
    let mut report = [0];
    let message = KaryResponse::new(4, 1.0)
        .unwrap()
        .randomize(&4, &mut Simulated::new(0, 0), &mut report)
        .unwrap_err()
        .to_string();
    assert_eq!(message, "value 4 is outside [0, 3]");
}
