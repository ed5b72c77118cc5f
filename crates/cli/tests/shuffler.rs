//! The command around a running shuffler: the check of its journal, master keys, addresses that are not
//! encrypted.

#![allow(clippy::unwrap_used)]

mod running;

use fjall::{KeyspaceCreateOptions, PersistMode, SingleWriterTxDatabase};
use running::Shuffler;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What a command prints, on both ways, and its exit code.
fn ask(folder: &Path, line: &str) -> (String, String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_shuffledp"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (out, err, output.status.code().unwrap())
}

const CHECK: &str = "shuffler --config shuffler.toml --check-journal";

#[test]
fn a_broken_journal_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ask(folder, "keys analyzer");
    let token: Value = serde_json::from_str(&ask(folder, "keys token --format json").0).unwrap();
    let task = ask(
        folder,
        "task new --name smokers --randomizer rr --epsilon0 1 --labels no,yes --users 2 --target-epsilon 1 \
         --delta 1e-6 --analyzer-key analyzer.pub --out task.json --format json",
    );
    let task: Value = serde_json::from_str(&task.0).unwrap();
    running::configure(folder, token["sha256"].as_str().unwrap());
    // Where there is nothing, nothing is made.
    let (_, error, code) = ask(folder, CHECK);
    assert!(error.contains("store is not there"), "{error}");
    assert!(code == 1 && !folder.join("store").exists() && !folder.join("master.key").exists());
    let mut shuffler = Shuffler::start(folder);
    let url = format!("http://{}", shuffler.public);
    for device in 0..3 {
        let report =
            format!("report --task task.json --to {url} --value no --ledger {device}.json");
        assert_eq!(ask(folder, &report).2, 0);
    }
    shuffler.close_window(task["id"].as_str().unwrap());
    // The store of a running shuffler is its own.
    assert_eq!(ask(folder, CHECK).2, 1);
    let _ = shuffler.child.kill();
    let _ = shuffler.child.wait();
    let (whole, _, code) = ask(folder, CHECK);
    assert!(
        whole.contains(" entries, and the chain holds. Hash of the last one: "),
        "{whole}"
    );
    assert_eq!(code, 0);
    assert_eq!(ask(folder, CHECK).0, whole);
    // An entry that says something else than what happened.
    {
        let database = SingleWriterTxDatabase::builder(folder.join("store"))
            .open()
            .unwrap();
        let journal = database
            .keyspace("journal", KeyspaceCreateOptions::default)
            .unwrap();
        let first = 0u64.to_be_bytes();
        let entry = journal.get(first).unwrap().unwrap();
        let entry = String::from_utf8(entry.to_vec()).unwrap();
        assert!(entry.contains("loaded"), "{entry}");
        journal
            .insert(first, entry.replace("loaded", "folded").as_bytes())
            .unwrap();
        database.persist(PersistMode::SyncAll).unwrap();
    }
    let (out, error, code) = ask(folder, CHECK);
    assert_eq!((out.as_str(), code), ("", 1));
    assert!(
        error.contains("the entry 0 of the journal does not follow from the one before"),
        "{error}"
    );
}

#[test]
fn a_master_key_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master-2.key");
    let (_, _, code) = ask(folder.path(), "keys master --out master-2.key --number 2");
    assert_eq!(code, 0);
    let first = std::fs::read(&path).unwrap();
    let file: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(file["number"], 2);
    let (_, error, code) = ask(folder.path(), "keys master --out master-2.key --number 3");
    assert!(code == 2 && error.contains("is there already"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), first);
    for (line, message) in [
        (
            "keys master",
            "--out, the file of the master key, is needed",
        ),
        (
            "keys token --number 2",
            "--number 2 is for the shuffler's keys and for master keys",
        ),
        (
            "keys shuffler --number 256",
            "--number 256 is not in [0, 255]",
        ),
    ] {
        let (_, error, code) = ask(folder.path(), line);
        assert!(code == 2 && error.contains(message), "{line}: {error}");
    }
}

/// A token and the fact of sending are for nobody on the way to read.
#[test]
fn an_address_elsewhere_must_be_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |line: &str| ask(folder.path(), line);
    ask("keys analyzer");
    ask("keys token");
    ask(
        "task new --name smokers --randomizer rr --epsilon0 1 --labels no,yes --users 2 --target-epsilon 1 \
         --delta 1e-6 --analyzer-key analyzer.pub --out task.json",
    );
    for line in [
        "report --task task.json --to http://192.0.2.1:8080 --value no --ledger ledger.json",
        "analyzer fetch --task task.json --from http://192.0.2.1:8080 --token token",
    ] {
        let (_, error, code) = ask(line);
        let says = "\"http://192.0.2.1:8080\" is not encrypted";
        assert!(code == 2 && error.contains(says), "{error}");
    }
}

