//! `shuffledp epsilon` and `shuffledp delta`: one number of shuffled rounds, from both sides.

use crate::failure::Failure;
use crate::number::Real;
use crate::output::{Block, Grid, Report, fields};
use crate::question::{Question, RoundFlags};
use clap::Args;
use serde_json::json;
use shuffledp::{Answer, Bound, Delta, Epsilon, plain};

#[derive(Args)]
pub(crate) struct EpsilonArguments {
    #[command(flatten)]
    pub(crate) round: RoundFlags,
    /// Central delta, in [1e-300, 1)
    #[arg(long, value_name = "D", help_heading = "Question")]
    delta: Real,
}

#[derive(Args)]
pub(crate) struct DeltaArguments {
    #[command(flatten)]
    pub(crate) round: RoundFlags,
    /// Central epsilon, in [0, inf)
    #[arg(long, value_name = "E", help_heading = "Question")]
    epsilon: Real,
}

impl EpsilonArguments {
    pub(crate) fn delta(&self) -> Result<Delta, Failure> {
        Ok(Delta::of_epsilon(self.delta.0)?)
    }

    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let delta = self.delta()?;
        let question = self.round.question()?;
        let answer = self.round.account(&question.plan)?.epsilon(delta)?;
        let at = plain(delta.value());
        let guarantee = format!("({}, {at})", answer.upper());
        Ok(report(
            &question,
            ("delta", delta.value()),
            "epsilon",
            &answer,
            &guarantee,
        ))
    }
}

impl DeltaArguments {
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let epsilon = Epsilon::new(self.epsilon.0)?;
        let question = self.round.question()?;
        let answer = self.round.account(&question.plan)?.delta(epsilon)?;
        let at = plain(epsilon.value());
        let guarantee = format!("({at}, {})", answer.upper());
        Ok(report(
            &question,
            ("epsilon", epsilon.value()),
            "delta",
            &answer,
            &guarantee,
        ))
    }
}

/// The report of the quantity `asked` at the quantity `given`.
fn report<T: Copy + Into<f64> + serde::Serialize>(
    question: &Question,
    (given, at): (&'static str, f64),
    asked: &'static str,
    answer: &Answer<T>,
    guarantee: &str,
) -> Report {
    let mut csv = Grid::new([given, asked, "side", "standing", "method", "attained_by"]);
    for bound in answer.bounds() {
        csv.row([
            json!(at).to_string(),
            json!(bound.value()).to_string(),
            bound.side().to_string(),
            bound.standing().to_string(),
            bound.method().to_owned(),
            bound.attained_by().unwrap_or_default().to_owned(),
        ]);
    }
    let json = json!({
        "query": question.query(),
        given: at,
        asked: { "upper": answer.upper().value(), "lower": answer.lower().value() },
        "upper": answer.upper(),
        "lower": answer.lower(),
        "numerics": answer.numerics(),
    });
    Report {
        blocks: vec![
            Block::Paragraph(format!(
                "{} At {given} = {}:",
                question.sentence(),
                plain(at)
            )),
            Block::Table(table(asked, answer)),
            Block::Line(format!(
                "Upper: what the analyzer sees is {guarantee}-differentially private when {}.",
                answer.relation()
            )),
            Block::Line(format!("Lower: {}.", from_below(answer.lower()))),
        ],
        json: fields(json),
        csv,
        relation: Some(answer.relation()),
        after: None,
    }
}

/// Both bounds under a header.
pub(crate) fn table<T: Copy + Into<f64>>(asked: &str, answer: &Answer<T>) -> Grid {
    let mut table = Grid::new(["", asked, "standing", "method"]);
    for bound in answer.bounds() {
        table.row([
            bound.side().to_string(),
            bound.to_string(),
            bound.standing().to_string(),
            bound.method().to_owned(),
        ]);
    }
    table
}

/// The lower bound in a sentence.
pub(crate) fn from_below<T: Copy + Into<f64>>(lower: &Bound<T>) -> String {
    match lower.attained_by() {
        Some(words) if lower.value() > 0.0 => format!("no proof can get below {lower}: {words}"),
        _ => "no lower bound is known".to_owned(),
    }
}
