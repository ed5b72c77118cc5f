//! The best value of one word that still meets a budget, as a table, JSON or CSV.

use crate::answer::Format;
use crate::failure::Failure;
use crate::number::{grouped, plain, rounded};
use crate::words::{Words, names};
use clap::ValueEnum;
use serde_json::{Value, json};
use shuffledp::{Calibration, Delta, Epsilon, Side, Unknown, calibrate};

/// What to solve for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Solve {
    /// The largest local guarantee
    Epsilon0,
    /// The largest number of rounds
    Rounds,
    /// The smallest number of users
    Users,
    /// The largest probability of taking part
    CheckIn,
    /// The smallest standard deviation of Gaussian noise
    Sigma,
}

impl Solve {
    fn unknown(self) -> Unknown {
        match self {
            Self::Epsilon0 => Unknown::Epsilon0,
            Self::Rounds => Unknown::Rounds,
            Self::Users => Unknown::Users,
            Self::CheckIn => Unknown::CheckIn,
            Self::Sigma => Unknown::Sigma,
        }
    }

    /// In which direction a value is better.
    fn best(self) -> &'static str {
        match self {
            Self::Users | Self::Sigma => "least",
            Self::Epsilon0 | Self::Rounds | Self::CheckIn => "largest",
        }
    }

    /// The side to round a printed value to, so that it still meets the budget.
    fn side(self) -> Side {
        match self {
            Self::Users | Self::Sigma => Side::Upper,
            Self::Epsilon0 | Self::Rounds | Self::CheckIn => Side::Lower,
        }
    }

    fn printed(self, value: f64) -> String {
        if self.unknown().is_whole() {
            grouped(value as u64)
        } else {
            rounded(value, self.side())
        }
    }
}

/// The answer, printed.
pub(crate) fn text(
    words: &Words,
    solve: Solve,
    target: Epsilon,
    delta: Delta,
) -> Result<String, Failure> {
    words.refuse_accuracy()?;
    let unknown = solve.unknown();
    words.refuse_given(unknown, "what is to be solved for")?;
    // Words that make no sense at any value are refused in their own words; a sample must fit in.
    let example = if solve == Solve::Users { 1e15 } else { 1.0 };
    words.with(unknown, example).question()?;
    let found: Calibration = calibrate(unknown, target, delta, |value| {
        let question = words.with(unknown, value).question();
        question.map(|question| question.plan)
    })?;
    let question = words.with(unknown, found.value).question()?;
    let (_, name) = names(unknown);
    Ok(match words.format {
        Format::Table => table(&question.sentence, solve, target, delta, &found),
        Format::Json => {
            let mut query = question.query;
            query.remove(name);
            let object = json!({
                "query": query,
                "target_epsilon": target.value(),
                "delta": delta.value(),
                "solve": name,
                name: number(solve, found.value),
                "at_best": number(solve, found.at_best),
                "extreme": found.is_extreme,
                "epsilon": {
                    "upper": found.answer.upper.value.value(),
                    "lower": found.answer.lower.value.value(),
                },
                "upper": {
                    "value": found.answer.upper.value.value(),
                    "method": found.answer.upper.method,
                    "standing": found.answer.upper.standing,
                },
            });
            format!("{object}\n")
        }
        Format::Csv => format!(
            "solve,value,at_best,epsilon_upper,epsilon_lower\n{name},{},{},{},{}\n",
            number(solve, found.value),
            number(solve, found.at_best),
            found.answer.upper.value.value(),
            found.answer.lower.value.value(),
        ),
    })
}

/// A whole number where it is one.
fn number(solve: Solve, value: f64) -> Value {
    if solve.unknown().is_whole() {
        json!(value as u64)
    } else {
        json!(value)
    }
}

fn table(
    sentence: &str,
    solve: Solve,
    target: Epsilon,
    delta: Delta,
    found: &Calibration,
) -> String {
    let (flag, _) = names(solve.unknown());
    // The library has already rounded it to where it still meets the budget.
    let value = if solve.unknown().is_whole() {
        solve.printed(found.value)
    } else {
        plain(found.value)
    };
    let upper = rounded(found.answer.upper.value.value(), Side::Upper);
    let lower = rounded(found.answer.lower.value.value(), Side::Lower);
    let (target, delta) = (plain(target.value()), plain(delta.value()));
    let extreme = if found.is_extreme {
        " (there is no other to ask for)"
    } else {
        ""
    };
    let at_best = if found.at_best == found.value {
        "No analysis can allow more.".to_owned()
    } else {
        format!(
            "No analysis can get further than {flag} {}.",
            solve.printed(found.at_best)
        )
    };
    format!(
        "The {} {flag} with epsilon at most {target} at delta = {delta}: {value}{extreme}\n\n\
         {sentence} There epsilon is at most {upper} ({}, {}), and at least {lower}.\n\
         {at_best}\n",
        solve.best(),
        found.answer.upper.standing,
        found.answer.upper.method,
    )
}
