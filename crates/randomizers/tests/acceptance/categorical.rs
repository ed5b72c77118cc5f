//! Randomizers of one of k categories.

use crate::common::{draws_fit, golden, law, priced_alike, wire_is_strict};
use shuffledp_randomizers::{
    Counts, Error, Estimate, HadamardResponse, Hierarchy, KaryResponse, LocalHashing, Prefixes,
    Randomizer, Simulated, SubsetSelection, UnaryEncoding,
};

const VALUES: [&u64; 5] = [&0, &1, &2, &3, &4];

/// Shares of a mixed population: every category within five standard errors, and the variance over batches as
/// in the formula.
fn shares_are_unbiased<R>(randomizer: &R, categories: u64, seed: u64)
where
    R: Randomizer<Value = u64, Tally = Counts, Estimate = Vec<Estimate>>,
{
    const BATCHES: usize = 400;
    const SIZE: usize = 2500;
    let mut random = Simulated::new(seed, 2);
    let mut report = vec![0; randomizer.report_length()];
    // 60 % of the users hold category 0, the others category 1.
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
        // The sample variance of 400 batches has a relative standard error of 7 %: five of these.
        let ratio = variance / claimed[category as usize];
        assert!(
            (ratio - 1.0).abs() < 0.36,
            "category {category}: variance {ratio} times the claim"
        );
    }
}

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
    // Over the keys, any two values are in the same bucket with probability 1/g.
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
    // A tenth level; a third node of a level of two; nonzero padding after an answer.
    wire_is_strict(&randomizer, &512, &[&[9, 0, 0], &[0, 2, 0], &[0, 1, 1]]);
    golden(&randomizer, &[&0, &511, &5], "042300 020700 042300");

    // The shares of the nodes of every level: 60 % of the users hold 0, the others 511.
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
        // About a ninth of the users draw each level.
        assert!((level.reports as f64 - 1e5).abs() < 1500.0);
        assert_eq!(level.shares.len(), 2 << place);
        for (node, share) in level.shares.iter().enumerate() {
            let truth = match node {
                0 => 0.6,
                last if last + 1 == level.shares.len() => 0.4,
                _ => 0.0,
            };
            // The users who drew this level are a sample, which adds to the variance.
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
    // A sixth question; nonzero padding after a position; a bucket out of range.
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
        "022e1b010000000000000000000000000000 \
         010685000000000000000000000000000000 \
         040b6cbbf2a1ed388cce5368b180b44cea03",
    );
}
