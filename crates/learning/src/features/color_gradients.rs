//! Smooth gradients of a color picture at three scales, and its colors: what a linear model makes more of on
//! photographs than of [`smooth_gradients`](crate::smooth_gradients).
//!
//! ```text
//! the picture, the picture at half and at a quarter of its size (means of 2×2 pixels)
//!   square roots of the histograms of 5×5, 4×4 and 3×3 cells, as there      200 + 128 + 72 numbers
//!   minus the mean of all 400, brought to length 4
//! means of 4×4 cells that overlap, of (r + g + b)/3 − 1/2, (r − g)/2 and (r + g − 2b)/4
//!   brought to length 2                                                     48 numbers
//! ```
//!
//! Edges of a photograph matter at more than one scale, and skies and lawns have colors. The second length is
//! half the first: there is less in colors, and what is clipped is the length of both. All of it is of the
//! picture itself: a device computes it on its own.

use super::smooth_gradients::{DIRECTIONS, LENGTH, around_the_mean, roots, shares, to_length};
use crate::data::{Dataset, Shape};
use crate::error::Error;
use rayon::prelude::*;

/// Cells a side, of the picture, of its half and of its quarter.
const CELLS: [usize; 3] = [5, 4, 3];
/// Numbers of gradients.
const GRADIENTS: usize =
    (CELLS[0] * CELLS[0] + CELLS[1] * CELLS[1] + CELLS[2] * CELLS[2]) * DIRECTIONS;
/// Cells a side that have colors.
const COLORED: usize = 4;
/// Light, red against green, yellow against blue.
const COLORS: usize = 3;
/// Numbers of a picture.
const NUMBERS: usize = GRADIENTS + COLORED * COLORED * COLORS;
/// The length of the numbers of colors: of 1, 2 and 4 the best on held-out pictures of CIFAR-10.
const COLOR_LENGTH: f32 = 2.0;
/// The shortest side: a quarter of it has two pixels for each of three cells.
const LEAST_SIDE: usize = 24;

/// The same examples as 448 numbers each, from pictures in three colors of at least 24×24 pixels.
///
/// ```
/// use shuffledp_learning::color_gradients;
/// use shuffledp_learning::data::{Dataset, Examples, Shape};
/// let shape = Shape { channels: 3, height: 24, width: 24 };
/// let pictures = Examples::new(shape, 2, vec![0.5; 2 * shape.numbers()], vec![0, 1])?;
/// let data = color_gradients(&Dataset::new(pictures.clone(), pictures)?)?;
/// assert_eq!(data.shape().numbers(), 448);
/// # Ok::<(), shuffledp_learning::Error>(())
/// ```
pub fn color_gradients(data: &Dataset) -> Result<Dataset, Error> {
    data.mapped(|shape, images| color_gradients_of(shape, &images))
}

