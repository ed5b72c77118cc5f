//! Laws that dominate after a little mass was moved in every user's law of reports.
//!
//! Let every other user's law of reports move by κ in total variation, and user 1's two laws by κ₁, so that a
//! law of atoms dominates the changed round. With h(a) = Hₐ(U₀‖U₁) of user 1's (moved) pair and a = e^ε,
//!
//! ```text
//! everybody    Hₐ ≤ Hₐ(law) + κ (n − 1)(2h + a − 1) + κ₁ (1 + a)
//! m of n       Hₐ ≤ Hₐ(law) + κ (q (m − 1)(2h + a − 1) + (1 − q) m (a − 1)) + κ₁ q (1 + a),   q = m/n
//! check-in     Hₐ ≤ Hₐ(law) + κ g (n − 1)(2 g h + a − 1) + κ₁ g (1 + a)
//! ```
//!
//! With rates of their own in [lo, hi], the first g is lo and the two others are hi. Proof: `moved.proof.md`
//! beside this file.
//!
//! Such laws form a ladder: a smaller κ needs a wider law. Every rung is a bound. The best rung for an ε is
//! chosen by an estimate, and only that one is evaluated. The estimate is the central limit theorem plus the
//! effect of a single large likelihood ratio, which dominates where few users take part.

use super::alone::Alone;
use super::{CLOSED_FORM, UpperProfile, ln_of};
use crate::atoms::Atoms;
use crate::error::Error;
use crate::laws::profiles_with;
use crate::participation::Participation;
use crate::profile::{FINE, Profile};
use crate::round::Round;
use shuffledp_numerics::enclosure::Wanted;
use shuffledp_numerics::log_space::ln_add_exp;
use shuffledp_numerics::rounding::{exp_up, widen_up};
use shuffledp_numerics::special::{exp, expm1};
use std::sync::OnceLock;

/// Relative accuracy in ε to which a law is evaluated for a single answer …
const FINE_LAW: f64 = 1e-4;
/// … and for one of the many points of a composition. The distance of two rungs costs more accuracy than
/// either.
const COARSE_LAW: f64 = 1e-3;
/// A rung is not evaluated where its estimate of ln δ exceeds another bound by more than this: an estimate
/// may be too large by a factor of a few, and e^3 leaves a margin.
const ESTIMATE_MARGIN: f64 = 3.0;

/// The law of a rung.
pub(super) trait Law: Send + Sync {
    /// The law of one user's contribution.
    fn atoms(&self) -> Result<Atoms, Error>;

    /// χ² of it.
    fn chi_square(&self) -> f64;

    /// About E(P − t)₊, for a large t.
    fn beyond(&self, threshold: f64) -> f64;
}

/// One rung of a ladder.
#[derive(Clone, Debug)]
pub(super) struct Rung<L> {
    /// How far each other user's law is moved.
    pub(super) kappa: f64,
    /// How far user 1's two laws are moved.
    pub(super) own: f64,
    /// User 1's pair of laws after they were moved.
    pub(super) pair: Alone,
    /// The law that dominates the changed round.
    pub(super) law: L,
}

/// A ladder of laws of a round.
pub(super) struct Moved<L> {
    name: &'static str,
    round: Round,
    price: Price,
    rungs: Vec<Rung<L>>,
    profiles: Vec<OnceLock<Vec<Profile>>>,
}

impl<L> std::fmt::Debug for Moved<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Moved({}, {} rungs)", self.name, self.rungs.len())
    }
}

/// The cost of moving mass: κ·(`near`·(2h + a − 1) + `far`·(a − 1)) + κ₁·`own`·(1 + a).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Price {
    near: f64,
    far: f64,
    own: f64,
    /// The factor from χ² of a law to the variance of the loss.
    spread: f64,
    /// n.
    users: f64,
}

impl Price {
    fn of(round: &Round) -> Self {
        let n = round.honest() as f64;
        match round.participation() {
            Participation::Everyone => Self {
                near: n - 1.0,
                far: 0.0,
                own: 1.0,
                spread: 1.0 / n,
                users: n,
            },
            Participation::Sample(size) => {
                let m = (size as f64).min(n);
                let q = m / n;
                Self {
                    near: q * (m - 1.0),
                    far: (1.0 - q) * m,
                    own: q,
                    spread: q / n,
                    users: n,
                }
            }
            Participation::CheckIn(rate) => {
                let (lowest, highest) = (rate.lowest(), rate.highest());
                Self {
                    near: lowest * highest * (n - 1.0),
                    far: lowest * (1.0 - highest) * (n - 1.0),
                    own: highest,
                    spread: highest * highest / (lowest * n),
                    users: n,
                }
            }
        }
    }
}