/// Events are about windows, batches and keys. None is about a report or a connection: there are as many
/// however many people answer, and nothing that was sent is in one, nor who sent it.
#[test]
fn events_tell_nothing_of_a_report() {
    let told = |devices: u32| {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        ask(folder, "keys analyzer");
        let token: Value =
            serde_json::from_str(&ask(folder, "keys token --format json").0).unwrap();
        let task = ask(
            folder,
            "task new --name smokers --randomizer rr --epsilon0 1 --labels no,yes --users 2 \
             --target-epsilon 1 --delta 1e-6 --analyzer-key analyzer.pub --out task.json --format json",
        );
        let task: Value = serde_json::from_str(&task.0).unwrap();
        running::configure(folder, token["sha256"].as_str().unwrap());
        let mut shuffler = Shuffler::start(folder);
        let id = task["id"].as_str().unwrap();
        ask(folder, "keys shuffler --out other");
        for device in 0..devices {
            let report = format!(
                "report --task task.json --to http://{} --value no --ledger {device}.json",
                shuffler.public
            );
            assert_eq!(ask(folder, &report).2, 0);
        }
        // What opens with no key of this shuffler's.
        let path = format!("/v1/tasks/{id}/reports");
        assert!(shuffler.post(&path, &[0; 188]).starts_with("HTTP/1.1 4"));
        shuffler.close_window(id);
        shuffler.events()
    };
    let (few, many) = (told(3), told(9));
    assert_eq!(few.len(), many.len(), "{few:?} {many:?}");
    let known = [
        "message",
        "task",
        "window",
        "context",
        "state",
        "reports",
        "first_open",
        "event",
    ];
    for line in few.iter().chain(&many) {
        let event: Value = serde_json::from_str(line).unwrap();
        for (name, value) in event["fields"].as_object().unwrap() {
            assert!(known.contains(&name.as_str()), "{name}: {line}");
            // Of one length: hashes of tasks and contexts. Addresses have a colon between numbers.
            let text = value.to_string();
            assert!(!text.contains("127.0.0.1"), "{line}");
        }
    }
}

/// SIGTERM: a request that is under way is answered, nobody else is let in, and what was accepted is there.
#[test]
fn a_shuffler_that_is_asked_to_stop_takes_what_is_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ask(folder, "keys analyzer");
    let token: Value = serde_json::from_str(&ask(folder, "keys token --format json").0).unwrap();
    let task = ask(
        folder,
        "task new --name smokers --randomizer rr --epsilon0 1 --labels no,yes --users 2 --target-epsilon 1 \
         --delta 1e-6 --analyzer-key analyzer.pub --out task.json --format json",
    );
    let task: Value = serde_json::from_str(&task.0).unwrap();
    let id = task["id"].as_str().unwrap();
    running::configure(folder, token["sha256"].as_str().unwrap());
    let mut shuffler = Shuffler::start(folder);
    // An envelope in a file, as devices without a network write it.
    let key = std::fs::read_dir(folder.join("keys"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let key = key
        .into_iter()
        .find(|path| path.extension().is_some_and(|ending| ending == "pub"));
    let key = key.unwrap();
    std::fs::create_dir(folder.join("outbox")).unwrap();
    for device in 0..2 {
        let line = format!(
            "report --task task.json --value no --ledger {device}.json --window 0 --shuffler-key {} --out \
             outbox/{device}",
            key.display()
        );
        let (_, error, code) = ask(folder, &line);
        assert_eq!(code, 0, "{error}");
    }
    let envelopes: Vec<Vec<u8>> = (0..2)
        .map(|device| std::fs::read(folder.join(format!("outbox/{device}"))).unwrap())
        .collect();
    let path = format!("/v1/tasks/{id}/reports");
    assert!(
        shuffler
            .post(&path, &envelopes[0])
            .starts_with("HTTP/1.1 202")
    );
    let mut under_way = TcpStream::connect(&shuffler.public).unwrap();
    let (half, rest) = envelopes[1].split_at(20);
    let length = envelopes[1].len();
    write!(
        under_way,
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    )
    .unwrap();
    under_way.write_all(half).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let process = shuffler.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &process])
            .status()
            .unwrap()
            .success()
    );
    let refused = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        TcpStream::connect(&shuffler.public).is_err()
    });
    assert!(refused, "it lets others in");
    under_way.write_all(rest).unwrap();
    let mut answer = String::new();
    under_way.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    assert!(shuffler.child.wait().unwrap().success());
    drop(shuffler);
    let shuffler = Shuffler::start(folder);
    let closed = shuffler.close_window(id);
    assert!(closed.contains("\"reports\":2"), "{closed}");
}
