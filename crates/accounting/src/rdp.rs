//! Rényi differential privacy: curves ε(λ), their composition, and their conversion to (ε, δ).
//!
//! ```text
//! adaptive composition    ε(λ) = ε₁(λ) + ε₂(λ)
//! conversion              ln δ = (λ − 1)(ε(λ) − ε) + (λ − 1) ln(1 − 1/λ) − ln λ, best λ
//! ```
//!
//! Composition: Mironov 2017. Conversion: Canonne, Kamath, Steinke 2020, Proposition 12.
//!
//! The best λ is searched for on a logarithmic scale, without a list of orders: it is often in the hundreds
//! or thousands. Every order gives a valid bound, so that a search that stops early is sound, and only less
//! tight. A bound known at integer orders is extended to real ones by chords: (λ − 1) ε(λ) is convex in λ.
//!
//! Standing: that of the curve that goes in; ordinary floating point.

use crate::error::{Error, Parameter, within};
use shuffledp_numerics::search::golden_best;
use std::sync::Arc;

/// At which orders a curve is defined, always above 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Orders {
    /// 2, 3, …, up to this one.
    Integers(u64),
    /// All real orders up to this one.
    Reals(f64),
}

/// The largest order that is searched, chosen far above the best orders, which are often in the hundreds or
/// thousands.
pub const LARGEST_ORDER: f64 = 1e6;

type Function = Arc<dyn Fn(f64) -> f64 + Send + Sync>;

/// A function λ ↦ ε(λ).
#[derive(Clone)]
pub struct RdpCurve {
    parts: Vec<(Function, f64)>,
    orders: Orders,
}

impl std::fmt::Debug for RdpCurve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RdpCurve({} parts, {:?})", self.parts.len(), self.orders)
    }
}

/// The best of a curve's answers, and the order that gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtOrder {
    /// The number.
    pub value: f64,
    /// λ.
    pub order: f64,
}

impl RdpCurve {
    /// A curve from a function. NaN counts as infinite: no bound at that order.
    ///
    /// ```
    /// use shuffledp_accounting::rdp::{Orders, RdpCurve};
    /// // A Gaussian mechanism of sensitivity 1, σ = 10, a hundred times.
    /// let curve = RdpCurve::new(Orders::Reals(1e6), |order| order / 200.0).times(100);
    /// let answer = curve.epsilon(1e-6)?;
    /// assert!((answer.value - 5.2215).abs() < 1e-4 && (answer.order - 5.9).abs() < 0.1, "{answer:?}");
    /// # Ok::<(), shuffledp_accounting::Error>(())
    /// ```
    pub fn new(orders: Orders, function: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        Self {
            parts: vec![(Arc::new(function), 1.0)],
            orders,
        }
    }

    /// At which orders it is defined.
    pub fn orders(&self) -> Orders {
        self.orders
    }

    /// The same rounds `times` over.
    pub fn times(mut self, times: u64) -> Self {
        self.parts
            .iter_mut()
            .for_each(|(_, count)| *count *= times as f64);
        self
    }

    /// These rounds and those.
    pub fn plus(mut self, other: &Self) -> Self {
        self.orders = match (self.orders, other.orders) {
            (Orders::Integers(a), Orders::Integers(b)) => Orders::Integers(a.min(b)),
            (Orders::Reals(a), Orders::Reals(b)) => Orders::Reals(a.min(b)),
            (Orders::Integers(a), Orders::Reals(b)) | (Orders::Reals(b), Orders::Integers(a)) => {
                Orders::Integers(a.min(b as u64))
            }
        };
        self.parts.extend(other.parts.iter().cloned());
        self
    }

    /// With orders only up to `largest`, as papers that enumerate partitions have them.
    pub fn capped(mut self, largest: f64) -> Self {
        self.orders = match self.orders {
            Orders::Integers(most) => Orders::Integers(most.min(largest as u64)),
            Orders::Reals(most) => Orders::Reals(most.min(largest)),
        };
        self
    }

    /// The largest order.
    fn largest(&self) -> f64 {
        match self.orders {
            Orders::Integers(most) => most as f64,
            Orders::Reals(most) => most,
        }
        .min(LARGEST_ORDER)
    }

    /// ε(λ), infinite where there is no bound.
    pub fn at(&self, order: f64) -> f64 {
        if !(order > 1.0 && order <= self.largest()) {
            return f64::INFINITY;
        }
        match self.orders {
            Orders::Reals(_) => self.sum(order),
            Orders::Integers(_) if order < 2.0 => self.sum(2.0),
            Orders::Integers(_) if order.fract() == 0.0 => self.sum(order),
            Orders::Integers(_) => {
                let (low, high) = (order.floor(), order.ceil());
                if high > self.largest() {
                    return f64::INFINITY;
                }
                let chord = (high - order) * (low - 1.0) * self.sum(low)
                    + (order - low) * (high - 1.0) * self.sum(high);
                chord / (order - 1.0)
            }
        }
    }

