//! Ten classes made by formula: pictures of soft blobs, so that a demonstration works anywhere.
//!
//! A class is a prototype of 14×14 pixels, the sum of four bumps (1 − r²/w²)²₊ at places drawn from the seed.
//! An example is its prototype, moved by at most one pixel each way, scaled by a factor of ½ to 1, plus noise
//! that is uniform in ±½, cut to [0, 1] and brought to [−1, 1].
//!
//! Only sums, products and quotients are taken, so a seed gives the same numbers on every machine.

use super::{Dataset, Examples, Shape};
use crate::error::Error;
use crate::uniform::uniform;
use shuffledp_randomizers::{Simulated, below};

const SIDE: usize = 14;
const CLASSES: usize = 10;
const BUMPS: usize = 4;
const NOISE: f32 = 0.5;
const SHAPE: Shape = Shape {
    channels: 1,
    height: SIDE,
    width: SIDE,
};

/// So many examples to learn from and to be judged by; classes take turns.
///
/// ```
/// let data = shuffledp_learning::data::synthetic::blobs(7, 100, 20)?;
/// assert_eq!(data.train().len(), 100);
/// assert_eq!(data.train().labels()[..12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
/// # Ok::<(), shuffledp_learning::Error>(())
/// ```
pub fn blobs(seed: u64, train: usize, test: usize) -> Result<Dataset, Error> {
    let mut random = Simulated::new(seed, 0);
    let prototypes: Vec<[Bump; BUMPS]> = (0..CLASSES)
        .map(|_| std::array::from_fn(|_| Bump::draw(&mut random)))
        .collect();
    Dataset::new(
        examples(&prototypes, train, &mut Simulated::new(seed, 1))?,
        examples(&prototypes, test, &mut Simulated::new(seed, 2))?,
    )
}

fn examples(
    prototypes: &[[Bump; BUMPS]],
    many: usize,
    random: &mut Simulated,
) -> Result<Examples, Error> {
    if many > 1 << 20 {
        return Err(Error::parameter("examples", many, "[1, 2^20]"));
    }
    let labels: Vec<u8> = (0..many).map(|i| (i % CLASSES) as u8).collect();
    let mut images = Vec::with_capacity(many * SHAPE.numbers());
    for &label in &labels {
        let bumps = &prototypes[usize::from(label)];
        let (down, right) = (below(3, random) as f32 - 1.0, below(3, random) as f32 - 1.0);
        let scale = 0.5 + 0.5 * uniform(random);
        for pixel in 0..SIDE * SIDE {
            let (y, x) = ((pixel / SIDE) as f32 - down, (pixel % SIDE) as f32 - right);
            let light: f32 = bumps.iter().map(|bump| bump.at(y, x)).sum();
            let noise = NOISE * (2.0 * uniform(random) - 1.0);
            images.push(2.0 * (scale * light + noise).clamp(0.0, 1.0) - 1.0);
        }
    }
    Examples::new(SHAPE, CLASSES, images, labels)
}

/// A soft round spot.
struct Bump {
    y: f32,
    x: f32,
    width: f32,
}

impl Bump {
    fn draw(random: &mut Simulated) -> Self {
        let mut place = || 2.0 + (SIDE - 5) as f32 * uniform(random);
        Self {
            y: place(),
            x: place(),
            width: 2.0 + 2.0 * uniform(random),
        }
    }

    fn at(&self, y: f32, x: f32) -> f32 {
        let square = (y - self.y) * (y - self.y) + (x - self.x) * (x - self.x);
        let height = (1.0 - square / (self.width * self.width)).max(0.0);
        height * height
    }
}
