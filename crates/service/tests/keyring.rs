//! Keys of a running shuffler over a long time, and after crashes and failures: one is active, old ones go
//! with both of their files, and numbers come round.

#![allow(clippy::unwrap_used)]

use shuffledp_service::ServiceError;
use shuffledp_service::keyring::{Change, Keyring};
use shuffledp_service::keys::{Party, make};
use std::collections::BTreeSet;
use std::path::Path;

/// The files of a folder but for locks.
fn files(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".lock")).collect()
}

/// Numbers are of one byte: at the 256th rotation they come round.
#[test]
fn six_hundred_rotations_leave_no_key_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut ring = Keyring::open(folder.path(), 0, 0).unwrap();
    let (mut made, mut deleted) = (0, 0);
    let mut publics = BTreeSet::from([ring.active().unwrap().key.0]);
    for step in 1..=600 {
        for change in ring.tick(step * 100, Some(100), 150).unwrap() {
            match change {
                Change::Made(number) => {
                    made += 1;
                    assert_eq!(ring.active().unwrap().number, number);
                    assert!(publics.insert(ring.active().unwrap().key.0), "{step}");
                }
                Change::Deleted(_) => deleted += 1,
            }
        }
        // The active key, and those that were retired less than 150 seconds ago.
        assert_eq!(ring.secrets().len(), 3.min(1 + step as usize), "{step}");
        let names = files(folder.path());
        assert_eq!(names.len(), 2 * ring.secrets().len(), "{names:?}");
    }
    assert_eq!((made, deleted), (600, 598));
    // The last ones go too when their time is over.
    assert_eq!(ring.tick(61_000, None, 150).unwrap().len(), 2);
    let active = ring.active().unwrap();
    let both = ["key", "pub"].map(|ending| format!("shuffler-{}.{ending}", active.number));
    assert_eq!(files(folder.path()), BTreeSet::from(both));
    assert_eq!(
        Keyring::open(folder.path(), 0, 0).unwrap().active(),
        Some(active)
    );
}

/// A crash between the new key and the retirement of the old one, or between the two files of a key.
#[test]
fn what_a_crash_leaves_is_put_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut ring = Keyring::open(folder.path(), 0, 0).unwrap();
    let old = ring.active().unwrap();
    let path = folder.path().join(format!("shuffler-{}.key", old.number));
    let before = std::fs::read(&path).unwrap();
    ring.rotate(100).unwrap();
    let new = ring.active().unwrap();
    // As if the old one had not been retired.
    std::fs::write(&path, before).unwrap();
    // As if a third key had been begun, and a deletion had not come to its end.
    std::fs::write(folder.path().join("shuffler-3.pub"), "{}").unwrap();
    std::fs::write(folder.path().join("shuffler-200.pub"), "{}").unwrap();
    let mut ring = Keyring::open(folder.path(), 150, 0).unwrap();
    assert_eq!(ring.active(), Some(new));
    assert_eq!(ring.tick(200, None, 50).unwrap(), []);
    assert_eq!(ring.secrets().len(), 2);
    assert_eq!(ring.tick(249, None, 50).unwrap(), []);
    assert_eq!(
        ring.tick(250, None, 50).unwrap(),
        [Change::Deleted(old.number)]
    );
    let both = ["key", "pub"].map(|ending| format!("shuffler-{}.{ending}", new.number));
    assert_eq!(files(folder.path()), BTreeSet::from(both));
    // A public file in the way is no reason to make no key.
    std::fs::write(folder.path().join("shuffler-3.pub"), "{}").unwrap();
    assert_eq!(ring.rotate(300).unwrap(), [Change::Made(3)]);
    assert_eq!(ring.active().unwrap().number, 3);
}

