//! Two shufflers: each permutes, each counts, and neither alone can tell who said what.

#![allow(clippy::unwrap_used)]

mod parties;

use parties::{NOTHING, Place, SMALLEST, Server};
use shuffledp_protocol::Confidence;
use shuffledp_protocol::batch::{Batch, BatchError, Gathering};
use shuffledp_protocol::envelope::{
    Kind, ShufflerKey, envelope_length, open, open_middle, seal, seal_dummy, seal_with_token,
};
use shuffledp_protocol::hpke::{Hpke, SecretKey};
use shuffledp_protocol::task::{Bytes32, Task, TaskSpec, Value};
use shuffledp_protocol::token::Token;
use shuffledp_randomizers::Secure;
use shuffledp_service::AwsLc;
use shuffledp_service::folders::{Shuffler, analyze};
use shuffledp_service::keys::{self, Party};
use shuffledp_service::probes::Record;
use shuffledp_service::tokens::{Issuer, Wallet, issuer_public, make_issuer};
use std::collections::BTreeSet;
use std::path::Path;

fn second_key(spec: &mut TaskSpec, folder: &Path) {
    let (_, _, key) = keys::make(Party::Second, 0, &folder.join("second")).unwrap();
    spec.second_shuffler = Some(key);
}

fn place() -> Place {
    Place::new(second_key)
}

fn with_tokens() -> Place {
    Place::new(|spec, folder| {
        second_key(spec, folder);
        let (_, public) = make_issuer(0, 1, &folder.join("issuer")).unwrap();
        spec.tokens = Some(issuer_public(&public).unwrap());
    })
}

fn secret(place: &Place) -> SecretKey {
    keys::second_secret(&place.at("second/second-shuffler.key"), &place.task).unwrap()
}

fn first_secrets(place: &Place) -> Vec<(u8, SecretKey)> {
    keys::shuffler_secrets(&[place.at("shuffler/shuffler-1.key")]).unwrap()
}

fn analyzer(place: &Place) -> SecretKey {
    keys::analyzer_secret(&place.at("analyzer/analyzer.key"), &place.task).unwrap()
}

/// The second shuffler, whose folder is `released`.
fn second(place: &Place) -> Shuffler {
    let file = place.at("second/second-shuffler.key");
    Shuffler::second(
        place.task.clone(),
        secret(place),
        &file,
        &place.at("released"),
    )
    .unwrap()
}

/// So many devices whose randomized values are all sent, in a file of the inbox.
fn crowd(place: &Place, window: u64, people: u64, file: &str) {
    let values: Vec<Value> = (0..people)
        .map(|person| Value::Category(person % 2))
        .collect();
    let path = place.at("inbox").join(file);
    place.device().simulate(window, &values, &path).unwrap();
}

fn rows(bytes: &[u8], row: usize) -> Vec<Vec<u8>> {
    bytes[81..].chunks(row).map(<[u8]>::to_vec).collect()
}

#[test]
fn reports_go_through_two_shufflers_by_files() {
    let place = place();
    let inbox = [place.at("inbox")];
    crowd(&place, 0, SMALLEST - 1, "few");
    assert!(
        place
            .shuffler()
            .shuffle(&inbox)
            .unwrap()
            .released
            .is_empty()
    );
    crowd(&place, 0, 2, "more");
    let probe = Record::open(&place.at("probes.json")).unwrap();
    let mut probe = probe;
    place.put(
        "probe",
        &probe.make(&place.task, &place.key(), 0, 1).unwrap()[0],
    );
    let mut random = Secure::new().unwrap();
    let nothing = Bytes32([0; 32]);
    let dummy = seal_dummy(&AwsLc, &place.task, &place.key(), 0, nothing, &mut random).unwrap();
    assert_eq!(dummy.len(), envelope_length(&place.task));
    place.put("dummy", &dummy);
    let handed = place.shuffler().shuffle(&inbox).unwrap();
    assert_eq!(
        (handed.released[0].reports, handed.dummies, handed.probes),
        (5, 1, 1)
    );
    assert_eq!(handed.released[0].file, "window-0.handed");
    let path = place.at("batches/window-0.handed");

    let released = second(&place).shuffle(std::slice::from_ref(&path)).unwrap();
    assert_eq!((released.released[0].reports, released.refused), (5, 0));
    let batch = place.at("released/window-0.batch");
    let confidence = Confidence::new(0.95).unwrap();
    let key = analyzer(&place);
    let analyzed = analyze(&place.task, &key, &batch, confidence).unwrap();
    assert_eq!((analyzed.reports, analyzed.unreadable), (5, 0));
    assert_eq!(
        (analyzed.findings.taken, analyzed.findings.malformed),
        (5, 0)
    );
    // A window is released once, by each of them.
    assert_eq!(place.shuffler().shuffle(&inbox).unwrap().released, []);
    let again = second(&place).shuffle(std::slice::from_ref(&path)).unwrap();
    assert_eq!((again.released.len(), again.late), (0, 5));
    // What is handed on is no batch for the analyzer, and envelopes are nothing for the second.
    assert!(analyze(&place.task, &key, &path, confidence).is_err());
    let nothing = second(&place).shuffle(&inbox).unwrap();
    assert!(nothing.released.is_empty() && nothing.refused > 0);
    let backwards = second(&place).shuffle(&[batch]).unwrap();
    assert_eq!((backwards.released.len(), backwards.refused), (0, 1));
}

