//! Heights on a sphere: the law of c = ⟨V, x⟩ for a uniformly random direction V in d ≥ 2 dimensions, and
//! functions of it that are 0 below one height, 1 above another and rise linearly in between.
//!
//! ```text
//! c = sin φ,   φ in [−π/2, π/2] with density proportional to cos^{d−2} φ
//! rise(c) = (c − c₀)/(c₁ − c₀), kept within [0, 1]
//! ```
//!
//! [`Ramp::above`] cuts the heights between c₀ and c₁ into cells and moves the mass of every cell to its two
//! ends, mass and mean of the rise kept; [`Ramp::below`] moves it to its mean. Only the upper half of the
//! sphere is needed: 0 ≤ c₀ ≤ c₁ ≤ 1. A step, c₀ = c₁, has no cells.
//!
//! # Rounding
//!
//! Latitudes φ and colatitudes π/2 − φ are both counted from where they are small, and differences of sines
//! are products, so nothing cancels: neither near the pole nor in a million dimensions. Eight Gauss–Legendre
//! nodes to a cell are exact where cos^{d−2} is a polynomial of the colatitude, and off by less than 1e-13
//! where it is not. The exponent (d−2) ln cos φ is at least −75 wherever a cell is kept, its error at most 10
//! ε times that, ε = 2⁻⁵². All terms are positive. So every mass is within [`MARGIN`]/4 of itself,
//! relatively; a bound that uses the masses adds a margin for it ([`crate::mechanism`], direction). Mass
//! above the last cell that is kept, below e⁻⁷⁵ of the whole, is left out.

use crate::cells::{Fineness, integral, integrals};
use shuffledp_numerics::compensated::sum;
use shuffledp_numerics::special::{atan2, exp, ln, ln_1p, sin_cos};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

/// Four times a bound on the relative error of a mass, which is 2.5e-13 (above).
pub(crate) const MARGIN: f64 = 1e-12;
/// Width of a cell where only its mass is needed, in standard deviations d^{−1/2} of the height. Over such a
/// cell the logarithm of the density changes by less than 4 within 14 standard deviations, where eight nodes
/// are good to 1e-13.
const WIDE: f64 = 0.25;
/// Cells are left out where the density is below e^this of the density at the equator.
const LN_NOTHING: f64 = -75.0;

/// Where the rise begins and ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ramp {
    /// d − 2.
    spare: f64,
    /// d^{−1/2}.
    deviation: f64,
    /// φ₀.
    low: f64,
    /// φ₁ − φ₀.
    span: f64,
    /// π/2 − φ₁.
    above: f64,
}

/// Masses at heights, of the half sphere: together 1/2.
#[derive(Clone, Debug)]
pub(crate) struct Masses {
    /// Where the rise is 0.
    pub(crate) flat: f64,
    /// Where it is 1.
    pub(crate) top: f64,
    /// (mass, rise) in between.
    pub(crate) between: Vec<(f64, f64)>,
}

impl Masses {
    /// Scaled to 1/2 in all.
    fn normalized(mut self) -> Self {
        let masses = self.between.iter().map(|point| point.0);
        let scale = 0.5 / sum(masses.chain([self.flat, self.top]));
        self.between.iter_mut().for_each(|point| point.0 *= scale);
        Self {
            flat: self.flat * scale,
            top: self.top * scale,
            between: self.between,
        }
    }

    /// E rise, over the whole sphere.
    pub(crate) fn rise(&self) -> f64 {
        let rises = self.between.iter().map(|(mass, rise)| mass * rise);
        sum(rises.chain([self.top]))
    }
}

/// Moments over the whole sphere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// E rise.
    pub(crate) rise: f64,
    /// E c·rise.
    pub(crate) lean: f64,
    /// E rise².
    pub(crate) square: f64,
}

/// A point of a ramp, by its distances from both ends of it.
#[derive(Clone, Copy)]
struct Place {
    /// φ − φ₀.
    up: f64,
    /// φ₁ − φ.
    down: f64,
}

/// A cell of a ramp.
#[derive(Clone, Copy)]
struct Cell {
    start: Place,
    end: Place,
    width: f64,
}

impl Ramp {
    /// From the height `start` to the height `end` in `dimension` ≥ 2 dimensions, 0 ≤ start ≤ end ≤ 1 and
    /// start < 1.
    pub(crate) fn new(dimension: u64, start: f64, end: f64) -> Self {
        let latitude = |c: f64| atan2(c, ((1.0 - c) * (1.0 + c)).sqrt());
        let low = latitude(start);
        Self {
            spare: dimension as f64 - 2.0,
            deviation: (dimension as f64).sqrt().recip(),
            low,
            span: if end > start {
                latitude(end) - low
            } else {
                0.0
            },
            above: atan2(((1.0 - end) * (1.0 + end)).sqrt(), end),
        }
    }

    /// cos^{d−2} at a latitude whose colatitude is known as well.
    fn density(&self, latitude: f64, colatitude: f64) -> f64 {
        if self.spare == 0.0 {
            return 1.0;
        }
        if colatitude < FRAC_PI_4 {
            return exp(self.spare * ln(sin_cos(colatitude.max(0.0)).0));
        }
        let sine = sin_cos(latitude).0;
        exp(0.5 * self.spare * ln_1p(-sine * sine))
    }

