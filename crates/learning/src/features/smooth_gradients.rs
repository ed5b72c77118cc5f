//! Oriented gradients of cells that overlap, as square roots around their mean: what a linear model makes
//! more of than of [`oriented_gradients`](crate::oriented_gradients).
//!
//! ```text
//! g and its angle as there                               5×5 cells of 8 directions
//! histogram of a cell: |g| between the two nearest directions, and between the four nearest cells, in
//!                      proportion to how near their middles are
//! every cell over √(1/20 + Σ of the squares of its 3×3 neighborhood), of every number the square root
//! minus the mean of all numbers of the picture, all of it to length 4
//! ```
//!
//! A pixel that moves by one changes every number a little, where hard cells change some of them at once
//! (Dalal, Triggs 2005). The square root lets faint strokes count beside bold ones. All numbers are positive
//! before the mean is taken off, and gradients of all pictures then have a large part in common, which says
//! nothing about their class and uses up the length that they are clipped to. Both are of the picture itself:
//! a device computes them on its own.

use super::oriented_gradients::steepest;
use crate::data::{Dataset, Shape};
use crate::error::Error;
use rayon::prelude::*;

/// Cells a side.
const CELLS: usize = 5;
/// Directions of half a turn.
pub(super) const DIRECTIONS: usize = 8;
/// Numbers of a picture.
const NUMBERS: usize = CELLS * CELLS * DIRECTIONS;
/// What keeps an empty cell from being blown up.
const FLOOR: f32 = 0.05;
/// The length of all numbers of a picture, as for oriented gradients.
pub(super) const LENGTH: f32 = 4.0;
/// The shortest side.
const LEAST_SIDE: usize = 2 * CELLS;

/// The same examples as 200 numbers each, from pictures of at least 10×10 pixels.
///
/// ```
/// use shuffledp_learning::{data::synthetic, smooth_gradients};
/// let data = smooth_gradients(&synthetic::blobs(7, 100, 20)?)?;
/// assert_eq!(data.shape().numbers(), 200);
/// # Ok::<(), shuffledp_learning::Error>(())
/// ```
pub fn smooth_gradients(data: &Dataset) -> Result<Dataset, Error> {
    data.mapped(|shape, images| smooth_gradients_of(shape, &images))
}

