//! What a seized disk, a dump or a backup shows.

use crate::conformance::{NOW, name, report};
use crate::place::{Place, of_every_store, vault};
use ::postgres::{Client, NoTls};
use fjall::{KeyspaceCreateOptions, Readable, SingleWriterTxDatabase};
use shuffledp_protocol::lifecycle::State;
use shuffledp_service::store::embedded::Embedded;
use shuffledp_service::store::{Store, StoreError};
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

of_every_store! { neither_reports_nor_tags_are_readable }

/// All that is at rest, as bytes.
fn dump(place: &Place) -> Vec<Vec<u8>> {
    match place {
        Place::Folder(folder) => files(folder.path()),
        Place::Database(connection) => {
            let mut client = Client::connect(connection, NoTls).unwrap();
            let tables = "select table_name::text from information_schema.tables
                          where table_schema = current_schema";
            let mut all = Vec::new();
            for table in client.query(tables, &[]).unwrap() {
                let rows = format!("copy {} to stdout (format binary)", table.get::<_, &str>(0));
                let mut bytes = Vec::new();
                std::io::copy(&mut client.copy_out(&rows).unwrap(), &mut bytes).unwrap();
                all.push(bytes);
            }
            all
        }
        _ => panic!("nothing is at rest"),
    }
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let contents = entries.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![written(std::fs::read(path).unwrap())],
    });
    contents.collect()
}

/// Without the zeros at the end: most of a log is made before it is written.
fn written(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().rposition(|byte| *byte != 0);
    bytes.truncate(end.map_or(0, |last| last + 1));
    bytes
}

fn holds(dump: &[Vec<u8>], what: &[u8]) -> bool {
    let holds = |bytes: &Vec<u8>| bytes.windows(what.len()).any(|part| part == what);
    dump.iter().any(holds)
}

fn neither_reports_nor_tags_are_readable(place: &Place) {
    let store = place.open();
    let reports: Vec<_> = (1..60).map(|number| report(name(0), number)).collect();
    store.take(&reports).unwrap();
    store.note("what can be read").unwrap();
    let nowhere = |moment: &str| {
        let dump = dump(place);
        assert!(
            holds(&dump, b"what can be read"),
            "the dump is of something else"
        );
        for report in &reports {
            assert!(!holds(&dump, &report.row), "{moment}");
            for tag in &report.tags {
                assert!(!holds(&dump, &tag.0), "{moment}");
                assert!(!holds(&dump, &tag.0[..16]), "{moment}");
            }
        }
    };
    nowhere("open");
    store.close_windows(&name(0).task, 1).unwrap();
    store.close(&name(0), 50, NOW).unwrap();
    nowhere("sealed");
    store.shred(&name(0)).unwrap();
    nowhere("shredded");
}

/// No column that counts or keeps a time, no default that draws one, and of a report nothing but its batch,
/// its random place and its encrypted row.
#[test]
fn no_column_tells_the_order_of_arrival() {
    let Some(place) = Place::database() else {
        return;
    };
    let store = place.open();
    store.take(&[report(name(0), 1)]).unwrap();
    let Place::Database(connection) = &place else {
        panic!("no database");
    };
    let mut client = Client::connect(connection, NoTls).unwrap();
    let columns = client
        .query(
            "select table_name::text, column_name::text, data_type::text,
                    column_default is null and is_identity = 'NO' and is_generated = 'NEVER'
             from information_schema.columns where table_schema = current_schema
             order by 1, ordinal_position",
            &[],
        )
        .unwrap();
    let mut of_reports = Vec::new();
    for column in &columns {
        let (table, name): (&str, &str) = (column.get(0), column.get(1));
        let kind: &str = column.get(2);
        assert!(
            column.get::<_, bool>(3),
            "{table}.{name} is filled by the database"
        );
        let allowed = ["bytea", "text", "bigint", "boolean"].contains(&kind);
        assert!(allowed, "{table}.{name} is a {kind}");
        if kind == "bigint" {
            // The time of closing is one for a whole batch, and is not written before.
            let known = ["row_length", "reports", "number", "closed"].contains(&name);
            assert!(
                known && !["reports", "tags"].contains(&table),
                "{table}.{name} counts"
            );
        }
        if table == "reports" || table == "tags" {
            of_reports.push(name.to_owned());
        }
    }
    assert_eq!(of_reports, ["batch", "place", "sealed", "holder", "tag"]);
    let sequences = "select count(*) from pg_sequences where schemaname = current_schema";
    assert_eq!(
        client.query_one(sequences, &[]).unwrap().get::<_, i64>(0),
        0
    );
    let triggers = "select count(*) from information_schema.triggers
                    where trigger_schema = current_schema";
    assert_eq!(client.query_one(triggers, &[]).unwrap().get::<_, i64>(0), 0);
}

