//! The best randomizer of gradients for a budget, a number of reports and a limit on ε₀.
//!
//! T rounds of m of n users with d coordinates. For every randomizer of vectors that is described by ε₀
//! alone, ε₀ is the largest that keeps all rounds within (ε, δ), certified, and within the limit. Its reports
//! are then worth
//!
//! ```text
//! efficiency = (m T d/L²) / (μ² n²/4),      L² = E‖decoded report‖² for a gradient of length 1
//! ```
//!
//! The numerator is the squared ratio of signal to noise of all mean gradients together, in units of one
//! coordinate. The denominator is the same for a trusted server that adds Gaussian noise to the sum over all
//! users, at the same (ε, δ): μ is the parameter of Gaussian differential privacy that allows it (Dong, Roth,
//! Su 2022). With very many reports the efficiency tends to 4η, η as of
//! [`DirectionLaw::efficiency`](shuffledp_accounting::DirectionLaw::efficiency). Every randomizer is worth
//! more at a smaller ε₀, which takes more reports: the number of reports is the price of accuracy.
//!
//! Who takes part, and how the examples differ from each other, adds noise that is in neither number.

use super::spec::{RunSpec, randomizers};
use crate::error::Error;
use shuffledp_accounting::{
    Delta, Domain, Epsilon, Input, Mechanism, Parameter, Plan, RandomizerSpec, Round, VectorNorm,
    account, grouped, plain, unshuffled,
};
use shuffledp_numerics::search::{bisect_on_log_scale, falling_crossing};
use shuffledp_numerics::special::ln;
use shuffledp_randomizers::{Device, Randomizer as _};

/// The name that stands for the choice.
pub const AUTO: &str = "auto";
/// Rounds where the number is not given, unless everybody taking part in all of them is less than the reports
/// asked for: enough steps for a convex model. Only the number of reports counts for privacy.
const FEWEST_ROUNDS: u64 = 100;
/// The range of μ that is searched: from what Gaussian noise of the largest σ has …
const LEAST_MU: f64 = 2e-6;
/// … to what that of the smallest has, whose ε at any δ of use is beyond 20.
const MOST_MU: f64 = 6.5;
/// The range of ε₀ that is searched: below it a report says next to nothing …
const LEAST_EPSILON0: f64 = 1e-3;
/// … and above it everything.
const MOST_EPSILON0: f64 = 30.0;
/// The search begins here.
const TYPICAL_EPSILON0: f64 = 3.0;
/// The search ends when ε₀ is known this well, relatively, which changes the efficiency by less than 1 %.
const TOLERANCE: f64 = 1e-3;
/// Relative accuracy of ε in the search, on the safe side: a finer one takes longer than it gains.
const ACCURACY: f64 = 3e-3;
/// Relative accuracy of μ.
const MU_ACCURACY: f64 = 1.0001;

/// A randomizer with the ε₀ that the budget allows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// Its name in the catalog.
    pub randomizer: &'static str,
    /// The largest ε₀ within budget and limit.
    pub epsilon0: f64,
    /// The certified ε of all rounds.
    pub epsilon: f64,
    /// What its reports are worth, of a trusted server's.
    pub efficiency: f64,
}

/// What was chosen, and among what.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Selection {
    /// T.
    pub rounds: u64,
    /// m.
    pub sample: u64,
    /// The best first.
    pub candidates: Vec<Candidate>,
}

