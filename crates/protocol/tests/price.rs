//! What devices cost by the price they name, against every dataset of three people and every batch that can
//! arrive, with and without dropouts.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp_accounting::{Epsilon, Round, account};
use shuffledp_randomizers::{Hierarchy, KaryResponse, R1, RInf, Randomizer};
use std::collections::HashMap;

/// The law of a batch: how often each report is in it. Every report is lost with probability `dropout`.
fn batches(people: [&[f64]; 3], dropout: f64) -> HashMap<Vec<u8>, f64> {
    let mut law = HashMap::from([(vec![0; people[0].len()], 1.0)]);
    for person in people {
        let mut next = HashMap::new();
        for (batch, chance) in law {
            *next.entry(batch.clone()).or_insert(0.0) += chance * dropout;
            for (report, sent) in person.iter().enumerate() {
                let mut more = batch.clone();
                more[report] += 1;
                *next.entry(more).or_insert(0.0) += chance * sent * (1.0 - dropout);
            }
        }
        law = next;
    }
    law
}

/// The largest δ over all datasets of three against the price, as (δ, price) at several ε.
fn worst<R: Randomizer>(randomizer: &R, values: &[&R::Value], dropout: f64) -> Vec<(f64, f64)> {
    let bytes = randomizer.report_length();
    let reports: Vec<Vec<u8>> = (0..1u32 << (8 * bytes))
        .map(|number| number.to_le_bytes()[..bytes].to_vec())
        .filter(|report| randomizer.probability(values[0], report).is_some())
        .collect();
    let rows: Vec<Vec<f64>> = values
        .iter()
        .map(|value| {
            let of = |report: &Vec<u8>| randomizer.probability(value, report).unwrap();
            reports.iter().map(of).collect()
        })
        .collect();
    let round = Round::new(randomizer.mechanism().clone(), 3).unwrap();
    let account = account(&round).unwrap();
    let grid = [0.0, 0.2, 0.5, 0.8];
    let mut largest = [0.0f64; 4];
    for second in &rows {
        for third in &rows {
            let laws: Vec<_> = rows
                .iter()
                .map(|first| batches([first, second, third], dropout))
                .collect();
            for one in &laws {
                for other in &laws {
                    for (most, epsilon) in largest.iter_mut().zip(grid) {
                        let gap = |(batch, p): (&Vec<u8>, &f64)| {
                            (p - f64::exp(epsilon) * other[batch]).max(0.0)
                        };
                        *most = most.max(one.iter().map(gap).sum());
                    }
                }
            }
        }
    }
    let price = |epsilon| {
        let answer = account.delta(Epsilon::new(epsilon).unwrap()).unwrap();
        answer.upper().value()
    };
    largest.into_iter().zip(grid.map(price)).collect()
}

fn below<R: Randomizer>(randomizer: &R, values: &[&R::Value]) {
    for dropout in [0.0, 0.3] {
        for (delta, price) in worst(randomizer, values, dropout) {
            assert!(
                delta <= price * (1.0 + 1e-9) + 1e-14,
                "{delta} above {price} with dropouts {dropout}"
            );
        }
    }
}

/// Opposite corners, corners beside them, and what lies between: the price is that of one bit.
#[test]
fn no_dataset_of_vectors_exceeds_the_price_of_a_bit() {
    let corners: [&[f32]; 6] = [
        &[1.0, 1.0],
        &[-1.0, -1.0],
        &[1.0, -1.0],
        &[0.3, -1.0],
        &[0.0, 0.0],
        &[-0.5, 0.2],
    ];
    below(&RInf::new(2, 1.0, 1.0).unwrap(), &corners);
    let points: [&[f32]; 5] = [
        &[1.0, 0.0],
        &[-1.0, 0.0],
        &[0.0, 1.0],
        &[0.5, -0.5],
        &[0.0, 0.0],
    ];
    below(&R1::new(2, 1.0, 1.0).unwrap(), &points);
}

#[test]
fn no_dataset_of_values_exceeds_its_price() {
    below(&KaryResponse::new(3, 1.0).unwrap(), &[&0, &1, &2]);
    below(&Hierarchy::new(2, 1.0).unwrap(), &[&0, &1, &2, &3]);
}

/// The check is one that can fail: at the price of half the epsilon0 it does.
#[test]
fn a_price_that_is_too_low_is_seen() {
    let kary = KaryResponse::new(3, 1.0).unwrap();
    let cheap = KaryResponse::new(3, 0.5).unwrap();
    let truth = worst(&kary, &[&0, &1, &2], 0.0);
    let prices = worst(&cheap, &[&0, &1, &2], 0.0);
    assert!(
        truth
            .iter()
            .zip(&prices)
            .any(|((delta, _), (_, price))| delta > price)
    );
}
