//! Calibration: the question in reverse. Given a budget (ε, δ), the best value of one parameter that still
//! meets it.
//!
//! ε rises with ε₀, with the rate of check-in and with the number of rounds, and falls with the number of
//! users and with σ. So the values that meet a budget, by the certified upper bound, are those on one side of
//! a threshold; `threshold` searches it until the value is within 0.05 % of it, or the neighbor of one that
//! does not meet the budget if it is a whole number. The answer is a value that was seen to meet the budget.
//! The same search by the lower bound gives a value that no better analysis can improve on: one that was seen
//! to exceed the budget, or its neighbor if it is a whole number.
//!
//! Where δ₀ is charged for every user, ε falls with the number of users and then rises again: the search is
//! on the side where it falls, below the number of users with about the least ε.

mod threshold;

use crate::account::{Account, account};
use crate::bound::{Answer, Delta, Epsilon, Side};
use crate::error::{Error, Parameter};
use crate::laws::Priced;
use crate::mechanism::Local;
use crate::plan::Plan;
use crate::profile::{FINE, above_wanted};
use crate::round::Round;
use shuffledp_numerics::rounding::{ln_down, ln_up};
use threshold::{FINE as ONE_PASS, Pass, ROUGH_FIRST, ROUGH_FIRST_BELOW, Values, threshold};

/// One round is tried at an ε this much, relatively, inside or beyond the budget, so that the search for ε,
/// which ends nearer to the truth, is on the same side.
const MARGIN: f64 = 1e-5;
/// The first stride of a search from scratch.
const STRIDE: f64 = 4.0;
/// The search for what no analysis can get further than begins where it would end if ε grew with this power
/// of the value. σ has a larger one, the numbers of users and of rounds a smaller one, …
const USUAL_POWER: f64 = 1.5;
/// … and goes on with this stride, …
const FIRST_STRIDE: f64 = 1.1;
/// … or with this one if the lower bound is far below the budget.
const FAR: f64 = -1.0;

/// The largest σ of discrete Gaussian noise, in the unit of the interval: devices draw it exactly, and are
/// limited to it.
const MOST_SIGMA_OF_DEVICES: f64 = 100.0;
/// Where more users are not always better, numbers of users this factor apart are tried first, …
const FIRST_FACTOR: f64 = 4.0;
/// … and then the neighbors of the best number at these factors. ε is proportional to n^{−1/2}, so that the
/// search ends within 1 % of the least ε.
const NEXT_FACTORS: [f64; 7] = [2.0, 1.4, 1.2, 1.1, 1.05, 1.02, 1.01];

/// The parameter that is solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The local guarantee.
    Epsilon0,
    /// The number of rounds.
    Rounds,
    /// The number of users.
    Users,
    /// The probability of taking part.
    CheckIn,
    /// The standard deviation of Gaussian noise.
    Sigma,
}

impl Unknown {
    /// The values to choose from, from the one with the least ε to the one with the most, and where to begin.
    fn range(self) -> (f64, f64, f64) {
        match self {
            Self::Epsilon0 => (1e-12, 100.0, 1.0),
            Self::Rounds => (1.0, 1e9, 16.0),
            Self::Users => (9_007_199_254_740_992.0, 2.0, 1e5),
            Self::CheckIn => (1e-9, 1.0, 0.1),
            // On a ball, which is twice as wide as an interval, the limit is twice as large.
            Self::Sigma => (1e6, 0.15, 2.0),
        }
    }

    /// The same for the rounds of `plan`, whose mechanism may allow a smaller or a larger range.
    fn range_of<E>(
        self,
        delta: Delta,
        plan: &impl Fn(f64) -> Result<Plan, E>,
    ) -> Result<(f64, f64, f64), Error> {
        let (easiest, limit, start) = self.range();
        let first = |values: [f64; 2]| values.into_iter().find(|value| plan(*value).is_ok());
        match self {
            Self::Sigma => {
                let easiest = first([easiest, MOST_SIGMA_OF_DEVICES]).unwrap_or(easiest);
                let least = |(round, _): &(Round, u64)| round.mechanism().least_sigma();
                // The least σ differs from mechanism to mechanism.
                let known = plan(easiest)
                    .ok()
                    .map(|plan| plan.rounds().iter().map(least).fold(0.0, f64::max));
                let known = known.unwrap_or(limit);
                Ok((easiest, first([known, 2.0 * known]).unwrap_or(known), start))
            }
            Self::Users if plan(easiest).is_ok_and(|plan| charges_each_user(&plan)) => {
                let easiest = users_with_least_epsilon(easiest, delta, plan)?;
                Ok((easiest, limit, start.min(easiest)))
            }
            _ => Ok((easiest, limit, start)),
        }
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Rounds | Self::Users)
    }

    /// The parameter.
    pub fn parameter(self) -> Parameter {
        match self {
            Self::Epsilon0 => Parameter::Epsilon0,
            Self::Rounds => Parameter::Rounds,
            Self::Users => Parameter::Users,
            Self::CheckIn => Parameter::CheckIn,
            Self::Sigma => Parameter::Sigma,
        }
    }

    /// Six digits, rounded towards one end of the range.
    fn short(self, value: f64, towards: f64, (easiest, limit, _): (f64, f64, f64)) -> f64 {
        if self.is_whole() {
            return value;
        }
        let scale = 10f64.powf(5.0 - value.log10().floor());
        let short = if towards < value {
            (value * scale).floor() / scale
        } else {
            (value * scale).ceil() / scale
        };
        short.clamp(easiest.min(limit), easiest.max(limit))
    }
}

