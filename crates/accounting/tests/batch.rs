//! Batches that are held back until they hold enough reports, by full enumeration: every dataset of few
//! users, every set of others who take part, and the whole protocol with a coin for everybody.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Matrix, Part, hockey_stick, kary, multisets, view};
use shuffledp_accounting::{Delta, Error, Mechanism, Round, account, of_batch};
use std::collections::BTreeMap;

/// Rounding of the enumeration itself.
const SLACK: f64 = 1e-13;
const DELTAS: [f64; 4] = [1e-3, 0.01, 0.05, 0.2];
const RATES: [f64; 3] = [0.1, 0.5, 0.9];

type Law = BTreeMap<Vec<u8>, f64>;

/// What is seen of user 1 at `value` among others who are known to take part: the batch with the user's
/// report or without it, and only its size where it is too small.
fn seen(channel: &Matrix, value: usize, others: &[usize], rate: f64, smallest: usize) -> Law {
    let with: Vec<usize> = [&[value], others].concat();
    let mut law = Law::new();
    for (inputs, weight) in [(&with[..], rate), (others, 1.0 - rate)] {
        for (histogram, probability) in view(channel, inputs, Part::Everyone) {
            let shown = match inputs.len() >= smallest {
                true => histogram,
                false => vec![u8::MAX, inputs.len() as u8],
            };
            *law.entry(shown).or_default() += weight * probability;
        }
    }
    law
}

/// The same where everybody throws a coin.
fn seen_with_coins(channel: &Matrix, inputs: &[usize], rate: f64, smallest: usize) -> Law {
    let mut law = Law::new();
    for (mut histogram, probability) in view(channel, inputs, Part::CheckIn(rate)) {
        // The last entry counts the absent.
        let present = inputs.len() - usize::from(histogram.pop().unwrap());
        let shown = match present >= smallest {
            true => histogram,
            false => vec![u8::MAX],
        };
        *law.entry(shown).or_default() += probability;
    }
    law
}

fn promised(k: u64, epsilon0: f64, smallest: u64, rate: f64, delta: f64) -> (f64, f64) {
    let round = Round::new(Mechanism::kary_response(k, epsilon0).unwrap(), smallest).unwrap();
    let answer = of_batch(&round, rate, Delta::new(delta).unwrap()).unwrap();
    (answer.upper().value(), answer.lower().value())
}

#[test]
fn no_dataset_and_no_crowd_beats_the_promise() {
    let mut attained = 0;
    for (k, epsilon0) in [(2usize, 1.0f64), (2, 3.0), (3, 1.5)] {
        let channel = kary(k, epsilon0);
        for smallest in 2..=4usize {
            for rate in RATES {
                let promised = DELTAS.map(|delta| {
                    (
                        delta,
                        promised(k as u64, epsilon0, smallest as u64, rate, delta),
                    )
                });
                // Others who are known to take part, up to two more than are needed; and one fewer, whose
                // batch is too small even with user 1.
                for many in smallest.saturating_sub(2)..=smallest + 1 {
                    for others in multisets(k, many) {
                        let law = |value| seen(&channel, value, &others, rate, smallest);
                        for (delta, (upper, lower)) in promised {
                            let lost = |epsilon: f64| hockey_stick(&law(0), &law(1), epsilon.exp());
                            assert!(
                                lost(upper) <= delta + SLACK,
                                "{others:?} {rate} {delta} {upper}"
                            );
                            attained += usize::from(
                                lower > 0.0 && lost(lower * (1.0 - 1e-6)) >= delta - SLACK,
                            );
                        }
                    }
                }
            }
        }
    }
    // The lower bounds are those of some crowd of exactly the smallest size.
    assert!(attained > 50, "{attained}");
}

#[test]
fn nor_does_the_whole_protocol() {
    for (k, epsilon0) in [(2usize, 2.0f64), (3, 1.0)] {
        let channel = kary(k, epsilon0);
        for (users, smallest) in [(3usize, 2usize), (4, 2), (4, 3)] {
            for rate in RATES {
                for delta in DELTAS {
                    let (upper, _) = promised(k as u64, epsilon0, smallest as u64, rate, delta);
                    for others in multisets(k, users - 1) {
                        let law = |value| {
                            seen_with_coins(
                                &channel,
                                &[&[value], &others[..]].concat(),
                                rate,
                                smallest,
                            )
                        };
                        assert!(hockey_stick(&law(0), &law(1), upper.exp()) <= delta + SLACK);
                    }
                }
            }
        }
    }
}

#[test]
fn the_coin_counts_in_delta_alone() {
    let round = Round::new(Mechanism::ldp(2.0).unwrap(), 1000).unwrap();
    let at = |rate: f64, delta: f64| {
        let answer = of_batch(&round, rate, Delta::new(delta).unwrap()).unwrap();
        (answer.upper().value(), answer.lower().value())
    };
    let plain = account(&round).unwrap().epsilon(1e-4).unwrap();
    let (upper, lower) = at(0.01, 1e-6);
    assert!((upper / plain.upper().value() - 1.0).abs() < 1e-9);
    assert!((lower / plain.lower().value() - 1.0).abs() < 1e-9);
    // Somebody who answers less often than delta loses nothing that counts.
    assert_eq!(at(1e-7, 1e-6), (0.0, 0.0));
    assert_eq!(at(1e-6, 1e-6), (0.0, 0.0));
    assert!(at(1.1e-6, 1e-6).0 < 1e-3);
}

#[test]
fn bad_questions_are_refused() {
    let round = Round::new(Mechanism::ldp(2.0).unwrap(), 1000).unwrap();
    let delta = Delta::new(1e-6).unwrap();
    for rate in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
        let message = of_batch(&round, rate, delta).unwrap_err().to_string();
        assert!(message.ends_with("is outside (0, 1]"), "{message}");
    }
    assert!(of_batch(&round, 0.5, Delta::new(0.0).unwrap()).is_err());
    let sample = round.clone().sample(10).unwrap();
    assert!(of_batch(&sample, 0.5, delta).is_err());
    let check_in = round.check_in(0.1).unwrap();
    assert!(of_batch(&check_in, 0.5, delta).is_err());
    // Where a record is compared with its absence, gamma times the round's own delta is not attained.
    let steps = Round::new(Mechanism::random_allocation(1.0).unwrap(), 2).unwrap();
    let error = of_batch(&steps, 0.1, Delta::new(1e-3).unwrap()).unwrap_err();
    assert!(matches!(error, Error::StepsNotUsers), "{error}");
}
