//! A clock that shows a wrong time, once: windows are closed and keys and batches destroyed by it, for good.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::{Place, SMALLEST, Server, Turned};
use shuffledp_service::server::NotReady;
use std::sync::Arc;

/// Windows of a hundred seconds; the first of these tests is number 10,000.
fn place() -> Place {
    Place::new(|spec, _| spec.window_seconds = Some(100))
}

fn start(place: &Place, clock: &Turned) -> Server {
    let server = Server::start_around(
        place,
        Arc::new(clock.clone()),
        |config| {
            config.windows.grace_seconds = 10;
            config.keys.overlap_seconds = 1000;
        },
        |store| store,
    );
    server.service.tick();
    server
}

#[test]
fn one_wrong_time_closes_and_destroys_nothing() {
    let (place, clock) = (place(), Turned::at(1_000_050));
    let task = &place.task;
    let server = start(&place, &clock);
    server.crowd(task, 10_000, SMALLEST);
    clock.go(100);
    server.service.tick();
    assert_eq!(server.batches(task).len(), 1);
    server.crowd(task, 10_001, SMALLEST);
    let old = server.envelope(task, 10_001);
    server.service.rotate_keys().unwrap();
    // A year ahead, while no time has gone by.
    clock.set(1_000_150 + 31_536_000);
    for _ in 0..3 {
        server.service.tick();
        let seconds = 31_536_000;
        assert_eq!(server.service.ready(), Err(NotReady::Ahead { seconds }));
        let (status, text) = server.ready();
        assert_eq!(
            (status, text.contains("clock/confirmation")),
            (503, true),
            "{text}"
        );
        // Devices are not told of windows that are not open yet.
        assert!(server.connection().now(task).is_err());
        let (status, text) = server.post(task, &old);
        assert_eq!(
            (status, text.contains("its operator")),
            (503, true),
            "{text}"
        );
    }
    // What is listed does not depend on the clock.
    assert_eq!(server.batches(task).len(), 1);
    // It is set right, and goes on as if nothing had been.
    clock.set(1_000_150);
    server.service.tick();
    assert_eq!(server.ready().0, 200);
    assert_eq!(server.post(task, &old).0, 202);
    clock.go(100);
    server.service.tick();
    let reports: Vec<u64> = server
        .batches(task)
        .iter()
        .map(|batch| batch.reports)
        .collect();
    assert_eq!(reports, [SMALLEST, SMALLEST + 1]);
}

#[test]
fn a_shuffler_that_starts_with_a_wrong_time_waits_for_its_operator() {
    let (place, clock) = (place(), Turned::at(1_000_050));
    let task = &place.task;
    let server = start(&place, &clock);
    server.crowd(task, 10_000, SMALLEST);
    drop(server);
    // Off for less than an hour.
    clock.set(1_000_050 + 40);
    let server = start(&place, &clock);
    assert_eq!(server.ready().0, 200);
    drop(server);
    clock.set(1_000_090 + 7200);
    let server = start(&place, &clock);
    assert_eq!(server.ready().0, 503);
    assert_eq!(server.batches(task), []);
    // The time that was trusted is still the one that it is compared with.
    drop(server);
    let server = start(&place, &clock);
    assert_eq!(server.ready().0, 503);
    assert_eq!(server.operate("/v1/clock/confirmation"), 200);
    assert_eq!(server.ready().0, 200);
    assert_eq!(server.batches(task).len(), 1);
    drop(server);
    let server = start(&place, &clock);
    assert_eq!(server.ready().0, 200);
}
