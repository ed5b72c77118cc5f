//! A task: what devices, shuffler and analyzer of a collection agree on before the first report, in one file.
//!
//! A task has a round (the randomizer and its parameters, the size of the smallest batch that may be
//! released, the probability that a device answers, the share of a batch that may collude, how often a device
//! answers at most), what the values mean, the (ε, δ) that its users are promised for every batch, the length
//! of a window, the analyzer's public key, and, if there are any, who signs tokens and the second shuffler's
//! public key. Its *id* is the hash of all of this ([`Task::encoding`]). Every message is bound to the id: a
//! party that changes a number has another task, and opens nothing of this one.
//!
//! A [`Task`] exists only where the accountant certifies what it promises
//! ([`of_batch`]).

mod bytes;
mod encoding;
mod findings;
mod guarantee;
mod lifetime;
mod values;

pub use bytes::{Bytes32, NotBytes32};
pub use findings::{Finding, Findings};
pub use guarantee::{BatchGuarantee, Guarantee};
pub use lifetime::{Lifetime, check_budget, lifetime};
pub use values::{Value, Values};

use crate::token::Issuer;
use serde::{Deserialize, Serialize};
use shuffledp_accounting::{
    Answer, Delta, Epsilon, Input, Parameter, PerUser, Plan, Round, RoundSpec, account, grouped,
    of_batch, plain,
};
use shuffledp_randomizers::{Coin, Device, Error, Secure};

/// The longest report of a task, in bytes: a shuffler sets aside as much for every envelope.
const LONGEST_REPORT: usize = 1 << 20;
/// The longest name of a task, in bytes.
const LONGEST_NAME: usize = 100;
/// The longest window, in seconds: ten years.
const LONGEST_WINDOW: u64 = 315_360_000;

/// Why there is no such task, or why a value or a batch is not one of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The round cannot be priced.
    #[error(transparent)]
    Accounting(#[from] shuffledp_accounting::Error),
    /// The randomizer cannot be run, a value is outside its domain, or there is no randomness.
    #[error(transparent)]
    Randomizer(#[from] Error),
    /// A part that is not what is allowed.
    #[error("{parameter} {value} is not {allowed}")]
    Parameter {
        /// Which one.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// More is promised than is certified.
    #[error(
        "epsilon {claimed} at delta {delta} is promised, and {certified} is certified for a batch of {users} \
         reports: promise more, raise the smallest batch, or lower epsilon0"
    )]
    NotCertified {
        /// The promise.
        claimed: String,
        /// At this δ.
        delta: String,
        /// The accountant's upper bound.
        certified: String,
        /// The smallest batch.
        users: String,
    },
    /// A sample is chosen by somebody who knows all users; a shuffler does not.
    #[error("a task has no sample: devices answer all, or each with the same check-in rate")]
    Sample,
    /// Devices that look at other reports.
    #[error("the devices of a task do not look at earlier reports")]
    AdaptiveWithinRound,
    /// Vectors without a number of coordinates.
    #[error("a task about vectors needs dimension, the number of their coordinates")]
    NoDimension,
    /// Values that the randomizer has no use for.
    #[error("the randomizer of the task needs {needed} for its values")]
    OtherValues {
        /// What it needs.
        needed: &'static str,
    },
    /// A value of another kind than the randomizer's.
    #[error("the randomizer of the task is for {input}")]
    OtherInput {
        /// Its kind.
        input: Input,
    },
    /// A value that is not one of the task's.
    #[error("value {text:?} is not {allowed}")]
    Value {
        /// As it was given.
        text: String,
        /// What is allowed.
        allowed: String,
    },
    /// A part that no encoding is defined for.
    #[error("{field} cannot be part of a task")]
    NotEncoded {
        /// Which one.
        field: String,
    },
    /// A file that is not a task.
    #[error("not a task: {message}")]
    Syntax {
        /// What is wrong, and where.
        message: String,
    },
    /// A file whose id is not that of its contents: one of them was changed.
    #[error("the task says that its id is {said}, and its contents have the id {computed}")]
    OtherId {
        /// The id in the file.
        said: Bytes32,
        /// The id of the contents.
        computed: Bytes32,
    },
}

impl TaskError {
    fn parameter(parameter: &'static str, value: String, allowed: &'static str) -> Self {
        Self::Parameter {
            parameter,
            value,
            allowed,
        }
    }
}

