//! Notes: Markdown templates that stand beside the code of their figures.
//!
//! A template is wrapped for reading: the lines of a paragraph are joined. `{name}` stands for a value, and
//! `{picture}` for the picture. The compiler checks that every placeholder has a value and every value a
//! placeholder.

/// The place of the picture in a note, until the name of its file is known.
pub(crate) const PICTURE: &str = "![](picture)";

/// A note from a template beside the calling file: `note!("figure_4.md", table = table, users = 10)`.
macro_rules! note {
    ($file:literal $(, $name:ident = $value:expr)* $(,)?) => {
        $crate::note::fragment!($file, picture = $crate::note::PICTURE $(, $name = $value)*)
    };
}

/// A part of a note that several exhibits share, without a picture.
macro_rules! fragment {
    ($file:literal $(, $name:ident = $value:expr)* $(,)?) => {{
        const TEMPLATE: &str = include_str!($file);
        const {
            assert!(
                $crate::note::agree(TEMPLATE, &[$(stringify!($name)),*]),
                concat!("the placeholders of ", $file, " are not the values that it is given")
            );
        }
        $crate::note::filled(TEMPLATE, &[$((stringify!($name), $value.to_string())),*])
    }};
}

pub(crate) use {fragment, note};

/// Whether the placeholders of a template are exactly these names.
pub(crate) const fn agree(template: &str, names: &[&str]) -> bool {
    let text = template.as_bytes();
    let mut name = 0;
    while name < names.len() {
        if !occurs(text, names[name].as_bytes()) {
            return false;
        }
        name += 1;
    }
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'{' {
            let mut known = false;
            let mut name = 0;
            while name < names.len() {
                known = known || placeholder(text, at, names[name].as_bytes());
                name += 1;
            }
            if !known {
                return false;
            }
        }
        at += 1;
    }
    true
}

/// Whether a placeholder of this name is anywhere.
const fn occurs(text: &[u8], name: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'{' && placeholder(text, at, name) {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether the brace at this place opens a placeholder of this name.
const fn placeholder(text: &[u8], brace: usize, name: &[u8]) -> bool {
    let end = brace + 1 + name.len();
    if end >= text.len() || text[end] != b'}' {
        return false;
    }
    let mut letter = 0;
    while letter < name.len() {
        if text[brace + 1 + letter] != name[letter] {
            return false;
        }
        letter += 1;
    }
    true
}

/// A template with its lines joined to paragraphs and its placeholders filled. Braces in values stay.
pub(crate) fn filled(template: &str, values: &[(&str, String)]) -> String {
    let paragraphs: Vec<String> = template
        .trim()
        .split("\n\n")
        .map(|paragraph| paragraph.lines().collect::<Vec<_>>().join(" "))
        .collect();
    let template = paragraphs.join("\n\n");
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, after) = part.split_once('}').unwrap_or((part, ""));
        let value = values.iter().find(|value| value.0 == name);
        text += value.map_or("", |value| &value.1);
        text += after;
    }
    text
}

/// A table.
pub(crate) fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    let mut lines = vec![line(&header), "|---".repeat(header.len()) + "|"];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{agree, filled};

    #[test]
    fn placeholders_and_values_must_agree() {
        assert!(agree("{a} and {b}, {a}", &["b", "a"]));
        assert!(!agree("{a} and {b}", &["a"]), "nothing for b");
        assert!(!agree("{a}", &["a", "b"]), "no place for b");
        assert!(!agree("{a", &["a"]), "not closed");
        assert!(!agree("{ab}", &["a"]), "another name");
        assert!(agree("", &[]));
    }

    #[test]
    fn lines_are_joined_and_values_stand_as_they_are() {
        let values = [
            ("a", "1".to_owned()),
            ("table", "| {b} |\n| 2 |".to_owned()),
        ];
        assert_eq!(
            filled("one is\n{a}, twice {a}\n\n{table}\n", &values),
            "one is 1, twice 1\n\n| {b} |\n| 2 |"
        );
    }
}
