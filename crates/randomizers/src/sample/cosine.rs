//! The cosine between a uniformly random direction and a fixed one, without the direction: for simulations,
//! which then need no more than one direction for a report that leans.
//!
//! ```text
//! c = g/√(g² + χ²),   g normal, χ² of d − 1 degrees of freedom, independent of each other
//! χ² = 2a(1 + g'/√(9a))³ =: 2av,  a = (d−1)/2 − 1/3, kept if ln u < g'²/2 + a − av + a ln v
//! ```
//!
//! The latter is Marsaglia and Tsang (2000), for d ≥ 3; for d = 2 it is the square of a normal number. Normal
//! numbers are those of the seeds ([`crate::sample::sphere`]), right to 5e-7.

use crate::sample::random::Random;
use crate::sample::sphere::{Normals, SEED};
use shuffledp_numerics::special::ln;

/// Normal numbers expanded together.
const TOGETHER: usize = 64;

/// Cosines in one dimension, one after the other.
pub(crate) struct Cosines {
    /// d − 1.
    others: f64,
    normals: Normals,
    part: [f32; TOGETHER],
    used: usize,
}

impl Cosines {
    /// In a dimension of at least 2.
    pub(crate) fn new<R: Random + ?Sized>(dimension: usize, random: &mut R) -> Self {
        let mut seed = [0; SEED];
        random.fill(&mut seed);
        Self {
            others: dimension as f64 - 1.0,
            normals: Normals::new(&seed),
            part: [0.0; TOGETHER],
            used: TOGETHER,
        }
    }

    fn normal(&mut self) -> f64 {
        if self.used == TOGETHER {
            self.normals.next(&mut self.part);
            self.used = 0;
        }
        self.used += 1;
        f64::from(self.part[self.used - 1])
    }

    /// χ² of d − 1 degrees of freedom.
    fn square<R: Random + ?Sized>(&mut self, random: &mut R) -> f64 {
        if self.others < 2.0 {
            return self.normal().powi(2);
        }
        let a = 0.5 * self.others - 1.0 / 3.0;
        loop {
            let g = self.normal();
            let root = 1.0 + g / (9.0 * a).sqrt();
            let v = root * root * root;
            // In (0, 1].
            let u = ((random.word() >> 11) + 1) as f64 / 2f64.powi(53);
            // The first holds only where the second does, and is cheap.
            if v > 0.0
                && (u < 1.0 - 0.0331 * g.powi(4) || ln(u) < 0.5 * g * g + a - a * v + a * ln(v))
            {
                return 2.0 * a * v;
            }
        }
    }

    /// The next cosine.
    pub(crate) fn next<R: Random + ?Sized>(&mut self, random: &mut R) -> f64 {
        let g = self.normal();
        let whole = g * g + self.square(random);
        // Zero by rounding alone, in two dimensions: no direction, counted as a right angle.
        if whole > 0.0 { g / whole.sqrt() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Cosines;
    use crate::sample::random::Simulated;

    /// E c² = 1/d and E c⁴ = 3/(d(d+2)), and in three dimensions c is uniform on [−1, 1] (Archimedes).
    #[test]
    fn cosines_are_those_of_uniform_directions() {
        const MANY: usize = 200_000;
        for d in [2, 3, 4, 17, 1290] {
            let mut random = Simulated::new(1, d as u64);
            let mut cosines = Cosines::new(d, &mut random);
            let all: Vec<f64> = (0..MANY).map(|_| cosines.next(&mut random)).collect();
            let mean = |power: i32| all.iter().map(|c| c.powi(power)).sum::<f64>() / MANY as f64;
            let whole = d as f64;
            let (second, fourth) = (1.0 / whole, 3.0 / (whole * (whole + 2.0)));
            // Five deviations of these means; E c⁸ is at most 105/d⁴.
            let of = |variance: f64| 5.0 * (variance / MANY as f64).sqrt();
            assert!(mean(1).abs() < of(second), "{d}");
            assert!((mean(2) - second).abs() < of(fourth), "{d}");
            assert!((mean(4) - fourth).abs() < of(105.0 / whole.powi(4)), "{d}");
            if d == 3 {
                for tenth in 1..10 {
                    let wanted = 0.1 * f64::from(tenth);
                    let below = all.iter().filter(|c| **c < 2.0 * wanted - 1.0).count();
                    assert!((below as f64 / MANY as f64 - wanted).abs() < of(0.25));
                }
            }
        }
    }
}
