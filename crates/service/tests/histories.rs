//! Random histories of a running shuffler, over sockets, and in a model at once: devices that send, send
//! again, send late, early or rubbish; keys that are replaced while envelopes are on their way; clocks that
//! go on and are set back; an analyzer that fetches, breaks off, acknowledges and acknowledges something
//! else; a disk that is full; programs that end. The store's own histories, with faults inside of
//! transactions, are in `store/model.rs`, and programs that are killed in `store/kill.rs`.
//!
//! What must hold: every answer is the one that the model gives; a batch holds exactly the reports that were
//! answered with 202 while its window was open, each once; no batch below its size is there; a batch has the
//! same bytes each time, until it is destroyed when it must be.
//!
//! `SHUFFLEDP_SEED` sets the seed; `SHUFFLEDP_TESTS=all` makes the history longer.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::store::{Trouble, Troubled};
use parties::{NOTHING, Place, SMALLEST, Server, Turned};
use shuffledp_protocol::batch::{self, Batch};
use shuffledp_protocol::envelope::{Opened, ShufflerKey, open, seal, seal_dummy};
use shuffledp_protocol::lifecycle::State;
use shuffledp_protocol::task::{Bytes32, Task};
use shuffledp_randomizers::{Random, Secure, Simulated};
use shuffledp_service::AwsLc;
use shuffledp_service::client::Listed;
use shuffledp_service::keyring::Keyring;
use shuffledp_service::keys::{Party, make};
use shuffledp_service::server::config::Config;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const WINDOW: u64 = 60;
const GRACE: u64 = 10;
const KEEP_RELEASED: u64 = 300;
const KEEP_SEALED: u64 = 900;
const OPERATIONS: u64 = 1500;
const OPERATIONS_OF_ALL: u64 = 15_000;

/// An envelope, and what its batch will hold of it: nothing of a dummy.
#[derive(Clone)]
struct Sent {
    window: u64,
    bytes: Vec<u8>,
    row: Option<Vec<u8>>,
}

/// A batch that is sealed.
struct Sealed {
    rows: BTreeSet<Vec<u8>>,
    closed: u64,
    released: bool,
    /// As it was fetched first.
    bytes: Option<Vec<u8>>,
}

struct History {
    place: Place,
    clock: Turned,
    now: u64,
    troubled: Option<Troubled>,
    server: Option<Server>,
    random: Simulated,
    /// The first window that is open, as the last look left it.
    mark: u64,
    open: BTreeMap<u64, BTreeSet<Vec<u8>>>,
    sealed: BTreeMap<u64, Sealed>,
    taken: Vec<Sent>,
    on_the_way: Vec<Sent>,
    seen: BTreeMap<&'static str, u64>,
}

