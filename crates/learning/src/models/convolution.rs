//! A convolution: one small dense layer on every patch of the image.
//!
//! The patch of each place becomes a row of a matrix X (places × patch), and the layer is a product:
//!
//! ```text
//! Y = X·W + 1bᵀ        ∂L/∂W = Xᵀ·∂Y     ∂L/∂b = Σ_places ∂Y     ∂X = ∂Y·Wᵀ, added back to the patches
//! ```
//!
//! The channels of a pixel lie together, so a line of a patch is one run of numbers, and outputs come in the
//! same layout. Parameters: W, one row for each number of a patch (line, column, channel), then b.

use super::layer::{Fan, Scratch};
use super::product::{product, product_of_transposed, product_with_transposed};
use super::real::Real;
use crate::data::Shape;
use crate::error::Error;

/// What lies around the image.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Padding {
    /// Nothing: patches lie inside.
    Valid,
    /// As many zeros as it takes for ⌈size/stride⌉ places, the odd one at the end.
    Same,
}

/// Its sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Convolution {
    input: Shape,
    output: Shape,
    side: usize,
    stride: usize,
    /// Zeros above and left of the image.
    before: [usize; 2],
    /// Image with zeros.
    padded: Shape,
}

impl Convolution {
    /// So many filters of `side` × `side`.
    pub(crate) fn new(
        input: Shape,
        filters: usize,
        side: usize,
        stride: usize,
        padding: Padding,
    ) -> Result<Self, Error> {
        let axis = |size: usize| match padding {
            Padding::Valid if size < side => Err(Error::parameter(
                "side of a picture",
                size,
                format!("[{side}, 2^24] where filters are {side} wide"),
            )),
            Padding::Valid => {
                let places = (size - side) / stride + 1;
                Ok((places, 0, size))
            }
            Padding::Same => {
                let places = size.div_ceil(stride);
                let padded = ((places - 1) * stride + side).max(size);
                Ok((places, (padded - size) / 2, padded))
            }
        };
        let (height, above, padded_height) = axis(input.height)?;
        let (width, left, padded_width) = axis(input.width)?;
        Ok(Self {
            input,
            output: Shape {
                channels: filters,
                height,
                width,
            },
            side,
            stride,
            before: [above, left],
            padded: Shape {
                channels: input.channels,
                height: padded_height,
                width: padded_width,
            },
        })
    }

    pub(crate) fn output(&self) -> Shape {
        self.output
    }

    /// Numbers of a patch.
    fn patch(&self) -> usize {
        self.side * self.side * self.input.channels
    }

    fn places(&self) -> usize {
        self.output.height * self.output.width
    }

    fn weights(&self) -> usize {
        self.patch() * self.output.channels
    }

    /// The axes of the weights: line, column, channel, filter.
    pub(crate) fn axes(&self) -> Vec<usize> {
        vec![
            self.side,
            self.side,
            self.input.channels,
            self.output.channels,
        ]
    }

    pub(crate) fn fan(&self) -> Fan {
        Fan {
            weights: self.weights(),
            biases: self.output.channels,
            within: self.patch(),
            out: self.side * self.side * self.output.channels,
        }
    }

    pub(crate) fn scratch<T: Real>(&self) -> Scratch<T> {
        Scratch {
            padded: vec![T::ZERO; self.padded.numbers()],
            patches: vec![T::ZERO; self.places() * self.patch()],
            ..Scratch::default()
        }
    }

    pub(crate) fn forward<T: Real>(
        &self,
        parameters: &[T],
        input: &[T],
        scratch: &mut Scratch<T>,
        output: &mut [T],
    ) {
        self.pad(input, &mut scratch.padded);
        let run = self.side * self.input.channels;
        let mut lines = scratch.patches.chunks_exact_mut(run);
        self.starts(|start| {
            if let Some(line) = lines.next() {
                line.copy_from_slice(&scratch.padded[start..start + run]);
            }
        });
        let (weights, biases) = parameters.split_at(self.weights());
        let filters = self.output.channels;
        product(&scratch.patches, weights, output, self.patch(), filters);
        for place in output.chunks_exact_mut(filters) {
            for (y, &bias) in place.iter_mut().zip(biases) {
                *y += bias;
            }
        }
    }

    /// Uses the patches that `forward` left, and leaves none.
    pub(crate) fn backward<T: Real>(
        &self,
        parameters: &[T],
        above: &[T],
        scratch: &mut Scratch<T>,
        gradient: &mut [T],
        below: Option<&mut [T]>,
    ) {
        let (patch, filters) = (self.patch(), self.output.channels);
        let (weights, biases) = gradient.split_at_mut(self.weights());
        product_of_transposed(&scratch.patches, above, weights, patch, filters);
        biases.fill(T::ZERO);
        for place in above.chunks_exact(filters) {
            for (slope, &delta) in biases.iter_mut().zip(place) {
                *slope += delta;
            }
        }
        let Some(below) = below else { return };
        let weights = &parameters[..self.weights()];
        product_with_transposed(above, weights, &mut scratch.patches, filters, patch);
        scratch.padded.fill(T::ZERO);
        let run = self.side * self.input.channels;
        let mut lines = scratch.patches.chunks_exact(run);
        self.starts(|start| {
            if let Some(line) = lines.next() {
                let to = &mut scratch.padded[start..start + run];
                for (sum, &delta) in to.iter_mut().zip(line) {
                    *sum += delta;
                }
            }
        });
        self.crop(&scratch.padded, below);
    }

    /// Where the lines of all patches start in the padded image, in the order of the matrix X.
    fn starts(&self, mut visit: impl FnMut(usize)) {
        let Shape {
            channels, width, ..
        } = self.padded;
        for y in 0..self.output.height {
            for x in 0..self.output.width {
                let corner = y * self.stride * width + x * self.stride;
                for line in 0..self.side {
                    visit((corner + line * width) * channels);
                }
            }
        }
    }

    /// The image with zeros around it.
    fn pad<T: Real>(&self, image: &[T], padded: &mut [T]) {
        padded.fill(T::ZERO);
        let [above, left] = self.before;
        let wide = self.padded.width * self.padded.channels;
        let run = self.input.width * self.input.channels;
        let rows = padded.chunks_exact_mut(wide).skip(above);
        for (row, line) in rows.zip(image.chunks_exact(run)) {
            row[left * self.input.channels..][..run].copy_from_slice(line);
        }
    }

    /// The image without what lies around it.
    fn crop<T: Real>(&self, padded: &[T], image: &mut [T]) {
        let [above, left] = self.before;
        let wide = self.padded.width * self.padded.channels;
        let run = self.input.width * self.input.channels;
        let rows = padded.chunks_exact(wide).skip(above);
        for (row, line) in rows.zip(image.chunks_exact_mut(run)) {
            line.copy_from_slice(&row[left * self.input.channels..][..run]);
        }
    }
}
