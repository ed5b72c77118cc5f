//! The largest over all datasets where d + 1 of the n users take part, by halving buckets of datasets.
//!
//! Of the N = n − 1 others k are at q. One participant is told apart from the other d: user 1, or, where user
//! 1 is absent, one of the others, drawn last. Handed over is h, how many of the d are at q:
//!
//! ```text
//! δ_k ≤ E G(H, R/M),   H of the k among the d drawn, R = k − H among the M = N − d that are left,
//! G(h, φ) = max over t of F with A = g (q − a p) − (1 − g)(a − 1)(p + (q − p) φ),   C = A + a − 1
//! ```
//!
//! and S the sum of h bits at q and d − h at p: for one h this is a round of everybody, in which user 1's bit
//! is mixed with that of a random user. G falls with φ. It is bounded for h in a range by `sum` and
//! `integral`.
//!
//! For a bucket k₁ ≤ k ≤ k₂ the range of h is cut into slices from below, φ at its least in each:
//!
//! ```text
//! E G ≤ G₀ + Σ_j P(H_{k₂} ≥ h_j) (G_j − G_{j−1})₊ + P(outside) max G,     G_j the largest up to slice j
//! ```
//!
//! Proof: sections 6 and 7 of `binary_count.proof.md`. Where everybody takes part M = 0, H = k, g = 1.

use super::draw::Draw;
use super::{Bucket, Tilt, View, integral, sum};
use shuffledp_numerics::log_space::ln_add_exp;
use shuffledp_numerics::rounding::{ln_up, widen_up};
use shuffledp_numerics::special::{expm1, ln};
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// How long buckets are halved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Until the largest bound is within this of the largest at a single k, in ln δ …
    pub(super) tolerance: f64,
    /// … or this much work was done: 1 for a closed form, which takes about 2 µs, and more for a sum.
    pub(super) work: f64,
    /// A range is summed where the variance of the count is below this.
    pub(super) summed: f64,
}

/// A sum is as much work as a closed form for each so many standard deviations of the count.
const SUM_WORK: f64 = 0.25;
/// Numbers h outside the range add at most this fraction of δ, ln 1e-5 …
const OUTSIDE: f64 = -11.5;
/// … or at most e to minus this, which is below every δ.
const FARTHEST: f64 = 800.0;
/// From slice to slice ln G changes by about this …
const STEP: f64 = 0.15;
/// … with at most so many slices.
const MOST_SLICES: f64 = 10.0;

/// A bucket with its bound; ordered by the bound.
#[derive(Clone, Copy, Debug)]
struct Bounded {
    bucket: Bucket,
    ln_delta: f64,
}

impl Ord for Bounded {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ln_delta.total_cmp(&other.ln_delta)
    }
}

impl PartialOrd for Bounded {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Bounded {}

/// The numbers from `first` to `last` in about so many ranges of about the same length.
fn cut(first: u64, last: u64, parts: u64) -> impl Iterator<Item = (u64, u64)> {
    let length = (last - first) / parts + 1;
    let start = move |part: u64| first + part * length;
    (0..parts)
        .map(move |part| (start(part), (start(part) + (length - 1)).min(last)))
        .take_while(move |(low, _)| *low <= last)
}

/// One ε, one number of participants.
pub(super) struct Datasets {
    view: View,
    draw: Draw,
    /// At or above ln G for every h and φ.
    cap: f64,
    /// About how much ln G changes from h = 0 to h = d.
    slope: f64,
    effort: Effort,
    /// What was computed so far.
    work: Cell<f64>,
}

impl Datasets {
    /// `None` where δ is zero.
    pub(super) fn new(
        (epsilon0, epsilon): (f64, f64),
        (users, taking_part): (u64, u64),
        effort: Effort,
    ) -> Option<Self> {
        let draw = Draw {
            all: users - 1,
            drawn: taking_part - 1,
        };
        let view = View::new(epsilon0, epsilon, users, taking_part);
        let nearest = view.tilt(0.0)?;
        let whole = Bucket {
            first: 0,
            last: draw.drawn,
        };
        // F ≤ A b(t − 1) ≤ A.
        let cap = integral::ln_bound(&nearest, draw.drawn, whole).min(ln_up(nearest.gain));
        // With z² = d p q u², u = (a − 1)/(g (q − p)), handing over all reports costs about 1 + z²/2 in ln δ.
        // By its skewness ln G changes by z² u (q − p)(2/3 + g) where φ follows h.
        let spread = (1.0 - nearest.odds) / (1.0 + nearest.odds);
        let u = expm1(epsilon) / (view.rate * spread);
        let square = draw.drawn as f64 * nearest.p * (1.0 - nearest.p) * u * u;
        Some(Self {
            draw,
            cap,
            slope: 1.0 + square * (0.5 + u * spread * (2.0 / 3.0 + view.rate)),
            effort,
            work: Cell::new(0.0),
            view,
        })
    }

