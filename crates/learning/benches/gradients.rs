//! One epoch of private learning, without its randomizer and with it: 60,000 gradients of images of 28×28,
//! each clipped to norm 1, on all cores.

mod pictures;

use criterion::{Criterion, criterion_group, criterion_main};
use pictures::{EXAMPLES, SHAPE, clipped, examples};
use shuffledp_accounting::Round;
use shuffledp_learning::{
    Activation, Charge, Error, Key, Model, Recipe, Rule, Schedule, ShuffledSgd, Training, Way,
};
use shuffledp_randomizers::{R2, Randomizer};
use std::hint::black_box;
use std::time::Duration;

fn gradients(criterion: &mut Criterion) {
    let examples = match examples() {
        Ok(examples) => examples,
        Err(error) => return eprintln!("{error}"),
    };
    let everybody: Vec<usize> = (0..EXAMPLES).collect();
    let mut group = criterion.benchmark_group("60,000 clipped gradients");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(30));
    for (name, model) in [
        ("logistic", Model::logistic(SHAPE, 10)),
        (
            "cnn, 13,722 parameters, relu",
            Model::cnn_disjoint(SHAPE, Activation::Relu, 10),
        ),
        (
            "cnn, 13,722 parameters, tanh",
            Model::cnn_disjoint(SHAPE, Activation::Tanh, 10),
        ),
        (
            "cnn, 26,010 parameters, tanh",
            Model::cnn_overlapping(SHAPE, Activation::Tanh, 10),
        ),
    ] {
        match model {
            Ok(model) => {
                let parameters = model.initial(1);
                group.bench_function(name, |bencher| {
                    let gradients = clipped(&model, &examples);
                    bencher.iter(|| gradients.sum(black_box(&parameters), &everybody));
                });
            }
            Err(error) => eprintln!("{name}: {error}"),
        }
    }
}

/// Everybody's gradient by R2, added where it is drawn.
fn randomized(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("60,000 clipped and randomized gradients");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(60));
    let name = "cnn, 13,722 parameters, tanh, R2 at epsilon0 1.5";
    let mut measured = || {
        let model = Model::cnn_disjoint(SHAPE, Activation::Tanh, 10)?;
        let randomizer = R2::new(model.parameters(), 1.0, 1.5)?;
        let examples = examples()?;
        let round = Round::new(randomizer.mechanism().clone(), EXAMPLES as u64)?;
        let gradients = clipped(&model, &examples);
        let charge = Charge::Shuffled(round);
        let algorithm = ShuffledSgd::new(gradients, &randomizer, charge, Way::Fast)?;
        let recipe = Recipe {
            rounds: 1,
            rate: 0.1,
            schedule: Schedule::Constant,
            rule: Rule::Momentum(0.0),
            radius: None,
        };
        let start = Training::new(recipe, model.initial(1), "bench", EXAMPLES as u64)?;
        let key = Key::secret()?;
        group.bench_function(name, |bencher| {
            bencher.iter(|| start.clone().step(&algorithm, key));
        });
        Ok::<(), Error>(())
    };
    if let Err(error) = measured() {
        eprintln!("{name}: {error}");
    }
}

criterion_group!(benches, gradients, randomized);
criterion_main!(benches);