/// The first shuffler on the network; the second fetches from it as an analyzer does.
#[test]
fn reports_go_through_two_shufflers_over_sockets() {
    let place = place();
    let server = Server::start(&place);
    let (task, key) = (&place.task, server.service.active_key().unwrap());
    let mut random = Secure::new().unwrap();
    let mut send = |report: u8| {
        let envelope = seal(&AwsLc, task, &key, 0, NOTHING, &[report], &mut random).unwrap();
        assert_eq!(server.post(task, &envelope), (202, String::new()));
        assert_eq!(server.post(task, &envelope), (202, String::new()));
    };
    [0, 1, 1, 1, 0].into_iter().for_each(&mut send);
    server.close(task, 0);
    let listed = server.batches(task);
    assert_eq!((listed.len(), listed[0].reports), (1, 5));
    let handed = server
        .connection()
        .fetch(task, &server.token, &listed[0])
        .unwrap();
    let path = place.at("handed");
    std::fs::write(&path, &handed).unwrap();
    let released = second(&place).shuffle(&[path]).unwrap();
    assert_eq!(released.released[0].reports, 5);
    let bytes = std::fs::read(place.at("released/window-0.batch")).unwrap();
    let batch = Batch::decode(task, &bytes).unwrap();
    let mut reports = batch.open(&AwsLc, task, &analyzer(&place)).readable;
    reports.sort();
    assert_eq!(reports, [[0], [0], [1], [1], [1]]);
}

/// What each of them has, and what it opens with its key.
#[test]
fn neither_shuffler_has_both_ends() {
    let place = place();
    let (task, key) = (&place.task, place.key());
    let mut random = Secure::new().unwrap();
    let envelopes: Vec<Vec<u8>> = (0..SMALLEST)
        .map(|_| seal(&AwsLc, task, &key, 0, NOTHING, &[1], &mut random).unwrap())
        .collect();
    let mut gathering = Gathering::new(task);
    let mut middles = Vec::new();
    for envelope in &envelopes {
        assert_eq!(envelope.len(), envelope_length(task));
        let opened = open(&AwsLc, task, &first_secrets(&place), envelope).unwrap();
        // The first one's key opens no middle layer, nor does the analyzer's.
        for other in [&first_secrets(&place)[0].1, &analyzer(&place)] {
            assert!(open_middle(&AwsLc, task, other, (0, NOTHING), &opened.inner).is_err());
        }
        // The second one's opens no envelope.
        assert!(open(&AwsLc, task, &[(1, secret(&place))], envelope).is_err());
        middles.push(opened.inner.row());
        gathering.take(opened);
    }
    let (batches, _) = gathering.close(&mut random);
    let handed = batches[0].encode(task);
    assert!(matches!(
        Batch::decode(task, &handed),
        Err(BatchError::Length { .. })
    ));
    let decoded = Batch::decode_handed(task, &handed).unwrap();
    let mut gathering = Gathering::new(task);
    assert_eq!(
        decoded.open_middle(&AwsLc, &secret(&place), &mut gathering),
        0
    );
    let (batches, _) = gathering.close(&mut random);
    let released = batches[0].encode(task);
    let with_the_second_key = batches[0].open(&AwsLc, task, &secret(&place));
    assert_eq!(with_the_second_key.readable.len(), 0);
    assert_eq!(
        batches[0].open(&AwsLc, task, &analyzer(&place)).unreadable,
        0
    );
    // Nothing that the second or the analyzer has is in an envelope, and nothing that the analyzer has is in
    // what is handed on.
    let contains = |all: &[u8], part: &[u8]| all.windows(part.len()).any(|window| window == part);
    let of_the_analyzer = rows(&released, 32 + 1 + 16);
    for row in &of_the_analyzer {
        assert!(!contains(&handed, &row[..32]) && !contains(&handed, &row[32..]));
    }
    for row in of_the_analyzer.iter().chain(&middles) {
        for envelope in &envelopes {
            assert!(!contains(envelope, &row[..32]) && !contains(envelope, &row[32..]));
        }
    }
    // The same middle layers are in both orders.
    let sent: BTreeSet<Vec<u8>> = middles.into_iter().collect();
    let passed: BTreeSet<Vec<u8>> = rows(&handed, 32 + 32 + 17 + 16).into_iter().collect();
    assert_eq!(sent, passed);
}

