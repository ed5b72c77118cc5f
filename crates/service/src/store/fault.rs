//! Faults at the boundaries of a transaction, which tests ask for: the engine fails before a transaction
//! holds, or the program ends after it holds and before anybody is told. Only with the feature `faults`.

use crate::store::StoreError;

/// Where a fault is.
// Without the feature the module is private.
#[cfg_attr(not(feature = "faults"), allow(unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The transaction does not hold.
    BeforeCommit,
    /// The transaction holds, and its caller does not learn of it.
    AfterCommit,
}

#[cfg(feature = "faults")]
std::thread_local! {
    /// The fault to come on this thread, and how many boundaries of its kind go by before it.
    static ARMED: std::cell::Cell<Option<(Boundary, u32)>> = const { std::cell::Cell::new(None) };
}

/// Lets the store fail on this thread, once, when it comes to such a boundary after `later` others.
#[cfg(feature = "faults")]
pub fn arm(boundary: Boundary, later: u32) {
    ARMED.set(Some((boundary, later)));
}

/// Takes the fault back. Whether it was still to come.
#[cfg(feature = "faults")]
pub fn disarm() -> bool {
    ARMED.take().is_some()
}

/// A boundary: an error where a test wants one.
#[cfg(feature = "faults")]
pub fn at(boundary: Boundary) -> Result<(), StoreError> {
    match ARMED.get() {
        Some((armed, 0)) if armed == boundary => {
            ARMED.set(None);
            Err(StoreError::Engine(format!(
                "a fault {boundary:?}, for a test"
            )))
        }
        Some((armed, later)) if armed == boundary => {
            ARMED.set(Some((armed, later - 1)));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A boundary.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn at(_: Boundary) -> Result<(), StoreError> {
    Ok(())
}