    /// At or above ln G at every h in the range and every φ from this one on. A bound that is already
    /// below `enough` is not improved.
    fn of_range(&self, tilt: &Tilt, range: Bucket, enough: f64) -> f64 {
        let of_integral = integral::ln_bound(tilt, self.draw.drawn, range).min(self.cap);
        let left = (range.first as f64) * tilt.kinds[0].variance
            + (self.draw.drawn - range.last) as f64 * tilt.kinds[1].variance;
        let is_summed = of_integral > enough && left < self.effort.summed;
        let of_sum = if is_summed {
            SUM_WORK * left.sqrt()
        } else {
            0.0
        };
        self.work.set(self.work.get() + 1.0 + of_sum);
        if !is_summed {
            return of_integral;
        }
        let sum = sum::ln_bound(tilt, range.first, self.draw.drawn - range.last);
        sum.min(of_integral)
    }

    /// At or above ln δ for every k in the bucket.
    pub(super) fn bound(&self, bucket: Bucket, enough: f64) -> f64 {
        let Bucket { first, last } = bucket;
        let rest = self.draw.rest();
        // With H at most this, R is at least k₁ less it, and φ its part of M, rounded down.
        let tilt_up_to = |h: u64| {
            let share = match rest {
                0 => 0.0,
                _ => first.saturating_sub(h) as f64 / rest as f64 * (1.0 - 4.0 * f64::EPSILON),
            };
            self.view.tilt(share)
        };
        let of_range = |low: u64, high: u64, enough: f64| match tilt_up_to(high) {
            Some(tilt) => {
                let range = Bucket {
                    first: low,
                    last: high,
                };
                self.of_range(&tilt, range, enough)
            }
            None => f64::NEG_INFINITY,
        };
        if rest == 0 {
            return of_range(first, last, enough);
        }
        let exponent = (self.cap - enough.min(self.cap) - OUTSIDE).min(FARTHEST);
        let (low, high) = self.draw.between((first, last), exponent);
        // Slices are of use where H is spread out more than its mean over the bucket.
        let deviation = self.draw.deviation(last);
        let center = self.draw.mean(last);
        let wide = center - self.draw.mean(first) > 2.0 * (deviation + 1.0);
        let start = match wide {
            true => high,
            false => ((center + 0.5 * deviation).ceil() as u64).clamp(low, high),
        };
        let slices = |first: u64, last: u64| {
            let change = self.slope * (last - first) as f64 / self.draw.drawn.max(1) as f64;
            let slices = if wide { 1.0 } else { (change / STEP).ceil() };
            // At most a few: a whole number.
            cut(first, last, slices.clamp(1.0, MOST_SLICES) as u64)
        };
        // Several slices add up: each is worth knowing better than the sum.
        let enough = if start == high { enough } else { enough - 3.0 };
        let mut largest = f64::NEG_INFINITY;
        for (first, last) in slices(low, start) {
            largest = largest.max(of_range(first, last, enough));
        }
        let mut total = largest;
        if start < high {
            for (first, most) in slices(start + 1, high) {
                let weight = self.draw.ln_at_least(first, last);
                let value = of_range(first, most, enough - weight);
                if value > largest {
                    // P (e^value − e^largest).
                    let more = value + ln(-expm1(largest - value)).min(0.0);
                    total = ln_add_exp(total, widen_up(more) + weight);
                    largest = value;
                }
            }
        }
        let total = ln_add_exp(total, self.cap - exponent + std::f64::consts::LN_2);
        total + 1e-12 * (1.0 + total.abs())
    }

    /// At or above ln of the largest δ_k. A bound that is already below `enough` is not improved.
    pub(super) fn ln_largest(&self, enough: f64) -> f64 {
        let others = self.draw.all;
        let single = |k: u64| Bucket { first: k, last: k };
        let mut attained = enough - self.effort.tolerance;
        for k in [others, 0, others / 2] {
            attained = attained.max(self.bound(single(k), attained));
        }
        let mut heap = BinaryHeap::new();
        let bounded = |bucket, attained: f64| Bounded {
            bucket,
            ln_delta: self.bound(bucket, attained + self.effort.tolerance),
        };
        let whole = Bucket {
            first: 0,
            last: others,
        };
        heap.push(bounded(whole, attained));
        // The heap covers all k at all times.
        while let Some(&top) = heap.peek() {
            let Bucket { first, last } = top.bucket;
            let enough = top.ln_delta <= attained + self.effort.tolerance || first == last;
            if enough || self.work.get() >= self.effort.work {
                return top.ln_delta.min(self.cap);
            }
            heap.pop();
            let middle = first + (last - first) / 2;
            attained = attained.max(self.bound(single(middle), attained));
            for (first, last) in [(first, middle), (middle + 1, last)] {
                heap.push(bounded(Bucket { first, last }, attained));
            }
        }
        0.0
    }

    /// At or above ln δ of every dataset, at once.
    pub(super) fn cap(&self) -> f64 {
        self.cap
    }
}
