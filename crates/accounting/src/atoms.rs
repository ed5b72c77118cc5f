//! Atoms: the law of one user's contribution to the likelihood ratio of a shuffled round.
//!
//! # The master identity
//!
//! User 1 sends a report of law U₀ or U₁; the n − 1 others send reports of law W; the shuffler forgets who
//! sent what. Against Wⁿ the shuffle has density (1/n) Σᵢ U₀(yᵢ)/W(yᵢ), so with a = e^ε and i.i.d. yᵢ ~ W
//!
//! ```text
//! δ(ε) = Hₐ = (1/n) E( X₁ + … + Xₙ )₊,      X = (U₀ − a U₁)/W (y).
//! ```
//!
//! This is exact if all others have law W. If their laws only lie *above* a sub-probability W (a blanket), it
//! is an upper bound, with X = 0 on the missing mass: the proof reveals which users drew from the rest, and
//! their reports. A finite law of X is a list of atoms (π, P, Q), Σπ = ΣπP = ΣπQ = 1, with X = P − aQ; the
//! missing mass is the *left-over* atom P = Q = 0. Left-over and shared components (P = Q > 0) must not be
//! merged: that would give numbers below the truth.
//!
//! # The atoms
//!
//! E = e^ε₀; in Theorem V, r = βp/((p−1)q). Proofs: `atoms.proof.md` beside this file.
//!
//! | constructor | atoms (π; P; Q) | side |
//! |---|---|---|
//! | [`Atoms::ldp`] (Theorem S) | (1/(E+1); E; 1) (1/(E+1); 1; E) (rest; 0; 0) | upper |
//! | [`Atoms::ldp_adaptive`] (2021 clones) | (1/2E; 2E²/(E+1); 2E/(E+1)) and mirrored, (rest; 0; 0) | upper |
//! | [`Atoms::kary_blanket`], p = 1/(E+k−1) | (p; E; 1) (p; 1; E) ((k−2)p; 1; 1) ((E−1)p; 0; 0) | upper |
//! | [`Atoms::kary_third`], others at a third | (p; E; 1) (p; 1; E) (Ep; 1/E; 1/E) ((k−3)p; 1; 1) | lower |
//! | [`Atoms::kary_first`], others at user 1's first | (Ep; 1; 1/E) (p; 1; E) ((k−2)p; 1; 1) | lower |
//! | [`Atoms::ratio`] (Theorem V) | (r; q; q/p) (r; q/p; q) ((1−β(p+1)/(p−1))/q; q; q) (rest; 0; 0) | both |
//! | [`Atoms::channel_blanket`], b = min over rows | (b(y); U₀/b; U₁/b) for each y, (rest; 0; 0) | upper |
//! | [`Atoms::channel_others`], others at one input | (W(y); U₀/W; U₁/W) for each y | lower |
//! | [`Atoms::check_in`] at rate g | every π times g, and (1−g; 1; 1) | as the base |
//!
//! # Rounding
//!
//! P − Q is kept beside P and Q, because at ε₀ = 1e-6 it is the difference that matters and subtracting would
//! lose six digits of it.

use crate::bound::Side;
use crate::channel::Channel;
use crate::digits::rounded_to;
use crate::error::{Error, Parameter, within};
use crate::local::{Categories, LocalEpsilon, RatioSummary};
use crate::participation::Rate;
use shuffledp_numerics::{positive_part, rounding, special};

/// Weights are 0 or at least this, far enough above the smallest double that products of them are normal …
const LEAST_WEIGHT: f64 = 1e-300;
/// … and ratios are 0 or within this factor of 1, so that no square of one overflows.
const MOST_RATIO: f64 = 1e150;

/// One value of a user's contribution, with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Atom {
    weight: f64,
    p: f64,
    q: f64,
    /// P − Q, computed without cancellation where that is possible.
    difference: f64,
    /// The error of `difference` is at most a few units in the last place of this number.
    subtracted: f64,
}

impl Atom {
    /// P and Q with their difference known to full relative accuracy.
    fn with_difference(weight: f64, p: f64, q: f64, difference: f64) -> Self {
        Self {
            weight,
            p,
            q,
            difference,
            subtracted: difference.abs(),
        }
    }