#[test]
fn every_bit_of_what_is_handed_on_matters() {
    let place = place();
    let (task, key) = (&place.task, place.key());
    let mut random = Secure::new().unwrap();
    let envelope = seal(&AwsLc, task, &key, 3, NOTHING, &[1], &mut random).unwrap();
    for bit in 0..8 * envelope.len() {
        let mut changed = envelope.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(
            open(&AwsLc, task, &first_secrets(&place), &changed).is_err(),
            "bit {bit}"
        );
    }
    let mut gathering = Gathering::new(task);
    for _ in 0..SMALLEST {
        let envelope = seal(&AwsLc, task, &key, 3, NOTHING, &[1], &mut random).unwrap();
        gathering.take(open(&AwsLc, task, &first_secrets(&place), &envelope).unwrap());
    }
    let handed = gathering.close(&mut random).0[0].encode(task);
    let refused = |bytes: &[u8]| {
        let mut gathering = Gathering::new(task);
        match Batch::decode_handed(task, bytes) {
            Ok(batch) => batch.open_middle(&AwsLc, &secret(&place), &mut gathering),
            Err(_) => SMALLEST,
        }
    };
    assert_eq!(refused(&handed), 0);
    // Task, window, context and number are of all rows, and a row is of one.
    for byte in 0..81 {
        let mut changed = handed.clone();
        changed[byte] ^= 1;
        assert_eq!(refused(&changed), SMALLEST, "byte {byte}");
    }
    for byte in 81..handed.len() {
        let mut changed = handed.clone();
        changed[byte] ^= 1;
        assert_eq!(refused(&changed), 1, "byte {byte}");
    }
    // One row fewer, and one twice: too small, and repeated.
    let row = (handed.len() - 81) / SMALLEST as usize;
    let mut fewer = handed[..handed.len() - row].to_vec();
    fewer[80] -= 1;
    let few = Batch::decode_handed(task, &fewer);
    assert!(matches!(few, Err(BatchError::TooSmall { .. })), "{few:?}");
    let twice = [&fewer[..], &handed[81..81 + row]].concat();
    let mut twice = twice;
    twice[80] += 1;
    assert_eq!(
        Batch::decode_handed(task, &twice),
        Err(BatchError::Repeated)
    );
    // A task with one shuffler hands nothing on.
    let one = Place::new(|_, _| ());
    assert_eq!(
        Batch::decode_handed(&one.task, &handed),
        Err(BatchError::OneShuffler)
    );
}

fn token(place: &Place, person: &str) -> Token {
    let mut wallet = Wallet::open(&place.at(&format!("{person}.wallet"))).unwrap();
    let request = wallet.request(&place.task, 0).unwrap();
    let mut issuer = Issuer::open(&place.at("issuer/issuer.key")).unwrap();
    let answer = issuer.sign(&place.task, person, &request).unwrap();
    wallet.finish(&place.task, &answer).unwrap();
    wallet.token(&place.task, 0).unwrap()
}

fn envelope(place: &Place, key: &ShufflerKey, token: &Token) -> Vec<u8> {
    let mut random = Secure::new().unwrap();
    seal_with_token(&AwsLc, &place.task, key, NOTHING, token, &[1], &mut random).unwrap()
}

