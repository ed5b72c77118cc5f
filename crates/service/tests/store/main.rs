//! What a store of batches promises, asked of every store: by examples, by random histories against a model,
//! by killing programs. And of stores that are broken on purpose: the tests notice.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod at_rest;
mod broken;
mod collectors;
mod conformance;
mod kill;
mod memory;
mod model;
mod order;
#[path = "../parties/mod.rs"]
mod parties;
mod place;
