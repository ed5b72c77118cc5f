//! The privacy profile of one round: δ as a function of ε, and back, as certified enclosures.
//!
//! ```text
//! δ(ε) = max over both directions of (1/n) E( X₁ + … + Xₘ + (n−m)(1−a) )₊,     a = e^ε,  X by the atoms
//! ```
//!
//! with m = n when everybody takes part, and m < n for m of n sampled: the n − m absent users contribute the
//! constant 1 − a each. The expectation is enclosed by [`shuffledp_numerics::positive_part`] at a cost that
//! does not grow with n.
//!
//! Standing: certified.

use crate::atoms::Atoms;
use crate::cells::FEW_USERS;
use crate::rdp::{Orders, RdpCurve};
use shuffledp_numerics::enclosure::{LnEnclosure, Wanted};
use shuffledp_numerics::likelihood_ratio::{self, PairSum};
use shuffledp_numerics::log_space::{ln_1p_exp, ln_add_exp};
use shuffledp_numerics::positive_part::Sum;
use shuffledp_numerics::rounding::{exp_down, exp_up, ln_down, ln_up, widen_down, widen_up};
use shuffledp_numerics::search::{Crossing, falling_crossing};
use shuffledp_numerics::special;

/// Relative accuracy in ε of the first search.
pub(crate) const COARSE: f64 = 1e-4;
/// Relative accuracy in ε of the final answer.
pub(crate) const FINE: f64 = 1e-6;
/// One after the other.
const PASSES: [f64; 2] = [COARSE, FINE];
/// Relative accuracy in ε of a single δ with few users, where more accuracy costs no time.
const POINT: f64 = 1e-7;
/// Most atoms of a law whose profile is evaluated in microseconds. With more atoms one evaluation takes
/// milliseconds, and callers ask for fewer.
const FEW_ATOMS: usize = 64;

/// A number known to lie between two others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enclosure {
    /// At or below the truth.
    pub lower: f64,
    /// At or above the truth.
    pub upper: f64,
}

/// δ(ε) of one law of contributions.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    atoms: Atoms,
    users: u64,
    taking_part: u64,
}

/// With up to this many atoms rare jumps are counted, in microseconds.
const COUNTED: usize = 6;
/// Jumps are rare where fewer participants than this are elsewhere than at the most frequent atom, on
/// average.
const RARE_JUMPS: f64 = 1e-3;

/// Which of the two datasets is the first argument of the divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// H(P‖Q).
    Forward,
    /// H(Q‖P).
    Reverse,
}

impl Direction {
    /// The other one.
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }
}

impl Profile {
    /// Most atoms of a law whose Rényi divergences are summed over counts: the work grows exponentially with
    /// the number of atoms.
    pub const MOST_ATOMS: usize = 4;