/// The same of the embedded store: of a report the shelf of its batch, 128 random bits and its encrypted row;
/// of all rows and tags one length; no number that counts them, and of an open batch no time.
#[test]
fn no_field_of_the_embedded_store_tells_the_order_of_arrival() {
    let place = Place::folder();
    let store = place.open();
    const CALLS: u64 = 20;
    for call in 0..CALLS {
        let mut reports = [report(name(0), 2 * call), report(name(0), 2 * call + 1)];
        // A dummy looks like a report.
        reports[1].dummy = call % 2 == 0;
        store.take(&reports).unwrap();
    }
    drop(store);
    let Place::Folder(folder) = &place else {
        panic!("no folder");
    };
    let database = SingleWriterTxDatabase::builder(folder.path())
        .open()
        .unwrap();
    let names = database.list_keyspace_names();
    let names: BTreeSet<String> = names.iter().map(|name| name.to_string()).collect();
    let known = [
        "marks", "windows", "tags", "batches", "rows", "chunks", "journal", "probe",
    ];
    assert_eq!(names, BTreeSet::from(known.map(str::to_owned)));
    let all = |name: &str| {
        let keyspace = database
            .keyspace(name, KeyspaceCreateOptions::default)
            .unwrap();
        let rows = database
            .read_tx()
            .iter(&keyspace)
            .map(|row| row.into_inner().unwrap());
        rows.map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect::<Vec<_>>()
    };
    let lengths = |name: &str| -> BTreeSet<(usize, usize)> {
        let rows = all(name);
        rows.iter()
            .map(|(key, value)| (key.len(), value.len()))
            .collect()
    };
    const WINDOW: usize = 32 + 8;
    const SHELF: usize = 4;
    const ENCRYPTED: usize = 12 + 16;
    let row = 1 + report(name(0), 0).row.len() + ENCRYPTED;
    assert_eq!(all("rows").len() as u64, 2 * CALLS);
    assert_eq!(lengths("rows"), BTreeSet::from([(SHELF + 16, row)]));
    assert_eq!(lengths("tags"), BTreeSet::from([(SHELF + 16, 0)]));
    assert_eq!(
        lengths("windows"),
        BTreeSet::from([(WINDOW, SHELF + 4 + 32 + ENCRYPTED)])
    );
    for empty in ["marks", "chunks", "journal"] {
        assert!(all(empty).is_empty(), "{empty}");
    }
    assert!(all("probe").iter().all(|row| *row == (vec![0], vec![0])));
    // The shelf of one batch, and places that begin with any bit: no counter, no time.
    let shelves: BTreeSet<Vec<u8>> = all("rows")
        .iter()
        .map(|(key, _)| key[..SHELF].to_vec())
        .collect();
    let firsts: BTreeSet<u8> = all("rows").iter().map(|(key, _)| key[SHELF]).collect();
    assert!(
        shelves.len() == 1 && firsts.len() as u64 > CALLS,
        "{shelves:?} {firsts:?}"
    );
    let batches = all("batches");
    assert_eq!((batches.len(), batches[0].0.len()), (1, WINDOW + 32));
    let batch: serde_json::Value = serde_json::from_slice(&batches[0].1).unwrap();
    let fields: BTreeSet<&str> = batch
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let known = [
        "name",
        "id",
        "state",
        "shelf",
        "row_length",
        "reports",
        "digest",
        "closed",
        "key",
    ];
    assert_eq!(fields, BTreeSet::from(known));
    for unknown in ["reports", "digest", "closed"] {
        assert!(batch[unknown].is_null(), "{batch}");
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(std::fs::copy(path, to).unwrap()),
        }
    }
}

/// A backup holds the wrapped key of a batch that was shredded later. It opens as long as its master does,
/// and no longer: this is what rotation is for.
#[test]
fn a_backup_of_a_shredded_batch_is_unreadable_once_its_master_is_destroyed() {
    let [folder, backup, again] = [(); 3].map(|()| TempDir::new().unwrap());
    let open = |folder: &Path, masters: &[(u32, u8)]| Embedded::open(folder, vault(masters));
    let store = open(folder.path(), &[(1, 1)]).unwrap();
    store
        .take(&[report(name(0), 1), report(name(0), 2)])
        .unwrap();
    store.close_windows(&name(0).task, 1).unwrap();
    store.close(&name(0), 2, NOW).unwrap();
    drop(store);
    for to in [&backup, &again] {
        copy(folder.path(), to.path());
    }
    let store = open(folder.path(), &[(1, 1)]).unwrap();
    assert_eq!(store.shred(&name(0)).unwrap().state, State::Shredded);
    drop(store);
    // The master of the time is still there: the backup opens.
    let restored = open(backup.path(), &[(1, 1)]).unwrap();
    assert!(restored.read(&name(0)).is_ok());
    // Rotated and destroyed: the store goes on, and the backup is lost.
    drop(open(folder.path(), &[(1, 1), (2, 2)]).unwrap());
    let store = open(folder.path(), &[(2, 2)]).unwrap();
    store.take(&[report(name(1), 3)]).unwrap();
    let lost = open(again.path(), &[(2, 2)]);
    assert!(matches!(lost.err(), Some(StoreError::Damaged(_))));
}

/// Sealed bytes that were changed or exchanged on disk are noticed.
#[test]
fn changed_bytes_are_noticed() {
    let Some(place) = Place::database() else {
        return;
    };
    let store = place.open();
    for window in 0..2 {
        store
            .take(&[report(name(window), 1), report(name(window), 2)])
            .unwrap();
    }
    store.close_windows(&name(0).task, 2).unwrap();
    for window in 0..2 {
        store.close(&name(window), 2, NOW).unwrap();
    }
    let Place::Database(connection) = &place else {
        panic!("no database");
    };
    let mut client = Client::connect(connection, NoTls).unwrap();
    let changes = [
        "update chunks set sealed = set_byte(sealed, 40, get_byte(sealed, 40) # 1)",
        "update chunks set sealed = (select sealed from chunks c where c.batch <> chunks.batch)",
        "delete from chunks",
    ];
    for change in changes {
        client
            .batch_execute("create table kept as table chunks")
            .unwrap();
        client.batch_execute(change).unwrap();
        for window in 0..2 {
            let read = store.read(&name(window));
            assert!(
                matches!(read, Err(StoreError::Damaged(_))),
                "{change}: {read:?}"
            );
        }
        let back = "truncate chunks; insert into chunks table kept; drop table kept";
        client.batch_execute(back).unwrap();
        assert!(store.read(&name(0)).is_ok());
    }
}
