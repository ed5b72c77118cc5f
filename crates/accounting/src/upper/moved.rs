//! Laws that hold after a little mass was moved.
//!
//! Let the laws of all reports be changed so that the law of everything the analyzer sees moves by at most τ
//! in total variation, on either dataset, and let a law of atoms dominate the changed round. Then
//!
//! ```text
//! Hα ≤ Hα(law) + (1 + α) τ:      Hα(P‖Q) ≤ Hα(P′‖Q′) + TV(P, P′) + α TV(Q, Q′).
//! ```
//!
//! Such laws come as a ladder: a smaller τ costs a wider law. Every rung is a bound, so the best one for an
//! ε is chosen by an estimate, the central limit theorem, and only that one is evaluated.

use super::{CLOSED_FORM, UpperProfile, ln_of};
use crate::error::Error;
use crate::gaussian::gdp_delta;
use crate::profile::Profile;
use shuffledp_numerics::enclosure::Wanted;
use shuffledp_numerics::log_space::ln_add_exp;
use shuffledp_numerics::rounding::{exp_up, widen_up};
use std::sync::OnceLock;

/// One rung: what was moved, and the laws that dominate then.
pub(super) struct Rung {
    /// The total variation between the true and the changed outputs, at most.
    moved: f64,
    /// The standard deviation of the loss by the laws, to leading order.
    deviation: f64,
    /// Makes the laws.
    make: Box<dyn Fn() -> Result<Vec<Profile>, Error> + Send + Sync>,
    made: OnceLock<Option<Vec<Profile>>>,
}

impl std::fmt::Debug for Rung {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Rung(moved {:e}, deviation {:e})",
            self.moved, self.deviation
        )
    }
}

impl Rung {
    pub(super) fn new(
        moved: f64,
        deviation: f64,
        make: impl Fn() -> Result<Vec<Profile>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            moved: moved * (1.0 + CLOSED_FORM),
            deviation,
            make: Box::new(make),
            made: OnceLock::new(),
        }
    }

    /// About δ(ε) by this rung, for choosing among them.
    fn estimate(&self, epsilon: f64, price: f64) -> f64 {
        gdp_delta(self.deviation, epsilon) + price * self.moved
    }

    /// At or above ln δ(ε) by this rung.
    fn ln_delta(&self, epsilon: f64, price: f64, accuracy: f64) -> f64 {
        // A law that cannot be represented gives no bound.
        let Some(laws) = self.made.get_or_init(|| (self.make)().ok()) else {
            return 0.0;
        };
        let of_law = |law: &Profile| law.ln_delta(epsilon, accuracy, Wanted::Upper).upper;
        let laws = laws.iter().map(of_law).fold(f64::NEG_INFINITY, f64::max);
        let moved = ln_of(widen_up(price * self.moved));
        widen_up(ln_add_exp(laws, moved)).min(0.0)
    }
}

/// A ladder of such laws.
#[derive(Debug)]
pub(super) struct Moved {
    name: &'static str,
    rungs: Vec<Rung>,
}

impl Moved {
    /// `None` without a rung.
    pub(super) fn new(name: &'static str, rungs: Vec<Rung>) -> Option<Self> {
        (!rungs.is_empty()).then_some(Self { name, rungs })
    }
}

impl UpperProfile for Moved {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ln_delta(&self, epsilon: f64, accuracy: f64) -> f64 {
        let price = widen_up(1.0 + exp_up(epsilon));
        let estimates = self.rungs.iter().map(|rung| rung.estimate(epsilon, price));
        let best = estimates.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match best {
            Some((index, estimate)) if estimate < 1.0 => {
                self.rungs[index].ln_delta(epsilon, price, accuracy)
            }
            _ => 0.0,
        }
    }

    fn loss_limit(&self) -> f64 {
        f64::INFINITY
    }

    fn loss_deviation(&self) -> f64 {
        let deviations = self.rungs.iter().map(|rung| rung.deviation);
        deviations.fold(f64::INFINITY, f64::min)
    }

    fn is_expensive(&self) -> bool {
        true
    }
}
