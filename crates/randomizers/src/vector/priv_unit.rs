//! PrivUnit (Bhowmick et al. 2018; compressed as by Feldman and Talwar 2021), for vectors of l₂ norm at most
//! r: the seed of a direction, E times as likely if the direction is near the vector's. 16 bytes in any
//! dimension. E = e^ε₀.
//!
//! ```text
//! u = ±x/‖x‖, + with probability 1/2 + ‖x‖/(2r);   cap {v: ⟨v, u⟩ ≥ g}
//! seeds are drawn until one is kept: always if its direction is in the cap, else with probability 1/E
//! q = P[V in the cap],   p = P[sent in the cap] = qE/(qE + 1 − q)
//! t = E[⟨V, u⟩; cap] = (1−g²)^{(d−1)/2} / ((d−1) B(1/2, (d−1)/2))
//! decode  (r/m) V,   m = t (p/q − (1−p)/(1−q));     g maximizes m;      ‖decoded‖² = r²/m²
//! ```
//!
//! The probability of keeping a seed outside the cap is rounded up, towards more privacy. The guarantee
//! assumes that the caps of all values hold the same fraction of the 2¹²⁸ seeds, as for a random function; a
//! difference could not be found by computation. The cap is the one that the accountant computes with
//! ([`DirectionLaw`]). A device tries 1/(q + (1−q)/E) seeds on average.

use crate::device::{Device, dimension};
use crate::dynamic::Dynamic;
use crate::error::Error;
use crate::sample::coin::{Coin, round_up};
use crate::sample::random::Random;
use crate::sample::sphere::{SEED, add_direction, direction, norm, seed, side, upright};
use crate::vector::{Ball, Shape, Vectors};
use shuffledp_accounting::{DirectionLaw, Mechanism, RandomizerSpec};
use shuffledp_numerics::special::{beta_share, ln_gamma};

/// A random direction that is more likely near the vector's.
pub type PrivUnit = Vectors<LeaningDirection>;

/// The distribution of reports of [`PrivUnit`].
#[derive(Clone, Debug)]
pub struct LeaningDirection {
    shape: Shape,
    mechanism: Mechanism,
    threshold: f64,
    /// Heads refuses a seed outside the cap.
    refuse: Coin,
    cap: Cap,
}

/// A cap's probability q, and t.
#[derive(Clone, Copy, Debug)]
struct Cap {
    q: f64,
    t: f64,
}

impl Cap {
    /// The cap of threshold g in [0, 1) in dimension d ≥ 2: q = I_{1−g²}((d−1)/2, 1/2)/2.
    fn of(threshold: f64, dimension: f64) -> Self {
        let half = 0.5 * (dimension - 1.0);
        let rest = (1.0 - threshold) * (1.0 + threshold);
        let ln_beta = ln_gamma(0.5) + ln_gamma(half) - ln_gamma(half + 0.5);
        Self {
            q: 0.5 * beta_share(half, 0.5, rest),
            t: (half * rest.ln() - ln_beta).exp() / (dimension - 1.0),
        }
    }

    /// m, if a seed outside the cap is kept with probability 1/odds.
    fn gain(self, odds: f64) -> f64 {
        let z = self.q * odds + 1.0 - self.q;
        // p/q − (1−p)/(1−q) = (E − 1)/(qE + 1 − q).
        self.t * (odds - 1.0) / z
    }
}

/// The largest ε₀: at 16 a device in high dimension already tries hundreds of thousands of seeds.
const LARGEST_EPSILON0: f64 = 16.0;

impl PrivUnit {
    /// PrivUnit for vectors of `dimension` coordinates, at least 2, and l₂ norm at most `radius`; ε₀ from
    /// 1e-6 to 16.
    pub fn new(dimension: usize, radius: f64, epsilon0: f64) -> Result<Self, Error> {
        let shape = Shape::new(dimension, radius)?;
        if dimension < 2 || !(1e-6..=LARGEST_EPSILON0).contains(&epsilon0) {
            return Err(Error::Parameter {
                parameter: if dimension < 2 {
                    "dimension"
                } else {
                    "epsilon0"
                },
                value: if dimension < 2 {
                    dimension.to_string()
                } else {
                    epsilon0.to_string()
                },
                allowed: "two or more dimensions and [1e-6, 16] for PrivUnit".into(),
            });
        }
        let law = DirectionLaw::priv_unit(Some(dimension as u64), epsilon0)?;
        // Known in two or more dimensions at these ε₀.
        let threshold = law.start().unwrap_or_default();
        Ok(Self(LeaningDirection {
            shape,
            mechanism: Mechanism::from(law),
            threshold,
            // Kept with probability 1/E or a little more: refused at odds of at most E − 1 to 1.
            refuse: Coin::at_most(epsilon0.exp_m1(), 1.0),
            cap: Cap::of(threshold, dimension as f64),
        }))
    }
}

/// The device of a description.
pub(crate) fn device(spec: &RandomizerSpec, radius: f64) -> Result<Device, Error> {
    let randomizer = PrivUnit::new(dimension(spec), radius, spec.epsilon0()?)?;
    Ok(Device::Vector(Dynamic::of(randomizer)))
}

impl Ball for LeaningDirection {
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
        let kept = round_up(upright(size, self.shape.radius), random);
        let sign = if kept { 1.0 } else { -1.0 };
        let mut seed = [0; SEED];
        loop {
            random.fill(&mut seed);
            let cosine = sign * side(&direction(&seed, self.shape.dimension), value, size);
            if cosine >= self.threshold || !self.refuse.toss(random) {
                report.copy_from_slice(&seed);
                return;
            }
        }
    }

    fn add(&self, report: &[u8], sums: &mut [f64]) -> Result<(), Error> {
        add_direction(&seed(report)?, 1.0, sums);
        Ok(())
    }

    /// The norm of a decoded report, r/m.
    fn length(&self) -> f64 {
        self.shape.radius / self.cap.gain(1.0 / self.refuse.complement())
    }

    /// The probability of a seed, divided by the average over all seeds.
    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let seed = seed(report).ok()?;
        let size = norm(value);
        let cosine = side(&direction(&seed, self.shape.dimension), value, size);
        let kept = self.refuse.complement();
        let z = self.cap.q + (1.0 - self.cap.q) * kept;
        let at = |cosine: f64| {
            if cosine >= self.threshold {
                1.0 / z
            } else {
                kept / z
            }
        };
        let up = upright(size, self.shape.radius);
        Some(up * at(cosine) + (1.0 - up) * at(-cosine))
    }
}