/// A value that meets the budget.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The best value that meets the budget.
    pub value: f64,
    /// Whether it is the end of the range of allowed values, so that no budget allows a better one.
    pub is_extreme: bool,
    /// ε there.
    pub answer: Answer<Epsilon>,
    /// No analysis can show that a value better than this meets the budget; none where no lower bound is
    /// known.
    pub at_best: Option<f64>,
}

/// The best value of `unknown` for which `plan` of it has ε at most `target` at `delta`.
///
/// ```
/// use shuffledp_accounting::{Delta, Epsilon, Error, Mechanism, Plan, Round, Unknown, calibrate};
/// // How large may the local epsilon be, for a central one of 0.5?
/// let plan = |epsilon0| -> Result<Plan, Error> {
///     Plan::new(Round::new(Mechanism::ldp(epsilon0)?, 10_000)?, 10)
/// };
/// let best = calibrate(Unknown::Epsilon0, Epsilon::new(0.5)?, Delta::new(1e-6)?, plan)?;
/// assert!(best.answer.upper().value() <= 0.5);
/// assert!(best.value > 2.0 && best.at_best >= Some(best.value));
/// # Ok::<(), shuffledp_accounting::Error>(())
/// ```
pub fn calibrate<E: From<Error>>(
    unknown: Unknown,
    target: Epsilon,
    delta: Delta,
    plan: impl Fn(f64) -> Result<Plan, E>,
) -> Result<Calibration, E> {
    let (budget, at) = (target.value(), delta.value());
    // Refuses a δ that no account answers, before anything is searched.
    let range = unknown.range_of(delta, &plan)?;
    let (easiest, limit, start) = range;
    account(&plan(easiest)?)?;
    let excess = |value: f64, accuracy: Option<f64>, side: Side| {
        let Ok(plan) = plan(value) else {
            // For example a sample larger than the number of users. The easiest value was seen to be valid.
            return Ok(f64::INFINITY);
        };
        let account = account(&plan)?;
        excess_of(&account, unknown.is_whole(), (side, accuracy), (at, budget))
    };
    // One round is known at one accuracy alone.
    let is_composed = unknown == Unknown::Rounds || !is_one_round(&account(&plan(easiest)?)?);
    let passes = |side: Side| -> &[Pass] {
        match side {
            _ if !is_composed => &ONE_PASS,
            Side::Lower if !unknown.is_whole() => &ROUGH_FIRST_BELOW,
            _ => &ROUGH_FIRST,
        }
    };
    let values = |side: Side| Values {
        easiest,
        limit,
        whole: unknown.is_whole(),
        meets: side == Side::Upper,
    };
    let search = |side: Side, first: (f64, f64)| {
        threshold(values(side), first, passes(side), |value, accuracy| {
            excess(value, accuracy, side)
        })
    };
    let found = search(Side::Upper, (start, STRIDE))?;
    let Some(value) = found.met else {
        return Err(E::from(Error::BudgetNotMet {
            parameter: unknown.parameter(),
            value: easiest,
            epsilon: account(&plan(easiest)?)?.epsilon(delta)?.upper().value(),
            target: budget,
        }));
    };
    let is_extreme = value == limit;
    // To the side where ε is smaller, so that the value still meets the budget.
    let value = unknown.short(value, easiest, range);
    let attains = |(round, _): &(Round, u64)| round.mechanism().has_lower_bound();
    let answer = account(&plan(value)?)?.epsilon(delta)?;
    let at_best = match plan(value)?.rounds().iter().all(attains) {
        true if is_extreme => Some(value),
        // What meets the budget by the upper bound meets it by the lower one.
        true => {
            let known = excess_over(budget, answer.lower().value());
            let first = match known > FAR {
                true => (value.ln() - known / USUAL_POWER * (limit / easiest).ln().signum()).exp(),
                false => value,
            };
            let stride = if known > FAR { FIRST_STRIDE } else { STRIDE };
            let first = first.clamp(easiest.min(limit), easiest.max(limit));
            let found = search(Side::Lower, (first, stride))?;
            Some(match found.unmet {
                None => limit,
                Some(_) if unknown.is_whole() => found.met.unwrap_or(value),
                // To the side where ε is larger, so that the value still exceeds the budget.
                Some(unmet) => unknown.short(unmet, limit, range),
            })
        }
        false => None,
    };
    Ok(Calibration {
        value,
        is_extreme,
        answer,
        at_best,
    })
}

