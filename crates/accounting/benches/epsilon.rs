//! The time of one answer, upper and lower bound together, at every size.

use criterion::{Criterion, criterion_group, criterion_main};
use shuffledp_accounting::bounds::girgis_2021;
use shuffledp_accounting::bounds::shuffle_gaussian::{self, Crowd};
use shuffledp_accounting::{
    Delta, Divergence, Domain, Epsilon, Error, Mechanism, Plan, Round, account, compare,
};
use std::hint::black_box;

fn answer(plan: &Plan, delta: f64) -> Result<f64, Error> {
    let answer = account(plan)?.epsilon(Delta::new(delta)?)?;
    Ok(answer.upper().value() + answer.lower().value())
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
    let gaussian = || {
        let mechanism = Mechanism::gaussian(1.0, Domain::Interval);
        mechanism.and_then(|mechanism| Round::new(mechanism, 1_000_000))
    };
    let allocation = || {
        let mechanism = Mechanism::random_allocation(1.0);
        mechanism.and_then(|mechanism| Round::new(mechanism, 1_000))
    };
    let slow = [
        ("gaussian n=1e6", gaussian(), 1, 1e-6),
        ("gaussian n=1e6, T=1e4", gaussian(), 10_000, 1e-6),
        ("random allocation n=1000", allocation(), 1, 1e-6),
    ];
    let mut group = criterion.benchmark_group("densities");
    group.sample_size(10);
    for (name, round, times, delta) in slow {
        let Ok(plan) = round.and_then(|round| Plan::new(round, times)) else {
            panic!("{name} is not a valid plan")
        };
        group.bench_function(name, |bencher| {
            bencher.iter(|| answer(black_box(&plan), black_box(delta)));
        });
    }
    let Ok(point) = gaussian().and_then(|round| account(&round)) else {
        panic!("one round of Gaussian noise can be priced")
    };
    group.bench_function("gaussian n=1e6, one delta, both bounds", |bencher| {
        bencher.iter(|| Epsilon::new(black_box(0.005)).and_then(|epsilon| point.delta(epsilon)));
    });
    group.finish();
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

/// Rényi order 10,000 at a million million users, tables built anew each time.
fn large_orders(criterion: &mut Criterion) {
    let users = 1_000_000_000_000;
    let order = 10_000.0;
    let mut group = criterion.benchmark_group("order 1e4 at n=1e12");
    group.sample_size(10);
    group.bench_function("shuffle-gaussian Theorem 1", |bencher| {
        bencher.iter(|| black_box(shuffle_gaussian::pair(1.0, Crowd::Everyone(users)).at(order)));
    });
    group.bench_function("shuffle-gaussian Theorem 2", |bencher| {
        let curve = || shuffle_gaussian::theorem_2(5.0, 1_000_000_000, users);
        bencher.iter(|| black_box(curve().at(order)));
    });
    group.bench_function("girgis-2021 NeurIPS Theorem 1", |bencher| {
        let curve = || girgis_2021::sampled_upper(users, 1_000_000_000, 1.0);
        bencher.iter(|| black_box(curve().at(order)));
    });
    let round = Mechanism::ldp(4.0).and_then(|mechanism| Round::new(mechanism, users));
    let divergence = round.and_then(|round| Divergence::new(&round));
    match divergence {
        Ok(divergence) => {
            group.bench_function("moments of the atoms", |bencher| {
                bencher.iter(|| black_box(divergence.at(order).map(|answer| answer.upper().get())));
            });
        }
        Err(error) => eprintln!("skipped: {error}"),
    }
    group.finish();
}

/// The whole table of published bounds.
fn comparison(criterion: &mut Criterion) {
    let round = || Mechanism::ldp(2.0).and_then(|mechanism| Round::new(mechanism, 1_000_000));
    let cases = [
        ("everybody", round()),
        ("1000 sampled", round().and_then(|round| round.sample(1000))),
        (
            "check-in 1e-3",
            round().and_then(|round| round.check_in(1e-3)),
        ),
    ];
    let mut group = criterion.benchmark_group("compare n=1e6, T=1e4");
    group.sample_size(10);
    for (name, round) in cases {
        match (round, Delta::new(1e-8)) {
            (Ok(round), Ok(delta)) => {
                group.bench_function(name, |bencher| {
                    bencher.iter(|| {
                        black_box(compare(&round, 10_000, delta).map(|table| table.len()))
                    });
                });
            }
            _ => eprintln!("skipped: {name}"),
        }
    }
    group.finish();
}

criterion_group!(
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = epsilon, composed_epsilon, large_orders, comparison
);
criterion_main!(benches);
