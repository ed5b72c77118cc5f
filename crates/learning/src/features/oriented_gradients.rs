//! Oriented gradients (Dalal, Triggs 2005): how steep light is in each direction, cell by cell.
//!
//! ```text
//! g = (L(y, x+1) − L(y, x−1), L(y+1, x) − L(y−1, x))      light L in [0, 1], 0 on the edge;
//!                                                         the channel with the longest g
//! histogram of a cell (4×4 of them): |g| at the angle of g mod π, between the two nearest of 8 directions
//! every cell over √(1/20 + Σ of the squares of its 3×3 neighborhood), all of it to length 4
//! ```
//!
//! What they buy: a linear model on 128
//! numbers has a tenth of the parameters of a small network, and the noise of a private gradient grows with
//! the number of parameters (Tramèr, Boneh 2021: private learning needs better features). The length 4 makes
//! the constant that a linear model adds to its inputs a seventeenth of the square of its gradient.

use crate::data::{Dataset, Shape};
use crate::error::Error;
use rayon::prelude::*;

/// Cells a side.
const CELLS: usize = 4;
/// Directions of half a turn.
const DIRECTIONS: usize = 8;
/// Numbers of a picture.
const NUMBERS: usize = CELLS * CELLS * DIRECTIONS;
/// What keeps an empty cell from being blown up.
const FLOOR: f32 = 0.05;
/// The length of all numbers of a picture.
const LENGTH: f32 = 4.0;

/// The same examples as 128 numbers each, from pictures of at least 8×8 pixels.
///
/// ```
/// use shuffledp_learning::{data::synthetic, oriented_gradients};
/// let data = oriented_gradients(&synthetic::blobs(7, 100, 20)?)?;
/// assert_eq!(data.shape().numbers(), 128);
/// # Ok::<(), shuffledp_learning::Error>(())
/// ```
pub fn oriented_gradients(data: &Dataset) -> Result<Dataset, Error> {
    data.mapped(|shape, images| gradients_of(shape, &images))
}

/// The oriented gradients of images of this shape, row after row, and the shape of a row.
pub(crate) fn gradients_of(shape: Shape, images: &[f32]) -> Result<(Shape, Vec<f32>), Error> {
    if shape.height < 2 * CELLS || shape.width < 2 * CELLS {
        let Shape { height, width, .. } = shape;
        return Err(Error::Examples {
            why: format!(
                "oriented gradients need pictures of 8x8 pixels or more, not {height}x{width}"
            ),
        });
    }
    let mut numbers = vec![0.0; images.len() / shape.numbers() * NUMBERS];
    numbers
        .par_chunks_exact_mut(NUMBERS)
        .zip(images.par_chunks_exact(shape.numbers()))
        .for_each(|(numbers, image)| describe(shape, image, numbers));
    let row = Shape {
        channels: 1,
        height: 1,
        width: NUMBERS,
    };
    Ok((row, numbers))
}

/// |g| of the channel where it is largest, and its angle as a part of half a turn.
pub(super) fn steepest(shape: Shape, image: &[f32], y: usize, x: usize) -> Option<(f32, f32)> {
    let Shape {
        channels,
        height,
        width,
    } = shape;
    let (size, angle) = (0..channels)
        .map(|channel| {
            // Pixels are in [−1, 1].
            let light = |y: usize, x: usize| 0.5 * image[(y * width + x) * channels + channel];
            let across = match x {
                0 => 0.0,
                _ if x + 1 == width => 0.0,
                _ => light(y, x + 1) - light(y, x - 1),
            };
            let down = match y {
                0 => 0.0,
                _ if y + 1 == height => 0.0,
                _ => light(y + 1, x) - light(y - 1, x),
            };
            (across.hypot(down), down.atan2(across))
        })
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some((size, (angle / std::f32::consts::PI).rem_euclid(1.0)))
}

