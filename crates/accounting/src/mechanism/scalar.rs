//! Randomizers of one number: Laplace, truncated Laplace, discrete Laplace, Duchi, piecewise, hybrid.
//!
//! Values in [0, 1] (any interval, after rescaling), ε₀-LDP. E = e^ε₀, κ = e^{−ε₀/2}.
//!
//! | kind | report | blanket b = inf over values | its mass |
//! |---|---|---|---|
//! | Laplace | y = x + Laplace noise of scale 1/ε₀ | density of the farther end | κ |
//! | truncated Laplace | the same, given that y lies in [0, 1] | density of the farther end | 2κ/(1+κ) |
//! | discrete Laplace | P(z) ∝ α^\|z−x\|, k values | probability from the farther end | α^{(k−1)/2}, k odd |
//! | Duchi | one of two values, linear in x | that of binary randomized response | 2/(E+1) |
//! | piecewise | a number in [−C, C], see below | the low density | 2C times the low density |
//! | hybrid | piecewise or Duchi's, and which | those of both | those of both, mixed |
//!
//! * Discrete Laplace noise: integers z, α = E^{−1/(k−1)}; for k even the mass is 2α^{k/2}/(1+α).
//! * Duchi: Duchi, Jordan, Wainwright 2013.
//! * Piecewise (Wang et al. 2019): h = √E, C = (h+1)/(h−1); the density is high on a window of length C−1
//!   that moves with x, and E times lower elsewhere.
//! * Hybrid (Wang et al. 2019): above ε₀ = 0.61 piecewise with probability 1 − 1/h, else Duchi's. The report
//!   says which of the two it is: its atoms are those of both, weighted. Both are largest in convex order at
//!   the ends, so the mixture is.
//!
//! For the three Laplace kinds a report between the ends has P = e^s, Q = 1 on one side, s = ln of the ratio
//! of the ends' densities, and the density of s falls as e^{−s/2}: [`crate::cells`]. The others have finitely
//! many atoms.
//!
//! The lower bounds are datasets with all others at one end, or in the middle. User 1's worst values are the
//! ends: `worst_pair.proof.md`.

use super::{Adversary, Family, Local, Mechanism};
use crate::atoms::{Atom, Atoms};
use crate::catalog::{Entry, Input, VectorNorm};
use crate::cells::{Fineness, Point, Ray};
use crate::error::{Error, Parameter, within_count};
use crate::local::{Categories, Domain, LocalEpsilon};
use crate::round::Round;
use crate::spec::RandomizerSpec;
use crate::upper::UpperProfile;
use crate::upper::binary_count::BinaryCount;
use shuffledp_numerics::special::{exp, expm1};

/// Which randomizer of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// Laplace noise.
    Laplace,
    /// Laplace noise given that the report stays within the interval.
    TruncatedLaplace,
    /// Two-sided geometric noise on this many equally spaced values.
    DiscreteLaplace(Categories),
    /// Duchi, Jordan and Wainwright's: one of two values.
    Duchi,
    /// The piecewise mechanism.
    Piecewise,
    /// One of the last two, by a coin.
    Hybrid,
}

impl ScalarKind {
    /// Up to this ε₀ the hybrid is Duchi's mechanism (Wang et al. 2019).
    pub const HYBRID_FROM: f64 = 0.61;
}

/// A randomizer of a number in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scalar {
    kind: ScalarKind,
    epsilon0: LocalEpsilon,
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "laplace",
        title: "Laplace noise (see the domain)",
        needs: &[Parameter::Epsilon0],
        takes: &[Parameter::Domain, Parameter::Dimension],
        pairs_are_alike: true,
        own_epsilon0: false,
        input: |spec| match spec.domain.unwrap_or_default() {
            Domain::Interval => Input::Number,
            Domain::Ball => Input::Vector(VectorNorm::L1),
        },
        mechanism: |spec| match spec.domain.unwrap_or_default() {
            Domain::Interval => Mechanism::scalar(ScalarKind::Laplace, spec.epsilon0()?),
            // No law of its own is known in several dimensions.
            Domain::Ball => Mechanism::some_ldp(spec.epsilon0()?),
        },
        phrase: |spec| match spec.domain.unwrap_or_default() {
            Domain::Interval => "Laplace noise on [0, 1]".to_owned(),
            Domain::Ball => "Laplace noise on vectors of l1 norm at most 1".to_owned(),
        },
    },
    entry(
        "truncated-laplace",
        "Laplace noise given that the report stays in [0, 1]",
        |spec| Mechanism::scalar(ScalarKind::TruncatedLaplace, spec.epsilon0()?),
        |_| "truncated Laplace noise on [0, 1]".to_owned(),
    ),
    Entry {
        needs: &[Parameter::Categories, Parameter::Epsilon0],
        ..entry(
            "discrete-laplace",
            "Two-sided geometric noise on k equally spaced values",
            |spec| Mechanism::discrete_laplace(spec.k()?, spec.epsilon0()?),
            |spec| format!("discrete Laplace noise on {} values", spec.many()),
        )
    },
    Entry {
        own_epsilon0: true,
        ..entry(
            "duchi",
            "Duchi, Jordan and Wainwright's mean mechanism",
            |spec| Mechanism::scalar(ScalarKind::Duchi, spec.epsilon0()?),
            |_| "Duchi's mean mechanism".to_owned(),
        )
    },
    entry(
        "piecewise",
        "The piecewise mean mechanism",
        |spec| Mechanism::scalar(ScalarKind::Piecewise, spec.epsilon0()?),
        |_| "the piecewise mean mechanism".to_owned(),
    ),
    entry(
        "hybrid",
        "Duchi's bit or the piecewise mechanism, by a coin",
        |spec| Mechanism::scalar(ScalarKind::Hybrid, spec.epsilon0()?),
        |_| "the hybrid mean mechanism".to_owned(),
    ),
];

