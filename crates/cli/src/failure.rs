//! Errors of a command: one sentence on standard error, or one JSON object on standard output.

#[cfg(feature = "train")]
use crate::commands::train;
use crate::output::Format;
use crate::question::flag;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde::Serialize;
use shuffledp::protocol::audit::AuditError;
use shuffledp::protocol::survey::SurveyError;
#[cfg(feature = "service")]
use shuffledp::protocol::task::TaskError;
use shuffledp::{Error, Parameter};
#[cfg(feature = "service")]
use shuffledp_service::ServiceError;
use std::error::Error as _;
use std::fmt;
use std::process::ExitCode;

/// Why there is no answer.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<String>,
    message: String,
    #[serde(skip)]
    code: u8,
}

/// Exit codes: the input was bad, or the computation could not be completed.
const BAD_INPUT: u8 = 2;
const NOT_COMPLETED: u8 = 1;

impl Failure {
    /// A flag with a value that is not allowed.
    pub(crate) fn value(flag: &str, value: impl ToString, allowed: &str) -> Self {
        let value = value.to_string();
        Self {
            message: format!("{flag} {value} is not {allowed}"),
            value: Some(value),
            allowed: Some(allowed.to_owned()),
            ..Self::bad_input(Some(flag), String::new())
        }
    }

    /// A value outside what the library takes.
    fn outside(flag: &str, value: String, allowed: String) -> Self {
        Self {
            message: format!("{flag} {value} is outside {allowed}"),
            value: Some(value),
            allowed: Some(allowed),
            ..Self::bad_input(Some(flag), String::new())
        }
    }

    /// A flag that makes no sense here.
    pub(crate) fn flag(flag: impl Into<String>, message: impl Into<String>) -> Self {
        Self::bad_input(Some(&flag.into()), message.into())
    }

    fn bad_input(flag: Option<&str>, message: String) -> Self {
        Self {
            flag: flag.map(str::to_owned),
            value: None,
            allowed: None,
            message,
            code: BAD_INPUT,
        }
    }

    /// Something that could not be completed.
    pub(crate) fn incomplete(message: impl Into<String>) -> Self {
        Self {
            code: NOT_COMPLETED,
            ..Self::bad_input(None, message.into())
        }
    }

    /// The answer could not be written.
    pub(crate) fn unwritten(error: &std::io::Error) -> Self {
        Self::incomplete(format!("the answer cannot be written: {error}"))
    }

    /// The same error about the flag `typed`, if its message is about the flag `stands_for`.
    pub(crate) fn about(mut self, stands_for: &str, typed: &str, text: &str) -> Self {
        if self.flag.as_deref() == Some(stands_for) && self.value.is_some() {
            let value = self.value.replace(text.to_owned()).unwrap_or_default();
            let (old, new) = (format!("{stands_for} {value}"), format!("{typed} {text}"));
            self.message = self.message.replacen(&old, &new, 1);
            self.flag = Some(typed.to_owned());
        }
        self
    }

    /// Prints it where the format says, and gives the exit code.
    pub(crate) fn report(self, format: Format) -> ExitCode {
        if format == Format::Json {
            println!("{}", serde_json::json!({ "error": self }));
        } else {
            eprintln!("error: {}", self.message);
        }
        ExitCode::from(self.code)
    }
}

/// The message for a part of the program that was not built.
pub(crate) fn not_built(what: &str, feature: &str) -> String {
    format!("{what}, for which shuffledp must be built with --features {feature}")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Errors of the library name parameters; those of the command line name flags.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let Some(parameter) = error.parameter() else {
            let randomizer = matches!(error, Error::UnknownRandomizer { .. });
            let failure = Self::bad_input(randomizer.then_some("--randomizer"), message);
            return match error {
                Error::NotResolved { .. } | Error::Contradiction { .. } => Self {
                    code: NOT_COMPLETED,
                    ..failure
                },
                _ => failure,
            };
        };
        let flag = flag(parameter);
        match error {
            Error::Domain { value, allowed, .. } => Self::outside(&flag, value, allowed),
            Error::MissingParameter { randomizer, .. } => {
                let meaning = parameter.meaning();
                let message = format!("--randomizer {randomizer} needs {flag}, {meaning}");
                Self::flag(flag, message)
            }
            Error::SurplusParameter {
                randomizer, value, ..
            } => {
                let message = match parameter {
                    Parameter::Rows => format!("{flag} is not for --randomizer {randomizer}"),
                    _ => format!("{flag} {value} is not for --randomizer {randomizer}"),
                };
                Self::flag(flag, message)
            }
            _ => {
                let message = message.replacen(&parameter.to_string(), &flag, 1);
                let (value, allowed) = match error {
                    Error::RangeNotCovered { value, covered, .. } => {
                        (value, format!("one number, or a range for {covered}"))
                    }
                    Error::RangeOnDevice { value } => (value, "one number".to_owned()),
                    _ => return Self::flag(flag, message),
                };
                Self {
                    value: Some(value),
                    allowed: Some(allowed),
                    ..Self::flag(flag, message)
                }
            }
        }
    }
}