    /// P and Q, with their floating-point difference.
    fn plain(weight: f64, p: f64, q: f64) -> Self {
        let subtracted = if p == q { 0.0 } else { p + q };
        Self {
            weight,
            p,
            q,
            difference: p - q,
            subtracted,
        }
    }

    /// P and Q with their difference known to full relative accuracy, from a module that derives them.
    pub(crate) fn of(weight: f64, p: f64, q: f64, difference: f64) -> Self {
        Self::with_difference(weight, p, q, difference)
    }

    /// P and Q, with a difference whose error is a few units in the last place of `subtracted`.
    pub(crate) fn measured(weight: f64, p: f64, q: f64, difference: f64, subtracted: f64) -> Self {
        Self {
            weight,
            p,
            q,
            difference,
            subtracted,
        }
    }

    /// Adds the atom to a list. If the list has an atom with these ratios, only its weight grows.
    pub(crate) fn join(self, atoms: &mut Vec<Self>) {
        match atoms.iter_mut().find(|a| a.p == self.p && a.q == self.q) {
            Some(same) => same.weight += self.weight,
            None => atoms.push(self),
        }
    }

    /// The same atom with its weight multiplied by `share`.
    pub(crate) fn scaled(self, share: f64) -> Self {
        Self {
            weight: self.weight * share,
            ..self
        }
    }

    pub(crate) fn mirrored(self) -> Self {
        Self {
            p: self.q,
            q: self.p,
            difference: -self.difference,
            ..self
        }
    }

    /// π.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// P.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// Q.
    pub fn q(&self) -> f64 {
        self.q
    }

    /// P − Q, more accurate than a subtraction.
    pub(crate) fn difference(&self) -> f64 {
        self.difference
    }
}

/// The law of one user's contribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Atoms {
    atoms: Vec<Atom>,
    symmetric: bool,
    /// ln max(P/Q, Q/P): from this ε on, δ is zero, or `lost`.
    loss_limit: f64,
    /// Probability of the reports that no atom stands for, under either dataset: there the loss counts as
    /// infinite.
    lost: f64,
}

impl Atoms {
    /// Any law (π, P, Q): entries finite and not negative, P = 0 exactly where Q = 0, and Σπ, ΣπP, ΣπQ equal
    /// to 1 up to 1e-9.
    ///
    /// ```
    /// use shuffledp_accounting::atoms::Atoms;
    /// // Binary randomized response with e^ε₀ = 3, others at the first value.
    /// assert!(Atoms::new(&[(0.75, 1.0, 1.0 / 3.0), (0.25, 1.0, 3.0)]).is_ok());
    /// let wrong = Atoms::new(&[(0.75, 1.0, 1.0), (0.25, 2.0, 1.0)]);
    /// assert_eq!(
    ///     wrong.unwrap_err().to_string(),
    ///     "atoms are not a law: sum of pi P is 1.25, which is not 1 (to 1e-9)"
    /// );
    /// ```
    pub fn new(atoms: &[(f64, f64, f64)]) -> Result<Self, Error> {
        let given: Vec<Atom> = atoms
            .iter()
            .map(|&(weight, p, q)| Atom::plain(weight, p, q))
            .collect();
        // First as given, for the error messages; then with the three sums made exact.
        Self::checked(given, None)?;
        let sum = |part: fn(&(f64, f64, f64)) -> f64| atoms.iter().map(part).sum::<f64>();
        let (total, first, second) = (sum(|a| a.0), sum(|a| a.0 * a.1), sum(|a| a.0 * a.2));
        let exact = atoms
            .iter()
            .map(|&(weight, p, q)| {
                Atom::plain(weight / total, p * total / first, q * total / second)
            })
            .collect();
        Self::checked(exact, None)
    }

