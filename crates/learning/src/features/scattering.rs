//! Scattering coefficients (Mallat 2012; Bruna, Mallat 2013) of two orders, eight angles and two scales:
//! local averages of how strong waves of each angle and length are, and of how that strength varies in turn.
//!
//! ```text
//! ψ_{j,θ}(u) = g(u)(e^{iξ·u} − β)    a wave of frequency 3π/4·2⁻ʲ and angle θ, j = 0, 1 and θ = π/8 (3 − t),
//!                                    under a Gaussian g of width 0.8·2ʲ along it and twice that across;
//!                                    β makes its sum 0
//! φ                                  a Gaussian of width 1.6
//! S₀ = x ∗ φ      S₁ = |x ∗ ψ_{j,θ}| ∗ φ      S₂ = ||x ∗ ψ_{0,θ}| ∗ ψ_{1,θ'}| ∗ φ
//! all at every 4th pixel
//! ```
//!
//! 1 + 16 + 64 = 81 planes of a quarter of the height and the width, for each color. The picture is continued
//! by reflection, all planes are periodic. These are the numbers of the `kymatio` package (Andreux et al.
//! 2020), which the tests compare with, but for its norm factor 3.1415 in the place of π.
//!
//! Then every group of nine planes is brought to mean 0 and variance 1 within the picture (group
//! normalization: Wu, He 2018; for private learning Tramèr, Boneh 2021), and all of it to one length. Nothing
//! depends on anybody else's data, so a device computes them on its own and they cost no privacy.
//!
//! Cost: convolutions by Fourier transforms of the padded plane, 17 of them and 72 of half its side; φ is
//! separable, and its averages at every 4th pixel are two small matrix products.

use crate::data::{Dataset, Shape};
use crate::error::Error;
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::f64::consts::PI;
use std::sync::Arc;

/// Angles of half a turn.
const ANGLES: usize = 8;
/// Planes: one of order 0, two scales of order 1, pairs of a short and a long wave of order 2.
const PLANES: usize = 1 + 2 * ANGLES + ANGLES * ANGLES;
/// Pixels from one average to the next: two scales.
const STEP: usize = 4;
/// The shortest side: reflection needs more pixels than are padded.
const LEAST_SIDE: usize = 8;
/// Planes that are normalized together. On digits and on clothes 9 is as good as 3 or better, and 81 or 1 is
/// worse.
const TOGETHER: usize = 9;
/// What keeps an empty group from being blown up: a light of one in three hundred is noise.
const FLOOR: f32 = 1e-5;
/// The length of all numbers of a picture, as for oriented gradients.
const LENGTH: f32 = 4.0;

/// The same examples as scattering coefficients, 81 planes of a quarter of the side for each color, from
/// pictures of at least 8×8 pixels.
///
/// ```
/// use shuffledp_learning::{data::synthetic, scattering};
/// let data = scattering(&synthetic::blobs(7, 20, 5)?)?;
/// // Pictures of 14×14 pixels.
/// assert_eq!(data.shape().numbers(), 81 * 3 * 3);
/// # Ok::<(), shuffledp_learning::Error>(())
/// ```
pub fn scattering(data: &Dataset) -> Result<Dataset, Error> {
    data.mapped(|shape, images| scattering_of(shape, &images))
}