const fn entry(
    name: &'static str,
    title: &'static str,
    mechanism: fn(&RandomizerSpec) -> Result<Mechanism, Error>,
    phrase: fn(&RandomizerSpec) -> String,
) -> Entry {
    let needs = &[Parameter::Epsilon0];
    Entry::new(name, title, needs, |_| Input::Number, mechanism, phrase)
}

impl Family for Scalar {
    fn name(&self) -> &'static str {
        match self.kind {
            ScalarKind::Laplace => "laplace",
            ScalarKind::TruncatedLaplace => "truncated-laplace",
            ScalarKind::DiscreteLaplace(_) => "discrete-laplace",
            ScalarKind::Duchi => "duchi",
            ScalarKind::Piecewise => "piecewise",
            ScalarKind::Hybrid => "hybrid",
        }
    }

    fn has_one_worst_law(&self) -> bool {
        // `worst_pair.proof.md`.
        true
    }

    fn local(&self) -> Local {
        Local::Pure(self.epsilon0)
    }

    fn blankets(&self, fineness: Fineness) -> Result<Vec<Atoms>, Error> {
        Ok(vec![self.blanket(fineness)?])
    }

    fn upper_profiles(&self, round: &Round) -> Vec<Box<dyn UpperProfile>> {
        // Duchi's report is a bit whose probability is linear in the value: δ is convex in every user's, so
        // the ends are the worst, and a round is one of binary randomized response.
        let count = match self.kind {
            ScalarKind::Duchi => BinaryCount::new(self.epsilon0, round),
            _ => None,
        };
        let boxed = |count| Box::new(count) as Box<dyn UpperProfile>;
        count.map(boxed).into_iter().collect()
    }

    fn adversaries(&self, fineness: Fineness) -> Result<Vec<Adversary>, Error> {
        let named = |(atoms, words): (Atoms, String)| Adversary {
            atoms,
            name: self.name().into(),
            words: format!("{}, {words}", self.name()),
        };
        Ok(self.datasets(fineness)?.into_iter().map(named).collect())
    }

    fn spec(&self) -> RandomizerSpec {
        let own = |entry: &&Entry| entry.name == self.name();
        RandomizerSpec {
            k: match self.kind {
                ScalarKind::DiscreteLaplace(levels) => Some(levels.value()),
                _ => None,
            },
            epsilon0: Some(self.epsilon0.value().into()),
            // Every kind has an entry above.
            ..RandomizerSpec::of(ENTRIES.iter().find(own).unwrap_or(&ENTRIES[0]))
        }
    }
}

/// Above this ε₀ the noise is so small that the law of any ε₀-LDP randomizer is as good, and is used.
const LARGEST_EPSILON0: f64 = 12.0;
/// Most values of discrete Laplace noise: with more of them it is as good as continuous noise, and each value
/// is an atom.
const MOST_LEVELS: u64 = 16_384;

impl Scalar {
    pub(crate) fn new(kind: ScalarKind, epsilon0: LocalEpsilon) -> Result<Self, Error> {
        if let ScalarKind::DiscreteLaplace(k) = kind {
            within_count(
                Parameter::Categories,
                k.value(),
                k.value() <= MOST_LEVELS,
                format!("[2, {MOST_LEVELS}] for discrete-laplace (with more values it is laplace)"),
            )?;
        }
        Ok(Self { kind, epsilon0 })
    }

