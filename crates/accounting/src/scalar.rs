//! Randomizers of one number: Laplace, truncated Laplace, discrete Laplace, Duchi, piecewise.
//!
//! Values in [0, 1] (any interval, after rescaling), ε₀-LDP. E = e^ε₀, κ = e^{−ε₀/2}.
//!
//! | kind | report | blanket b = inf over values | its mass |
//! |---|---|---|---|
//! | Laplace | y = x + Laplace noise of scale 1/ε₀ | density of the farther end | κ |
//! | truncated Laplace | the same, given that y lies in [0, 1] | density of the farther end | 2κ/(1+κ) |
//! | discrete Laplace, k values | integers, P(z) ∝ α^\|z−x\|, α = E^{−1/(k−1)} | probability from the farther end | α^{(k−1)/2}, or 2α^{k/2}/(1+α) for k even |
//! | Duchi, Jordan, Wainwright 2013 | one of two values, linear in x | that of binary randomized response | 2/(E+1) |
//! | piecewise (Wang et al. 2019), h = √E, C = (h+1)/(h−1) | high density on a window of length C−1 that moves with x, within [−C, C]; E times lower elsewhere | the low density | 2C of it |
//!
//! For the three Laplace kinds a report between the ends has P = e^s, Q = 1 on one side, s = ln of the ratio of the ends' densities, and the density of s falls as e^{−s/2}: [`crate::cells`]. The others have finitely many atoms.
//!
//! The lower bounds are datasets with all others at one end, or in the middle. User 1's worst values are the ends: `worst_pair.proof.md`.

use crate::atoms::{Atom, Atoms};
use crate::cells::{Fineness, Point, Ray};
use crate::error::{Error, Parameter, within};
use crate::mechanism::{Categories, LocalEpsilon};
use shuffledp_numerics::special::{exp, expm1};

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// Laplace noise.
    Laplace,
    /// Laplace noise given that the report stays within the interval.
    TruncatedLaplace,
    /// Two-sided geometric noise on so many equally spaced values.
    DiscreteLaplace(Categories),
    /// Duchi, Jordan and Wainwright's: one of two values.
    Duchi,
    /// The piecewise mechanism.
    Piecewise,
}

/// A randomizer of a number in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar {
    kind: ScalarKind,
    epsilon0: LocalEpsilon,
}

/// More values than this are as good as a continuum.
const MOST_LEVELS: u64 = 16_384;

impl Scalar {
    pub(crate) fn new(kind: ScalarKind, epsilon0: LocalEpsilon) -> Result<Self, Error> {
        if let ScalarKind::DiscreteLaplace(k) = kind {
            within(
                Parameter::Categories,
                k.value() as f64,
                k.value() <= MOST_LEVELS,
                format!("[2, {MOST_LEVELS}] for discrete-laplace (with more values it is laplace)"),
            )?;
        }
        Ok(Self { kind, epsilon0 })
    }

    /// Which one.
    pub fn kind(&self) -> ScalarKind {
        self.kind
    }

    /// ε₀.
    pub fn epsilon0(&self) -> LocalEpsilon {
        self.epsilon0
    }

    /// The word for it on the command line.
    pub fn name(&self) -> &'static str {
        match self.kind {
            ScalarKind::Laplace => "laplace",
            ScalarKind::TruncatedLaplace => "truncated-laplace",
            ScalarKind::DiscreteLaplace(_) => "discrete-laplace",
            ScalarKind::Duchi => "duchi",
            ScalarKind::Piecewise => "piecewise",
        }
    }

    /// A law that dominates the shuffle, whatever the others hold.
    pub(crate) fn blanket(&self, fineness: Fineness) -> Result<Atoms, Error> {
        let epsilon0 = self.epsilon0.value();
        if epsilon0 == 0.0 {
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
            ScalarKind::Piecewise => {
                let windows = Windows::new(epsilon0);
                windows.atoms(-1.0, 1.0, None)
            }
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
            ScalarKind::Duchi => 0.0,
            ScalarKind::Piecewise => {
                // 1 − 2C·low, low = (h − 1)/(2h(h + 1)).
                -expm1(-0.5 * epsilon0)
            }
        }
    }

    /// Datasets, each with a law and in words: every one is a lower bound.
    pub(crate) fn datasets(&self, fineness: Fineness) -> Result<Vec<(Atoms, String)>, Error> {
        let epsilon0 = self.epsilon0.value();
        let at_end = "user 1 at either end, every other user at one end";
        let at_middle = "user 1 at either end, every other user in the middle";
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
            ScalarKind::Piecewise => {
                let windows = Windows::new(epsilon0);
                vec![
                    (law(windows.atoms(-1.0, 1.0, Some(-1.0)))?, at_end.into()),
                    (law(windows.atoms(-1.0, 1.0, Some(0.0)))?, at_middle.into()),
                ]
            }
            ScalarKind::Duchi => Vec::new(),
        })
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

    /// The atoms of discrete Laplace noise, user 1 at x0 or x1, the crowd, for each report, at `crowd(z)`: reports below 0 and above the last value have the ratios of these.
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
                // Σ over z and all that lies beyond it, if it is an end.
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