/// The normalized scattering coefficients of images of this shape, row after row, and the shape of a row.
pub(crate) fn scattering_of(shape: Shape, images: &[f32]) -> Result<(Shape, Vec<f32>), Error> {
    let Shape {
        channels,
        height,
        width,
    } = shape;
    if height < LEAST_SIDE || width < LEAST_SIDE {
        return Err(Error::Examples {
            why: format!("scattering needs pictures of 8x8 pixels or more, not {height}x{width}"),
        });
    }
    let transform = Transform::new(height, width);
    let plane = (height / STEP) * (width / STEP);
    let row = Shape {
        channels: 1,
        height: 1,
        width: channels * PLANES * plane,
    };
    let mut numbers = vec![0.0; images.len() / shape.numbers() * row.width];
    numbers
        .par_chunks_exact_mut(row.width)
        .zip(images.par_chunks_exact(shape.numbers()))
        .for_each_init(
            || transform.room(),
            |room, (numbers, image)| {
                for (channel, numbers) in numbers.chunks_exact_mut(PLANES * plane).enumerate() {
                    // Pixels are in [−1, 1], light in [0, 1].
                    let light = |y: usize, x: usize| {
                        0.5 + 0.5 * image[(y * width + x) * channels + channel]
                    };
                    transform.apply(light, room, numbers);
                    numbers
                        .chunks_exact_mut(TOGETHER * plane)
                        .for_each(normalize);
                }
                let norm = numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
                // A picture of one color has nothing but averages.
                if norm > 0.0 {
                    numbers.iter_mut().for_each(|x| *x *= LENGTH / norm);
                }
            },
        );
    Ok((row, numbers))
}

/// Mean 0 and variance 1, nearly: the floor is added to the variance.
fn normalize(group: &mut [f32]) {
    let many = group.len() as f32;
    let mean = group.iter().sum::<f32>() / many;
    let variance = group.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / many;
    let scale = 1.0 / (variance + FLOOR).sqrt();
    group.iter_mut().for_each(|x| *x = (*x - mean) * scale);
}

/// A side of the plane: its pixels, and those of the padded plane.
#[derive(Clone, Copy)]
struct Side {
    pixels: usize,
    padded: usize,
}

impl Side {
    fn new(pixels: usize) -> Self {
        let padded = (pixels / STEP + 2) * STEP;
        Self { pixels, padded }
    }

    /// The averages that are kept: the first and the last lie in the padding.
    fn averages(self) -> usize {
        self.pixels / STEP
    }

    /// The pixel that is seen at a place of the padded side, by reflection in the middle of the last pixel.
    fn reflected(self, place: usize) -> usize {
        let before = (self.padded - self.pixels) / 2;
        let last = self.pixels - 1;
        match place.checked_sub(before) {
            None => before - place,
            Some(inside) if inside <= last => inside,
            Some(outside) => 2 * last - outside,
        }
    }

    /// φ at every average, of a side that was thinned out by `thinned`: one row for each average.
    fn averaging(self, thinned: usize) -> Vec<f32> {
        let points = self.padded / thinned;
        // Of a periodic Gaussian of unit mass the transform is a Gaussian; kymatio samples it in space, which
        // adds its own copies at whole turns.
        let at = |k: usize| {
            let turn = |k: f64| {
                let frequency = 2.0 * PI * k / self.padded as f64;
                (-0.5 * (WIDTH * frequency).powi(2)).exp()
            };
            (-2..=2)
                .map(|copy| turn(k as f64 + f64::from(copy) * self.padded as f64))
                .sum::<f64>()
        };
        (1..=self.averages())
            .flat_map(|average| {
                let center = average * STEP / thinned;
                (0..points).map(move |place| {
                    let terms = (0..points).map(|k| {
                        let away = place as f64 - center as f64;
                        // The frequencies nearest to 0 are those that are left after thinning out.
                        at(k.min(points - k)) * (2.0 * PI * k as f64 * away / points as f64).cos()
                    });
                    (terms.sum::<f64>() / points as f64) as f32
                })
            })
            .collect()
    }
}

/// The width of φ.
const WIDTH: f64 = 1.6;

/// A transform of planes with fixed sides, and its filters.
struct Transform {
    height: Side,
    width: Side,
    /// The waves of scale 0 and of scale 1 by their Fourier transforms, which are real; stored column after
    /// column.
    waves: [Vec<Vec<f32>>; 2],
    /// Averages down and across, of whole planes and of planes thinned out by 2.
    averages: [[Vec<f32>; 2]; 2],
    /// Along columns and along lines: forward, backward, and backward at half the side.
    forward: [Arc<dyn Fft<f32>>; 2],
    backward: [[Arc<dyn Fft<f32>>; 2]; 2],
}

