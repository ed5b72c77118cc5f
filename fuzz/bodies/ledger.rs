//! A stored ledger: it is refused, or it is stored again as a ledger that says the same.

use shuffledp_accounting::Accountant;

/// Reads it, stores it, reads that.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Accountant::from_json(text) {
        Ok(accountant) => {
            let stored = accountant.to_json();
            let again =
                Accountant::from_json(&stored).map(|again| (again.rounds(), again.to_json()));
            assert_eq!(again, Ok((accountant.rounds(), stored)));
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!said.is_empty() && !said.contains('\n'), "{said:?}");
        }
    }
}
