//! Answers of the library as pairs (lower bound, upper bound).

use shuffledp_accounting::{Account, Plan, account};

/// ε at δ of a round or a plan.
pub(crate) fn epsilon(plan: impl Into<Plan>, delta: f64) -> (f64, f64) {
    let answer = account(plan).unwrap().epsilon(delta).unwrap();
    (answer.lower().value(), answer.upper().value())
}

/// δ at ε of a round or a plan.
pub(crate) fn delta(plan: impl Into<Plan>, epsilon: f64) -> (f64, f64) {
    delta_of(&account(plan).unwrap(), epsilon)
}

/// δ at ε of an account that is asked several times.
pub(crate) fn delta_of(account: &Account, epsilon: f64) -> (f64, f64) {
    let answer = account.delta(epsilon).unwrap();
    (answer.lower().value(), answer.upper().value())
}