/// What one core works in.
struct Room {
    /// The transforms of the picture and of the strength of a short wave in it.
    picture: Vec<Complex<f32>>,
    strength: Vec<Complex<f32>>,
    work: Work,
}

/// The planes between two transforms.
struct Work {
    plane: Vec<Complex<f32>>,
    turned: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    real: Vec<f32>,
    half: Vec<f32>,
}

impl Transform {
    fn new(height: usize, width: usize) -> Self {
        let (height, width) = (Side::new(height), Side::new(width));
        let mut planner = FftPlanner::new();
        let wave = |scale: u32, angle: usize| wave(height.padded, width.padded, scale, angle);
        let waves = [0, 1].map(|scale| (0..ANGLES).map(|angle| wave(scale, angle)).collect());
        let forward = [height, width].map(|side| planner.plan_fft_forward(side.padded));
        let backward = [1, 2].map(|thinned| {
            [height, width].map(|side| planner.plan_fft_inverse(side.padded / thinned))
        });
        Self {
            height,
            width,
            waves,
            averages: [1, 2].map(|thinned| [height, width].map(|side| side.averaging(thinned))),
            forward,
            backward,
        }
    }

    fn room(&self) -> Room {
        let empty = vec![Complex::default(); self.height.padded * self.width.padded];
        let plans = self.forward.iter().chain(self.backward.iter().flatten());
        let scratch = plans.map(|plan| plan.get_inplace_scratch_len()).max();
        Room {
            picture: empty.clone(),
            strength: empty.clone(),
            work: Work {
                plane: empty.clone(),
                turned: empty.clone(),
                scratch: vec![Complex::default(); scratch.unwrap_or(0)],
                real: vec![0.0; empty.len()],
                half: Vec::new(),
            },
        }
    }

    /// The 81 planes of one color.
    fn apply(&self, light: impl Fn(usize, usize) -> f32, room: &mut Room, numbers: &mut [f32]) {
        let Room {
            picture,
            strength,
            work,
        } = room;
        let mut planes = numbers.chunks_exact_mut(self.height.averages() * self.width.averages());
        let mut next = || planes.next().unwrap_or_default();
        for (y, line) in work.real.chunks_exact_mut(self.width.padded).enumerate() {
            for (x, number) in line.iter_mut().enumerate() {
                *number = light(self.height.reflected(y), self.width.reflected(x));
            }
        }
        self.average(0, work, next());
        self.transformed(work, picture);
        // Order 2 comes after all of order 1: 64 planes for the strengths of the 8 short waves.
        let mut second = Vec::with_capacity(ANGLES * ANGLES);
        let first: Vec<&mut [f32]> = (0..2 * ANGLES).map(|_| next()).collect();
        second.extend((0..ANGLES * ANGLES).map(|_| next()));
        let (short, long) = self.waves.split_at(1);
        let mut first = first.into_iter();
        let mut second = second.into_iter();
        for wave in short.iter().flatten() {
            self.seen(0, picture, wave, work, first.next().unwrap_or_default());
            self.transformed(work, strength);
            for wave in long.iter().flatten() {
                self.seen(1, strength, wave, work, second.next().unwrap_or_default());
            }
        }
        for wave in long.iter().flatten() {
            self.seen(1, picture, wave, work, first.next().unwrap_or_default());
        }
    }

    /// How strong a wave is in a plane, which stays in `work`, and its averages. A long wave is seen as well
    /// on every other line and column, which `halvings` counts.
    fn seen(
        &self,
        halvings: usize,
        transform: &[Complex<f32>],
        wave: &[f32],
        work: &mut Work,
        averages: &mut [f32],
    ) {
        match halvings {
            0 => {
                for ((to, from), &factor) in work.plane.iter_mut().zip(transform).zip(wave) {
                    *to = from * factor;
                }
            }
            _ => thinned(transform, wave, self.height.padded, &mut work.plane),
        }
        self.strength(halvings, work);
        self.average(halvings, work, averages);
    }

