//! PrivUnit (Bhowmick et al. 2018; compressed as by Feldman and Talwar 2021): a direction, by its seed, E times as likely where it points the value's way. 16 bytes at any dimension.
//!
//! ```text
//! cap {v: ⟨v, u⟩ ≥ g}, u = ±x/‖x‖ (+ with probability 1/2 + ‖x‖/(2r));   seeds are drawn until one is kept: always in the cap, with probability 1/E outside it
//! q = P[V in the cap],   P[sent in the cap] = p = qE/(qE + 1 − q),   t = E[⟨V, u⟩; cap] = (1−g²)^{(d−1)/2} / ((d−1) B(1/2, (d−1)/2))
//! decode  (r/m) V,   m = t (p/q − (1−p)/(1−q));     g is chosen to make m largest;      E‖decoded‖² = r²/m²
//! ```
//!
//! The chance of keeping a seed outside the cap is rounded up. A cap has the same share of the 2¹²⁸ seeds for every value, but for what cannot be computed. The accountant has no law of its own for it and is told "any ε₀-LDP randomizer". A device tries 1/(q + (1−q)/E) seeds on average.

use crate::coin::{Coin, round_up};
use crate::error::Error;
use crate::r_2::{side, upright};
use crate::random::Random;
use crate::randomizer::Randomizer;
use crate::sphere::{SEED, direction, norm};
use crate::vector::{self, VectorEstimate, VectorSum};
use crate::wire;
use shuffledp_accounting::Mechanism;
use shuffledp_numerics::special::{beta_share, ln_gamma};

/// A direction that leans to the value.
#[derive(Clone, Debug)]
pub struct PrivUnit {
    dimension: usize,
    radius: f64,
    mechanism: Mechanism,
    threshold: f64,
    /// Refuses a seed outside the cap.
    refuse: Coin,
    shape: Cap,
}

/// A cap, by its probability q and t.
#[derive(Clone, Copy, Debug)]
struct Cap {
    q: f64,
    t: f64,
}

impl Cap {
    /// Of threshold g in [0, 1) in dimension d ≥ 2: q = I_{1−g²}((d−1)/2, 1/2)/2.
    fn of(threshold: f64, dimension: f64) -> Self {
        let half = 0.5 * (dimension - 1.0);
        let rest = (1.0 - threshold) * (1.0 + threshold);
        let ln_beta = ln_gamma(0.5) + ln_gamma(half) - ln_gamma(half + 0.5);
        Self {
            q: 0.5 * beta_share(half, 0.5, rest),
            t: (half * rest.ln() - ln_beta).exp() / (dimension - 1.0),
        }
    }

    /// m, where a seed outside the cap is kept with probability 1/odds.
    fn gain(self, odds: f64) -> f64 {
        let z = self.q * odds + 1.0 - self.q;
        // p/q − (1−p)/(1−q) = (E − 1)/(qE + 1 − q).
        self.t * (odds - 1.0) / z
    }
}

impl PrivUnit {
    /// Vectors of `dimension` coordinates, at least 2, and norm at most `radius`; ε₀ up to 16, beyond which a device would try too many seeds.
    pub fn new(dimension: usize, radius: f64, epsilon0: f64) -> Result<Self, Error> {
        vector::shape(dimension, radius)?;
        if dimension < 2 || !(1e-6..=16.0).contains(&epsilon0) {
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
        let (odds, d) = (epsilon0.exp(), dimension as f64);
        let gain = |g: f64| Cap::of(g, d).gain(odds);
        // Unimodal in g: golden section.
        let golden = 0.5 * (5f64.sqrt() - 1.0);
        let (mut low, mut high) = (0.0, (20.0 / d.sqrt()).min(0.999_999));
        for _ in 0..80 {
            let (a, b) = (high - golden * (high - low), low + golden * (high - low));
            if gain(a) >= gain(b) {
                high = b;
            } else {
                low = a;
            }
        }
        let threshold = 0.5 * (low + high);
        Ok(Self {
            dimension,
            radius,
            mechanism: Mechanism::ldp(epsilon0)?,
            threshold,
            // Kept with 1/E or a little more: refused at odds of at most E − 1 to 1.
            refuse: Coin::shy(epsilon0.exp_m1(), 1.0),
            shape: Cap::of(threshold, d),
        })
    }

    /// r/m.
    pub fn scale(&self) -> f64 {
        self.radius / self.shape.gain(1.0 / self.refuse.complement())
    }

    fn opened(report: &[u8]) -> Result<[u8; SEED], Error> {
        wire::sized(report, SEED)?;
        let mut seed = [0; SEED];
        seed.copy_from_slice(report);
        Ok(seed)
    }
}

impl Randomizer for PrivUnit {
    type Value = [f32];
    type Tally = VectorSum;
    type Estimate = VectorEstimate;

    fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    fn report_length(&self) -> usize {
        SEED
    }

    fn check(&self, value: &[f32]) -> Result<(), Error> {
        vector::within(value, self.dimension, norm(value), self.radius)
    }

    fn draw<R: Random + ?Sized>(&self, value: &[f32], random: &mut R, report: &mut [u8]) {
        let size = norm(value);
        let sign = if round_up(upright(size, self.radius), random) {
            1.0
        } else {
            -1.0
        };
        let mut seed = [0; SEED];
        loop {
            random.fill(&mut seed);
            let cosine = sign * side(&direction(&seed, self.dimension), value, size);
            if cosine >= self.threshold || !self.refuse.toss(random) {
                report.copy_from_slice(&seed);
                return;
            }
        }
    }

    /// The sum of V.
    fn tally(&self) -> VectorSum {
        VectorSum::new(self.dimension)
    }

    fn add(&self, report: &[u8], tally: &mut VectorSum) -> Result<(), Error> {
        let seed = Self::opened(report)?;
        for (sum, v) in tally.total.iter_mut().zip(direction(&seed, self.dimension)) {
            *sum += f64::from(v);
        }
        tally.reports += 1;
        Ok(())
    }

    fn estimate(&self, tally: &VectorSum) -> VectorEstimate {
        let (n, scale) = (tally.reports as f64, self.scale());
        VectorEstimate {
            mean: tally.total.iter().map(|sum| scale * sum / n).collect(),
            variance: scale * scale / n,
        }
    }

    fn variance(&self, value: &[f32]) -> f64 {
        self.scale().powi(2) - norm(value).powi(2)
    }

    fn influence(&self) -> f64 {
        self.scale()
    }

    /// The likelihood of a seed, against the average over all seeds.
    fn probability(&self, value: &[f32], report: &[u8]) -> Option<f64> {
        let seed = Self::opened(report).ok()?;
        let size = norm(value);
        let cosine = side(&direction(&seed, self.dimension), value, size);
        let kept = self.refuse.complement();
        let z = self.shape.q + (1.0 - self.shape.q) * kept;
        let at = |cosine: f64| {
            if cosine >= self.threshold {
                1.0 / z
            } else {
                kept / z
            }
        };
        let up = upright(size, self.radius);
        Some(up * at(cosine) + (1.0 - up) * at(-cosine))
    }
}
