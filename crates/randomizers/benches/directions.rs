//! One report of a vector of 1,290 coordinates, by randomizer and ε₀: `cargo bench -p shuffledp-randomizers`.

#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use shuffledp_randomizers::{PrivUnit, R2, Ramp, Randomizer, Secure};

const DIMENSION: usize = 1290;

fn draws<R: Randomizer<Value = [f32]>>(criterion: &mut Criterion, name: &str, make: fn(f64) -> R) {
    let mut group = criterion.benchmark_group("a report of 1290 coordinates");
    let value = vec![1.0 / (DIMENSION as f32).sqrt(); DIMENSION];
    let mut random = Secure::new().unwrap();
    for epsilon0 in [1.0, 2.0, 4.0] {
        let randomizer = make(epsilon0);
        let mut report = vec![0; randomizer.report_length()];
        group.bench_function(BenchmarkId::new(name, epsilon0), |bench| {
            bench.iter(|| {
                randomizer
                    .randomize(&value, &mut random, &mut report)
                    .unwrap()
            })
        });
    }
    group.finish();
}

fn directions(criterion: &mut Criterion) {
    draws(criterion, "R_2", |epsilon0| {
        R2::new(DIMENSION, 1.0, epsilon0).unwrap()
    });
    draws(criterion, "PrivUnit", |epsilon0| {
        PrivUnit::new(DIMENSION, 1.0, epsilon0).unwrap()
    });
    draws(criterion, "ramp", |epsilon0| {
        Ramp::new(DIMENSION, 1.0, epsilon0, None).unwrap()
    });
}

criterion_group!(benches, directions);
criterion_main!(benches);
