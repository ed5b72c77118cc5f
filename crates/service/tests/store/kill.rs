//! Programs that are killed while they take, close, release and shred: what they had said is so, and what
//! they had not said is all of one call, or nothing of it.
//!
//! The test runs itself as the program that is killed. It says on its output what it is about to do and what
//! a store has answered.

use crate::conformance::{NOW, buckets, report};
use crate::place::{Place, all};
use shuffledp_protocol::batch::Batch;
use shuffledp_protocol::lifecycle::State;
use shuffledp_protocol::task::Bytes32;
use shuffledp_randomizers::{Random, Secure};
use shuffledp_service::store::journal::verify;
use shuffledp_service::store::{BatchName, Taken};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often a program is killed, in each store; without `SHUFFLEDP_TESTS=all`, a tenth of it.
const KILLS: u64 = 200;
/// After how many lines at most: some windows.
const LINES: u64 = 24;
/// Reports of a call.
const GROUP: u64 = 6;
/// The smallest batch.
const SMALLEST: u64 = 10;
/// Where the program that is killed finds its store, and the number of its round.
const CHILD: &str = "SHUFFLEDP_STORE_OF_CHILD";

#[test]
fn killing_programs_of_the_embedded_store() {
    kills(&Place::folder());
}

#[test]
fn killing_programs_of_the_postgres_store() {
    if let Some(place) = Place::database() {
        kills(&place);
    }
}

fn batch(round: u64, window: u64) -> BatchName {
    let mut task = [0xc1; 32];
    task[..8].copy_from_slice(&round.to_be_bytes());
    BatchName {
        task: Bytes32(task),
        window,
        context: Bytes32([0; 32]),
    }
}

/// The program that is killed. As a test of its own it has nothing to do.
#[test]
fn child() {
    let Ok(store) = std::env::var(CHILD) else {
        return;
    };
    let mut parts = store.splitn(3, '|');
    let mut part = || parts.next().unwrap();
    let (round, kind, address) = (part().parse().unwrap(), part(), part());
    let store = Place::at(kind, address).open();
    let mut out = std::io::stderr();
    let mut say = |line: String| out.write_all((line + "\n").as_bytes()).unwrap();
    let mut number = 0;
    for window in 0.. {
        let batch = batch(round, window);
        for _ in 0..1 + window % 3 {
            let group: Vec<_> = (number..number + GROUP)
                .map(|number| report(batch, number))
                .collect();
            say(format!("send {window} {number}"));
            let taken = store.take(&group).unwrap();
            assert_eq!(taken, [Taken::New; GROUP as usize]);
            say(format!("took {window} {number}"));
            number += GROUP;
        }
        store.close_windows(&batch.task, window + 1).unwrap();
        say(format!("window {window}"));
        let record = store.close(&batch, SMALLEST, NOW).unwrap();
        let Some(digest) = record.digest else {
            say(format!("expired {window}"));
            continue;
        };
        say(format!("sealed {window} {digest}"));
        store.acknowledge(&batch, &digest).unwrap();
        say(format!("released {window} {digest}"));
        if window % 4 == 1 {
            store.shred(&batch).unwrap();
            say(format!("shredded {window} {digest}"));
        }
    }
}

/// What a killed program has said of a window.
#[derive(Debug, Default)]
struct Said {
    sent: BTreeSet<u64>,
    taken: BTreeSet<u64>,
    closed: bool,
    state: Option<State>,
    digest: Option<String>,
}

fn kills(place: &Place) {
    // The store is made before the first kill: a program that dies while it makes one is another matter.
    drop(place.open());
    let (kind, address) = place.address();
    let mut random = Secure::new().unwrap();
    let (mut acknowledged, mut unanswered, mut last_words) = (0, 0, BTreeMap::new());
    let kills = if all() { KILLS } else { KILLS / 10 };
    for round in 0..kills {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kill::child", "--nocapture"]);
        command.env(CHILD, format!("{round}|{kind}|{address}"));
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let before = 1 + random.word() % LINES;
        let heard: Vec<_> = lines.by_ref().take(before as usize).collect();
        // Anywhere in the call that follows, or in the next ones.
        std::thread::sleep(Duration::from_micros(random.word() % 3000));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut said: BTreeMap<u64, Said> = BTreeMap::new();
        let mut last = String::new();
        for line in heard.into_iter().chain(lines) {
            let line = line.unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            let window = said.entry(words[1].parse().unwrap()).or_default();
            let group = || {
                let start: u64 = words[2].parse().unwrap();
                start..start + GROUP
            };
            let mut state = |state| {
                window.state = Some(state);
                window.digest = words.get(2).map(|digest| (*digest).to_owned());
            };
            match words[0] {
                "send" => window.sent.extend(group()),
                "took" => window.taken.extend(group()),
                "window" => window.closed = true,
                "sealed" => state(State::Sealed),
                "expired" => state(State::Expired),
                "released" => state(State::Released),
                "shredded" => state(State::Shredded),
                _ => panic!("{line}"),
            }
            last = words[0].to_owned();
        }
        *last_words.entry(last).or_insert(0) += 1;
        let store = place.open();
        let records = store.batches(&batch(round, 0).task, 0).unwrap();
        let states: BTreeMap<u64, State> =
            records.iter().map(|r| (r.name.window, r.state)).collect();
        for (window, said) in said {
            let name = batch(round, window);
            if said.closed {
                let late = store.take(&[report(name, 1 << 40)]).unwrap();
                assert_eq!(late, [Taken::Closed]);
            }
            let found = states.get(&window).copied();
            if let Some(state) = said.state {
                assert!(found >= Some(state), "{found:?} {state:?}");
            }
            acknowledged += said.taken.len();
            if matches!(found, None | Some(State::Expired | State::Shredded)) {
                assert!(found.is_some() || said.taken.is_empty());
                let count = said.taken.len() as u64;
                let record = records.iter().find(|record| record.name == name);
                assert!(
                    record
                        .and_then(|record| record.reports)
                        .is_none_or(|got| got == count)
                );
                continue;
            }
            store.close_windows(&name.task, window + 1).unwrap();
            let record = store.close(&name, 1, NOW).unwrap();
            let bytes = store.read(&name).unwrap();
            assert_eq!(record.digest, Some(Batch::digest(&bytes)));
            if let Some(digest) = said.digest {
                assert_eq!(record.digest.unwrap().to_string(), digest);
            }
            let held: BTreeSet<u64> = buckets(&name, &bytes).into_iter().collect();
            assert_eq!(held.len(), buckets(&name, &bytes).len());
            assert!(held.is_superset(&said.taken) && held.is_subset(&said.sent));
            // The call that nobody heard the end of: all of it or nothing.
            let unheard = held.difference(&said.taken).count() as u64;
            assert!(unheard == 0 || unheard == GROUP, "{unheard}");
            unanswered += unheard;
        }
        if round % 50 == 49 || round + 1 == kills {
            verify(&store.journal().unwrap()).unwrap();
        }
    }
    let line = format!(
        "store in a {kind}: {kills} kills, {acknowledged} reports acknowledged and none lost, {unanswered} \
         stored without an answer; last words {last_words:?}\n"
    );
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
