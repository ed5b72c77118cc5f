//! The tests notice stores that are broken on purpose, and are content with the one that is not.

use crate::conformance;
use crate::memory::Defect;
use crate::model::history;
use crate::order::first_arrival;
use crate::place::Place;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The error of the first of some short histories that does not hold.
fn found(defect: Defect) -> Option<String> {
    let histories = (1..=12).map(|seed| history(&Place::memory(defect), seed, 1500));
    histories.filter_map(Result::err).next()
}

#[track_caller]
fn notices(defect: Defect, what: &str) {
    let error = found(defect).unwrap_or_default();
    assert!(error.contains(what), "{defect:?}: {error:?}");
}

#[test]
fn an_honest_store_is_let_through() {
    assert_eq!(found(Defect::None), None);
}

#[test]
fn a_seal_apart_from_its_count() {
    // Sealed, and without bytes after a fault between the two.
    notices(Defect::SealApart, "sealed batch has no bytes");
}

#[test]
fn a_check_for_repetition_after_the_insert() {
    // After a fault between the two the device sends again: the report is taken twice.
    let error = found(Defect::CheckAfterInsert).unwrap_or_default();
    let twice = ["New, not Repeated", "holds a report twice"];
    assert!(twice.iter().any(|twice| error.contains(twice)), "{error}");
}

#[test]
fn an_order_that_is_settled_on_arrival() {
    let chi_square = first_arrival(&Place::memory(Defect::OrderEarly), 10);
    assert!(chi_square > 1e3, "{chi_square}");
    // Histories alone would let it through: the order is no part of what a batch holds.
    assert_eq!(found(Defect::OrderEarly), None);
}

#[test]
fn an_order_that_is_drawn_anew_for_every_fetch() {
    // The record has the digest of the bytes that were sealed, and others were fetched.
    notices(Defect::OrderAgain, "digest");
}

#[test]
fn a_batch_that_is_one_short() {
    notices(Defect::OneShort, "");
    let error = found(Defect::OneShort).unwrap_or_default();
    assert!(
        error.contains("Sealed") && error.contains("Expired"),
        "{error}"
    );
}

#[test]
fn a_mark_that_follows_the_clock_back() {
    let error = found(Defect::MarkFollows).unwrap_or_default();
    assert!(error.starts_with("Ok("), "{error}");
}

#[test]
fn a_look_at_the_window_apart_from_the_insert() {
    let race = || {
        let place = Place::memory(Defect::LookApart);
        conformance::reports_that_race_the_closing_are_in_the_batch_or_refused(&place);
    };
    assert!(catch_unwind(AssertUnwindSafe(race)).is_err());
}