impl Selection {
    /// For gradients of `dimension` coordinates of so many users. The description has a budget and a number
    /// of reports: [`RunSpec::check`] saw to that.
    pub(super) fn new(spec: &RunSpec, dimension: usize, users: u64) -> Result<Self, Error> {
        let (Some(target), Some(reports)) = (spec.target_epsilon, spec.reports) else {
            return Err(Error::needed("reports", REPORTS, ("randomizer", AUTO)));
        };
        let (target, delta) = (Epsilon::new(target)?, Delta::new(spec.delta)?);
        if let Some(most) = spec.max_epsilon0
            && most < LEAST_EPSILON0
        {
            let allowed = format!("[{LEAST_EPSILON0}, inf)");
            return Err(Error::parameter("max_epsilon0", plain(most), allowed));
        }
        let rounds = spec
            .rounds
            .unwrap_or_else(|| reports.div_ceil(users).max(FEWEST_ROUNDS));
        let sample = (reports / rounds.max(1)).min(users);
        if sample == 0 {
            let allowed = format!("[{rounds}, inf): one for each round at least");
            return Err(Error::parameter("reports", reports, allowed));
        }
        let colluding = spec.colluding.unwrap_or(0.0);
        let trusted = trusted(target, delta, users)?;
        let of = (sample as f64) * (rounds as f64) * dimension as f64;
        let (mut candidates, mut guess) = (Vec::new(), TYPICAL_EPSILON0);
        for entry in randomizers() {
            let mut described = RandomizerSpec::new(entry.name())?;
            if entry.needs() != [Parameter::Epsilon0]
                || entry.input() != Input::Vector(VectorNorm::L2)
            {
                continue;
            }
            described.dimension = Some(dimension as u64);
            let plan = |epsilon0: f64| -> Result<Plan, Error> {
                let mut randomizer = described.clone();
                randomizer.epsilon0 = Some(epsilon0.into());
                let round = Round::of(randomizer, users)?.colluding(colluding)?;
                Ok(Plan::new(round.sample(sample)?, rounds)?)
            };
            // ln of the budget over what is spent: falls with ε₀, and what has no price is beyond any budget.
            let left = |epsilon0: f64| -> Result<f64, Error> {
                let account = account(&plan(epsilon0)?)?.with_accuracy(ACCURACY)?;
                let spent = account.epsilon(delta)?.upper().value();
                Ok(ln(target.value() / spent))
            };
            // Not a number where the budget is zero.
            let most = left(LEAST_EPSILON0)?;
            if most.is_nan() || most <= 0.0 {
                continue;
            }
            let ends = (LEAST_EPSILON0, MOST_EPSILON0);
            let found = falling_crossing(ends.0, ends.1, (guess, 0.1), TOLERANCE, |epsilon0| {
                left(epsilon0).unwrap_or(f64::NEG_INFINITY)
            });
            guess = found.above;
            // In four decimals, which a person can type.
            let epsilon0 = ((found.above * 1e4).floor() / 1e4).max(LEAST_EPSILON0);
            let epsilon0 = match spec.max_epsilon0 {
                Some(most) => epsilon0.min(most),
                None => epsilon0,
            };
            let answer = account(&plan(epsilon0)?)?.epsilon(delta)?;
            let mut randomizer = described.clone();
            randomizer.epsilon0 = Some(epsilon0.into());
            let Ok(Device::Vector(device)) = Device::new(&randomizer, 1.0) else {
                // A budget may allow an ε₀ that no device has.
                continue;
            };
            let mut longest = vec![0.0; dimension];
            longest[0] = 1.0;
            candidates.push(Candidate {
                randomizer: entry.name(),
                epsilon0,
                epsilon: answer.upper().value(),
                efficiency: of / (1.0 + device.variance(&longest)) / trusted,
            });
        }
        candidates.sort_by(|a, b| b.efficiency.total_cmp(&a.efficiency));
        match candidates.is_empty() {
            true => Err(Error::Budget {
                target: target.value(),
                delta: delta.value(),
            }),
            false => Ok(Self {
                rounds,
                sample,
                candidates,
            }),
        }
    }

    /// The description with the best candidate in it.
    pub(super) fn applied(&self, spec: RunSpec) -> RunSpec {
        let best = self.candidates.first();
        RunSpec {
            randomizer: best.map(|best| best.randomizer.to_owned()),
            epsilon0: best.map(|best| best.epsilon0),
            sample: Some(self.sample),
            rounds: Some(self.rounds),
            reports: None,
            max_epsilon0: None,
            ..spec
        }
    }

    /// What was chosen, in sentences.
    pub(super) fn sentence(&self, target: f64, delta: f64) -> String {
        let of = |candidate: &Candidate| {
            format!(
                "{} at epsilon0 = {}: {:.1} %",
                candidate.randomizer,
                plain(candidate.epsilon0),
                100.0 * candidate.efficiency
            )
        };
        let all: Vec<String> = self.candidates.iter().map(of).collect();
        format!(
            "Chosen for epsilon = {} at delta = {} with {} reports, by their worth against a trusted server \
             that hears everybody: {}.",
            plain(target),
            plain(delta),
            grouped(self.sample.saturating_mul(self.rounds)),
            all.join("; ")
        )
    }
}

/// What [`RunSpec::reports`] is.
pub(super) const REPORTS: &str = "how many reports may be computed in all";

/// μ² n²/4.
fn trusted(target: Epsilon, delta: Delta, users: u64) -> Result<f64, Error> {
    // Two gradients of length 1 are 2 apart.
    let within = |mu: f64| -> Result<bool, Error> {
        let noise = Mechanism::gaussian(2.0 / mu, Domain::Ball)?;
        Ok(unshuffled(&noise, 1, delta)?.upper().get() <= target)
    };
    within(LEAST_MU)?;
    let found = bisect_on_log_scale(MOST_MU, LEAST_MU, MU_ACCURACY, |mu| {
        within(mu).unwrap_or(false)
    });
    Ok((found.holds * users as f64).powi(2) / 4.0)
}