    /// Checks the invariants; `loss_limit` where it is known exactly.
    fn checked(atoms: Vec<Atom>, loss_limit: Option<f64>) -> Result<Self, Error> {
        for (index, atom) in atoms.iter().enumerate() {
            let (weight, ratio) = (LEAST_WEIGHT, 1.0 / MOST_RATIO);
            for (value, least) in [(atom.weight, weight), (atom.p, ratio), (atom.q, ratio)] {
                if value != 0.0 && !(least..=MOST_RATIO).contains(&value) {
                    return Err(Error::BadAtom { index, value });
                }
            }
            if (atom.p == 0.0) != (atom.q == 0.0) {
                return Err(Error::UnboundedAtom { index });
            }
        }
        let atoms: Vec<Atom> = atoms.into_iter().filter(|atom| atom.weight > 0.0).collect();
        let sum = |part: fn(&Atom) -> f64| atoms.iter().map(part).sum::<f64>();
        for (what, value) in [
            ("sum of pi", sum(|atom| atom.weight)),
            ("sum of pi P", sum(|atom| atom.weight * atom.p)),
            ("sum of pi Q", sum(|atom| atom.weight * atom.q)),
        ] {
            if (value - 1.0).abs() > 1e-9 {
                return Err(Error::NotALaw { what, value });
            }
        }
        let loss_limit = loss_limit.unwrap_or_else(|| {
            // P and Q carry the rounding of a handful of operations each.
            let slack = 1.0 + 64.0 * f64::EPSILON;
            atoms
                .iter()
                .filter(|atom| atom.p > 0.0)
                .map(|atom| rounding::ln_up((atom.p / atom.q).max(atom.q / atom.p) * slack))
                .fold(0.0, f64::max)
        });
        Ok(Self {
            symmetric: is_symmetric(&atoms),
            atoms,
            loss_limit,
            lost: 0.0,
        })
    }

    /// A law that leaves out reports of this probability, which counts as δ.
    pub(crate) fn leaving_out(mut self, lost: f64) -> Self {
        self.lost = lost;
        self
    }

    /// A law of a randomizer whose likelihood ratios are within [1/E, E].
    pub(crate) fn of_epsilon0(atoms: Vec<Atom>, epsilon0: LocalEpsilon) -> Result<Self, Error> {
        Self::checked(atoms, Some(epsilon0.value()))
    }

    /// A law whose likelihood ratios have logarithms of at most `limit`.
    pub(crate) fn of_limit(atoms: Vec<Atom>, limit: f64) -> Result<Self, Error> {
        Self::checked(
            atoms,
            Some(rounding::widen_up(limit * (1.0 + 8.0 * f64::EPSILON))),
        )
    }

    /// Theorem S: dominates the shuffle of any ε₀-LDP randomizer that all users run.
    ///
    /// It may be chosen from earlier *rounds*, and may differ from slot to slot of the shuffled order; it may
    /// not differ from user to user.
    pub fn ldp(epsilon0: LocalEpsilon) -> Result<Self, Error> {
        let growth = special::expm1(epsilon0.value());
        let weight = 1.0 / (2.0 + growth);
        let clone = Atom::with_difference(weight, 1.0 + growth, 1.0, growth);
        Self::checked(
            vec![
                clone,
                clone.mirrored(),
                Atom::plain(growth * weight, 0.0, 0.0),
            ],
            Some(epsilon0.value()),
        )
    }

    /// Feldman, McMillan and Talwar 2021: holds also when a user's randomizer depends on earlier reports of
    /// the round.
    pub fn ldp_adaptive(epsilon0: LocalEpsilon) -> Result<Self, Error> {
        let growth = special::expm1(epsilon0.value());
        let e = 1.0 + growth;
        let q = 2.0 * e / (2.0 + growth);
        let clone = Atom::with_difference(0.5 / e, q * e, q, q * growth);
        Self::checked(
            vec![clone, clone.mirrored(), Atom::plain(growth / e, 0.0, 0.0)],
            Some(epsilon0.value()),
        )
    }

    /// k-ary randomized response against any others: the privacy blanket.
    pub fn kary_blanket(k: Categories, epsilon0: LocalEpsilon) -> Result<Self, Error> {
        let (growth, p, k) = kary(k, epsilon0);
        let clone = Atom::with_difference(p, 1.0 + growth, 1.0, growth);
        Self::checked(
            vec![
                clone,
                clone.mirrored(),
                Atom::plain((k - 2.0) * p, 1.0, 1.0),
                Atom::plain(growth * p, 0.0, 0.0),
            ],
            Some(epsilon0.value()),
        )
    }

    /// k-ary randomized response, k ≥ 3, all others holding a third value: exact for that dataset.
    pub fn kary_third(k: Categories, epsilon0: LocalEpsilon) -> Result<Self, Error> {
        let (growth, p, k) = kary(k, epsilon0);
        let e = 1.0 + growth;
        let clone = Atom::with_difference(p, e, 1.0, growth);
        Self::checked(
            vec![
                clone,
                clone.mirrored(),
                Atom::plain(e * p, 1.0 / e, 1.0 / e),
                Atom::plain((k - 3.0) * p, 1.0, 1.0),
            ],
            Some(epsilon0.value()),
        )
    }

