//! The time of one answer, upper and lower bound together, at every size.

use criterion::{Criterion, criterion_group, criterion_main};
use shuffledp_accounting::{Delta, Error, Mechanism, Plan, Round, account};
use std::hint::black_box;

fn answer(plan: &Plan, delta: f64) -> Result<f64, Error> {
    let answer = account(plan)?.epsilon(Delta::new(delta)?)?;
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
        measure(
            criterion,
            name,
            round.and_then(|round| Plan::new(round, 1)),
            delta,
        );
    }
}

/// Many rounds: the distributions of the losses are built anew each time.
fn composed_epsilon(criterion: &mut Criterion) {
    let round = |users: u64, epsilon0: f64| {
        Mechanism::ldp(epsilon0).and_then(|mechanism| Round::new(mechanism, users))
    };
    let sampled = || round(1_000_000, 2.0).and_then(|round| round.sample(1000));
    let cases = [
        ("ldp n=1e4, T=1e4", round(10_000, 4.0), 10_000, 1e-6),
        ("1000 of 1e6 sampled, T=1e5", sampled(), 100_000, 1e-8),
        ("1000 of 1e6 sampled, T=1e6", sampled(), 1_000_000, 1e-8),
        (
            "ldp n=1e12, T=1e6",
            round(1_000_000_000_000, 4.0),
            1_000_000,
            1e-8,
        ),
    ];
    for (name, round, times, delta) in cases {
        measure(
            criterion,
            name,
            round.and_then(|round| Plan::new(round, times)),
            delta,
        );
    }
}

fn measure(criterion: &mut Criterion, name: &str, plan: Result<Plan, Error>, delta: f64) {
    let Ok(plan) = plan else {
        panic!("{name} is not a valid plan")
    };
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| answer(black_box(&plan), black_box(delta)));
    });
}

criterion_group!(
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = epsilon, composed_epsilon
);
criterion_main!(benches);
