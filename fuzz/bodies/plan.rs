//! A plan file from somebody else: it is a plan, or it is refused by a sentence of one line.

use shuffledp_accounting::Plan;

/// Reads it.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Err(error) = Plan::from_toml(text) {
        let said = error.to_string();
        assert!(!said.is_empty() && !said.contains('\n'), "{said:?}");
    }
}