/// A first shuffler that works with the analyzer keeps three of four people back and puts reports of its own
/// into their place. It has what the four sent, and no signature of the issuer.
#[test]
fn a_first_shuffler_cannot_make_up_people_who_need_tokens() {
    let place = with_tokens();
    let (task, key) = (&place.task, place.key());
    let tokens = ["a", "b", "c", "d"].map(|person| token(&place, person));
    let opened = tokens.each_ref().map(|token| {
        let opened = open(
            &AwsLc,
            task,
            &first_secrets(&place),
            &envelope(&place, &key, token),
        );
        opened.unwrap()
    });
    // It sees no token, only that somebody sends.
    assert!(
        opened
            .iter()
            .all(|opened| opened.kind == Kind::Report && opened.token.is_none())
    );
    let honest: Vec<Vec<u8>> = opened.iter().map(|opened| opened.inner.row()).collect();
    let handed_on = |name: &str, rows: &[Vec<u8>]| {
        let mut random = Secure::new().unwrap();
        let rows = rows.to_vec();
        let bytes = shuffledp_protocol::batch::seal(&task.id(), 0, &NOTHING, rows, &mut random);
        let path = place.at(name);
        std::fs::write(&path, bytes).unwrap();
        second(&place).shuffle(&[path]).unwrap()
    };
    // A middle layer as a device makes it, but for the token: one of zeros, one of random bytes.
    let made_up = |token: &[u8; 288]| {
        let aad = [&task.id().0[..], &[0; 8], &NOTHING.0].concat();
        let spec = task.spec();
        let info = b"shuffledp/1 inner\x01\x03";
        let inner = AwsLc.seal(&spec.analyzer_key, info, &aad, &[0]).unwrap();
        let plain = [&token[..], &inner.enc, &inner.text].concat();
        let info = b"shuffledp/1 middle\x01\x04";
        let to = spec.second_shuffler.unwrap();
        let middle = AwsLc.seal(&to, info, &aad, &plain).unwrap();
        [&middle.enc[..], &middle.text].concat()
    };
    assert_eq!(made_up(&[0; 288]).len(), honest[0].len());
    let alone = [
        vec![honest[0].clone()],
        (0..3).map(|byte| made_up(&[byte; 288])).collect(),
    ]
    .concat();
    let held = handed_on("alone", &alone);
    assert_eq!(
        (held.released.len(), held.refused, held.waiting[0].reports),
        (0, 3, 1)
    );
    // Nor does one person with four envelopes make a crowd.
    let same = (0..4).map(|_| {
        let envelope = envelope(&place, &key, &tokens[0]);
        open(&AwsLc, task, &first_secrets(&place), &envelope)
            .unwrap()
            .inner
            .row()
    });
    let held = handed_on("same", &same.collect::<Vec<_>>());
    assert_eq!(
        (held.released.len(), held.repeated, held.waiting[0].reports),
        (0, 3, 1)
    );
    let released = handed_on("honest", &honest);
    assert_eq!(released.released[0].reports, SMALLEST);
}

#[test]
fn keys_and_tasks_of_two_shufflers_are_told_apart() {
    let (place, one) = (place(), Place::new(|_, _| ()));
    assert_ne!(place.task.id(), one.task.id());
    assert_eq!(
        Task::from_json(&place.task.to_json()).unwrap().id(),
        place.task.id()
    );
    assert!(place.task.encoding().len() > one.task.encoding().len());
    let path = place.at("second/second-shuffler.key");
    let message = |path: &Path, task: &Task| {
        keys::second_secret(path, task)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(message(&path, &one.task).contains("the task has one shuffler"));
    let other = self::place();
    assert!(message(&path, &other.task).contains("not that of the task's second shuffler"));
    let wrong = message(&place.at("shuffler/shuffler-1.key"), &place.task);
    assert!(
        wrong.contains("it is the shuffler's, and the second-shuffler's is needed"),
        "{wrong}"
    );
    // One who has both keys is one shuffler: devices refuse, and so does a task with the analyzer's.
    let key = ShufflerKey {
        number: 1,
        key: place.task.spec().second_shuffler.unwrap(),
    };
    let mut random = Secure::new().unwrap();
    assert!(seal(&AwsLc, &place.task, &key, 0, NOTHING, &[1], &mut random).is_err());
    let mut spec = place.task.spec().clone();
    spec.second_shuffler = Some(spec.analyzer_key);
    let refused = Task::new(spec).unwrap_err().to_string();
    assert_eq!(
        refused,
        "second_shuffler of the analyzer is not the key of somebody else"
    );
    // What is promised says who is trusted for what.
    let trusted = |place: &Place| place.task.guarantee().unwrap().trusted.join(" ");
    assert!(trusted(&place).contains("One of the two shufflers, whichever it is"));
    assert!(trusted(&place).contains("without tokens the second cannot tell"));
    assert!(
        trusted(&with_tokens())
            .contains("a first one that keeps reports back cannot make up others")
    );
    assert!(!trusted(&one).contains("second"));
}