/// The numbers of images of this shape, row after row, and the shape of a row.
pub(crate) fn smooth_gradients_of(
    shape: Shape,
    images: &[f32],
) -> Result<(Shape, Vec<f32>), Error> {
    let Shape { height, width, .. } = shape;
    if height < LEAST_SIDE || width < LEAST_SIDE {
        return Err(Error::Examples {
            why: format!(
                "smooth gradients need pictures of {LEAST_SIDE}x{LEAST_SIDE} pixels or more, not \
                 {height}x{width}"
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

/// The two of so many cells whose middles a pixel lies between, and its share in each. Beyond the outermost
/// middles one of them is outside, and gets what is then nobody's.
pub(super) fn shares(pixel: usize, pixels: usize, cells: usize) -> [(usize, f32); 2] {
    let place = (pixel as f32 + 0.5) * cells as f32 / pixels as f32 - 0.5;
    let (first, share) = (place.floor(), place - place.floor());
    // A cell that is not there: no index.
    let cell = |at: f32| if at < 0.0 { cells } else { at as usize };
    [(cell(first), 1.0 - share), (cell(first + 1.0), share)]
}

/// Square roots of the histograms of so many cells a side, into numbers that were zero.
pub(super) fn roots(shape: Shape, image: &[f32], cells: usize, numbers: &mut [f32]) {
    let Shape { height, width, .. } = shape;
    for y in 0..height {
        for x in 0..width {
            let Some((size, turn)) = steepest(shape, image, y, x) else {
                continue;
            };
            let turn = turn * DIRECTIONS as f32;
            let (first, share) = (turn as usize % DIRECTIONS, turn.fract());
            for (row, upper) in shares(y, height, cells) {
                for (column, left) in shares(x, width, cells) {
                    if row >= cells || column >= cells {
                        continue;
                    }
                    let cell = (row * cells + column) * DIRECTIONS;
                    let size = size * upper * left;
                    numbers[cell + first] += size * (1.0 - share);
                    numbers[cell + (first + 1) % DIRECTIONS] += size * share;
                }
            }
        }
    }
    let energy = numbers.chunks_exact(DIRECTIONS);
    let energy: Vec<f32> = energy
        .map(|bins| bins.iter().map(|bin| bin * bin).sum())
        .collect();
    let around = |at: usize| at.saturating_sub(1)..=(at + 1).min(cells - 1);
    for (cell, bins) in numbers.chunks_exact_mut(DIRECTIONS).enumerate() {
        let near: f32 = around(cell / cells)
            .flat_map(|y| around(cell % cells).map(move |x| (y, x)))
            .map(|(y, x)| energy[y * cells + x])
            .sum();
        let scale = 1.0 / (FLOOR + near).sqrt();
        bins.iter_mut().for_each(|bin| *bin = (*bin * scale).sqrt());
    }
}

/// Takes the mean off, and brings what is left to this length. A picture of one color has no gradients, and
/// stays at nothing.
pub(super) fn around_the_mean(numbers: &mut [f32], length: f32) {
    let mean = numbers.iter().sum::<f32>() / numbers.len() as f32;
    numbers.iter_mut().for_each(|x| *x -= mean);
    to_length(numbers, length);
}

/// Brings numbers that are not all zero to this length.
pub(super) fn to_length(numbers: &mut [f32], length: f32) {
    let norm = numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        numbers.iter_mut().for_each(|x| *x *= length / norm);
    }
}

/// One picture, into numbers that were zero.
fn describe(shape: Shape, image: &[f32], numbers: &mut [f32]) {
    roots(shape, image, CELLS, numbers);
    around_the_mean(numbers, LENGTH);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{CELLS, DIRECTIONS, NUMBERS, describe, shares, smooth_gradients};
    use crate::data::{Dataset, Examples, Shape, synthetic};

    const SHAPE: Shape = Shape {
        channels: 1,
        height: 20,
        width: 20,
    };

    fn described(light: impl Fn(usize, usize) -> f32) -> Vec<f32> {
        let image: Vec<f32> = (0..400)
            .map(|i| 2.0 * light(i / 20, i % 20) - 1.0)
            .collect();
        let mut numbers = vec![0.0; NUMBERS];
        describe(SHAPE, &image, &mut numbers);
        numbers
    }

    /// A pixel is shared in proportion to the distance of the cells' middles: by hand for 20 pixels, four
    /// to a cell, whose middles are at 1.5, 5.5, ….
    #[test]
    fn a_pixel_is_shared_by_the_cells_around_it() {
        assert_eq!(shares(3, 20, CELLS), [(0, 0.625), (1, 0.375)]);
        assert_eq!(shares(8, 20, CELLS), [(1, 0.375), (2, 0.625)]);
        assert_eq!(shares(0, 20, CELLS)[0].0, CELLS);
        assert_eq!(shares(19, 20, CELLS)[1].0, CELLS);
        assert_eq!(shares(0, 20, CELLS)[1], (0, 0.625));
    }

    /// Light that grows to the right has gradients of angle 0, downwards of a quarter turn; along the
    /// diagonal between. Where there is nothing, numbers are all the same, below the mean.
    #[test]
    fn slopes_are_found_where_they_point() {
        let middle = (2 * CELLS + 2) * DIRECTIONS;
        for (direction, numbers) in [
            (0, described(|_, x| x as f32 / 20.0)),
            (4, described(|y, _| y as f32 / 20.0)),
            (2, described(|y, x| (x + y) as f32 / 40.0)),
            (0, described(|_, x| 1.0 - x as f32 / 20.0)),
        ] {
            let bins = &numbers[middle..][..DIRECTIONS];
            let most = bins.iter().copied().fold(f32::MIN, f32::max);
            assert_eq!(bins[direction], most, "{direction}: {bins:?}");
            let rest = bins[(direction + 3) % DIRECTIONS];
            assert!(rest < 0.0 && most > 3.0 * rest.abs(), "{bins:?}");
        }
    }

    /// A picture that is moved by one pixel is described by nearly the same numbers.
    #[test]
    fn a_small_move_changes_little() {
        let square = |corner: usize| {
            let inside = move |at: usize| (corner..corner + 7).contains(&at);
            described(move |y, x| f32::from(u8::from(inside(y) && inside(x))))
        };
        let (one, other) = (square(6), square(7));
        let cosine: f32 = one.iter().zip(&other).map(|(x, y)| x * y / 16.0).sum();
        assert!(cosine > 0.9, "{cosine}");
    }

    #[test]
    fn every_picture_has_one_length_and_mean_zero_or_nothing() {
        let data = smooth_gradients(&synthetic::blobs(3, 50, 10).unwrap()).unwrap();
        for (numbers, _) in data.train().iter() {
            let square: f32 = numbers.iter().map(|x| x * x).sum();
            assert!((square - 16.0).abs() < 1e-3);
            assert!(numbers.iter().sum::<f32>().abs() < 1e-3);
        }
        assert!(described(|_, _| 0.3).iter().all(|x| *x == 0.0));
        let shape = Shape {
            channels: 1,
            height: 8,
            width: 12,
        };
        let small = Examples::new(shape, 2, vec![0.0; 2 * 96], vec![0, 1]).unwrap();
        let refused = smooth_gradients(&Dataset::new(small.clone(), small).unwrap());
        assert_eq!(
            refused.unwrap_err().to_string(),
            "examples are refused: smooth gradients need pictures of 10x10 pixels or more, not 8x12"
        );
    }
}
