//! Whole rounds of ten million people, and runs of an audit: `cargo bench -p shuffledp-protocol`.

#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, criterion_group, criterion_main};
use shuffledp_accounting::Participation;
use shuffledp_protocol::audit::{Pair, Setting, audit, shuffled};
use shuffledp_protocol::{Attendance, Collection, Confidence};
use shuffledp_randomizers::{
    Duchi, Gaussian, HadamardResponse, KaryResponse, Piecewise, Randomizer, Secure,
};
use std::borrow::Borrow;

const USERS: u64 = 10_000_000;

fn collected<R, V>(randomizer: &R, value: impl Fn(u64) -> V + Sync) -> R::Estimate
where
    R: Randomizer + Sync,
    V: Borrow<R::Value>,
{
    let collection = Collection {
        users: USERS,
        attendance: Attendance::new(Participation::Everyone, USERS, 0.0).unwrap(),
        memory: 1 << 28,
    };
    let open = tempfile::tempfile;
    let analyzer = collection.run(randomizer, value, |_| Secure::new(), open, |_| ());
    analyzer.unwrap().estimate().unwrap()
}

fn rounds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ten million people");
    group.sample_size(10);
    let kary = KaryResponse::new(1000, 3.0).unwrap();
    group.bench_function("histogram of 1000, k-ary", |bench| {
        bench.iter(|| collected(&kary, |user| user % 1000))
    });
    let hadamard = HadamardResponse::new(1000, 3.0).unwrap();
    group.bench_function("histogram of 1000, Hadamard", |bench| {
        bench.iter(|| collected(&hadamard, |user| user % 1000))
    });
    let number = |user: u64| (user % 1000) as f64 / 1000.0;
    let duchi = Duchi::new(1.0).unwrap();
    group.bench_function("mean, Duchi", |bench| {
        bench.iter(|| collected(&duchi, number))
    });
    let piecewise = Piecewise::new(2.0).unwrap();
    group.bench_function("mean, piecewise", |bench| {
        bench.iter(|| collected(&piecewise, number))
    });
    let gaussian = Gaussian::new(1.0).unwrap();
    group.bench_function("mean, Gaussian", |bench| {
        bench.iter(|| collected(&gaussian, number))
    });
    group.finish();
}

fn attacks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("audit of 100 users, 10000 runs");
    group.sample_size(10);
    let setting = Setting {
        users: 100,
        participation: Participation::Everyone,
        dropout: 0.0,
        rounds: 1,
        trials: 10_000,
        delta: 1e-2,
        confidence: Confidence::new(0.95).unwrap(),
        seed: 1,
    };
    let kary = KaryResponse::new(10, 1.0).unwrap();
    let pairs = [Pair {
        first: 0,
        second: 1,
        others: 2,
    }];
    group.bench_function("10-ary response", |bench| {
        bench.iter(|| audit(&kary, &pairs, &setting, &shuffled, |_| ()).unwrap())
    });
    let gaussian = Gaussian::new(1.0).unwrap();
    let pairs = [Pair {
        first: 0.0,
        second: 1.0,
        others: 0.0,
    }];
    group.bench_function("Gaussian noise", |bench| {
        bench.iter(|| audit(&gaussian, &pairs, &setting, &shuffled, |_| ()).unwrap())
    });
    group.finish();
}

criterion_group!(benches, rounds, attacks);
criterion_main!(benches);
