//! Directions that lean to a vector of l₂ norm at most r, as seeds of 16 bytes: what [`PrivUnit`] and
//! [`Ramp`] share. E = e^ε₀.
//!
//! ```text
//! u = ±x/‖x‖, + with probability 1/2 + ‖x‖/(2r);     c = ⟨V, u⟩, V the direction of a seed
//! with probability L = 1/(1 + (E−1)R) any seed
//! else seeds are drawn until one is kept, with probability rise(|c|); it, or its opposite if c < 0
//! rise(c) = (c − c₀)/(c₁ − c₀) within [0, 1],        R = E rise(c) over all directions
//! density of V   L (1 + (E−1) rise(c))
//! decode  (r/m) V,   m = E c·density,    ‖decoded‖² = r²/m²
//! ```
//!
//! c₀ and c₁ are the accountant's ([`DirectionLaw`]), so what is run is what is priced. The coin for L leans
//! to more privacy by `MARGIN`: a user who sends any seed a little more often sends what the accountant
//! prices, sometimes replaced by noise. Keeping a seed is a comparison of 64 random bits with rise(c),
//! rounded down, which is 1 at the cap and never more: no rounding can raise the largest ratio above 1 +
//! (1−L)/(LR).
//!
//! The guarantee assumes that R is the same for every vector. It would be for directions that are uniform on
//! the sphere. Those of the 2¹²⁸ seeds are computed, in single precision, by a generator that nobody can tell
//! from a random function; what is left of a difference is the rounding of normal numbers, which `MARGIN`
//! covers.
//!
//! Seeds come in pairs of opposite directions that are expanded together (`sample::sphere`). No direction
//! leans if its cosine is below c₀ ≥ 0, so at most one of the two has rise(c) > 0. Keeping the pair with
//! probability rise(|c|), and then that one of it, sends every seed with a probability in proportion to its
//! own rise(c), and takes half as many tries.
//!
//! A device expands (E−1)L/2 seeds on average, (1−L) times a geometric number with mean 1/(2R): neither
//! depends on the vector, and expanding a seed takes the same time for all of them. Stopping an expansion
//! early, once a seed cannot be kept any more, would make the time depend on where the vector is long.
//!
//! [`PrivUnit`]: crate::PrivUnit
//! [`Ramp`]: crate::Ramp

use crate::error::Error;
use crate::sample::coin::{Coin, round_up};
use crate::sample::cosine::Cosines;
use crate::sample::random::Random;
use crate::sample::sphere::{
    SEED, add_direction, cosine, direction, inner, norm, opposite, seed, unit, upright,
};
use crate::vector::{Ball, Shape};
use shuffledp_accounting::{DirectionLaw, Mechanism};
use std::marker::PhantomData;

/// The coin for a leaning seed has odds lower by this part: more than R is off in single precision, where a
/// normal number has an error of 5e-7.
const MARGIN: f64 = 2e-6;
/// The least ε₀: below it a report says nothing.
const LEAST_EPSILON0: f64 = 1e-6;
/// The largest ε₀: at 16 a device in high dimension already tries hundreds of thousands of seeds.
const LARGEST_EPSILON0: f64 = 16.0;

/// The distribution of reports of a randomizer that leans as `S` says.
#[derive(Clone, Debug)]
pub struct Leaning<S> {
    shape: Shape,
    mechanism: Mechanism,
    start: f64,
    end: f64,
    /// R.
    rise: f64,
    /// Heads: a seed that leans.
    lean: Coin,
    /// The length of the mean of a seed that leans.
    reach: f64,
    kind: PhantomData<S>,
}

