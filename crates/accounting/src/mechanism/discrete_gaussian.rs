//! Discrete Gaussian noise on numbers in [0, 1] (Canonne, Kamath, Steinke 2020), by its local guarantee.
//!
//! ```text
//! s = 1024 levels to a standard deviation, L = ⌊s/σ⌋ levels to the interval;   P[z] ∝ e^{−z²/(2s²)}
//! δ₀(ε₀) = Σ_z (P[z] − e^{ε₀} P[z − L])₊
//! ```
//!
//! The caller chooses δ₀, and ε₀ is the least that the sum allows. Only this local guarantee is used: upper
//! bounds are those of (ε₀, δ₀)-LDP randomizers, and no lower bound is claimed. Standing of ε₀: certified.
//! The sum has about 16,000 positive terms with relative errors of 1e-13, and is rounded up by 1e-10.

use super::Mechanism;
use crate::catalog::{Entry, Input};
use crate::error::{Error, Parameter, within};
use shuffledp_numerics::search::{Stop, bisect};

pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "discrete-gaussian",
    title: "Integer Gaussian noise on values in [0, 1]",
    needs: &[Parameter::Sigma, Parameter::Delta0],
    takes: &[],
    pairs_are_alike: true,
    own_epsilon0: false,
    input: |_| Input::Number,
    mechanism: |spec| DiscreteGaussian::new(spec.sigma()?)?.mechanism(spec.delta0()?),
    phrase: |_| "discrete Gaussian noise on [0, 1]".to_owned(),
}];

/// The largest ε₀ of the search: the largest that a local guarantee may have.
const LARGEST: f64 = 100.0;

/// The grid that discrete Gaussian noise of a standard deviation lives on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteGaussian {
    levels: u64,
}

impl DiscreteGaussian {
    /// s, the levels to a standard deviation.
    pub const SCALE: u64 = 1024;

    /// With standard deviation `sigma`, from 0.15 to 100.
    pub fn new(sigma: f64) -> Result<Self, Error> {
        let inside = (0.15..=100.0).contains(&sigma);
        within(Parameter::Sigma, sigma, inside, "[0.15, 100] for a device")?;
        Ok(Self {
            levels: (Self::SCALE as f64 / sigma * (1.0 - 1e-14)).floor() as u64,
        })
    }

    /// L, the levels to the interval.
    pub fn levels(&self) -> u64 {
        self.levels
    }

    /// The mechanism at a local δ₀ from 1e-30 to 0.1, with the least ε₀ that it has there.
    ///
    /// ```
    /// use shuffledp_accounting::{DiscreteGaussian, Local};
    /// let mechanism = DiscreteGaussian::new(2.0)?.mechanism(1e-6)?;
    /// let Local::Approximate(epsilon0, _) = mechanism.local() else { panic!() };
    /// // The Gaussian mechanism of the same noise has 2.23.
    /// assert!((epsilon0.value() - 2.23).abs() < 0.05);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn mechanism(&self, delta0: f64) -> Result<Mechanism, Error> {
        let inside = (1e-30..=0.1).contains(&delta0);
        within(
            Parameter::Delta0,
            delta0,
            inside,
            "[1e-30, 0.1] for a device",
        )?;
        // The least ε₀, by bisection; the end that was seen to hold.
        let meets = |epsilon0: f64| self.delta0(epsilon0) <= delta0;
        let epsilon0 = match (meets(0.0), meets(LARGEST)) {
            (true, _) => 0.0,
            (false, true) => bisect(0.0, LARGEST, Stop::after(60), meets).holds,
            (false, false) => {
                let allowed = "a delta0 at which epsilon0 is at most 100";
                within(Parameter::Delta0, delta0, false, allowed)?
            }
        };
        Mechanism::some_approximate_ldp(epsilon0, delta0)
    }

    /// δ₀(ε₀) of a shift by L, rounded up.
    fn delta0(&self, epsilon0: f64) -> f64 {
        let (s, shift) = (Self::SCALE as f64, self.levels as f64);
        let scale = s * (2.0 * std::f64::consts::PI).sqrt();
        let mass = |z: f64| (-0.5 * (z / s).powi(2)).exp() / scale;
        // P[z] > e^{ε₀} P[z − L] exactly below this; sixteen standard deviations further on the terms are
        // negligible.
        let first = 0.5 * shift - epsilon0 * s * s / shift;
        let mut total = 0.0;
        let mut z = first.floor();
        while z > first - 16.0 * s {
            // The sum over the integers is the integral to within e^{−2π²s²}: nothing.
            let excess = -(epsilon0 + shift * (z - 0.5 * shift) / (s * s)).exp_m1();
            total += (mass(z) * excess).max(0.0);
            z -= 1.0;
        }
        total * (1.0 + 1e-10)
    }
}