    /// The Fourier transform of the real plane, column after column.
    fn transformed(&self, work: &mut Work, transform: &mut [Complex<f32>]) {
        let (turned, scratch) = (&mut work.turned, &mut work.scratch);
        for (to, &from) in turned.iter_mut().zip(&work.real) {
            *to = Complex::from(from);
        }
        self.forward[1].process_with_scratch(turned, scratch);
        transpose(turned, self.width.padded, transform);
        self.forward[0].process_with_scratch(transform, scratch);
    }

    /// The absolute values of a plane from its Fourier transform, which is stored column after column.
    fn strength(&self, halvings: usize, work: &mut Work) {
        let [lines, columns] = [self.height, self.width].map(|side| side.padded >> halvings);
        let transform = &mut work.plane[..lines * columns];
        let turned = &mut work.turned[..lines * columns];
        let [down, across] = &self.backward[halvings];
        down.process_with_scratch(transform, &mut work.scratch);
        transpose(transform, lines, turned);
        across.process_with_scratch(turned, &mut work.scratch);
        let scale = 1.0 / (lines * columns) as f32;
        for (strength, at) in work.real.iter_mut().zip(&*turned) {
            *strength = scale * at.norm_sqr().sqrt();
        }
    }

    /// φ at every 4th pixel of the real plane.
    fn average(&self, halvings: usize, work: &mut Work, averages: &mut [f32]) {
        let [lines, columns] = [self.height, self.width].map(|side| side.padded >> halvings);
        let [down, across] = &self.averages[halvings];
        let (plane, half) = (&work.real, &mut work.half);
        half.clear();
        half.resize(columns, 0.0);
        let rows = averages.chunks_exact_mut(self.width.averages());
        for (row, weights) in rows.zip(down.chunks_exact(lines)) {
            half.fill(0.0);
            for (line, weight) in plane.chunks_exact(columns).zip(weights) {
                for (sum, x) in half.iter_mut().zip(line) {
                    *sum += weight * x;
                }
            }
            for (average, weights) in row.iter_mut().zip(across.chunks_exact(columns)) {
                *average = half.iter().zip(weights).map(|(x, weight)| x * weight).sum();
            }
        }
    }
}

/// The transform of a plane times a wave, thinned out by 2: the mean over frequencies that look alike then.
/// Both are stored column after column, `lines` to a column.
fn thinned(transform: &[Complex<f32>], wave: &[f32], lines: usize, to: &mut [Complex<f32>]) {
    let (half, quarter) = (lines / 2, transform.len() / 2);
    for (column, to) in to[..quarter / 2].chunks_exact_mut(half).enumerate() {
        let at = column * lines;
        let [a, b] = [at, at + quarter].map(|at| transform[at..at + lines].split_at(half));
        let [v, w] = [at, at + quarter].map(|at| wave[at..at + lines].split_at(half));
        for (k, to) in to.iter_mut().enumerate() {
            let sum = a.0[k] * v.0[k] + a.1[k] * v.1[k] + b.0[k] * w.0[k] + b.1[k] * w.1[k];
            *to = sum * 0.25;
        }
    }
}

/// Lines of `columns` numbers, column after column.
fn transpose(from: &[Complex<f32>], columns: usize, to: &mut [Complex<f32>]) {
    let lines = from.len() / columns;
    for (x, to) in to.chunks_exact_mut(lines).enumerate() {
        for (to, line) in to.iter_mut().zip(from.chunks_exact(columns)) {
            *to = line[x];
        }
    }
}

