//! The tables of the documentation come from the catalog.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use shuffledp::randomizers::Device;
use shuffledp::{Entry, Parameter, catalog};

fn row(entry: &'static Entry) -> String {
    let field = |p: &Parameter| match *p == Parameter::Epsilon0 && entry.takes_own_epsilon0() {
        true => format!("`{}` (LO..HI)", p.field()),
        false => format!("`{}`", p.field()),
    };
    let mut parameters: Vec<String> = entry.needs().iter().map(field).collect();
    parameters.extend(entry.takes().iter().map(|p| format!("[{}]", field(p))));
    let run = if Device::exists(entry.name()) {
        "yes"
    } else {
        ""
    };
    format!(
        "| `{}` | {} | {} | {} | {run} |",
        entry.name(),
        entry.title(),
        parameters.join(", "),
        entry.input(),
    )
}

#[test]
fn the_guide_lists_the_catalog() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/randomizers.md");
    let page = std::fs::read_to_string(file).unwrap();
    let table: Vec<String> = catalog().map(row).collect();
    let table = table.join("\n");
    let (begin, end) = ("<!-- catalog -->\n", "\n<!-- end of catalog -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (kept, after) = rest.split_once(end).unwrap();
    let head =
        "| name | randomizer | parameters | a person holds | can be run |\n|---|---|---|---|---|\n";
    let made = format!("{head}{table}");
    if std::env::var("CATALOG").as_deref() == Ok("overwrite") {
        std::fs::write(file, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert!(kept == made, "remake it with CATALOG=overwrite");
}
