//! Two shufflers on one database: whoever of them a report reaches, a window is closed once, its batch sealed
//! once, and both give out the same bytes. And a database that does not answer.

use crate::parties::{Place, SMALLEST, Server, Turned};
use crate::place;
use ::postgres::{Client, NoTls};
use shuffledp_service::keyring::PENDING;
use shuffledp_service::server::open_store;
use shuffledp_service::store::StoreError;
use shuffledp_service::store::journal::{Event, verify};
use shuffledp_service::store::vault;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const WINDOWS: u64 = 20;

#[test]
fn two_shufflers_of_one_database_seal_a_window_once() {
    let Some(place::Place::Database(database)) = place::Place::database() else {
        return;
    };
    let place = Place::new(|spec, _| spec.window_seconds = Some(100));
    vault::make(&place.at("master.key"), 1).unwrap();
    let task = &place.task;
    let clock = Turned::at(1_000_050);
    let start = || {
        Server::start_around(
            &place,
            Arc::new(clock.clone()),
            |config| {
                config.store.postgres = Some(database.clone());
                config.windows.grace_seconds = 10;
            },
            |store| store,
        )
    };
    let both = [start(), start()];
    assert_eq!(both[0].service.active_key(), both[1].service.active_key());
    for window in 10_000..10_000 + WINDOWS {
        for server in &both {
            for envelope in server.crowd(task, window, SMALLEST) {
                // It counts once, whoever else gets it.
                let accepted = both
                    .iter()
                    .all(|server| server.post(task, &envelope).0 == 202);
                assert!(accepted);
            }
        }
        clock.go(100);
        let together = Barrier::new(2);
        std::thread::scope(|scope| {
            for server in &both {
                scope.spawn(|| {
                    together.wait();
                    server.service.tick();
                });
            }
        });
        assert!(both.iter().all(|server| server.ready().0 == 200));
    }
    let [one, other] = both.each_ref().map(|server| server.batches(task));
    assert_eq!(one, other);
    assert_eq!(one.len() as u64, WINDOWS);
    for batch in &one {
        assert_eq!(batch.reports, 2 * SMALLEST);
        let [one, other] = both.each_ref().map(|server| {
            let fetched = server.connection().fetch(task, &server.token, batch);
            fetched.unwrap()
        });
        assert_eq!(one, other);
    }
    // A new key is announced by neither before the other one has it.
    let old = both[0].service.active_key();
    both[0].service.rotate_keys().unwrap();
    for server in &both {
        server.service.tick();
        assert_eq!(server.service.active_key(), old);
    }
    clock.go(PENDING);
    both.iter().for_each(|server| server.service.tick());
    let [one, other] = both.each_ref().map(|server| server.service.active_key());
    assert!(one == other && one != old, "{one:?} {other:?}");
    drop(both);
    let mut config = shuffledp_service::server::config::StoreConfig::default();
    (config.postgres, config.master_key) = (Some(database), place.at("master.key"));
    let journal = open_store(&config).unwrap().journal().unwrap();
    verify(&journal).unwrap();
    let sealed = journal
        .iter()
        .filter(|entry| matches!(entry.event(), Ok(Event::Sealed { .. })));
    assert_eq!(sealed.count() as u64, WINDOWS);
}

/// What another client of the database holds would be waited for, for ever.
#[test]
fn a_database_that_is_held_up_is_no_store_that_can_be_written() {
    let Some(place) = place::Place::database() else {
        return;
    };
    let store = place.open();
    store.ready().unwrap();
    let place::Place::Database(connection) = &place else {
        panic!("no database");
    };
    let mut client = Client::connect(connection, NoTls).unwrap();
    client.batch_execute("begin; lock table probe").unwrap();
    let begun = Instant::now();
    let ready = store.ready();
    assert!(matches!(ready, Err(StoreError::Engine(_))), "{ready:?}");
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    client.batch_execute("rollback").unwrap();
    store.ready().unwrap();
}
