//! Trains without privacy, to see what the models can do: `cargo run --release -p shuffledp-learning --example plain -- FOLDER [EPOCHS]`, with the four idx files of MNIST or Fashion-MNIST in the folder.

use rayon::prelude::*;
use shuffledp_learning::{Activation, Dataset, Error, Model, data::idx};
use shuffledp_randomizers::{Simulated, below};
use std::path::Path;
use std::time::Instant;

const BATCH: usize = 64;
const RATE: f32 = 0.05;
const MOMENTUM: f32 = 0.9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("which folder holds the data?")?;
    let epochs: usize = words.next().map_or(Ok(3), |epochs| epochs.parse())?;
    let start = Instant::now();
    let data = idx::read(Path::new(&folder))?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} and {} images, read in {seconds:.1} s",
        data.train().len(),
        data.test().len()
    );
    println!("SHA-256 {}", data.checksum());
    let (shape, classes) = (data.shape(), data.classes());
    for (name, model) in [
        ("logistic", Model::logistic(shape, classes)?),
        (
            "mlp, 64 hidden, relu",
            Model::mlp(shape, 64, Activation::Relu, classes)?,
        ),
        (
            "cnn, disjoint, relu",
            Model::cnn_disjoint(shape, Activation::Relu, classes)?,
        ),
        (
            "cnn, disjoint, tanh",
            Model::cnn_disjoint(shape, Activation::Tanh, classes)?,
        ),
        (
            "cnn, overlapping, tanh",
            Model::cnn_overlapping(shape, Activation::Tanh, classes)?,
        ),
    ] {
        println!("{name}: {} parameters", model.parameters());
        train(&model, &data, epochs)?;
    }
    Ok(())
}

/// Stochastic gradient descent with momentum; the rate halves after every epoch.
fn train(model: &Model, data: &Dataset, epochs: usize) -> Result<(), Error> {
    let mut parameters = model.initial(1);
    let mut velocity = vec![0.0; parameters.len()];
    let mut order: Vec<usize> = (0..data.train().len()).collect();
    let mut random = Simulated::new(1, 1);
    let mut rate = RATE;
    for epoch in 1..=epochs {
        let start = Instant::now();
        for last in (1..order.len()).rev() {
            order.swap(last, below(last as u64 + 1, &mut random) as usize);
        }
        let mut loss = 0.0;
        for batch in order.chunks(BATCH) {
            let (losses, gradient) = summed(model, &parameters, data, batch)?;
            loss += losses;
            for ((parameter, speed), slope) in
                parameters.iter_mut().zip(&mut velocity).zip(gradient)
            {
                *speed = MOMENTUM * *speed + slope / batch.len() as f32;
                *parameter -= rate * *speed;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let accuracy = 100.0 * model.accuracy(&parameters, data.test())?;
        let loss = loss / order.len() as f64;
        println!("  epoch {epoch}: loss {loss:.4}, test accuracy {accuracy:.2} %, {seconds:.1} s");
        rate *= 0.5;
    }
    Ok(())
}

/// The losses and gradients of a batch, added up on all cores.
fn summed(
    model: &Model,
    parameters: &[f32],
    data: &Dataset,
    batch: &[usize],
) -> Result<(f64, Vec<f32>), Error> {
    let share = batch.len().div_ceil(rayon::current_num_threads());
    let parts = batch
        .par_chunks(share)
        .map(|part| {
            let (mut workspace, mut gradient) = (model.workspace(), vec![0.0; parameters.len()]);
            let (mut losses, mut sum) = (0.0, vec![0.0; parameters.len()]);
            for (image, label) in part.iter().filter_map(|&at| data.train().get(at)) {
                losses +=
                    model.gradient(parameters, image, label, &mut workspace, &mut gradient)?;
                sum.iter_mut()
                    .zip(&gradient)
                    .for_each(|(sum, slope)| *sum += slope);
            }
            Ok((losses, sum))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let mut total = (0.0, vec![0.0; parameters.len()]);
    for (losses, sum) in parts {
        total.0 += losses;
        total
            .1
            .iter_mut()
            .zip(&sum)
            .for_each(|(total, sum)| *total += sum);
    }
    Ok(total)
}