/// The numbers of images of this shape, row after row, and the shape of a row.
pub(crate) fn color_gradients_of(shape: Shape, images: &[f32]) -> Result<(Shape, Vec<f32>), Error> {
    let Shape {
        channels,
        height,
        width,
    } = shape;
    if channels != COLORS || height < LEAST_SIDE || width < LEAST_SIDE {
        return Err(Error::Examples {
            why: format!(
                "color gradients need pictures of {LEAST_SIDE}x{LEAST_SIDE} pixels or more in {COLORS} \
                 colors, not {height}x{width} in {channels}"
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

/// The picture at half its size: means of 2×2 pixels. The last line of an odd side is left out.
fn half(shape: Shape, image: &[f32]) -> (Shape, Vec<f32>) {
    let Shape {
        channels,
        height,
        width,
    } = shape;
    let small = Shape {
        channels,
        height: height / 2,
        width: width / 2,
    };
    let mut pixels = Vec::with_capacity(small.numbers());
    for y in 0..small.height {
        for x in 0..small.width {
            for channel in 0..channels {
                let at = |y: usize, x: usize| image[(y * width + x) * channels + channel];
                let (above, below) = (2 * y, 2 * y + 1);
                let upper = at(above, 2 * x) + at(above, 2 * x + 1);
                let lower = at(below, 2 * x) + at(below, 2 * x + 1);
                pixels.push(0.25 * (upper + lower));
            }
        }
    }
    (small, pixels)
}

/// Means of the colors of cells, into numbers that were zero.
fn colors(shape: Shape, image: &[f32], numbers: &mut [f32]) {
    let Shape { height, width, .. } = shape;
    let mut weights = [0.0f32; COLORED * COLORED];
    for y in 0..height {
        for x in 0..width {
            // Pixels are in [−1, 1], light in [0, 1].
            let pixel = &image[(y * width + x) * COLORS..][..COLORS];
            let (red, green, blue) = (0.5 * pixel[0], 0.5 * pixel[1], 0.5 * pixel[2]);
            let of_pixel = [
                (red + green + blue) / 3.0,
                (red - green) / 2.0,
                (red + green - 2.0 * blue) / 4.0,
            ];
            for (row, upper) in shares(y, height, COLORED) {
                for (column, left) in shares(x, width, COLORED) {
                    if row >= COLORED || column >= COLORED {
                        continue;
                    }
                    let cell = row * COLORED + column;
                    weights[cell] += upper * left;
                    let sums = &mut numbers[cell * COLORS..][..COLORS];
                    for (sum, color) in sums.iter_mut().zip(of_pixel) {
                        *sum += upper * left * color;
                    }
                }
            }
        }
    }
    for (sums, weight) in numbers.chunks_exact_mut(COLORS).zip(weights) {
        // Every cell has the pixels around its middle.
        sums.iter_mut().for_each(|sum| *sum /= weight);
    }
}

/// One picture, into numbers that were zero.
fn describe(shape: Shape, image: &[f32], numbers: &mut [f32]) {
    let (gradients, of_colors) = numbers.split_at_mut(GRADIENTS);
    let (mut shape_now, mut picture) = (shape, image.to_vec());
    let mut rest = &mut *gradients;
    for (scale, cells) in CELLS.into_iter().enumerate() {
        if scale > 0 {
            (shape_now, picture) = half(shape_now, &picture);
        }
        let (own, others) = rest.split_at_mut(cells * cells * DIRECTIONS);
        roots(shape_now, &picture, cells, own);
        rest = others;
    }
    around_the_mean(gradients, LENGTH);
    colors(shape, image, of_colors);
    to_length(of_colors, COLOR_LENGTH);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{COLORS, GRADIENTS, NUMBERS, color_gradients_of, colors, describe, half};
    use crate::data::Shape;

    const SHAPE: Shape = Shape {
        channels: 3,
        height: 32,
        width: 32,
    };

    fn described(light: impl Fn(usize, usize) -> [f32; 3]) -> Vec<f32> {
        let pixels = (0..32 * 32).flat_map(|i| light(i / 32, i % 32));
        let image: Vec<f32> = pixels.map(|light| 2.0 * light - 1.0).collect();
        let mut numbers = vec![0.0; NUMBERS];
        describe(SHAPE, &image, &mut numbers);
        numbers
    }

    fn square(numbers: &[f32]) -> f32 {
        numbers.iter().map(|x| x * x).sum()
    }

    #[test]
    fn a_half_is_the_mean_of_four_pixels() {
        let shape = Shape {
            channels: 1,
            height: 3,
            width: 4,
        };
        let image: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let (small, pixels) = half(shape, &image);
        assert_eq!((small.height, small.width), (1, 2));
        assert_eq!(pixels, [2.5, 4.5]);
    }

    /// Cells of a picture of one color have this color: red, by hand.
    #[test]
    fn the_mean_of_one_color_is_this_color() {
        let image: Vec<f32> = [1.0f32, -1.0, -1.0].repeat(32 * 32);
        let mut numbers = vec![0.0; NUMBERS - GRADIENTS];
        colors(SHAPE, &image, &mut numbers);
        for cell in numbers.chunks_exact(COLORS) {
            // Halves are taken off each channel: light 1/3 − 1/2, and two differences without a half.
            for (color, by_hand) in cell.iter().zip([1.0 / 3.0 - 0.5, 0.5, 0.25]) {
                assert!((color - by_hand).abs() < 1e-5, "{cell:?}");
            }
        }
    }

    #[test]
    fn gradients_and_colors_have_one_length_each() {
        let numbers = described(|y, x| [x as f32 / 32.0, y as f32 / 32.0, 0.2]);
        let (gradients, colors) = numbers.split_at(GRADIENTS);
        assert!((square(gradients) - 16.0).abs() < 1e-3);
        assert!(gradients.iter().sum::<f32>().abs() < 1e-3);
        assert!((square(colors) - 4.0).abs() < 1e-3);
        let plain = described(|_, _| [0.3; 3]);
        assert_eq!(square(&plain[..GRADIENTS]), 0.0);
    }

    /// A stripe of one pixel in two is seen in the picture, and not at half its size.
    #[test]
    fn scales_see_different_things() {
        let fine = |y: usize| f32::from(u8::from(y % 4 < 2));
        let numbers = described(|y, _| [fine(y); 3]);
        let middle = |scale: usize| [200 / 2, 200 + 128 / 2, 328 + 72 / 2][scale] / 8 * 8;
        let spread = |at: usize| {
            let bins = &numbers[at..at + 8];
            bins.iter().copied().fold(f32::MIN, f32::max)
                - bins.iter().copied().fold(f32::MAX, f32::min)
        };
        assert!(spread(middle(0)) > 0.1);
        assert!(spread(middle(2)) < 1e-6);
    }

    #[test]
    fn other_pictures_are_refused() {
        let gray = Shape {
            channels: 1,
            ..SHAPE
        };
        let refused = color_gradients_of(gray, &[0.0; 32 * 32]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "examples are refused: color gradients need pictures of 24x24 pixels or more in 3 colors, not \
             32x32 in 1"
        );
    }
}
