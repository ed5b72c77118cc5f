//! One epoch of private learning, without its randomizer and with it: 60,000 gradients of images of 28×28, each clipped to norm 1, on all cores.

use criterion::{Criterion, criterion_group, criterion_main};
use rayon::prelude::*;
use shuffledp_accounting::Participation;
use shuffledp_learning::{Activation, Crowd, Error, Examples, Model, Norm, Shape, Way};
use shuffledp_protocol::Attendance;
use shuffledp_randomizers::{R2, Secure};
use std::hint::black_box;
use std::time::Duration;

const EXAMPLES: usize = 60_000;
const SHAPE: Shape = Shape {
    channels: 1,
    height: 28,
    width: 28,
};

/// The sum of all clipped gradients.
fn epoch(model: &Model, parameters: &[f32], images: &[f32]) -> Result<Vec<f32>, Error> {
    let chunks: Vec<Vec<f32>> = images
        .par_chunks(500 * SHAPE.numbers())
        .map_init(
            || (model.workspace(), vec![0.0; parameters.len()]),
            |(workspace, gradient), images| {
                let mut sum = vec![0.0; parameters.len()];
                for (at, image) in images.chunks_exact(SHAPE.numbers()).enumerate() {
                    model.gradient(parameters, image, (at % 10) as u8, workspace, gradient)?;
                    Norm::L2.clip(gradient, 1.0)?;
                    for (sum, slope) in sum.iter_mut().zip(&*gradient) {
                        *sum += slope;
                    }
                }
                Ok(sum)
            },
        )
        .collect::<Result<_, Error>>()?;
    let mut total = vec![0.0; parameters.len()];
    for chunk in &chunks {
        for (total, sum) in total.iter_mut().zip(chunk) {
            *total += sum;
        }
    }
    Ok(total)
}

/// A fifth of the numbers is ink, as in handwriting.
fn images() -> Vec<f32> {
    (0..EXAMPLES * SHAPE.numbers())
        .map(|at| (at as u32).wrapping_mul(2_654_435_769) >> 16)
        .map(|word| {
            if word % 5 == 0 {
                word as f32 / 32_768.0 - 1.0
            } else {
                -1.0
            }
        })
        .collect()
}

fn gradients(criterion: &mut Criterion) {
    let images = images();
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
                    bencher
                        .iter(|| epoch(&model, black_box(&parameters), &images).map(|sum| sum[0]));
                });
            }
            Err(error) => eprintln!("{name}: {error}"),
        }
    }
}

/// Everybody's gradient by R2, added where it is drawn.
fn randomised(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("60,000 clipped and randomised gradients");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(60));
    let prepared = || {
        let model = Model::cnn_disjoint(SHAPE, Activation::Tanh, 10)?;
        let randomizer = R2::new(model.parameters(), 1.0, 1.5)?;
        let labels = (0..EXAMPLES).map(|at| (at % 10) as u8).collect();
        let examples = Examples::new(SHAPE, 10, images(), labels)?;
        Ok::<_, Error>((model, randomizer, examples))
    };
    let name = "cnn, 13,722 parameters, tanh, R2 at epsilon0 1.5";
    match prepared() {
        Ok((model, randomizer, examples)) => {
            let parameters = model.initial(1);
            let crowd = Crowd {
                model: &model,
                examples: &examples,
                randomizer: &randomizer,
                norm: Norm::L2,
                bound: 1.0,
            };
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    let everybody = Attendance::new(Participation::Everyone, EXAMPLES as u64, 0.0)?;
                    let parameters = black_box(&parameters);
                    crowd.round(parameters, everybody, Way::Added, |_| Secure::new())
                });
            });
        }
        Err(error) => eprintln!("{name}: {error}"),
    }
}

criterion_group!(benches, gradients, randomised);
criterion_main!(benches);