/// Only a lock that another program holds means that another shuffler is at it.
#[test]
fn a_lock_that_fails_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut ring = Keyring::open(folder.path(), 0, 0).unwrap();
    let lock = folder.path().join("keyring.lock");
    let held = std::fs::File::create(&lock).unwrap();
    held.lock().unwrap();
    assert_eq!(ring.tick(1000, Some(1), 1).unwrap(), []);
    drop(held);
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let failed = ring.tick(1000, Some(1), 1);
    assert!(
        matches!(failed, Err(ServiceError::Unwritable { .. })),
        "{failed:?}"
    );
    std::fs::remove_dir(&lock).unwrap();
    assert_eq!(ring.tick(1000, Some(1), 1).unwrap(), [Change::Made(2)]);
}

/// The public file is written first: a secret file that cannot be written leaves nothing.
#[test]
fn a_key_is_there_with_both_files_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("shuffler-7.key");
    std::fs::create_dir(&in_the_way).unwrap();
    assert!(make(Party::Shuffler, 7, folder.path()).is_err());
    assert_eq!(
        files(folder.path()),
        BTreeSet::from(["shuffler-7.key".to_owned()])
    );
    std::fs::remove_dir(&in_the_way).unwrap();
    make(Party::Shuffler, 7, folder.path()).unwrap();
    // Those that are there are not overwritten, and stay.
    assert!(make(Party::Shuffler, 7, folder.path()).is_err());
    assert_eq!(files(folder.path()).len(), 2);
}

/// Shufflers that share a folder: a device may hand its envelope to any of them.
#[test]
fn a_new_key_is_announced_when_every_shuffler_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let open = |now| Keyring::open(folder.path(), now, 10).unwrap();
    let (mut one, mut other) = (open(1000), open(1000));
    let old = one.active().unwrap();
    // The first one is announced at once: there is no other.
    assert_eq!(other.active(), Some(old));
    assert_eq!(one.rotate(2000).unwrap().len(), 1);
    assert_eq!((one.active(), one.secrets().len()), (Some(old), 2));
    for now in 2000..2010 {
        for ring in [&mut one, &mut other] {
            assert_eq!(ring.tick(now, None, 100).unwrap(), []);
            assert_eq!(
                (ring.active(), ring.secrets().len()),
                (Some(old), 2),
                "{now}"
            );
        }
    }
    for ring in [&mut one, &mut other] {
        ring.tick(2010, None, 100).unwrap();
    }
    let new = one.active().unwrap();
    assert_eq!(other.active(), Some(new));
    assert_ne!(new, old);
    // The old one is retired from then on, and not from the rotation on.
    assert_eq!(one.tick(2109, None, 100).unwrap(), []);
    assert_eq!(
        one.tick(2110, None, 100).unwrap(),
        [Change::Deleted(old.number)]
    );
}

/// Of keys that are replaced because nothing that was sealed to them may open, both files go at once.
#[test]
fn keys_that_are_replaced_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut ring = Keyring::open(folder.path(), 0, 10).unwrap();
    ring.rotate(100).unwrap();
    let changes = ring.replace_all(200).unwrap();
    assert_eq!(
        changes,
        [Change::Made(3), Change::Deleted(1), Change::Deleted(2)]
    );
    assert_eq!(ring.active().unwrap().number, 3);
    assert_eq!(ring.secrets().len(), 1);
    let both = ["key", "pub"].map(|ending| format!("shuffler-3.{ending}"));
    assert_eq!(files(folder.path()), BTreeSet::from(both));
}

/// Secret keys are in memory once, and not read anew every second.
#[test]
fn a_file_of_keys_is_read_when_it_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let (mut one, mut other) = (
        Keyring::open(folder.path(), 0, 0).unwrap(),
        Keyring::open(folder.path(), 0, 0).unwrap(),
    );
    let before = other.revision();
    for now in 0..3 {
        other.tick(now, None, 100).unwrap();
    }
    assert_eq!(other.revision(), before);
    one.rotate(10).unwrap();
    other.tick(11, None, 100).unwrap();
    assert_ne!(other.revision(), before);
    assert_eq!(other.active(), one.active());
    // One that cannot be read leaves those that are known.
    let known = other.secrets().len();
    std::fs::write(folder.path().join("shuffler-9.key"), "{}").unwrap();
    assert!(other.tick(12, None, 100).is_err());
    assert_eq!(other.secrets().len(), known);
}
