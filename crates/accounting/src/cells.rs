//! Discretization of a likelihood ratio with a density into atoms that are above it, or below it, in convex
//! order.
//!
//! A report has one coordinate z. ω(z) is its density under the law that the ratios are taken against. One
//! likelihood ratio varies, e^s with s = slope·(z − origin); the other one is constant. δ is the expectation
//! of a convex function of the ratios ([`crate::atoms`]), so that
//!
//! * moving the mass of a cell to the two ends of the cell, mass and mean kept, gives an upper bound
//!   ([`Ray::above`]);
//! * moving it to its mean gives a lower bound ([`Ray::below`]): every user rounds the report to its cell.
//!
//! The relative error of both is of order width² of the variance, for any n.
//!
//! # Rounding
//!
//! Every cell but the outermost begins and ends at multiples of a power of two, where e^{−z²/2} and e^{−z/2}
//! are known to a unit in the last place however large z is; inside a cell the density changes little, and
//! eight Gauss–Legendre nodes integrate it. All terms are positive, so that every weight has full relative
//! accuracy. Standing: certified.

use shuffledp_numerics::special::{exp, expm1};

/// How fine the cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fineness {
    /// For one round of few users: a relative error in ε of about 1e-8.
    Finest,
    /// For one round alone: about 2e-7.
    Fine,
    /// For several rounds: about 2e-5.
    Coarse,
    /// For bounds whose other errors are larger: about 3e-4.
    Rough,
}

impl Fineness {
    /// For one round of this many users: with few users finer cells cost no more.
    pub(crate) fn of_one_round(users: u64) -> Self {
        if users < FEW_USERS {
            Self::Finest
        } else {
            Self::Fine
        }
    }

    /// One step coarser.
    pub(crate) fn coarser(self) -> Self {
        match self {
            Self::Finest => Self::Fine,
            Self::Fine => Self::Coarse,
            Self::Coarse | Self::Rough => Self::Rough,
        }
    }

    /// Width of a cell in standard deviations (or decay lengths), as a power of two.
    pub(crate) fn width(self) -> f64 {
        match self {
            Self::Finest => 1.0 / 2048.0,
            Self::Fine => 1.0 / 512.0,
            Self::Coarse => 1.0 / 64.0,
            Self::Rough => 1.0 / 16.0,
        }
    }
}

impl Fineness {
    /// Width of the cells outside the core, where the density is negligible.
    fn wide(self) -> f64 {
        match self {
            Self::Rough => 0.5,
            _ => 1.0 / 16.0,
        }
    }
}

/// With fewer users the sum of contributions is evaluated on a lattice, whose cost hardly depends on the
/// number of cells.
pub(crate) const FEW_USERS: u64 = 300;
/// A cell narrower than this, in standard deviations (or decay lengths), is merged with its neighbor.
const NARROWEST: f64 = 1e-6;

/// The eight-point Gauss–Legendre rule on [−1, 1]: positive nodes, and weights.
const NODES: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
    (0.960_289_856_497_536_2, 0.101_228_536_290_376_3),
];

/// The nodes of the rule on [0, width], and their weights in units of half the width.
pub(crate) fn gauss_legendre(width: f64) -> impl Iterator<Item = (f64, f64)> {
    let half = 0.5 * width;
    NODES.into_iter().flat_map(move |(node, weight)| {
        [(half * (1.0 - node), weight), (half * (1.0 + node), weight)]
    })
}

/// ∫ f over [0, width].
pub(crate) fn integral(width: f64, f: impl Fn(f64) -> f64) -> f64 {
    let [total] = integrals(width, |d| [f(d)]);
    total
}

/// The same of several functions at once.
pub(crate) fn integrals<const N: usize>(width: f64, f: impl Fn(f64) -> [f64; N]) -> [f64; N] {
    let mut totals = [0.0; N];
    for (d, weight) in gauss_legendre(width) {
        totals
            .iter_mut()
            .zip(f(d))
            .for_each(|(total, value)| *total += weight * value);
    }
    totals.map(|total| 0.5 * width * total)
}