    /// k-ary randomized response, all others holding user 1's first value: exact for that dataset.
    pub fn kary_first(k: Categories, epsilon0: LocalEpsilon) -> Result<Self, Error> {
        let (growth, p, k) = kary(k, epsilon0);
        let e = 1.0 + growth;
        Self::checked(
            vec![
                Atom::with_difference(e * p, 1.0, 1.0 / e, growth / e),
                Atom::with_difference(p, 1.0, e, -growth),
                Atom::plain((k - 2.0) * p, 1.0, 1.0),
            ],
            Some(epsilon0.value()),
        )
    }

    /// Theorem V: dominates the shuffle of any randomizer with this summary, and is attained by one.
    pub fn ratio(summary: &RatioSummary) -> Result<Self, Error> {
        let (ratio, variation, cover) = (summary.ratio(), summary.variation(), summary.cover());
        let weight = variation * ratio / ((ratio - 1.0) * cover);
        let shared = (1.0 - variation * (ratio + 1.0) / (ratio - 1.0)).max(0.0) / cover;
        let clone =
            Atom::with_difference(weight, cover, cover / ratio, cover * (ratio - 1.0) / ratio);
        Self::checked(
            vec![
                clone,
                clone.mirrored(),
                Atom::plain(shared, cover, cover),
                Atom::plain((cover - 1.0 - variation).max(0.0) / cover, 0.0, 0.0),
            ],
            Some(rounding::ln_up(ratio)),
        )
    }

    /// Inputs `x0` against `x1` of a channel, others arbitrary: the privacy blanket.
    pub fn channel_blanket(channel: &Channel, x0: usize, x1: usize) -> Result<Self, Error> {
        // A smaller blanket is a valid blanket: round the left-over up, where its relative accuracy matters,
        // and scale the rest to fit.
        let blanket = channel.blanket();
        let sum: f64 = blanket.iter().sum();
        let rest = (1.0 - sum).max(0.0) + 4.0 * f64::EPSILON * blanket.len() as f64;
        let fitted: Vec<f64> = blanket.iter().map(|b| b * (1.0 - rest) / sum).collect();
        Self::from_channel(channel, x0, x1, &fitted, rest)
    }

    /// Inputs `x0` against `x1` of a channel, all others holding `x2`: exact for that dataset.
    pub fn channel_others(
        channel: &Channel,
        x0: usize,
        x1: usize,
        x2: usize,
    ) -> Result<Self, Error> {
        Self::from_channel(channel, x0, x1, &channel.rows()[x2], 0.0)
    }

    fn from_channel(
        channel: &Channel,
        x0: usize,
        x1: usize,
        others: &[f64],
        rest: f64,
    ) -> Result<Self, Error> {
        let (first, second) = (&channel.rows()[x0], &channel.rows()[x1]);
        let mut atoms: Vec<Atom> = Vec::new();
        for ((&w, &u0), &u1) in others.iter().zip(first).zip(second) {
            // A column of zeros is an output that never occurs.
            if w == 0.0 {
                continue;
            }
            let mut atom = Atom::plain(w, u0 / w, u1 / w);
            // Equal quotients may come from entries that are not.
            if u0 != u1 {
                atom.subtracted = atom.p + atom.q;
            }
            atom.join(&mut atoms);
        }
        atoms.push(Atom::plain(rest, 0.0, 0.0));
        Self::checked(atoms, None)
    }