/// The Fourier transform of a wave on a periodic plane, column after column.
fn wave(lines: usize, columns: usize, scale: u32, angle: usize) -> Vec<f32> {
    let size = f64::from(2u32.pow(scale));
    let (width, frequency) = (0.8 * size, 0.75 * PI / size);
    let theta = (3.0 - angle as f64) * PI / ANGLES as f64;
    let (sin, cos) = theta.sin_cos();
    let mut plane = vec![[Complex::<f64>::default(); 2]; lines * columns];
    for (at, [wave, envelope]) in plane.iter_mut().enumerate() {
        for (down, across) in (-2..=2).flat_map(|y| (-2..=2).map(move |x| (y, x))) {
            let y = (at / columns) as f64 + f64::from(down) * lines as f64;
            let x = (at % columns) as f64 + f64::from(across) * columns as f64;
            let (along, beside) = (y * cos + x * sin, x * cos - y * sin);
            let square = (along.powi(2) + (0.5 * beside).powi(2)) / (2.0 * width.powi(2));
            // Of a Gaussian that is twice as wide across.
            let size = (-square).exp() / (4.0 * PI * width.powi(2));
            *envelope += Complex::from(size);
            *wave += Complex::from_polar(size, frequency * along);
        }
    }
    let sums = plane
        .iter()
        .fold([Complex::<f64>::default(); 2], |sums, pair| {
            [sums[0] + pair[0], sums[1] + pair[1]]
        });
    let beta = sums[0] / sums[1];
    let mut values: Vec<Complex<f64>> = plane
        .iter()
        .map(|[wave, envelope]| wave - beta * envelope)
        .collect();
    let mut planner = FftPlanner::new();
    planner.plan_fft_forward(columns).process(&mut values);
    let mut turned = vec![Complex::default(); values.len()];
    for (at, value) in values.into_iter().enumerate() {
        turned[at % columns * lines + at / columns] = value;
    }
    planner.plan_fft_forward(lines).process(&mut turned);
    // A wave and its mirror image are conjugate, so the transform is real.
    turned.into_iter().map(|value| value.re as f32).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{ANGLES, LENGTH, PLANES, TOGETHER, Transform, scattering, scattering_of};
    use crate::data::{Dataset, Examples, Shape};
    use std::f64::consts::PI;

    /// The coefficients before they are normalized.
    fn planes(height: usize, width: usize, light: impl Fn(usize, usize) -> f32) -> Vec<f32> {
        let transform = Transform::new(height, width);
        let mut numbers = vec![f32::NAN; PLANES * (height / 4) * (width / 4)];
        transform.apply(light, &mut transform.room(), &mut numbers);
        numbers
    }

    /// A pixel of the pictures of golden/generate_scattering.py.
    fn pixel(y: usize, x: usize) -> f32 {
        ((3 * x + y) * (x + 2 * y + 1) % 23) as f32 / 22.0
    }

    /// Every row of golden/scattering.csv. Filters of either side and all of ours are in single precision: 24
    /// bits of numbers below 1, and a few thousand roundings of random sign.
    #[test]
    fn coefficients_are_those_of_kymatio() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/scattering.csv");
        let table = std::fs::read_to_string(golden).unwrap();
        let mut rows = table.lines().skip_while(|line| line.starts_with('#'));
        assert_eq!(rows.next(), Some("height,width,plane,y,x,value"));
        let mut worst: f64 = 0.0;
        let (mut known, mut count) = (None, 0);
        for row in rows {
            let (place, value) = row.rsplit_once(',').unwrap();
            let place: Vec<usize> = place.split(',').map(|n| n.parse().unwrap()).collect();
            let [height, width, plane, y, x] = place[..] else {
                panic!("{row}");
            };
            if known
                .as_ref()
                .is_none_or(|(side, _)| *side != [height, width])
            {
                known = Some(([height, width], planes(height, width, pixel)));
            }
            let (_, numbers) = known.as_ref().unwrap();
            let own = numbers[(plane * (height / 4) + y) * (width / 4) + x];
            // One filter for order 0, two and three for the others, each divided by 3.1415 and not by π.
            let filters = match plane {
                0 => 1,
                _ if plane <= 2 * ANGLES => 2,
                _ => 3,
            };
            let golden = value.parse::<f64>().unwrap() * (31415.0 / (1e4 * PI)).powi(filters);
            worst = worst.max((f64::from(own) - golden).abs());
            count += 1;
        }
        assert_eq!(count, 2 * 3 * PLANES);
        assert!(worst < 3e-7, "{worst}");
    }

    /// Waves see no light that is the same everywhere, and averages see it as it is.
    #[test]
    fn a_flat_picture_has_averages_only() {
        let numbers = planes(8, 12, |_, _| 0.6);
        let (average, others) = numbers.split_at(2 * 3);
        assert!(average.iter().all(|x| (x - 0.6).abs() < 1e-6));
        assert!(others.iter().all(|x| x.abs() < 1e-6));
    }

    /// Stripes across x at the frequency of the short waves are seen by those waves, and by the angle along x
    /// most of all.
    #[test]
    fn stripes_are_seen_at_their_angle() {
        let stripes = |_, x: usize| 0.5 + 0.5 * (0.75 * std::f32::consts::PI * x as f32).cos();
        let numbers = planes(32, 32, stripes);
        let inside = |plane: usize| numbers[(plane * 8 + 4) * 8 + 4];
        // Angle 3 is 0, down the lines; 7 is a quarter turn from it.
        let short: Vec<f32> = (1..=ANGLES).map(inside).collect();
        let best = (0..ANGLES).max_by(|a, b| short[*a].total_cmp(&short[*b]));
        assert_eq!(best, Some(7));
        assert!(short[3] < 0.05 * short[7], "{short:?}");
        assert!((ANGLES + 1..=2 * ANGLES).all(|plane| inside(plane) < 0.3 * short[7]));
    }

    fn examples(shape: Shape, pictures: &[f32]) -> Dataset {
        let labels = (0..pictures.len() / shape.numbers())
            .map(|at| at as u8 % 2)
            .collect();
        let examples = Examples::new(shape, 2, pictures.to_vec(), labels).unwrap();
        Dataset::new(examples.clone(), examples).unwrap()
    }

    #[test]
    fn colors_follow_each_other_and_groups_have_mean_zero() {
        let [gray, color] = [1, 3].map(|channels| Shape {
            channels,
            height: 16,
            width: 12,
        });
        let light = |at: usize| 2.0 * pixel(at / 12, at % 12) - 1.0;
        let one: Vec<f32> = (0..16 * 12).map(light).collect();
        // The second color is the picture, the others are dark.
        let three: Vec<f32> = one.iter().flat_map(|x| [-1.0, *x, -1.0]).collect();
        let (row, one) = scattering_of(gray, &one).unwrap();
        assert_eq!(row.numbers(), PLANES * 4 * 3);
        let colored = scattering(&examples(color, &three)).unwrap();
        let (three, _) = colored.train().get(0).unwrap();
        let (before, rest) = three.split_at(one.len());
        let (middle, after) = rest.split_at(one.len());
        for (middle, one) in middle.iter().zip(&one) {
            assert!((middle - one).abs() < 1e-4);
        }
        assert!(before.iter().chain(after).all(|x| x.abs() < 1e-4));
        for group in one.chunks_exact(TOGETHER * 4 * 3) {
            assert!(group.iter().sum::<f32>().abs() < 1e-4);
        }
        let square: f32 = one.iter().map(|x| x * x).sum();
        assert!((square.sqrt() - LENGTH).abs() < 1e-4);
    }

    #[test]
    fn small_pictures_are_refused() {
        let shape = Shape {
            channels: 1,
            height: 7,
            width: 9,
        };
        assert_eq!(
            scattering(&examples(shape, &[0.0; 126]))
                .unwrap_err()
                .to_string(),
            "examples are refused: scattering needs pictures of 8x8 pixels or more, not 7x9"
        );
    }
}
