//! Enclosures: a lower and an upper bound of a number, kept as natural logarithms.
//!
//! Every certified computation of this crate returns an [`LnEnclosure`]. Rounding, truncation and
//! discretization errors widen it, so that a failure shows as a wide enclosure and never as a wrong one.

use crate::rounding::ROUNDING;
use crate::special;

/// Natural logarithms that enclose a non-negative number; −∞ stands for zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LnEnclosure {
    /// At most the true value.
    pub lower: f64,
    /// At least the true value.
    pub upper: f64,
}

impl LnEnclosure {
    /// Exactly zero.
    pub const ZERO: Self = Self {
        lower: f64::NEG_INFINITY,
        upper: f64::NEG_INFINITY,
    };

    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };

    /// Only an upper bound is known.
    pub(crate) fn at_most(upper: f64) -> Self {
        Self {
            lower: f64::NEG_INFINITY,
            upper,
        }
    }

    /// Encloses e^`scale` · [`low`, `high`], rounding outward. An end that is NaN becomes infinite.
    pub(crate) fn scaled(scale: f64, low: f64, high: f64) -> Self {
        let side = |value: f64, direction: f64, unknown: f64| {
            if value > 0.0 {
                let ln = special::ln(value);
                scale + ln + direction * ROUNDING * (1.0 + scale.abs() + ln.abs())
            } else if value.is_nan() {
                unknown
            } else {
                f64::NEG_INFINITY
            }
        };
        let enclosure = Self {
            lower: side(low, -1.0, f64::NEG_INFINITY),
            upper: side(high, 1.0, f64::INFINITY),
        };
        if scale.is_finite() {
            enclosure
        } else {
            Self::UNKNOWN
        }
    }

    /// What two enclosures of one number say together.
    pub(crate) fn intersected(self, other: Self) -> Self {
        Self {
            lower: self.lower.max(other.lower),
            upper: self.upper.min(other.upper),
        }
    }
}

/// Which ends of an enclosure the caller will use. For distributions of many atoms each end is a computation
/// of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Both.
    Both,
    /// The lower one.
    Lower,
    /// The upper one.
    Upper,
}

/// One end of an enclosure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Lower,
    Upper,
}

impl End {
    /// The enclosure with this end alone; the other becomes infinite.
    pub(crate) fn only(self, enclosure: LnEnclosure) -> LnEnclosure {
        match self {
            Self::Lower => LnEnclosure {
                upper: f64::INFINITY,
                ..enclosure
            },
            Self::Upper => LnEnclosure {
                lower: f64::NEG_INFINITY,
                ..enclosure
            },
        }
    }

    /// The safe direction of rounding: 1 for an upper end, −1 for a lower one.
    pub(crate) fn outward(self) -> f64 {
        match self {
            Self::Lower => -1.0,
            Self::Upper => 1.0,
        }
    }
}

impl Wanted {
    /// Whether this end will be used.
    pub(crate) fn includes(self, end: End) -> bool {
        match self {
            Self::Both => true,
            Self::Lower => end == End::Lower,
            Self::Upper => end == End::Upper,
        }
    }
}

/// Smallest ln value that is enclosed from below. No double holds e^−760 (the smallest is e^−744.4), so a
/// value whose Chernoff bound is smaller is reported as [0, Chernoff bound].
pub(crate) const NEGLIGIBLE: f64 = -760.0;

/// No integral is tried where ln of the integrand is known to no better than this: it would say little more
/// than Chernoff's bound does, and each try would take seconds.
pub(crate) const LOST: f64 = 1.0;
