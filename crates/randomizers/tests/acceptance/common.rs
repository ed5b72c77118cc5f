//! The checks that randomizers of all kinds of value share.

use shuffledp_accounting::{Channel, Delta, Local, Mechanism, Round, account};
use shuffledp_randomizers::{Error, Randomizer, Simulated};
use std::collections::HashMap;

/// The number of reports drawn to compare frequencies with probabilities: standard errors are below 0.05 %.
pub(crate) const DRAWS: usize = 1_000_000;

/// The local guarantee that a mechanism was configured with.
pub(crate) fn configured(mechanism: &Mechanism) -> f64 {
    match mechanism.local() {
        Local::Pure(epsilon0) => epsilon0.value(),
        other => panic!("{other:?}"),
    }
}

/// Every report of up to two bytes that a device can send, after a fixed beginning.
pub(crate) fn reports<R: Randomizer>(
    randomizer: &R,
    value: &R::Value,
    beginning: &[u8],
) -> Vec<Vec<u8>> {
    let bytes = randomizer.report_length() - beginning.len();
    assert!(bytes <= 2, "too long to enumerate");
    (0..1u32 << (8 * bytes))
        .map(|number| [beginning, &number.to_le_bytes()[..bytes]].concat())
        .filter(|report| randomizer.probability(value, report).is_some())
        .collect()
}

/// The distribution of reports of each of `values`: it sums to one, and the largest ratio is e^ε₀ and no
/// more.
pub(crate) fn law<R: Randomizer>(
    randomizer: &R,
    values: &[&R::Value],
    beginning: &[u8],
) -> Vec<Vec<f64>> {
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
    // Not above, up to the rounding of this check, and not needlessly below.
    assert!(
        largest <= wanted + 4e-15 * wanted.max(1.0),
        "{largest} {wanted}"
    );
    assert!(largest >= wanted - 1e-12, "{largest} {wanted}");
    rows
}

/// Draws against the distribution: a chi-square test that a correct sampler fails once in a million runs.
pub(crate) fn draws_fit<R: Randomizer>(randomizer: &R, value: &R::Value, seed: u64) {
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

/// Other lengths and values outside are refused, and a refused report changes nothing.
pub(crate) fn wire_is_strict<R>(randomizer: &R, outside: &R::Value, broken: &[&[u8]])
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

/// The accountant's bounds for the mechanism and for the enumerated distribution agree. There is a sharper
/// upper bound for bits, which a matrix does not have: then the laws are compared under check-in at rates of
/// the users' own, where both use them.
pub(crate) fn priced_alike(mechanism: &Mechanism, rows: Vec<Vec<f64>>) {
    let delta = Delta::new(1e-6).unwrap();
    let matrix = Mechanism::matrix(Channel::new(rows).unwrap());
    let everybody = |mechanism: &Mechanism| Round::new(mechanism.clone(), 1000).unwrap();
    let half = |mechanism: &Mechanism| everybody(mechanism).check_in_between(0.4, 0.6).unwrap();
    let price = |round: Round| account(&round).unwrap().epsilon(delta).unwrap();
    let alike = |a: f64, b: f64| {
        assert!(
            (a / b - 1.0).abs() < 1e-5,
            "{mechanism:?}: {a} by name, {b} by enumeration"
        );
    };
    let (named, listed) = (price(everybody(mechanism)), price(everybody(&matrix)));
    alike(named.lower().value(), listed.lower().value());
    if !named.upper().method().starts_with("count/") {
        return alike(named.upper().value(), listed.upper().value());
    }
    let (upper, blanket) = (named.upper().value(), listed.upper().value());
    assert!(listed.lower().value() <= upper && upper < blanket);
    let (named, listed) = (price(half(mechanism)), price(half(&matrix)));
    alike(named.upper().value(), listed.upper().value());
}

/// The first reports of a fixed stream. They must never change: old devices send to new analyzers.
pub(crate) fn golden<R: Randomizer>(randomizer: &R, values: &[&R::Value], expected: &str) {
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
