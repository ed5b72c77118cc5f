//! Rounds of 20,000 reports of 1,290 coordinates, from the gradient to the sum, on all cores: attendance,
//! devices, shuffler and analyzer as training runs them.
//! `cargo bench -p shuffledp-learning --bench reports`.
//!
//! Reports a second depend on the machine. The first line of each pair is a yardstick that moves with it: a
//! report read, which is a seed expanded and added, on one core. The time of a round, times the cores,
//! divided by 20,000 of those, is what a report costs in expansions; it is printed at the end.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use shuffledp_accounting::Round;
use shuffledp_learning::{
    Charge, Error, Examples, Gradients, Key, Model, Norm, Recipe, Rule, Schedule, Shape,
    ShuffledSgd, Training, Way,
};
use shuffledp_randomizers::{PrivUnit, R2, Ramp, Randomizer, Simulated, VectorEstimate, VectorSum};
use std::time::{Duration, Instant};

const USERS: usize = 20_000;
/// With ten classes and ten constants: 1,290 coordinates.
const SHAPE: Shape = Shape {
    channels: 1,
    height: 1,
    width: 128,
};

fn examples() -> Result<Examples, Error> {
    let features = (0..USERS * SHAPE.numbers())
        .map(|at| ((at as u32).wrapping_mul(2_654_435_769) >> 16) as f32 / 32_768.0 - 1.0)
        .collect();
    let labels = (0..USERS).map(|at| (at % 10) as u8).collect();
    Examples::new(SHAPE, 10, features, labels)
}

/// A round through the shuffler, and a report that is read.
fn round<R>(criterion: &mut Criterion, name: &str, randomizer: &R) -> Result<(), Error>
where
    R: Randomizer<Value = [f32], Tally = VectorSum, Estimate = VectorEstimate> + Sync,
{
    let model = Model::logistic(SHAPE, 10)?;
    let examples = examples()?;
    let gradients = Gradients {
        model: &model,
        examples: &examples,
        norm: Norm::L2,
        bound: 1.0,
    };
    let charge = Charge::Shuffled(Round::new(randomizer.mechanism().clone(), USERS as u64)?);
    let algorithm = ShuffledSgd::new(gradients, randomizer, charge, Way::Shuffled)?;
    let recipe = Recipe {
        rounds: 1,
        rate: 0.1,
        schedule: Schedule::Constant,
        rule: Rule::Momentum(0.0),
        radius: None,
    };
    let start = Training::new(recipe, model.initial(1), "bench", USERS as u64)?;
    let key = Key::secret()?;
    let mut group = criterion.benchmark_group("reports of 1290 coordinates through the shuffler");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5));
    let mut report = vec![0; randomizer.report_length()];
    let value = vec![0.0; model.parameters()];
    randomizer.randomize(&value, &mut Simulated::new(1, 0), &mut report)?;
    let mut tally = randomizer.tally();
    let mut read = f64::INFINITY;
    group.throughput(Throughput::Elements(1));
    group.bench_function(format!("{name}, one read"), |bencher| {
        bencher.iter_custom(|times| {
            let begin = Instant::now();
            for _ in 0..times {
                let _ = randomizer.add(&report, &mut tally);
            }
            let took = begin.elapsed();
            read = read.min(took.as_secs_f64() / times as f64);
            took
        });
    });
    let mut whole = f64::INFINITY;
    group.throughput(Throughput::Elements(USERS as u64));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let begin = Instant::now();
            for _ in 0..times {
                let _ = start.clone().step(&algorithm, key);
            }
            let took = begin.elapsed();
            whole = whole.min(took.as_secs_f64() / times as f64);
            took
        });
    });
    group.finish();
    if read.is_finite() && whole.is_finite() {
        let cores = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
        println!(
            "{name}: at best {:.0} reports a second on {cores} cores, each the cost of {:.1} reads",
            USERS as f64 / whole,
            whole * cores / (USERS as f64 * read)
        );
    }
    Ok(())
}

fn reports(criterion: &mut Criterion) {
    let mut all = || {
        let d = Model::logistic(SHAPE, 10)?.parameters();
        round(criterion, "R_2, epsilon0 1.5", &R2::new(d, 1.0, 1.5)?)?;
        round(
            criterion,
            "PrivUnit, epsilon0 2",
            &PrivUnit::new(d, 1.0, 2.0)?,
        )?;
        round(
            criterion,
            "ramp, epsilon0 2",
            &Ramp::new(d, 1.0, 2.0, None)?,
        )
    };
    if let Err(error) = all() {
        eprintln!("{error}");
    }
}

criterion_group!(benches, reports);
criterion_main!(benches);
