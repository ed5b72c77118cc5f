//! How long a shuffler takes to answer, by what it was sent: whoever sends must not learn from the time of an
//! answer what was wrong, nor which envelope was a dummy. `cargo bench -p shuffledp-service --bench answers`.
//!
//! Two classes of answers, each compared within itself: 202 (a report, the same report again, a dummy) and
//! 400 (a damaged tag, a damaged text, a key that is not there, a kind that is not there). Requests of all
//! kinds take turns, in an order drawn anew for each turn. Beside each kind stands the Kolmogorov-Smirnov
//! distance of its times from those of the first of its class, and the distance that two samples of one law
//! exceed once in a thousand.
//!
//! `TURNS` is how many of each kind; 2000.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use shuffledp_accounting::{RandomizerSpec, RoundSpec};
use shuffledp_protocol::envelope::{ShufflerKey, seal, seal_dummy};
use shuffledp_protocol::hpke::Hpke;
use shuffledp_protocol::task::{Bytes32, Task, TaskSpec, Values};
use shuffledp_randomizers::{Random, Secure};
use shuffledp_service::AwsLc;
use shuffledp_service::client::Connection;
use shuffledp_service::keys::{Party, make};
use shuffledp_service::loopback::Loopback;
use std::time::Instant;

const NOTHING: Bytes32 = Bytes32([0; 32]);
const KINDS: [&str; 7] = [
    "202 a report",
    "202 the same again",
    "202 a dummy",
    "400 a damaged tag",
    "400 a damaged text",
    "400 an unknown key",
    "400 an unknown kind",
];
/// The first kind of each class.
const CLASSES: [usize; 2] = [0, 3];

fn task(analyzer_key: Bytes32) -> Task {
    let mut randomizer = RandomizerSpec::new("krr").unwrap();
    (randomizer.k, randomizer.epsilon0) = (Some(100), Some(2.0.into()));
    let mut round = RoundSpec::new(randomizer);
    round.users = Some(10_000);
    let task = Task::new(TaskSpec {
        name: "bench".to_owned(),
        round,
        values: Values::Numbered,
        epsilon: 1.0,
        delta: 1e-8,
        window_seconds: None,
        tokens: None,
        second_shuffler: None,
        analyzer_key,
    });
    task.unwrap()
}

struct Sender {
    task: Task,
    key: ShufflerKey,
    random: Secure,
    last: Vec<u8>,
}

impl Sender {
    fn report(&mut self) -> Vec<u8> {
        let (task, key, random) = (&self.task, &self.key, &mut self.random);
        let report = task.randomize(&task.value("7").unwrap(), random).unwrap();
        seal(&AwsLc, task, key, 0, NOTHING, &report, random).unwrap()
    }

    /// An envelope that opens and holds a kind that is not there: the whole text sealed by hand.
    fn unknown_kind(&mut self) -> Vec<u8> {
        let dummy =
            seal_dummy(&AwsLc, &self.task, &self.key, 0, NOTHING, &mut self.random).unwrap();
        let (header, enc, tag) = (&dummy[..42], 32, 16);
        let mut plain = vec![0; dummy.len() - header.len() - enc - tag];
        self.random.fill(&mut plain);
        plain[0] = 99;
        let info = b"shuffledp/1 outer\x01\x02";
        let sealed = AwsLc.seal(&self.key.key, info, header, &plain).unwrap();
        [header, &sealed.enc, &sealed.text].concat()
    }

    fn envelope(&mut self, kind: usize) -> Vec<u8> {
        let changed = |mut envelope: Vec<u8>, place: usize| {
            envelope[place] ^= 1;
            envelope
        };
        match kind {
            1 => self.last.clone(),
            2 => seal_dummy(&AwsLc, &self.task, &self.key, 0, NOTHING, &mut self.random).unwrap(),
            6 => self.unknown_kind(),
            other => {
                let envelope = self.report();
                let end = envelope.len() - 1;
                match other {
                    0 => envelope,
                    3 => changed(envelope, end),
                    4 => changed(envelope, 100),
                    _ => changed(envelope, 1),
                }
            }
        }
    }
}

/// The largest difference between two distribution functions.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    let below = |times: &[f64], at: f64| {
        times.partition_point(|time| *time <= at) as f64 / times.len() as f64
    };
    let both = one.iter().chain(other);
    both.map(|&at| (below(one, at) - below(other, at)).abs())
        .fold(0.0, f64::max)
}

fn main() {
    let turns: usize = std::env::var("TURNS").map_or(2000, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (_, _, analyzer_key) = make(Party::Analyzer, 0, folder.path()).unwrap();
    let task = task(analyzer_key);
    let shuffler = Loopback::start(std::slice::from_ref(&task), &folder.path().join("shuffler"));
    let shuffler = shuffler.unwrap();
    let connection = Connection::new(shuffler.url(), None).unwrap();
    let key = connection.now(&task).unwrap().key;
    let mut random = Secure::new().unwrap();
    let mut sender = Sender {
        task: task.clone(),
        key,
        random: Secure::new().unwrap(),
        last: Vec::new(),
    };
    sender.last = sender.report();
    connection.send(&task, &sender.last).unwrap();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); KINDS.len()];
    for _ in 0..turns {
        let mut kinds: Vec<(u64, usize)> =
            (0..KINDS.len()).map(|kind| (random.word(), kind)).collect();
        kinds.sort_unstable();
        for (_, kind) in kinds {
            let envelope = sender.envelope(kind);
            let start = Instant::now();
            let taken = connection.send(&task, &envelope).is_ok();
            times[kind].push(1e3 * start.elapsed().as_secs_f64());
            assert_eq!(taken, KINDS[kind].starts_with("202"), "{}", KINDS[kind]);
        }
    }
    for sample in &mut times {
        sample.sort_by(f64::total_cmp);
    }
    // Smirnov: sqrt(ln(2/0.001)/2) · sqrt(2/n).
    let chance = ((2.0f64 / 0.001).ln() / 2.0).sqrt() * (2.0 / turns as f64).sqrt();
    println!("{turns} of each kind, one connection; distances above {chance:.3} are no accident");
    for (kind, name) in KINDS.iter().enumerate() {
        let first = CLASSES
            .into_iter()
            .rfind(|first| *first <= kind)
            .unwrap_or(0);
        let at = |share: f64| times[kind][(share * (turns - 1) as f64) as usize];
        println!(
            "{name:20}  p10 {:.3}  median {:.3}  p90 {:.3} ms  distance {:.3}",
            at(0.1),
            at(0.5),
            at(0.9),
            distance(&times[first], &times[kind])
        );
    }
    shuffler.stop().unwrap();
}