/// The description of a task: parsed, and not yet checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// What people call it.
    pub name: String,
    /// The round. Its users are the reports of the smallest batch, its rounds the windows that a device
    /// answers at most, its check-in rate the probability that it answers a window.
    pub round: RoundSpec,
    /// What the values mean.
    pub values: Values,
    /// The ε that every batch is promised.
    pub epsilon: f64,
    /// The δ that every batch is promised.
    pub delta: f64,
    /// The length of a window; none where windows are closed by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_seconds: Option<u64>,
    /// The analyzer's public key.
    pub analyzer_key: Bytes32,
    /// Who signs the token of a report; none where reports have no tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Issuer>,
    /// The public key of the second shuffler; none where there is one shuffler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_shuffler: Option<Bytes32>,
}

/// A task as it is kept in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: Bytes32,
    task: TaskSpec,
}

/// A task whose promise is certified.
///
/// ```
/// use shuffledp_accounting::{RandomizerSpec, RoundSpec};
/// use shuffledp_protocol::task::{Bytes32, Task, TaskSpec, Values};
///
/// let mut randomizer = RandomizerSpec::new("krr")?;
/// (randomizer.k, randomizer.epsilon0) = (Some(3), Some(2.0.into()));
/// let mut round = RoundSpec::new(randomizer);
/// (round.users, round.rounds) = (Some(1000), 30);
/// let spec = TaskSpec {
///     name: "commute".to_owned(),
///     round,
///     values: Values::Labels(["bike", "bus", "car"].map(str::to_owned).to_vec()),
///     epsilon: 0.4,
///     delta: 1e-6,
///     window_seconds: Some(86_400),
///     analyzer_key: Bytes32([7; 32]),
///     tokens: None,
///     second_shuffler: None,
/// };
/// let task = Task::new(spec.clone())?;
/// assert!(task.answer().upper().value() <= 0.4);
/// assert_eq!(Task::from_json(&task.to_json())?.id(), task.id());
/// // No promise below what is certified.
/// assert!(Task::new(TaskSpec { epsilon: 0.3, ..spec }).is_err());
/// # Ok::<(), shuffledp_protocol::task::TaskError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Task {
    spec: TaskSpec,
    device: Device,
    coin: Option<Coin>,
    answer: Answer<Epsilon>,
    encoding: Vec<u8>,
    id: Bytes32,
}

impl Task {
    /// Checks the description, and that the accountant certifies its promise.
    pub fn new(spec: TaskSpec) -> Result<Self, TaskError> {
        check_words(&spec)?;
        let rate = rate(&spec.round)?;
        let device = Device::new(&spec.round.randomizer, spec.values.radius())?;
        if matches!(device, Device::Vector(_)) && spec.round.randomizer.dimension.is_none() {
            return Err(TaskError::NoDimension);
        }
        spec.values.check(&device, categories(&spec))?;
        let length = device.report_length();
        if length > LONGEST_REPORT {
            let allowed = "at most 2^20 bytes long";
            return Err(TaskError::parameter(
                "report",
                format!("of {length} bytes"),
                allowed,
            ));
        }
        let (claimed, delta) = (Epsilon::new(spec.epsilon)?, Delta::of_epsilon(spec.delta)?);
        let smallest = smallest(&spec.round, &device)?;
        let answer = of_batch(&smallest, rate, delta)?;
        if answer.upper().value() > claimed.value() {
            return Err(TaskError::NotCertified {
                claimed: plain(claimed.value()),
                delta: plain(delta.value()),
                certified: answer.upper().to_string(),
                users: grouped(smallest.users()),
            });
        }
        let coin = (rate < 1.0).then(|| Coin::at_most(rate, 1.0 - rate));
        // The length is at most 2^20.
        let encoding = encoding::encode(&spec, length as u32)?;
        let id = Bytes32(encoding::id(&encoding));
        Ok(Self {
            spec,
            device,
            coin,
            answer,
            encoding,
            id,
        })
    }

    /// Reads the file of a task, and checks everything again, its id and its promise too.
    pub fn from_json(text: &str) -> Result<Self, TaskError> {
        let file: File = serde_json::from_str(text).map_err(|error| TaskError::Syntax {
            message: error.to_string(),
        })?;
        let task = Self::new(file.task)?;
        match task.id == file.id {
            true => Ok(task),
            false => Err(TaskError::OtherId {
                said: file.id,
                computed: task.id,
            }),
        }
    }

    /// The file of the task.
    pub fn to_json(&self) -> String {
        let file = File {
            id: self.id,
            task: self.spec.clone(),
        };
        // Texts, finite numbers and lists of them: nothing that JSON cannot hold.
        let text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text + "\n"
    }