    /// The same, when each user takes part with a probability in `rate`, and user 1 with probability `own`.
    /// Exact where all others have one rate.
    ///
    /// Absence is an output like any other: with every rate equal to g, every π is multiplied by g and
    /// absence is the atom (1−g; 1; 1). With rates in [lo, hi] and user 1 at g₁: π·lo with P and Q times
    /// g₁/lo, and (1−hi) with P = Q = (1−g₁)/(1−hi). X is affine in g₁, so δ is convex in it and the ends are
    /// the worst.
    pub fn check_in(&self, rate: Rate, own: f64) -> Result<Self, Error> {
        let (lowest, highest) = (rate.lowest(), rate.highest());
        if highest == 1.0 {
            return Ok(self.clone());
        }
        let least = self.least_rate(own);
        let allowed = || {
            format!(
                "[{}, 1] for this randomizer",
                rounded_to(2, least, Side::Upper)
            )
        };
        within(Parameter::CheckIn, lowest, lowest >= least, allowed())?;
        let scale = own / lowest;
        let absent = if own == highest {
            1.0
        } else {
            (1.0 - own) / (1.0 - highest)
        };
        let mut atoms: Vec<Atom> = self
            .atoms
            .iter()
            .map(|atom| Atom {
                weight: atom.weight * lowest,
                p: atom.p * scale,
                q: atom.q * scale,
                difference: atom.difference * scale,
                subtracted: atom.subtracted * scale,
            })
            .collect();
        Atom::plain(1.0 - highest, absent, absent).join(&mut atoms);
        Atom::plain(highest - lowest, 0.0, 0.0).join(&mut atoms);
        Ok(Self::checked(atoms, Some(self.loss_limit))?.leaving_out(self.lost * own))
    }

    /// The least rate of others at which weights and ratios of this law stay within range, user 1's being
    /// `own`.
    fn least_rate(&self, own: f64) -> f64 {
        let lightest = self
            .atoms
            .iter()
            .map(|atom| atom.weight)
            .fold(1.0, f64::min);
        let ratios = self.atoms.iter().map(|atom| atom.p.max(atom.q));
        // Rounded to the safe side, so that no product is outside.
        let least = (LEAST_WEIGHT / lightest).max(own * ratios.fold(0.0, f64::max) / MOST_RATIO);
        least * (1.0 + 1e-12)
    }

    /// The atoms, none of weight zero.
    pub fn iter(&self) -> impl Iterator<Item = &Atom> {
        self.atoms.iter()
    }

    /// Whether exchanging P and Q gives the same law, so that both directions of the divergence agree.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// The largest privacy loss of a single report: from this ε on, δ is zero.
    pub fn loss_limit(&self) -> f64 {
        self.loss_limit
    }

    /// Probability of the reports that the law leaves out: it adds to δ.
    pub(crate) fn lost(&self) -> f64 {
        self.lost
    }

    /// Σ π (P−Q)²: n times the squared parameter of the Gaussian mechanism that the round looks like when n
    /// is large.
    pub fn chi_square(&self) -> f64 {
        self.atoms
            .iter()
            .map(|atom| atom.weight * atom.difference * atom.difference)
            .sum()
    }

    /// Σ π |P−Q|³.
    pub fn third_moment(&self) -> f64 {
        self.atoms
            .iter()
            .map(|atom| atom.weight * atom.difference.abs().powi(3))
            .sum()
    }

    /// The law of X = P − aQ (or Q − aP when `reversed`), given a − 1.
    pub(crate) fn contributions(&self, a_minus_1: f64, reversed: bool) -> Vec<positive_part::Atom> {
        self.atoms
            .iter()
            .map(|&atom| {
                let atom = if reversed { atom.mirrored() } else { atom };
                positive_part::Atom {
                    weight: atom.weight,
                    value: atom.difference - a_minus_1 * atom.q,
                    magnitude: atom.subtracted + a_minus_1 * atom.q,
                }
            })
            .collect()
    }
}

/// (E − 1, p = 1/(E+k−1), k).
fn kary(k: Categories, epsilon0: LocalEpsilon) -> (f64, f64, f64) {
    let growth = special::expm1(epsilon0.value());
    let k = k.value() as f64;
    (growth, 1.0 / (growth + k), k)
}

/// Whether the multiset of (π, P, Q) is the same as that of (π, Q, P).
fn is_symmetric(atoms: &[Atom]) -> bool {
    let sorted = |swap: bool| {
        let mut keys: Vec<[f64; 3]> = atoms
            .iter()
            .map(|atom| {
                if swap {
                    [atom.q, atom.p, atom.weight]
                } else {
                    [atom.p, atom.q, atom.weight]
                }
            })
            .collect();
        keys.sort_by(|a, b| {
            a[0].total_cmp(&b[0])
                .then(a[1].total_cmp(&b[1]))
                .then(a[2].total_cmp(&b[2]))
        });
        keys
    };
    sorted(false) == sorted(true)
}
