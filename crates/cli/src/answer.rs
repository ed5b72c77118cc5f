//! The answer as a table for people, as JSON and as CSV for programs.

use crate::number::{plain, rounded};
use crate::words::Question;
use clap::ValueEnum;
use comfy_table::{ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle};
use serde_json::{Map, Value, json};
use shuffledp::{Answer, Bound};

/// A line under the header and nothing else.
pub(crate) const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::new(' ', ' ', ' '))
    .header_separator(LineStyle::new('─', '─', '─', '─'))
    .content_lines(ContentLineStyle::new(' ', ' ', ' '));

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// One JSON object
    Json,
    /// One line a bound, with a header
    Csv,
}

impl Format {
    /// The format asked for on a command line that could not be parsed.
    pub(crate) fn of_command_line() -> Self {
        let words: Vec<String> = std::env::args().collect();
        let json = words.iter().any(|word| word == "--format=json")
            || words
                .windows(2)
                .any(|pair| pair[0] == "--format" && pair[1] == "json");
        if json { Self::Json } else { Self::Table }
    }
}

/// The answer to "what is `asked` at `given`".
pub(crate) fn text<T: Copy>(
    format: Format,
    question: Question,
    given: (&str, f64),
    asked: &str,
    answer: &Answer<T>,
    value: fn(T) -> f64,
) -> String {
    match format {
        Format::Table => table(&question, given, asked, answer, value),
        Format::Json => json_object(question.query, given, asked, answer, value),
        Format::Csv => csv_lines(given, asked, answer, value),
    }
}

fn table<T: Copy>(
    question: &Question,
    (given, at): (&str, f64),
    asked: &str,
    answer: &Answer<T>,
    value: fn(T) -> f64,
) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["", asked, "standing", "method"]);
    for bound in [&answer.upper, &answer.lower] {
        table.add_row([
            bound.side.to_string(),
            rounded(value(bound.value), bound.side),
            bound.standing.to_string(),
            bound.method.clone(),
        ]);
    }
    let upper = rounded(value(answer.upper.value), answer.upper.side);
    let lower = rounded(value(answer.lower.value), answer.lower.side);
    let at = plain(at);
    let (epsilon, delta) = if asked == "epsilon" {
        (upper, at.clone())
    } else {
        (at.clone(), upper)
    };
    let ruled_out = match &answer.lower.attained_by {
        Some(words) if value(answer.lower.value) > 0.0 => {
            format!("no proof can get below {lower}: {words}")
        }
        _ => "nothing above 0 is ruled out".to_owned(),
    };
    format!(
        "{} At {given} = {at}:\n\n{}\n\n\
         Upper: what the analyzer sees is ({epsilon}, {delta})-differentially private when {}.\n\
         Lower: {ruled_out}.\n",
        question.sentence,
        table.trim_fmt(),
        question.adjacency
    )
}

fn json_object<T: Copy>(
    query: Map<String, Value>,
    (given, at): (&str, f64),
    asked: &str,
    answer: &Answer<T>,
    value: fn(T) -> f64,
) -> String {
    let bound = |bound: &Bound<T>| {
        let mut object = json!({
            "value": value(bound.value),
            "method": bound.method,
            "standing": bound.standing,
        });
        if let Some(words) = &bound.attained_by {
            object["attained_by"] = json!(words);
        }
        object
    };
    let object = json!({
        "query": query,
        given: at,
        asked: { "upper": value(answer.upper.value), "lower": value(answer.lower.value) },
        "upper": bound(&answer.upper),
        "lower": bound(&answer.lower),
        "numerics": answer.numerics,
    });
    format!("{object}\n")
}

fn csv_lines<T: Copy>(
    (given, at): (&str, f64),
    asked: &str,
    answer: &Answer<T>,
    value: fn(T) -> f64,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |fields: [String; 6]| {
        // Writing to memory cannot fail.
        let _ = writer.write_record(fields);
    };
    write([given, asked, "side", "standing", "method", "attained_by"].map(str::to_owned));
    for bound in [&answer.upper, &answer.lower] {
        write([
            json!(at).to_string(),
            json!(value(bound.value)).to_string(),
            bound.side.to_string(),
            bound.standing.to_string(),
            bound.method.clone(),
            bound.attained_by.clone().unwrap_or_default(),
        ]);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