/// One picture, into numbers that were zero.
fn describe(shape: Shape, image: &[f32], numbers: &mut [f32]) {
    let Shape { height, width, .. } = shape;
    for y in 0..height {
        for x in 0..width {
            let Some((size, turn)) = steepest(shape, image, y, x) else {
                continue;
            };
            let turn = turn * DIRECTIONS as f32;
            let (first, share) = (turn as usize % DIRECTIONS, turn.fract());
            let cell = (y * CELLS / height * CELLS + x * CELLS / width) * DIRECTIONS;
            numbers[cell + first] += size * (1.0 - share);
            numbers[cell + (first + 1) % DIRECTIONS] += size * share;
        }
    }
    let mut energy = [[0.0f32; CELLS]; CELLS];
    for (cell, bins) in numbers.chunks_exact(DIRECTIONS).enumerate() {
        energy[cell / CELLS][cell % CELLS] = bins.iter().map(|bin| bin * bin).sum();
    }
    let around = |at: usize| at.saturating_sub(1)..=(at + 1).min(CELLS - 1);
    for (cell, bins) in numbers.chunks_exact_mut(DIRECTIONS).enumerate() {
        let near: f32 = around(cell / CELLS)
            .flat_map(|y| around(cell % CELLS).map(move |x| (y, x)))
            .map(|(y, x)| energy[y][x])
            .sum();
        let scale = 1.0 / (FLOOR + near).sqrt();
        bins.iter_mut().for_each(|bin| *bin *= scale);
    }
    let norm = numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
    // A picture of one color has no gradients.
    if norm > 0.0 {
        numbers.iter_mut().for_each(|x| *x *= LENGTH / norm);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{CELLS, DIRECTIONS, NUMBERS, describe, oriented_gradients};
    use crate::data::{Dataset, Examples, Shape, synthetic};

    const SHAPE: Shape = Shape {
        channels: 1,
        height: 16,
        width: 16,
    };

    fn described(light: impl Fn(usize, usize) -> f32) -> Vec<f32> {
        let image: Vec<f32> = (0..256)
            .map(|i| 2.0 * light(i / 16, i % 16) - 1.0)
            .collect();
        let mut numbers = vec![0.0; NUMBERS];
        describe(SHAPE, &image, &mut numbers);
        numbers
    }

    /// Light that grows to the right has gradients of angle 0, downwards of a quarter turn; along the
    /// diagonal between.
    #[test]
    fn slopes_are_found_where_they_point() {
        let middle = (CELLS + 1) * DIRECTIONS;
        for (direction, numbers) in [
            (0, described(|_, x| x as f32 / 16.0)),
            (4, described(|y, _| y as f32 / 16.0)),
            (2, described(|y, x| (x + y) as f32 / 32.0)),
            (6, described(|y, x| (x + 16 - y) as f32 / 32.0)),
            // The same edge, dark and light exchanged.
            (0, described(|_, x| 1.0 - x as f32 / 16.0)),
        ] {
            let bins = &numbers[middle..][..DIRECTIONS];
            for (at, bin) in bins.iter().enumerate() {
                let wanted = at == direction;
                assert_eq!(*bin > 0.1, wanted, "{direction}: {bins:?}");
                assert!(wanted || bin.abs() < 1e-4, "{direction}: {bins:?}");
            }
        }
    }

    #[test]
    fn an_edge_in_one_cell_is_seen_there_alone() {
        let numbers =
            described(|y, x| f32::from(u8::from((5..7).contains(&y) && (5..7).contains(&x))));
        for (cell, bins) in numbers.chunks_exact(DIRECTIONS).enumerate() {
            // Rows and columns 4 to 7 are cell (1, 1).
            assert_eq!(bins.iter().any(|bin| *bin > 0.0), cell == CELLS + 1);
        }
    }

    #[test]
    fn every_picture_has_one_length_or_none() {
        let data = oriented_gradients(&synthetic::blobs(3, 50, 10).unwrap()).unwrap();
        for (numbers, _) in data.train().iter() {
            let square: f32 = numbers.iter().map(|x| x * x).sum();
            assert!((square - 16.0).abs() < 1e-3);
        }
        assert!(described(|_, _| 0.3).iter().all(|x| *x == 0.0));
        let small = Examples::new(
            Shape {
                channels: 1,
                height: 4,
                width: 8,
            },
            2,
            vec![0.0; 64],
            vec![0, 1],
        )
        .unwrap();
        let refused = oriented_gradients(&Dataset::new(small.clone(), small).unwrap());
        assert_eq!(
            refused.unwrap_err().to_string(),
            "examples are refused: oriented gradients need pictures of 8x8 pixels or more, not 4x8"
        );
    }
}
