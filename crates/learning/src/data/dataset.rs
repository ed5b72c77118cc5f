//! A data set: examples to learn from and examples to be judged by, of one shape and one number of classes.
//!
//! Images are rows of one matrix. Within a row the channels of a pixel lie together, pixels run left to right
//! and lines top to bottom: the number of channel c at (y, x) is at (y·width + x)·channels + c.

use super::owners::Owners;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shuffledp_accounting::Participation;
use shuffledp_protocol::Attendance;
use shuffledp_randomizers::Simulated;
use std::ops::Range;

/// The shape of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Numbers per pixel.
    pub channels: usize,
    /// Lines.
    pub height: usize,
    /// Pixels per line.
    pub width: usize,
}

impl Shape {
    /// How many numbers an image is.
    pub fn numbers(self) -> usize {
        self.channels
            .saturating_mul(self.height)
            .saturating_mul(self.width)
    }

    /// An image that can be held, and as many classes as a byte can name.
    pub(crate) fn check(self, classes: usize) -> Result<(), Error> {
        let numbers = self.numbers();
        if !(1..=1 << 24).contains(&numbers) {
            return Err(Error::parameter("image", numbers, "1 to 2^24 numbers"));
        }
        if !(2..=256).contains(&classes) {
            return Err(Error::parameter("classes", classes, "[2, 256]"));
        }
        Ok(())
    }
}

/// Images and their labels, each of a user of its own unless [`Examples::grouped`] says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples {
    shape: Shape,
    classes: usize,
    images: Vec<f32>,
    labels: Vec<u8>,
    owners: Owners,
}

impl Examples {
    /// One row of `images` for each label; labels are below `classes`, numbers finite.
    pub fn new(
        shape: Shape,
        classes: usize,
        images: Vec<f32>,
        labels: Vec<u8>,
    ) -> Result<Self, Error> {
        let refuse = |why| Err(Error::Examples { why });
        let numbers = shape.numbers();
        shape.check(classes)?;
        if labels.is_empty() {
            return refuse("there are none".into());
        }
        if labels.len().checked_mul(numbers) != Some(images.len()) {
            return refuse(format!(
                "{} numbers are not {} images of {numbers}",
                images.len(),
                labels.len()
            ));
        }
        if let Some(at) = labels
            .iter()
            .position(|&label| usize::from(label) >= classes)
        {
            return refuse(format!(
                "label {} of example {at} is not one of {classes} classes",
                labels[at]
            ));
        }
        if let Some(at) = images.iter().position(|number| !number.is_finite()) {
            return refuse(format!(
                "number {} of example {} is {}",
                at % numbers,
                at / numbers,
                images[at]
            ));
        }
        Ok(Self {
            shape,
            classes,
            images,
            labels,
            owners: Owners::default(),
        })
    }

    /// The same examples, of users who have several: so many each, one user after the other.
    ///
    /// ```
    /// use shuffledp_learning::{Examples, Shape};
    /// let shape = Shape { channels: 1, height: 1, width: 1 };
    /// let examples = Examples::new(shape, 2, vec![0.1, 0.2, 0.3], vec![0, 1, 1])?;
    /// let examples = examples.grouped(&[1, 2])?;
    /// assert_eq!((examples.users(), examples.of_user(1)), (2, 1..3));
    /// # Ok::<(), shuffledp_learning::Error>(())
    /// ```
    pub fn grouped(self, sizes: &[usize]) -> Result<Self, Error> {
        if self.rates().is_some() {
            let why = "users have rates already: they are given after the users".into();
            return Err(Error::Examples { why });
        }
        let owners = Owners::of_sizes(sizes, self.len())?;
        Ok(Self { owners, ..self })
    }

    /// The same examples, each user with a probability of their own of taking part in a round, in (0, 1].
    pub fn with_rates(self, rates: Vec<f64>) -> Result<Self, Error> {
        let owners = self.owners.clone().with_rates(rates, self.len())?;
        Ok(Self { owners, ..self })
    }

    /// How many users the examples are of.
    pub fn users(&self) -> usize {
        self.owners.users(self.len())
    }

    /// Where the examples of a user are; empty beyond the last user.
    pub fn of_user(&self, user: usize) -> Range<usize> {
        self.owners.examples_of(user, self.len())
    }

    /// Everybody's own probability of taking part, where users have one.
    pub fn rates(&self) -> Option<&[f64]> {
        self.owners.rates()
    }

    /// How many: one at least.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The shape of every image.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// All images, row after row.
    pub fn images(&self) -> &[f32] {
        &self.images
    }

    /// All labels.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// One example.
    pub fn get(&self, at: usize) -> Option<(&[f32], u8)> {
        let label = *self.labels.get(at)?;
        let numbers = self.shape.numbers();
        Some((&self.images[at * numbers..][..numbers], label))
    }

    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[f32], u8)> {
        self.images
            .chunks_exact(self.shape.numbers())
            .zip(self.labels.iter().copied())
    }
}