impl<L: Law> Moved<L> {
    pub(super) fn new(name: &'static str, round: &Round, rungs: Vec<Rung<L>>) -> Self {
        Self {
            name,
            round: round.clone(),
            price: Price::of(round),
            profiles: rungs.iter().map(|_| OnceLock::new()).collect(),
            rungs,
        }
    }

    /// An upper bound on the cost of moving mass on this rung.
    fn moving(&self, rung: &Rung<L>, epsilon: f64) -> f64 {
        let Price { near, far, own, .. } = self.price;
        let (a, growth) = (exp_up(epsilon), expm1(epsilon));
        let others = near * (2.0 * rung.pair.delta(epsilon) + growth) + far * growth;
        (rung.kappa * others + rung.own * own * (1.0 + a)) * (1.0 + CLOSED_FORM)
    }

    /// The standard deviation of the loss by this rung, to leading order.
    fn deviation(&self, rung: &Rung<L>) -> f64 {
        (rung.law.chi_square() * self.price.spread).sqrt()
    }

    /// An estimate of the bound on δ(ε) by this rung, to choose among the rungs.
    fn estimate(&self, rung: &Rung<L>, epsilon: f64) -> f64 {
        let deviation = self.deviation(rung);
        if deviation == 0.0 {
            return self.moving(rung, epsilon);
        }
        let z = epsilon / deviation;
        let together = 0.4 * deviation / (1.0 + z * z) * exp(-0.5 * z * z);
        // One likelihood ratio exceeds the sum of all others, which add 1 − a each.
        let threshold = self.price.users * expm1(epsilon);
        let alone = match z > 1.0 && threshold > 1.0 {
            true => self.price.own * rung.law.beyond(threshold),
            false => 0.0,
        };
        together + alone + self.moving(rung, epsilon)
    }

    /// An upper bound on ln δ(ε) by one rung.
    pub(super) fn ln_delta_of(&self, index: usize, epsilon: f64, accuracy: f64) -> f64 {
        let laws = self.laws(index);
        if laws.is_empty() {
            return 0.0;
        }
        let of_law = |law: &Profile| law.ln_delta(epsilon, accuracy, Wanted::Upper).upper;
        let laws = laws.iter().map(of_law).fold(f64::NEG_INFINITY, f64::max);
        let moving = ln_of(self.moving(&self.rungs[index], epsilon));
        widen_up(ln_add_exp(laws, moving)).min(0.0)
    }

    /// The laws of a rung; none where they cannot be represented.
    fn laws(&self, index: usize) -> &[Profile] {
        self.profiles[index].get_or_init(|| {
            let law = self.rungs[index].law.atoms();
            law.and_then(|atoms| profiles_with(&self.round, atoms))
                .unwrap_or_default()
        })
    }
}

impl<L: Law> UpperProfile for Moved<L> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ln_delta(&self, epsilon: f64, accuracy: f64) -> f64 {
        self.ln_delta_unless(epsilon, accuracy, 0.0)
    }

    fn ln_delta_unless(&self, epsilon: f64, accuracy: f64, rival: f64) -> f64 {
        let estimates = self.rungs.iter().map(|rung| self.estimate(rung, epsilon));
        let best = estimates.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((index, estimate)) = best else {
            return 0.0;
        };
        if estimate.ln() > rival + ESTIMATE_MARGIN {
            return 0.0;
        }
        let accuracy = match accuracy <= FINE {
            true => FINE_LAW,
            false => COARSE_LAW,
        };
        self.ln_delta_of(index, epsilon, accuracy)
    }

    fn loss_limit(&self) -> f64 {
        f64::INFINITY
    }

    fn loss_deviation(&self) -> f64 {
        let deviations = self.rungs.iter().map(|rung| self.deviation(rung));
        let some = deviations.filter(|deviation| *deviation > 0.0);
        some.reduce(f64::min).unwrap_or(0.0)
    }

    fn is_expensive(&self) -> bool {
        true
    }

    /// The cost of moved mass grows as e^ε.
    fn may_rise(&self) -> bool {
        true
    }
}
