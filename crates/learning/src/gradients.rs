//! Gradients of single examples, clipped: the input of every algorithm.
//!
//! A gradient that is not finite is refused before it is used, and counted; the zero vector stands in for it.
//! A missing report would reveal that its user holds such an example.

use crate::clip::Norm;
use crate::data::Examples;
use crate::error::Error;
use crate::models::Model;
use rayon::prelude::*;

/// Examples that share a workspace.
pub(crate) const CHUNK: usize = 64;
/// Chunks whose sums are held at once.
pub(crate) const TOGETHER: usize = 64;

/// A model, examples, and what bounds the influence of one.
#[derive(Clone, Copy, Debug)]
pub struct Gradients<'a> {
    /// The model that is trained.
    pub model: &'a Model,
    /// The examples it learns from.
    pub examples: &'a Examples,
    /// The norm that bounds a gradient.
    pub norm: Norm,
    /// C.
    pub bound: f64,
}

impl Gradients<'_> {
    /// Hands over the clipped gradients of some examples one after the other, and says how many were not
    /// finite.
    pub(crate) fn each(
        &self,
        parameters: &[f32],
        examples: &[usize],
        mut each: impl FnMut(&[f32]) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut workspace = self.model.workspace();
        let mut gradient = vec![0.0; self.model.parameters()];
        let mut refused = 0;
        for (image, label) in examples.iter().filter_map(|&at| self.examples.get(at)) {
            self.model
                .gradient(parameters, image, label, &mut workspace, &mut gradient)?;
            match self.norm.clip(&mut gradient, self.bound) {
                Ok(_) => {}
                Err(Error::NotFinite) => {
                    refused += 1;
                    gradient.fill(0.0);
                }
                Err(other) => return Err(other),
            }
            each(&gradient)?;
        }
        Ok(refused)
    }

    /// The sum of the clipped gradients of some examples, on all cores, and how many were not finite. Added
    /// in the order of the examples, whichever core was first.
    pub fn sum(&self, parameters: &[f32], examples: &[usize]) -> Result<(Vec<f64>, u64), Error> {
        let d = self.model.parameters();
        let add = |sum: &mut Vec<f64>, gradient: &[f32]| {
            for (sum, slope) in sum.iter_mut().zip(gradient) {
                *sum += f64::from(*slope);
            }
            Ok(())
        };
        let merge = |total: &mut Vec<f64>, part: Vec<f64>| {
            for (total, sum) in total.iter_mut().zip(part) {
                *total += sum;
            }
        };
        self.gathered(parameters, examples, |_| vec![0.0; d], add, merge)
    }

    /// Something made of the clipped gradients of each chunk of examples, on all cores, and merged in their
    /// order; and how many were not finite. A chunk is begun with its number.
    pub(crate) fn gathered<T: Send>(
        &self,
        parameters: &[f32],
        examples: &[usize],
        begin: impl Fn(usize) -> T + Sync,
        add: impl Fn(&mut T, &[f32]) -> Result<(), Error> + Sync,
        mut merge: impl FnMut(&mut T, T),
    ) -> Result<(T, u64), Error> {
        let mut total = begin(0);
        let mut refused = 0;
        for (segment, examples) in examples.chunks(CHUNK * TOGETHER).enumerate() {
            let parts: Result<Vec<(T, u64)>, Error> = examples
                .par_chunks(CHUNK)
                .enumerate()
                .map(|(place, chunk)| {
                    let place = segment * TOGETHER + place;
                    let mut part = begin(place);
                    let refused =
                        self.each(parameters, chunk, |gradient| add(&mut part, gradient))?;
                    Ok((part, refused))
                })
                .collect();
            for (part, not_finite) in parts? {
                merge(&mut total, part);
                refused += not_finite;
            }
        }
        Ok((total, refused))
    }
}