    /// All n users take part.
    ///
    /// ```
    /// use shuffledp_accounting::{atoms::Atoms, profile::Profile};
    /// // Two users of binary randomized response with e^ε₀ = 3; the other one holds the first value.
    /// let atoms = Atoms::new(&[(0.75, 1.0, 1.0 / 3.0), (0.25, 1.0, 3.0)])?;
    /// let delta = Profile::new(atoms, 2).delta(0.0);
    /// // Reports {0,0}, {0,1}, {1,1} have probabilities 9/16, 6/16, 1/16 against 3/16, 10/16, 3/16.
    /// assert!(delta.lower <= 6.0 / 16.0 && 6.0 / 16.0 <= delta.upper);
    /// assert!(delta.upper - delta.lower < 1e-11);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(atoms: Atoms, users: u64) -> Self {
        Self::sampled(atoms, users, users)
    }

    /// `taking_part` of `users` take part, drawn without replacement.
    pub fn sampled(atoms: Atoms, users: u64, taking_part: u64) -> Self {
        Self {
            atoms,
            users,
            taking_part: taking_part.min(users),
        }
    }

    /// The law of a contribution.
    pub fn atoms(&self) -> &Atoms {
        &self.atoms
    }

    /// The directions of the divergence; one where both are equal.
    pub(crate) fn directions(&self) -> &'static [Direction] {
        if self.atoms.is_symmetric() {
            &[Direction::Forward]
        } else {
            &[Direction::Forward, Direction::Reverse]
        }
    }

    /// ln δ(ε) for ε ≥ 0, the larger of the two directions.
    pub(crate) fn ln_delta(&self, epsilon: f64, accuracy: f64, wanted: Wanted) -> LnEnclosure {
        let forward = self.ln_delta_in(Direction::Forward, epsilon, accuracy, wanted);
        if self.atoms.is_symmetric() {
            return forward;
        }
        let reverse = self.ln_delta_in(Direction::Reverse, epsilon, accuracy, wanted);
        LnEnclosure {
            lower: forward.lower.max(reverse.lower),
            upper: forward.upper.max(reverse.upper),
        }
    }

    /// ln δ(ε) for ε ≥ 0 in one direction.
    pub(crate) fn ln_delta_in(
        &self,
        direction: Direction,
        epsilon: f64,
        accuracy: f64,
        wanted: Wanted,
    ) -> LnEnclosure {
        let lost = self.atoms.lost();
        if epsilon >= self.atoms.loss_limit() {
            return LnEnclosure {
                lower: f64::NEG_INFINITY,
                upper: if lost > 0.0 {
                    ln_up(lost)
                } else {
                    f64::NEG_INFINITY
                },
            };
        }
        let a_minus_1 = special::expm1(epsilon);
        let contributions = self
            .atoms
            .contributions(a_minus_1, direction == Direction::Reverse);
        let users = self.users as f64;
        let total = Sum {
            atoms: &contributions,
            mean: -a_minus_1,
            count: self.taking_part as f64,
            shift: -((self.users - self.taking_part) as f64) * a_minus_1,
        }
        .ln_positive_part_as(accuracy, wanted);
        let mut upper = widen_up(total.upper - ln_down(users));
        if lost > 0.0 {
            upper = widen_up(ln_add_exp(upper, ln_up(lost)));
        }
        LnEnclosure {
            lower: widen_down(total.lower - ln_up(users)),
            // A divergence is at most 1.
            upper: upper.min(0.0),
        }
    }

    /// The pair of sums whose likelihood ratio is the round's, as (law, count, shift).
    pub(crate) fn pair(&self, direction: Direction) -> (Vec<likelihood_ratio::Atom>, u64, f64) {
        let atoms = self
            .atoms
            .iter()
            .map(|atom| {
                let (numerator, denominator, difference) = match direction {
                    Direction::Forward => (atom.p(), atom.q(), atom.difference()),
                    Direction::Reverse => (atom.q(), atom.p(), -atom.difference()),
                };
                likelihood_ratio::Atom {
                    weight: atom.weight(),
                    numerator,
                    denominator,
                    difference,
                }
            })
            .collect();
        let shift = (self.users - self.taking_part) as f64;
        (atoms, self.taking_part, shift)
    }

    /// The Rényi divergence at real orders, by summing over counts
    /// ([`shuffledp_numerics::likelihood_ratio::PairSum::ln_excess_moment`]). Standing: exact for this law,
    /// in ordinary floating point. The work grows exponentially with the number of atoms: up to
    /// [`Profile::MOST_ATOMS`] it takes milliseconds.
    ///
    /// ```
    /// use shuffledp_accounting::{atoms::Atoms, profile::{Direction, Profile}};
    /// // One user of binary randomized response with e^ε₀ = 3: (9/4 + 1/12) at order 2.
    /// let atoms = Atoms::new(&[(0.75, 1.0, 1.0 / 3.0), (0.25, 1.0, 3.0)])?;
    /// let curve = Profile::new(atoms, 1).rdp(Direction::Forward);
    /// assert!((curve.at(2.0) - (7.0f64 / 3.0).ln()).abs() < 1e-12);
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn rdp(&self, direction: Direction) -> RdpCurve {
        let (atoms, count, shift) = self.pair(direction);
        let limit = self.atoms.loss_limit();
        RdpCurve::new(Orders::Reals(1e6), move |order| {
            let pair = PairSum {
                atoms: &atoms,
                count,
                shift,
            };
            let excess = pair.ln_excess_moment(order);
            // No divergence exceeds the largest loss.
            (ln_1p_exp(excess) / (order - 1.0)).min(limit)
        })
    }

    /// √(m χ²)/n: the standard deviation of the privacy loss, to leading order.
    pub fn loss_deviation(&self) -> f64 {
        (self.taking_part as f64 * self.atoms.chi_square()).sqrt() / self.users as f64
    }

    /// Whether the loss is nearly continuous: a sum of many small jumps, one for each report, whose size
    /// varies enough with the denominator of the ratio. Otherwise the loss has few values, or its values are
    /// nearly multiples of one jump.
    pub(crate) fn is_smooth(&self) -> bool {
        let jump = self
            .atoms
            .iter()
            .map(|atom| (atom.p() - atom.q()).abs())
            .fold(0.0, f64::max)
            / self.users as f64;
        let deviation = self.loss_deviation();
        jump < 0.1 * deviation && jump < 5.0 * deviation * deviation
    }

    /// Whether evaluating this profile takes milliseconds: with many atoms, or with more than a few where
    /// hardly any participant is elsewhere than at the most frequent one. A sum of so rare jumps is neither
    /// smooth nor quickly counted.
    pub(crate) fn is_expensive(&self) -> bool {
        let atoms = self.atoms.iter().count();
        let most = self.atoms.iter().map(|atom| atom.weight());
        let elsewhere = 1.0 - most.fold(0.0, f64::max);
        atoms > FEW_ATOMS || atoms > COUNTED && self.taking_part as f64 * elsewhere < RARE_JUMPS
    }

    /// For expensive laws only: the direction with the heavier right tail.
    pub(crate) fn heavier_direction(&self) -> Option<Direction> {
        let third: f64 = self
            .atoms
            .iter()
            .map(|atom| atom.weight() * atom.difference().powi(3))
            .sum();
        self.is_expensive().then_some(if third >= 0.0 {
            Direction::Forward
        } else {
            Direction::Reverse
        })
    }

    /// The absolute third moment of the loss in units of its standard deviation, to leading order: how far
    /// from a Gaussian it is.
    pub(crate) fn skewness(&self) -> f64 {
        let scale = self.atoms.chi_square().powf(1.5) * (self.taking_part as f64).sqrt();
        self.atoms.third_moment() / scale
    }

    /// The relative accuracy of a single δ.
    fn accuracy(&self) -> f64 {
        if self.taking_part < FEW_USERS {
            POINT
        } else {
            FINE
        }
    }

    /// δ at ε ≥ 0, the larger of the two directions.
    pub fn delta(&self, epsilon: f64) -> Enclosure {
        self.delta_as(epsilon, Wanted::Both)
    }

    /// The same, if only one end of the enclosure is wanted.
    pub(crate) fn delta_as(&self, epsilon: f64, wanted: Wanted) -> Enclosure {
        Self::leave_logarithms(self.ln_delta(epsilon, self.accuracy(), wanted))
    }

    /// δ at ε ≥ 0 in one direction.
    pub fn delta_in(&self, direction: Direction, epsilon: f64) -> Enclosure {
        Self::leave_logarithms(self.ln_delta_in(direction, epsilon, self.accuracy(), Wanted::Both))
    }

    fn leave_logarithms(ln: LnEnclosure) -> Enclosure {
        Enclosure {
            lower: exp_down(ln.lower),
            upper: probability_up(ln.upper),
        }
    }

    /// The least ε with δ(ε) ≤ `delta`, for `delta` in [1e-300, 1).
    pub fn epsilon(&self, delta: f64) -> Enclosure {
        Enclosure {
            lower: self.epsilon_lower(delta),
            upper: self.epsilon_upper(delta),
        }
    }

    /// At or above the least ε with δ(ε) ≤ `delta`; infinite where the law leaves out more than that.
    pub fn epsilon_upper(&self, delta: f64) -> f64 {
        if self.atoms.lost() >= delta {
            return f64::INFINITY;
        }
        let ln_at = |direction, epsilon, accuracy| {
            let wanted = Wanted::Upper;
            self.ln_delta_in(direction, epsilon, accuracy, wanted).upper
        };
        let end = |crossing: Crossing| crossing.below;
        self.threshold((delta, ln_down(delta)), &PASSES, ln_at, end)
    }

    /// At or below the least ε with δ(ε) ≤ `delta`: here δ is certainly larger, or this is 0.
    pub fn epsilon_lower(&self, delta: f64) -> f64 {
        self.epsilon_lower_by(delta, &PASSES)
    }

    /// The same to four digits, in half of the time.
    pub(crate) fn epsilon_coarsely_lower(&self, delta: f64) -> f64 {
        self.epsilon_lower_by(delta, &[COARSE])
    }

    fn epsilon_lower_by(&self, delta: f64, passes: &[f64]) -> f64 {
        let ln_at = |direction, epsilon, accuracy| {
            let wanted = Wanted::Lower;
            self.ln_delta_in(direction, epsilon, accuracy, wanted).lower
        };
        let end = |crossing: Crossing| crossing.above;
        self.threshold((delta, ln_up(delta)), passes, ln_at, end)
    }

    /// The largest ε, over both directions, where `ln_at` falls to `ln_delta`, by passes of these accuracies;
    /// `end` chooses the safe end of each crossing. There is one pass at least.
    fn threshold(
        &self,
        (delta, ln_delta): (f64, f64),
        passes: &[f64],
        ln_at: impl Fn(Direction, f64, f64) -> f64,
        end: fn(Crossing) -> f64,
    ) -> f64 {
        let (first, last) = (passes[0], passes[passes.len() - 1]);
        let mut largest: f64 = 0.0;
        for &direction in self.directions() {
            // Mostly one direction has a far smaller δ than the other: one evaluation at the other's ε then
            // rules it out.
            let accuracy = if largest == 0.0 { first } else { last };
            if ln_at(direction, largest, accuracy) <= ln_delta {
                continue;
            }
            let mut guess = (self.guess(delta), 0.02);
            for &accuracy in passes {
                let found = self.search(ln_delta, accuracy, guess, |epsilon| {
                    ln_at(direction, epsilon, accuracy)
                });
                guess = (end(found), accuracy);
            }
            largest = largest.max(guess.0);
        }
        largest
    }

    /// Whether δ(ε) is certainly above `delta`.
    pub fn exceeds(&self, epsilon: f64, delta: f64) -> bool {
        self.ln_delta(epsilon, FINE, Wanted::Lower).lower > ln_up(delta)
    }

    /// Whether δ(ε) is certainly at most `delta`.
    pub fn meets(&self, epsilon: f64, delta: f64) -> bool {
        self.ln_delta(epsilon, FINE, Wanted::Upper).upper <= ln_down(delta)
    }

    fn search(
        &self,
        ln_delta: f64,
        accuracy: f64,
        guess: (f64, f64),
        ln_at: impl Fn(f64) -> f64,
    ) -> Crossing {
        falling_crossing(
            0.0,
            self.atoms.loss_limit(),
            guess,
            0.2 * accuracy,
            |epsilon| above_wanted(ln_at(epsilon), ln_delta),
        )
    }

    /// An estimate of ε by the central limit theorem, where the search starts.
    fn guess(&self, delta: f64) -> f64 {
        by_central_limit(self.loss_deviation(), delta).min(0.5 * self.atoms.loss_limit())
    }
}

/// An estimate of ε at δ for a loss of standard deviation s = `spread`: δ ≈ s φ(z)/(1+z²) at ε = s z.
pub(crate) fn by_central_limit(spread: f64, delta: f64) -> f64 {
    let budget = (spread / delta).ln() - 0.92;
    let mut z: f64 = 1.0;
    for _ in 0..4 {
        z = (2.0 * (budget - (z * z).ln_1p())).max(0.01).sqrt();
    }
    spread * z
}

/// At or above e^x, and at most 1.
pub(crate) fn probability_up(ln: f64) -> f64 {
    if ln == f64::NEG_INFINITY {
        0.0
    } else {
        exp_up(ln).min(1.0)
    }
}

/// A function of ln δ that is positive exactly where ln δ > `wanted`: the difference of √(−ln δ), which is
/// nearly linear in ε, so that secants converge fast.
pub(crate) fn above_wanted(ln_delta: f64, wanted: f64) -> f64 {
    let distance = (-wanted).sqrt() - (-ln_delta.min(0.0)).sqrt();
    if ln_delta.is_nan() {
        f64::NAN
    } else if ln_delta > wanted {
        distance.max(f64::MIN_POSITIVE)
    } else {
        distance.min(0.0)
    }
}
