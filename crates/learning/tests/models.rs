//! The models of the papers: their sizes, their gradients against central differences in f64, what they
//! refuse, and that they learn.

#![allow(clippy::unwrap_used)]

use shuffledp_learning::{Activation, Error, Examples, Model, Shape, data::synthetic};

const MNIST: Shape = Shape {
    channels: 1,
    height: 28,
    width: 28,
};

fn models(shape: Shape) -> Vec<(&'static str, Model)> {
    vec![
        ("logistic", Model::logistic(shape, 10).unwrap()),
        ("mlp", Model::mlp(shape, 12, Activation::Relu, 10).unwrap()),
        (
            "disjoint, relu",
            Model::cnn_disjoint(shape, Activation::Relu, 10).unwrap(),
        ),
        (
            "disjoint, tanh",
            Model::cnn_disjoint(shape, Activation::Tanh, 10).unwrap(),
        ),
        (
            "overlapping",
            Model::cnn_overlapping(shape, Activation::Tanh, 10).unwrap(),
        ),
    ]
}

/// Noise, so that no two numbers under a pooling window are nearly equal by design.
fn images(shape: Shape, many: usize) -> Vec<Vec<f64>> {
    let noise = |at: usize| {
        2.0 * ((at + 1) as f64 * 12.9898)
            .sin()
            .mul_add(43758.5453, 0.5)
            .rem_euclid(1.0)
            - 1.0
    };
    let numbers = shape.numbers();
    (0..many)
        .map(|image| {
            (image * numbers..(image + 1) * numbers)
                .map(noise)
                .collect()
        })
        .collect()
}

fn wide(parameters: &[f32]) -> Vec<f64> {
    // Biases that are all zero would hide a mistake in them.
    let bias = |at: usize| 0.02 * (at as f64).cos();
    parameters
        .iter()
        .enumerate()
        .map(|(at, &x)| f64::from(x) + bias(at))
        .collect()
}

#[test]
fn parameters_are_counted_as_in_the_papers() {
    let counts: Vec<usize> = models(MNIST).iter().map(|(_, m)| m.parameters()).collect();
    assert_eq!(counts, [7850, 784 * 12 + 12 + 130, 13_722, 13_722, 26_010]);
    let color = Shape {
        channels: 3,
        height: 32,
        width: 32,
    };
    let model = Model::cnn_disjoint(color, Activation::Relu, 10).unwrap();
    assert_eq!(model.parameters(), 3 * 1024 + 16 + 8224 + 4128 + 330);
}

/// Of a batch: the sum of per-example gradients against the differences of the sum of losses, one parameter
/// in `every`.
fn batch_gradient_agrees(name: &str, model: &Model, every: usize) {
    let theta = wide(&model.initial(3));
    let batch = images(model.shape(), 3);
    let (mut workspace, mut gradient) = (model.workspace(), vec![0.0; theta.len()]);
    let mut sum = vec![0.0; theta.len()];
    for (label, image) in batch.iter().enumerate() {
        model
            .gradient(&theta, image, label as u8, &mut workspace, &mut gradient)
            .unwrap();
        sum.iter_mut()
            .zip(&gradient)
            .for_each(|(sum, slope)| *sum += slope);
    }
    let size = sum.iter().fold(0.0, |top: f64, x| top.max(x.abs()));
    let mut moved = theta.clone();
    // So small that no kink of a maximum lies between.
    let h = 2e-7;
    for at in (0..theta.len()).step_by(every) {
        let mut loss = |value| -> f64 {
            moved[at] = value;
            let labeled = batch.iter().enumerate();
            labeled
                .map(|(label, image)| {
                    model
                        .loss(&moved, image, label as u8, &mut workspace)
                        .unwrap()
                })
                .sum()
        };
        let slope = (loss(theta[at] + h) - loss(theta[at] - h)) / (2.0 * h);
        moved[at] = theta[at];
        let error = (slope - sum[at]).abs();
        assert!(error < 1e-6 * size, "{name}, {at}: {slope} {}", sum[at]);
    }
}

#[test]
fn gradients_of_batches_are_their_differences() {
    for (name, model) in models(MNIST) {
        batch_gradient_agrees(name, &model, 17);
    }
    let color = Shape {
        channels: 3,
        height: 17,
        width: 20,
    };
    for (name, model) in models(color) {
        batch_gradient_agrees(name, &model, 31);
    }
}

#[test]
fn single_precision_is_close_to_double() {
    for (name, model) in models(MNIST) {
        let theta = wide(&model.initial(4));
        let narrow = |numbers: &[f64]| numbers.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let image = &images(MNIST, 1)[0];
        let (mut gradient, mut short) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
        let loss = model
            .gradient(&theta, image, 7, &mut model.workspace(), &mut gradient)
            .unwrap();
        let (theta, image) = (narrow(&theta), narrow(image));
        let close = model
            .gradient(&theta, &image, 7, &mut model.workspace(), &mut short)
            .unwrap();
        assert!((loss - close).abs() < 1e-5 * loss, "{name}");
        let size = gradient.iter().map(|x| x * x).sum::<f64>().sqrt();
        let error: f64 = gradient
            .iter()
            .zip(&short)
            .map(|(x, y)| (x - f64::from(*y)).powi(2))
            .sum();
        assert!(
            error.sqrt() < 1e-5 * size,
            "{name}: {} of {size}",
            error.sqrt()
        );
    }
}