impl History {
    fn start(seed: u64) -> Self {
        let place = Place::new(|spec, _| spec.window_seconds = Some(WINDOW));
        let now = 1_000_000;
        let mut history = Self {
            place,
            clock: Turned::at(now),
            now,
            troubled: None,
            server: None,
            random: Simulated::new(seed, 0),
            mark: 0,
            open: BTreeMap::new(),
            sealed: BTreeMap::new(),
            taken: Vec::new(),
            on_the_way: Vec::new(),
            seen: BTreeMap::new(),
        };
        history.restart();
        history
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn task(&self) -> &Task {
        &self.place.task
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.word() % bound
    }

    fn one_of<'h>(random: &mut Simulated, all: &'h [Sent]) -> Option<&'h Sent> {
        let count = all.len() as u64;
        (count > 0).then(|| &all[(random.word() % count) as usize])
    }

    /// The program ends and another one starts on what it left.
    fn restart(&mut self) {
        // What holds the store: the folder is opened once.
        (self.server, self.troubled) = (None, None);
        let change = |config: &mut Config| {
            config.windows.grace_seconds = GRACE;
            config.windows.keep_released_seconds = KEEP_RELEASED;
            config.windows.keep_sealed_seconds = KEEP_SEALED;
            // The least that is allowed: envelopes of old keys come while these still open, and not longer.
            config.keys.overlap_seconds = WINDOW + GRACE;
        };
        let mut troubled = None;
        let server =
            Server::start_around(&self.place, Arc::new(self.clock.clone()), change, |store| {
                let around = Troubled::new(store);
                troubled = Some(around.clone());
                Arc::new(around)
            });
        (self.server, self.troubled) = (Some(server), troubled);
        self.look();
    }

    /// The shuffler looks after its windows; so does the model.
    fn look(&mut self) {
        self.server().service.tick();
        let by_clock = self.now.saturating_sub(GRACE) / WINDOW;
        self.mark = self.mark.max(by_clock);
        let open = self.open.split_off(&self.mark);
        for (window, rows) in std::mem::replace(&mut self.open, open) {
            let enough = rows.len() as u64 >= SMALLEST;
            *self
                .seen
                .entry(if enough { "sealed" } else { "expired" })
                .or_default() += 1;
            if enough {
                let sealed = Sealed {
                    rows,
                    closed: self.now,
                    released: false,
                    bytes: None,
                };
                self.sealed.insert(window, sealed);
            }
        }
        let now = self.now;
        self.sealed.retain(|_, batch| {
            let keep = if batch.released {
                KEEP_RELEASED
            } else {
                KEEP_SEALED
            };
            batch.closed + keep > now
        });
    }

    /// Mostly the present window, or one near it.
    fn window(&mut self) -> u64 {
        let present = self.now / WINDOW;
        match self.below(10) {
            0 => present - 2,
            1 => present - 1,
            2 => present + 1,
            _ => present,
        }
    }

    fn sealed(&mut self, key: &ShufflerKey, window: u64, dummy: bool) -> Sent {
        let (task, mut random) = (self.task(), Secure::new().unwrap());
        let bytes = if dummy {
            seal_dummy(&AwsLc, task, key, window, NOTHING, &mut random)
        } else {
            let value = task.value("yes").unwrap();
            let report = task.randomize(&value, &mut random).unwrap();
            seal(&AwsLc, task, key, window, NOTHING, &report, &mut random)
        };
        let bytes = bytes.unwrap();
        Sent {
            window,
            row: None,
            bytes,
        }
    }

    /// An envelope for the key of now.
    fn envelope(&mut self, dummy: bool) -> Sent {
        let (window, key) = (self.window(), self.server().service.active_key().unwrap());
        let mut sent = self.sealed(&key, window, dummy);
        if !dummy {
            sent.row = Some(self.opened(&sent.bytes).unwrap().inner.row());
        }
        sent
    }

    fn post(&self, body: &[u8]) -> u16 {
        self.server().post(self.task(), body).0
    }

    /// The answer to a well-formed envelope. One for a key that is deleted may come while its window is open,
    /// where it was sealed long before.
    fn answer(&self, sent: &Sent) -> u16 {
        let by_clock = self.now.saturating_sub(GRACE) / WINDOW;
        match sent.window {
            window if window < self.mark => 410,
            window if window < by_clock || window > self.now / WINDOW => 503,
            _ if self.opened(&sent.bytes).is_none() => 400,
            _ => 202,
        }
    }

    /// An envelope, opened by the keys that there are.
    fn opened(&self, envelope: &[u8]) -> Option<Opened> {
        let keys = Keyring::open(&self.place.at("keys"), self.now, 0).unwrap();
        open(&AwsLc, self.task(), &keys.secrets(), envelope).ok()
    }

    fn send(&mut self, sent: Sent) {
        let answer = self.answer(&sent);
        assert_eq!(self.post(&sent.bytes), answer);
        match answer {
            202 => {
                if let Some(row) = &sent.row {
                    self.open
                        .entry(sent.window)
                        .or_default()
                        .insert(row.clone());
                }
                // Of a window of dummies alone there is a batch, which is too small.
                self.open.entry(sent.window).or_default();
                self.taken.push(sent);
            }
            // It is sent again, maybe when its window is open or closed.
            503 => self.on_the_way.push(sent),
            _ => {}
        }
        *self
            .seen
            .entry(match answer {
                202 => "taken",
                400 => "of a deleted key",
                410 => "late",
                _ => "early",
            })
            .or_default() += 1;
    }

    /// What is none of the task is refused, whatever is wrong with it.
    fn send_rubbish(&mut self) {
        let key = self.server().service.active_key().unwrap();
        let by_clock = self.now.saturating_sub(GRACE) / WINDOW;
        let sent = self.sealed(&key, self.mark.max(by_clock), false);
        if self.answer(&sent) != 202 {
            return;
        }
        let (window, mut bytes) = (sent.window, sent.bytes);
        match self.below(4) {
            0 => {
                // Past the header, which names the window and the key.
                let at = bytes.len() - 1 - self.below(100) as usize;
                bytes[at] ^= 1 << self.below(8);
            }
            1 => bytes.truncate(bytes.len() - 1 - self.below(50) as usize),
            2 => bytes.extend([0; 7]),
            _ => {
                let folder = tempfile::tempdir().unwrap();
                make(Party::Shuffler, key.number.wrapping_add(100), folder.path()).unwrap();
                let keys = Keyring::open(folder.path(), self.now, 0).unwrap();
                bytes = self.sealed(&keys.active().unwrap(), window, false).bytes;
            }
        }
        assert_eq!(self.post(&bytes), 400);
    }

    fn batches(&self) -> Vec<Listed> {
        self.server().batches(self.task())
    }

    /// What may be fetched is what the model has.
    fn compare(&mut self) {
        let listed = self.batches();
        let windows: BTreeSet<u64> = listed.iter().map(|batch| batch.window).collect();
        assert_eq!(windows, self.sealed.keys().copied().collect());
        assert_eq!(windows.len(), listed.len());
        for batch in listed {
            let server = self.server.as_ref().unwrap();
            let fetched = server
                .connection()
                .fetch(&self.place.task, &server.token, &batch);
            let (bytes, known) = (
                fetched.unwrap(),
                self.sealed.get_mut(&batch.window).unwrap(),
            );
            let state = if known.released {
                State::Released
            } else {
                State::Sealed
            };
            assert_eq!(
                (batch.state, batch.reports),
                (state, known.rows.len() as u64)
            );
            assert!(batch.reports >= SMALLEST);
            if let Some(before) = &known.bytes {
                assert!(*before == bytes, "another order of window {}", batch.window);
                continue;
            }
            assert_eq!(
                Batch::decode(&self.place.task, &bytes).unwrap().window(),
                batch.window
            );
            let rows: Vec<_> = batch::reports(&self.place.task, &bytes)
                .map(|row| row.row())
                .collect();
            assert_eq!(rows.len(), known.rows.len());
            assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), known.rows);
            known.bytes = Some(bytes);
            *self.seen.entry("fetched").or_default() += 1;
        }
    }

    /// An analyzer whose connection breaks while it fetches.
    fn break_off(&mut self) {
        let Some(batch) = self.batches().pop() else {
            return;
        };
        let (server, context) = (self.server(), batch.context);
        let host = server.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let path = format!(
            "/v1/tasks/{}/batches/{}/{context}",
            self.task().id(),
            batch.window
        );
        let token = &server.token;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
        .unwrap();
        let _ = stream.read(&mut [0; 20]).unwrap();
    }

    fn acknowledge(&mut self, right: bool) {
        let all = self.batches();
        if all.is_empty() {
            return;
        }
        let mut batch = all[self.below(all.len() as u64) as usize].clone();
        if !right {
            batch.digest = Bytes32([9; 32]);
        }
        let server = self.server();
        let answer = server
            .connection()
            .acknowledge(self.task(), &server.token, &batch);
        assert_eq!(answer.is_ok(), right, "{answer:?}");
        if right {
            self.sealed.get_mut(&batch.window).unwrap().released = true;
        }
    }

    /// While the disk is full nothing is taken, closed or given out, and nothing is lost.
    fn disk_is_full(&mut self) {
        self.troubled.as_ref().unwrap().set(Some(Trouble::Fails));
        let sent = self.envelope(false);
        let refused = self.post(&sent.bytes);
        assert!([410, 503].contains(&refused), "{refused}");
        self.server().service.tick();
        let list = self
            .server()
            .connection()
            .batches(self.task(), &self.server().token);
        assert!(list.is_err());
        self.troubled.as_ref().unwrap().set(None);
        self.look();
        self.on_the_way.push(sent);
    }

    fn step(&mut self) {
        match self.below(100) {
            0..40 => {
                let sent = self.envelope(false);
                self.send(sent);
            }
            40..48 => {
                let sent = self.envelope(true);
                self.send(sent);
            }
            48..56 => {
                // On its way for a while, maybe longer than its key lives.
                let sent = self.envelope(false);
                self.on_the_way.push(sent);
            }
            56..64 if !self.on_the_way.is_empty() => {
                let place = self.below(self.on_the_way.len() as u64) as usize;
                let sent = self.on_the_way.swap_remove(place);
                self.send(sent);
            }
            64..72 => {
                let (random, taken) = (&mut self.random, &self.taken);
                if let Some(again) = Self::one_of(random, taken) {
                    assert_eq!(self.post(&again.bytes), self.answer(again));
                }
            }
            72..78 => self.send_rubbish(),
            78..84 => {
                // Sometimes so far that a window has hardly begun when it ends.
                let seconds = match self.below(4) {
                    0 => WINDOW + GRACE,
                    _ => 1 + self.below(WINDOW / 2),
                };
                self.clock.go(seconds);
                self.now += seconds;
                self.look();
            }
            84 if self.below(3) == 0 => {
                self.now -= 1 + self.below(2 * WINDOW);
                self.clock.set(self.now);
                self.look();
            }
            85 | 86 => assert_eq!(self.server().operate("/v1/keys/rotation"), 200),
            87..90 => self.compare(),
            90 | 91 => self.break_off(),
            92 => self.acknowledge(false),
            93..95 => self.acknowledge(true),
            95 | 96 => self.disk_is_full(),
            97 => self.restart(),
            _ => {}
        }
    }
}

#[test]
fn histories_of_a_running_shuffler() {
    let all = match std::env::var("SHUFFLEDP_TESTS") {
        Ok(word) if word == "all" => true,
        Ok(word) => panic!("SHUFFLEDP_TESTS={word}: all is the only word"),
        Err(_) => false,
    };
    let seed = match std::env::var("SHUFFLEDP_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => Secure::new().unwrap().word() >> 16,
    };
    // Past the harness: a run that fails or hangs is to be made again.
    let say = |line: String| std::io::stderr().write_all(line.as_bytes()).unwrap();
    say(format!("histories of a shuffler: SHUFFLEDP_SEED={seed}\n"));
    let mut history = History::start(seed);
    for _ in 0..if all { OPERATIONS_OF_ALL } else { OPERATIONS } {
        history.step();
    }
    history.compare();
    say(format!("histories of a shuffler: {:?}\n", history.seen));
    for what in ["taken", "late", "early", "sealed", "fetched"] {
        assert!(history.seen.contains_key(what), "{what}");
    }
    // Of the short ones a few have no small window.
    assert!(!all || history.seen.contains_key("expired"));
}