impl From<shuffledp::randomizers::Error> for Failure {
    fn from(error: shuffledp::randomizers::Error) -> Self {
        use shuffledp::randomizers::Error;
        let message = error.to_string();
        match error {
            Error::Accounting(error) => error.into(),
            Error::Parameter {
                parameter,
                value,
                allowed,
            } => {
                // Parameters of randomizers go by the names of their flags.
                Self::outside(&format!("--{parameter}"), value, allowed)
            }
            Error::NotRun { .. } => Self::flag("--randomizer", message),
            Error::NoRandomness(_) => Self::incomplete(message),
            _ => Self::bad_input(None, message),
        }
    }
}

#[cfg(feature = "train")]
impl From<shuffledp::learning::Error> for Failure {
    fn from(error: shuffledp::learning::Error) -> Self {
        use shuffledp::learning::Error;
        let message = error.to_string();
        // Parameters of a run go by the names of their flags.
        let flag_of = |parameter: &str| format!("--{}", parameter.replace('_', "-"));
        match error {
            Error::Accounting(error) => error.into(),
            Error::Randomizer(error) => error.into(),
            Error::Parameter {
                parameter,
                value,
                allowed,
            } => {
                let flag = flag_of(parameter);
                match train::is_flag(flag.trim_start_matches('-')) {
                    true => Self::outside(&flag, value, allowed),
                    // A parameter of the model that depends on the data.
                    false => Self::flag("--model", format!("--model: {message}")),
                }
            }
            Error::Needed {
                parameter,
                meaning,
                of,
                name,
            } => {
                let flag = flag_of(parameter);
                let message = format!("{flag}, {meaning}, is needed for --{of} {name}");
                Self::flag(flag, message)
            }
            Error::Surplus {
                parameter,
                of,
                name,
            } => {
                let flag = flag_of(parameter);
                let message = format!("{flag} is not for --{of} {name}");
                Self::flag(flag, message)
            }
            Error::NoData => {
                let message = "--data, a folder or a table to learn from, is needed (or --demo)";
                Self::flag("--data", message)
            }
            Error::Budget { .. } => {
                let flag = flag_of("target_epsilon");
                let message = message.replacen("target_epsilon", &flag, 1);
                Self::flag(flag, message)
            }
            Error::HoldsRun { path } => {
                let name = path.display();
                let message = format!(
                    "--out {name} holds a run already: go on with it by --resume {name}, or choose another \
                     folder"
                );
                Self::flag("--out", message)
            }
            Error::Unwritable { .. } => Self::flag("--out", format!("--out {message}")),
            Error::Locked { .. } => Self::flag("--out", message),
            Error::NoRun { .. } => Self::flag("--resume", format!("--resume {message}")),
            Error::RunFile { .. } | Error::Checkpoint { .. } => {
                Self::flag("--resume", format!("--resume: {message}"))
            }
            Error::Missing { .. }
            | Error::Unreadable { .. }
            | Error::Packed { .. }
            | Error::Content { .. }
            | Error::Examples { .. } => Self::flag("--data", format!("--data: {message}")),
            Error::Diverged => Self::flag("--rate", format!("--rate: {message}")),
            Error::Attendance(_) => Self::flag("--check-in", message),
            _ => Self::incomplete(message),
        }
    }
}

impl From<SurveyError> for Failure {
    fn from(error: SurveyError) -> Self {
        use SurveyError as Error;
        let message = error.to_string();
        match error {
            Error::Accounting(error) => error.into(),
            Error::Randomizer(error) => error.into(),
            Error::Attendance(_) => Self::flag("--check-in", message),
            // Parameters of a survey go by the names of their flags.
            Error::Parameter {
                parameter,
                value,
                allowed,
            } => Self::value(&format!("--{parameter}"), value, allowed),
            Error::SeveralRounds { .. } => Self::flag("--rounds", format!("--{message}")),
            Error::NoEpsilon0 => Self::flag("--epsilon0", format!("--{message}")),
            Error::AdaptiveWithinRound => not_adaptive(&message),
            Error::OwnRandomizer { .. } => {
                Self::flag("--randomizer", format!("--randomizer: {message}"))
            }
            Error::TwoValues { .. } => {
                Self::flag("--randomizer", format!("--randomizer {message}"))
            }
            Error::OtherInput { .. } => {
                let message = message.replacen("randomizer", "--randomizer", 1);
                Self::flag("--randomizer", message)
            }
            Error::Categories { .. } => Self::flag("--k", format!("--{message}, or give --values")),
            Error::TooFewForLevels { .. } => Self::incomplete(format!("{message} (--depth)")),
            _ => Self::incomplete(message),
        }
    }
}