/// Examples as they are picked, user by user.
#[derive(Default)]
struct Picked {
    images: Vec<f32>,
    labels: Vec<u8>,
    sizes: Vec<usize>,
    rates: Vec<f64>,
}

impl Picked {
    fn examples(self, of: &Examples) -> Result<Examples, Error> {
        let examples = Examples::new(of.shape, of.classes, self.images, self.labels)?;
        let examples = examples.grouped(&self.sizes)?;
        match of.rates() {
            Some(_) => examples.with_rates(self.rates),
            None => Ok(examples),
        }
    }
}

/// Examples to learn from, and examples to be judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    train: Examples,
    test: Examples,
}

impl Dataset {
    /// Two sets of one shape with the same classes.
    pub fn new(train: Examples, test: Examples) -> Result<Self, Error> {
        if (train.shape, train.classes) != (test.shape, test.classes) {
            return Err(Error::Examples {
                why: format!(
                    "training images are {:?} of {} classes, test images {:?} of {}",
                    train.shape, train.classes, test.shape, test.classes
                ),
            });
        }
        Ok(Self { train, test })
    }

    /// The shape of every image.
    pub fn shape(&self) -> Shape {
        self.train.shape
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.train.classes
    }

    /// What is learnt from.
    pub fn train(&self) -> &Examples {
        &self.train
    }

    /// What a model is judged by.
    pub fn test(&self) -> &Examples {
        &self.test
    }

    /// Everybody's training examples but those of a share of the users, and theirs to be judged by: for
    /// choosing how to learn without a look at the test examples.
    ///
    /// Which users, a fixed seed says.
    ///
    /// ```
    /// let data = shuffledp_learning::data::synthetic::blobs(7, 100, 20)?;
    /// let (train, held) = { let held = data.validation(0.25)?; (held.train().len(), held.test().len()) };
    /// assert_eq!((train, held), (75, 25));
    /// # Ok::<(), shuffledp_learning::Error>(())
    /// ```
    pub fn validation(&self, share: f64) -> Result<Self, Error> {
        let many = self.train.users() as u64;
        let held = (share * many as f64).round() as u64;
        if !(share > 0.0 && share < 1.0) || held == 0 || held == many {
            let allowed = "(0, 1), with an example on either side";
            return Err(Error::parameter("validation", share, allowed));
        }
        let mut random = Simulated::new(1, 0);
        let mut attendance = Attendance::new(Participation::Sample(held), many, 0.0)?;
        let (mut kept, mut judged) = (Picked::default(), Picked::default());
        for user in 0..self.train.users() {
            let side = match attendance.comes(&mut random) {
                true => &mut judged,
                false => &mut kept,
            };
            let own = self.train.of_user(user);
            side.sizes.push(own.len());
            if let Some(rates) = self.train.rates() {
                side.rates.push(rates[user]);
            }
            for (image, label) in own.filter_map(|at| self.train.get(at)) {
                side.images.extend_from_slice(image);
                side.labels.push(label);
            }
        }
        Self::new(kept.examples(&self.train)?, judged.examples(&self.train)?)
    }

    /// The same data, the training examples in other hands: `change` gets them and gives them back.
    pub fn with_train(
        self,
        change: impl FnOnce(Examples) -> Result<Examples, Error>,
    ) -> Result<Self, Error> {
        Self::new(change(self.train)?, self.test)
    }

    /// The same labels with other numbers: `map` gets the shape and all images, row after row, and gives the
    /// new ones.
    pub(crate) fn mapped(
        &self,
        map: impl Fn(Shape, Vec<f32>) -> Result<(Shape, Vec<f32>), Error>,
    ) -> Result<Self, Error> {
        let each = |examples: &Examples| {
            let (shape, images) = map(examples.shape, examples.images.clone())?;
            let mapped = Examples::new(shape, examples.classes, images, examples.labels.clone())?;
            let owners = examples.owners.clone();
            Ok::<_, Error>(Examples { owners, ..mapped })
        };
        Self::new(each(&self.train)?, each(&self.test)?)
    }

    /// SHA-256 of shape, classes, labels and numbers, and of users who have several examples or a rate of
    /// their own, in hexadecimal: what a record of a run says about its data. It does not depend on how the
    /// files were packed.
    pub fn checksum(&self) -> String {
        let mut hash = Sha256::new();
        for examples in [&self.train, &self.test] {
            let Shape {
                channels,
                height,
                width,
            } = examples.shape;
            for count in [channels, height, width, examples.classes, examples.len()] {
                hash.update((count as u64).to_le_bytes());
            }
            hash.update(&examples.labels);
            for end in examples.owners.ends().unwrap_or_default() {
                hash.update((*end as u64).to_le_bytes());
            }
            for rate in examples.rates().unwrap_or_default() {
                hash.update(rate.to_le_bytes());
            }
            let mut bytes = Vec::with_capacity(4 << 12);
            for numbers in examples.images.chunks(1 << 12) {
                bytes.clear();
                bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
                hash.update(&bytes);
            }
        }
        hash.finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
