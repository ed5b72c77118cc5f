//! Reports that are directions: PrivUnit and the ramp.
//!
//! A person holds a vector x of l₂ norm at most 1 and sends a point V of the unit sphere in d ≥ 2 dimensions
//! (or a seed that stands for one), whose density against the uniform law depends on c = ⟨V, x⟩ alone and
//! rises with it:
//!
//! ```text
//! g(c) = g_lo (1 + (E − 1) rise(c)),      1/g_lo = 1 + (E − 1) E rise(c),      E = e^ε₀
//! rise(c) = (c − c₀)/(c₁ − c₀) within [0, 1],      0 ≤ c₀ ≤ c₁ ≤ 1
//! ```
//!
//! Shorter vectors turn their direction round with probability (1 − |x|)/2. R_2 is a step at 0 (its bit says
//! on which side), and is priced as binary randomized response. **PrivUnit** (Bhowmick et al. 2018) is a
//! step, c₀ = c₁, where the mean of a report is longest. The **ramp** begins at t₀ = c₀√d and is steep enough
//! to reach its cap [`DirectionLaw::REACH`] standard deviations further up, or at the pole if that is nearer.
//!
//! **Theorem D** (`direction.proof.md`). The blanket is g_lo times the uniform law and opposite vectors are
//! the worst pair. With heights c ≥ 0 of a uniform direction (half of all; the other half is the mirror
//! image) and ρ = 1 + (E − 1) rise(c):
//!
//! | law | atoms (π; P; Q) |
//! |---|---|
//! | upper | (g_lo; ρ; 1) and mirrored, (1 − g_lo; 0; 0) |
//! | lower, others at user 1's second vector | (g_lo; ρ; 1), (g_lo ρ; 1/ρ; 1) |
//!
//! For a step these are the atoms of k-ary randomized response with k = 1/q, q the probability of the cap.
//!
//! **Efficiency.** When n is large a round is as private as a Gaussian mechanism with μ² = v/n, v = Σπ(P−Q)²,
//! and the mean of a report is M√d⁻¹ x long. Whatever the number of reports, the squared signal-to-noise
//! ratio of a mean at a given μ is η = M²/v times a factor that all randomizers share; for a trusted server
//! it is 1/4. By default the ramp starts where η is largest. Its reach is fixed. A longer reach always has a
//! larger η, up to 1/4, but its reports say less, which a smaller ε₀ achieves as well; and hardly any
//! direction lies beyond the reach, so that ε₀ would not be used up.
//!
//! Without a number of coordinates, or above ε₀ = 16, the law of any ε₀-LDP randomizer is the upper bound,
//! and no lower bound is claimed. Standing: certified.

use super::{Adversary, Family, Local, Mechanism};
use crate::atoms::{Atom, Atoms};
use crate::catalog::{Entry, Input, VectorNorm};
use crate::cells::Fineness;
use crate::digits::grouped;
use crate::error::{Error, Parameter, within, within_count};
use crate::local::LocalEpsilon;
use crate::spec::RandomizerSpec;
use crate::sphere::{MARGIN, Moments, Ramp};
use shuffledp_numerics::search::{golden_best, golden_middle};
use shuffledp_numerics::special::expm1;

/// Which density.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    PrivUnit,
    /// With the start that was asked for, in standard deviations of the height.
    Ramp(Option<f64>),
}

/// A randomizer whose report is a direction, with a density that rises with the cosine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectionLaw {
    shape: Shape,
    epsilon0: LocalEpsilon,
    dimension: Option<u64>,
    law: Option<Law>,
}

/// Where the density rises.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Law {
    start: f64,
    end: f64,
    ramp: Ramp,
}