/// Rounds that are run do not look at earlier reports.
fn not_adaptive(message: &str) -> Failure {
    const FLAG: &str = "--adaptive-within-round";
    Failure::flag(FLAG, format!("{FLAG}: {message}"))
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Self {
        use AuditError as Error;
        let message = error.to_string();
        match error {
            Error::Accounting(error) => error.into(),
            Error::Randomizer(error) => error.into(),
            Error::Attendance(_) => Self::flag("--check-in", message),
            // Parameters of an audit go by the names of their flags.
            Error::Parameter {
                parameter,
                value,
                allowed,
            } => Self::value(&format!("--{parameter}"), value, allowed),
            Error::AdaptiveWithinRound => not_adaptive(&message),
            Error::Colluding { .. } => {
                let message = message.replacen("as users", "as --users", 1);
                Self::flag("--colluding", format!("--{message}"))
            }
            Error::TooManyBytes { .. } => Self::flag("--users", format!("--{message}")),
            Error::NoHalfNoise => Self::flag("--break", format!("--break half-noise: {message}")),
            Error::Value { role, .. } | Error::OtherKind { role } => {
                Self::flag(format!("--{role}"), format!("--{message}"))
            }
            Error::SameValues => Self::flag("--pair", format!("--pair: {message}")),
            Error::NotAttacked => Self::flag("--randomizer", format!("--randomizer: {message}")),
            _ => Self::incomplete(message),
        }
    }
}

#[cfg(feature = "service")]
impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        let message = error.to_string();
        match error {
            TaskError::Accounting(error) => error.into(),
            TaskError::Randomizer(error) => error.into(),
            // Parts of a task go by the names of their flags.
            TaskError::Parameter {
                parameter,
                value,
                allowed,
            } => Self::value(
                &format!("--{}", parameter.replace('_', "-")),
                value,
                allowed,
            ),
            TaskError::NotCertified { .. } => {
                Self::flag("--target-epsilon", format!("--target-epsilon: {message}"))
            }
            TaskError::Sample => Self::flag("--sample", format!("--sample: {message}")),
            TaskError::AdaptiveWithinRound => not_adaptive(&message),
            TaskError::NoDimension => Self::flag("--dimension", message),
            TaskError::Value { .. } => Self::flag("--value", format!("--{message}")),
            TaskError::Syntax { .. } | TaskError::OtherId { .. } => {
                Self::flag("--task", format!("--task: {message}"))
            }
            _ => Self::bad_input(None, message),
        }
    }
}

#[cfg(feature = "service")]
impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        let message = error.to_string();
        match error {
            ServiceError::Task(error) => error.into(),
            ServiceError::Content { .. }
            | ServiceError::OtherKey { .. }
            | ServiceError::Batch { .. } => Self::bad_input(None, message),
            ServiceError::Decided { .. } => Self::flag("--window", message),
            ServiceError::Issued { .. } | ServiceError::Person { .. } => {
                Self::flag("--person", message)
            }
            ServiceError::NoProbes { .. } => Self::flag("--record", message),
            ServiceError::NoToken { .. } => Self::flag("--wallet", message),
            ServiceError::NoIssuerKey { .. } => Self::flag("--window", message),
            ServiceError::Windows { .. } => Self::flag("--windows", message),
            ServiceError::WithoutTokens
            | ServiceError::NotRequested { .. }
            | ServiceError::OtherIssuer { .. }
            | ServiceError::Blind(_) => Self::bad_input(None, message),
            ServiceError::TooFewUsers { .. }
            | ServiceError::TooMuchEpsilon { .. }
            | ServiceError::BeyondBudget { .. } => Self::flag("--ledger", message),
            ServiceError::Exists { .. } => Self::flag("--out", message),
            ServiceError::Url { .. } | ServiceError::NotEncrypted { .. } => {
                Self::bad_input(None, message)
            }
            _ => Self::incomplete(message),
        }
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        let context = |kind: ContextKind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        };
        let typed = (
            context(ContextKind::InvalidArg),
            context(ContextKind::InvalidValue),
        );
        if let (ErrorKind::ValueValidation, (Some(argument), Some(value))) = (error.kind(), &typed)
        {
            let flag = argument.split_whitespace().next().unwrap_or_default();
            let allowed = error.source().map_or(String::new(), ToString::to_string);
            return Self::value(flag, value, &allowed);
        }
        // The first paragraph is the error, and paragraphs that begin with "tip:" are suggestions; the usage
        // is left out.
        let text = error.to_string();
        let sentences: Vec<String> = text
            .split("\n\n")
            .enumerate()
            .filter(|(i, paragraph)| *i == 0 || paragraph.trim_start().starts_with("tip:"))
            .map(|(_, paragraph)| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let message = sentences.join("; ");
        Self::bad_input(None, message.trim_start_matches("error: ").to_owned())
    }
}
