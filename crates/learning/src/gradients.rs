//! Gradients of single users, clipped: the input of every algorithm.
//!
//! A user's gradient is that of their example, or the mean over their examples where they have several, and
//! is clipped as one: what bounds the influence of a user, not of an example.
//!
//! A gradient that is not finite is refused before it is used, and counted; the zero vector stands in for it.
//! A missing report would reveal that its user holds such an example.

use crate::clip::Norm;
use crate::data::Examples;
use crate::error::Error;
use crate::models::Model;
use rayon::prelude::*;

/// Users who share a workspace.
pub(crate) const CHUNK: usize = 64;
/// Chunks whose sums are held at once.
pub(crate) const TOGETHER: usize = 64;

/// A model, examples, and what bounds the influence of one user.
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
    /// Hands over the clipped gradients of some users one after the other, and says how many were not finite.
    pub(crate) fn each(
        &self,
        parameters: &[f32],
        users: &[usize],
        mut each: impl FnMut(&[f32]) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut workspace = self.model.workspace();
        let mut gradient = vec![0.0; self.model.parameters()];
        let mut one = Vec::new();
        let mut refused = 0;
        for &user in users {
            let own = self.examples.of_user(user);
            let several = own.len();
            for (place, (image, label)) in own.filter_map(|at| self.examples.get(at)).enumerate() {
                if place == 0 {
                    self.model
                        .gradient(parameters, image, label, &mut workspace, &mut gradient)?;
                    continue;
                }
                one.resize(gradient.len(), 0.0);
                self.model
                    .gradient(parameters, image, label, &mut workspace, &mut one)?;
                for (sum, slope) in gradient.iter_mut().zip(&one) {
                    *sum += slope;
                }
            }
            match several {
                0 => continue,
                1 => {}
                _ => gradient
                    .iter_mut()
                    .for_each(|slope| *slope /= several as f32),
            }
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

    /// The sum of the clipped gradients of some users, on all cores, and how many were not finite. Added in
    /// the order of the users, whichever core was first.
    pub fn sum(&self, parameters: &[f32], users: &[usize]) -> Result<(Vec<f64>, u64), Error> {
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
        self.gathered(parameters, users, |_| vec![0.0; d], add, merge)
    }

    /// Something made of the clipped gradients of each chunk of users, on all cores, and merged in their
    /// order; and how many were not finite. A chunk is begun with its number.
    pub(crate) fn gathered<T: Send>(
        &self,
        parameters: &[f32],
        users: &[usize],
        begin: impl Fn(usize) -> T + Sync,
        add: impl Fn(&mut T, &[f32]) -> Result<(), Error> + Sync,
        mut merge: impl FnMut(&mut T, T),
    ) -> Result<(T, u64), Error> {
        let mut total = begin(0);
        let mut refused = 0;
        for (segment, users) in users.chunks(CHUNK * TOGETHER).enumerate() {
            let parts: Result<Vec<(T, u64)>, Error> = users
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