    /// A law that dominates the shuffle for all values of the others.
    fn blanket(&self, fineness: Fineness) -> Result<Atoms, Error> {
        let epsilon0 = self.epsilon0.value();
        // With little noise the law of any ε₀-LDP randomizer is as good, and fast.
        let finite = [ScalarKind::Piecewise, ScalarKind::Duchi, ScalarKind::Hybrid];
        let too_large = epsilon0 > LARGEST_EPSILON0 && !finite.contains(&self.kind);
        if epsilon0 == 0.0 || too_large {
            return Atoms::ldp(self.epsilon0);
        }
        let mut atoms: Vec<Atom> = match self.kind {
            ScalarKind::Laplace | ScalarKind::TruncatedLaplace => {
                let ends = self.ends();
                let scale = exp(-0.5 * epsilon0) * ends.density;
                let ray = exponential(epsilon0, 0.0, scale);
                let mut points = ray.above(fineness);
                if let Some(last) = points.last_mut() {
                    last.weight += ends.beyond * exp(-epsilon0);
                }
                points
                    .into_iter()
                    .flat_map(|point| {
                        let atom = raised(point, 1.0);
                        [atom, atom.mirrored()]
                    })
                    .collect()
            }
            ScalarKind::DiscreteLaplace(k) => {
                let last = k.value() - 1;
                let mut atoms = self.discrete(0, last, |z| if 2 * z < last { last } else { 0 });
                // In the middle both ends are equally far.
                atoms.retain(|atom| atom.weight() > 0.0);
                atoms
            }
            ScalarKind::Duchi => {
                return Atoms::kary_blanket(Categories::TWO, self.epsilon0);
            }
            ScalarKind::Piecewise => piecewise(epsilon0, Others::Anybody),
            ScalarKind::Hybrid => return self.hybrid(Others::Anybody),
        };
        atoms.push(Atom::of(self.left_over(), 0.0, 0.0, 0.0));
        Atoms::of_epsilon0(atoms, self.epsilon0)
    }

    /// 1 − the mass of the blanket.
    fn left_over(&self) -> f64 {
        let epsilon0 = self.epsilon0.value();
        match self.kind {
            ScalarKind::Laplace => -expm1(-0.5 * epsilon0),
            ScalarKind::TruncatedLaplace => -expm1(-0.5 * epsilon0) / (1.0 + exp(-0.5 * epsilon0)),
            ScalarKind::DiscreteLaplace(k) if k.value() % 2 == 1 => -expm1(-0.5 * epsilon0),
            ScalarKind::DiscreteLaplace(k) => {
                // 1 − 2α^{k/2}/(1+α) = (1 − α^{k/2} + α − α^{k/2})/(1+α).
                let rate = epsilon0 / (k.value() - 1) as f64;
                let half = 0.5 * k.value() as f64;
                let alpha = exp(-rate);
                (-expm1(-half * rate) - alpha * expm1(-(half - 1.0) * rate)) / (1.0 + alpha)
            }
            // Not used: the laws of both are complete.
            ScalarKind::Duchi | ScalarKind::Hybrid => 0.0,
            ScalarKind::Piecewise => {
                // 1 − 2C·low, low = (h − 1)/(2h(h + 1)).
                -expm1(-0.5 * epsilon0)
            }
        }
    }