/// PrivUnit and the ramp.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "priv-unit",
        title: "A direction that leans to a vector of bounded l2 norm",
        needs: &[Parameter::Epsilon0],
        takes: &[Parameter::Dimension],
        pairs_are_alike: true,
        own_epsilon0: false,
        input: |_| Input::Vector(VectorNorm::L2),
        mechanism: |spec| {
            let direction = DirectionLaw::priv_unit(spec.dimension, spec.epsilon0()?)?;
            Ok(Mechanism::from(direction))
        },
        phrase: |spec| format!("PrivUnit on vectors{}", coordinates(spec)),
    },
    Entry {
        name: "ramp",
        title: "A direction that leans to a vector of bounded l2 norm, the more the closer it is",
        needs: &[Parameter::Epsilon0],
        takes: &[Parameter::Dimension, Parameter::Start],
        pairs_are_alike: true,
        own_epsilon0: false,
        input: |_| Input::Vector(VectorNorm::L2),
        mechanism: |spec| {
            let direction = DirectionLaw::ramp(spec.dimension, spec.epsilon0()?, spec.start)?;
            Ok(Mechanism::from(direction))
        },
        phrase: |spec| format!("the ramp on vectors{}", coordinates(spec)),
    },
];

fn coordinates(spec: &RandomizerSpec) -> String {
    match spec.dimension {
        Some(dimension) => format!(" of {} coordinates", grouped(dimension)),
        None => " of any dimension".to_owned(),
    }
}

/// Above this ε₀ the law of any ε₀-LDP randomizer is used, which is as good there: a device would have to try
/// too many directions.
const LARGEST_EPSILON0: f64 = 16.0;
/// The largest cosine at which a density may begin to rise: near 1 the probability of the cap loses its
/// digits.
const HIGHEST_START: f64 = 0.999_999;
/// Steps of the golden section search for a cap. They narrow the interval by 1e-8, where the function is
/// flat.
const STEPS: u32 = 40;
/// A default start is rounded to four decimals, so that a person can type it. η is flat there.
const DECIMALS: f64 = 1e4;
/// The search for the best cap ends this many standard deviations of the height out: for ε₀ up to
/// [`LARGEST_EPSILON0`] the best one is never beyond.
const WIDEST_CAP: f64 = 20.0;

impl DirectionLaw {
    /// The ramp reaches its cap this many standard deviations of the cosine above its start; one direction in
    /// 10⁹ lies beyond six.
    pub const REACH: f64 = 6.0;

    /// PrivUnit at ε₀ on vectors of this many coordinates.
    ///
    /// ```
    /// use shuffledp_accounting::DirectionLaw;
    /// let direction = DirectionLaw::priv_unit(Some(3), 2.0)?;
    /// // The cap of the longest mean: everything above it is E times as likely as everything below.
    /// assert_eq!(direction.start(), direction.end());
    /// assert!(direction.start() > Some(0.0));
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn priv_unit(dimension: Option<u64>, epsilon0: f64) -> Result<Self, Error> {
        Self::new(Shape::PrivUnit, dimension, epsilon0)
    }

    /// The ramp at ε₀, from `start` (in standard deviations d^{−1/2} of the cosine) or from where it is most
    /// efficient.
    ///
    /// ```
    /// use shuffledp_accounting::DirectionLaw;
    /// let ramp = DirectionLaw::ramp(Some(1290), 2.0, None)?;
    /// assert!((ramp.efficiency().unwrap() - 0.76).abs() < 0.01);
    /// let step = DirectionLaw::priv_unit(Some(1290), 2.0)?;
    /// assert!(step.efficiency() < ramp.efficiency());
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn ramp(dimension: Option<u64>, epsilon0: f64, start: Option<f64>) -> Result<Self, Error> {
        Self::new(Shape::Ramp(start), dimension, epsilon0)
    }

    fn new(shape: Shape, dimension: Option<u64>, epsilon0: f64) -> Result<Self, Error> {
        let epsilon0 = LocalEpsilon::new(epsilon0)?;
        let most = match dimension {
            Some(d) => {
                within_count(Parameter::Dimension, d, d >= 2, "[2, 2^53] for directions")?;
                Self::REACH.min(HIGHEST_START * (d as f64).sqrt())
            }
            None => Self::REACH,
        };
        if let Shape::Ramp(Some(start)) = shape {
            let inside = (0.0..=most).contains(&start);
            within(Parameter::Start, start, inside, format!("[0, {most}]"))?;
        }
        let growth = expm1(epsilon0.value());
        let law = dimension
            .filter(|_| epsilon0.value() > 0.0 && epsilon0.value() <= LARGEST_EPSILON0)
            .map(|d| match shape {
                Shape::PrivUnit => Law::longest(d, growth),
                Shape::Ramp(Some(start)) => Law::ramp(d, start),
                Shape::Ramp(None) => Law::ramp(d, best_start(d, growth, most)),
            });
        Ok(Self {
            shape,
            epsilon0,
            dimension,
            law,
        })
    }

