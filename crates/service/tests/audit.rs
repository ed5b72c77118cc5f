//! The attack of an audit on a running shuffler, through sockets, both layers of encryption and a store on
//! disk: nothing beyond what is certified, and more than that where a fault is put in.

#![allow(clippy::unwrap_used)]

use shuffledp_accounting::{RandomizerSpec, RoundSpec};
use shuffledp_protocol::audit::{Audit, AuditError, AuditSpec, Audited, Evidence, Fault};
use shuffledp_service::audit::{Defect, UnderAudit};

/// Events that are rarer are not seen in the runs that there is time for.
const DELTA: f64 = 0.01;
/// So many hide a report well enough that a fault shows: 1.4 is certified for them, and 2 for one report.
const CROWD: u64 = 24;
/// 0.91 is certified for a batch of these, and 2 for one of four.
const LARGER: u64 = 40;

/// Every fault is put in where all tests are asked for; else one of the shuffler's.
fn all() -> bool {
    std::env::var("SHUFFLEDP_TESTS").is_ok_and(|word| word == "all")
}

fn round(users: u64) -> RoundSpec {
    let mut randomizer = RandomizerSpec::new("krr").unwrap();
    (randomizer.k, randomizer.epsilon0) = (Some(3), Some(2.0.into()));
    let mut round = RoundSpec::new(randomizer);
    round.users = Some(users);
    round
}

fn prepared(users: u64, fault: Option<Fault>) -> Audit {
    let mut spec = AuditSpec::new(round(users), DELTA);
    (spec.trials, spec.seed, spec.fault) = (Some(1000), Some(5), fault);
    spec.prepare().unwrap()
}

/// A shuffler whose batches have `smallest` reports or more, attacked with `users` of them.
fn attack(smallest: u64, users: u64, fault: Option<Fault>, defect: Option<Defect>) -> Audited {
    let folder = tempfile::tempdir().unwrap();
    let promised = prepared(smallest, None).answer().upper().value();
    let shuffler = UnderAudit::start(&round(smallest), (promised, DELTA), defect, folder.path());
    let shuffler = shuffler.unwrap();
    let audited = shuffler.audit(prepared(users, fault), |_| ()).unwrap();
    shuffler.stop().unwrap();
    audited
}

#[test]
fn the_running_shuffler_keeps_its_promise() {
    let audited = attack(CROWD, CROWD, None, None);
    assert!(!audited.violated, "{:?}", audited.finding);
    // The attack sees something: it is not the case that nothing arrives.
    let found = audited.finding.epsilon;
    assert!(found > 0.3, "{:?}", audited.finding);
}

#[test]
fn a_shuffler_that_keeps_the_order_is_found() {
    let audited = attack(CROWD, CROWD, None, Some(Defect::KeepsOrder));
    assert!(audited.violated, "{:?}", audited.finding);
}

#[test]
fn a_shuffler_that_keeps_the_first_report_in_its_place_is_found() {
    if !all() {
        return;
    }
    let audited = attack(CROWD, CROWD, None, Some(Defect::KeepsFirst));
    assert!(audited.violated, "{:?}", audited.finding);
    assert_eq!(audited.finding.evidence, Evidence::Position(0));
}

#[test]
fn devices_that_halve_their_noise_are_found() {
    if !all() {
        return;
    }
    let audited = attack(CROWD, CROWD, Some(Fault::HalfNoise), None);
    assert!(audited.violated, "{:?}", audited.finding);
}

#[test]
fn a_shuffler_that_releases_small_batches_is_found() {
    if !all() {
        return;
    }
    let promised = prepared(LARGER, None).answer().upper().value();
    let small = attack(LARGER, 4, None, Some(Defect::ReleasesAll)).finding;
    assert!(small.epsilon > promised, "{small:?}, promised {promised}");
    // An honest one shows nothing of so small a batch.
    assert_eq!(attack(LARGER, 4, None, None).finding.epsilon, 0.0);
}

#[test]
fn rounds_in_which_some_are_silent_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let shuffler = UnderAudit::start(&round(CROWD), (3.0, DELTA), None, folder.path()).unwrap();
    let mut silent = round(CROWD);
    silent.check_in = Some(0.5.into());
    let audit = AuditSpec::new(silent, DELTA).prepare().unwrap();
    let refused = shuffler.audit(audit, |_| ());
    assert!(matches!(refused, Err(AuditError::SomeAreSilent)));
}
