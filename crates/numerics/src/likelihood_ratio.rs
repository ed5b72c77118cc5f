//! All likelihood ratios of a pair of sums, counted into cells.
//!
//! A = P₁ + … + Pₘ + s and B = Q₁ + … + Qₘ + s, the pairs (P, Q) independent and of one finite law with E P =
//! E Q = 1, n = m + s. Under the law of the draws, A/n and B/n are the densities of two probability measures;
//! their likelihood ratio is Λ = A/B. Between the nodes αᵢ = e^{ih} this gives, for each cell [αᵢ, αᵢ₊₁),
//!
//! ```text
//! rise  = (1/n) E[ B (Λ − αᵢ)   ; Λ in the cell ]
//! fall  = (1/n) E[ B (αᵢ₊₁ − Λ) ; Λ in the cell ]
//! ```
//!
//! by one sum over the counts of the atoms, with as many terms as there are outcomes that matter, for any
//! number of nodes. For E(A − αB)₊ at a single α there is [`crate::positive_part`].
//!
//! # Errors
//!
//! Ratios are rounded up, by at most [`Cells::SHIFT`]. Apart from that, every term is within a relative
//! [`Cells::relative_error`] of the truth. The outcomes left out have an (A/n)-mass of at most
//! [`Cells::dropped`]: the sum of A restricted to "the count of an atom of weight π is outside its window" is
//! at most n P[Bin(m−1, π) + {0 or 1} outside].
//!
//! Standing: certified.

use crate::counts::{self, Window, rough_width};
use crate::rounding::ROUNDING;
use crate::special::{exp, expm1, ln};

/// One value of (P, Q), with its probability. P = 0 exactly where Q = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Atom {
    /// Its probability, to a relative error of 8 ε (ε = 2⁻⁵²).
    pub weight: f64,
    /// P, to the same relative error.
    pub numerator: f64,
    /// Q, to the same relative error.
    pub denominator: f64,
    /// P − Q, to the same relative error where possible: subtraction loses digits where P and Q are close.
    pub difference: f64,
}

impl Atom {
    /// An atom whose P and Q are not close, so that P − Q can be computed by subtraction.
    pub fn new(weight: f64, numerator: f64, denominator: f64) -> Self {
        Self {
            weight,
            numerator,
            denominator,
            difference: numerator - denominator,
        }
    }
}

/// A pair of sums.
#[derive(Clone, Copy, Debug)]
pub struct PairSum<'a> {
    /// The law of (P, Q).
    pub atoms: &'a [Atom],
    /// m.
    pub count: u64,
    /// s.
    pub shift: f64,
}

/// The result of [`PairSum::cells`].
#[derive(Clone, Debug)]
pub struct Cells {
    /// (rise, fall) by cell.
    pub inside: Vec<(f64, f64)>,
    /// (1/n) E of A where Λ < α₀.
    pub below: f64,
    /// (1/n) E of B (Λ − α_N), and of B, where Λ ≥ α_N.
    pub above: (f64, f64),
    /// Bound on the part of (1/n) E A that was left out.
    pub dropped: f64,
    /// Bound on the relative error of all other numbers.
    pub relative_error: f64,
}

impl Cells {
    /// Ratios are at least the true ones, and at most this relative amount larger: half of it is added, and
    /// the rounding errors of a ratio are below the other half.
    pub const SHIFT: f64 = 16.0 * ROUNDING;
}

impl PairSum<'_> {
    /// Estimates the number of outcomes that [`PairSum::cells`] would visit.
    pub fn outcomes(&self, ln_dropped: f64) -> f64 {
        let mut widths: Vec<f64> = self
            .present()
            .map(|atom| {
                let (count, budget) = (self.count as f64, -ln_dropped);
                // Rare atoms are Poisson, whose tail is longer than a Gaussian's.
                let mean = (count * atom.weight).max(1e-300);
                let rare = budget / (std::f64::consts::E + budget / mean).ln();
                (rough_width(count, atom.weight, budget) + rare).min(count + 1.0)
            })
            .collect();
        widths.sort_by(f64::total_cmp);
        // One of the counts follows from the others.
        widths.pop();
        widths.iter().product()
    }

    fn present(&self) -> impl Iterator<Item = Atom> + '_ {
        self.atoms.iter().copied().filter(|atom| atom.weight > 0.0)
    }

    /// Counts all outcomes but a part of about e^`ln_dropped` into the cells between the nodes e^{i·`step`},
    /// i from `nodes.0` to `nodes.1` (which is larger).
    ///
    /// ```
    /// use shuffledp_numerics::likelihood_ratio::{Atom, PairSum};
    /// // One draw: Λ is 3 or 1/3.
    /// let atoms = [(0.25, 3.0, 1.0), (0.25, 1.0, 3.0), (0.5, 0.0, 0.0)]
    ///     .map(|(weight, p, q)| Atom::new(weight, p, q));
    /// let ln_4 = 4f64.ln();
    /// let cells = PairSum { atoms: &atoms, count: 1, shift: 0.0 }.cells(ln_4, (-1, 1), -40.0).unwrap();
    /// // Λ = 3 has B-mass 1/4: it is 2 above the node 1, and 1 below the node 4.
    /// assert!((cells.inside[1].0 - 0.5).abs() < 1e-12 && (cells.inside[1].1 - 0.25).abs() < 1e-12);
    /// ```
    pub fn cells(&self, step: f64, nodes: (i64, i64), ln_dropped: f64) -> Option<Cells> {
        let first = nodes.0;
        let nodes: Vec<f64> = (first..=nodes.1).map(|i| exp(i as f64 * step)).collect();
        let draws = self.count as f64;
        let (outer, inner) =
            counts::ordered(self.present(), |atom| atom.weight, (draws, -ln_dropped))?;
        let mut dropped = 0.0;
        let mut windows = Vec::with_capacity(outer.len());
        for atom in &outer {
            let (window, ln_outside) = Window::around(self.count, atom.weight, -ln_dropped)?;
            windows.push(window);
            dropped += exp(ln_outside + 1e-6);
        }
        let outer_states: f64 = windows.iter().map(Window::size).product();
        let mut tally = Tally {
            weights: outer.iter().chain(&inner).map(|atom| atom.weight).collect(),
            draws,
            inner,
            per_step: 1.0 / step,
            width: expm1(step),
            first: first as f64,
            total: draws + self.shift,
            cutoff: exp(ln_dropped) / (1.0 + outer_states),
            terms: 0.0,
            cells: Cells {
                inside: vec![(0.0, 0.0); nodes.len() - 1],
                below: 0.0,
                above: (0.0, 0.0),
                dropped,
                relative_error: 0.0,
            },
            nodes,
        };
        let step = |level: usize, count: f64, (a, b): (f64, f64)| {
            let atom: &Atom = &outer[level];
            (a + count * atom.numerator, b + count * atom.denominator)
        };
        let start = (self.shift, self.shift);
        counts::walk(&windows, draws, start, step, |chosen, left, sums| {
            tally.share(chosen, left, sums);
        });
        let terms = tally.terms;
        let mut cells = tally.cells;
        // The rounding error of plain sums of that many positive terms, plus that of the operations in each.
        cells.relative_error += 8.0 * ROUNDING + f64::EPSILON * terms;
        cells.dropped *= 1.0 + 1e-9;
        Some(cells)
    }
}

