//! `shuffledp calibrate`: the best value of one number that still meets a budget.

use crate::failure::Failure;
use crate::number::Real;
use crate::output::{Block, Grid, Report, fields};
use crate::question::{RoundFlags, described, flag};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use shuffledp::{Calibration, Delta, Epsilon, Unknown, calibrate, grouped, plain};

#[derive(Args)]
pub(crate) struct CalibrateArguments {
    #[command(flatten)]
    pub(crate) round: RoundFlags,
    /// Central epsilon that may not be exceeded
    #[arg(long, value_name = "E", help_heading = "Question")]
    target_epsilon: Real,
    /// Central delta, in [1e-300, 1)
    #[arg(long, value_name = "D", help_heading = "Question")]
    delta: Real,
    /// What to solve for
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Question")]
    solve: Solve,
}

/// What to solve for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Solve {
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

    /// Whether the largest or the least value is the best.
    fn best(self) -> &'static str {
        match self {
            Self::Users | Self::Sigma => "least",
            Self::Epsilon0 | Self::Rounds | Self::CheckIn => "largest",
        }
    }

    /// The library has rounded a value to the side where it meets the budget, or exceeds it.
    fn printed(self, value: f64) -> String {
        if self.unknown().is_whole() {
            grouped(value as u64)
        } else {
            plain(value)
        }
    }
}

impl CalibrateArguments {
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        self.round.refuse_accuracy()?;
        let target = self.target_epsilon;
        let target = Epsilon::new(target.0)
            .map_err(|_| Failure::value("--target-epsilon", target, "in [0, inf)"))?;
        let delta = Delta::of_epsilon(self.delta.0)?;
        let unknown = self.solve.unknown();
        let spec = self.round.open(unknown, "what is to be solved for")?;
        // A description that is invalid at every value is refused here. The number of users is large, so that
        // a sample fits.
        let example = if unknown == Unknown::Users { 1e15 } else { 1.0 };
        spec.with(unknown, example).plan()?;
        let found = calibrate(unknown, target, delta, |value| {
            spec.with(unknown, value).plan()
        })?;
        let solved = spec.with(unknown, found.value);
        let relation = found.answer.relation();
        let name = unknown.parameter().field();
        let mut query = described(&spec);
        query.remove(name);
        let json = json!({
            "query": query,
            "target_epsilon": target.value(),
            "delta": delta.value(),
            "solve": name,
            name: number(self.solve, found.value),
            "at_best": found.at_best.map(|value| number(self.solve, value)),
            "extreme": found.is_extreme,
            "epsilon": {
                "upper": found.answer.upper().value(),
                "lower": found.answer.lower().value(),
            },
            "upper": found.answer.upper(),
            "lower": found.answer.lower(),
        });
        let mut csv = Grid::new([
            "solve",
            "value",
            "at_best",
            "epsilon_upper",
            "epsilon_lower",
        ]);
        csv.row([
            name.to_owned(),
            number(self.solve, found.value).to_string(),
            found
                .at_best
                .map_or(String::new(), |value| number(self.solve, value).to_string()),
            found.answer.upper().value().to_string(),
            found.answer.lower().value().to_string(),
        ]);
        Ok(Report {
            blocks: blocks(&solved.sentence(None), self.solve, target, delta, &found),
            json: fields(json),
            csv,
            relation: Some(relation),
            after: None,
        })
    }
}

/// A JSON integer where the unknown is a whole number.
fn number(solve: Solve, value: f64) -> Value {
    if solve.unknown().is_whole() {
        json!(value as u64)
    } else {
        json!(value)
    }
}

fn blocks(
    sentence: &str,
    solve: Solve,
    target: Epsilon,
    delta: Delta,
    found: &Calibration,
) -> Vec<Block> {
    let flag = flag(solve.unknown().parameter());
    let value = solve.printed(found.value);
    let (upper, lower) = (found.answer.upper(), found.answer.lower());
    let (target, delta) = (plain(target.value()), plain(delta.value()));
    let extreme = if found.is_extreme {
        " (the end of the allowed range)"
    } else {
        ""
    };
    let at_best = match found.at_best {
        None => "There is no lower bound, so a better analysis might allow more.".to_owned(),
        Some(at_best) if at_best == found.value => "No analysis can allow more.".to_owned(),
        Some(at_best) => {
            let at_best = solve.printed(at_best);
            format!("No analysis can get further than {flag} {at_best}.")
        }
    };
    vec![
        Block::Paragraph(format!(
            "The {} {flag} with epsilon at most {target} at delta = {delta}: {value}{extreme}",
            solve.best(),
        )),
        Block::Line(format!(
            "{sentence} There epsilon is at most {upper} ({}, {}){}, when {}.",
            upper.standing(),
            upper.method(),
            match lower.attained_by() {
                Some(_) => format!(", and at least {lower}"),
                None => String::new(),
            },
            found.answer.relation(),
        )),
        Block::Line(at_best),
    ]
}
