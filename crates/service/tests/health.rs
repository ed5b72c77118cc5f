//! What a shuffler says of itself, and does, when a part of it fails: its store, one batch, one of its
//! threads.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::store::{Trouble, Troubled};
use parties::{Place, SMALLEST, Server, Turned};
use shuffledp_service::ServiceError;
use std::sync::Arc;
use std::time::Duration;

/// A shuffler whose store has troubles, and a clock.
fn start(place: &Place) -> (Server, Troubled, Turned) {
    let (clock, mut troubled) = (Turned::at(1_000_000), None);
    let server = Server::start_around(
        place,
        Arc::new(clock.clone()),
        |_| {},
        |store| {
            let store = Troubled::new(store);
            Arc::new(troubled.insert(store).clone())
        },
    )
    .unwrap();
    (server, troubled.unwrap(), clock)
}

#[test]
fn a_store_that_fails_makes_it_unready() {
    let place = Place::new(|_, _| {});
    let (server, troubled, _) = start(&place);
    assert_eq!(server.ready().0, 200);
    let envelope = server.envelope(&place.task, 0);
    troubled.set(Some(Trouble::Fails));
    server.service.tick();
    let (status, text) = server.ready();
    assert_eq!(
        (status, text.contains("the store cannot be written")),
        (503, true),
        "{text}"
    );
    assert_eq!(server.post(&place.task, &envelope).0, 503);
    troubled.set(None);
    server.service.tick();
    assert_eq!(server.ready().0, 200);
    assert_eq!(server.post(&place.task, &envelope).0, 202);
}

/// Who hangs cannot say so: readiness was that of the last look, for ever.
#[test]
fn a_look_that_hangs_makes_it_unready_in_time() {
    let place = Place::new(|_, _| {});
    let (server, troubled, clock) = start(&place);
    troubled.set(Some(Trouble::Hangs));
    // The thread that looks comes by every second.
    std::thread::sleep(Duration::from_millis(1500));
    clock.go(119);
    assert_eq!(server.ready().0, 200);
    clock.go(2);
    let (status, text) = server.ready();
    let says = "have not been looked after for 121 seconds";
    assert_eq!((status, text.contains(says)), (503, true), "{text}");
    troubled.set(None);
    server.service.tick();
    assert_eq!(server.ready().0, 200);
}

/// One without the thread that closes windows would go on taking reports, and look well.
#[test]
fn a_thread_that_panics_ends_the_shuffler() {
    let place = Place::new(|_, _| {});
    let (mut server, troubled, _) = start(&place);
    troubled.set(Some(Trouble::Panics));
    let ended = server.ended();
    assert!(
        matches!(ended, Some(Err(ServiceError::Broken))),
        "{ended:?}"
    );
    assert!(server.service.ready().is_err());
}

#[test]
fn one_damaged_batch_does_not_hold_up_the_others() {
    let place = Place::new(|_, _| {});
    let task = &place.task;
    let (server, troubled, clock) = start(&place);
    let closing = |window: u64| format!("/v1/tasks/{}/windows/{window}/closing", task.id());
    let stuck = |number: u64| {
        let line = format!(
            "shuffledp_batches_stuck{{task=\"{}\"}} {number}\n",
            task.id()
        );
        server.metrics().contains(&line)
    };
    server.crowd(task, 0, SMALLEST);
    troubled.set(Some(Trouble::Damaged(0)));
    assert_eq!(server.operate(&closing(0)), 503);
    server.crowd(task, 1, SMALLEST);
    assert_eq!(server.operate(&closing(1)), 200);
    let windows = || {
        let batches = server.batches(task);
        batches.iter().map(|batch| batch.window).collect::<Vec<_>>()
    };
    assert_eq!(windows(), [1]);
    server.service.tick();
    assert!(stuck(1));
    // One that cannot be destroyed does not keep the others either.
    troubled.set(None);
    server.service.tick();
    assert_eq!(windows(), [0, 1]);
    assert!(stuck(0));
    troubled.set(Some(Trouble::Damaged(0)));
    for _ in 0..200 {
        clock.go(3_500);
        server.service.tick();
    }
    assert_eq!(windows(), [0]);
    assert!(stuck(1));
    troubled.set(None);
    server.service.tick();
    assert_eq!(windows(), [] as [u64; 0]);
}