    /// c₀, where the number of coordinates is known.
    pub fn start(&self) -> Option<f64> {
        self.law.map(|law| law.start)
    }

    /// c₁.
    pub fn end(&self) -> Option<f64> {
        self.law.map(|law| law.end)
    }

    /// E rise(c) over all directions: 1/g_lo = 1 + (E − 1) times it.
    pub fn mean_rise(&self) -> Option<f64> {
        self.law.map(|law| law.ramp.moments().rise)
    }

    /// How long the mean of a report is, on a unit vector: E c g(c).
    ///
    /// ```
    /// use shuffledp_accounting::DirectionLaw;
    /// // On a circle with a cap of probability q, sin(πq)/π (E − 1)/(1 + (E − 1)q).
    /// let direction = DirectionLaw::priv_unit(Some(2), 1.0)?;
    /// let q = direction.start().unwrap().acos() / std::f64::consts::PI;
    /// let (growth, pi) = (1f64.exp_m1(), std::f64::consts::PI);
    /// let length = (pi * q).sin() / pi * growth / (1.0 + growth * q);
    /// assert!((direction.mean_length().unwrap() - length).abs() < 1e-10);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn mean_length(&self) -> Option<f64> {
        self.law.map(|law| law.mean_length(self.growth()))
    }

    /// v = Σπ(P − Q)² of the upper bound: for a round of n users with n large, about √(v/n)-GDP.
    ///
    /// ```
    /// use shuffledp_accounting::DirectionLaw;
    /// // A ramp costs much less than a report of one bit at the same ε₀: 2(E − 1)²/(E + 1).
    /// let ramp = DirectionLaw::ramp(Some(1290), 2.0, None)?;
    /// let bit = 2.0 * 2f64.exp_m1().powi(2) / (2f64.exp() + 1.0);
    /// assert!(ramp.chi_square().unwrap() < bit / 15.0);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn chi_square(&self) -> Option<f64> {
        let growth = self.growth();
        self.law.map(|law| {
            let moments = law.ramp.moments();
            2.0 * growth * growth * moments.square / (1.0 + growth * moments.rise)
        })
    }

    /// η/(1/4): the squared signal-to-noise ratio of a mean against that of a trusted server with the same
    /// budget, when n is large and by the upper bound.
    pub fn efficiency(&self) -> Option<f64> {
        let dimension = self.dimension? as f64;
        let law = self.law?;
        Some(4.0 * dimension * efficiency(law.ramp.moments(), self.growth()))
    }

    fn growth(&self) -> f64 {
        expm1(self.epsilon0.value())
    }

    /// Theorem D: dominates the shuffle whatever the others hold.
    ///
    /// The masses are known to within MARGIN/4 of themselves. With 1 − 2·MARGIN of them every atom is below
    /// what it stands for; the missing mass lies in the triangle of (E; 1), (1; E) and (0; 0), and is moved
    /// to the corners, mass and mean kept: 2·MARGIN of the law of any ε₀-LDP randomizer.
    fn above(&self, law: Law, fineness: Fineness) -> Result<Atoms, Error> {
        let growth = self.growth();
        let masses = law.ramp.above(fineness);
        // (E − 1) E rise, and g_lo.
        let excess = growth * masses.rise();
        let low = 1.0 / (1.0 + excess);
        let (kept, spread) = ((1.0 - 2.0 * MARGIN) * low, 2.0 * MARGIN / (growth + 2.0));
        let mut atoms = vec![Atom::of(2.0 * kept * masses.flat, 1.0, 1.0, 0.0)];
        for (mass, rise) in masses.between {
            // A rise is a quotient of products of sines.
            let more = growth * rise;
            let atom = Atom::measured(kept * mass, 1.0 + more, 1.0, more, 4.0 * more);
            atoms.extend([atom, atom.mirrored()]);
        }
        let top = Atom::of(kept * masses.top + spread, 1.0 + growth, 1.0, growth);
        atoms.extend([top, top.mirrored()]);
        let left_over = excess * low * (1.0 - 2.0 * MARGIN) + growth * spread;
        atoms.push(Atom::of(left_over, 0.0, 0.0, 0.0));
        Atoms::of_epsilon0(atoms, self.epsilon0)
    }

    /// All others at user 1's second vector, below the truth.
    ///
    /// A cell and its mirror image are a bit, sent with odds 1 + (E − 1) rise. A bit with slightly lower odds
    /// and probability is this bit, sometimes flipped and sometimes left out, so that a margin of MARGIN
    /// covers the error of the masses.
    fn below(&self, law: Law, fineness: Fineness) -> Result<Atoms, Error> {
        let growth = self.growth();
        let masses = law.ramp.below(fineness);
        let low = (1.0 - 2.0 * MARGIN) / (1.0 + growth * masses.rise());
        let mut atoms = Vec::new();
        let mut covered = 0.0;
        for (mass, rise) in masses.between.iter().copied().chain([(masses.top, 1.0)]) {
            let more = growth * rise * (1.0 - MARGIN);
            let (weight, odds) = (low * mass, 1.0 + more);
            covered += weight * (1.0 + odds);
            atoms.push(Atom::measured(weight, odds, 1.0, more, 4.0 * more));
            let less = -more / odds;
            atoms.push(Atom::measured(
                weight * odds,
                1.0 / odds,
                1.0,
                less,
                -4.0 * less,
            ));
        }
        atoms.push(Atom::of((1.0 - covered).max(0.0), 1.0, 1.0, 0.0));
        Atoms::of_epsilon0(atoms, self.epsilon0)
    }
}