    /// Datasets with their laws and descriptions: each gives a lower bound.
    fn datasets(&self, fineness: Fineness) -> Result<Vec<(Atoms, String)>, Error> {
        let epsilon0 = self.epsilon0.value();
        let at_end = "user 1 at either end, every other user at one end";
        let at_middle = "user 1 at either end, every other user in the middle";
        let fineness = if epsilon0 > LARGEST_EPSILON0 {
            Fineness::Coarse
        } else {
            fineness
        };
        let law = |atoms: Vec<Atom>| Atoms::of_epsilon0(atoms, self.epsilon0);
        if epsilon0 == 0.0 || self.kind == ScalarKind::Duchi {
            let atoms = Atoms::kary_first(Categories::TWO, self.epsilon0)?;
            return Ok(vec![(atoms, at_end.into())]);
        }
        Ok(match self.kind {
            ScalarKind::Laplace | ScalarKind::TruncatedLaplace => {
                let ends = self.ends();
                // Others at the first end: P = 1, Q = e^s, s from −ε₀ to ε₀.
                let from_end =
                    exponential(epsilon0, -epsilon0, exp(-0.5 * epsilon0) * ends.density);
                let mut points = from_end.below(fineness);
                if ends.beyond > 0.0 {
                    points.push(Point::at(ends.beyond, -epsilon0));
                    points.push(Point::at(ends.beyond * exp(-epsilon0), epsilon0));
                }
                let first = points
                    .into_iter()
                    .map(|p| raised(p, 1.0).mirrored())
                    .collect();
                // Others in the middle: on one side P = κ e^s, Q = κ, on the other the reverse.
                let middle = self.middle();
                let from_middle = exponential(epsilon0, 0.0, middle.density);
                let mut points = from_middle.below(fineness);
                if middle.beyond > 0.0 {
                    points.push(Point::at(middle.beyond, epsilon0));
                }
                let both = points
                    .into_iter()
                    .flat_map(|point| {
                        let atom = raised(point, middle.scale);
                        [atom, atom.mirrored()]
                    })
                    .collect();
                vec![(law(first)?, at_end.into()), (law(both)?, at_middle.into())]
            }
            ScalarKind::DiscreteLaplace(k) => {
                let last = k.value() - 1;
                let mut all = vec![(law(self.discrete(0, last, |_| 0))?, at_end.into())];
                if last > 1 {
                    let middle = last / 2;
                    all.push((law(self.discrete(0, last, |_| middle))?, at_middle.into()));
                }
                all
            }
            ScalarKind::Piecewise => vec![
                (law(piecewise(epsilon0, Others::FirstEnd))?, at_end.into()),
                (law(piecewise(epsilon0, Others::Middle))?, at_middle.into()),
            ],
            ScalarKind::Hybrid => vec![
                (self.hybrid(Others::FirstEnd)?, at_end.into()),
                (self.hybrid(Others::Middle)?, at_middle.into()),
            ],
            ScalarKind::Duchi => Vec::new(),
        })
    }

    /// The hybrid: piecewise reports with probability 1 − 1/h, bits with probability 1/h, or bits alone.
    fn hybrid(&self, others: Others) -> Result<Atoms, Error> {
        let epsilon0 = self.epsilon0.value();
        if epsilon0 <= ScalarKind::HYBRID_FROM {
            return Atoms::of_epsilon0(bit(epsilon0, others, 1.0), self.epsilon0);
        }
        let (often, rare) = (-expm1(-0.5 * epsilon0), exp(-0.5 * epsilon0));
        let mut atoms = bit(epsilon0, others, rare);
        for atom in piecewise(epsilon0, others) {
            atom.scaled(often).join(&mut atoms);
        }
        if others == Others::Anybody {
            // 1 − 1/h of the piecewise reports are left over.
            Atom::of(often * often, 0.0, 0.0, 0.0).join(&mut atoms);
        }
        Atoms::of_epsilon0(atoms, self.epsilon0)
    }

    /// The report of a user at one end.
    fn ends(&self) -> Crowd {
        let epsilon0 = self.epsilon0.value();
        match self.kind {
            ScalarKind::TruncatedLaplace => Crowd {
                density: -0.5 / expm1(-epsilon0),
                beyond: 0.0,
                scale: 1.0,
            },
            _ => Crowd {
                density: 0.25,
                beyond: 0.5,
                scale: 1.0,
            },
        }
    }

    /// The report of a user in the middle.
    fn middle(&self) -> Crowd {
        let epsilon0 = self.epsilon0.value();
        let kappa = exp(-0.5 * epsilon0);
        match self.kind {
            ScalarKind::TruncatedLaplace => Crowd {
                density: -0.25 / expm1(-0.5 * epsilon0),
                beyond: 0.0,
                scale: 2.0 * kappa / (1.0 + kappa),
            },
            _ => Crowd {
                density: 0.25,
                beyond: 0.5 * kappa,
                scale: kappa,
            },
        }
    }

    /// The atoms of discrete Laplace noise with user 1 at x0 or x1 and the others at `crowd(z)` for report z.
    /// Reports below 0 and above the last value have the ratios of these two, and are merged with them.
    fn discrete(&self, x0: u64, x1: u64, crowd: impl Fn(u64) -> u64) -> Vec<Atom> {
        let ScalarKind::DiscreteLaplace(k) = self.kind else {
            return Vec::new();
        };
        let last = k.value() - 1;
        let rate = self.epsilon0.value() / last as f64;
        let alpha = exp(-rate);
        (0..=last)
            .map(|z| {
                let w = crowd(z);
                let here = exp(-rate * z.abs_diff(w) as f64) / (1.0 + alpha);
                // The mass at z and, if z is an end, beyond it.
                let weight = if z == 0 || z == last {
                    here
                } else {
                    -expm1(-rate) * here
                };
                let distance = |x: u64| z.abs_diff(x) as f64 - z.abs_diff(w) as f64;
                let (p, q) = (exp(-rate * distance(x0)), exp(-rate * distance(x1)));
                let difference = q * expm1(rate * (distance(x1) - distance(x0)));
                Atom::of(weight, p, q, difference)
            })
            .collect()
    }
}

