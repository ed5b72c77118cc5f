//! `shuffledp rdp`: Rényi divergences at a list of orders.

use crate::answer::{Format, STYLE};
use crate::failure::Failure;
use crate::number::{plain, real, rounded};
use crate::words::Question;
use comfy_table::{ContentArrangement, Table};
use serde_json::{Value, json};
use shuffledp::{Answer, Bound, Divergence, Standing};

/// The most orders a list may have.
const MOST: usize = 10_000;

/// 2,4,8:64:8 as numbers.
pub(crate) fn orders(text: &str) -> Result<Vec<f64>, Failure> {
    let mut all = Vec::new();
    for part in text.split(',') {
        if part.trim().is_empty() {
            let message = format!("--orders '{text}' lacks an order: write them as 2,4,8:64:8");
            return Err(Failure::words("--orders", message));
        }
        let ends: Vec<&str> = part.split(':').collect();
        let (from, to, step) = match ends[..] {
            [one] => (real("--orders", one)?, real("--orders", one)?, 1.0),
            [from, to] => (real("--orders", from)?, real("--orders", to)?, 1.0),
            [from, to, step] => (
                real("--orders", from)?,
                real("--orders", to)?,
                real("--orders", step)?,
            ),
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
                "--orders {part} is not a range of orders: from at most to, a positive step, at most {MOST} orders"
            );
            return Err(Failure::words("--orders", message));
        }
        all.extend((0..count as usize).map(|i| from + i as f64 * step));
    }
    Ok(all)
}

/// The answers at all orders.
pub(crate) fn text(format: Format, question: Question, orders: &[f64]) -> Result<String, Failure> {
    let divergence = Divergence::new(&question.plan)?;
    let answers: Result<Vec<(f64, Answer<f64>)>, Failure> = orders
        .iter()
        .map(|&order| Ok((order, divergence.at(order)?)))
        .collect();
    let answers = answers?;
    Ok(match format {
        Format::Table => table(&question.sentence, &answers),
        Format::Json => json_object(&question, &answers),
        Format::Csv => csv_lines(&answers),
    })
}

fn table(sentence: &str, answers: &[(f64, Answer<f64>)]) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["order", "upper", "method", "lower", "method"]);
    for (order, answer) in answers {
        table.add_row([
            plain(*order),
            rounded(answer.upper.value, answer.upper.side),
            answer.upper.method.clone(),
            rounded(answer.lower.value, answer.lower.side),
            answer.lower.method.clone(),
        ]);
    }
    let mut attained = String::new();
    let mut named: Vec<&str> = Vec::new();
    for (_, answer) in answers {
        let method = answer.lower.method.as_str();
        let words = answer.lower.attained_by.as_ref();
        if let Some(words) = words.filter(|_| !named.contains(&method)) {
            attained += &format!("\nLower, {method}: {words}.");
            named.push(method);
        }
    }
    format!(
        "{sentence} Renyi divergences (standing: {}):\n\n{}\n\n\
         Upper: no two datasets that differ in one user's value have a larger divergence.{attained}\n",
        answers
            .first()
            .map_or(Standing::Proved, |(_, answer)| answer.upper.standing),
        table.trim_fmt()
    )
}

fn json_object(question: &Question, answers: &[(f64, Answer<f64>)]) -> String {
    let bound = |bound: &Bound<f64>| {
        let mut object = json!({
            "value": bound.value,
            "method": bound.method,
            "standing": bound.standing,
        });
        if let Some(words) = &bound.attained_by {
            object["attained_by"] = json!(words);
        }
        object
    };
    let divergences: Vec<Value> = answers
        .iter()
        .map(|(order, answer)| {
            json!({ "order": order, "upper": bound(&answer.upper), "lower": bound(&answer.lower) })
        })
        .collect();
    let object = json!({ "query": question.query, "divergences": divergences });
    format!("{object}\n")
}

fn csv_lines(answers: &[(f64, Answer<f64>)]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |fields: [String; 6]| {
        // Writing to memory cannot fail.
        let _ = writer.write_record(fields);
    };
    write(
        [
            "order",
            "divergence",
            "side",
            "standing",
            "method",
            "attained_by",
        ]
        .map(str::to_owned),
    );
    for (order, answer) in answers {
        for bound in [&answer.upper, &answer.lower] {
            write([
                plain(*order),
                json!(bound.value).to_string(),
                bound.side.to_string(),
                bound.standing.to_string(),
                bound.method.clone(),
                bound.attained_by.clone().unwrap_or_default(),
            ]);
        }
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