/// η/d: (E c g)²/v with v = 2 g_lo (E−1)² E rise².
fn efficiency(moments: Moments, growth: f64) -> f64 {
    let low = 1.0 / (1.0 + growth * moments.rise);
    0.5 * low * moments.lean * moments.lean / moments.square
}

/// The start of the most efficient ramp, between 0 and `most`.
fn best_start(dimension: u64, growth: f64, most: f64) -> f64 {
    let loss = |start: f64| -efficiency(Law::ramp(dimension, start).ramp.moments(), growth);
    let best = golden_best(0.0, most, 0.5 / DECIMALS, |_, _| false, loss);
    // Every ramp has a finite efficiency, so that there is a best one; and 0 is a start like any other.
    best.map_or(0.0, |(start, _)| (start * DECIMALS).round() / DECIMALS)
}

impl Law {
    fn of(dimension: u64, start: f64, end: f64) -> Self {
        Self {
            start,
            end,
            ramp: Ramp::new(dimension, start, end),
        }
    }

    /// The ramp from a start in standard deviations of the height.
    fn ramp(dimension: u64, start: f64) -> Self {
        let root = (dimension as f64).sqrt();
        let end = ((start + DirectionLaw::REACH) / root).min(1.0);
        Self::of(dimension, start / root, end)
    }

    /// The step with the longest mean.
    fn longest(dimension: u64, growth: f64) -> Self {
        let widest = (WIDEST_CAP / (dimension as f64).sqrt()).min(HIGHEST_START);
        let step = |start: f64| Self::of(dimension, start, start);
        let start = golden_middle(0.0, widest, STEPS, |start| -step(start).mean_length(growth));
        step(start)
    }

    fn mean_length(&self, growth: f64) -> f64 {
        let moments = self.ramp.moments();
        growth * moments.lean / (1.0 + growth * moments.rise)
    }
}