/// The sums accumulated by the walk over counts.
struct Tally {
    inner: [Atom; 2],
    /// Weights of the outer atoms and the two inner ones, in this order.
    weights: Vec<f64>,
    /// m.
    draws: f64,
    nodes: Vec<f64>,
    /// 1/h, and the index of the first node.
    per_step: f64,
    first: f64,
    /// e^h − 1.
    width: f64,
    /// n.
    total: f64,
    /// The mass that may be dropped for each choice of outer counts.
    cutoff: f64,
    terms: f64,
    cells: Cells,
}

impl Tally {
    /// The last two atoms share the draws that are left: sums outwards from the most likely division, until
    /// the rest is negligible.
    fn share(&mut self, outer: &[f64], left: f64, (a, b): (f64, f64)) {
        let [first, second] = self.inner;
        let odds = first.weight / second.weight;
        let mode = (left * first.weight / (first.weight + second.weight))
            .floor()
            .min(left);
        let (ln_probability, astray) =
            counts::ln_probability(outer, [mode, left - mode], &self.weights, self.draws);
        let start = exp(ln_probability) / self.total;
        let at = |k: f64| {
            (
                a + k * first.numerator + (left - k) * second.numerator,
                b + k * first.denominator + (left - k) * second.denominator,
            )
        };
        // A is at most this for any division of the rest: a bound on the part that is cut off below.
        let most = at(0.0).0.max(at(left).0);
        let cutoff = self.cutoff;
        let (mut up, mut down) = (mode, mode);
        let mut weight = start;
        loop {
            self.add(weight, at(up));
            if up >= left {
                break;
            }
            let ratio = (left - up) / (up + 1.0) * odds;
            up += 1.0;
            weight *= ratio;
            if ratio < 1.0 && weight * most <= cutoff * (1.0 - ratio) {
                self.cells.dropped += weight * most / (1.0 - ratio);
                break;
            }
        }
        weight = start;
        while down > 0.0 {
            let ratio = down / ((left - down + 1.0) * odds);
            down -= 1.0;
            weight *= ratio;
            if ratio < 1.0 && weight * most <= cutoff * (1.0 - ratio) {
                self.cells.dropped += weight * most / (1.0 - ratio);
                break;
            }
            self.add(weight, at(down));
        }
        let steps = 2.0 * (up - down) + astray;
        // For probabilities so small that products with them underflow.
        self.cells.dropped += f64::MIN_POSITIVE * most * (left + 1.0);
        self.terms += up - down + 1.0;
        let relative = 1e-12 + 2.0 * ROUNDING * (steps + 8.0);
        self.cells.relative_error = self.cells.relative_error.max(relative);
    }

    /// One outcome of probability `weight`·n.
    fn add(&mut self, weight: f64, (a, b): (f64, f64)) {
        // No draw with P, Q > 0 and no shift: an outcome of probability zero under both measures.
        if b <= 0.0 {
            return;
        }
        // A ratio of exactly one is not rounded up: with few draws most outcomes have it.
        let ratio = if a == b {
            1.0
        } else {
            a / b * (1.0 + 0.5 * Cells::SHIFT)
        };
        let mass = weight * b;
        let nodes = &self.nodes;
        let last = nodes.len() - 1;
        if ratio < nodes[0] {
            self.cells.below += weight * a;
        } else if ratio >= nodes[last] {
            self.cells.above.0 += mass * (ratio - nodes[last]);
            self.cells.above.1 += mass;
        } else {
            // By a logarithm, to within rounding.
            let index = (ln(ratio) * self.per_step - self.first).max(0.0) as usize;
            let mut cell = index.min(last - 1);
            while nodes[cell] > ratio {
                cell -= 1;
            }
            while nodes[cell + 1] <= ratio {
                cell += 1;
            }
            let inside = &mut self.cells.inside[cell];
            inside.0 += mass * (ratio - nodes[cell]);
            // The width of the cell is computed from its lower node alone: from two rounded nodes, mass would
            // be off by a part ε/h.
            inside.1 += mass * (nodes[cell] * self.width - (ratio - nodes[cell])).max(0.0);
        }
    }
}
