//! One epoch of private learning without its randomizer: 60,000 gradients of images of 28×28, each clipped to norm 1, on all cores.

use criterion::{Criterion, criterion_group, criterion_main};
use rayon::prelude::*;
use shuffledp_learning::{Activation, Error, Model, Norm, Shape};
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

fn gradients(criterion: &mut Criterion) {
    // A fifth of the numbers is ink, as in handwriting.
    let images: Vec<f32> = (0..EXAMPLES * SHAPE.numbers())
        .map(|at| (at as u32).wrapping_mul(2_654_435_769) >> 16)
        .map(|word| {
            if word % 5 == 0 {
                word as f32 / 32_768.0 - 1.0
            } else {
                -1.0
            }
        })
        .collect();
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

criterion_group!(benches, gradients);
criterion_main!(benches);