impl Family for DirectionLaw {
    fn name(&self) -> &'static str {
        match (self.law, self.shape) {
            (None, _) => "ldp",
            (_, Shape::PrivUnit) => "priv-unit",
            (_, Shape::Ramp(_)) => "ramp",
        }
    }

    fn has_one_worst_law(&self) -> bool {
        // Theorem D: opposite directions, in either order.
        true
    }

    fn local(&self) -> Local {
        Local::Pure(self.epsilon0)
    }

    fn blankets(&self, fineness: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(vec![match self.law {
            Some(law) => self.above(law, fineness)?,
            None => Atoms::ldp(self.epsilon0)?,
        }])
    }

    fn adversaries(&self, fineness: Fineness) -> Result<Vec<Adversary>, Error> {
        let Some(law) = self.law else {
            return super::any_ldp::adversaries(self.epsilon0);
        };
        Ok(vec![Adversary {
            atoms: self.below(law, fineness)?,
            name: self.name().into(),
            words: format!(
                "{}, user 1's two vectors opposite, every other user holding the second",
                self.spec().phrase()
            ),
        }])
    }

    fn attains(&self) -> bool {
        self.law.is_some()
    }

    fn spec(&self) -> RandomizerSpec {
        let (entry, start) = match self.shape {
            Shape::PrivUnit => (&ENTRIES[0], None),
            Shape::Ramp(start) => (&ENTRIES[1], start),
        };
        RandomizerSpec {
            epsilon0: Some(self.epsilon0.value().into()),
            dimension: self.dimension,
            start,
            ..RandomizerSpec::of(entry)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{DirectionLaw, Law};
    use crate::atoms::Atoms;
    use crate::cells::Fineness;
    use crate::local::{Categories, LocalEpsilon};
    use crate::profile::Profile;

    /// A cap of probability 1/k: on a sphere it begins at height 1 − 2/k (Archimedes), on a circle at the
    /// cosine of π/k.
    fn caps() -> [(u64, f64, u64); 4] {
        let angle = |k: u64| (std::f64::consts::PI / k as f64).cos();
        [(3, 0.5, 4), (3, 0.0, 2), (2, angle(5), 5), (2, angle(3), 3)]
    }

    #[test]
    fn a_step_is_randomized_response() {
        for (dimension, height, k) in caps() {
            for epsilon0 in [0.1, 2.0, 6.0] {
                let law = Law::of(dimension, height, height);
                let step = DirectionLaw {
                    law: Some(law),
                    ..DirectionLaw::priv_unit(Some(dimension), epsilon0).unwrap()
                };
                let local = LocalEpsilon::new(epsilon0).unwrap();
                let k = Categories::new(k).unwrap();
                let known = |atoms: Result<Atoms, _>| Profile::new(atoms.unwrap(), 50);
                let above = known(step.above(law, Fineness::Fine));
                let below = known(step.below(law, Fineness::Fine));
                let (blanket, first) = (
                    known(Atoms::kary_blanket(k, local)),
                    known(Atoms::kary_first(k, local)),
                );
                for epsilon in [0.0, 0.1, 0.4 * epsilon0] {
                    let (got, known) = (above.delta(epsilon).upper, blanket.delta(epsilon));
                    assert!(
                        known.lower <= got && got <= known.upper * (1.0 + 1e-7),
                        "{k:?}"
                    );
                    let (got, known) = (below.delta(epsilon).lower, first.delta(epsilon));
                    assert!(
                        got <= known.upper && got >= known.lower * (1.0 - 1e-7),
                        "{k:?}"
                    );
                }
            }
        }
    }

    /// Finer cells are closer to the truth from both sides.
    #[test]
    fn cells_enclose_and_converge() {
        for dimension in [2, 3, 7, 36, 37, 200, 1 << 40] {
            for (epsilon0, start) in [(0.3, 0.0), (2.0, 0.4), (8.0, 1.2)] {
                let ramp = DirectionLaw::ramp(Some(dimension), epsilon0, Some(start)).unwrap();
                let law = ramp.law.unwrap();
                let delta = |atoms: Atoms| Profile::new(atoms, 1).delta(0.2 * epsilon0);
                let (mut above, mut below) = (1.0, 0.0);
                for fineness in [Fineness::Coarse, Fineness::Fine, Fineness::Finest] {
                    let (last_above, last_below) = (above, below);
                    above = delta(ramp.above(law, fineness).unwrap()).upper;
                    below = delta(ramp.below(law, fineness).unwrap()).lower;
                    // Cells are not nested: finer ones may be worse, by 1.1e-6 in 200 dimensions.
                    let slack = 1.0 + 2e-6;
                    assert!(below <= above && above <= last_above * slack, "{dimension}");
                    assert!(below * slack >= last_below, "{dimension}");
                }
                // One user alone: both are the local profile.
                assert!(above / below < 1.0 + 1e-5, "{dimension} {above} {below}");
            }
        }
    }
}