/// Mass `weight` at the likelihood ratio e^s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) weight: f64,
    /// e^s.
    pub(crate) ratio: f64,
    /// e^s − 1.
    pub(crate) growth: f64,
    /// The error of `growth` is a few units in the last place of this number.
    pub(crate) size: f64,
}

impl Point {
    /// A point mass at e^s.
    pub(crate) fn at(weight: f64, s: f64) -> Self {
        let growth = expm1(s);
        Self {
            weight,
            ratio: exp(s),
            growth,
            size: growth.abs(),
        }
    }
}

/// Mass at (e^s, e^{−s}) times `shrunk`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) weight: f64,
    /// s.
    pub(crate) exponent: f64,
    pub(crate) shrunk: f64,
}

/// A cell where both ratios vary, (e^s, e^{−s}), with their means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) weight: f64,
    /// The means of e^s, of e^{−s}, and of their difference.
    pub(crate) up: f64,
    pub(crate) down: f64,
    pub(crate) difference: f64,
    /// The error of the difference is a few units in the last place of this number.
    pub(crate) size: f64,
}

/// sinh, to full relative accuracy near zero.
fn sinh(x: f64) -> f64 {
    0.5 * (expm1(x) - expm1(-x))
}

/// A likelihood ratio that varies along a line.
pub(crate) struct Ray<D> {
    /// ω at z + d, for z a multiple of a small power of two (or an end of the line) and d within a cell.
    pub(crate) density: D,
    /// s = slope (z − origin).
    pub(crate) slope: f64,
    pub(crate) origin: f64,
    /// The two ends of the line.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Where |z| is larger, the density is negligible and cells are wide.
    pub(crate) core: f64,
}

impl<D: Fn(f64, f64) -> f64> Ray<D> {
    /// Mass at the ends of the cells, keeping mass and mean of e^s in each.
    pub(crate) fn above(&self, fineness: Fineness) -> Vec<Point> {
        let edges = self.edges(fineness);
        let mut points: Vec<Point> = edges.iter().map(|&z| self.point(0.0, z)).collect();
        for (i, pair) in edges.windows(2).enumerate() {
            let (low, high) = (pair[0], pair[1]);
            let whole = expm1(self.slope * (high - low));
            let right = self.integral(low, high, |d| expm1(self.slope * d) / whole);
            let left = self.integral(low, high, |d| {
                exp(self.slope * d) * expm1(self.slope * (high - low - d)) / whole
            });
            points[i].weight += left;
            points[i + 1].weight += right;
        }
        points
    }

    /// Where both ratios vary, (e^s, e^{−s}) up to a constant: the mass of each cell at the corners of the
    /// triangle of its two ends and the crossing of the tangents there, which is the middle of the cell
    /// shrunk by cosh. Mass and both means are kept. For a cell of width w and a point d into it, with
    /// S(x) = sinh(slope·x/2), the shares are S(d)²/S(w)² and S(w−d)²/S(w)² at the far and the near end, and
    /// the rest in the middle.
    pub(crate) fn above_hyperbola(&self, fineness: Fineness) -> Vec<Node> {
        let edges = self.edges(fineness);
        let half_sinh = |x: f64| sinh(0.5 * self.slope * x);
        let end = |z: f64| Node {
            weight: 0.0,
            exponent: self.slope * (z - self.origin),
            shrunk: 1.0,
        };
        let mut ends: Vec<Node> = edges.iter().map(|&z| end(z)).collect();
        let mut middles = Vec::new();
        for (i, pair) in edges.windows(2).enumerate() {
            let (low, high) = (pair[0], pair[1]);
            let width = high - low;
            let whole = half_sinh(width).powi(2);
            let cosh = (1.0 + whole).sqrt();
            let far = self.integral(low, high, |d| half_sinh(d).powi(2) / whole);
            let near = self.integral(low, high, |d| half_sinh(width - d).powi(2) / whole);
            ends[i].weight += near;
            ends[i + 1].weight += far;
            middles.push(Node {
                weight: self.integral(low, high, |d| {
                    2.0 * cosh * half_sinh(d) * half_sinh(width - d) / whole
                }),
                exponent: self.slope * (0.5 * (low + high) - self.origin),
                shrunk: 1.0 / cosh,
            });
        }
        ends.extend(middles);
        ends
    }

