//! Notes: tables in Markdown.

/// A table.
pub(crate) fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    let mut lines = vec![line(&header), "|---".repeat(header.len()) + "|"];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}