/// One of the others, as the coordinate s sees their report: density e^{−s/2} times this (from the smallest s on), mass beyond the ends, and what P and Q are multiples of.
struct Crowd {
    density: f64,
    beyond: f64,
    scale: f64,
}

/// s from `from` to ε₀ with the density `scale`·e^{−s/2}.
fn exponential(epsilon0: f64, from: f64, scale: f64) -> Ray<impl Fn(f64, f64) -> f64> {
    // A power of two, so that multiples of the width of a cell stay short; some thousand cells, none wider than 1/64.
    let unit = (epsilon0.log2().ceil() - 3.0).min(0.0).exp2()
        * (epsilon0 / 16.0).max(1.0).log2().ceil().exp2();
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

/// The piecewise mechanism on [−1, 1]: the window of x is [l, l + C − 1], l = (C+1)x/2 − (C−1)/2.
struct Windows {
    growth: f64,
    c: f64,
    /// The low density.
    low: f64,
}

impl Windows {
    fn new(epsilon0: f64) -> Self {
        let half_growth = expm1(0.5 * epsilon0);
        let h = 1.0 + half_growth;
        Self {
            growth: expm1(epsilon0),
            c: (h + 1.0) / half_growth,
            low: half_growth / (2.0 * h * (h + 1.0)),
        }
    }

    /// The window of a value.
    fn window(&self, x: f64) -> (f64, f64) {
        let start = 0.5 * (self.c + 1.0) * x - 0.5 * (self.c - 1.0);
        (start, start + self.c - 1.0)
    }

    /// User 1 at x0 or x1, whose windows are apart; the crowd at x2, or its blanket.
    fn atoms(&self, x0: f64, x1: f64, x2: Option<f64>) -> Vec<Atom> {
        let e = 1.0 + self.growth;
        let (first, second) = (self.window(x0), self.window(x1));
        let length = self.c - 1.0;
        let third = x2.map(|x| self.window(x));
        let overlap = |a: (f64, f64), b: (f64, f64)| (a.1.min(b.1) - a.0.max(b.0)).max(0.0);
        // (length, in window of x0, of x1), split by the crowd's window.
        let mut atoms = Vec::new();
        for (total, in_first, in_second, seen) in [
            (length, true, false, third.map(|t| overlap(first, t))),
            (length, false, true, third.map(|t| overlap(second, t))),
            (
                2.0 * self.c - 2.0 * length,
                false,
                false,
                third.map(|t| (length - overlap(first, t) - overlap(second, t)).max(0.0)),
            ),
        ] {
            let covered = seen.unwrap_or(0.0).min(total);
            for (part, crowd) in [(total - covered, 1.0), (covered, e)] {
                let ratio = |inside: bool| if inside { e / crowd } else { 1.0 / crowd };
                let difference = match (in_first, in_second) {
                    (true, false) => self.growth / crowd,
                    (false, true) => -self.growth / crowd,
                    _ => 0.0,
                };
                if part > 1e-12 * length {
                    let (p, q) = (ratio(in_first), ratio(in_second));
                    atoms.push(Atom::of(part * self.low * crowd, p, q, difference));
                }
            }
        }
        atoms
    }
}