    /// Each cell at its mean.
    pub(crate) fn below(&self, fineness: Fineness) -> Vec<Point> {
        let edges = self.edges(fineness);
        edges
            .windows(2)
            .map(|pair| {
                let (low, high) = (pair[0], pair[1]);
                let weight = self.integral(low, high, |_| 1.0);
                let start = self.slope * (low - self.origin);
                let ratio =
                    exp(start) * (self.integral(low, high, |d| exp(self.slope * d)) / weight);
                let growth = self.integral(low, high, |d| expm1(start + self.slope * d)) / weight;
                let canceled = self.canceled(low).max(self.canceled(high));
                let size = growth.abs().max(ratio * self.slope.abs() * canceled);
                Point {
                    weight,
                    ratio,
                    growth,
                    size,
                }
            })
            .collect()
    }

    /// Where both ratios vary: each cell at its mean. The line is on one side of the origin, where s has one
    /// sign, so that differences do not cancel.
    pub(crate) fn below_hyperbola(&self, fineness: Fineness) -> Vec<Mean> {
        let edges = self.edges(fineness);
        edges
            .windows(2)
            .map(|pair| {
                let (low, high) = (pair[0], pair[1]);
                let (near, far) = (
                    self.slope * (low - self.origin),
                    self.slope * (high - self.origin),
                );
                let weight = self.integral(low, high, |_| 1.0);
                let mean = |f: &dyn Fn(f64) -> f64| {
                    self.integral(low, high, |d| f(near + self.slope * d)) / weight
                };
                let (up, down) = (mean(&exp), mean(&|s| exp(-s)));
                let difference = mean(&|s| 2.0 * sinh(s));
                Mean {
                    weight,
                    up,
                    down,
                    difference,
                    size: difference
                        .abs()
                        .max((up + down) * far.abs().max(near.abs())),
                }
            })
            .collect()
    }

    fn point(&self, weight: f64, z: f64) -> Point {
        let s = self.slope * (z - self.origin);
        let growth = expm1(s);
        let ratio = exp(s);
        Point {
            weight,
            ratio,
            growth,
            size: growth
                .abs()
                .max(ratio * self.slope.abs() * self.canceled(z)),
        }
    }

    /// The size of the terms of z − origin, which bounds its rounding error.
    fn canceled(&self, z: f64) -> f64 {
        z.abs() + self.origin.abs()
    }

    /// ∫ ω(z) f(z − low) dz over [low, high]. ω is evaluated relative to the end that is a multiple of the
    /// width.
    fn integral(&self, low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
        let width = high - low;
        // The far end of the first cell, and the near end of all others, are multiples of the width.
        let anchor_high = low == self.from;
        integral(width, |d| {
            let omega = if anchor_high {
                (self.density)(high, d - width)
            } else {
                (self.density)(low, d)
            };
            omega * f(d)
        })
    }

    /// The two ends, zero of s, and multiples of the width in between.
    fn edges(&self, fineness: Fineness) -> Vec<f64> {
        let mut edges = vec![self.from];
        let mut z = self.from;
        loop {
            let outside = z >= self.core || z < -self.core;
            let width = if outside {
                fineness.wide()
            } else {
                fineness.width()
            };
            z = ((z / width).floor() + 1.0) * width;
            if z > self.to - NARROWEST {
                break;
            }
            if edges.len() > 1 || z > self.from + NARROWEST {
                edges.push(z);
            }
        }
        edges.push(self.to);
        edges
    }
}
