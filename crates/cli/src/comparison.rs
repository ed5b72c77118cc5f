//! `shuffledp compare`: every bound on the same rounds, in one table.

use crate::answer::{Format, STYLE};
use crate::failure::Failure;
use crate::number::{plain, rounded};
use crate::words::Question;
use comfy_table::{ContentArrangement, Table};
use serde_json::{Value, json};
use shuffledp::{Comparison, Delta, compare};

/// The table of all bounds at δ.
pub(crate) fn text(format: Format, question: Question, delta: Delta) -> Result<String, Failure> {
    let [(round, rounds)] = question.plan.rounds() else {
        return Err(Failure::words(
            "--plan",
            "compare is about one kind of round: published bounds have no plans",
        ));
    };
    let entries = compare(round, *rounds, delta)?;
    Ok(match format {
        Format::Table => table(&question, delta, &entries),
        Format::Json => json_object(&question, delta, &entries),
        Format::Csv => csv_lines(delta, &entries),
    })
}

/// Seconds as a person would say them.
fn seconds(seconds: f64) -> String {
    if seconds < 1e-3 {
        "<1 ms".to_owned()
    } else if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{seconds:.1} s")
    }
}

fn table(question: &Question, delta: Delta, entries: &[Comparison]) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["", "epsilon", "side", "standing", "order", "time", "bound"]);
    let mut notes: Vec<&str> = Vec::new();
    let mut unmet = String::new();
    for entry in entries {
        let epsilon = match &entry.epsilon {
            Ok(epsilon) => *epsilon,
            Err(condition) => {
                unmet += &format!("  {} needs {condition}\n", entry.name);
                continue;
            }
        };
        let mut name = entry.name.clone();
        if let Some(note) = &entry.note {
            let known = notes.iter().position(|known| known == note);
            let index = known.unwrap_or_else(|| {
                notes.push(note);
                notes.len() - 1
            });
            name += &format!(" [{}]", index + 1);
        }
        table.add_row([
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
    let mut text = format!(
        "{} At delta = {}:\n\n{}\n\n\
         *: the tightest of its side that is certified or proved. Order: the Renyi order that gave the number.\n\
         Several rounds: guarantees (epsilon, delta) of one round are composed by kairouz-2015.\n",
        question.sentence,
        plain(delta.value()),
        table.trim_fmt()
    );
    for (i, note) in notes.iter().enumerate() {
        text += &format!("[{}] {note}.\n", i + 1);
    }
    if !unmet.is_empty() {
        text += &format!("\nNot applicable here:\n{unmet}");
    }
    text
}

fn json_object(question: &Question, delta: Delta, entries: &[Comparison]) -> String {
    let bounds: Vec<Value> = entries
        .iter()
        .map(|entry| {
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
            object
        })
        .collect();
    let object = json!({ "query": question.query, "delta": delta.value(), "bounds": bounds });
    format!("{object}\n")
}

fn csv_lines(delta: Delta, entries: &[Comparison]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |fields: [String; 10]| {
        // Writing to memory cannot fail.
        let _ = writer.write_record(fields);
    };
    let header = [
        "delta", "epsilon", "side", "standing", "bound", "order", "tightest", "seconds", "needs",
        "note",
    ];
    write(header.map(str::to_owned));
    for entry in entries {
        let (epsilon, needs) = match &entry.epsilon {
            Ok(epsilon) => (json!(epsilon).to_string(), String::new()),
            Err(condition) => (String::new(), condition.to_string()),
        };
        write([
            plain(delta.value()),
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
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
