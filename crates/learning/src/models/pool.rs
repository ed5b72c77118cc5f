//! Max-pooling: the largest number of each window, channel by channel.
//!
//! ```text
//! y = max over the window of x          ∂x += ∂y at the place of the maximum, the first of equals
//! ```
//!
//! Windows lie inside the image; what a stride leaves over at the end is not looked at.

use super::layer::Scratch;
use super::real::Real;
use crate::data::Shape;
use crate::error::Error;

/// Its sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MaxPool {
    input: Shape,
    output: Shape,
    side: usize,
    stride: usize,
}

impl MaxPool {
    /// Windows of `side` × `side`.
    pub(crate) fn new(input: Shape, side: usize, stride: usize) -> Result<Self, Error> {
        let smallest = input.height.min(input.width);
        if smallest < side {
            let allowed = format!("[{side}, 2^24] where windows are {side} wide");
            return Err(Error::parameter("side of a picture", smallest, allowed));
        }
        Ok(Self {
            input,
            output: Shape {
                channels: input.channels,
                height: (input.height - side) / stride + 1,
                width: (input.width - side) / stride + 1,
            },
            side,
            stride,
        })
    }

    pub(crate) fn output(&self) -> Shape {
        self.output
    }

    pub(crate) fn scratch<T: Real>(&self) -> Scratch<T> {
        Scratch {
            chosen: vec![0; self.output.numbers()],
            ..Scratch::default()
        }
    }

    pub(crate) fn forward<T: Real>(&self, input: &[T], scratch: &mut Scratch<T>, output: &mut [T]) {
        let Shape {
            channels, width, ..
        } = self.input;
        let chosen = scratch.chosen.chunks_exact_mut(channels);
        let pixels = output.chunks_exact_mut(channels).zip(chosen).enumerate();
        for (place, (best, chosen)) in pixels {
            let (y, x) = (place / self.output.width, place % self.output.width);
            let corner = (y * width + x) * self.stride;
            best.copy_from_slice(&input[corner * channels..][..channels]);
            chosen.fill((corner * channels) as u32);
            for line in 0..self.side {
                for column in 0..self.side {
                    let start = (corner + line * width + column) * channels;
                    let pixel = &input[start..start + channels];
                    // A mask and no choice: the compiler makes vector instructions of it.
                    for ((chosen, best), &value) in chosen.iter_mut().zip(&*best).zip(pixel) {
                        let mask = u32::from(value > *best).wrapping_neg();
                        *chosen ^= (*chosen ^ start as u32) & mask;
                    }
                    for (best, &value) in best.iter_mut().zip(pixel) {
                        *best = if value > *best { value } else { *best };
                    }
                }
            }
        }
    }

    /// Uses the places that `forward` chose.
    pub(crate) fn backward<T: Real>(&self, above: &[T], scratch: &Scratch<T>, below: &mut [T]) {
        below.fill(T::ZERO);
        let channels = self.input.channels;
        let chosen = scratch.chosen.chunks_exact(channels);
        for (deltas, chosen) in above.chunks_exact(channels).zip(chosen) {
            for (channel, (&delta, &start)) in deltas.iter().zip(chosen).enumerate() {
                below[start as usize + channel] += delta;
            }
        }
    }
}
