//! The output of a command as a table for people, as JSON, or as CSV.
//!
//! A command returns a [`Report`]; a format is one arm of [`Report::rendered`]. Every report names the
//! neighboring relation of its numbers: JSON and CSV in a field of their own, a table in its sentences.

use crate::failure::Failure;
use clap::ValueEnum;
use comfy_table::{ContentArrangement, ContentLineStyle, LineStyle, TableStyle};
use serde_json::{Map, Value, json};
use shuffledp::Relation;
use std::io::IsTerminal;

/// A line under the header and nothing else.
const STYLE: TableStyle = TableStyle::new()
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
    /// One line for each bound, with a header
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

/// Rows under a header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    right_aligned: Vec<usize>,
}

impl Grid {
    pub(crate) fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self {
            header: header.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Columns whose numbers stand under each other.
    pub(crate) fn right_aligned(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.right_aligned = columns.into_iter().collect();
        self
    }

    /// For people; where it is wider than the terminal, cells are wrapped between words.
    fn table(&self, width: Option<usize>) -> String {
        let mut table = comfy_table::Table::new();
        table
            .load_style(STYLE)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(&self.header);
        for row in &self.rows {
            table.add_row(row);
        }
        for &column in &self.right_aligned {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(comfy_table::CellAlignment::Right);
            }
        }
        let natural = table.trim_fmt();
        match width {
            Some(width) if natural.lines().any(|line| line.chars().count() > width) => {
                let width = u16::try_from(width).unwrap_or(u16::MAX);
                table
                    .set_content_arrangement(ContentArrangement::Dynamic)
                    .set_width(width);
                table.trim_fmt()
            }
            _ => natural,
        }
    }

    /// The lines of a CSV file.
    pub(crate) fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in std::iter::once(&self.header).chain(&self.rows) {
            // Writing to memory cannot fail.
            let _ = writer.write_record(row);
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

/// A part of a report for people.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// Sentences, and an empty line after them.
    Paragraph(String),
    /// Sentences without an empty line after them.
    Line(String),
    /// A table, and an empty line after it.
    Table(Grid),
}

/// The output of a command in all formats.
#[derive(Debug)]
pub(crate) struct Report {
    /// For people, in order.
    pub(crate) blocks: Vec<Block>,
    /// The fields of the JSON object, without the version and the relation.
    pub(crate) json: Map<String, Value>,
    /// The lines of the CSV file, without the relation.
    pub(crate) csv: Grid,
    /// The neighboring relation of the numbers; none where there is no guarantee.
    pub(crate) relation: Option<Relation>,
    /// A failure after the numbers were computed, such as writing a picture.
    pub(crate) after: Option<Failure>,
}

impl Report {
    pub(crate) fn rendered(self, format: Format) -> (String, Option<Failure>) {
        let after = self.after;
        let text = match format {
            Format::Table => text(&self.blocks, terminal_width()),
            Format::Json => format!("{}\n", object(self.json, self.relation)),
            Format::Csv => {
                let mut grid = self.csv;
                let relation = self.relation.map_or("none", Relation::name);
                grid.header.push("relation".into());
                grid.rows
                    .iter_mut()
                    .for_each(|row| row.push(relation.into()));
                grid.csv()
            }
        };
        (text, after)
    }
}

/// A JSON object with the version and the relation in front.
fn object(fields: Map<String, Value>, relation: Option<Relation>) -> Value {
    let mut object = Map::new();
    object.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    object.insert("relation".into(), json!(relation.map(Relation::name)));
    object.extend(fields);
    Value::Object(object)
}

/// The fields of a JSON object.
pub(crate) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

fn text(blocks: &[Block], width: Option<usize>) -> String {
    let mut text = String::new();
    for block in blocks {
        match block {
            Block::Paragraph(sentences) => text += &format!("{}\n\n", wrapped(sentences, width)),
            Block::Line(sentences) => text += &format!("{}\n", wrapped(sentences, width)),
            Block::Table(grid) => text += &format!("{}\n\n", grid.table(width)),
        }
    }
    text
}

/// The width of the terminal: $COLUMNS, or that of standard output if it is a terminal.
fn terminal_width() -> Option<usize> {
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let seen = || {
        let terminal = std::io::stdout().is_terminal();
        let size = terminal.then(terminal_size::terminal_size).flatten();
        size.map(|(width, _)| usize::from(width.0))
    };
    // Narrower than this nothing can be read.
    told.or_else(seen).map(|width: usize| width.max(40))
}

/// Lines no longer than a width, broken between words; longer words stay whole.
fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let line = |line: &str| {
        let indent: String = line.chars().take_while(|letter| *letter == ' ').collect();
        let (mut all, mut length) = (indent.clone(), indent.len());
        for word in line.split_whitespace() {
            let letters = word.chars().count();
            if length > indent.len() && length + 1 + letters > width {
                all += "\n";
                all += &indent;
                length = indent.len();
            }
            if length > indent.len() {
                all.push(' ');
                length += 1;
            }
            all += word;
            length += letters;
        }
        all
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Block, Grid, text, wrapped};

    #[test]
    fn sentences_wrap_between_words_and_nowhere_else() {
        let sentence =
            "Upper: the view of the analyzer is private when one user's value is replaced.";
        let narrow = wrapped(sentence, Some(40));
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 40),
            "{narrow}"
        );
        assert_eq!(
            narrow.split_whitespace().collect::<Vec<_>>().join(" "),
            sentence
        );
        assert_eq!(wrapped(sentence, None), sentence);
        assert_eq!(
            wrapped("a-word-that-is-much-too-long-for-the-line b", Some(40))
                .lines()
                .count(),
            2
        );
    }

    #[test]
    fn tables_fit_the_terminal() {
        let mut grid = Grid::new(["", "epsilon", "method"]);
        grid.row([
            "upper",
            "0.123456",
            "a method whose name has very many words in it, more than fit",
        ]);
        let narrow = text(&[Block::Table(grid)], Some(50));
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 50),
            "{narrow}"
        );
    }
}
