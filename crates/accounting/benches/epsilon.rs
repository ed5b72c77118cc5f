//! The time of one answer, upper and lower bound together, at every size.

use criterion::{Criterion, criterion_group, criterion_main};
use shuffledp_accounting::{Delta, Error, Mechanism, Round, account};
use std::hint::black_box;

fn answer(round: &Round, delta: f64) -> Result<f64, Error> {
    let answer = account(round)?.epsilon(Delta::new(delta)?)?;
    Ok(answer.upper.value.value() + answer.lower.value.value())
}

fn epsilon(criterion: &mut Criterion) {
    let round = |users: u64| Mechanism::ldp(4.0).and_then(|mechanism| Round::new(mechanism, users));
    let cases = [
        ("ldp n=1e4", round(10_000), 1e-6),
        ("ldp n=1e6", round(1_000_000), 1e-8),
        ("ldp n=1e9", round(1_000_000_000), 1e-9),
        ("ldp n=1e12", round(1_000_000_000_000), 1e-8),
        (
            "check-in 1e-3, n=1e6",
            round(1_000_000).and_then(|round| round.check_in(1e-3)),
            1e-8,
        ),
        (
            "1000 of 1e6 sampled",
            round(1_000_000).and_then(|round| round.sample(1000)),
            1e-8,
        ),
        (
            "10-rr n=1e6",
            Mechanism::kary_response(10, 4.0).and_then(|m| Round::new(m, 1_000_000)),
            1e-8,
        ),
    ];
    for (name, round, delta) in cases {
        let Ok(round) = round else {
            panic!("{name} is not a valid round")
        };
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| answer(black_box(&round), black_box(delta)));
        });
    }
}

criterion_group!(benches, epsilon);
criterion_main!(benches);