/// How far the bound of one side is above the budget: positive if it exceeds it, negative or zero if it meets
/// it. Of several rounds it is ln of ε over the budget. Of one round too where a whole number is searched:
/// the next number may be closer than the margin of a rounding.
fn excess_of(
    account: &Account,
    is_whole: bool,
    (side, accuracy): (Side, Option<f64>),
    (delta, budget): (f64, f64),
) -> Result<f64, Error> {
    let excess = |account: &Account| {
        let epsilon = match side {
            Side::Upper => account.upper_epsilon(delta),
            Side::Lower => account.lower_epsilon(delta),
        };
        epsilon.map(|epsilon| excess_over(budget, epsilon))
    };
    match &account.rounds[..] {
        [(_, 1)] if is_whole => return excess(account),
        [(round, 1)] => return Ok(round.excess(side, delta, budget)),
        _ => {}
    }
    let passes = ROUGH_FIRST_BELOW.iter().filter_map(|pass| pass.accuracy);
    for rough in passes.filter(|rough| accuracy.is_some_and(|most| *rough <= most)) {
        let rough = excess(&account.clone().with_accuracy(rough)?)?;
        // A lower bound of zero may be one that was lost, and says nothing about where the threshold is.
        if side == Side::Upper || rough.is_finite() {
            return Ok(rough);
        }
    }
    excess(account)
}

/// Whether it is a single round, which is answered without composition.
fn is_one_round(account: &Account) -> bool {
    matches!(account.rounds[..], [(_, 1)])
}

impl Priced {
    /// How far δ at the budget is above `delta`, by the bound of one side: one evaluation, where a search for
    /// ε takes ten. An upper bound that may rise with ε may hold before the budget and not at it, so that ε
    /// is searched for.
    fn excess(&self, side: Side, delta: f64, budget: f64) -> f64 {
        match side {
            Side::Upper if self.dominating.may_rise() => {
                excess_over(budget, self.dominating.epsilon(delta).0)
            }
            Side::Upper => {
                let (ln, _) = self.dominating.ln_delta(budget * (1.0 - MARGIN), FINE);
                above_wanted(ln, ln_down(delta))
            }
            Side::Lower => {
                let (attained, _) = self.lower_delta(budget * (1.0 + MARGIN));
                above_wanted(ln_down(attained), ln_up(delta))
            }
        }
    }
}

/// ln of ε over the budget; a budget of zero is met by zero.
fn excess_over(budget: f64, epsilon: f64) -> f64 {
    match epsilon > 0.0 {
        true => (epsilon / budget).ln(),
        false => f64::NEG_INFINITY,
    }
}

/// Whether every user adds to δ, so that more users are not always better.
fn charges_each_user(plan: &Plan) -> bool {
    let is_approximate =
        |(round, _): &(Round, u64)| matches!(round.mechanism().local(), Local::Approximate(..));
    plan.rounds().iter().any(is_approximate)
}

/// The number of users with about the least ε. Numbers are tried from the largest down, until ε has risen to
/// twice the least.
fn users_with_least_epsilon<E>(
    largest: f64,
    delta: Delta,
    plan: &impl Fn(f64) -> Result<Plan, E>,
) -> Result<f64, Error> {
    let upper = |plan: Plan| match account(&plan)?.epsilon(delta) {
        Ok(answer) => Ok(answer.upper().value()),
        Err(Error::NoFiniteEpsilon { .. }) => Ok(f64::INFINITY),
        Err(error) => Err(error),
    };
    let (mut users, mut best) = (largest, (largest, f64::INFINITY));
    while let Ok(plan) = plan(users) {
        let epsilon = upper(plan)?;
        if epsilon < best.1 {
            best = (users, epsilon);
        }
        // A quarter of the users has about twice the ε, where δ₀ is negligible.
        if epsilon > 2.0 * best.1 {
            break;
        }
        users = (users / FIRST_FACTOR).floor();
    }
    for factor in NEXT_FACTORS {
        for users in [best.0 / factor, best.0 * factor] {
            let users = users.floor();
            if let Ok(plan) = plan(users) {
                let epsilon = upper(plan)?;
                if epsilon < best.1 {
                    best = (users, epsilon);
                }
            }
        }
    }
    Ok(best.0)
}