    fn density_at(&self, place: Place) -> f64 {
        self.density(self.low + place.up, self.above + place.down)
    }

    /// sin φ − sin φ′ over 2 for φ a distance `apart` above φ′, the sum of whose colatitudes is `both`.
    fn climb(apart: f64, both: f64) -> f64 {
        sin_cos(0.5 * apart).0 * sin_cos(0.5 * both).0
    }

    /// (c − c₀)/(c₁ − c₀).
    fn rise(&self, place: Place) -> f64 {
        let both = 2.0 * self.above + self.span;
        Self::climb(place.up, both + place.down) / Self::climb(self.span, both)
    }

    /// ∫ f·density over `width` from a latitude on, in wide cells; f is a function of the latitude.
    fn wide(&self, from: f64, width: f64, f: impl Fn(f64) -> f64) -> f64 {
        let count = (width / (WIDE * self.deviation)).ceil();
        let cell = width / count;
        let mut total = 0.0;
        let mut low = from;
        let first = self.density(from, FRAC_PI_2 - from);
        for _ in 0..count as u64 {
            // The mass further up does not change the last digit.
            if self.density(low, FRAC_PI_2 - low) < 1e-20 * first {
                break;
            }
            total += integral(cell, |d| {
                let latitude = low + d;
                f(latitude) * self.density(latitude, FRAC_PI_2 - latitude)
            });
            low += cell;
        }
        total
    }

    /// The ramp in cells of about `width` standard deviations, without those of negligible mass.
    fn cells(&self, width: f64) -> impl Iterator<Item = Cell> + '_ {
        let count = (self.span / (width * self.deviation)).ceil();
        let width = self.span / count;
        let cell = move |i: u64| Cell {
            start: Place {
                up: i as f64 * width,
                down: (count - i as f64) * width,
            },
            end: Place {
                up: (i + 1) as f64 * width,
                down: (count - (i + 1) as f64) * width,
            },
            width,
        };
        (0..count as u64)
            .map(cell)
            .take_while(|cell| self.density_at(cell.start) >= exp(LN_NOTHING))
    }

    /// ∫ f·density over a cell for several f, which are functions of the place and of its distance from the
    /// start of the cell.
    fn over<const N: usize>(&self, cell: Cell, f: impl Fn(Place, f64) -> [f64; N]) -> [f64; N] {
        integrals(cell.width, |d| {
            let place = Place {
                up: cell.start.up + d,
                down: cell.end.down + (cell.width - d),
            };
            let density = self.density_at(place);
            f(place, d).map(|value| density * value)
        })
    }

    /// Mass below the ramp and above it.
    fn outside(&self) -> (f64, f64) {
        let end = self.low + self.span;
        let top = if self.above > 0.0 {
            self.wide(end, self.above, |_| 1.0)
        } else {
            0.0
        };
        let flat = if self.low > 0.0 {
            self.wide(0.0, self.low, |_| 1.0)
        } else {
            0.0
        };
        (flat, top)
    }

    /// The mass of every cell at its two ends.
    pub(crate) fn above(&self, fineness: Fineness) -> Masses {
        let (mut flat, mut top) = self.outside();
        let mut between: Vec<(f64, f64)> = Vec::new();
        for cell in self.cells(fineness.width()) {
            let width = cell.width;
            let both = 2.0 * (self.above + cell.start.down);
            let whole = Self::climb(width, both - width);
            let [lower, upper] = self.over(cell, |_, d| {
                let lower = Self::climb(width - d, both - width - d);
                [lower / whole, Self::climb(d, both - d) / whole]
            });
            match between.last_mut() {
                Some(point) => point.0 += lower,
                None => flat += lower,
            }
            if cell.end.down == 0.0 {
                top += upper;
            } else {
                between.push((upper, self.rise(cell.end)));
            }
        }
        Masses { flat, top, between }.normalized()
    }

    /// The mass of every cell at its mean.
    pub(crate) fn below(&self, fineness: Fineness) -> Masses {
        let point = |cell| {
            let [mass, rise] = self.over(cell, |place, _| [1.0, self.rise(place)]);
            (mass, rise / mass)
        };
        let (flat, top) = self.outside();
        let between = self.cells(fineness.width()).map(point).collect();
        Masses { flat, top, between }.normalized()
    }

    /// Moments, to about 1e-12.
    pub(crate) fn moments(&self) -> Moments {
        let (flat, top) = self.outside();
        let sine = |latitude: f64| sin_cos(latitude).0;
        let mut sums = [0.0; 4];
        for cell in self.cells(WIDE) {
            let moments = self.over(cell, |place, _| {
                let rise = self.rise(place);
                [1.0, rise, rise * sine(self.low + place.up), rise * rise]
            });
            sums.iter_mut().zip(moments).for_each(|(sum, x)| *sum += x);
        }
        let high = if self.above > 0.0 {
            self.wide(self.low + self.span, self.above, sine)
        } else {
            0.0
        };
        let whole = 2.0 * (flat + top + sums[0]);
        Moments {
            rise: (sums[1] + top) / whole,
            lean: (sums[2] + high) / whole,
            square: (sums[3] + top) / whole,
        }
    }
}
