//! Sixty thousand pictures by a formula, for whatever is measured on them; another program can make the same
//! ones.

use shuffledp_learning::{Error, Examples, Gradients, Model, Norm, Shape};

pub(crate) const EXAMPLES: usize = 60_000;
pub(crate) const SHAPE: Shape = Shape {
    channels: 1,
    height: 28,
    width: 28,
};

/// A fifth of the numbers is ink, as in handwriting; classes take turns.
pub(crate) fn examples() -> Result<Examples, Error> {
    let images = (0..EXAMPLES * SHAPE.numbers())
        .map(|at| (at as u32).wrapping_mul(2_654_435_769) >> 16)
        .map(|word| match word % 5 {
            0 => word as f32 / 32_768.0 - 1.0,
            _ => -1.0,
        })
        .collect();
    let labels = (0..EXAMPLES).map(|at| (at % 10) as u8).collect();
    Examples::new(SHAPE, 10, images, labels)
}

/// Everybody's gradient, clipped to norm 1.
pub(crate) fn clipped<'a>(model: &'a Model, examples: &'a Examples) -> Gradients<'a> {
    Gradients {
        model,
        examples,
        norm: Norm::L2,
        bound: 1.0,
    }
}