    /// The hash of everything in it.
    pub fn id(&self) -> Bytes32 {
        self.id
    }

    /// The bytes that the id is the hash of.
    pub fn encoding(&self) -> &[u8] {
        &self.encoding
    }

    /// Its description.
    pub fn spec(&self) -> &TaskSpec {
        &self.spec
    }

    /// The randomizer that devices run, and the analyzer reads with.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The number of reports that a batch must have to be released.
    pub fn smallest_batch(&self) -> u64 {
        // Without a number of users there is no task.
        self.spec.round.users.unwrap_or(u64::MAX)
    }

    /// The length of a report in bytes.
    pub fn report_length(&self) -> usize {
        self.device.report_length()
    }

    /// What one batch costs: of the smallest size, and never more than was promised.
    pub fn answer(&self) -> &Answer<Epsilon> {
        &self.answer
    }

    /// What it costs a person to answer as many windows as a device answers at most. Every window is counted
    /// as answered: the coin is not credited.
    pub fn total(&self) -> Result<Answer<Epsilon>, TaskError> {
        let smallest = smallest(&self.spec.round, &self.device)?;
        let delta = Delta::of_epsilon(self.spec.delta)?;
        Ok(account(&Plan::new(smallest, self.spec.round.rounds)?)?.epsilon(delta)?)
    }

    /// Throws a device's coin: whether it answers a window. It is thrown once for every window.
    pub fn answers(&self, random: &mut Secure) -> bool {
        self.coin.is_none_or(|coin| coin.toss(random))
    }

    /// Reads a value as a person writes it.
    pub fn value(&self, text: &str) -> Result<Value, TaskError> {
        self.spec.values.read(text, categories(&self.spec))
    }

    /// A device's report about a value, drawn from the operating system's randomness.
    pub fn randomize(&self, value: &Value, random: &mut Secure) -> Result<Vec<u8>, TaskError> {
        values::randomize(&self.device, value, random)
    }
}

/// Refuses what is not about privacy.
fn check_words(spec: &TaskSpec) -> Result<(), TaskError> {
    let control = spec.name.chars().any(char::is_control);
    if spec.name.is_empty() || spec.name.len() > LONGEST_NAME || control {
        let allowed = "a text of 1 to 100 bytes without control characters";
        return Err(TaskError::parameter(
            "name",
            format!("{:?}", spec.name),
            allowed,
        ));
    }
    if let Some(Err((value, allowed))) = spec.tokens.as_ref().map(Issuer::check) {
        return Err(TaskError::parameter("token_issuer", value, allowed));
    }
    if spec.second_shuffler == Some(spec.analyzer_key) {
        let (value, allowed) = ("of the analyzer", "the key of somebody else");
        return Err(TaskError::parameter(
            "second_shuffler",
            value.to_owned(),
            allowed,
        ));
    }
    match spec.window_seconds {
        Some(seconds) if !(1..=LONGEST_WINDOW).contains(&seconds) => {
            let allowed = "in [1, 315360000]";
            Err(TaskError::parameter(
                "window_seconds",
                seconds.to_string(),
                allowed,
            ))
        }
        _ => Ok(()),
    }
}

/// The probability that a device answers.
fn rate(round: &RoundSpec) -> Result<f64, TaskError> {
    if round.sample.is_some() {
        return Err(TaskError::Sample);
    }
    if round.adaptive_within_round {
        return Err(TaskError::AdaptiveWithinRound);
    }
    if round.rounds == 0 {
        return Err(TaskError::parameter("rounds", "0".to_owned(), "1 or more"));
    }
    let one = |rate: PerUser| {
        let allowed = "one number: all devices have the same check-in rate";
        rate.common().ok_or_else(|| {
            TaskError::parameter(Parameter::CheckIn.field(), rate.to_string(), allowed)
        })
    };
    Ok(round.check_in.map(one).transpose()?.unwrap_or(1.0))
}

/// The number of categories of the randomizer, for those that have some.
fn categories(spec: &TaskSpec) -> u64 {
    spec.round.randomizer.k.unwrap_or(2)
}

/// The round of the smallest batch, as its device runs it.
fn smallest(round: &RoundSpec, device: &Device) -> Result<Round, TaskError> {
    let known = RoundSpec {
        check_in: None,
        rounds: 1,
        ..round.clone()
    };
    Ok(Round::try_from(&known)?.run_by(device.mechanism().clone())?)
}