    /// The value of a curve of *lower* bounds at an order. Where it is known at whole orders only, it is the
    /// value at the whole order below: a divergence rises with its order, and chords are for upper bounds.
    /// None where the curve gives no bound.
    ///
    /// ```
    /// use shuffledp_accounting::bounds::girgis_2021::shuffle_lower;
    /// let curve = shuffle_lower(1000, 0.1);
    /// assert_eq!(curve.from_below(1.5), None);
    /// assert_eq!(curve.from_below(2.7), Some(curve.at(2.0)));
    /// ```
    pub fn from_below(&self, order: f64) -> Option<f64> {
        let known = match self.orders {
            Orders::Reals(_) => order,
            Orders::Integers(_) => order.floor(),
        };
        let whole_from = match self.orders {
            Orders::Reals(_) => known > 1.0,
            Orders::Integers(_) => known >= 2.0,
        };
        whole_from
            .then(|| self.at(known.min(self.largest())))
            .filter(|value| value.is_finite())
    }

    fn sum(&self, order: f64) -> f64 {
        let total: f64 = self
            .parts
            .iter()
            .map(|(part, times)| part(order) * times)
            .sum();
        if total.is_nan() {
            f64::INFINITY
        } else {
            total.max(0.0)
        }
    }

    /// The least ε that the curve gives at δ in [1e-300, 1).
    pub fn epsilon(&self, delta: f64) -> Result<AtOrder, Error> {
        within(
            Parameter::Delta,
            delta,
            (1e-300..1.0).contains(&delta),
            "[1e-300, 1)",
        )?;
        let budget = -delta.ln();
        let best = self.best(|order| self.at(order) + (budget + slack(order)) / (order - 1.0));
        Ok(AtOrder {
            value: best.value.max(0.0),
            ..best
        })
    }

    /// The least δ that the curve gives at ε ≥ 0.
    pub fn delta(&self, epsilon: f64) -> Result<AtOrder, Error> {
        within(
            Parameter::Epsilon,
            epsilon,
            epsilon >= 0.0 && epsilon.is_finite(),
            "[0, inf)",
        )?;
        let best = self.best(|order| (order - 1.0) * (self.at(order) - epsilon) + slack(order));
        Ok(AtOrder {
            value: best.value.exp().min(1.0),
            ..best
        })
    }

    /// The order where an objective is least: doubling steps until two steps in a row bring nothing, then a
    /// golden section search between the neighbors of the best.
    fn best(&self, objective: impl Fn(f64) -> f64) -> AtOrder {
        let whole = matches!(self.orders, Orders::Integers(_));
        let order_at = |u: f64| {
            let order = 1.0 + u.exp();
            let order = if whole { order.round().max(2.0) } else { order };
            order.min(self.largest())
        };
        let value = |u: f64| {
            let value = objective(order_at(u));
            if value.is_nan() { f64::INFINITY } else { value }
        };
        let (first, last) = (
            if whole { 0.0 } else { -7.0 },
            (self.largest() - 1.0).max(1.0).ln(),
        );
        let stride = std::f64::consts::LN_2;
        let mut best = (first, value(first));
        let (mut u, mut risen) = (first, 0);
        while u < last && risen < 2 {
            u = (u + stride).min(last);
            let here = value(u);
            if here < best.1 {
                (best, risen) = ((u, here), 0);
            } else if best.1.is_finite() {
                risen += 1;
            }
        }
        let (low, high) = ((best.0 - stride).max(first), (best.0 + stride).min(last));
        // Integer orders that are neighbors have none between them.
        let ended = |low: f64, high: f64| whole && order_at(high) - order_at(low) <= 1.0;
        // The objective is flat at its least: a thousandth in ln(λ − 1) is a millionth in ε.
        let found = golden_best(low, high, 1e-3, ended, value);
        if let Some(found) = found.filter(|found| found.1 < best.1) {
            best = found;
        }
        AtOrder {
            value: best.1,
            order: order_at(best.0),
        }
    }
}

/// (λ − 1) ln(1 − 1/λ) − ln λ, the last two terms of the conversion.
fn slack(order: f64) -> f64 {
    (order - 1.0) * (-1.0 / order).ln_1p() - order.ln()
}
