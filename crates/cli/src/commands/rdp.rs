//! `shuffledp rdp`: Rényi divergences at a list of orders.

use crate::failure::Failure;
use crate::number::Real;
use crate::output::{Block, Grid, Report, fields};
use crate::question::RoundFlags;
use clap::Args;
use serde_json::{Value, json};
use shuffledp::{Answer, Divergence, Standing, plain};

#[derive(Args)]
pub(crate) struct RdpArguments {
    #[command(flatten)]
    pub(crate) round: RoundFlags,
    /// Orders above 1, such as 2,4,8:64 or 8:64:8 (from, to, step)
    #[arg(
        long,
        value_name = "LIST",
        default_value = "2,4,8,16,32,64,128,256",
        help_heading = "Question"
    )]
    orders: String,
}

/// The most orders of a list: limits the time of a command.
const MOST: usize = 10_000;

/// 2,4,8:64:8 as numbers.
fn orders(text: &str) -> Result<Vec<f64>, Failure> {
    let real = |part: &str| -> Result<f64, Failure> {
        let number: Result<Real, _> = part.parse();
        number
            .map(|number| number.0)
            .map_err(|error| Failure::value("--orders", part, &error.to_string()))
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        if part.trim().is_empty() {
            let message = format!("--orders '{text}' lacks an order: write them as 2,4,8:64:8");
            return Err(Failure::flag("--orders", message));
        }
        let ends: Vec<&str> = part.split(':').collect();
        let (from, to, step) = match ends[..] {
            [one] => (real(one)?, real(one)?, 1.0),
            [from, to] => (real(from)?, real(to)?, 1.0),
            [from, to, step] => (real(from)?, real(to)?, real(step)?),
            _ => {
                return Err(Failure::value(
                    "--orders",
                    part,
                    "an order, from:to or from:to:step",
                ));
            }
        };
        let finite = from.is_finite() && to.is_finite() && step.is_finite();
        let valid = from <= to && step > 0.0 && finite;
        let count = ((to - from) / step + 1e-9).floor() + 1.0;
        if !valid || all.len() as f64 + count > MOST as f64 {
            let message = format!(
                "--orders {part} is not a range of orders: from at most to, a positive step, at most {MOST} \
                 orders"
            );
            return Err(Failure::flag("--orders", message));
        }
        all.extend((0..count as usize).map(|i| from + i as f64 * step));
    }
    Ok(all)
}

impl RdpArguments {
    /// The answers at all orders.
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        self.round.refuse_accuracy()?;
        let orders = orders(&self.orders)?;
        let question = self.round.question()?;
        let divergence = Divergence::new(&question.plan)?;
        let answers: Result<Vec<(f64, Answer<f64>)>, Failure> = orders
            .iter()
            .map(|&order| Ok((order, divergence.at(order)?)))
            .collect();
        let answers = answers?;
        let divergences: Vec<Value> = answers
            .iter()
            .map(|(order, answer)| {
                json!({ "order": order, "upper": answer.upper(), "lower": answer.lower() })
            })
            .collect();
        let standing = answers.first().map(|(_, answer)| answer.upper().standing());
        let mut blocks = vec![
            Block::Paragraph(format!(
                "{} Renyi divergences (standing: {}):",
                question.sentence(),
                standing.unwrap_or(Standing::Proved)
            )),
            Block::Table(table(&answers)),
            Block::Line(format!(
                "Upper: no two datasets that {} have a larger divergence.",
                divergence.relation().neighbors()
            )),
        ];
        blocks.extend(unshuffled(&answers));
        blocks.extend(attained(&answers));
        Ok(Report {
            blocks,
            json: fields(json!({ "query": question.query(), "divergences": divergences })),
            csv: csv(&answers),
            relation: Some(divergence.relation()),
            after: None,
        })
    }
}

fn table(answers: &[(f64, Answer<f64>)]) -> Grid {
    let mut table = Grid::new(["order", "upper", "method", "lower", "method"]);
    for (order, answer) in answers {
        table.row([
            plain(*order),
            answer.upper().to_string(),
            answer.upper().method().to_owned(),
            answer.lower().to_string(),
            answer.lower().method().to_owned(),
        ]);
    }
    table
}

/// The orders at which the upper bound is what reports have without a shuffler.
fn unshuffled(answers: &[(f64, Answer<f64>)]) -> Option<Block> {
    let orders: Vec<String> = answers
        .iter()
        .filter(|(_, answer)| answer.upper().is_without_shuffler())
        .map(|(order, _)| plain(*order))
        .collect();
    let which = match &orders[..] {
        [] => return None,
        all if all.len() == answers.len() => "at these orders".to_owned(),
        [one] => format!("at order {one}"),
        _ => format!("at orders {}", orders.join(", ")),
    };
    Some(Block::Line(format!(
        "No amplification by shuffling is known {which}: the upper bound there is that of the reports \
         without \
         a shuffler."
    )))
}

/// The datasets behind each method of a lower bound, once each.
fn attained(answers: &[(f64, Answer<f64>)]) -> Vec<Block> {
    let (mut lines, mut named) = (Vec::new(), Vec::new());
    for (_, answer) in answers {
        let method = answer.lower().method();
        let words = answer.lower().attained_by();
        if let Some(words) = words.filter(|_| !named.contains(&method)) {
            lines.push(Block::Line(format!("Lower, {method}: {words}.")));
            named.push(method);
        }
    }
    if lines.is_empty() {
        lines.push(Block::Line("Lower: no lower bound is known.".to_owned()));
    }
    lines
}

fn csv(answers: &[(f64, Answer<f64>)]) -> Grid {
    let mut csv = Grid::new([
        "order",
        "divergence",
        "side",
        "standing",
        "method",
        "attained_by",
    ]);
    for (order, answer) in answers {
        for bound in answer.bounds() {
            csv.row([
                plain(*order),
                json!(bound.value()).to_string(),
                bound.side().to_string(),
                bound.standing().to_string(),
                bound.method().to_owned(),
                bound.attained_by().unwrap_or_default().to_owned(),
            ]);
        }
    }
    csv
}