/// The report of one of the others in the coordinate s: the factor of its density e^{−s/2}, its mass beyond
/// the ends, and the factor of P and Q.
struct Crowd {
    density: f64,
    beyond: f64,
    scale: f64,
}

/// s from `from` to ε₀ with the density `scale`·e^{−s/2}.
fn exponential(epsilon0: f64, from: f64, scale: f64) -> Ray<impl Fn(f64, f64) -> f64> {
    // A power of two, so that multiples of the width of a cell are exact. It makes about a thousand cells, or
    // about twenty above [`LARGEST_EPSILON0`].
    let unit = if epsilon0 > LARGEST_EPSILON0 {
        epsilon0.log2().ceil().exp2() * 4.0
    } else {
        (epsilon0.log2().ceil() - 3.0).min(0.0).exp2()
    };
    Ray {
        density: move |z: f64, d: f64| scale * unit * exp(-0.5 * unit * z) * exp(-0.5 * unit * d),
        slope: unit,
        origin: 0.0,
        from: from / unit,
        to: epsilon0 / unit,
        core: f64::INFINITY,
    }
}

/// P = `scale`·e^s, Q = `scale`.
fn raised(point: Point, scale: f64) -> Atom {
    Atom::measured(
        point.weight,
        scale * point.ratio,
        scale,
        scale * point.growth,
        scale * point.size,
    )
}

/// The values of the others in the piecewise mechanism on [−1, 1].
#[derive(Clone, Copy, PartialEq)]
enum Others {
    /// Any values: the blanket.
    Anybody,
    /// All at user 1's first end.
    FirstEnd,
    /// All in the middle.
    Middle,
}

/// Duchi's bit, user 1 at either end, in a share of all reports.
fn bit(epsilon0: f64, others: Others, share: f64) -> Vec<Atom> {
    let growth = expm1(epsilon0);
    let (e, whole) = (1.0 + growth, 2.0 + growth);
    let first = match others {
        Others::Anybody => Atom::of(share / whole, e, 1.0, growth),
        Others::FirstEnd => Atom::of(share * e / whole, 1.0, 1.0 / e, growth / e),
        Others::Middle => {
            let scale = 2.0 / whole;
            Atom::of(0.5 * share, scale * e, scale, scale * growth)
        }
    };
    let second = match others {
        Others::FirstEnd => Atom::of(share / whole, 1.0, e, -growth),
        _ => first.mirrored(),
    };
    let mut atoms = vec![first, second];
    if others == Others::Anybody {
        atoms.push(Atom::of(share * growth / whole, 0.0, 0.0, 0.0));
    }
    atoms
}

/// The piecewise mechanism, user 1 at either end. In closed form, because C − 1 loses all its digits where ε₀
/// is large: with h = e^{ε₀/2} and the low density (h−1)/(2h(h+1)), a window has the low mass 1/(h(h+1));
/// between the windows of the two ends lies a length of 2.
fn piecewise(epsilon0: f64, others: Others) -> Vec<Atom> {
    let (half, growth) = (expm1(0.5 * epsilon0), expm1(epsilon0));
    let (h, e) = (1.0 + half, 1.0 + growth);
    let window = 1.0 / (h * (h + 1.0));
    let between = half * window;
    // The mass of an end's window [1, 1+w], w = 2/(h−1), that the window of the middle, [−w/2, w/2], covers.
    let reached = window * (0.5 - 0.5 * half).max(0.0);
    let (first, second, middle) = match others {
        Others::Anybody => (0.0, 0.0, 0.0),
        Others::FirstEnd => (window, 0.0, 0.0),
        Others::Middle => (reached, reached, between.min(window)),
    };
    let mut atoms = Vec::new();
    for (low, covered, p, q) in [
        (window, first, true, false),
        (window, second, false, true),
        (between, middle, false, false),
    ] {
        // The others' density is the low one, or, inside their window, e times that.
        for (mass, crowd) in [(low - covered, 1.0), (covered, e)] {
            if mass <= 0.0 {
                continue;
            }
            let ratio = |inside: bool| if inside { e / crowd } else { 1.0 / crowd };
            let difference = match (p, q) {
                (true, false) => growth / crowd,
                (false, true) => -growth / crowd,
                _ => 0.0,
            };
            atoms.push(Atom::of(mass * crowd, ratio(p), ratio(q), difference));
        }
    }
    atoms
}