impl<S> Leaning<S> {
    /// The randomizer of a law, made from dimension and ε₀ once these are within range.
    pub(super) fn new(
        name: &str,
        dimension: usize,
        radius: f64,
        epsilon0: f64,
        law: impl Fn(Option<u64>, f64) -> Result<DirectionLaw, shuffledp_accounting::Error>,
    ) -> Result<Self, Error> {
        let shape = Shape::new(dimension, radius)?;
        let refuse = |parameter, value: String, allowed: &str| {
            Err(Error::Parameter {
                parameter,
                value,
                allowed: format!("{allowed} for {name}"),
            })
        };
        if dimension < 2 {
            return refuse("dimension", dimension.to_string(), "[2, 2^30]");
        }
        if !(LEAST_EPSILON0..=LARGEST_EPSILON0).contains(&epsilon0) {
            return refuse("epsilon0", epsilon0.to_string(), "[1e-6, 16]");
        }
        let law = law(Some(dimension as u64), epsilon0)?;
        let known = (law.start(), law.end(), law.mean_rise(), law.mean_length());
        let (Some(start), Some(end), Some(rise), Some(length)) = known else {
            return refuse("epsilon0", epsilon0.to_string(), "a law that is known");
        };
        // Opposite seeds are tried together because at most one of them leans.
        if start < 0.0 {
            return refuse("start", start.to_string(), "[0, ∞)");
        }
        // (1 − L)/L.
        let odds = epsilon0.exp_m1() * rise;
        Ok(Self {
            shape,
            mechanism: Mechanism::from(law),
            start,
            end,
            rise,
            lean: Coin::at_most(odds * (1.0 - MARGIN), 1.0),
            reach: length * (1.0 + odds) / odds,
            kind: PhantomData,
        })
    }

    /// The probability of keeping a seed with this cosine.
    fn kept(&self, cosine: f64) -> f64 {
        if cosine >= self.end {
            1.0
        } else {
            ((cosine - self.start) / (self.end - self.start)).max(0.0)
        }
    }
}

impl<S> Ball for Leaning<S> {
    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn norm(&self, value: &[f32]) -> f64 {
        norm(value)
    }

    fn report_length(&self) -> usize {
        SEED
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        let size = norm(value);
        let upright = round_up(upright(size, self.shape.radius), random);
        let mut seed = [0; SEED];
        random.fill(&mut seed);
        if self.lean.toss(random) {
            let unit = unit(value, size);
            loop {
                let cosine = cosine(&seed, &unit);
                if round_up(self.kept(cosine.abs()), random) {
                    if (cosine < 0.0) == upright {
                        seed = opposite(seed);
                    }
                    break;
                }
                random.fill(&mut seed);
            }
        }
        report.copy_from_slice(&seed);
    }

    fn add(&self, report: &[u8], sums: &mut [f64]) -> Result<(), Error> {
        add_direction(&seed(report)?, sums);
        Ok(())
    }

    /// Draws the cosine of a seed that leans by itself, and then one direction, which is turned until it has
    /// that cosine: seen from the vector, all directions of one cosine are alike. A report of large ε₀ takes
    /// hundreds of expansions; this takes one.
    fn contribute<R: Random + ?Sized>(
        &self,
        value: &[f32],
        random: &mut R,
        sums: &mut [f64],
    ) -> Result<(), Error> {
        let size = norm(value);
        let upright = round_up(upright(size, self.shape.radius), random);
        let mut seed = [0; SEED];
        random.fill(&mut seed);
        if !self.lean.toss(random) {
            add_direction(&seed, sums);
            return Ok(());
        }
        let mut cosines = Cosines::new(value.len(), random);
        let wanted = loop {
            let cosine = cosines.next(random).abs();
            if round_up(self.kept(cosine), random) {
                break if upright { cosine } else { -cosine };
            }
        };
        let unit = unit(value, size);
        let direction = direction(&seed, value.len());
        // Over the square of a length that rounding has not left at 1: what is beside is at a right angle.
        let own = inner(&direction, &unit) / inner(&unit, &unit);
        let beside = |v: &f32, x: &f32| f64::from(*v) - own * f64::from(*x);
        // Its length by itself: √(1 − own²) would lose all digits near the vector.
        let square: f64 = direction
            .iter()
            .zip(&unit)
            .map(|(v, x)| beside(v, x).powi(2))
            .sum();
        let across = ((1.0 - wanted) * (1.0 + wanted)).max(0.0);
        let scale = (across / square.max(f64::MIN_POSITIVE)).sqrt();
        for ((sum, v), x) in sums.iter_mut().zip(&direction).zip(&unit) {
            *sum += wanted * f64::from(*x) + scale * beside(v, x);
        }
        Ok(())
    }

