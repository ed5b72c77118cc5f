//! `shuffledp compare`: every bound on the same rounds, in one table.

use crate::commands::epsilon::EpsilonArguments;
use crate::failure::Failure;
use crate::output::{Block, Grid, Report, fields};
use serde_json::{Value, json};
use shuffledp::{Comparison, compare, plain, rounded};

impl EpsilonArguments {
    /// The table of all bounds at δ.
    pub(crate) fn comparison(&self) -> Result<Report, Failure> {
        self.round.refuse_accuracy()?;
        let delta = self.delta()?;
        let question = self.round.question()?;
        let [(round, rounds)] = question.plan.rounds() else {
            let message = "compare is about one kind of round: published bounds have no plans";
            return Err(Failure::flag("--plan", message));
        };
        let entries = compare(round, *rounds, delta)?;
        let about = |other: bool| {
            let wanted = entries
                .iter()
                .filter(move |entry| entry.other_mechanism.is_some() == other);
            wanted.map(object).collect::<Vec<Value>>()
        };
        let heading = format!(
            "{} At delta = {}:",
            question.sentence(),
            plain(delta.value())
        );
        Ok(Report {
            blocks: blocks(heading, &question.relation().to_string(), &entries),
            json: fields(json!({
                "query": question.query(),
                "delta": delta.value(),
                "bounds": about(false),
                "other_mechanisms": about(true),
            })),
            csv: csv(delta.value(), &entries),
            relation: Some(question.relation()),
            after: None,
        })
    }
}

/// Seconds as a short text.
fn seconds(seconds: f64) -> String {
    if seconds < 1e-3 {
        "<1 ms".to_owned()
    } else if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{seconds:.1} s")
    }
}

fn blocks(heading: String, relation: &str, entries: &[Comparison]) -> Vec<Block> {
    let mut table = Grid::new(["", "epsilon", "side", "standing", "order", "time", "bound"]);
    let mut others = Vec::new();
    let mut notes: Vec<&str> = Vec::new();
    let mut unmet = Vec::new();
    for entry in entries {
        let epsilon = match &entry.epsilon {
            Ok(epsilon) => *epsilon,
            Err(condition) => {
                unmet.push(Block::Line(format!("  {} needs {condition}", entry.name)));
                continue;
            }
        };
        if let Some(mechanism) = entry.other_mechanism {
            let epsilon = rounded(epsilon, entry.side);
            others.push(Block::Line(format!(
                "  {epsilon}  {} ({mechanism})",
                entry.name
            )));
            continue;
        }
        let mut name = entry.name.clone();
        if let Some(note) = &entry.note {
            let known = notes.iter().position(|known| known == note);
            let index = known.unwrap_or_else(|| {
                notes.push(note);
                notes.len() - 1
            });
            name += &format!(" [{}]", index + 1);
        }
        table.row([
            if entry.tightest { "*" } else { "" }.to_owned(),
            rounded(epsilon, entry.side),
            entry.side.to_string(),
            entry.standing.to_string(),
            entry
                .order
                .map_or(String::new(), |order| format!("{order:.0}")),
            seconds(entry.seconds),
            name,
        ]);
    }
    let mut blocks = vec![
        Block::Paragraph(heading),
        Block::Table(table),
        Block::Line(format!("Bounds are about privacy when {relation}.")),
        Block::Line(
            "*: the tightest of its side that is certified or proved. Order: the Renyi order that gave the \
             number."
                .to_owned(),
        ),
        Block::Line(
            "Several rounds: guarantees (epsilon, delta) of one round are composed by kairouz-2015."
                .to_owned(),
        ),
    ];
    let note = |(i, note): (usize, &&str)| Block::Line(format!("[{}] {note}.", i + 1));
    blocks.extend(notes.iter().enumerate().map(note));
    let sections = [
        (
            "\nBounds on another mechanism, for comparison only:",
            others,
        ),
        ("\nNot applicable here:", unmet),
    ];
    for (title, lines) in sections {
        if !lines.is_empty() {
            blocks.push(Block::Line(title.to_owned()));
            blocks.extend(lines);
        }
    }
    blocks
}

fn object(entry: &Comparison) -> Value {
    let mut object = json!({
        "bound": entry.name,
        "side": entry.side,
        "standing": entry.standing,
        "tightest": entry.tightest,
        "seconds": entry.seconds,
    });
    match &entry.epsilon {
        Ok(epsilon) => object["epsilon"] = json!(epsilon),
        Err(condition) => object["needs"] = json!(condition.to_string()),
    }
    if let Some(order) = entry.order {
        object["order"] = json!(order);
    }
    if let Some(note) = &entry.note {
        object["note"] = json!(note);
    }
    if let Some(mechanism) = entry.other_mechanism {
        object["mechanism"] = json!(mechanism);
    }
    object
}

/// Bounds on other mechanisms are left out, so that a program does not take them for bounds on this one.
fn csv(delta: f64, entries: &[Comparison]) -> Grid {
    let mut csv = Grid::new([
        "delta", "epsilon", "side", "standing", "bound", "order", "tightest", "seconds", "needs",
        "note",
    ]);
    for entry in entries
        .iter()
        .filter(|entry| entry.other_mechanism.is_none())
    {
        let (epsilon, needs) = match &entry.epsilon {
            Ok(epsilon) => (json!(epsilon).to_string(), String::new()),
            Err(condition) => (String::new(), condition.to_string()),
        };
        csv.row([
            plain(delta),
            epsilon,
            entry.side.to_string(),
            entry.standing.to_string(),
            entry.name.clone(),
            entry.order.map_or(String::new(), |order| order.to_string()),
            entry.tightest.to_string(),
            entry.seconds.to_string(),
            needs,
            entry.note.clone().unwrap_or_default(),
        ]);
    }
    csv
}