#[test]
fn a_seed_gives_the_same_model_and_a_workspace_has_no_memory() {
    for (name, model) in models(MNIST) {
        let theta = model.initial(5);
        assert_eq!(theta, model.initial(5), "{name}");
        assert_ne!(theta, model.initial(6), "{name}");
        let data: Vec<Vec<f32>> = images(MNIST, 2)
            .iter()
            .map(|image| image.iter().map(|&x| x as f32).collect())
            .collect();
        let (mut first, mut again) = (vec![0.0; theta.len()], vec![f32::NAN; theta.len()]);
        let mut workspace = model.workspace();
        let loss = model
            .gradient(&theta, &data[0], 2, &mut workspace, &mut first)
            .unwrap();
        model
            .gradient(&theta, &data[1], 3, &mut workspace, &mut again)
            .unwrap();
        let same = model
            .gradient(&theta, &data[0], 2, &mut workspace, &mut again)
            .unwrap();
        assert_eq!((loss, &first), (same, &again), "{name}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = Model::cnn_disjoint(MNIST, Activation::Relu, 10).unwrap();
    let other = Model::cnn_overlapping(MNIST, Activation::Relu, 10).unwrap();
    let (theta, image) = (model.initial(1), vec![0.0; 784]);
    let mut gradient = vec![0.0; theta.len()];
    let mut workspace = model.workspace();
    let mut ask = |theta: &[f32], image: &[f32], label, gradient: &mut [f32]| {
        model.gradient(theta, image, label, &mut workspace, gradient)
    };
    assert!(ask(&theta, &image, 9, &mut gradient).is_ok());
    let refused = ask(&theta, &image, 10, &mut gradient)
        .unwrap_err()
        .to_string();
    assert_eq!(refused, "label 10 is outside the 10 classes of the model");
    let refused = ask(&theta[1..], &image, 9, &mut gradient)
        .unwrap_err()
        .to_string();
    assert_eq!(refused, "parameters: 13721 numbers, the model has 13722");
    assert!(ask(&theta, &image[1..], 9, &mut gradient).is_err());
    assert!(ask(&theta, &image, 9, &mut gradient[1..]).is_err());
    assert!(matches!(
        model.gradient(&theta, &image, 9, &mut other.workspace(), &mut gradient),
        Err(Error::Workspace)
    ));
    let color = Examples::new(
        Shape {
            channels: 3,
            ..MNIST
        },
        10,
        vec![0.0; 3 * 784],
        vec![1],
    );
    assert!(model.accuracy(&theta, &color.unwrap()).is_err());
    let tiny = Shape { height: 2, ..MNIST };
    assert!(Model::cnn_overlapping(tiny, Activation::Relu, 10).is_err());
    assert!(Model::mlp(MNIST, 0, Activation::Relu, 10).is_err());
    assert!(Model::logistic(MNIST, 1).is_err());
}

#[test]
fn numbers_that_are_not_finite_show_in_the_loss_or_the_gradient() {
    for (name, model) in models(MNIST) {
        let theta = model.initial(1);
        let mut image = vec![0.1; 784];
        image[400] = f32::NAN;
        let mut gradient = vec![0.0; theta.len()];
        model
            .gradient(&theta, &image, 0, &mut model.workspace(), &mut gradient)
            .unwrap();
        assert!(gradient.iter().any(|x| x.is_nan()), "{name}");
    }
}

#[test]
fn models_learn_the_synthetic_set() {
    let data = synthetic::blobs(1, 3000, 1000).unwrap();
    let shape = data.shape();
    for (name, model, rate) in [
        ("logistic", Model::logistic(shape, 10).unwrap(), 0.01),
        (
            "mlp",
            Model::mlp(shape, 24, Activation::Relu, 10).unwrap(),
            0.01,
        ),
        (
            "cnn",
            Model::cnn_disjoint(shape, Activation::Tanh, 10).unwrap(),
            0.02,
        ),
    ] {
        let mut theta = model.initial(2);
        let (mut workspace, mut gradient) = (model.workspace(), vec![0.0; theta.len()]);
        let before = model.accuracy(&theta, data.test()).unwrap();
        for (image, label) in data.train().iter() {
            model
                .gradient(&theta, image, label, &mut workspace, &mut gradient)
                .unwrap();
            theta
                .iter_mut()
                .zip(&gradient)
                .for_each(|(x, slope)| *x -= rate * slope);
        }
        let after = model.accuracy(&theta, data.test()).unwrap();
        assert!(before < 0.35 && after > 0.9, "{name}: {before} {after}");
    }
}
