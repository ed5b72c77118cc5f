//! The chain of trust of the layers: forward equals the definition, written as loops; backward equals central
//! differences of forward, in f64.

use super::activation::Activation;
use super::convolution::{Convolution, Padding};
use super::layer::Layer;
use super::model::Model;
use super::networks::Stack;
use super::pool::MaxPool;
use crate::data::Shape;
use crate::uniform::uniform;
use shuffledp_randomizers::Simulated;

fn numbers(many: usize, seed: u64) -> Vec<f64> {
    let mut random = Simulated::new(seed, 9);
    (0..many)
        .map(|_| 2.0 * f64::from(uniform(&mut random)) - 1.0)
        .collect()
}

fn shape(channels: usize, height: usize, width: usize) -> Shape {
    Shape {
        channels,
        height,
        width,
    }
}

fn forward(layer: &Layer, parameters: &[f64], input: &[f64]) -> Vec<f64> {
    let mut output = vec![f64::NAN; layer.outputs()];
    // Twice, because buffers are used again.
    let mut scratch = layer.scratch();
    layer.forward(
        parameters,
        &numbers(input.len(), 77),
        &mut scratch,
        &mut output,
    );
    layer.forward(parameters, input, &mut scratch, &mut output);
    output
}

#[test]
fn a_convolution_is_its_definition() {
    for (padding, stride, side) in [
        (Padding::Valid, 1, 3),
        (Padding::Valid, 2, 4),
        (Padding::Same, 1, 3),
        (Padding::Same, 2, 4),
        (Padding::Same, 3, 2),
    ] {
        let (input, filters) = (shape(2, 7, 6), 5);
        let layer = Convolution::new(input, filters, side, stride, padding).unwrap();
        let output = layer.output();
        let layer = Layer::Convolution(layer);
        let (theta, image) = (numbers(layer.parameters(), 1), numbers(input.numbers(), 2));
        let found = forward(&layer, &theta, &image);
        // Zeros before the image: half of what the places reach beyond it.
        let before = |size: usize, places: usize| match padding {
            Padding::Valid => 0,
            Padding::Same => ((places - 1) * stride + side).saturating_sub(size) / 2,
        };
        let (above, left) = (before(7, output.height), before(6, output.width));
        for y in 0..output.height {
            for x in 0..output.width {
                for filter in 0..filters {
                    let mut sum = theta[side * side * 2 * filters + filter];
                    for (dy, dx) in (0..side * side).map(|i| (i / side, i % side)) {
                        let (line, column) = (y * stride + dy, x * stride + dx);
                        if line < above || line >= 7 + above || column < left || column >= 6 + left
                        {
                            continue;
                        }
                        for channel in 0..2 {
                            let pixel = ((line - above) * 6 + column - left) * 2 + channel;
                            let weight = ((dy * side + dx) * 2 + channel) * filters + filter;
                            sum += image[pixel] * theta[weight];
                        }
                    }
                    let own = found[(y * output.width + x) * filters + filter];
                    assert!((own - sum).abs() < 1e-13, "{padding:?} {y} {x} {filter}");
                }
            }
        }
    }
}

#[test]
fn a_pool_is_its_definition() {
    for stride in [1, 2, 3] {
        let layer = MaxPool::new(shape(3, 7, 6), 2, stride).unwrap();
        let output = layer.output();
        let image = numbers(7 * 6 * 3, 3);
        let found = forward(&Layer::MaxPool(layer), &[], &image);
        for (at, &own) in found.iter().enumerate() {
            let (place, channel) = (at / 3, at % 3);
            let (y, x) = (place / output.width * stride, place % output.width * stride);
            let best = [(y, x), (y, x + 1), (y + 1, x), (y + 1, x + 1)]
                .map(|(y, x)| image[(y * 6 + x) * 3 + channel])
                .into_iter()
                .fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(own, best);
        }
    }
}

/// Every coordinate of the gradient against (L(θ + h) − L(θ − h))/2h.
fn differences_agree(name: &str, model: &Model) {
    let mut theta = numbers(model.parameters(), 4);
    theta.iter_mut().for_each(|x| *x *= 0.3);
    let image = numbers(model.shape().numbers(), 5);
    let (mut workspace, mut gradient) = (model.workspace(), vec![f64::NAN; theta.len()]);
    let loss = model
        .gradient(&theta, &image, 1, &mut workspace, &mut gradient)
        .unwrap();
    assert!(loss > 0.0);
    let size = gradient.iter().fold(0.0, |top: f64, x| top.max(x.abs()));
    let h = 1e-5;
    for at in 0..theta.len() {
        let own = theta[at];
        let mut loss = |value| {
            theta[at] = value;
            model.loss(&theta, &image, 1, &mut workspace).unwrap()
        };
        let slope = (loss(own + h) - loss(own - h)) / (2.0 * h);
        theta[at] = own;
        let error = (slope - gradient[at]).abs();
        assert!(
            error < 1e-7 * size,
            "{name}, {at}: {slope} {}",
            gradient[at]
        );
    }
}

#[test]
fn layers_have_the_slopes_of_their_differences() {
    let on = |channels, height, width| Stack::on(shape(channels, height, width), 3).unwrap();
    differences_agree("dense", &on(2, 3, 3).scores().unwrap());
    differences_agree("two dense", &on(2, 3, 3).dense(9).scores().unwrap());
    for activation in [Activation::Relu, Activation::Tanh] {
        let model = on(1, 4, 4)
            .dense(11)
            .activation(activation)
            .scores()
            .unwrap();
        differences_agree("activation", &model);
        // First, where nobody asks for the slopes below.
        differences_agree(
            "first",
            &on(1, 3, 3).activation(activation).scores().unwrap(),
        );
    }
    for padding in [Padding::Valid, Padding::Same] {
        for stride in [1, 2] {
            let model = on(3, 9, 8)
                .convolution(6, 3, stride, padding)
                .unwrap()
                .convolution(9, 2, stride, padding)
                .unwrap()
                .scores()
                .unwrap();
            differences_agree("convolutions", &model);
        }
    }
    for stride in [1, 2, 3] {
        let model = on(1, 9, 8)
            .convolution(5, 3, 1, Padding::Same)
            .unwrap()
            .max_pool(2, stride)
            .unwrap()
            .scores()
            .unwrap();
        differences_agree("pool", &model);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let on = || Stack::on(shape(1, 3, 9), 3).unwrap();
    assert!(on().convolution(2, 4, 1, Padding::Valid).is_err());
    assert!(on().convolution(2, 4, 1, Padding::Same).is_ok());
    assert!(on().max_pool(4, 1).is_err());
    let large = Stack::on(shape(1, 1 << 12, 1 << 12), 3).unwrap();
    assert!(large.dense(1 << 16).scores().is_err());
    assert!(Stack::on(shape(1, 0, 9), 3).is_err());
    assert!(Stack::on(shape(1, 3, 9), 257).is_err());
    assert!(Stack::on(shape(usize::MAX, 3, 9), 3).is_err());
}
