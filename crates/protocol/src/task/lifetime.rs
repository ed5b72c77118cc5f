//! What all answers of one person cost together, to all the tasks that they were given to.
//!
//! A task prices its own windows. Nobody but the device knows to which other tasks it answers, and somebody
//! who asks the same question under fifty names is told fifty times as much.
//!
//! ```text
//! shuffled   the rounds of all tasks, composed by the accountant: every shuffler does as it should, and
//!            every batch has the people whom its task promises
//! alone      Σ ε(tᵢ reports of task i, δ/k) over k tasks: whoever knows which report is whose
//! ```
//!
//! Both are about one change, that of [`Relation`], of a person's value, and are upper bounds at δ. They
//! count every answered window of a task as one round of its smallest batch; the coin of a device is not
//! credited.
//!
//! Standing: that of the rounds; the sum by basic composition, in ordinary floating point.

use super::{TaskError, TaskSpec, smallest};
use serde::Serialize;
use shuffledp_accounting::{Delta, Epsilon, Plan, Relation, account, unshuffled};
use shuffledp_randomizers::Device;

/// What answers to several tasks cost together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Lifetime {
    /// At this δ.
    pub delta: f64,
    /// Which change it is about; none where nothing was answered.
    pub relation: Option<Relation>,
    /// An upper bound on ε for who sees batches alone, if all is as the tasks promise.
    pub shuffled: f64,
    /// An upper bound on ε for who knows which report is whose, so also for a shuffler that is not honest;
    /// none where a randomizer guarantees nothing without the others.
    pub alone: Option<f64>,
}

/// The cost of so many answered windows of each of these tasks at `delta`.
///
/// ```
/// # use shuffledp_accounting::{RandomizerSpec, RoundSpec};
/// # use shuffledp_protocol::task::{Bytes32, TaskSpec, Values, lifetime};
/// # let mut randomizer = RandomizerSpec::new("krr")?;
/// # (randomizer.k, randomizer.epsilon0) = (Some(3), Some(2.0.into()));
/// # let mut round = RoundSpec::new(randomizer);
/// # round.users = Some(1000);
/// # let spec = TaskSpec {
/// #     name: "commute".to_owned(),
/// #     round,
/// #     values: Values::Numbered,
/// #     epsilon: 0.4,
/// #     delta: 1e-6,
/// #     window_seconds: None,
/// #     tokens: None,
/// #     second_shuffler: None,
/// #     analyzer_key: Bytes32([7; 32]),
/// # };
/// let (once, twice) = (lifetime([(&spec, 1)], 1e-6)?, lifetime([(&spec, 1), (&spec, 1)], 1e-6)?);
/// assert!(once.shuffled < twice.shuffled && twice.shuffled < 2.0 * once.shuffled);
/// assert!(once.alone.is_some_and(|alone| alone <= 2.0 + 1e-6));
/// assert_eq!(lifetime([], 1e-6)?.shuffled, 0.0);
/// # Ok::<(), shuffledp_protocol::task::TaskError>(())
/// ```
pub fn lifetime<'t>(
    answered: impl IntoIterator<Item = (&'t TaskSpec, u64)>,
    delta: f64,
) -> Result<Lifetime, TaskError> {
    let answered = answered.into_iter().filter(|(_, windows)| *windows > 0);
    let answered: Vec<(&TaskSpec, u64)> = answered.collect();
    let at = Delta::of_epsilon(delta)?;
    let share = Delta::of_epsilon(delta / answered.len().max(1) as f64)?;
    let (mut plan, mut alone) = (None, Some(0.0));
    for (spec, windows) in answered {
        let device = Device::new(&spec.round.randomizer, spec.values.radius())?;
        let round = smallest(&spec.round, &device)?;
        plan = Some(match plan {
            None => Plan::new(round, windows)?,
            Some(plan) => Plan::then(plan, round, windows)?,
        });
        let local = unshuffled(device.mechanism(), windows, share).ok();
        let local = local.map(|answer| answer.upper().value());
        alone = alone.zip(local).map(|(sum, local)| sum + local);
    }
    let Some(plan) = plan else {
        return Ok(Lifetime {
            delta,
            relation: None,
            shuffled: 0.0,
            alone,
        });
    };
    let spent = account(&plan)?.epsilon(at)?;
    Ok(Lifetime {
        delta,
        relation: Some(spent.relation()),
        shuffled: spent.upper().value(),
        alone,
    })
}

/// Refuses a budget that is none.
pub fn check_budget(epsilon: f64, delta: f64) -> Result<(), TaskError> {
    Epsilon::new(epsilon)?;
    Delta::of_epsilon(delta)?;
    Ok(())
}
