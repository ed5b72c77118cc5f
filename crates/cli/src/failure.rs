//! What went wrong, as one sentence on standard error or as one JSON object on standard output.

use crate::answer::Format;
use serde::Serialize;
use shuffledp::{Error, Parameter};
use std::process::ExitCode;

/// Why there is no answer.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<&'static str>,
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
    /// A flag whose value is not what is allowed.
    pub(crate) fn value(flag: &'static str, value: &str, allowed: &str) -> Self {
        Self {
            flag: Some(flag),
            value: Some(value.to_owned()),
            allowed: Some(allowed.to_owned()),
            message: format!("{flag} {value} is not {allowed}"),
            code: BAD_INPUT,
        }
    }

    /// A value outside what the library takes.
    fn outside(flag: &'static str, value: String, allowed: String) -> Self {
        Self {
            flag: Some(flag),
            message: format!("{flag} {value} is outside {allowed}"),
            value: Some(value),
            allowed: Some(allowed),
            code: BAD_INPUT,
        }
    }

    /// A combination of words that makes no sense.
    pub(crate) fn words(flag: &'static str, message: impl Into<String>) -> Self {
        Self {
            flag: Some(flag),
            value: None,
            allowed: None,
            message: message.into(),
            code: BAD_INPUT,
        }
    }

    /// Something that could not be completed.
    pub(crate) fn incomplete(message: impl Into<String>) -> Self {
        Self {
            flag: None,
            value: None,
            allowed: None,
            message: message.into(),
            code: NOT_COMPLETED,
        }
    }

    /// The answer could not be written.
    pub(crate) fn unwritten(error: &std::io::Error) -> Self {
        Self::incomplete(format!("the answer cannot be written: {error}"))
    }

    /// The same with other words in its message.
    pub(crate) fn saying(mut self, words: &str, others: &str) -> Self {
        self.message = self.message.replacen(words, others, 1);
        self
    }

    /// The same about the flag that was typed, where its message is about the flag that this stands for.
    pub(crate) fn about(mut self, flag: &str, typed: &'static str, text: &str) -> Self {
        if self.flag == Some(flag) && self.value.is_some() {
            let value = self.value.replace(text.to_owned()).unwrap_or_default();
            self.message =
                self.message
                    .replacen(&format!("{flag} {value}"), &format!("{typed} {text}"), 1);
            self.flag = Some(typed);
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

/// The sentence for a part of the program that is not there.
pub(crate) fn not_built(what: &str, feature: &str) -> String {
    format!("{what}, for which shuffledp must be built with --features {feature}")
}

/// The flag that sets a parameter.
fn flag(parameter: Parameter) -> Option<&'static str> {
    Some(match parameter {
        Parameter::Epsilon0 => "--epsilon0",
        Parameter::Epsilon => "--epsilon",
        Parameter::Delta => "--delta",
        Parameter::Delta0 => "--delta0",
        Parameter::Sigma => "--sigma",
        Parameter::Users => "--users",
        Parameter::Sample => "--sample",
        Parameter::CheckIn => "--check-in",
        Parameter::Colluding => "--colluding",
        Parameter::Categories => "--k",
        Parameter::Rounds => "--rounds",
        Parameter::Accuracy => "--accuracy",
        Parameter::Order => "--orders",
        Parameter::Ratio | Parameter::Variation | Parameter::Cover | Parameter::Alpha => {
            return None;
        }
    })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let parameter = error.parameter();
        let flag = parameter.and_then(flag);
        // The library names the quantity, the command line the flag.
        let message = match (parameter, flag) {
            (Some(parameter), Some(flag)) => message.replacen(&parameter.to_string(), flag, 1),
            _ => message,
        };
        let code = match error {
            Error::NotResolved { .. } | Error::Contradiction { .. } => NOT_COMPLETED,
            _ => BAD_INPUT,
        };
        let (value, allowed) = match error {
            Error::Domain { value, allowed, .. } => (Some(value.to_string()), Some(allowed)),
            _ => (None, None),
        };
        Self {
            flag,
            value,
            allowed,
            message,
            code,
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
                let flag = match parameter {
                    "epsilon0" => "--epsilon0",
                    "delta0" => "--delta0",
                    "sigma" => "--sigma",
                    "dimension" => "--dimension",
                    _ => "--k",
                };
                Self::outside(flag, value, allowed)
            }
            Error::NoRandomness(_) => Self::incomplete(message),
            _ => Self {
                flag: None,
                value: None,
                allowed: None,
                message,
                code: BAD_INPUT,
            },
        }
    }
}

#[cfg(feature = "train")]
impl From<shuffledp::learning::Error> for Failure {
    fn from(error: shuffledp::learning::Error) -> Self {
        use shuffledp::learning::Error;
        let message = error.to_string();
        match error {
            Error::Accounting(error) => error.into(),
            Error::Randomizer(error) => error.into(),
            Error::Parameter {
                parameter,
                value,
                allowed,
            } => {
                let flag = match parameter {
                    "hidden" => "--hidden",
                    "rate" => "--rate",
                    "rounds" => "--rounds",
                    "momentum" => "--momentum",
                    "radius" => "--radius",
                    "blocks" => "--blocks",
                    "batches" => "--batches",
                    "batch" => "--sample",
                    "validation" => "--validation",
                    "delta" => "--delta",
                    // Of the model, for this data.
                    _ => return Self::words("--model", format!("--model: {message}")),
                };
                Self::outside(flag, value, allowed)
            }
            Error::Missing { .. }
            | Error::Unreadable { .. }
            | Error::Packed { .. }
            | Error::Content { .. }
            | Error::Examples { .. } => Self::words("--data", format!("--data: {message}")),
            Error::Checkpoint { .. } => Self::words("--resume", format!("--resume: {message}")),
            Error::NoLocalPrice { .. } => Self::words("--randomizer", message),
            Error::Diverged => Self::words("--rate", format!("--rate: {message}")),
            Error::Attendance(_) => Self::words("--check-in", message),
            _ => Self::incomplete(message),
        }
    }
}

impl From<shuffledp::protocol::audit::Error> for Failure {
    fn from(error: shuffledp::protocol::audit::Error) -> Self {
        use shuffledp::protocol::audit::Error;
        match error {
            Error::Randomizer(error) => error.into(),
            Error::Attendance(error) => Self::words("--check-in", error.to_string()),
            error => Self::incomplete(error.to_string()),
        }
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        // The first paragraph says what is wrong; usage and tips follow after an empty line.
        let text = error.to_string();
        let paragraph = text.split("\n\n").next().unwrap_or_default();
        let sentence: Vec<&str> = paragraph.split_whitespace().collect();
        Self {
            flag: None,
            value: None,
            allowed: None,
            message: sentence.join(" ").trim_start_matches("error: ").to_owned(),
            code: BAD_INPUT,
        }
    }
}
