//! A store that is not in the state in which it was left: lost, restored from a backup, or restored while a
//! shuffler runs. Each test is named for what went wrong once: a window must not be released twice, with
//! other reports the second time, for the difference would be somebody's report.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::store::{Troubled, copy_folder};
use parties::{Place, SMALLEST, Server};
use shuffledp_protocol::lifecycle::State;
use shuffledp_service::schedule::SystemClock;
use shuffledp_service::server::NotReady;
use shuffledp_service::store::Store;
use shuffledp_service::store::embedded::Embedded;
use shuffledp_service::store::vault::Vault;
use std::path::Path;
use std::sync::Arc;

fn replace_folder(from: &Path, to: &Path) {
    std::fs::remove_dir_all(to).unwrap();
    copy_folder(from, to);
}

/// The store of a place, while no shuffler has it.
fn store(place: &Place, folder: &str) -> Embedded {
    let vault = Vault::read(&[place.at("master.key")]).unwrap();
    Embedded::open(&place.at(folder), vault).unwrap()
}

/// A backup of the middle of a window, restored after the window was released.
#[test]
fn a_batch_that_was_open_in_the_backup_is_not_released_after_a_later_one() {
    let place = Place::new(|_, _| {});
    let task = &place.task;
    let server = Server::start(&place);
    server.crowd(task, 0, SMALLEST);
    drop(server);
    copy_folder(&place.at("store"), &place.at("backup"));
    let server = Server::start(&place);
    let late = server.crowd(task, 0, 1);
    server.close(task, 0);
    assert_eq!(server.batches(task)[0].reports, SMALLEST + 1);
    drop(server);
    replace_folder(&place.at("backup"), &place.at("store"));
    let server = Server::start(&place);
    server.service.tick();
    // Neither by the clock nor by the operator.
    assert_eq!(server.batches(task), []);
    let closing = format!("/v1/tasks/{}/windows/0/closing", task.id());
    assert_eq!(server.operate(&closing), 409);
    assert_eq!(server.batches(task), []);
    assert_eq!(server.post(task, &late[0]).0, 410);
    assert_eq!(server.ready().0, 200);
    // The next window goes on, with new keys.
    server.crowd(task, 1, SMALLEST);
    server.close(task, 1);
    assert_eq!(server.batches(task)[0].window, 1);
    drop(server);
    let records = store(&place, "store").batches(&task.id(), 0).unwrap();
    let states: Vec<State> = records.iter().map(|record| record.state).collect();
    assert_eq!(states, [State::Expired, State::Sealed]);
}

/// The same where nobody remembers which windows were released: what was open is destroyed all the same.
#[test]
fn a_batch_that_was_open_in_the_backup_expires() {
    let place = Place::new(|_, _| {});
    let task = &place.task;
    let server = Server::start(&place);
    server.crowd(task, 0, SMALLEST);
    drop(server);
    copy_folder(&place.at("store"), &place.at("backup"));
    let server = Server::start(&place);
    server.crowd(task, 0, 1);
    drop(server);
    replace_folder(&place.at("backup"), &place.at("store"));
    let server = Server::start(&place);
    let closing = |window: u64| format!("/v1/tasks/{}/windows/{window}/closing", task.id());
    assert_eq!(server.operate(&closing(0)), 409);
    assert_eq!(server.batches(task), []);
    let journal = {
        drop(server);
        store(&place, "store").journal().unwrap()
    };
    let told = |word: &str| {
        journal
            .iter()
            .filter(|entry| entry.event.contains(word))
            .count()
    };
    assert_eq!(
        (told("\"expired\""), told("\"sealed\"")),
        (1, 0),
        "{journal:?}"
    );
}

/// A backup of before the window's first report, or no store at all.
#[test]
fn a_window_that_was_released_does_not_open_again() {
    for lost in [false, true] {
        let place = Place::new(|_, _| {});
        let task = &place.task;
        drop(Server::start(&place));
        copy_folder(&place.at("store"), &place.at("backup"));
        let server = Server::start(&place);
        server.crowd(task, 0, SMALLEST);
        server.close(task, 0);
        drop(server);
        match lost {
            true => std::fs::remove_dir_all(place.at("store")).unwrap(),
            false => replace_folder(&place.at("backup"), &place.at("store")),
        }
        let server = Server::start(&place);
        assert_eq!(
            server.post(task, &server.envelope(task, 0)).0,
            410,
            "{lost}"
        );
        server.crowd(task, 1, SMALLEST);
    }
}

/// An administrator restores a database and does not stop the shufflers. The next look wrote the restored
/// store's last entry over the one that had shown it.
#[test]
fn a_store_restored_under_a_running_shuffler_is_noticed_and_stays_noticed() {
    let place = Place::new(|_, _| {});
    let task = &place.task;
    let server = Server::start(&place);
    server.crowd(task, 0, SMALLEST);
    drop(server);
    copy_folder(&place.at("store"), &place.at("backup"));
    let mut troubled = None;
    let server = Server::start_around(
        &place,
        Arc::new(SystemClock),
        |_| {},
        |store| {
            let store = Troubled::new(store);
            Arc::new(troubled.insert(store).clone())
        },
    )
    .unwrap();
    server.crowd(task, 0, 1);
    server.close(task, 0);
    let before = server.batches(task);
    troubled
        .as_ref()
        .unwrap()
        .exchange(Arc::new(store(&place, "backup")));
    let closing = format!("/v1/tasks/{}/windows/1/closing", task.id());
    // Nothing is sealed, taken, or given out, before the next look or after it.
    assert_eq!(server.operate(&closing), 503);
    for _ in 0..3 {
        server.service.tick();
        assert_eq!(server.service.ready(), Err(NotReady::Restored));
        assert_eq!(server.operate(&closing), 503);
        assert_eq!(server.post(task, &server.envelope(task, 1)).0, 503);
        let batch = format!("/batches/0/{}", before[0].context);
        assert_eq!(server.get(task, &batch, Some(&server.token)).0, 503);
    }
    let key = server.service.active_key();
    drop(server);
    drop(troubled);
    // The evidence is still there when it starts again.
    replace_folder(&place.at("backup"), &place.at("store"));
    let server = Server::start(&place);
    assert_ne!(server.service.active_key(), key);
    server.service.tick();
    assert_eq!(server.batches(task), []);
    server.crowd(task, 1, SMALLEST);
}

/// What the folder of keys remembers is gone, so that nobody can say that the store was not restored.
#[test]
fn keys_without_a_memory_of_the_journal_are_not_trusted() {
    let place = Place::new(|_, _| {});
    let task = &place.task;
    let server = Server::start(&place);
    server.crowd(task, 0, SMALLEST);
    let old = server.envelope(task, 1);
    let key = server.service.active_key();
    drop(server);
    std::fs::remove_file(place.at("keys/journal")).unwrap();
    let server = Server::start(&place);
    assert_ne!(server.service.active_key(), key);
    assert_eq!(server.batches(task), []);
    assert_eq!(server.post(task, &old).0, 400);
    server.crowd(task, 1, SMALLEST);
    drop(server);
    // A new store under keys that were in use is as bad.
    std::fs::remove_file(place.at("keys/journal")).unwrap();
    std::fs::remove_dir_all(place.at("store")).unwrap();
    let server = Server::start(&place);
    let key = server.service.active_key();
    drop(server);
    // One that goes on is trusted.
    let server = Server::start(&place);
    assert_eq!(server.service.active_key(), key);
}