    /// The norm of a decoded report, r/m.
    fn length(&self) -> f64 {
        self.shape.radius / (self.lean.probability() * self.reach)
    }

    /// The probability of a seed, divided by the average over all seeds.
    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let seed = seed(report).ok()?;
        let size = norm(value);
        let cosine = cosine(&seed, &unit(value, size));
        let at = |cosine: f64| self.kept(cosine) / self.rise;
        let up = upright(size, self.shape.radius);
        let leaning = up * at(cosine) + (1.0 - up) * at(-cosine);
        Some(self.lean.complement() + self.lean.probability() * leaning)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::randomizer::Randomizer;
    use crate::sample::random::Simulated;
    use crate::sample::sphere::{inner, norm, unit};
    use crate::vector::{PrivUnit, Ramp, VectorSum};

    const MANY: usize = 20_000;

    /// The largest distance between the distribution functions of two samples of one size.
    fn distance(mut one: Vec<f64>, mut other: Vec<f64>) -> f64 {
        one.sort_by(f64::total_cmp);
        other.sort_by(f64::total_cmp);
        let (mut at, mut largest) = (0, 0.0f64);
        for (place, x) in one.iter().enumerate() {
            while at < other.len() && other[at] <= *x {
                at += 1;
            }
            largest = largest.max((place as f64 + 1.0 - at as f64).abs());
        }
        largest / one.len() as f64
    }

    /// A contribution against a report that is drawn and read, by the way along the vector, the way along
    /// another direction that is not at a right angle to it, and the length.
    fn compared<R>(randomizer: &R, value: &[f32])
    where
        R: Randomizer<Value = [f32], Tally = VectorSum>,
    {
        let mut random = Simulated::new(3, value.len() as u64);
        let mut other = value.to_vec();
        other[0] += 0.3;
        other[1] -= 0.2;
        let size = norm(&other);
        let toward = unit(value, norm(value));
        let mut seen = [const { [const { Vec::new() }; 2] }; 2];
        for _ in 0..MANY {
            for (fast, seen) in seen.iter_mut().enumerate() {
                let mut tally = randomizer.tally();
                if fast == 1 {
                    randomizer
                        .contribute(value, &mut random, &mut tally)
                        .unwrap();
                } else {
                    let mut report = vec![0; randomizer.report_length()];
                    randomizer.draw(value, &mut random, &mut report);
                    randomizer.add(&report, &mut tally).unwrap();
                }
                assert_eq!(tally.reports(), 1);
                let direction: Vec<f32> = tally.total.iter().map(|x| *x as f32).collect();
                let length = norm(&direction);
                assert!((length - 1.0).abs() < 1e-5, "{fast} {length}: {value:?}");
                seen[0].push(inner(&direction, &toward));
                seen[1].push(inner(&direction, &other) / size);
            }
        }
        let [drawn, fast] = seen;
        for (drawn, fast) in drawn.into_iter().zip(fast) {
            // Two samples of one law are further apart with probability 2e^{-18}.
            let far = distance(drawn, fast);
            assert!(far < 3.0 / (MANY as f64).sqrt(), "{}: {far}", value.len());
        }
    }

    #[test]
    fn contributions_have_the_law_of_reports() {
        for d in [2, 3, 40] {
            let part = (0.64 / d as f32).sqrt();
            for value in [vec![part; d], vec![0.0; d]] {
                compared(&Ramp::new(d, 1.0, 3.0, None).unwrap(), &value);
                compared(&PrivUnit::new(d, 1.0, 2.0).unwrap(), &value);
            }
        }
    }
}
